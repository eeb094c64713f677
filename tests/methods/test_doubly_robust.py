"""Doubly robust SLEV: right when either the prediction or the weights are, and careful when neither can be known."""

from dataclasses import replace

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.core.trajectories import System, Trajectories
from shortlong.learn.doubly_robust import RATIO_CAP, Correction, PrefixRatio, correction
from shortlong.methods.slev.doubly_robust import DoublyRobustSlev
from shortlong.methods.surrogate_index import SurrogateIndex
from tests.toy import toy_pair

SHIFT = 0.8  # of the new policy's prefixes: old ones are standard normal


def outcome(x: np.ndarray) -> np.ndarray:
    return 2 * x + x**2


TRUE = 2 * SHIFT + 1 + SHIFT**2  # expected outcome of the new policy


def exact_ratio(x: np.ndarray) -> np.ndarray:
    return np.exp(SHIFT * x - SHIFT**2 / 2)


def wrong_f(x: np.ndarray) -> np.ndarray:
    return 0.5 - x


def wrong_ratio(x: np.ndarray) -> np.ndarray:
    return np.exp(-0.3 * x)


def estimates(f: object, ratio: object, repeats: int = 400, units: int = 2000) -> np.ndarray:
    """The doubly robust value of one new policy in many worlds."""
    found = []
    for seed in range(repeats):
        generator = np.random.default_rng(seed)
        old, new = generator.normal(size=units), generator.normal(SHIFT, size=units)
        residuals = outcome(old) + generator.normal(size=units) - f(old)  # type: ignore[operator]
        found.append(f(new).mean() + correction(residuals, ratio(old), np.arange(units) % 20).amount)  # type: ignore[operator]
    return np.array(found)


def bias(f: object, ratio: object) -> tuple[float, float]:
    """Mean error, and its standard error."""
    wrong = estimates(f, ratio) - TRUE
    return float(wrong.mean()), float(wrong.std() / np.sqrt(len(wrong)))


def test_unbiased_where_the_prediction_is_wrong_and_the_weights_are_right() -> None:
    mean, error = bias(wrong_f, exact_ratio)
    assert abs(mean) < 4 * error + 0.02
    assert abs(wrong_f(np.random.default_rng(0).normal(SHIFT, size=10**5)).mean() - TRUE) > 2, "f alone is far off"


def test_unbiased_where_the_weights_are_wrong_and_the_prediction_is_right() -> None:
    mean, error = bias(outcome, wrong_ratio)
    assert abs(mean) < 4 * error


def test_biased_where_both_are_wrong() -> None:
    """Otherwise the two tests above could not fail."""
    mean, error = bias(wrong_f, wrong_ratio)
    assert abs(mean) > 50 * error


def shifted_world(policies: int = 30, units: int = 60, seed: int = 0) -> tuple[Trajectories, Trajectories]:
    """One number is observed, the outcome is bent in it, and new policies see larger ones: a straight line must fail."""
    generator = np.random.default_rng(seed)
    system = System("bent", 2, ("x",), ("",), ("none",))

    def runs(means: np.ndarray, names: str) -> Trajectories:
        x = generator.normal(means[:, None], size=(len(means), units))
        states = np.stack([np.zeros_like(x), x, np.zeros_like(x)], axis=-1)[:, :, None, :, None]
        last = outcome(x) + 0.3 * generator.normal(size=x.shape)
        rewards = np.stack([np.zeros_like(x), last], axis=-1)[:, :, None]
        labels = tuple(f"{names} {i}" for i in range(len(means)))
        return Trajectories.dense(system, states, np.zeros((*x.shape, 1, 2, 1)), rewards, labels)

    return runs(np.zeros(policies), "old"), runs(np.full(6, SHIFT), "new")


