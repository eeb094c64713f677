"""Checks of the paper's figure 2: errors of the predicted values over the observed time (section 5.3.1, appendix A.3).

Every check is a pure function of the results. The claim states how a word such as "poorly" is interpreted.
"""

from collections.abc import Callable
from statistics import fmean

from shortlong.analysis.headline import BASELINE
from shortlong.paper import DOMAIN_TITLES
from shortlong.paper.evidence import Curves, Evidence, Measured
from shortlong.paper.outcome import Outcome, lacking, listed, not_computed, verdict_of
from shortlong.paper.plan import PAPER_METHODS, small_horizons
from shortlong.words.numbers import count, number, percent
from shortlong.words.scenario import title_of
from shortlong.words.time import time_text

BASELINES = ("fqe", "online_dynamics", "mean_reward", "last_reward", BASELINE)
LINEAR = ("mean_reward", "last_reward")
WITHOUT_PREFIX = ("fqe", BASELINE)
HEALTH = ("hiv", "kidney")
WIDELY = 2.0  # largest error over smallest
Check = Callable[[Measured], Outcome]


def domain_of(measured: Measured, domain: str) -> Evidence | None:
    return measured.hiv if domain == "hiv" else measured.kidney


def in_domain(domain: str, *methods: str) -> Callable[[Callable[[Evidence], Outcome]], Check]:
    """A check of one domain that needs these methods."""

    def wrap(check: Callable[[Evidence], Outcome]) -> Check:
        def run(measured: Measured) -> Outcome:
            evidence = domain_of(measured, domain)
            if evidence is None:
                return not_computed(DOMAIN_TITLES[domain])
            return lacking(evidence, methods, DOMAIN_TITLES[domain]) or check(evidence)

        return run

    return wrap


def in_both(*methods: str) -> Callable[[Callable[[dict[str, Evidence]], Outcome]], Check]:
    """A check that needs HIV and kidney."""

    def wrap(check: Callable[[dict[str, Evidence]], Outcome]) -> Check:
        def run(measured: Measured) -> Outcome:
            found: dict[str, Evidence] = {}
            for domain in HEALTH:
                title = DOMAIN_TITLES[domain]
                evidence = domain_of(measured, domain)
                if evidence is None:
                    return not_computed(title)
                if missing := lacking(evidence, methods, title):
                    return missing
                found[title] = evidence
            return check(found)

        return run

    return wrap


def errors_of(evidence: Evidence) -> Curves:
    """Errors of the paper's own methods, in a fixed order."""
    return {method: evidence.errors[method] for method in PAPER_METHODS if method in evidence.errors}


def best_at(errors: Curves, horizon: int) -> str:
    return min(errors, key=lambda method: errors[method][horizon])


def slev_beats_baselines(evidence: Evidence) -> Outcome:
    """At every small horizon SLEV's error is below that of every baseline."""
    slev = evidence.errors["slev"]
    rivals = {m: curve for m, curve in evidence.errors.items() if m in BASELINES}
    small = small_horizons(evidence.scenario, evidence.horizons)
    better = {h: [title_of(m) for m, curve in rivals.items() if curve[h] <= slev[h]] for h in small}
    won = sum(not names for names in better.values())
    parts = []
    for horizon in small:
        best = best_at(rivals, horizon)
        parts.append(
            f"at {time_text(evidence.system, horizon)} SLEV {number(slev[horizon])}, best baseline {title_of(best)} "
            f"{number(rivals[best][horizon])}"
        )
    text = f"SLEV has the lowest error at {count(won, len(small))} short horizons: {'; '.join(parts)}."
    names = list(dict.fromkeys(name for found in better.values() for name in found))
    if names:
        text += f" Matched or beaten at some horizon by {listed(names)}."
    return Outcome(verdict_of(won == len(small)), text)


def longer_is_better(evidence: Evidence) -> Outcome:
    """Every method that uses on-policy data has a lower error at the longest horizon than at the shortest."""
    first, last = evidence.horizons[0], evidence.horizons[-1]
    ends = {m: (c[first], c[last]) for m, c in errors_of(evidence).items() if m not in WITHOUT_PREFIX}
    improved = sum(late < early for early, late in ends.values())
    parts = [f"{title_of(m)} {number(early)} to {number(late)}" for m, (early, late) in ends.items()]
    text = (
        f"From {time_text(evidence.system, first)} to {time_text(evidence.system, last)} the error decreases for "
        f"{count(improved, len(ends))} methods that use on-policy data: {'; '.join(parts)}."
    )
    return Outcome(verdict_of(improved == len(ends)), text)


