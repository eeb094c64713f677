"""Which scenarios the parts need."""

from pathlib import Path

import pytest

from shortlong.compute import shipped as gallery
from shortlong.compute.experiment import computations_of
from shortlong.core.errors import UserError
from shortlong.paper.plan import PAPER_METHODS, PARTS, example_horizon, plan, small_horizons
from shortlong.scenario.presets import preset


def test_all_parts_ask_for_the_presets_and_both_trainings() -> None:
    found = plan("paper")
    assert found.parts == PARTS
    assert (found.hiv, found.kidney) == (preset("hiv-paper"), preset("kidney-paper"))
    assert found.hiv is not None
    assert found.hiv.seeds == (0, 1, 2)
    assert [s.data.seed for s in found.full] == [s.data.seed for s in found.filtered] == [0, 1, 2, 3, 4]
    assert {s.data.model_dump()["filter_below"] for s in found.full} == {0.0}
    assert {s.data.model_dump()["filter_below"] for s in found.filtered} == {700.0}
    assert {s.horizons for s in (*found.full, *found.filtered)} == {(5,)}


def test_a_part_alone_asks_only_for_what_it_shows() -> None:
    safety, table, examples = (plan("demo", [part]) for part in ("figure3", "table1", "examples"))
    assert [s.data.domain for s in safety.scenarios] == ["hiv"]
    assert {s.data.domain for s in table.scenarios} == {"battery"}
    assert examples.hiv is not None
    assert examples.kidney is not None
    assert (examples.hiv.horizons, examples.kidney.horizons) == ((20,), (2,))
    whole = {computation.key for computation in computations_of(preset("hiv-demo"))}
    assert {c.key for c in computations_of(examples.hiv)} < whole, "the results are those of the whole figure"


def test_examples_alone_ask_for_what_is_shipped_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = plan("demo", ["examples"], shipped=True)
    assert (found.hiv, found.kidney) == (preset("hiv-demo"), preset("kidney-demo"))
    monkeypatch.setattr(gallery, "FOLDER", tmp_path)
    assert plan("demo", ["examples"], shipped=True) == plan("demo", ["examples"]), "else only for what they show"


def test_measured_cells_are_one_fleet() -> None:
    found = plan("paper", ["table1"], data="/somewhere")
    assert [s.data.model_dump()["source"] for s in found.scenarios] == ["/somewhere", "/somewhere"]


def test_seeds_and_other_scenarios() -> None:
    found = plan("demo", ["figure2"], seeds="4,5", kidney="kidney-standard")
    assert found.hiv is not None
    assert found.hiv.seeds == (4, 5)
    assert found.kidney == preset("kidney-standard").changed({"seeds": "4,5"})


def test_quick_search_changes_slev_alone() -> None:
    usual, quick = plan("paper", ["figure2"]), plan("paper", ["figure2"], search="quick")
    for before, after in zip(usual.scenarios, quick.scenarios, strict=True):
        assert after.differences(before) == {"settings.slev.search": ("quick", None)}


def test_a_scenario_of_the_wrong_domain_is_refused() -> None:
    with pytest.raises(UserError, match=r"kidney-demo .* kidney; .* hiv"):
        plan("demo", hiv="kidney-demo")


def test_examples_without_their_methods_are_refused() -> None:
    from shortlong.paper.plan import only_example

    with pytest.raises(UserError, match="one of the methods"):
        only_example(preset("hiv-demo").changed({"methods": "off_policy_mean"}))


def test_horizons_of_the_paper() -> None:
    hiv, kidney = preset("hiv-paper"), preset("kidney-paper")
    assert (example_horizon(hiv), example_horizon(kidney)) == (20, 2)
    assert small_horizons(hiv, hiv.horizons) == [5, 10, 15, 20]
    assert small_horizons(kidney, kidney.horizons) == [1, 2, 3]
    assert small_horizons(hiv, [50, 30]) == [30], "at least the first"


def test_the_papers_methods_alone() -> None:
    planned = plan("paper", ["figure2"], methods="paper")
    for scenario in planned.scenarios:
        assert set(scenario.methods) == set(PAPER_METHODS)
