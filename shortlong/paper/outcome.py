"""The answer to a statement of the paper: whether our results reproduce it, and a sentence with the numbers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from shortlong.paper import PartName
from shortlong.paper.evidence import Evidence, Measured
from shortlong.words.scenario import title_of

Verdict = Literal["reproduced", "not reproduced", "inconclusive"]


@dataclass(frozen=True)
class Outcome:
    verdict: Verdict
    measured: str  # what our results show, as a sentence


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, as data."""

    key: str
    part: PartName
    domain: str  # "hiv", "kidney", "both" or "battery"
    place: str  # where in the paper
    text: str  # in the paper's words
    asked: str  # what exactly is checked, because words such as "small" or "poorly" have to be given a meaning
    check: Callable[[Measured], Outcome]


def verdict_of(holds: bool) -> Verdict:
    return "reproduced" if holds else "not reproduced"


def inconclusive(why: str) -> Outcome:
    return Outcome("inconclusive", why)


def not_computed(domain: str) -> Outcome:
    return inconclusive(f"{domain} has not been computed yet.")


def lacking(evidence: Evidence, methods: Iterable[str], domain: str) -> Outcome | None:
    """The outcome when a required method was not computed; None when all are present."""
    missing = [title_of(method) for method in methods if method not in evidence.methods]
    return inconclusive(f"{domain} was computed without {listed(missing)}.") if missing else None


def listed(words: Iterable[str]) -> str:
    """a, b and c."""
    all_words = list(words)
    return " and ".join([", ".join(all_words[:-1]), all_words[-1]]) if len(all_words) > 1 else "".join(all_words)
