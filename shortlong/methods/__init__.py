"""The register of methods: what each is called, what it needs and where it lives.

The classes are imported only when they run, because some of them bring torch or scikit-learn. Adding a method means a
file with its class and a card in this register; docs/extending.md does it step by step.
"""

from collections.abc import Mapping
from typing import Any

from shortlong.methods.cards import BackTesting, MethodCard, Workload, why_not
from shortlong.methods.fqe import sizes as fqe_sizes
from shortlong.methods.joint_dynamics import sizes as joint_sizes
from shortlong.methods.looks import Looks
from shortlong.methods.online_dynamics import sizes as online_sizes
from shortlong.methods.ranges import NORMALISATIONS, Choice, Range, Whole
from shortlong.methods.sled import sizes as sled_sizes
from shortlong.methods.slev import sizes as slev_sizes

__all__ = ["METHODS", "BackTesting", "MethodCard", "Workload", "why_not"]


OWN_FOLDS = BackTesting("own folds")
NO_HISTORY = BackTesting("no history")


def _battery(
    name: str, title: str, sentence: str, kind: str, seconds: float, *, classes: bool = False, **fields: Any
) -> MethodCard:
    """A card for battery cells; ``classes`` where the outcome must be high or low."""
    needs = frozenset({"battery_cycles", "two_classes"} if classes else {"battery_cycles"})
    where = f"shortlong.methods.battery.methods:{kind}"
    return MethodCard(
        name,
        title,
        sentence,
        where,
        1,
        needs=needs,
        cost=lambda load, settings: seconds,
        back_testing=BackTesting(new_policies=False),
        **fields,
    )


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


