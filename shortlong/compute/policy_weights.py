"""How alike each old policy is to the new ones, as a density ratio per policy and horizon: for intervals under shift.

It needs the histories themselves, so it is made when the history judges itself, and stored.
"""

from typing import Any

import numpy as np
import pandas as pd

from shortlong.compute.dataset import cached_dataset, data_key, travelling
from shortlong.compute.engine import Task
from shortlong.compute.store import Store
from shortlong.core.calibration import RATIOS
from shortlong.core.hashing import key_of
from shortlong.core.progress import Progress, quiet
from shortlong.core.trajectories import Trajectories
from shortlong.domains.base import DomainSettings
from shortlong.learn.features import best_normalisation, cohort_features
from shortlong.learn.policy_ratio import policy_ratio
from shortlong.scenario import Scenario

VERSION = 1


def ratio_ingredients(settings: DomainSettings, horizon: int) -> dict[str, Any]:
    return {"kind": "policy ratio", "version": VERSION, "data": data_key(settings), "horizon": horizon}


def ratio_keys(scenario: Scenario) -> set[str]:
    """Keys of all ratios that a scenario may have stored."""
    return {key_of(ratio_ingredients(scenario.data, horizon)) for horizon in scenario.horizons}


def missing_ratios(scenario: Scenario, store: Store) -> list[Task]:
    """What is to be computed for the horizons of a scenario; nothing where the data have no states."""
    if "states" not in scenario.offers:
        return []
    horizons = [h for h in scenario.horizons if store.get(key_of(ratio_ingredients(scenario.data, h))) is None]
    root, travels = str(store.root), travelling(scenario.data)
    return [
        Task(f"likeness of policies, horizon {h}", weigh_policies, (root, scenario.data, h), 0.3, later=True, **travels)
        for h in horizons
    ]


def weigh_policies(root: str, settings: DomainSettings, horizon: int, progress: Progress = quiet) -> str:
    """Task: the ratio of every policy at one horizon; an empty table where there are too few policies. Returns its key."""
    data = cached_dataset(root, settings)
    table = pd.DataFrame({name: pd.Series(dtype=object) for name in RATIOS})
    if isinstance(data.train, Trajectories) and isinstance(data.test, Trajectories) and data.test.policy_count:
        prefix = data.test.prefix(horizon)
        how = best_normalisation(data.train.system)
        ratio = policy_ratio(cohort_features(data.train, horizon, how), cohort_features(prefix, horizon, how))
        if ratio is not None:
            labels, values = [*data.train.labels, *prefix.labels], np.concatenate([ratio.old, ratio.new])
            sides = ["old"] * len(ratio.old) + ["new"] * len(ratio.new)
            table = pd.DataFrame({"horizon": horizon, "policy": labels, "side": sides, "ratio": values})
    made_from = ratio_ingredients(settings, horizon)
    Store(root).put(
        key_of(made_from), "policy ratio", made_from=made_from, tables={"ratios": table.astype({"policy": str})}
    )
    return key_of(made_from)


def read_ratios(scenario: Scenario, store: Store) -> pd.DataFrame | None:
    """The ratios at the scenario's horizons; None where there are none."""
    entries = (store.get(key_of(ratio_ingredients(scenario.data, h)), verify=False) for h in scenario.horizons)
    tables = [table for entry in entries if entry is not None and len(table := entry.table("ratios"))]
    return pd.concat(tables, ignore_index=True) if tables else None
