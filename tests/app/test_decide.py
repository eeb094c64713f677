"""Decide: with and without a back-test, refusal, reveal, filters, a policy opened, links; in a browser it plays without the server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.notebook.study import Study
from shortlong.scenario import Scenario, presets
from shortlong.scenario.presets import preset
from shortlong.ui import controls, state
from tests.app.browsing import MARKS, PATIENCE, both_sizes, see, settled
from tests.app.conftest import SMALL, WITHOUT_JOINT, cards, open_page, texts, unfold
from tests.app.server import running_server
from tests.domains.table.tables import trial
from tests.saying import one_says, says

DECIDE = "pages/0_Decide.py"
JUDGED: dict[str, Any] = {
    **SMALL,
    "data": {**SMALL["data"], "rounds": 6},
}  # 12 old policies: enough for 90 %, not for 95 %


@pytest.fixture(scope="module")
def judged_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("judged")
    experiment.run(Scenario.build({"preset": "hiv-demo", **JUDGED}), Store(root), leave="policy")
    return root


@pytest.fixture
def judged(judged_root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scenario]:
    """A small demo whose history has judged itself."""
    monkeypatch.setenv("SHORTLONG_HOME", str(judged_root))
    monkeypatch.setitem(presets.PRESETS, "hiv-demo", JUDGED)
    preset.cache_clear()
    monkeypatch.setattr(state, "first_scenario", lambda domain: preset(f"{domain}-demo"))
    yield preset("hiv-demo")
    preset.cache_clear()


def _strip(page: AppTest) -> dict[str, Any]:
    return json.loads(page.get("plotly_chart")[0].proto.spec)


def _everything(page: AppTest) -> tuple[Any, ...]:
    return (
        texts(page),
        [(m.label, m.value, m.delta) for m in page.metric],
        [c.proto.spec for c in page.get("plotly_chart")],
    )


def test_promise_stands_with_its_condition_and_the_strip_has_every_look(judged):
    page = open_page(DECIDE)
    assert cards(page) == ""
    words = texts(page)
    assert "at most 10 %" in words
    assert one_says(words, "if", "new policies", "to historical ones")
    assert one_says(words, "of 12 historical policies", "judged")
    assert "stopping everything" in words
    assert len(page.metric) == 3
    spec = _strip(page)
    assert [frame["name"] for frame in spec["frames"]] == ["2", "4", "8"]
    assert not spec["layout"].get("sliders"), "the page has a slider of its own"
    assert len(page.get("plotly_chart")) == 3


def test_simulated_cells_say_beside_the_promise_that_their_signal_is_built_in(home):
    page = open_page(DECIDE, preset="battery-demo")
    promise = next(part.value for part in page.markdown if "however often" in part.value)
    assert says(promise, "decided wrongly", "early signal is built in", "This holds if")


def test_rows_of_a_presentation_on_a_large_screen_have_small_words(home):
    """Everything is half as large again there, so a row is as low as on a laptop."""
    usual, presented = (open_page(DECIDE, **query) for query in ({}, {"present": "1"}))
    for page, height in ((usual, 900), (presented, 1350)):
        style = next(part.proto.body for part in page.get("html") if "textpoint" in part.proto.body)
        assert f"@media (max-height: {height}px)" in style


def test_a_history_that_is_too_small_is_refused_with_a_sentence(judged):
    page = open_page(DECIDE)
    page.selectbox(key="promise").set_value(95).run()
    assert cards(page) == ""
    assert "at least 19 historical policies" in page.warning[0].value
    assert "cannot be judged" in page.metric[0].delta
    assert "0 of 6" in page.metric[0].value


def test_the_ending_is_hidden_until_it_is_revealed(judged):
    page = open_page(DECIDE)
    unfold(page, "decide_table")
    assert not page.success
    assert "truth" not in [trace.get("name") for trace in _strip(page)["data"]]
    hidden = set(page.dataframe[0].value.columns)
    page.toggle(key="reveal").set_value(True).run()
    assert "What happened" in page.success[0].value
    assert "truth" in [trace.get("name") for trace in _strip(page)["data"]]
    assert len(set(page.dataframe[0].value.columns) - hidden) == 1


def test_without_a_back_test_one_button_and_the_command(computed):
    page = open_page(DECIDE)
    assert cards(page) == ""
    assert "Decisions need a back-test" in page.info[0].value
    assert [b.label for b in page.button if b.label.startswith("Run the back-test (")]
    assert page.code[0].value.startswith("python -m shortlong backtest hiv-demo")
    assert not page.get("plotly_chart")


def test_nothing_computed_offers_to_compute(home, small):
    page = open_page(DECIDE)
    assert cards(page) == ""
    assert page.title
    assert "not been run" in page.info[0].value


def test_a_name_in_the_list_opens_the_policy(judged):
    page = open_page(DECIDE)
    page.selectbox(key="decide_opened").select_index(2)
    label = page.selectbox(key="decide_opened").value
    page.run()
    assert cards(page) == ""
    assert page.title[0].value == "Policy in detail"
    number = page.session_state[controls.POLICIES.key(judged)][0]
    assert label.startswith(f"N{number} "), "N3 is the third new policy"


@pytest.mark.heavy
@pytest.mark.parametrize(
    "query",
    [
        {"horizon": "8"},
        {"promise": "80"},
        {"promise_mode": "risk"},
        {"looks": "cv+"},
        {"decided_by": "last_reward"},
        {"limit_share": "40"},
        {"limit_value": "1000"},
        {"cost_missing": "50"},
        {"cost_watching": "9"},
        {"shown_decision": "cannot-be-judged"},
        {"strip_order": "name"},
        {"reveal": "True"},
    ],
    ids=lambda query: next(iter(query)),
)
def test_every_choice_is_in_the_link_and_does_something(judged, query):
    usual = open_page(DECIDE, preset="hiv-demo", decided_by="mean_reward")
    page = open_page(DECIDE, **{"preset": "hiv-demo", "decided_by": "mean_reward", **query})
    assert cards(page) == ""
    link = dict(page.query_params)
    assert query.items() <= link.items()
    assert _everything(page) != _everything(usual)
    assert _everything(open_page(DECIDE, **link)) == _everything(page)


def test_a_wrong_choice_in_a_link_is_a_card(judged):
    assert "The link is broken" in cards(open_page(DECIDE, preset="hiv-demo", promise="99"))


def test_the_threshold_is_that_of_safety(judged):
    page = open_page(DECIDE, preset="hiv-demo", limit_value="1000")
    assert "below 1,000" in texts(page)
    page.switch_page("pages/4_Safety.py").run()
    assert "1,000" in texts(page)


def test_the_menu_has_link_command_and_files(judged):
    page = open_page(DECIDE, preset="hiv-demo", limit_share="20", promise="80", decided_by="mean_reward")
    unfold(page, "menu")
    assert cards(page) == ""
    labels = [b.label for b in page.get("download_button")]
    assert {"Decisions (CSV)", "Report (HTML, one page)", "Scenario as YAML"} <= set(labels)
    command = page.code[1].value
    assert command.startswith("python -m shortlong decide hiv-demo")
    for words in ("--quantile 0.2", "--level 0.8", "--method mean_reward"):
        assert words in command
    assert "promise=80" in page.code[0].value


@pytest.fixture(scope="module")
def no_truth_results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Scenario]:
    """A table whose new policies have no outcome yet, with a back-test."""
    root = tmp_path_factory.mktemp("no-truth")
    study = Study.from_table(trial(), name="trial", store=Store(root))
    return root, study.run([3], ["mean_reward", "last_reward"]).scenario


@pytest.fixture
def no_truth(no_truth_results: tuple[Path, Scenario], monkeypatch: pytest.MonkeyPatch) -> Scenario:
    monkeypatch.setenv("SHORTLONG_HOME", str(no_truth_results[0]))
    return no_truth_results[1]


@pytest.fixture(scope="module")
def address(judged_root: Path) -> Iterator[str]:
    with running_server(judged_root) as server:
        yield server.address


def test_all_decided_none_decided_and_predictions_beyond_the_history(home):
    """Three states of the shipped result of the paper's size."""
    every = open_page(DECIDE, preset="hiv-paper", limit_value="-1000")
    assert cards(every) == ""
    assert every.metric[0].value == "40 of 40"
    assert every.metric[2].delta == "all are decided"
    assert one_says(texts(every), "no better", "stopping nothing"), "a rule that treats all alike is not praised"
    none = open_page(DECIDE, preset="hiv-paper", horizon="5", decided_by="slev")
    assert cards(none) == ""
    assert (none.metric[0].value, none.metric[0].delta) == ("0 of 40", "40 keep watching")
    assert not one_says(texts(none), "predictions", "beyond every")
    beyond = open_page(DECIDE, preset="hiv-paper", horizon="50", decided_by="slev")
    assert one_says(texts(beyond), "predictions", "beyond every")
    assert "beyond history" in json.dumps(_strip(beyond)["data"])


