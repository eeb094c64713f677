"""Shift: empty, finished, refused; sliders change the theorem; a large data set is asked about first."""

import json

from shortlong.analysis import shift as shift_view
from tests.app.conftest import cards, open_page, texts

SHIFT = "pages/5_Shift.py"


def test_empty_page_offers_to_compute(home, small):
    page = open_page(SHIFT)
    assert cards(page) == ""
    assert "not been run" in page.info[0].value
    assert not page.get("plotly_chart")


def test_battery_gets_a_calm_sentence_and_a_way_on(home):
    page = open_page(SHIFT, preset="battery-demo")
    assert cards(page) == ""
    assert "Not available for battery charging" in page.info[0].value
    links = [link.proto.page for link in page.main.get("page_link")]
    assert {"Battery", "Horizon"} <= set(links)


def test_start_new_action_and_end_of_the_shipped_run_stand_side_by_side(home):
    page = open_page(SHIFT, preset="hiv-paper", horizon="20")
    assert cards(page) == ""
    assert [(metric.label, metric.value) for metric in page.metric] == [
        ("Unfamiliar start", "5 of 40"),
        ("New action seen so far", "15 of 40"),
        ("End beyond history", "24 of 40"),
    ]
    methods = next(t.value for t in page.dataframe if "predicted beyond" in t.value.columns)
    assert len(methods) == 10  # nine and their blend
    assert set(methods["truly beyond"]) == {24}


def test_finished_page_diagnoses_and_every_slider_changes_the_theorem(computed):
    page = open_page(SHIFT)
    assert cards(page) == ""
    charts = page.get("plotly_chart")
    assert len(charts) == 3
    assert all(chart.proto.alt for chart in charts)
    assert "has not been run" in texts(page)
    assert [metric.label for metric in page.metric] == [
        "Unfamiliar start",
        "New action seen so far",
        "End beyond history",
    ]
    seen = [charts[2].proto.spec]
    changes = (
        (page.slider, "failure", 0.4),
        (page.select_slider, "class_size", 10**9),
        (page.slider, "ratio_error", 0.5),
    )
    for kind, key, value in changes:
        page = kind(key=key).set_value(value).run()
        seen.append(page.get("plotly_chart")[2].proto.spec)
    assert len(set(seen)) == 4
    before = page.get("plotly_chart")[0].proto.spec
    page.select_slider(key="horizon").set_value(8).run()
    assert cards(page) == ""
    assert json.loads(page.get("plotly_chart")[0].proto.spec) != json.loads(before)


def test_many_histories_are_compared_only_after_a_click(computed, monkeypatch):
    monkeypatch.setattr(shift_view, "ASK_FROM", 10)
    page = open_page(SHIFT)
    assert "histories have to be compared" in page.info[0].value
    assert not page.get("plotly_chart")
    page.button(key="agree").click().run()
    assert cards(page) == ""
    assert len(page.get("plotly_chart")) == 3
