"""Patients with renal anaemia on dialysis who get darbepoetin: the substitute for the paper's kidney simulator.

The paper's own simulator (section 5.1, appendix A.1) is not public; this one has the same form and is built from published
pharmacology. Drug, red-cell precursors and two stages of red cells follow linear equations driven by a saturating drug
effect. They are stepped exactly, day by day, and the 28 daily steps of a month are folded into one compiled sum.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import expm

from shortlong.core.errors import UserError

Array = NDArray[np.float64]

DAYS = 28  # of a month, the time between two decisions
DOSE_INTERVAL = 7  # days between two injections


@dataclass(frozen=True)
class KidneyParameters:
    """One typical patient. Agoram: Agoram 2006, darbepoetin; Naik: Naik 2013, dialysis; Takama: Takama 2007, dialysis."""

    drug_rate: float = 0.318  # kE, loss of drug from the depot, 1/day (Agoram: absorption, the slow step)
    bioavailability: float = 0.443  # F, share of a dose that reaches the blood, no unit (Agoram)
    clearance: float = 2.01  # CL, L/day at 70 kg (Agoram; Takama 1.94)
    half_effect: float = 3.68  # EC50, concentration of half the largest effect, ng/mL (Agoram)
    weight: float = 70.0  # W, kg (the weight that the clearance is given for)
    lifespan: float = 70.0  # T_R, mean life of a red cell, days (Naik 68.3, Agoram 82)
    transit: float = 10.0  # T_P, mean time as a precursor, days (between Agoram 4.68 and Naik 19.3)
    base_hemoglobin: float = 7.0  # Hb_base, level without the drug, g/dL (calibrated)
    largest_effect: float = 2.2  # Emax, relative rise of production, no unit (calibrated: 0.65 ug/kg a week holds 11)
    target: float = 11.0  # hemoglobin aimed at, g/dL (label: 10 to 12)
    tolerance: float = 2.5  # distance from the target at which the reward ends, g/dL (chosen)
    swing: float = 0.5  # change in a month at which the reward ends, g/dL (chosen)
    half_effect_variation: float = 0.20  # between patients, lognormal, no unit (chosen; Takama: 0.21 for clearance)
    lifespan_variation: float = 0.10  # between patients, lognormal, no unit (chosen)

    @property
    def concentration(self) -> float:
        """Concentration per amount of drug in the depot, ng/mL per ug."""
        return self.bioavailability * self.drug_rate / self.clearance

    @property
    def reference_precursors(self) -> float:
        """Precursors that hold a typical patient at the target, g/dL."""
        return self.target * self.transit / self.lifespan


TYPICAL = KidneyParameters()


@dataclass(frozen=True)
class Patients:
    """A cohort: where everyone starts, and everyone's month as constants of the compiled step."""

    start: Array  # (patient, 5): E ug, P, R1, R2, Hb of the month before, g/dL
    half_effect: Array  # (patient,) ng/mL
    lifespan: Array  # (patient,) days
    carry: Array  # (patient, 3, 3): what is left of (P, R1, R2) after a month
    drift: Array  # (patient, 3): what production without drug adds in a month
    gain: Array  # (patient, 3, day): what the full drug effect on one day adds by the end of the month

    def __len__(self) -> int:
        return len(self.start)


def make_patients(
    count: int,
    hemoglobin: tuple[float, float],
    seed: int,
    variability: bool = False,
    parameters: KidneyParameters = TYPICAL,
) -> Patients:
    """A cohort whose hemoglobin starts uniformly within a range; all patients are typical unless they may vary."""
    generator = np.random.default_rng(seed)
    level = generator.uniform(*hemoglobin, size=count)
    deviation = generator.standard_normal((2, count)) if variability else np.zeros((2, count))
    half_effect = parameters.half_effect * _lognormal(deviation[0], parameters.half_effect_variation)
    lifespan = parameters.lifespan * _lognormal(deviation[1], parameters.lifespan_variation)
    return patients_at(level, half_effect, lifespan, parameters)


