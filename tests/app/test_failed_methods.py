"""A run in which a method failed is shown: the other methods as usual, the failed one with its reason."""

from pathlib import Path

import pytest

from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.core.errors import MethodDefect
from shortlong.scenario import Scenario
from shortlong.ui.results import load, load_own
from tests.app.conftest import cards, open_page, texts
from tests.compute.test_failures import Broken, Overflows, Refuses, instead


@pytest.mark.parametrize("kind", [Refuses, Overflows])
def test_pages_show_the_others_and_the_reason(
    home: Path, small: Scenario, monkeypatch: pytest.MonkeyPatch, kind: type
) -> None:
    instead(monkeypatch, "last_reward", kind)
    experiment.run(small, Store(home))
    view = load_own(small)
    assert view is not None
    assert view.methods == ["mean_reward", "off_policy_mean"], "a method that failed at one horizon is left out at all"
    assert "failed" in view.left_out["last_reward"]
    for file in ("pages/2_Horizon.py", "pages/3_Policies.py", "pages/4_Safety.py", "pages/7_Runs.py"):
        page = open_page(file)
        assert cards(page) == ""
        assert not page.exception
        if file != "pages/7_Runs.py":
            assert "Last reward: failed" in texts(page)
            assert not any(button.label.startswith("Compute") for button in page.button)


def test_defect_of_one_method_leaves_the_others_in_sight(
    home: Path, small: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, "last_reward", Broken)
    with pytest.raises(MethodDefect):
        experiment.run(small, Store(home))
    page = open_page("pages/2_Horizon.py")
    assert not page.exception
    assert "defect of the program" in texts(page)


def test_nothing_is_shown_where_every_method_failed(
    home: Path, small: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead(monkeypatch, "last_reward", Broken)
    only = small.changed({"methods": "last_reward"})
    with pytest.raises(MethodDefect):
        experiment.run(only, Store(home))
    assert load(only) is None
