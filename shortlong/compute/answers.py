"""What one method says of the policies to be judged: computed from histories in memory, or read from the store.

The method gets the histories of the old policies and, of the new ones, a prefix. What truly happened to them is put beside its
predictions afterwards. The other place where methods meet the data is ``compute.back_test``, which leaves old policies out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.compute.computations import Computation
from shortlong.compute.dataset import Dataset
from shortlong.compute.failures import Failure, attempt, read_failure
from shortlong.compute.store import Store
from shortlong.core.calibration import HeldOut
from shortlong.core.predictions import prediction_table
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Trajectories, concatenate
from shortlong.domains import DOMAINS
from shortlong.domains.base import DomainSettings, Histories, Role
from shortlong.methods.cards import Prepared


@dataclass(frozen=True)
class MethodAnswer:
    """The predictions of one method beside the truth, and the arrays and notes that the method keeps with them."""

    predictions: pd.DataFrame  # policy, unit, predicted, true
    artefacts: Mapping[str, NDArray[Any]]
    details: Mapping[str, Any]
    held_out: HeldOut | None = None  # what the method's own fold models say of the old policies

    @property
    def predicted(self) -> NDArray[np.float64]:
        return self.predictions["predicted"].to_numpy(dtype=np.float64)

    @property
    def true(self) -> NDArray[np.float64]:
        return self.predictions["true"].to_numpy(dtype=np.float64)


def answer_of(
    computation: Computation, data: Dataset, prepared: Prepared | None = None, progress: Progress = quiet
) -> MethodAnswer | Failure:
    """Fit the method of a computation on the old policies and the prefix of the new ones, and predict; or why it cannot."""
    prefix = data.test.prefix(computation.effective_horizon)

    def work() -> tuple[NDArray[np.float64], dict[str, np.ndarray], dict[str, Any], HeldOut | None]:
        method = computation.new_method().fit(data.train, prefix, prepared, progress)
        predicted = method.predict(prefix)
        own_folds = computation.card.back_testing.how == "own folds"
        held_out = method.by_own_folds(data.train, prefix) if own_folds else None
        return predicted, method.artefacts(), method.details(), held_out

    made = attempt(work)
    if isinstance(made, Failure):
        return made
    predicted, artefacts, details, held_out = made
    true = data.test.returns[prefix.episode]
    table = prediction_table(predicted, true, prefix.policy, prefix.unit, prefix.labels)
    return MethodAnswer(table, artefacts, details, held_out)


def stored_answer(store: Store, computation: Computation) -> MethodAnswer | Failure | None:
    """The answer of a computation as the store has it, or why there is none; None if it was never computed."""
    if entry := store.get(computation.key, verify=False):
        artefacts = entry.arrays("artefacts") if entry.has("artefacts.npz") else {}
        return MethodAnswer(entry.table("predictions"), artefacts, entry.meta["details"])
    return read_failure(store, computation.ingredients)


def dataset_in_memory(settings: DomainSettings) -> Dataset:
    """Both sides of the data without a store, for data that are quickly made."""
    domain = DOMAINS[settings.domain]

    def side(role: Role) -> Histories:
        runs = [domain.simulate(settings, part) for part in domain.parts(settings) if part.role == role]
        return runs[0] if len(runs) == 1 else concatenate([run for run in runs if isinstance(run, Trajectories)])

    return Dataset(side("train"), side("test"))
