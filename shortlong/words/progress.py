"""Progress over all stages of one or several runs, and how pages and the terminal word it."""

import math
import time
from collections.abc import Sequence

from shortlong.compute import experiment
from shortlong.compute.dataset import missing_parts
from shortlong.compute.engine import Status
from shortlong.compute.estimates import back_test_seconds
from shortlong.compute.store import Store
from shortlong.core.calibration import Leave
from shortlong.scenario import Scenario
from shortlong.words.numbers import duration, expectation
from shortlong.words.scenario import scenario_title

STAGES = {
    "simulating": "Step 1 of 3: simulating every policy",
    "evaluating": "Step 2 of 3: training the methods",
    "finishing": "Step 3 of 3: predicting, and testing the methods on the history",
    "calibrating": "Training on parts of the history",
    "back-testing": "Testing the methods on the history",
}
STARTING = "starting"
COMPILING = "Compiling the equations (first time only)"
TRUST = 0.15  # share of the work after which the observed speed counts as much as the expected one
START_UP = 3.0  # seconds in which workers start
SMOOTHING = 3.0  # seconds over which a new estimate of the remaining time takes the place of the old one


def stage_costs(scenario: Scenario, store: Store, leave: Leave | None = None) -> dict[str, float]:
    """Expected CPU-seconds of what is missing, by the stages of ``experiment.run``; with ``leave`` also of its back-test."""
    missing = experiment.missing_computations(scenario, store, verify=False)
    load = experiment.workload_of(scenario)
    costs = dict.fromkeys(STAGES, 0.0)
    if missing:
        costs["simulating"] = sum(part.cost for part in missing_parts(store, scenario.data))
    prepared = set()
    for computation in missing:
        waits = computation.card.prepares and not store.has(computation.prepared_key)
        costs["finishing" if waits else "evaluating"] += computation.card.cost(
            load(computation.effective_horizon), computation.settings
        )
        if waits and computation.prepared_key not in prepared:
            prepared.add(computation.prepared_key)
            costs["evaluating"] += computation.card.prepare_cost(load(computation.horizon), computation.settings)
    if leave is not None:  # beside predictions that are missing, else in stages of its own
        shared, rest = back_test_seconds(scenario, store, leave)
        costs["evaluating" if missing else "calibrating"] += shared
        costs["finishing" if missing else "back-testing"] += rest
    return costs


class WholeWork:
    """Turns the progress of single stages into that of everything, with a remaining time that follows the observed speed."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        store: Store,
        watch: experiment.Watch,
        jobs: int = 1,
        leave: Leave | None = None,
    ):
        self.costs = {scenario.key: stage_costs(scenario, store, leave) for scenario in scenarios}
        self.names = {s.key: f"{scenario_title(s)}: " if len(scenarios) > 1 else "" for s in scenarios}
        self.whole = max(sum(sum(stages.values()) for stages in self.costs.values()), 1e-9)
        self.expected = self.whole / max(jobs, 1)
        self.done = self.highest = 0.0  # expected seconds of the finished scenarios; share that was reported last
        self.finished = 0
        self.estimate: tuple[float, float] | None = None  # remaining seconds, and when they were estimated
        self.idle = START_UP  # seconds that say nothing about the speed
        self.told_at = 0.0  # when progress was reported last
        self.watch, self.start = watch, time.monotonic()
        if self.whole > 1e-6:
            self.watch(STARTING, self._status(0.0, 0.0, Status(0.0, 0.0, None, 0, len(scenarios))))

    def of(self, scenario: Scenario) -> experiment.Watch:
        """The function to which one scenario reports its progress."""
        costs, name = self.costs[scenario.key], self.names[scenario.key]

        def tell(stage: str, status: Status) -> None:
            stages = list(STAGES)
            before = sum(costs[s] for s in stages[: stages.index(stage)]) if stage in costs else sum(costs.values())
            cost = costs.get(stage, 0.0)
            sure = status.share if status.sure is None else status.sure
            self.watch(
                f"{name}{stage}",
                self._status(self.done + before + cost * status.share, self.done + before + cost * sure, status),
            )

        return tell

    def finish(self, scenario: Scenario) -> None:
        """Count a scenario as finished."""
        self.done += sum(self.costs[scenario.key].values())
        self.finished += 1
        count = Status(1.0, 0.0, 0.0, self.finished, len(self.costs))
        self.watch(self.names[scenario.key].rstrip(": "), self._status(self.done, self.done, count))

    def _status(self, shown: float, sure: float, status: Status) -> Status:
        self.highest = max(
            self.highest, min(shown / self.whole, 1.0)
        )  # expectations are rough, but a bar never moves back
        elapsed = time.monotonic() - self.start
        self.idle += elapsed - self.told_at if status.compiling else 0.0
        self.told_at = elapsed
        return Status(
            self.highest,
            elapsed,
            self._remaining(sure, elapsed),
            status.finished,
            status.total,
            status.running,
            status.compiling,
            self.expected,
            sure / self.whole,
        )

    def _remaining(self, sure: float, elapsed: float) -> float:
        """Seconds left: estimated from the expected speed at first, then more and more from the observed one."""
        left = max(self.whole - sure, 0.0)
        working = max(elapsed - self.idle, 0.0)
        new = left * (working + TRUST * self.expected) / (sure + TRUST * self.whole)
        if self.estimate is None or left == 0:
            smooth = new
        else:
            before, at = self.estimate
            old = max(before - (elapsed - at), 0.0)
            smooth = old + (new - old) * (1 - math.exp(-(elapsed - at) / SMOOTHING))
        self.estimate = (smooth, elapsed)
        return smooth


def whole_run(
    scenario: Scenario, store: Store, watch: experiment.Watch | None, jobs: int = 1, leave: Leave | None = None
) -> experiment.Watch | None:
    """Progress of one run over all its stages; None if nobody wants to know."""
    return WholeWork([scenario], store, watch, jobs, leave).of(scenario) if watch else None


def stage_text(stage: str, compiling: bool = False) -> str:
    """What is being done, for people."""
    if compiling:
        return COMPILING
    name, _, last = stage.rpartition(": ")
    words = STAGES.get(last, last[:1].upper() + last[1:])
    return f"{name}: {words}" if name else words


def part_text(finished: int, total: int, running: Sequence[str]) -> str:
    """Which part of a stage is at work: "part 5 of 34: SLEV, seed 0"; empty where there is only one."""
    if total < 2:
        return ""
    place = f"part {min(finished + 1, total)} of {total}"
    return f"{place}: {running[0]}" if running else place


def time_text(elapsed: float, remaining: float | None, overrun: bool) -> str:
    """How long it has taken and will take: "12 s elapsed · about 25 s left"."""
    parts = [f"{duration(elapsed)} elapsed"]
    if remaining is not None:
        left = expectation(remaining)
        parts.append(f"taking longer than expected: {left} more" if overrun else f"{left} left")
    return " · ".join(parts)
