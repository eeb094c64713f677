"""What-ifs whose results are shipped: a quick illustration with one set of actions changed, so that the first one answers at once."""

from functools import cache

from shortlong.core.errors import UserError
from shortlong.scenario.preset_table import PRESETS
from shortlong.scenario.scenario import Scenario, preset

# Name of the shipped result: the preset, and what is changed in it.
WHAT_IFS: dict[str, tuple[str, dict[str, str]]] = {
    "hiv-demo-new-without-no-drug": ("hiv-demo", {"data.test_actions": "RTI,PI,both"}),
    "hiv-demo-new-without-both-drugs": ("hiv-demo", {"data.test_actions": "none,RTI,PI"}),
    "hiv-demo-history-with-no-drug": ("hiv-demo", {"data.train_actions": "none,RTI,PI,both"}),
    "hiv-demo-history-without-both-drugs": ("hiv-demo", {"data.train_actions": "RTI,PI"}),
    "kidney-demo-new-with-dose-levels": ("kidney-demo", {"data.test.controller": "discrete"}),
    "kidney-demo-new-with-constant-dose": ("kidney-demo", {"data.test.controller": "constant"}),
    "kidney-demo-history-with-any-dose": ("kidney-demo", {"data.train.controller": "continuous"}),
    "battery-demo-history-fast-first": ("battery-demo", {"data.train.families": "fast first"}),
}


@cache
def what_if(name: str) -> Scenario:
    """The scenario of a shipped what-if."""
    base, changes = WHAT_IFS[name]
    return preset(base).changed(changes, source=name)


def shipped_scenario(name: str) -> Scenario:
    """The scenario of a preset or of a what-if: what a shipped result of that name must be about."""
    if name in WHAT_IFS:
        return what_if(name)
    if name not in PRESETS:
        raise UserError(f"There is no preset {name!r}; choose one of {', '.join((*PRESETS, *WHAT_IFS))}.")
    return preset(name)
