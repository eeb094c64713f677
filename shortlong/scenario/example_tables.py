"""Example tables: our own simulators at a small size, in the format of one's own data."""

from typing import Any

from shortlong.core.trajectories import Trajectories, concatenate
from shortlong.domains import DOMAINS
from shortlong.domains.table.export import export_table
from shortlong.scenario.presets import preset

HORIZON = 8  # steps that were seen of the new policies
HIV = {"train_discounts": [0.7, 0.98], "test_discounts": [0.9], "rounds": 4, "patients": 8, "steps": 40, "trees": 4}
HIV |= {"rebuilds": 1, "backups": 20, "learning_patients": 8}
KIDNEY = {"train": {"policies": 12}, "test": {"policies": 3}, "patients": 8, "rollouts": 1, "recorded_steps": 30}


def example_table(domain: str) -> Any:
    """Old policies in full and new ones at their beginning, as a table; ``hiv`` or ``kidney``."""
    return _simulated(domain, {"hiv": HIV, "kidney": KIDNEY}[domain])


def _simulated(domain: str, settings: dict[str, Any]) -> Any:
    """Old policies in full and new ones at their beginning, as a table."""
    kind = type(preset(f"{domain}-demo").data)
    chosen = kind.model_validate({"domain": domain, **settings})
    sides: dict[str, list[Trajectories]] = {"train": [], "test": []}
    for part in DOMAINS[domain].parts(chosen):
        runs = DOMAINS[domain].simulate(chosen, part)
        assert isinstance(runs, Trajectories)
        sides[part.role].append(runs)
    return export_table(concatenate(sides["train"]), concatenate(sides["test"]), observed=HORIZON)
