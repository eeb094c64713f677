"""What the regression methods see of a prefix: normalised states and rewards, per unit or pooled over a policy's cohort."""

from typing import Any, Literal

import numpy as np

from shortlong.core.errors import UserError
from shortlong.core.trajectories import Floats, System, _Runs
from shortlong.learn.rollout_layer import inputs_by_rollout

Normalisation = Literal["paper", "log10"]
TINY = 1e-6  # added before the logarithm: cell counts below it are as good as none
QUANTILES = (0.1, 0.5, 0.9)


def normalised_states(states: Floats, system: System, how: str) -> Floats:
    """States divided by the paper's scale, or their logarithm; float32 (..., dim)."""
    if how == "paper":
        scale = np.asarray(system.state_scale or (1.0,) * states.shape[-1], dtype=np.float32)
        return (states / scale).astype(np.float32)
    if how == "log10":
        if not system.positive_states:
            raise UserError(
                f"The normalisation 'log10' needs positive states, which the domain {system.name!r} does not have; "
                "choose normalisation 'paper'."
            )
        return np.log10(np.maximum(states, 0) + TINY).astype(np.float32)
    raise UserError(f"There is no normalisation {how!r}; choose 'paper' or 'log10'.")


def best_normalisation(system: System) -> Normalisation:
    """Logarithms where states are positive and span orders of magnitude, else the paper's scale."""
    return "log10" if system.positive_states else "paper"


def chosen_normalisation(system: System, asked: str) -> str:
    """The normalisation that was asked for; ``auto`` stands for the best one."""
    return best_normalisation(system) if asked == "auto" else asked


def observed_steps(runs: _Runs, horizon: int, how: str) -> Floats:
    """(episode, rollout, horizon, dim + 1): the states after each observed step and their rewards."""
    states = normalised_states(runs.states[:, :, 1 : horizon + 1], runs.system, how)
    return np.concatenate([states, runs.rewards[:, :, :horizon, None]], axis=-1, dtype=np.float32)


def pooled_over_rollouts(runs: _Runs, horizon: int, how: str) -> Floats:
    """(episode, features): mean and spread over a unit's rollouts; does not depend on their order."""
    steps = observed_steps(runs, horizon, how)
    pooled = steps.mean(axis=1)
    if runs.rollout_count > 1:
        pooled = np.concatenate([pooled, steps.std(axis=1)], axis=-1)
    return pooled.reshape(len(pooled), -1)


def rollouts_side_by_side(runs: _Runs, horizon: int, how: str) -> Floats:
    """(episode, horizon * (dim + 1) * rollout): all rollouts of a unit, the rollout running fastest."""
    steps = observed_steps(runs, horizon, how)
    return inputs_by_rollout(steps.reshape(*steps.shape[:2], -1))


def cohort_features(runs: _Runs, horizon: int, how: str) -> Any:
    """(policy, features): means, spreads and quantiles over all units and rollouts of a policy, at every observed step."""
    return np.stack([_cohort(steps) for steps in runs.by_policy(observed_steps(runs, horizon, how))])


def _cohort(steps: Floats) -> Any:
    """The features of one policy from its steps (unit, rollout, horizon, dim + 1)."""
    samples = steps.reshape(-1, *steps.shape[2:])
    parts = [samples.mean(axis=0), samples.std(axis=0), *np.quantile(samples, QUANTILES, axis=0)]
    return np.concatenate([part.ravel() for part in parts]).astype(np.float64)


def states_from_normalised(values: Floats, system: System, how: str) -> Floats:
    """The inverse of ``normalised_states``."""
    if how == "log10":
        return np.maximum(np.power(10.0, values.astype(np.float64)) - TINY, 0.0)
    return values * np.asarray(system.state_scale or (1.0,) * values.shape[-1])