def patients_at(
    hemoglobin: Array, half_effect: Array | float, lifespan: Array | float, parameters: KidneyParameters = TYPICAL
) -> Patients:
    """Patients without drug in the body whose red cells have been at the given level for long."""
    level = np.atleast_1d(np.asarray(hemoglobin, dtype=np.float64))
    if not (np.isfinite(level).all() and (level > 0).all()):
        raise UserError("Every patient needs a positive haemoglobin level in g/dL; check the range of starting levels.")
    half_effect, lifespan = (np.broadcast_to(np.asarray(v, np.float64), level.shape) for v in (half_effect, lifespan))
    zero = np.zeros_like(level)
    start = np.stack([zero, level * parameters.transit / lifespan, level / 2, level / 2, level], axis=-1)
    carry, gain = (np.stack(m) for m in zip(*(_month(t, parameters.transit) for t in lifespan), strict=True))
    gain = gain * (parameters.base_hemoglobin / lifespan)[:, None, None]
    drift = gain.sum(axis=-1)
    return Patients(start, half_effect.copy(), lifespan.copy(), carry, drift, gain * parameters.largest_effect)


@dataclass(frozen=True)
class DrugMonth:
    """How the drug of a month follows from what was left and from the weekly dose; the same for all patients."""

    left_by_day: Array  # (day,) concentration at mid-day per ug left from the month before
    dosed_by_day: Array  # (day,) concentration at mid-day per ug/kg a week
    left: float  # ug at the end per ug at the start
    dosed: float  # ug at the end per ug/kg a week


def drug_month(parameters: KidneyParameters = TYPICAL) -> DrugMonth:
    """Injections on days 0, 7, 14 and 21, exponential loss in between."""
    day = np.arange(DAYS)
    injections = np.arange(0, DAYS, DOSE_INTERVAL)
    since = day[:, None] - injections
    dosed = (np.exp(-parameters.drug_rate * since) * (since >= 0)).sum(axis=1) * parameters.weight
    mid_day = parameters.concentration * np.exp(-parameters.drug_rate / 2)
    return DrugMonth(
        left_by_day=mid_day * np.exp(-parameters.drug_rate * day),
        dosed_by_day=mid_day * dosed,
        left=float(np.exp(-parameters.drug_rate * DAYS)),
        dosed=float(parameters.weight * np.exp(-parameters.drug_rate * (DAYS - injections)).sum()),
    )


@lru_cache(maxsize=4096)
def _day(lifespan: float, transit: float) -> tuple[Array, Array]:
    """Exact daily step of (P, R1, R2) under constant production: x <- transfer x + input u."""
    leave, age = 1 / transit, 2 / lifespan
    rates = np.zeros((4, 4))
    rates[:3, :3] = [[-leave, 0, 0], [leave, -age, 0], [0, age, -age]]
    rates[0, 3] = 1.0
    step = expm(rates)
    return step[:3, :3], step[:3, 3]


def _month(lifespan: float, transit: float) -> tuple[Array, Array]:
    """28 daily steps at once: what is left of the start (3, 3), and what a unit of production on each day adds (3, 28)."""
    transfer, added = _day(float(lifespan), transit)
    gain = np.empty((3, DAYS))
    left = np.eye(3)
    for day in reversed(range(DAYS)):
        gain[:, day] = left @ added
        left = transfer @ left
    return left, gain


def _lognormal(deviation: Array, variation: float) -> Array:
    """Factors with median 1 and the given coefficient of variation."""
    return np.exp(np.sqrt(np.log1p(variation**2)) * deviation)


