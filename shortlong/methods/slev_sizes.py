"""How much SLEV searches at each size, and how long that takes. Light to import: the register of methods reads it."""

from dataclasses import dataclass, replace

from shortlong.errors import UserError
from shortlong.learn.race import Screening

SMALL, LARGE = (100, 20), (500, 300, 100, 20)  # the paper's two networks for kidney dialysis


@dataclass(frozen=True)
class SearchSize:
    """How much is searched; ``paper`` is what the paper prints."""

    learning_rates: tuple[float, ...]
    weight_decays: tuple[float, ...]
    folds: int
    steps: int
    networks: tuple[tuple[int, ...], ...] = ((50, 25, 10),)
    screening: Screening | None = None  # used by a race


SIZES = {
    "demo": SearchSize((1e-2, 1e-3), (1.0, 0.1), folds=3, steps=600),
    "standard": SearchSize((1e-2, 1e-3), (10.0, 1.0, 0.1), folds=5, steps=3000),
    "paper": SearchSize((1e-2, 1e-3, 1e-4), (25.0, 10.0, 1.0, 0.1), folds=10, steps=8000),
}
SIZES_WITH_ROLLOUTS = {
    "demo": SearchSize((1e-2, 1e-3), (1.0, 0.04), folds=3, steps=250, networks=(SMALL,)),
    "standard": SearchSize((1e-2, 1e-3), (1.0, 0.2, 0.04), 5, 3000, (SMALL, LARGE), Screening(3, 2, 2)),
    "paper": SearchSize((1e-2, 1e-3, 1e-4), (1.0, 0.2, 0.1, 0.04), 10, 8000, (SMALL, LARGE), Screening(4, 3, 2)),
}


def search_size(size: str, rollouts: int, pooled: bool) -> SearchSize:
    """What is searched where every unit has this many rollouts. Pooled inputs are few: the small network will do."""
    if size not in SIZES:
        raise UserError(f"SLEV has no size {size!r}; choose one of {', '.join(SIZES)}.")
    if rollouts == 1:
        return SIZES[size]
    found = SIZES_WITH_ROLLOUTS[size]
    return replace(found, networks=found.networks[:1], screening=None) if pooled else found
