"""The answer to a statement of the paper: whether it holds on our results, and a sentence made from the numbers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from shortlong.paper import PartName
from shortlong.paper.evidence import Evidence, Measured

Verdict = Literal["holds", "does not hold", "cannot tell"]


@dataclass(frozen=True)
class Outcome:
    verdict: Verdict
    measured: str  # what we found, as a sentence


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
    return "holds" if holds else "does not hold"


def cannot_tell(why: str) -> Outcome:
    return Outcome("cannot tell", why)


def not_computed(domain: str) -> Outcome:
    return cannot_tell(f"{domain} is not computed yet.")


def lacking(evidence: Evidence, methods: Iterable[str], domain: str) -> Outcome | None:
    """The outcome when one of the methods was not computed; None when all are there."""
    missing = [method for method in methods if method not in evidence.methods]
    return cannot_tell(f"{domain} was computed without {', '.join(missing)}.") if missing else None


def listed(words: Iterable[str]) -> str:
    """a, b and c."""
    all_words = list(words)
    return " and ".join([", ".join(all_words[:-1]), all_words[-1]]) if len(all_words) > 1 else "".join(all_words)
