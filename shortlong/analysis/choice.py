"""What follows from choosing a policy by a prediction, and which predictions lie beyond everything in the history.

Pure functions of the per-policy values at one horizon (``headline.at_horizon``, predictions averaged over seeds) and of the
values of the historical policies.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlong.analysis.headline import mean_over_seeds

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


def favourite(here: pd.DataFrame, method: str) -> Favourite | None:
    """What the favourite of a method would lose; None when the method was not run."""
    rows = here[here["method"] == method]
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


def reference_losses(here: pd.DataFrame, history: ArrayLike | None = None) -> ReferenceLosses:
    """What choosing at random, the worst policy and the best historical policy would lose."""
    true = here.drop_duplicates("policy")["true"].to_numpy(dtype=float)
    best = float(true.max())
    old = None if history is None else best - float(np.max(np.asarray(history, dtype=float)))
    return ReferenceLosses(random=best - float(true.mean()), worst=best - float(true.min()), history=old)


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


def _in_order_of_appearance(column: "pd.Series[str]") -> "pd.Series[int]":
    return pd.Series(pd.factorize(column)[0], index=column.index)
