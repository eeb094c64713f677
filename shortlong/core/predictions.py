"""Predictions: one tidy table from which all metrics are made.

A row per (scenario, seed, method, horizon, policy, unit), with what was ``predicted`` and what is ``true``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

COMPUTATION = ["seed", "method", "horizon"]  # the columns that name it: one method at one horizon with one seed


def prediction_table(
    predicted: NDArray[np.float64],
    true: NDArray[np.float64],
    policy: NDArray[np.integer[Any]],
    unit: NDArray[np.integer[Any]],
    labels: Sequence[str],
) -> pd.DataFrame:
    """Rows of one computation, one per episode; the columns that name it are added when results are collected.

    ``policy`` numbers the labels; ``true`` is not a number where nobody knows the outcome yet.
    """
    if not np.isin(policy, np.arange(len(labels))).all():
        raise ValueError(f"policies up to {policy.max()} do not fit {len(labels)} labels")
    if not predicted.shape == true.shape == policy.shape == unit.shape:
        raise ValueError(f"predicted {predicted.shape}, true {true.shape} and policies {policy.shape} do not fit")
    return pd.DataFrame(
        {
            "policy": pd.Categorical.from_codes(policy, categories=pd.Index(labels)),
            "unit": unit.astype(np.int32),
            "predicted": predicted.astype(np.float32),
            "true": true.astype(np.float32),
        }
    )


def per_policy(predictions: pd.DataFrame) -> pd.DataFrame:
    """The value of each policy: the mean over its units, predicted and true."""
    keys = [c for c in ("scenario", *COMPUTATION) if c in predictions.columns]
    exact = predictions.astype({"predicted": np.float64, "true": np.float64})  # a mean of float32 is rounded to float32
    groups = exact.groupby([*keys, "policy"], sort=False, observed=True)
    values = groups[["predicted", "true"]].mean()
    if exact["true"].isna().any():  # the units whose end is known do not speak for those that go on
        values["true"] = values["true"].where(groups["true"].count() == groups.size())
    return values.reset_index()
