"""Pages with an empty result folder: what the gallery can show is shown and said to be shipped, the rest is offered."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from shortlong.compute import shipped as gallery
from shortlong.methods import METHODS
from shortlong.scenario.presets import preset
from shortlong.ui.results import load, load_own, load_summary
from tests.app.conftest import cards, open_page, texts, unfold
from tests.compute.test_shipped import without_shifts
from tests.saying import one_says

SHIPPED, MENU = "This result comes with shortlong", "shipped_result"
ITEM = "hiv-demo"
HORIZON = "pages/2_Horizon.py"


@pytest.fixture
def own_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of one item, to be spoiled."""
    shutil.copytree(gallery.FOLDER / ITEM, tmp_path / "gallery" / ITEM)
    monkeypatch.setattr(gallery, "FOLDER", tmp_path / "gallery")
    return tmp_path / "gallery" / ITEM


@pytest.mark.parametrize("name", ["hiv-demo", "kidney-demo", "battery-demo"])
def test_horizon_works_from_the_gallery(home, name):
    page = open_page(HORIZON, preset=name)
    assert cards(page) == ""
    assert SHIPPED not in texts(page), "what is folded away costs nothing"
    unfold(page, MENU)
    assert SHIPPED in texts(page)
    assert len(page.get("plotly_chart")) >= 2
    assert page.button(key=f"again-{preset(name).key}").label.startswith("Run it here (")
    assert not [b for b in page.main.button if b.key == f"again-{preset(name).key}"], "in a menu, not under the title"
    before = texts(page)
    page.select_slider[0].set_value(preset(name).horizons[-1]).run()
    assert cards(page) == ""
    assert texts(page) != before


@pytest.mark.parametrize("name", ["hiv-demo", "kidney-demo"])
def test_safety_works_from_the_gallery(home, name):
    page = open_page("pages/4_Safety.py", preset=name)
    assert cards(page) == ""
    assert SHIPPED in texts(unfold(page, MENU))
    assert page.get("plotly_chart")


@pytest.mark.parametrize("name", ["hiv-demo", "kidney-demo", "battery-demo"])
def test_simulate_works_from_the_gallery_and_still_offers_to_start(home, name):
    page = open_page("pages/1_Simulate.py", preset=name)
    assert cards(page) == ""
    assert SHIPPED in texts(unfold(page, MENU))
    assert len(page.get("plotly_chart")) == 1
    assert any(button.label.startswith("Start (") for button in page.button)
    quantity = next(box for box in page.selectbox if box.label == "Show")
    quantity.set_value(quantity.options[-1]).run()
    assert cards(page) == ""


@pytest.mark.parametrize("name", ["hiv-demo", "kidney-paper"])
def test_shift_works_from_the_gallery(home, name):
    page = open_page("pages/5_Shift.py", preset=name)
    assert cards(page) == ""
    assert SHIPPED in texts(unfold(page, MENU))
    assert len(page.get("plotly_chart")) == 3
    assert one_says(texts(page), "SLEV with weights", "not been run"), "SLEV without them is shipped"
    before = texts(page)
    page.select_slider(key="horizon").set_value(preset(name).horizons[0]).run()
    assert cards(page) == ""
    assert texts(page) != before


def test_shift_says_why_it_needs_a_computation_where_an_older_item_has_no_diagnosis(home, own_gallery):
    without_shifts(gallery.open_item(ITEM))
    page = open_page("pages/5_Shift.py", preset=ITEM)
    assert cards(page) == ""
    assert "individual histories" in page.info[0].value
    assert not page.get("plotly_chart")
    assert sum("(about" in button.label for button in page.main.button) == 1, "one way to run it, with its time"


def test_gallery_items_are_no_runs_of_ones_own(home):
    page = open_page("pages/7_Runs.py")
    assert cards(page) == ""
    assert "No saved runs yet" in page.info[0].value


def test_own_results_come_before_the_gallery(computed):
    assert load(computed).from_shipped is False
    assert load_summary(computed).from_shipped is False
    assert load_own(preset("kidney-demo")) is None
    assert load(preset("kidney-demo")).from_shipped is True


def test_tampered_item_is_not_shown(home, own_gallery):
    assert load(preset(ITEM)) is not None
    content = (own_gallery / "values.parquet").read_bytes()
    (own_gallery / "values.parquet").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    page = open_page(HORIZON, preset=ITEM)
    assert cards(page) == ""
    assert "not been run" in page.info[0].value
    assert not page.get("plotly_chart")


def test_stale_item_is_not_shown(home, own_gallery, monkeypatch):
    assert load(preset(ITEM)) is not None
    monkeypatch.setitem(METHODS, "fqe", replace(METHODS["fqe"], version=METHODS["fqe"].version + 1))
    page = open_page(HORIZON, preset=ITEM)
    assert cards(page) == ""
    assert "not been run" in page.info[0].value
