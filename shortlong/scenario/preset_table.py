"""The table of presets, plain values: the starting points of the app and the command line.

``demo`` takes seconds, ``standard`` minutes, ``paper`` has the sizes of the paper. Where the paper leaves something open
the chosen value stands here or in the domain's settings, and is explained in the docs.
"""

from collections.abc import Iterable
from typing import Any

from shortlong.domains import DOMAINS
from shortlong.methods import METHODS, why_not

# Methods of the larger presets: those of which results are shipped.
_SHIPPED = (
    "slev",
    "slev_pooled",
    "cohort_slev",
    "sled",
    "fqe",
    "online_dynamics",
    "mean_reward",
    "last_reward",
    "off_policy_mean",
    "joint_dynamics",
)


def _methods_on(
    domain: str, without: frozenset[str] = frozenset(), among: Iterable[str] | None = None
) -> tuple[str, ...]:
    """The methods that can run on a domain, also ``without`` some of what it offers: ``among`` some, or all usual ones."""
    names = [name for name, card in METHODS.items() if card.by_default] if among is None else among
    return tuple(name for name in names if why_not(METHODS[name], DOMAINS[domain].offers - without) is None)


def _sizes(size: str) -> dict[str, dict[str, Any]]:
    """The same amount of search for all methods that have a choice."""
    sizes: dict[str, dict[str, Any]] = {name: {"size": size} for name in ("slev", "sled", "fqe", "online_dynamics")}
    return sizes | _OURS.get(size, {})


_OURS: dict[str, dict[str, dict[str, Any]]] = {  # nothing: as they come
    "demo": {"cohort_slev": {"folds": 5, "trees": 40}, "joint_dynamics": {"size": "demo"}},
    "paper": {"joint_dynamics": {"size": "paper"}},
}


def _kidney_sizes(size: str) -> dict[str, dict[str, Any]]:
    """As ``_sizes``; a race, because the paper's large network over the full grid takes hours."""
    race: dict[str, Any] = {} if size == "demo" else {"race": True}
    return {**_sizes(size), **{name: {"size": size, **race} for name in ("slev", "slev_pooled")}}


PRESETS: dict[str, dict[str, Any]] = {
    "hiv-demo": {
        "data": {
            "domain": "hiv",
            "train_discounts": (0.7, 0.85, 0.98),
            "test_discounts": (0.5, 0.9),
            "rounds": 5,
            "patients": 30,
            "trees": 8,
            "rebuilds": 2,
            "learning_patients": 20,
        },
        "horizons": (5, 10, 20, 30, 50),
        "methods": _methods_on("hiv"),
        "settings": _sizes("demo"),
    },
    "hiv-standard": {
        "data": {"domain": "hiv", "patients": 100, "trees": 12, "rebuilds": 3},
        "horizons": tuple(range(5, 51, 5)),
        "methods": _methods_on("hiv", among=_SHIPPED),
    },
    "hiv-paper": {
        "data": {"domain": "hiv"},
        "horizons": tuple(range(5, 51, 5)),
        "methods": _methods_on("hiv", among=_SHIPPED),
        "seeds": (0, 1, 2),
        "settings": {**_sizes("paper"), "slev": {"size": "paper", "race": True}},
    },
    "kidney-demo": {
        "data": {
            "domain": "kidney",
            "train": {"policies": 40},
            "test": {"policies": 12},
            "patients": 20,
            "rollouts": 10,
            "recorded_steps": 30,
        },
        "horizons": (1, 2, 3, 5, 8),
        "methods": _methods_on("kidney"),
        "settings": _kidney_sizes("demo"),
    },
    "kidney-standard": {
        "data": {
            "domain": "kidney",
            "train": {"policies": 100},
            "test": {"policies": 20},
            "patients": 50,
            "rollouts": 20,
            "recorded_steps": 30,
        },
        "horizons": tuple(range(1, 9)),
        "methods": _methods_on("kidney", among=_SHIPPED),
        "settings": _kidney_sizes("standard"),
    },
    "kidney-paper": {
        "data": {"domain": "kidney"},
        "horizons": tuple(range(1, 9)),
        "methods": _methods_on("kidney", among=_SHIPPED),
        "seeds": (0, 1, 2),
        "settings": _kidney_sizes("paper"),
    },
    "battery-demo": {
        "data": {"domain": "battery"},
        "horizons": (5, 10, 20, 50, 100),
        "methods": _methods_on("battery"),
    },
    "battery-life": {
        "data": {"domain": "battery", "outcome": "life"},
        "horizons": (5, 10, 20, 50, 100),
        "methods": _methods_on("battery", without=frozenset({"two_classes"})),
    },
}
