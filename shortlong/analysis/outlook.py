"""What will happen: every prediction with its interval, for pages, tables, reports, the command line and notebooks.

The one place where results and their calibration meet, so that the same number has the same bounds everywhere.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from shortlong.analysis.choice import MEAN, every_seed, with_interval_columns
from shortlong.analysis.headline import mean_over_seeds
from shortlong.analysis.intervals import (
    NOT_CALIBRATED,
    Kind,
    Prepared,
    Side,
    prepare,
    prepare_backtest,
)
from shortlong.analysis.trust import chosen_by_history
from shortlong.analysis.unit_intervals import UnitIntervals
from shortlong.compute.results import Results
from shortlong.core.calibration import Leave
from shortlong.core.errors import UserError

LEVEL = 0.8  # the usual level of an interval: nine policies are too few for 90 %, four are enough for this one


def outlook(
    results: Results,
    level: float = LEVEL,
    kind: Kind = "together",
    *,
    leave: Leave | None = None,
    side: Side = "both",
    horizons: Sequence[int] | None = None,
    methods: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Predictions averaged over seeds with lower, upper and reason; ``true`` is not a number where nobody knows it.

    They come from the back-test that the kind of interval needs unless ``leave`` names another. Bounds are infinite where the history allows no finite one, and without a back-test. Of a back-test each old policy is
    judged by the others only.
    """
    found = outlook_at(results, prepared_outlook(results, kind, leave=leave, side=side), level)
    chosen = found["horizon"].isin(list(horizons) if horizons is not None else results.horizons)
    chosen &= found["method"].isin(list(methods) if methods is not None else results.methods)
    return found[chosen].reset_index(drop=True)


def prepared_outlook(
    results: Results, kind: Kind = "together", *, leave: Leave | None = None, side: Side = "both"
) -> Prepared | UnitIntervals | None:
    """All of ``outlook`` that does not depend on the level, for sliders; None without a back-test."""
    calibration = results.calibration(leave_of(kind, leave), units=kind == "unit")
    if calibration is None:
        return None
    if results.is_back_test:
        return prepare_backtest(calibration, kind, side)
    return prepare(calibration, mean_over_seeds(results.values), kind, side)


def outlook_at(results: Results, prepared: Prepared | UnitIntervals | None, level: float) -> pd.DataFrame:
    """What ``prepared_outlook`` made, at one level."""
    if prepared is None:
        return mean_over_seeds(results.values).assign(lower=-np.inf, upper=np.inf, reason=NOT_CALIBRATED)
    return prepared.at(level)


def policy_rows(
    results: Results, *, horizon: int | None = None, level: float = LEVEL, kind: Kind = "together"
) -> pd.DataFrame:
    """The table of policies to download: every seed and the means, these with their intervals where there is a back-test."""
    rows = every_seed(results.values, results.history, horizon)
    if results.calibration(leave_of(kind)) is None:
        return rows
    return with_interval_columns(rows, outlook(results, level, kind), level, kind)


def back_test_rows(
    judged: Results, leave: Leave = "policy", level: float = LEVEL, kind: Kind = "together"
) -> pd.DataFrame:
    """A back-test policy by policy: what was predicted of each, what came true, and its interval, made by the others only."""
    rows = judged.values.assign(seed=MEAN)
    return with_interval_columns(rows, outlook(judged, level, kind, leave=leave), level, kind).drop(columns="seed")


def kinds_of(results: Results) -> list[Kind]:
    """The kinds of interval that these results allow, the usual one first; empty without a back-test."""
    calibration = results.calibration("policy")
    if calibration is None:
        return []
    kinds: list[Kind] = ["together", "cv+"]
    if calibration.ratios is not None and len(calibration.ratios):
        kinds.append("weighted")
    families = None if results.is_back_test else results.calibration("family")
    return [*kinds, "family"] if families is not None else kinds


def leave_of(kind: Kind, asked: Leave | None = None) -> Leave:
    """Which back-test a kind of interval is made from: the one that is asked for, if it will do."""
    if kind != "family":
        return asked or "policy"
    if asked not in (None, "family"):
        raise UserError("Intervals for whole new families need a back-test by family; choose --leave family, or none.")
    return "family"


def trusted_method(results: Results, horizon: int, leave: Leave = "policy") -> str | None:
    """The method that the history alone would have chosen at a horizon; None without a back-test."""
    calibration = results.calibration(leave)
    return None if calibration is None else chosen_by_history(calibration, horizon)
