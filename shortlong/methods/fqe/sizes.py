"""How much fitted Q-evaluation searches at each size, and how long that takes; imports nothing that is slow to load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from shortlong.core.errors import UserError
from shortlong.methods.cards import Workload
from shortlong.methods.ranges import NORMALISATIONS, Choice, Number, Range, Whole

REBUILDS = 4  # times that trees are grown anew; more did not lower the error on HIV
HELD_OUT = 12  # training policies to choose on


@dataclass(frozen=True)
class Grid:
    """The numbers of trees and of transitions, or of updates, to choose from, each with each."""

    trees: tuple[int, ...]
    batch: tuple[int, ...]


# The paper prints 25, 50 and 75 trees and batches of 1000; larger batches are better where all updates use the same one.
SIZES = {
    "demo": Grid((10,), (1000, 3000)),
    "standard": Grid((25, 50), (5000, 20000)),
    "paper": Grid((25, 50, 75), (1000, 5000, 20000)),
}

SETTINGS: dict[str, Range] = {
    "size": Choice(tuple(SIZES)),
    "trees": Whole(1, 500),
    "batch": Whole(1, 1_000_000),
    "rebuilds": Whole(1, 1000),
    "held_out": Whole(1, 1000),
    "normalisation": Choice(NORMALISATIONS),
}

# Fitted Q as printed. No discount is printed; but after 1000 updates or more the value can only be one with a discount.
PRINTED_BATCH, PRINTED_DISCOUNT = 1000, 0.99
POOL = 20_000  # transitions from which batches are drawn: policies are asked once in each, not in every batch again
PRINTED = {
    "demo": Grid((10,), (100,)),
    "standard": Grid((25,), (1000,)),
    "paper": Grid((25, 50, 75), (1000, 2500, 5000)),
}
PRINTED_SETTINGS: dict[str, Range] = {
    "size": Choice(tuple(PRINTED)),
    "trees": Whole(1, 500),
    "updates": Whole(1, 100_000),
    "discount": Number(0.0, 1.0),
    "batch": Whole(1, 1_000_000),
    "pool": Whole(1, 1_000_000),
    "held_out": Whole(1, 1000),
    "normalisation": Choice(NORMALISATIONS),
}
PREFIXES = ("added", "none")
OBSERVED_SETTINGS: dict[str, Range] = {**SETTINGS, "prefixes": Choice(PREFIXES)}
Numbers = int | Sequence[int] | None  # one number, several to choose from, or those of the size


def pairs_to_try(size: str, trees: Numbers, batch: Numbers) -> list[tuple[int, int]]:
    """Pairs (trees, batch) of a size, or of the numbers that replace its own."""
    return _pairs_of(SIZES, size, trees, batch, "transition")


def printed_pairs(size: str, trees: Numbers, updates: Numbers) -> list[tuple[int, int]]:
    """Pairs (trees, updates) of fitted Q as printed."""
    return _pairs_of(PRINTED, size, trees, updates, "update")


def _pairs_of(
    sizes: Mapping[str, Grid], size: str, trees: Numbers, others: Numbers, what: str
) -> list[tuple[int, int]]:
    if size not in sizes:
        raise UserError(f"Fitted Q knows no size {size!r}; choose one of {', '.join(sizes)}.")
    grid = sizes[size]
    pairs = list(product(_several(trees, grid.trees), _several(others, grid.batch)))
    if min(number for pair in pairs for number in pair) < 1:
        raise UserError(f"Fitted Q needs at least one tree and one {what}; give numbers of 1 or more.")
    return pairs


def _several(numbers: Numbers, usual: tuple[int, ...]) -> list[int]:
    return [numbers] if isinstance(numbers, int) else sorted(numbers or usual)


def held_out_count(policies: int, most: int) -> int:
    """A fifth of the training policies, but not more than ``most``; none if there would be nothing to learn from."""
    return min(most, max(1, policies // 5)) if policies > 1 else 0


def fit_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """CPU-seconds of the updates for all new policies, with the largest pair."""
    return _seconds(load, settings, _pairs(settings)[-1:], load.test_policies)


def observed_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """The same for the steps to go, and a last look at every observed state."""
    trees = _pairs(settings)[-1][0]
    rows = load.test_policies * load.units * load.rollouts * (9 if load.small_networks else 1)
    return (
        fit_seconds(load, settings) * (1.5 if settings.get("prefixes", "added") == "added" else 1.0)
        + 1e-7 * rows * trees
    )


def choice_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """CPU-seconds of the choice on held-out policies."""
    pairs = _pairs(settings)
    held_out = held_out_count(load.train_policies, settings.get("held_out", HELD_OUT))
    return _seconds(load, settings, pairs, held_out) if len(pairs) > 1 and held_out else 0.01


def _pairs(settings: Mapping[str, Any]) -> list[tuple[int, int]]:
    return pairs_to_try(settings.get("size", "standard"), settings.get("trees"), settings.get("batch"))


def _seconds(load: Workload, settings: Mapping[str, Any], pairs: list[tuple[int, int]], policies: int) -> float:
    """Measured on HIV and kidney: asking policies, growing trees and looking up actions, updating values."""
    available = load.train_policies * load.units * load.rollouts * load.steps
    rebuilds = min(settings.get("rebuilds", REBUILDS), load.steps)
    per_tree = 2.5e-6 * rebuilds + load.steps * (1e-8 + 8e-10 * policies)
    updating = sum(min(batch, available) * trees * per_tree for trees, batch in pairs)
    asking = 1.5e-5 * policies * min(max(batch for _, batch in pairs), available)
    return 0.1 + asking + updating


def printed_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """CPU-seconds of all updates for the new policies, with the largest pair."""
    return _printed_seconds(load, settings, _printed_grid(settings)[-1:], load.test_policies)


def printed_choice_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """CPU-seconds of the choice on held-out policies: for each number of trees the largest number of updates."""
    grid = _printed_grid(settings)
    held_out = held_out_count(load.train_policies, settings.get("held_out", HELD_OUT))
    longest = {trees: (trees, updates) for trees, updates in grid}
    return _printed_seconds(load, settings, list(longest.values()), held_out) if len(grid) > 1 and held_out else 0.01


def _printed_grid(settings: Mapping[str, Any]) -> list[tuple[int, int]]:
    return printed_pairs(settings.get("size", "standard"), settings.get("trees"), settings.get("updates"))


def _printed_seconds(load: Workload, settings: Mapping[str, Any], pairs: list[tuple[int, int]], policies: int) -> float:
    available = load.train_policies * load.units * load.rollouts * load.steps
    batch = min(settings.get("batch", PRINTED_BATCH), settings.get("pool", POOL), available)
    each = sum(trees * updates for trees, updates in pairs) * batch * (2e-6 + 1e-9 * policies)
    return 0.2 + each + 1.5e-5 * policies * min(settings.get("pool", POOL), available)
