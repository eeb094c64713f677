"""Which single change of our set-up would make a statement of the paper hold: experiments, not guesses.

Every change is applied alone, and every statement of the changed domains is checked again. Some changes read the same results
in another way, some replace fitted Q by the paper's printed recipe, some simulate other patients or weaker policies. On HIV
the last two run at a smaller size where the whole would take hours; then the same size without the change is run too, because
a smaller size may change a verdict by itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from shortlong.compute.computations import computations_of
from shortlong.core.hashing import key_of
from shortlong.core.metrics import evaluate
from shortlong.paper.evidence import Evidence
from shortlong.paper.plan import example_horizon, papers_methods, small_horizons, with_methods
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset

VERSION = 1  # raised when a change, or what is kept of it, changes
AS_PRINTED = "fitted Q as printed"
DISCOUNTS = (0.995, 0.99, 0.98)
SMALLEST_PRINTED, MORE_THAN_STEPS = (
    1000,
    400,
)  # updates: the fewest that the paper prints, and some more than there are steps
QUICK_TREES, TREES = 10, 25  # the paper prints 25 or more
WEAKER_SHARE = 10  # learning from a tenth of the patients, the best new policies end nearer to the paper's "over 300"

Reading = Callable[[Evidence, Evidence | None], Evidence | None]  # evidence now, and of the change's own scenario


@dataclass(frozen=True)
class ChangedEvidence(Evidence):
    """Evidence with other values and errors of the same new policies."""

    new_values: pd.DataFrame = field(default_factory=pd.DataFrame)
    new_metrics: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def values(self) -> pd.DataFrame:
        return self.new_values

    @property
    def metrics(self) -> pd.DataFrame:
        return self.new_metrics

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(self.new_metrics["method"]))


@dataclass(frozen=True)
class Change:
    """One change: what it is called after "would suffice", what must be computed for it, and what it makes of the evidence.

    ``family`` are words that several changes share: "fitted Q as printed with a discount of" + "0.99".
    """

    key: str
    title: str
    read: Mapping[str, Reading]  # by domain
    family: str = ""
    needs: Mapping[str, Scenario] = field(default_factory=dict)  # by domain
    control: Mapping[str, Scenario] = field(default_factory=dict)  # by domain: the same size without the change

    @property
    def name(self) -> str:
        return f"{self.family} {self.title}".strip()


@dataclass(frozen=True)
class Trials:
    """Both simulators as they are, and the changes."""

    hiv: Scenario
    kidney: Scenario
    changes: tuple[Change, ...]

    @property
    def scenarios(self) -> list[Scenario]:
        """All that the changes need, each once; not the two that are changed."""
        found = [s for c in self.changes for s in (*c.control.values(), *c.needs.values())]
        return list({scenario.key: scenario for scenario in found}.values())

    @property
    def key(self) -> str:
        """Of everything that the outcome depends on."""
        made_of = [[c.key for c in computations_of(s)] for s in (self.hiv, self.kidney, *self.scenarios)]
        return key_of(["differences", VERSION, [[change.key, change.name] for change in self.changes], made_of])


def trials(hiv: Scenario, kidney: Scenario) -> Trials:
    """The changes that are tried on two scenarios."""
    small = fitting(hiv)
    control = {} if small.data == hiv.data else {"hiv": small}
    return Trials(
        papers_methods(hiv),
        papers_methods(kidney),
        (
            *printed({"hiv": small, "kidney": kidney}, control),
            Change("unit-error", "errors per patient", {"hiv": per_unit, "kidney": per_unit}),
            Change(
                "within-range",
                "only HIV policies within the range of the history",
                {"hiv": within_range},
            ),
            *other_data(small),
        ),
    )


# --- fitted Q as printed ----------------------------------------------------------------------------------------------
def printed(scenarios: Mapping[str, Scenario], control: Mapping[str, Scenario]) -> tuple[Change, ...]:
    """Fitted Q as the paper prints it, in place of ours: numbers of updates without a discount, then discounts."""
    quick = any(s.settings.get("fqe", {}).get("size") == "demo" for s in scenarios.values())
    most = MORE_THAN_STEPS if quick else SMALLEST_PRINTED
    trees = QUICK_TREES if quick else TREES
    read = dict.fromkeys(scenarios, as_fitted_q)
    undiscounted, discounted = f"{AS_PRINTED} without a discount and with", f"{AS_PRINTED} with a discount of"
    updates = {"as many updates as steps": None, **{f"{u:,} updates": u for u in sorted({MORE_THAN_STEPS, most})}}
    return (
        *(
            Change(
                f"printed-{number or 'steps'}",
                title,
                read,
                undiscounted,
                _needs(scenarios, trees, number, 1.0),
                control,
            )
            for title, number in updates.items()
        ),
        *(
            Change(f"discount-{d}", str(d), read, discounted, _needs(scenarios, trees, most, d), control)
            for d in DISCOUNTS
        ),
    )


def _needs(scenarios: Mapping[str, Scenario], trees: int, updates: int | None, discount: float) -> dict[str, Scenario]:
    """The printed recipe on the same histories; one seed and one horizon, because it does not look at what is observed."""
    found = {}
    for domain, scenario in scenarios.items():
        given = {"trees": trees, "updates": updates or scenario.system.steps, "discount": discount}
        update = {"methods": ("fqe_printed",), "horizons": scenario.horizons[:1], "seeds": scenario.seeds[:1]}
        found[domain] = scenario.model_copy(update={**update, "settings": {"fqe_printed": given}})
    return found


def as_fitted_q(now: Evidence, other: Evidence | None) -> Evidence | None:
    """The other fitted Q in place of ours; it does not use what is observed, so it says the same at every horizon."""
    if other is None or "fqe_printed" not in other.methods:
        return None

    def replaced(table: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
        rows = theirs[theirs["method"] == "fqe_printed"].assign(method="fqe")
        everywhere = [rows.assign(horizon=horizon) for horizon in now.horizons]
        return pd.concat([table[table["method"] != "fqe"], *everywhere], ignore_index=True)

    return ChangedEvidence(now.results, replaced(now.values, other.values), replaced(now.metrics, other.metrics))


# --- the same results, read in another way ------------------------------------------------------------------------------
def per_unit(now: Evidence, other: Evidence | None) -> Evidence | None:
    """Errors of every patient in place of errors of every policy."""
    errors = now.metrics.get("rmse_unit")
    if errors is None or errors.isna().any():
        return None
    return ChangedEvidence(now.results, now.values, now.metrics.assign(rmse_policy=errors))


def within_range(now: Evidence, other: Evidence | None) -> Evidence | None:
    """Without the new policies that end better, or worse, than every historical one."""
    if now.history is None:
        return None
    values = now.values[now.values["true"].between(now.history.min(), now.history.max())].reset_index(drop=True)
    return ChangedEvidence(now.results, values, evaluate(values, values)) if values["policy"].nunique() > 1 else None


# --- other patients, other policies -------------------------------------------------------------------------------------
def other_data(control: Scenario) -> tuple[Change, ...]:
    """Other patient parameters, and policies that learned from fewer patients."""
    fewer = str(max(1, control.data.model_dump()["learning_patients"] // WEAKER_SHARE))
    told = {
        "base": ("the published HIV patient parameters", {"data.parameters": "base"}),
        "weaker": ("weaker HIV policies, learned from a tenth of the patients", {"data.learning_patients": fewer}),
    }
    return tuple(
        Change(key, title, {"hiv": instead}, needs={"hiv": control.changed(changes)}, control={"hiv": control})
        for key, (title, changes) in told.items()
    )


def fitting(hiv: Scenario) -> Scenario:
    """The size at which HIV is changed: few horizons, one seed, and at full size fewer patients.

    Histories of full size alone would take 20 CPU-minutes for each change of the data.
    """
    smaller = preset("hiv-standard") if hiv.preset == "hiv-paper" else hiv
    return with_methods(
        smaller, list(papers_methods(hiv).methods), horizons=_few_horizons(smaller), seeds=hiv.seeds[:1]
    )


def _few_horizons(scenario: Scenario) -> tuple[int, ...]:
    """The first, the last of the short ones, when the example is judged, and the last."""
    small = small_horizons(scenario, scenario.horizons)
    return tuple(sorted({scenario.horizons[0], small[-1], example_horizon(scenario), scenario.horizons[-1]}))


def instead(now: Evidence, other: Evidence | None) -> Evidence | None:
    return other
