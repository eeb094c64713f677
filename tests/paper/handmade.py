"""Results that are worked out by hand, so that one knows which statements hold on them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shortlong.paper.evidence import BatteryTable, Evidence, Measured
from shortlong.scenario.presets import preset
from tests.given import given_results

Curve = float | Sequence[float]  # one number for all horizons, or one per horizon
# The world as the paper describes it: SLEV is best early, last reward late on HIV, mean reward late on kidney.
HIV_ERRORS: dict[str, Curve] = {
    "slev": (50, 45, 40, 35, 30),
    "sled": (90, 80, 70, 60, 50),
    "fqe": 140,
    "online_dynamics": (150, 140, 130, 120, 100),
    "mean_reward": (300, 250, 200, 150, 90),
    "last_reward": (310, 260, 180, 90, 10),
    "off_policy_mean": 120,
}
KIDNEY_ERRORS: dict[str, Curve] = {
    "slev": (0.5, 0.45, 0.4, 0.38, 0.36),
    "sled": (0.9, 0.8, 0.7, 0.6, 0.5),
    "fqe": 1.5,
    "online_dynamics": (2.5, 2.4, 2.3, 2.2, 2.0),
    "mean_reward": (1.9, 1.7, 1.0, 0.6, 0.3),
    "last_reward": (4.0, 3.5, 3.2, 3.1, 3.0),
    "off_policy_mean": 1.2,
}
HIV_TRUE = (20.0, 60.0, 150.0, 250.0, 313.7)
HIV_SAID = {
    "slev": (25.0, 70.0, 140.0, 240.0, 295.9),
    "fqe": (30.0, 120.0, 160.0, 170.0, 201.7),
    "online_dynamics": (30.0, 120.0, 160.0, 90.0, 200.0),
    "mean_reward": (1.0, 4.0, 40.0, 60.0, 5.9),
    "last_reward": (1.0, 5.0, 70.0, 90.0, 40.6),
}
HISTORY = np.linspace(88.0, 200.0, 11)  # its bottom tenth ends at 99.2, near the paper's 100
KIDNEY_TRUE = (8.39, 7.9, 7.6)
KIDNEY_SAID = {"slev": (8.41, 7.86, 7.5), "mean_reward": (6.0, 9.0, 4.0)}


def evidence(
    domain: str,
    errors: Mapping[str, Curve],
    true: Sequence[float],
    said: Mapping[str, Sequence[float]],
    history: np.ndarray | None = None,
    seeds: Sequence[int] = (0,),
) -> Evidence:
    """Evidence of the domain's demo, with these errors and the same predictions at every horizon."""
    scenario = preset(f"{domain}-demo")
    horizons, labels = scenario.horizons, [f"policy {i}" for i in range(len(true))]
    metrics = [
        {
            "seed": seed,
            "method": method,
            "horizon": horizon,
            "rmse_policy": float(error),
            "bias": 1.0,
            "ordered_pairs": 0.5,
            "seconds": 1.0,
        }
        for seed in seeds
        for method, curve in errors.items()
        for horizon, error in zip(horizons, np.broadcast_to(curve, len(horizons)), strict=True)
    ]
    values = [
        {"seed": s, "method": m, "horizon": h, "policy": label, "predicted": guess, "true": truth}
        for s in seeds
        for m, guesses in said.items()
        for h in horizons
        for label, guess, truth in zip(labels, guesses, true, strict=True)
    ]
    steps = 200 if domain == "hiv" else 30
    courses = {label: np.full(steps, value / steps) for label, value in zip(labels, true, strict=True)}
    old = true if history is None else history
    return Evidence(given_results(scenario, pd.DataFrame(values), pd.DataFrame(metrics), old, courses))


def hiv(**changes: Any) -> Evidence:
    """HIV as the paper has it, with some errors (``errors``) or predictions (``said``) changed."""
    errors, said = HIV_ERRORS | changes.pop("errors", {}), HIV_SAID | changes.pop("said", {})
    return evidence("hiv", errors, HIV_TRUE, said, changes.pop("history", HISTORY), **changes)


def kidney(**changes: Any) -> Evidence:
    errors, said = KIDNEY_ERRORS | changes.pop("errors", {}), KIDNEY_SAID | changes.pop("said", {})
    return evidence("kidney", errors, KIDNEY_TRUE, said, **changes)


def battery(synthetic: bool = False, **correct: tuple[float, float]) -> BatteryTable:
    """Table 1 as printed, with some numbers (full, filtered) changed."""
    numbers = {"slev": (72, 22), "sled": (62, 62), "naive_bayes": (22, 22), "always_high": (61, 61), **correct}
    rows = [
        {"method": m, "training": t, "correct": float(n), "total": 83, "reason": f"{m} because of {t}"}
        for m, pair in numbers.items()
        for t, n in zip(("full", "filtered"), pair, strict=True)
    ]
    return BatteryTable(pd.DataFrame(rows), synthetic)


def as_in_the_paper(**changes: Any) -> Measured:
    """A world in which every statement of the paper holds, but for the changes."""
    return Measured(**({"hiv": hiv(), "kidney": kidney(), "battery": battery()} | changes))
