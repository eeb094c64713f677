"""Numbers and tables of the Shift page: small summaries instead of the prefixes they came from.

Section 4.1 and Theorem 4.1 of the paper: how far the new policies are from the histories, and what that costs in accuracy.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from shortlong.analysis.choice import ABOVE, BELOW, WITHIN, beyond_history
from shortlong.analysis.density import Bound, ShiftReport, diagnose, theorem_bound
from shortlong.analysis.headline import mean_over_seeds, over_seeds
from shortlong.analysis.policies import new_actions
from shortlong.compute.dataset import Dataset
from shortlong.core.errors import UserError
from shortlong.core.trajectories import Trajectories
from shortlong.domains import DOMAINS
from shortlong.scenario import Scenario

WEIGHTED = "density_ratio"
UNKNOWN_END = "not known yet"
BINS = 40
TABLES = ("shift", "shift_coverage", "shift_weights")  # in which diagnoses are kept
NUMBERS = ("horizon", "samples", "effective", "effective_clipped", "largest_ratio", "auc", "largest_return")
ASK_FROM = 5_000  # units on both sides from which on a diagnosis takes more than a moment


@dataclass(frozen=True)
class Shift:
    """The diagnosis at one horizon."""

    horizon: int
    coverage: pd.DataFrame  # policy, distance, typical, limit, extrapolating
    weights: pd.DataFrame  # from, to, samples: histogram of the weights of training units
    samples: int  # n
    effective: float  # effective sample size, before weights are clipped
    largest_ratio: float  # M
    auc: float
    largest_return: float  # V
    effective_clipped: float | None = None  # effective sample size of the clipped weights, which a weighted fit uses

    @property
    def effective_share(self) -> float:
        return self.effective / self.samples


def shift_of(dataset: Dataset, horizon: int) -> Shift:
    """Diagnose the prefixes of a data set at a horizon."""
    train, test = dataset.train, dataset.test
    if not (isinstance(train, Trajectories) and isinstance(test, Trajectories)):
        raise UserError("These data have no states and actions over time to compare; choose another domain.")
    found: ShiftReport = diagnose(train, test.prefix(horizon))
    returns = np.abs(train.returns)
    return Shift(
        horizon,
        found.coverage.sort_values("distance", ascending=False, ignore_index=True),
        _histogram(found.ratio.train),
        found.samples,
        found.ratio.effective_sample_size,
        found.ratio.largest,
        found.ratio.auc,
        float(returns.max()),
        found.ratio.clipped_effective_sample_size,
    )


def as_tables(shifts: Iterable[Shift]) -> dict[str, pd.DataFrame]:
    """Diagnoses of several horizons as tables that can be kept: one of numbers, one of policies, one of weights."""
    every = list(shifts)
    numbers = pd.DataFrame([{name: getattr(one, name) for name in NUMBERS} for one in every])
    parts = {
        part: pd.concat([getattr(one, part).assign(horizon=one.horizon) for one in every], ignore_index=True)
        for part in ("coverage", "weights")
    }
    return dict(zip(TABLES, (numbers, *parts.values()), strict=True))


def from_tables(tables: Mapping[str, pd.DataFrame]) -> dict[int, Shift]:
    """The diagnoses again, by horizon; none where nothing was kept."""
    found: dict[int, Shift] = {}
    if not tables:
        return found
    for row in tables["shift"].to_dict("records"):
        numbers: dict[str, Any] = {str(name): value for name, value in row.items()}
        parts = {
            part: (table := tables[f"shift_{part}"])[table["horizon"] == row["horizon"]]
            .drop(columns="horizon")
            .reset_index(drop=True)
            for part in ("coverage", "weights")
        }
        found[int(row["horizon"])] = Shift(**numbers, **parts)
    return found


@dataclass(frozen=True)
class Departures:
    """Three ways in which the new policies can leave the history, counted at one horizon."""

    policies: int
    unfamiliar_starts: int  # farther from the history than nearly all historical policies are from each other
    new_action_seen: int  # its example unit has received a new action within the horizon
    new_action_ever: int  # ... or at any later step
    above: int  # final values above every historical one
    below: int  # final values below every historical one
    known: bool = True  # whether anybody knows the final values

    @property
    def beyond(self) -> int:
        return self.above + self.below


def departure_table(
    shift: Shift,
    labels: Sequence[str],
    true: np.ndarray,
    history: np.ndarray,
    actions: np.ndarray,
    history_actions: np.ndarray,
    amounts: bool,
) -> pd.DataFrame:
    """The three facts per new policy; actions (policies, steps, dim) are those of each policy's example unit."""
    unfamiliar = dict(zip(shift.coverage["policy"].astype(str), shift.coverage["extrapolating"], strict=True))
    new = new_actions(actions.reshape(-1, actions.shape[-1]), history_actions, amounts).reshape(actions.shape[:2])
    return pd.DataFrame(
        {
            "policy": list(labels),
            "unfamiliar_start": [bool(unfamiliar[label]) for label in labels],
            "new_action_seen": new[:, : shift.horizon].sum(axis=1),
            "new_action_ever": new.sum(axis=1),
            "true": true,
            "end": np.where(
                np.isnan(true), UNKNOWN_END, np.where((side := beyond_history(true, history)) == WITHIN, "within", side)
            ),
        }
    )


