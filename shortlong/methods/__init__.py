"""The register of methods: what each is called, what it needs and where it lives.

The classes are imported only when they run, because some of them bring torch or scikit-learn. Adding a method means a
file with its class and a card in this register; docs/extending.md does it step by step.
"""

from collections.abc import Mapping
from typing import Any

from shortlong.methods.cards import MethodCard, Workload, why_not
from shortlong.methods.fqe import sizes as fqe_sizes
from shortlong.methods.looks import Looks
from shortlong.methods.online_dynamics import sizes as online_sizes
from shortlong.methods.ranges import NORMALISATIONS, Choice, Range, Whole
from shortlong.methods.sled import sizes as sled_sizes
from shortlong.methods.slev import sizes as slev_sizes

__all__ = ["METHODS", "MethodCard", "Workload", "why_not"]


def _battery(
    name: str, title: str, sentence: str, kind: str, seconds: float, *, classes: bool = False, **fields: Any
) -> MethodCard:
    """A card for battery cells; ``classes`` where the outcome must be high or low."""
    needs = frozenset({"battery_cycles", "two_classes"} if classes else {"battery_cycles"})
    where = f"shortlong.methods.battery.methods:{kind}"
    return MethodCard(name, title, sentence, where, 1, needs=needs, cost=lambda load, settings: seconds, **fields)


_BATTERY_VARIANTS = {
    card.name: {"battery_cycles": card}
    for card in (
        _battery(
            "slev",
            "SLEV",
            "learns from the change between two early voltage curves how a cell ends, as the paper prints it",
            "BatterySlev",
            0.7,
        ),
        _battery(
            "sled",
            "SLED",
            "learns one capacity curve for all cells and moves it in time until it meets the first cycles of a cell",
            "BatterySled",
            0.5,
            prepares=True,
            prepare_cost=lambda load, settings: 0.8,
        ),
        _battery(
            "off_policy_mean",
            "Historical average",
            "predicts the average outcome of the training cells for every cell",
            "BatteryMean",
            0.02,
            uses_prefix=False,
        ),
    )
}


def _cohort_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    return (2.0 + 0.04 * load.train_policies + 0.1 * load.horizon) * settings.get("folds", 10) / 10


_COHORT_SETTINGS: dict[str, Range] = {
    "normalisation": Choice(NORMALISATIONS),
    "folds": Whole(2, 50),
    "trees": Whole(1, 1000),
}