def test_where_no_ending_is_known_none_is_offered(no_truth):
    page = open_page("app.py")
    page.session_state["scenario"] = no_truth
    page.switch_page(DECIDE).run()
    assert cards(page) == ""
    assert page.metric[0].value.endswith("of 2")
    assert not page.toggle
    assert "What happened" not in texts(page)
    page.switch_page("pages/4_Safety.py").run()
    assert cards(page) == ""
    assert one_says(texts(page), "nobody knows", "unsafe")
    assert not [w for w in page.number_input if "cost" in (w.key or "")], (
        "mistakes cannot be counted, so they cost nothing"
    )


@pytest.mark.browser
@MARKS[1]
@both_sizes
def test_from_home_over_play_reveal_and_a_policy_to_the_report(address, browser, size):
    """Forty policies: slider, cards and the whole strip are inside the window; playing asks the server for nothing."""
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}).new_page()
    page.set_default_timeout(PATIENCE)
    received: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda data: received.append(len(data))))
    page.goto(f"{address}/?preset=hiv-paper")
    settled(page)
    page.get_by_test_id("stSidebar").get_by_role("link", name="Decide", exact=True).click()
    see(page.get_by_role("heading", name="Stop, keep watching or continue?"))
    rows = page.locator(".st-key-decide_strip")
    rows.locator(".main-svg").first.wait_for()
    settled(page)
    page.wait_for_timeout(1000)
    for key in ("decide_controls", "decide_cards", "strip_window", "decide_strip"):
        box = page.locator(f".st-key-{key}").first.bounding_box()
        assert 0 <= box["y"] <= size[1] - box["height"], (key, box)
    last = rows.locator(".ytick text").first.bounding_box()
    assert last["y"] + last["height"] <= size[1], "the row at the bottom"
    assert rows.locator(".ytick").count() == 40
    before = len(received)
    assert "after 125 days" not in rows.text_content()
    rows.locator(".updatemenu-button").first.click()
    page.wait_for_function(
        "() => document.querySelector('.st-key-decide_strip').textContent.includes('after 125 days')"
    )
    rows.locator(".updatemenu-button").last.click()
    assert len(received) == before, "playing asks the server for nothing"
    page.get_by_test_id("stCheckbox").get_by_text("Reveal the ending").click()
    see(page.get_by_text("What happened:"))
    see(page.get_by_test_id("stMetricLabel").get_by_text("What happened"))
    settled(page)
    page.locator(".st-key-decide_opened input").click()
    page.get_by_role("option").first.click()
    see(page.get_by_role("heading", name="Policy in detail"))
    settled(page)
    page.go_back()
    see(page.get_by_role("heading", name="Stop, keep watching or continue?"))
    settled(page)
    page.get_by_role("button", name="More").click()
    with page.expect_download() as report:
        page.get_by_role("button", name="Report (HTML, one page)").click()
    text = Path(report.value.path()).read_text(encoding="utf-8")
    assert "at most 10 %" in text
    assert one_says(text, "if", "new policies", "to historical ones")
    page.context.close()