def departures_of(table: pd.DataFrame) -> Departures:
    """The counts of a table made by ``departure_table``."""
    return Departures(
        policies=len(table),
        unfamiliar_starts=int(table["unfamiliar_start"].sum()),
        new_action_seen=int((table["new_action_seen"] > 0).sum()),
        new_action_ever=int((table["new_action_ever"] > 0).sum()),
        above=int((table["end"] == ABOVE).sum()),
        below=int((table["end"] == BELOW).sum()),
        known=not (table["end"] == UNKNOWN_END).any(),
    )


def beyond_by_method(values: pd.DataFrame, history: np.ndarray, horizon: int) -> pd.DataFrame:
    """Per method, predictions averaged over seeds: how many lie outside the historical range, and how many rightly so.

    Columns: method, policies, predicted_beyond, correctly (on the side where the policy truly ends), truly_beyond,
    lowest and highest prediction.
    """
    rows = []
    for method, group in mean_over_seeds(values[values["horizon"] == horizon]).groupby("method", sort=False):
        predicted, true = (beyond_history(group[name], history) for name in ("predicted", "true"))
        known = bool(group["true"].notna().all())
        rows.append(
            {
                "method": str(method),
                "policies": len(group),
                "predicted_beyond": int((predicted != WITHIN).sum()),
                "correctly": int(((predicted != WITHIN) & (predicted == true)).sum()) if known else None,
                "truly_beyond": int((true != WITHIN).sum()) if known else None,
                "lowest": float(group["predicted"].min()),
                "highest": float(group["predicted"].max()),
            }
        )
    return pd.DataFrame(rows)


def _histogram(weights: np.ndarray) -> pd.DataFrame:
    """Counts of weights in bins of equal width on a logarithmic scale."""
    low, high = float(weights.min()), float(weights.max())
    edges = np.geomspace(low, max(high, low * 1.01), BINS + 1)
    edges[0], edges[-1] = min(edges[0], low), max(edges[-1], high)  # rounding must lose no sample
    counts, _ = np.histogram(weights, edges)
    return pd.DataFrame({"from": edges[:-1], "to": edges[1:], "samples": counts})


def bound_of(shift: Shift, delta: float, class_size: float, ratio_error: float) -> Bound:
    """Theorem 4.1 with the numbers of a diagnosis."""
    return theorem_bound(
        largest_ratio=shift.largest_ratio,
        largest_return=shift.largest_return,
        samples=shift.samples,
        class_size=class_size,
        delta=delta,
        ratio_error=ratio_error,
    )


def bound_table(bound: Bound) -> pd.DataFrame:
    """The terms of the theorem, and the largest squared error that is possible at all."""
    rows = [
        ("model class", bound.class_term),
        ("sampling", bound.sampling_term),
        ("estimated weights", bound.ratio_term),
        ("bound (sum)", bound.total),
        ("largest possible error", bound.largest_return**2),
    ]
    return pd.DataFrame(rows, columns=["term", "squared error"])


def slev_only(scenario: Scenario, weights: str) -> Scenario:
    """The same data, horizons and seeds with SLEV alone; ``weights`` "" is its default, which is unweighted."""
    return scenario.changed({"settings.slev.weights": weights, "methods": "slev"})


def has_trajectories(scenario: Scenario) -> bool:
    """Whether there are states and actions over time, without which no shift can be diagnosed."""
    return "states" in scenario.offers


def slev_errors(plain: pd.DataFrame, with_weights: pd.DataFrame) -> pd.DataFrame:
    """Typical error of SLEV over horizons without and with weights, mean over seeds: horizon, unweighted, weighted."""
    both = [
        over_seeds(metrics[metrics["method"] == "slev"]).set_index("horizon")["mean"].rename(name)
        for metrics, name in ((plain, "unweighted"), (with_weights, "weighted"))
    ]
    return pd.concat(both, axis=1).sort_index().reset_index()


def units_of(scenario: Scenario) -> int:
    """Units on both sides: what a diagnosis has to look at."""
    sizes = DOMAINS[scenario.data.domain].sizes(scenario.data)
    return (sizes["train_policies"] + sizes["test_policies"]) * sizes["units"]
