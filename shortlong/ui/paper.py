"""What the Paper page shows: the largest results that are at hand, own ones before shipped ones, never computed here."""

from dataclasses import dataclass

import streamlit as st

from shortlong import gallery
from shortlong.dataset import data_key
from shortlong.errors import UserError
from shortlong.paper import PartName
from shortlong.paper.claims import check_all
from shortlong.paper.evidence import (
    ROLLOUT_METHODS,
    BatteryTable,
    Evidence,
    Fleet,
    Measured,
    battery_table,
    is_synthetic,
    shipped_evidence,
    with_courses,
)
from shortlong.paper.figures import Picture, pictures
from shortlong.paper.outcome import Claim, Outcome
from shortlong.paper.plan import BATTERY_HORIZON, FILTER_BELOW, PARTS, SIZES, battery_scenarios
from shortlong.presets import preset
from shortlong.runs import saved_runs
from shortlong.scenario import Scenario
from shortlong.ui.charts import finished
from shortlong.ui.courses import rollout_curves
from shortlong.ui.results import View, load, load_summary, once_per_view, store

LOOK_AGAIN = 60  # seconds after which the store is searched for measured cells again


@dataclass(frozen=True)
class Shown:
    """The results at hand, and what identifies them."""

    key: str
    measured: Measured
    views: dict[str, View]  # of HIV and kidney, as far as there are results

    @property
    def empty(self) -> bool:
        return not self.views and self.measured.battery is None


def at_hand() -> Shown:
    views = {domain: view for domain in ("hiv", "kidney") if (view := _largest(domain))}
    found = {domain: _evidence(view) for domain, view in views.items()}
    key, table = _battery()
    names = [view.key for view in views.values()]
    return Shown(" ".join([*names, key]), Measured(found.get("hiv"), found.get("kidney"), table), views)


@st.cache_resource(max_entries=16, show_spinner=False)
def checked(key: str, _measured: Measured) -> list[tuple[Claim, Outcome]]:
    return check_all(_measured, PARTS)


@st.cache_resource(max_entries=32, show_spinner=False)
def drawn(key: str, part: PartName, dark: bool, _measured: Measured) -> list[Picture]:
    found = pictures(_measured, (part,), dark)
    for picture in found:
        finished(picture.figure)
    return found


def _largest(domain: str) -> View | None:
    """Results of the largest size that is computed or shipped."""
    return next((view for size in reversed(SIZES) if (view := load(preset(f"{domain}-{size}")))), None)


@once_per_view(16)
def _evidence(view: View) -> Evidence:
    scenario = view.scenario
    if view.from_gallery and (item := gallery.find(scenario)):
        return shipped_evidence(item)
    evidence = Evidence(scenario, view.values, view.metrics)
    summary = load_summary(scenario)
    if summary is None:
        return evidence
    played = {
        m: rollout_curves(scenario, m, evidence.example_horizon) for m in ROLLOUT_METHODS if m in scenario.methods
    }
    rollouts = {method: curves for method, curves in played.items() if curves}
    return with_courses(evidence, summary.labels["test"], summary.arrays, rollouts)


def _battery() -> tuple[str, BatteryTable | None]:
    """Table 1 from measured cells if they were computed here, else from synthetic ones, else as it is shipped."""
    pairs = [battery_scenarios(size) for size in reversed(SIZES)]
    if source := _measured_source(str(store().root)):
        pairs.insert(0, battery_scenarios("demo", source))
    for full, filtered in pairs:
        if found := _table_of(full, filtered):
            return " ".join(f"{s.key} {data_key(s.data)}" for s in (*full, *filtered)), found
    item = gallery.largest("battery")
    rows = item.battery_table() if item else None
    return (item.seal, BatteryTable(rows, synthetic=True)) if item and rows is not None else ("", None)


def _table_of(full: tuple[Scenario, ...], filtered: tuple[Scenario, ...]) -> BatteryTable | None:
    try:
        views = {"full": [load(s) for s in full], "filtered": [load(s) for s in filtered]}
        fleets = {
            name: [Fleet(v.metrics, v.values["policy"].nunique()) for v in side if v] for name, side in views.items()
        }
        if any(len(fleets[name]) < len(side) for name, side in views.items()):
            return None
        return battery_table(fleets, is_synthetic(full[0]))
    except UserError:  # the folder of measured cells is gone
        return None


@st.cache_data(max_entries=4, ttl=LOOK_AGAIN, show_spinner=False)
def _measured_source(root: str) -> str | None:
    """The folder of the latest saved run of table 1 on measured cells."""
    for run in saved_runs(store()):
        data = run.scenario.data.model_dump() if run.scenario else {}
        wanted = data.get("domain") == "battery" and data.get("filter_below") == FILTER_BELOW
        if wanted and data["source"] != "synthetic" and run.scenario and BATTERY_HORIZON in run.scenario.horizons:
            return str(data["source"])
    return None
