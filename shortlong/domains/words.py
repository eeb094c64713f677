"""What a domain calls things, so that no page speaks of drugs to people who look after machines."""

from collections.abc import Mapping
from dataclasses import dataclass, field

HISTORICAL_AND_NEW = {"train": "historical", "test": "new"}


@dataclass(frozen=True)
class Words:
    """The words of one domain; those that are left out are general ones. Texts may hold Markdown."""

    judged: str = "policy"  # what is stopped or continued
    amount: str = "amount"  # of an action that is given in amounts, such as "dose"
    question: str = "How good will a new policy be in the long run?"  # asked on Home
    choice: str = ""  # what can be chosen on Simulate, in a sentence; empty: which actions policies may use
    line: str = ""  # what one line of a chart over time is; empty: the average unit under one policy
    sides: Mapping[str, str] = field(default_factory=HISTORICAL_AND_NEW.copy)  # behind the label of a side's setting
    presets: str = "Size"  # what the presets of the domain differ in
    preset_titles: Mapping[str, str] = field(default_factory=dict)  # of presets that are no sizes
    low: str = ""  # what a low outcome means where outcomes are either high or low, such as "it is short-lived"
    no_course: str = "There are no rewards over time to follow."  # why Policies has nothing to show, without states
    no_shift: str = "There are no states and actions over time to compare."  # why Shift has nothing to show
    own_chart: str = ""  # how to read its chart on Home, where that is no error curve
    own_page: str = ""  # name of the page that shows more of this domain
    own_page_link: str = ""  # and what can be seen there
    limits: tuple[str, ...] = ()  # of use, for Home
    glossary: Mapping[str, str] = field(default_factory=dict)  # terms of the domain, one sentence each
