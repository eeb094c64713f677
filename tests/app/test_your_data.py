"""The page Your data: from a dropped file to a data set whose results every page shows."""

import gzip
import time

import pandas as pd
import pytest

from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.core.home import living_in
from shortlong.domains.table import Choices, add, check, has, versions
from shortlong.scenario.scenario import named_scenario
from tests.app.conftest import cards, open_page, texts
from tests.domains.table.tables import as_csv, trial
from tests.saying import one_says

PAGE = "pages/9_Your_data.py"
QUICK = ["mean_reward", "off_policy_mean"]


def small_trial() -> pd.DataFrame:
    return trial(old=6, new=2, units=3)


def dropped(content: bytes, name: str = "trial.csv"):
    page = open_page(PAGE)
    page.file_uploader[0].set_value((name, content, "text/csv"))
    return page.run()


def box(page, title):
    return next(found for found in page.selectbox if found.label == title)


def drop_downs(page) -> dict[str, str]:
    return {found.label: found.value for found in page.selectbox}


def new_policies(page) -> list[str]:
    return next(group for group in page.button_group if group.label.startswith("New policies")).value


def test_an_empty_page_offers_a_file_and_an_example(home, small):
    page = open_page(PAGE)
    assert page.title[0].value == "Your data"
    assert len(page.file_uploader) == 1
    assert [button.label for button in page.button if button.key == "own-example"] == ["Try an example"]
    assert not page.selectbox


def test_a_dropped_file_shows_the_guess_who_is_new_and_what_is_novel(home, small):
    page = dropped(as_csv(small_trial()))
    found = drop_downs(page)
    assert (found["Policy"], found["Unit"], found["Step"], found["Reward of each step"]) == (
        "policy",
        "unit",
        "step",
        "reward",
    )
    assert [box.value for box in page.multiselect][:2] == [["state_level"], ["action_dose"]]
    assert new_policies(page) == ["N0", "N1"]
    assert "**6 historical policies** and **2 new policies**" in texts(page)
    assert "New action" in texts(page)
    assert not page.button(key="own-start").disabled
    assert cards(page) == ""


def test_the_file_lies_on_disk_under_its_hash_and_can_be_forgotten(home, small):
    page = dropped(as_csv(small_trial()))
    kept = list((home / "uploads").iterdir())
    assert len(kept) == 1
    assert kept[0].read_bytes() == as_csv(small_trial())
    assert page.file_uploader[0].value is None  # another widget, which keeps nothing
    page.button(key="own-forget").click().run()
    assert list((home / "uploads").iterdir()) == []
    assert not page.selectbox


def test_files_that_were_not_added_do_not_pile_up(home, small, monkeypatch):
    monkeypatch.setattr("shortlong.ui.own_table.MOST_KEPT", 3)
    page = open_page(PAGE)
    for number in range(6):
        page.file_uploader[0].set_value((f"{number}.csv", f"a,b\n{number},1\n".encode(), "text/csv"))
        page = page.run()
    assert len(list((home / "uploads").iterdir())) == 3
    assert "5.csv" in texts(page)


def test_choices_survive_a_visit_to_another_page(home, small):
    page = dropped(as_csv(small_trial()))
    box(page, "Reward of each step").set_value("state_level").run()
    page.switch_page("pages/1_Simulate.py").run()
    page.switch_page(PAGE).run()
    assert drop_downs(page)["Reward of each step"] == "state_level"


def test_a_broken_file_is_corrected_by_drop_downs(home, small):
    table = small_trial().rename(columns={"unit": "who", "step": "number"})
    page = dropped(as_csv(table))
    assert page.button(key="own-start").disabled
    assert page.error
    box(page, "Unit").set_value("who").run()
    box(page, "Step").set_value("number").run()
    states = next(found for found in page.multiselect if found.label == "States")
    states.set_value(["state_level"]).run()
    assert not page.error
    assert not page.button(key="own-start").disabled


