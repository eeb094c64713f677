"""The level and the kind of the intervals on a page, in links like every other control."""

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from shortlong.analysis.history_choice import HistoryChoice
from shortlong.analysis.intervals import Kind
from shortlong.analysis.outlook import LEVEL, kinds_of
from shortlong.compute.results import Results
from shortlong.core.harmless import sentence
from shortlong.scenario import Scenario
from shortlong.ui import controls, state
from shortlong.ui.charts import chosen_by_history
from shortlong.ui.kept import once_per_results
from shortlong.words.certainty import KIND_HELP, KIND_TITLES
from shortlong.words.unseen_actions import unseen_warnings


@dataclass(frozen=True)
class Intervals:
    """What was chosen, and whether there is a back-test to make intervals from."""

    view: Results
    known: bool
    level: float = LEVEL
    kind: Kind = "together"

    def chosen(self, horizon: int) -> HistoryChoice | None:
        """What the history alone would choose at a horizon."""
        return chosen_by_history(self.view, horizon)


@once_per_results(32)
def available_kinds(view: Results) -> list[Kind]:
    """The kinds of interval that can be chosen; none without a back-test."""
    return kinds_of(view)


def choose_intervals(view: Results, level_place: DeltaGenerator, kind_place: DeltaGenerator) -> Intervals:
    """A slider for the level and a menu for the kind, where something was back-tested."""
    kinds = available_kinds(view)
    level = level_place.slider(
        "Interval level",
        int(controls.LEVEL.low),
        int(controls.LEVEL.high),
        step=int(controls.LEVEL.step or 1),
        format="%d %%",
        key=state.settle(controls.LEVEL, view.scenario),
        persist_state="session",
        help="How many of 100 such intervals should contain the outcome. Under which condition they do is said below the charts.",
    )
    key = state.settle(controls.KIND, view.scenario)
    if st.session_state[key] not in kinds:  # a link, or a choice made for another result
        st.session_state[key] = kinds[0]
    with kind_place.popover("Kind", icon=":material/straighten:", width="stretch", help="What the intervals promise"):
        kind = st.radio(
            "What the intervals promise",
            kinds,
            format_func=lambda name: KIND_TITLES[name],
            captions=[KIND_HELP[name] for name in kinds],
            key=key,
            persist_state="session",
        )
    return Intervals(view, True, level / 100, kind)


def note_unseen(scenario: Scenario, methods: Sequence[str]) -> None:
    """A line under predictions where new policies do what no historical one did: no back-test covers that."""
    if said := unseen_warnings(scenario, methods):
        st.markdown(f":material/warning: {sentence(' '.join(said))}")
