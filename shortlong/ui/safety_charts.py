"""Figures and tables of the Safety page, cached per scenario, threshold and horizon across sessions.

The cached objects are shared and never changed; figures are ``finished``.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from shortlong.analysis.choice import MEAN
from shortlong.analysis.confusion import threshold_from_history
from shortlong.analysis.safety import (
    USUAL_COSTS,
    Alarm,
    AveragedPredictions,
    Limit,
    Opening,
    Question,
    RuleTable,
    Verdict,
    averaged_predictions,
    cheapest,
    earliest_alarm,
    limit_of,
    opening_limit,
    policies_in,
    rates_at,
    rates_over_horizon,
    references,
    rule_table,
    verdicts,
)
from shortlong.compute.results import Results
from shortlong.figures.safety import large_matrix, matrices
from shortlong.figures.safety_rates import rates_figure, rates_in_brief
from shortlong.figures.safety_table import rule_figure, rule_figure_height
from shortlong.scenario import Scenario
from shortlong.ui import controls
from shortlong.ui.charts import here
from shortlong.ui.kept import once_per_results
from shortlong.ui.serving import finished
from shortlong.words.policy_names import policy_name
from shortlong.words.safety import noun_of


@dataclass(frozen=True)
class Answer:
    """The alarm of every method at one horizon."""

    verdicts: list[Verdict]
    references: list[Verdict]  # stopping all and stopping none
    best: Verdict | None  # None where no method beats the references
    table: RuleTable  # methods and references, the lowest cost first

    @property
    def first(self) -> str:
        """The method that is shown unless another one was chosen: the best or, where none is, the cheapest."""
        return self.best.method if self.best else next(row.rule for row in self.table.rows if not row.is_reference)

    def of(self, method: str) -> Verdict:
        return next(verdict for verdict in self.verdicts if verdict.method == method)


def history_values(view: Results) -> np.ndarray:
    """Values of the historical policies."""
    return view.summary.values("train")


@once_per_results(16)
def opening(view: Results) -> Opening:
    """The threshold at which the page opens."""
    return opening_limit(history_values(view), _averaged(view).true)


def listed(view: Results, method: str, outcome: str, horizon: int, limit: float) -> pd.DataFrame:
    """The policies of one field of a matrix: policy, predicted, true."""
    return policies_in(here(view, horizon), method, outcome, limit)


@once_per_results(256)
def meaning(view: Results, limit: float) -> Limit:
    return limit_of(limit, history_values(view), _averaged(view).true)


@once_per_results(8)
def _averaged(view: Results) -> AveragedPredictions:
    return averaged_predictions(view.values)


@once_per_results(256)
def answer(view: Results, question: Question, horizon: int) -> Answer:
    every = here(view, horizon)
    found = verdicts(every, question.limit, question.missing, question.stopping)
    compared = references(every, question.limit, question.missing, question.stopping)
    table = rule_table(every, found, compared, question.limit)
    return Answer(found, compared, cheapest(found, compared), table)


@once_per_results(128)
def rule_chart(view: Results, question: Question, horizon: int, chosen: str, dark: bool) -> go.Figure:
    """The table of rules with the row of one method marked."""
    now, scenario = answer(view, question, horizon), view.scenario
    names = {policy: policy_name(scenario, policy) for policy in now.table.policies}
    return finished(rule_figure(now.table, now.best, chosen, names=names, noun=noun_of(scenario), dark=dark))


@once_per_results(128)
def matrix_chart(view: Results, question: Question, horizon: int, field: tuple[str, str], dark: bool) -> go.Figure:
    """The matrix of one method, as high as the table beside it; the field that is listed is framed."""
    now = answer(view, question, horizon)
    height = rule_figure_height(now.table)
    return finished(large_matrix(now.of(field[0]), field[1], height, dark))


@once_per_results(64)
def matrix_charts(view: Results, question: Question, horizon: int, dark: bool) -> go.Figure:
    """The matrices of all methods and of the references."""
    now = answer(view, question, horizon)
    return finished(matrices([*now.verdicts, *now.references], dark))


@once_per_results(64)
def rates(view: Results, limit: float) -> pd.DataFrame:
    return rates_at(_averaged(view), limit)


@once_per_results(16)
def rates_of_every_seed(view: Results, limit: float) -> pd.DataFrame:
    """The rates of each seed alone, and as rows ``mean`` those of the predictions averaged over seeds, which pages show."""
    alone = [rates_over_horizon(rows, limit).assign(seed=str(seed)) for seed, rows in view.values.groupby("seed")]
    table = pd.concat([*alone, rates(view, limit).assign(seed=MEAN)], ignore_index=True)
    return table[["seed", *(name for name in table.columns if name != "seed")]]


@once_per_results(64)
def alarm(view: Results, question: Question) -> Alarm | None:
    return earliest_alarm(rates(view, question.limit), question.missing, question.stopping)


@once_per_results(128)
def rate_charts(view: Results, limit: float, methods: list[str], horizon: int, dark: bool) -> go.Figure:
    return finished(rates_figure(rates(view, limit), horizon, view.scenario.system, methods, dark))


def limit_in_use(view: Results) -> float:
    """The threshold that was chosen on Safety in this session or by a link, else the one at which that page opens."""
    scenario, chosen = view.scenario, st.session_state
    by = chosen.get(controls.LIMIT_BY.key(scenario))
    value = chosen.get(controls.LIMIT_VALUE.key(scenario))
    share = chosen.get(controls.LIMIT_SHARE.key(scenario))
    if by == controls.BY_VALUE and value is not None:
        return float(value)
    if by == controls.BY_SHARE and share is not None:
        return threshold_from_history(history_values(view), share / 100)
    return opening(view).value


def costs_in_use(scenario: Scenario) -> tuple[float, float]:
    """The costs of a miss and of a false alarm that were chosen in this session or by a link, else the usual ones."""
    costs = (controls.COST_MISSING, controls.COST_STOPPING)
    missing, stopping = (float(st.session_state.get(cost.key(scenario), cost.usual)) for cost in costs)
    return missing, stopping


@once_per_results(64)
def brief_rates(view: Results, limit: float, methods: list[str], dark: bool, height: int) -> go.Figure:
    """Miss and false-alarm rate in one small chart."""
    return finished(rates_in_brief(rates(view, limit), view.scenario.system, methods, dark=dark, height=height))


@once_per_results(256)
def cheapest_alarm(view: Results, limit: float, horizon: int) -> Verdict | None:
    """The method whose alarm costs least at the usual costs; None where none beats stopping all or none."""
    every = here(view, horizon)
    return cheapest(verdicts(every, limit, *USUAL_COSTS), references(every, limit, *USUAL_COSTS))
