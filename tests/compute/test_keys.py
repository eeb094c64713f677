"""No two different computations share a result: everything that a result depends on is in its key."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shortlong.compute import computations, experiment
from shortlong.compute.experiment import Computation, keys_of
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.core.hashing import key_of
from shortlong.methods import METHODS
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.ui.results import load_own
from tests.methods.test_ranges import SETTINGS, edges, with_setting


@pytest.fixture
def base() -> Computation:
    scenario = preset("hiv-demo").changed({"settings.sled.margin": "0.1"})
    return Computation(scenario, "sled", 10, 0)


def with_change(computation: Computation, name: str, value: str) -> Computation:
    return replace(computation, scenario=computation.scenario.changed({name: value}))


def keys(computation: Computation) -> tuple[str, str, str]:
    return computation.key, computation.prepared_key, computation.failure_key


def test_every_ingredient_changes_the_key(base: Computation, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = [
        base,
        with_change(base, "data.patients", "31"),
        with_change(base, "data.seed", "1"),
        with_change(base, "data.test_actions", "RTI"),
        with_change(base, "settings.sled.margin", "0.2"),
        with_change(base, "settings.sled.margin", ""),
        with_change(base, "settings.sled.adapter_folds", "5"),
        replace(base, seed=1),
        replace(base, method="fqe"),
    ]
    found = [keys(computation) for computation in changed]
    monkeypatch.setitem(METHODS, "sled", replace(METHODS["sled"], version=99))
    found.append(keys(base))
    assert len(set(itertools.chain(*found))) == 3 * len(found)
    assert replace(base, horizon=20).key != base.key
    assert replace(base, horizon=20).prepared_key == base.prepared_key, "what is prepared serves all horizons"


def test_ingredients_are_all_that_the_key_is_made_of(base: Computation) -> None:
    assert set(base.ingredients) == {"data", "method", "version", "settings", "seed", "horizon"}
    assert base.ingredients["settings"] == {"size": "demo", "margin": 0.1}
    assert base.key == key_of(base.ingredients)
    for name, value in base.ingredients.items():
        other = {**base.ingredients, name: [value]}
        assert key_of(other) != base.key, name


def test_settings_of_another_method_do_not_matter(base: Computation) -> None:
    assert keys(with_change(base, "settings.slev.race", "true")) == keys(base)
    assert keys(with_change(base, "horizons", "10")) == keys(base)
    assert keys(with_change(base, "methods", "sled")) == keys(base)


@pytest.mark.parametrize(("method", "name", "allowed"), SETTINGS, ids=[f"{m}.{n}" for m, n, _ in SETTINGS])
def test_every_value_of_every_setting_has_results_of_its_own(method: str, name: str, allowed: Any) -> None:
    values = [value for value in edges(allowed) if (method, value) != ("slev_pooled", "log10")]
    scenarios = [with_setting(method, name, value) for value in values]
    computations = [Computation(scenario, method, scenario.horizons[0], 0) for scenario in scenarios]
    assert len({computation.key for computation in computations}) == len(values)
    assert len({scenario.key for scenario in scenarios}) == len(values)


@pytest.mark.parametrize("name", PRESETS)
def test_keys_of_a_scenario_are_those_of_its_computations(name: str) -> None:
    scenario = preset(name).changed({"seeds": "0,3"})
    keys = dict.fromkeys(computation.key for computation in experiment.computations_of(scenario))
    assert list(dict(keys_of(scenario))) == list(keys)
    assert all(computation.key == key for key, computation in keys_of(scenario))


@pytest.mark.heavy
def test_result_of_one_setting_is_never_shown_for_another(tiny: Scenario, store: Store) -> None:
    """Cohort SLEV with 1 and with 30 trees: the second run computes its own result and the first keeps its."""
    one, many = (
        tiny.changed({"methods": "cohort_slev", "settings.cohort_slev.trees": trees, "settings.cohort_slev.folds": "2"})
        for trees in ("1", "30")
    )
    first = experiment.run(one, store)
    assert len(experiment.missing_computations(many, store)) == 2, "nothing is there for the other setting"
    assert load_own(many) is None
    second = experiment.run(many, store)
    fresh = experiment.run(many, Store(store.root / "fresh"))
    assert second.predictions.equals(fresh.predictions), "as if the first had never been run"
    assert not np.array_equal(first.predictions["predicted"], second.predictions["predicted"])
    assert experiment.collect(one, store).predictions.equals(first.predictions)
    views = [load_own(scenario) for scenario in (one, many)]
    assert views[0].key != views[1].key
    assert not views[0].values.equals(views[1].values)


def test_planning_20000_results_computes_what_they_share_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link with so many results must not cost the server seconds."""
    demo = preset("hiv-demo")
    seeds = range(20_000 // (len(demo.horizons) * len(demo.methods)))
    many = demo.changed({"seeds": ",".join(map(str, seeds))})
    asked: list[object] = []
    monkeypatch.setattr(computations, "data_key", lambda data: asked.append(data) or "data")
    monkeypatch.setattr(Store, "get", lambda *_: pytest.fail("a result that is not there was opened"))
    missing = experiment.missing_computations(many, store)
    assert len(missing) == len(seeds) * (len(demo.horizons) * 8 + 2), "eight methods look at the horizon, two do not"
    assert len(asked) == 1


def test_a_link_that_is_too_long_is_refused() -> None:
    with pytest.raises(UserError, match="characters"):
        Scenario.from_parameters({"preset": "hiv-demo", "seeds": ",".join(map(str, range(20_000)))})
