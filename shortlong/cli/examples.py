"""Example tables: our own simulators at a small size, in the format of one's own data."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shortlong.core.errors import UserError
from shortlong.core.harmless import spreadsheet
from shortlong.core.reading import shown


def write_examples(folder: Path) -> Iterator[tuple[str, str]]:
    """Write the files one by one; the path of each, and what it shows."""
    from shortlong.scenario.example_tables import example_table

    try:
        folder.mkdir(parents=True, exist_ok=True)
        hiv, kidney = (example_table("hiv"), example_table("kidney"))
        name = folder / "dialysis.csv"
        spreadsheet(kidney).to_csv(name, index=False)
        yield (
            str(name),
            "dosing rules for dialysis patients, one row per policy, unit and month; the new ones seen for 8 months",
        )
        name = folder / "hiv.parquet"
        hiv.to_parquet(name, index=False)
        yield str(name), "treatment policies, the same as Parquet"
        name = folder / "dialysis-semicolons.csv"
        spreadsheet(_european(kidney)).to_csv(name, index=False, sep=";", decimal=",")
        yield str(name), "as European spreadsheets write it: semicolons and decimal commas; both are detected"
        name = folder / "exam.csv"
        _with_outcome(kidney).to_csv(name, index=False)
        yield str(name), "an outcome per unit, known for old policies only, and no rewards"
    except OSError as error:
        raise UserError(
            f"{shown(folder)} cannot be written ({error.strerror or error}); give another folder."
        ) from error


def _european(table: Any) -> Any:
    return table.rename(columns={"policy": "arm", "unit": "patient", "step": "month", "reward": "benefit"})


def _with_outcome(table: Any) -> Any:
    """Without rewards; the outcome of a unit stands in each of its rows, for old policies."""
    total = table.groupby(["policy", "unit"])["reward"].transform("sum").round(4)
    table = table.assign(exam=total.where(table["role"] == "history")).drop(columns=["reward", "role"])
    return table[table["action_dose in µg/kg a week"].notna()]
