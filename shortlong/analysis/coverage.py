"""Promised against kept: how often intervals contain the truth, where the truth is known.

The measured share stands beside the promised one, whatever it says; nothing is tuned to it.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from shortlong.analysis.confusion import proportion_interval
from shortlong.analysis.intervals import NO_RATIO, NOT_CALIBRATED

MEASURED = ["promised", "kept", "covered", "policies", "kept_from", "kept_to", "infinite", "median_width"]


def measured_coverage(table: pd.DataFrame, level: float, by: Sequence[str] = ("method", "horizon")) -> pd.DataFrame:
    """Coverage of intervals with ``true`` (from ``intervals`` or ``backtest_intervals``); an infinite one always covers.

    Columns: those of ``by``, promised, kept (share), covered, policies, kept_from and kept_to (95 % binomial interval, as if
    policies were independent), infinite (share) and median_width (inf where half or more are infinite). Rows without a
    calibration or without a known truth are left out. Intervals for single units count as the share of a policy's units.
    """
    marked = _marked(table, by)
    if "unit" in table.columns:
        marked = _per_policy(marked, by, "mean")
    return _summed(marked, level, by)


def coverage_at_every_look(table: pd.DataFrame, level: float, by: Sequence[str] = ("method",)) -> pd.DataFrame:
    """The same, a policy counting as covered only if its interval contains the truth at *every* horizon.

    This is what the kind "together" promises and what somebody who moves the horizon relies on.
    """
    return _summed(_per_policy(_marked(table, by), by, "min"), level, by)


def _marked(table: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    used = table[~table["reason"].isin([NOT_CALIBRATED, NO_RATIO]) & np.isfinite(table["true"].to_numpy(float))]
    return used[[*by, "policy"]].assign(
        covered=((used["lower"] <= used["true"]) & (used["true"] <= used["upper"])).astype(float),
        infinite=(used["reason"] != "").astype(float),
        median_width=_width(used),
    )


def _per_policy(marked: pd.DataFrame, by: Sequence[str], how: str) -> pd.DataFrame:
    columns = {"covered": how, "infinite": "max", "median_width": "median"}
    return marked.groupby([*by, "policy"], sort=False, observed=True).agg(columns).reset_index()


def _summed(marked: pd.DataFrame, level: float, by: Sequence[str]) -> pd.DataFrame:
    columns = {"covered": "sum", "policies": "sum", "infinite": "mean", "median_width": "median"}
    found = marked.assign(policies=1).groupby(list(by), sort=False, observed=True).agg(columns).reset_index()
    return _with_limits(found, level)[[*by, *MEASURED]]


def _width(table: pd.DataFrame) -> "pd.Series[float]":
    """Width of two-sided intervals; of one-sided bounds the distance from the prediction."""
    lower, upper = (table[name].to_numpy(float) for name in ("lower", "upper"))
    one_sided = np.isfinite(lower) ^ np.isfinite(upper)
    predicted = table["predicted"].to_numpy(float)
    low, high = (np.where(one_sided & ~np.isfinite(end), predicted, end) for end in (lower, upper))
    with np.errstate(invalid="ignore"):
        return pd.Series(high - low, table.index)


def _with_limits(found: pd.DataFrame, level: float) -> pd.DataFrame:
    limits = [proportion_interval(round(c), int(n)) for c, n in zip(found["covered"], found["policies"], strict=True)]
    ends = np.array(limits, dtype=float).reshape(-1, 2)
    return found.assign(
        promised=level, kept=found["covered"] / found["policies"], kept_from=ends[:, 0], kept_to=ends[:, 1]
    )