@pytest.mark.browser
@MARKS[1]
@both_sizes
def test_safety_has_its_table_and_matrix_on_one_screen_and_a_click_lists_policies(address, browser, size):
    page = browser.new_context(viewport={"width": size[0], "height": size[1]}).new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(f"{address}/Safety?preset=hiv-paper&methods={WITHOUT_JOINT}")
    for key in ("rules", "matrix"):
        page.locator(f".st-key-{key} .main-svg").first.wait_for()
    settled(page)
    for key in ("safety_controls", "rules", "matrix"):
        box = page.locator(f".st-key-{key}").first.bounding_box()
        assert 0 <= box["y"] <= size[1] - box["height"], (key, box)
    see(page.get_by_text("Fitted Q, missed: 1 policy"))
    squares = (
        page.locator(".st-key-rules .scatterlayer .trace").nth(3).locator(".point")
    )  # false alarms: first that of SLED
    square = squares.first.bounding_box()
    page.mouse.click(square["x"] + square["width"] / 2, square["y"] + square["height"] / 2)
    see(page.get_by_text("SLED, false alarm: 1 policy"))
    settled(page)
    field = page.locator(".st-key-matrix .scatterlayer .trace").last.locator(".point").first.bounding_box()  # caught
    page.mouse.click(field["x"] + field["width"] / 2, field["y"] + field["height"] / 2)
    see(page.get_by_text("SLED, caught: 3 policies"))
    page.context.close()
