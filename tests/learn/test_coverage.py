"""New actions, and steps that resemble observed ones."""

import numpy as np
import pytest

from shortlong.learn.coverage import MOST_CHOICES, MOST_KEPT, Familiar, KnownActions, distinct_rows


def test_of_a_fixed_choice_an_action_is_new_unless_somebody_took_it() -> None:
    known = KnownActions.of(np.array([[0.7, 0.0], [0.0, 0.3], [0.7, 0.3], [0.7, 0.0]], np.float32))
    taken = np.array([[0.0, 0.0], [0.7, 0.3], [0.35, 0.3]], np.float32)
    assert not known.are_amounts(taken)
    assert known.new(taken, amounts=False).tolist() == [True, False, True]


def test_amounts_are_new_outside_the_range() -> None:
    doses = np.linspace(0.1, 1.0, 200)[:, None]
    known = KnownActions.of(doses)
    assert known.are_amounts(doses)
    assert known.new(np.array([[0.1], [0.123456], [1.0], [1.01], [0.05]]), amounts=True).tolist() == [
        False, False, False, True, True,
    ]  # fmt: skip


def test_amounts_of_several_components_are_new_far_from_all_others() -> None:
    """Both drugs were given at all doses, but never together."""
    dose = np.linspace(0, 1, 100)
    alone = np.concatenate([np.stack([dose, 0 * dose], 1), np.stack([0 * dose, dose], 1)])
    known = KnownActions.of(alone)
    assert known.new(np.array([[0.5, 0.0], [0.505, 0.001], [0.5, 0.5]]), amounts=True).tolist() == [False, False, True]


def test_many_amounts_are_thinned_but_the_range_is_whole() -> None:
    doses = np.random.default_rng(0).uniform(0, 1, size=(3 * MOST_KEPT, 1)).astype(np.float32)
    known = KnownActions.of(doses)
    assert len(known.actions) == MOST_KEPT
    assert (known.low[0], known.high[0]) == (doses.min(), doses.max())
    assert len(known.actions) > MOST_CHOICES


def test_distinct_rows_are_those_of_numpy() -> None:
    rows = np.random.default_rng(1).integers(0, 4, size=(2000, 3)).astype(np.float32)
    rows[rows == 1] = -0.0
    ours = distinct_rows(rows)
    np.testing.assert_array_equal(np.unique(ours, axis=0), np.unique(rows, axis=0))
    assert len(ours) == len(np.unique(rows, axis=0))


def test_steps_near_observed_ones_are_covered() -> None:
    generator = np.random.default_rng(0)
    familiar = Familiar(generator.normal(size=(5000, 3)), generator)
    assert familiar.covers(generator.normal(size=(500, 3))).mean() > 0.9
    assert familiar.covers(generator.normal(size=(500, 3)) + 10).mean() == 0


def test_one_observed_step_covers_only_itself() -> None:
    familiar = Familiar(np.array([[1.0, 2.0], [1.0, 2.0]]), np.random.default_rng(0))
    assert familiar.reach == 0
    assert familiar.covers(np.array([[1.0, 2.0], [1.0, 2.1]])).tolist() == [True, False]


@pytest.mark.parametrize("action_dim", [1, 2])
def test_an_action_that_is_always_zero(action_dim: int) -> None:
    known = KnownActions.of(np.zeros((5, action_dim)))
    assert known.new(np.array([[0.0] * action_dim, [1e-3] * action_dim]), amounts=False).tolist() == [False, True]
