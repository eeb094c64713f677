"""What is stored of the course of each policy: bands of the histories, and the rewards that methods play to the end.

Only summaries and artefacts are read, never whole histories: the gallery keeps these too.
"""

import numpy as np
import streamlit as st

from shortlong.compute import shipped as gallery
from shortlong.compute.experiment import Cell
from shortlong.compute.shipped import ROLLOUT
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.scenario import Scenario
from shortlong.ui.results import Summary, View, load_summary, store


def summary_of(view: View) -> Summary:
    summary = load_summary(view.scenario)
    if summary is None:
        raise UserError("The histories of this scenario are missing in the result folder; compute the scenario again.")
    return summary


def rollout_curves(scenario: Scenario, method: str, horizon: int) -> dict[str, np.ndarray] | None:
    """Mean reward of every step after the horizon by policy, as a method expects it, mean over seeds.

    One's own results, else those of the gallery; None when the method does not play policies to the end, or nothing was
    kept of it.
    """
    here, keys = store(), [Cell(scenario, method, horizon, seed).key for seed in scenario.seeds]
    if own := tuple(key for key in keys if here.has(key)):
        return _own_curves(str(here.root), own)
    item = gallery.find(scenario)
    return _shipped_curves(item.seal, item).get((method, horizon)) if item else None


@st.cache_resource(max_entries=256, show_spinner=False)
def _own_curves(root: str, keys: tuple[str, ...]) -> dict[str, np.ndarray] | None:
    entries = [Store(root).get(key, verify=False) for key in keys]
    kept = [entry for entry in entries if entry and entry.has("artefacts.npz")]
    curves = [a[ROLLOUT] for entry in kept if ROLLOUT in (a := entry.arrays("artefacts"))]
    if not curves:
        return None
    labels = kept[0].table("predictions")["policy"].unique()  # in the order in which the policies were predicted
    return dict(zip(map(str, labels), np.mean(curves, axis=0), strict=True))


@st.cache_resource(max_entries=8, show_spinner=False)
def _shipped_curves(seal: str, _item: gallery.Item) -> dict[tuple[str, int], dict[str, np.ndarray]]:
    labels = _item.labels["test"]
    return {where: dict(zip(labels, curves, strict=True)) for where, curves in _item.rollouts().items()}
