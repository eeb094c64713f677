"""What the Policies page says and draws of single policies, on hand-counted examples."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.policies import (
    BY_ERROR,
    BY_START,
    BY_VALUE,
    Course,
    Place,
    Places,
    course_of,
    judge_of,
    misleading_examples,
    nearest_guess,
    nearest_policies,
    new_actions,
    ordered_labels,
    places,
    possible_orders,
    ranks_over_horizon,
    varied,
)
from shortlong.compute.courses import Members
from shortlong.core.trajectories import System
from shortlong.figures.policies import (
    action_lanes,
    amount_bars,
    common_limits,
    return_chart,
    reward_chart,
)
from shortlong.figures.ranks import rank_chart
from shortlong.words.policies import (
    action_sentence,
    alike_sentence,
    members_sentence,
    misleading_sentence,
    order_title,
    place_sentence,
    return_sentence,
    reward_sentence,
)
from tests.saying import says

SYSTEM = System("toy", 4, ("x",), ("",), ("A efficacy", "B efficacy"), step_length=5.0, step_unit="days")
# Each order below is another one. Places by the first rewards: d, a, b, c; in truth: c, d, b, a.
TRUE = {"a": 10.0, "b": 50.0, "c": 120.0, "d": 100.0}
GUESS = {
    "slev": [20.0, 45.0, 100.0, 40.0],
    "mean_reward": [90.0, 60.0, 30.0, 95.0],
    "off_policy_mean": [50.0] * 4,
}


def table(guess: dict[str, list[float]] = GUESS, true: dict[str, float] = TRUE) -> pd.DataFrame:
    """As ``headline.at_horizon`` makes it; policies are categories whose order is not that of the rows."""
    rows = [
        (method, policy, predicted, truth)
        for method, said in guess.items()
        for predicted, (policy, truth) in zip(said, true.items(), strict=True)
    ]
    found = pd.DataFrame(rows, columns=["method", "policy", "predicted", "true"])
    return found.astype({"policy": pd.CategoricalDtype(sorted(true, reverse=True))})


@pytest.fixture
def here() -> pd.DataFrame:
    return table()


@pytest.fixture
def course(here) -> Course:
    mean = np.array([[1, 1, 4, 4], [10, 10, 10, 20], [30, 30, 30, 30], [25, 25, 25, 25]], float)
    rewards = np.stack([mean - 1, mean, mean + 1], axis=1)
    rollouts = {"sled": {"a": np.array([3.0, 5.0]), "b": np.array([1.0, 1.0])}}
    return course_of("a", list(TRUE), rewards, here, rollouts, alike=[np.array([2.0, 2.0, 2.0, 3.0])])


# --- order ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("order", "method", "expected"),
    [
        (BY_VALUE, "slev", "c d b a"),  # 120, 100, 50, 10
        (BY_ERROR, "slev", "d c a b"),  # 60, 20, 10, 5
        (BY_ERROR, "mean_reward", "c a b d"),  # 90, 80, 10, 5
        (BY_START, "slev", "c a d b"),  # early places 4, 2, 1, 3 against 1, 4, 2, 3: off by 3, 2, 1, 0
        (BY_ERROR, None, "c d b a"),  # nobody to err: by value
    ],
)
def test_the_order_of_the_list(here, order, method, expected):
    assert ordered_labels(here, order, method) == expected.split()


def test_among_equals_the_better_policy_comes_first_then_the_order_of_the_table():
    true = {"p": 10.0, "q": 30.0, "r": 20.0, "s": 30.0}
    tied = table({"slev": [15.0, 25.0, 25.0, 35.0], "mean_reward": [1.0] * 4}, true)
    assert ordered_labels(tied, BY_ERROR, "slev") == ["q", "s", "r", "p"]
    # All look the same at first, place 2.5: off by 1.5, 1, 0.5, 1.
    assert ordered_labels(tied, BY_START, "slev") == ["p", "q", "s", "r"]


def test_the_order_by_start_needs_the_first_rewards():
    assert possible_orders(["slev", "mean_reward"]) == [BY_START, BY_ERROR, BY_VALUE]
    assert possible_orders(["slev"]) == [BY_ERROR, BY_VALUE]
    assert order_title(BY_ERROR, "slev") == "largest error of SLEV"
    assert order_title(BY_ERROR, None) == "largest error"


def test_the_judge_is_the_best_method_that_can_tell_policies_apart():
    errors = {"off_policy_mean": 1.0, "mean_reward": 2.0, "sled": 3.0, "slev": 4.0}
    rows = [(0, m, 5, e) for m, e in errors.items()] + [(0, "slev", 9, 0.5)]
    metrics = pd.DataFrame(rows, columns=["seed", "method", "horizon", "rmse_policy"])
    judged = pd.DataFrame([(m, p) for m in errors for p in "ab"], columns=["method", "policy"])
    assert judge_of(metrics, 5, judged) == "sled"
    assert judge_of(metrics[metrics["rmse_policy"] < 3], 5, judged) is None
    sample = judged[(judged["method"] != "sled") | (judged["policy"] == "a")]
    assert judge_of(metrics, 5, sample) == "slev", "SLED was back-tested on a sample: it has no rank for b"


def test_places(here):
    assert places(here, "c", "slev") == Places(early=Place(4), true=Place(1), predicted=Place(1), policies=4)
    assert places(here, "d", "slev") == Places(early=Place(1), true=Place(2), predicted=Place(3), policies=4)
    assert places(here[here["method"] == "slev"], "d", None) == Places(
        early=None, true=Place(2), predicted=None, policies=4
    )


# --- single policies ------------------------------------------------------------------------------------------------
def test_a_course_gathers_what_belongs_to_its_policy(course):
    assert course.true == 10
    assert course.predicted == {"slev": 20, "mean_reward": 90, "off_policy_mean": 50}
    assert course.seen(2) == 2
    assert list(course.rollouts["sled"]) == [3, 5]
    assert nearest_guess(course) == "slev"


def test_nearest_policies_by_observed_states_only():
    history = np.zeros((3, 5, 1))
    history[:, :3, 0] = [[1, 1, 1], [2, 2, 2], [9, 9, 9]]
    history[1, 3:, 0] = 1000  # after the horizon: not seen
    found, distance = nearest_policies(np.full((5, 1), 2.0), history, 2, SYSTEM, count=2)
    assert list(found) == [1, 0]
    assert distance[0] == 0
    assert distance[1] == pytest.approx(1 / np.std([1, 2, 9]))


def test_nearest_policies_where_fewer_states_were_kept_than_steps():
    history = np.arange(3.0)[:, None, None] * np.ones((3, 3, 1))
    found, _ = nearest_policies(np.full((3, 1), 2.0), history, 100, SYSTEM, count=1)
    assert list(found) == [2]


def test_of_a_fixed_choice_an_action_is_new_unless_somebody_took_it():
    history = [[[0.7, 0.0], [0.0, 0.3]], [[0.7, 0.0], [0.7, 0.0]]]
    taken = [[0.7, 0.0], [0.0, 0.0], [0.7, 0.3], [0.35, 0.0]]
    assert list(new_actions(taken, history, amounts=False)) == [False, True, True, True]


def test_a_dose_is_new_only_outside_the_range_of_the_history():
    history = [[[0.25], [0.5]], [[0.75], [1.0]]]
    taken = [[0.25], [0.6123], [1.0], [1.25], [0.1]]
    assert list(new_actions(taken, history, amounts=True)) == [False, False, False, True, True]


# --- words ----------------------------------------------------------------------------------------------------------
def test_sentences_of_a_course(course):
    early = reward_sentence(SYSTEM, course, 2)
    assert says(early, "1 per step", "10 days", "4 afterwards")
    assert says(reward_sentence(SYSTEM, course, 3), "2 per step", "15 days")
    steady = Course("s", np.ones((3, 4)), 4.0, {})
    assert "much the same" in reward_sentence(SYSTEM, steady, 2)
    found = return_sentence(SYSTEM, course, 2)
    assert says(found, "10", "only 2", "10 days")
    assert says(found, "SLEV", "closest", "20", "10 too high")
    assert "closest" not in return_sentence(SYSTEM, steady, 2)
    assert "only" not in return_sentence(SYSTEM, steady, 3), "3 of 4 is most of it"


def test_place_sentences():
    ranked = place_sentence(SYSTEM, Places(Place(9), Place(2), Place(3), 10), 2, "slev")
    assert says(ranked, "9th of 10", "10 days", "2nd in the end", "SLEV", "3rd")
    assert "9th in the end" in place_sentence(SYSTEM, Places(Place(2), Place(9), None, 10), 2, None)
    assert "4th of 10 in the end" in place_sentence(SYSTEM, Places(None, Place(4), None, 10), 2, None)


def test_near_ties_are_said_to_be_ties():
    text = place_sentence(SYSTEM, Places(Place(31, 39), Place(1, 9), Place(8, 1), 40), 2, "fqe")
    assert says(text, "31st of 40", "tied with all others")
    assert says(text, "1st", "tied with 9 others", "in the end")
    assert says(text, "8th", "tied with 1 other")


def test_action_sentences():
    some = action_sentence(SYSTEM, [False, True, True, False], 2, names=["no drug"])
    assert "no drug" in some
    assert says(some, "2 of 4 steps", "50 %", "1 of them during")
    doses = action_sentence(SYSTEM, [0, 1], 1, "dose")
    assert says(doses, "dose", "outside")
    assert says(doses, "1 of 2 steps", "50 %", "never during")
    assert "first 10 days only" in doses
    none = action_sentence(SYSTEM, [False] * 4, 1, "amount", unit="machine")
    assert says(none, "amounts", "within")
    assert "Example machine" in none


def test_alike_sentence():
    found = alike_sentence([20.0, 40.0], 50.0)
    assert "2 historical policies" in found
    assert "between 20 and 40" in found
    assert "above all of them" in found
    assert "within that range" in alike_sentence([20.0, 60.0], 50.0)
    assert "below all of them" in alike_sentence([60.0], 50.0)


# --- pairs ----------------------------------------------------------------------------------------------------------
def test_gallery_lists_pairs_in_the_wrong_order(here):
    pairs = misleading_examples(here, "slev")
    # Gaps of truth and of first rewards: c-a 110, 60; c-d 20, 65 (not clear: half of the spread is 22); c-b 70, 30; b-a 40, 30.
    assert list(zip(pairs["better"], pairs["worse"], strict=True)) == [("c", "a"), ("c", "b"), ("b", "a")]
    sentence = misleading_sentence(SYSTEM, pairs, 2, "slev", lambda label: f"N-{label}")
    for part in ("After 10 days", "**N-a** looks better than **N-c**", "90 v 30", "ends at 10, the other at 120"):
        assert part in sentence
    assert says(sentence, "SLEV", "3 of the 3 pairs")
    assert "SLEV" not in misleading_sentence(SYSTEM, pairs, 2, None)
    assert "no two clearly different policies" in misleading_sentence(SYSTEM, pairs[:0], 2, None)


def test_a_pair_that_hardly_differs_at_first_is_called_nearly_a_tie():
    close = table({"slev": GUESS["slev"], "mean_reward": [31.0, 30.5, 30.0, 95.0]})  # 1 % of the outcomes' range is 1.1
    pairs = misleading_examples(close, "slev")
    assert list(pairs["early_tie"]) == [True, True, True]
    assert "nearly a tie" in misleading_sentence(SYSTEM, pairs, 2, None)
    where = places(close, "a", "slev")
    assert (where.early, where.true) == (Place(2, 2), Place(4, 0))


def test_no_policy_comes_twice_in_the_picture():
    pairs = pd.DataFrame({"better": list("ccbe"), "worse": list("abaf")})
    assert list(varied(pairs)["worse"]) == ["a", "f"]
    assert len(varied(pairs, 1)) == 1


def test_ranks_over_the_horizon_end_in_the_outcome_and_tell_ties(here):
    values = pd.concat([here.assign(horizon=h) for h in (2, 3)])
    ranks = ranks_over_horizon(values, "slev")
    assert list(ranks["horizon"].unique()) == [2, 3, 0]
    end = ranks[ranks["horizon"] == 0].set_index("policy")
    assert (end.at["c", "rank"], end.at["c", "value"]) == (1, 120.0)
    close = table({"slev": GUESS["slev"], "mean_reward": [31.0, 30.5, 30.0, 95.0]}).assign(horizon=2)
    early = ranks_over_horizon(close, "mean_reward")
    assert list(early[early["horizon"] == 2]["ties"]) == [2, 2, 2, 0]


def test_the_rank_chart_has_all_policies_and_colours_the_pairs(here):
    values = pd.concat([here.assign(horizon=h) for h in (2, 3)])
    names = {"a": "N1 · <b>planner, 2nd revision", "c": "N3 · other"}
    ranks = {
        "By early results": ranks_over_horizon(values, "mean_reward"),
        "By SLEV": ranks_over_horizon(values, "slev"),
    }
    figure = rank_chart(ranks, [("c", "a")], SYSTEM, 2, name=lambda label: names.get(label, label))
    coloured = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert [list(trace.y) for trace in coloured[:2]] == [[4, 4, 1], [2, 2, 4]], (
        "early results, early results, in the end"
    )
    assert [trace.line.dash for trace in coloured[:2]] == ["solid", "dash"]
    assert list(coloured[2].y) == [1, 1, 1], "SLEV is not misled"
    assert coloured[2].xaxis == "x2"
    assert figure.layout.xaxis.ticktext[-1] == "actual"
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the best rank is at the top"
    assert figure.layout.yaxis.range == figure.layout.yaxis2.range
    pale = next(trace for trace in figure.data if trace.name == "all policies")
    assert sum(y is None for y in pale.y) == 4
    words = " ".join(str(note.text) for note in figure.layout.annotations)
    assert " N3</b>" in words
    assert "&lt;b&gt;" in coloured[1].name


def test_marks_of_near_ties_are_hollow():
    close = table({"slev": GUESS["slev"], "mean_reward": [31.0, 30.5, 30.0, 95.0]}).assign(horizon=2)
    figure = rank_chart({"By early results": ranks_over_horizon(close, "mean_reward")}, [("c", "a")], SYSTEM, 2)
    better = next(trace for trace in figure.data if trace.mode == "lines+markers")
    assert list(better.marker.symbol) == ["circle-open", "circle"]
    assert "nearly tied with 2 others" in better.customdata[0]


# --- charts ---------------------------------------------------------------------------------------------------------
def test_the_reward_chart_shows_the_observed_part_the_truth_and_what_methods_expect(course):
    figure = reward_chart(course, SYSTEM, 2, ["sled", "mean_reward", "slev"], (0, 1))
    lines = {trace.name: trace for trace in figure.data}
    assert (list(lines["observed"].x), list(lines["observed"].y)) == ([5, 10], [1, 1])
    assert (list(lines["actual outcome"].x), list(lines["actual outcome"].y)) == ([10, 15, 20], [1, 4, 4])
    assert lines["observed"].line.width > lines["actual outcome"].line.width
    assert "SLED: end" not in lines, "no prediction of SLED is in the table"
    assert list(lines["Mean reward"].y) == [22.5, 22.5], "90 over four steps: the reward that it goes on with"
    assert list(lines["SLEV: end"].y) == [9], "20, of which 2 are seen, over the two steps to come"
    assert "SLEV" not in lines, "SLEV predicts no course"
    assert figure.layout.shapes[0].x0 == 10


def test_the_return_chart_is_a_fan_that_ends_in_named_predictions(course):
    members = {"sled": Members(np.array([8.0, 12.0]), 0.0)}
    bounds = {"slev": (15.0, np.inf), "sled": (5.0, 15.0)}
    said = Course(
        "a", course.rewards, 10.0, {"sled": 10.0, "slev": 20.0}, course.rollouts, course.alike, members, bounds
    )
    figure = return_chart(said, SYSTEM, 2, ["slev", "sled"], (0, 30), dark=True, quoted="slev")
    lines = {trace.name: trace for trace in figure.data}
    assert list(lines["actual outcome"].y) == [2, 6, 10]
    assert (list(lines["SLED"].x), list(lines["SLED"].y)) == ([10, 15, 20], [2, 5, 10])
    assert lines["SLED"].line.dash == "dash"
    assert (list(lines["SLEV"].x), list(lines["SLEV"].y), lines["SLEV"].line.dash) == ([10, 20], [2, 20], "dot")
    assert list(lines["SLED: end"].y) == [10]
    assert lines["SLEV: end"].x[0] == lines["SLED: end"].x[0] > 20
    assert list(lines["SLEV: interval"].y) == [2, 30, 15, 2], "no upper bound: up to the edge of the chart"
    assert "SLED: interval" not in lines, "only of the quoted method"
    assert list(lines["SLED: spread of the members"].y) == [2, 12, 8, 2]
    assert "15 to no bound" in lines["SLEV: end"].hovertemplate
    assert "8 to 12" in lines["SLED: end"].hovertemplate
    assert list(lines["similar historical policies"].y[:5]) == [0, 2, 4, 6, 9]
    assert figure.layout.shapes[1].y0 == 10
    assert {"SLEV", "SLED"} <= {note.name for note in figure.layout.annotations}


def test_names_at_the_ends_of_equal_predictions_do_not_overlap(course):
    said = Course("a", course.rewards, 10.0, {"sled": 10.0, "slev": 10.1, "fqe": 10.2})
    figure = return_chart(said, SYSTEM, 2, ["slev", "sled", "fqe"], (0, 30))
    names = [note for note in figure.layout.annotations if note.name in ("SLEV", "SLED", "Fitted Q")]
    assert len(names) == 3
    inner = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    down = sorted(-note.y * inner / 30 - note.yshift for note in names)
    assert np.diff(down).min() >= 14.9


def test_members_that_agree_on_what_nobody_has_seen_are_no_proof(course):
    strange = Course(
        "a",
        course.rewards,
        10.0,
        {"joint_dynamics": 9.0},
        members={"joint_dynamics": Members(np.array([8.0, 9.5]), 0.0)},
    )
    words = members_sentence(strange, ["joint_dynamics", "slev"])
    assert says(words, "2 members", "8 to 9.5", "0 %", "can all be wrong")
    familiar = Course("a", course.rewards, 10.0, {}, members={"joint_dynamics": Members(np.array([8.0, 9.5]), None)})
    assert "new action" not in members_sentence(familiar, ["joint_dynamics"])
    assert members_sentence(familiar, ["slev"]) == ""


def test_one_observed_step_is_seen(course):
    assert reward_chart(course, SYSTEM, 1, [], (0, 1)).data[2].mode == "lines+markers"


def test_limits_hold_all_that_is_drawn(course):
    said = Course(
        "a", course.rewards, 10.0, {"sled": -7.0, "slev": 500.0}, {"sled": np.array([9.0, 9.0])}, course.alike
    )
    rewards, returns = common_limits([course, said], ["sled"])
    assert rewards[0] < 0
    assert 9 < rewards[1] < 10
    assert returns[0] < -7
    assert 10 < returns[1] < 12, "a method that is switched off does not stretch the axis"


def test_nothing_is_promised_where_no_bound_is_finite(course):
    infinite = float("inf")
    ends = {"slev": (-infinite, infinite), "fqe": (1.0, infinite)}
    said = Course("a", course.rewards, 10.0, {"slev": 5.0, "fqe": 5.0, "sled": 5.0}, bounds=ends)
    assert [said.is_bounded(method) for method in ("slev", "fqe", "sled")] == [False, True, False]


def test_new_actions_are_hatched_and_named():
    figure = action_lanes(["A", "no drug", "no drug", "A"], [0, 1, 1, 0], ["no drug", "A", "B"], SYSTEM, 1)
    lanes = {bar.name: bar for bar in figure.data}
    assert set(lanes) == {"A", "no drug (new)", "B"}
    assert (list(lanes["A"].base), list(lanes["A"].x)) == ([0, 15], [5, 5])
    assert list(figure.layout.yaxis.ticktext) == ["no drug (new)", "A", "B"], "a lane is there even when it is empty"
    assert (list(lanes["no drug (new)"].base), list(lanes["no drug (new)"].x)) == ([5], [10])
    assert (lanes["A"].marker.pattern.shape, lanes["no drug (new)"].marker.pattern.shape) == ("", "/")
    doses = amount_bars([0.5, 1.7], [False, True], (0.0, 1.0), "dose", SYSTEM, 1)
    assert [(bar.name, list(bar.x), bar.marker.pattern.shape) for bar in doses.data] == [
        ("within the history", [0], ""),
        ("outside the history", [5], "/"),
    ]
    assert doses.layout.yaxis.range[1] > 1.7
