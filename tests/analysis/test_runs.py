"""Archive, report and sentences of saved runs hold what the results hold."""

import io
import re
import zipfile
from dataclasses import replace
from datetime import UTC, datetime

import pandas as pd
import pytest

from shortlong.analysis.headline import Headline
from shortlong.analysis.runs import Classified, Early, archive, early, errors_of_runs, first_methods, same_unit
from shortlong.analysis.safety import Question
from shortlong.compute import experiment
from shortlong.compute import shipped as gallery
from shortlong.compute.experiment import Results
from shortlong.compute.failures import FailedMethod
from shortlong.compute.saved_runs import SavedRun, delete_run, saved_runs
from shortlong.compute.store import Store
from shortlong.report.run import report
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from shortlong.words.policy_names import policy_name
from shortlong.words.runs import (
    comparison_sentence,
    delete_sentence,
    difference_table,
    run_name,
    run_title,
    runs_sentence,
    runs_table,
)
from tests.app.conftest import SMALL
from tests.given import given_results
from tests.saying import says


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return experiment.run(Scenario.build({"preset": "hiv-demo", **SMALL}), Store(tmp_path_factory.mktemp("runs")))


def with_history(results: Results, history: list[float]) -> Results:
    return given_results(results.scenario, results.values, results.metrics, history)


def test_archive_reads_back_and_is_the_same_twice(results: Results) -> None:
    content = archive(results)
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        assert Scenario.from_yaml(files.read("scenario.yaml").decode()) == results.scenario
        assert len(pd.read_csv(files.open("metrics.csv"))) == len(results.metrics)
        assert len(pd.read_parquet(io.BytesIO(files.read("predictions.parquet")))) == len(results.predictions)
        assert results.scenario.to_command() in files.read("README.txt").decode()
    assert archive(results) == content


def test_archive_has_every_seed_the_mean_and_what_lies_beyond_the_history(results: Results) -> None:
    with zipfile.ZipFile(io.BytesIO(archive(with_history(results, [0.0, 1e-9])))) as files:
        policies = pd.read_csv(files.open("policies.csv"), dtype={"seed": str}, keep_default_na=False)
    values = results.values
    assert policies["seed"].value_counts().to_dict() == {"0": len(values), "mean": len(values)}
    above = policies["predicted"] > 1e-9
    assert (policies["beyond_history"] == above.map({True: "above", False: ""})).all()


def test_report_is_self_contained_escaped_and_says_where_it_comes_from(results: Results) -> None:
    values = results.values.copy()
    values["policy"] = (
        values["policy"].astype(str).replace({str(values["policy"].iloc[0]): "<script>alert(1)</script>"})
    )
    failed = FailedMethod("slev", (10,), (0,), "not for <this>", False, everywhere=True)
    given = given_results(results.scenario, values, results.metrics, failed=(failed,))
    now = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    page = report(given, now=now)
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", page), "nothing is fetched"
    assert "<script" not in page
    assert page.count('<svg class="chart"') == 2
    assert "<td>&lt;script&gt;alert(1)&lt;/script&gt;</td>" in page
    assert "<td><script>" not in page
    assert "not for &lt;this&gt;" in page
    assert "After 20 days (10 % of the time)" in page
    assert "hindsight" in page
    assert "averaged over seeds" in page
    assert "python -m shortlong run " in page
    assert "report of 2026-01-02 03:04 UTC" in page
    assert f"Run {results.scenario.key}" in page
    assert "Simulated patients. Not medical advice." in page


def test_report_names_policies_and_flags_predictions_beyond_the_history(results: Results) -> None:
    values = results.values.copy()
    labels = [str(label) for label in values["policy"].unique()]
    page = report(with_history(results, [values["predicted"].max() / 2] * 2))
    for label in labels:
        assert policy_name(results.scenario, label) in page
        assert f"<td>{label}</td>" not in page, "a raw label is not for people"
    assert "Beyond historical experience" in page
    assert "predicted beyond the history by" in page
    assert "Its favourite" in page or "its favourite" in page
    quiet = report(with_history(results, [-1e9, 1e9]))
    assert "Beyond historical experience" not in quiet


def test_errors_of_runs_are_relative_to_the_range_of_true_values(results: Results) -> None:
    values = results.values
    table = errors_of_runs([(results.scenario, results.metrics, values)] * 2)
    span = values["true"].max() - values["true"].min()
    assert (table["relative"] * span).to_numpy() == pytest.approx(table["error"].to_numpy())
    assert sorted(table["share"].unique()) == [0.05, 0.1, 0.2]
    assert (table["run"] == 0).sum() == (table["run"] == 1).sum() == 9


def test_report_tells_the_board_whom_the_alarm_would_stop(results: Results) -> None:
    values = results.values.copy()
    limit = float(values["true"].median())
    asked = Question(limit, missing=7.0, stopping=2.0)
    page = report(with_history(results, [limit - 1, limit + 1]), question=asked)
    assert page.count('<svg class="chart"') == 4
    assert "stopped early" in page
    assert "A miss costs 7, a false alarm 2" in page


def _head(error: float) -> Headline:
    return Headline(20, "mean_reward", error, None, None, 10, 300, 5)


def _early(head: Headline, share: float = 0.1) -> Early:
    return Early(head, share, preset("hiv-paper").system, ("mean_reward",))


