"""How long must we watch? What each observation period would have decided about old policies, and what it would have cost.

Pure functions of the decisions that the back-test makes about old policies (``decisions.decide`` on ``backtest_bounds``).
A policy that is not decided at a look is watched to the end and then judged rightly; waiting is paid for by the step.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from shortlong.analysis.decisions import (
    Costs,
    count_decisions,
    median_of_judged,
    reference_costs,
    rule_costs,
    share_at_least,
    share_at_most,
)
from shortlong.analysis.grids import Floats, grid_of

ONE_SIDE = 0.95  # confidence of each end of a binomial interval: together 90 %


@dataclass(frozen=True)
class Cheapest:
    """The observation period with the least cost per policy, beside what rules cost that need no prediction."""

    horizon: int
    cost: float
    reference: str  # the cheapest of the references
    reference_cost: float

    @property
    def pays(self) -> bool:
        """Whether watching and deciding costs less than the cheapest reference."""
        return self.cost < self.reference_cost


def watch_table(decided: pd.DataFrame, threshold: float, costs: Costs, steps: int) -> pd.DataFrame:
    """What each look would have decided about old policies, a row per method and horizon.

    Beside the columns of ``count_decisions`` and ``rule_costs``: half_width (median over old policies), decided and
    decided_share, mistakes and mistake_share (of the decisions) with mistake_from and mistake_to (90 % binomial interval),
    decided_so_far (share decided at this or an earlier look), mistakes_so_far, and per policy waiting_cost, error_cost and
    total_cost.
    """
    counts = rule_costs(count_decisions(decided, threshold), costs, steps)
    number = counts["policies"].clip(lower=1)
    settled = counts["called_safe"] + counts["stopped"]
    mistakes = counts["wrong"] + counts["stopped_wrongly"]
    waits = 1 - settled / number
    waiting = costs.step * (counts["horizon"] + waits * (steps - counts["horizon"]))
    errors = (costs.miss * counts["wrong"] + costs.false_alarm * counts["stopped_wrongly"]) / number
    so_far = _so_far(decided, threshold)
    return counts.assign(
        half_width=_half_width(decided),
        decided=settled,
        decided_share=settled / number,
        mistakes=mistakes,
        mistake_share=np.where(settled > 0, mistakes / settled.clip(lower=1), np.nan),
        mistake_from=share_at_least(mistakes, settled, ONE_SIDE),
        mistake_to=share_at_most(mistakes, settled, ONE_SIDE),
        decided_so_far=so_far["decided"] / number,
        mistakes_so_far=so_far["mistakes"],
        waiting_cost=waiting,
        error_cost=errors,
        total_cost=waiting + errors,
    )


def _half_width(decided: pd.DataFrame) -> Floats:
    """Half of the median distance between the bounds of old policies."""
    grid = grid_of(decided)
    width = grid.spread_out(decided["upper"]) - grid.spread_out(decided["lower"])
    return median_of_judged(width, ~np.isnan(grid.spread_out(decided["true"]))).ravel() / 2


def _so_far(decided: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """Policies that were decided at a look or earlier, and those of them that the first such look decided wrongly."""
    grid = grid_of(decided)
    codes, true = grid.spread_out(decided["decision"].cat.codes), grid.spread_out(decided["true"])
    settled = (codes <= 1) & ~np.isnan(true)
    first = settled & (np.cumsum(settled, axis=1) == 1)
    wrong = first & ((codes == 0) == (true < threshold))
    return pd.DataFrame(
        {
            "decided": np.cumsum(first.sum(axis=-1), axis=1).ravel(),
            "mistakes": np.cumsum(wrong.sum(axis=-1), axis=1).ravel(),
        }
    )


def cheapest_period(table: pd.DataFrame, method: str, references: dict[str, float]) -> Cheapest | None:
    """The horizon with the least total cost per policy, the earlier one among equals; None for an unknown method."""
    rows = table[(table["method"] == method) & (table["policies"] > 0)].sort_values("horizon")
    if rows.empty:
        return None
    best = int(rows["total_cost"].to_numpy().argmin())
    reference = min(references, key=lambda name: references[name])
    return Cheapest(
        int(rows["horizon"].iloc[best]), float(rows["total_cost"].iloc[best]), reference, references[reference]
    )


def period_references(decided: pd.DataFrame, threshold: float, costs: Costs, steps: int) -> dict[str, float]:
    """Cost per policy of the references: stop all or none at once, toss a coin for each, or watch all to the end."""
    true = decided.drop_duplicates("policy")["true"].dropna().to_numpy(dtype=float)
    whole = reference_costs(true, threshold, costs, steps)
    return {name: cost / max(len(true), 1) for name, cost in whole.items()}
