"""One self-contained HTML page about a run: sentences, charts, tables, and everything needed to make it again.

The charting library is inside the page once, so that it opens without a network and still works in ten years. Text that
comes from a scenario is escaped.
"""

import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version

import pandas as pd
import plotly.graph_objects as go

from shortlong.domains import DOMAINS
from shortlong.domains.base import notice_of
from shortlong.experiment import versions
from shortlong.figures import error_over_horizon, predicted_against_true, scatter_limits
from shortlong.headline import (
    at_horizon,
    calibration,
    error_curve,
    headline,
    nearest_horizon,
    reliable_from,
    standings,
    wide_table,
)
from shortlong.scenario import Scenario
from shortlong.wording import (
    calibration_sentence,
    column_title,
    curve_sentence,
    headline_sentence,
    horizon_text,
    meaning_of_value,
    number,
    scenario_line,
    system_of,
    title_of,
)

LIBRARIES = ("numpy", "pandas", "scikit-learn", "plotly")
STYLE = """
body { font: 17px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
table { border-collapse: collapse; font-size: 14px; margin: 1rem 0; display: block; overflow-x: auto }
td, th { border-bottom: 1px solid #ccc; padding: 3px 10px; text-align: right }
td:first-child, th:first-child { text-align: left }
pre { background: #f4f4f4; padding: 1rem; overflow-x: auto; font-size: 13px }
.notice { border-left: 4px solid #D55E00; padding-left: 1rem } .quiet { color: #555; font-size: 15px }
"""


def report(
    scenario: Scenario,
    metrics: pd.DataFrame,
    values: pd.DataFrame,
    not_applicable: Mapping[str, str],
    *,
    horizon: int | None = None,
    now: datetime | None = None,
) -> str:
    """The report of a computed scenario; without a horizon the one nearest to a tenth of the time is described."""
    system, methods = system_of(scenario), list(dict.fromkeys(metrics["method"]))
    at = horizon if horizon is not None else nearest_horizon(scenario.horizons, system.steps / 10)
    head = headline(metrics, values, at)
    errors = error_over_horizon(metrics, system, methods, at)
    scatter = predicted_against_true(at_horizon(values, at), methods, scatter_limits(values))
    curve = curve_sentence(system, head.method, *error_curve(metrics, head.method), reliable_from(metrics))
    domain = DOMAINS[scenario.data.domain]
    parts = [
        _heading(1, f"{domain.title}: how early can we tell?"),
        _paragraph(scenario_line(scenario), "quiet"),
        _paragraph(notice_of(domain, scenario.data), "notice"),
        _paragraph(headline_sentence(system, head)),
        _heading(2, "Error over observed time"),
        _paragraph(curve),
        _chart(errors, library=True),
        _heading(2, f"Predicted against true: {horizon_text(system, at)}"),
        _paragraph(calibration_sentence(calibration(values, head.method, at))),
        _chart(scatter),
        _paragraph(meaning_of_value(scenario), "quiet"),
        _heading(2, "Methods at this horizon, mean over seeds"),
        _table(standings(metrics, at).assign(method=lambda t: t["method"].map(title_of))),
        *(_paragraph(f"{title_of(method)}: {reason}", "quiet") for method, reason in not_applicable.items()),
        _heading(2, "Policies: true value and what each method predicts"),
        _table(wide_table(values, at)),
        *_provenance(scenario, now or datetime.now(UTC)),
    ]
    title = escape(f"{domain.title} · shortlong report {scenario.key[:6]}")
    head_part = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head>{head_part}</head><body>\n' + "\n".join(parts) + "\n</body></html>\n"
    )


def _provenance(scenario: Scenario, now: datetime) -> list[str]:
    programs = {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}
    return [
        _heading(2, "Where this comes from"),
        _paragraph(f"Run {scenario.key}, report of {now:%Y-%m-%d %H:%M} UTC. The command that computes it:"),
        _verbatim(scenario.to_command()),
        _paragraph("Scenario:"),
        _verbatim(scenario.to_yaml()),
        _paragraph("Versions:"),
        _verbatim(json.dumps({**versions(scenario), "libraries": programs}, indent=1)),
    ]


def _chart(figure: go.Figure, library: bool = False) -> str:
    figure.update_layout(template="plotly_white")
    return figure.to_html(full_html=False, include_plotlyjs=library, config={"displaylogo": False})


def _table(table: pd.DataFrame) -> str:
    named = table.rename(columns=column_title)
    return named.to_html(index=False, border=0, escape=True, float_format=number, na_rep="")


def _heading(level: int, text: str) -> str:
    return f"<h{level}>{escape(text)}</h{level}>"


def _paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if text else ""


def _verbatim(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"