# No fast-math: the same numbers come out on every processor, and the 28 divisions of a month are vectorised anyway.
@njit(cache=True, error_model="numpy")
def _advance(internal, doses, carry, drift, gain, half_effect, left_by_day, dosed_by_day, left, dosed):
    days = left_by_day.shape[0]
    effect = np.empty(days)
    for policy in range(internal.shape[0]):
        for patient in range(internal.shape[1]):
            half = half_effect[patient]
            for rollout in range(internal.shape[2]):
                x = internal[policy, patient, rollout]
                dose = doses[policy, patient, rollout]
                for day in range(days):
                    concentration = left_by_day[day] * x[0] + dosed_by_day[day] * dose
                    effect[day] = concentration / (half + concentration)
                precursors, young, old = drift[patient, 0], drift[patient, 1], drift[patient, 2]
                for day in range(days):
                    precursors += gain[patient, 0, day] * effect[day]
                    young += gain[patient, 1, day] * effect[day]
                    old += gain[patient, 2, day] * effect[day]
                for stage in range(3):
                    precursors += carry[patient, 0, stage] * x[1 + stage]
                    young += carry[patient, 1, stage] * x[1 + stage]
                    old += carry[patient, 2, stage] * x[1 + stage]
                x[4] = x[2] + x[3]
                x[0] = left * x[0] + dosed * dose
                x[1], x[2], x[3] = precursors, young, old


def advance(internal: Array, doses: NDArray[np.floating], patients: Patients, drug: DrugMonth) -> None:
    """One month, in place: internal states (policy, patient, rollout, 5) under doses (policy, patient, rollout)."""
    _advance(
        internal,
        np.ascontiguousarray(doses, dtype=np.float64),
        patients.carry,
        patients.drift,
        patients.gain,
        patients.half_effect,
        drug.left_by_day,
        drug.dosed_by_day,
        drug.left,
        drug.dosed,
    )


def observation_matrix(parameters: KidneyParameters = TYPICAL) -> tuple[Array, Array]:
    """The observed state is matrix @ internal + offset: invertible, so it holds all that the internal state holds.

    It is the same for all patients: who varies differs in the dynamics, not in how the state is read off.
    """
    matrix = np.array(
        [
            [0.0, 0.0, 100.0, 100.0, 0.0],  # 100 (Hb - target), Hb = R1 + R2
            [0.0, 0.0, 100.0, 100.0, -100.0],  # 100 (Hb - Hb of the month before)
            [200.0 * parameters.concentration, 0.0, 0.0, 0.0, 0.0],  # 200 times the concentration
            [0.0, 100.0 / parameters.reference_precursors, 0.0, 0.0, 0.0],  # 100 (P / P_ref - 1)
            [0.0, 0.0, 100.0, -100.0, 0.0],  # 100 (R1 - R2)
        ]
    )
    return matrix, np.array([-100.0 * parameters.target, 0.0, 0.0, -100.0, 0.0])


def observe(internal: Array, parameters: KidneyParameters = TYPICAL) -> Array:
    """Observed states (..., 5) of internal ones (..., 5), on the paper's scale of -500 to 500."""
    matrix, offset = observation_matrix(parameters)
    return (internal.reshape(-1, 5) @ matrix.T + offset).reshape(internal.shape)


def hemoglobin_of(states: NDArray[np.floating], parameters: KidneyParameters = TYPICAL) -> tuple[Array, Array]:
    """Hemoglobin now and a month before, g/dL, from observed states (..., 5)."""
    states = np.asarray(states, dtype=np.float64)
    now = parameters.target + states[..., 0] / 100
    return now, now - states[..., 1] / 100


def rewards_of_states(states: NDArray[np.floating], parameters: KidneyParameters = TYPICAL) -> NDArray:
    """Reward of a month on the observed state (..., 5) after it: near the target and steady; divided by 10, so 0 to 1."""
    states = np.asarray(states)
    near = np.maximum(0, 1 - np.abs(states[..., 0]) / (100 * parameters.tolerance))
    return near * np.maximum(0, 1 - np.abs(states[..., 1]) / (100 * parameters.swing))
