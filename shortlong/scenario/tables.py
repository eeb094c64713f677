"""The scenario of one's own data set: sensible horizons, all methods that can run, one seed."""

from typing import Any

from shortlong.domains import DOMAINS
from shortlong.domains.base import offers_of
from shortlong.domains.table.datasets import find, has, load
from shortlong.domains.table.domain import TableSettings
from shortlong.methods import METHODS, why_not

MOST_HORIZONS = 5
NICE = (1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 2000, 5000, 10_000)
MANY_EPISODES = 3000  # from here on the quick sizes of the methods


def is_data_set(name: str) -> bool:
    """Whether a data set of this name has been added."""
    return has(name)


def data_set_content(name: str, content: str = "") -> dict[str, Any]:
    """What a scenario of a data set holds, as plain values; the newest content unless one is named."""
    data_set = load(name, content) if content else find(name)
    settings = TableSettings(name=name, content=data_set.content)
    facts, offers = data_set.about["facts"], offers_of(DOMAINS["table"], settings)
    policies = len(facts["policies"]["train"])
    methods = [
        method
        for method, card in METHODS.items()
        if why_not(card, offers) is None and card.on(offers).fewest_policies <= policies
    ]
    return {
        "data": settings.model_dump(mode="json"),
        "horizons": horizons_of(facts),
        "methods": methods,
        "settings": _sizes(methods, sum(facts["episodes"].values())),
    }


def horizons_of(facts: dict[str, Any]) -> list[int]:
    """A handful of horizons up to what most new policies were observed for, or half of the full length where all is known."""
    longest = sorted(facts["prefixes"].values(), reverse=True)
    reached = longest[len(longest) // 2] if longest else facts["steps"]
    last = max(1, reached if reached < facts["steps"] else facts["steps"] // 2)
    return [*[horizon for horizon in NICE if horizon < last][-(MOST_HORIZONS - 1) :], last]


def _sizes(methods: list[str], episodes: int) -> dict[str, dict[str, Any]]:
    """Quick sizes for large tables; else what the methods do by themselves."""
    sized = [method for method in methods if "size" in METHODS[method].settings]
    return {method: {"size": "demo"} for method in sized} if episodes > MANY_EPISODES else {}
