"""Commands that say what will happen and how sure that is: ``predict`` and ``backtest``, for presets and data sets alike."""

from typing import Annotated, Any, Literal

import typer

from shortlong.cli.options import (
    AsJson,
    Changes,
    DecisionReport,
    Horizons,
    Jobs,
    Kind,
    Leave,
    LeaveForKind,
    Methods,
    ProgressStyle,
    ScenarioName,
    Scheduler,
    scenario_of,
)
from shortlong.cli.output import print_json
from shortlong.cli.progress import watcher
from shortlong.compute.engine import ALL_CORES
from shortlong.core.errors import UserError

Horizon = Annotated[int, typer.Option(min=1, help="Number of observed steps at which to predict.")]
Level = Annotated[float, typer.Option(help="Level of the intervals, e.g. 0.8 or 0.9.")]
Unit = Annotated[
    bool, typer.Option("--unit", help="Intervals for one unit (a patient, a cell) under each policy, not for the mean.")
]
Placebo = Annotated[
    bool,
    typer.Option(
        "--placebo", help="Also sound the smoke alarms: exchanged predictions, and fits to shuffled outcomes."
    ),
]


def predict(
    scenario: ScenarioName,
    horizon: Horizon,
    methods: Methods = None,
    level: Level = 0.8,
    kind: Kind = "cv+",
    leave: LeaveForKind = None,
    unit: Unit = False,
    changes: Changes = None,
    jobs: Jobs = ALL_CORES,
    scheduler: Scheduler = None,
    progress: ProgressStyle = "auto",
    as_json: AsJson = False,
) -> None:
    """Predict the long-term value of every new policy after a number of observed steps, with intervals."""
    from shortlong.analysis.intervals import NOT_CALIBRATED
    from shortlong.analysis.outlook import leave_of, outlook
    from shortlong.analysis.promises import check_level
    from shortlong.compute.computations import has_new_policies
    from shortlong.words.certainty import UNITS_NOT_KEPT
    from shortlong.words.outlook import as_rows, certainty_of, warnings_of

    check_level(level)
    chosen = scenario_of(scenario, changes)
    if not has_new_policies(chosen):
        raise UserError(
            f"{scenario} has no new policy to predict; name them with `data add ... --new A,B`, or let the history judge itself "
            f"with `backtest {scenario}`."
        )
    wanted: Any = "unit" if unit else kind
    judged_by = leave_of(wanted, leave)
    looks = sorted({*chosen.horizons, horizon}) if wanted == "together" else [horizon]
    asked = ",".join(map(str, looks))
    results = _computed(scenario, changes, asked, methods, judged_by, jobs, scheduler, progress, unit)
    table = outlook(results, level, wanted, leave=judged_by, horizons=[horizon])
    if unit and (table["reason"] == NOT_CALIBRATED).all():
        raise UserError(UNITS_NOT_KEPT)
    warnings, certainty = warnings_of(results, table, level), certainty_of(results, table, level, wanted, judged_by)
    if as_json:
        left_out = [{"method": m, "reason": r} for m, r in results.left_out.items()]
        print_json(
            {**certainty, "predictions": as_rows(results, table), "not_applicable": left_out, "warnings": warnings}
        )
        return
    shown = table.assign(method=table["method"].astype(str))[["policy", "method", "predicted", "lower", "upper"]]
    print(shown.to_string(index=False, float_format=lambda v: f"{v:.4g}"))
    for warning in warnings:
        print(f"\n{warning}")
    if certainty["promise"]:
        print(f"\n{certainty['promise']}")


def backtest(
    scenario: ScenarioName,
    horizons: Horizons = None,
    methods: Methods = None,
    leave: Leave = "policy",
    placebo: Placebo = False,
    changes: Changes = None,
    jobs: Jobs = ALL_CORES,
    scheduler: Scheduler = None,
    progress: ProgressStyle = "auto",
    as_json: AsJson = False,
) -> None:
    """Let the history judge itself: predict historical policies that the methods have not seen, and compare."""
    from shortlong.analysis.outlook import back_test_rows
    from shortlong.words.trust import placebo_lines

    results = _computed(scenario, changes, horizons, methods, leave, jobs, scheduler, progress)
    judged = results.back_test(leave)
    if judged is None:
        raise UserError(results.why_not_judged(leave))
    alarms = _placebos(results) if placebo else None
    if as_json:
        rows = judged.metrics.drop(columns=["rmse_unit", "seconds", "seed"])
        values = back_test_rows(judged, leave)
        told = {} if alarms is None else {"placebo": {name: _records(table) for name, table in alarms.items()}}
        print_json({"leave": leave, "results": _records(rows), "predictions": _records(values), **told})
        return
    print(f"Typical error (RMSE) on historical policies that the method had not seen, left out by {leave}\n")
    table = judged.metrics.pivot_table(index="method", columns="horizon", values="rmse_policy", sort=False)
    print(table.to_string(float_format=lambda v: f"{v:.3g}", na_rep="-"))
    if alarms is not None:
        print("\n".join(["", *placebo_lines(alarms["exchanged"], alarms["shuffled"])]))