def test_errors_name_their_rows(home, small):
    table = small_trial().astype({"reward": object})
    table.loc[4, "reward"] = "n/k"
    page = dropped(as_csv(table))
    assert any("row 6" in card.value and "n/k" in card.value for card in page.error)


def test_semicolons_and_decimal_commas(home, small):
    page = dropped(as_csv(small_trial(), sep=";", decimal=","))
    assert new_policies(page) == ["N0", "N1"]
    assert not page.button(key="own-start").disabled
    assert any("semicolon" in card.value or "decimal" in card.value for card in page.warning)


def test_a_packed_file(home, small):
    page = dropped(gzip.compress(as_csv(small_trial())), "trial.csv.gz")
    assert not page.button(key="own-start").disabled


def test_a_file_that_is_no_table_gets_a_sentence(home, small):
    page = dropped(b"\x80\x04nothing", "trial.csv")
    assert "pickle" in page.error[0].value
    assert "own-start" not in [button.key for button in page.button]


def test_markup_in_names_is_shown_not_done(home, small):
    table = small_trial().replace({"policy": {"N0": "![x](https://example.org/x.png)"}})
    page = dropped(as_csv(table), "<b>trial</b>.csv")
    whole = " ".join(element.value for element in [*page.markdown, *page.warning, *page.error, *page.header])
    assert "![x](" not in whole
    assert "<b>" not in whole
    labels = [option.content for group in page.button_group for option in group.proto.options]
    assert all("![x](" not in label for label in labels)


def test_switching_a_policy_makes_it_new(home, small):
    page = dropped(as_csv(small_trial()))
    group = next(group for group in page.button_group if group.label.startswith("New policies"))
    group.set_value(["A", "N0", "N1"]).run()
    assert "**5 historical policies** and **3 new policies**" in texts(page)
    assert new_policies(page) == ["A", "N0", "N1"]


@pytest.mark.heavy
def test_start_adds_the_data_set_and_runs_it(home, small):
    page = dropped(as_csv(small_trial()))
    next(found for found in page.multiselect if found.label == "Methods").set_value(QUICK).run()
    page.button(key="own-start").click().run()
    assert has("trial", home)
    assert page.query_params["preset"] == "trial"
    assert page.query_params["data.content"] == versions("trial", home)[-1]
    assert set(page.query_params) <= {"preset", "data.content", "methods", "horizon"}  # neither a path nor data
    end = time.monotonic() + 120
    while "Finished" not in texts(page) and time.monotonic() < end:
        time.sleep(1)
        page.run()
    assert "Finished" in texts(page)
    assert "the history trusts most" in texts(page)
    assert {"own-to-Horizon", "own-to-Policies"} <= {button.key for button in page.button}
    page.switch_page("pages/2_Horizon.py").run()
    assert cards(page) == ""


def test_a_name_of_a_preset_is_refused(home, small):
    page = dropped(as_csv(small_trial()))
    next(found for found in page.text_input if found.label == "Name").set_value("hiv-demo").run()
    page.button(key="own-start").click().run()
    assert "name of a preset" in cards(page)


@pytest.fixture
def added(home):
    """A data set with results from three steps, and then the whole table under the same name."""
    short, long = small_trial(), trial(old=6, new=2, units=3, seen=8)
    add(check(short), "trial", home)
    with living_in(home):
        experiment.run(
            named_scenario("trial").changed({"methods": ",".join(QUICK)}, "test"), Store(home), leave="policy"
        )
    return short, long


def test_data_sets_are_listed_opened_and_removed(added, home, small):
    page = open_page(PAGE)
    page.button(key="own-open-trial").click().run()
    assert "Results of trial" in [header.value for header in page.header]
    page.button(key="own-remove-trial").click().run()
    assert not has("trial", home)
    assert cards(page) == ""
    assert "Your data sets" not in [header.value for header in page.header]


