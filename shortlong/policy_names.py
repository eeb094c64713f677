"""Names of policies for people: "N40 · patient planner, 10th revision" instead of the label that tables and links keep.

N counts new policies, H historical ones. A domain knows how its labels are made, so it names them (``describe_policy``);
without that hook a label is its own name.
"""

from functools import lru_cache

from shortlong.domains import DOMAINS
from shortlong.scenario import Scenario


def policy_name(scenario: Scenario, label: str) -> str:
    """What people call a policy. Names of battery cells come from data: escape them where Markdown or HTML is written."""
    return _described(scenario, str(label))[0]


def policy_detail(scenario: Scenario, label: str) -> str:
    """The parameters behind the name, such as "discount 0.98, round 10"; may be empty."""
    return _described(scenario, str(label))[1]


@lru_cache(maxsize=4096)
def _described(scenario: Scenario, label: str) -> tuple[str, str]:
    describe = getattr(DOMAINS[scenario.data.domain], "describe_policy", None)
    return describe(scenario.data, label) if describe else (label, "")
