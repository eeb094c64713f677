"""Joint dynamics beside other methods on data that nobody had looked at when it was made: data seeds 1, 2 and 3.

What runs is written down in docs/methods.md, which was fixed before these data were simulated. Computes what is missing in the
result folder, the most telling parts first, and prints the table as far as it is known; a run that was stopped resumes.

    python -m benchmarks.fresh_seeds               # compute what is missing, then print
    python -m benchmarks.fresh_seeds --first 4     # only the next four parts
    python -m benchmarks.fresh_seeds --table       # print what is there, compute nothing
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

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


@dataclass(frozen=True)
class Judged:
    """How good one method with one seed is at one horizon, and what it took."""

    error: float
    rank: float | None
    seconds: float


def judged(store: Store, preset: str, data_seed: int, method: str, seed: int, horizon: int) -> Judged | None:
    """From the stored predictions; None if they were not computed."""
    scenario = Part(preset, data_seed, (method,), seed).scenario.changed({"horizons": str(horizon)})
    cell = experiment.cells_of(scenario)[0]
    answer, entry = stored_answer(store, cell), store.get(cell.key, verify=False)
    if not isinstance(answer, MethodAnswer) or entry is None:
        return None
    values = answer.predictions.groupby("policy", observed=True)[["predicted", "true"]].mean()
    rank = rank_correlation(values["predicted"], values["true"], "spearman")
    return Judged(rmse(values["predicted"], values["true"]), rank, entry.seconds)


def table(store: Store, preset: str) -> Iterator[str]:
    """One row per data seed and method in Markdown, then their means over the data seeds."""
    horizons = HORIZONS[preset]
    yield f"| data seed | method | {' | '.join(f'l = {h}' for h in horizons)} | CPU-s a horizon |"
    yield f"|---|---|{'---|' * len(horizons)}---|"
    everything: dict[str, list[list[list[Judged]]]] = {}
    for data_seed in DATA_SEEDS:
        for method, seeds in METHOD_SEEDS.items():
            row = [
                [j for s in seeds if (j := judged(store, preset, data_seed, method, s, h))]
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
    store = Store()
    if not options.table:
        missing = [part for part in parts() if experiment.missing_cells(part.scenario, store, verify=False)]
        for part in missing[: options.first]:
            print(f"{part.preset}, data seed {part.data_seed}: {', '.join(part.methods)}, seed {part.seed}", flush=True)
            experiment.complete(part.scenario, store, jobs=options.jobs)
    for preset in HORIZONS:
        print(f"\n{preset}: error per policy (RMSE) and rank correlation by horizon l\n")
        print("\n".join(table(store, preset)))


if __name__ == "__main__":
    main()
