"""What every domain of the register must do. A new domain is covered as soon as it is registered.

It is tested with the data of its demo preset; if these are large, give it smaller ones in ``SMALL``. If its histories are not
``Trajectories``, say in ``ELSEWHERE`` where it is tested.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest

from shortlong.compute.dataset import load_dataset, simulate_part
from shortlong.compute.store import Store
from shortlong.core.errors import Cancelled
from shortlong.core.trajectories import Trajectories
from shortlong.domains import DOMAINS, PRESET_DOMAINS
from shortlong.domains.base import CAPABILITIES, Part, Settings, offers_of
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from tests.conftest import TINY_HIV

SMALL: dict[str, dict[str, Any]] = {
    "hiv": TINY_HIV["data"],  # type: ignore[dict-item]
    "kidney": {"train": {"policies": 3}, "test": {"policies": 2}, "patients": 4, "rollouts": 2},
}
ELSEWHERE = {"battery": "cells are no trajectories: tests/domains/battery/test_domain.py"}
HERE = [name for name in PRESET_DOMAINS if name not in ELSEWHERE]

every_domain = pytest.mark.parametrize("name", PRESET_DOMAINS)
every_simulation = pytest.mark.parametrize("name", HERE)


def settings_of(name: str) -> Any:
    demo = preset(f"{name}-demo").data
    return type(demo).model_validate({"domain": name, **SMALL[name]}) if name in SMALL else demo


@cache
def histories(name: str, number: int = 0) -> Trajectories:
    settings = settings_of(name)
    return DOMAINS[name].simulate(settings, DOMAINS[name].parts(settings)[number])  # type: ignore[return-value]


@every_domain
def test_register(name: str) -> None:
    domain = DOMAINS[name]
    assert domain.name == name
    assert domain.version >= 1
    assert domain.offers <= set(CAPABILITIES)
    assert domain.title[0].isupper()
    assert domain.notice.endswith(".")
    assert domain.unit


@every_domain
def test_every_setting_has_a_help_text(name: str) -> None:
    def check(kind: type[Settings]) -> None:
        for field_name, field in kind.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, Settings):
                check(field.annotation)
            elif field_name != "domain":
                assert field.description, f"{kind.__name__}.{field_name} needs a description, which the app shows"

    check(type(preset(f"{name}-demo").data))


@every_domain
def test_link_and_command(name: str) -> None:
    """A scenario that started from no preset is told as what differs from the domain's demo."""
    assert f"{name}-demo" in PRESETS
    scenario = preset(f"{name}-demo").model_copy(update={"preset": "", "seeds": (4,)})
    assert scenario.to_command() == f"python -m shortlong run {name}-demo --seeds 4"
    assert Scenario.from_parameters(scenario.to_parameters()).key == scenario.key


@every_simulation
def test_parts_are_known_by_what_made_them(name: str) -> None:
    settings = settings_of(name)
    parts = DOMAINS[name].parts(settings)
    assert {part.role for part in parts} == {"train", "test"}
    assert all(part.cost > 0 for part in parts)
    again = DOMAINS[name].parts(settings.model_copy(update={"seed": settings.seed + 1}))
    keys = [part.key for part in (*parts, *again)]
    assert len(set(keys)) == len(keys)
    assert [part.key for part in DOMAINS[name].parts(settings)] == [part.key for part in parts]
    assert all(part.ingredients["version"] == DOMAINS[name].version for part in parts)


@every_simulation
def test_same_settings_same_histories(name: str) -> None:
    """Whatever the state of the global random generator; another seed gives others."""
    settings, domain = settings_of(name), DOMAINS[name]
    np.random.seed(99)
    again: Any = domain.simulate(settings, domain.parts(settings)[0])
    for part in ("states", "actions", "rewards"):
        assert getattr(again, part).tobytes() == getattr(histories(name), part).tobytes()
    other = settings.model_copy(update={"seed": settings.seed + 1})
    moved: Any = domain.simulate(other, domain.parts(other)[0])
    assert moved.states.tobytes() != histories(name).states.tobytes()


@every_simulation
def test_sizes_are_those_of_the_histories(name: str, store: Store) -> None:
    settings, domain = settings_of(name), DOMAINS[name]
    for part in domain.parts(settings):
        simulate_part(str(store.root), settings, part)
    data = load_dataset(store, settings)
    sizes = domain.sizes(settings)
    for role, runs in (("train", data.train), ("test", data.test)):
        assert runs.policy_count == sizes[f"{role}_policies"]
        assert runs.unit_counts.tolist() == [sizes["units"]] * runs.policy_count
        assert (runs.rollout_count, runs.dim) == (sizes["rollouts"], sizes["dim"])
        assert runs.system.steps == sizes["steps"] == runs.rewards.shape[-1]
        assert len(set(runs.labels)) == runs.policy_count
        assert np.isfinite(runs.states).all()
        assert np.isfinite(runs.rewards).all()
    assert not set(data.train.labels) & set(data.test.labels)
    assert ("several_rollouts" in offers_of(domain, settings)) == (sizes["rollouts"] > 1)


@every_simulation
def test_system_fits_the_histories(name: str) -> None:
    runs = histories(name)
    system = runs.system
    assert len(system.state_names) == len(system.state_units) == runs.dim
    assert len(system.action_names) == runs.actions.shape[-1]
    assert len(system.state_scale) in (0, runs.dim)
    assert not system.positive_states or (runs.states >= 0).all()


@every_simulation
def test_reward_is_earned_on_the_state_after_the_step(name: str) -> None:
    runs = histories(name)
    reward = runs.system.reward_of_states
    assert (reward is not None) == ("reward_of_states" in DOMAINS[name].offers)
    if reward is not None:
        recorded = runs.rewards[..., : runs.recorded_steps]
        np.testing.assert_allclose(reward(runs.states[..., 1:, :]), recorded, rtol=1e-3, atol=1e-5)


@every_simulation
def test_policies_answer_after_a_way_through_arrays(name: str) -> None:
    runs = histories(name)
    assert (runs.policies is not None) == ("callable_policies" in DOMAINS[name].offers)
    for number, policy in enumerate(runs.policies or []):
        own = runs.rows_of(number)
        states, before = runs.states[own, 0, 1], runs.actions[own, 0, 0]
        actions, probabilities = policy.distribution(states, before)
        assert actions.shape == (len(states), probabilities.shape[1], runs.actions.shape[-1])
        np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-6)
        taken = runs.actions[own, 0, 1]
        distance = np.abs(actions - taken[:, None]).max(axis=2)
        assert (np.where(probabilities > 0, distance, np.inf).min(axis=1) < 1e-5).all(), "it did what it says"
        rebuilt = DOMAINS[name].policy_from_arrays(policy.to_arrays())
        np.testing.assert_array_equal(rebuilt.distribution(states, before)[0], actions)


@every_simulation
def test_progress_rises_to_the_end_and_can_stop_the_work(name: str) -> None:
    settings, domain = settings_of(name), DOMAINS[name]
    part: Part = domain.parts(settings)[0]
    told: list[float] = []
    domain.simulate(settings, part, told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0

    def stop(share: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        domain.simulate(settings, part, stop)
