"""The blend: weights by hand and by brute force, its own scores without the policy, and what can be missing."""

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.intervals import intervals
from shortlong.compute.blend import all_blend_weights, blend_predictions, blend_weights, with_blend
from shortlong.core.calibration import Calibration
from shortlong.core.metrics import rmse
from tests.calibrated import calibrated

NAN = float("nan")


def test_opposite_errors_are_blended_away():
    history = calibrated({"a": {5: [1.0, -2.0, 3.0]}, "b": {5: [-1.0, 2.0, -3.0]}, "c": {5: [9.0, 9.0, 9.0]}})
    assert blend_weights(history, 5) == pytest.approx({"a": 0.5, "b": 0.5, "c": 0}, abs=1e-9)


def test_no_weights_are_better():
    generator = np.random.default_rng(0)
    errors = generator.normal(size=(30, 4)) @ generator.normal(size=(4, 4)) + generator.normal(size=4)
    history = calibrated({f"m{i}": {5: errors[:, i]} for i in range(4)})
    weights = np.array(list(blend_weights(history, 5).values()))
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    others = generator.dirichlet(np.full(4, 0.3), size=20000)
    near = np.abs(weights + generator.normal(size=(20000, 4)) * 0.01)
    others = np.concatenate([others, near / near.sum(axis=1, keepdims=True), np.eye(4)])
    best = np.square(errors @ weights).mean()
    assert best <= np.square(errors @ others.T).mean(axis=0).min() + 1e-12


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_weights_do_not_depend_on_the_unit(scale):
    generator = np.random.default_rng(1)
    errors = generator.normal(size=(12, 3))
    history = calibrated({f"m{i}": {5: errors[:, i] * scale} for i in range(3)}, true=[0.0] * 12)
    plain = calibrated({f"m{i}": {5: errors[:, i]} for i in range(3)}, true=[0.0] * 12)
    assert blend_weights(history, 5) == pytest.approx(blend_weights(plain, 5), abs=1e-6)


def test_few_policies_one_method_and_none():
    assert blend_weights(calibrated({"a": {5: [1.0, 2.0]}, "b": {5: [5.0, 5.0]}}), 5) == {"a": 0.5, "b": 0.5}
    assert blend_weights(calibrated({"a": {5: [1.0, 2.0, 3.0]}}), 5) == {"a": 1.0}
    assert blend_weights(calibrated({"a": {5: [1.0]}}), 7) == {}
    exact = calibrated({"a": {5: [0.0] * 4}, "b": {5: [1.0] * 4}, "c": {5: [0.0] * 4}})
    assert blend_weights(exact, 5) == {"a": 0.5, "b": 0.0, "c": 0.5}


def test_a_method_with_few_policies_is_left_out_of_the_blend():
    history = calibrated({"a": {5: [1.0, 2.0, 3.0, 4.0, 5.0]}, "b": {5: [0.1, 0.1, NAN, NAN, NAN]}})
    assert blend_weights(history, 5) == {"a": 1.0}
    mostly = calibrated({"a": {5: [1.0, -2.0, 3.0, 4.0]}, "b": {5: [-1.0, 2.0, -3.0, NAN]}})
    assert blend_weights(mostly, 5) == pytest.approx({"a": 0.5, "b": 0.5})


def test_predictions_are_weighted_sums_and_keep_their_other_columns():
    rows = [
        (m, h, p, s, v) for m, v in (("a", 10.0), ("b", 30.0)) for h in (5, 10) for p in ("n0", "n1") for s in (0, 1)
    ]
    table = pd.DataFrame(rows, columns=["method", "horizon", "policy", "seed", "predicted"]).assign(true=7.0)
    found = blend_predictions({5: {"a": 0.25, "b": 0.75}, 10: {"a": 1.0, "b": 0.0}}, table)
    assert list(found.columns) == list(table.columns)
    assert set(found["method"]) == {"blend"}
    assert found.groupby("horizon")["predicted"].unique().map(list).to_dict() == {5: [25.0], 10: [10.0]}
    assert len(found) == 8
    assert set(found["true"]) == {7.0}
    without = blend_predictions(
        {5: {"a": 0.25, "b": 0.75}}, table[(table["method"] == "a") | (table["policy"] == "n0")]
    )
    assert set(without["policy"]) == {"n0"}, "b says nothing of n1"
    assert blend_predictions({}, table).empty


def test_its_own_scores_use_weights_that_have_not_seen_the_policy():
    generator = np.random.default_rng(2)
    errors = {name: {5: generator.normal(size=8) + shift} for name, shift in (("a", 0.5), ("b", -0.5))}
    history = calibrated(errors)
    blended = with_blend(history).held_out.query("method == 'blend'").set_index("policy")
    for left_out in range(8):
        others = calibrated({m: {5: np.delete(own[5], left_out)} for m, own in errors.items()})
        weights = blend_weights(others, 5)
        expected = 100 - sum(w * errors[m][5][left_out] for m, w in weights.items())
        assert blended.loc[f"o{left_out}", "predicted"] == pytest.approx(expected)
        assert blended.loc[f"o{left_out}", "true"] == 100


