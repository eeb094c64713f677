"""Which scenarios the parts of the paper need: figures 2 and 3, table 1, and the examples of its appendix.

Everything is an ordinary scenario, so that it is computed, resumed and stored like any other. Cells are shared: the parts
ask for the same results of HIV and kidney, and a part alone asks only for what it shows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from shortlong.domains.battery.domain import BatterySettings
from shortlong.errors import UserError
from shortlong.headline import nearest_horizon
from shortlong.paper import PartName, Size
from shortlong.presets import preset
from shortlong.scenario import Scenario, load_scenario
from shortlong.wording import system_of

PARTS: tuple[PartName, ...] = get_args(PartName)
SIZES: tuple[Size, ...] = get_args(Size)
BATTERY_HORIZON, FILTER_BELOW = 5, 700.0  # cycles seen, and the filter of the skewed training (section 5.3.3)
FLEETS = {"demo": 1, "standard": 1, "paper": 5}  # synthetic fleets; the paper reports five seeds
KIDNEY_EXAMPLE = 2  # steps seen in the appendix's pair of policies
EXAMPLE_SHARE = 0.1  # the paper does not say when its HIV example is judged: a tenth of the time
EXAMPLE_METHODS = ("slev", "sled", "fqe", "online_dynamics", "mean_reward", "last_reward")


@dataclass(frozen=True)
class Plan:
    """The scenarios of some parts. ``full`` and ``filtered`` have one scenario per battery fleet."""

    parts: tuple[PartName, ...]
    hiv: Scenario | None = None
    kidney: Scenario | None = None
    full: tuple[Scenario, ...] = field(default=())
    filtered: tuple[Scenario, ...] = field(default=())

    @property
    def scenarios(self) -> list[Scenario]:
        return [s for s in (self.hiv, self.kidney, *self.full, *self.filtered) if s is not None]


def plan(
    size: Size = "demo",
    parts: Iterable[PartName] = PARTS,
    *,
    hiv: str | None = None,
    kidney: str | None = None,
    seeds: str | None = None,
    data: str | None = None,
) -> Plan:
    """The scenarios of the parts; ``hiv`` and ``kidney`` name others than the presets of the size."""
    chosen = tuple(part for part in PARTS if part in set(parts))
    changes = {} if seeds is None else {"seeds": seeds}
    health = {
        domain: _of_domain(name or f"{domain}-{size}", domain).changed(changes)
        for domain, name in (("hiv", hiv), ("kidney", kidney))
    }
    curves = "figure2" in chosen
    examples = "examples" in chosen
    battery = battery_scenarios(size, data) if "table1" in chosen else ((), ())
    return Plan(
        chosen,
        health["hiv"] if curves or "figure3" in chosen else only_example(health["hiv"]) if examples else None,
        health["kidney"] if curves else only_example(health["kidney"]) if examples else None,
        *battery,
    )


def battery_scenarios(size: Size, data: str | None = None) -> tuple[tuple[Scenario, ...], tuple[Scenario, ...]]:
    """Full and filtered training; measured cells are one fleet, synthetic ones have a seed each."""
    base = preset("battery-demo").changed({"horizons": str(BATTERY_HORIZON)})
    if data is not None:
        sources = [BatterySettings(source=data)]
    else:
        sources = [BatterySettings(seed=seed) for seed in range(FLEETS[size])]
    full = tuple(base.model_copy(update={"data": source}) for source in sources)
    skewed = [source.model_copy(update={"filter_below": FILTER_BELOW}) for source in sources]
    return full, tuple(base.model_copy(update={"data": source}) for source in skewed)


def example_horizon(scenario: Scenario) -> int:
    """When the example of a domain is judged: as printed where it is, else after a tenth of the time."""
    printed = KIDNEY_EXAMPLE if scenario.data.domain == "kidney" else EXAMPLE_SHARE * system_of(scenario).steps
    return nearest_horizon(scenario.horizons, printed)


def only_example(scenario: Scenario) -> Scenario:
    """What the example alone needs of a domain."""
    methods = tuple(m for m in scenario.methods if m in EXAMPLE_METHODS)
    if not methods:
        raise UserError(f"The examples need one of the methods {', '.join(EXAMPLE_METHODS)}; add one to the scenario.")
    settings = {name: given for name, given in scenario.settings.items() if name in methods}
    update = {"horizons": (example_horizon(scenario),), "methods": methods, "settings": settings}
    return scenario.model_copy(update=update)


def small_horizons(scenario: Scenario, horizons: Sequence[int]) -> list[int]:
    """What the paper calls small: up to a tenth of the time (20 steps of HIV, 3 of kidney); at least the first."""
    small = [h for h in horizons if h <= EXAMPLE_SHARE * system_of(scenario).steps]
    return small or [min(horizons)]


def _of_domain(name: str, domain: str) -> Scenario:
    scenario = load_scenario(name)
    if scenario.data.domain != domain:
        raise UserError(f"--{domain} {name} is a scenario of the domain {scenario.data.domain}; give one of {domain}.")
    return scenario