def test_a_link_to_a_data_set_that_is_not_here_gives_a_sentence(home, small):
    page = open_page(PAGE, **{"preset": "trial", "data.content": "0" * 20})
    assert one_says(cards(page), "'trial'", "not on this machine")


def test_a_link_to_another_content_gives_a_sentence_too(added, home, small):
    page = open_page(PAGE, **{"preset": "trial", "data.content": "0" * 20})
    assert one_says(cards(page), "not on this machine", "add the file")


def test_a_link_opens_the_content_that_it_names(added, home, small):
    first = versions("trial", home)[0]
    add(check(added[1], None, Choices(new=(), length=8)), "trial", home)
    page = open_page(PAGE, **{"preset": "trial", "data.content": first, "methods": ",".join(QUICK)})
    assert cards(page) == ""
    assert page.session_state["scenario"].data.content == first
    assert "the history trusts most" in texts(page)


def test_the_truth_that_came_later(added, home, small):
    _, long = added
    later = check(long, None, Choices(new=(), length=8))
    assert later.ok, later.problems
    add(later, "trial", home)
    assert len(versions("trial", home)) == 2
    page = open_page(PAGE)
    page.button(key="own-open-trial").click().run()
    assert cards(page) == ""
    assert "Earlier predictions and actual outcomes" in [header.value for header in page.subheader]


def test_a_public_server_takes_no_file(home, small, monkeypatch):
    monkeypatch.setenv("SHORTLONG_MODE", "public")
    page = open_page(PAGE)
    assert not page.file_uploader
    assert "takes no files" in page.info[0].value


def test_home_has_a_card_that_opens_the_example(home, small):
    page = open_page("app.py")
    assert "Your own data" in [header.value for header in page.subheader]
    assert "own-data-example" in [button.key for button in page.button]


def test_the_example_opens_at_once(home, small):
    page = open_page(PAGE)
    page.button(key="own-example").click().run()
    assert cards(page) == ""
    assert len(new_policies(page)) == 3
    assert not page.button(key="own-start").disabled


def test_the_example_opens_with_its_results(home, small):
    page = open_page(PAGE)
    page.button(key="own-example").click().run()
    said = texts(page)
    assert "Results of dialysis-example" in " ".join(header.value for header in page.header)
    assert one_says(said, "history", "trusts most")
    assert "no historical policy did" in " ".join(caption.value for caption in page.caption)
    assert any("policy" in table.value.columns for table in page.dataframe)
    assert cards(page) == ""
    assert not page.button(key="own-start").disabled  # the file is open too, to look at how it is understood


def test_the_card_on_home_opens_the_example_with_its_results(home, small):
    page = open_page("app.py")
    page.button(key="own-data-example").click().run()
    assert one_says(texts(page), "history", "trusts most")
    assert page.query_params["preset"] == "dialysis-example"


def test_a_table_without_a_new_policy_claims_none_on_any_page(home, small):
    with living_in(home):
        add(check(small_trial().query("policy < 'N'")), "old-only")
        scenario = named_scenario("old-only").changed({"methods": ",".join(QUICK)})
        experiment.run(scenario, Store(home), leave="policy")
    for file, said in (
        (PAGE, "No policy is new"),
        ("pages/5_Shift.py", "no new policy"),
        ("pages/0_Decide.py", "no new policy"),
    ):
        page = open_page(file, **scenario.to_parameters())
        assert said in f"{texts(page)} {' '.join(box.value for box in page.info)}", file
        assert cards(page) == "", file


def test_remedies_on_the_page_name_its_controls(home, small):
    table = small_trial()
    page = dropped(as_csv(table[~((table["policy"] == "A") & (table["step"] == 3))]))
    shown = " ".join(card.value for card in (*page.error, *page.warning))
    assert "A missing number or step is" in shown
    assert "\\-\\-" not in shown
    assert "--" not in shown
    box(page, "A missing number or step is").set_value("carry").run()
    assert not page.error