def fitted_q_is_poor(evidence: Evidence) -> Outcome:
    """Fitted Q's error is at least that of the historical average, which ignores the new policies."""
    error, nothing = (fmean(evidence.errors[m].values()) for m in WITHOUT_PREFIX)
    text = (
        f"Mean error over horizons: fitted Q {number(error)}, historical average {number(nothing)}; fitted Q is "
        f"{percent(abs(1 - error / nothing))} {'higher' if error >= nothing else 'lower'}."
    )
    return Outcome(verdict_of(error >= nothing), text)


def slev_handles_shift(evidence: Evidence) -> Outcome:
    """Unweighted SLEV has a lower error than the historical average at every horizon."""
    gains = [1 - evidence.errors["slev"][h] / evidence.errors[BASELINE][h] for h in evidence.horizons]
    better = sum(gain > 0 for gain in gains)
    text = (
        f"Unweighted SLEV beats the historical average at {count(better, len(gains))} horizons; the reduction in error "
        f"ranges from {percent(min(gains))} to {percent(max(gains))}."
    )
    return Outcome(verdict_of(better == len(gains)), text)


def best_somewhere(method: str) -> Callable[[Evidence], Outcome]:
    """At some horizon the method has the lowest error of all methods in the paper."""

    def check(evidence: Evidence) -> Outcome:
        errors = errors_of(evidence)
        own = errors[method]
        wins = [h for h in evidence.horizons if own[h] <= errors[best_at(errors, h)][h]]
        text = (
            f"{title_of(method)} has the lowest error of the paper's methods at {count(len(wins), len(own))} horizons"
        )
        if wins:
            text += f", first at {time_text(evidence.system, wins[0])} with an error of {number(own[wins[0]])}."
        else:
            at = min(own, key=lambda h: own[h])
            best = best_at(errors, at)
            text += (
                f"; at its best horizon, {time_text(evidence.system, at)}, its error is {number(own[at])}, that of "
                f"{title_of(best)} {number(errors[best][at])}."
            )
        return Outcome(verdict_of(bool(wins)), text)

    return check


def places_at(errors: Curves, horizon: int) -> dict[str, int]:
    """The rank of every method at a horizon, 1 for the lowest error; equal errors share the better rank."""
    all_errors = [curve[horizon] for curve in errors.values()]
    return {method: 1 + sum(other < curve[horizon] for other in all_errors) for method, curve in errors.items()}


def last_reward_differs(found: dict[str, Evidence]) -> Outcome:
    """Last reward is among the best two methods on HIV at the longest horizon, and among the worst two on kidney."""
    ranks, parts = {}, []
    for domain, evidence in found.items():
        at = evidence.horizons[-1]
        errors = errors_of(evidence)
        places = places_at(errors, at)
        ranks[domain] = places["last_reward"], len(places)
        parts.append(
            f"on {domain} at l = {at} it ranks {places['last_reward']} of {len(places)} with an error of "
            f"{number(evidence.errors['last_reward'][at])} (lowest: {number(min(c[at] for c in errors.values()))}, "
            f"historical average: {number(errors[BASELINE][at])})"
        )
    holds = ranks["HIV"][0] <= 2 and ranks["Kidney"][0] >= ranks["Kidney"][1] - 1
    return Outcome(verdict_of(holds), f"Last reward: {'; '.join(parts)}.")


def linear_varies(found: dict[str, Evidence]) -> Outcome:
    """For each linear baseline the largest error is at least twice the smallest, over the horizons of some domain."""
    factors = {
        method: {d: max(e.errors[method].values()) / min(e.errors[method].values()) for d, e in found.items()}
        for method in LINEAR
    }
    text = "; ".join(
        f"{title_of(method)} {listed(f'{number(f)} on {domain}' for domain, f in by_domain.items())}"
        for method, by_domain in factors.items()
    )
    holds = all(max(by_domain.values()) >= WIDELY for by_domain in factors.values())
    return Outcome(verdict_of(holds), f"Ratio of the highest to the lowest error over the horizons: {text}.")


def slev_is_consistent(found: dict[str, Evidence]) -> Outcome:
    """Over all horizons of both domains SLEV has the best mean rank among the methods of the paper."""
    places = [places_at(errors_of(evidence), h) for evidence in found.values() for h in evidence.horizons]
    common = [m for m in PAPER_METHODS if all(m in here for here in places)]
    means = {m: fmean(here[m] for here in places) for m in common}
    shown = listed(f"{title_of(m)} {means[m]:.1f}" for m in sorted(common, key=lambda m: means[m]))
    text = f"Mean rank over all horizons of both domains (1 is best of {len(common)}): {shown}."
    return Outcome(verdict_of(means["slev"] == min(means.values())), text)
