"""When the truth arrives: predictions that were made from an earlier, shorter table beside the outcomes of a longer one."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from shortlong.core.trajectories import Trajectories
from shortlong.domains.table.domain import Table, TableSettings


def outcomes_of(settings: TableSettings) -> dict[str, float]:
    """The value of every policy that the table follows to its full length."""
    domain = Table()
    found: dict[str, float] = {}
    for part in domain.parts(settings):
        if part.role == "train":
            runs = domain.simulate(settings, part)
            assert isinstance(runs, Trajectories)
            found |= dict(zip(map(str, runs.labels), map(float, runs.values), strict=True))
    return found


def why_not_comparable(earlier: TableSettings, later: TableSettings) -> str | None:
    """Why outcomes of the later table are not what the earlier one predicted; None if they are."""
    before, now = earlier.facts, later.facts
    if before["steps"] != now["steps"]:
        return (
            f"The full length was {before['steps']:,} steps and is {now['steps']:,} now, so the values are not the same thing; "
            f"set the full length to {before['steps']:,} to compare."
        )
    if bool(before["outcome"]) != bool(now["outcome"]):
        return "One table gives an outcome per unit and the other sums rewards, so their values are not the same thing."
    return None


def later_truth(predictions: pd.DataFrame, outcomes: Mapping[str, float]) -> pd.DataFrame:
    """Predictions whose outcome is known by now.

    Parameters
    ----------
    predictions : DataFrame
        method, horizon, policy, predicted, lower, upper (``outlook.outlook``).
    outcomes : mapping
        The value of each policy that has been followed to the end.

    Returns
    -------
    DataFrame
        The rows with a known outcome, with ``true``, ``error`` (predicted minus true) and ``inside`` (missing where the interval
        was not finite).
    """
    known = predictions[predictions["policy"].astype(str).isin(list(outcomes))].copy()
    known["true"] = [outcomes[str(policy)] for policy in known["policy"]]
    known["error"] = known["predicted"] - known["true"]
    finite = np.isfinite(known["lower"]) & np.isfinite(known["upper"])
    held = (known["lower"] <= known["true"]) & (known["true"] <= known["upper"])
    known["inside"] = held.astype(object).where(finite, None)
    return known.reset_index(drop=True)


def how_good(compared: pd.DataFrame) -> pd.DataFrame:
    """By method and horizon: policies, rmse, and how many finite intervals held the outcome."""
    rows = []
    for _, some in compared.groupby(["method", "horizon"], sort=False, observed=True):
        judged = some["inside"].dropna()
        rows.append(
            {
                "method": str(some["method"].iloc[0]),
                "horizon": int(some["horizon"].iloc[0]),
                "policies": len(some),
                "rmse": float(np.sqrt((some["error"] ** 2).mean())),
                "intervals": len(judged),
                "inside": int(sum(bool(held) for held in judged)),
            }
        )
    return pd.DataFrame(rows, columns=["method", "horizon", "policies", "rmse", "intervals", "inside"])
