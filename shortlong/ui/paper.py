"""What the Paper page shows: the largest available results, computed ones before shipped ones; nothing is computed here."""

from collections import Counter
from dataclasses import dataclass
from html import escape

import streamlit as st

from shortlong.analysis.battery_table import FILTER_BELOW, HORIZON
from shortlong.compute import shipped as gallery
from shortlong.compute.dataset import data_key
from shortlong.compute.results import Results
from shortlong.compute.saved_runs import saved_runs
from shortlong.core.errors import UserError
from shortlong.paper import PartName
from shortlong.paper.claims import check_all
from shortlong.paper.evidence import (
    BatteryTable,
    Evidence,
    Measured,
    battery_table,
    fleet_result,
    is_synthetic,
    shipped_battery_table,
)
from shortlong.paper.figures import Picture, pictures
from shortlong.paper.outcome import Claim, Outcome, Verdict
from shortlong.paper.plan import PARTS, SIZES, battery_scenarios
from shortlong.paper.tried import Differences, kept
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.ui.modes import folders_allowed
from shortlong.ui.results import load, store
from shortlong.ui.serving import finished

SYMBOLS: dict[Verdict, str] = {"reproduced": "✓", "not reproduced": "✗", "inconclusive": "?"}
COLOURS = {"reproduced": "#1B7F4B", "not reproduced": "#B5500B", "inconclusive": "#5F6B76"}  # white text 4.5:1 or more
LOOK_AGAIN = 60  # seconds after which the store is searched for measured cells again


@dataclass(frozen=True)
class Shown:
    """The available results, and a key that identifies them."""

    key: str
    measured: Measured
    views: dict[str, Results]  # of HIV and kidney, where there are results

    @property
    def empty(self) -> bool:
        return not self.views and self.measured.battery is None


def at_hand() -> Shown:
    views = {domain: view for domain in ("hiv", "kidney") if (view := _largest(domain))}
    found = {domain: Evidence(view) for domain, view in views.items()}
    key, table = _battery()
    names = [view.key for view in views.values()]
    tried = _tried(" ".join([str(store().root), *names]), views) if len(views) == 2 else None
    return Shown(" ".join([*names, key]), Measured(found.get("hiv"), found.get("kidney"), table, tried), views)


@st.cache_resource(max_entries=4, ttl=LOOK_AGAIN, show_spinner=False)
def _tried(key: str, _views: dict[str, Results]) -> Differences | None:
    """Which changes of the set-up were tried on these results."""
    return kept(_views["hiv"].scenario, _views["kidney"].scenario, store())


@st.cache_resource(max_entries=16, show_spinner=False)
def checked(key: str, _measured: Measured) -> list[tuple[Claim, Outcome]]:
    return check_all(_measured, PARTS)


@st.cache_resource(max_entries=32, show_spinner=False)
def drawn(key: str, part: PartName, dark: bool, _measured: Measured) -> list[Picture]:
    found = pictures(_measured, (part,), dark)
    for picture in found:
        finished(picture.figure)
    return found


def verdict_strip(found: list[tuple[Claim, Outcome]]) -> str:
    """One numbered square per statement, coloured and marked by its verdict, with the counts beside it; as HTML."""
    counts = Counter(outcome.verdict for _, outcome in found)
    told = "".join(
        f'<span style="white-space:nowrap">{_square(verdict, SYMBOLS[verdict])} <b>{counts[verdict]} of {len(found)}</b> '
        f"{verdict}</span>"
        for verdict in SYMBOLS
    )
    squares = "".join(
        _square(outcome.verdict, f"{number} {SYMBOLS[outcome.verdict]}", f"{number}. {outcome.verdict}: {claim.text}")
        for number, (claim, outcome) in enumerate(found, 1)
    )
    row = "display:flex;flex-wrap:wrap;align-items:center"
    return (
        f'<div style="{row};gap:0.4rem 1.8rem;font-size:1.25rem;margin-bottom:0.6rem">{told}</div>'
        f'<div style="{row};gap:0.25rem">{squares}</div>'
    )


def _square(verdict: str, text: str, about: str = "") -> str:
    """A square with white text on the verdict's colour; ``about`` is read aloud and shown on hover."""
    named = f' role="img" aria-label="{escape(about)}" title="{escape(about)}"' if about else ' aria-hidden="true"'
    return (
        f'<span{named} style="display:inline-flex;min-width:2.2rem;height:2rem;align-items:center;justify-content:center;'
        f'border-radius:4px;background:{COLOURS[verdict]};color:#FFFFFF;font-size:0.85rem;font-weight:600">{text}</span>'
    )


def _largest(domain: str) -> Results | None:
    """Results of the largest size that has been computed or shipped."""
    return next((view for size in reversed(SIZES) if (view := load(preset(f"{domain}-{size}")))), None)


def _battery() -> tuple[str, BatteryTable | None]:
    """Table 1 from measured cells if these were computed, else from simulated ones, else as shipped."""
    pairs = [battery_scenarios(size) for size in reversed(SIZES)]
    if source := _measured_source(str(store().root)):
        pairs.insert(0, battery_scenarios("demo", source))
    for full, filtered in pairs:
        if found := _table_of(full, filtered):
            return " ".join(f"{s.key} {data_key(s.data)}" for s in (*full, *filtered)), found
    item = gallery.largest("battery")
    table = shipped_battery_table(item) if item else None
    return (item.seal, table) if item and table else ("", None)


def _table_of(full: tuple[Scenario, ...], filtered: tuple[Scenario, ...]) -> BatteryTable | None:
    try:
        views = {"full": [load(s) for s in full], "filtered": [load(s) for s in filtered]}
        fleets = {name: [fleet_result(view) for view in side if view] for name, side in views.items()}
        if any(len(fleets[name]) < len(side) for name, side in views.items()):
            return None
        return battery_table(fleets, is_synthetic(full[0]))
    except UserError:  # the folder of measured cells is gone
        return None


@st.cache_data(max_entries=4, ttl=LOOK_AGAIN, show_spinner=False)
def _measured_source(root: str) -> str | None:
    """The folder of the most recent saved run of table 1 on measured cells."""
    if not folders_allowed():
        return None
    for run in saved_runs(store()):
        data = run.scenario.data.model_dump() if run.scenario else {}
        wanted = data.get("domain") == "battery" and data.get("filter_below") == FILTER_BELOW
        if wanted and data["source"] != "synthetic" and run.scenario and HORIZON in run.scenario.horizons:
            return str(data["source"])
    return None