def decide(
    scenario: ScenarioName,
    horizon: Horizon,
    threshold: Annotated[float | None, typer.Option(help="A policy is unsafe if its value ends below this.")] = None,
    quantile: Annotated[
        float | None, typer.Option(min=0, max=1, help="The same as a share of the historical values, e.g. 0.1.")
    ] = None,
    level: Level = 0.9,
    method: Annotated[str | None, typer.Option(help="Whose predictions; by default whom the history trusts.")] = None,
    mode: Annotated[
        Literal["interval", "one-sided", "risk"],
        typer.Option(help="The promise: about both bounds, about each bound, or about the rate of wrong decisions."),
    ] = "interval",
    kind: Kind = "together",
    leave: LeaveForKind = None,
    report: DecisionReport = None,
    changes: Changes = None,
    jobs: Jobs = ALL_CORES,
    scheduler: Scheduler = None,
    progress: ProgressStyle = "auto",
    as_json: AsJson = False,
) -> None:
    """Stop, keep watching or continue: a decision for every new policy, with its promise and its back-test."""
    from shortlong.analysis.decision_view import view_of
    from shortlong.analysis.outlook import leave_of
    from shortlong.words.decide_records import decision_record
    from shortlong.words.decision_lines import lines_of
    from shortlong.words.unseen_actions import unseen_warnings

    if (threshold is None) == (quantile is None):
        raise UserError(
            "Say what is unsafe in one way: --threshold VALUE, or --quantile SHARE of the historical values."
        )
    chosen = scenario_of(scenario, changes)
    looks, judged_by = sorted({*chosen.horizons, horizon}), leave_of(kind, leave)
    results = _computed(scenario, changes, ",".join(map(str, looks)), None, judged_by, jobs, scheduler, progress)
    view = view_of(
        results,
        horizon=horizon,
        threshold=threshold,
        quantile=quantile,
        level=level,
        method=method,
        mode=mode,
        kind=kind,
        leave=judged_by,
    )
    if report:
        from shortlong.report.files import write_decision

        write_decision(view, results.scenario, report)
    warnings = [*results.scenario.data.warnings, *unseen_warnings(results.scenario, [view.method])]
    if as_json:
        print_json(decision_record(view, warnings=warnings))
        return
    print("\n".join([*lines_of(view, results.scenario), *(f"\n{warning}" for warning in warnings)]))


def _computed(
    name: str,
    changes: list[str] | None,
    horizons: str | None,
    methods: str | None,
    leave: Any,
    jobs: int,
    scheduler: str | None,
    progress: str,
    units: bool = False,
) -> Any:
    """Stored or shipped results with their back-test, also of single ``units``; what is missing is computed."""
    from shortlong.compute import experiment
    from shortlong.compute.results import open_results
    from shortlong.compute.store import Store
    from shortlong.words.progress import whole_run

    store = Store()
    chosen = scenario_of(name, changes, horizons=horizons, methods=methods)
    known = open_results(chosen, store)
    judged = known.calibration(leave, units) if known is not None else None
    if judged is not None and not (units and judged.units is None):
        return known
    experiment.check_methods(chosen)
    told = whole_run(chosen, store, watcher(progress), jobs, leave)
    found = experiment.run(chosen, store, jobs=jobs, scheduler=scheduler, watch=told, leave=leave)
    if leave != "policy" and found.calibration(leave) is None:
        raise UserError(found.why_not_judged(leave))
    return found


def _placebos(results: Any) -> dict[str, Any]:
    """Both smoke alarms at every horizon: predictions exchanged among old policies, and outcomes shuffled among them."""
    import pandas as pd

    from shortlong.analysis.trust import exchanged_starts, shuffled_outcomes
    from shortlong.compute import experiment, placebo
    from shortlong.compute.store import Store

    scenario, store = results.scenario, Store()
    experiment.simulate(scenario, store)
    placebo.run_placebos(scenario, store)
    made, calibration = placebo.read_placebos(scenario, store), results.calibration("policy")

    def everywhere(judge: Any, history: Any) -> Any:
        tables = [judge(history, h).assign(horizon=h) for h in scenario.horizons] if history is not None else []
        return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()

    return {
        "exchanged": everywhere(exchanged_starts, calibration),
        "shuffled": everywhere(shuffled_outcomes, made),
    }


def _records(table: Any) -> list[dict[str, Any]]:
    return table.astype(object).where(table.notna(), None).to_dict("records")
