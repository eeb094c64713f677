"""Time and memory of checking and adding a table, from ten thousand to ten million rows of Parquet.

Units are observed for 200 steps; a row has a policy (text), a unit, a step and six numbers: four states, an action and a
reward. Twenty policies are old; the units of five new ones were seen for 20 steps. Every size runs in a process of its own;
time is that of the wall, memory the largest resident size of the process. The exponent says how time grows with rows: 1 is in
proportion.

    python -m benchmarks.table               # 10^4 to 10^7 rows
    python -m benchmarks.table --most 1e6    # stop earlier
    python -m benchmarks.table --csv         # the same as text
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

STEPS, OLD, NEW, SEEN = 200, 20, 5, 20
LIMIT_SECONDS, LIMIT_GIGABYTES = 90, 4


def make_table(rows: int, seed: int = 0) -> pd.DataFrame:
    """About so many rows: full-length units of old policies and short ones of new policies."""
    generator = np.random.default_rng(seed)
    units = max(rows // STEPS, OLD + NEW)
    policy = np.sort(np.arange(units) % (OLD + NEW))
    length = np.where(policy < OLD, STEPS, SEEN)
    longer = rows - int(length.sum())  # more old units, so that the number of rows is as asked
    extra = np.full(max(longer // STEPS, 0), OLD - 1)
    policy = np.sort(np.concatenate([policy, extra]))
    length = np.where(policy < OLD, STEPS, SEEN)
    unit = np.repeat(np.arange(len(policy)), length)
    step = np.concatenate([np.arange(n) for n in length])
    own = policy[unit]
    action = (own % 7 + generator.integers(0, 3, len(unit))).astype(np.float32)
    states = generator.normal(size=(4, len(unit))).astype(np.float32) + 0.1 * action
    names = np.array([f"policy {i:02d}" for i in range(OLD + NEW)])
    return pd.DataFrame(
        {
            "policy": pd.Categorical.from_codes(own, categories=names),
            "unit": unit,
            "step": step,
            **{f"state_{i}": values for i, values in enumerate(states)},
            "action_dose": action,
            "reward": states[0] - 0.01 * step,
        }
    )


def measure(file: Path) -> dict[str, float]:
    """Check and add one file, in this process."""
    from shortlong.domains.table import add, check, read_any

    start = time.perf_counter()
    table = read_any(file)
    read = time.perf_counter()
    report = check(table)
    checked = time.perf_counter()
    add(report, "benchmark")
    added = time.perf_counter()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    return {
        "rows": len(table),
        "read": read - start,
        "check": checked - read,
        "add": added - checked,
        "seconds": added - start,
        "gigabytes": memory,
    }


def run(rows: int, folder: Path, as_text: bool) -> dict[str, float]:
    file = folder / f"{rows}.{'csv' if as_text else 'parquet'}"
    code = f"from benchmarks.table import make_table; t = make_table({rows}); "
    code += f"t.to_csv({str(file)!r}, index=False)" if as_text else f"t.to_parquet({str(file)!r}, index=False)"
    subprocess.run([sys.executable, "-c", code], check=True)
    environment = {**os.environ, "SHORTLONG_HOME": str(folder / "home")}
    command = [sys.executable, "-m", "benchmarks.table", "--measure", str(file)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    file.unlink()
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=float, default=1e7)
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    sizes = [size for size in (10_000, 100_000, 1_000_000, 10_000_000) if size <= options.most]
    print(f"{platform.platform()}, {os.cpu_count()} cores, numpy {np.__version__}, pandas {pd.__version__}\n")
    print(f"{'rows':>12} {'read':>8} {'check':>8} {'add':>8} {'all':>8} {'memory':>9}")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            row = run(size, Path(folder), options.csv)
            found.append(row)
            print(
                f"{int(row['rows']):>12,} {row['read']:>6.1f} s {row['check']:>6.1f} s {row['add']:>6.1f} s "
                f"{row['seconds']:>6.1f} s {row['gigabytes']:>6.2f} GB",
                flush=True,
            )
    logs = np.log10([[row["rows"], row["seconds"], row["gigabytes"]] for row in found])
    if len(found) > 1:
        whole, last = np.polyfit(logs[:, 0], logs[:, 1], 1)[0], (logs[-1] - logs[-2]) / (logs[-1, 0] - logs[-2, 0])
        print(
            f"\nTime grows as rows^{whole:.2f} over all sizes and rows^{last[1]:.2f} over the last two; memory as rows^{last[2]:.2f}."
        )
    print(f"Limit at 10,000,000 rows: {LIMIT_SECONDS} s and {LIMIT_GIGABYTES} GB.")


if __name__ == "__main__":
    main()
