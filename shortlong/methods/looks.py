"""How a method looks in every chart: on pages, in reports and in pictures."""

from dataclasses import dataclass
from typing import Literal

Dash = Literal["solid", "dot", "dash", "longdash", "dashdot"]


@dataclass(frozen=True)
class Looks:
    """Colour and marker of a method.

    The colours in use follow Okabe and Ito (colour-blind safe). Each has a contrast of at least 3:1 on white, on the dark theme
    and on the switches of both, so that one palette serves both themes. Markers differ too: nothing depends on colour alone.
    """

    colour: str = "#7F7F7F"
    marker: str = "circle"  # a symbol of plotly
    dash: Dash = "solid"
    course_dash: Dash = "solid"  # of the course over time that a method predicts for a policy
