"""The public names: what ``import shortlong`` offers, that it is quick, and that the examples in its docstrings run."""

import doctest
import inspect
import json
import subprocess
import sys
from importlib import import_module

import pytest
import yaml

import shortlong
from tests.command import ROOT, command

PUBLIC = {
    "DOMAINS", "METHODS", "Scenario", "Store", "Study", "Trajectories", "UserError", "__version__", "presets",
    "results", "run",
}  # fmt: skip
HEAVY = ("numpy", "pandas", "torch", "plotly", "pydantic", "streamlit", "sklearn", "numba")
WITH_EXAMPLES = (
    "shortlong.compute.store",
    "shortlong.core.errors",
    "shortlong.core.trajectories",
    "shortlong.notebook.results",
    "shortlong.notebook.run",
    "shortlong.notebook.study",
    "shortlong.scenario.presets",
    "shortlong.scenario.scenario",
)


def in_new_process(code: str) -> object:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_public_names():
    assert set(shortlong.__all__) == PUBLIC
    assert set(dir(shortlong)) >= PUBLIC
    for name in PUBLIC:
        assert getattr(shortlong, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="runs"):
        _ = shortlong.runs


def test_the_import_brings_no_heavy_library():
    """So that it takes a small part of a second; the time itself depends on the machine."""
    code = f"import sys, json, shortlong; print(json.dumps([n for n in {HEAVY} if n in sys.modules]))"
    assert in_new_process(code) == []


def test_a_public_name_comes_without_what_it_does_not_need():
    code = "import sys, json; from shortlong import METHODS, UserError; print(json.dumps('pandas' in sys.modules))"
    assert in_new_process(code) is False


def test_every_public_function_and_class_has_an_example():
    for name in ("Scenario", "Store", "Study", "Trajectories", "UserError", "presets", "results", "run"):
        assert ">>>" in (inspect.getdoc(getattr(shortlong, name)) or ""), name


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples(module):
    loaded = import_module(module)
    known = dict(loaded.__dict__)
    if module == "shortlong.notebook.study":  # the methods go on with the study of the class
        source = doctest.DocTestParser().get_examples(inspect.getdoc(shortlong.Study))
        exec("".join(example.source for example in source[:6]), known)
    found = doctest.testmod(loaded, globs=known)
    assert found.attempted
    assert not found.failed


@pytest.mark.heavy
def test_the_four_lines_of_a_notebook():
    found = doctest.testmod(shortlong)
    assert found.attempted == 4
    assert not found.failed


def test_one_version(home):
    assert command("--version", home=home) == (0, f"shortlong {shortlong.__version__}\n", "")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == shortlong.__version__
