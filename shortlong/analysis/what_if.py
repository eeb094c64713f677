"""What if: a changed run beside the one that it is compared with: outcomes, error and decisions.

Both runs are read at the same observation period, by the same method and with the same threshold, so that only the change
makes the difference. Method and threshold are those that could have been known at the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from shortlong.analysis.decision_view import view_of
from shortlong.analysis.decisions import CONTINUE, DECISIONS, STOP
from shortlong.analysis.headline import at_horizon, headline, over_seeds, usual_horizon
from shortlong.analysis.runs import same_unit
from shortlong.analysis.safety import usual_limit
from shortlong.analysis.trust import chosen_by_history
from shortlong.compute.results import Results
from shortlong.compute.saved_runs import SavedRun
from shortlong.core.errors import UserError
from shortlong.scenario import Scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.scenario.what_ifs import WHAT_IFS

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Side:
    """One of the two runs."""

    scenario: Scenario
    outcomes: Floats  # of each new policy: the true value, or the predicted one where nobody knows the truth
    known: bool  # whether the outcomes are true ones
    history: Floats  # values of the historical policies; empty where they are missing
    curve: pd.DataFrame  # horizon, error: typical error of the method, on old policies where the truth is not known
    accuracy: float | None  # of yes/no outcomes at the horizon
    decisions: dict[str, int] | None  # new policies by decision; None without a back-test

    @property
    def error(self) -> Floats:
        return self.curve["error"].to_numpy(dtype=float)

    def error_at(self, horizon: int) -> float | None:
        here = self.curve.loc[self.curve["horizon"] == horizon, "error"]
        return float(here.iloc[0]) if len(here) else None

    @property
    def decided(self) -> int | None:
        """New policies that can be stopped or continued now."""
        return None if self.decisions is None else self.decisions[CONTINUE] + self.decisions[STOP]


@dataclass(frozen=True)
class WhatIf:
    """A changed run beside the one that it is compared with."""

    before: Side
    now: Side
    method: str
    horizon: int
    threshold: float | None  # below it a policy is unsafe; the usual one of the run that it is compared with

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.before, self.now


def what_if(before: Results, now: Results) -> WhatIf:
    """Compare two runs at a tenth of the time, or as near to it as both have results."""
    shared = sorted(set(before.horizons) & set(now.horizons))
    if not shared:
        raise UserError("The two runs have no observation period in common; choose another run to compare with.")
    horizon = usual_horizon(shared, now.scenario.system.steps)
    method = _method(before, now, horizon)
    history = before.history
    threshold = usual_limit(history) if history is not None and len(history) else None
    first, second = (_side(results, method, horizon, threshold) for results in (before, now))
    return WhatIf(first, second, method, horizon, threshold)


def _method(before: Results, now: Results, horizon: int) -> str:
    """The method that the history of the new run would choose among those of both; without a back-test the most accurate one."""
    both = [method for method in now.methods if method in before.methods]
    if not both:
        raise UserError("The two runs have no method in common; choose another run to compare with.")
    calibration = now.calibration()
    if calibration is not None and (chosen := chosen_by_history(calibration, horizon, both)):
        return chosen
    metrics = now.metrics[now.metrics["method"].isin(both)]
    return headline(metrics, now.values, horizon).method


def _side(results: Results, method: str, horizon: int, threshold: float | None) -> Side:
    judged = results if results.has_truth else results.back_test()
    metrics = results.metrics.iloc[:0] if judged is None else judged.metrics
    own = metrics[metrics["method"] == method]
    here = at_horizon(results.values, horizon)
    here = here[here["method"] == method]
    column = "true" if results.has_truth else "predicted"
    history = results.history
    accuracy = own.loc[own["horizon"] == horizon, "accuracy"] if "accuracy" in own else pd.Series(dtype=float)
    yes_or_no = "two_classes" in results.scenario.offers
    return Side(
        scenario=results.scenario,
        outcomes=here[column].to_numpy(dtype=float),
        known=results.has_truth,
        history=np.empty(0) if history is None else np.asarray(history, dtype=float),
        curve=over_seeds(own).rename(columns={"mean": "error"})[["horizon", "error"]].sort_values("horizon"),
        accuracy=float(accuracy.mean()) if yes_or_no and len(accuracy) and accuracy.notna().any() else None,
        decisions=_decisions(results, method, horizon, threshold),
    )


def _decisions(results: Results, method: str, horizon: int, threshold: float | None) -> dict[str, int] | None:
    if threshold is None:
        return None
    try:
        here = view_of(results, horizon=horizon, threshold=threshold, method=method).new_policies
    except UserError:  # no back-test
        return None
    counts = here["decision"].astype(str).value_counts()
    return {decision: int(counts.get(decision, 0)) for decision in DECISIONS}


# --- what to compare with -------------------------------------------------------------------------------------------
def comparable(scenario: Scenario, runs: Sequence[SavedRun]) -> list[SavedRun]:
    """Complete runs that a scenario can be compared with, the one with the fewest differing settings first.

    Among equals the preset that the scenario started from comes first, then the order of the list.
    """
    others = [
        run
        for run in runs
        if run.complete and run.scenario and run.scenario.key != scenario.key and same_unit(run.scenario, scenario)
    ]

    def distance(run: SavedRun) -> tuple[int, bool]:
        assert run.scenario is not None
        own_preset = scenario.preset in PRESETS and run.scenario.key == preset(scenario.preset).key
        return len(scenario.differences(run.scenario)), not own_preset

    return sorted(others, key=distance)


def is_changed(scenario: Scenario) -> bool:
    """Whether there is something to compare: an unchanged preset is nobody's what-if."""
    return scenario.preset not in PRESETS or preset(scenario.preset).key != scenario.key


def at_demo_size(scenario: Scenario) -> Scenario | None:
    """The quick illustration with the same change of actions; None where no action was changed, or where it is that already."""
    name = f"{scenario.data.domain}-demo"
    if scenario.preset not in PRESETS or name not in PRESETS:
        return None
    changed = scenario.differences(preset(scenario.preset))
    paths = {path for base, changes in WHAT_IFS.values() if base == name for path in changes}
    actions = {path: here or "" for path, (here, _) in changed.items() if path in paths}
    if not actions:
        return None
    small = preset(name).changed(actions)
    return None if small.key == scenario.key else small
