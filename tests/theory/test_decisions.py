"""The promises of the decision rules, checked by simulation: mistakes about new policies stay within them, look by look."""

from itertools import product

import numpy as np
import pytest

from shortlong.analysis.decision_view import decision_view
from shortlong.analysis.decisions import (
    CONTINUE,
    STOP,
    TOO_FEW,
    UNKNOWN,
    Costs,
    cheapest_rule,
    count_decisions,
    decide,
    reference_costs,
    rule_costs,
    threshold_of,
)
from shortlong.analysis.rules import MODES, Rule, allowed_mistakes, backtest_bounds, best_candidate, bounds_of
from shortlong.core.calibration import Calibration
from tests.theory.decision_histories import LOOKS, world
from tests.theory.simulated import simulated

pytestmark = pytest.mark.heavy  # hundreds of simulated histories

HISTORIES, AT_ONCE = 500, 50
THRESHOLD = 100.0  # half of the policies are unsafe, many of them nearly safe


def worlds(old: int, fitted: bool, seed: int = 0):
    rng = np.random.default_rng(seed)
    names = tuple(f"h{i}" for i in range(AT_ONCE))
    for _ in range(HISTORIES // AT_ONCE):
        yield world(rng, old, fitted=fitted, methods=names)


def wrong_rates(old: int, rule: Rule, fitted: bool) -> dict[str, np.ndarray]:
    """Per history the share of new policies that some look called safe or stopped wrongly, or bounded wrongly from below."""
    looked = LOOKS if rule.kind == "together" else LOOKS[1:2]
    found: dict[str, list[np.ndarray]] = {"called safe": [], "stopped": [], "either": [], "bound": []}
    for made in worlds(old, fitted):
        decided = decide(bounds_of(made.calibration, made.predictions, rule), rule.threshold)
        decided = decided[decided["horizon"].isin(looked)]
        unsafe = decided["true"] < rule.threshold
        marks = decided[["method", "policy"]].assign(
            safe=(decided["decision"] == CONTINUE) & unsafe,
            stop=(decided["decision"] == STOP) & ~unsafe,
            bound=decided["true"] < decided["lower"],
        )
        marks["either"] = marks["safe"] | marks["stop"]
        ever = marks.groupby(["method", "policy"], sort=False)[["safe", "stop", "either", "bound"]].any()
        shares = ever.groupby("method", sort=False).mean()
        for name, column in zip(found, ("safe", "stop", "either", "bound"), strict=True):
            found[name].append(shares[column].to_numpy())
    return {name: np.concatenate(parts) for name, parts in found.items()}


def at_most(shares: np.ndarray, promised: float) -> bool:
    """Whether the mean is no larger than promised, within three standard errors of the simulation."""
    return shares.mean() <= promised + 3 * shares.std() / np.sqrt(len(shares))


@pytest.mark.parametrize(("old", "fitted"), [(10, True), (20, False), (70, True)])
@pytest.mark.parametrize(("mode", "kind"), list(product(MODES, ("together", "cv+"))))
def test_the_promise_is_kept_in_every_mode(mode, kind, old, fitted):
    """With "together" a mistake at any of four looks counts: looking again and again costs nothing."""
    rates = wrong_rates(old, Rule(THRESHOLD, 0.9, mode, kind), fitted)
    assert at_most(rates["called safe"], 0.1), rates["called safe"].mean()
    assert at_most(rates["stopped"], 0.1), rates["stopped"].mean()
    if mode == "interval":
        assert at_most(rates["either"], 0.1)
    if mode == "one-sided":  # the bound itself, whatever the threshold
        assert at_most(rates["bound"], 0.1), rates["bound"].mean()
    if mode == "risk" and old == 70:  # not by being needlessly careful: the margins are the smallest
        assert rates["called safe"].mean() > 0.07


def test_without_margins_or_with_one_look_taken_for_all_the_promise_would_break():
    """The simulation can tell: the point prediction, and margins for one look used at four, decide wrongly too often."""
    for kind, limit in (("point", 0.15), ("cv+", 0.12)):
        shares = []
        for made in worlds(70, fitted=True):
            bounds = bounds_of(made.calibration, made.predictions, Rule(THRESHOLD, 0.9, "risk", "cv+"))
            if kind == "point":
                bounds = bounds.assign(lower=bounds["predicted"], upper=bounds["predicted"])
            decided = decide(bounds, THRESHOLD)
            wrong = (decided["decision"] == CONTINUE) & (decided["true"] < THRESHOLD)
            shares.append(wrong.groupby([decided["method"], decided["policy"]]).any().mean())
        assert np.mean(shares) > limit, kind


def test_a_threshold_taken_from_the_history_keeps_the_promise():
    """It depends on the old policies, which the theorem of risk control does not foresee: measured instead."""
    shares = []
    rng = np.random.default_rng(1)
    for _ in range(200):
        made = world(rng, 70, fitted=True)
        rule = Rule(threshold_of(made.history, quantile=0.3), 0.9, "risk")
        decided = decide(bounds_of(made.calibration, made.predictions, rule), rule.threshold)
        wrong = (decided["decision"] == CONTINUE) & (decided["true"] < rule.threshold)
        shares.append(wrong.groupby(decided["policy"]).any().mean())
    assert at_most(np.array(shares), 0.1)


def test_risk_control_allows_the_mistakes_of_its_formula():
    for old, level, most in ((70, 0.95, 2), (70, 0.9, 6), (19, 0.95, 0), (9, 0.9, 0), (18, 0.95, -1), (8, 0.9, -1)):
        assert allowed_mistakes(old, level) == most
        if most >= 0:
            assert (most + 1) / (old + 1) <= 1 - level + 1e-12 < (most + 2) / (old + 1) + 1e-12


def test_the_margin_of_risk_control_is_the_smallest_that_allows_so_many_mistakes():
    """Counted on the old policies themselves, by trying margins one after another."""
    made, level = world(np.random.default_rng(2), 70), 0.95
    old = made.calibration.held_out
    look = bounds_of(made.calibration, old, Rule(THRESHOLD, level, "risk", "cv+"))  # as if they were new
    reach = (look["predicted"] - look["lower"]).groupby(look["horizon"]).first()

    def called_safe_wrongly(factor: float) -> int:
        over = old["predicted"] - factor * old["horizon"].map(reach) >= THRESHOLD
        return int((over & (old["true"] < THRESHOLD) & (old["horizon"] == LOOKS[0])).sum())

    assert called_safe_wrongly(1.0) == allowed_mistakes(70, level)
    assert called_safe_wrongly(1 - 1e-6) == allowed_mistakes(70, level) + 1


def test_margins_of_all_looks_follow_their_formula():
    """One policy after another: its worst excess in units of the typical error of the others, and the margin between them."""
    made, number = world(np.random.default_rng(2), 25), 25
    table = made.calibration.held_out.pivot_table(index="horizon", columns="policy", values=["predicted", "true"])
    predicted, true = table["predicted"].to_numpy(), table["true"].to_numpy()
    reaches = []
    for one in range(number):
        others = np.arange(number) != one
        typical = np.sqrt(((predicted - true)[:, others] ** 2).mean(axis=1))
        excess = (predicted - THRESHOLD)[:, one] / typical
        reaches.append((excess.max() if true[0, one] < THRESHOLD else -np.inf) * typical)
    margin = np.sort(reaches, axis=0)[::-1][allowed_mistakes(number, 0.9)]
    found = bounds_of(made.calibration, made.predictions, Rule(THRESHOLD, 0.9, "risk", "together"))
    reach = (found["predicted"] - found["lower"]).groupby(found["horizon"]).first()
    assert reach.to_numpy() == pytest.approx(np.maximum(margin, 0))


@pytest.mark.parametrize(("old", "level", "in_own_unit"), [(4, 0.8, 0.3), (10, 0.9, 0.13), (20, 0.9, 0.12)])
def test_risk_control_holds_for_small_histories_at_any_look(old, level, in_own_unit):
    """All policies are just unsafe and errors wander over ten looks: units with the counted policy's own error are too small.

    ``in_own_unit`` is the share called safe wrongly in such units, which the last lines measure again.
    """
    rng, histories, looks, new = np.random.default_rng(0), 600, 10, 10
    error = np.cumsum(rng.normal(size=(histories, looks, old + new)), axis=1)
    true = np.full((histories, old + new), THRESHOLD - 1e-9)
    predicted = true[:, None, :] + error
    made = simulated((predicted[..., :old], true[:, :old]), (predicted[..., old:], true[:, old:]))
    decided = decide(bounds_of(made.calibration, made.new, Rule(THRESHOLD, level, "risk")), THRESHOLD)
    wrong = (decided["decision"] == CONTINUE).to_numpy().reshape(histories, looks, new).any(axis=1)
    assert at_most(wrong.mean(axis=1), 1 - level), wrong.mean()
    unit = np.sqrt((error[..., :old] ** 2).mean(axis=-1, keepdims=True))
    worst = np.sort((error[..., :old] / unit).max(axis=1))[:, ::-1][:, allowed_mistakes(old, level)]
    naive = ((error[..., old:] / unit).max(axis=1) > worst[:, None]).mean()
    assert naive > in_own_unit - 0.015, "the simulation can tell"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["together", "cv+"])