def test_a_line_in_a_bent_world_is_corrected() -> None:
    """Normal prefixes with equal spread: the classifier's log-odds are a line, so that the weights are right and f is not."""
    train, test = shifted_world()
    prefix = test.prefix(1)
    line = prefix.mean_by_policy(SurrogateIndex().fit(train, prefix).predict(prefix))
    method = DoublyRobustSlev(model="ridge", correction="full").fit(train, prefix)
    corrected = prefix.mean_by_policy(method.predict(prefix))
    left = abs((line - test.values).mean())
    assert left > 0.4
    assert abs((corrected - test.values).mean()) < 0.3 * left
    shrunk = DoublyRobustSlev(model="ridge").fit(train, prefix)
    assert abs((prefix.mean_by_policy(shrunk.predict(prefix)) - test.values).mean()) < 0.5 * left
    assert np.shape(shrunk.details()["effective_sample_size"]) == (6,)


def test_shrinking_leaves_what_chance_does_not_explain() -> None:
    assert Correction(2.0, 0.1, 50).shrunk == pytest.approx(2.0, rel=0.01)
    assert Correction(2.0, 1.0, 50).shrunk == pytest.approx(1.5)
    assert Correction(-0.5, 1.0, 50).shrunk == 0
    assert Correction(0.0, 0.0, 50).shrunk == 0


def test_the_standard_error_knows_that_units_of_a_policy_err_together() -> None:
    generator = np.random.default_rng(0)
    policy = np.repeat(np.arange(10), 100)
    alike = np.repeat(generator.normal(size=10), 100)
    found = correction(alike, np.ones(1000), policy)
    assert found.error == pytest.approx(alike[::100].std(ddof=1) / np.sqrt(10), rel=1e-6)
    assert found.effective == pytest.approx(1000)


def test_ratios_are_those_of_the_densities_and_clipped() -> None:
    generator = np.random.default_rng(0)
    old, new = generator.normal(size=(6000, 1)), generator.normal(SHIFT, size=(3000, 1))
    ratio = PrefixRatio(old, np.arange(6000) % 5, generator).weights(new)
    middle = np.abs(old[:, 0]) < 1.5
    np.testing.assert_allclose(ratio[middle], exact_ratio(old[middle, 0]), rtol=0.15)
    far = PrefixRatio(old, np.arange(6000) % 5, generator).weights(new + 30)
    assert far.min() >= 1 / RATIO_CAP
    assert far.max() <= RATIO_CAP


def test_nobody_is_weighted_by_what_learned_from_its_own_fold() -> None:
    generator = np.random.default_rng(0)
    old, fold = generator.normal(size=(200, 1)), np.arange(200) % 4
    new = generator.normal(1, size=(50, 1))
    usual = PrefixRatio(old, fold, np.random.default_rng(1)).weights(new)
    assert len(np.unique(np.round(usual, 12))) > 100
    swapped = old.copy()
    mine = np.flatnonzero(fold == 2)
    swapped[mine] = swapped[mine[::-1]]  # the same frame, other owners
    again = PrefixRatio(swapped, fold, np.random.default_rng(1)).weights(new)
    np.testing.assert_allclose(again[mine], usual[mine[::-1]], rtol=1e-9)
    np.testing.assert_allclose(again[fold != 2], usual[fold != 2], rtol=1e-6)


def test_one_unit_per_policy() -> None:
    train, test = toy_pair(units=1, train_policies=12)
    prefix = test.prefix(4)
    method = DoublyRobustSlev(model="ridge").fit(train, prefix)
    assert np.isfinite(method.predict(prefix)).all()


def test_prefixes_in_which_nothing_differs_are_not_corrected_by_weights() -> None:
    train, test = toy_pair()
    flat = [replace(r, states=np.ones_like(r.states), rewards=np.full_like(r.rewards, 2.0)) for r in (train, test)]
    prefix = flat[1].prefix(4)
    method = DoublyRobustSlev(model="ridge").fit(flat[0], prefix)
    assert method.details()["effective_sample_size"] == [48.0] * 4


def test_what_it_needs_is_said() -> None:
    train, test = toy_pair()
    with pytest.raises(UserError, match="at least 4 historical policies"):
        DoublyRobustSlev(model="ridge").fit(train.select(range(3)), test.prefix(4))
    with pytest.raises(UserError, match="one observed step"):
        DoublyRobustSlev(model="ridge").fit(train, test.prefix(0))
    for settings in ({"model": "forest"}, {"correction": "half"}):
        with pytest.raises(UserError, match="knows no"):
            DoublyRobustSlev(**settings).fit(train, test.prefix(4))
