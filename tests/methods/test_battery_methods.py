"""What every battery method of the register must do, on a few cells of the synthetic fleet.

The same properties as in ``test_common``; a new card that needs battery cycles, or has a variant for them, is covered as
soon as it is there.
"""

import contextlib
import inspect
import io
import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from shortlong.core.errors import Cancelled, UserError
from shortlong.domains import DOMAINS
from shortlong.domains.base import CAPABILITIES
from shortlong.domains.battery.domain import BatterySettings
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.domains.battery.histories import CellHistories, CellPrefix
from shortlong.methods import METHODS, MethodCard, Workload, why_not
from tests.toy import toy_pair

OFFERS = DOMAINS["battery"].offers
CARDS: dict[str, MethodCard] = {
    name: card.on(OFFERS) for name, card in METHODS.items() if why_not(card, OFFERS) is None
}
OF_LIVES = [name for name, card in CARDS.items() if "two_classes" not in card.needs]
HORIZON = 10

every_method = pytest.mark.parametrize("name", CARDS)


@cache
def pair(outcome: str = "class") -> tuple[CellHistories, CellHistories]:
    """Fourteen training cells, half of them low, and six others; of each kind the shortest-lived ones, so that SLED,
    which calls nearly every cell high, has one that it calls low."""
    fleet = synthetic_fleet(0)
    low, high = (np.flatnonzero(side) for side in (fleet.lives < 550, fleet.lives >= 550))
    shortest = [kind[np.argsort(fleet.lives[kind], kind="stable")][:10] for kind in (low, high)]
    question = {"outcome": outcome, "threshold": 550.0}
    everything = CellHistories(DOMAINS["battery"].system(BatterySettings()), fleet, **question)
    return tuple(
        everything.select(np.concatenate([kind[part] for kind in shortest])) for part in (slice(3, 10), slice(3))
    )


def new(name: str) -> Any:
    return CARDS[name].load()(seed=3)


@cache
def fitted(name: str, outcome: str = "class") -> tuple[Any, np.ndarray]:
    train, test = pair(outcome)
    method = new(name).fit(train, test.prefix(HORIZON))
    return method, method.predict(test.prefix(HORIZON))


def predictions(name: str, train: CellHistories, test: CellHistories, horizon: int = HORIZON) -> np.ndarray:
    return new(name).fit(train, test.prefix(horizon)).predict(test.prefix(horizon))


def with_nonsense_after(test: CellHistories, horizon: int) -> CellHistories:
    """Other lives, and other capacities and curves of all cycles after the horizon."""
    fleet, generator = test.fleet, np.random.default_rng(8)
    curves, capacity, table = fleet.curves.copy(), fleet.capacity.copy(), fleet.cells.copy()
    later = np.array(fleet.curve_cycles) > horizon
    curves[:, later] = generator.normal(0, 1, curves[:, later].shape)
    after = capacity["cycle"] > horizon
    capacity.loc[after, "qd_ah"] = generator.uniform(0.5, 1.3, int(after.sum()))
    table["cycle_life"] = 1500 - table["cycle_life"]
    return replace(test, fleet=replace(fleet, cells=table, curves=curves, capacity=capacity))


def test_all_battery_methods_are_covered() -> None:
    assert {"slev", "sled", "off_policy_mean", "naive_bayes", "always_high", "life_regression"} <= set(CARDS)
    assert {name for name, card in METHODS.items() if "battery_cycles" in {*card.needs, *card.variants}} == set(CARDS)


@every_method
def test_one_finite_number_per_cell(name: str) -> None:
    _, predicted = fitted(name)
    assert predicted.shape == (6,)
    assert predicted.dtype == np.float64
    assert ((predicted >= 0) & (predicted <= 1)).all(), "of classes, the probability of high"


@pytest.mark.parametrize("name", OF_LIVES)
def test_lives_are_cycles(name: str) -> None:
    _, predicted = fitted(name, "life")
    assert ((predicted >= HORIZON) & (predicted <= 3000)).all()


@pytest.mark.parametrize("name", [name for name in CARDS if name not in OF_LIVES])
def test_classifiers_refuse_to_predict_lives(name: str) -> None:
    train, test = pair("life")
    method = new(name)
    with pytest.raises(UserError, match=r"predicts no life|outcome=class"):
        method.fit(train, test.prefix(HORIZON)).predict(test.prefix(HORIZON))


