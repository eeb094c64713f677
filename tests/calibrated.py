"""Small calibrations for tests: errors are given by hand, so that every interval can be counted out."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from shortlong.core.calibration import Calibration, Leave, no_fold_predictions


def calibrated(
    errors: Mapping[str, Mapping[int, Sequence[float]]],
    *,
    true: Sequence[float] | None = None,
    fold: Sequence[int] | None = None,
    family: Sequence[object] | None = None,
    leave: Leave = "policy",
    by_fold: pd.DataFrame | None = None,
    ratios: pd.DataFrame | None = None,
    units: pd.DataFrame | None = None,
) -> Calibration:
    """A calibration from errors (true minus predicted) by method and horizon, one per old policy o0, o1, ...; NaN: no row."""
    rows = []
    for method, own in errors.items():
        for horizon, values in own.items():
            for place, error in enumerate(values):
                if np.isnan(error):
                    continue
                outcome = 100.0 if true is None else float(true[place])
                group = place if family is None else family[place]
                part = place if fold is None else fold[place]
                rows.append((method, horizon, f"o{place}", group, part, outcome - error, outcome))
    names = ["method", "horizon", "policy", "family", "fold", "predicted", "true"]
    folds = no_fold_predictions() if by_fold is None else by_fold
    return Calibration(leave, pd.DataFrame(rows, columns=names), folds, units, ratios)


def asked(values: Mapping[str, float], method: str = "slev", horizon: int = 5) -> pd.DataFrame:
    """Predictions for new policies."""
    return pd.DataFrame(
        {"method": method, "horizon": horizon, "policy": list(values), "predicted": list(values.values())}
    )
