"""A smoke alarm: methods are fitted to outcomes shuffled among the old policies, where nothing is left to learn.

Models of such outcomes must be about as wrong as the historical average; one that is better has seen what it is judged by. Made
on demand, for methods that are fitted in moments, and stored like other results.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from shortlong.compute.back_test import BackTest, Judged, back_tests_of, judged_again
from shortlong.compute.dataset import cached_dataset
from shortlong.compute.failures import Failure
from shortlong.compute.left_out import families_of
from shortlong.compute.store import Store
from shortlong.core.calibration import HELD_OUT, Calibration, no_fold_predictions
from shortlong.core.hashing import key_of, seed_of
from shortlong.core.trajectories import Trajectories
from shortlong.methods import METHODS
from shortlong.scenario import Scenario

VERSION = 1


@dataclass(frozen=True)
class Placebo:
    """A back-test of one method at one horizon on shuffled outcomes."""

    back_test: BackTest
    shuffle: int = 0

    @property
    def ingredients(self) -> dict[str, Any]:
        return {**self.back_test.ingredients, "placebo": {"version": VERSION, "shuffle": self.shuffle}}

    @property
    def key(self) -> str:
        return key_of(self.ingredients)


def placebos_of(scenario: Scenario, horizons: Sequence[int] | None = None) -> list[Placebo]:
    """The cheap methods of a scenario, at all of its horizons or at some."""
    cheap = [name for name, card in METHODS.items() if card.placebo]
    wanted = scenario.horizons if horizons is None else horizons
    return [
        Placebo(back_test)
        for back_test in back_tests_of(scenario, "policy").values()
        if (judged := back_test.computation).method in cheap
        and (judged.horizon in wanted or not judged.card.uses_prefix)
    ]


def placebo_keys(scenario: Scenario) -> set[str]:
    """Keys of all that may have been stored."""
    return {placebo.key for placebo in placebos_of(scenario)}


def run_placebos(scenario: Scenario, store: Store, horizons: Sequence[int] | None = None) -> None:
    """Make what is missing. The histories must be in the store."""
    for placebo in placebos_of(scenario, horizons):
        if store.get(placebo.key) is None:
            _run(store, placebo)


def has_placebos(scenario: Scenario, store: Store, horizon: int) -> bool:
    placebos = placebos_of(scenario, [horizon])
    return bool(placebos) and all(store.has(placebo.key) for placebo in placebos)


def read_placebos(scenario: Scenario, store: Store, horizons: Sequence[int] | None = None) -> Calibration | None:
    """What was made, as a calibration whose true outcomes are the shuffled ones; None where there is nothing."""
    wanted = scenario.horizons if horizons is None else horizons
    parts = []
    for placebo in placebos_of(scenario, wanted):
        entry = store.get(placebo.key, verify=False)
        if entry is not None:
            computation = placebo.back_test.computation
            for horizon in (computation.horizon,) if computation.card.uses_prefix else wanted:
                parts.append(entry.table("policies").assign(method=computation.method, horizon=horizon))
    if not parts:
        return None
    held_out = pd.concat(parts, ignore_index=True).astype({"policy": str})
    labels = list(held_out["policy"].unique())
    families = dict(zip(labels, families_of(scenario.domain, scenario.data, labels), strict=True))
    held_out["family"] = held_out["policy"].map(families)
    return Calibration("policy", held_out[list(HELD_OUT)], no_fold_predictions())


def shuffled(train: Trajectories, seed: int) -> Trajectories:
    """The same histories, every policy with the outcomes of another one; where that has fewer units, some of them twice."""
    generator = np.random.default_rng(seed_of("placebo", seed))
    order = generator.permutation(train.policy_count)
    while train.policy_count > 1 and (order == np.arange(train.policy_count)).any():  # nobody keeps the own outcome
        order = generator.permutation(train.policy_count)
    known, outcome = train.returns, np.empty(train.episode_count)
    for policy, giver in enumerate(order):
        own, given = (np.flatnonzero(train.policy == number) for number in (policy, giver))
        outcome[own] = known[given[np.arange(len(own)) % len(given)]]
    return replace(train, outcome=outcome)


def _run(store: Store, placebo: Placebo) -> None:
    start = time.process_time()
    data = cached_dataset(str(store.root), placebo.back_test.computation.scenario.data)
    if not isinstance(data.train, Trajectories):
        return
    made: Judged | Failure = judged_again(placebo.back_test, shuffled(data.train, placebo.shuffle), data.test, store)
    if isinstance(made, Failure):
        return
    by_policy = made.units.astype({"policy": str}).groupby(["policy", "fold"], sort=False)
    store.put(
        placebo.key,
        "placebo",
        made_from=placebo.ingredients,
        seconds=time.process_time() - start,
        tables={"policies": by_policy[["predicted", "true"]].mean().reset_index()},
    )
