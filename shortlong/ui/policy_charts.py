"""What the Policies page shows of a view, made once per scenario, policy and horizon for all sessions.

The cached objects are shared and never changed; figures are ``finished``.
"""

import math
from functools import partial

import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.headline import mean_over_seeds
from shortlong.analysis.misleading import EARLY_METHOD
from shortlong.analysis.outlook import LEVEL, outlook, trusted_method
from shortlong.analysis.policies import (
    Course,
    Places,
    course_of,
    judge_of,
    misleading_examples,
    nearest_policies,
    new_actions,
    ordered_labels,
    places,
    ranks_over_horizon,
    varied,
)
from shortlong.compute.results import Results
from shortlong.figures.certainty import fan_figure, with_bounds
from shortlong.figures.policies import action_lanes, amount_bars, common_limits, return_chart, reward_chart
from shortlong.figures.ranks import rank_chart
from shortlong.figures.style import with_room
from shortlong.ui.charts import bounds, here
from shortlong.ui.kept import once_per_results
from shortlong.ui.serving import finished
from shortlong.words.policies import action_sentence
from shortlong.words.policy_names import policy_name
from shortlong.words.scenario import action_titles, title_of

FAN = 300  # pixels


@once_per_results(128)
def judge(view: Results, horizon: int) -> str | None:
    """The method that is asked about single policies and pairs: the best in hindsight, else whom the history trusts."""
    return judge_of(view.metrics, horizon, here(view, horizon)) if view.has_truth else trusted_method(view, horizon)


@once_per_results(128)
def fan(view: Results, label: str, methods: tuple[str, ...], level: float, dark: bool) -> go.Figure | None:
    """Prediction and interval of one policy over the observation period; None without a back-test."""
    if view.calibration() is None:
        return None
    rows = outlook(view, level)
    shown = rows[rows["method"].isin(methods)]
    own = shown[shown["policy"].astype(str) == label]
    true = float(own["true"].iloc[0]) if len(own) else math.nan
    known = [
        v for v in (*own["predicted"], true, *(view.history if view.history is not None else ())) if not math.isnan(v)
    ]
    limits = with_bounds(*with_room(min(known), max(known)), own) if known else (0.0, 1.0)
    return finished(
        fan_figure(
            own,
            view.scenario.system,
            methods,
            level,
            limits,
            true=None if math.isnan(true) else true,
            dark=dark,
            legend=False,
            height=FAN,
        )
    )


@once_per_results(128)
def order_of(view: Results, horizon: int, order: str) -> list[str]:
    return ordered_labels(here(view, horizon), order, judge(view, horizon))


@once_per_results(512)
def places_of(view: Results, label: str, horizon: int) -> Places:
    return places(here(view, horizon), label, judge(view, horizon))


@once_per_results(512)
def course(view: Results, label: str, horizon: int) -> Course:
    summary = view.summary
    found = {m: view.rollouts(m, horizon) for m in view.methods}
    members = {m: view.members(m, horizon).get(label) for m in view.methods}
    old = [summary.labels["train"].index(name) for name in neighbours(view, label, horizon)["policy"]]
    return course_of(
        label,
        summary.labels["test"],
        summary.arrays["test/rewards"],
        here(view, horizon),
        {m: curves for m, curves in found.items() if curves},
        [summary.arrays["train/rewards"][i, 1] for i in old],
        {m: spread for m, spread in members.items() if spread is not None},
        _bounds_of(view, label, horizon),
    )


def _bounds_of(view: Results, label: str, horizon: int) -> dict[str, tuple[float, float]]:
    """The intervals of all predictions for one policy; none without a back-test."""
    if view.calibration() is None:
        return {}
    rows = bounds(view, LEVEL, "together")
    own = rows[(rows["horizon"] == horizon) & (rows["policy"].astype(str) == label)]
    ends = zip(own["lower"].astype(float), own["upper"].astype(float), strict=True)
    return dict(zip(own["method"].astype(str), ends, strict=True))


