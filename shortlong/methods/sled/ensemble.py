"""SLED looked at again (ours): a base that is an ensemble, and adapters that must prove themselves on rollouts.

SLED errs most where small errors of one step add up over a long rollout. Here the fold networks of the base model are all kept and
their rollouts averaged. An adapter is fitted to the first half of the observed time and judged by how well the adapted model,
played on from there, meets the second half; where none is clearly better than no adapter, none is used.
"""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Floats, Prefix, Trajectories
from shortlong.learn.adapters import KINDS, SHRINKAGES, Adapter, Moments, fit_adapter, moments
from shortlong.learn.dynamics_network import DynamicsNetwork
from shortlong.learn.features import chosen_normalisation, normalised_states
from shortlong.methods.base import Prepared
from shortlong.methods.sled.method import (
    Sled,
    base_errors,
    check_prefix,
    features_and_errors,
    features_of,
    products,
    read_errors,
    rows_of,
)


class EnsembleSled(Sled):
    """Several base models from the histories, an adapter per model and new policy that is judged on rollouts.

    1. ``prepare``: fit the base on folds by policy and keep every fold's network, 2. per network and policy choose an adapter by
    rollouts over the second half of the observed time, 3. run all of them on to the end and average the rewards.
    """

    def __init__(
        self,
        size: str = "standard",
        normalisation: str = "auto",
        adapter: str = "chosen",
        margin: float = 0.1,
        seed: int = 0,
    ):
        self.size = size
        self.normalisation = normalisation
        self.adapter = adapter
        self.margin = margin
        self.seed = seed

    def prepare(self, train: Trajectories, progress: Progress = quiet) -> Prepared:
        choice, before = self._base(train, progress)
        arrays = base_errors(choice)
        for number, network in enumerate(choice.networks):
            own = network.to_arrays() | {"feature_products": products(network, before)}
            arrays |= {f"{number}/{name}": array for name, array in own.items()}
        return arrays

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        check_prefix(train, test)
        self.how_ = chosen_normalisation(train.system, self.normalisation)
        self.base_errors_ = read_errors(prepared)
        members = 1 + max(int(name.split("/")[0]) for name in prepared if "/" in name)
        self.rewards_, self.held_share_ = (
            np.zeros((*test.rewards.shape[:2], test.system.steps - test.horizon)),
            np.zeros(1),
        )
        self.kinds_: list[list[str]] = []
        values, held = [], np.zeros(test.policy_count)
        for number in range(members):
            own = {name.partition("/")[2]: a for name, a in prepared.items() if name.startswith(f"{number}/")}
            self.network_ = DynamicsNetwork.from_arrays(own)
            self.adapters_ = [self._adapter(test, i, own["feature_products"]) for i in range(test.policy_count)]

            def share(inner: float, number: int = number) -> None:
                progress((number + inner) / members)

            rewards = self._roll_out(test, share)
            held += self.held_share_ / members
            self.rewards_ += rewards / members
            self.kinds_.append([adapter.kind for adapter in self.adapters_])
            values.append(
                test.mean_by_policy(rewards.sum(axis=-1, dtype=np.float64) + test.rewards.sum(axis=-1), (0, 1))
            )
        self.held_share_, self.member_values_ = held, np.stack(values)
        self.course_ = test.mean_by_policy(self.rewards_, (0, 1)).astype(np.float32)
        self.observed_, self.policy_ = test.states, test.policy

    def _adapter(self, test: Prefix, policy: int, prior: Floats) -> Adapter:
        """The adapter whose rollout over the second half of the observed time is clearly better than without; or none."""
        network, rows = self.network_, test.rows_of(policy)
        states = network.standardise(normalised_states(test.states[rows], test.system, self.how_))
        features, errors = features_and_errors(network, states)
        half = test.horizon // 2
        kinds = [k for k in (KINDS if self.adapter == "chosen" else (self.adapter,)) if k != "none"]
        choices = [("none", 0.0), *((kind, shrinkage) for kind in kinds for shrinkage in SHRINKAGES)]
        best = 0
        if half and len(choices) > 1:
            early = _moments(features[:, :, :half], errors[:, :, :half])
            matrices = np.stack([fit_adapter(early, prior, *choice) for choice in choices])
            best = _clearly_best(_rollout_errors(network, states[:, :, half:], matrices, self.margin))
        whole = _moments(features, errors)
        return Adapter(*choices[best], fit_adapter(whole, prior, *choices[best]), 0.0)

    def details(self) -> dict[str, Any]:
        return {
            "normalisation": self.how_,
            "members": len(self.kinds_),
            "base_errors": {k: round(v, 5) for k, v in self.base_errors_.items()},
            "adapters": dict(Counter(kind for kinds in self.kinds_ for kind in kinds)),
            "member_spread": [round(float(v), 4) for v in self.member_values_.std(axis=0)],
            "kept_in_range": [round(float(v), 4) for v in self.held_share_],
        }

    def artefacts(self) -> dict[str, np.ndarray]:
        """``rollout_rewards`` (policy, L - l), the mean course; ``member_values`` (member, policy)."""
        return {"rollout_rewards": self.course_, "member_values": self.member_values_}


def _moments(features: Floats, errors: Floats) -> Moments:
    return moments(rows_of(features), rows_of(errors))


def _rollout_errors(network: DynamicsNetwork, states: Floats, matrices: Floats, margin: float) -> NDArray[np.float64]:
    """(choice, unit): mean squared distance between observed states (unit, rollout, time + 1, dim) and those played from
    the first of them by the base model with each of the adapters (choice, p, dim)."""
    width = network.high - network.low
    low, high = network.low - margin * width, network.high + margin * width
    units, rollouts, times, dim = states.shape
    seen = states.reshape(units * rollouts, times, dim)
    now = np.broadcast_to(seen[:, 0], (len(matrices), len(seen), dim))
    adapters = matrices.astype(np.float32)
    squares = np.zeros((len(matrices), len(seen)))
    for time in range(1, times):
        hidden = network.hidden(now)
        base = network.output(hidden)
        now = np.clip(network.step(now, base + features_of(base, hidden) @ adapters), low, high)
        squares += np.square(now - seen[:, time]).mean(axis=-1)
    return squares.reshape(len(matrices), units, rollouts).mean(axis=2) / (times - 1)


def _clearly_best(errors: NDArray[np.float64]) -> int:
    """The choice with the smallest error over units; the first, unless it is better by more than one standard error."""
    best = int(errors.mean(axis=1).argmin())
    gained = errors[0] - errors[best]
    doubt = gained.std(ddof=1) / np.sqrt(len(gained)) if len(gained) > 1 else np.inf
    return best if gained.mean() > doubt else 0
