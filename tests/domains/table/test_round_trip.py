"""The proof at demo size: both simulators exported, added back and run, every method gives the same predictions to the bit."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shortlong.compute import experiment
from shortlong.compute.blend import BLEND
from shortlong.compute.dataset import load_dataset
from shortlong.compute.results import Results
from shortlong.compute.store import Store
from shortlong.core.trajectories import Trajectories
from shortlong.domains import DOMAINS
from shortlong.domains.base import offers_of
from shortlong.domains.table import TableSettings, add, check, export_table, read_any
from shortlong.methods import METHODS, why_not
from shortlong.scenario import Scenario, load_scenario
from tests.domains.table.tables import export_choices
from tests.domains.table.test_domain import HIV_REWARD

COMPARED = ["method", "policy", "predicted"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "horizon", "formula"), [("hiv-demo", 10, HIV_REWARD), ("kidney-demo", 3, "")], ids=["hiv", "kidney"]
)
def test_every_method_predicts_the_same_from_an_exported_demo(
    preset: str, horizon: int, formula: str, store: Store, tmp_path: Path
) -> None:
    quick = {f"settings.{method}.size": "demo" for method in ("slev_doubly_robust", "sled_ensemble")}
    simulated = load_scenario(preset).changed({"horizons": str(horizon), **quick})
    experiment.simulate(simulated, store)
    settings = _added(simulated, store, formula, tmp_path / "table.parquet")
    offers = offers_of(DOMAINS["table"], settings) & simulated.offers
    methods = [name for name, card in METHODS.items() if why_not(card, offers) is None]
    assert {"slev", "cohort_slev", "slev_doubly_robust", "surrogate_index", "mean_reward"} <= set(methods)
    assert ("sled" in methods) == bool(formula)
    assert ("slev_pooled" in methods) == (preset == "kidney-demo")
    from_simulator = _run(simulated.changed({"methods": ",".join(methods)}), store)
    content = {**simulated.model_dump(mode="json", exclude={"preset"}), "methods": methods}
    from_table = _run(Scenario.build({**content, "data": settings.model_dump(mode="json")}), store)
    assert set(from_simulator.methods) == set(from_table.methods) == {*methods, BLEND}
    _same(from_simulator.values, from_table.values)
    judged, again = from_simulator.calibration("policy"), from_table.calibration("policy")
    assert judged is not None
    assert again is not None
    _same(judged.held_out, again.held_out)


def _added(scenario: Scenario, store: Store, formula: str, file: Path) -> TableSettings:
    data = load_dataset(store, scenario.data)
    assert isinstance(data.train, Trajectories)
    assert isinstance(data.test, Trajectories)
    export_table(data.train, data.test).to_parquet(file, index=False)
    report = check(read_any(file), None, export_choices(data.train.system, formula))
    assert report.ok, report.errors
    return TableSettings(name="mine", content=add(report, "mine"))


def _run(scenario: Scenario, store: Store) -> Results:
    return experiment.run(scenario, store, leave="policy")  # workers of another test know another folder


def _same(first: pd.DataFrame, second: pd.DataFrame) -> None:
    tables: list[Any] = [t[COMPARED].astype({"method": str, "policy": str}) for t in (first, second)]
    one, other = (table.sort_values(COMPARED[:2], ignore_index=True) for table in tables)
    assert len(one) > 0
    assert one[COMPARED[:2]].equals(other[COMPARED[:2]])
    differing = one["method"][one["predicted"].to_numpy() != other["predicted"].to_numpy()]
    assert not len(differing), sorted(set(differing))
    assert np.isfinite(one["predicted"].to_numpy(float)).all()
