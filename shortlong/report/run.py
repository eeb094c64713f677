"""One self-contained HTML page about a run: sentences, charts, tables, and everything needed to reproduce it."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from shortlong.analysis.headline import at_horizon, error_curve, reliable_from, usual_horizon
from shortlong.analysis.horizon import BeyondHistory, assess, method_table, policy_table
from shortlong.analysis.outlook import LEVEL, outlook, trusted_method
from shortlong.analysis.safety import (
    Question,
    averaged_predictions,
    cheapest,
    earliest_alarm,
    limit_of,
    opening_limit,
    rates_at,
    references,
    verdicts,
)
from shortlong.analysis.shift import has_trajectories
from shortlong.compute.computations import versions
from shortlong.compute.results import Results
from shortlong.domains import DOMAINS
from shortlong.domains.base import notice_of
from shortlong.figures.bands import bands_over_time
from shortlong.figures.error import error_over_horizon
from shortlong.figures.safety import matrices
from shortlong.figures.safety_rates import rates_figure
from shortlong.figures.scatter import predicted_against_true, scatter_limits
from shortlong.report.html import chart, heading, html_page, paragraph, programs, table, verbatim
from shortlong.scenario import Scenario
from shortlong.words.horizon import (
    HINDSIGHT,
    ONE_RULE,
    beyond_sentence,
    bias_sentence,
    comparison_sentence,
    curve_sentence,
    headline_sentence,
    loss_references,
)
from shortlong.words.numbers import bound, count, many, number
from shortlong.words.outlook import certainty_of
from shortlong.words.policy_names import for_people, policy_name, policy_text
from shortlong.words.safety import (
    RELIABLE,
    alarm_sentence,
    cut_sentence,
    limit_sentence,
    low_outcome,
    matrix_sentence,
    noun_of,
    uncertainty_sentence,
)
from shortlong.words.scenario import error_in_words, meaning_of_value, ruler_text, scenario_line, title_of, unit_noun
from shortlong.words.time import horizon_text


def report(
    results: Results,
    *,
    horizon: int | None = None,
    question: Question | None = None,
    now: datetime | None = None,
) -> str:
    """The report of a computed scenario at a horizon, or at ``opening_horizon``.

    Where the values of the historical policies are known it flags predictions beyond them and says which policies an early
    alarm would stop, at the threshold at which Safety opens unless there is a ``question``.
    """
    scenario = results.scenario
    at = horizon if horizon is not None else opening_horizon(results)
    judged, domain = judged_of(results), DOMAINS[scenario.data.domain]
    parts = [
        heading(1, title_words(scenario)),
        paragraph(scenario_line(scenario), "quiet"),
        paragraph(notice_of(domain, scenario.data), "notice"),
        *([] if results.has_truth else _predictions(results, judged, at)),
        *([] if judged is None else _judged(judged, at, question)),
        *(paragraph(f"{title_of(method)}: {reason}", "quiet") for method, reason in results.left_out.items()),
        *_provenance(scenario, now or datetime.now(UTC)),
    ]
    return html_page(f"{domain.title} · shortlong report {scenario.key[:6]}", parts)


def _judged(results: Results, at: int, question: Question | None) -> list[str]:
    """How right the methods are, where outcomes are known."""
    scenario, metrics, values, history = results.scenario, results.metrics, results.values, results.history
    system, methods, answer = scenario.system, results.methods, assess(metrics, values, at, history)
    head, which = answer.head, "historical" if results.is_back_test else "new"
    curve = curve_sentence(system, head.method, *error_curve(metrics, head.method), reliable_from(metrics))
    return [
        paragraph(headline_sentence(system, answer, error_in_words(scenario, head.error))),
        paragraph("" if results.is_back_test else loss_references(answer)),
        paragraph(f"Values: {ruler_text(scenario, head.highest)}", "quiet"),
        heading(2, "Error by observation period"),
        paragraph(curve),
        chart(
            error_over_horizon(metrics, system, methods, at, legend=False, named_ends=True),
            "Typical error of every method by observation period.",
        ),
        heading(2, f"Predicted v actual: {horizon_text(system, at)}"),
        paragraph(bias_sentence(answer, scenario)),
        *([paragraph(comparison_sentence(answer.comparison, scenario))] if answer.comparison else []),
        *([_beyond_history(scenario, answer.beyond)] if answer.beyond else []),
        chart(_scatter(scenario, values, at, methods, history), "Predicted v actual value of every policy."),
        paragraph(meaning_of_value(scenario), "quiet"),
        *(
            []
            if results.is_back_test
            else _reward_curves(results, answer.favourite.policies[0] if answer.favourite else None)
        ),
        *([] if history is None else _alarm(scenario, values, at, history, question, which)),
        heading(2, "Methods at this observation period"),
        paragraph(f"{HINDSIGHT} {ONE_RULE}", "quiet"),
        table(method_table(metrics, values, at).assign(method=lambda t: t["method"].map(title_of))),
        heading(2, "Policies: actual and predicted values"),
        paragraph("Predictions are averaged over seeds.", "quiet"),
        table(_policies(scenario, values, at, history), "" if history is None else "named"),
        *_intervals(results, at),
    ]


def _intervals(results: Results, at: int) -> list[str]:
    """The intervals of policies whose outcome is known; nothing without a back-test."""
    rows = predicted_rows(results, at)
    if not (promise := kept_words(results, rows)):
        return []
    shown = rows[["policy", "method", "predicted", "bounds", "true"]]
    return [heading(2, "Policies: intervals"), table(shown), paragraph(promise)]


def _predictions(results: Results, judged: Results | None, at: int) -> list[str]:
    """What is predicted for policies whose outcome is not known, and what the rest of the page is about."""
    rows = predicted_rows(results, at)
    return [
        heading(2, predictions_title(results.scenario, at)),
        table(rows[["policy", "method", "predicted", "bounds"]]),
        paragraph(predictions_words(results, rows, judged)),
    ]


# --- what the PDF page says as well ---------------------------------------------------------------------------------
def title_words(scenario: Scenario) -> str:
    return f"{scenario.domain.title}: how early can we tell?"


def opening_horizon(results: Results) -> int:
    """The horizon nearest to a tenth of the time; where outcomes are not known, the one at which most is known."""
    known = results.scenario.horizons
    return usual_horizon(known, results.scenario.system.steps) if results.has_truth else max(known)


def judged_of(results: Results) -> Results | None:
    """The results that can be compared with the truth: these, or their back-test; None where there is neither."""
    return results if results.has_truth else results.back_test()


def predicted_rows(results: Results, at: int) -> pd.DataFrame:
    """New policies with names, predictions and bounds, by the method that the history trusts, else by all of them."""
    trusted = trusted_method(results, at)
    rows = outlook(results, horizons=[at], methods=[trusted] if trusted else None)
    pairs = zip(rows["lower"], rows["upper"], strict=True)
    return rows.assign(
        policy=[policy_name(results.scenario, str(policy)) for policy in rows["policy"]],
        method=[title_of(str(method)) for method in rows["method"]],
        bounds=[f"{bound(float(lower))} to {bound(float(upper))}" for lower, upper in pairs],
    )


def predictions_title(scenario: Scenario, at: int) -> str:
    return f"Predicted values of the new policies: {horizon_text(scenario.system, at)}"


def predictions_words(results: Results, rows: pd.DataFrame, judged: Results | None) -> str:
    """What bounds promise, and whose errors are shown where outcomes of new policies are not known."""
    if judged is None:
        return "Nobody knows yet how these policies end, and there is no back-test, so nothing is known about errors."
    return (
        f"{_promise(results, rows)} Nobody knows yet how these policies end: the errors below are those "
        "of the back-test, on historical policies that the methods had not seen."
    ).strip()


def kept_words(results: Results, rows: pd.DataFrame) -> str:
    """What bounds promise, and how many outcomes they hold; empty where no bound is finite."""
    promise, inside = _promise(results, rows), rows["true"].between(rows["lower"], rows["upper"]).sum()
    return promise and f"{promise} Here {count(int(inside), len(rows))} outcomes lie inside."


def _promise(results: Results, rows: pd.DataFrame) -> str:
    return str(certainty_of(results, rows, LEVEL, "together", "policy")["promise"])


# --- parts of the page ----------------------------------------------------------------------------------------------
def _reward_curves(results: Results, favourite: str | None) -> list[str]:
    """Rewards over time of a few policies: the best and the worst new one, the favourite, and the best of the history."""
    summary = results.source.summary
    known = {f"{role}/{part}" for role in ("train", "test") for part in ("rewards", "returns")}
    if summary is None or not known <= set(summary.arrays) or not results.has_truth:
        return []
    if not has_trajectories(results.scenario):  # what a cell has over time is its capacity, not a reward
        return []
    curves, dashed = {}, []
    places: dict[tuple[str, int], list[str]] = {}
    scenario, new, old = results.scenario, summary.values("test"), summary.values("train")
    wanted = {"best new": ("test", int(np.argmax(new))), "worst new": ("test", int(np.argmin(new)))}
    if favourite in summary.labels["test"]:
        wanted["favourite"] = ("test", summary.labels["test"].index(favourite))
    wanted["best of the history"] = ("train", int(np.argmax(old)))
    for word, where in wanted.items():
        places.setdefault(where, []).append(word)
    for (role, place), parts in places.items():  # the favourite may be the best one
        label = f"{policy_name(scenario, summary.labels[role][place]).partition(' · ')[0]}, {' and '.join(parts)}"
        curves[label] = summary.arrays[f"{role}/rewards"][place]
        if role == "train":
            dashed.append(label)
    figure = bands_over_time(curves, scenario.system, "reward per step", dashed=dashed, height=360)
    return [
        heading(2, "Rewards over time"),
        paragraph(
            f"Average {unit_noun(scenario)} under the best and the worst new policy, the favourite, and the best historical policy "
            f"(dashed); bands hold the middle 80 % of {many(unit_noun(scenario))}.",
        ),
        chart(figure, "Reward per step over time of a few policies."),
    ]


def _beyond_history(scenario: Scenario, found: BeyondHistory) -> str:
    return paragraph(beyond_sentence(found, policy_name(scenario, found.policy)), "notice")


def _scatter(
    scenario: Scenario, values: pd.DataFrame, at: int, methods: Sequence[str], history: NDArray[np.floating] | None
) -> go.Figure:
    return predicted_against_true(
        at_horizon(values, at),
        methods,
        scatter_limits(values),
        None if history is None else (float(history.min()), float(history.max())),
        names={str(policy): policy_text(scenario, str(policy)) for policy in values["policy"].unique()},
    )


def _policies(scenario: Scenario, values: pd.DataFrame, at: int, history: NDArray[np.floating] | None) -> pd.DataFrame:
    """The table of policies with names that people can say and methods as they are called elsewhere."""
    rows = for_people(policy_table(values, at, history), scenario)
    if "beyond_by" in rows:
        rows["beyond_by"] = [", ".join(map(title_of, filter(None, names.split(",")))) for names in rows["beyond_by"]]
    first = [name for name in ("policy", "parameters", "true") if name in rows]
    return rows[[*first, *rows.columns.difference(first, sort=False)]]  # the truth in sight, beside the name


def _alarm(
    scenario: Scenario,
    values: pd.DataFrame,
    at: int,
    history: NDArray[np.floating],
    question: Question | None,
    which: str,
) -> list[str]:
    """Which policies each method would stop at a horizon, and from when on its alarm is reliable."""
    system, predictions, averaged = scenario.system, at_horizon(values, at), averaged_predictions(values)
    asked = question or Question(opening_limit(history, averaged.true).value)
    judged = verdicts(predictions, asked.limit, asked.missing, asked.stopping)
    if not judged:
        return []
    limit, rates = limit_of(asked.limit, history, averaged.true), rates_at(averaged, asked.limit)
    compared = references(predictions, asked.limit, asked.missing, asked.stopping)
    best, noun = cheapest(judged, compared), noun_of(scenario)
    reliable = earliest_alarm(rates, asked.missing, asked.stopping)
    return [
        heading(2, f"Which {many(noun)} should be stopped early? After {horizon_text(system, at)}"),
        paragraph(limit_sentence(limit, noun, low_outcome(scenario), which)),
        paragraph(
            f"{matrix_sentence(system, at, best, judged, compared, noun, which)} "
            f"{uncertainty_sentence(best, limit.unsafe, noun)} {cut_sentence(limit, best)}"
        ),
        paragraph(
            f"A miss costs {number(asked.missing)}, a false alarm {number(asked.stopping)}; predictions are averaged over "
            "seeds.",
            "quiet",
        ),
        chart(matrices([*judged, *compared]), "Which policies each rule stops, and which of them are unsafe."),
        paragraph(f"{alarm_sentence(system, limit, reliable, noun, which)} {RELIABLE}"),
        paragraph("Colours and marks of the methods are those of the charts above.", "quiet"),
        chart(
            rates_figure(rates, at, system, [v.method for v in judged]), "Errors of the alarm by observation period."
        ),
    ]


def _provenance(scenario: Scenario, now: datetime) -> list[str]:
    return [
        heading(2, "How to reproduce this report"),
        paragraph(f"Run {scenario.key}, report of {now:%Y-%m-%d %H:%M} UTC. The command that computes it:"),
        verbatim(scenario.to_command()),
        paragraph("Scenario:"),
        verbatim(scenario.to_yaml()),
        paragraph("Versions:"),
        verbatim(json.dumps({**versions(scenario), "libraries": programs()}, indent=1)),
    ]
