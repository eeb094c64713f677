"""Controls of single pages whose values a link carries, each with its limits.

``state`` reads them from a link and writes them into it; a page gets the key of its widget from ``state.settle``. What a
link asks for is checked here, because the limits of widgets hold in the browser only.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn, get_args

from shortlong.analysis.confusion import OUTCOMES
from shortlong.analysis.decisions import DECISIONS
from shortlong.analysis.outlook import LEVEL as USUAL_LEVEL
from shortlong.analysis.policies import BY_START, MOST_POLICIES, ORDERS
from shortlong.analysis.rules import MODES
from shortlong.analysis.safety import USUAL_COSTS
from shortlong.core.calibration import Leave
from shortlong.core.errors import UserError
from shortlong.core.hashing import key_of
from shortlong.domains import DOMAINS
from shortlong.domains.base import Settings
from shortlong.methods import METHODS
from shortlong.paper import PartName
from shortlong.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Control:
    """A value that a person sets on one page; this one is a name that only the page can check."""

    name: str  # in links
    usual: Any = None  # what a link need not say
    of_data: bool = False  # means something only with the data for which it was set
    used_when: "tuple[Control, str] | None" = None  # a switch, and where it must stand

    def key(self, scenario: Scenario) -> str:
        """Of the widget and of the session's state. Made without the files of measured cells, which may have gone."""
        return f"{self.name}-{_name_of(scenario.data)}" if self.of_data else self.name

    def from_link(self, text: str, scenario: Scenario) -> Any:
        return text if len(text) <= 80 else self.refuse(text, "give a name of at most 80 characters")

    def to_link(self, value: Any) -> str:
        return str(value)

    def refuse(self, text: str, remedy: str) -> NoReturn:
        raise UserError(f"The link asks for {self.name.replace('_', ' ')} {text[:40]!r}; {remedy}.")


@lru_cache(maxsize=64)
def _name_of(data: Settings) -> str:
    return key_of(data.model_dump(mode="json"))


@dataclass(frozen=True, kw_only=True)
class Number(Control):
    """A number between limits, on a grid if there is a step."""

    low: float
    high: float
    step: float | None = None

    def from_link(self, text: str, scenario: Scenario) -> float | int:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        steps = (value - self.low) / self.step if self.step else 0.0
        if not self.low <= value <= self.high or abs(steps - round(steps)) > 1e-9:
            grid = f" in steps of {self.step:g}" if self.step else ""
            self.refuse(text, f"give a number from {self.low:,.10g} to {self.high:,.10g}{grid}")
        return type(self.low)(value)

    def to_link(self, value: float) -> str:
        return f"{value:.10g}"


@dataclass(frozen=True, kw_only=True)
class Choice(Control):
    """One of a few words or numbers."""

    options: tuple[Any, ...]

    def from_link(self, text: str, scenario: Scenario) -> Any:
        known = {str(option): option for option in self.options}
        return known[text] if text in known else self.refuse(text, f"choose from {', '.join(known)}")


@dataclass(frozen=True, kw_only=True)
class PolicyNumbers(Control):
    """A few policies, counted from 1: the new ones first, then the old ones."""

    most: int
    sides: tuple[str, ...]  # of the data that are counted

    def from_link(self, text: str, scenario: Scenario) -> list[int]:
        sizes = DOMAINS[scenario.data.domain].sizes(scenario.data)
        count = sum(sizes[f"{side}_policies"] for side in self.sides)
        words = text.split(",")
        numbers = [int(w) for w in words if w.isascii() and w.isdigit() and len(w) < 7]
        if not len(words) == len(numbers) == len(set(numbers)) <= self.most:
            self.refuse(text, f"give the numbers of up to {self.most} different policies, such as 1,2")
        if not all(1 <= n <= count for n in numbers):
            self.refuse(text, f"the policies that it can mean are numbered from 1 to {count}")
        return numbers

    def to_link(self, value: list[int]) -> str:
        return ",".join(map(str, value))


@dataclass(frozen=True, kw_only=True)
class Names(Control):
    """A few names that only the page can check, such as the keys of runs."""

    most: int

    def from_link(self, text: str, scenario: Scenario) -> list[str]:
        names = [name for name in text.split(",") if name]
        if len(names) > self.most or any(len(name) > 80 for name in names):
            self.refuse(text, f"give up to {self.most} names of at most 80 characters")
        return names

    def to_link(self, value: list[str]) -> str:
        return ",".join(value)


# Every page that shows results: the new policies, or the old ones as a back-test.
NEW_POLICIES, ON_HISTORY = "new", "history"
JUDGED = Choice(name="judged", options=(NEW_POLICIES, ON_HISTORY), usual=NEW_POLICIES)

