"""What only the page Decide says: its cards, its choices, how to read it, and the command that gives the same."""

import shlex

import pandas as pd

from shortlong.analysis.decision_view import DecisionView
from shortlong.analysis.decisions import DECISIONS, Score
from shortlong.analysis.intervals import Kind
from shortlong.core.calibration import Leave
from shortlong.scenario import Scenario
from shortlong.words.cards import Card
from shortlong.words.decide import DECISION_COLUMNS, DECISION_TITLES, reason_text, reference_text
from shortlong.words.numbers import count, many, number, plural
from shortlong.words.policy_names import policy_name
from shortlong.words.scenario import column_title, short_title, title_of, units_text
from shortlong.words.time import time_text

TITLE = "Stop, keep watching or continue?"
EVERY_DECISION = "all"
FILTER_TITLES = {EVERY_DECISION: "all", **DECISION_TITLES}
BY_DECISION, BY_PREDICTION, BY_NAME = "decision", "prediction", "name"
SORT_TITLES = {
    BY_DECISION: "Sort by decision",
    BY_PREDICTION: "Sort by prediction",
    BY_NAME: "Sort by name",
}
MODE_SHORT = {"interval": "Intervals", "one-sided": "One-sided bounds", "risk": "Risk control"}
LOOK_TITLES: dict[Kind, str] = {"together": "as often as one likes", "cv+": "once, at a period chosen beforehand"}
LEAVE_TITLES: dict[Leave, str] = {
    "policy": "single policies",
    "family": "whole families",
    "era": "the latest policies",
}
COST_HELP = (
    "In one unit of your choice; only their proportions matter. Decisions do not depend on costs, the watch charts do."
)
WHY_BACK_TEST = (
    "Decisions need a back-test: the history must judge itself before anything can be promised about new policies. No "
    "back-test is stored with this result yet."
)
HOW_TO_READ = (
    "**The strip** has one row per new policy. The mark is the predicted long-term value, the line its bounds. The dashed "
    "vertical line is the threshold: below it a policy is unsafe. Both bounds above it: continue. Both below: stop. Else keep "
    "watching. A full arrow at the edge: there is no finite bound on that side; an open one: the bound lies outside the chart. "
    "Faded, dotted rows cannot be judged from this history. *Beyond history*: the prediction lies outside every historical "
    "outcome, where no bound was ever tested.\n\n"
    "**Play** goes through all observation periods in the browser. Rows and axes stand still, so that the eye can follow one "
    "policy. Cards and sentences belong to the period of the slider.\n\n"
    "**Reveal the ending** draws the true value of every policy as a tick, where it is known. Decisions never use it.\n\n"
    "**The promise** counts wrong decisions among all new policies. It holds under the condition that stands with it, and "
    "the back-test can confirm it only for the kind of novelty that it left out.\n\n"
    "**Methods:** unless you choose another one, decisions are by the method that predicted historical policies best in the "
    "back-test at this period. No outcome of a new policy has a part in that choice.\n\n"
    "**Next look:** the next computed observation period at which the bounds, as wide as they usually are then, would no "
    "longer contain the threshold if the prediction stayed where it is."
)


def context_text(scenario: Scenario) -> str:
    """What is shown, in the row of the title: "HIV treatment · 250 patients · history 70 policies → 40 new ones"."""
    sizes = scenario.domain.sizes(scenario.data)
    old, new = plural(sizes["train_policies"], "historical policy"), f"{sizes['test_policies']} new"
    return f"{scenario.domain.title} · {units_text(scenario)} · {old} → {new}"