METHODS: dict[str, MethodCard] = {
    card.name: card
    for card in (
        MethodCard(
            "slev",
            "SLEV",
            "learns from the histories how early states and rewards of one unit lead to the final outcome",
            "shortlong.methods.slev.method:Slev",
            1,
            needs=frozenset({"states"}),
            cost=slev_sizes.seconds,
            settings=slev_sizes.SETTINGS,
            fewest_policies=2,
            variants=_BATTERY_VARIANTS["slev"],
            looks=Looks("#0072B2", "circle"),
        ),
        MethodCard(
            "slev_pooled",
            "SLEV (order-free)",
            "as SLEV, but sees the mean and the spread of a unit's courses instead of each of them",
            "shortlong.methods.slev.method:PooledSlev",
            1,
            needs=frozenset({"states", "several_rollouts"}),
            cost=slev_sizes.pooled_seconds,
            settings=slev_sizes.POOLED_SETTINGS,
            fewest_policies=2,
            looks=Looks("#4F6FD0", "circle-dot"),
        ),
        MethodCard(
            "cohort_slev",
            "Cohort SLEV",
            "as SLEV, but looks at all units under a policy together",
            "shortlong.methods.cohort_slev:CohortSlev",
            3,
            needs=frozenset({"states"}),
            cost=_cohort_seconds,
            settings=_COHORT_SETTINGS,
            fewest_policies=4,
            looks=Looks("#1494A8", "circle-open"),
        ),
        MethodCard(
            "sled",
            "SLED",
            "learns how states move on, adapts that to the first steps of the new policy, and plays it to the end",
            "shortlong.methods.sled.method:Sled",
            1,
            needs=frozenset({"states", "reward_of_states"}),
            prepares=True,
            cost=sled_sizes.cell_seconds,
            prepare_cost=sled_sizes.base_seconds,
            settings=sled_sizes.SETTINGS,
            fewest_policies=2,
            variants=_BATTERY_VARIANTS["sled"],
            looks=Looks("#00966D", "diamond", course_dash="dash"),
        ),
        MethodCard(
            "fqe",
            "Fitted Q",
            "learns from single steps of the histories what each action is worth, and asks the new policy what it would do",
            "shortlong.methods.fqe.method:FittedQ",
            1,
            needs=frozenset({"states", "callable_policies"}),
            uses_prefix=False,
            prepares=True,
            cost=fqe_sizes.fit_seconds,
            prepare_cost=fqe_sizes.choice_seconds,
            settings=fqe_sizes.SETTINGS,
            looks=Looks("#B87900", "square"),
        ),
        MethodCard(
            "online_dynamics",
            "Online dynamics",
            "learns how states move on from the new policy's own first steps alone, and plays that to the end",
            "shortlong.methods.online_dynamics.method:OnlineDynamics",
            3,
            needs=frozenset({"states", "reward_of_states", "callable_policies"}),
            cost=online_sizes.cell_seconds,
            settings=online_sizes.SETTINGS,
            looks=Looks("#C0679A", "triangle-up", course_dash="dot"),
        ),
        MethodCard(
            "mean_reward",
            "Mean reward",
            "continues the average reward seen so far to the end",
            "shortlong.methods.extrapolation:MeanReward",
            1,
            needs=frozenset({"rewards"}),
            looks=Looks("#D55E00", "cross"),
        ),
        MethodCard(
            "last_reward",
            "Last reward",
            "continues the last reward seen to the end",
            "shortlong.methods.extrapolation:LastReward",
            1,
            needs=frozenset({"rewards"}),
            looks=Looks("#85700F", "x"),
        ),
        MethodCard(
            "off_policy_mean",
            "Historical average",
            "predicts the average outcome of the historical policies for everyone",
            "shortlong.methods.extrapolation:OffPolicyMean",
            1,
            uses_prefix=False,
            variants=_BATTERY_VARIANTS["off_policy_mean"],
            looks=Looks("#7F7F7F", "line-ew-open", "dash"),
        ),
        _battery(
            "slev_log_loss",
            "SLEV, chosen by log-loss",
            "as SLEV, but its penalty is chosen by how probable the training classes become, not by how many are right",
            "SlevLogLoss",
            1.0,
            classes=True,
            looks=Looks("#2C91A2", "pentagon"),
        ),
        _battery(
            "slev_shift_weighted",
            "SLEV, weighted for shift",
            "as SLEV chosen by log-loss, but training cells that resemble the new cells count more",
            "SlevShiftWeighted",
            0.05,
            classes=True,
            looks=Looks("#AE489D", "hexagon"),
        ),
        _battery(
            "slev_balanced",
            "Balanced SLEV (ours)",
            "as SLEV chosen by log-loss, but both classes count alike and each training cell is left out in turn to choose",
            "SlevBalanced",
            0.1,
            classes=True,
            looks=Looks("#7368C8", "star"),
        ),
        _battery(
            "life_regression",
            "Regression of log life",
            "draws a straight line from the change between two early voltage curves to the logarithm of the life",
            "LifeRegression",
            0.05,
            looks=Looks("#878726", "bowtie"),
        ),
        _battery(
            "naive_bayes",
            "Naive Bayes",
            "gives every cell the class of most training cells",
            "NaiveBayes",
            0.02,
            classes=True,
            uses_prefix=False,
            looks=Looks("#A86F99", "triangle-down"),
        ),
        _battery(
            "always_high",
            "Assume all long-lived",
            "assumes that every cell is long-lived, without looking at it",
            "AlwaysHigh",
            0.02,
            classes=True,
            uses_prefix=False,
            looks=Looks("#C2604A", "square-open"),
        ),
    )
}
