"""How the cost of each stage grows: CPU time and memory over units, policies, observed steps and rows of a table.

One axis at a time, from a tenth of the paper's size (HIV: 250 patients, 70 old and 40 new policies, 200 steps, 20 of them
observed) to ten times of it. Every stage runs in a process of its own; time is CPU time without imports, memory the largest
resident size. The exponent says how both grow between the last two sizes: 1 is in proportion, and above it is to be explained.

Learning and treating 2,500 patients would take half an hour, so the histories of the methods are made from a few simulated
patients, repeated with a little noise: what a method costs depends on the size of the data, not on what they say. The stage
"simulate" is the real simulator, one chain of policies that learn from few patients.

    python -m benchmarks.scaling                      # every axis, 20 CPU-minutes at most
    python -m benchmarks.scaling --axis units         # one of units, policies, horizon, rows
    python -m benchmarks.scaling --full               # more sizes, and the simulator at all of them
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

METHODS = ("slev", "cohort_slev", "surrogate_index")
STAGES = ("simulate", "load", "summary", *METHODS, "ratio", "intervals")
CHEAP = {"data.trees": "3", "data.rebuilds": "1", "data.backups": "5", "data.learning_patients": "4"}
SEED_PATIENTS, SEED_ROUNDS, NOISE = 5, 2, 0.05
PAPER = {"units": 250, "policies": 1.0, "horizon": 20}
SIZES: dict[str, tuple[list[float], list[float]]] = {  # the usual ones, and those of --full
    "units": ([25, 250, 2500], [25, 79, 250, 790, 2500]),
    "policies": ([0.1, 1, 10], [0.1, 0.5, 1, 5, 10]),
    "horizon": ([5, 50, 150], [5, 10, 20, 50, 100, 150]),
    "rows": ([1e4, 1e6], [1e4, 1e5, 1e6, 1e7]),
}
ROUNDS = {0.1: (7, 4, 1), 0.5: (7, 4, 5), 1: (7, 4, 10), 5: (7, 4, 50), 10: (14, 8, 50)}  # chains of both sides, rounds


def scenario_of(units: float, policies: float, horizon: float) -> Any:
    """The paper's HIV scenario at another size."""
    from shortlong.scenario.presets import preset

    old, new, rounds = ROUNDS[policies]
    changes = {
        **CHEAP,
        "data.patients": f"{units:.0f}",
        "data.rounds": str(rounds),
        "data.train_discounts": ",".join(f"{x:.3f}" for x in np.linspace(0.7, 0.98, old)),
        "data.test_discounts": ",".join(f"{x:.3f}" for x in np.linspace(0.5, 0.99, new)),
        "horizons": f"{horizon:.0f}",
        "methods": ",".join(METHODS),
        "seeds": "0",
        "settings.slev.size": "standard",
    }
    return preset("hiv-paper").changed(changes)


# --- in a process of its own ------------------------------------------------------------------------------------------
def make_histories(scenario: Any, store: Any) -> None:
    """All parts of the histories: a few simulated patients under a few policies, repeated with noise."""
    few = scenario.changed({"data.patients": str(SEED_PATIENTS), "data.rounds": str(SEED_ROUNDS)})
    generator = np.random.default_rng(0)
    rounds, units = scenario.data.rounds, scenario.data.patients
    known: dict[str, Any] = {}
    for part in scenario.domain.parts(scenario.data):
        seeds = known.get(part.role)
        if seeds is None:
            first = next(p for p in few.domain.parts(few.data) if p.role == part.role)
            seeds = known[part.role] = few.domain.simulate(few.data, first)
        shape, size = (SEED_ROUNDS, SEED_PATIENTS), rounds * units
        rows = (np.repeat(np.arange(rounds) % shape[0], units) * shape[1]) + np.tile(
            np.arange(units) % shape[1], rounds
        )
        factor = np.exp(NOISE * generator.normal(size=(size, 1, 1, 1))).astype(np.float32)
        labels = [f"{part.role} γ={part.ingredients['discount']:g} round {number + 1}" for number in range(rounds)]
        arrays = {
            "states": seeds.states[rows] * factor,
            "actions": seeds.actions[rows],
            "rewards": seeds.rewards[rows] * factor[..., 0],
            "policy": np.repeat(np.arange(rounds, dtype=np.int32), units),
            "unit": np.tile(np.arange(units, dtype=np.int32), rounds),
        }
        about = {"labels": labels, "role": part.role, "name": part.name}
        store.put(part.key, "histories", made_from=part.ingredients, meta=about, arrays={"trajectories": arrays})