def _surrogate_seconds(load: Workload, settings: Mapping[str, Any]) -> float:
    """Two passes over the units for products of their inputs, and one problem per fold."""
    inputs = min(600, load.horizon * (load.dim + 1)) * (2 if load.rollouts > 1 else 1)
    units = load.train_policies * load.units
    return (
        0.05 + units * (1e-9 * inputs**2 + 2e-8 * inputs * load.rollouts) + 1e-9 * settings.get("folds", 10) * inputs**3
    )


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
            back_testing=OWN_FOLDS,
            chosen_on_folds=True,
            looks=Looks("#0072B2", "circle"),
            origin="proposed",
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
            back_testing=OWN_FOLDS,
            chosen_on_folds=True,
            looks=Looks("#4F6FD0", "circle-dot"),
            origin="ours",
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
            back_testing=OWN_FOLDS,
            chosen_on_folds=True,
            looks=Looks("#1494A8", "circle-open"),
            origin="ours",
            placebo=True,
        ),
        MethodCard(
            "sled",
            "SLED",
            "learns how states move on, adapts that to the first steps of the new policy, and plays it to the end",
            "shortlong.methods.sled.method:Sled",
            1,
            needs=frozenset({"states", "reward_of_states"}),
            prepares=True,
            cost=sled_sizes.fit_seconds,
            prepare_cost=sled_sizes.base_seconds,
            settings=sled_sizes.SETTINGS,
            fewest_policies=2,
            variants=_BATTERY_VARIANTS["sled"],
            back_testing=BackTesting(folds=4),
            looks=Looks("#00966D", "diamond", course_dash="dash"),
            origin="proposed",
        ),
        MethodCard(
            "sled_ensemble",
            "SLED, ensemble (ours)",
            "as SLED, but averages several models and adapts one only if that proves itself on the observed steps",
            "shortlong.methods.sled.ensemble:EnsembleSled",
            1,
            needs=frozenset({"states", "reward_of_states"}),
            prepares=True,
            cost=sled_sizes.ensemble_seconds,
            prepare_cost=sled_sizes.base_seconds,
            settings=sled_sizes.ENSEMBLE_SETTINGS,
            fewest_policies=2,
            by_default=False,
            back_testing=BackTesting(folds=4),
            looks=Looks("#6C9048", "diamond-dot", course_dash="dashdot"),
            origin="ours",
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
            back_testing=BackTesting(folds=3, most_policies=20, new_policies=False),
            looks=Looks("#B87900", "square"),
        ),
        MethodCard(
            "fqe_printed",
            "Fitted Q, as printed",
            "as fitted Q, but with the paper's recipe: a discount, and thousands of updates on small fresh batches",
            "shortlong.methods.fqe.printed:PrintedFittedQ",
            1,
            needs=frozenset({"states", "callable_policies"}),
            uses_prefix=False,
            prepares=True,
            cost=fqe_sizes.printed_seconds,
            prepare_cost=fqe_sizes.printed_choice_seconds,
            settings=fqe_sizes.PRINTED_SETTINGS,
            by_default=False,
            back_testing=BackTesting(folds=2, most_policies=10, new_policies=False),
            looks=Looks("#D83090", "square-open-dot"),
            short_title="Fitted Q, printed",
        ),
        MethodCard(
            "fqe_observed",
            "Fitted Q, from what is observed (ours)",
            "as fitted Q, but adds up the rewards seen so far and judges the rest from the last observed state",
            "shortlong.methods.fqe.observed:ObservedFittedQ",
            2,
            needs=frozenset({"states", "callable_policies"}),
            prepares=True,
            cost=fqe_sizes.observed_seconds,
            prepare_cost=fqe_sizes.choice_seconds,
            settings=fqe_sizes.OBSERVED_SETTINGS,
            back_testing=BackTesting(folds=3, most_policies=20, new_policies=False),
            by_default=False,
            looks=Looks("#C06C54", "square-dot"),
            origin="ours",
            short_title="Fitted Q, observed",
        ),
        MethodCard(
            "online_dynamics",
            "Online dynamics",
            "learns how states move on from the new policy's own first steps alone, and plays that to the end",
            "shortlong.methods.online_dynamics.method:OnlineDynamics",
            3,
            needs=frozenset({"states", "reward_of_states", "callable_policies"}),
            cost=online_sizes.fit_seconds,
            settings=online_sizes.SETTINGS,
            back_testing=BackTesting("no history", most_policies=20),
            looks=Looks("#C0679A", "triangle-up", course_dash="dot"),
            edge_title="Online dyn.",
        ),
        MethodCard(
            "slev_doubly_robust",
            "SLEV, doubly robust",
            "as SLEV, but corrected by its errors on historical units that resemble those of the new policy",
            "shortlong.methods.slev.doubly_robust:DoublyRobustSlev",
            1,
            needs=frozenset({"states"}),
            cost=slev_sizes.doubly_robust_seconds,
            settings=slev_sizes.DOUBLY_ROBUST_SETTINGS,
            fewest_policies=slev_sizes.FEWEST_POLICIES,
            back_testing=BackTesting(folds=3),
            by_default=False,
            looks=Looks("#B460D8", "hexagon2"),
        ),
        MethodCard(
            "surrogate_index",
            "Surrogate index",
            "draws a straight line from the first steps of a unit to its outcome, as is usual in A/B tests",
            "shortlong.methods.surrogate_index:SurrogateIndex",
            1,
            needs=frozenset({"rewards"}),
            cost=_surrogate_seconds,
            settings={"normalisation": Choice(NORMALISATIONS), "folds": Whole(2, 50)},
            back_testing=OWN_FOLDS,
            chosen_on_folds=True,
            looks=Looks("#489000", "diamond-tall"),
            placebo=True,
        ),
        MethodCard(
            "joint_dynamics",
            "Joint dynamics (ours)",
            "learns what one step does from the histories and the first steps of all new policies together, "
            "and plays each new policy to the end",
            "shortlong.methods.joint_dynamics.method:JointDynamics",
            2,
            needs=frozenset({"states", "reward_of_states", "callable_policies"}),
            prepares=True,
            cost=joint_sizes.fit_seconds,
            prepare_cost=joint_sizes.base_seconds,
            settings=joint_sizes.SETTINGS,
            back_testing=BackTesting(folds=2, most_policies=20, new_policies=False),
            looks=Looks("#E43C54", "hexagram", course_dash="longdash"),
            origin="ours",
        ),
        MethodCard(
            "mean_reward",
            "Mean reward",
            "continues the average reward seen so far to the end",
            "shortlong.methods.extrapolation:MeanReward",
            1,
            needs=frozenset({"rewards"}),
            back_testing=NO_HISTORY,
            looks=Looks("#D55E00", "cross"),
            same_reward=True,
        ),
        MethodCard(
            "last_reward",
            "Last reward",
            "continues the last reward seen to the end",
            "shortlong.methods.extrapolation:LastReward",
            1,
            needs=frozenset({"rewards"}),
            back_testing=NO_HISTORY,
            looks=Looks("#85700F", "x"),
            same_reward=True,
        ),
        MethodCard(
            "off_policy_mean",
            "Historical average",
            "predicts the average outcome of the historical policies for everyone",
            "shortlong.methods.extrapolation:OffPolicyMean",
            1,
            uses_prefix=False,
            variants=_BATTERY_VARIANTS["off_policy_mean"],
            back_testing=OWN_FOLDS,
            looks=Looks("#7F7F7F", "line-ew-open", "dash"),
            edge_title="Average",
            placebo=True,
        ),
        MethodCard(
            "blend",
            "Blend (ours)",
            "weights the other methods by how well each predicted historical policies that it had not seen",
            "shortlong.methods.blend:Blend",
            1,
            needs=frozenset({"back_test"}),
            looks=Looks("#A633D9", "asterisk-open"),
            origin="ours",
        ),
        _battery(
            "slev_log_loss",
            "SLEV, chosen by log-loss",
            "as SLEV, but its penalty is chosen by how probable the training classes become, not by how many are right",
            "SlevLogLoss",
            1.0,
            classes=True,
            looks=Looks("#2C91A2", "pentagon"),
            short_title="SLEV, log-loss",
        ),
        _battery(
            "slev_shift_weighted",
            "SLEV, weighted for shift",
            "as SLEV chosen by log-loss, but training cells that resemble the new cells count more",
            "SlevShiftWeighted",
            0.05,
            classes=True,
            looks=Looks("#AE489D", "hexagon"),
            short_title="SLEV, shift-weighted",
        ),
        _battery(
            "slev_balanced",
            "Balanced SLEV (ours)",
            "as SLEV chosen by log-loss, but both classes count alike and each training cell is left out in turn to choose",
            "SlevBalanced",
            0.1,
            classes=True,
            looks=Looks("#7368C8", "star"),
            origin="ours",
        ),
        _battery(
            "life_regression",
            "Regression of log life",
            "draws a straight line from the change between two early voltage curves to the logarithm of the life",
            "LifeRegression",
            0.05,
            looks=Looks("#878726", "bowtie"),
            short_title="Life regression",
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
            short_title="All long-lived",
        ),
    )
}
