"""What is known of single policies at a horizon: their courses, similar ones in the history, their order in a list.

Pure functions of the summary's arrays and of the per-policy values; the sentences are in ``words.policies``, the
charts in ``figures.policies``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from shortlong.analysis.headline import BASELINE, standings
from shortlong.analysis.misleading import EARLY_METHOD, misleading_pairs
from shortlong.compute.courses import Members
from shortlong.core.trajectories import System

Floats = NDArray[np.floating[Any]]
MOST_POLICIES = 2  # side by side
BY_ERROR, BY_VALUE, BY_START = "error", "value", "start"
ORDERS = (BY_START, BY_ERROR, BY_VALUE)
ALIKE = 5  # historical policies that are called most similar
TIE_SHARE = 0.01  # of the range of outcomes: ranks of values that differ less mean little
SAME_ACTION = 1e-6


@dataclass(frozen=True)
class Course:
    """One policy: rewards seen and to come, what every method says of its end, and old policies that looked like it."""

    label: str
    rewards: Floats  # (3, steps): low, mean, high over units
    true: float
    predicted: dict[str, float]  # by method
    rollouts: dict[str, Floats] = field(default_factory=dict)  # by method: rewards after the horizon
    alike: tuple[Floats, ...] = ()  # mean rewards of old policies, the nearest first
    members: dict[str, Members] = field(default_factory=dict)  # by method: what the members of an ensemble predict
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)  # by method: the interval of its prediction

    def seen(self, horizon: int) -> float:
        """The return of the observed steps."""
        return float(np.sum(self.rewards[1][:horizon], dtype=np.float64))

    def is_bounded(self, method: str) -> bool:
        """Whether a prediction has a bound at all, so that something is promised of it."""
        return bool(np.isfinite(self.bounds.get(method, ())).any())


@dataclass(frozen=True)
class Place:
    """The rank of a policy, 1 being the best, and how many others have nearly the same value."""

    rank: int
    ties: int = 0


@dataclass(frozen=True)
class Places:
    """Where a policy stands among all new ones."""

    early: Place | None  # by the rewards observed so far; None when they were not extrapolated
    true: Place | None  # in the end; None where nobody knows it yet
    predicted: Place | None  # by the method that is asked; None when there is none
    policies: int


def judge_of(metrics: pd.DataFrame, horizon: int, predictions: pd.DataFrame) -> str | None:
    """The best method at a horizon among those that can tell policies apart and do more than continue the rewards.

    It must have judged every policy: some methods are back-tested on a sample of the history only. ``predictions`` is made by
    ``headline.at_horizon``.
    """
    judged = predictions.groupby("method", observed=True)["policy"].nunique()
    whole = set(judged.index[judged == predictions["policy"].nunique()].astype(str))
    ranked = [str(m) for m in standings(metrics, horizon)["method"]]
    return next((m for m in ranked if m in whole and m not in (BASELINE, EARLY_METHOD)), None)


def possible_orders(methods: Sequence[str], has_truth: bool = True) -> list[str]:
    """How policies can be sorted, given the methods that were run; without the truth only by predicted value."""
    if not has_truth:
        return [BY_VALUE]
    return [order for order in ORDERS if order != BY_START or EARLY_METHOD in methods]


def ordered_labels(predictions: pd.DataFrame, order: str, method: str | None) -> list[str]:
    """Policies in the order a person wants to meet them; ``predictions`` is made by ``headline.at_horizon``.

    By the error of one method, by the true value, or by how many places the first rewards are off. Among equals the one
    with the higher value comes first, then the one that is first in the table.
    """
    true = _true(predictions)
    if true.isna().any():  # nobody knows the values yet
        true = _said(predictions, method) if method else true.fillna(0.0)
    weight = true
    if order == BY_START:
        weight = (_said(predictions, EARLY_METHOD).rank() - true.rank()).abs()
    elif order == BY_ERROR and method:
        weight = (_said(predictions, method) - true).abs()
    rows = zip(true.index, weight.reindex(true.index), true, strict=True)
    return [label for label, *_ in sorted(rows, key=lambda row: (-row[1], -row[2]))]


def places(predictions: pd.DataFrame, label: str, method: str | None) -> Places:
    """Where a policy stands by its early results, in the end, and by one method."""
    true = _true(predictions)
    methods, close = set(predictions["method"]), nearly_tied(predictions)

    def place(values: "pd.Series[float]") -> Place:
        own = values[label]
        return Place(1 + int((values > own).sum()), max(int(((values - own).abs() <= close).sum()) - 1, 0))

    return Places(
        early=place(_said(predictions, EARLY_METHOD)) if EARLY_METHOD in methods else None,
        true=None if true.isna().any() else place(true),
        predicted=place(_said(predictions, method)) if method and method in methods else None,
        policies=len(true),
    )


def nearly_tied(predictions: pd.DataFrame) -> float:
    """Values that differ by no more than this are called nearly tied: 1 % of the range of the outcomes."""
    return TIE_SHARE * float(predictions["true"].max() - predictions["true"].min())


def course_of(
    label: str,
    labels: Sequence[str],
    rewards: Floats,
    predictions: pd.DataFrame,
    rollouts: Mapping[str, Mapping[str, Floats]],
    alike: Sequence[Floats] = (),
    members: Mapping[str, Members] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
) -> Course:
    """Gather what is known of one policy; ``rewards`` (policy, 3, steps) are in the order of ``labels``."""
    rows = predictions[predictions["policy"].astype(str) == label]
    return Course(
        label=label,
        rewards=np.asarray(rewards[list(labels).index(label)]),
        true=float(rows["true"].iloc[0]),
        predicted={str(m): float(p) for m, p in zip(rows["method"], rows["predicted"], strict=True)},
        rollouts={method: np.asarray(curves[label]) for method, curves in rollouts.items()},
        alike=tuple(alike),
        members=dict(members or {}),
        bounds=dict(bounds or {}),
    )


def nearest_guess(course: Course) -> str | None:
    """The method that is nearest to the truth for this policy; None where nobody knows the truth."""
    if not np.isfinite(course.true):
        return None
    said = {m: abs(p - course.true) for m, p in course.predicted.items() if m != BASELINE}
    return min(said, key=lambda m: said[m]) if said else None


def nearest_policies(
    observed: Floats, history: Floats, horizon: int, system: System, count: int = ALIKE
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Positions of the historical policies whose mean states up to the horizon are nearest, and how far they are.

    ``observed`` (time, dim) and ``history`` (policies, time, dim) are mean states. Every state is measured in standard
    deviations over the history (of its logarithm where states are positive); the distance is the root mean square.
    """
    time = min(horizon, observed.shape[0] - 1, history.shape[1] - 1) + 1
    own, old = np.asarray(observed[:time], float), np.asarray(history[:, :time], float)
    if system.positive_states:
        own, old = (np.log10(np.maximum(x, np.finfo(np.float32).tiny)) for x in (own, old))
    scale = old.std(axis=(0, 1))
    scale = np.where(scale > 0, scale, 1.0)
    distance = np.sqrt(np.mean(np.square((old - own) / scale), axis=(1, 2)))
    order = np.argsort(distance, kind="stable")[:count]
    return order, distance[order]


