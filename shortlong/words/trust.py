"""Whom to trust, in words: methods compared on the history, what it would have chosen, the blend, and placebos.

Everything here could have been known at the time, except where it says "in hindsight". Tested like code.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from shortlong.words.numbers import count, number, percent, plural
from shortlong.words.scenario import title_of

WITHIN_NOISE = "within the noise"


def difference_text(row: Mapping[Any, Any]) -> str:
    """How much larger a method's error on the history is than the first one's: "+12.3 ± 4.5", marked where it is noise."""
    difference, error = float(row["difference"]), float(row["standard_error"])
    if not np.isfinite(difference):
        return "no policies in common"
    if not np.isfinite(error):
        return f"{_signed(difference)} (one policy: {WITHIN_NOISE})"
    text = f"{_signed(difference)} ± {number(error)}"
    return f"{text} ({WITHIN_NOISE})" if row["within_two_se"] and difference else text


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


def trust_sentence(compared: pd.DataFrame) -> str:
    """Whom the history would choose, and how many others it cannot tell from the choice (``trust.compare_methods``)."""
    if compared.empty:
        return "The history cannot compare methods here: none was back-tested at this observation period."
    first, others = compared.iloc[0], compared.iloc[1:]
    start = (
        f"On {plural(int(first['policies']), 'historical policy')} that it had not seen, {title_of(str(first['method']))} has "
        f"the lowest error, {number(float(first['error']))}"
    )
    if others.empty:
        return f"{start}; no other method was back-tested."
    second = others.iloc[0]
    next_best = f"{title_of(str(second['method']))} follows, {difference_text(dict(second))}"
    close = int(others["within_two_se"].sum())
    if not close:
        return f"{start}, clearly below every other method; {next_best}."
    verb = "is" if close == 1 else "are"
    return (
        f"{start}; {next_best}. {count(close, len(others))} other methods {verb} {WITHIN_NOISE} (two standard errors)."
    )


def choice_sentence(costs: pd.DataFrame) -> str:
    """What the history alone would have chosen beside the best in hindsight (``trust.cost_of_choice``)."""
    chosen = costs[costs["chosen_by_history"]]
    if chosen.empty:
        return "The history alone would not have chosen any of these methods: none was back-tested here."
    choice, best = chosen.iloc[0], costs[costs["best_in_hindsight"]].iloc[0]
    name = title_of(str(choice["method"]))
    if choice["best_in_hindsight"]:
        return (
            f"The history alone would have chosen {name}, and in hindsight nothing was better (error "
            f"{number(float(choice['error']))})."
        )
    return (
        f"The history alone would have chosen {name} (error {number(float(choice['error']))}, its favourite loses "
        f"{number(float(choice['regret']))}); best in hindsight is {title_of(str(best['method']))} "
        f"({number(float(best['error']))}, {number(float(best['regret']))})."
    )


# --- placebos -------------------------------------------------------------------------------------------------------
EXCHANGED = (
    "Every historical policy gets the prediction that was made for another one. That must destroy the skill: a method that does as "
    "well all the same cannot tell these policies apart, and its ranking is chance."
)
SHUFFLED = (
    "Methods that are fitted in moments learn from outcomes shuffled among the historical policies. Nothing is left to learn there, so "
    "they must be about as wrong as the historical average: one that is better has seen the answers."
)


def exchange_sentence(row: Mapping[Any, Any]) -> str:
    """The placebo of exchanged starts for one method (``trust.exchanged_starts``)."""
    name = title_of(str(row["method"]))
    if row["same_for_all"]:
        return f"{name} gives all policies the same value: there is nothing to exchange."
    tries = f"{count(int(row['as_good']), int(row['exchanges']))} random exchanges of its predictions between policies"
    errors = f"error {number(float(row['error']))}, exchanged {number(float(row['exchanged_error']))}"
    if row["no_skill"]:
        return (
            f"No skill: on {plural(int(row['policies']), 'historical policy')}, {name} cannot be told from chance; {tries} did "
            f"as well ({errors})."
        )
    return f"{name} tells policies apart: {tries} did as well ({errors})."


def shuffle_sentence(row: Mapping[Any, Any]) -> str:
    """The placebo of shuffled outcomes for one method (``trust.shuffled_outcomes``)."""
    name, error, average = title_of(str(row["method"])), float(row["error"]), float(row["baseline_error"])
    if row["alarm"]:
        return (
            f"Alarm: with outcomes shuffled among policies, {name} still does better than the historical average "
            f"({number(error)} v {number(average)}, difference {difference_text({**row, 'within_two_se': False})}). Nothing could "
            "be learned there, so it has seen what it is judged by: do not trust its errors and intervals. By chance this happens "
            "about once in 40 shuffles."
        )
    return (
        f"With outcomes shuffled among policies, {name} is no better than the historical average by more than chance "
        f"({number(error)} v {number(average)}), as it must be."
    )


def placebo_lines(exchanged: pd.DataFrame, shuffled: pd.DataFrame) -> list[str]:
    """Both placebos as lines of a terminal, by horizon; what an alarm means stands above each."""
    said: list[str] = []
    for meaning, table, words in ((EXCHANGED, exchanged, exchange_sentence), (SHUFFLED, shuffled, shuffle_sentence)):
        said += [meaning] if len(table) else []
        said += [f"  {int(row['horizon']):>5}  {words(row)}" for row in table.to_dict("records")]
    return said


# --- table ---------------------------------------------------------------------------------------------------------
def comparison_rows(compared: pd.DataFrame) -> pd.DataFrame:
    """Methods on the history, for people: method, error, difference to the first, regret, ranking, policies."""
    records = compared.to_dict("records")
    return pd.DataFrame(
        {
            "method": [title_of(str(row["method"])) for row in records],
            "typical error on the history": [number(float(row["error"])) for row in records],
            "more than the first (± standard error)": [
                "" if i == 0 else difference_text(row) for i, row in enumerate(records)
            ],
            "value lost by choosing its favourite": [number(float(row["regret"])) for row in records],
            "pairs ranked correctly": [_share(row["ordered_pairs"]) for row in records],
            "historical policies": [int(row["policies"]) for row in records],
        }
    )


def _share(value: Any) -> str:
    return "–" if pd.isna(value) else percent(float(value))
