"""Joint dynamics beside other methods on data that nobody had looked at when it was made: data seeds 1, 2 and 3.

What runs is written down in docs/methods.md, which was fixed before these data were simulated. Computes what is missing, the most
telling parts first, and prints the table as far as it is known. Results are kept in fresh_seeds.csv beside this file, so that a
run that was stopped resumes, on another machine too.

    python -m benchmarks.fresh_seeds               # compute what is missing, then print
    python -m benchmarks.fresh_seeds --first 4     # only the next four parts
    python -m benchmarks.fresh_seeds --table       # print what is there, compute nothing
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from shortlong.compute import experiment
from shortlong.compute.answers import MethodAnswer, stored_answer
from shortlong.compute.store import Store
from shortlong.core.metrics import rank_correlation, rmse
from shortlong.methods import METHODS
from shortlong.scenario import Scenario, load_scenario

DATA_SEEDS = (1, 2, 3)
HORIZONS = {"kidney-standard": (1, 3, 5, 8), "hiv-standard": (5, 20, 35, 50)}
METHOD_SEEDS = {
    "joint_dynamics": (0, 1, 2),
    "fqe": (0,),
    "slev": (0,),
    "online_dynamics": (0,),
    "off_policy_mean": (0,),
}
ONLY_LONGEST = ("online_dynamics",)
RECORD = Path(__file__).with_suffix(".csv")


@dataclass(frozen=True)
class Part:
    """Some methods with one seed on one set of histories."""

    preset: str
    data_seed: int
    methods: tuple[str, ...]
    seed: int = 0

    @property
    def horizons(self) -> tuple[int, ...]:
        every = HORIZONS[self.preset]
        return every[-1:] if set(self.methods) <= set(ONLY_LONGEST) else every

    @property
    def scenario(self) -> Scenario:
        return load_scenario(self.preset).changed(
            {
                "data.seed": str(self.data_seed),
                "methods": ",".join(self.methods),
                "horizons": ",".join(map(str, self.horizons)),
                "seeds": str(self.seed),
            }
        )


def parts() -> Iterator[Part]:
    """All of the work, the most telling first."""
    rounds = [(("joint_dynamics", "fqe", "off_policy_mean"), 0), (("joint_dynamics",), 1), (("joint_dynamics",), 2)]
    rounds += [(("online_dynamics",), 0), (("slev",), 0)]
    for methods, seed in rounds:
        for data_seed in DATA_SEEDS:
            for preset in HORIZONS:
                yield Part(preset, data_seed, methods, seed)


class Key(NamedTuple):
    """One method with one seed at one horizon, on one set of histories."""

    preset: str
    data_seed: int
    method: str
    seed: int
    horizon: int


@dataclass(frozen=True)
class Judged:
    """How good that is, and what it took."""

    error: float
    rank: float | None
    seconds: float


Known = Mapping[Key, Judged]


def read_known() -> dict[Key, Judged]:
    """What was computed so far, here or elsewhere."""
    if not RECORD.is_file():
        return {}
    rows = pd.read_csv(RECORD).itertuples(index=False)
    return {
        Key(r.preset, r.data_seed, r.method, r.seed, r.horizon): Judged(
            r.error, None if np.isnan(r.rank) else r.rank, r.seconds
        )
        for r in rows
    }


def write_known(known: Known) -> None:
    rows = [{**key._asdict(), **vars(judged)} for key, judged in sorted(known.items(), key=lambda pair: pair[0])]
    temporary = RECORD.with_suffix(".new")
    pd.DataFrame(rows).to_csv(temporary, index=False, float_format="%.5g")
    temporary.replace(RECORD)


def keys_of(part: Part) -> list[Key]:
    return [Key(part.preset, part.data_seed, method, part.seed, h) for method in part.methods for h in part.horizons]


def from_store(store: Store, key: Key) -> Judged:
    """From the stored predictions."""
    part = Part(key.preset, key.data_seed, (key.method,), key.seed)
    computation = experiment.computations_of(part.scenario.changed({"horizons": str(key.horizon)}))[0]
    answer, entry = stored_answer(store, computation), store.get(computation.key, verify=False)
    if not isinstance(answer, MethodAnswer) or entry is None:
        raise SystemExit(f"{key.method} could not be computed on {key.preset}, data seed {key.data_seed}.")
    values = answer.predictions.groupby("policy", observed=True)[["predicted", "true"]].mean()
    rank = rank_correlation(values["predicted"], values["true"], "spearman")
    return Judged(rmse(values["predicted"], values["true"]), rank, entry.seconds)


def table(known: Known, preset: str) -> Iterator[str]:
    """One row per data seed and method in Markdown, then their means over the data seeds."""
    horizons = HORIZONS[preset]
    yield f"| data seed | method | {' | '.join(f'l = {h}' for h in horizons)} | CPU-s a horizon |"
    yield f"|---|---|{'---|' * len(horizons)}---|"
    everything: dict[str, list[list[list[Judged]]]] = {}
    for data_seed in DATA_SEEDS:
        for method, seeds in METHOD_SEEDS.items():
            row = [
                [j for s in seeds if (j := known.get(Key(preset, data_seed, method, s, h)))]
                for h in (horizons if method not in ONLY_LONGEST else horizons[-1:])
            ]
            row = [[]] * (len(horizons) - len(row)) + row
            if any(row):
                everything.setdefault(method, []).append(row)
                yield _line(str(data_seed), method, row)
    for method, rows in everything.items():
        yield _line(f"all {len(rows)}", method, [[j for row in rows for j in row[i]] for i in range(len(horizons))])


def _line(data: str, method: str, row: Sequence[Sequence[Judged]]) -> str:
    spent = [j.seconds for cell in row for j in cell]
    return f"| {data} | {METHODS[method].title} | {' | '.join(map(_text, row))} | {np.mean(spent):.0f} |"


def _text(seeds: Sequence[Judged]) -> str:
    """Mean error, its range if there are several, and the mean rank correlation."""
    if not seeds:
        return "–"
    errors, ranks = [j.error for j in seeds], [j.rank for j in seeds if j.rank is not None]
    digits = 0 if min(errors) >= 10 else 3
    spread = f" ({min(errors):.{digits}f}–{max(errors):.{digits}f})" if len(errors) > 1 else ""
    return f"{np.mean(errors):.{digits}f}{spread}" + (f", rank {np.mean(ranks):.2f}" if ranks else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", action="store_true", help="compute nothing")
    parser.add_argument("--first", type=int, help="only so many of the missing parts")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes")
    options = parser.parse_args()
    known = read_known()
    if not options.table:
        store = Store()
        missing = [part for part in parts() if not known.keys() >= set(keys_of(part))]
        for part in missing[: options.first]:
            print(f"{part.preset}, data seed {part.data_seed}: {', '.join(part.methods)}, seed {part.seed}", flush=True)
            experiment.complete(part.scenario, store, jobs=options.jobs)
            known |= {key: from_store(store, key) for key in keys_of(part)}
            write_known(known)
    for preset in HORIZONS:
        print(f"\n{preset}: error per policy (RMSE) and rank correlation by horizon l\n")
        print("\n".join(table(known, preset)))


if __name__ == "__main__":
    main()
