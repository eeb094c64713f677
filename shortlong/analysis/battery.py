"""Tables and numbers behind the Battery page: the paper's table, the range over fleets, the fits; no drawing.

The table is the paper's section on batteries; the fits and the right-aligned curves belong to its appendix figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import pandas as pd

from shortlong.analysis.battery_table import HORIZON, PAPER, ROWS, TRAININGS, Row, spread_of
from shortlong.compute.answers import MethodAnswer
from shortlong.domains.battery.data import FIRST_CYCLE, Fleet
from shortlong.domains.battery.features import default_pair, high_life, log_variance
from shortlong.methods.battery.classify import LONGEST_ANSWER
from shortlong.methods.battery.curve_fit import BaseCurve

CURVE_STEP = 5  # cycles between drawn points of a capacity curve: the eye sees no difference


@dataclass(frozen=True)
class LifeFit:
    """The straight line of ln life over the feature, as the regression of the table has it."""

    training: str
    cells: int
    intercept: float
    slope: float
    said_high: int  # test cells

    def life(self, feature: np.ndarray) -> np.ndarray:
        """Life in cycles, as it is answered: never beyond the longest."""
        return np.minimum(np.exp(self.intercept + self.slope * feature), LONGEST_ANSWER)

    @property
    def factor_of_ten(self) -> float:
        """The factor by which a tenfold variance changes the expected life: 0.5 means half of it."""
        return float(10**self.slope)


@dataclass(frozen=True)
class CellFit:
    """SLED on one test cell: the observed cycles, the later ones, and the fitted base curve."""

    name: str
    true_life: float
    threshold: float
    horizon: int
    fitted_life: float
    seen: tuple[np.ndarray, np.ndarray]  # cycles, Ah
    later: tuple[np.ndarray, np.ndarray]
    curve: tuple[np.ndarray, np.ndarray]

    @property
    def right(self) -> bool:
        return (self.fitted_life >= self.threshold) == (self.true_life >= self.threshold)


@dataclass(frozen=True)
class FleetRange:
    """How many test cells each method classifies correctly over several simulated fleets."""

    fleets: int
    counts: Mapping[tuple[str, str], tuple[float, int, int]]  # (method, training) -> mean, lowest, highest

    def ends(self, method: str, training: str) -> tuple[int, int] | None:
        """Lowest and highest number; None where the method could not run on any fleet."""
        found = self.counts.get((method, training))
        return found[1:] if found else None


def fleet_range(counts: pd.DataFrame) -> FleetRange | None:
    """The range over the fleets of ``battery_table.fleet_counts``; None for a single fleet, which has no range."""
    if counts["fleet"].nunique() < 2:
        return None
    found = spread_of(counts).dropna()
    keys = zip(found["method"].astype(str), found["training"].astype(str), strict=True)
    numbers = zip(found["mean"].tolist(), found["lowest"].tolist(), found["highest"].tolist(), strict=True)
    ends = [(float(mean), round(lowest), round(highest)) for mean, lowest, highest in numbers]
    return FleetRange(int(counts["fleet"].nunique()), dict(zip(keys, ends, strict=True)))


def find_row(rows: Sequence[Row], method: str, training: str) -> Row:
    return next(row for row in rows if (row.method, row.training) == (method, training))


def correct_table(rows: Sequence[Row], label: str, over: FleetRange | None = None) -> pd.DataFrame:
    """Cells classified correctly per method after full and after filtered training, with the paper's numbers.

    With ``over`` the lowest and highest number over several fleets have columns of their own.
    """
    lines = []
    for method in dict.fromkeys(row.method for row in rows):
        full, filtered = (find_row(rows, method, training) for training in TRAININGS)
        printed = [round(percent / 100 * 83) for percent in PAPER.get(method, ())]
        lines.append(
            {
                "method": ROWS[method],
                "full training": full.correct,
                "filtered training": filtered.correct,
                "of": full.total,
                "paper, full (of 83)": printed[0] if printed else None,
                "paper, filtered (of 83)": printed[1] if printed else None,
                **_range_columns(over, method),
                "cells": label,
            }
        )
    whole = {c: "Int64" for c in lines[0] if c not in ("method", "cells")}
    return pd.DataFrame(lines).astype(whole)


def _range_columns(over: FleetRange | None, method: str) -> dict[str, int | None]:
    """The fewest and most correct cells over several fleets, under the column names of the charts ("full, lowest")."""
    if over is None:
        return {}
    ends = {training: over.ends(method, training) or (None, None) for training in TRAININGS}
    return {
        f"{training}, {name}": pair[place]
        for training, pair in ends.items()
        for place, name in enumerate(("lowest", "highest"))
    }


def reason_lines(rows: Sequence[Row]) -> list[tuple[str, str, str]]:
    """Title, training and reason of every row that has one."""
    return [(ROWS[row.method], row.training, row.reason) for row in rows if row.reason]


def feature_table(fleet: Fleet, filter_below: float) -> pd.DataFrame:
    """One row per cell: its feature ln var(Q_5 - Q_4), its life, and whether it trains, trains after the filter, or is asked."""
    trains = (fleet.cells["split"] == "train").to_numpy()
    kept = fleet.lives < filter_below
    return pd.DataFrame(
        {
            "cell": fleet.names,
            "policy": fleet.cells["policy"].to_numpy(),
            "feature": log_variance(fleet, default_pair(fleet, HORIZON)),
            "life": fleet.lives,
            "role": np.where(trains, np.where(kept, "training", "removed"), "test"),
        }
    )


def cells_table(features: pd.DataFrame, label: str) -> pd.DataFrame:
    """``feature_table`` as people read it."""
    roles = {"training": "training", "removed": "training, full only", "test": "test"}
    names = {"policy": "charging protocol", "feature": "early variance, ln var(Q5 - Q4)", "life": "cycle life"}
    return features.assign(role=features["role"].map(roles), cells=label).rename(columns=names)


def life_fits(rows: Sequence[Row]) -> list[LifeFit]:
    """The two lines through the training cells; a training set that allows none has none."""
    fits = []
    for training in TRAININGS:
        row = find_row(rows, "life_regression", training)
        if row.answer is not None:
            intercept, slope = map(float, row.answer.artefacts["coefficients"])
            fits.append(
                LifeFit(training, row.training_cells, intercept, slope, int((row.answer.predicted >= 0.5).sum()))
            )
    return fits


def base_curves(rows: Sequence[Row]) -> dict[str, BaseCurve]:
    """SLED's base curve by training set, where the data allow one."""
    found = {training: find_row(rows, "sled", training).answer for training in TRAININGS}
    return {t: BaseCurve.from_arrays(answer.artefacts) for t, answer in found.items() if answer is not None}


