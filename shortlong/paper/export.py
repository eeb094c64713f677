"""Pictures as files: one HTML page with all of them, and SVG and PNG where a browser is installed.

The charting library draws SVG only inside a browser, so an installed Chromium or Chrome is asked, without a window. Where
there is none the HTML page is all there is, and a sentence says so.
"""

import base64
import json
import logging
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from html import escape, unescape
from pathlib import Path
from urllib.parse import unquote

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from shortlong.paper.figures import WIDTH, Picture
from shortlong.report.html import STYLE

log = logging.getLogger(__name__)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
FLAGS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=60000",
    "--dump-dom",
)
PATIENCE = 300  # seconds for all pictures; a few are enough where the machine has nothing else to do
SHARPNESS = 1.25  # pixels of a PNG per pixel of the figure
MARK = "shortlong-pictures"
DRAWING = """<!DOCTYPE html><html><head><meta charset="utf-8"><script>{library}</script></head><body><script>
const figures = {figures};
(async () => {{
  const drawn = {{}};
  for (const [name, figure] of Object.entries(figures)) {{
    const size = {{width: {width}, height: figure.layout.height}};
    drawn[name] = {{svg: await Plotly.toImage(figure, {{format: "svg", ...size}}),
                   png: await Plotly.toImage(figure, {{format: "png", scale: {scale}, ...size}})}};
  }}
  document.head.innerHTML = "";
  document.body.innerHTML = "";
  const result = document.createElement("pre");
  result.id = "{mark}";
  result.textContent = JSON.stringify(drawn);
  document.body.appendChild(result);
}})();
</script></body></html>"""


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


def find_browser() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def write_images(pictures: Sequence[Picture], folder: Path) -> str | None:
    """SVG and PNG of every picture; where that is not possible, a sentence that says why."""
    browser = find_browser()
    if browser is None:
        return "No SVG or PNG was written, because no Chromium or Chrome is installed; the charts are in the HTML page."
    try:
        drawn = _draw(browser, pictures)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        log.warning("The browser %s drew no pictures: %s", browser, error)
        return (
            "No SVG or PNG was written, because the installed browser could not draw; the charts are in the HTML page."
        )
    for name, images in drawn.items():
        (folder / f"{name}.svg").write_text(unquote(images["svg"].partition(",")[2]), "utf-8")
        (folder / f"{name}.png").write_bytes(base64.b64decode(images["png"].partition(",")[2]))
    return None


def _draw(browser: str, pictures: Sequence[Picture]) -> dict[str, dict[str, str]]:
    """Addresses that hold the images, by name and format."""
    figures = {p.name: json.loads(light(p.figure).to_json()) for p in pictures}
    content = json.dumps(figures).replace("</", "<\\/")  # a label must not end the script
    page = DRAWING.format(library=get_plotlyjs(), figures=content, width=WIDTH, scale=SHARPNESS, mark=MARK)
    root = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    with tempfile.TemporaryDirectory(prefix="shortlong-pictures-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "pictures.html"
        file.write_text(page, "utf-8")
        command = [browser, *FLAGS, *root, f"--user-data-dir={folder}/profile", file.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    found = re.search(f'<pre id="{MARK}">(.*?)</pre>', done.stdout, re.DOTALL)
    if found is None:
        raise ValueError("the page did not finish")
    return json.loads(unescape(found[1]))
