"""Sentences and cards where outcomes are just no or yes."""

from shortlong.analysis.yes_no import YesNo
from shortlong.core.trajectories import System
from shortlong.words.first_screen import KNOWN_AT_THE_TIME, Card
from shortlong.words.horizon import HINDSIGHT
from shortlong.words.numbers import count, plural
from shortlong.words.scenario import short_title
from shortlong.words.time import time_text

MEANS_YES = "A prediction from 0.5 on counts as a yes."


def yes_no_cards(system: System, horizon: int, best: YesNo, chosen: YesNo | None, kind: tuple[str, str]) -> list[Card]:
    """Who is right most often in hindsight, what the history would choose, and how many are called a yes.

    ``kind`` is what outcomes are said of, and what a yes means: cells, long-lived.
    """
    units, name = kind
    constant = f"one answer for all: {best.one_answer}"
    first = Card(
        f"Most often right at {time_text(system, horizon)}, in hindsight",
        f"{short_title(best.method)} · {count(best.right, best.total)}",
        f"as often: {plural(best.tied, 'other')}; {constant}" if best.tied else constant,
        f"{HINDSIGHT} {MEANS_YES}",
    )
    quoted = chosen or best
    if chosen is None:
        second = Card("The history alone would choose", "unknown", "no back-test is stored", KNOWN_AT_THE_TIME)
    else:
        value = f"{short_title(chosen.method)} · {count(chosen.right, chosen.total)}"
        second = Card("The history alone would choose", value, constant, f"{KNOWN_AT_THE_TIME} {MEANS_YES}")
    third = Card(
        f"{units.capitalize()} that {short_title(quoted.method)} calls {name}",
        count(quoted.called_yes, quoted.total),
        f"{quoted.yes} really are",
        f"{MEANS_YES} Many more or fewer than there really are would be a bias.",
    )
    return [first, second, third]


def right_title(system: System, horizon: int, best: YesNo, kind: tuple[str, str]) -> str:
    """The title of the chart of correct answers."""
    return (
        f"After {time_text(system, horizon)}, {short_title(best.method)} is right about {count(best.right, best.total)} "
        f"{kind[0]}; one answer for all would be right about {best.one_answer}"
    )


def believed_title(method: str) -> str:
    """The title of the chart of calibration."""
    return f"Can the probabilities of {short_title(method)} be believed? On the diagonal a predicted share comes true"
