"""The density ratio per policy: near one without a shift, right in order under one, and shrunk."""

import numpy as np
import pytest

from shortlong.learn.policy_ratio import policy_ratio


def _features(shift: float, old: int = 70, new: int = 40, seed: int = 0):
    """Three factors behind thirty features; the first factor of new policies is shifted."""
    generator = np.random.default_rng(seed)
    factors = generator.normal(size=(old + new, 3))
    factors[old:, 0] += shift
    features = factors @ generator.normal(size=(3, 30)) + 0.1 * generator.normal(size=(old + new, 30))
    return features[:old], features[old:], factors[:old, 0]


def test_without_a_shift_most_of_the_history_counts():
    old, new, _ = _features(0.0)
    found = policy_ratio(old, new)
    assert found.old.mean() == pytest.approx(1)
    assert found.effective > 45
    assert found.auc < 0.65


@pytest.mark.parametrize("seed", range(3))
def test_under_a_shift_old_policies_like_the_new_ones_count_more(seed):
    old, new, factor = _features(1.0, seed=seed)
    found = policy_ratio(old, new)
    assert np.corrcoef(np.log(found.old), factor)[0, 1] > 0.6
    assert found.new.mean() > found.old.mean()
    assert found.auc > 0.65


def test_it_is_shrunk():
    """Policies that can be told apart perfectly would have ratios without bounds: here the old ones stay usable."""
    old, new, _ = _features(6.0)
    found = policy_ratio(old, new)
    assert found.auc > 0.99
    assert found.old.max() < 10
    assert found.new.min() > found.old.max()


def test_a_handful_of_policies_gives_no_ratio():
    old, new, _ = _features(0.0, old=70, new=4)
    assert policy_ratio(old, new) is None
    assert policy_ratio(*_features(0.0, old=5, new=5)[:2]) is not None
