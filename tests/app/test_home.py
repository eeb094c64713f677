"""Home: the question, the shipped answers at once, the way to every page, and the demo of one's own."""

import json
import time
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from shortlong.compute import shipped as gallery
from shortlong.scenario import Scenario
from shortlong.ui.page import PAGES
from shortlong.ui.results import jobs
from tests.app.conftest import cards, open_page, texts, unfold
from tests.saying import one_says, says


@pytest.fixture
def no_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a change of versions: nothing that is shipped can be shown."""
    monkeypatch.setattr(gallery, "FOLDER", tmp_path)


def _names(page: AppTest, alt: str) -> set[str]:
    specs = [json.loads(c.proto.spec) for c in page.get("plotly_chart") if c.proto.alt.startswith(alt)]
    return {trace["name"] for spec in specs for trace in spec["data"] if trace.get("name")}


def _wait_for_end(page: AppTest, scenario: Scenario, seconds: float = 240) -> AppTest:
    end = time.monotonic() + seconds
    while jobs().latest(scenario).state == "running" and time.monotonic() < end:
        time.sleep(0.2)
    return page.run()


def test_fresh_home_answers_at_once_from_the_gallery(home, small):
    page = open_page("app.py")
    assert cards(page) == ""
    assert says(page.title[0].value, "long run")
    charts = page.get("plotly_chart")
    assert len(charts) == 3
    assert all(chart.proto.alt for chart in charts)
    words = texts(page)
    assert "After **100 days** (10 % of the time)" in words
    assert words.count("known only in hindsight") == 2
    assert "After **3 months** (10 % of the time)" in words
    assert says(words, "5 cycles", "SLEV", "69 of 83")
    assert {"historical average", "SLEV", "SLED", "Fitted Q", "Joint dynamics (ours)"} <= _names(page, "Typical error")
    assert says(words, "Watching pays from 25 days", "Watching pays from 1 month")
    assert not jobs().running()
    assert not list(home.glob("entries/*")), "nothing was computed"


def test_limits_and_citation_are_stated(home):
    words = texts(open_page("app.py"))
    assert "Not medical advice" in words
    assert "kidney simulator is a substitute" in words
    assert one_says(words, "simulated cells", "built in")
    assert "Short-Long Policy Evaluation with Novel Actions" in words


def test_every_page_has_its_link(home):
    page = open_page("app.py")
    linked = [link.proto.label.strip("*") for link in page.get("page_link")]
    for _, name, _ in PAGES[1:]:
        assert linked.count(name) == 2, "in the sidebar and among the tiles"


@pytest.mark.parametrize(
    ("button", "title", "domain"),
    [
        ("to-horizon", "How early can we tell?", "hiv"),
        ("to-decide", "Stop, keep watching or continue?", "hiv"),
        ("open-decide", "Stop, keep watching or continue?", "hiv"),
        ("open-hiv", "How early can we tell?", "hiv"),
        ("open-kidney", "How early can we tell?", "kidney"),
        ("open-battery", "Predicting battery life", "battery"),
    ],
)
def test_one_click_leads_from_a_card_to_its_page(home, button, title, domain):
    page = open_page("app.py")
    page.button(key=button).click().run()
    assert cards(page) == ""
    assert page.title[0].value == title
    assert page.session_state["scenario"].key == gallery.largest(domain).scenario.key
    assert page.get("plotly_chart")
    if title == "How early can we tell?":
        assert "(10 % of the time)" in texts(page), "at the horizon that the card spoke of"


def test_the_horizon_of_another_domain_does_not_follow_to_a_card(home):
    page = open_page("pages/2_Horizon.py", preset="hiv-demo", horizon="50")
    page.switch_page("app.py").run()
    page.button(key="open-kidney").click().run()
    assert page.select_slider[0].value == 3


def test_home_without_usable_gallery_offers_to_compute(home, small, no_gallery):
    page = open_page("app.py")
    assert cards(page) == ""
    assert texts(page).count("no result of this version") == 3
    assert not page.get("plotly_chart")
    page.button(key="open-kidney").click().run()
    assert page.title[0].value == "Simulate"
    assert page.session_state["scenario"].data.domain == "kidney"


@pytest.mark.heavy
def test_the_demo_runs_in_a_process_of_its_own_and_its_chart_appears(home, small, no_gallery):
    page = open_page("app.py")
    run = next(button for button in page.button if button.label.startswith("Run the quick illustration ("))
    assert run.label.endswith("s)")
    run.click().run()
    assert jobs().latest(small) is not None
    page = _wait_for_end(page, small)
    assert jobs().latest(small).state == "finished"
    assert cards(page) == ""
    assert len(page.get("plotly_chart")) == 1
    assert "Quick illustration, computed here" in texts(page)
    page.button(key="own-demo").click().run()
    assert page.title[0].value == "How early can we tell?"


def test_finished_home_keeps_the_shipped_answer_and_opens_the_own_demo(computed):
    page = open_page("app.py")
    assert len(page.get("plotly_chart")) == 3
    assert not [button for button in page.button if button.label.startswith("Run the quick illustration")]
    page.button(key="own-demo").click().run()
    assert page.session_state["scenario"].key == computed.key
    assert "comes with shortlong" not in texts(page)


def test_home_the_sidebar_and_every_tile_are_about_the_same_scenario(home):
    """There used to be two answers one click apart: the cards spoke of the paper's size, the tiles opened the demo."""
    page = open_page("app.py")
    largest = gallery.largest("hiv").scenario
    assert page.session_state["scenario"].key == largest.key
    links = [link.proto for link in page.get("page_link")]
    assert len(links) == 2 * len(PAGES) - 1
    assert all(dict(parse_qsl(link.query_string))["preset"] == largest.preset for link in links)
    page.switch_page("pages/2_Horizon.py").run()
    horizon = texts(page)
    page.switch_page("app.py").run()
    page.button(key="open-hiv").click().run()
    assert texts(page) == horizon


def test_a_link_that_names_no_preset_goes_on_meaning_the_demo(home, small):
    page = open_page("pages/2_Horizon.py", **{"data.patients": "9"})
    assert page.session_state["scenario"].preset == "hiv-demo"
    assert page.session_state["scenario"].data.patients == 9


def test_headings_of_home_go_down_one_level_at_a_time(home):
    page = open_page("app.py")
    levels = [int(heading.tag[1]) for heading in page.main if getattr(heading, "tag", "").startswith("h")]
    assert levels[0] == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    assert levels.count(3) == 6, "one per card"


def test_the_tour_has_four_steps_and_can_be_taken_again(home):
    page = open_page("app.py")
    tour = next(html.proto.body for html in page.get("html") if 'aria-label="Tour"' in html.proto.body)
    assert tour.count("data-target") == 4
    assert 'data-again="0"' in tour
    unfold(page, "menu")
    page.button(key="tour_button").click().run()
    assert any('data-again="1"' in html.proto.body for html in page.get("html"))
