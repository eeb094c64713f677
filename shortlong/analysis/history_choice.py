"""What the history alone would have chosen at one horizon, beside what is known only in hindsight; and what it predicts.

Where nobody knows how the new policies end, the history's choice is all there is: which method to trust, which policy it
predicts to be best, and how wide its intervals are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from shortlong.analysis.choice import Favourite, favourite
from shortlong.analysis.headline import BASELINE, at_horizon
from shortlong.analysis.trust import compare_methods
from shortlong.core.calibration import Calibration, errors_at


@dataclass(frozen=True)
class HistoryChoice:
    """The method with the lowest error on old policies that it had not seen, and how sure the history is of it."""

    method: str
    policies: int  # old ones on which it was judged
    error: float  # on them
    average_error: float | None  # of the historical average on them
    rival: str | None  # the best in hindsight or, where that is itself the choice or unknown, the runner-up
    difference: float  # of the rival's error on the history to the choice's; NaN without a rival
    standard_error: float
    within_noise: bool  # the history cannot tell the two apart
    others: int  # methods that it is compared with
    others_within_noise: int
    new_error: float | None = None  # on the new policies, where their outcome is known
    favourite: Favourite | None = (
        None  # likewise: what choosing by it would lose; None where it gives all the same value
    )


def history_choice(
    calibration: Calibration,
    horizon: int,
    methods: Sequence[str] | None = None,
    best: str | None = None,
    metrics: pd.DataFrame | None = None,
    values: pd.DataFrame | None = None,
) -> HistoryChoice | None:
    """The method that the history would choose among some; None without a back-test at this horizon.

    ``best`` is the method with the lowest error in hindsight; ``metrics`` and ``values`` are those of the new policies, where
    their outcome is known.
    """
    compared = compare_methods(calibration, horizon, methods)
    if compared.empty:
        return None
    first, others = compared.iloc[0], compared.iloc[1:]
    method = str(first["method"])
    wanted = others[others["method"] == best]
    rival = wanted if len(wanted) else others.iloc[:1]
    return HistoryChoice(
        method,
        policies=int(first["policies"]),
        error=float(first["error"]),
        average_error=_average_error(calibration, method, horizon, methods),
        rival=str(rival["method"].iloc[0]) if len(rival) else None,
        difference=float(rival["difference"].iloc[0]) if len(rival) else np.nan,
        standard_error=float(rival["standard_error"].iloc[0]) if len(rival) else np.nan,
        within_noise=bool(rival["within_two_se"].iloc[0]) if len(rival) else False,
        others=len(others),
        others_within_noise=int(others["within_two_se"].sum()),
        new_error=_error_of(metrics, method, horizon),
        favourite=_favourite(values, method, horizon),
    )


def _average_error(calibration: Calibration, method: str, horizon: int, methods: Sequence[str] | None) -> float | None:
    """The error of the historical average on the policies that the method judged; None where it is not asked for."""
    if methods is not None and BASELINE not in methods:
        return None
    errors = errors_at(calibration, horizon, [method, BASELINE])
    shared = errors[BASELINE][errors[method].notna()].dropna() if BASELINE in errors else errors
    return float(np.sqrt(np.square(shared).mean())) if len(shared) and BASELINE in errors else None


def _error_of(metrics: pd.DataFrame | None, method: str, horizon: int) -> float | None:
    """The mean over seeds, as everywhere; None where it is not known."""
    if metrics is None:
        return None
    rows = metrics[(metrics["method"] == method) & (metrics["horizon"] == horizon)]
    error = float(rows["rmse_policy"].mean()) if len(rows) else np.nan
    return error if np.isfinite(error) else None


def _favourite(values: pd.DataFrame | None, method: str, horizon: int) -> Favourite | None:
    if values is None:
        return None
    predictions = at_horizon(values, horizon)
    rows = predictions[predictions["method"] == method]
    return favourite(predictions, method) if rows["predicted"].nunique() > 1 else None


# --- where nobody knows the outcome ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Forecast:
    """What one method predicts for the new policies at one horizon, with its intervals and without any truth."""

    method: str
    horizon: int
    policies: int
    best: str  # the policy with the highest prediction
    best_predicted: float
    best_lower: float
    best_upper: float
    best_reason: str  # why it has no finite interval; empty where it has one
    lowest: float  # of the predictions
    highest: float
    finite: int  # policies with a finite interval
    half_width: float | None  # the median of the finite intervals
    overlapping: int  # other policies whose interval reaches above the lower bound of the best; all where it has none


def forecast(bounds: pd.DataFrame, method: str, horizon: int) -> Forecast | None:
    """The forecast of one method; ``bounds`` is the table of ``outlook``. None where it predicts nothing here."""
    rows = bounds[(bounds["method"] == method) & (bounds["horizon"] == horizon)].reset_index(drop=True)
    rows = rows[np.isfinite(rows["predicted"].to_numpy(float))].reset_index(drop=True)
    if rows.empty:
        return None
    place = int(rows["predicted"].to_numpy(float).argmax())
    best = rows.iloc[place]
    width = (rows["upper"] - rows["lower"]).to_numpy(float) / 2
    finite = np.isfinite(width)
    return Forecast(
        method,
        horizon,
        policies=len(rows),
        best=str(best["policy"]),
        best_predicted=float(best["predicted"]),
        best_lower=float(best["lower"]),
        best_upper=float(best["upper"]),
        best_reason=str(best["reason"]),
        lowest=float(rows["predicted"].min()),
        highest=float(rows["predicted"].max()),
        finite=int(finite.sum()),
        half_width=float(np.median(width[finite])) if finite.any() else None,
        overlapping=int((rows["upper"].drop(index=place) >= float(best["lower"])).sum()),
    )
