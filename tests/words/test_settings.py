"""Settings have labels, values have names, and a refusal on a page speaks of labels."""

import pytest

from shortlong.core.errors import UserError
from shortlong.scenario import Scenario, flatten
from shortlong.scenario.presets import PRESETS, preset
from shortlong.words.runs import difference_table
from shortlong.words.settings import difference_lines, field_title, values_in_words, with_labels
from tests.saying import says


@pytest.fixture
def demo() -> Scenario:
    return preset("hiv-demo")


def test_differences_are_said_in_words(demo):
    changed = demo.changed({"data.patients": "60", "data.test_actions": "RTI,PI,both", "methods": "mean_reward,sled"})
    lines = difference_lines(changed, demo)
    assert "Patients: 60 instead of 30" in lines
    assert any(says(line, "“no drug” removed", "new policies") for line in lines)
    assert any(line.startswith("Methods: SLEV") and line.endswith("removed") for line in lines)
    assert any(says(line, "“no drug” added", "new policies") for line in difference_lines(demo, changed))


@pytest.mark.parametrize("name", [name for name in PRESETS if not name.endswith("-standard")])
def test_no_setting_is_called_by_its_field_name(name):
    scenario = preset(name)
    for path in flatten(scenario.model_dump(mode="json", exclude={"preset"})):
        title = field_title(scenario, path)
        field = path.rpartition(".")[2]
        assert title[0].isupper(), path
        assert "_" not in title, path
        if path.startswith("data.") and field not in ("domain", "patients", "batches"):
            assert title.partition(" (")[0].lower() != field.replace("_", " "), path


@pytest.mark.parametrize(
    ("name", "path", "title"),
    [
        ("hiv-demo", "data.perturbation", "Patient variability"),
        ("hiv-demo", "data.rounds", "Data-collection rounds"),
        ("hiv-demo", "data.learning_patients", "Patients per round"),
        ("battery-demo", "data.train.families", "Charging protocols (training)"),
        ("kidney-demo", "data.test.policies", "Number of policies (new)"),
        ("hiv-demo", "settings.sled.size", "SLED: size"),
        ("hiv-demo", "seeds", "Method seeds"),
    ],
)
def test_settings_have_labels_that_people_understand(name, path, title):
    assert field_title(preset(name), path) == title


def test_sizes_of_methods_are_told_in_words(demo):
    assert values_in_words(demo, "settings.fqe.size", "paper") == ["full size"]


def test_an_empty_choice_of_cells_means_any():
    changed = preset("battery-demo").changed({"data.train.families": "fast first"})
    (line,) = difference_lines(changed, preset("battery-demo"))
    assert line.endswith("fast first instead of any")


def test_a_setting_of_a_method_that_is_not_given_has_its_default(demo):
    changed = demo.changed({"settings.slev.weights": "density_ratio"})
    assert difference_lines(changed, demo) == ["SLEV: weights: density ratio instead of default"]
    assert difference_table([changed, demo]).to_dict("records") == [
        {"setting": "SLEV: weights", "run A": "density ratio", "run B": "default"}
    ]


def test_compared_runs_show_titles_of_both_domains_and_what_is_empty():
    of_two_domains = difference_table([preset("hiv-demo"), preset("kidney-demo")]).set_index("setting")
    assert list(of_two_domains.loc["Domain"]) == ["HIV treatment", "Kidney dialysis"]
    assert of_two_domains.loc["Number of policies (new)", "run A"] == "–"
    cells = preset("battery-demo")
    one = difference_table([cells, cells.changed({"data.train.families": "fast first"})])
    assert one.to_dict("records") == [
        {"setting": "Charging protocols (training)", "run A": "any", "run B": "fast first"}
    ]


def refusal(name: str, **changes: str) -> str:
    with pytest.raises(UserError) as error:
        preset(name).changed({path.replace("__", "."): text for path, text in changes.items()})
    return with_labels(str(error.value), preset("hiv-demo"))


@pytest.mark.parametrize(
    ("name", "changes", "pieces"),
    [
        ("hiv-demo", {"data__patients": "0"}, ("“Patients” is 0",)),
        ("kidney-demo", {"data__test__policies": "0"}, ("“Number of policies (new)” is 0",)),
        ("hiv-demo", {"settings__sled__adapter_folds": "0"}, ("“SLED: adapter folds” is 0", "from 2 to 50")),
        ("hiv-demo", {"settings__sled__sise": "1"}, ("“SLED”", "no setting 'sise'")),
    ],
)
def test_a_refusal_on_a_page_names_labels(name, changes, pieces):
    text = refusal(name, **changes)
    position = 0
    for piece in pieces:
        position = text.index(piece, position)
    assert "data." not in text
    assert "settings." not in text


def test_what_is_to_be_typed_and_what_is_no_setting_stays(demo):
    assert "'data.patiens' (did you mean 'data.patients'?)" in refusal("hiv-demo", data__patiens="3")
    for text in ("data.csv cannot be read", "settings.nobody.size is 3", "see https://data.example.org"):
        assert with_labels(text, demo) == text
