"""Figures and tables of the Safety page, cached per scenario, threshold and horizon across sessions.

The cached objects are shared and never changed; figures are ``finished``.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shortlong.analysis.choice import MEAN
from shortlong.analysis.safety import (
    Alarm,
    Cells,
    Limit,
    Opening,
    Question,
    Verdict,
    alarm_cells,
    cheapest,
    earliest_alarm,
    limit_of,
    opening_limit,
    policies_in,
    rates_at,
    rates_over_horizon,
    references,
    verdicts,
)
from shortlong.compute.results import Results
from shortlong.figures.safety import matrices, rates_figure
from shortlong.ui.charts import here
from shortlong.ui.results import once_per_results
from shortlong.ui.serving import finished


@dataclass(frozen=True)
class Answer:
    """The alarm of every method at one horizon."""

    verdicts: list[Verdict]
    references: list[Verdict]  # stopping all and stopping none
    best: Verdict | None  # None where no method beats the references
    matrices: go.Figure


def history_values(view: Results) -> np.ndarray:
    """Values of the historical policies."""
    return view.summary.values("train")


@once_per_results(16)
def opening(view: Results) -> Opening:
    """The threshold at which the page opens."""
    return opening_limit(history_values(view), _cells(view).true)


def listed(view: Results, method: str, outcome: str, horizon: int, limit: float) -> pd.DataFrame:
    """The policies of one field of a matrix: policy, predicted, true."""
    return policies_in(here(view, horizon), method, outcome, limit)


@once_per_results(256)
def meaning(view: Results, limit: float) -> Limit:
    return limit_of(limit, history_values(view), _cells(view).true)


@once_per_results(8)
def _cells(view: Results) -> Cells:
    return alarm_cells(view.values)


@once_per_results(256)
def answer(view: Results, question: Question, methods: list[str], horizon: int, dark: bool) -> Answer:
    every = here(view, horizon)
    asked = every[every["method"].isin(methods)]
    found = verdicts(asked, question.limit, question.missing, question.stopping)
    compared = references(every, question.limit, question.missing, question.stopping)
    return Answer(
        found, compared, cheapest(found, compared), finished(matrices([*found, *compared] if found else [], dark))
    )


@once_per_results(64)
def rates(view: Results, limit: float) -> pd.DataFrame:
    return rates_at(_cells(view), limit)


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
