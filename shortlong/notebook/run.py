"""Computing and opening results with one call."""

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from shortlong.compute import experiment
from shortlong.compute.results import known_results
from shortlong.compute.store import Store
from shortlong.core.calibration import Leave
from shortlong.notebook.results import NotebookResults
from shortlong.scenario import Scenario, flatten, load_scenario
from shortlong.words.progress import whole_run

ScenarioLike = str | PathLike[str] | Scenario


def run(
    scenario: ScenarioLike,
    *,
    methods: Iterable[str] | None = None,
    horizons: Iterable[int] | None = None,
    seeds: Iterable[int] | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    store: Store | None = None,
    watch: experiment.Watch | None = None,
    leave: Leave | None = "policy",
    **changes: Any,
) -> NotebookResults:
    """Compute what is missing of a scenario and return all of its results.

    Everything that was computed before is read from the result folder. A run that was interrupted resumes where it stopped.

    Parameters
    ----------
    scenario : str, path or Scenario
        Name of a preset (see `presets`), a YAML file, or a `Scenario`.
    methods, horizons, seeds : optional
        Methods to compare, numbers of observed steps, seeds of the methods; those of the scenario unless given.
    jobs : int
        Worker processes.
    scheduler : str, optional
        Address of a dask cluster to run on, e.g. ``tcp://host:8786``.
    store : Store, optional
        Result folder; that of ``SHORTLONG_HOME`` unless given.
    watch : callable, optional
        Called from time to time with the stage and how far it is; ``watch=print`` will do.
    leave : {"policy", "family", "era"}, optional
        What the back-test on the history leaves out together. It gives predictions their intervals and the methods their
        blend; None for no back-test.
    **changes
        Other parts of the scenario: ``data={"patients": 50}``, ``settings={"slev": {"size": "demo"}}``.

    Returns
    -------
    NotebookResults
        Tables (``metrics``, ``values``) and charts (``figure``).

    Raises
    ------
    UserError
        If the scenario, a method or a value does not exist; the message says what to do.

    Examples
    --------
    >>> import shortlong as sl
    >>> small = {"rounds": 2, "patients": 4, "steps": 30, "trees": 3, "rebuilds": 1, "learning_patients": 4}
    >>> results = sl.run("hiv-demo", methods=["mean_reward", "off_policy_mean"], horizons=[3, 10], data=small)
    >>> results
    <results of hiv-demo: 3 methods, 2 horizons, 1 seed>
    >>> results.metrics[["horizon", "method"]].values.tolist()
    [[3, 'mean_reward'], [3, 'off_policy_mean'], [10, 'mean_reward'], [10, 'off_policy_mean'], [3, 'blend'], [10, 'blend']]
    """
    chosen = scenario_of(scenario, methods=methods, horizons=horizons, seeds=seeds, **changes)
    folder = store or Store()
    told = whole_run(chosen, folder, watch, jobs, leave)
    return NotebookResults(experiment.run(chosen, folder, jobs=jobs, scheduler=scheduler, watch=told, leave=leave))


def results(scenario: ScenarioLike, *, store: Store | None = None, **changes: Any) -> NotebookResults:
    """Open results without computing anything: those in the result folder, else those shipped with the package.

    Parameters
    ----------
    scenario : str, path or Scenario
        Name of a preset (see `presets`), a YAML file, or a `Scenario`.
    store : Store, optional
        Result folder; that of ``SHORTLONG_HOME`` unless given.
    **changes
        As for `run`: ``methods``, ``horizons``, ``seeds``, ``data``, ``settings``.

    Returns
    -------
    NotebookResults

    Raises
    ------
    UserError
        If some results are not computed yet.

    Examples
    --------
    >>> import shortlong as sl
    >>> shipped = sl.results("hiv-paper", methods=["slev", "fqe"], horizons=[20])
    >>> shipped.metrics.groupby("method", observed=True)["rmse_policy"].mean().round().astype(int).to_dict()
    {'blend': 160, 'fqe': 118, 'slev': 160}
    >>> shipped.from_shipped
    True
    """
    chosen = scenario_of(scenario, **changes)
    return NotebookResults(known_results(chosen, store or Store()))


def scenario_of(scenario: ScenarioLike, **changes: Any) -> Scenario:
    """The scenario that is meant, with parts of it replaced; a part that is None stays."""
    chosen = scenario if isinstance(scenario, Scenario) else load_scenario(str(scenario))
    given = {name: _plain(value) for name, value in changes.items() if value is not None}
    return chosen.changed(flatten(given), source="the arguments") if given else chosen


def _plain(value: Any) -> Any:
    """Tuples, ranges and arrays as lists, also inside mappings."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, PathLike) else value
