"""Links: the same view in a new session; a broken one gets a card and never a traceback."""

import pytest

from shortlong.ui.page import PAGES
from tests.app.conftest import cards, open_page, texts, unfold
from tests.saying import one_says

pytestmark = pytest.mark.heavy  # left out of the inner loop

HORIZON = "pages/2_Horizon.py"


def test_a_view_and_its_link_are_the_same(computed):
    first = open_page(HORIZON)
    first.select_slider[0].set_value(8).run()
    first.button_group[0].set_value(["mean_reward"]).run()
    link = dict(first.query_params)
    assert link == {"preset": "hiv-demo", "horizon": "8", "show": "mean_reward"}
    second = open_page(HORIZON, **link)
    assert second.select_slider[0].value == 8
    assert second.button_group[0].value == ["mean_reward"]
    assert texts(second) == texts(first)
    assert [m.value for m in second.metric] == [m.value for m in first.metric]


def test_a_link_carries_a_changed_scenario(computed):
    page = open_page("pages/1_Simulate.py", preset="hiv-demo", **{"data.patients": "7", "data.test_actions": "RTI"})
    assert "Patients: 7 instead of 5" in texts(page)
    assert page.query_params["data.patients"] == "7"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"preset": "hiv-nonsense"}, "no preset 'hiv-nonsense'"),
        ({"preset": "hiv-demo", "data.patients": "-3"}, "“Patients” is -3"),
        ({"preset": "hiv-demo", "data.test_actions": ""}, "the action set is empty"),
        ({"preset": "hiv-demo", "horizons": "0"}, "horizon 0 is not possible"),
        ({"preset": "hiv-demo", "horizon": "3"}, "asks for horizon '3'"),
        ({"preset": "hiv-demo", "horizon": "4" * 5000}, "asks for horizon '44444"),
        ({"preset": "hiv-demo", "settings.slev.size": '"\\ud800"'}, "choose one of demo"),
        ({"preset": "hiv-demo", "seeds": ",".join(map(str, range(3000)))}, "27,000 results, more than 20,000"),
        ({"preset": "hiv-demo", "horizon": "²"}, "asks for horizon '²'"),
        ({"preset": "hiv-demo", "horizon": "many"}, "asks for horizon 'many'"),
        ({"preset": "hiv-demo", "show": "oracle"}, "asks for a method 'oracle'"),
        ({"utm": "x"}, "there is no key 'utm'"),
    ],
)
def test_a_broken_link_gets_a_card_and_the_page_still_works(computed, query, words):
    page = open_page(HORIZON, **query)
    card = cards(page).replace("\\", "")
    assert "The link is broken" in card
    assert words in card
    assert page.title
    next(b for b in page.button if b.label.startswith("Continue with")).click().run()
    assert cards(page) == ""
    assert page.query_params["preset"] == "hiv-demo"


def test_markup_in_a_link_is_shown_as_text(computed):
    page = open_page(HORIZON, preset="hiv-demo", show="<b>[click](javascript:1)")
    assert cards(page)
    assert "\\<b\\>\\[click\\]" in page.error[0].value


@pytest.mark.heavy
@pytest.mark.parametrize("file", [file for file, *_ in PAGES])
def test_every_page_can_be_reloaded(computed, file):
    page = open_page(file)
    link = dict(page.query_params)
    again = open_page(file, **link)
    assert cards(again) == ""
    assert dict(again.query_params) == link


@pytest.mark.parametrize(
    ("file", "query"),
    [
        ("pages/1_Simulate.py", {"quantity": "free virus", "drawn": "2,1,4"}),
        ("pages/5_Shift.py", {"failure": "0.4", "class_size": "1000000", "ratio_error": "0.35"}),
        ("pages/8_Paper.py", {"part": "table1"}),
    ],
)
def test_a_link_carries_what_was_chosen_on_a_page(computed, file, query):
    usual, page = open_page(file), open_page(file, preset="hiv-demo", **query)
    assert cards(page) == ""
    assert query.items() <= dict(page.query_params).items()
    assert [c.proto.spec for c in page.get("plotly_chart")] != [c.proto.spec for c in usual.get("plotly_chart")]


@pytest.mark.parametrize("query", [{"drawn": "7"}, {"drawn": "1,1"}, {"class_size": "7"}, {"part": "figure9"}])
def test_such_a_choice_is_checked(computed, query):
    assert "The link is broken" in cards(open_page("pages/1_Simulate.py", preset="hiv-demo", **query))


def test_the_card_of_a_broken_link_does_not_follow_to_other_pages(computed):
    page = open_page(HORIZON, preset="hiv-nonsense")
    assert "The link is broken" in cards(page)
    page.switch_page("pages/4_Safety.py").run()
    assert cards(page) == ""
    page.switch_page(HORIZON).run()
    assert cards(page) == ""


def test_a_link_leaves_out_a_horizon_that_the_scenario_does_not_have(computed):
    page = open_page(HORIZON, preset="hiv-demo", horizon="8")
    page.switch_page("pages/1_Simulate.py").run()
    page.text_input(key="edit-horizons").set_value("2, 4").run()
    link = dict(page.query_params)
    assert link == {"preset": "hiv-demo", "horizons": "2,4"}
    page.switch_page(HORIZON).run()
    unfold(page, "menu")
    assert "You changed the settings" not in texts(page), "two of three horizons are computed"
    assert cards(open_page(HORIZON, **link)) == ""


def test_the_link_under_the_banner_is_that_of_what_is_shown(computed):
    page = open_page(HORIZON, preset="hiv-demo", horizon="8")
    page.switch_page("pages/1_Simulate.py").run()
    page.text_input(key="edit-horizons").set_value("7, 14").run()
    page.switch_page(HORIZON).run()
    unfold(page, "menu")
    assert "You changed the settings" in page.warning[0].value
    assert page.code[1].value.endswith("?preset=hiv-demo&horizon=8")


@pytest.mark.parametrize("folder", ["/no/such/folder", "~nobody-of-this-name/x", "x" * 5000, "/etc"])
def test_a_link_cannot_choose_a_folder(computed, folder):
    page = open_page(HORIZON, preset="battery-demo", **{"data.source": folder})
    assert one_says(cards(page), "link", "never", "folder")
    assert "Battery charging" in texts(page)
    assert page.query_params["data.source"] == folder, "the broken link stays until the person goes on"
    next(b for b in page.button if b.label.startswith("Continue with")).click().run()
    assert "data.source" not in page.query_params


@pytest.mark.heavy
@pytest.mark.parametrize("file", [file for file, *_ in PAGES])
def test_every_page_has_the_card(computed, file):
    page = open_page(file, preset="hiv-nonsense")
    assert "The link is broken" in cards(page)
    assert page.title
