"""The paper's battery table: the counts on measured cells, and what is said beside them."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from shortlong.core.errors import UserError
from shortlong.domains.battery.data import Fleet
from shortlong.domains.battery.fleet import synthetic_fleet
from shortlong.methods.battery.horizon import life_error_over_horizon
from shortlong.methods.battery.table1 import METHODS, OURS, Row, calibration_table, reliability_table, spread, table1

COUNTS = {
    "slev": (72, 22),
    "slev_log_loss": (73, 70),
    "naive_bayes": (22, 22),
    "sled": (62, 62),
    "always_high": (61, 61),
}


@pytest.fixture(scope="module")
def rows(measured: Fleet) -> list[Row]:
    start = time.process_time()
    table = table1(measured)
    assert time.process_time() - start < 20, "the whole table must take less than 20 s"
    return table


def find(rows: list[Row], method: str, training: str) -> Row:
    return next(row for row in rows if (row.method, row.training) == (method, training))


@pytest.mark.parametrize("method", COUNTS)
def test_measured_counts(rows: list[Row], method: str) -> None:
    found = tuple(find(rows, method, training).correct for training in ("full", "filtered"))
    assert found == COUNTS[method]
    assert {row.total for row in rows} == {83}
    assert [find(rows, method, training).training_cells for training in ("full", "filtered")] == [41, 24]


def test_our_method_holds_in_both_regimes(rows: list[Row]) -> None:
    assert [find(rows, OURS, training).correct for training in ("full", "filtered")] == [73, 74]


def test_our_method_is_calibrated_better_than_the_share(rows: list[Row], measured: Fleet) -> None:
    scores = calibration_table(rows, measured).set_index(["method", "training"])
    for training in ("full", "filtered"):
        own = scores.loc[(OURS, training)]
        assert own["brier"] < 0.6 * own["brier_of_share"]
        assert own["log_loss"] < own["log_loss_of_share"]
    table = reliability_table(rows, measured)
    assert table.groupby("training")["cells"].sum().to_dict() == {"full": 83, "filtered": 83}
    assert reliability_table(rows, measured, "sled").empty


def test_the_collapse_of_slev_is_explained_by_the_tie(rows: list[Row]) -> None:
    filtered = find(rows, "slev", "filtered")
    assert filtered.answer is not None
    scores = np.asarray(filtered.answer.detail["scores"])
    np.testing.assert_allclose(scores[:6], 0.9)
    assert (scores[6:] < 0.9).all()
    assert "0.90 for 6 of 10 values of C, from 0.0001 to 2.8; the tie is broken" in filtered.reason
    assert "all 83 cells are predicted to be short-lived" in filtered.reason
    assert "without a tie" in find(rows, "slev", "full").reason


def test_the_answer_of_sled_is_explained(rows: list[Row]) -> None:
    for training in ("full", "filtered"):
        reason = find(rows, "sled", training).reason
        assert "82 of 83 cells to be long-lived, only b2c1 (life 148)" in reason
        assert "“lfc + y”) is chosen for 83 cells" in reason
        assert "life is not estimated" in reason


def test_base_curve_of_the_measured_cells(rows: list[Row]) -> None:
    for training, wanted in {"full": (-0.00757, -1.468), "filtered": (-0.00974, -1.466)}.items():
        answer = find(rows, "sled", training).answer
        assert answer is not None
        curve = answer.detail["curve"]
        assert curve.base.name == "negative exponential"
        np.testing.assert_allclose(curve.parameters, wanted, rtol=1e-3)


def test_rows_are_plain_json(rows: list[Row]) -> None:
    plain = json.loads(json.dumps([row.as_json() for row in rows]))
    assert {entry["method"] for entry in plain} == set(METHODS)
    assert {"method": "slev", "training": "filtered", "correct": 22, "total": 83}.items() <= plain[1].items()


def test_table_is_repeatable(measured: Fleet, rows: list[Row]) -> None:
    methods = ["slev", "slev_shift_weighted", OURS]
    again = table1(measured, methods=methods)
    assert [row.as_json() for row in again] == [row.as_json() for row in rows if row.method in methods]


def test_method_without_its_data_stays_with_a_reason(synthetic: Fleet) -> None:
    short = synthetic.capacity[synthetic.capacity["cycle"] <= 100]
    mirror = Fleet(synthetic.cells, synthetic.voltage, synthetic.curve_cycles, synthetic.curves, short, synthetic.label)
    only = table1(mirror, methods=["sled", "always_high"])
    assert [row.correct for row in only] == [None, None, 61, 61]
    assert only[0].reason.startswith("Not applicable: SLED needs the capacity")
    errors = life_error_over_horizon(mirror, [5]).set_index("method")
    assert np.isnan(errors.loc["sled", "rmse"])
    assert np.isfinite(errors.loc["slev_regression", "rmse"])


def test_unknown_method_and_empty_filter_are_refused(synthetic: Fleet) -> None:
    with pytest.raises(UserError, match="no battery method “magic”"):
        table1(synthetic, methods=["magic"])
    with pytest.raises(UserError, match="raise the filter"):
        table1(synthetic, filter_below=100)


def test_controls_reach_the_methods(synthetic: Fleet) -> None:
    high = table1(synthetic, methods=["always_high"], threshold=1000)[0]
    assert high.correct == int((synthetic.split()[1].lives >= 1000).sum())
    later = [table1(synthetic, methods=["life_regression"], horizon=horizon)[0].correct for horizon in (5, 100)]
    assert later[1] is not None
    assert later[0] is not None
    assert later[1] > later[0]


def test_synthetic_table_shows_the_mechanism() -> None:
    tables = [table1(synthetic_fleet(seed), methods=["slev", "sled", "naive_bayes"]) for seed in range(2)]
    table = spread(tables).set_index(["method", "training"])
    assert (table["total"] == 83).all()
    assert (table.loc["sled", ["lowest", "highest"]] == 62).all().all()
    assert (table.loc["naive_bayes", "mean"] == 22).all()
    assert table.loc[("slev", "full"), "lowest"] >= 60
    assert table.loc[("slev", "filtered"), "lowest"] == 22


def test_life_errors_on_measured_cells(measured: Fleet) -> None:
    table = life_error_over_horizon(measured, [5, 50, 100]).set_index(["method", "horizon"])
    regression = table.loc["slev_regression"]
    assert regression.loc[5, "features"] == "ln var(Q5 - Q4)"
    assert regression.loc[100, "rmse"] < 0.6 * regression.loc[5, "rmse"]
    assert regression.loc[5, "rmse"] < table.loc[("off_policy_mean", 5), "rmse"]
    # What SLED does here: its lives run to the flat tail of the curve, far worse than the mean of the old lives.
    assert table.loc[("sled", 5), "rmse"] > 4 * table.loc[("off_policy_mean", 5), "rmse"]
    assert table.loc[("sled", 100), "rmse"] < 0.6 * table.loc[("sled", 5), "rmse"]
    assert (table["cells"] == 83).all()


def test_life_errors_are_seeded_and_do_not_look_ahead(synthetic: Fleet) -> None:
    first = life_error_over_horizon(synthetic, [10])
    later = synthetic.capacity["cycle"] > 11
    short_lived = synthetic.capacity.assign(qd_ah=synthetic.capacity["qd_ah"].where(~later, 0.95))
    curves = synthetic.curves.copy()
    curves[:, 3:] = curves[:, :1]
    test_cells = set(synthetic.split()[1].names)
    own = short_lived["cell"].isin(test_cells)
    changed = Fleet(
        synthetic.cells,
        synthetic.voltage,
        synthetic.curve_cycles,
        np.where(synthetic.cells["cell"].isin(test_cells).to_numpy()[:, None, None], curves, synthetic.curves),
        short_lived.where(own, synthetic.capacity),
        synthetic.label,
    )
    assert life_error_over_horizon(changed, [10]).equals(first)


def test_battery_code_starts_without_heavy_libraries() -> None:
    code = (
        "import sys, shortlong.methods.battery.table1, shortlong.methods.battery.horizon,"
        " shortlong.domains.battery.importer;"
        "print([name for name in ('torch', 'numba', 'streamlit', 'sklearn', 'h5py') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