@every_method
def test_same_seed_same_numbers(name: str) -> None:
    """Whatever the state of the global random generator; and nothing that is given is changed on the way."""
    train, test = pair()
    prefix = test.prefix(HORIZON)
    before = [part.to_arrays() for part in (train, test)]
    kept = prefix.fleet.curves.tobytes(), prefix.fleet.capacity.to_numpy().tolist()
    np.random.seed(99)
    assert new(name).fit(train, prefix).predict(prefix).tobytes() == fitted(name)[1].tobytes()
    assert (prefix.fleet.curves.tobytes(), prefix.fleet.capacity.to_numpy().tolist()) == kept
    for part, arrays in zip((train, test), before, strict=True):
        again = part.to_arrays()
        assert all(again[key].tobytes() == values.tobytes() for key, values in arrays.items())


@pytest.mark.parametrize(
    ("name", "outcome"), [*((name, "class") for name in CARDS), *((name, "life") for name in OF_LIVES)]
)
def test_nothing_after_the_prefix_is_seen(name: str, outcome: str) -> None:
    train, test = pair(outcome)
    nonsense = with_nonsense_after(test, HORIZON)
    assert not np.allclose(nonsense.returns, test.returns)
    assert predictions(name, train, nonsense).tobytes() == fitted(name, outcome)[1].tobytes()


@every_method
def test_prefix_matters_as_the_card_says(name: str) -> None:
    """A card that wrongly says that the prefix is not used would give one result to all horizons."""
    train, test = pair()
    if not CARDS[name].uses_prefix:
        assert predictions(name, train, test, horizon=0).tobytes() == fitted(name)[1].tobytes()
        return
    turned = test.select([5, 4, 3, 2, 1, 0])
    swapped = replace(test, fleet=replace(turned.fleet, cells=test.fleet.cells, capacity=_renamed(test, turned)))
    np.testing.assert_allclose(predictions(name, train, swapped), fitted(name)[1][::-1], rtol=1e-6)
    assert not np.allclose(fitted(name)[1], fitted(name)[1][::-1]), "else this test could not fail"


def _renamed(test: CellHistories, turned: CellHistories) -> Any:
    """The capacities of each cell under the name of its opposite."""
    names = dict(zip(turned.fleet.names, test.fleet.names, strict=True))
    return test.fleet.capacity.assign(cell=test.fleet.capacity["cell"].map(names))


@every_method
def test_prepared_work_survives_the_store(name: str) -> None:
    train, test = pair()
    prepared = new(name).prepare(train)
    assert bool(prepared) == CARDS[name].prepares
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **prepared)
    file.seek(0)
    with np.load(file, allow_pickle=False) as content:
        again = {key: content[key] for key in content.files}
    prefix = test.prefix(HORIZON)
    assert new(name).fit(train, prefix, again).predict(prefix).tobytes() == fitted(name)[1].tobytes()


@every_method
def test_prediction_belongs_to_the_prefix_that_is_given(name: str) -> None:
    """Other cells than those of fit are predicted as such or refused, never answered with the old numbers."""
    method, predicted = fitted(name)
    order = [5, 4, 3, 2, 1, 0]
    again = predicted[order]
    with contextlib.suppress(UserError):
        again = method.predict(pair()[1].select(order).prefix(HORIZON))
    np.testing.assert_allclose(again, predicted[order])


@every_method
def test_details_and_artefacts_can_be_stored(name: str) -> None:
    method, _ = fitted(name)
    json.dumps(method.details(), allow_nan=False)
    for array in method.artefacts().values():
        assert array.dtype.kind in "fiub"
        assert np.isfinite(array).all()


def test_reasons_are_kept_with_the_predictions() -> None:
    assert "fold accuracy" in fitted("slev")[0].details()["reason"]
    assert "SLED predicts" in fitted("sled")[0].details()["reason"]
    assert "Selected:" in fitted("slev_balanced")[0].details()["reason"]
    assert "smallest left-out error" in fitted("slev", "life")[0].details()["reason"]
    assert "training cells count like" in fitted("slev_shift_weighted")[0].details()["reason"]


