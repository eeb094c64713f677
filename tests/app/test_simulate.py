"""Simulate: presets, action sets, sizes and files change the one scenario; bad input gets a card."""

import json

import pytest

from shortlong.compute import shipped as gallery
from shortlong.core.errors import UserError
from shortlong.scenario.presets import PRESETS, preset
from shortlong.ui import progress
from shortlong.ui.upload import LARGEST, scenario_from_bytes
from tests.app.conftest import SMALL, cards, open_page, texts
from tests.saying import one_says, says

pytestmark = pytest.mark.heavy  # left out of the inner loop

SIMULATE = "pages/1_Simulate.py"


def test_empty_page_says_what_it_would_take(home, small):
    page = open_page(SIMULATE)
    assert cards(page) == ""
    assert page.button[0].label.startswith("Start (")
    assert not page.get("plotly_chart")
    assert page.expander[0].label.startswith("Advanced")


def test_new_actions_are_marked_and_follow_the_history(home, small):
    page = open_page(SIMULATE)
    new_policies = page.button_group(key="edit-data.test_actions")
    assert [option.content for option in new_policies.proto.options] == ["no drug · new", "RTI", "PI", "RTI + PI"]
    page.button_group(key="edit-data.train_actions").set_value(["none", "RTI"]).run()
    options = [option.content for option in page.button_group(key="edit-data.test_actions").proto.options]
    assert options == ["no drug", "RTI", "PI · new", "RTI + PI · new"]
    assert says(texts(page), "Historical policies", "no drug, RTI instead of RTI, PI, RTI + PI")
    assert page.query_params["data.train_actions"] == "none,RTI"


def test_an_empty_action_set_is_refused_and_the_last_good_one_stays(home, small):
    page = open_page(SIMULATE)
    page.button_group(key="edit-data.test_actions").set_value([]).run()
    assert says(cards(page), "at least one action", "new policies")
    assert page.button_group(key="edit-data.test_actions").value == ["none", "RTI", "PI", "both"]
    page.run()
    assert cards(page) == ""


def test_what_was_shown_stays_under_a_banner_while_nothing_is_computed(computed):
    page = open_page(SIMULATE)
    page.button_group(key="edit-data.test_actions").set_value(["RTI", "PI", "both"]).run()
    assert "You changed the settings" in page.warning[0].value
    assert "“no drug” removed" in page.warning[0].value
    assert len(page.get("plotly_chart")) == 1
    page.switch_page("pages/2_Horizon.py").run()
    assert "You changed the settings" in page.warning[0].value
    assert len(page.get("plotly_chart")) == 2


class _Running:
    """The keeper of a run that never ends."""

    id, active, stopping, state, share, elapsed = "1", True, False, "running", 0.2, 3.0

    def latest(self, scenario):
        return self

    def find(self, job_id):
        return self

    def progress(self):
        return None


def test_a_run_that_goes_on_is_not_asked_for_again(computed, monkeypatch):
    page = open_page(SIMULATE)
    monkeypatch.setattr(progress, "jobs", _Running)
    page.button_group(key="edit-data.test_actions").set_value(["RTI", "PI", "both"]).run()
    assert says(page.warning[0].value, "You changed the settings", "being computed")
    assert "run again" not in page.warning[0].value
    assert "Changes from the preset" not in texts(page), "progress takes the row"
    page.session_state["scenario"] = preset("kidney-standard")
    page.switch_page("pages/2_Horizon.py").run()
    assert says(page.info[0].value, "is being run")


def test_a_presented_chart_leaves_room_for_larger_type(computed):
    heights = [
        next(
            json.loads(chart.proto.spec)["layout"]["height"]
            for chart in open_page(SIMULATE, **query).get("plotly_chart")
            if chart.key == "bands"
        )
        for query in ({}, {"present": "1"})
    ]
    assert heights[1] <= heights[0] - 40


def test_another_domain_is_no_earlier_scenario(computed):
    page = open_page("pages/2_Horizon.py")
    page.session_state["scenario"] = preset("kidney-standard")
    page.run()
    assert not page.warning
    assert "not been run" in page.info[0].value


def test_battery_cells_are_no_patients(home):
    page = open_page(SIMULATE, preset="battery-demo")
    assert "patient" not in texts(page)
    assert page.selectbox(key="quantity-without-reward").options == ["capacity"]
    assert says(texts(page), "value of a charging policy", "1", "550 cycles")


def test_charging_protocols_that_no_training_cell_had_are_new(home):
    page = open_page(SIMULATE, preset="battery-demo")
    asked = "edit-data.test.families"
    assert [o.content for o in page.button_group(key=asked).proto.options] == ["one step", "fast first", "slow first"]
    page.button_group(key="edit-data.train.families").set_value(["one step", "fast first"]).run()
    options = [option.content for option in page.button_group(key=asked).proto.options]
    assert options == ["one step", "fast first", "slow first · new"]
    trained = [option.content for option in page.button_group(key="edit-data.train.families").proto.options]
    assert not any("new" in option for option in trained)


