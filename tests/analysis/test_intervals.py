"""Intervals counted out by hand, and everything that can be missing; coverage by simulation is in tests/theory."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.intervals import backtest_intervals, intervals, intervals_across, prepare
from shortlong.analysis.promises import (
    guaranteed_level,
    luck_of_the_history,
    needed_policies,
    promise_table,
    proven_levels,
)
from shortlong.compute.results import from_item
from shortlong.compute.shipped import open_item
from shortlong.core.calibration import Calibration, no_fold_predictions
from shortlong.core.errors import UserError
from tests.calibrated import asked, calibrated

TEN = [1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0, 9.0, -10.0]
NEW = {"n0": 50.0, "n1": 70.0}
KINDS = ["together", "cv+", "weighted", "family", "unit"]


def ends(table: pd.DataFrame) -> list[tuple[float, float]]:
    return [(float(low), float(high)) for low, high in zip(table["lower"], table["upper"], strict=True)]


# --- each formula by hand -------------------------------------------------------------------------------------------
def test_cv_plus_takes_the_counted_score():
    history = calibrated({"slev": {5: TEN}})
    assert ends(intervals(history, asked(NEW), 0.9, "cv+")) == [(40, 60), (60, 80)]  # 10th of 10 scores
    assert ends(intervals(history, asked(NEW), 0.8, "cv+")) == [(41, 59), (61, 79)]  # ceil(0.8 * 11) = 9th
    assert ends(intervals(history, asked(NEW), 0.5, "cv+")) == [(44, 56), (64, 76)]  # ceil(0.5 * 11) = 6th


def test_one_sided_bounds_come_from_signed_scores():
    history = calibrated({"slev": {5: TEN}})
    lower = intervals(history, asked(NEW), 0.8, "cv+", "lower")
    upper = intervals(history, asked(NEW), 0.8, "cv+", "upper")
    assert ends(lower) == [(42, np.inf), (62, np.inf)]  # signed: -10 -8 | -6 ...: floor(0.2 * 11) = 2nd from below
    assert ends(upper) == [(-np.inf, 57), (-np.inf, 77)]  # 9 7 | 5: 9th of 10 from below
    assert set(lower["reason"]) == set(upper["reason"]) == {""}


def test_every_fold_speaks_for_itself():
    """Fold 0 says 40 and has scores 1, 2; fold 1 says 60 and has scores 3, 4."""
    rows = [("slev", 5, "n0", fold, value) for fold, value in ((0, 40.0), (1, 60.0))]
    by_fold = pd.DataFrame(rows, columns=["method", "horizon", "policy", "fold", "predicted"])
    history = calibrated({"slev": {5: [1, 2, 3, 4]}}, fold=[0, 0, 1, 1], by_fold=by_fold)
    found = intervals(history, asked(NEW), 0.8, "cv+")
    assert ends(found)[0] == (38, 64)  # lowest of 39 38 57 56, highest of 41 42 63 64
    assert ends(found)[1] == (66, 74), "no fold has judged n1: the full prediction stands in"


def test_the_family_maximum_counts_families():
    family = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e"]
    history = calibrated({"slev": {5: TEN}}, family=family, fold=[0, 0, 1, 1, 2, 2, 3, 3, 4, 4], leave="family")
    found = intervals(history, asked(NEW), 0.8, "family")
    assert ends(found)[0] == (40, 60)
    assert list(found["old_policies"]) == [5, 5]
    assert ends(intervals(history, asked(NEW), 0.6, "family"))[0] == (42, 58)  # 2 4 6 8 10: ceil(0.6 * 6) = 4th
    assert set(intervals(history, asked(NEW), 0.9, "family")["reason"]) == {"too-few"}, "5 families allow 5/6 at most"
    assert ends(intervals(history, asked(NEW), 0.6, "family", "upper"))[0][1] == 57  # largest signed: 1 3 5 7 9


def test_families_need_to_have_been_left_out_as_a_whole():
    history = calibrated({"slev": {5: TEN}}, family=list("aabbccddee"))
    assert set(intervals(history, asked(NEW), 0.6, "family")["reason"]) == {"not-calibrated"}


def test_the_band_is_one_number_per_policy_over_all_looks():
    """Errors at the second look are half as large: so is the band, and a policy counts with its worse look."""
    early, late = [2.0, -4, 6, -8, 10, 12, -14, 16, 18, -20], [1.0, -2, 3, -4, 5, 6, -7, 8, 9, -10]
    history = calibrated({"slev": {5: early, 10: late}})
    new = pd.concat([asked(NEW), asked(NEW, horizon=10)])
    assert ends(intervals(history, new, 0.9)) == [(30, 70), (50, 90), (40, 60), (60, 80)]
    assert ends(intervals(history, new, 0.8))[0] == pytest.approx((32, 68))


def test_the_band_leaves_the_score_out_of_its_own_spread():
    history = calibrated({"slev": {5: [3.0, 4.0, 12.0], 10: [4.0, 3.0, 5.0]}})
    new = pd.concat([asked({"n0": 0.0}), asked({"n0": 0.0}, horizon=10)])
    # third policy: spreads of the others sqrt(12.5) at both looks, so its worse look is the first: 12 / sqrt(12.5)
    assert ends(intervals(history, new, 0.75)) == [pytest.approx((-12, 12)), pytest.approx((-12, 12))]


def test_weights_move_the_interval_and_its_effective_number():
    ratios = pd.DataFrame(
        {
            "horizon": 5,
            "policy": [*(f"o{i}" for i in range(10)), "n0", "n1"],
            "side": ["old"] * 10 + ["new"] * 2,
            "ratio": [10.0, *[1.0] * 9, 1.0, 10.0],
        }
    )
    history = calibrated({"slev": {5: TEN}}, ratios=ratios)
    found = intervals(history, asked(NEW), 0.8, "weighted")
    assert ends(found)[0] == (43, 57)  # mass 10 + 6 of 20 reaches 0.8 at the score 7
    assert ends(found)[1] == (-np.inf, np.inf)  # 19 of 29 is less than 0.8
    assert list(found["reason"]) == ["", "too-different"]
    assert found["effective"].to_numpy() == pytest.approx(19**2 / 109)


def test_one_unit_shares_the_say_of_its_policy():
    """Two policies of one unit, one of three: mass 1/4 each, a twelfth per unit of the third."""
    rows = [("a", 0, 5.0), ("b", 0, 3.0), ("c", 0, 1.0), ("c", 1, 2.0), ("c", 2, 9.0)]
    units = pd.DataFrame(rows, columns=["policy", "unit", "true"]).assign(method="slev", horizon=5, predicted=0.0)
    history = calibrated({"slev": {5: [5.0, 3.0, 4.0]}}, units=units)
    unit = asked({"n0": 50.0}).assign(unit=0)
    assert ends(intervals(history, unit, 0.4, "unit")) == [(47, 53)]  # 2/12 up to 2, 5/12 at 3
    assert ends(intervals(history, unit, 0.6, "unit")) == [(45, 55)]  # 8/12 at 5
    assert ends(intervals(history, unit, 0.75, "unit")) == [(41, 59)]
    assert set(intervals(history, unit, 0.8, "unit")["reason"]) == {"too-few"}
    assert ends(intervals(history, unit, 0.6, "unit", "lower")) == [(50 + 2, np.inf)]  # all turned out better
    anyone = intervals(history, asked({"n0": 50.0}), 0.75, "unit")
    assert ends(anyone) == [(41, 59)]


def test_any_unit_spreads_around_the_prediction_for_its_policy():
    """Without a column of units the scores are around the policy's mean prediction, not around each unit's own."""
    units = pd.DataFrame({"policy": ["a", "a"], "unit": [0, 1], "predicted": [0.0, 10.0], "true": [0.0, 10.0]})
    history = calibrated({"slev": {5: [0.0]}}, units=units.assign(method="slev", horizon=5))
    assert ends(intervals(history, asked({"n0": 50.0}), 0.5, "unit")) == [(45, 55)]
    assert ends(intervals(history, asked({"n0": 50.0}).assign(unit=3), 0.5, "unit")) == [(50, 50)]


# --- back-test ------------------------------------------------------------------------------------------------------
def test_a_policy_has_no_say_in_its_own_back_test():
    found = backtest_intervals(calibrated({"slev": {5: TEN}}), 0.9, "cv+").set_index("policy")
    assert found.loc["o9", "predicted"] == 110
    assert (found.loc["o9", "lower"], found.loc["o9", "upper"]) == (101, 119), "the largest of the nine others is 9"
    assert (found.loc["o0", "lower"], found.loc["o0", "upper"]) == (89, 109)
    assert set(found["old_policies"]) == {9}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["both", "lower", "upper"])
def test_the_outcome_of_a_judged_policy_changes_nothing_about_its_interval(kind, side):
    plain, changed = _changed_outcome(0.0), _changed_outcome(1e6)
    one, other = (_of_policy(backtest_intervals(c, 0.6, kind, side), "o3") for c in (plain, changed))
    assert len(one)
    np.testing.assert_array_equal(one, other)
    others = [
        backtest_intervals(c, 0.6, kind, side).query("policy != 'o3'")[["lower", "upper"]] for c in (plain, changed)
    ]
    assert not np.array_equal(*others), "the others do see it"


def _of_policy(table: pd.DataFrame, policy: str) -> np.ndarray:
    return table[table["policy"] == policy][["predicted", "lower", "upper"]].to_numpy()


def _changed_outcome(added: float) -> Calibration:
    """Ten policies in families of one, two looks, three units each; the outcome of o3 is changed, its predictions are not."""
    generator = np.random.default_rng(1)
    errors = {h: generator.normal(size=10) for h in (5, 10)}
    ratios = pd.DataFrame([(h, f"o{i}", "old", 1 + i / 5) for h in (5, 10) for i in range(10)])
    units = pd.DataFrame(
        [(f"o{i}", u, h, 0.0, generator.normal()) for h in (5, 10) for i in range(10) for u in range(3)],
        columns=["policy", "unit", "horizon", "predicted", "true"],
    ).assign(method="slev")
    base = calibrated(
        {"slev": errors}, leave="family", ratios=ratios.set_axis(["horizon", "policy", "side", "ratio"], axis=1)
    )

    def moved(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(true=table["true"] + added * (table["policy"] == "o3"))

    return Calibration("family", moved(base.held_out), no_fold_predictions(), moved(units), base.ratios)


def test_new_policies_do_not_see_each_other():
    history = calibrated({"slev": {5: TEN}})
    both, one = intervals(history, asked(NEW), 0.8), intervals(history, asked({"n0": 50.0}), 0.8)
    assert ends(both)[0] == ends(one)[0]


def test_across_ways_of_leaving_out_the_whole_family_is_silent():
    easy = calibrated({"slev": {5: TEN}}, family=list("aabbccddee"))
    hard = calibrated({"slev": {5: [2 * e for e in TEN]}}, family=list("aabbccddee"), leave="family")
    found = intervals_across(easy, hard, 0.8).set_index("policy")
    assert (found.loc["o9", "upper"] - found.loc["o9", "predicted"]) == 8, "9 and 10 are of its own family"
    assert found.loc["o9", "predicted"] == 120
    assert set(found["old_policies"]) == {8}


# --- what can be missing --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["together", "cv+"])
def test_a_short_history_gives_no_finite_interval(kind):
    found = intervals(calibrated({"slev": {5: TEN[:8]}}), asked(NEW), 0.9, kind)
    assert ends(found) == [(-np.inf, np.inf)] * 2
    assert list(found["reason"]) == ["too-few", "too-few"]
    assert list(found["old_policies"]) == [8, 8]
    assert set(intervals(calibrated({"slev": {5: TEN[:9]}}), asked(NEW), 0.9, kind)["reason"]) == {""}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_calibrated_says_so(kind):
    history = calibrated({"slev": {5: TEN}})
    for unknown in (asked(NEW, method="fqe"), asked(NEW, horizon=7), asked({"n0": np.nan})):
        found = intervals(history, unknown, 0.5, kind)
        assert set(found["reason"]) == {"not-calibrated"}
        assert ends(found) == [(-np.inf, np.inf)] * len(unknown)
        assert set(found["old_policies"]) == {0}
    if kind in ("unit", "family"):
        assert set(intervals(history, asked(NEW), 0.5, kind)["reason"]) == {"not-calibrated"}
    if kind == "weighted":  # there is a back-test, but too few new policies to estimate a ratio
        assert set(intervals(history, asked(NEW), 0.5, kind)["reason"]) == {"no-ratio"}


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_calibration_answers_too(kind):
    empty = calibrated({})
    assert set(intervals(empty, asked(NEW), 0.9, kind)["reason"]) == {"not-calibrated"}
    assert backtest_intervals(empty, 0.9, kind).empty
    assert intervals(calibrated({"slev": {5: TEN}}), asked({}), 0.9, kind).empty


def test_a_failed_fold_leaves_fewer_scores():
    nan = float("nan")
    history = calibrated({"slev": {5: [nan, nan, *TEN[2:]]}, "fqe": {5: TEN}})
    found = intervals(history, pd.concat([asked(NEW), asked(NEW, "fqe")]), 0.85, "cv+")
    assert list(found["old_policies"]) == [8, 8, 10, 10]
    assert ends(found)[0] == (40, 60)


def test_the_band_rests_on_policies_that_have_all_looks():
    """At look 5 two policies are missing: the band has eight. A look that only two have is no look of the band."""
    nan = float("nan")
    history = calibrated({"slev": {5: [nan, nan, *TEN[2:]], 10: TEN, 20: [1.0, 2.0, *[nan] * 8]}})
    new = pd.concat([asked(NEW, horizon=h) for h in (5, 10, 20)])
    found = intervals(history, new, 0.5)
    assert list(found["old_policies"]) == [8, 8, 8, 8, 0, 0]
    assert list(found["reason"][-2:]) == ["not-calibrated"] * 2


def test_all_predictions_equal_and_ties():
    same = calibrated({"slev": {5: [3.0] * 10}})
    assert ends(intervals(same, asked({"n0": 50.0, "n1": 50.0}), 0.9, "cv+")) == [(47, 53)] * 2
    assert ends(intervals(same, asked({"n0": 50.0}), 0.9)) == [pytest.approx((47, 53))]
    exact = calibrated({"slev": {5: [0.0] * 10, 10: [0.0] * 10}})
    assert ends(intervals(exact, asked({"n0": 50.0}), 0.9)) == [(50, 50)]
    tied = backtest_intervals(same, 0.8, "cv+")
    assert ((tied["lower"] <= tied["true"]) & (tied["true"] <= tied["upper"])).all(), "a tie counts as covered"


def test_a_look_without_any_error_divides_by_nothing():
    history = calibrated({"slev": {5: TEN, 10: [0.0] * 9 + [1.0]}})
    new = pd.concat([asked({"n0": 50.0}), asked({"n0": 50.0}, horizon=10)])
    found = intervals(history, new, 0.8)
    assert np.isfinite(found[["lower", "upper"]].to_numpy()).all()


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 90.0, float("nan")])
def test_a_level_is_a_share(level):
    with pytest.raises(UserError, match="between 0 and 1"):
        intervals(calibrated({"slev": {5: TEN}}), asked(NEW), level)


def test_columns_and_order_of_the_predictions_are_kept():
    new = asked(NEW).assign(true=[1.0, 2.0], name=["x", "y"]).iloc[::-1]
    found = intervals(calibrated({"slev": {5: TEN}}), new, 0.8)
    assert list(found.columns)[:6] == ["method", "horizon", "policy", "predicted", "true", "name"]
    assert list(found["policy"]) == ["n1", "n0"]
    assert list(found.index) == [1, 0]


def test_categories_are_read_as_what_they_stand_for():
    plain = calibrated({"slev": {5: TEN}})
    named = Calibration("policy", plain.held_out.astype({"policy": "category", "method": "category"}), plain.by_fold)
    new = asked(NEW).astype({"policy": "category", "method": "category"})
    assert ends(intervals(named, new, 0.8)) == ends(intervals(plain, asked(NEW), 0.8))


def test_wider_with_the_level_and_the_same_from_what_is_prepared():
    history = calibrated({"slev": {5: TEN, 10: TEN[::-1]}})
    ready = prepare(history, asked(NEW))
    widths = [ready.at(level)["upper"] - ready.at(level)["lower"] for level in (0.5, 0.7, 0.8, 0.9)]
    assert all((wide >= narrow).all() for narrow, wide in pairwise(widths))
    pd.testing.assert_frame_equal(ready.at(0.8), intervals(history, asked(NEW), 0.8))


# --- what can be promised -------------------------------------------------------------------------------------------
def test_how_many_policies_a_promise_needs():
    assert [needed_policies(level) for level in (0.5, 0.8, 0.9, 0.95, 0.99)] == [1, 4, 9, 19, 99]
    table = promise_table()
    assert table[(table["level"] == 0.9) & (table["old_policies"] == 70)]["coverage_from"].item() == pytest.approx(
        0.84, abs=0.005
    )
    assert not table[(table["level"] == 0.95) & (table["old_policies"] == 9)]["finite"].item()
    assert luck_of_the_history(8, 0.9) is None
    assert guaranteed_level(0.9, 70, 70) == pytest.approx(0.8)
    assert guaranteed_level(0.55, 10, 2) == 0


def test_a_method_that_explodes_at_one_look_does_not_hide_it():
    history = calibrated({"slev": {5: [*TEN[:9], 1e200], 10: TEN}})
    assert intervals(history, asked({"n0": 0.0}), 0.9)["upper"].item() == pytest.approx(1e200)
    assert intervals(history, asked({"n0": 0.0}, horizon=10), 0.8)["upper"].item() < 100


@pytest.mark.parametrize("kind", ["cv+", "together"])
def test_judged_harder_the_whole_family_of_a_policy_has_no_say(kind):
    """Another error of a member of its family moves nothing in the interval of a policy."""
    errors = {5: TEN, 9: TEN[::-1]}
    made = calibrated({"slev": errors})
    family = made.held_out["policy"].map(
        {policy: number // 2 for number, policy in enumerate(pd.unique(made.held_out["policy"]))}
    )
    held = made.held_out.assign(family=family)
    single = Calibration("policy", held, made.by_fold)
    sister = pd.unique(held["policy"])[1]
    moved = held.assign(true=held["true"].where(held["policy"] != sister, held["true"] + 1000))
    before, after = (
        intervals_across(Calibration("policy", table, made.by_fold), single, 0.7, kind).query("policy == @first")[
            ["lower", "upper"]
        ]
        for first in [pd.unique(held["policy"])[0]]
        for table in (held, moved)
    )
    assert np.isfinite(before.to_numpy()).all()
    assert after.to_numpy() == pytest.approx(before.to_numpy())


def test_what_is_proven_depends_on_the_method():
    """On the shipped results: four folds of SLED, no fold models of fitted Q for new policies, SLEV's folds chose its settings."""
    calibration = from_item(open_item("hiv-paper")).calibration("policy")
    proven = proven_levels(calibration, 20, 0.9)
    assert proven["sled"] == pytest.approx(guaranteed_level(0.9, 70, 4))
    assert proven["off_policy_mean"] == pytest.approx(guaranteed_level(0.9, 70, 70))
    assert proven["mean_reward"] == 0.9
    assert proven["slev"] is proven["fqe"] is proven["joint_dynamics"] is None
    assert set(proven_levels(calibration, 20, 0.99).values()) == {None}  # too few policies
