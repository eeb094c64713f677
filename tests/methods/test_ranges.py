"""Every setting of every method has a range: values just outside are refused before any work, those at the edges run."""

import math
from typing import Any

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.methods import METHODS, MethodCard
from shortlong.methods.ranges import Choice, LayerWidths, Number, Range, Switch, Whole
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from tests.methods.problems import FAST, TOY
from tests.saying import says

CARDS: list[MethodCard] = [*METHODS.values(), *(v for card in METHODS.values() for v in card.variants.values())]
SETTINGS = [(card.name, name, allowed) for card in METHODS.values() for name, allowed in card.settings.items()]
NEVER = (math.nan, math.inf, -math.inf, 10**400, -(10**30), "", "no such word", "\ud800", "1" * 5000)

every_setting = pytest.mark.parametrize(
    ("method", "name", "allowed"), SETTINGS, ids=[f"{m}.{n}" for m, n, _ in SETTINGS]
)


def edges(allowed: Range) -> list[Any]:
    """Values at the edges of a range."""
    match allowed:
        case Whole(least, most):
            return [least, most]
        case Number(least, most):
            return [int(least), float(least), float(most)]
        case Choice(names):
            return list(names)
        case Switch():
            return [True, False]
        case LayerWidths():
            return ["auto", "1", "1000-1000-1000-1000-1000-1000"]
    raise AssertionError(f"say what is at the edges of {allowed}")


def outside(allowed: Range) -> list[Any]:
    """Values just outside a range."""
    match allowed:
        case Whole(least, most):
            return [least - 1, most + 1, float(least), str(least), True]
        case Number(least, most):
            return [math.nextafter(least, -math.inf), math.nextafter(most, math.inf), str(least), True]
        case Choice(names):
            return [names[0].upper(), names[0] + " ", names[0][:-1], 0, True]
        case Switch():
            return [0, 1, "true"]
        case LayerWidths():
            return ["0", "1001", "1-", "-1", "20,10", "1.5", "1-" * 6 + "1", 20, "٣"]
    raise AssertionError(f"say what is outside {allowed}")


def with_setting(method: str, name: str, value: Any) -> Scenario:
    base = preset("kidney-demo" if method == "slev_pooled" else "hiv-demo").model_dump()
    return Scenario.build({**base, "methods": (method,), "settings": {method: {name: value}}})


@pytest.mark.parametrize("card", CARDS, ids=[f"{card.where}" for card in CARDS])
def test_every_keyword_argument_has_a_range(card: MethodCard) -> None:
    defaults = card.load()().get_params()
    del defaults["seed"]  # that of the computation
    assert set(defaults) == set(card.settings)
    for name, value in defaults.items():
        assert value is None or card.settings[name].allows(value), f"the default of {name} is refused"


@every_setting
def test_values_at_the_edges_are_accepted(method: str, name: str, allowed: Range) -> None:
    for value in edges(allowed):
        if (method, name, value) == ("slev_pooled", "normalisation", "log10"):
            continue  # kidney has states that may be negative
        scenario = with_setting(method, name, value)
        assert scenario.settings == {method: {name: value}}
        assert type(scenario.settings[method][name]) is type(value), "it enters the hash as it was given"
        METHODS[method].load()(**{name: value})


@every_setting
def test_values_outside_are_refused_with_a_sentence(method: str, name: str, allowed: Range) -> None:
    for value in (*outside(allowed), *NEVER):
        with pytest.raises(UserError) as caught:
            with_setting(method, name, value)
        sentence = str(caught.value)
        assert f"settings.{method}.{name}" in sentence, f"{value!r}: {sentence}"
        assert len(sentence) < 400
        assert "\ud800" not in sentence


@pytest.mark.heavy
@every_setting
def test_smallest_values_work(method: str, name: str, allowed: Range) -> None:
    """The lower edge is not only accepted: the method runs there."""
    if method not in TOY.methods:
        pytest.skip("it cannot run on the toy problem")
    train, test = TOY.pair
    value = edges(allowed)[-1 if isinstance(allowed, Switch) else 0]
    fitted = METHODS[method].load()(**{**FAST.get(method, {}), name: value}).fit(train, test.prefix(TOY.horizon))
    assert np.isfinite(fitted.predict(test.prefix(TOY.horizon))).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"settings.cohort_slev.folds": "1"}, ["settings.cohort_slev.folds is 1", "2 to 50"]),
        ({"settings.fqe.trees": "0"}, ["settings.fqe.trees is 0", "1 to 500"]),
        ({"settings.sled.adapter_folds": "0"}, ["settings.sled.adapter_folds is 0", "2 to 50"]),
        ({"settings.sled.margin": "nan"}, ["settings.sled.margin is 'nan'", "0 to 100"]),
        ({"settings.slev.size": "giant"}, ["settings.slev.size is 'giant'", "demo, standard, paper"]),
        ({"settings.slev.race": "1"}, ["settings.slev.race is 1", "true or false"]),
        ({"settings.mean_reward.pace": "1"}, ["no setting 'pace'", "none"]),
        ({"settings.slev.seed": "1"}, ["no setting 'seed'", "size"]),
    ],
)
def test_sentence_names_setting_value_and_range(change: dict[str, str], words: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        preset("hiv-demo").changed(change)
    assert says(str(caught.value), *words)


def test_logarithms_of_states_that_may_be_negative_are_refused() -> None:
    with pytest.raises(UserError, match=r"log10.*choose paper"):
        preset("kidney-demo").changed({"settings.sled.normalisation": "log10"})
    assert preset("hiv-demo").changed({"settings.sled.normalisation": "log10"})


def test_settings_of_a_battery_are_those_of_its_variant() -> None:
    with pytest.raises(UserError, match=r"settings\.slev: .*no setting 'size'"):
        preset("battery-demo").changed({"settings.slev.size": "demo"})


def test_many_problems_are_counted() -> None:
    settings = {"slev": {f"name_{i}": 1 for i in range(1000)}}
    with pytest.raises(UserError, match="995 more") as caught:
        Scenario.build({**preset("hiv-demo").model_dump(), "settings": settings})
    assert len(str(caught.value)) < 1500


def test_one_number_of_trees_is_a_grid_of_one() -> None:
    train, test = TOY.pair
    kind = METHODS["fqe"].load()
    one, several = (kind(size="demo", trees=trees, batch=500).fit(train, test.prefix(1)) for trees in (3, (3,)))
    assert one.details()["trees"] == 3
    np.testing.assert_array_equal(one.predict(test.prefix(1)), several.predict(test.prefix(1)))