def test_no_policy_chosen_is_a_hint(computed):
    page = open_page(SIMULATE)
    next(m for m in page.multiselect if m.label == "Policies").set_value([]).run()
    assert "Select a policy" in texts(page)
    assert not page.get("plotly_chart")


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("edit-horizons", "0, 4", "orizon 0 is not possible"),
        ("edit-horizons", "soon", "Observation periods"),
        ("edit-seeds", "-1", "Method seeds"),
        ("edit-data.train_discounts", "2", "discounts must be"),
    ],
)
def test_a_wrong_text_is_refused_with_its_sentence(home, small, key, text, words):
    page = open_page(SIMULATE)
    before = page.text_input(key=key).value
    page.text_input(key=key).set_value(text).run()
    assert words in cards(page)
    assert page.text_input(key=key).value == before


def test_no_control_of_the_scenario_is_dead(home, small):
    """Every widget of the editor changes the link, that is, the scenario."""
    page = open_page(SIMULATE)
    changes = [
        *((n.key, n.value + (1 if isinstance(n.value, int) else 0.1)) for n in page.number_input),
        *((s.key, next(o for o in s.options if o != s.value)) for s in page.selectbox),
        *((t.key, {"edit-horizons": "2, 5", "edit-seeds": "0, 1"}.get(t.key, "0.5, 0.6")) for t in page.text_input),
        *((m.key, m.value[:-1]) for m in page.multiselect),
        *((g.key, g.value[:-1]) for g in page.button_group if isinstance(g.value, list)),
    ]
    assert len(changes) >= 17
    for key, value in changes:
        link = dict(page.query_params)
        widgets = (*page.number_input, *page.selectbox, *page.text_input, *page.multiselect, *page.button_group)
        next(widget for widget in widgets if widget.key == key).set_value(value).run()
        assert cards(page) == "", key
        assert dict(page.query_params) != link, key


@pytest.mark.heavy
@pytest.mark.parametrize("name", list(PRESETS))
def test_every_preset_and_domain_opens_on_every_page(home, name):
    for file in ("app.py", SIMULATE, "pages/2_Horizon.py"):
        page = open_page(file, preset=name)
        assert cards(page) == ""
        assert page.title


def test_choosing_a_domain_and_a_preset_replaces_the_scenario(home, small):
    page = open_page(SIMULATE)
    page.button_group(key="edit-domain").set_value("kidney").run()
    assert page.query_params["preset"] == "kidney-demo"  # the largest shipped one, but for the fixture
    page.button_group(key="edit-preset").set_value("kidney-paper").run()
    assert page.query_params["preset"] == "kidney-paper"
    assert "Kidney dialysis, full size" in texts(page)


def test_finished_page_draws_rewards_and_states_of_the_chosen_policies(computed):
    page = open_page(SIMULATE)
    assert cards(page) == ""
    chart = json.loads(page.get("plotly_chart")[0].proto.spec)
    lines = [trace["name"] for trace in chart["data"] if trace.get("name")]
    assert len(lines) >= 4
    assert chart["layout"]["yaxis"]["title"]["text"] == "reward per step"
    page.selectbox(key="quantity").set_value("free virus").run()
    chart = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert chart["layout"]["yaxis"]["title"]["text"] == "free virus (copies/mL)"
    assert chart["layout"]["yaxis"]["type"] == "log"
    picker = next(m for m in page.multiselect if m.label == "Policies")
    picker.set_value([lines[0]]).run()
    chart = json.loads(page.get("plotly_chart")[0].proto.spec)
    assert [trace["name"] for trace in chart["data"] if trace.get("name")] == [lines[0]]
    picker = next(m for m in page.multiselect if m.label == "Policies")
    picker.set_value([]).run()
    assert cards(page) == ""


