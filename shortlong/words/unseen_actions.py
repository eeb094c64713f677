"""The honest sentence where new policies do what no historical one did, and where a method does not even look at it."""

from collections.abc import Iterable

from shortlong.analysis.unseen_actions import never_looking, unseen_actions
from shortlong.core.reading import shown
from shortlong.scenario import Scenario
from shortlong.words.scenario import title_of

MOST_NAMED = 3


def unseen_warnings(scenario: Scenario, methods: Iterable[str]) -> list[str]:
    """What a reader of predictions by these methods must know of new actions; nothing where the new policies have none.

    Made from the histories and the first steps alone, so that it could have been known at the time.
    """
    actions = unseen_actions(scenario)
    if not actions:
        return []
    said = [
        f"New policies do what no historical policy did: {_listed(actions)}. No back-test can show how that ends; intervals may be "
        "too narrow, and more outcomes than promised may lie outside."
    ]
    said += [
        f"{title_of(method)} does not look at the first steps of a policy, so nothing that is observed can correct it. A low error "
        "on the history says little about a new action."
        for method in never_looking(scenario, dict.fromkeys(methods))
    ]
    return said


def unseen_in_short(scenario: Scenario) -> str:
    """The same in a few words, for the line of a promise; empty where the new policies do nothing new."""
    actions = unseen_actions(scenario)
    return f"No back-test covers what is new here: {_listed(actions)}." if actions else ""


def _listed(actions: tuple[str, ...]) -> str:
    named = ", ".join(shown(action, 60) for action in actions[:MOST_NAMED])
    more = len(actions) - MOST_NAMED
    return f"{named} and {more:,} more" if more > 0 else named
