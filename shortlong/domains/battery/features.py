"""What the methods see of a cell after its first cycles: the feature of SLEV's battery experiment and its relatives.

The paper (after Severson et al. 2019) takes ln var(Q_b(V) - Q_a(V)), the spread over voltage of the change between two
early discharge curves. Every feature here is a difference within one cell, so that the level of a batch, which names
the class of nearly every training cell, cannot leak into it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import FIRST_CYCLE, Fleet

DEFAULT_PAIR = (4, 5)  # Q_5(V) - Q_4(V), the paper's choice at a horizon of five cycles
_SMALLEST = 1e-12  # Ah or Ah^2: keeps the logarithm of an exact zero finite


def curve_change(fleet: Fleet, pair: tuple[int, int] = DEFAULT_PAIR) -> np.ndarray:
    """Q_b(V) - Q_a(V) of the pair (a, b), (cells, voltages) in Ah."""
    early, late = pair
    if early >= late:
        raise UserError(f"The pair of cycles {pair} must be in rising order, for example (4, 5).")
    return fleet.curve(late) - fleet.curve(early)


def log_variance(fleet: Fleet, pair: tuple[int, int] = DEFAULT_PAIR) -> np.ndarray:
    """ln var_V(Q_b(V) - Q_a(V)), (cells,): natural logarithm, as in the paper's 72 of 83."""
    return np.log(np.maximum(curve_change(fleet, pair).var(axis=1), _SMALLEST**2))


def log_mean_change(fleet: Fleet, pair: tuple[int, int] = DEFAULT_PAIR) -> np.ndarray:
    """ln |mean_V(Q_b(V) - Q_a(V))|, (cells,)."""
    return np.log(np.maximum(np.abs(curve_change(fleet, pair).mean(axis=1)), _SMALLEST))


def log_largest_loss(fleet: Fleet, pair: tuple[int, int] = DEFAULT_PAIR) -> np.ndarray:
    """ln |min_V(Q_b(V) - Q_a(V))|, (cells,)."""
    return np.log(np.maximum(np.abs(curve_change(fleet, pair).min(axis=1)), _SMALLEST))


def early_capacities(fleet: Fleet, last_cycle: int) -> np.ndarray:
    """Capacity in Ah of cycles FIRST_CYCLE..last_cycle, (cells, cycles); a missing reading takes its neighbours' line."""
    wanted = np.arange(FIRST_CYCLE, last_cycle + 1, dtype=float)
    rows = []
    for name in fleet.names:
        cycles, values = fleet.capacities[name]
        seen = cycles <= last_cycle
        if not seen.any():
            raise UserError(f"Cell {name} has no capacity up to cycle {last_cycle}; watch longer or leave it out.")
        rows.append(np.interp(wanted, cycles[seen], values[seen]))
    return np.array(rows)


def capacity_changes(fleet: Fleet, last_cycle: int) -> np.ndarray:
    """Change of capacity since FIRST_CYCLE, and its slope per cycle over the later half of what was seen, (cells, 2)."""
    capacities = early_capacities(fleet, last_cycle)
    half = capacities[:, capacities.shape[1] // 2 :]
    steps = np.arange(half.shape[1]) - (half.shape[1] - 1) / 2
    spread = float((steps**2).sum())
    slope = (half * steps).sum(axis=1) / spread if spread > 0 else np.zeros(len(fleet))
    return np.column_stack([capacities[:, -1] - capacities[:, 0], slope])


def available_pairs(fleet: Fleet, horizon: int) -> list[tuple[int, int]]:
    """Pairs of cycles whose curves exist and have been seen after `horizon` cycles, in rising order."""
    seen = sorted(cycle for cycle in fleet.curve_cycles if cycle <= horizon)
    return [(early, late) for index, late in enumerate(seen) for early in seen[:index]]


def default_pair(fleet: Fleet, horizon: int) -> tuple[int, int]:
    """The pair for a horizon: the latest curve seen against one a tenth as late, (4, 5) at 5 and (10, 100) at 100."""
    pairs = available_pairs(fleet, horizon)
    if not pairs:
        first = sorted(fleet.curve_cycles)[1] if len(fleet.curve_cycles) > 1 else None
        advice = f"watch at least {first} cycles" if first else "import the data with more cycles"
        raise UserError(f"After {horizon} cycles fewer than two voltage curves of this fleet have been seen; {advice}.")
    late = pairs[-1][1]
    reference = max(DEFAULT_PAIR[0], late / 10)
    earlier = [early for early, other in pairs if other == late]
    return max((early for early in earlier if early <= reference), default=earlier[0]), late


def high_life(lives: np.ndarray | Sequence[float], threshold: float = 550) -> np.ndarray:
    """1 for a life of at least `threshold` cycles ("high"), else 0."""
    return (np.asarray(lives, dtype=float) >= threshold).astype(int)
