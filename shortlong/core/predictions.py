"""Predictions: one tidy table from which all metrics are made.

A row per (scenario, seed, method, horizon, policy, unit), with what was ``predicted`` and what is ``true``.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

CELL = ["seed", "method", "horizon"]  # what identifies the result of one method at one horizon


def prediction_table(predicted: NDArray[np.float64], true: NDArray[np.float64], labels: Sequence[str]) -> pd.DataFrame:
    """Rows for one cell from arrays (policies, units); the cell's own columns are added when cells are collected."""
    if predicted.shape != true.shape or len(labels) != len(true):
        raise ValueError(f"predicted {predicted.shape}, true {true.shape} and {len(labels)} labels do not fit")
    policies, units = true.shape
    return pd.DataFrame(
        {
            "policy": pd.Categorical.from_codes(np.repeat(np.arange(policies), units), categories=pd.Index(labels)),
            "unit": np.tile(np.arange(units, dtype=np.int32), policies),
            "predicted": predicted.ravel().astype(np.float32),
            "true": true.ravel().astype(np.float32),
        }
    )


def per_policy(predictions: pd.DataFrame) -> pd.DataFrame:
    """The value of each policy: the mean over its units, predicted and true."""
    keys = [c for c in ("scenario", *CELL) if c in predictions.columns]
    exact = predictions.astype({"predicted": np.float64, "true": np.float64})  # a mean of float32 is rounded to float32
    return exact.groupby([*keys, "policy"], sort=False, observed=True)[["predicted", "true"]].mean().reset_index()
