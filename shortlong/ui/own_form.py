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
from shortlong.words.own_controls import (
    COLUMN_TITLES,
    DATES,
    DECIMALS,
    DELIMITERS,
    GRID,
    LEAVING,
    MISSING,
    NEW,
    START,
    THOUSANDS,
    TIMING,
    TITLES,
)

MAIN = {
    "policy": "Which policy, arm, protocol or variant the row is about.",
    "unit": "Who or what was observed: patient, learner, cell.",
    "step": "Whole steps: 0, 1, 2 … or weeks, visits, cycles.",
    "time": "A number or a date that is laid on a grid.",
    "reward": "What is summed up to the value of a policy.",
    "outcome": "One number per unit, known for historical policies, instead of rewards.",
}
SEVERAL = {"states": "Numbers that were measured.", "actions": "What was done: doses, drugs."}
RARE = {
    "role": "Says history or new in every row.",
    "rollout": "The same unit once more.",
    "family": "Policies that belong together; a back-test can leave them out together.",
    "era": "When a policy was used; a back-test can leave eras out together.",
}
MOST_PILLS = 60  # policies; more are chosen from a list
LONGEST_NAME = 60


def reading(made: Draft) -> None:
    """Overrides of what was detected in a text file; another reading starts the questions anew."""
    known = {"delimiter": DELIMITERS, "decimal": DECIMALS, "thousands": THOUSANDS}
    chosen = {
        name: place.selectbox(
            TITLES[name], list(options), list(options).index(getattr(made, name)), format_func=options.__getitem__
        )
        for place, (name, options) in zip(st.columns(3), known.items(), strict=True)
    }
    changed = replace(made, **chosen)
    if changed != made:
        st.session_state[DRAFT] = changed
        st.rerun()


def columns_of(made: Draft, table: RawTable) -> Columns:
    """The guess as drop-downs."""
    names, guess = [str(name) for name in table.frame.columns], guess_columns(table.frame)
    found: dict[str, Any] = {}
    places = st.columns(3)
    for number, (role, help_text) in enumerate(MAIN.items()):
        with places[number % 3]:
            found[role] = _column(made, role, help_text, names, getattr(guess, role))
    for place, (role, help_text) in zip(st.columns(2), SEVERAL.items(), strict=True):
        with place:
            found[role] = _several(made, role, help_text, names, getattr(guess, role))
    with st.expander("Role, repetition, family and era (optional)"):
        for place, (role, help_text) in zip(st.columns(4), RARE.items(), strict=True):
            with place:
                found[role] = _column(made, role, help_text, names, getattr(guess, role))
    return Columns(**found)


def choices_of(made: Draft) -> Choices:
    """What the numbers mean; who is new is asked afterwards."""
    picture, words = st.columns([3, 2], gap="large")
    with words:
        timing = _one(made, "timing", TIMING)
        leaving = _one(made, "leaving", LEAVING)
        missing = _one(made, "missing", MISSING)
    with picture:
        drawing(timing_svg(is_dark()), TIMING_WORDS)
    with st.expander("Full length, irregular times, dates, pairs, formula (optional)"):
        left, middle, right = st.columns(3)
        with left:
            length = _number(made, "length", "what most old units reach", min_value=2)
            dates = _one(made, "dates", DATES)
        with middle:
            grid = _one(made, "grid", GRID)
            step_length = _number(made, "step-length", "the usual gap", min_value=0.0)
        with right:
            start = _one(made, "start", START)
            formula = st.text_input(TITLES["formula"], key=_keyed(made, "formula"), persist_state="session")
        paired = st.toggle(TITLES["paired"], key=_keyed(made, "paired"), persist_state="session")
    plain: dict[str, Any] = {"timing": timing, "leaving": leaving, "missing": missing, "grid": grid, "dates": dates}
    return Choices(
        length=None if length is None else int(length),
        step_length=step_length or None,
        start=start,  # type: ignore[arg-type]
        paired=paired,
        formula=formula.strip(),
        **plain,
    )


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
        st.multiselect(NEW, options, key=key, format_func=_short, persist_state="session")
    else:
        st.pills(
            f"{NEW}: switch on those whose long-term outcome is to be predicted",
            options,
            selection_mode="multi",
            key=key,
            format_func=lambda name: markdown(_short(name)),
            persist_state="session",
        )
    return report


def _column(made: Draft, role: str, help_text: str, names: list[str], guess: str) -> str:
    return st.selectbox(
        COLUMN_TITLES[role],
        ["", *names],
        key=_settled(made, role, guess, ["", *names]),
        format_func=lambda name: _short(name) or "(none)",
        help=help_text,
        persist_state="session",
    )


def _several(made: Draft, role: str, help_text: str, names: list[str], guess: tuple[str, ...]) -> tuple[str, ...]:
    key, title = _keyed(made, role), COLUMN_TITLES[role]
    st.session_state.setdefault(key, list(guess))
    return tuple(st.multiselect(title, names, key=key, format_func=_short, help=help_text, persist_state="session"))


def _one(made: Draft, name: str, options: dict[str, str]) -> str:
    key = _settled(made, name, next(iter(options)), list(options))
    return st.selectbox(TITLES[name], list(options), key=key, format_func=options.__getitem__, persist_state="session")


def _number(made: Draft, name: str, without: str, **limits: Any) -> float | None:
    return st.number_input(
        TITLES[name], value=None, placeholder=without, key=_keyed(made, name), persist_state="session", **limits
    )


def _settled(made: Draft, name: str, first: str, options: list[str]) -> str:
    key = _keyed(made, name)
    if st.session_state.setdefault(key, first) not in options:
        st.session_state[key] = first
    return key


def _keyed(made: Draft, name: str) -> str:
    return f"{made.key}-{name}"


def _short(name: str) -> str:
    return shorten(name, LONGEST_NAME)
