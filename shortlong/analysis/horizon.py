"""Everything that the Horizon page and the report say about one horizon, as numbers.

Policies are counted and compared by predictions averaged over seeds; the error of a method is the mean of its seeds' errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shortlong.analysis.choice import (
    ABOVE,
    BELOW,
    MEAN,
    WITHIN,
    Favourite,
    ReferenceLosses,
    beyond_history,
    favourite,
    reference_losses,
)
from shortlong.analysis.headline import (
    BASELINE,
    Comparison,
    Headline,
    Lean,
    at_horizon,
    compare,
    headline,
    lean_of,
    over_seeds,
    standings,
    wide_table,
)
from shortlong.core.metrics import ordered_pairs, rank_correlation, regret
from shortlong.methods import METHODS

ALWAYS_SHOWN = (
    *(name for name, card in METHODS.items() if card.origin == "proposed"),
    BASELINE,
)  # beside the method with the lowest error, where all would be too many
MOST_METHODS = 9  # in one scatter chart
MOST_MARKS = 160  # predictions in one scatter chart; more of them hide each other


@dataclass(frozen=True)
class Ranking:
    """How many pairs of policies a method puts in the right order; a tie counts half."""

    correct: float
    pairs: int

    @property
    def share(self) -> float:
        return self.correct / self.pairs


@dataclass(frozen=True)
class BeyondHistory:
    """Predictions outside the range of the historical values, and the one that is furthest outside."""

    above: int
    below: int
    predictions: int
    method: str
    policy: str
    predicted: float
    lowest: float  # of the historical values
    highest: float


@dataclass(frozen=True)
class Assessment:
    """How good the predictions at one horizon are, led by the method with the lowest error."""

    head: Headline
    seeds: int
    error_range: tuple[float, float]  # lowest and highest error among the seeds of the leading method
    lean: Lean
    ranking: Ranking | None  # None where the leading method gives every policy the same value
    favourite: Favourite | None  # likewise
    losses: ReferenceLosses
    comparison: Comparison | None  # None where the historical values are not known
    beyond: BeyondHistory | None  # None where nothing lies beyond them
    correct: int | None = None  # of yes/no outcomes: how many the leading method classifies correctly


def assess(metrics: pd.DataFrame, values: pd.DataFrame, horizon: int, history: ArrayLike | None = None) -> Assessment:
    """Gather the numbers of one horizon; ``history`` are the values of the historical policies."""
    head, predictions = headline(metrics, values, horizon), at_horizon(values, horizon)
    rows = predictions[predictions["method"] == head.method]
    errors = metrics.loc[(metrics["method"] == head.method) & (metrics["horizon"] == horizon), "rmse_policy"]
    old = None if history is None else np.asarray(history, float)
    truth = predictions.drop_duplicates("policy")["true"].to_numpy(float)
    return Assessment(
        head=head,
        seeds=int(metrics["seed"].nunique()),
        error_range=(float(errors.min()), float(errors.max())),
        lean=lean_of(values, head.method, horizon),
        ranking=ranking(rows),
        favourite=favourite(predictions, head.method) if rows["predicted"].nunique() > 1 else None,
        losses=reference_losses(predictions, old),
        comparison=None if old is None else compare(old[:, None], truth[:, None]),
        beyond=None if old is None else furthest_beyond(predictions, old),
        correct=classified_correctly(rows),
    )


def classified_correctly(rows: pd.DataFrame) -> int | None:
    """How many yes/no outcomes one method's predictions are on the right side of; None where outcomes are numbers."""
    true = rows["true"].to_numpy(float)
    if not np.isin(true, (0.0, 1.0)).all():
        return None
    return int(((rows["predicted"].to_numpy(float) >= 0.5) == (true == 1)).sum())


def ranking(rows: pd.DataFrame) -> Ranking | None:
    """The ranking of one method's predictions; None where it gives every policy the same value."""
    true = rows["true"].to_numpy(float)
    share = ordered_pairs(rows["predicted"], true)
    if share is None or rows["predicted"].nunique() < 2:
        return None
    first, second = np.triu_indices(len(true), k=1)
    pairs = int((true[first] != true[second]).sum())
    return Ranking(round(2 * share * pairs) / 2, pairs)


