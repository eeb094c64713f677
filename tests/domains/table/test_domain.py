"""A data set as a scenario, and the proof: an exported simulation that is added back gives the same predictions."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlong.compute.dataset import load_dataset, simulate_part
from shortlong.compute.left_out import folds_of, why_no_back_test
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.core.trajectories import Trajectories, concatenate
from shortlong.domains import DOMAINS
from shortlong.domains.base import offers_of
from shortlong.domains.table import TableSettings, add, check, export_table, find, read_any
from shortlong.methods import METHODS, why_not
from shortlong.scenario import Scenario, load_scenario
from shortlong.scenario.tables import horizons_of
from tests.conftest import TINY_HIV
from tests.domains.table.broken import outcome, rollouts
from tests.domains.table.tables import as_csv, codes, export_choices, report_of, trial
from tests.saying import says

HIV_REWARD = "(1000.0*`state_immune effectors` - 0.1*`state_free virus`)/1e8"
SMALL_KIDNEY = {
    "domain": "kidney",
    "train": {"policies": 6},
    "test": {"policies": 3},
    "patients": 4,
    "rollouts": 2,
    "recorded_steps": 30,
}
QUICK = {
    "slev": {"size": "demo"},
    "slev_pooled": {"size": "demo"},
    "slev_doubly_robust": {"size": "demo"},
    "sled": {"size": "demo"},
    "cohort_slev": {"folds": 2, "trees": 5},
}


def test_a_data_set_works_like_a_preset() -> None:
    content = add(report_of(trial()), "mine")
    scenario = load_scenario("mine")
    assert scenario.data == TableSettings(name="mine", content=content)
    assert scenario.horizons == (1, 2, 3)
    assert {"slev", "cohort_slev", "mean_reward", "last_reward", "off_policy_mean"} <= set(scenario.methods)
    assert not {"sled", "fqe", "online_dynamics"} & set(scenario.methods)
    assert scenario.to_command() == "python -m shortlong run mine"
    assert Scenario.from_parameters(scenario.to_parameters()) == scenario
    assert Scenario.from_yaml(scenario.to_yaml()) == scenario
    changed = scenario.changed({"horizons": "2"})
    assert changed.to_parameters() == {"preset": "mine", "data.content": content, "horizons": "2"}


@pytest.mark.parametrize(
    ("eras", "order"),
    [
        (["1890", "1890", "1900", "1900", "1910", "1910"], [1890.0, 1890.0, 1900.0, 1900.0, 1910.0, 1910.0]),
        (["2021-05-01", "2021-05-01", "2021-05-02", "2021-05-02", "2022-01-01", "2022-01-01"], None),
    ],
)
def test_families_and_eras_of_a_table_are_left_out_together(eras: list[str], order: list[float] | None) -> None:
    table = trial(old=6)
    pairs = {name: number // 2 for number, name in enumerate("ABCDEF")}
    table["family"] = [f"pair {pairs[name]}" if name in pairs else "" for name in table["policy"]]
    table["era"] = [dict(zip("ABCDEF", eras, strict=True)).get(name, "") for name in table["policy"]]
    report = report_of(table)
    assert not codes(report)
    assert "era-unclear" not in codes(report, "warning")
    add(report, "mine")
    settings, domain, labels = load_scenario("mine").data, DOMAINS["table"], list("ABCDEF")
    times = [domain.era_of(settings, name) for name in labels]
    assert times == order if order else times == sorted(times) and len(set(times)) == 3  # type: ignore[type-var]
    folds = folds_of(domain, settings, labels, "family", folds=3)
    assert sorted(fold.judged for fold in folds) == [(0, 1), (2, 3), (4, 5)]
    assert all(not set(fold.judged) & set(fold.learned) for fold in folds)
    later = folds_of(domain, settings, labels, "era", folds=3)
    assert later
    assert all(max(fold.learned) < min(fold.judged) for fold in later)


def test_eras_without_an_order_get_a_warning_and_cannot_be_left_out() -> None:
    table = trial(old=6)
    table["era"] = np.where(table["policy"] < "D", "before the war", "after the war")
    report = report_of(table)
    assert "era-unclear" in codes(report, "warning")
    add(report, "mine")
    why = why_no_back_test(DOMAINS["table"], load_scenario("mine").data, list("ABCDEF"), "era")
    assert why is not None
    assert says(why, "each policy", "came into use")


def test_an_older_content_stays_usable() -> None:
    first = add(report_of(trial(seen=3)), "mine")
    older = load_scenario("mine")
    add(report_of(trial(seen=5)), "mine")
    assert load_scenario("mine").data.content != first  # type: ignore[union-attr]
    assert Scenario.from_parameters(older.to_parameters()).data == older.data


def test_a_data_set_that_is_not_here_gets_a_sentence() -> None:
    content = {"data": {"domain": "table", "name": "mine", "content": "0" * 20}, "horizons": [2], "methods": ["slev"]}
    with pytest.raises(UserError, match="data add FILE --name mine"):
        Scenario.build(content)
    with pytest.raises(UserError, match="no data set or file"):
        load_scenario("nobody")
    with pytest.raises(UserError, match="20-digit"):
        Scenario.build({**content, "data": {"domain": "table", "name": "mine", "content": "../../etc"}})


@pytest.mark.parametrize(
    ("make", "choices", "withheld"),
    [
        (trial, {}, {"several_rollouts", "reward_of_states"}),
        (trial, {"formula": "state_level"}, {"several_rollouts"}),
        (rollouts(False), {}, {"reward_of_states"}),
        (outcome(False), {}, {"several_rollouts", "reward_of_states", "rewards"}),
        (outcome(False), {"formula": "state_level"}, {"several_rollouts", "reward_of_states", "rewards"}),
        (lambda: trial().drop(columns="state_level"), {}, {"several_rollouts"}),
    ],
)
def test_what_a_table_offers(make: Any, choices: dict[str, Any], withheld: set[str]) -> None:
    content = add(report_of(make(), **choices), "mine")
    settings = TableSettings(name="mine", content=content)
    assert DOMAINS["table"].offers - offers_of(DOMAINS["table"], settings) == withheld
    assert ("sled" in load_scenario("mine").methods) == ("reward_of_states" not in withheld)


def test_sizes_are_those_of_the_episodes(store: Store) -> None:
    add(report_of(trial()), "mine")
    settings = load_scenario("mine").data
    for part in DOMAINS["table"].parts(settings):
        simulate_part(str(store.root), settings, part)
    data, sizes = load_dataset(store, settings), DOMAINS["table"].sizes(settings)
    assert len(data.train.labels) == sizes["train_policies"] == 10
    assert len(data.test.labels) == sizes["test_policies"] == 2
    assert sizes["units"] == 5
    assert isinstance(data.train, Trajectories)
    assert data.train.system.steps == sizes["steps"] == 8
    assert data.train.dim == sizes["dim"] == 1


def test_horizons_go_as_far_as_most_new_policies() -> None:
    assert horizons_of({"steps": 74, "prefixes": {}}) == [10, 15, 20, 30, 37]
    assert horizons_of({"steps": 200, "prefixes": {"a": 20, "b": 18, "c": 2}}) == [5, 8, 10, 15, 18]
    assert horizons_of({"steps": 5, "prefixes": {"a": 1}}) == [1]


def simulation(name: str, content: dict[str, Any]) -> tuple[Trajectories, Trajectories]:
    settings = Scenario.build({"data": content, "horizons": [3], "methods": ["mean_reward"]}).data
    sides: dict[str, list[Any]] = {"train": [], "test": []}
    for part in DOMAINS[name].parts(settings):
        sides[part.role].append(DOMAINS[name].simulate(settings, part))
    return concatenate(sides["train"]), concatenate(sides["test"])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("name", "content", "formula"),
    [
        pytest.param("hiv", TINY_HIV["data"], HIV_REWARD, id="hiv", marks=pytest.mark.slow),
        pytest.param("kidney", SMALL_KIDNEY, "", id="kidney"),
    ],
)
def test_an_exported_simulation_comes_back_bit_for_bit(
    name: str, content: Any, formula: str, kind: str, tmp_path: Path
) -> None:
    train, test = simulation(name, content)
    table, file = export_table(train, test), tmp_path / f"table.{kind}"
    if kind == "csv":
        file.write_bytes(as_csv(table))
    else:
        table.to_parquet(file, index=False)
    report = check(read_any(file), None, export_choices(train.system, formula))
    assert report.ok, report.errors
    settings = TableSettings(name="mine", content=add(report, "mine"))
    domain = DOMAINS["table"]
    back = [domain.simulate(settings, part) for part in domain.parts(settings)]
    for runs, again in zip((train, test), back, strict=True):
        assert isinstance(again, Trajectories)
        for field in ("states", "actions", "rewards", "policy", "unit", "labels"):
            assert np.array_equal(getattr(runs, field), getattr(again, field)), field
        assert again.lengths is None
    if kind == "csv":
        return
    offers = offers_of(domain, settings)
    applicable = [method for method, card in METHODS.items() if why_not(card, offers) is None]
    assert ("sled" in applicable) == bool(formula)
    for method in applicable:
        make = METHODS[method].load()
        predicted = [
            make(seed=0, **QUICK.get(method, {})).fit(a, b.prefix(3)).predict(b.prefix(3))
            for a, b in ((train, test), back)
        ]
        assert predicted[0].tobytes() == predicted[1].tobytes(), method


def test_a_shorter_export_is_a_prefix() -> None:
    train, test = simulation("hiv", TINY_HIV["data"])
    report = check(read_any(export_table(train, test, observed=5)), None, export_choices(train.system))
    settings = TableSettings(name="mine", content=add(report, "mine"))
    again: Any = DOMAINS["table"].simulate(settings, DOMAINS["table"].parts(settings)[1])
    assert np.array_equal(again.prefix(5).states, test.prefix(5).states)
    assert np.isnan(again.returns).all()
    assert find("mine").about["facts"]["prefixes"] == dict.fromkeys(test.labels, 5)
