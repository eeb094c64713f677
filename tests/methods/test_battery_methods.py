"""What only methods for battery cells must do; what all methods must do is in ``test_common``."""

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.domains.battery.histories import CellPrefix
from shortlong.methods import METHODS
from shortlong.methods.battery.reasons import two_digits
from tests.methods.problems import BATTERY, LIVES, TOY, Case, cases

every_case = pytest.mark.parametrize("case", cases(BATTERY))


def test_all_battery_methods_are_covered() -> None:
    names = set(BATTERY.methods)
    assert {"slev", "sled", "off_policy_mean", "naive_bayes", "always_high", "life_regression"} <= names
    assert {name for name, card in METHODS.items() if "battery_cycles" in {*card.needs, *card.variants}} == names


@pytest.mark.parametrize("name", sorted(set(BATTERY.methods) - set(LIVES.methods)))
def test_classifiers_refuse_to_predict_lives(name: str) -> None:
    train, test = LIVES.pair
    prefix = test.prefix(LIVES.horizon)
    with pytest.raises(UserError, match=r"predicts no life|outcome=class"):
        Case(BATTERY, name).new().fit(train, prefix).predict(prefix)


def test_reasons_are_kept_with_the_predictions() -> None:
    def reason(name: str, problem: object = BATTERY) -> str:
        return Case(problem, name).fitted()[0].details()["reason"]

    assert "fold accuracy" in reason("slev")
    assert "SLED predicts" in reason("sled")
    assert "Selected:" in reason("slev_balanced")
    assert "smallest left-out error" in reason("slev", LIVES)
    assert "training cells count like" in reason("slev_shift_weighted")


@every_case
def test_histories_of_a_simulator_are_refused(case: Case) -> None:
    train, test = TOY.pair
    with pytest.raises(UserError, match="battery domain"):
        case.new().fit(train, test.prefix(TOY.horizon))


@pytest.mark.parametrize("name", ["slev", "slev_log_loss", "slev_shift_weighted", "slev_balanced"])
def test_one_class_is_refused(name: str) -> None:
    train, test = BATTERY.pair
    with pytest.raises(UserError, match="at least two"):
        Case(BATTERY, name).new().fit(train.select(range(7)), test.prefix(BATTERY.horizon))


@pytest.mark.parametrize("name", ["slev", "life_regression"])
def test_too_few_cells_for_a_life_are_refused(name: str) -> None:
    train, test = LIVES.pair
    with pytest.raises(UserError, match="needs at least 5"):
        Case(LIVES, name).new().fit(train.select(range(4)), test.prefix(LIVES.horizon))


def test_sled_calls_some_cells_high_and_one_low() -> None:
    """Else a SLED that calls every cell high would pass unnoticed."""
    _, predicted = Case(BATTERY, "sled").fitted()
    assert len(np.unique(np.round(predicted))) == 2


@every_case
def test_fits_take_seconds(case: Case) -> None:
    for load in (BATTERY.small, BATTERY.large):
        assert case.card.cost(load, {}) < 5
        assert case.card.prepare_cost(load, {}) < 5


def test_prefix_type() -> None:
    assert isinstance(BATTERY.pair[1].prefix(BATTERY.horizon), CellPrefix)


def test_reasons_have_no_powers_of_ten() -> None:
    assert [two_digits(value) for value in (-6.7e-5, 1e-4, 0.5, 1.0, 14567.0)] == [
        "-0.000067",
        "0.0001",
        "0.5",
        "1",
        "15000",
    ]
