"""How much SLED spends on its base model at each size, and how long it takes. Light to import: the register reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shortlong.learn.adapters import KINDS
from shortlong.methods.cards import Workload
from shortlong.methods.ranges import NORMALISATIONS, Choice, Number, Range, Whole


@dataclass(frozen=True)
class BaseSize:
    """How much is spent on the base model."""

    classes: tuple[tuple[int, ...], ...]  # hidden widths; empty: a linear model
    transitions: int
    folds: int
    steps: int
    batch: int
    seconds: float  # expected CPU time


SIZES = {
    "demo": BaseSize(((), (48, 48)), transitions=20_000, folds=3, steps=1500, batch=100, seconds=4.0),
    "standard": BaseSize(((), (64, 64)), transitions=100_000, folds=5, steps=6000, batch=200, seconds=25.0),
    "paper": BaseSize(((), (64, 64), (128, 128)), transitions=200_000, folds=5, steps=12_000, batch=200, seconds=80.0),
}

SETTINGS: dict[str, Range] = {
    "size": Choice(tuple(SIZES)),
    "normalisation": Choice(NORMALISATIONS),
    "adapter": Choice(("chosen", *KINDS)),
    "adapter_folds": Whole(2, 50),
    "margin": Number(0, 100),
}
ENSEMBLE_SETTINGS: dict[str, Range] = {name: SETTINGS[name] for name in ("size", "normalisation", "adapter", "margin")}


def base_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """Expected CPU-seconds of the base model."""
    return SIZES.get(str(settings.get("size", "standard")), SIZES["standard"]).seconds


def fit_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """Expected CPU-seconds of all adapters and rollouts at one horizon; the rollouts dominate."""
    rows = load.test_policies * load.units * load.rollouts * (load.steps - load.horizon)
    return 0.5 + 2.5e-6 * rows


def ensemble_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """Expected CPU-seconds of all members; their adapters are also played over half of the observed time."""
    size = SIZES.get(str(settings.get("size", "standard")), SIZES["standard"])
    observed = load.test_policies * load.units * load.rollouts * load.horizon
    return size.folds * (fit_seconds(load, settings) + 2.5e-6 * 12 * observed)