# Decide. The threshold and two of the costs are those of Safety.
BY_HISTORY = "history"  # the method that the history alone would choose
PROMISE = Choice(name="promise", options=(80, 90, 95), usual=90)  # percent
PROMISE_MODE = Choice(name="promise_mode", options=MODES, usual="interval")
LOOKS = Choice(name="looks", options=("together", "cv+"), usual="together")
LEFT_OUT = Choice(name="left_out", options=get_args(Leave), usual="policy")
DECIDED_BY = Control(name="decided_by", usual=BY_HISTORY)
COST_WATCHING = Number(name="cost_watching", low=0.0, high=1e6, usual=USUAL_COSTS[1])  # of a policy to the end
SHOWN_DECISION = Choice(name="shown_decision", options=("all", *DECISIONS), usual="all")
STRIP_ORDER = Choice(name="strip_order", options=("decision", "prediction", "name"), usual="decision")
REVEAL = Choice(name="reveal", options=(False, True), usual=False)

# Simulate
REWARD = "reward per step"
QUANTITY = Control(name="quantity", usual=REWARD)
DRAWN = PolicyNumbers(name="drawn", of_data=True, most=9, sides=("test", "train"))
COMPARED_WITH = Control(name="compared_with", of_data=True)

# Horizon: which methods a crowded chart shows, or a small chart for each.
FEW_METHODS, ALL_METHODS, EACH_METHOD = "few", "all", "each"
CROWD = Choice(name="crowd", options=(FEW_METHODS, ALL_METHODS, EACH_METHOD), usual=FEW_METHODS)
# Which question its second chart answers, and the intervals of its first.
ACCURACY, CHOICE, SAFETY = "accuracy", "choice", "safety"
ASPECT = Choice(name="aspect", options=(ACCURACY, CHOICE, SAFETY), usual=ACCURACY)
LEVEL = Number(name="level", low=50, high=95, step=5, usual=round(100 * USUAL_LEVEL))  # percent
KIND = Choice(name="kind", options=("together", "cv+", "weighted", "family"), usual="together")

# Policies
POLICIES = PolicyNumbers(name="policies", of_data=True, most=MOST_POLICIES, sides=("test",))
SORTED_BY = Choice(name="sorted_by", options=ORDERS, usual=BY_START)

# Safety. Which of the two limits a link carries says by what it is given.
BY_SHARE, BY_VALUE = "percentile", "value"
LIMIT_BY = Choice(name="limit_by", options=(BY_SHARE, BY_VALUE), of_data=True)
LIMIT_SHARE = Number(name="limit_share", low=1, high=50, step=1, of_data=True, used_when=(LIMIT_BY, BY_SHARE))
LIMIT_VALUE = Number(name="limit_value", low=-1e9, high=1e9, of_data=True, used_when=(LIMIT_BY, BY_VALUE))
COST_STOPPING = Number(name="cost_stopping", low=0.0, high=1e6, usual=USUAL_COSTS[1])
COST_MISSING = Number(name="cost_missing", low=0.0, high=1e6, usual=USUAL_COSTS[0])
ALL_MATRICES = Choice(name="matrices", options=("one", "all"), usual="one")  # the table and one matrix, or all of them
FIELD_METHOD = Choice(name="field_method", options=tuple(METHODS))
FIELD_OUTCOME = Choice(name="field_outcome", options=OUTCOMES, usual="missed")  # the dangerous mistake first

# Shift: the theorem's terms.
FAILURE = Number(name="failure", low=0.04, high=0.96, step=0.04, usual=0.2)
CLASS_SIZE = Choice(name="class_size", options=(1, 10, 100, 1_000, 10_000, 1_000_000, 10**9, 10**12), usual=1_000)
RATIO_ERROR = Number(name="ratio_error", low=0.0, high=1.0, step=0.05, usual=0.1)

# Battery. The folder of measured cells is never taken from a link: who sends one must not choose what is read here.
SYNTHETIC_CELLS, MEASURED_CELLS = "synthetic", "measured"
CELLS = Choice(name="cells", options=(SYNTHETIC_CELLS, MEASURED_CELLS), usual=SYNTHETIC_CELLS)
FILTER_BELOW = Number(name="filter_below", low=300.0, high=1700.0, step=50.0, usual=700.0)
THRESHOLD = Number(name="threshold", low=400.0, high=1000.0, step=50.0, usual=550.0)
CELL = Control(name="cell")
CELL_TRAINING = Choice(name="cell_training", options=("full", "filtered"), usual="full")

# Runs and Paper
RUNS = Names(name="runs", most=9)
RUN_A, RUN_B = Control(name="run_a"), Control(name="run_b")  # in links of earlier versions
PART = Choice(name="part", options=get_args(PartName), usual="figure2")

CONTROLS: dict[str, Control] = {
    control.name: control
    for control in (
        PROMISE, PROMISE_MODE, LOOKS, LEFT_OUT, DECIDED_BY, COST_WATCHING, SHOWN_DECISION, STRIP_ORDER, REVEAL,
        JUDGED, QUANTITY, DRAWN, COMPARED_WITH, CROWD, ASPECT, LEVEL, KIND, POLICIES, SORTED_BY,
        LIMIT_SHARE, LIMIT_VALUE, COST_STOPPING, COST_MISSING, ALL_MATRICES, FIELD_METHOD, FIELD_OUTCOME,
        FAILURE, CLASS_SIZE, RATIO_ERROR, CELLS, FILTER_BELOW, THRESHOLD, CELL, CELL_TRAINING, RUNS, RUN_A, RUN_B, PART,
    )
}  # fmt: skip
