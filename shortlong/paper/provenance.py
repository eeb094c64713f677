"""Where a page of results comes from: machine, versions, scenarios, checksums of the predictions, CPU time.

The checksums are those of the stored files, so that two runs made the same predictions exactly if they agree. No path and
no name of the machine is written down.
"""

import os
import platform
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from shortlong import __version__
from shortlong.domains import DOMAINS
from shortlong.experiment import cells_of
from shortlong.hashing import key_of
from shortlong.paper.plan import Plan
from shortlong.runs import result_keys
from shortlong.scenario import Scenario
from shortlong.store import Store
from shortlong.wording import preset_title

LIBRARIES = ("numpy", "scipy", "pandas", "scikit-learn", "torch", "numba", "plotly")
PREDICTIONS = "predictions.parquet"


def title_of_scenario(scenario: Scenario) -> str:
    """HIV treatment, paper; Battery charging, filtered, fleet 2."""
    domain = DOMAINS[scenario.data.domain].title
    if scenario.data.domain != "battery":
        return f"{domain}, {preset_title(scenario.preset) if scenario.preset else 'own scenario'}"
    data = scenario.data.model_dump()
    fleet = f", fleet {data['seed']}" if data["source"] == "synthetic" else ", measured"
    return f"{domain}, {'filtered' if data['filter_below'] else 'full'} training{fleet}"


def checksum_table(plan: Plan, store: Store) -> pd.DataFrame:
    """One row per stored result: scenario, method, horizon, seed, key, checksum of its predictions."""
    rows = []
    for scenario in plan.scenarios:
        for cell in cells_of(scenario):
            entry = store.get(cell.key, verify=False)
            rows.append(
                {
                    "scenario": scenario.key,
                    "method": cell.method,
                    "horizon": cell.horizon,
                    "seed": cell.seed,
                    "key": cell.key,
                    "checksum": entry.manifest["files"][PREDICTIONS]["checksum"] if entry else None,
                }
            )
    return pd.DataFrame(rows)


def scenario_table(plan: Plan, store: Store, checksums: pd.DataFrame) -> pd.DataFrame:
    """One row per scenario: what it is, its key, how many results, one checksum for all, CPU-seconds of all its work."""
    rows = []
    for scenario in plan.scenarios:
        own = checksums[checksums["scenario"] == scenario.key]
        rows.append(
            {
                "scenario": title_of_scenario(scenario),
                "key": scenario.key,
                "seeds": ", ".join(map(str, scenario.seeds)),
                "results": len(own),
                "checksum": key_of(sorted(set(zip(own["key"], own["checksum"], strict=True)))),
                "cpu_seconds": round(sum(cpu_seconds(scenario, store).values())),
            }
        )
    return pd.DataFrame(rows)


def cpu_seconds(scenario: Scenario, store: Store) -> dict[str, float]:
    """CPU-seconds by stored result: histories, what methods prepared, and predictions. Kept results keep their time."""
    parts = [part.key for part in DOMAINS[scenario.data.domain].parts(scenario.data)]
    found = {key: store.get(key, verify=False) for key in (*parts, *sorted(result_keys(scenario)))}
    return {key: entry.seconds for key, entry in found.items() if entry is not None}


def machine() -> str:
    """Processor, cores, memory and system, in one line."""
    cores = os.cpu_count() or 1
    return f"{_processor()}, {cores} cores{_memory()}, {platform.system()} {platform.machine()}"


def versions() -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return f"shortlong {__version__}, Python {platform.python_version()}, {libraries}"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or "unknown processor"


def _memory() -> str:
    try:
        return f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"
    except (AttributeError, ValueError, OSError):
        return ""
