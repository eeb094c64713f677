"""Playing over the observation period inside the browser: every period is a frame of one figure, so no server is asked."""

from collections.abc import Sequence
from typing import Any

from shortlong.figures.style import NEUTRAL, TEXT, ink

FRAME_SECONDS = 0.9
AT_ONCE = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}


def play_buttons(frames: Sequence[str], dark: bool, **place: Any) -> dict[str, Any]:
    """A play and a pause button for these frames; ``place`` says where they stand."""
    playing = {"frame": {"duration": FRAME_SECONDS * 1000, "redraw": True}, "transition": {"duration": 0}}
    return {
        "type": "buttons",
        "direction": "left",
        "showactive": False,
        "font": {"size": TEXT, "color": ink(dark)},
        "bgcolor": "rgba(128,128,128,0.15)",
        "bordercolor": NEUTRAL,
        "buttons": [
            {"label": "▶ Play", "method": "animate", "args": [list(frames), playing]},
            {"label": "❚❚", "method": "animate", "args": [[None], AT_ONCE]},
        ],
        **place,
    }
