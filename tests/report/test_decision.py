"""The one-page report and the slides of a decision: what they say is what the view holds, and it fits."""

import io
import re
import sys
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.decision_view import DecisionView, decision_view
from shortlong.analysis.headline import mean_over_seeds
from shortlong.analysis.rules import MODES, Rule
from shortlong.compute.results import from_item
from shortlong.compute.shipped import open_item
from shortlong.core.calibration import Calibration, no_fold_predictions
from shortlong.core.errors import UserError
from shortlong.report.decision import MOST_ROWS, decision_report
from shortlong.report.slide_drawing import HIGH, WIDE
from shortlong.report.slides import decision_slides
from shortlong.words.decision_lines import lines_of
from tests.app.browsing import CHROMIUM, FLAGS
from tests.saying import says

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


@pytest.fixture(scope="module")
def shipped():
    return from_item(open_item("hiv-paper"))


def view_of_shipped(results, mode: str = "interval", kind: str = "together", level: float = 0.9) -> DecisionView:
    """Decisions about the shipped new policies, from a back-test with errors that a test makes up."""
    rng, history = np.random.default_rng(0), results.history
    rows = [
        ("fqe", horizon, f"old {place}", place, place % 5, true + 60 * rng.normal(), true)
        for horizon in results.horizons
        for place, true in enumerate(history)
    ]
    columns = ["method", "horizon", "policy", "family", "fold", "predicted", "true"]
    return decision_view(
        Calibration("policy", pd.DataFrame(rows, columns=columns), no_fold_predictions()),
        mean_over_seeds(results.values),
        Rule(float(np.quantile(history, 0.1)), level, mode, kind),
        method="fqe",
        horizon=20,
        steps=results.scenario.system.steps,
        history=history,
    )


@pytest.fixture(scope="module")
def view(shipped) -> DecisionView:
    return view_of_shipped(shipped)


def test_the_page_says_what_to_do_what_is_promised_and_when_that_holds(view, shipped):
    page = decision_report(view, shipped.scenario, now=NOW)
    for decisive in (
        "Not medical advice",
        f"{view.ready} of 40 new policies can be decided",
        "at most 10 %",
        "No back-test covers what is new here: no drug",
        "as historical ones are to each other",
        "Of 70 historical policies judged this way",
        "below 96.2",
        "How long must we watch?",
        "2026-01-02 03:04",
        shipped.scenario.key,
    ):
        assert decisive in page, decisive
    assert "<script" not in page
    assert len(page) < 200_000


def test_the_truth_is_on_the_page_only_if_asked_for(view, shipped):
    best = f"{view.new_policies['true'].max():.0f}"
    hidden, shown = (decision_report(view, shipped.scenario, reveal=ask, now=NOW) for ask in (False, True))
    assert "What happened" not in hidden
    assert f"of a possible {best}" not in hidden
    assert "true value" not in hidden
    assert "What happened" in shown
    assert f"of a possible {best}" in shown
    assert "true value" in shown


def test_a_refusal_is_on_the_page(shipped):
    page = decision_report(view_of_shipped(shipped, level=0.99), shipped.scenario, now=NOW)
    assert "Nothing can be promised at 1 %" in page
    assert "does no better than" in page  # all policies are left to wait


def test_more_policies_than_a_sheet_holds(view, shipped):
    more = view.decided.assign(policy=view.decided["policy"].astype(str) + " ")
    many = DecisionView(**{**vars(view), "decided": pd.concat([view.decided, more], ignore_index=True)})
    assert f"{MOST_ROWS} of 80 are shown" in decision_report(many, shipped.scenario, now=NOW)


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine; install Debian's chromium")
@pytest.mark.parametrize(("mode", "kind"), [("interval", "cv+"), *((mode, "together") for mode in MODES)])
def test_it_prints_on_one_sheet(shipped, tmp_path, mode, kind):
    api = pytest.importorskip("playwright.sync_api")
    file = tmp_path / "decision.html"
    file.write_text(decision_report(view_of_shipped(shipped, mode, kind), shipped.scenario, reveal=True), "utf-8")
    with api.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.goto(file.as_uri())
        sheets = page.pdf(prefer_css_page_size=True)
        browser.close()
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", sheets)) == 1


