"""The questions about a person's table: which column is which, what the numbers mean, who is new."""

from dataclasses import replace
from typing import Any

import streamlit as st

from shortlong.core.harmless import markdown, shorten
from shortlong.domains.table import Choices, Columns, RawTable, Report, guess_columns
from shortlong.figures.timing import WORDS as TIMING_WORDS
from shortlong.figures.timing import timing_svg
from shortlong.ui import own_table
from shortlong.ui.own_table import DRAFT, Draft
from shortlong.ui.theme import drawing, is_dark

MAIN = {
    "policy": ("Policy", "Which policy, arm, protocol or variant the row is about."),
    "unit": ("Unit", "Who or what was observed: patient, learner, cell."),
    "step": ("Step", "Whole steps: 0, 1, 2 … or weeks, visits, cycles."),
    "time": ("Time instead of steps", "A number or a date that is laid on a grid."),
    "reward": ("Reward of each step", "What is summed up to the value of a policy."),
    "outcome": ("Outcome of each unit", "One number per unit, known for old policies, instead of rewards."),
}
RARE = {
    "role": ("Role", "Says history or new in every row."),
    "rollout": ("Repetition", "The same unit once more."),
    "family": ("Family", "Policies that belong together; a back-test can leave them out together."),
    "era": ("Era", "When a policy was used; a back-test can leave eras out together."),
}
TIMING = {"auto": "as the table suggests", "arriving": "arriving", "leaving": "leaving"}
LEAVING = {"lost": "left out", "ended": "nothing more is earned", "carried": "the last value goes on"}
MISSING = {"refuse": "an error", "carry": "the value before", "drop": "the unit is left out"}
GRID = {
    "": "as it is",
    "nearest": "nearest point of an even grid",
    "interpolate": "interpolated on an even grid",
    "last": "last value before each point",
    "schedule": "one step per planned visit",
}
DATES = {"": "not needed", "day-first": "day first", "month-first": "month first"}
DELIMITERS = {"": "detected", ",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
DECIMALS = {"": "detected", ".": "point", ",": "comma"}
MOST_PILLS = 60  # policies; more are chosen from a list
LONGEST_NAME = 60


def reading(made: Draft) -> None:
    """Overrides of what was detected in a text file; another reading starts the questions anew."""
    left, right = st.columns(2)
    delimiter = left.selectbox(
        "Between columns", list(DELIMITERS), list(DELIMITERS).index(made.delimiter), format_func=DELIMITERS.__getitem__
    )
    decimal = right.selectbox(
        "Decimal sign", list(DECIMALS), list(DECIMALS).index(made.decimal), format_func=DECIMALS.__getitem__
    )
    if (delimiter, decimal) != (made.delimiter, made.decimal):
        st.session_state[DRAFT] = replace(made, delimiter=delimiter, decimal=decimal)
        st.rerun()


def columns_of(made: Draft, table: RawTable) -> Columns:
    """The guess as drop-downs."""
    names, guess = [str(name) for name in table.frame.columns], guess_columns(table.frame)
    found: dict[str, Any] = {}
    places = st.columns(3)
    for number, (role, (title, help_text)) in enumerate(MAIN.items()):
        with places[number % 3]:
            found[role] = _column(made, role, title, help_text, names, getattr(guess, role))
    left, right = st.columns(2)
    with left:
        found["states"] = _several(made, "states", "States", "Numbers that were measured.", names, guess.states)
    with right:
        found["actions"] = _several(made, "actions", "Actions", "What was done: doses, drugs.", names, guess.actions)
    with st.expander("Role, repetition, family and era (optional)"):
        for place, (role, (title, help_text)) in zip(st.columns(4), RARE.items(), strict=True):
            with place:
                found[role] = _column(made, role, title, help_text, names, getattr(guess, role))
    return Columns(**found)


def choices_of(made: Draft) -> Choices:
    """What the numbers mean; who is new is asked afterwards."""
    picture, words = st.columns([3, 2], gap="large")
    with words:
        timing = _one(made, "timing", "A row holds the reward of a step that is", TIMING)
        leaving = _one(made, "leaving", "Old units that leave early are", LEAVING)
        missing = _one(made, "missing", "A missing number or step is", MISSING)
    with picture:
        drawing(timing_svg(is_dark()), TIMING_WORDS)
    with st.expander("Full length, irregular times, dates, pairs, formula (optional)"):
        left, middle, right = st.columns(3)
        with left:
            length = st.number_input(
                "Full length in steps",
                min_value=2,
                value=None,
                placeholder="what most old units reach",
                key=_keyed(made, "length"),
                persist_state="session",
            )
            paired = st.toggle(
                "The same unit under two policies is one unit", key=_keyed(made, "paired"), persist_state="session"
            )
        with middle:
            grid = _one(made, "grid", "Irregular times", GRID)
        with right:
            dates = _one(made, "dates", "Dates such as 03/04/2021", DATES)
            formula = st.text_input(
                "Reward as a formula of state columns", key=_keyed(made, "formula"), persist_state="session"
            )
    plain: dict[str, Any] = {"timing": timing, "leaving": leaving, "missing": missing, "grid": grid, "dates": dates}
    return Choices(length=None if length is None else int(length), paired=paired, formula=formula.strip(), **plain)


def checked_with_new(made: Draft, columns: Columns, choices: Choices) -> Report:
    """The report, with the policies as switches: those that are on are new."""
    key, guess_key = _keyed(made, f"new-{columns.policy}"), _keyed(made, f"guess-{columns.policy}")
    chosen, guess = st.session_state.get(key), st.session_state.get(guess_key)
    changed = chosen is not None and sorted(chosen) != sorted(guess or ())
    report = own_table.report_of(made, columns, replace(choices, new=tuple(chosen or ())) if changed else choices)
    policies = [*report.new, *report.old]
    if not policies:
        st.markdown("Who is old and who is new can be told when the errors below are gone.")
        return report
    if not changed:
        st.session_state[guess_key] = list(report.new)
        st.session_state[key] = list(report.new)
    options = sorted(policies)
    st.session_state[key] = [policy for policy in st.session_state[key] if policy in options]
    if len(options) > MOST_PILLS:
        st.multiselect("New policies", options, key=key, format_func=_short, persist_state="session")
    else:
        st.pills(
            "New policies: switch on those whose long-term outcome is to be predicted",
            options,
            selection_mode="multi",
            key=key,
            format_func=lambda name: markdown(_short(name)),
            persist_state="session",
        )
    return report


def _column(made: Draft, role: str, title: str, help_text: str, names: list[str], guess: str) -> str:
    return st.selectbox(
        title,
        ["", *names],
        key=_settled(made, role, guess, ["", *names]),
        format_func=lambda name: _short(name) or "(none)",
        help=help_text,
        persist_state="session",
    )


def _several(
    made: Draft, role: str, title: str, help_text: str, names: list[str], guess: tuple[str, ...]
) -> tuple[str, ...]:
    key = _keyed(made, role)
    st.session_state.setdefault(key, list(guess))
    return tuple(st.multiselect(title, names, key=key, format_func=_short, help=help_text, persist_state="session"))


def _one(made: Draft, name: str, title: str, options: dict[str, str]) -> str:
    key = _settled(made, name, next(iter(options)), list(options))
    return st.selectbox(title, list(options), key=key, format_func=options.__getitem__, persist_state="session")


def _settled(made: Draft, name: str, first: str, options: list[str]) -> str:
    key = _keyed(made, name)
    if st.session_state.setdefault(key, first) not in options:
        st.session_state[key] = first
    return key


def _keyed(made: Draft, name: str) -> str:
    return f"{made.key}-{name}"


def _short(name: str) -> str:
    return shorten(name, LONGEST_NAME)
