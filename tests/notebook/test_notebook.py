"""Results in notebooks and scripts."""

import numpy as np
import pytest

import shortlong as sl
from shortlong.compute.store import Store
from tests.conftest import TINY_HIV


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return Store(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def found(store):
    """The results of a tiny scenario."""
    return sl.run(sl.Scenario.build({**TINY_HIV, "methods": [*TINY_HIV["methods"], "always_high"]}), store=store)


def test_what_was_run_can_be_opened(found, store):
    again = sl.results(found.scenario, store=store)
    assert again.metrics.equals(found.metrics)
    assert not again.from_shipped


def test_methods_that_do_not_apply_are_told(found):
    assert "always_high" not in found.methods
    assert "not applicable" in found.left_out["always_high"]


def test_opening_computes_nothing(found, home):
    with pytest.raises(sl.UserError, match=r"neither stored nor shipped.*shortlong\.run"):
        sl.results(found.scenario)
    assert not home.exists()


def test_parts_of_the_scenario_are_replaced(found, store):
    changed = sl.run(
        found.scenario,
        methods=("mean_reward",),
        horizons=np.array([4]),
        seeds=range(2),
        data={"patients": 4},
        settings={"slev": {"size": "demo"}},
        store=store,
    )
    scenario = changed.scenario
    assert (scenario.methods, scenario.horizons, scenario.seeds) == (("mean_reward",), (4,), (0, 1))
    assert scenario.data.patients == 4
    assert scenario.settings == {"slev": {"size": "demo"}}
    assert len(changed.metrics) == 2


def test_progress_is_told(found, store):
    told = []
    sl.run(found.scenario, horizons=[5], store=store, watch=lambda stage, status: told.append(status.share))
    assert told[-1] == 1


@pytest.mark.parametrize("name", ["error", "scatter", "safety"])
def test_figures(found, name):
    figure = found.figure(name)
    assert figure.data
    assert len(found.figure(name, methods=["mean_reward"], horizon=10).data) <= len(figure.data)


def test_the_horizon_of_a_figure_is_a_tenth_of_the_time_unless_given(found):
    assert found.figure("error").layout.shapes[0].x0 == 3
    assert found.figure("error", horizon=10).layout.shapes[0].x0 == 10


@pytest.mark.parametrize(
    ("name", "choices", "word"),
    [
        ("errors", {}, "error, scatter, safety"),
        ("error", {"horizon": 4}, "3, 10"),
        ("error", {"methods": ["slev"]}, "mean_reward"),
    ],
)
def test_what_cannot_be_drawn_is_told_with_what_can(found, name, choices, word):
    with pytest.raises(sl.UserError, match=word):
        found.figure(name, **choices)


def test_a_notebook_shows_errors_and_what_is_left_out(found):
    shown = found._repr_html_()
    assert shown.count("<tr") == 1 + len(found.methods)
    assert "Mean reward" in shown
    assert "not applicable" in shown


def test_the_report_is_that_of_the_app(found):
    assert "<h1>" in found.report()
