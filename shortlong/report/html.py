"""The parts of a self-contained HTML page: text, tables and charts that open without a network and still work in ten years.

Charts are drawings, so that a page is small, needs no scripts and prints as it looks. All text is escaped.
"""

import platform
from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import version

import pandas as pd
import plotly.graph_objects as go

from shortlong.report.drawing import drawing
from shortlong.words.numbers import number
from shortlong.words.scenario import column_title

LIBRARIES = ("numpy", "pandas", "scikit-learn", "plotly")
STYLE = """
body { font: 17px/1.5 system-ui, sans-serif; max-width: 1000px; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
table { border-collapse: collapse; font-size: 14px; margin: 1rem 0; display: block; overflow-x: auto }
td, th { border-bottom: 1px solid #ccc; padding: 3px 10px; text-align: right }
td:first-child, th:first-child { text-align: left; min-width: 11em }
table.named td:last-child { min-width: 18em }
pre { background: #f4f4f4; padding: 1rem; overflow-x: auto; font-size: 13px }
figure.chart { margin: 0.5rem 0; break-inside: avoid } h2 { break-after: avoid }
@media print { body { font-size: 12px; max-width: none; margin: 0 } h1 { font-size: 20px } table { font-size: 10px; display: table }
  tr { break-inside: avoid } pre { white-space: pre-wrap; font-size: 9px } }
@page { size: A4 portrait; margin: 14mm 12mm }
.notice { border-left: 4px solid #D55E00; padding-left: 1rem } .quiet { color: #555; font-size: 15px }
"""


def html_page(title: str, parts: Sequence[str], style: str = "") -> str:
    """A whole page; ``style`` is added to that of all pages."""
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}{style}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(parts) + "\n</body></html>\n"


def chart(figure: go.Figure, words: str = "") -> str:
    """A chart as a drawing; ``words`` are read aloud instead of it."""
    return f'<figure class="chart">{drawing(figure, words)}</figure>'


def table(rows: pd.DataFrame, kind: str = "") -> str:
    """``kind`` is "named" where the last column holds names, which would make high rows of a narrow one."""
    named = rows.rename(columns=column_title)
    return named.to_html(index=False, border=0, escape=True, classes=kind or None, float_format=number, na_rep="")


def heading(level: int, text: str) -> str:
    return f"<h{level}>{escape(text)}</h{level}>"


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if text else ""


def verbatim(text: str) -> str:
    return f"<pre>{escape(text)}</pre>"


def programs() -> Mapping[str, str]:
    """Versions of Python and of the libraries that made the page."""
    return {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}