def new_actions(taken: ArrayLike, history: ArrayLike, amounts: bool) -> NDArray[np.bool_]:
    """Which actions (time, dim) are new beside those of the history (policies, time, dim).

    Of a fixed choice of actions one is new unless somebody took it before. Amounts, such as doses, hardly ever repeat to
    the last digit: one is new when it lies outside the range that was given before.
    """
    own, old = np.asarray(taken, float), np.asarray(history, float)
    old = old.reshape(-1, old.shape[-1])
    if amounts:
        return ((own > old.max(axis=0) + SAME_ACTION) | (own < old.min(axis=0) - SAME_ACTION)).any(axis=1)
    gap = np.abs(own[:, None] - pd.DataFrame(old).drop_duplicates().to_numpy()[None]).max(axis=2)
    return gap.min(axis=1) > SAME_ACTION


def misleading_examples(predictions: pd.DataFrame, method: str | None, limit: int = 20) -> pd.DataFrame:
    """Pairs of policies whose first rewards put them in the wrong order; see ``misleading.misleading_pairs``."""
    pairs = misleading_pairs(predictions.assign(seed=0, unit=0, horizon=0), 0, method=method, limit=limit)
    return pairs.assign(early_tie=(pairs["early_worse"] - pairs["early_better"]).abs() <= nearly_tied(predictions))


def ranks_over_horizon(values: pd.DataFrame, method: str) -> pd.DataFrame:
    """Ranks of all policies by one method at every horizon, 1 being the best; ``values`` are averaged over seeds.

    Columns: horizon, policy, value, rank and ties (how many others have nearly the same value). The outcomes stand in the last
    rows, at horizon 0.
    """
    rows = values[values["method"] == method]
    close = nearly_tied(rows)
    horizons = sorted(int(h) for h in rows["horizon"].unique())
    at = {h: rows[rows["horizon"] == h] for h in horizons}
    parts = [(h, part["policy"], part["predicted"]) for h, part in at.items()]
    last = at[horizons[-1]]
    tables = [_ranked(h, policies, said, close) for h, policies, said in (*parts, (0, last["policy"], last["true"]))]
    return pd.concat(tables, ignore_index=True)


def _ranked(horizon: int, policies: "pd.Series[str]", said: "pd.Series[float]", close: float) -> pd.DataFrame:
    value = said.to_numpy(float)
    ties = (np.abs(value[:, None] - value) <= close).sum(axis=1) - 1
    rank = said.rank(ascending=False, method="min").to_numpy(int)
    known = {"horizon": horizon, "policy": policies.astype(str).to_numpy(), "value": value}
    return pd.DataFrame({**known, "rank": rank, "ties": ties})


def varied(pairs: pd.DataFrame, count: int = 3) -> pd.DataFrame:
    """The first pairs in which no policy comes twice: one odd policy would fill the list otherwise."""
    met: set[str] = set()
    chosen = []
    for position, (better, worse) in enumerate(zip(pairs["better"], pairs["worse"], strict=True)):
        if met.isdisjoint((better, worse)):
            met |= {better, worse}
            chosen.append(position)
    return pairs.iloc[chosen[:count]].reset_index(drop=True)


def _true(predictions: pd.DataFrame) -> "pd.Series[float]":
    """By policy, in the order of the table."""
    rows = predictions.drop_duplicates("policy")
    return pd.Series(rows["true"].to_numpy(), index=rows["policy"].astype(str))


def _said(predictions: pd.DataFrame, method: str) -> "pd.Series[float]":
    rows = predictions[predictions["method"] == method]
    return pd.Series(rows["predicted"].to_numpy(), index=rows["policy"].astype(str))
