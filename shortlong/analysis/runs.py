"""Saved runs, compared and packed into an archive."""

import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from shortlong.analysis.headline import Headline, headline, over_seeds, usual_horizon
from shortlong.analysis.outlook import policy_rows
from shortlong.compute.computations import computations_of, versions
from shortlong.compute.results import Results
from shortlong.compute.sources import StoredSource
from shortlong.compute.store import Store
from shortlong.core.harmless import spreadsheet
from shortlong.core.trajectories import System
from shortlong.scenario import Scenario

ARCHIVE_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that ZIP knows: equal results give equal archives
README = """One run of shortlong.

scenario.yaml        everything that defines it
metrics.csv          errors per method, horizon and seed
policies.csv         predicted and true value of each policy, by seed and as mean over seeds; the means with their
                     intervals where there is a back-test
predictions.parquet  the same for each unit
versions.json        versions of what made the results

Again: {command}
"""


def archive(results: Results) -> bytes:
    """A ZIP with the scenario, its metrics, the value of each policy and every prediction.

    Predictions beyond the values of all historical policies are marked, where these are known; means have their intervals
    where there is a back-test.
    """
    predictions = results.predictions
    parquet = io.BytesIO()
    predictions.to_parquet(parquet, index=False)
    files: dict[str, str | bytes] = {
        "README.txt": README.format(command=results.scenario.to_command()),
        "scenario.yaml": results.scenario.to_yaml(),
        "metrics.csv": spreadsheet(results.metrics).to_csv(index=False),
        "policies.csv": spreadsheet(policy_rows(results)).to_csv(index=False),
        "predictions.parquet": parquet.getvalue(),
        "versions.json": json.dumps(versions(results.scenario), indent=1),
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target:
        for name, data in files.items():
            target.writestr(zipfile.ZipInfo(name, ARCHIVE_DATE), data, compress_type=zipfile.ZIP_DEFLATED)
    return content.getvalue()


def same_unit(first: Scenario, second: Scenario) -> bool:
    """Whether the values of both have the same meaning: some domains can predict different things."""
    units = [(s.data.domain, s.domain.value_unit(s.data), "two_classes" in s.offers) for s in (first, second)]
    return units[0] == units[1]


@dataclass(frozen=True)
class Classified:
    """The most accurate method of a yes/no outcome, and how often it is right."""

    method: str
    correct: int
    total: int
    noun: str = "policy"  # what is classified


@dataclass(frozen=True)
class Early:
    """A run's results at the horizon closest to a tenth of the full duration."""

    head: Headline
    share: float  # of the full duration
    system: System  # knows the unit of time
    methods: tuple[str, ...]
    classified: Classified | None = None  # of yes/no outcomes


def early(scenario: Scenario, metrics: pd.DataFrame, values: pd.DataFrame) -> Early:
    """A run in progress is read at the nearest horizon that it has finished."""
    steps = scenario.system.steps
    horizon = usual_horizon([int(h) for h in metrics["horizon"].unique()], steps)
    head, methods = headline(metrics, values, horizon), tuple(metrics["method"].unique())
    classified = _classified(metrics[metrics["horizon"] == horizon], values["policy"].nunique(), scenario)
    return Early(head, horizon / steps, scenario.system, methods, classified)


def _classified(metrics: pd.DataFrame, total: int, scenario: Scenario) -> Classified | None:
    """None where outcomes are numbers."""
    if "two_classes" not in scenario.offers or "accuracy" not in metrics:
        return None
    accuracy = metrics.groupby("method", sort=False)["accuracy"].mean().dropna()
    if accuracy.empty:
        return None
    return Classified(str(accuracy.idxmax()), round(accuracy.max() * total), total, scenario.domain.words.judged)


def first_methods(methods: Sequence[str], runs: Sequence[Early], most: int = 3) -> list[str]:
    """The methods drawn by default: the best of each run, then the first ones."""
    best = [run.head.method for run in runs]
    return list(dict.fromkeys([*best, *methods]))[:most]


def errors_of_runs(parts: Sequence[tuple[Scenario, pd.DataFrame, pd.DataFrame]]) -> pd.DataFrame:
    """Typical error over the share of the time observed, for runs given as (scenario, metrics, values).

    Columns run (0, 1, ...), method, horizon, share, error, relative: the error as a share of the range of true values, which
    can be compared where values mean different things.
    """
    tables = []
    for number, (scenario, metrics, values) in enumerate(parts):
        steps = scenario.system.steps
        span = float(values["true"].max() - values["true"].min()) or 1.0
        curves = over_seeds(metrics).rename(columns={"mean": "error"})[["method", "horizon", "error"]]
        tables.append(curves.assign(run=number, share=curves["horizon"] / steps, relative=curves["error"] / span))
    return pd.concat(tables, ignore_index=True)


def results_so_far(scenario: Scenario, store: Store) -> Results | None:
    """What a run in progress has finished: the computations that are stored; None before the first."""
    stored = [(c, entry) for c in computations_of(scenario) if (entry := store.get(c.key, verify=False))]
    return Results(scenario, StoredSource(scenario, store, stored), blends=False) if stored else None
