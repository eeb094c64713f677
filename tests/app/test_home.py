"""Home: the question, the demo at one click, its result at once when it is there."""

import json
import time

from streamlit.testing.v1 import AppTest

from shortlong.scenario import Scenario
from shortlong.ui.results import jobs
from tests.app.conftest import cards, open_page


def _wait_for_end(page: AppTest, scenario: Scenario, seconds: float = 240) -> AppTest:
    end = time.monotonic() + seconds
    while jobs().latest(scenario).state == "running" and time.monotonic() < end:
        time.sleep(0.2)
    return page.run()


def test_empty_home_shows_the_question_and_one_button_with_its_time(home, small):
    page = open_page("app.py")
    assert cards(page) == ""
    assert page.title[0].value == "How good will it be in the long run?"
    labels = [button.label for button in page.button]
    assert len(labels) == 1
    assert labels[0].startswith("Run the HIV demo (")
    assert labels[0].endswith("s)")
    assert page.get("plotly_chart")[0].proto.alt


def test_the_demo_runs_in_a_process_of_its_own_and_its_chart_appears(home, small):
    page = open_page("app.py")
    page.button[0].click().run()
    assert jobs().latest(small) is not None
    page = _wait_for_end(page, small)
    assert jobs().latest(small).state == "finished"
    assert cards(page) == ""
    assert [button.label for button in page.button] == ["See how early we can tell"]
    assert page.subheader[0].value == "What the HIV demo shows"
    assert len(page.get("plotly_chart")) == 2


def test_finished_home_shows_the_result_at_once_and_leads_to_the_horizon(computed):
    page = open_page("app.py")
    names = {trace["name"] for trace in json.loads(page.get("plotly_chart")[1].proto.spec)["data"] if trace.get("name")}
    assert names == {"Mean reward", "Last reward", "Off-policy mean"}
    page.button[0].click().run()
    assert page.title[0].value == "How early can we tell?"
