"""The main numbers of a scenario: what cards, sentences and curves of the pages show.

Pure functions of the metrics and of the value of each policy; the sentences are in ``words``, the charts
in ``figures``.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlong.core.metrics import ordered_pairs

BASELINE = "off_policy_mean"  # predicts every new policy without having observed it


@dataclass(frozen=True)
class Headline:
    """The method with the lowest error at a horizon, and how good it is."""

    horizon: int
    method: str
    error: float  # typical error (RMSE per policy), mean over seeds
    baseline_error: float | None  # the same for the off-policy mean; None when it was not computed
    ordered_pairs: float | None  # share of pairs of policies in the right order, predictions averaged over seeds
    lowest: float  # true values of the policies that are judged
    highest: float
    policies: int
    runner_up: str | None = None
    runner_up_error: float | None = None

    @property
    def gain(self) -> float | None:
        """Share of the baseline's error that is saved; None without a baseline, negative when it is worse."""
        return 1 - self.error / self.baseline_error if self.baseline_error else None


@dataclass(frozen=True)
class Lean:
    """How one method's predictions lie around the truth at a horizon, predictions averaged over seeds."""

    method: str
    policies: int
    too_high: int  # policies whose value is overestimated
    too_low: int  # policies whose value is underestimated
    bias: float  # mean error over all policies
    mean_high: float = 0.0  # mean overestimate of the policies that are overestimated
    mean_low: float = 0.0  # mean underestimate of the policies that are underestimated, as a positive number


@dataclass(frozen=True)
class Comparison:
    """True values of the policies to be judged beside those of the histories."""

    policies: int
    lowest: float
    highest: float
    history_policies: int
    history_lowest: float
    history_highest: float
    beyond: int  # policies that turn out better than the best of the history
    yes: int | None = None  # where outcomes are yes or no: how many new ones are yes
    history_yes: int | None = None


def over_seeds(metrics: pd.DataFrame, column: str = "rmse_policy") -> pd.DataFrame:
    """Mean, lowest and highest over seeds, one row per (method, horizon)."""
    groups = metrics.groupby(["method", "horizon"], sort=False, observed=True)[column]
    return groups.agg(mean="mean", low="min", high="max").reset_index()


def error_curve(metrics: pd.DataFrame, method: str) -> tuple[list[int], list[float]]:
    """Horizons and typical errors of one method, mean over seeds."""
    curves = over_seeds(metrics)
    curve = curves[curves["method"] == method].sort_values("horizon")
    return [int(h) for h in curve["horizon"]], [float(e) for e in curve["mean"]]


def standings(metrics: pd.DataFrame, horizon: int) -> pd.DataFrame:
    """All metrics at one horizon, mean over seeds, the smallest error first."""
    rows = metrics[metrics["horizon"] == horizon]
    numbers = [c for c in rows.columns if c not in ("seed", "method", "horizon")]
    table = rows[["method"]].join(rows[numbers].apply(pd.to_numeric))
    return table.groupby("method", sort=False, observed=True).mean().reset_index().sort_values("rmse_policy")


def headline(metrics: pd.DataFrame, values: pd.DataFrame, horizon: int) -> Headline:
    """The best method at a horizon; ``values`` has the predicted and true value of each policy."""
    table = standings(metrics, horizon).set_index("method")
    best = table.iloc[0]
    truth = values.groupby("policy", observed=True)["true"].first()
    predictions = at_horizon(values, horizon)
    own = predictions[predictions["method"] == table.index[0]]
    return Headline(
        horizon=horizon,
        method=str(table.index[0]),
        error=float(best["rmse_policy"]),
        baseline_error=float(table["rmse_policy"][BASELINE]) if BASELINE in table.index else None,
        ordered_pairs=ordered_pairs(own["predicted"], own["true"]) if own["predicted"].nunique() > 1 else None,
        lowest=float(truth.min()),
        highest=float(truth.max()),
        policies=len(truth),
        runner_up=str(table.index[1]) if len(table) > 1 else None,
        runner_up_error=float(table["rmse_policy"].iloc[1]) if len(table) > 1 else None,
    )


