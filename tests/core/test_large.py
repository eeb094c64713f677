"""Arrays beyond the limit live in a file without a name, and hold the same numbers."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from shortlong.compute.dataset import load_dataset
from shortlong.compute.experiment import run, simulate
from shortlong.compute.mapping import mapped_arrays
from shortlong.compute.store import Store
from shortlong.core import large
from shortlong.core.errors import UserError
from shortlong.scenario import Scenario


@pytest.fixture
def no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(large.LIMIT_VARIABLE, "1e-9")


def test_the_same_numbers_in_a_file(no_memory, home: Path) -> None:
    parts = [np.arange(6.0).reshape(2, 3), np.ones((4, 3))]
    assert np.array_equal(large.joined(parts), np.concatenate(parts))
    rows = np.array([4, 0, 0, 5])
    assert np.array_equal(large.taken(large.joined(parts), rows), np.concatenate(parts)[rows])
    assert list((home / "temporary").iterdir()) == [], "nothing that a kill could leave behind"


def test_a_limit_that_is_no_number_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(large.LIMIT_VARIABLE, "much")
    with pytest.raises(UserError, match="number of gigabytes"):
        large.empty((2,), np.float32)


def test_predictions_do_not_depend_on_where_the_histories_live(
    tiny: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_memory = run(tiny, Store(tmp_path / "one"), leave="policy")
    monkeypatch.setenv(large.LIMIT_VARIABLE, "1e-9")
    in_files = run(tiny, Store(tmp_path / "two"), leave="policy")
    assert in_files.predictions.equals(in_memory.predictions)


def test_mapped_arrays_are_those_of_the_file(tmp_path: Path) -> None:
    arrays = {
        "a/b": np.arange(10, dtype=np.float32).reshape(2, 5),
        "none": np.empty((0, 3)),
        "f": np.asfortranarray(np.eye(3)),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", **arrays)
        found = mapped_arrays(tmp_path / "x.npz")
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            assert np.array_equal(found[name], array)
            assert found[name].dtype == array.dtype


def test_reading_histories_never_holds_them_twice(tiny: Scenario, store: Store) -> None:
    larger = tiny.changed({"data.patients": "400"})
    simulate(larger, store)
    load_dataset(store, larger.data)  # whatever is loaded only once
    tracemalloc.start()
    try:
        data = load_dataset(store, larger.data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    sides = (data.train, data.test)
    assert peak < 1.5 * sum(a.nbytes for side in sides for a in (side.states, side.actions, side.rewards))
