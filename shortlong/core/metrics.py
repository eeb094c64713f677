"""How good predictions are: small pure functions over the predictions table."""

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shortlong.core.predictions import COMPUTATION, per_policy


def rmse(predicted: ArrayLike, true: ArrayLike) -> float:
    """Typical error: root of the mean squared error."""
    return float(np.sqrt(np.mean(np.square(np.asarray(predicted, float) - np.asarray(true, float)))))


def bias(predicted: ArrayLike, true: ArrayLike) -> float:
    """Mean error; positive when outcomes are predicted too good."""
    return float(np.mean(np.asarray(predicted, float) - np.asarray(true, float)))


def rank_correlation(predicted: ArrayLike, true: ArrayLike, kind: Literal["spearman", "kendall"]) -> float | None:
    """Spearman or Kendall (tau-b) correlation of the order of policies; None when one side has no order.

    Written out because importing scipy.stats takes longer than all else when results come from the store.
    """
    guess, truth = np.asarray(predicted, float), np.asarray(true, float)
    if len(np.unique(guess)) < 2 or len(np.unique(truth)) < 2:
        return None
    if kind == "spearman":  # the linear correlation of the ranks
        guess, truth = (pd.Series(values).rank().to_numpy() - (len(values) + 1) / 2 for values in (guess, truth))
    else:  # the same of the signs of all pairs
        guess, truth = (np.sign(np.subtract.outer(values, values)).ravel() for values in (guess, truth))
    return float(guess @ truth / np.sqrt((guess @ guess) * (truth @ truth)))


def ordered_pairs(predicted: ArrayLike, true: ArrayLike) -> float | None:
    """Share of policy pairs with different true values that are put in the right order; a tie counts half."""
    guess, truth = np.asarray(predicted, float), np.asarray(true, float)
    first, second = np.triu_indices(len(truth), k=1)
    different = truth[first] != truth[second]
    if not different.any():
        return None
    agreement = np.sign(guess[first] - guess[second]) * np.sign(truth[first] - truth[second])
    return float(np.mean((1 + agreement[different]) / 2))


def regret(predicted: ArrayLike, true: ArrayLike) -> float:
    """What is lost by taking the policy that is predicted best; among ties, on average."""
    guess, truth = np.asarray(predicted, float), np.asarray(true, float)
    return float(truth.max() - truth[guess == guess.max()].mean())


def accuracy(predicted: ArrayLike, true: ArrayLike) -> float | None:
    """Share of outcomes put into the right one of two classes, from 0.5 on into "high"; None if there are no classes."""
    truth = np.asarray(true, float)
    if not np.isin(truth, (0.0, 1.0)).all():
        return None
    return float(np.mean((np.asarray(predicted, float) >= 0.5) == (truth == 1)))


METRICS = ("rmse_policy", "rmse_unit", "bias", "spearman", "kendall", "ordered_pairs", "regret")


def evaluate(predictions: pd.DataFrame, values: pd.DataFrame | None = None) -> pd.DataFrame:
    """All metrics, one row per (seed, method, horizon); ``values`` are those of each policy, where they are known already.

    Where the true value of a policy is not known, the metrics are not a number.
    """
    policies = per_policy(predictions) if values is None else values
    rows: list[dict[str, Any]] = []
    units = dict(iter(predictions.groupby(COMPUTATION, sort=False, observed=True)))
    for names, group in policies.groupby(COMPUTATION, sort=False, observed=True):
        if group["true"].isna().any():  # nobody can say yet how good a prediction is
            rows.append(dict(zip(COMPUTATION, names, strict=True)) | dict.fromkeys(METRICS, np.nan))
            continue
        guess, truth = group["predicted"].to_numpy(), group["true"].to_numpy()
        unit_rows = units[names]
        right = accuracy(unit_rows["predicted"], unit_rows["true"])
        rows.append(
            {
                **dict(zip(COMPUTATION, names, strict=True)),
                "rmse_policy": rmse(guess, truth),
                "rmse_unit": rmse(unit_rows["predicted"], unit_rows["true"]),
                "bias": bias(guess, truth),
                "spearman": rank_correlation(guess, truth, "spearman"),
                "kendall": rank_correlation(guess, truth, "kendall"),
                "ordered_pairs": ordered_pairs(guess, truth),
                "regret": regret(guess, truth),
                **({} if right is None else {"accuracy": right}),
            }
        )
    return pd.DataFrame(rows)
