"""Named scenarios: the table, and its rows as scenarios."""

from shortlong.scenario.preset_table import PRESETS
from shortlong.scenario.scenario import Scenario, preset

__all__ = ["PRESETS", "preset", "presets"]


def presets() -> dict[str, Scenario]:
    """All named scenarios: starting points of different sizes.

    Returns
    -------
    dict
        Scenarios by name. ``demo`` takes seconds, ``standard`` minutes, ``paper`` has the sizes of the paper.

    Examples
    --------
    >>> import shortlong as sl
    >>> sl.presets()["hiv-demo"].horizons
    (5, 10, 20, 30, 50)
    """
    return {name: preset(name) for name in PRESETS}