@every_method
@pytest.mark.parametrize(
    ("part", "side"),
    [("curves", "train"), ("curves", "test"), ("capacity", "train"), ("capacity", "test"), ("lives", "train")],
)
def test_values_that_are_not_finite_are_refused(name: str, part: str, side: str) -> None:
    sides = dict(zip(("train", "test"), pair(), strict=True))
    fleet = sides[side].fleet
    if part == "curves":
        curves = fleet.curves.copy()
        curves[1, 0, 7] = np.nan
        broken = replace(fleet, curves=curves)
    elif part == "capacity":
        capacity = fleet.capacity.copy()
        capacity.loc[3, "qd_ah"] = np.inf
        broken = replace(fleet, capacity=capacity)
    else:
        broken = replace(fleet, cells=fleet.cells.assign(cycle_life=np.nan))
    sides[side] = replace(sides[side], fleet=broken)
    with pytest.raises(UserError, match="not finite; remove or repair"):
        new(name).fit(sides["train"], sides["test"].prefix(HORIZON))
    if side == "test":
        with pytest.raises(UserError, match="not finite; remove or repair"):
            fitted(name)[0].predict(sides["test"].prefix(HORIZON))


@every_method
def test_another_question_or_system_is_refused(name: str) -> None:
    train, test = pair()
    coarse = replace(test.fleet, voltage=test.fleet.voltage[::2], curves=test.fleet.curves[:, :, ::2])
    for other in (replace(test, threshold=600.0), replace(test, pair=(4, 10)), replace(test, fleet=coarse)):
        with pytest.raises(UserError, match="must come from the same domain"):
            new(name).fit(train, other.prefix(HORIZON))
    simulated, _ = toy_pair()
    with pytest.raises(UserError, match="must come from the battery domain"):
        new(name).fit(simulated, simulated.prefix(4))


@every_method
def test_no_cells_are_refused(name: str) -> None:
    train, test = pair()
    for one, two in ((train.select([]), test), (train, test.select([]))):
        with pytest.raises(UserError, match="at least one of each"):
            new(name).fit(one, two.prefix(HORIZON))


@pytest.mark.parametrize("name", ["slev", "slev_log_loss", "slev_shift_weighted", "slev_balanced"])
def test_one_class_is_refused(name: str) -> None:
    train, test = pair()
    with pytest.raises(UserError, match="needs at least two of each"):
        new(name).fit(train.select(range(7)), test.prefix(HORIZON))


@pytest.mark.parametrize("name", ["slev", "life_regression"])
def test_too_few_cells_for_a_life_are_refused(name: str) -> None:
    train, test = pair("life")
    with pytest.raises(UserError, match="needs at least 5"):
        new(name).fit(train.select(range(4)), test.prefix(HORIZON))


@every_method
def test_order_of_calls_is_checked(name: str) -> None:
    _, test = pair()
    with pytest.raises(NotFittedError, match="call fit"):
        new(name).predict(test.prefix(HORIZON))
    with pytest.raises(UserError, match=f"fitted at horizon {HORIZON} and cannot predict at 20"):
        fitted(name)[0].predict(test.prefix(20))


@every_method
def test_scikit_learn_manners(name: str) -> None:
    kind = CARDS[name].load()
    defaults = {p.name: p.default for p in inspect.signature(kind).parameters.values()}
    assert "seed" in defaults
    assert vars(kind()) == defaults
    given = {argument: object() for argument in defaults}
    assert vars(kind(**given)) == given
    copy = clone(fitted(name)[0])
    assert copy.get_params() == new(name).get_params()
    assert not hasattr(copy, "answer_")


@every_method
def test_progress_rises_and_can_stop_the_work(name: str) -> None:
    train, test = pair()
    told: list[float] = []
    new(name).fit(train, test.prefix(HORIZON), None, told.append)
    assert told[-1] == 1.0
    assert all(0 <= share <= 1 for share in told)

    def stop(share: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        new(name).fit(train, test.prefix(HORIZON), None, stop)


@every_method
def test_cells_without_any_change(name: str) -> None:
    """Equal curves in all cycles are a case whose logarithm is not a number if it is forgotten."""
    train, test = (
        replace(
            side, fleet=replace(side.fleet, curves=np.repeat(side.fleet.curves[:1, :1], 12, axis=1).repeat(n, axis=0))
        )
        for side, n in zip(pair(), (14, 6), strict=True)
    )
    assert np.isfinite(predictions(name, train, test)).all()


@every_method
def test_card(name: str) -> None:
    card = CARDS[name]
    assert card.name == name
    assert card.title == METHODS[name].title, "a method has one title everywhere"
    assert card.version >= 1
    assert card.needs <= set(CAPABILITIES)
    assert not card.sentence.endswith(".")
    load = Workload(train_policies=41, test_policies=83, units=1, rollouts=1, steps=2300, dim=1, horizon=5)
    assert 0 < card.cost(load, {}) < 5
    assert 0 < card.prepare_cost(load, {}) < 5


def test_prefix_type() -> None:
    assert isinstance(pair()[1].prefix(HORIZON), CellPrefix)