def held_out_error(curve: BaseCurve) -> float:
    """Typical error in Ah of the base curve on cells that it was not fitted to."""
    return sqrt(curve.errors[curve.base.name])


def aligned_curves(training: Fleet) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Capacity of each training cell over the cycles before its end of life, moved to a largest value of 1."""
    curves = {}
    for name, life in zip(training.names, training.lives, strict=True):
        cycles, values = training.capacities[name]
        alive = cycles <= life
        aligned = values[alive] - (values[alive].max() - 1)
        curves[name] = cycles[alive][::CURVE_STEP] - life, aligned[::CURVE_STEP]
    return curves


def cell_fit(
    rows: Sequence[Row], fleet: Fleet, name: str, training: str, threshold: float, horizon: int = HORIZON
) -> CellFit | None:
    """SLED's fit of one test cell beside what was measured of it; None where SLED does not apply."""
    answer = find_row(rows, "sled", training).answer
    if answer is None:
        return None
    test = fleet.split()[1]
    place = test.names.index(name)
    life, shift = (float(answer.artefacts[name][place, 0]) for name in ("life", "shift"))
    cycles, values = test.capacities[name]
    seen = cycles <= horizon
    time = np.arange(FIRST_CYCLE, max(life, test.lives[place]) + 1, CURVE_STEP)
    lifted = BaseCurve.from_arrays(answer.artefacts)(time - life) + shift + (values[seen].max() - 1)
    return CellFit(
        name,
        float(test.lives[place]),
        threshold,
        horizon,
        life,
        (cycles[seen], values[seen]),
        (cycles[~seen][::CURVE_STEP], values[~seen][::CURVE_STEP]),
        (time, lifted),
    )


def cell_answers(rows: Sequence[Row], fleet: Fleet, name: str, threshold: float) -> pd.DataFrame:
    """The prediction of every method for one test cell."""
    test = fleet.split()[1]
    place = test.names.index(name)
    truth = int(high_life(test.lives, threshold)[place])
    return pd.DataFrame([_answer_line(row, row.answer, place, truth) for row in rows if row.answer is not None])


def class_name(long_lived: bool) -> str:
    return "long-lived" if long_lived else "short-lived"


def _answer_line(row: Row, answer: MethodAnswer, place: int, truth: int) -> dict[str, object]:
    said, life = int(answer.predicted[place] >= 0.5), answer.artefacts.get("life")
    return {
        "method": ROWS[row.method],
        "training": row.training,
        "prediction": class_name(bool(said)),
        "correct": "yes" if said == truth else "no",
        "probability of long life": None if row.probability is None else float(row.probability[place]),
        "predicted life in cycles": None if life is None else float(life[place, 0]),
    }
