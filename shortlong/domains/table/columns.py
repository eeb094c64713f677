"""Which column is which: given by the person, else guessed from names and contents and shown before anything runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError, quoted
from shortlong.domains.table.as_json import AsJson
from shortlong.domains.table.values import label_codes, to_numbers

SEVERAL = ("states", "actions")
SAMPLED = 200_000  # rows that a guess looks at
# Whole names and words of names by which people call their columns, the usual ones first.
NAMES: dict[str, tuple[str, ...]] = {
    "policy": (
        "policy",
        "arm",
        "protocol",
        "variant",
        "regime",
        "regimen",
        "strategy",
        "treatment",
        "trt",
        "intervention",
        "programme",
        "program",
        "condition",
        "group",
        "plan",
        "algorithm",
        "plot",
        "drug",
    ),
    "unit": (
        "unit",
        "patient",
        "subject",
        "participant",
        "learner",
        "student",
        "user",
        "customer",
        "person",
        "cell",
        "mouse",
        "animal",
        "case",
        "device",
        "machine",
        "household",
        "individual",
        "client",
        "member",
        "usubjid",
        "subjid",
        "pid",
        "uid",
        "id",
    ),
    "step": (
        "step",
        "t",
        "week",
        "visit",
        "month",
        "cycle",
        "period",
        "round",
        "checkpoint",
        "session",
        "epoch",
        "wave",
        "day",
        "hour",
        "year",
        "quarter",
    ),
    "time": ("time", "date", "timestamp", "datetime"),
    "reward": ("reward", "benefit", "utility", "payoff", "revenue", "profit", "gain", "yield"),
    "outcome": ("outcome", "return", "exam", "survival", "life", "final", "endpoint", "total"),
    "rollout": ("rollout", "replicate", "replication", "repeat", "repetition"),
    "role": ("role", "side"),
    "family": ("family",),
    "era": ("era",),
}
ACTION_WORDS = (
    "action",
    "dose",
    "dosage",
    "doses",
    "treatment",
    "drug",
    "medication",
    "fertiliser",
    "fertilizer",
    "price",
    "setting",
)
STATE_WORDS = ("state", "measurement", "observation")
TIME_WORDS = frozenset({*NAMES["step"], *NAMES["time"]}) - {"t"}


@dataclass(frozen=True)
class Columns(AsJson):
    """Names of the columns by what they hold; empty where there is none."""

    policy: str = ""
    unit: str = ""
    step: str = ""  # whole steps
    time: str = ""  # instead of whole steps: a number or a date that is laid on a grid
    states: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    reward: str = ""
    outcome: str = ""
    rollout: str = ""
    role: str = ""
    family: str = ""
    era: str = ""

    @property
    def clock(self) -> str:
        return self.step or self.time

    def used(self) -> dict[str, str]:
        """The role of every column that is used."""
        roles: dict[str, str] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            for name in (value,) if isinstance(value, str) else value:
                if name:
                    roles.setdefault(name, field.name)
        return roles


def parse_columns(text: str, frame: pd.DataFrame, guess: Columns | None = None) -> Columns:
    """The columns that a person names, as ``policy=arm,unit=id,states=a+b``; what is not named is guessed.

    ``reward=`` with nothing behind it says that there is none.
    """
    given: dict[str, Any] = {}
    names = {field.name for field in fields(Columns)}
    for part in filter(None, (word.strip() for word in text.split(","))):
        role, equals, value = part.partition("=")
        role = {"state": "states", "action": "actions"}.get(role.strip(), role.strip())
        if not equals or role not in names:
            raise UserError(
                f"--columns has {quoted(part)}; write ROLE=COLUMN with one of the roles {', '.join(sorted(names))}."
            )
        value = value.strip()
        if role in SEVERAL:
            columns = (value,) if value in frame.columns else tuple(filter(None, (v.strip() for v in value.split("+"))))
            given[role] = tuple(dict.fromkeys((*given.get(role, ()), *columns)))
        else:
            given[role] = value
    return with_given(frame, given)


def split_names(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Names with commas between them; a name may have commas itself, if the table has such a one."""
    parts, names = text.split(","), []
    while parts:
        for count in range(len(parts), 0, -1):
            name = ",".join(parts[:count]).strip()
            if name in known or count == 1:
                names += [name] if name else []
                del parts[:count]
                break
    return tuple(dict.fromkeys(names))


def with_given(frame: pd.DataFrame, given: Mapping[str, Any]) -> Columns:
    """Columns as given; the rest is guessed from the columns that are left."""
    names = {field.name for field in fields(Columns)}
    if unknown := [role for role in given if role not in names]:
        raise UserError(f"There is no role {quoted(unknown[0])} of a column; choose from {', '.join(sorted(names))}.")
    plain = {
        role: (value,)
        if role in SEVERAL and isinstance(value, str)
        else tuple(value)
        if role in SEVERAL
        else str(value or "")
        for role, value in given.items()
    }
    taken = {name for value in plain.values() for name in ((value,) if isinstance(value, str) else value)}
    left = frame[[name for name in frame.columns if name not in taken]]
    if plain.get("step") or plain.get("time"):
        plain.setdefault("step", "")
        plain.setdefault("time", "")
    return guess_columns(left, known=plain)


