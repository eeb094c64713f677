"""Results worked out by hand, for tests of what is made of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from shortlong.compute.failures import FailedMethod
from shortlong.compute.results import Results
from shortlong.compute.sources import Courses, Details
from shortlong.compute.summary import Summary
from shortlong.core.calibration import Calibration, Leave
from shortlong.core.predictions import prediction_table
from shortlong.scenario import Scenario


@dataclass(frozen=True)
class GivenSource:
    """A source that holds what a test gives it."""

    values: pd.DataFrame
    metrics: pd.DataFrame
    summary: Summary | None = None
    details: Details = field(default_factory=dict)
    failed: tuple[FailedMethod, ...] = ()
    shift_tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    courses_after: Mapping[tuple[str, int], Courses] = field(default_factory=dict)  # by method and horizon
    judged: Calibration | None = None  # what the history says of itself
    from_shipped: bool = False
    seal: str = ""

    def predictions(self) -> pd.DataFrame:
        return self.values.assign(unit=0)

    def calibration(self, leave: Leave, units: bool = False) -> Calibration | None:
        return self.judged if self.judged is not None and self.judged.leave == leave else None

    def rollouts(self, method: str, horizon: int) -> Courses | None:
        return self.courses_after.get((method, horizon))


def given_results(
    scenario: Scenario,
    values: pd.DataFrame,
    metrics: pd.DataFrame,
    history: ArrayLike | None = None,
    courses: Mapping[str, np.ndarray] | None = None,
    **more: Any,
) -> Results:
    """Results with these tables; ``history`` are the values of old policies, ``courses`` the mean rewards of new ones."""
    summary = None if history is None else _summary(np.asarray(history, float), courses or {})
    return Results(scenario, GivenSource(values, metrics, summary, **more))


def dense_table(predicted: ArrayLike, true: ArrayLike, labels: Sequence[str]) -> pd.DataFrame:
    """The rows of one computation from values (policy, unit): all policies on the same units."""
    guess, truth = np.asarray(predicted, float), np.asarray(true, float)
    policy, unit = (numbers.ravel() for numbers in np.indices(truth.shape))
    return prediction_table(guess.ravel(), truth.ravel(), policy, unit, labels)


def _summary(history: np.ndarray, courses: Mapping[str, np.ndarray]) -> Summary:
    rewards = np.array([[course] * 3 for course in courses.values()])
    labels = {"train": [f"old {i}" for i in range(len(history))], "test": list(courses)}
    return Summary({"train/returns": history[:, None], "test/rewards": rewards}, labels)
