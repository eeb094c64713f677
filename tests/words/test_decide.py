"""Sentences of Decide: the numbers and the decisive words; no promise without its condition."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.decisions import CONTINUE, STOP, UNKNOWN, WATCH, WATCH_ALL, Score
from shortlong.analysis.rules import MODES, Choice, Promise, Rule
from shortlong.analysis.safety import STOP_ALL, STOP_NONE
from shortlong.analysis.watch import Cheapest
from shortlong.scenario.presets import preset
from shortlong.words.decide import (
    DECISION_TITLES,
    backtest_text,
    cheapest_period_text,
    cheapest_text,
    choice_text,
    condition_text,
    headline_text,
    promise_text,
    reason_text,
    reference_text,
    rule_text,
    score_text,
    status_text,
)
from tests.saying import says


@pytest.fixture
def system():
    return preset("hiv-demo").system


def row(decision: str, reason: str = "", lower: float = 90.0, upper: float = 130.0, look: object = pd.NA) -> dict:
    return {"decision": decision, "reason": reason, "lower": lower, "upper": upper, "next_look": look, "horizon": 20}


def promise(**more) -> Promise:
    return Promise(
        **{"mode": "interval", "kind": "together", "level": 0.9, "leave": "policy", "old": 70, "needed": 9, **more}
    )


def test_every_decision_has_its_words(system):
    assert says(reason_text(row(CONTINUE, lower=130), 96), "lower bound", "130", "not below 96")
    assert "upper bound, 70, is below 96" in reason_text(row(STOP, upper=70), 96)
    assert "96 lies between" in reason_text(row(WATCH, "threshold-between-bounds"), 96)
    assert says(reason_text(row(WATCH, "too-different", upper=np.inf), 96), "no finite upper bound", "nothing like it")
    assert "no finite lower bound" in reason_text(row(WATCH, "too-different", lower=-np.inf), 96)
    for reason, words in {
        "too-few": "too short",
        "too-different": "nothing like it",
        "not-calibrated": "back-test",
        "no-ratio": "shift",
    }.items():
        assert words in reason_text(row(UNKNOWN, reason, -np.inf, np.inf), 96)
    assert status_text(row(STOP), system) == "stop"
    assert status_text(row(WATCH, look=35), system) == "keep watching: about 75 days more"
    assert status_text(row(WATCH), system) == "keep watching: to the end"
    assert says(status_text(row(UNKNOWN), system), "cannot be judged")


@pytest.mark.parametrize("mode", MODES)
def test_the_promise_names_its_risk_and_its_condition(mode):
    given = promise(mode=mode, allowed=6 if mode == "risk" else None)
    text = promise_text(given)
    assert "at most 10 %" in text
    assert "however often" in text
    assert "one look" in promise_text(promise(mode=mode, kind="cv+"))
    assert ("6 of 70 historical" in text) == (mode == "risk")
    condition = condition_text(given)
    assert says(condition, "if", "new policies", "historical ones", "to each other")
    assert "left out single policies" in condition
    assert "whole families of cells" in condition_text(promise(leave="family"), "cell")
    assert "density ratio" in condition_text(promise(kind="weighted"))
    assert says(condition_text(promise(kind="cv+")), "proves 20 % at best", "nothing")
    assert says(condition_text(promise(kind="family", leave="family")), "new families", "historical families")


@pytest.mark.parametrize(("old", "needed", "level", "risk"), [(18, 19, 0.95, "5 %"), (8, 9, 0.9, "10 %")])
def test_a_history_that_is_too_short_gets_a_refusal(old, needed, level, risk):
    text = promise_text(promise(old=old, needed=needed, level=level))
    assert "Nothing can be promised" in text
    for decisive in (risk, f"at least {needed} historical policies", f"there are {old}"):
        assert decisive in text
    assert "at most" not in text


COUNTS = {
    "policies": 70,
    "called_safe": 22,
    "wrong": 0,
    "wrong_at_most": 0.0994,
    "stopped": 9,
    "stopped_wrongly": 1,
    "undecided": 37,
    "unjudged": 2,
}


def test_the_back_test_is_told_in_counts():
    text = backtest_text(COUNTS)
    for decisive in (
        "Of 70 historical policies",
        "22 were called safe, 0 of them",
        "9 were stopped, 1 of them",
        "39 stayed",
    ):
        assert decisive in text
    assert "9.9 %" in text
    assert "0 of 22" in text
    single = backtest_text({**COUNTS, "stopped": 1, "stopped_wrongly": 0})
    assert says(single, "1 was stopped, rightly")
    assert says(backtest_text({**COUNTS, "stopped": 1}), "1 was stopped, wrongly")
    nothing = backtest_text({**COUNTS, "called_safe": 0, "wrong": 0, "wrong_at_most": 1.0})
    assert "100 %" not in nothing


def test_how_many_can_be_decided(system):
    decided = pd.DataFrame({"decision": [CONTINUE] * 3 + [STOP] + [WATCH] * 2 + [UNKNOWN]})
    text = headline_text(decided, system, 20)
    for decisive in ("100 days", "4 of 7", "3 continue", "1 stop", "2 keep watching", "1 cannot be judged"):
        assert decisive in text


def test_the_score_is_told_beside_what_was_possible():
    result = Score(5, 4, 0, 35, 0, 20, "n1", 302.0, 464.0, 210.0, 312.0, inside=15)
    text = score_text(result)
    for decisive in (
        "4 of 5 unsafe",
        "0 of 35 safe",
        "16 left undecided",
        "302 of a possible 464",
        "210 on average",
        "312",
        "15 of 40 ended inside",
    ):
        assert decisive in text
    assert "2 called safe" in score_text(Score(5, 3, 2, 0, 0, 0, None, None, 464.0, 210.0))
    assert "no policy was unsafe" in score_text(Score(0, 0, 0, 5, 1, 0, None, None, 464.0, 210.0))


def test_the_choice_among_many_says_what_can_be_promised():
    many = Choice("n1", 302.0, -np.inf, 0.9, 40, 70)
    text = choice_text(many, "N1")
    for decisive in ("40 new policies", "64 % at most", "only for 7 candidates"):
        assert decisive in text
    few = Choice("n1", 302.0, 250.0, 0.9, 5, 70, best_old=240.0)
    assert "at least 250" in choice_text(few, "N1")
    assert says(choice_text(few, "N1"), "is above", "best historical policy", "240")
    assert "is not above" in choice_text(Choice("n1", 302.0, 250.0, 0.9, 5, 70, best_old=312.0), "N1")
    assert "at random" in choice_text(Choice(None, 1.0, -np.inf, 0.9, 40, 70), "")
    assert "No policy" in choice_text(None, "")


@pytest.mark.parametrize(("kind", "called"), [("weighted", "adjusted for shift"), ("family", "whole new families")])
def test_the_choice_among_many_says_where_no_such_bound_is_made(kind, called):
    text = choice_text(Choice("n1", 302.0, -np.inf, 0.9, 1, 70, kind=kind), "N1")
    assert says(text, "N1", "302", "No lower bound", "several candidates", called)
    assert "% at most" not in text, "a longer history would not help"


def test_costs_are_told_beside_the_references(system):
    references = {STOP_ALL: 35.0, STOP_NONE: 25.0, WATCH_ALL: 60.0}
    here = pd.DataFrame({"method": ["slev"], "cost": [12.0]})
    assert (
        reference_text(references) == "stopping everything 35, stopping nothing 25, watching everything to the end 60"
    )
    assert says(cheapest_text(here, "slev", references, "fqe"), "SLEV", "least", "12")
    same = cheapest_text(here, "slev", references, "slev")
    assert says(same, "no other method")
    assert "35" not in same, "the references have just been told"
    assert says(cheapest_text(here, None, references, "slev"), "no method", "stopping nothing", "25")
    pays = cheapest_period_text(system, Cheapest(20, 0.5, STOP_ALL, 0.8))
    assert "100 days" in pays
    assert "No observation period" in cheapest_period_text(system, Cheapest(20, 0.9, STOP_ALL, 0.8))
    assert "no back-test" in cheapest_period_text(system, None)


def test_words_exist_for_every_decision_and_the_rule_is_a_sentence():
    assert set(DECISION_TITLES) == {CONTINUE, STOP, WATCH, UNKNOWN}
    assert "below 96" in rule_text(Rule(96.0))
