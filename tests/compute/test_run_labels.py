"""Names, notes and stars of runs: kept beside the results, whole or not at all, gone with the run."""

import pytest

from shortlong.compute import experiment
from shortlong.compute.run_labels import FOLDER, LONGEST_NAME, RunLabel, read_labels, write_label
from shortlong.compute.saved_runs import delete_run, saved_runs
from shortlong.core.errors import UserError


def test_a_label_is_read_back_replaced_and_removed(store):
    write_label(store, "a1", RunLabel("mine", "for Tuesday", True))
    write_label(store, "shipped-hiv-demo", RunLabel(star=True))
    assert read_labels(store) == {"a1": RunLabel("mine", "for Tuesday", True), "shipped-hiv-demo": RunLabel(star=True)}
    write_label(store, "a1", RunLabel("yours"))
    assert read_labels(store)["a1"] == RunLabel("yours")
    write_label(store, "a1", RunLabel())
    assert set(read_labels(store)) == {"shipped-hiv-demo"}
    assert [file.name for file in (store.root / FOLDER).iterdir()] == ["shipped-hiv-demo.json"], "nothing is left over"


@pytest.mark.parametrize("key", ["../outside", "", ".hidden", "a/b", "x" * 200])
def test_no_key_leads_out_of_the_folder(store, key):
    with pytest.raises(UserError, match="cannot have a name"):
        write_label(store, key, RunLabel("x"))


def test_too_long_a_name_is_refused(store):
    with pytest.raises(UserError, match="at most"):
        write_label(store, "a1", RunLabel("x" * (LONGEST_NAME + 1)))


@pytest.mark.parametrize("content", ["", "[]", '{"name": "x"}', "{"])
def test_a_damaged_label_counts_as_none(store, content):
    write_label(store, "a1", RunLabel("mine"))
    (store.root / FOLDER / "a1.json").write_text(content)
    assert read_labels(store) == {}


def test_deleting_a_run_deletes_its_label(store, tiny):
    experiment.run(tiny, store)
    (run,) = saved_runs(store)
    write_label(store, run.key, RunLabel("mine"))
    delete_run(run, [run], store)
    assert read_labels(store) == {}
