"""Changes of the set-up: each alone, checked on every statement, kept, and said in words that claim no more than was tried."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from shortlong.cli.main import app
from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.paper.cause_and_effect import NUMBERS, effect, lines, markdown
from shortlong.paper.claims import CLAIMS, check_all
from shortlong.paper.differences import (
    AS_PRINTED,
    MORE_THAN_STEPS,
    SMALLEST_PRINTED,
    as_fitted_q,
    per_unit,
    trials,
    within_range,
)
from shortlong.paper.evidence import Evidence, Measured
from shortlong.paper.outcome import Outcome
from shortlong.paper.page import markdown as page
from shortlong.paper.plan import PARTS, Plan
from shortlong.paper.reasons import changes_tried
from shortlong.paper.run import run, run_differences
from shortlong.paper.tried import SHIPPED, Differences, Errors, Tried, as_json, errors_of, from_json, kept
from shortlong.scenario import Scenario
from shortlong.scenario.presets import preset
from tests.conftest import TINY_HIV
from tests.paper.handmade import HIV_TRUE, hiv, kidney
from tests.paper.test_page import ORIGIN
from tests.paper.test_run import TINY_KIDNEY
from tests.saying import one_says, says

BY_KEY = {claim.key: claim for claim in CLAIMS}
NOT_MET = Outcome("not reproduced", "no")


def tried(key: str, title: str, family: str = "", **verdicts: tuple[str, str]) -> Tried:
    """A change with (verdict without it, verdict with it) by statement."""
    before, after = ({claim.replace("_", "-"): pair[i] for claim, pair in verdicts.items()} for i in (0, 1))
    numbers = Errors({"slev": 147.0, "fqe": 264.0, "off_policy_mean": 178.0}, 1.0, 464.0, 0.3)
    return Tried(key, title, family, {"hiv": numbers}, before, after, list(after), False)  # type: ignore[arg-type]


NO, YES = "not reproduced", "reproduced"
FOUND = Differences(
    "key",
    {"hiv": Errors({"slev": 147.0, "fqe": 118.0, "off_policy_mean": 178.0}, 1.0, 464.0, 0.65)},
    {},
    (
        tried("a", "0.995", f"{AS_PRINTED} with a discount of", hiv_fqe=(NO, NO), hiv_small=(NO, NO)),
        tried("b", "0.99", f"{AS_PRINTED} with a discount of", hiv_fqe=(NO, YES), hiv_small=(NO, NO)),
        tried("c", "0.98", f"{AS_PRINTED} with a discount of", hiv_fqe=(NO, YES), fqe_alarm=(YES, NO)),
        tried("d", "other patients", hiv_fqe=(YES, YES), hiv_small=(NO, NO)),
    ),
    62.0,
    "a machine",
    "a command",
)


# --- the changes ------------------------------------------------------------------------------------------------------
def test_every_change_is_made_alone_and_asks_for_what_it_needs() -> None:
    planned = trials(preset("hiv-paper"), preset("kidney-paper"))
    keys = [change.key for change in planned.changes]
    assert len(set(keys)) == len(keys)
    by_key = {change.key: change for change in planned.changes}
    printed = by_key["discount-0.99"].needs
    assert {s.settings["fqe_printed"]["discount"] for s in printed.values()} == {0.99}
    assert {s.settings["fqe_printed"]["updates"] for s in printed.values()} == {SMALLEST_PRINTED}
    steps = {domain: s.settings["fqe_printed"]["updates"] for domain, s in by_key["printed-steps"].needs.items()}
    assert steps == {"hiv": 200, "kidney": 30}
    control = by_key["base"].control["hiv"]
    assert by_key["base"].needs["hiv"].differences(control) == {"data.parameters": ("base", "instance-20")}
    assert by_key["weaker"].needs["hiv"].differences(control) == {"data.learning_patients": ("3", "30")}
    assert all(len(s.seeds) == 1 for s in planned.scenarios)
    assert {"slev", "fqe", "off_policy_mean"} <= set(control.methods)
    assert "cohort_slev" not in control.methods, "the paper's methods alone"


def test_full_size_has_a_smaller_run_as_its_measure_and_the_quick_one_its_own_results() -> None:
    full, quick = (trials(preset(f"hiv-{size}"), preset(f"kidney-{size}")) for size in ("paper", "demo"))
    first = full.changes[0]
    assert first.control["hiv"].data == preset("hiv-standard").data == first.needs["hiv"].data
    assert first.needs["kidney"].data == preset("kidney-paper").data
    assert not quick.changes[0].control
    most = [s.settings["fqe_printed"]["updates"] for c in quick.changes if "printed" in c.key for s in c.needs.values()]
    assert max(most) == MORE_THAN_STEPS


def test_key_follows_what_the_outcome_depends_on() -> None:
    demo = trials(preset("hiv-demo"), preset("kidney-demo"))
    assert demo.key == trials(preset("hiv-demo"), preset("kidney-demo")).key
    more = preset("hiv-demo").changed({"methods": "slev,fqe,cohort_slev"})
    assert trials(more, preset("kidney-demo")).key != demo.key, "other methods of the paper"
    ours = preset("hiv-demo").changed({"settings.cohort_slev.trees": "41"})
    assert trials(ours, preset("kidney-demo")).key == demo.key, "a method of ours has no part in it"


def test_printed_fitted_q_takes_the_place_of_ours_at_every_horizon() -> None:
    now = hiv()
    other = hiv(errors={"fqe_printed": 264.0}, said={"fqe_printed": (90.0,) * 5})
    changed = as_fitted_q(now, other)
    assert changed is not None
    assert set(changed.errors["fqe"].values()) == {264.0}
    assert changed.errors["slev"] == now.errors["slev"]
    assert set(changed.methods) == set(now.methods)
    assert set(changed.values[changed.values["method"] == "fqe"]["predicted"]) == {90.0}
    assert as_fitted_q(now, now) is None, "without results of the printed recipe"


def test_errors_per_patient_and_within_the_range() -> None:
    now = hiv()
    assert per_unit(now, None) is None, "these results have no errors per patient"
    given = Evidence(now.results)
    given.results.metrics["rmse_unit"] = given.results.metrics["rmse_policy"] + 1
    changed = per_unit(given, None)
    assert changed is not None
    assert changed.errors["fqe"] == {h: e + 1 for h, e in given.errors["fqe"].items()}
    inside = within_range(hiv(history=np.linspace(50.0, 260.0, 11)), None)
    assert inside is not None
    assert sorted(inside.values["true"].unique()) == [v for v in HIV_TRUE if 50 <= v <= 260]
    assert within_range(hiv(history=np.array([1.0, 2.0])), None) is None, "nothing is left"


def test_errors_of_a_domain() -> None:
    found = errors_of(hiv())
    assert found.errors == {"slev": 40.0, "fqe": 140.0, "off_policy_mean": 120.0}
    assert (found.lowest, found.highest) == (HIV_TRUE[0], HIV_TRUE[-1])
    assert found.example_share == pytest.approx(201.7 / 313.7)
    assert errors_of(kidney()).example_share is None


# --- what is said -------------------------------------------------------------------------------------------------------
def test_sufficient_and_not() -> None:
    assert [c.key for c in FOUND.sufficient("hiv-fqe")] == ["b", "c"], "not what holds without the change too"
    assert [c.key for c in FOUND.not_sufficient("hiv-fqe")] == ["a"]
    small = replace(FOUND, tried=tuple(replace(c, smaller=True) for c in FOUND.tried))
    assert [c.key for c in small.undecided("hiv-fqe")] == ["d"], "it holds in the smaller run without the change"
    assert FOUND.undecided("hiv-fqe") == []
    assert says(
        changes_tried(small, BY_KEY["hiv-fqe"], NOT_MET), "Would suffice", "holds without any change", "other patients"
    )
    assert effect(FOUND.tried[2]) == (["hiv-fqe"], ["fqe-alarm"])


def test_words_say_would_suffice_and_name_what_would_not() -> None:
    sentence = changes_tried(FOUND, BY_KEY["hiv-fqe"], NOT_MET)
    assert says(sentence, "would suffice", "0.99 or 0.98", "would not suffice", "0.995")
    none = changes_tried(FOUND, BY_KEY["hiv-small"], NOT_MET)
    assert says(none, "none", "would suffice", "0.995 or 0.99", "other patients")
    assert says(changes_tried(FOUND, BY_KEY["limit"], NOT_MET), "none", "affects")
    assert changes_tried(FOUND, BY_KEY["hiv-fqe"], Outcome("reproduced", "")) == ""
    assert changes_tried(None, BY_KEY["hiv-fqe"], NOT_MET) == ""
    said = " ".join([*lines(FOUND, [(BY_KEY["hiv-fqe"], NOT_MET)]), *markdown(FOUND)])
    assert "explain" not in said


def test_section_of_the_document() -> None:
    text = "\n".join(markdown(FOUND))
    place = NUMBERS["hiv-fqe"]
    assert one_says(text, "discount of 0.99", "| 147 / 264 / 178 |", f"| {place} | none |")
    assert f"| {place} | {NUMBERS['fqe-alarm']} |" in text
    assert says(
        text,
        "a command",
        "0.64 of the true value",
        "0.65 as it is",
        "0.30 with a discount of 0.995",
        "0.30 with a discount of 0.99",
    )
    assert markdown(None) == []


def test_statements_of_the_page_say_what_was_tried() -> None:
    measured = Measured(hiv(errors={"fqe": 10.0}), kidney(), differences=FOUND)
    text = page("own", measured, check_all(measured, PARTS), [], ORIGIN, "paper", "No pictures.")
    assert one_says(text, "changes tried", "would suffice", "0.99 or 0.98")
    assert text.index("## Which change would suffice") < text.index("## Where and why")


# --- kept ---------------------------------------------------------------------------------------------------------------
def test_record_survives_json() -> None:
    assert as_json(from_json(as_json(FOUND))) == as_json(FOUND)
    assert from_json(as_json(FOUND)).sufficient("hiv-fqe")[0].name == FOUND.tried[1].name


def test_shipped_record_is_that_of_the_full_size() -> None:
    found = kept(preset("hiv-paper"), preset("kidney-paper"), Store())
    assert found is not None, (
        f"make it again: paper --only differences --size paper --shipped, then copy to {SHIPPED.name}"
    )
    assert {change.key for change in found.tried} >= {"discount-0.99", "printed-steps", "base", "weaker", "unit-error"}
    assert all(set(change.verdicts) <= set(BY_KEY) for change in found.tried)
    assert kept(preset("hiv-demo"), preset("kidney-demo"), Store()) is None, "a record speaks for its own results only"


SMALL_HIV = {**TINY_HIV, "methods": ["mean_reward", "last_reward", "off_policy_mean", "fqe"]}
SMALL_KIDNEY = {**TINY_KIDNEY, "methods": ["mean_reward", "last_reward", "off_policy_mean", "fqe"]}
FEW = {"fqe": {"size": "demo", "trees": 2, "batch": 200}}


@pytest.mark.heavy
def test_run_keeps_what_it_found_and_resumes(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shortlong.paper.differences.MORE_THAN_STEPS", 31)
    monkeypatch.setattr("shortlong.paper.differences.QUICK_TREES", 2)
    monkeypatch.setenv("BROWSER_PATH", "no browser")
    plan = Plan(("figure2",), *(Scenario.build({**c, "settings": FEW}) for c in (SMALL_HIV, SMALL_KIDNEY)))
    written = run_differences(plan, store, tmp_path, "the command")
    changes = {c.key: c for c in written.found.tried}
    assert {"printed-steps", "discount-0.98", "unit-error", "base", "weaker"} <= set(changes)
    assert set(changes["base"].verdicts) == {c.key for c in CLAIMS if c.domain in ("hiv", "both")}
    assert json.loads((tmp_path / "paper" / "differences.json").read_text("utf-8"))["key"] == written.found.key
    assert "the command" in written.page.read_text("utf-8")
    assert plan.hiv is not None
    assert plan.kidney is not None
    assert as_json(kept(plan.hiv, plan.kidney, store) or FOUND) == as_json(written.found)
    assert all(not experiment.missing_computations(s, store) for s in trials(plan.hiv, plan.kidney).scenarios)
    again = run_differences(plan, store, tmp_path, "the command")
    assert as_json(again.found) == as_json(written.found)
    whole = run(plan, "own", store, tmp_path, "command")
    assert "## Which change would suffice" in whole.page.read_text("utf-8"), "the page of the paper shows it"
    words = ["paper", "--only", "differences", "--progress", "none", "--jobs", "1", "--out", str(tmp_path / "typed")]
    for name, scenario in (("hiv", plan.hiv), ("kidney", plan.kidney)):
        (tmp_path / f"{name}.yaml").write_text(scenario.to_yaml(), encoding="utf-8")
        words += [f"--{name}", str(tmp_path / f"{name}.yaml")]
    typed = CliRunner().invoke(app, words)
    assert typed.exit_code == 0, typed.output
    assert says(typed.output, "As it is", "Fitted Q as printed", "would hold", "would no longer hold", "Report")
    as_data = CliRunner().invoke(app, [*words, "--json"])
    assert json.loads(as_data.output)["key"] == written.found.key
