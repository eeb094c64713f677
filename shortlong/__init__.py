"""shortlong: predict the long-run value of a new policy from its first steps.

Four lines compute the errors of a method on simulated HIV treatment and draw them:

>>> import shortlong as sl
>>> found = sl.run("hiv-demo", methods=["mean_reward"])
>>> found.metrics.shape
(5, 11)
>>> found.figure("error").layout.yaxis.title.text
'typical error (RMSE)'

The public names are imported when they are first used, so that ``import shortlong`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shortlong.core.compiled import keep_apart_by_source
from shortlong.core.version import __version__

if TYPE_CHECKING:
    from shortlong.compute.store import Store
    from shortlong.core.errors import UserError
    from shortlong.core.trajectories import Trajectories
    from shortlong.domains import DOMAINS
    from shortlong.methods import METHODS
    from shortlong.notebook.run import results, run
    from shortlong.notebook.study import Study
    from shortlong.scenario import Scenario
    from shortlong.scenario.presets import presets

__all__ = [
    "DOMAINS",
    "METHODS",
    "Scenario",
    "Store",
    "Study",
    "Trajectories",
    "UserError",
    "__version__",
    "presets",
    "results",
    "run",
]
_WHERE = {
    "DOMAINS": "shortlong.domains",
    "METHODS": "shortlong.methods",
    "Scenario": "shortlong.scenario",
    "Store": "shortlong.compute.store",
    "Study": "shortlong.notebook.study",
    "Trajectories": "shortlong.core.trajectories",
    "UserError": "shortlong.core.errors",
    "presets": "shortlong.scenario.presets",
    "results": "shortlong.notebook.run",
    "run": "shortlong.notebook.run",
}

keep_apart_by_source()


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_WHERE[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
