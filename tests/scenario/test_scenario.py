"""One object in four forms: the scenario survives every way round, has a stable key, and explains what is wrong."""

import json
import random
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from shortlong.cli.options import scenario_of as from_command_line
from shortlong.core.errors import UserError
from shortlong.domains.hiv.domain import ACTION_ORDER
from shortlong.scenario import Scenario, load_scenario
from shortlong.scenario.presets import PRESETS, preset
from shortlong.scenario.scenario import _scalar as value_of_word


def random_scenario(number: int) -> Scenario:
    """Some valid scenario; every number gives another one."""
    draw = random.Random(number)
    steps = draw.choice([30, 200, 1000])
    data = {
        "parameters": draw.choice(["instance-20", "base"]),
        "train_actions": draw.sample(ACTION_ORDER, draw.randint(1, 4)),
        "test_actions": draw.sample(ACTION_ORDER, draw.randint(1, 4)),
        "train_discounts": [draw.choice([draw.random(), 0.98, 0, 1e-7]) for _ in range(draw.randint(1, 4))],
        "rounds": draw.randint(1, 50),
        "patients": draw.randint(2, 5000),
        "steps": steps,
        "perturbation": draw.choice([0, 1e-5, 0.6, draw.random()]),
        "exploration": draw.choice([0, 1, draw.random()]),
        "seed": draw.choice([0, draw.randrange(2**40)]),
    }
    kept = {name: value for name, value in data.items() if name == "steps" or draw.random() < 0.6}
    possible = {
        "slev": {"size": ["demo", "paper"], "race": [True, False], "weights": ["none", "density_ratio"]},
        "sled": {
            "adapter": ["rank 1", "scale and shift", "none"],
            "margin": [0, 1e-05, 100, 2.5],
            "adapter_folds": [2],
        },
        "online_dynamics": {"hidden": ["auto", "20-10", "1", "007"], "margin": [0, 0.0, 1]},
    }
    settings = {
        method: {name: draw.choice(values) for name, values in possible[method].items() if draw.random() < 0.6}
        for method in draw.sample(sorted(possible), draw.randint(0, 3))
    }
    return Scenario.build(
        {
            "preset": draw.choice([*(name for name in PRESETS if name.startswith("hiv")), "", "my own"]),
            "data": {"domain": "hiv", **kept},
            "horizons": draw.sample(range(1, steps), draw.randint(1, 5)),
            "methods": draw.sample(["mean_reward", "last_reward", "off_policy_mean"], draw.randint(1, 3)),
            "seeds": draw.sample(range(2**31), draw.randint(1, 3)),
            "settings": settings,
        }
    )


@pytest.mark.parametrize("number", range(60))
def test_round_trips(number: int) -> None:
    scenario = random_scenario(number)
    assert Scenario.from_yaml(scenario.to_yaml()) == scenario
    assert Scenario.build(json.loads(scenario.model_dump_json())) == scenario
    for back in (Scenario.from_parameters(scenario.to_parameters()), from_command(scenario.to_command())):
        assert back.key == scenario.key
        assert back.differences(scenario) == {}
        assert back.data == scenario.data
        assert back.settings == scenario.settings
    assert scenario.changed({}) == scenario
    assert hash(scenario.changed({})) == hash(scenario)


