"""A back-test in the shape of results, so that every page that shows results can show it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from shortlong.compute.courses import Members
from shortlong.compute.failures import FailedMethod
from shortlong.compute.sources import Courses, Details, ShiftTables
from shortlong.compute.summary import Summary
from shortlong.core.calibration import Calibration, Leave
from shortlong.core.errors import UserError
from shortlong.core.metrics import evaluate
from shortlong.methods import METHODS
from shortlong.scenario import Scenario


@dataclass(frozen=True)
class BackTestSource:
    """A back-test in the shape of results: the old policies stand where new ones do, and their truth is known."""

    scenario: Scenario
    calibration_table: Calibration
    bands: Summary | None
    from_shipped: bool
    failed: tuple[FailedMethod, ...] = ()

    @property
    def seal(self) -> str:
        return f"back-test by {self.calibration_table.leave}"

    @cached_property
    def values(self) -> pd.DataFrame:
        rows = self.calibration_table.held_out
        order = {method: place for place, method in enumerate(METHODS)}
        rows = rows.sort_values(
            ["horizon", "method"], kind="stable", key=lambda c: c.map(order) if c.name == "method" else c
        )
        columns = ["seed", "method", "horizon", "policy", "predicted", "true"]
        return rows.assign(seed=self.scenario.seeds[0]).reset_index(drop=True)[columns]

    @cached_property
    def metrics(self) -> pd.DataFrame:
        return evaluate(self.values, self.values).assign(rmse_unit=np.nan, seconds=0.0)

    def predictions(self) -> pd.DataFrame:
        raise UserError("A back-test keeps the value of each policy; ask the calibration for its units.")

    @property
    def details(self) -> Details:
        return {}

    @cached_property
    def summary(self) -> Summary | None:
        """The bands of the old policies, on both sides."""
        if self.bands is None:
            return None
        known = [label for label in self.bands.labels["train"]]
        arrays = {name: array for name, array in self.bands.arrays.items() if name.startswith("train/")}
        arrays |= {name.replace("train/", "test/"): array for name, array in arrays.items()}
        return Summary(arrays, {"train": known, "test": known}, self.bands.from_shipped)

    @property
    def shift_tables(self) -> ShiftTables:
        return {}

    def rollouts(self, method: str, horizon: int) -> Courses | None:
        return None

    def members(self, method: str, horizon: int) -> dict[str, Members] | None:
        return None

    def calibration(self, leave: Leave, units: bool = False) -> Calibration | None:
        return self.calibration_table if leave == self.calibration_table.leave else None
