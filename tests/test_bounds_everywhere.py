"""Every table of predictions that leaves the program has the same bounds, with their level, their kind and the reason for gaps."""

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pandas as pd
import pytest

from shortlong.analysis.outlook import LEVEL, back_test_rows, outlook
from shortlong.analysis.runs import archive
from shortlong.cli.predict import backtest, predict
from shortlong.compute import experiment
from shortlong.compute.results import Results
from shortlong.compute.store import Store
from shortlong.paper.evidence import Evidence, Measured
from shortlong.paper.plan import Plan
from shortlong.paper.run import tables
from shortlong.report.pdf import run_pdf
from shortlong.report.run import report
from shortlong.scenario import Scenario
from shortlong.words.numbers import bound
from tests.conftest import TINY_HIV

CERTAINTY = ["lower", "upper", "reason", "level", "kind"]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("judged"))
    experiment.run(Scenario.build(TINY_HIV), store, leave="policy")
    return store


@pytest.fixture
def results(judged: Store, tiny: Scenario, monkeypatch: pytest.MonkeyPatch) -> Results:
    monkeypatch.setenv("SHORTLONG_HOME", str(judged.root))
    return experiment.collect(tiny, judged)


def _archived(results: Results) -> pd.DataFrame:
    with zipfile.ZipFile(io.BytesIO(archive(results))) as files:
        return _means(pd.read_csv(files.open("policies.csv"), keep_default_na=False, na_values=[""]))


def _of_paper(results: Results) -> pd.DataFrame:
    return _means(tables(Measured(hiv=Evidence(results)), Plan((), results.scenario), [])["hiv-policies"])


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    single = rows[rows["seed"].astype(str) != "mean"]
    assert single[["lower", "upper", "level"]].isna().all(axis=None), "a single seed has no interval"
    return rows[rows["seed"] == "mean"]


def _printed(results: Results, ask: Callable[..., None], **options: Any) -> dict[str, Any]:
    file = Store().root / "asked.yaml"
    file.write_text(results.scenario.to_yaml(), encoding="utf-8")
    with redirect_stdout(io.StringIO()) as told:
        ask(str(file), as_json=True, jobs=1, progress="none", **options)
    found: dict[str, Any] = json.loads(told.getvalue())
    return found


def _predicted(results: Results) -> pd.DataFrame:
    found = _printed(results, predict, horizon=10, kind="together")
    assert "8 of 10 new policies" in found["promise"]
    assert found["condition"].startswith("if new policies are to historical ones")
    return pd.DataFrame(found["predictions"]).assign(level=found["level"], kind=found["kind"])


def _back_tested(results: Results) -> pd.DataFrame:
    return pd.DataFrame(_printed(results, backtest)["predictions"])


OF_NEW = {"archive": _archived, "paper": _of_paper, "predict --json": _predicted}


def _same_bounds(found: pd.DataFrame, expected: pd.DataFrame) -> None:
    keys = ["method", "horizon", "policy"]
    together = found.astype({"policy": str}).merge(
        expected.astype({"policy": str}), on=keys, suffixes=("", "_expected")
    )
    assert len(together) == len(found) > 0
    for end in ("lower", "upper"):
        wanted = together[f"{end}_expected"].replace({np.inf: np.nan, -np.inf: np.nan})
        np.testing.assert_allclose(together[end].astype(float), wanted)
    assert np.isfinite(together["lower"].astype(float)).any()
    assert set(found["level"]) == {LEVEL}
    assert set(found["kind"]) == {"together"}


@pytest.mark.parametrize("name", OF_NEW)
def test_tables_of_new_policies_have_their_bounds(results: Results, name: str) -> None:
    found = OF_NEW[name](results)
    assert {*CERTAINTY} <= set(found.columns)
    _same_bounds(found, outlook(results))


def test_tables_of_a_back_test_have_their_bounds(results: Results) -> None:
    """Each old policy is judged by three others: too few for 80 %, and the reason stands where the bounds are missing."""
    judged = results.back_test()
    assert judged is not None
    found = _back_tested(results)
    assert {*CERTAINTY, "true", "predicted"} <= set(found.columns)
    assert set(found["reason"]) == {"too-few"}
    assert found[["lower", "upper"]].isna().all(axis=None)
    _same_bounds(back_test_rows(judged, level=0.5).assign(level=LEVEL), outlook(judged, 0.5))


def test_reports_of_known_outcomes_show_the_bounds_and_how_many_they_hold(results: Results) -> None:
    pypdf = pytest.importorskip("pypdf")
    rows = outlook(results, horizons=[10], methods=[_shown_method(results)])
    page = report(results, horizon=10)
    sheet = pypdf.PdfReader(io.BytesIO(run_pdf(results, horizon=10))).pages[0].extract_text()
    for row in rows.to_dict("records"):
        text = f"{bound(row['lower'])} to {bound(row['upper'])}"
        assert text in page
        assert text in sheet
    inside = int(rows["true"].between(rows["lower"], rows["upper"]).sum())
    for told in (page, " ".join(sheet.split())):
        assert "8 of 10 new policies end inside it" in told
        assert f"{inside} of 2 outcomes lie inside" in told


def _shown_method(results: Results) -> str:
    from shortlong.analysis.outlook import trusted_method

    method = trusted_method(results, 10)
    assert method is not None
    return method


def test_without_a_back_test_there_are_no_columns_of_bounds_and_no_promise(tiny: Scenario, store: Store) -> None:
    plain = experiment.run(tiny, store)
    with zipfile.ZipFile(io.BytesIO(archive(plain))) as files:
        assert not {*CERTAINTY} & set(pd.read_csv(files.open("policies.csv")).columns)
    assert "outcomes lie inside" not in report(plain)