def test_each_old_policy_is_judged_by_the_others_only(mode, kind):
    """The back-test equals leaving policies out one by one, also with ties; what became of a policy does not matter to it."""
    made = world(np.random.default_rng(3), 25, horizons=(5, 10))
    rounded = {name: made.calibration.held_out[name].round(-1) for name in ("predicted", "true")}
    held = made.calibration.held_out.assign(**rounded)
    rule, whole = Rule(THRESHOLD, 0.8, mode, kind), Calibration("policy", held, made.calibration.by_fold)
    together = backtest_bounds(whole, rule).set_index(["horizon", "policy"])[["lower", "upper"]]
    for policy in held["policy"].unique():
        own = held["policy"] == policy
        if mode == "risk":
            others = Calibration("policy", held[~own], whole.by_fold)
            alone = bounds_of(others, held[own], rule).set_index(["horizon", "policy"])[["lower", "upper"]]
            assert np.allclose(together.loc[alone.index], alone, rtol=1e-12)
        other_end = held.assign(true=held["true"].where(~own, -1000.0))
        again = backtest_bounds(Calibration("policy", other_end, whole.by_fold), rule)
        again = again[again["policy"] == policy].set_index(["horizon", "policy"])[["lower", "upper"]]
        assert np.allclose(together.loc[again.index], again, rtol=1e-9)