def lean_of(values: pd.DataFrame, method: str, horizon: int) -> Lean:
    """How many policies a method overestimates and underestimates, and by how much on average on either side."""
    table = at_horizon(values, horizon)
    table = table[table["method"] == method]
    error = (table["predicted"] - table["true"]).to_numpy(dtype=float)
    over, under = error[error > 0], -error[error < 0]
    return Lean(
        method,
        policies=len(error),
        too_high=len(over),
        too_low=len(under),
        bias=float(error.mean()),
        mean_high=float(over.mean()) if len(over) else 0.0,
        mean_low=float(under.mean()) if len(under) else 0.0,
    )


def at_horizon(values: pd.DataFrame, horizon: int) -> pd.DataFrame:
    """Predicted and true value per (method, policy) at one horizon, predictions averaged over seeds."""
    return mean_over_seeds(values[values["horizon"] == horizon]).drop(columns="horizon")


def mean_over_seeds(values: pd.DataFrame) -> pd.DataFrame:
    """Predicted and true value per (method, horizon, policy), predictions averaged over seeds."""
    names = ["method", "horizon", "policy"]
    return values.groupby(names, sort=False, observed=True)[["predicted", "true"]].mean().reset_index()


def wide_table(values: pd.DataFrame, horizon: int) -> pd.DataFrame:
    """One row per policy: its true value and what each method predicts."""
    predictions = at_horizon(values, horizon)
    wide = predictions.pivot_table(index="policy", columns="method", values="predicted", sort=False, observed=True)
    truth = predictions.groupby("policy", sort=False, observed=True)["true"].first()
    return wide.rename_axis(columns=None).assign(true=truth).reset_index()


def compare(history: ArrayLike, new: ArrayLike) -> Comparison:
    """Values of policies given their returns (policies, units)."""
    old, fresh = np.asarray(history, float).mean(axis=1), np.asarray(new, float).mean(axis=1)
    yes_or_no = bool(np.isin(np.concatenate([old, fresh]), (0.0, 1.0)).all())
    return Comparison(
        policies=len(fresh),
        lowest=float(fresh.min()) if len(fresh) else math.nan,
        highest=float(fresh.max()) if len(fresh) else math.nan,
        history_policies=len(old),
        history_lowest=float(old.min()),
        history_highest=float(old.max()),
        beyond=int((fresh > old.max()).sum()),
        yes=int(fresh.sum()) if yes_or_no else None,
        history_yes=int(old.sum()) if yes_or_no else None,
    )


def nearest_horizon(horizons: Sequence[int], wanted: float) -> int:
    return min(horizons, key=lambda horizon: abs(horizon - wanted))


def usual_horizon(horizons: Sequence[int], steps: int) -> int:
    """The horizon that is spoken of where nobody has chosen one: a tenth of the time, as nearly as there are results."""
    return nearest_horizon(horizons, steps / 10)


def representatives(values: ArrayLike) -> list[int]:
    """Positions of the worst, the middle and the best, without repetition: a fair first look at many policies."""
    order = np.argsort(np.asarray(values, float), kind="stable")
    return list(dict.fromkeys(int(order[i]) for i in (0, len(order) // 2, len(order) - 1)))


def numbers_of_representatives(*sides: NDArray[np.floating]) -> list[int]:
    """The representatives of each side, counted from 1 through all sides."""
    before = np.cumsum([0, *(len(side) for side in sides)])
    return [
        int(start) + place + 1 for start, side in zip(before, sides, strict=False) for place in representatives(side)
    ]


def watching_pays_from(metrics: pd.DataFrame, watching: Collection[str]) -> int | None:
    """First horizon from which on some method that watches new policies beats all that do not; None if there is none."""
    curves = over_seeds(metrics)
    watches = curves["method"].isin(list(watching))
    best, others = (curves[side].groupby("horizon")["mean"].min() for side in (watches, ~watches))
    if best.empty or others.empty:
        return None
    lasting = (best < others).sort_index()[::-1].cummin()[::-1]
    return min((int(h) for h in lasting.index[lasting.to_numpy()]), default=None)


def reliable_from(metrics: pd.DataFrame) -> int | None:
    """First horizon from which on some method is always better than the off-policy mean; None if there is none."""
    curves = over_seeds(metrics)
    baseline = curves[curves["method"] == BASELINE].set_index("horizon")["mean"]
    best = curves[curves["method"] != BASELINE].groupby("horizon")["mean"].min()
    if baseline.empty or best.empty:
        return None
    better = (best < baseline).sort_index()
    lasting = better[::-1].cummin()[::-1]
    return min((int(h) for h in lasting.index[lasting.to_numpy()]), default=None)
