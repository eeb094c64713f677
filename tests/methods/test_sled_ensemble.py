"""SLED with an ensemble: adapters that prove themselves, and none where nothing helps."""

import numpy as np
import pytest

from shortlong.learn.adapters import KINDS
from shortlong.methods.sled.ensemble import EnsembleSled, _clearly_best
from shortlong.methods.sled.method import Sled
from tests.toy import LinearPolicy, toy_pair, toy_runs, toy_units, true_return

pytestmark = pytest.mark.heavy  # it trains networks

HORIZON = 6


def fitted(train: object, test: object, **settings: object) -> tuple[EnsembleSled, np.ndarray]:
    prefix = test.prefix(HORIZON)  # type: ignore[attr-defined]
    method = EnsembleSled(**{"size": "demo", "margin": 5.0, **settings}).fit(train, prefix)  # type: ignore[arg-type]
    return method, prefix.mean_by_policy(method.predict(prefix))


def test_a_shift_of_the_dynamics_is_found_where_policies_differ_by_a_constant_dose() -> None:
    """One old dose: the base model is exact for it, and a new dose is a shift, which the adapter finds."""
    starts = toy_units(20)
    train = toy_runs([LinearPolicy(0.2), LinearPolicy(0.2)], starts, 24)
    policies = [LinearPolicy(0.2), LinearPolicy(1.0)]
    test = toy_runs(policies, starts, 24)
    method, values = fitted(train, test)
    known = [true_return(policy, starts, 24).mean() for policy in policies]
    np.testing.assert_allclose(values, known, rtol=0.02)
    chosen = [kinds[1] for kinds in method.kinds_]
    assert "none" not in chosen


def test_where_nothing_is_new_no_adapter_is_used() -> None:
    train = toy_runs([LinearPolicy(0.2), LinearPolicy(0.2)], toy_units(20), 24)
    method, _ = fitted(train, toy_runs([LinearPolicy(0.2)], toy_units(20, seed=3), 24))
    assert set(method.details()["adapters"]) == {"none"}


def test_one_observed_step_leaves_nothing_to_prove() -> None:
    train, test = toy_pair(steps=24)
    prefix = test.prefix(1)
    method = EnsembleSled(size="demo").fit(train, prefix)
    assert method.details()["adapters"] == {"none": 4 * len(method.kinds_)}


def test_all_fold_networks_are_members_and_their_mean_is_the_prediction() -> None:
    train, test = toy_pair(steps=24, jitter=0.4, rollouts=2)
    bent = toy_runs(train.policies, toy_units(), 24, 2)  # type: ignore[arg-type]
    assert bent.policy_count == train.policy_count
    method, values = fitted(train, test)
    spread = method.artefacts()["member_values"]
    assert spread.shape == (method.details()["members"], 4)
    np.testing.assert_allclose(spread.mean(axis=0), values, rtol=1e-5)


def test_a_choice_must_be_clearly_better() -> None:
    generator = np.random.default_rng(0)
    base = generator.uniform(1, 2, size=50)
    assert _clearly_best(np.stack([base, base - 0.1, base + 1])) == 1
    assert _clearly_best(np.stack([base, base + generator.normal(-0.01, 1, size=50)])) == 0
    assert _clearly_best(np.array([[1.0], [0.5]])) == 0, "one unit proves nothing"


def test_a_kind_can_be_given_and_the_papers_version_stays_as_it_is() -> None:
    train, test = toy_pair(steps=24)
    method, _ = fitted(train, test, adapter="none")
    assert set(method.details()["adapters"]) == {"none"}
    assert set(fitted(train, test, adapter="shift")[0].details()["adapters"]) <= {"none", "shift"}
    assert Sled().get_params()["adapter"] == "chosen"
    assert "none" in KINDS


def test_what_it_needs_is_said() -> None:
    train, test = toy_pair()
    with pytest.raises(Exception, match="at least one"):
        EnsembleSled(size="demo").fit(train, test.prefix(0))
