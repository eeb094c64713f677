"""A method that has only a class and a card is computed, drawn, switched and listed like every other."""

import json
from typing import Any

import numpy as np

from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.core.progress import Progress
from shortlong.core.trajectories import Prefix, Trajectories
from shortlong.methods import METHODS, MethodCard
from shortlong.methods.base import Method, Prepared
from shortlong.methods.looks import Looks
from shortlong.scenario import Scenario
from tests.app.conftest import cards, open_page, unfold


class HighestReward(Method):
    """Assumes that the highest reward seen so far is earned at every step."""

    def __init__(self, seed: int = 0):
        self.seed = seed

    def _fit(self, train: Trajectories, test: Prefix, prepared: Prepared, progress: Progress) -> None:
        self.steps_ = train.system.steps

    def _predict(self, test: Prefix) -> Any:
        return np.asarray(test.rewards).max(axis=-1).mean(axis=-1) * self.steps_


CARD = MethodCard(
    "highest_reward", "Highest reward", "continues the highest reward seen so far", f"{__name__}:HighestReward", 1,
    needs=frozenset({"rewards"}), looks=Looks("#B35C9E", "hourglass"),
)  # fmt: skip


def test_horizon_shows_a_method_that_has_only_a_class_and_a_card(small, home, monkeypatch) -> None:
    monkeypatch.setitem(METHODS, CARD.name, CARD)
    scenario = Scenario.build({**small.model_dump(), "methods": [*small.methods, CARD.name]})
    experiment.run(scenario, Store(home))
    page = open_page("pages/2_Horizon.py", preset="hiv-demo", methods=",".join(scenario.methods))
    assert cards(page) == ""
    charts = [json.loads(chart.proto.spec) for chart in page.get("plotly_chart")]
    assert len(charts) == 2
    for chart in charts:
        (trace,) = (trace for trace in chart["data"] if trace.get("name") == CARD.title)
        assert trace["marker"]["symbol"] == "hourglass"
        assert trace["marker"]["line"]["color"] == "#B35C9E"
    switches = page.get("button_group")[0]
    assert any(CARD.title in option.content for option in switches.proto.options)
    unfold(page, "tables")
    assert CARD.title in page.dataframe[0].value.to_string()