def from_command(command: str) -> Scenario:
    """Read the words of a command as the command line does."""
    words = shlex.split(command)
    assert words[:4] == ["python", "-m", "shortlong", "run"]
    options = list(zip(words[5::2], words[6::2], strict=True))
    changes = [value for name, value in options if name == "--set"]
    others = {name.removeprefix("--"): value for name, value in options if name != "--set"}
    assert set(others) <= {"horizons", "methods", "seeds"}
    return from_command_line(words[4], changes, **others)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_round_trip_and_are_short(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.to_parameters() == {"preset": name}
    assert scenario.to_command() == f"python -m shortlong run {name}"
    assert Scenario.from_parameters(scenario.to_parameters()) == scenario
    assert Scenario.from_yaml(scenario.to_yaml()) == scenario


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("origin", ["", "no preset of ours", *PRESETS])
def test_every_preset_can_be_told_from_another_origin(name: str, origin: str) -> None:
    """Also from a preset of another domain, as after editing a file."""
    scenario = preset(name).model_copy(update={"preset": origin})
    for back in (Scenario.from_parameters(scenario.to_parameters()), from_command(scenario.to_command())):
        assert back.key == scenario.key


def test_link_holds_only_what_differs() -> None:
    scenario = preset("hiv-demo").changed({"data.patients": "50", "horizons": "10,5"})
    assert scenario.to_parameters() == {"preset": "hiv-demo", "data.patients": "50", "horizons": "5,10"}
    assert scenario.to_command() == "python -m shortlong run hiv-demo --set data.patients=50 --horizons 5,10"
    assert scenario.to_command("simulate") == (
        "python -m shortlong simulate hiv-demo --set data.patients=50 --set horizons=5,10"
    ), "simulate has no option --horizons"
    assert scenario.differences(preset("hiv-demo"))["data.patients"] == ("50", "30")


def test_setting_goes_back_to_its_default() -> None:
    changed = preset("hiv-demo").changed({"settings.sled.margin": "1e-5"})
    assert changed.settings["sled"] == {"size": "demo", "margin": 1e-5}
    assert changed.changed({"settings.sled.margin": ""}) == preset("hiv-demo")
    empty = Scenario.build({**preset("hiv-demo").model_dump(), "settings": {"mean_reward": {}}})
    assert "mean_reward" not in empty.settings


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("1e-05", 1e-05),
        ("1E3", 1000.0),
        (".5", 0.5),
        ("true", True),
        ("False", False),
        ("no", "no"),
        ("nan", "nan"),
        ("1:30", "1:30"),
        ('"1"', "1"),
        ("[1]", "[1]"),
        ("[" * 5000, "[" * 5000),
        ("9" * 500, int("9" * 500)),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_values_on_the_command_line(text: str, value: object) -> None:
    given = value_of_word(text)
    assert given == value
    assert type(given) is type(value)


def test_key_is_stable_across_processes_and_ignores_the_preset() -> None:
    scenario = random_scenario(5)
    code = "import sys; from shortlong.scenario import Scenario; print(Scenario.from_yaml(sys.stdin.read()).key)"
    for hash_seed in ("1", "2"):
        environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[2])}
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=scenario.to_yaml(),
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == scenario.key
    renamed = scenario.model_copy(update={"preset": "other"})
    assert renamed.key == scenario.key
    assert renamed != scenario


def test_key_depends_on_everything_else() -> None:
    base = preset("hiv-demo")
    changes = {
        "data.patients": "41",
        "data.seed": "1",
        "data.train_actions": "RTI",
        "data.test_discounts": "0.5",
        "data.perturbation": "0.5",
        "horizons": "5",
        "methods": "mean_reward",
        "seeds": "1",
        "settings.sled.margin": "1",
    }
    keys = [base.key, *(base.changed({name: value}).key for name, value in changes.items())]
    assert len(set(keys)) == len(keys)


def test_same_meaning_same_key() -> None:
    base = preset("hiv-demo")
    spelled = base.changed(
        {
            "horizons": "50, 30,20,10,5,5",
            "seeds": "0,0",
            "data.test_actions": "both,none,PI,RTI,both",
            "data.patients": "30.0",
            "data.perturbation": "6e-1",
        }
    )
    assert spelled.key == base.key


def test_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        preset("hiv-demo").horizons = (1,)  # type: ignore[misc]