@once_per_results(256)
def _limits(
    view: Results, labels: tuple[str, ...], methods: tuple[str, ...]
) -> tuple[tuple[float, float], tuple[float, float]]:
    every = [course(view, label, horizon) for label in labels for horizon in view.scenario.horizons]
    return common_limits(every, methods)


@once_per_results(256)
def charts(
    view: Results, labels: tuple[str, ...], position: int, horizon: int, methods: tuple[str, ...], dark: bool
) -> tuple[go.Figure, go.Figure]:
    """Rewards per step and the return so far of one policy; the axes hold all that stand side by side, at all horizons."""
    system, shown = view.scenario.system, course(view, labels[position], horizon)
    rewards, returns = _limits(view, tuple(sorted(labels)), methods)
    return (
        finished(reward_chart(shown, system, horizon, methods, rewards, dark)),
        finished(return_chart(shown, system, horizon, methods, returns, dark, judge(view, horizon))),
    )


@once_per_results(256)
def actions(view: Results, label: str, horizon: int) -> tuple[go.Figure, str]:
    """The actions of an example unit, drawn and in words."""
    system, summary = view.scenario.system, view.summary
    own = summary.arrays["test/first_unit_actions"][summary.labels["test"].index(label)]
    history = summary.arrays["train/first_unit_actions"]
    names = list(action_titles(view.scenario).values())  # none where actions are amounts
    new = new_actions(own, history, amounts=not names)
    fresh: list[str] = []
    domain = view.scenario.domain
    if labels := domain.label_actions(own):
        fresh = list(dict.fromkeys(name for name, is_new in zip(labels, new, strict=True) if is_new))
        figure = action_lanes(labels, new, names, system, horizon)
    else:
        known = float(history.min()), float(history.max())
        figure = amount_bars(own[:, 0], new, known, system.action_names[0], system, horizon, domain.words.amount)
    amount = "" if names else domain.words.amount
    return finished(figure), action_sentence(system, new, horizon, amount, names=fresh, unit=domain.unit)


@once_per_results(512)
def neighbours(view: Results, label: str, horizon: int) -> pd.DataFrame:
    """Historical policies that look most alike so far: policy, value, distance. In a back-test a policy is not its own like."""
    summary = view.summary
    own = summary.arrays["test/states"][summary.labels["test"].index(label), 1]
    others = [place for place, name in enumerate(summary.labels["train"]) if name != label]
    states = summary.arrays["train/states"][others, 1]
    nearest, distance = nearest_policies(own, states, horizon, view.scenario.system)
    found = [others[place] for place in nearest]
    names = [summary.labels["train"][i] for i in found]
    return pd.DataFrame({"policy": names, "value": summary.values("train")[found], "distance": distance})


@once_per_results(128)
def misleading(view: Results, horizon: int) -> pd.DataFrame | None:
    """Pairs that the first rewards put in the wrong order; None when these were not extrapolated."""
    return misleading_examples(here(view, horizon), judge(view, horizon)) if EARLY_METHOD in view.methods else None


@once_per_results(128)
def misleading_figure(view: Results, horizon: int, dark: bool) -> tuple[go.Figure, pd.DataFrame]:
    """Ranks over the observation period with a few of the pairs in colour, and which ones these are."""
    pairs, method = misleading(view, horizon), judge(view, horizon)
    assert pairs is not None
    few = varied(pairs)
    shown = [m for m in dict.fromkeys((EARLY_METHOD, method)) if m]
    values = mean_over_seeds(view.values)
    titles = {m: "By early results" if m == EARLY_METHOD else f"By {title_of(m)}" for m in shown}
    figure = rank_chart(
        {titles[m]: ranks_over_horizon(values, m) for m in shown},
        list(zip(few["better"].astype(str), few["worse"].astype(str), strict=True)),
        view.scenario.system,
        horizon,
        name=partial(policy_name, view.scenario),
        dark=dark,
    )
    return finished(figure), few
