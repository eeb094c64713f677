"""How much joint dynamics learns at each size, and how long it takes. Light to import: the register reads it.

``standard`` and ``paper`` differ in the number of updates alone; more updates halve the error of one step on the histories. All was
fixed on data that had been looked at (data seeds 0 and 11) before any other data were simulated, so that errors on those are honest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from shortlong.methods.cards import Workload
from shortlong.methods.ranges import NORMALISATIONS, Choice, Number, Range, Whole

KINDS = ("both", "full", "ode")
PREFIXES = ("always", "never")
TUNING_RATE = 1e-3
BASE_RATE = 3e-3


@dataclass(frozen=True)
class JointSize:
    """Members, what they learn from, and for how long."""

    members: int  # of each kind
    hidden: tuple[int, ...]
    transitions: int  # historical steps
    updates: int  # of the base, from histories alone
    tuning: int  # updates with prefixes
    batch: int


FULL = JointSize(4, (64, 64), transitions=400_000, updates=10_000, tuning=500, batch=512)
SIZES = {
    "demo": JointSize(2, (32, 32), transitions=60_000, updates=800, tuning=150, batch=256),
    "standard": replace(FULL, updates=5000),
    "paper": FULL,
}

SETTINGS: dict[str, Range] = {
    "size": Choice(tuple(SIZES)),
    "members": Whole(1, 64),
    "kinds": Choice(KINDS),
    "prefixes": Choice(PREFIXES),
    "normalisation": Choice(NORMALISATIONS),
    "margin": Number(0, 100),
}


def _of(settings: Mapping[str, Any]) -> tuple[JointSize, float]:
    """The size, and its members in units of one ``full`` network."""
    size = SIZES.get(str(settings.get("size", "standard")), SIZES["standard"])
    each = settings.get("members") or size.members
    kinds = settings.get("kinds", "both")
    return size, each * ((kinds != "ode") + 6.5 * (kinds != "full"))


def _update_seconds(size: JointSize, networks: float) -> float:
    """CPU-seconds of one update of all members, measured."""
    return 5e-4 + size.batch * networks * (2e-7 + 1.3e-10 * size.hidden[0] ** 2)


def base_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """Expected CPU-seconds of the base."""
    size, networks = _of(settings)
    return 0.5 + size.updates * _update_seconds(size, networks)


def fit_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """Expected CPU-seconds of tuning and playing at one horizon: networks, and asking policies at every step."""
    size, networks = _of(settings)
    played = load.test_policies * load.units * load.rollouts * (load.steps - load.horizon)
    asked = 5e-7 if load.small_networks else 4e-6
    members = (settings.get("members") or size.members) * (2 if settings.get("kinds", "both") == "both" else 1)
    return (
        0.5
        + size.tuning * _update_seconds(size, networks)
        + played * (members * asked + networks * 1e-8 * size.hidden[0])
    )
