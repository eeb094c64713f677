"""The example of one's own data comes with all its results, as today's code would compute them."""

import zipfile

from shortlong.compute.back_test import missing_back_tests
from shortlong.compute.computations import missing_computations
from shortlong.compute.example_results import NAME, PACK, example_file, unpack_example
from shortlong.compute.policy_weights import missing_ratios
from shortlong.compute.results import open_results
from shortlong.compute.store import Store
from shortlong.domains.table import versions
from shortlong.scenario import load_scenario

MOST_BYTES = 1_000_000
REMAKE = "make it again: python -m docs.make_example"


def test_the_example_opens_with_everything_computed(store: Store) -> None:
    unpack_example(store)
    scenario = load_scenario(NAME)
    assert missing_computations(scenario, store) == [], REMAKE
    assert missing_back_tests(scenario, store, "policy") == [], REMAKE
    assert missing_ratios(scenario, store) == [], REMAKE
    results = open_results(scenario, store)
    assert results is not None
    assert not results.has_truth
    assert {"slev", "cohort_slev", "surrogate_index", "blend"} <= set(results.methods)
    assert store.verify()[1] == []
    unpack_example(store)
    assert len(versions(NAME, store.root)) == 1


def test_it_is_small_and_holds_nothing_that_could_be_executed() -> None:
    assert PACK.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(PACK) as pack:
        endings = {name.rpartition(".")[2] for name in pack.namelist()}
        assert endings == {"csv", "content", "json", "npz", "parquet"}
        assert not any(name.startswith("/") or ".." in name for name in pack.namelist())
    assert example_file().startswith(b"policy,unit,step")
