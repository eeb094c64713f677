"""Episodes as a table in the format that can be added: to copy from, and to prove that nothing is lost on the way.

Rows are written as *leaving*: state, action and the reward that followed; the last row of a unit holds its last state only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from shortlong.core.trajectories import Trajectories


def export_table(train: Trajectories, test: Trajectories, observed: int | None = None) -> pd.DataFrame:
    """One row per policy, unit, rollout and step, in the precision of the episodes.

    Parameters
    ----------
    train, test : Trajectories
        Old and new policies, with states recorded to the end.
    observed : int, optional
        Steps that are written of new policies; without it all of them. The full length of old ones is always written.
    """
    import pandas as pd

    parts = [_rows(train, "history", train.system.steps), _rows(test, "new", observed or test.system.steps)]
    table = pd.concat(parts, ignore_index=True)
    if train.rollout_count == test.rollout_count == 1:
        table = table.drop(columns="rollout")
    return table


def _rows(runs: Trajectories, role: str, steps: int) -> pd.DataFrame:
    import pandas as pd

    episodes, rollouts = runs.states.shape[:2]
    steps = min(steps, runs.recorded_steps)
    shape = (episodes, rollouts, steps + 1)
    labels = np.array(runs.labels, dtype=object)
    episode, rollout, step = (index.ravel() for index in np.indices(shape))
    columns: dict[str, Any] = {
        "policy": labels[runs.policy][episode],
        "unit": runs.unit[episode],
        "rollout": rollout,
        "step": step,
    }
    for place, name in enumerate(runs.system.state_names):
        columns[f"state_{name}"] = runs.states[:, :, : steps + 1, place].ravel()
    for place, name in enumerate(runs.system.action_names):
        columns[f"action_{name}"] = _with_last(runs.actions[:, :, :steps, place])
    columns["reward"] = _with_last(runs.rewards[:, :, :steps])
    columns["role"] = role
    table = pd.DataFrame(columns)
    lengths = np.full(episodes, steps) if runs.lengths is None else np.minimum(runs.lengths, steps)
    return table[step <= lengths[episode]]


def _with_last(values: np.ndarray) -> np.ndarray:
    """Values (episode, rollout, step) with one more step that has none."""
    last = np.full((*values.shape[:2], 1), np.nan, dtype=values.dtype)
    return np.concatenate([values, last], axis=-1).ravel()
