"""Do intervals keep their promise, and would the history have chosen the right method? Tables for docs/certainty.md.

Reads stored or shipped results with a back-test and computes nothing else.

    python -m benchmarks.kept_promises [NAME ...]                 # presets or your own data sets; left out policy by policy
    python -m benchmarks.kept_promises --leave family NAME ...    # whole families left out; `backtest NAME --leave family` first
    python -m benchmarks.kept_promises --brief NAME ...           # only the lowest and highest share over the horizons
"""

import argparse

import pandas as pd

from shortlong.analysis.coverage import measured_coverage
from shortlong.analysis.decision_view import at, view_of
from shortlong.analysis.headline import mean_over_seeds
from shortlong.analysis.intervals import Kind, intervals, intervals_across
from shortlong.analysis.trust import chosen_by_history
from shortlong.compute.calibrations import read_calibration
from shortlong.compute.left_out import Leave
from shortlong.compute.results import Results, open_results
from shortlong.compute.store import Store
from shortlong.core.calibration import Calibration
from shortlong.core.metrics import rmse
from shortlong.scenario import load_scenario

LEVEL = 0.9
KINDS: dict[str, tuple[Kind, ...]] = {
    "policy": ("cv+", "together", "weighted"),
    "family": ("cv+", "together", "family"),
    "era": ("cv+", "together"),
}


def coverage_table(results: Results, leave: Leave) -> pd.DataFrame:
    """Share of new policies inside their interval, by kind and method, at each horizon; in brackets the share without a bound."""
    calibration, values = results.calibration(leave), mean_over_seeds(results.values)
    assert calibration is not None
    values = values[values["method"].isin(calibration.methods)]
    return _shares({kind: intervals(calibration, values, LEVEL, kind) for kind in KINDS[leave]})


def across_table(results: Results, harder: Leave, held_out: Calibration | None) -> pd.DataFrame | None:
    """The same for old policies with their whole family or era left out, by intervals made from leaving out single policies."""
    single = results.calibration("policy")
    if harder == "policy" or single is None or held_out is None:
        return None
    return _shares({kind: intervals_across(single, held_out, LEVEL, kind) for kind in KINDS["era"]})


def _shares(tables: dict[Kind, pd.DataFrame]) -> pd.DataFrame:
    rows = []
    for kind, table in tables.items():
        for method, own in measured_coverage(table, LEVEL).groupby("method", sort=False):
            shares = {
                str(r["horizon"]): f"{100 * r['kept']:.0f}"
                + (f" ({100 * r['infinite']:.0f} open)" if r["infinite"] else "")
                for r in own.to_dict("records")
            }
            rows.append({"kind": kind, "method": method, **shares})
    return pd.DataFrame(rows).fillna("–")


def choice_table(results: Results) -> pd.DataFrame:
    """Error of the blend, of the method that the history would choose, and of the best one in hindsight, at each horizon."""
    calibration, values = results.calibration(), mean_over_seeds(results.values)
    assert calibration is not None
    rows = []
    for horizon in results.horizons:
        here = values[values["horizon"] == horizon]
        errors = {str(m): rmse(g["predicted"], g["true"]) for m, g in here.groupby("method", sort=False)}
        chosen = chosen_by_history(calibration, horizon, [m for m in errors if m != "blend"])
        alone = {m: e for m, e in errors.items() if m != "blend"}
        best = min(alone, key=lambda m: alone[m])
        rows.append(
            {
                "horizon": horizon,
                "blend": f"{errors['blend']:.3g}" if "blend" in errors else "–",
                "the history would choose": f"{chosen} {errors[chosen]:.3g}" if chosen else "–",
                "best in hindsight": f"{best} {errors[best]:.3g}",
                "historical average": f"{errors['off_policy_mean']:.3g}",
            }
        )
    return pd.DataFrame(rows)


def decision_table(results: Results) -> pd.DataFrame:
    """Decisions about the new policies at each horizon against the truth, beside what the back-test forecast."""
    rows = []
    for horizon in results.horizons:
        view = view_of(results, horizon=horizon, level=LEVEL)
        score, counts = view.score, view.counts
        here = at(view.decided, view.method, horizon)
        rows.append(
            {
                "horizon": horizon,
                "method": view.method,
                "decided": f"{view.ready} of {len(here)}",
                "unsafe stopped": f"{score.unsafe_stopped} of {score.unsafe}" if score else "–",
                "stopped wrongly": f"{score.safe_stopped} of {score.safe}" if score else "–",
                "called safe wrongly": f"{score.unsafe_continued} of {score.unsafe}" if score else "–",
                "back-test: called safe, wrong": f"{int(counts['called_safe'])}, {int(counts['wrong'])}",
                "back-test: stopped, wrong": f"{int(counts['stopped'])}, {int(counts['stopped_wrongly'])}",
            }
        )
    return pd.DataFrame(rows)


def in_brief(table: pd.DataFrame) -> pd.DataFrame:
    """The lowest and the highest share over the horizons, a row per method and a column per kind."""

    def ends(shares: pd.Series) -> str:
        numbers = [int(str(share).split()[0]) for share in shares if share != "–"]
        text = str(min(numbers)) if min(numbers) == max(numbers) else f"{min(numbers)} to {max(numbers)}"
        return f"{text}, all open" if all("100 open" in str(share) for share in shares) else text

    horizons = [name for name in table.columns if name not in ("kind", "method")]
    told = table.assign(share=table[horizons].apply(ends, axis=1))
    wide = told.pivot(index="method", columns="kind", values="share").fillna("–")
    return wide.loc[list(dict.fromkeys(table["method"])), list(dict.fromkeys(table["kind"]))].reset_index()


def as_markdown(table: pd.DataFrame) -> str:
    lines = [" | ".join(table.columns), " | ".join("---" for _ in table.columns)]
    return "\n".join(f"| {line} |" for line in [*lines, *(" | ".join(map(str, row)) for row in table.to_numpy())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=["hiv-paper", "kidney-paper"])
    parser.add_argument(
        "--leave", choices=tuple(KINDS), default="policy", help="what the back-test leaves out together"
    )
    parser.add_argument("--brief", action="store_true", help="only the lowest and highest share over the horizons")
    options = parser.parse_args()
    shown = in_brief if options.brief else pd.DataFrame
    for name in options.names:
        scenario = load_scenario(name)
        results = open_results(scenario, Store())
        judged = results and (results.calibration(options.leave) or read_calibration(scenario, Store(), options.leave))
        if results is None or judged is None:
            command = f"python -m shortlong backtest {name} --leave {options.leave}"
            print(f"{name}: no results with such a back-test; run `{command}` first")
            continue
        print(f"\n## {name}, intervals at {LEVEL:.0%}, left out by {options.leave}")
        if results.has_truth and not results.is_back_test:
            print(f"\nNew policies\n\n{as_markdown(shown(coverage_table(results, options.leave)))}")
        if (across := across_table(results, options.leave, judged)) is not None:
            print(f"\nThe history, judged by leaving out single policies\n\n{as_markdown(shown(across))}")
        if results.has_truth and not results.is_back_test and options.leave == "policy" and not options.brief:
            print(f"\n{as_markdown(choice_table(results))}\n\n{as_markdown(decision_table(results))}")


if __name__ == "__main__":
    main()