@pytest.mark.parametrize(("level", "needed"), [(0.9, 9), (0.95, 19)])
@pytest.mark.parametrize("mode", MODES)
def test_a_history_that_is_too_short_decides_nothing(mode, level, needed):
    rng = np.random.default_rng(4)
    for old, refused in ((needed - 1, True), (needed, False)):
        made = world(rng, old, new=200)
        decided = decide(bounds_of(made.calibration, made.predictions, Rule(THRESHOLD, level, mode)), THRESHOLD)
        if refused:
            assert (decided["decision"] == UNKNOWN).all()
            assert (decided["reason"] == TOO_FEW).all()
        else:
            assert decided["decision"].isin([CONTINUE, STOP]).any()
        view = decision_view(
            made.calibration, made.predictions, Rule(THRESHOLD, level, mode), method="slev", horizon=10, steps=200
        )
        assert view.promise.given != refused
        assert (view.promise.old, view.promise.needed) == (old, needed)


@pytest.mark.parametrize("costs", [Costs(5, 1, 0.005), Costs(50, 1, 0.005), Costs(1, 50, 0), Costs(1, 1, 1)])
def test_a_rule_that_equals_stopping_all_or_none_is_never_called_best(costs):
    """On many histories, at every threshold: what is called best treats policies differently and costs less than any reference."""
    rng, named = np.random.default_rng(5), 0
    for _ in range(20):
        made = world(rng, 40, methods=("slev", "sled", "fqe"), alike=True)
        for threshold in (-100.0, 40.0, 100.0, 160.0, 400.0):
            decided = decide(backtest_bounds(made.calibration, Rule(threshold, 0.8)), threshold)
            table = rule_costs(count_decisions(decided, threshold), costs, steps=50)
            here = table[table["horizon"] == 20]
            references = reference_costs(made.history, threshold, costs, 30)
            best = cheapest_rule(here, references)
            if best is None:
                continue
            named += 1
            row = here[here["method"] == best].iloc[0]
            assert max(row["stopped"], row["called_safe"], row["undecided"] + row["unjudged"]) < row["policies"]
            assert row["cost"] < min(references.values())
            assert -100 < threshold < 400  # there all policies are safe, or all unsafe
    assert named or costs != Costs(5, 1, 0.005)


