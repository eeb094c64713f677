"""Fitted Q as printed: the same numbers as a plain scikit-learn loop on the same batches."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

from shortlong.core.errors import UserError
from shortlong.core.hashing import seed_of
from shortlong.methods.fqe.method import FittedQ
from shortlong.methods.fqe.printed import PrintedFittedQ, fresh_batches
from tests.methods.test_fqe import EVERYTHING, NEW, PLACES, STEPS, SYSTEM, TRAIN, Walker, walk

pytestmark = pytest.mark.heavy  # many forests

SEED = 1
TREES, UPDATES, BATCH = (
    4,
    25,
    400,
)  # a batch of 400 has every (place, action), so that full trees leave nothing to chance


def plain_loop(walker: Walker, train: object, discount: float, updates: int = UPDATES) -> np.ndarray:
    """(place,) the value of a walker: scikit-learn's trees, fitted anew to a fresh batch at every update."""
    pool = train.sample_transitions(EVERYTHING, seed_of("printed fqe pool", SEED))  # type: ignore[attr-defined]
    seeds = np.random.SeedSequence(seed_of("printed fqe trees", SEED))
    batches = fresh_batches(len(pool), BATCH, seeds.spawn(2)[0])

    def expected(model: ExtraTreesRegressor, states: np.ndarray, previous: np.ndarray) -> np.ndarray:
        actions, chances = walker.distribution(states, previous)
        values = [model.predict(np.concatenate([states, actions[:, k]], axis=1)) for k in range(2)]
        return (np.stack(values, axis=1) * chances).sum(axis=1)

    model = None
    for number in range(updates):
        rows = next(batches)
        step = pool.take(rows)
        assert len(np.unique(np.concatenate([step.states, step.actions], axis=1), axis=0)) == 2 * PLACES
        later = expected(model, step.next_states, step.actions) if model is not None else 0.0
        model = ExtraTreesRegressor(TREES, random_state=number)
        model.fit(np.concatenate([step.states, step.actions], axis=1), step.rewards + discount * later)
    places = np.arange(PLACES, dtype=np.float32)[:, None]
    return expected(model, places, np.full((PLACES, 1), SYSTEM.first_action))


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_it_is_a_plain_scikit_learn_loop_on_the_same_batches(discount: float) -> None:
    train, test = walk(TRAIN, 0.2), walk(NEW, 0.2, seed=1).prefix(0)
    settings = {"trees": TREES, "updates": UPDATES, "batch": BATCH, "pool": EVERYTHING, "discount": discount}
    predicted = PrintedFittedQ(**settings, seed=SEED).fit(train, test).predict(test)
    place = test.states[:, 0, 0, 0].astype(int)
    for number, walker in enumerate(NEW):
        known = plain_loop(walker, train, discount)
        rows = test.rows_of(number)
        np.testing.assert_allclose(predicted[rows], known[place[rows]], rtol=1e-4, atol=1e-4)


def test_with_one_batch_of_all_no_discount_and_as_many_updates_as_steps_it_is_fitted_q() -> None:
    train, test = walk(TRAIN, 0.2), walk(NEW, 0.2, seed=1).prefix(0)
    printed = PrintedFittedQ(trees=5, updates=STEPS, batch=EVERYTHING, pool=EVERYTHING, discount=1.0).fit(train, test)
    ours = FittedQ(trees=(5,), batch=(EVERYTHING,)).fit(train, test)
    np.testing.assert_allclose(printed.predict(test), ours.predict(test), rtol=1e-4, atol=1e-4)


def test_without_a_discount_values_grow_with_the_updates() -> None:
    train, test = walk(TRAIN), walk([Walker(0.9)], seed=1).prefix(0)
    settings = {"trees": 3, "batch": BATCH, "pool": EVERYTHING}
    few, many = (
        PrintedFittedQ(**settings, updates=u, discount=1.0).fit(train, test).predict(test).mean() for u in (12, 48)
    )
    assert many > 3 * few > 0
    settled = [
        PrintedFittedQ(**settings, updates=u, discount=0.5).fit(train, test).predict(test).mean() for u in (12, 48)
    ]
    assert settled[0] == pytest.approx(settled[1], rel=0.05)


def test_trees_and_updates_are_chosen_on_held_out_policies() -> None:
    train, test = walk([*TRAIN, Walker(0.4), Walker(0.6), Walker(0.55)]), walk(NEW, seed=1).prefix(0)
    method = PrintedFittedQ(trees=(3, 5), updates=(2, STEPS), batch=300, pool=EVERYTHING, discount=1.0)
    prepared = method.prepare(train)
    assert prepared["grid"].tolist() == [[3, 2], [3, STEPS], [5, 2], [5, STEPS]]
    assert np.isfinite(prepared["errors"]).all()
    assert method.fit(train, test, prepared).details()["updates"] == STEPS, "two updates see two of twelve rewards"
    assert len(method.details()["held_out"]) == 1


def test_impossible_settings_are_refused() -> None:
    train = walk(TRAIN)
    for settings, sentence in (
        ({"discount": -0.1}, "discount from 0 to 1"),
        ({"discount": 1.5}, "discount from 0 to 1"),
        ({"batch": 0}, "1 or more"),
        ({"size": "huge"}, "knows no size"),
        ({"updates": 0}, "one update"),
    ):
        with pytest.raises(UserError, match=sentence):
            PrintedFittedQ(**settings).prepare(train)
