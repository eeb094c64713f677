"""Says which observation periods were interpolated, and between which computed ones."""

from collections.abc import Sequence

from shortlong.analysis.neighbours import Neighbours
from shortlong.core.trajectories import System
from shortlong.words.numbers import number
from shortlong.words.time import time_text


def interpolated_sentence(system: System, places: Sequence[Neighbours]) -> str:
    """What is shown of each: 70 days, interpolated between the computed 50 and 100 days."""
    return " ".join(_sentence(system, place) for place in places)


def _sentence(system: System, place: Neighbours) -> str:
    when = time_text(system, place.horizon)
    if place.below == place.above:
        nearest = time_text(system, place.below)
        return (
            f"**{when}: not computed yet.** Predictions and errors are those of the nearest computed period, {nearest}."
        )
    between = f"{number(place.below * system.step_length)} and {time_text(system, place.above)}"
    return f"**{when}: interpolated** between the computed {between}, also errors and intervals."
