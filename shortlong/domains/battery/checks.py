"""What a measured cell can be: the numbers of the experiment and the checks of one policy name and one curve."""

from __future__ import annotations

import re

import numpy as np

from shortlong.core.errors import UserError
from shortlong.core.reading import shown

# Where a capacity comes from, as written in the capacity table.
MEASURED_SOURCE, CURVE_SOURCE, SYNTHETIC_SOURCE = "measured", "voltage_curve_max", "synthetic"

END_OF_LIFE = 0.88  # Ah: the life of a cell is its first cycle below this capacity
FIRST_CYCLE = 2  # cycle 1 was not recorded in the first batch, so that no method may use it

# A healthy cell of this type holds 1.1 Ah; outside these bounds a reading is a fault of the cycler or of the unit.
LOWEST_CAPACITY, HIGHEST_CAPACITY = 0.5, 1.3  # Ah
# In 496 measured curves the largest rise between neighbouring voltages is 0.020 Ah and all falls of a curve together
# are at most 0.003 Ah (0.06 Ah in the synthetic fleet); a corrupt curve is far beyond.
LARGEST_RISE, LARGEST_FALL, LARGEST_START = 0.1, 0.1, 0.05  # Ah

SHORTEST_LIFE = 10  # cycles: a cell is judged after five or more; a smaller number is a mistake
MOST_CYCLES = 100_000  # no cell lives longer; a larger cycle number is a mistake

_NUMBER = r"([0-9]+\.?[0-9]*|\.[0-9]+)"
_POLICY = re.compile(rf"\s*{_NUMBER}C\({_NUMBER}%\)-{_NUMBER}C?(?:-\w+)?\s*")


def parse_policy(policy: str, cell: str = "") -> tuple[float, float, float]:
    """C1, Q1 in percent and C2 of a policy written C1(Q1%)-C2, as in 5.4C(40%)-3.6C.

    The published files end some names in "-newstructure" and forget the last C of one; both are understood.
    """
    found = _POLICY.fullmatch(policy)
    if not found:
        where = f"Cell {cell}" if cell else "A cell"
        raise UserError(
            f"{where} has the charging policy “{shown(policy)}”; write it as C1(Q1%)-C2, for example 5.4C(40%)-3.6C."
        )
    c1, q1_percent, c2 = (float(part) for part in found.groups())
    return c1, q1_percent, c2


def check_curve(curve: np.ndarray, cell: str, cycle: int) -> None:
    """Refuse a discharge curve that no cell can have given, in a sentence naming cell and cycle."""
    sound = curve.size > 1 and bool(np.isfinite(curve).all())
    steps = np.diff(curve) if sound else np.zeros(1)
    if not sound:
        problem = "has missing values or infinite ones"
    elif not LOWEST_CAPACITY <= curve[-1] <= HIGHEST_CAPACITY:
        problem = f"ends at {curve[-1]:.4g} Ah instead of about 1 Ah{unit_hint(float(curve[-1]))}"
    elif abs(curve[0]) > LARGEST_START:
        problem = f"starts at {curve[0]:.4g} Ah instead of about 0 Ah"
    elif steps.max() > LARGEST_RISE:
        problem = f"jumps by {steps.max():.3g} Ah between two neighbouring voltages"
    elif -steps[steps < 0].sum() > LARGEST_FALL:
        problem = f"falls by {-steps[steps < 0].sum():.3g} Ah while the voltage falls; it may only rise"
    else:
        return
    raise UserError(
        f"The voltage curve of cell {cell} in cycle {cycle} is corrupt: it {problem}."
        " Leave this cycle or this cell out, or repair the file."
    )


def unit_hint(value: float) -> str:
    """A likely explanation of a capacity that is a thousand times too large."""
    return " (it looks like mAh: divide by 1000)" if 1000 * LOWEST_CAPACITY <= value <= 1000 * HIGHEST_CAPACITY else ""
