"""Presentation mode: a link opens it, the menu enters it, the scenes fit the scenario, and the end leaves no trace in links."""

from shortlong.scenario.presets import preset
from shortlong.ui.present import scenes
from tests.app.conftest import cards, open_page, unfold


def test_a_link_opens_it_and_scenes_follow_each_other(home):
    page = open_page("app.py", present="1")
    assert cards(page) == ""
    assert page.query_params["present"] == "1"
    assert page.button(key="scene_back").disabled
    titles = [page.title[0].value]
    for _ in range(3):
        page.button(key="scene_next").click().run()
        titles.append(page.title[0].value)
    assert titles[1] == titles[2], "Decide, and then with its ending"
    assert titles[3] == "Policy in detail"
    assert page.query_params["reveal"] == "True"
    page.button(key="scene_back").click().run()
    assert page.title[0].value == titles[2]


def test_a_page_that_is_no_scene_leads_back_to_where_the_presenter_was(home):
    page = open_page("app.py", present="1")
    page.button(key="scene_next").click().run()
    shown = page.title[0].value
    page.switch_page("pages/7_Runs.py").run()
    assert not [caption for caption in page.caption if caption.value.startswith("1 of ")]
    assert page.button(key="scene_back").disabled
    page.button(key="scene_next").click().run()
    assert page.title[0].value == shown


def test_menus_and_explanations_are_as_large_as_the_rest(home):
    """They hang outside the page that is drawn larger, and their letters have a size of their own."""
    page = open_page("app.py", present="1")
    style = next(part.proto.body for part in page.get("html") if "--scale: 1.5" in part.proto.body)
    assert '[data-testid="stTooltipContent"] { zoom: 1.5; }' in style
    assert '[role="option"] { font-size: calc(1.5 * ' in style


def test_the_menu_enters_and_end_leaves(home):
    page = open_page("pages/2_Horizon.py", preset="hiv-demo")
    assert "present" not in page.query_params
    unfold(page, "menu")
    page.button(key="present_button").click().run()
    assert page.query_params["present"] == "1"
    assert not page.session_state["menu"], "the menu is closed"
    page.button(key="scene_out").click().run()
    assert "present" not in page.query_params
    assert not [button for button in page.button if button.key == "scene_next"]


def test_scenes_are_those_of_the_domain():
    assert [s.name for s in scenes(preset("hiv-paper"))][:5] == ["Home", "Decide", "Decide", "Policies", "Safety"]
    battery = [s.name for s in scenes(preset("battery-demo"))]
    assert "Battery" in battery
    assert not {"Policies", "Shift"} & set(battery)


def test_the_menu_of_a_presentation_does_not_offer_to_present(home):
    page = open_page("pages/2_Horizon.py", preset="hiv-demo", present="1")
    unfold(page, "menu")
    assert not [button for button in page.button if button.key == "present_button"]