BAD_CHANGES = [
    ({"data.patiens": "5"}, "no key 'data.patiens' (did you mean 'data.patients'?)"),
    ({"patients": "5"}, "no key 'patients'"),
    ({"nothing.at.all": "5"}, "'nothing' in 'nothing.at.all' is not part"),
    ({"data.patients.x": "5"}, "'data.patients' in 'data.patients.x' is not part"),
    (
        {"data.train_actions": ""},
        "data.train_actions: the action set is empty; choose at least one of none, RTI, PI, both",
    ),
    (
        {"data.test_actions": "RTI,XTC"},
        "data.test_actions, entry 2, is 'XTC': it should be 'none', 'RTI', 'PI' or 'both'",
    ),
    ({"horizons": "0"}, "horizon 0 is not possible; choose from 1 to 199"),
    ({"horizons": "5,200"}, "horizon 200 is not possible; choose from 1 to 199"),
    ({"horizons": "-3"}, "horizon -3 is not possible"),
    ({"horizons": ""}, "horizons is empty; give at least 1"),
    ({"horizons": "5,soon"}, "horizons, entry 2, is 'soon': it should be a valid integer"),
    ({"horizons": "2.5"}, "horizons, entry 1, is 2.5: it should be a valid integer"),
    ({"data.steps": "20"}, "horizon 20 is not possible; choose from 1 to 19"),
    ({"data.patients": "-5"}, "data.patients is -5: it should be greater than or equal to 2"),
    ({"data.rounds": "0"}, "data.rounds is 0: it should be greater than or equal to 1"),
    ({"data.patients": "many"}, "data.patients is 'many': it should be a valid integer"),
    ({"data.perturbation": "nan"}, "data.perturbation is 'nan': it should be a finite number"),
    ({"data.perturbation": "1"}, "data.perturbation is 1: it should be less than 1"),
    ({"data.train_discounts": "0.9,1"}, "data.train_discounts: discounts must be at least 0 and below 1"),
    ({"data.test_discounts": ""}, "data.test_discounts is empty"),
    ({"methods": "slef"}, "there is no method 'slef'"),
    ({"methods": ""}, "methods is empty"),
    ({"seeds": "-1"}, "seeds, entry 1, is -1: it should be greater than or equal to 0"),
    ({"seeds": ",".join(map(str, range(3000)))}, "results, more than 20,000; choose fewer"),
    ({"settings.slev.size": '"\\ud800"'}, "settings.slev.size is '\\\\ud800'; choose one of demo"),
    ({"seeds": str(2**32)}, "it should be less than 4294967296"),
    ({"settings.nope.x": "1"}, "settings are given for 'nope', which is not a method"),
    ({"settings.mean_reward": "1"}, "settings.mean_reward is 1: it should be a valid dictionary"),
    ({"settings": "1"}, "settings is 1: it should be a valid dictionary"),
    ({"data": "x"}, "data is 'x': it should be a valid dictionary"),
    ({"data.domain": "mars"}, "data.domain must name a domain; choose one of hiv"),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD_CHANGES)
