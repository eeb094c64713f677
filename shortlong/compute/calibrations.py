"""Reading what the history says of itself, as a ``Calibration`` for intervals, choices and decisions."""

from collections.abc import Sequence

import pandas as pd

from shortlong.compute.back_test import BackTest, back_tests_of
from shortlong.compute.left_out import families_of
from shortlong.compute.policy_weights import read_ratios
from shortlong.compute.store import Entry, Store
from shortlong.core.calibration import BY_FOLD, HELD_OUT, UNITS, Calibration, Leave
from shortlong.scenario import Scenario


def read_calibration(
    scenario: Scenario, store: Store, leave: Leave, units: bool = False, partial: bool = False
) -> Calibration | None:
    """A scenario's back-test; None before it is complete. ``units`` reads the many rows of units as well.

    Some methods leave theirs behind with their predictions, but a part of the methods is no comparison of methods;
    ``partial`` takes it all the same.
    """
    found = []
    for key, back_test in back_tests_of(scenario, leave).items():
        entry = store.get(key, verify=False)
        if entry is None and not partial and not store.has(back_test.failure_key):
            return None
        found += [(back_test, entry)] if entry is not None else []
    if not found:
        return None
    held_out = _gathered(scenario, found, "policies")
    labels = list(held_out["policy"].unique())
    families = dict(zip(labels, families_of(scenario.domain, scenario.data, labels), strict=True))
    held_out["family"] = held_out["policy"].map(families)
    by_fold = _gathered(scenario, found, "new")
    rows = _gathered(scenario, found, "units") if units else None
    return Calibration(
        leave,
        held_out[list(HELD_OUT)],
        by_fold[list(BY_FOLD)],
        None if rows is None else rows[list(UNITS)],
        read_ratios(scenario, store),
    )


def _gathered(scenario: Scenario, found: Sequence[tuple[BackTest, Entry]], name: str) -> pd.DataFrame:
    """One table of all back-tests; what a method says at every horizon alike stands at each of them."""
    parts = []
    for judged, entry in found:
        table = entry.table(name)
        table["policy"] = table["policy"].astype(str)
        same = not judged.computation.card.uses_prefix
        for horizon in scenario.horizons if same else (judged.computation.horizon,):
            parts.append(table.assign(method=judged.computation.method, horizon=horizon))
    return pd.concat(parts, ignore_index=True)
