"""What the results of presets in the result folder have cost: CPU-seconds by method and horizon, and of the back-test.

Nothing is computed; what is not stored is left out. A method's column "back-test" counts what its back-test took beside the
predictions of the first seed: fold models that SLEV trains anyway cost nothing more.

    python -m benchmarks.cost hiv-paper kidney-paper
"""

import argparse

import pandas as pd

from shortlong.compute.back_test import back_tests_of
from shortlong.compute.computations import histories_of, keys_of
from shortlong.compute.store import Store
from shortlong.core.home import default_root
from shortlong.scenario import Scenario, load_scenario

FOR_ALL = "once"  # what all horizons share


def seconds_of(store: Store, keys: set[str]) -> float:
    """CPU-seconds of what is stored under the keys."""
    entries = [store.get(key, verify=False) for key in keys]
    return sum(entry.seconds for entry in entries if entry is not None)


def costs(scenario: Scenario, store: Store) -> pd.DataFrame:
    """One row per stored result or fit that horizons share: method, seed, horizon, CPU-seconds."""
    rows = []
    for key, one in keys_of(scenario):
        rows.append((one.method, one.seed, one.horizon if one.card.uses_prefix else FOR_ALL, seconds_of(store, {key})))
    for method, seed, key in {(c.method, c.seed, c.prepared_key) for _, c in keys_of(scenario) if c.card.prepares}:
        rows.append((method, seed, FOR_ALL, seconds_of(store, {key})))
    found = pd.DataFrame(rows, columns=["method", "seed", "horizon", "seconds"])
    return found.groupby(["method", "seed", "horizon"], sort=False)["seconds"].sum().reset_index()


def back_test_costs(scenario: Scenario, store: Store) -> pd.Series:
    """CPU-seconds by method of the back-test by policy."""
    found: dict[str, set[str]] = {}
    for one in back_tests_of(scenario, "policy").values():
        keys = found.setdefault(one.computation.method, set())
        keys.add(one.key)
        if one.computation.card.prepares:
            keys |= {one.prepared_key(fold) for fold in range(one.how.folds)}
    return pd.Series({method: seconds_of(store, keys) for method, keys in found.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="*", metavar="PRESET", default=["hiv-demo", "kidney-demo"])
    store = Store(default_root())
    for name in parser.parse_args().presets:
        scenario = load_scenario(name)
        found = costs(scenario, store)
        found = found[found["seconds"] > 0]
        table = found.pivot_table("seconds", "method", "horizon", "mean", sort=False)
        first = found[found["seed"] == scenario.seeds[0]].groupby("method")["seconds"].sum()
        table = table.reindex(columns=[FOR_ALL, *scenario.horizons])
        table["first seed"], table["back-test"] = first, back_test_costs(scenario, store)
        histories, run, judged = seconds_of(store, set(histories_of(scenario))), first.sum(), table["back-test"].sum()
        print(
            f"\n{name}: CPU-seconds of one method seed (mean over the seeds that are stored)\n{table.round(1).to_string()}"
        )
        print(
            f"histories {histories:.0f}, all seeds {found['seconds'].sum():.0f}, first seed {run:.0f}, back-test {judged:.0f}:"
        )
        print(f"the back-test costs {judged / (run + histories):.2f} of a run of the first seed with its histories")


if __name__ == "__main__":
    main()
