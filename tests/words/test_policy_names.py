"""Policies have names that people can say."""

import pytest

from shortlong.compute import shipped as gallery
from shortlong.scenario.presets import preset
from shortlong.words.policy_names import policy_detail, policy_name


@pytest.mark.parametrize(
    ("scenario", "label", "name", "detail"),
    [
        ("hiv-paper", "test γ=0.98 round 10", "N40 · patient planner, 10th revision", "discount 0.98, round 10"),
        ("hiv-demo", "train γ=0.7 round 1", "H1 · medium-term planner, 1st revision", "discount 0.7, round 1"),
        ("kidney-paper", "train 199: 20 levels, ε=0.49", "H199 · 20 dose levels", "49 % of doses random"),
        ("kidney-paper", "test 2: continuous, ε=0.32", "N2 · continuous dosing", "32 % of doses random"),
        ("kidney-paper", "test 3: dose 0.45, ε=0.10", "N3 · fixed dose 0.45", "10 % of doses random"),
        ("battery-demo", "s1c0 5.4C(40%)-3.6C", "cell s1c0", "charged 5.4C(40%)-3.6C"),
        ("hiv-demo", "something else", "something else", ""),
    ],
)
def test_names_and_parameters(scenario, label, name, detail):
    assert policy_name(preset(scenario), label) == name
    assert policy_detail(preset(scenario), label) == detail


def test_no_two_policies_share_a_name():
    for item in gallery.items():
        labels = [label for names in item.labels.values() for label in names]
        assert len({policy_name(item.scenario, label) for label in labels}) == len(labels)