@pytest.mark.parametrize(("leave", "column"), [("family", "family"), ("era", "fold")])
def test_weights_leave_out_what_the_models_left_out(leave, column):
    """Whole families; of eras all later ones too, so that the first has nothing to learn weights from."""
    generator = np.random.default_rng(2)
    group = np.repeat([0, 1, 2], 4)
    errors = {name: {5: generator.normal(size=12)} for name in "ab"}
    history = calibrated(errors, leave=leave, **{column: group})
    blended = with_blend(history).held_out.query("method == 'blend'")
    for judged in range(3):
        seen = group < judged if leave == "era" else group != judged
        others = calibrated({m: {5: own[5][seen]} for m, own in errors.items()})
        weights = blend_weights(others, 5) or {"a": 0.5, "b": 0.5}
        expected = 100 - sum(w * errors[m][5][group == judged] for m, w in weights.items())
        assert blended["predicted"].to_numpy()[group == judged] == pytest.approx(expected)


def test_the_blend_gets_intervals_like_any_other_method():
    generator = np.random.default_rng(0)
    names, fold = ("a", "b"), np.arange(20) % 4
    rows = [(m, 5, "n0", k, 50.0 + k + (m == "b")) for m in names for k in range(4)]
    by_fold = pd.DataFrame(rows, columns=["method", "horizon", "policy", "fold", "predicted"])
    history = calibrated({m: {5: generator.normal(size=20)} for m in names}, fold=fold, by_fold=by_fold)
    both = with_blend(history)
    weights = all_blend_weights(history)
    asked = pd.DataFrame({"method": ["a", "b"], "horizon": 5, "policy": "n0", "predicted": [51.0, 52.0]})
    new = blend_predictions(weights, asked)
    assert new["predicted"].item() == pytest.approx(51 + weights[5]["b"])
    found = intervals(both, new, 0.9, "cv+")
    assert found["reason"].item() == ""
    assert found["old_policies"].item() == 20
    own_folds = both.by_fold.query("method == 'blend'").sort_values("fold")["predicted"]
    assert own_folds.to_numpy() == pytest.approx(50 + np.arange(4) + weights[5]["b"])
    again = with_blend(both)
    assert (again.held_out["method"] == "blend").sum() == 20, "blending twice replaces the blend"
    assert "blend" not in blend_weights(both, 5)


def test_methods_with_folds_of_their_own_give_the_blend_combined_folds():
    """a has three folds, b four: a policy of fold 2 and fold 3 is judged by a model of each, and so are the new ones."""
    generator = np.random.default_rng(0)
    one = calibrated({"a": {5: generator.normal(size=12)}}, fold=np.arange(12) % 3)
    other = calibrated({"b": {5: generator.normal(size=12)}}, fold=np.arange(12) % 4)
    rows = [("a", 5, "n0", k, 10.0 * k) for k in range(3)] + [("b", 5, "n0", k, 1.0 * k) for k in range(4)]
    by_fold = pd.DataFrame(rows, columns=["method", "horizon", "policy", "fold", "predicted"])
    both = Calibration("policy", pd.concat([one.held_out, other.held_out]), by_fold)
    blended, weights = with_blend(both), blend_weights(both, 5)
    own = blended.held_out.query("method == 'blend'").set_index("policy")["fold"]
    said = blended.by_fold.query("method == 'blend'").set_index("fold")["predicted"]
    assert len(said) == 12
    for place in range(12):
        expected = weights["a"] * 10 * (place % 3) + weights["b"] * (place % 4)
        assert said[own[f"o{place}"]] == pytest.approx(expected)


def test_a_method_without_fold_models_needs_its_full_prediction():
    generator = np.random.default_rng(0)
    rows = [("a", 5, "n0", k, 10.0 * k) for k in range(3)]
    by_fold = pd.DataFrame(rows, columns=["method", "horizon", "policy", "fold", "predicted"])
    errors = {m: {5: generator.normal(size=12)} for m in "ab"}
    history = calibrated(errors, fold=np.arange(12) % 3, by_fold=by_fold)
    assert set(with_blend(history).by_fold["method"]) == {"a"}
    full = pd.DataFrame({"method": ["a", "b"], "horizon": 5, "policy": "n0", "predicted": [99.0, 7.0]})
    said = with_blend(history, predictions=full).by_fold.query("method == 'blend'")["predicted"]
    weights = blend_weights(history, 5)
    assert said.to_numpy() == pytest.approx(weights["a"] * 10 * np.arange(3) + weights["b"] * 7)


def test_an_empty_calibration_has_no_blend():
    assert with_blend(calibrated({})).held_out.empty


def test_units_are_blended_with_the_weights_of_their_policy():
    generator = np.random.default_rng(0)
    errors = {m: {5: generator.normal(size=6)} for m in "ab"}
    units = pd.DataFrame(
        [(m, 5, f"o{i}", u, 100 - errors[m][5][i] + u, 100.0 + u) for m in "ab" for i in range(6) for u in range(3)],
        columns=["method", "horizon", "policy", "unit", "predicted", "true"],
    )
    blended = with_blend(calibrated(errors, units=units))
    assert blended.units is not None
    own = blended.units.query("method == 'blend'")
    assert len(own) == 18
    means = own.groupby("policy", sort=False)["predicted"].mean() - 1
    held = blended.held_out.query("method == 'blend'").set_index("policy")["predicted"]
    assert means[held.index].to_numpy() == pytest.approx(held.to_numpy())


def test_a_blend_of_good_methods_is_at_least_nearly_as_good():
    generator = np.random.default_rng(3)
    errors = {m: {5: generator.normal(size=70)} for m in "abc"}
    held = with_blend(calibrated(errors)).held_out
    found = {m: rmse(rows["predicted"], rows["true"]) for m, rows in held.groupby("method")}
    assert found["blend"] < 0.75 * min(found[m] for m in "abc"), "three independent errors average out: 1 / sqrt(3)"