def test_a_scenario_file_replaces_the_scenario(home, small):
    changed = small.changed({"data.patients": "9"})
    page = open_page(SIMULATE)
    page.get("file_uploader")[0].set_value(("mine.yaml", changed.to_yaml().encode(), "application/yaml")).run()
    assert cards(page) == ""
    assert page.query_params["data.patients"] == "9"
    page.get("file_uploader")[0].set_value(("bad.yaml", b"data: [", "application/yaml")).run()
    assert one_says(cards(page), "file", "could not be opened")
    assert page.query_params["data.patients"] == "9", "the last good scenario stays"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"data: [1, 2", "not readable as YAML"),
        (b"\xff\xfe\x00", "UTF-16"),
        (b"\xff\x00\x80", "not text"),
        (b"data: \x00", "zero byte"),
        (b"\x1f\x8b" + bytes(50), "gzip"),
        (b"just words", "does not hold a scenario"),
        (b"!!python/object/apply:os.system ['true']", "not readable as YAML"),
        (b"a: &a [1]\nb: [*a, *a]", "references"),
        (b"#" * (LARGEST + 1), "at most"),
        (b"", "does not hold a scenario"),
        (b"data: {domain: hiv, patients: -1}\nhorizons: [2]\nmethods: [mean_reward]", "data.patients"),
        (b"data: {domain: hiv, wrong: 1}\nhorizons: [2]\nmethods: [mean_reward]", "unknown key 'data.wrong'"),
    ],
)
def test_a_broken_file_is_refused_with_a_sentence(content, words):
    with pytest.raises(UserError, match=words):
        scenario_from_bytes(content, "mine.yaml")


def test_a_good_file_gives_its_scenario():
    from shortlong.scenario import Scenario

    scenario = Scenario.build(SMALL)
    assert scenario_from_bytes(scenario.to_yaml().encode(), "mine.yaml") == scenario


def test_a_value_past_the_limits_of_a_widget_is_refused(home, small):
    """Limits of widgets hold in the browser only; a hand-made client can send anything."""
    page = open_page(SIMULATE)
    page.number_input(key="edit-data.patients").set_value(10**7).run()
    assert cards(page) == ""
    assert 2 <= page.number_input(key="edit-data.patients").value <= 5000
    assert int(page.query_params.get("data.patients", 5)) <= 5000


# --- what if ----------------------------------------------------------------------------------------------------------
WHAT_IF_CHARTS = ["what_if_outcomes", "what_if_error", "what_if_decisions"]


def charts(page) -> list[str]:
    return [chart.key for chart in page.get("plotly_chart")]


def test_a_changed_run_stands_beside_the_nearest_one_and_another_can_be_chosen(home):
    page = open_page(SIMULATE, preset="hiv-demo", **{"data.test_actions": "RTI,PI,both"})
    assert cards(page) == ""
    assert charts(page) == [*WHAT_IF_CHARTS, "bands"]
    assert says(texts(page), "What changed", "“no drug” removed", "new policies")
    titles = " ".join(header.value for header in page.header)
    assert says(titles, "best new policy", "before", "error", "can be decided", "of 10")
    chosen = next(box for box in page.selectbox if box.label == "Compared with")
    assert chosen.value == "shipped-hiv-demo"
    chosen.set_value("shipped-hiv-demo-history-with-no-drug").run()
    assert cards(page) == ""
    assert says(texts(page), "What changed", "“no drug” removed", "historical policies")
    again = open_page(SIMULATE, **dict(page.query_params))
    assert next(box for box in again.selectbox if box.label == "Compared with").value == chosen.value


def test_an_unchanged_preset_is_compared_with_nothing(home):
    assert charts(open_page(SIMULATE, preset="hiv-demo")) == ["bands"]


def test_a_change_at_full_size_is_answered_by_the_quick_illustration(home):
    page = open_page(SIMULATE, preset="hiv-paper")
    page.button_group(key="edit-data.test_actions").set_value(["RTI", "PI", "both"]).run()
    assert cards(page) == ""
    assert says(page.info[0].value, "quick illustration", "10 new policies")
    assert charts(page) == [*WHAT_IF_CHARTS, "bands"]
    assert any(button.label.startswith("Start (") for button in page.main.button)
    page.button_group(key="edit-data.test_actions").set_value(["PI"]).run()
    assert cards(page) == ""
    assert charts(page) == ["bands"], "nobody has computed that yet"
    assert page.button(key="quick").label.startswith("Answer at demo size first (")


def test_bands_of_one_policy_at_a_time_where_they_would_hide_each_other(home):
    def filled(page) -> int:
        spec = json.loads(page.get("plotly_chart")[0].proto.spec)
        return sum(trace.get("fill") == "toself" for trace in spec["data"])

    page = open_page(SIMULATE, preset="kidney-demo")
    assert filled(page) == 0
    band = next(box for box in page.selectbox if box.label == "Band")
    band.set_value(gallery.open_item("kidney-demo").labels["test"][3]).run()  # the worst of the new ones is drawn
    assert cards(page) == ""
    assert filled(page) == 1


def test_no_charging_protocol_chosen_means_all_and_all_of_them_change_nothing(home):
    page = open_page(SIMULATE, preset="battery-demo")
    families = page.button_group(key="edit-data.train.families")
    assert families.value == ["one step", "fast first", "slow first"]
    families.set_value(["one step", "fast first"]).run()
    assert page.query_params["data.train.families"] == "one step,fast first"
    page.button_group(key="edit-data.train.families").set_value(["one step", "fast first", "slow first"]).run()
    assert "data.train.families" not in page.query_params
