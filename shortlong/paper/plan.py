"""Which scenarios the parts of the paper need: figures 2 and 3, table 1, and the examples of its appendix.

Everything is an ordinary scenario, so that it is computed, resumed and stored like any other. Results are shared: the parts
ask for the same results of HIV and kidney, and a part alone asks only for what it shows. Results that come with the project
may stand in for computed ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from shortlong.analysis.battery_table import TRAININGS, table_scenario
from shortlong.analysis.headline import BASELINE, nearest_horizon
from shortlong.compute import experiment
from shortlong.compute import shipped as gallery
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.paper import PartName, Size, Whose
from shortlong.scenario import Scenario, load_scenario

PARTS: tuple[PartName, ...] = get_args(PartName)
SIZES: tuple[Size, ...] = get_args(Size)
FLEETS = {"demo": 1, "standard": 1, "paper": 5}  # synthetic fleets; the paper reports five seeds
KIDNEY_EXAMPLE = 2  # steps seen in the appendix's pair of policies
EXAMPLE_SHARE = 0.1  # the paper does not say when its HIV example is judged: a tenth of the time
EXAMPLE_METHODS = ("slev", "sled", "fqe", "online_dynamics", "mean_reward", "last_reward")
PAPER_METHODS = (*EXAMPLE_METHODS, BASELINE)  # without ours


@dataclass(frozen=True)
class Plan:
    """The scenarios of some parts. ``full`` and ``filtered`` have one scenario per battery fleet.

    ``shipped`` holds, by the key of their scenario, the gallery's items that are taken instead of computing.
    """

    parts: tuple[PartName, ...]
    hiv: Scenario | None = None
    kidney: Scenario | None = None
    full: tuple[Scenario, ...] = field(default=())
    filtered: tuple[Scenario, ...] = field(default=())
    shipped: Mapping[str, gallery.Item] = field(default_factory=dict)

    @property
    def scenarios(self) -> list[Scenario]:
        return [s for s in (self.hiv, self.kidney, *self.full, *self.filtered) if s is not None]

    @property
    def computed(self) -> list[Scenario]:
        """Those whose results are in the store, or will be."""
        return [s for s in self.scenarios if s.key not in self.shipped]


def plan(
    size: Size = "demo",
    parts: Iterable[PartName] = PARTS,
    *,
    hiv: str | None = None,
    kidney: str | None = None,
    seeds: str | None = None,
    data: str | None = None,
    shipped: bool = False,
    search: str | None = None,
    methods: Whose = "all",
) -> Plan:
    """The scenarios of the parts; ``hiv`` and ``kidney`` name others than the presets of the size, ``search`` is SLEV's.

    ``methods``: "paper" leaves out ours.

    ``shipped``: the examples alone ask for a whole scenario if the gallery has it, because it has no part of one.
    """
    chosen = tuple(part for part in PARTS if part in set(parts))
    given = {"seeds": seeds, "settings.slev.search": search}
    changes = {name: value for name, value in given.items() if value is not None}
    health = {
        domain: _of_domain(name or f"{domain}-{size}", domain).changed(changes)
        for domain, name in (("hiv", hiv), ("kidney", kidney))
    }
    if methods == "paper":
        health = {domain: papers_methods(scenario) for domain, scenario in health.items()}
    whole = {"hiv": bool({"figure2", "figure3"} & set(chosen)), "kidney": "figure2" in chosen}
    wanted = {
        domain: scenario if whole[domain] else _example(scenario, shipped) if "examples" in chosen else None
        for domain, scenario in health.items()
    }
    battery = battery_scenarios(size, data) if "table1" in chosen else ((), ())
    return Plan(chosen, wanted["hiv"], wanted["kidney"], *battery)


def papers_methods(scenario: Scenario) -> Scenario:
    """The same scenario with the methods of the paper alone."""
    return with_methods(scenario, [m for m in scenario.methods if m in PAPER_METHODS])


def with_methods(scenario: Scenario, methods: Sequence[str], **changes: object) -> Scenario:
    """The scenario with some of its methods and their settings, and further changes."""
    settings = {name: given for name, given in scenario.settings.items() if name in methods}
    return scenario.model_copy(update={"methods": tuple(methods), "settings": settings, **changes})


def with_shipped(plan: Plan, store: Store) -> Plan:
    """The plan with items of the gallery for HIV and kidney wherever the store lacks results and an item is current."""
    lacking = [s for s in (plan.hiv, plan.kidney) if s and experiment.missing_computations(s, store)]
    return replace(plan, shipped={s.key: item for s in lacking if (item := _whole_item(s))})


def battery_scenarios(size: Size, data: str | None = None) -> tuple[tuple[Scenario, ...], tuple[Scenario, ...]]:
    """Full and filtered training; measured cells are one fleet, synthetic ones have a seed each."""
    if data is not None:
        return (table_scenario("full", data),), (table_scenario("filtered", data),)
    full, filtered = (tuple(table_scenario(t, seed=seed) for seed in range(FLEETS[size])) for t in TRAININGS)
    return full, filtered


def example_horizon(scenario: Scenario) -> int:
    """When the example of a domain is judged: as printed where it is, else after a tenth of the time."""
    printed = KIDNEY_EXAMPLE if scenario.data.domain == "kidney" else EXAMPLE_SHARE * scenario.system.steps
    return nearest_horizon(scenario.horizons, printed)


def _example(scenario: Scenario, shipped: bool) -> Scenario:
    return scenario if shipped and _whole_item(scenario) else only_example(scenario)


def _whole_item(scenario: Scenario) -> gallery.Item | None:
    """Of a part neither the time nor the seal would be known."""
    item = gallery.find(scenario)
    return item if item and item.is_whole else None


def only_example(scenario: Scenario) -> Scenario:
    """What the example alone needs of a domain."""
    methods = tuple(m for m in scenario.methods if m in EXAMPLE_METHODS)
    if not methods:
        raise UserError(f"The examples need one of the methods {', '.join(EXAMPLE_METHODS)}; add one to the scenario.")
    return with_methods(scenario, methods, horizons=(example_horizon(scenario),))


def small_horizons(scenario: Scenario, horizons: Sequence[int]) -> list[int]:
    """What the paper calls small: up to a tenth of the time (20 steps of HIV, 3 of kidney); at least the first."""
    small = [h for h in horizons if h <= EXAMPLE_SHARE * scenario.system.steps]
    return small or [min(horizons)]


def _of_domain(name: str, domain: str) -> Scenario:
    scenario = load_scenario(name)
    if scenario.data.domain != domain:
        raise UserError(f"--{domain} {name} is a scenario of the domain {scenario.data.domain}; give one of {domain}.")
    return scenario
