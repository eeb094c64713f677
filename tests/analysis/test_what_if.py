"""A changed run beside the one that it is compared with: the same method, period and threshold; the nearest run first."""

import numpy as np
import pytest

from shortlong.analysis.decision_view import view_of
from shortlong.analysis.headline import error_curve
from shortlong.analysis.safety import usual_limit
from shortlong.analysis.trust import chosen_by_history
from shortlong.analysis.what_if import WhatIf, at_demo_size, comparable, is_changed, what_if
from shortlong.compute.results import open_shipped
from shortlong.compute.saved_runs import SavedRun
from shortlong.compute.shipped import names
from shortlong.core.errors import UserError
from shortlong.figures.what_if import decision_bars, error_lines, outcome_strip
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.scenario.what_ifs import WHAT_IFS
from shortlong.scenario.what_ifs import what_if as scenario_of
from shortlong.words.what_if import change_sentence, decision_title, error_title, number_table, outcome_title
from tests.saying import says

NO_DRUG = "hiv-demo-new-without-no-drug"


def compared(name: str) -> WhatIf:
    base = preset(WHAT_IFS[name][0])
    before, now = open_shipped(base), open_shipped(scenario_of(name))
    assert before is not None
    assert now is not None
    return what_if(before, now)


@pytest.fixture(scope="module")
def found() -> WhatIf:
    return compared(NO_DRUG)


def a_run(scenario: Scenario, **about: object) -> SavedRun:
    return SavedRun(scenario.key, "2026-01-01T00:00:00", scenario, "", 3, 3, 100, **about)  # type: ignore[arg-type]


def test_both_runs_are_read_at_the_same_period_by_the_same_method_with_the_same_threshold(found: WhatIf):
    before, now = open_shipped(preset("hiv-demo")), open_shipped(scenario_of(NO_DRUG))
    assert before is not None
    assert now is not None
    assert found.horizon == 20
    assert found.method == chosen_by_history(now.calibration(), 20, [m for m in now.methods if m in before.methods])
    assert found.threshold == usual_limit(before.history), "of the run that it is compared with"
    for side, results in ((found.before, before), (found.now, now)):
        assert sorted(side.outcomes) == pytest.approx(sorted(results.summary.values("test")), rel=1e-5)
        horizons, errors = error_curve(results.metrics, found.method)
        assert side.error_at(20) == pytest.approx(errors[horizons.index(20)])
        view = view_of(results, horizon=20, threshold=found.threshold, method=found.method)
        assert side.decided == view.ready
        assert side.decisions is not None
        assert sum(side.decisions.values()) == len(side.outcomes) == 10


def test_sentences_and_table_hold_the_numbers_of_both_runs(found: WhatIf):
    top, old = (f"{side.outcomes.max():.0f}" for side in (found.now, found.before))
    assert says(outcome_title(found), "best new policy", top, "before", old)
    assert says(error_title(found), "100 days", "before")
    assert says(decision_title(found), f"{found.now.decided} of 10", f"before {found.before.decided} of 10")
    assert says(change_sentence(found.now.scenario, found.before.scenario), "“no drug” removed", "new policies")
    table = number_table(found).set_index("figure")
    assert table.loc["highest outcome", "this run"] == found.now.outcomes.max()
    assert table.filter(like="decision", axis=0)["run compared with"].sum() == 10


def test_charts_draw_every_policy_and_decision(found: WhatIf):
    strip, lines, bars = outcome_strip(found), error_lines(found), decision_bars(found)
    assert sum(len(trace.x) for trace in strip.data if len(trace.x) > 1) == 10 + 10 + len(found.now.history)
    assert [len(trace.x) for trace in lines.data] == [5, 5]
    assert sum(sum(trace.x) for trace in bars.data) == 20


@pytest.mark.heavy
@pytest.mark.parametrize("name", [name for name in names() if name in WHAT_IFS])
def test_every_shipped_what_if_can_be_compared_with_its_preset(name: str):
    found = compared(name)
    assert all(np.isfinite(side.outcomes).all() for side in found.sides)
    assert outcome_strip(found).data
    assert error_lines(found).data
    assert says(error_title(found), "before")
    assert found.now.decisions is not None


def test_the_run_with_the_fewest_other_settings_comes_first():
    asked = preset("hiv-demo").changed({"data.test_actions": "RTI,PI", "data.patients": "31"})
    near = preset("hiv-demo").changed({"data.patients": "31"})
    runs = [a_run(preset(name)) for name in ("kidney-demo", "hiv-paper", "hiv-demo")] + [a_run(near), a_run(asked)]
    assert [run.key for run in comparable(asked, runs)] == [near.key, preset("hiv-demo").key, preset("hiv-paper").key]
    unfinished = SavedRun(near.key, "", near, "", 1, 3, 100)
    assert comparable(asked, [unfinished]) == []


def test_among_equals_the_preset_comes_first():
    asked = preset("hiv-demo").changed({"data.patients": "31"})
    other = preset("hiv-demo").changed({"data.patients": "32"})
    assert comparable(asked, [a_run(other), a_run(preset("hiv-demo"))])[0].key == preset("hiv-demo").key


def test_an_unchanged_preset_is_no_what_if():
    assert not is_changed(preset("hiv-demo"))
    assert is_changed(preset("hiv-demo").changed({"seeds": "1"}))


def test_the_same_change_at_demo_size():
    large = preset("hiv-paper").changed({"data.test_actions": "RTI,PI,both", "data.patients": "100"})
    assert at_demo_size(large) == scenario_of(NO_DRUG)
    assert at_demo_size(preset("hiv-paper")) is None
    assert at_demo_size(preset("hiv-paper").changed({"data.patients": "100"})) is None, "no action was changed"
    assert at_demo_size(scenario_of(NO_DRUG)) is None, "it is that already"
    kidney = preset("kidney-paper").changed({"data.test.controller": "constant"})
    assert at_demo_size(kidney) == scenario_of("kidney-demo-new-with-constant-dose")


def test_runs_without_a_common_period_are_refused():
    part = {"horizons": "5"}, {"horizons": "10"}
    before, now = (open_shipped(preset("hiv-demo").changed(change)) for change in part)
    assert before is not None
    assert now is not None
    with pytest.raises(UserError, match="no observation period in common"):
        what_if(before, now)