def test_bad_change_gets_a_sentence(changes: dict[str, str], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        preset("hiv-demo").changed(changes, "the link")
    check_sentence(str(caught.value), "the link")
    assert sentence in str(caught.value)


BAD_YAML = [
    ("\ndata: [1, 2", "line 2 is not readable as YAML"),
    ("a: b: c", "line 1 is not readable as YAML"),
    ("when: 2024-13-45", "is not readable as YAML"),
    ("!!python/object/apply:os.system [ls]", "is not readable as YAML"),
    ("[" * 3000, "nested too deeply"),
    ("a: 1\nb: 2\n\na: 3", "line 4 has the key 'a' a second time (first in line 1)"),
    ("data: {domain: hiv, rounds: 2, rounds: 3}", "line 1 has the key 'rounds' a second time"),
    ("a: &a [*a]", "line 1 refers to itself"),
    ("- 1\n" * 60_000, "more than 50,000 values"),
    ("- &a [1, 1]\n" + "".join(f"- &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(20)), "aliases"),
    ("\x07", "is not readable as YAML"),
    ("", "is empty"),
    ("# nothing", "does not hold a scenario"),
    ("just text", "does not hold a scenario"),
    ("- 1", "does not hold a scenario"),
    ("horizons: [5]", "the key 'data' is missing; add it. the key 'methods' is missing"),
    ("1: 2", "unknown key '1'"),
    ("{data: {domain: hiv}, horizons: [5], methods: [mean_reward], extra: 1}", "unknown key 'extra'"),
    ("{data: {domain: hiv, colour: red}, horizons: [5], methods: [mean_reward]}", "unknown key 'data.colour'"),
    (
        "{data: {domain: hiv, patients: .inf}, horizons: [5], methods: [mean_reward]}",
        "data.patients is inf: it should be",
    ),
    ("{data: {domain: hiv}, horizons: 5, methods: [mean_reward]}", "horizons is 5: it should be a valid"),
    (
        "{data: {domain: hiv}, horizons: [null], methods: [mean_reward]}",
        "horizons, entry 1: it should be a valid integer",
    ),
    ("data: &a {domain: hiv, deep: *a}\nhorizons: [5]\nmethods: [mean_reward]", "line 1 refers to itself"),
]


@pytest.mark.parametrize(("text", "sentence"), BAD_YAML)
def test_bad_file_gets_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        load_scenario(str(file))
    check_sentence(str(caught.value), str(file))
    assert sentence in str(caught.value)


def check_sentence(message: str, source: str) -> None:
    assert source[:60] in message
    assert message.endswith((".", "?)."))
    assert "\n" not in message
    assert len(message) < 500
    assert "Traceback" not in message
    assert "pydantic" not in message


def test_long_values_are_shortened() -> None:
    with pytest.raises(UserError) as caught:
        preset("hiv-demo").changed({"data.patients": "x" * 10_000})
    assert len(str(caught.value)) < 200


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(UserError, match=r"data\.rounds is 0.*data\.patients is -1"):
        preset("hiv-demo").changed({"data.patients": "-1", "data.rounds": "0"})


@pytest.mark.parametrize("name", ["no-such-preset", "x" * 300, "", "a/b/c"])
def test_unknown_preset_gets_a_sentence(name: str) -> None:
    with pytest.raises(UserError, match=r"hiv-demo.*YAML file\.|cannot be read"):
        load_scenario(name)


def test_close_name_is_suggested() -> None:
    with pytest.raises(UserError, match="did you mean 'hiv-demo'"):
        load_scenario("hiv-dmeo")


@pytest.mark.parametrize("kind", ["missing", "folder", "binary"])
def test_unreadable_file_gets_a_sentence(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "some.yaml"
    if kind == "folder":
        file.mkdir()
    elif kind == "binary":
        file.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(UserError, match=r"some.yaml (does not exist|is a folder|is text in UTF-16)"):
        load_scenario(str(file))


def test_unknown_preset_in_a_link() -> None:
    with pytest.raises(UserError, match=r"no preset 'nope'.* hiv-demo"):
        Scenario.from_parameters({"preset": "nope"})
    assert Scenario.from_parameters({}) == preset("hiv-demo")


def test_yaml_is_for_people() -> None:
    text = preset("hiv-demo").to_yaml()
    assert "horizons: [5, 10, 20, 30, 50]" in text
    assert yaml.safe_load(text)["data"]["domain"] == "hiv"


def test_a_changed_copy_has_a_key_of_its_own():
    original = preset("hiv-demo")
    assert original.key  # is remembered
    copy = original.model_copy(update={"seeds": (7,)})
    assert copy.key == Scenario.model_validate(copy.model_dump()).key != original.key


@pytest.mark.parametrize("change", [{"seeds": "1.5"}, {"horizons": "5 10"}])
def test_refused_entries_are_not_called_empty_as_well(change: dict[str, str]) -> None:
    with pytest.raises(UserError) as refused:
        preset("hiv-demo").changed(change)
    assert "entry 1" in str(refused.value)
    assert "empty" not in str(refused.value)


def test_a_preset_that_nobody_knows_is_left_out() -> None:
    text = preset("hiv-demo").to_yaml().replace("preset: hiv-demo", "preset: 'Ann ![p](http://example.org/p.png)'")
    assert Scenario.from_yaml(text).preset == ""
    assert Scenario.from_yaml(text).key == preset("hiv-demo").key
