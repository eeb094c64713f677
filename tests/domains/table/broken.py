"""Sixty broken tables: how each is spoilt, which problems must be found, a word that must be said, and one of its rows.

Rows are numbered as a spreadsheet shows them: the headings stand in row 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from tests.domains.table.tables import as_csv, trial


@dataclass(frozen=True)
class Broken:
    name: str
    make: Callable[[], pd.DataFrame | str | bytes]
    codes: tuple[str, ...]  # errors that must be found
    word: str = ""  # in a message
    row: int | None = None  # one of the rows of the first code
    words: tuple[str, ...] = ()  # further words of the command
    options: dict[str, Any] = field(default_factory=dict)


def cells(*changes: tuple[int, str, Any]) -> Callable[[], pd.DataFrame]:
    """The trial with some cells changed: (row of the frame, column, value)."""

    def make() -> pd.DataFrame:
        table = trial().astype(object)
        for row, column, value in changes:
            table.loc[row, column] = value
        return table

    return make


def without(*columns: str) -> Callable[[], pd.DataFrame]:
    return lambda: trial().drop(columns=list(columns))


def rows_left_out(*rows: int) -> Callable[[], pd.DataFrame]:
    return lambda: trial().drop(index=list(rows))


def repeated(*rows: int) -> Callable[[], pd.DataFrame]:
    return lambda: pd.concat([trial(), trial().loc[list(rows)]], ignore_index=True)


def with_column(name: str, values: Callable[[pd.DataFrame], Any]) -> Callable[[], pd.DataFrame]:
    return lambda: trial().assign(**{name: values})


def outcome(change: bool) -> Callable[[], pd.DataFrame]:
    def make() -> pd.DataFrame:
        table = trial()
        exam = table.groupby("unit")["reward"].transform("sum").where(~table["policy"].str.startswith("N"))
        table = table.drop(columns="reward").assign(outcome=exam.round(3))
        if change:
            table.loc[5, "outcome"] = 99.0
        return table

    return make


def rollouts(drop: bool) -> Callable[[], pd.DataFrame]:
    def make() -> pd.DataFrame:
        table = pd.concat([trial().assign(rollout=0), trial(seed=1).assign(rollout=1)], ignore_index=True)
        return table.drop(index=table.index[(table["unit"] == "B-1") & (table["rollout"] == 1)]) if drop else table

    return make


def text(change: Callable[[str], str]) -> Callable[[], str]:
    return lambda: change(as_csv(trial()).decode())


def mixture() -> pd.DataFrame:
    table = cells((3, "reward", "abc"), (10, "state_level", np.inf), (20, "action_dose", None))()
    return pd.concat([table, table.loc[[30]]], ignore_index=True).drop(index=[50])


BROKEN = [
    # --- columns
    Broken("no policy column", lambda: trial().drop(columns="policy").assign(unit=1), ("missing-column",), "policy"),
    Broken("no step column", without("step"), ("missing-column",), "step"),
    Broken("no reward", lambda: trial().drop(columns="reward").assign(state_b=1.5), ("missing-column",), "reward"),
    Broken("nothing but names", lambda: trial()[["policy", "unit", "step"]], ("missing-column",), "reward"),
    Broken("named column is not there", trial, ("missing-column",), "wek", words=("--columns", "step=wek")),
    Broken("named state is not there", trial, ("missing-column",), "hb", words=("--columns", "states=hb+bp")),
    Broken("heading twice", text(lambda t: t.replace("state_level", "reward", 1)), ("column-twice",), "reward"),
    Broken(
        "no headings", text(lambda t: "\n".join("1,2,3,4,5,6" for _ in t.splitlines())), ("no-headings",), "headings"
    ),
    # --- cells
    Broken("text in rewards", cells((3, "reward", "abc")), ("not-a-number",), "reward", 5),
    Broken("text in states", cells((7, "state_level", "high")), ("not-a-number",), "state_level", 9),
    Broken("text in a dose", cells((0, "action_dose", "1 mg")), ("not-a-number",), "action_dose", 2),
    Broken("text in steps", cells((4, "step", "four")), ("not-a-number",), "step", 6),
    Broken("error of a spreadsheet", cells((5, "reward", "#DIV/0!")), ("not-a-number",), "reward", 7),
    Broken("infinite reward", cells((2, "reward", "inf")), ("infinite",), "reward", 4),
    Broken("infinite state", cells((2, "state_level", "-inf")), ("infinite",), "state_level", 4),
    Broken("number too large", cells((2, "state_level", "1e300")), ("infinite",), "state_level", 4),
    Broken("missing reward", cells((6, "reward", None)), ("missing-number",), "reward", 8),
    Broken("missing state", cells((6, "state_level", "NA")), ("missing-number",), "state_level", 8),
    Broken("missing action", cells((6, "action_dose", "")), ("missing-number",), "action_dose", 8),
    Broken("missing policy", cells((9, "policy", None)), ("missing-label",), "policy", 11),
    Broken("missing unit", cells((9, "unit", "")), ("missing-label",), "unit", 11),
    Broken("missing step", cells((9, "step", None)), ("missing-step",), "step", 11),
    Broken("formula in a cell", cells((3, "reward", '=HYPERLINK("http://x")')), ("not-a-number",), "reward", 5),
    Broken("many wrong cells", cells(*((i, "reward", "?x") for i in range(30))), ("not-a-number",), "30", 2),
    # --- rows
    Broken("duplicate row", repeated(11), ("duplicate",), "repeat", 13),
    Broken("duplicates of two units", repeated(11, 60, 61), ("duplicate",), "3", 13),
    Broken("gap", rows_left_out(4), ("gap",), "step", 6),
    Broken("two gaps", rows_left_out(4, 44), ("gap",), "2", 6),
    Broken("gap in a new policy", rows_left_out(401), ("gap",), "step"),
    Broken("late start", rows_left_out(8), ("late-start",), "start", 10),
    Broken("irregular steps", cells((3, "step", 3.4)), ("irregular-steps",), "step"),
    Broken(
        "calendar weeks",
        lambda: trial().assign(week=lambda t: t["step"] + t["unit"].str[-1].astype(int)).drop(columns="step"),
        ("late-start",),
        "start",
    ),
    Broken("row with too few fields", text(lambda t: t.replace("\n", "\nA,A-0,0\n", 1)), ("uneven-rows",), "fields", 2),
    Broken(
        "row with too many fields",
        text(lambda t: t.replace("\n", "\nA,A-0,0,1,1,1,7\n", 1)),
        ("uneven-rows",),
        "fields",
        2,
    ),
    # --- who is old, who is new, how long
    Broken(
        "only new policies", trial, ("no-old-policy",), "old", words=("--new", ",".join([*"ABCDEFGHIJ", "N0", "N1"]))
    ),
    Broken("one policy", lambda: trial(1, 0), ("no-new-policy",), "back-test"),
    Broken("unknown new policy", trial, ("unknown-policy",), "Z9", words=("--new", "Z9")),
    Broken("length that nobody has", trial, ("no-old-policy",), "99", words=("--length", "99")),
    Broken("length below a prefix", trial, ("length-below-prefix",), "2", words=("--length", "2", "--new", "N0")),
    Broken("one step", lambda: trial(steps=1, seen=1), ("one-step",), "step"),
    Broken(
        "unknown role",
        with_column("role", lambda t: np.where(t["policy"] == "A", "perhaps", "history")),
        ("unknown-role",),
        "role",
        2,
    ),
    Broken(
        "two roles", with_column("role", lambda t: np.where(t.index == 0, "new", "history")), ("role-differs",), "A", 2
    ),
    Broken("two families", with_column("family", lambda t: np.where(t.index == 0, "x", "y")), ("family-differs",), "A"),
    Broken("two eras", with_column("era", lambda t: np.where(t.index == 0, 1890, 1900)), ("era-differs",), "A"),
    Broken("outcome differs", outcome(True), ("outcome-differs",), "outcome", 7),
    Broken("rollout missing", rollouts(True), ("rollouts-unequal",), "rollout"),
    Broken(
        "units as policies",
        lambda: pd.DataFrame({"policy": np.arange(100_000), "unit": 1, "step": 0, "reward": 1.0}),
        ("too-many-policies",),
        "100,000",
    ),
    # --- formulas and other choices
    Broken("formula of no column", trial, ("formula",), "virus", words=("--formula", "2*virus")),
    Broken("formula that is code", trial, ("formula",), "may not", words=("--formula", "__import__('os').system('x')")),
    Broken("formula of attributes", trial, ("formula",), "may not", words=("--formula", "state_level.__class__")),
    Broken("too many scales", trial, ("scale",), "2", words=("--scale", "1,2")),
    Broken(
        "too many categories",
        with_column("action_text", lambda t: [f"a{i}" for i in range(len(t))]),
        ("too-many-categories",),
        "action_text",
    ),
    # --- the file
    Broken("empty file", lambda: b"", ("empty",), "empty"),
    Broken("headings only", lambda: "policy,unit,step,reward\n", ("empty",), "rows"),
    Broken("one column", lambda: "policy\nA\nB\n", ("wrong-delimiter",), "one column"),
    Broken("wrong delimiter said", trial, ("wrong-delimiter",), "one column", words=("--delimiter", ";")),
    Broken(
        "bytes of a picture",
        lambda: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 20,
        ("wrong-encoding",),
        "not text",
    ),
    Broken("a pickle", lambda: b"\x80\x04\x95" + b"x" * 50, ("not-readable",), "pickle"),
    Broken("damaged Parquet", lambda: b"PAR1" + b"x" * 200, ("not-readable",), "Parquet"),
    Broken("damaged gzip", lambda: b"\x1f\x8b\x08" + b"x" * 200, ("not-readable",), "damaged"),
    Broken("ZIP that is no workbook", lambda: b"PK\x03\x04" + b"x" * 200, ("not-readable",), "damaged"),
    Broken("endless line", lambda: b"a,b," * 400_000, ("endless-line",), "1 MB"),
    Broken(
        "thousands or decimals",
        lambda: "arm;id;step;reward\n" + "".join(f"{p};{p};{s};1,{234 + s}\n" for p in "ABCDEF" for s in range(5)),
        ("thousands-separators",),
        "1,234",
    ),
    Broken(
        "two kinds of decimals",
        lambda: "arm;id;step;bp;reward\n" + "".join(f"{p};{p};{s};1.5;0,{s}5\n" for p in "ABCDEF" for s in range(5)),
        ("mixed-decimals",),
        "decimal",
    ),
    Broken(
        "days or months",
        lambda: "arm,id,date,reward\n" + "".join(f"{p},{p},0{s}/05/2024,{s}\n" for p in "ABCDEF" for s in range(1, 5)),
        ("dates-as-text",),
        "month",
    ),
    # --- mixtures
    Broken(
        "everything at once", mixture, ("not-a-number", "infinite", "missing-number", "duplicate", "gap"), "reward", 5
    ),
    Broken(
        "wrong and missing columns",
        lambda: trial().drop(columns=["step", "reward", "state_level", "action_dose"]),
        ("missing-column", "missing-column"),
        "step",
    ),
    Broken(
        "outcome and duplicates",
        lambda: pd.concat([outcome(True)(), outcome(True)().loc[[3]]]),
        ("duplicate", "outcome-differs"),
        "repeat",
    ),
]