def guess_columns(frame: pd.DataFrame, known: Mapping[str, Any] | None = None) -> Columns:
    """What each column of a table probably holds, from its name and its contents.

    Parameters
    ----------
    frame : DataFrame
        The table, as ``read_any`` gives it.
    known : mapping, optional
        Roles that need no guess.
    """
    known = dict(known or {})
    sample = frame.iloc[:SAMPLED]
    found: dict[str, Any] = {}
    taken: set[str] = set()
    for role in NAMES:
        if role in known or (role == "time" and ("step" in known or found.get("step"))):
            continue
        name = _by_name(role, sample, taken)
        if name:
            found[role] = name
            taken.add(name)
    columns = replace(Columns(), **found, **{role: value for role, value in known.items()})
    if not columns.reward and "reward" not in known and "outcome" in found and _changes_within_units(sample, columns):
        columns = replace(columns, reward=columns.outcome, outcome="")  # a number per step, whatever it is called
    left = [name for name in frame.columns if name not in taken]
    if not columns.policy:
        columns = replace(columns, policy=_label_column(sample, left))
        left = [name for name in left if name != columns.policy]
    numeric = [name for name in left if _is_numeric(sample[name])]
    actions, states = _actions_and_states(sample, left, numeric)
    if "actions" not in known:
        columns = replace(columns, actions=tuple(actions))
    if "states" not in known:
        columns = replace(columns, states=tuple(name for name in states if name not in columns.actions))
    nothing_earned = not columns.reward and not columns.outcome and not {"reward", "outcome"} & known.keys()
    if nothing_earned and len(columns.states) == 1 and "states" not in known:
        columns = replace(columns, reward=columns.states[0], states=())  # the only number there is
    return columns


def words_of(name: str) -> list[str]:
    """The words in the name of a column: patientID, dose_mg and "Grain (t)" have two each."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)]


def title_and_unit(name: str) -> tuple[str, str]:
    """A column name as people say it, and the unit in it: "Grain (t)" -> ("Grain", "t")."""
    found = re.fullmatch(r"\s*(.+?)\s*[(\[]\s*([^()\[\]]{1,20})\s*[)\]]\s*", name)
    return (found[1], found[2]) if found else (name, "")


def _by_name(role: str, frame: pd.DataFrame, taken: set[str]) -> str:
    """The column whose name fits best: the whole name before a word of it, usual names before rare ones."""
    best, best_score = "", 10_000
    for name in frame.columns:
        if name in taken:
            continue
        words = words_of(str(name))
        whole = "".join(words)
        for place, usual in enumerate(NAMES[role]):
            score = place + (
                0 if whole == usual else 100 if words[:1] == [usual] else 200 if usual in words else 10_000
            )
            if role in ("reward", "outcome") and words[:1] and words[0] in (*STATE_WORDS, "action"):
                continue
            if role == "unit" and words and words[-1] == "id" and words[0] not in NAMES["policy"]:
                score = min(score, 50)
            if score < best_score and _plausible(role, frame[name]):
                best, best_score = str(name), score
    return best


def _plausible(role: str, column: pd.Series) -> bool:
    """Whether the contents fit the role that the name suggests."""
    if role in ("step", "reward", "outcome"):
        return _is_numeric(column) or (role == "step" and _is_date(column))
    if role == "time":
        return _is_numeric(column) or _is_date(column)
    return not column.isna().all()


def _changes_within_units(frame: pd.DataFrame, columns: Columns) -> bool:
    """Whether the outcome is another one in the next row of most units."""
    keys = [frame[name] for name in (columns.policy, columns.unit) if name in frame.columns]
    if not keys or columns.outcome not in frame.columns:
        return False
    different = pd.Series(to_numbers(frame[columns.outcome])[0]).groupby([key.to_numpy() for key in keys]).nunique()
    return bool((different > 1).mean() > 0.5)


def _is_numeric(column: pd.Series) -> bool:
    """Mostly numbers; a few wrong cells are for the checks to report."""
    if column.dtype.kind in "iufb" and not isinstance(column.dtype, pd.CategoricalDtype):
        return True
    if column.dtype.kind == "M":
        return False
    values, wrong = to_numbers(column)
    return bool(np.isfinite(values).sum() > wrong.sum())


def _is_date(column: pd.Series) -> bool:
    if column.dtype.kind == "M":
        return True
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return False
    texts = column.cat.categories.astype(str)[:20]
    return len(texts) > 0 and bool(texts.str.match(r"^\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}").mean() > 0.5)


def _label_column(frame: pd.DataFrame, left: Sequence[str]) -> str:
    """A column of text with a few values that come again and again."""
    best, fewest = "", len(frame) / 2 + 1
    for name in left:
        if any(word in (*ACTION_WORDS, *STATE_WORDS) for word in words_of(name)):
            continue
        if (
            isinstance(frame[name].dtype, pd.CategoricalDtype)
            and not _is_numeric(frame[name])
            and not _is_date(frame[name])
        ):
            count = len(label_codes(frame[name])[1])
            if 1 < count < fewest:
                best, fewest = str(name), count
    return best


def _actions_and_states(
    frame: pd.DataFrame, left: Sequence[str], numeric: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Actions by their names; states by theirs, else all numbers that are neither of them nor a calendar."""
    actions = [
        n
        for n in left
        if any(w in ACTION_WORDS for w in words_of(n)) and not any(w in STATE_WORDS for w in words_of(n))
    ]
    actions = [n for n in actions if n in numeric or isinstance(frame[n].dtype, pd.CategoricalDtype)]
    named = [n for n in numeric if words_of(n)[:1] and words_of(n)[0] in STATE_WORDS]
    if named:
        return actions, named
    others = [
        n for n in numeric if n not in actions and not (set(words_of(n)) & TIME_WORDS) and "id" not in words_of(n)
    ]
    return actions, others
