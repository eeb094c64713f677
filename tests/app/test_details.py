"""Method details on the Horizon page."""

from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.methods import METHODS
from tests.app.conftest import cards, open_page, texts, unfold
from tests.saying import one_says

HORIZON = "pages/2_Horizon.py"


def test_method_details_tell_what_was_chosen(home, small):
    changes = {"methods": "cohort_slev,mean_reward", "settings.cohort_slev.folds": "2"}
    experiment.run(small.changed(changes), Store(home))
    page = unfold(open_page(HORIZON, preset="hiv-demo", **changes), "details")
    assert cards(page) == ""
    assert f"Cohort SLEV: {METHODS['cohort_slev'].sentence}" in texts(page).replace("**", "")
    assert "folds 2" in texts(page)
    rows = page.dataframe[-1].value
    assert {"model chosen", "error in cross-validation (RMSE)"} <= set(rows["detail"])
    assert set(rows["method"]) == {"Cohort SLEV"}


def test_method_details_of_shipped_results_say_what_was_not_kept(home):
    page = unfold(open_page(HORIZON, preset="kidney-demo"), "details")
    assert cards(page) == ""
    assert one_says(texts(page), "not part", "shipped")
    assert "SLED" in texts(page)


def test_rules_without_choices_are_said_to_have_none(computed):
    page = unfold(open_page(HORIZON, preset="hiv-demo"), "details")
    assert cards(page) == ""
    assert "nothing to choose" in texts(page)
