"""Pairs of policies that early rewards put in the wrong order (paper, appendix, figure of two kidney policies).

Everything is read off a predictions table: the extrapolated mean reward says what the first steps suggest, the true column
what happened in the end, and any other method can be asked whether it was misled as well.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.core.errors import UserError

EARLY_METHOD = "mean_reward"  # what a person would conclude from the rewards seen so far
CLEAR_SHARE = 0.5  # true values differ clearly from this share of their standard deviation on


def misleading_pairs(
    predictions: pd.DataFrame,
    horizon: int,
    *,
    method: str | None = None,
    same_unit: bool = False,
    clear_gap: float | None = None,
    seed: int | None = None,
    limit: int | None = None,
) -> pd.DataFrame:
    """Pairs whose early rewards favour the policy that turns out clearly worse, the most misleading first.

    ``same_unit`` compares policies on one unit (patient) at a time, else policies are compared by their means over units.
    ``clear_gap`` is the smallest difference of true values that counts; without it half a standard deviation of them.
    ``method`` adds what that method predicts and whether it gets the order right. Predictions are averaged over seeds
    unless a ``seed`` is given.

    Columns: better, worse (labels), unit (with ``same_unit``), true_better, true_worse, early_better, early_worse and
    misleading, the geometric mean of the true gap and the opposite early gap: large only when both are.
    """
    values = _values(predictions, horizon, seed, same_unit, [EARLY_METHOD, *([method] if method else [])])
    better, worse, unit, _ = _clear_pairs(values, clear_gap)
    true, early = values.true, values.predicted[EARLY_METHOD]
    opposite = early[worse, unit] - early[better, unit]
    wrong = opposite > 0
    better, worse, unit, opposite = better[wrong], worse[wrong], unit[wrong], opposite[wrong]
    columns: dict[str, NDArray] = {
        "better": values.labels[better],
        "worse": values.labels[worse],
        **({"unit": values.units[unit]} if same_unit else {}),
        "true_better": true[better, unit],
        "true_worse": true[worse, unit],
        "early_better": early[better, unit],
        "early_worse": early[worse, unit],
    }
    if method:
        guess = values.predicted[method]
        columns["predicted_better"], columns["predicted_worse"] = guess[better, unit], guess[worse, unit]
        columns["method_is_right"] = guess[better, unit] > guess[worse, unit]
    columns["misleading"] = np.sqrt((true[better, unit] - true[worse, unit]) * opposite)
    order = np.argsort(-columns["misleading"], kind="stable")[:limit]
    return pd.DataFrame({name: column[order] for name, column in columns.items()})


def misordered_share(
    predictions: pd.DataFrame,
    horizon: int,
    *,
    method: str = EARLY_METHOD,
    same_unit: bool = False,
    clear_gap: float | None = None,
    seed: int | None = None,
) -> float | None:
    """Share of the clearly different pairs that a method puts in the wrong order; None when no pair differs clearly."""
    values = _values(predictions, horizon, seed, same_unit, [method])
    better, worse, unit, count = _clear_pairs(values, clear_gap)
    guess = values.predicted[method]
    return float(np.mean(guess[worse, unit] > guess[better, unit])) if count else None


@dataclass(frozen=True)
class _Values:
    """True and predicted values (policy, unit) at one horizon; one column of means if units do not matter."""

    labels: NDArray
    units: NDArray
    true: NDArray[np.float64]
    predicted: dict[str, NDArray[np.float64]]


def _values(predictions: pd.DataFrame, horizon: int, seed: int | None, same_unit: bool, methods: list[str]) -> _Values:
    chosen = predictions[predictions["horizon"] == horizon]
    if seed is not None:
        chosen = chosen[chosen["seed"] == seed]
    elif chosen["seed"].nunique() > 1:
        names = ["method", "policy", "unit"]
        chosen = chosen.groupby(names, sort=False, observed=True)[["predicted", "true"]].mean().reset_index()
    rows_of = {}
    for method in methods:
        rows = chosen[chosen["method"] == method]
        if rows.empty:
            raise UserError(
                f"There are no predictions of {method!r} at horizon {horizon}{'' if seed is None else f' with seed {seed}'}; "
                f"add this method and horizon to the scenario and run it."
            )
        rows_of[method] = rows.assign(policy=rows["policy"].astype(str))
    true = _wide(rows_of[methods[0]], "true")

    def array(wide: pd.DataFrame) -> NDArray[np.float64]:
        cells = wide.loc[true.index, true.columns].to_numpy()
        return cells if same_unit else cells.mean(axis=1, keepdims=True)

    return _Values(
        labels=true.index.to_numpy(),
        units=true.columns.to_numpy(),
        true=array(true),
        predicted={method: array(_wide(rows, "predicted")) for method, rows in rows_of.items()},
    )


def _wide(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    return rows.pivot(index="policy", columns="unit", values=column).astype(np.float64)


def _clear_pairs(values: _Values, clear_gap: float | None) -> tuple[NDArray, NDArray, NDArray, int]:
    """Rows (better policy, worse policy, unit) of all pairs that differ clearly, and how many they are."""
    smallest = CLEAR_SHARE * float(values.true.std()) if clear_gap is None else clear_gap
    first, second = np.triu_indices(len(values.labels), k=1)
    gap = values.true[first] - values.true[second]
    pair, unit = np.nonzero((np.abs(gap) >= smallest) & (gap != 0))
    swap = gap[pair, unit] < 0
    better = np.where(swap, second[pair], first[pair])
    worse = np.where(swap, first[pair], second[pair])
    return better, worse, unit, len(pair)
