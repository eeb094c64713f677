"""The embedded fleet: 124 invented cells calibrated to the measured ones, so that the page works without the data set.

Batches, split, lives, fade and voltage curves follow the statistics of Severson et al. (2019). The class counts and
the single cell that SLED calls "low" are built in: the fleet shows how the paper's battery table comes about, it is no
evidence for it, and it carries the label "synthetic, calibrated" wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import CURVE_CYCLES, FIRST_CYCLE, SYNTHETIC, SYNTHETIC_SOURCE, Fleet, parse_policy
from shortlong.domains.battery.published import KEPT, published_split
from shortlong.domains.battery.selection import average_rate

ONE_STEP_RATES = (3.6, 4.0, 4.4, 4.8, 5.4)
# Third batch: eight policies that take ten or eleven minutes to 80 %.
TEN_MINUTE_POLICIES = (
    "5C(67%)-4C",
    "5.3C(54%)-4C",
    "5.6C(36%)-4.3C",
    "5.6C(19%)-4.6C",
    "3.7C(31%)-5.9C",
    "4.36C(80%)-4.36C",
    "5.9C(15%)-4.6C",
    "5.9C(60%)-3.1C",
)
# Second batch: places of the slow-then-fast policies, and the lives (cycles) of the three that ruin a cell early.
SLOW_FIRST = {0: "1C(4%)-6C", 1: "2C(10%)-6C", 3: "2C(7%)-5.5C", 6: "3.6C(30%)-6C"}
ABUSED_LIVES = {0: (290, 310), 1: (140, 190), 3: (320, 360)}
SHORTEST, LONGEST = 140, 2300  # cycles

FRESH_CAPACITY = {1: 1.083, 2: 1.077, 3: 1.069}  # Ah, mean of each batch
CAPACITY_NOISE, CURVE_NOISE = 6e-5, 2e-5  # Ah
VOLTAGE = np.linspace(3.5, 2.0, 1000)


@dataclass(frozen=True)
class _LifeLaw:
    """score = -stress + spread e; life = offset + exp(ln scale + width z) with z the normal quantile of the rank."""

    stress_weight: float
    spread: float
    offset: float
    scale: float
    width: float


LIFE_LAWS = {
    1: _LifeLaw(1.1, 0.65, 500, 340, 0.75),
    2: _LifeLaw(0.3, 0.50, 0, 485, 0.055),
    3: _LifeLaw(1.5, 0.50, 500, 450, 0.62),
}


def synthetic_fleet(seed: int = 0, curve_cycles: Sequence[int] = CURVE_CYCLES) -> Fleet:
    """The whole fleet for one seed; the cells do not depend on which `curve_cycles` are asked for."""
    cycles = tuple(sorted(set(curve_cycles)))
    if not cycles or cycles[0] < FIRST_CYCLE or cycles[-1] > 100:
        raise UserError(f"Voltage curves exist for cycles {FIRST_CYCLE} to 100; {tuple(curve_cycles)} was asked for.")
    cell_source, noise_source = (np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2))
    cells = _draw_cells(cell_source)
    known = list(zip(cells["batch"].to_list(), cells["cycle_life"].to_list(), strict=True))
    capacities = [_capacity(batch, life, cell_source) for batch, life in known]
    changes = np.array([_curve_change(batch, life, cycles, cell_source) for batch, life in known])
    capacity = pd.DataFrame(
        {
            "cell": np.repeat(cells["cell"].to_numpy(), [len(values) for values in capacities]),
            "cycle": np.concatenate([np.arange(FIRST_CYCLE, FIRST_CYCLE + len(values)) for values in capacities]),
            "qd_ah": np.concatenate(capacities),
            "source": SYNTHETIC_SOURCE,
        }
    )
    places = np.array(cycles) - FIRST_CYCLE
    level = np.array([values[places] for values in capacities])  # (cells, cycles)
    curves = level[..., None] * _discharge_shape() - changes[..., None] * _change_shape()
    curves += noise_source.normal(0, CURVE_NOISE, curves.shape)
    return Fleet(cells, VOLTAGE.copy(), cycles, curves.astype(np.float32), capacity, SYNTHETIC)


def _draw_cells(random: np.random.Generator) -> pd.DataFrame:
    rows = []
    for batch in (1, 2, 3):
        count = sum(1 for kept_batch, _ in KEPT if kept_batch == batch)
        rows += [(f"s{batch}c{place}", batch, _draw_policy(batch, place, random)) for place in range(count)]
    cells = pd.DataFrame(rows, columns=["cell", "batch", "policy"])
    cells.insert(1, "split", [published_split(place) for place in range(len(cells))])
    cells[["c1", "q1_percent", "c2"]] = [parse_policy(policy) for policy in cells["policy"]]
    lives = np.concatenate([_draw_lives(cells[cells["batch"] == batch], batch, random) for batch in (1, 2, 3)])
    return cells.assign(cycle_life=lives)


def _draw_policy(batch: int, place: int, random: np.random.Generator) -> str:
    if batch == 3:
        return TEN_MINUTE_POLICIES[place % len(TEN_MINUTE_POLICIES)]
    if batch == 1:
        if random.random() < 0.2:
            rate = random.choice(ONE_STEP_RATES)
            return f"{rate:g}C(80%)-{rate:g}C"
        first, charge, second = random.choice((5.4, 6, 7)), random.choice((30, 40, 50, 60)), random.choice((3, 3.6))
        return f"{first:g}C({charge}%)-{second:g}C"
    while True:  # ten minutes to 80 %: Q1 / C1 + (0.8 - Q1) / C2 = 1 / 6 hour
        first, charge = random.uniform(3.6, 6), random.uniform(0.02, 0.71)
        hours_left = 1 / 6 - charge / first
        if hours_left > 0 and 3 <= (0.8 - charge) / hours_left <= 6.2:
            break
    if place in SLOW_FIRST:
        return SLOW_FIRST[place]
    return f"{first:.2f}C({100 * charge:.0f}%)-{(0.8 - charge) / hours_left:.2f}C"


def _draw_lives(cells: pd.DataFrame, batch: int, random: np.random.Generator) -> np.ndarray:
    """Lives of one batch by a rank copula: the order comes from the policy, the distribution from the batch."""
    from scipy.special import ndtri

    law = LIFE_LAWS[batch]
    if batch == 2:
        stress = (0.8 - cells["q1_percent"] / 100) * np.maximum(0, cells["c2"] - 4.6)
    else:
        stress = average_rate(cells) - average_rate(cells).mean()
    score = -law.stress_weight * np.asarray(stress) + law.spread * random.standard_normal(len(cells))
    quantile = ndtri((score.argsort().argsort() + 0.5) / len(cells))
    lives = law.offset + np.exp(np.log(law.scale) + law.width * quantile)
    for place, (low, high) in ABUSED_LIVES.items() if batch == 2 else ():
        lives[place] = random.uniform(low, high)
    return np.clip(np.round(lives), SHORTEST, LONGEST).astype(int)


def _capacity(batch: int, life: int, random: np.random.Generator) -> np.ndarray:
    """Capacity in Ah of the cycles 2..life: an early rise, slow fade, a knee; short-lived cells fall from the start."""
    fresh = FRESH_CAPACITY[batch] + random.normal(0, 0.007)
    rise = 0.0034 * np.exp(0.35 * random.standard_normal()) * (life > 220)
    pace = 6 * np.exp(0.3 * random.standard_normal())
    plunge = 0.012 / (1 + np.exp((life - 215) / 12))
    t = np.arange(FIRST_CYCLE, life + 1)
    used = t / life
    fade = (fresh - plunge - 0.8799) * (0.22 * used**1.5 + 0.78 * used**6)
    smooth = fresh - rise * np.exp(-(t - 1) / pace) - fade - plunge * (1 - np.exp(-t / 12))
    return smooth + random.normal(0, CAPACITY_NOISE, len(t))


def _curve_change(batch: int, life: float, cycles: Sequence[int], random: np.random.Generator) -> np.ndarray:
    """How far the curve has left its fresh shape at each cycle, in units of `_change_shape`, (cycles,)."""
    spread = _change_shape().std()
    by_cycle_100 = 10 ** (0.983 - 1.013 * np.log10(life) + 0.077 * random.standard_normal()) / spread
    level = -6.55 + 1.30 / (1 + np.exp((life - 760) / 40)) + 0.33 * random.standard_normal()
    settling = 10 ** (level / 2) / spread / (np.exp(-0.75) - np.exp(-1))
    sign = 1 if batch == 2 or life < 400 else -1
    n = np.asarray(cycles, dtype=float)
    return by_cycle_100 * (n - 10) / 90 + sign * settling * (1 - np.exp(-(n - 1) / 4))


def _discharge_shape() -> np.ndarray:
    """Share of the capacity given when the voltage has fallen to each grid point, (voltages,)."""
    return 0.90 / (1 + np.exp((VOLTAGE - 3.14) / 0.035)) + 0.10 * (3.5 - VOLTAGE) / 1.5


def _change_shape() -> np.ndarray:
    """Where on the voltage axis ageing shows: half-Gaussians about 2.95 V, (voltages,)."""
    return np.exp(-0.5 * ((VOLTAGE - 2.95) / np.where(VOLTAGE > 2.95, 0.13, 0.40)) ** 2)
