"""Horizon with a back-test: intervals, what the history would choose, the switch to the history, and tables without truth."""

import json
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from shortlong.analysis.confusion import OUTCOMES
from shortlong.analysis.outlook import outlook
from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.domains.table import add
from shortlong.scenario import Scenario, load_scenario
from shortlong.ui import exports, horizon_below
from shortlong.ui.results import load
from tests.app.conftest import SMALL, cards, open_page, texts, unfold
from tests.domains.table.tables import report_of, trial
from tests.saying import one_says

HORIZON = "pages/2_Horizon.py"
CHEAP = ("mean_reward", "last_reward", "off_policy_mean")


@pytest.fixture(scope="module")
def judged_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small demo with its back-test, computed once."""
    root = tmp_path_factory.mktemp("judged")
    experiment.run(Scenario.build({"preset": "hiv-demo", **SMALL}), Store(root), leave="policy")
    return root


@pytest.fixture
def judged(judged_root: Path, small: Scenario, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    monkeypatch.setenv("SHORTLONG_HOME", str(judged_root))
    return small


@pytest.fixture(scope="module")
def own_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose new policies are not finished, with predictions and a back-test."""
    root = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHORTLONG_HOME", str(root))
        add(report_of(trial()), "trial")
        scenario = load_scenario("trial").changed({"methods": ",".join(CHEAP)})
        experiment.run(scenario, Store(root), leave="policy")
    return root


