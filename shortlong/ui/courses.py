"""What is stored of the course of each policy: bands of the histories, and the rewards that methods play to the end.

Only summaries and artefacts are read, never whole histories, so that results from which these were kept can be shown too.
"""

import numpy as np
import streamlit as st

from shortlong import experiment
from shortlong.errors import UserError
from shortlong.scenario import Scenario
from shortlong.store import Store
from shortlong.ui.results import Summary, View, load_summary, store

ROLLOUT = "rollout_rewards"  # the artefact of methods that play a policy to the end


def summary_of(view: View) -> Summary:
    summary = load_summary(view.scenario)
    if summary is None:
        raise UserError("The histories of this scenario are missing in the result folder; compute the scenario again.")
    return summary


def rollout_curves(scenario: Scenario, method: str, horizon: int) -> dict[str, np.ndarray] | None:
    """Mean reward of every step after the horizon by policy, as a method expects it, mean over seeds.

    None when the method does not play policies to the end, or nothing was kept of it.
    """
    cells = [c for c in experiment.cells_of(scenario) if (c.method, c.horizon) == (method, horizon)]
    return _rollout_curves(str(store().root), tuple(cell.key for cell in cells))


@st.cache_resource(max_entries=256, show_spinner=False)
def _rollout_curves(root: str, keys: tuple[str, ...]) -> dict[str, np.ndarray] | None:
    entries = [Store(root).get(key, verify=False) for key in keys]
    kept = [entry for entry in entries if entry and entry.has("artefacts.npz")]
    curves = [a[ROLLOUT] for entry in kept if ROLLOUT in (a := entry.arrays("artefacts"))]
    if not curves:
        return None
    labels = kept[0].table("predictions")["policy"].unique()  # in the order in which the policies were predicted
    return dict(zip(map(str, labels), np.mean(curves, axis=0), strict=True))
