"""Pictures as files: one HTML page with all of them, and SVG and PNG where kaleido and a browser are installed.

Plotly draws pictures only inside a browser; kaleido starts an installed Chromium or Chrome without a window. Where either is
missing, only the HTML page is written, and a sentence says why.
"""

import logging
import shutil
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

import plotly.graph_objects as go

from shortlong.paper.figures import WIDTH, Picture
from shortlong.report.html import STYLE

log = logging.getLogger(__name__)
PATIENCE = 120  # seconds for each picture; two are enough where the machine is idle
SCALE = {"svg": 1.0, "png": 1.25}  # pixels of a file per pixel of the figure
INSTALL = "pip install 'shortlong[pictures]'"


def light(figure: go.Figure) -> go.Figure:
    """A copy for paper: dark words on white."""
    return go.Figure(figure).update_layout(template="plotly_white", width=WIDTH)


def write_html(pictures: Sequence[Picture], file: Path, title: str) -> None:
    """All pictures in one page that needs no network; the charting library is inside once."""
    parts = []
    for number, picture in enumerate(pictures):
        chart = light(picture.figure).to_html(
            full_html=False, include_plotlyjs=number == 0, div_id=picture.name, config={"displaylogo": False}
        )
        parts.append(f"<h2>{escape(picture.title)}</h2>\n<p>{escape(picture.sentence)}</p>\n{chart}")
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    body = f"<h1>{escape(title)}</h1>\n" + "\n".join(parts)
    file.write_text(f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n', "utf-8")


def write_images(pictures: Sequence[Picture], folder: Path) -> str | None:
    """SVG and PNG of every picture; where that is not possible, a sentence that says why."""
    try:
        import kaleido  # late: optional
        from kaleido.errors import ChromeNotFoundError
    except ImportError:
        return _none_because(f"kaleido is not installed ({INSTALL})")
    with tempfile.TemporaryDirectory(prefix="shortlong-pictures-", ignore_cleanup_errors=True) as drawn:
        files = [
            {
                "fig": light(picture.figure),
                "path": Path(drawn) / f"{picture.name}.{form}",
                "opts": {"format": form, "scale": scale, "width": WIDTH, "height": picture.figure.layout.height},
            }
            for picture in pictures
            for form, scale in SCALE.items()
        ]
        try:
            options = {"mathjax": False, "timeout": PATIENCE}  # MathJax would come from the network
            kaleido.write_fig_from_object_sync(files, kopts=options, cancel_on_error=True)
        except ChromeNotFoundError:
            return _none_because("no Chromium or Chrome is installed")
        except Exception as error:  # whatever goes wrong inside a browser must not cost the results
            log.warning("The browser drew no pictures: %s", error)
            return _none_because("the installed browser could not draw")
        for file in files:
            shutil.move(file["path"], folder / file["path"].name)
    return None


def _none_because(reason: str) -> str:
    return f"No SVG or PNG was written, because {reason}; the charts are in the HTML page."