@pytest.fixture
def own(own_root: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A link to the table without truth."""
    monkeypatch.setenv("SHORTLONG_HOME", str(own_root))
    return load_scenario("trial").changed({"methods": ",".join(CHEAP)}).to_parameters()


def _spec(page: AppTest, start: str) -> dict:
    charts = {chart.proto.alt: json.loads(chart.proto.spec) for chart in page.get("plotly_chart")}
    return next(spec for alt, spec in charts.items() if alt.startswith(start))


def _bars(page: AppTest, start: str = "Predicted v actual") -> list[dict]:
    return [t for t in _spec(page, start)["data"] if t.get("mode") == "lines" and t.get("name") is None]


def test_intervals_are_drawn_and_the_level_moves_them(judged):
    page = open_page(HORIZON)
    assert cards(page) == ""
    assert page.slider(key="level").value == 80
    before = _bars(page)
    assert before
    page.slider(key="level").set_value(50).run()
    assert cards(page) == ""
    assert _bars(page) != before
    assert page.query_params["level"] == "50"
    again = open_page(HORIZON, **dict(page.query_params))
    assert again.slider(key="level").value == 50
    assert _bars(again) == _bars(page)


def test_a_level_that_the_history_cannot_promise_is_faded_and_explained(judged):
    page = open_page(HORIZON, level="95")
    assert cards(page) == ""
    assert all(trace["line"]["dash"] == "dot" for trace in _bars(page)), "4 policies allow no finite 95 % interval"
    assert "at least 19 historical policies" in texts(page)


def test_the_kind_is_chosen_in_a_menu_and_carried_by_links(judged):
    page = open_page(HORIZON, level="60", horizon="8")
    kinds = page.radio(key="kind")
    assert kinds.value == "together", "because the slider moves"
    together = _bars(page)
    assert "all observation periods at once" in texts(page)
    kinds.set_value("cv+").run()
    assert cards(page) == ""
    assert page.query_params["kind"] == "cv+"
    assert "all observation periods at once" not in texts(page)
    assert _bars(page) != together
    again = open_page(HORIZON, **dict(page.query_params))
    assert again.radio(key="kind").value == "cv+"


def test_a_link_to_a_kind_that_is_not_there_opens_with_the_usual_one(judged):
    page = open_page(HORIZON, kind="family")
    assert cards(page) == ""
    assert page.radio(key="kind").value == "together"
    assert "kind" in cards(open_page(HORIZON, kind="nonsense"))


def test_the_history_stands_beside_hindsight_and_what_its_favourite_loses(judged):
    page = open_page(HORIZON)
    lowest, history, favourite = page.metric
    assert "hindsight" in lowest.label
    assert history.label == "The history alone would choose"
    assert "would lose" in favourite.label
    assert "historical policies" in history.help


def test_the_second_chart_answers_three_questions(judged):
    page = open_page(HORIZON)
    assert _spec(page, "Typical error")
    page.segmented_control(key="aspect").set_value("choice").run()
    assert cards(page) == ""
    words = [note["text"] for note in _spec(page, "Value lost")["layout"]["annotations"]]
    assert any("choose at random" in text for text in words)
    assert any("keep the best old policy" in text for text in words)
    assert page.query_params["aspect"] == "choice"
    page.segmented_control(key="aspect").set_value("safety").run()
    assert cards(page) == ""
    assert _spec(page, "Miss rate")
    assert any("Thresholds" in link.proto.label for link in page.get("page_link"))


def test_the_slider_leaves_the_charts_over_time_as_they_are(judged):
    for aspect, start in (("choice", "Value lost"), ("safety", "Miss rate")):
        page = open_page(HORIZON, aspect=aspect)
        before = _spec(page, start)
        page.select_slider[0].set_value(8).run()
        assert _spec(page, start) == before


def test_trust_is_shown_as_promised_against_kept_with_its_condition(judged):
    page = open_page(HORIZON)
    assert "Can these intervals be trusted?" in [header.value for header in page.header]
    assert _spec(page, "Share of intervals")
    said = texts(page)
    assert one_says(said, "if", "new policies", "to each other")
    assert "single policies left out" in said
    assert not page.dataframe
    unfold(page, "promises", "whom")
    assert cards(page) == ""
    assert len(page.dataframe) == 2
    assert "Placebo" in texts(page)
    assert _spec(page, "How much larger")


def test_the_switch_shows_the_history_without_hindsight(judged):
    page = open_page(HORIZON)
    page.segmented_control(key="judged").set_value("history").run()
    assert cards(page) == ""
    assert page.query_params["judged"] == "history"
    assert "on the history" in page.metric[0].label
    assert not any("hindsight" in f"{metric.label} {metric.delta}" for metric in page.metric)
    assert "fixed by counting" in texts(page)
    assert "single policies left out" in texts(page)
    unfold(page, "tables")
    assert page.dataframe[1].value["policy"].str.startswith("H").all()


@pytest.fixture
def made(monkeypatch) -> dict[str, pd.DataFrame]:
    """The CSV files of the tables that pages show, by name; tests/test_bounds_everywhere.py has those of other places."""
    files: dict[str, pd.DataFrame] = {}

    def taken(table: pd.DataFrame, name: str, alt: str, download=None) -> None:
        files[name] = pd.read_csv(StringIO((download() if download else table).to_csv(index=False)))

    for place in (horizon_below, exports):  # pages that are files of their own import it at every run
        monkeypatch.setattr(place, "table_with_download", taken)
    return files


CERTAINTY = {
    "lower bound",
    "upper bound",
    "why there is no finite bound",
    "level of the interval",
    "kind of interval",
}


def test_every_csv_of_predictions_has_bounds(judged, made):
    page = unfold(open_page(HORIZON, level="60"), "tables")
    assert cards(page) == ""
    rows = made["policies-4"]
    means = rows[rows["seed"] == "mean"]
    expected = outlook(load(judged), 0.6, horizons=[4])
    assert set(rows.columns) >= CERTAINTY
    np.testing.assert_allclose(
        sorted(means["lower bound"].dropna()), sorted(expected["lower"][np.isfinite(expected["lower"])])
    )
    assert set(means["level of the interval"]) == {0.6}


def test_the_csv_of_a_field_of_safety_has_bounds(judged, made):
    page = open_page("pages/4_Safety.py", horizon="4")
    for outcome in OUTCOMES:  # the method has policies in one of them
        next(box for box in page.selectbox if box.label == "Outcome").set_value(outcome).run()
        assert cards(page) == ""
    method, rows = next((name.partition("-")[0], rows) for name, rows in made.items() if name.endswith("-4"))
    means = rows[rows["seed"] == "mean"]
    assert set(rows.columns) >= CERTAINTY
    expected = outlook(load(judged), horizons=[4], methods=[method])
    assert len(means) > 0
    assert np.isclose(means["lower bound"].to_numpy()[:, None], expected["lower"].to_numpy()).any(axis=1).all()


def test_the_csv_of_a_forecast_on_safety_has_bounds(own, made):
    assert cards(open_page("pages/4_Safety.py", **own)) == ""
    (rows,) = (rows for name, rows in made.items() if name.startswith("forecast-"))
    assert set(rows.columns) >= CERTAINTY
    assert rows[["lower bound", "upper bound"]].notna().all(axis=None)


def test_without_a_back_test_one_calm_line_says_how_to_get_it(computed):
    page = open_page(HORIZON)
    assert cards(page) == ""
    assert texts(page).count("No back-test is stored") == 1
    assert not page.slider, "no level without intervals"
    assert "judged" not in {control.key for control in page.segmented_control}
    assert "Can these intervals be trusted?" not in [header.value for header in page.header]
    assert not _bars(page)
    unfold(page, "menu")
    assert page.button(key="add-back-test").label.startswith("Add the back-test (")


# --- a table whose new policies are not finished ------------------------------------------------------------------------
def test_without_truth_predictions_have_intervals_and_nothing_is_called_best(own):
    page = open_page(HORIZON, **own)
    assert cards(page) == ""
    chart = _spec(page, "Predicted value of every new policy")
    assert len(chart["layout"]["xaxis"]["ticktext"]) == 2
    assert _bars(page, "Predicted value of every new policy")
    assert page.metric[0].label.startswith("The history would trust")
    said = " ".join([*(f"{m.label} {m.value} {m.delta}" for m in page.metric), texts(page)])
    assert "nan" not in said.lower().split()
    assert "unknown" not in said
    assert said.count("hindsight") == 1, "only where the words of the page are explained"
    assert "would lose" not in said
    assert one_says(said, "historical policies", "left out"), "the second chart is about the history"
    unfold(page, "tables")
    assert cards(page) == ""
    assert len(page.dataframe) == 1
    assert "true value" not in page.dataframe[0].value


@pytest.mark.parametrize("aspect", ["choice", "safety"])
def test_without_truth_the_other_questions_are_answered_by_the_history(own, aspect):
    page = open_page(HORIZON, **own, aspect=aspect)
    assert cards(page) == ""
    assert len(page.get("plotly_chart")) == 3


def test_without_truth_every_period_and_level_works(own):
    page = open_page(HORIZON, **own)
    for level in (50, 95):
        page.slider(key="level").set_value(level).run()
        assert cards(page) == ""
    for horizon in load_scenario("trial").horizons:
        page.select_slider[0].set_value(horizon).run()
        assert cards(page) == ""


def test_the_history_of_a_table_is_judged_by_its_own_truth(own):
    page = open_page(HORIZON, **own, judged="history")
    assert cards(page) == ""
    assert _spec(page, "Predicted v actual")
    assert "on the history" in page.metric[0].label


def test_warnings_of_the_data_stand_there_once(own):
    warnings = load_scenario("trial").data.warnings
    said = texts(open_page(HORIZON, **own))
    assert said.count("About the data:") == (1 if warnings else 0)
