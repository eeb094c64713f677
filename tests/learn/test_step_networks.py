"""Step networks: what each kind of member can and cannot express, and that training is repeatable."""

import numpy as np
import pytest
import torch

from shortlong.learn import step_networks
from shortlong.learn.step_networks import Frame, StepNetworks
from shortlong.learn.step_training import Adam, Pool, Steps, one_cycle, train

pytestmark = pytest.mark.heavy  # trains many networks

MATRIX = np.array([[-0.1, 0.05], [0.02, -0.2]])
EFFECT = np.array([[0.3, 0.0], [0.1, -0.4]])  # of two actions


def linear_steps(actions: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps s' = s + M s + E a + 0.1 from states anywhere."""
    before = np.random.default_rng(seed).uniform(-1, 3, size=(len(actions), 2))
    after = before + before @ MATRIX.T + actions @ EFFECT + 0.1
    return tuple(a.astype(np.float32) for a in (before, actions, after))  # type: ignore[return-value]


def choices(rows: list[list[float]], count: int, seed: int = 0) -> np.ndarray:
    return np.array(rows)[np.random.default_rng(seed).integers(len(rows), size=count)]


def networks_for(steps: tuple[np.ndarray, ...], full: int = 2, ode: int = 2, seed: int = 0) -> StepNetworks:
    return StepNetworks.initial(Frame.of(*steps), (16, 16), full, ode, np.random.default_rng(seed))


def fitted(steps: tuple[np.ndarray, ...], updates: int = 300, **counts: int) -> StepNetworks:
    networks = networks_for(steps, **counts)
    pool = Pool(Steps.of(networks, *steps), 1.0)
    train(networks, [pool], updates=updates, batch=64, rate=3e-3, generator=np.random.default_rng(1))
    return networks


def predicted(networks: StepNetworks, before: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """Next states (member, n, dim)."""
    states = torch.from_numpy(networks.frame.standardise(before)).expand(networks.count, -1, -1)
    scaled = torch.from_numpy(networks.frame.scale_actions(actions)).expand(networks.count, -1, -1)
    with torch.inference_mode():
        return networks.frame.restore((states + networks.change(states, scaled)).numpy())


def test_a_linear_system_is_met_also_under_a_combination_of_actions_that_nobody_used() -> None:
    old = linear_steps(choices([[1, 0], [0, 1], [1, 1]], 2000))
    before, actions, after = linear_steps(choices([[0, 0]], 200), seed=5)
    said = predicted(fitted(old), before, actions)
    spread = (old[2] - old[0]).std()
    assert np.abs(said[:2] - after).max() < 1e-3 * spread, "full members start from the exact line"
    assert np.abs(said[2:] - after).max() < 0.1 * spread


def test_an_untrained_full_member_is_the_least_squares_line() -> None:
    steps = linear_steps(choices([[1, 0], [0, 1], [1, 1]], 500))
    said = predicted(networks_for(steps, full=3, ode=0), *steps[:2])
    np.testing.assert_allclose(said, np.broadcast_to(steps[2], said.shape), atol=1e-4)


def test_actions_of_an_ode_member_act_separately(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within one substep what both actions do is the sum of what each does, wherever it is; a full member need not obey."""
    monkeypatch.setattr(step_networks, "SUBSTEPS", 1)
    networks = networks_for(linear_steps(choices([[1, 0], [0, 1], [1, 1]], 500)), full=1, ode=1)
    generator = np.random.default_rng(3)
    for tensor in networks.parameters:
        tensor += torch.from_numpy(generator.normal(0, 0.5, tensor.shape).astype(np.float32))
    states = torch.from_numpy(generator.normal(size=(20, 2)).astype(np.float32)).expand(2, -1, -1)

    def change(*action: float) -> np.ndarray:
        return networks.change(states, torch.tensor(action, dtype=torch.float32).expand(2, 20, 2)).numpy()

    joint, single = change(1, 1) + change(0, 0), change(1, 0) + change(0, 1)
    np.testing.assert_allclose(joint[1], single[1], atol=1e-4)
    assert np.abs(joint[0] - single[0]).max() > 0.003


@pytest.mark.heavy
def test_a_product_of_state_and_action_is_learned_and_carried_to_a_new_action() -> None:
    """s' = s + 0.2 a_1 sin(2 s) - 0.1 a_2 s: separable, so that "no action" follows from three known ones."""

    def steps(actions: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        before = np.random.default_rng(seed).uniform(-1.5, 1.5, size=(len(actions), 1))
        change = 0.2 * actions[:, :1] * np.sin(2 * before) - 0.1 * actions[:, 1:] * before + 0.05
        return tuple(a.astype(np.float32) for a in (before, actions, before + change))  # type: ignore[return-value]

    old = steps(choices([[1, 0], [0, 1], [1, 1]], 4000), 0)
    new = steps(choices([[0, 0]], 300), 1)
    said = predicted(fitted(old, updates=1500, full=1, ode=3), *new[:2]).mean(axis=2)
    wrong = np.sqrt(np.square(said[1:] - new[2][:, 0]).mean())
    assert wrong < 0.2 * (old[2] - old[0]).std()


def test_same_seed_same_members_and_a_copy_is_independent() -> None:
    steps = linear_steps(choices([[1, 0], [0, 1], [1, 1]], 500))
    one, two = fitted(steps, 20), fitted(steps, 20)
    for left, right in zip(one.parameters, two.parameters, strict=True):
        assert left.numpy().tobytes() == right.numpy().tobytes()
    kept = [tensor.clone() for tensor in one.parameters]
    copy = one.copy()
    pool = Pool(Steps.of(copy, *steps), 1.0)
    train(copy, [pool], updates=5, batch=32, rate=1e-2, generator=np.random.default_rng(0))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters, kept, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(copy.parameters, kept, strict=True))
    again = StepNetworks.from_arrays(one.to_arrays())
    assert predicted(again, *steps[:2]).tobytes() == predicted(one, *steps[:2]).tobytes()


@pytest.mark.parametrize(("full", "ode"), [(2, 0), (0, 2)])
def test_one_kind_alone(full: int, ode: int) -> None:
    steps = linear_steps(choices([[1, 0], [0, 1], [1, 1]], 500))
    networks = fitted(steps, 20, full=full, ode=ode)
    assert predicted(networks, *steps[:2]).shape == (2, 500, 2)
    assert StepNetworks.from_arrays(networks.to_arrays()).count == 2


def test_pools_are_drawn_in_their_shares() -> None:
    """A pool that says the opposite of another pulls the fit by its share."""
    before, actions, after = linear_steps(choices([[1, 0], [0, 1]], 400))
    networks = networks_for((before, actions, after), full=1, ode=0)
    contrary = Steps.of(networks, before, actions, after + np.float32(1.0))
    pools = [Pool(Steps.of(networks, before, actions, after), 0.75), Pool(contrary, 0.25)]
    train(networks, pools, updates=1500, batch=400, rate=3e-3, generator=np.random.default_rng(2))
    shift = predicted(networks, before, actions)[0] - after
    np.testing.assert_allclose(shift.mean(axis=0), 0.25, atol=0.05)


def test_learning_rate_rises_and_falls() -> None:
    rates = [one_cycle(update, 100, 1.0) for update in range(100)]
    assert rates[0] == pytest.approx(0.04)
    assert max(rates) == pytest.approx(1.0, abs=1e-3)
    assert rates[-1] < 0.01


def test_a_constant_state_and_an_unused_action_do_no_harm() -> None:
    before = np.ones((50, 2), np.float32)
    before[:, 1] = np.linspace(0, 1, 50)
    frame = Frame.of(before, np.zeros((50, 1), np.float32), before)
    assert all(np.isfinite(getattr(frame, name)).all() for name in ("spread", "action_scale", "change", "residual"))
    assert frame.spread[0] == frame.action_scale[0] == 1


def test_adam_is_that_of_torch_to_the_last_bit():
    generator = torch.Generator().manual_seed(3)
    start = [torch.randn(size, generator=generator) for size in ((4, 3), (7,), (2, 5, 3))]
    ours, theirs = ([tensor.clone().requires_grad_(True) for tensor in start] for _ in range(2))
    adam, torchs = Adam(ours), torch.optim.Adam(theirs, lr=1.0)
    for update in range(50):
        rate = one_cycle(update, 50, 0.01)
        torchs.param_groups[0]["lr"] = rate
        for tensors in (ours, theirs):
            sum(((tensor - 1.5) ** 2).sum() for tensor in tensors).backward()
        adam.step(rate)
        torchs.step()
        torchs.zero_grad()
    for mine, other in zip(ours, theirs, strict=True):
        assert torch.equal(mine, other)
    assert not any(torch.equal(mine, first) for mine, first in zip(ours, start, strict=True))
