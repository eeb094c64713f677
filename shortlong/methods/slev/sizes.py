"""How much SLEV searches at each size, and how long that takes. Light to import: the register of methods reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from shortlong.core.errors import UserError
from shortlong.learn.race import Screening
from shortlong.learn.rollout_layer import layer_widths
from shortlong.methods.cards import Workload
from shortlong.methods.ranges import NORMALISATIONS, Choice, Range, Switch

SMALL, LARGE = (100, 20), (500, 300, 100, 20)  # the paper's two networks for kidney dialysis
SMALLER_DECAYS = (0.004, 0.0004)

QUICK = Screening(folds=3, settings=1, race_after=300)
QUICK_WITH_ROLLOUTS = replace(QUICK, settings=2, rungs=((1000, 6), (2000, 3), (3000, 2)))


@dataclass(frozen=True)
class SearchSize:
    """How much is searched; ``paper`` is what the paper prints."""

    learning_rates: tuple[float, ...]
    weight_decays: tuple[float, ...]
    folds: int
    steps: int
    networks: tuple[tuple[int, ...], ...] = ((50, 25, 10),)
    screening: Screening | None = None  # used by a race
    quick: Screening = QUICK  # used by a quick search

    def screening_of(self, search: str, race: bool) -> Screening | None:
        """How the search is shortened: a quick one in its own way, the usual one only by a race."""
        if search not in ("usual", "quick"):
            raise UserError(f"SLEV knows no search {search!r}; choose 'usual' or 'quick'.")
        return self.quick if search == "quick" else self.screening if race else None


SIZES = {
    "demo": SearchSize((1e-2, 1e-3), (1.0, 0.1), folds=3, steps=600),
    "standard": SearchSize((1e-2, 1e-3), (10.0, 1.0, 0.1), folds=5, steps=3000),
    "paper": SearchSize((1e-2, 1e-3, 1e-4), (25.0, 10.0, 1.0, 0.1), folds=10, steps=8000),
}
SIZES_WITH_ROLLOUTS = {
    "demo": SearchSize((1e-2, 1e-3), (1.0, 0.04), folds=3, steps=250, networks=(SMALL,)),
    "standard": SearchSize(
        (1e-2, 1e-3),
        (1.0, 0.2, 0.04),
        5,
        3000,
        (SMALL, LARGE),
        Screening(folds=3, settings=2),
        QUICK_WITH_ROLLOUTS,
    ),
    "paper": SearchSize(
        (1e-2, 1e-3, 1e-4),
        (1.0, 0.2, 0.1, 0.04),
        10,
        8000,
        (SMALL, LARGE),
        Screening(folds=4, settings=2),
        QUICK_WITH_ROLLOUTS,
    ),
}

POOLED_SETTINGS: dict[str, Range] = {
    "size": Choice(tuple(SIZES)),
    "decays": Choice(("printed", "wide")),
    "normalisation": Choice(NORMALISATIONS),
    "weights": Choice(("none", "density_ratio")),
    "race": Switch(),
    "search": Choice(("usual", "quick")),
}
SETTINGS: dict[str, Range] = {**POOLED_SETTINGS, "rollouts": Choice(("paper", "pooled"))}
MODELS, CORRECTIONS = ("slev", "ridge"), ("shrunk", "full")  # of doubly robust SLEV
FEWEST_POLICIES = 4  # held out in turn, they show the errors that correct it
DOUBLY_ROBUST_SETTINGS: dict[str, Range] = {
    "model": Choice(MODELS),
    "correction": Choice(CORRECTIONS),
    "size": Choice(tuple(SIZES)),
    "normalisation": Choice(NORMALISATIONS),
    "race": Switch(),
}


def search_size(size: str, rollouts: int, pooled: bool, decays: str = "printed") -> SearchSize:
    """What is searched where every unit has this many rollouts. Pooled inputs are few: the small network will do.

    The printed weight decays are strong for returns with a spread of about 1, as on kidney, where folds mostly choose the
    smallest. With ``decays="wide"`` smaller ones are tried too.
    """
    if size not in SIZES:
        raise UserError(f"SLEV has no size {size!r}; choose one of {', '.join(SIZES)}.")
    if decays not in ("printed", "wide"):
        raise UserError(f"SLEV knows no decays {decays!r}; choose 'printed' or 'wide'.")
    found = SIZES_WITH_ROLLOUTS[size] if rollouts > 1 else SIZES[size]
    if pooled:
        found = replace(found, networks=found.networks[:1])
    if decays == "wide":
        found = replace(found, weight_decays=found.weight_decays + SMALLER_DECAYS)
    return found


def seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """Expected CPU-seconds of SLEV as the paper has it."""
    return _seconds(load, settings, settings.get("rollouts") == "pooled", settings.get("decays", "printed"))


def doubly_robust_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """SLEV, and a few classifiers for each new policy."""
    fitted = seconds(load, settings) if settings.get("model", "slev") == "slev" else 0.5
    return fitted + load.test_policies * (0.02 + 1e-6 * load.train_policies * load.units)


def pooled_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """Expected CPU-seconds of SLEV on what is pooled over rollouts."""
    return _seconds(load, settings, True, settings.get("decays", "wide"))


def _seconds(load: Workload, settings: Mapping[str, Any], pooled: bool, decays: str) -> float:
    """Measured: with early stopping a model takes some 1500 updates and a quarter of what the plan allows beyond."""
    size = search_size(settings.get("size", "standard"), load.rollouts, pooled, decays)
    screening = size.screening_of(settings.get("search", "usual"), bool(settings.get("race")))
    inputs = load.horizon * (load.dim + 1)
    rollouts = 1 if pooled else load.rollouts
    if pooled and load.rollouts > 1:
        inputs *= 2  # mean and spread
    updates = min(size.steps, 1500 + size.steps // 4)
    grid = len(size.learning_rates) * len(size.weight_decays)
    each = [_seconds_of_update(inputs * rollouts, network, rollouts) for network in size.networks]
    if screening is None:
        return 0.1 + updates * grid * size.folds * sum(each)
    first = grid * each[0] + screening.settings * sum(each[1:])
    return 0.1 + updates * (screening.folds * first + (size.folds - screening.folds) * sum(each))


def _seconds_of_update(inputs: int, network: tuple[int, ...], rollouts: int) -> float:
    """Of one model in a stack, with some 110 samples: a fixed part and one for each multiplication of a sample."""
    (below, above), *later = layer_widths(inputs, network, 1, rollouts)
    return 6e-5 + 1e-8 * (rollouts * below * above + sum(a * b for a, b in later))
