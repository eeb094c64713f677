"""The question in one picture: histories in full, a new policy seen only for a while, three possible endings.

Drawn as SVG, not as a chart: there is nothing to hover, and the first thing on the first page must not wait for a charting
library.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from shortlong.figures.style import NEUTRAL

FONTS = "'Source Sans 3', 'Source Sans Pro', Arial, sans-serif"  # unquoted, a name with a digit is not valid
WORDS = "Historical policies are known to the end; the new one only for a short time, after which several outcomes are possible."
SEEN = 29  # of 100
LEFT, TOP, WIDTH, HEIGHT = 46, 8, 640, 260  # of the drawing area; its axes go to 107 and 130
OLD = ((92, 0.09, 45), (74, 0.12, 62), (60, 0.07, 35), (44, 0.1, 75), (33, 0.08, 55), (22, 0.11, 70))  # top, pace, turn
ENDS = (112, 58, 12)


@cache
def question_svg(dark: bool = False) -> str:
    asked, ink = ("#3A9BD9", "#FAFAFA") if dark else ("#0072B2", "#31333F")
    time = np.linspace(0, 100, 51)
    old = [_line(time, lambda t, c=curve: c[0] / (1 + np.exp(-c[1] * (t - c[2]))) + 4) for curve in OLD]
    first, rest = np.linspace(0, SEEN, 16), np.linspace(SEEN, 100, 36)
    now = float(_start(np.array(SEEN)))
    endings = [_line(rest, lambda t, end=end: now + (end - now) * _bend((t - SEEN) / (100 - SEEN))) for end in ENDS]
    x, y = _place(SEEN, now)
    bottom = TOP + HEIGHT
    shapes = [
        f'<path d="M{LEFT} {bottom}H{LEFT + WIDTH}" stroke="{NEUTRAL}" stroke-opacity=".35"/>',
        *(f'<path d="{d}" stroke="{NEUTRAL}" stroke-width="1.5" stroke-opacity=".65"/>' for d in old),
        *(f'<path d="{d}" stroke="{asked}" stroke-width="3" stroke-dasharray="3 4"/>' for d in endings),
        f'<path d="M{x} {TOP}V{bottom}" stroke="{ink}" stroke-width="1.5" stroke-dasharray="9 8"/>',
        f'<path d="{_line(first, _start)}" stroke="{ink}" stroke-width="5"/>',
        f'<circle cx="{x}" cy="{y}" r="7" fill="{ink}"/>',
        _text(SEEN / 2, 121, "observed"),
        _text((100 + SEEN) / 2, 121, "to be predicted"),
        _text(13, 37, "the new", "font-weight:700;font-size:24px"),
        _text(13, 26, "policy", "font-weight:700;font-size:24px"),
        _text(SEEN + 2.5, 106, "historical policies,", "font-size:22px;text-anchor:start"),
        _text(SEEN + 2.5, 95, "known to the end", "font-size:22px;text-anchor:start"),
        _text(104, 50, "?", f"font-weight:700;font-size:60px;fill:{asked}"),
        f'<text x="{LEFT + WIDTH / 2}" y="{bottom + 28}" style="font-size:25px">time</text>',
        f'<text transform="translate(20 {TOP + HEIGHT / 2}) rotate(-90)" style="font-size:25px">benefit to date</text>',
    ]
    width, height = LEFT + WIDTH + 10, bottom + 40
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{WORDS}" fill="none" text-anchor="middle" font-size="28" font-family="{FONTS}">'
        f"{''.join(shapes)}</svg>".replace("<text ", f'<text fill="{ink}" ')
    )


def _start(t: np.ndarray) -> np.ndarray:
    """The observed part of the new policy."""
    return 4 + 7 * (1 - np.exp(-t / 30))


def _bend(share: np.ndarray) -> np.ndarray:
    return share**2 * (3 - 2 * share)


def _place(x: float, y: float) -> tuple[float, float]:
    return round(LEFT + WIDTH * x / 107, 1), round(TOP + HEIGHT * (1 - y / 130), 1)


def _line(time: np.ndarray, curve: Callable[..., np.ndarray]) -> str:
    points = [_place(x, y) for x, y in zip(time, curve(time), strict=True)]
    return "M" + "L".join(f"{x} {y}" for x, y in points)


def _text(x: float, y: float, words: str, style: str = "") -> str:
    left, top = _place(x, y)
    return f'<text x="{left}" y="{top}" style="{style}">{words}</text>'