def furthest_beyond(predictions: pd.DataFrame, history: ArrayLike) -> BeyondHistory | None:
    """How many predictions lie outside the historical outcomes, and the furthest of them; None where all lie inside."""
    old = np.asarray(history, float)
    lowest, highest = float(old.min()), float(old.max())
    side = beyond_history(predictions["predicted"], old)
    if (side == WITHIN).all():
        return None
    predicted = predictions["predicted"].to_numpy(float)
    furthest = int(np.argmax(np.maximum(predicted - highest, lowest - predicted)))
    return BeyondHistory(
        above=int((side == ABOVE).sum()),
        below=int((side == BELOW).sum()),
        predictions=len(predictions),
        method=str(predictions["method"].iloc[furthest]),
        policy=str(predictions["policy"].iloc[furthest]),
        predicted=float(predicted[furthest]),
        lowest=lowest,
        highest=highest,
    )


def too_many(methods: Sequence[str], policies: int) -> bool:
    """Whether one chart of all these predictions would be a crowd."""
    return len(methods) > MOST_METHODS or (
        len(methods) > len(ALWAYS_SHOWN) + 1 and len(methods) * policies > MOST_MARKS
    )


def main_methods(methods: Sequence[str], leading: Sequence[str]) -> list[str]:
    """The few methods that are drawn first: those with the lowest error, SLEV, SLED and the historical average."""
    return [m for m in methods if m in leading or m in ALWAYS_SHOWN]


def leaders(metrics: pd.DataFrame) -> list[str]:
    """The methods with the lowest error at some horizon."""
    horizons = sorted(metrics["horizon"].unique())
    return list(dict.fromkeys(str(standings(metrics, int(h))["method"].iloc[0]) for h in horizons))


# --- tables ---------------------------------------------------------------------------------------------------------
def method_table(metrics: pd.DataFrame, values: pd.DataFrame, horizon: int) -> pd.DataFrame:
    """Methods at one horizon, the lowest error first.

    Errors are means over seeds, with the lowest and the highest seed; whatever ranks policies ranks averaged predictions.
    """
    table, predictions = standings(metrics, horizon), at_horizon(values, horizon)
    errors = over_seeds(metrics[metrics["horizon"] == horizon]).set_index("method")
    groups = dict(iter(predictions.groupby("method", sort=False, observed=True)))
    for name, measure in {
        "spearman": lambda p, t: rank_correlation(p, t, "spearman"),
        "kendall": lambda p, t: rank_correlation(p, t, "kendall"),
        "ordered_pairs": ordered_pairs,
        "regret": regret,
    }.items():
        if name in table:
            measured = [measure(groups[m]["predicted"], groups[m]["true"]) for m in table["method"]]
            table[name] = pd.to_numeric(pd.Series(measured, index=table.index, dtype=object))
    if metrics["seed"].nunique() > 1:
        place = list(table.columns).index("rmse_policy") + 1
        for offset, (column, edge) in enumerate((("rmse_lowest", "low"), ("rmse_highest", "high"))):
            table.insert(place + offset, column, table["method"].map(errors[edge]).astype(float))
    return table


def method_rows(metrics: pd.DataFrame, values: pd.DataFrame, horizon: int) -> pd.DataFrame:
    """The table of methods to download: a row per seed and, as ``mean``, what the page shows."""
    shown = method_table(metrics, values, horizon).assign(seed=MEAN)
    seeds = metrics[metrics["horizon"] == horizon].drop(columns="horizon")
    both = pd.concat([seeds.assign(seed=seeds["seed"].astype(str)), shown], ignore_index=True)
    first = ["method", "seed"]
    order = {method: place for place, method in enumerate(shown["method"])}
    both = both[[*first, *(c for c in shown.columns if c not in first)]]
    return both.sort_values("method", kind="stable", key=lambda c: c.map(order), ignore_index=True)


def policy_table(values: pd.DataFrame, horizon: int, history: ArrayLike | None = None) -> pd.DataFrame:
    """Policies at one horizon: true value, predictions averaged over seeds, and who predicts beyond the history.

    The last column names methods, separated by commas.
    """
    wide = wide_table(values, horizon)
    if history is None:
        return wide
    predictions = at_horizon(values, horizon)
    outside = predictions[beyond_history(predictions["predicted"], history) != WITHIN]
    names = outside.groupby("policy", observed=True)["method"].agg(",".join)
    return wide.assign(beyond_by=[str(names.get(policy, "")) for policy in wide["policy"]])