# --- slides ---------------------------------------------------------------------------------------------------------
def opened(content: bytes):
    pptx = pytest.importorskip("pptx")
    return pptx.Presentation(io.BytesIO(content))


def words(slide) -> str:
    return " ".join(shape.text_frame.text for shape in slide.shapes if shape.has_text_frame)


def test_the_slides_tell_the_demo_in_order(view, shipped):
    slides = list(opened(decision_slides(view, shipped.scenario, now=NOW)).slides)
    titles = [slide.shapes.title.text_frame.text for slide in slides]
    assert "stop, keep watching or continue" in titles[0]
    assert f"{view.ready} of 40" in titles[1]
    assert titles[2] == "How it ended"
    assert says(titles[3], "best", "predicted 8th of 40")
    assert titles[4:] == ["How long must we watch?", "What is promised, and when"]
    assert "Not medical advice" in words(slides[0])
    assert "of a possible 464" in words(slides[2])
    for slide in (slides[1], slides[5]):
        assert says(words(slide), "no back-test covers", "no drug", "if", "new policies", "to each other")


def test_without_the_truth_no_slide_tells_the_ending(view, shipped):
    hidden = list(opened(decision_slides(view, shipped.scenario, reveal=False)).slides)
    assert len(hidden) == 4
    assert not any("464" in words(slide) for slide in hidden)


def test_every_policy_has_a_row_and_everything_is_on_the_slide(view, shipped):
    deck = opened(decision_slides(view, shipped.scenario))
    inch = 914400
    for slide in deck.slides:
        for shape in slide.shapes:
            assert shape.left >= 0
            assert shape.top >= 0
            assert shape.left + shape.width <= WIDE * inch + 1
            assert shape.top + shape.height <= HIGH * inch + 1
    strip = deck.slides[1]
    texts = [shape.text_frame.text for shape in strip.shapes if shape.has_text_frame]
    for decision, title in {"continue": "continue", "keep-watching": "keep watching"}.items():
        amount = (view.new_policies["decision"] == decision).sum()
        assert sum(text.split(":")[0] == title for text in texts) == amount
    ticks = [s for s in deck.slides[2].shapes if s.shape_type is not None and s.name.startswith("Connector")]
    before = [s for s in strip.shapes if s.name.startswith("Connector")]
    assert len(ticks) - len(before) == 40


def test_charts_on_slides_hold_the_numbers_of_the_view(view, shipped):
    slide = opened(decision_slides(view, shipped.scenario)).slides[4]
    charts = [shape.chart for shape in slide.shapes if shape.has_chart]
    rows = view.watch[view.watch["method"] == "fqe"].sort_values("horizon")
    costs, shares = ({s.name: list(s.values) for s in chart.plots[0].series} for chart in charts)
    assert costs["waiting"] == pytest.approx(rows["waiting_cost"].tolist())
    assert costs["wrong decisions"] == pytest.approx(rows["error_cost"].tolist())
    assert shares["share decided"] == pytest.approx(rows["decided_share"].tolist())


def test_without_python_pptx_there_is_a_sentence(view, shipped, monkeypatch):
    monkeypatch.setitem(sys.modules, "pptx", None)
    with pytest.raises(UserError, match="python-pptx"):
        decision_slides(view, shipped.scenario)


def test_the_terminal_says_each_sentence_once_and_its_columns_stand_under_each_other(view, shipped):
    lines = lines_of(view, shipped.scenario)
    assert "\n".join(lines).count("may be wrong in the long run") == 1
    rows = [line for line in lines if line.startswith("N")]
    assert len(rows) == 40
    assert len({line.index(" to ") for line in rows}) == 1
