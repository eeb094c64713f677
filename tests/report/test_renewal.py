"""Renewing an item: only the methods whose version has changed are computed, and nothing is mixed that does not belong together."""

from dataclasses import replace

import pandas as pd
import pytest

from shortlong.compute import experiment
from shortlong.compute import shipped as gallery
from shortlong.core.errors import UserError
from shortlong.methods import METHODS
from shortlong.methods.extrapolation import LastReward
from shortlong.report import renewal, shipping

pytestmark = pytest.mark.heavy  # whole runs


@pytest.fixture
def made(tiny, store, tmp_path):
    """An item with all its results; the store forgets them."""
    experiment.run(tiny, store)
    item = shipping.make(store, tiny, "tiny-demo", tmp_path / "gallery")
    for key in {computation.key for computation in experiment.computations_of(tiny)}:
        store.remove(key)
    return item


@pytest.fixture
def raised(made, monkeypatch):
    """A new version of one method, which predicts one more than before."""
    card = METHODS["last_reward"]
    monkeypatch.setitem(METHODS, "last_reward", replace(card, version=card.version + 1))
    before = LastReward._predict
    monkeypatch.setattr(LastReward, "_predict", lambda self, test: before(self, test) + 1)


def rows(table, method, others=False):
    chosen = (table["method"] != method) if others else (table["method"] == method)
    return table[chosen].reset_index(drop=True)


@pytest.mark.usefixtures("raised")
def test_only_what_has_changed_is_computed(made, tiny, store):
    assert made.stale
    assert renewal.changed_methods(made) == ["last_reward"]
    experiment.run(tiny.changed({"methods": "last_reward"}), store)
    folder, values, metrics = made.entry.folder.parent, made.values(), made.metrics()
    item = renewal.renew(store, made, ["last_reward"], folder)
    assert item.stale is None
    pd.testing.assert_frame_equal(item.values().drop(columns="predicted"), values.drop(columns="predicted"))
    pd.testing.assert_frame_equal(rows(item.values(), "last_reward", True), rows(values, "last_reward", True))
    pd.testing.assert_frame_equal(rows(item.metrics(), "last_reward", True), rows(metrics, "last_reward", True))
    old, new = rows(values, "last_reward"), rows(item.values(), "last_reward")
    pd.testing.assert_series_equal(new["predicted"], old["predicted"] + 1, rtol=1e-6)
    assert (rows(item.metrics(), "last_reward")["bias"] > rows(metrics, "last_reward")["bias"] + 0.9).all()
    (told,) = item.entry.meta["renewed"]
    assert told["methods"] == {"last_reward": METHODS["last_reward"].version}
    assert told["instead_of"] == {"last_reward": METHODS["last_reward"].version - 1}
    assert gallery.names(folder) == ["tiny-demo"]


def test_what_is_current_needs_no_renewal(made, store):
    assert renewal.changed_methods(made) == []
    assert renewal.renew(store, made, []) is made


@pytest.mark.usefixtures("raised")
def test_another_truth_is_refused(made, tiny, store):
    results = experiment.run(tiny.changed({"methods": "last_reward"}), store)
    values = made.values().assign(true=made.values()["true"] * (1 + 1e-6))
    with pytest.raises(UserError, match=r"true values .* not those"):
        renewal.check_same_truth(made, values)
    assert results.predictions["true"].notna().all()


def test_a_change_of_settings_cannot_be_renewed(made):
    made.entry.meta["fingerprint"] = "other"
    with pytest.raises(UserError, match="as a whole"):
        renewal.changed_methods(made)


def test_a_method_that_the_preset_has_got_is_added(made, tiny, store):
    """Its results and its back-test come from the store; those of all others stay as they were."""
    wanted = tiny.changed({"methods": ",".join((*tiny.methods, "surrogate_index"))})
    assert "surrogate_index" not in tiny.methods
    assert renewal.methods_to_run(made, wanted) == ["surrogate_index"]
    experiment.run(wanted.changed({"methods": "surrogate_index"}), store, leave="policy")
    folder, values = made.entry.folder.parent, made.values()
    item = renewal.renew(store, renewal.grown(made, wanted), ["surrogate_index"], folder, judged=["surrogate_index"])
    assert (item.stale, item.made_for, item.is_whole) == (None, wanted, True)
    pd.testing.assert_frame_equal(rows(item.values(), "surrogate_index", True), values)
    assert set(rows(item.values(), "surrogate_index")["policy"]) == set(values["policy"])
    assert "surrogate_index" in item.calibration("policy").methods
    assert item.entry.meta["back_test"]["versions"] == {"surrogate_index": METHODS["surrogate_index"].version}
    assert "surrogate_index" not in renewal.methods_to_judge(item, wanted)
    assert renewal.methods_to_run(item, wanted) == []


def test_more_than_an_added_method_is_refused(made, tiny):
    for change in ({"horizons": "1"}, {"data.seed": "5"}, {"methods": tiny.methods[0]}):
        with pytest.raises(UserError, match="more than added methods"):
            renewal.grown(made, tiny.changed(change))


@pytest.fixture
def judged(tiny, store, tmp_path):
    experiment.run(tiny, store, leave="policy")
    return shipping.make(store, tiny, "tiny-demo", tmp_path / "gallery")


def test_a_back_test_of_an_earlier_version_is_not_kept(judged, tiny, store, monkeypatch):
    """A renewed method is judged again; without that its old back-test goes."""
    card = METHODS["last_reward"]
    monkeypatch.setitem(METHODS, "last_reward", replace(card, version=card.version + 1))
    assert renewal.methods_to_judge(judged, tiny) == ["last_reward"]
    experiment.run(tiny.changed({"methods": "last_reward"}), store)
    before = judged.calibration("policy").held_out
    item = renewal.renew(store, judged, ["last_reward"], judged.entry.folder.parent)
    after = item.calibration("policy")
    assert "last_reward" not in after.methods
    pd.testing.assert_frame_equal(
        rows(before, "last_reward", True).astype({"method": str}), after.held_out.astype({"method": str})
    )
    assert renewal.methods_to_judge(item, tiny) == ["last_reward"]
    experiment.back_test(tiny.changed({"methods": "last_reward"}), store)
    again = renewal.renew(store, item, [], item.entry.folder.parent, judged=["last_reward"])
    assert "last_reward" in again.calibration("policy").methods
    assert renewal.methods_to_judge(again, tiny) == []
    pd.testing.assert_frame_equal(again.values(), item.values())
