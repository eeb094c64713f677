"""Predictions with their bounds as plain records, and the warnings that travel with them."""

from typing import Any

import numpy as np
import pandas as pd

from shortlong.analysis.intervals import NO_RATIO, NOT_CALIBRATED, TOO_DIFFERENT, TOO_FEW, Kind
from shortlong.analysis.promises import needed_policies
from shortlong.compute.results import Results
from shortlong.core.calibration import Leave
from shortlong.core.errors import UserError
from shortlong.domains import DOMAINS
from shortlong.domains.table.problems import counted, listed
from shortlong.learn.policy_ratio import LEAST_POLICIES
from shortlong.methods import METHODS
from shortlong.words.certainty import CONDITIONS, promise_sentence
from shortlong.words.scenario import unit_noun
from shortlong.words.unseen_actions import unseen_warnings


def certainty_of(results: Results, table: pd.DataFrame, level: float, kind: Kind, leave: Leave) -> dict[str, Any]:
    """What the bounds of a table promise, and when; both are empty where no bound is finite."""
    finite = np.isfinite(table[["lower", "upper"]].to_numpy(float)).any()
    noun = unit_noun(results.scenario)
    return {
        "level": level,
        "kind": kind,
        "leave": leave,
        "promise": promise_sentence(kind, level, leave, unit=noun) if finite else "",
        "condition": CONDITIONS[kind].format(unit=noun) if finite else "",
    }


def as_rows(results: Results, table: pd.DataFrame) -> list[dict[str, Any]]:
    """One record per prediction, as ``predict --json`` prints it; a bound that is not finite is null and has a reason."""
    units = units_of(results)
    records: list[dict[str, Any]] = table.to_dict("records")  # type: ignore[assignment]
    return [
        {
            "policy": str(row["policy"]),
            "method": str(row["method"]),
            "horizon": int(row["horizon"]),
            "predicted": float(row["predicted"]),
            "lower": _finite(row["lower"]),
            "upper": _finite(row["upper"]),
            "reason": str(row["reason"]),
            "units": int(units.get((int(row["horizon"]), str(row["policy"])), units[0, ""])),
        }
        for row in records
    ]


def units_of(results: Results) -> dict[tuple[int, str], int]:
    """How many units each policy has at each horizon; under (0, "") the number that all have where no units are kept."""
    everywhere = {(0, ""): DOMAINS[results.scenario.data.domain].sizes(results.scenario.data)["units"]}
    try:
        rows = results.predictions
    except UserError:
        return everywhere
    counted = rows.groupby(["horizon", "policy"], observed=True)["unit"].nunique().reset_index()
    places = zip(counted["horizon"].astype(int), counted["policy"].astype(str), strict=True)
    return everywhere | dict(zip(places, counted["unit"].astype(int), strict=True))


def warnings_of(results: Results, table: pd.DataFrame, level: float) -> list[str]:
    """What a reader must know of these predictions."""
    said = list(results.scenario.data.warnings)
    reasons = set(table["reason"])
    share = f"{100 * level:.4g} %"
    if NOT_CALIBRATED in reasons:
        methods = sorted(set(table.loc[table["reason"] == NOT_CALIBRATED, "method"].astype(str)))
        said.append(f"No back-test, so no interval, for {', '.join(methods)}.")
    if NO_RATIO in reasons:
        said.append(
            f"No interval adjusted for shift: that takes at least {LEAST_POLICIES} new policies to estimate how they differ. Choose "
            "another kind of interval."
        )
    if TOO_FEW in reasons:
        said.append(
            f"No finite {share} interval where fewer than {needed_policies(level)} historical policies were judged: "
            "the history is too short for this promise."
        )
    if TOO_DIFFERENT in reasons:
        said.append("Some new policies have no finite interval: nothing in the history is like them.")
    if results.is_back_test:
        return said
    return said + _not_observed(results, table) + unseen_warnings(results.scenario, table["method"].astype(str))


def _not_observed(results: Results, table: pd.DataFrame) -> list[str]:
    """New policies that were not observed for as long as a prediction needs."""
    rows = table[np.isfinite(table["predicted"].to_numpy(float))]
    looking = [m for m in rows["method"].astype(str).unique() if METHODS[m].uses_prefix]
    seen = set(rows.loc[rows["method"].isin(looking), "policy"].astype(str))
    short = [policy for policy in results.summary.labels["test"] if policy not in seen] if looking else []
    if not short:
        return []
    steps = counted(int(table["horizon"].max()), "step")
    names, verb = listed(short), "was" if len(short) == 1 else "were"
    return [f"{names} {verb} not observed for {steps}; methods that look at the first steps have no prediction there."]


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