def stage_work(stage: str, scenario: Any, store: Any) -> Any:
    """What is measured."""
    from shortlong.analysis.outlook import outlook
    from shortlong.compute.computations import computations_of
    from shortlong.compute.dataset import load_dataset, summarise
    from shortlong.compute.experiment import collect, run_computation
    from shortlong.compute.policy_weights import weigh_policies

    root, data = str(store.root), scenario.data
    if stage == "simulate":
        return lambda: scenario.domain.simulate(data, scenario.domain.parts(data)[0])
    if stage in METHODS:
        (computation,) = [computation for computation in computations_of(scenario) if computation.method == stage]
        computation.card.load()  # its libraries
        return lambda: run_computation(root, computation)
    return {
        "histories": lambda: make_histories(scenario, store),
        "load": lambda: load_dataset(store, data),
        "summary": lambda: summarise(store, data),
        "ratio": lambda: weigh_policies(root, data, scenario.horizons[0]),
        "intervals": lambda: outlook(collect(scenario, store), 0.8, "cv+", leave="policy"),
    }[stage]


def measure(stage: str, size: dict[str, float]) -> dict[str, float]:
    from shortlong.compute.failures import Failure
    from shortlong.compute.store import Store

    work = stage_work(stage, scenario_of(**size), Store())
    before, cpu = _peak(), time.process_time()
    made = work()
    if isinstance(made, Failure):
        raise SystemExit(made.reason)
    return {"seconds": time.process_time() - cpu, "gigabytes": _peak(), "grown": max(_peak() - before, 1e-3)}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


# --- here -------------------------------------------------------------------------------------------------------------
def in_a_process(stage: str, size: dict[str, float], home: str) -> dict[str, float]:
    words = [sys.executable, "-m", "benchmarks.scaling", "--measure", json.dumps([stage, size])]
    done = subprocess.run(words, env={**os.environ, "SHORTLONG_HOME": home}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{stage} at {size}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout)


def run_axis(axis: str, sizes: list[float], full: bool) -> None:
    print(f"\n{axis}: {', '.join(f'{size:g}' for size in sizes)}; all else as in the paper", flush=True)
    found: dict[str, list[tuple[float, dict[str, float]]]] = {}
    for size in sizes:
        point = {**PAPER, axis: size}
        with tempfile.TemporaryDirectory(prefix="shortlong-scaling-") as home:
            in_a_process("histories", point, home)
            for stage in STAGES:
                if stage == "simulate" and (axis == "horizon" or (size > PAPER[axis] and not full)):
                    continue
                row = in_a_process(stage, point, home)
                found.setdefault(stage, []).append((size, row))
                print(
                    f"  {size:>6g} {stage:<16} {row['seconds']:>8.2f} s {row['gigabytes']:>7.2f} GB "
                    f"(grew by {row['grown']:.2f} GB)",
                    flush=True,
                )
    print(f"  exponents over {axis} (between the last two sizes)")
    for stage, rows in found.items():
        if len(rows) > 1:
            print(f"  {stage:<16} time {_exponent(rows, 'seconds'):>5.2f}   memory {_exponent(rows, 'grown'):>5.2f}")


def _exponent(rows: list[tuple[float, dict[str, float]]], what: str) -> float:
    (small, before), (large, after) = rows[-2:]
    return float(np.log(max(after[what], 1e-3) / max(before[what], 1e-3)) / np.log(large / small))


def run_rows(sizes: list[float]) -> None:
    """Rows of a person's own table, as benchmarks.table measures them."""
    from benchmarks.table import run

    print("\nrows of a table, read, checked and added; wall time", flush=True)
    found = []
    with tempfile.TemporaryDirectory(prefix="shortlong-scaling-") as folder:
        for size in sizes:
            row = run(int(size), Path(folder), as_text=False)
            found.append((row["rows"], {**row, "grown": row["gigabytes"]}))
            print(f"  {row['rows']:>10,.0f} {row['seconds']:>8.2f} s {row['gigabytes']:>7.2f} GB", flush=True)
    print(f"  exponents: time {_exponent(found, 'seconds'):.2f}, memory {_exponent(found, 'grown'):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axis", choices=list(SIZES), action="append", help="can be given several times")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*json.loads(options.measure))))
        return
    from shortlong.compute.machine import machine

    print(machine())
    for axis in options.axis or SIZES:
        sizes = SIZES[axis][1 if options.full else 0]
        if axis == "rows":
            run_rows(sizes)
        else:
            run_axis(axis, sizes, options.full)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"\n{(used.ru_utime + used.ru_stime) / 60:.1f} CPU-minutes in all")


if __name__ == "__main__":
    main()