def cards_of(view: DecisionView, scenario: Scenario, noun: str = "policy", reveal: bool = False) -> list[Card]:
    """How many can be decided, how the same rule did on the history, and when to look again or, once revealed, the score."""
    amounts = view.new_policies["decision"].value_counts()
    parts = [f"{int(amounts.get(d, 0))} {DECISION_TITLES[d]}" for d in DECISIONS if amounts.get(d, 0)]
    cards = [
        Card(
            f"Can be decided after {time_text(scenario.system, view.horizon)}",
            count(view.ready, len(view.new_policies)),
            ", ".join(parts),
            f"New {many(noun)} whose bounds are on one side of the threshold. By {title_of(view.method)}.",
        )
    ]
    if view.calibrated:
        counts = view.counts
        whole, safe, stopped = (int(counts[name]) for name in ("policies", "called_safe", "stopped"))
        cards.append(
            Card(
                "Back-test: called safe wrongly",
                count(int(counts["wrong"]), whole),
                f"{safe} called safe, {stopped} stopped ({int(counts['stopped_wrongly'])} wrongly)",
                f"Historical {many(noun)} judged by the same rule, each by the others only.",
            )
        )
    if reveal and view.score is not None:
        return [*cards, _score_card(view.score, noun)]
    look = view.busiest_look
    cards.append(
        Card(
            "Next look that decides most",
            "none" if look is None else time_text(scenario.system, look[0]),
            _no_look(view) if look is None else f"could decide {look[1]} more",
            "If predictions stay where they are and bounds become as narrow as they usually are then.",
        )
    )
    return cards


def _score_card(score: Score, noun: str) -> Card:
    """How it ended, where everybody sees it; the whole sentence stands below."""
    stopped = f"{count(score.unsafe_stopped, score.unsafe)} unsafe stopped"
    parts = [f"{count(score.safe_stopped, score.safe)} stopped wrongly"] if score.safe else []
    if score.chosen_value is not None:
        parts.append(f"chose {number(score.chosen_value)} of {number(score.best_value or 0.0)}")
    return Card(
        "What happened",
        stopped if score.unsafe else f"no {noun} was unsafe",
        ", ".join(parts),
        f"Decisions at this period against the outcome of every new {noun}. The whole score is below the strip.",
    )


def _no_look(view: DecisionView) -> str:
    waiting = len(view.new_policies) - view.ready
    return f"no computed period would decide any of the {waiting} left" if waiting else "all are decided"


def chosen_title(method: str | None) -> str:
    """The usual choice of a method, with its name: "SLEV · history's choice"."""
    return f"{short_title(method)} · history's choice" if method else "history's choice"


def references_text(view: DecisionView, noun: str = "policy") -> str:
    """What the decisions cost on the history beside rules that need no prediction."""
    if not view.calibrated:
        return ""
    return (
        f"On these {plural(int(view.counts['policies']), f'historical {noun}')} such decisions cost "
        f"{number(float(view.counts['cost']))} in total from here on; for comparison: {reference_text(view.references)}."
    )


def decision_rows(view: DecisionView, scenario: Scenario, reveal: bool = False) -> pd.DataFrame:
    """The decisions as a table for people: names, bounds, reasons, next look; outcomes only if they are revealed."""
    here = view.new_policies
    records = here.to_dict("records")
    table = pd.DataFrame(
        {
            "policy": here["policy"].astype(str).to_list(),
            "name": [policy_name(scenario, str(row["policy"])) for row in records],
            "decision": [DECISION_TITLES[str(row["decision"])] for row in records],
            "why": [reason_text(row, view.rule.threshold) for row in records],
            **{name: here[name].to_numpy() for name in ("predicted", "lower", "upper", "next_look", "reason")},
        }
    )
    table = table.assign(
        method=view.method,
        horizon=view.horizon,
        threshold=view.rule.threshold,
        level=view.rule.level,
        mode=view.rule.mode,
    )
    if "beyond" in here:
        table["beyond_history"] = here["beyond"].to_numpy()
    if reveal:
        table["true"] = here["true"].to_numpy()
    titles = {**DECISION_COLUMNS, "why": "why", "name": "name", "level": "promise", "mode": "kind of promise"}
    return table.rename(columns=lambda name: titles.get(name) or column_title(name))


def decide_command(scenario: Scenario, view: DecisionView, limit: str, leave: Leave, method: str | None) -> str:
    """The command that gives the same decisions; ``limit`` is its option for the threshold."""
    words = [f"--horizon {view.horizon}", limit, f"--level {view.rule.level:g}"]
    if view.rule.mode != "interval":
        words.append(f"--mode {view.rule.mode}")
    if view.rule.kind != "together":
        words.append(f"--kind {shlex.quote(view.rule.kind)}")
    if leave != "policy":
        words.append(f"--leave {leave}")
    if method:
        words.append(f"--method {method}")
    return " ".join([scenario.to_command("decide"), *words])
