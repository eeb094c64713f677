"""Where a page of results comes from: versions, scenarios, checksums of the predictions, CPU time.

The checksums are those of the stored files, so that two runs made the same predictions exactly if they agree. Of shipped
results there are no predictions, only what the gallery keeps of them: its files have the checksums.
"""

import platform
from importlib.metadata import version
from typing import Any

import pandas as pd

from shortlong.compute.experiment import computations_of
from shortlong.compute.shipped import Item
from shortlong.compute.store import Store
from shortlong.compute.work import cpu_seconds
from shortlong.core.hashing import key_of
from shortlong.core.version import __version__
from shortlong.domains import DOMAINS
from shortlong.paper.plan import Plan
from shortlong.scenario import Scenario
from shortlong.words.scenario import preset_title

LIBRARIES = ("numpy", "scipy", "pandas", "scikit-learn", "torch", "numba", "plotly")
PREDICTIONS = "predictions.parquet"
COMPUTED = "computed"
EVERYTHING, METHODS_ALONE = "everything", "methods only"  # what CPU-seconds are counted of


def title_of_scenario(scenario: Scenario) -> str:
    """HIV treatment, full size; Battery charging, filtered, fleet 2."""
    domain = DOMAINS[scenario.data.domain].title
    if scenario.data.domain != "battery":
        return f"{domain}, {preset_title(scenario.preset) if scenario.preset else 'custom scenario'}"
    data = scenario.data.model_dump()
    fleet = f", fleet {data['seed']}" if data["source"] == "synthetic" else ", measured"
    return f"{domain}, {'filtered' if data['filter_below'] else 'full'} training{fleet}"


def checksum_table(plan: Plan, store: Store) -> pd.DataFrame:
    """One row per stored result: scenario, method, horizon, seed, key, file, checksum. A shipped scenario has one per file."""
    rows: list[dict[str, Any]] = []
    for scenario in plan.scenarios:
        item = plan.shipped.get(scenario.key)
        rows += _shipped_files(item) if item else _stored_files(scenario, store)
    return pd.DataFrame(rows).astype({"horizon": "Int64", "seed": "Int64"})  # whole numbers also beside gaps


def _stored_files(scenario: Scenario, store: Store) -> list[dict[str, Any]]:
    rows = []
    for computation in computations_of(scenario):
        entry = store.get(computation.key, verify=False)
        rows.append(
            {
                "scenario": scenario.key,
                "method": computation.method,
                "horizon": computation.horizon,
                "seed": computation.seed,
                "key": computation.key,
                "file": PREDICTIONS,
                "checksum": entry.manifest["files"][PREDICTIONS]["checksum"] if entry else None,
            }
        )
    return rows


def _shipped_files(item: Item) -> list[dict[str, Any]]:
    """The same columns; a file of the gallery is about all methods, horizons and seeds."""
    about = {"scenario": item.scenario.key, "method": None, "horizon": None, "seed": None, "key": None}
    files = item.entry.manifest["files"]
    return [{**about, "file": f"{item.name}/{name}", "checksum": files[name]["checksum"]} for name in sorted(files)]


def scenario_table(plan: Plan, store: Store, checksums: pd.DataFrame) -> pd.DataFrame:
    """One row per scenario: what it is, its key, where it comes from, how many results, one checksum for all, CPU-seconds."""
    rows = []
    for scenario in plan.scenarios:
        item = plan.shipped.get(scenario.key)
        rows.append(
            {
                "scenario": title_of_scenario(scenario),
                "key": scenario.key,
                "origin": _origin_of(item) if item else COMPUTED,
                "seeds": ", ".join(map(str, scenario.seeds)),
                "results": len(computations_of(scenario)),
                "checksum": item.seal if item else _checksum_of(checksums[checksums["scenario"] == scenario.key]),
                **(_shipped_time(item) if item else _stored_time(scenario, store)),
            }
        )
    return pd.DataFrame(rows)


def _origin_of(item: Item) -> str:
    return f"shipped, made on {item.machine}" if item.machine else "shipped"


def _checksum_of(rows: pd.DataFrame) -> str:
    return key_of(sorted(set(zip(rows["key"], rows["checksum"], strict=True))))


def _stored_time(scenario: Scenario, store: Store) -> dict[str, Any]:
    return {"cpu_seconds": round(sum(cpu_seconds(scenario, store).values())), "cpu_of": EVERYTHING}


def _shipped_time(item: Item) -> dict[str, Any]:
    """Items of older versions did not keep the time of histories and preparations."""
    if item.cpu_seconds is None:
        return {"cpu_seconds": round(item.entry.seconds), "cpu_of": METHODS_ALONE}
    return {"cpu_seconds": round(item.cpu_seconds), "cpu_of": EVERYTHING}


def versions() -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return f"shortlong {__version__}, Python {platform.python_version()}, {libraries}"
