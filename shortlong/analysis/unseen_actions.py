"""What new policies do that no historical one did: the kind of novelty that a back-test on the history cannot judge."""

from collections.abc import Iterable

from shortlong.analysis.headline import BASELINE
from shortlong.domains.table.domain import TableSettings
from shortlong.methods import METHODS
from shortlong.scenario import Scenario


def unseen_actions(scenario: Scenario) -> tuple[str, ...]:
    """Actions of new policies that no historical policy had: of a table by its recorded rows, else by the sets of actions."""
    if isinstance(scenario.data, TableSettings):
        return tuple(
            str(action["name"]).removeprefix("action_") for action in scenario.data.about["novelty"]["actions"]
        )
    sets = scenario.domain.action_sets(scenario.data)
    return tuple(action for action in sets["test"] if action not in sets["train"])


def never_looking(scenario: Scenario, methods: Iterable[str]) -> list[str]:
    """Methods that predict a policy without looking at its first steps, apart from the historical average."""
    cards = {method: METHODS[method].on(scenario.offers) for method in methods if method in METHODS}
    return [method for method, card in cards.items() if not card.uses_prefix and method != BASELINE]
