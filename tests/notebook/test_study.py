"""One's own table in a notebook, from a frame or a file to predictions, a back-test and decisions."""

import json
import os

import numpy as np
import pandas as pd
import pytest

import shortlong as sl
from shortlong.compute.store import Store
from shortlong.notebook.results import NotebookResults
from tests.command import command
from tests.domains.table.tables import trial
from tests.saying import one_says, says
from tests.test_namespace import HEAVY, in_new_process

QUICK = ["mean_reward", "off_policy_mean"]


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return Store(tmp_path_factory.mktemp("studies"))


@pytest.fixture(scope="module")
def study(store):
    return sl.Study.from_table(trial(), name="trial", store=store)


def test_the_class_comes_without_heavy_libraries():
    code = f"import sys, json; from shortlong import Study; print(json.dumps([n for n in {HEAVY} if n in sys.modules]))"
    assert in_new_process(code) == []


def test_what_the_table_is(study):
    assert says(repr(study), "trial", "10 historical", "2 new", "60 units", "8 steps")
    text = study.summary()
    assert one_says(text, "10 historical policies", "A, B, C, D, E, F and 4 more", "2 new policies", "N0, N1")
    assert one_says(text, "new policies", "observed for 3 steps")
    assert "New action: " in text
    assert set(study.problems["severity"]) <= {"warning"}


def test_predictions(study):
    found = study.predict(3, methods=QUICK)
    assert list(found.columns) == ["policy", "method", "horizon", "predicted", "lower", "upper", "reason", "units"]
    assert set(found["policy"]) == {"N0", "N1"}
    assert set(found["method"]) == {*QUICK, "blend"}
    assert (found["lower"] < found["predicted"]).all()
    assert (found["predicted"] < found["upper"]).all()
    assert (found["units"] == 5).all()
    assert "8 of 10 new policies" in found.attrs["promise"]
    assert "if new policies" in found.attrs["promise"]


def test_intervals_for_one_unit_are_wider_and_say_whose_they_are(study):
    mean, one = (study.predict(3, methods=QUICK, kind=kind).set_index(["policy", "method"]) for kind in ("cv+", "unit"))
    assert (one["upper"] - one["lower"] > mean["upper"] - mean["lower"]).all()
    assert one["predicted"].equals(mean["predicted"])


def test_the_promise_of_a_unit_names_it(study):
    promise = study.predict(3, methods=QUICK, kind="unit").attrs["promise"]
    assert "units under new policies" in promise
    assert "patient" not in promise


@pytest.mark.heavy
def test_the_command_predicts_the_same(study):
    found = study.predict(3, methods=QUICK)
    words = ["predict", "trial", "--horizon", "3", "--methods", ",".join(QUICK), "--progress", "none", "--json"]
    code, out, error = command(*words, home=study.store.root)
    assert (code, error) == (0, "")
    printed = pd.DataFrame(json.loads(out)["predictions"])
    assert printed["predicted"].tolist() == found["predicted"].tolist()
    assert printed["lower"].tolist() == found["lower"].tolist()


def test_the_usual_result_folder_is_not_touched(study, home):
    before = os.environ["SHORTLONG_HOME"]
    study.predict(3, methods=QUICK)
    assert os.environ["SHORTLONG_HOME"] == before
    assert not home.exists()


def test_backtest(study):
    errors = study.backtest(horizons=[2, 3], methods=QUICK)
    values = study.backtest_predictions(horizons=[2, 3], methods=QUICK)
    assert set(values["policy"]) == set("ABCDEFGHIJ")
    assert set(errors["horizon"]) == {2, 3}
    table = trial()
    outcome = table[table["policy"] == "A"].groupby("unit")["reward"].sum().mean()
    assert np.allclose(values.loc[values["policy"] == "A", "true"], outcome)
    row = errors[(errors["method"] == "mean_reward") & (errors["horizon"] == 3)].iloc[0]
    own = values[(values["method"] == "mean_reward") & (values["horizon"] == 3)]
    assert row["rmse_policy"] == pytest.approx(np.sqrt(((own["predicted"] - own["true"]) ** 2).mean()))


def test_decisions_stand_with_their_promise(study):
    found = study.decide(3, quantile=0.1, level=0.8, methods=QUICK)
    assert set(found["policy"]) == {"N0", "N1"}
    assert found["decision"].notna().all()
    assert found.attrs["promise"]
    assert found.attrs["condition"]
    assert found.attrs["method"] in {*QUICK, "blend"}


def test_how_long_to_watch(study):
    found = study.watch(quantile=0.1, level=0.8, methods=QUICK)
    assert found["horizon"].is_monotonic_increasing
    assert (found["policies"] == 10).all()


@pytest.mark.parametrize("name", ["error", "scatter", "safety", "decide"])
def test_figures(study, name):
    assert study.figure(name, horizon=3, methods=QUICK).data


def test_an_unknown_figure(study):
    with pytest.raises(sl.UserError, match="no figure 'pie'"):
        study.figure("pie")


def test_a_table_with_errors_shows_them_and_computes_nothing(store):
    table = trial()
    table = pd.concat([table, table.iloc[[0]]])
    broken = sl.Study.from_table(table, store=store, name="broken")
    assert "duplicate" in broken.problems["code"].tolist()
    first = broken.report.errors[0].message.rstrip(".")
    for ask in (
        lambda: broken.predict(3),
        broken.backtest,
        lambda: broken.decide(3),
        broken.watch,
        lambda: broken.scenario,
    ):
        with pytest.raises(sl.UserError) as told:
            ask()
        assert str(told.value).startswith(first)
    assert "cannot be used" in broken.summary() or first in broken.summary()


