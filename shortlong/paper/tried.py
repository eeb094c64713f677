"""What the changes of ``differences`` did to every statement, kept as one small record.

The record is in the store under the key of all that it depends on, and one at full size comes with the project. Pages read it;
nothing is computed for them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from shortlong.analysis.headline import BASELINE
from shortlong.compute.machine import machine
from shortlong.compute.results import Results
from shortlong.compute.store import Store
from shortlong.compute.work import cpu_seconds, work_keys
from shortlong.paper.checks_other import late_example
from shortlong.paper.claims import CLAIMS
from shortlong.paper.differences import Change, Trials, trials
from shortlong.paper.evidence import Evidence, Measured
from shortlong.paper.outcome import Verdict
from shortlong.scenario import Scenario

SHIPPED = Path(__file__).parent / "differences-paper.json"
KIND = "differences"
SHOWN = ("slev", "fqe", BASELINE)  # whose errors are shown for every change


@dataclass(frozen=True)
class Errors:
    """One domain with a change: mean error over horizons by method, where its new policies end, how far fitted Q gets."""

    errors: Mapping[str, float]
    lowest: float
    highest: float
    example_share: float | None = None  # HIV: fitted Q's prediction of the example, as a share of its true value


@dataclass(frozen=True)
class Tried:
    """One change. Verdicts by the key of the statement; ``without`` is the same size without the change."""

    key: str
    title: str
    family: str
    changed: Mapping[str, Errors]  # by domain
    without: Mapping[str, Verdict]
    verdicts: Mapping[str, Verdict]
    touched: Sequence[str]  # statements whose numbers it changes
    smaller: bool  # whether HIV is a smaller run

    @property
    def name(self) -> str:
        return f"{self.family} {self.title}".strip()

    def suffices(self, claim: str) -> bool:
        """Whether the statement holds with the change, and does not without it."""
        return self.verdicts.get(claim) == "reproduced" and self.without[claim] != "reproduced"

    def breaks(self, claim: str) -> bool:
        return self.verdicts.get(claim) == "not reproduced" and self.without[claim] == "reproduced"


@dataclass(frozen=True)
class Differences:
    """All changes that were tried on two scenarios."""

    key: str
    now: Mapping[str, Errors]
    smaller: Mapping[str, Errors]  # the smaller run without a change
    tried: tuple[Tried, ...]
    cpu_seconds: float = 0.0  # of what the changes needed; histories that the scenarios share are not counted again
    machine: str = ""
    command: str = ""

    def sufficient(self, claim: str) -> list[Tried]:
        return [change for change in self.tried if change.suffices(claim)]

    def not_sufficient(self, claim: str) -> list[Tried]:
        """Changes of its numbers after which the statement still does not hold."""
        return [c for c in self.tried if c.verdicts.get(claim) == "not reproduced" and claim in c.touched]

    def undecided(self, claim: str) -> list[Tried]:
        """Changes of which the smaller run says nothing, because the statement holds there without them too."""
        return [c for c in self.tried if c.verdicts.get(claim) == "reproduced" and self._holds(c, claim)]

    def holds_in_smaller_run(self, claim: str) -> bool:
        """Whether the statement holds in the smaller run without any change."""
        return any(self._holds(change, claim) for change in self.tried)

    @staticmethod
    def _holds(change: Tried, claim: str) -> bool:
        return change.smaller and claim in change.touched and change.without[claim] == "reproduced"


def measure(planned: Trials, store: Store, results: Mapping[str, Results], command: str = "") -> Differences:
    """Check every statement after every change; ``results`` by the key of their scenario."""

    def evidence(scenario: Scenario) -> Evidence:
        return Evidence(results[scenario.key].without_failed().without_blend())

    now = {"hiv": evidence(planned.hiv), "kidney": evidence(planned.kidney)}
    found = [tried for change in planned.changes if (tried := _try(change, now, evidence))]
    seconds = _seconds(planned, store)
    now_errors = {domain: errors_of(there) for domain, there in now.items()}
    small = {d: errors_of(evidence(s)) for change in planned.changes for d, s in change.control.items()}
    return Differences(planned.key, now_errors, small, tuple(found), seconds, machine(), command)


def _seconds(planned: Trials, store: Store) -> float:
    """CPU-seconds of all that the changes need beyond the two scenarios, each result once."""
    shared = {key for s in (planned.hiv, planned.kidney) for key in work_keys(s)}
    found = {key: s for scenario in planned.scenarios for key, s in cpu_seconds(scenario, store).items()}
    return round(sum(seconds for key, seconds in found.items() if key not in shared))


def _try(change: Change, now: Mapping[str, Evidence], evidence: Callable[[Scenario], Evidence]) -> Tried | None:
    """None where the change does not apply to these results."""
    without = {**now, **{domain: evidence(s) for domain, s in change.control.items()}}
    after = dict(without)
    for domain, read in change.read.items():
        changed = read(without[domain], evidence(change.needs[domain]) if domain in change.needs else None)
        if changed is None:
            return None
        after[domain] = changed
    concerned = [c for c in CLAIMS if c.domain in change.read or c.domain == "both"]
    outcomes, before = (
        {c.key: c.check(Measured(there["hiv"], there["kidney"])) for c in concerned} for there in (after, without)
    )
    return Tried(
        change.key,
        change.title,
        change.family,
        {domain: errors_of(after[domain]) for domain in change.read},
        {key: outcome.verdict for key, outcome in before.items()},
        {key: outcome.verdict for key, outcome in outcomes.items()},
        [key for key, outcome in outcomes.items() if outcome.measured != before[key].measured],
        bool(change.control),
    )


def errors_of(evidence: Evidence) -> Errors:
    means = {m: fmean(evidence.errors[m].values()) for m in SHOWN if m in evidence.errors}
    truth = evidence.values["true"]
    share = None
    if evidence.scenario.data.domain == "hiv" and {"fqe", "mean_reward"} <= set(evidence.methods):
        example = late_example(evidence)
        share = example.predicted["fqe"] / example.true if example.true else None
    return Errors(means, float(truth.min()), float(truth.max()), share)


# --- kept ---------------------------------------------------------------------------------------------------------------
def as_json(found: Differences) -> dict[str, Any]:
    return json.loads(json.dumps(asdict(found)))


def from_json(content: Mapping[str, Any]) -> Differences:
    def errors(by_domain: Mapping[str, Any]) -> dict[str, Errors]:
        return {domain: Errors(**numbers) for domain, numbers in by_domain.items()}

    tried = tuple(Tried(**{**change, "changed": errors(change["changed"])}) for change in content["tried"])
    return Differences(
        **{**content, "now": errors(content["now"]), "smaller": errors(content["smaller"]), "tried": tried}
    )


def keep(found: Differences, store: Store) -> None:
    """In the store; what is there already under the same key is the same."""
    store.put(found.key, KIND, made_from=[KIND, found.key], meta=as_json(found))


def kept(hiv: Scenario, kidney: Scenario, store: Store, shipped: Path = SHIPPED) -> Differences | None:
    """What was found for two scenarios: in the store, else as shipped; None where the code would try something else."""
    key = trials(hiv, kidney).key
    if entry := store.get(key):
        return from_json(entry.meta)
    if not shipped.is_file():
        return None
    content = json.loads(shipped.read_text(encoding="utf-8"))
    return from_json(content) if content["key"] == key else None


def table(found: Differences, numbers: Mapping[str, int]) -> pd.DataFrame:
    """One row per change and statement: with and without the change."""
    return pd.DataFrame(
        {
            "change": change.name,
            "statement": numbers[claim],
            "claim": claim,
            "without the change": change.without[claim],
            "with the change": verdict,
            "would suffice": change.suffices(claim),
            "smaller size": change.smaller,
        }
        for change in found.tried
        for claim, verdict in change.verdicts.items()
    )
