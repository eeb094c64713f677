"""One page for a decision: what to do about each new policy, what is promised and when that holds, how long to watch.

A self-contained HTML page that prints on one sheet of A4; ``report.pdf`` makes a PDF file of the same.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from shortlong.analysis.decision_view import DecisionView
from shortlong.domains.base import notice_of
from shortlong.figures.decide import strip, strip_order
from shortlong.figures.watch import cost_figure, looks_figure
from shortlong.report.html import chart, heading, html_page, paragraph
from shortlong.scenario import Scenario
from shortlong.words.decide import (
    backtest_text,
    cheapest_period_text,
    choice_text,
    guarantee_text,
    headline_text,
    rule_text,
    same_as_text,
    score_text,
)
from shortlong.words.numbers import count, number, plural
from shortlong.words.policy_names import policy_name
from shortlong.words.safety import noun_of
from shortlong.words.scenario import scenario_line, title_of, value_text
from shortlong.words.time import horizon_text

MOST_ROWS = 40  # policies that a sheet has room for
WIDTH = 700  # pixels between the margins of a sheet
STRIP_HEIGHT, COST_HEIGHT, LOOKS_HEIGHT = 380, 130, 120
SMALL = 11  # pixels of the numbers beside small charts
# A sheet of A4 at 96 pixels an inch; what is not on it would be on a second one.
ONE_SHEET = """
@page { size: A4 portrait; margin: 8mm 11mm }
body { font-size: 11.5px; line-height: 1.3; max-width: 700px; margin: 1rem auto; padding: 0 }
h1 { font-size: 19px; margin: 0 0 2px } h2 { font-size: 13px; margin: 4px 0 1px } p { margin: 1px 0 3px }
.promise { border: 1.5px solid #2B7BBA; border-radius: 4px; padding: 4px 10px } .quiet { font-size: 10.5px }
figure.chart { margin: 0 } figure.chart svg { display: block } .notice { padding-left: 8px }
@media print { body { margin: 0; max-width: none } .chart { break-inside: avoid } }
"""


def decision_report(
    view: DecisionView, scenario: Scenario, *, reveal: bool = False, now: datetime | None = None
) -> str:
    """The page of a decision; with ``reveal`` the true outcomes are in it, where they are known."""
    noun, system = noun_of(scenario), scenario.system
    parts = [
        heading(1, title_words(scenario)),
        paragraph(scenario_line(scenario), "quiet"),
        paragraph(notice_of(scenario.domain, scenario.data), "notice"),
        paragraph(f"{headline_text(view.new_policies, system, view.horizon, noun)} {rule_text(view.rule, noun)}"),
        paragraph(same_as_text(view.same_as, noun)),
        _promise(view, scenario, noun),
        heading(2, f"Decisions by {title_of(view.method)}: {horizon_text(system, view.horizon)}"),
        *_strip(view, scenario, reveal),
        paragraph(outcome_words(view, noun) if reveal else ""),
        paragraph(choice_words(view, scenario, noun)),
        *_watching(view, scenario, noun),
        paragraph(made_words(view, scenario, now or datetime.now(UTC)), "quiet"),
    ]
    return html_page(f"{scenario.domain.title} · decision {scenario.key[:6]}", parts, ONE_SHEET)


def shown_policies(view: DecisionView, most: int = MOST_ROWS) -> Sequence[str]:
    """The policies that fit, those that can be decided first."""
    return strip_order(view.new_policies)[:most]


def _promise(view: DecisionView, scenario: Scenario, noun: str) -> str:
    told = guarantee_text(view.promise, scenario, noun)
    return f'<div class="promise">{paragraph(told)}{paragraph(backtest_words(view, noun))}</div>'


def _strip(view: DecisionView, scenario: Scenario, reveal: bool) -> list[str]:
    order, whole = shown_policies(view), len(view.new_policies)
    rows = view.decided[view.decided["method"] == view.method]
    figure = strip(
        rows,
        view.horizon,
        view.rule.threshold,
        scenario.system,
        names={policy: policy_name(scenario, policy) for policy in order},
        order=order,
        reveal=reveal,
        play=False,
        height=STRIP_HEIGHT if len(order) > MOST_ROWS // 2 else None,
    )
    figure.update_layout(width=WIDTH)
    return [chart(figure), paragraph(rows_words(len(order), whole), "quiet")]


def _watching(view: DecisionView, scenario: Scenario, noun: str) -> list[str]:
    if not view.calibrated:
        return []
    system = scenario.system
    known = view.watch, view.method, system, view.cheapest_period, view.period_references
    costs = cost_figure(*known, view.horizon, height=COST_HEIGHT)
    looks = looks_figure(view.watch, [view.method], system, view.horizon, height=LOOKS_HEIGHT)
    for figure in (costs, looks):
        figure.update_layout(width=WIDTH, margin={"t": 28, "b": 40})
        figure.update_xaxes(tickfont={"size": SMALL}).update_yaxes(tickfont={"size": SMALL})
    return [
        heading(2, "How long must we watch?"),
        paragraph(cost_words(view, scenario, noun)),
        chart(costs),
        chart(looks),
    ]


# --- what the PDF page says as well ---------------------------------------------------------------------------------
def title_words(scenario: Scenario) -> str:
    return f"{scenario.domain.title}: stop, keep watching or continue?"


def backtest_words(view: DecisionView, noun: str) -> str:
    return backtest_text(view.counts, noun) if view.calibrated else "There is no back-test of this method here."


def rows_words(shown: int, whole: int) -> str:
    """How many policies have no row; empty where all of them have one."""
    return f"{count(shown, whole)} are shown, those that can be decided first." if shown < whole else ""


def outcome_words(view: DecisionView, noun: str) -> str:
    """How the decisions turned out; empty where no outcome is known."""
    return f"What happened (black ticks): {score_text(view.score, noun)}" if view.score else ""


def choice_words(view: DecisionView, scenario: Scenario, noun: str) -> str:
    chosen = view.choice.policy if view.choice else None
    return choice_text(view.choice, policy_name(scenario, chosen) if chosen else "", noun)


def cost_words(view: DecisionView, scenario: Scenario, noun: str) -> str:
    """Which observation period costs least, and what was counted as a cost."""
    costs = view.costs
    return (
        f"{cheapest_period_text(scenario.system, view.cheapest_period, noun)} A miss costs {number(costs.miss)}, a false alarm "
        f"{number(costs.false_alarm)}, and watching a {noun} to the end {number(costs.step * view.steps)}; counted on "
        f"{plural(int(view.counts['policies']), f'historical {noun}')}."
    )


def made_words(view: DecisionView, scenario: Scenario, now: datetime) -> str:
    limit = value_text(scenario, view.rule.threshold)
    return f"Threshold {limit}; run {scenario.key}, page of {now:%Y-%m-%d %H:%M} UTC."
