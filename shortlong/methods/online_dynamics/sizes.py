"""What the online dynamics model searches and trains at each size, and how long that takes; imports nothing slow to load.

Networks and grids are those of the paper's appendix A.2: small ones with much weight decay for kidney, large ones for HIV.
A system says whether small ones suffice; others get the large ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from shortlong.methods.cards import Workload
from shortlong.methods.ranges import NORMALISATIONS, Choice, LayerWidths, Number, Range

LEARNING_RATES = (1e-2, 1e-3, 1e-4)


@dataclass(frozen=True)
class Printed:
    """What the paper prints for one kind of system, and CPU-seconds measured with it."""

    hidden: tuple[int, ...]
    weight_decays: tuple[float, ...]
    step_seconds: float  # one step of training one network
    answer_seconds: float  # what a policy would do in one state


LARGE = Printed((50, 25, 10), (1e-3, 1e-2, 1e-1, 1.0, 10.0, 25.0), step_seconds=4e-5, answer_seconds=5e-6)
SMALL = Printed((20, 10, 10), (0.04, 0.1, 0.2, 1.0), step_seconds=1.6e-5, answer_seconds=6e-7)


def printed(small: bool) -> Printed:
    """The network and the grid for a system for which small networks suffice, or not."""
    return SMALL if small else LARGE


@dataclass(frozen=True)
class SearchSize:
    """How much is searched and trained; ``paper`` has the printed grid, folds and steps.

    Not printed is how long early stopping waits: 500 steps gave held-out losses within one standard error of those with
    1000 (HIV, 250 units, horizons 5, 20 and 50) in three quarters of the time.
    """

    rates: int  # of the printed learning rates, from the largest
    decays: int  # of the printed weight decays, from the smallest
    searched: int  # policies on which a shared setting is chosen
    search_folds: int
    folds: int  # models per policy
    steps: int
    patience: int  # looks, one every 100 steps, without a smaller held-out loss

    def grid(self, small: bool) -> list[tuple[float, float]]:
        """Pairs of learning rate and weight decay for large or small networks."""
        return list(product(LEARNING_RATES[: self.rates], printed(small).weight_decays[: self.decays]))


SIZES = {
    "demo": SearchSize(2, 2, searched=2, search_folds=2, folds=2, steps=400, patience=2),
    "standard": SearchSize(2, 4, searched=3, search_folds=3, folds=5, steps=3000, patience=5),
    "paper": SearchSize(3, 6, searched=3, search_folds=3, folds=10, steps=8000, patience=5),
}

SETTINGS: dict[str, Range] = {
    "size": Choice(tuple(SIZES)),
    "hidden": LayerWidths(),
    "normalisation": Choice(NORMALISATIONS),
    "predicts": Choice(("state", "change")),
    "choice": Choice(("shared", "each")),
    "margin": Number(0, 100),
}


def fit_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """Expected CPU-seconds, from measurements on HIV and kidney: training, and asking policies in the rollout."""
    size = SIZES.get(settings.get("size", "standard"), SIZES["standard"])
    known = printed(load.small_networks)
    grid = len(size.grid(load.small_networks))
    each = settings.get("choice") == "each"
    searched = load.test_policies * size.folds * grid if each else size.searched * size.search_folds * grid
    trained = 0 if each else load.test_policies * size.folds
    long = size.steps / 8000  # the longer the training, the larger the part that early stopping and the race leave out
    steps = size.steps * (searched * (0.95 - 0.55 * long) + trained * (0.95 - 0.4 * long))
    asked = load.test_policies * (load.steps - load.horizon)
    per_answer = known.answer_seconds * size.folds * load.units * load.rollouts  # larger sizes have larger policies
    return 0.2 + known.step_seconds * steps + asked * (2e-4 + per_answer)
