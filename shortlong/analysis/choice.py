"""What follows from choosing a policy by a prediction, and which predictions lie beyond everything in the history.

Pure functions of the per-policy values at one horizon (``headline.at_horizon``, predictions averaged over seeds) and of the
values of the historical policies.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlong.analysis.headline import BASELINE, mean_over_seeds
from shortlong.core.metrics import regret

ABOVE, BELOW, WITHIN = "above", "below", ""
MEAN = "mean"  # stands in the column of seeds where predictions are averaged over them


@dataclass(frozen=True)
class Favourite:
    """The policy that a method predicts to be best, and what choosing it would lose; the loss is known only in hindsight."""

    method: str
    policies: tuple[str, ...]  # more than one where predictions are tied
    predicted: float  # the value that is predicted for it
    value: float  # its true value; the mean among ties
    best: str  # the policy that turned out best
    best_value: float
    place: int  # rank of its true value, 1 being the best; among ties that of the mean
    count: int  # policies to choose from

    @property
    def loss(self) -> float:
        """The regret: how much the best policy would have brought beyond the favourite."""
        return self.best_value - self.value


@dataclass(frozen=True)
class ReferenceLosses:
    """What a choice without any observation of the new policies would lose, compared with the best new policy."""

    random: (
        float  # a new policy chosen at random, on average: all that the historical average allows, for it ties them all
    )
    worst: float  # the worst new policy: nothing can lose more
    history: float | None  # staying with the best historical policy; negative where no new policy is as good


def favourite(predictions: pd.DataFrame, method: str) -> Favourite | None:
    """What the favourite of a method would lose; None when the method was not run."""
    rows = predictions[predictions["method"] == method]
    if rows.empty:
        return None
    predicted, true = (rows[name].to_numpy(dtype=float) for name in ("predicted", "true"))
    labels = rows["policy"].astype(str).to_numpy()
    chosen, best = predicted == predicted.max(), int(true.argmax())
    value = float(true[chosen].mean())
    return Favourite(
        method,
        policies=tuple(labels[chosen]),
        predicted=float(predicted.max()),
        value=value,
        best=str(labels[best]),
        best_value=float(true[best]),
        place=1 + int((true > value).sum()),
        count=len(true),
    )


def reference_losses(predictions: pd.DataFrame, history: ArrayLike | None = None) -> ReferenceLosses:
    """What choosing at random, the worst policy and the best historical policy would lose."""
    true = predictions.drop_duplicates("policy")["true"].to_numpy(dtype=float)
    best = float(true.max())
    old = None if history is None else best - float(np.max(np.asarray(history, dtype=float)))
    return ReferenceLosses(random=best - float(true.mean()), worst=best - float(true.min()), history=old)


def regret_over_horizon(values: pd.DataFrame) -> pd.DataFrame:
    """What the favourite of each method would lose at each horizon: method, horizon, regret, favourite, predicted, value.

    Predictions are averaged over seeds first. ``favourite`` is the first of tied policies, ``value`` what the tied ones bring
    on average. The historical average has no favourite: it is left out, for choosing at random is among the references.
    """
    averaged = mean_over_seeds(values[values["method"] != BASELINE])
    rows = []
    for (method, _), group in averaged.groupby(["method", "horizon"], sort=False, observed=True):
        predicted, true = (group[name].to_numpy(dtype=float) for name in ("predicted", "true"))
        lost, best = regret(predicted, true), int(predicted.argmax())
        label = str(group["policy"].iloc[best])
        rows.append(
            (str(method), int(group["horizon"].iloc[0]), lost, label, float(predicted[best]), float(true.max()) - lost)
        )
    return pd.DataFrame(rows, columns=["method", "horizon", "regret", "favourite", "predicted", "value"])


def beyond_history(predicted: ArrayLike, history: ArrayLike) -> NDArray[np.str_]:
    """ "above" the highest or "below" the lowest value of a historical policy, else ""; one word per prediction."""
    guess, old = np.asarray(predicted, dtype=float), np.asarray(history, dtype=float)
    return np.select([guess > old.max(), guess < old.min()], [ABOVE, BELOW], WITHIN)


def every_seed(values: pd.DataFrame, history: ArrayLike | None = None, horizon: int | None = None) -> pd.DataFrame:
    """The table of policies to download: a row per seed and a row ``mean``, from which all that is shown can be recomputed.

    Columns: method, horizon, policy, seed, predicted, true and, where the values of the historical policies are given,
    beyond_history ("above", "below" or "").
    """
    columns = ["method", "horizon", "policy", "seed", "predicted", "true"]
    chosen = values if horizon is None else values[values["horizon"] == horizon]
    rows = pd.concat(
        [chosen.assign(seed=chosen["seed"].astype(str)), mean_over_seeds(chosen).assign(seed=MEAN)], ignore_index=True
    )[columns]
    rows = rows.sort_values(["method", "horizon"], kind="stable", key=_in_order_of_appearance, ignore_index=True)
    return rows if history is None else rows.assign(beyond_history=beyond_history(rows["predicted"], history))


def with_interval_columns(rows: pd.DataFrame, bounds: pd.DataFrame, level: float, kind: str) -> pd.DataFrame:
    """Rows of ``every_seed`` with lower, upper, reason, level and kind: intervals belong to the means, not to single seeds.

    ``bounds`` is the table of ``outlook``; bounds that are not finite are empty and have a reason.
    """
    keys = ["method", "horizon", "policy"]
    plain = bounds[[*keys, "lower", "upper", "reason"]].replace({np.inf: np.nan, -np.inf: np.nan})
    wide = rows.astype({"policy": str}).merge(plain.astype({"policy": str}), on=keys, how="left")
    single = wide["seed"] != MEAN
    wide.loc[single, ["lower", "upper"]] = np.nan
    wide.loc[single, "reason"] = ""
    return wide.assign(level=np.where(single, np.nan, level), kind=np.where(single, "", kind))


def _in_order_of_appearance(column: "pd.Series[str]") -> "pd.Series[int]":
    return pd.Series(pd.factorize(column)[0], index=column.index)