def test_a_file_that_is_no_table(tmp_path, store):
    file = tmp_path / "weights.csv"
    file.write_bytes(b"\x80\x04something")
    study = sl.Study.from_table(file, store=store)
    assert study.problems["code"].tolist() == ["not-readable"]
    with pytest.raises(sl.UserError, match="pickle"):
        study.predict(2)


def test_a_file_with_other_names(tmp_path, store):
    file = tmp_path / "our trial 2.csv"
    trial().rename(columns={"policy": "x", "unit": "who", "step": "n"}).to_csv(file, sep=";", decimal=",", index=False)
    study = sl.Study.from_table(str(file), columns="policy=x,unit=who,step=n", new=["N0", "N1"], store=store)
    assert study.name == "our-trial-2"
    assert study.report.ok
    plain = sl.Study.from_table(trial(), store=store).predict(3, methods=QUICK)
    assert study.predict(3, methods=QUICK)["predicted"].tolist() == plain["predicted"].tolist()


def test_without_new_policies_the_history_judges_itself(store):
    study = sl.Study.from_table(trial(new=0), store=store, name="history")
    with pytest.raises(sl.UserError, match="no new policy"):
        study.predict(3)
    assert len(study.backtest(horizons=[3], methods=QUICK))


def test_an_unknown_choice(store):
    with pytest.raises(sl.UserError, match="no choice 'lenght'"):
        sl.Study.from_table(trial(), store=store, lenght=3)


@pytest.fixture(scope="module")
def kinds(store):
    """Ten old policies in five families of two."""
    table = trial()
    table["kind"] = table["policy"].map(lambda policy: "ABCDEFGHIJ".find(policy) // 2)
    return sl.Study.from_table(table, columns="family=kind", name="kinds", store=store)


def test_intervals_of_families_come_from_the_back_test_by_family(kinds):
    found = kinds.predict(3, methods=QUICK, kind="family")
    assert np.isfinite(found["lower"]).all()
    assert found.attrs["leave"] == "family"
    assert "8 of 10 new families" in found.attrs["promise"]
    assert found.attrs["condition"] in found.attrs["promise"]
    decided = kinds.decide(3, quantile=0.1, level=0.8, kind="family", method="mean_reward", methods=QUICK)
    assert np.isfinite(decided["lower"]).all()
    assert "whole families" in decided.attrs["condition"]


def test_no_promise_where_no_bound_is_finite(kinds):
    few = kinds.predict(3, methods=QUICK, kind="family", level=0.95)
    assert few["lower"].isna().all()
    assert set(few["reason"]) == {"too-few"}
    assert few.attrs["promise"] == few.attrs["condition"] == ""


def test_a_table_without_families_says_so(study):
    for ask in (study.predict, study.decide):
        with pytest.raises(sl.UserError, match="needs families"):
            ask(3, methods=QUICK, kind="family")


def test_bounds_that_hold_at_all_looks_know_all_of_them(study):
    """One look alone would give narrower bounds than the promise of all looks allows."""
    found = study.predict(3, methods=QUICK, kind="together").set_index(["policy", "method"])
    decided = study.decide(3, quantile=0.1, level=0.8, method="mean_reward", methods=QUICK).set_index("policy")
    for policy in decided.index:
        assert found.loc[(policy, "mean_reward"), "lower"] == pytest.approx(decided.loc[policy, "lower"])


def test_a_run_shows_itself_as_the_results_of_any_scenario_do(study):
    """Also outside of the folder of the study, which has the table."""
    results = study.run(horizons=[3], methods=QUICK)
    assert isinstance(results, NotebookResults)
    assert says(repr(results), "3 methods", "1 horizon")
    assert set(results.values["policy"]) == {"N0", "N1"}
    shown = results._repr_html_()
    assert "N0" in shown, "nobody knows the outcomes: predictions stand where errors would"
    assert "Predicted values" in shown
    assert "N0" in results.report(3)


@pytest.fixture(scope="module")
def single(store):
    """One new policy alone, and ten old ones in five families."""
    table = trial(new=1)
    table["kind"] = table["policy"].map(lambda policy: "ABCDEFGHIJ".find(policy) // 2)
    return sl.Study.from_table(table, columns="family=kind", name="single", store=store)


@pytest.mark.parametrize("kind", ["cv+", "together", "family", "unit"])
def test_a_single_new_policy_has_intervals_of_every_kind_that_needs_no_others(single, kind):
    found = single.predict(3, methods=QUICK, kind=kind)
    assert set(found["policy"]) == {"N0"}
    assert np.isfinite(found[["lower", "upper"]]).all(axis=None)
    assert set(found["reason"]) == {""}
    assert "8 of 10" in found.attrs["promise"]


def test_a_single_new_policy_has_no_interval_adjusted_for_shift_and_the_reason_is_said(single):
    found = single.predict(3, methods=QUICK, kind="weighted")
    assert found[["lower", "upper"]].isna().all(axis=None)
    assert set(found["reason"]) == {"no-ratio"}
    assert found.attrs["promise"] == ""
    assert one_says(" ".join(found.attrs["warnings"]), "adjusted for shift", "new policies")


def test_a_single_new_policy_is_decided_and_drawn(single):
    decided = single.decide(3, quantile=0.1, level=0.8, methods=QUICK)
    assert decided["policy"].tolist() == ["N0"]
    assert "1 new policy" in repr(single)
    assert single.figure("decide", horizon=3, methods=QUICK).data
    assert single.pdf(3, quantile=0.1, level=0.8, methods=QUICK).startswith(b"%PDF")