def test_the_bound_of_the_best_of_many_holds_although_it_was_chosen():
    """The candidate with the highest prediction falls below its simultaneous bound at most as often as promised."""
    rng, below, naive = np.random.default_rng(6), [], []
    rule = Rule(THRESHOLD, 0.9, "one-sided", "cv+")
    for _ in range(250):
        made = world(rng, 70, new=7, horizons=(10,), fitted=True)
        choice = best_candidate(made.calibration, made.predictions, "slev", 10, rule)
        assert choice is not None
        true = made.predictions.set_index("policy")["true"]
        below.append(bool((made.predictions["predicted"] - true.to_numpy() > choice.predicted - choice.lower).any()))
        single = bounds_of(made.calibration, made.predictions, rule)
        naive.append(bool((single["true"] < single["lower"]).any()))
        assert choice.policy == made.predictions.loc[made.predictions["predicted"].idxmax(), "policy"]
    assert at_most(np.array(below, float), 0.1), np.mean(below)
    assert np.mean(naive) > 0.2  # bounds for one candidate do not hold for seven at once


@pytest.mark.parametrize(("old", "level", "histories"), [(4, 0.8, 600), (10, 0.9, 300)])
def test_the_bound_of_the_best_holds_for_small_histories_at_any_look(old, level, histories):
    """All looks together. In a unit to which the old policies contribute themselves their scores are too small: 29 % with four."""
    rng, below, in_own_unit = np.random.default_rng(8), [], []
    rule = Rule(THRESHOLD, level, "one-sided", "together")
    for _ in range(histories):
        made = world(rng, old, new=1)
        choices = [best_candidate(made.calibration, made.predictions, "slev", look, rule) for look in LOOKS]
        margins = np.array([choice.predicted - choice.lower for choice in choices if choice])
        over = (made.predictions["predicted"] - made.predictions["true"]).to_numpy()
        below.append(bool((over > margins).any()))
        held = made.calibration.held_out
        errors = (held["predicted"] - held["true"]).to_numpy().reshape(len(LOOKS), old)
        unit = np.sqrt((errors**2).mean(axis=1))
        in_own_unit.append(bool((over > unit * (errors / unit[:, None]).max()).any()))
    assert at_most(np.array(below, float), 1 - level), np.mean(below)
    assert old > 4 or not at_most(np.array(in_own_unit, float), 1 - level), "the simulation can tell"


@pytest.mark.parametrize("kind", ["weighted", "family"])
def test_no_bound_of_the_best_for_kinds_that_have_none(kind):
    """The bound of one look would be too high for new policies that differ from the history."""
    made = world(np.random.default_rng(7), 70, new=3, horizons=(10,))
    usual, other = (
        best_candidate(made.calibration, made.predictions, "slev", 10, Rule(THRESHOLD, 0.9, kind=of))
        for of in ("cv+", kind)
    )
    assert usual is not None
    assert other is not None
    assert np.isfinite(usual.lower)
    assert other.lower == -np.inf
    assert (other.policy, other.predicted, other.beats_history) == (usual.policy, usual.predicted, False)
    assert not other.can_be_bounded


def test_no_bound_for_more_candidates_than_the_history_allows():
    made = world(np.random.default_rng(7), 70, new=40, horizons=(10,))
    choice = best_candidate(made.calibration, made.predictions, "slev", 10, Rule(THRESHOLD, 0.9))
    assert choice is not None
    assert choice.lower == -np.inf
    assert choice.highest_level == pytest.approx(70 / 110)
    assert choice.most_candidates == 7
    few = made.predictions.iloc[:7]
    bounded = best_candidate(made.calibration, few, "slev", 10, Rule(THRESHOLD, 0.9))
    assert bounded is not None
    assert np.isfinite(bounded.lower)
    equal = best_candidate(made.calibration, few.assign(predicted=1.0), "slev", 10, Rule(THRESHOLD, 0.9))
    assert equal is not None
    assert equal.policy is None
