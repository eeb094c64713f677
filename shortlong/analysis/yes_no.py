"""Outcomes that are just no or yes, such as long-lived cells: how many predictions are right, and whether they can be believed.

A prediction from 0.5 on is a yes. Predictions are averaged over seeds first, as everywhere else.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from shortlong.analysis.headline import mean_over_seeds

YES_FROM = 0.5
BINS = 5


@dataclass(frozen=True)
class YesNo:
    """One method at one horizon."""

    method: str
    right: int
    total: int
    called_yes: int
    yes: int
    tied: int = 0  # other methods that are right as often

    @property
    def one_answer(self) -> int:
        """How many the better of two constant answers gets right."""
        return max(self.yes, self.total - self.yes)


def right_over_horizon(values: pd.DataFrame) -> pd.DataFrame:
    """Per method and horizon: right, total, called_yes, yes and share (right of total)."""
    rows = mean_over_seeds(values)
    said, yes = rows["predicted"].to_numpy(float) >= YES_FROM, rows["true"].to_numpy(float) == 1
    marked = rows[["method", "horizon"]].assign(right=said == yes, total=1, called_yes=said, yes=yes)
    counts = marked.groupby(["method", "horizon"], sort=False, observed=True).sum().reset_index()
    return counts.assign(share=counts["right"] / counts["total"])


def best_at(table: pd.DataFrame, horizon: int) -> YesNo:
    """The method that is right most often at a horizon; the first of equals."""
    rows = table[table["horizon"] == horizon]
    best = of_method(table, str(rows.sort_values("right", ascending=False, kind="stable")["method"].iloc[0]), horizon)
    return replace(best, tied=int((rows["right"] == best.right).sum()) - 1)


def of_method(table: pd.DataFrame, method: str, horizon: int) -> YesNo:
    row = table[(table["horizon"] == horizon) & (table["method"] == method)].iloc[0]
    return YesNo(method, *(int(row[name]) for name in ("right", "total", "called_yes", "yes")))


def calibration_bins(rows: pd.DataFrame) -> pd.DataFrame:
    """Predictions of one horizon in five bins per method: method, predicted (mean), observed (share of yes) and cases."""
    predicted = rows["predicted"].to_numpy(float).clip(0, 1)
    place = np.minimum((predicted * BINS).astype(int), BINS - 1)
    groups = rows.assign(predicted=predicted, bin=place).groupby(["method", "bin"], sort=False, observed=True)
    found = groups.agg(predicted=("predicted", "mean"), observed=("true", "mean"), cases=("true", "size"))
    return found.reset_index().sort_values(["method", "bin"], kind="stable", ignore_index=True)
