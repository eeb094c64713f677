"""What Home shows of one domain."""

from dataclasses import dataclass

import plotly.graph_objects as go

from shortlong.scenario import Scenario

HORIZON_PAGE = "pages/2_Horizon.py"


@dataclass(frozen=True)
class DomainAnswer:
    """A sentence with its chart, and the page that shows more."""

    scenario: Scenario
    horizon: int  # at which the sentence speaks
    headline: str
    words: str
    figure: go.Figure
    alt: str
    source: str
    page: str = HORIZON_PAGE  # that shows more
    link: str = "How early can we tell?"