@pytest.mark.parametrize(
    ("second", "shares", "comparable", "decisive"),
    [
        (50, (0.1, 0.1), True, "Error is 50 % lower in B"),
        (150, (0.1, 0.1), True, "Error is 50 % higher in B"),
        (100, (0.1, 0.1), True, "about equal"),
        (100, (0.1, 0.3), True, "not directly comparable"),
        (100, (0.1, 0.1), False, "different units"),
    ],
)
def test_comparison_sentence(second: float, shares: tuple[float, float], comparable: bool, decisive: str) -> None:
    text = comparison_sentence(_early(_head(100), shares[0]), _early(_head(second), shares[1]), comparable)
    assert says(text, "run A", "100", "100 days", "10 %", "Mean reward")
    assert "10 to 300" in text
    assert "hindsight" in text
    assert decisive in text


def test_yes_no_outcomes_are_compared_as_counts_of_cells() -> None:
    first, second = (
        replace(_early(_head(0.1)), classified=Classified("slev", correct, 83, "cell")) for correct in (82, 70)
    )
    text = comparison_sentence(first, second, True)
    assert "82 of 83 cells" in text
    assert "70 of 83 cells" in text
    assert "%" not in text


def test_early_counts_cells_of_the_shipped_battery_run() -> None:
    item = gallery.open_item("battery-demo")
    found = early(item.scenario, item.metrics(), item.values()).classified
    assert found is not None
    assert 61 < found.correct <= found.total == 83
    other = gallery.open_item("hiv-demo")
    assert early(other.scenario, other.metrics(), other.values()).classified is None


def test_comparison_says_that_a_run_lacks_the_best_method_of_the_other() -> None:
    other = Early(
        Headline(20, "fqe", 50, None, None, 10, 300, 5), 0.1, preset("hiv-paper").system, ("mean_reward", "fqe")
    )
    text = comparison_sentence(_early(_head(100)), other, True)
    assert "Error is 50 % lower in B" in text
    assert says(text, "Run A", "not", "Fitted Q")
    assert first_methods(["slev", "sled", "mean_reward", "fqe"], [_early(_head(100)), other]) == [
        "mean_reward",
        "fqe",
        "slev",
    ]


def test_lives_and_classes_of_batteries_are_not_compared_as_numbers() -> None:
    assert not same_unit(preset("battery-demo"), preset("battery-life"))
    assert not same_unit(preset("hiv-demo"), preset("kidney-demo"))
    assert same_unit(preset("hiv-demo"), preset("hiv-standard"))


def test_comparison_warns_when_other_policies_are_judged() -> None:
    other = Headline(20, "mean_reward", 50, None, None, 10, 150, 5)
    text = comparison_sentence(_early(_head(100)), _early(other), True)
    assert "Error is 50 % lower in B" in text
    assert "policies differ" in text


def test_sentences_and_table_of_differences(results: Results) -> None:
    scenario = results.scenario
    table = difference_table([scenario, scenario.changed({"data.patients": "7", "settings.slev.weights": "none"})])
    assert table.to_dict("records") == [
        {"setting": "Patients", "run A": "5", "run B": "7"},
        {"setting": "SLEV: weights", "run A": "default", "run B": "none"},
    ]
    other = preset("hiv-demo").changed({"data.test_actions": "RTI,both"})
    assert difference_table([preset("hiv-demo"), other]).to_dict("records") == [
        {"setting": "New policies: available actions", "run A": "no drug, RTI, PI, RTI + PI", "run B": "RTI, RTI + PI"}
    ]
    changed = SavedRun("c", "", other, "", 7, 7, 0)
    assert run_title(changed) == "HIV treatment, quick illustration (modified)"
    assert says(run_name(changed), "HIV treatment", "modified", "no drug", "PI", "removed", "c")
    assert says(runs_table([changed])["changes to the preset"].item(), "no drug", "PI", "removed")
    runs = [SavedRun("a", "", scenario, "", 7, 7, 2_000_000), SavedRun("b", "", scenario, "", 3, 7, 0)]
    assert says(runs_sentence(runs), "2 saved runs", "2 MB", "1 must be recomputed")
    assert says(runs_sentence(runs[:1]), "1 saved run", "2 MB")
    assert "recomputed" not in runs_sentence(runs[:1])
    assert says(delete_sentence(1, 7), "1 stored part", "6 parts")


def test_histories_go_with_the_last_run_that_uses_them(tmp_path) -> None:
    store, first = Store(tmp_path), Scenario.build({**SMALL, "methods": ("mean_reward",)})
    second = first.changed({"methods": "last_reward"})
    unfinished = first.changed({"methods": "off_policy_mean"})
    for scenario in (first, second):
        experiment.run(scenario, store, leave="policy")

    def delete(scenario: Scenario, *others: Scenario) -> None:
        runs = {run.key: run for run in saved_runs(store)}
        delete_run(runs[scenario.key], list(runs.values()), store, others)

    delete(first)
    assert not experiment.missing_computations(second, store), "what another run uses stays"
    assert all(store.has(key) for key in experiment.histories_of(second))
    delete(second, unfinished)
    assert all(store.has(key) for key in experiment.histories_of(unfinished)), "a run that can be resumed needs them"
    experiment.run(second, store, leave="policy")
    delete(second)
    assert not list(store.entries())
