"""Names of policies for people: "N40 · patient planner, 10th revision" instead of the label that tables and links keep.

N counts new policies, H historical ones. A domain knows how its labels are made, so it names them (``describe_policy``).
"""

from functools import lru_cache

import pandas as pd

from shortlong.scenario import Scenario


def policy_name(scenario: Scenario, label: str) -> str:
    """What people call a policy. Names of battery cells come from data: escape them where Markdown or HTML is written."""
    return _described(scenario, str(label))[0]


def policy_detail(scenario: Scenario, label: str) -> str:
    """The parameters behind the name, such as "discount 0.98, round 10"; may be empty."""
    return _described(scenario, str(label))[1]


def policy_text(scenario: Scenario, label: str) -> str:
    """Name and parameters in one line, for hover texts and lists."""
    name, detail = _described(scenario, str(label))
    return f"{name} ({detail})" if detail else name


def with_names(table: pd.DataFrame, scenario: Scenario, column: str = "policy") -> pd.DataFrame:
    """A table to download: beside the labels of policies, which links and files use, their names and parameters.

    Both are left out where people call a policy by its label.
    """
    labels = table[column].astype(str)
    place = list(table.columns).index(column) + 1
    wide = table.assign(**{column: labels})
    names, details = ([told(scenario, label) for label in labels] for told in (policy_name, policy_detail))
    if names == labels.tolist() and not any(details):
        return wide
    wide.insert(place, "name", names)
    wide.insert(place + 1, "parameters", details)
    return wide


def for_people(table: pd.DataFrame, scenario: Scenario, column: str = "policy") -> pd.DataFrame:
    """A table to read: names instead of labels, with their parameters beside them where there are any."""
    named = with_names(table, scenario, column)
    if "name" not in named:
        return named
    named[column] = named.pop("name")
    return named if named["parameters"].any() else named.drop(columns="parameters")


@lru_cache(maxsize=4096)
def _described(scenario: Scenario, label: str) -> tuple[str, str]:
    return scenario.domain.describe_policy(scenario.data, label)
