"""The formulas equal those of MAPIE and crepes-weighted on the same scores, to 1e-9, where these have them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from shortlong.analysis.intervals import intervals
from shortlong.core.calibration import Calibration, no_fold_predictions


def _regression(policies: int, seed: int):
    generator = np.random.default_rng(seed)
    inputs = generator.normal(size=(policies + 15, 3))
    outcomes = inputs.sum(axis=1) + generator.normal(size=policies + 15)
    return inputs[:policies], outcomes[:policies], inputs[policies:]


def _ours(inputs, outcomes, new, folds):
    """The same folds and models in our tables."""
    held, by_fold = [], []
    for number, (others, own) in enumerate(folds.split(inputs)):
        model = LinearRegression().fit(inputs[others], outcomes[others])
        held += [(f"old {i}", number, model.predict(inputs[[i]])[0], outcomes[i]) for i in own]
        by_fold += [(f"new {i}", number, value) for i, value in enumerate(model.predict(new))]
    where = {"method": "ours", "horizon": 5}
    held_out = pd.DataFrame(held, columns=["policy", "fold", "predicted", "true"]).assign(family="", **where)
    fold_rows = pd.DataFrame(by_fold, columns=["policy", "fold", "predicted"]).assign(**where)
    full = LinearRegression().fit(inputs, outcomes).predict(new)
    asked = pd.DataFrame({"policy": [f"new {i}" for i in range(len(new))], "predicted": full, **where})
    return Calibration("policy", held_out, fold_rows), asked


@pytest.mark.parametrize("policies", [10, 23, 70])
@pytest.mark.parametrize("level", [0.8, 0.9])
@pytest.mark.parametrize("leave_one_out", [False, True])
def test_cv_plus_is_mapies(policies, level, leave_one_out):
    regression = pytest.importorskip("mapie.regression")
    inputs, outcomes, new = _regression(policies, policies)
    folds = KFold(policies if leave_one_out else 5)
    theirs = regression.CrossConformalRegressor(LinearRegression(), confidence_level=level, method="plus", cv=folds)
    theirs.fit_conformalize(inputs, outcomes)
    _, ends = theirs.predict_interval(new, allow_infinite_bounds=True)
    found = intervals(*_ours(inputs, outcomes, new, folds), level, "cv+")
    np.testing.assert_allclose(found[["lower", "upper"]], ends[:, :, 0], atol=1e-9, rtol=0)
    assert np.isfinite(found["upper"]).all()


def test_both_find_no_finite_interval_in_a_history_too_short():
    regression = pytest.importorskip("mapie.regression")
    inputs, outcomes, new = _regression(8, 0)
    theirs = regression.CrossConformalRegressor(LinearRegression(), confidence_level=0.9, cv=KFold(8))
    _, ends = theirs.fit_conformalize(inputs, outcomes).predict_interval(new, allow_infinite_bounds=True)
    found = intervals(*_ours(inputs, outcomes, new, KFold(8)), 0.9, "cv+")
    assert np.isinf(ends).all()
    assert (found["lower"] == -np.inf).all()
    assert (found["upper"] == np.inf).all()


def _with_ratios(policies: int, seed: int, equal: bool = False):
    generator = np.random.default_rng(seed)
    errors, new = generator.standard_t(4, size=policies), generator.normal(size=30) * 5
    ratios = np.ones(policies + 30) if equal else np.exp(generator.normal(size=policies + 30))
    names = [*(f"old {i}" for i in range(policies)), *(f"new {i}" for i in range(30))]
    side = ["old"] * policies + ["new"] * 30
    where = {"method": "ours", "horizon": 5}
    held_out = pd.DataFrame(
        {"policy": names[:policies], "predicted": 0.0, "true": errors, "fold": 0, "family": "", **where}
    )
    table = pd.DataFrame({"horizon": 5, "policy": names, "side": side, "ratio": ratios})
    asked = pd.DataFrame({"policy": names[policies:], "predicted": new, **where})
    return Calibration("policy", held_out, no_fold_predictions(), None, table), asked, errors, ratios


@pytest.mark.filterwarnings("ignore:the no. of calibration examples")
@pytest.mark.parametrize("policies", [20, 70])
@pytest.mark.parametrize("level", [0.75, 0.9])
def test_weighted_is_crepes_but_for_one_score(policies, level):
    """crepes-weighted takes the next larger score than the weighted quantile of Tibshirani et al. (2019), equation 7.

    With equal weights that is also one more than its own formula without weights, which is ours. So the two must lie exactly
    one score apart, and ours, which is the published one, must agree with its formula without weights.
    """
    base = pytest.importorskip("crepes_weighted.base")
    calibration, asked, errors, ratios = _with_ratios(policies, policies)
    theirs = base.ConformalRegressor()
    theirs.fit(errors, likelihood_ratios=ratios[:policies])
    ends = theirs.predict(asked["predicted"].to_numpy(), confidence=level, likelihood_ratios=ratios[policies:])
    found = intervals(calibration, asked, level, "weighted")
    scores = np.append(np.sort(np.abs(errors)), np.inf)
    ours = (found["upper"] - found["predicted"]).to_numpy()
    finite = np.isfinite(ours)
    assert finite.mean() > 0.5
    place = np.abs(scores[:-1] - ours[finite, None]).argmin(axis=1)
    np.testing.assert_allclose(ours[finite], scores[place], atol=1e-9)
    np.testing.assert_allclose(ends[finite, 1] - asked["predicted"][finite], scores[place + 1], atol=1e-9)
    assert np.isinf(ends[~finite]).all()


@pytest.mark.parametrize("policies", [20, 70])
def test_weighted_with_equal_weights_is_crepes_without(policies):
    base = pytest.importorskip("crepes_weighted.base")
    calibration, asked, errors, _ = _with_ratios(policies, policies, equal=True)
    theirs = base.ConformalRegressor()
    theirs.fit(errors)
    ends = theirs.predict(asked["predicted"].to_numpy(), confidence=0.9)
    for kind in ("weighted", "cv+"):
        found = intervals(calibration, asked, 0.9, kind)
        np.testing.assert_allclose(found[["lower", "upper"]], ends, atol=1e-9, rtol=0)


def test_the_weighted_quantile_is_the_published_one():
    """By the definition, one candidate after another: the smallest score up to which the probability reaches the level."""
    calibration, asked, errors, ratios = _with_ratios(25, 3)
    found = intervals(calibration, asked, 0.8, "weighted")
    for row, weight in zip(found.itertuples(), ratios[25:], strict=True):
        total = ratios[:25].sum() + weight
        reached = [s for s in np.abs(errors) if ratios[:25][np.abs(errors) <= s].sum() / total >= 0.8]
        assert row.upper == pytest.approx(row.predicted + min(reached, default=np.inf))
        assert row.lower == pytest.approx(row.predicted - min(reached, default=np.inf))
