"""What the tests of the app share: pages as a person opens them, and a demo so small that it is computed in seconds."""

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from shortlong.compute import experiment
from shortlong.compute.store import Store
from shortlong.core.harmless import WORD_JOINER
from shortlong.scenario import Scenario, presets
from shortlong.scenario.presets import preset
from shortlong.ui import jobs, state

ROOT = Path(__file__).parents[2]
# Methods of a link that leaves out joint dynamics, which has the lowest error on the full-size results.
WITHOUT_JOINT = "slev,cohort_slev,sled,fqe,online_dynamics,mean_reward,last_reward,off_policy_mean"
SMALL: dict[str, Any] = {
    "data": {
        "domain": "hiv",
        "train_discounts": (0.7, 0.98),
        "test_discounts": (0.9,),
        "rounds": 2,
        "patients": 5,
        "steps": 40,
        "trees": 2,
        "rebuilds": 1,
        "backups": 5,
        "learning_patients": 3,
    },
    "horizons": (2, 4, 8),
    "methods": ("mean_reward", "last_reward", "off_policy_mean"),
}


@pytest.fixture(scope="session", autouse=True)
def packages_are_scanned_once() -> Iterator[None]:
    """Streamlit reads the metadata of every installed package for each new AppTest: more work than most pages are."""
    with pytest.MonkeyPatch.context() as patch:
        scan = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scenario]:
    """The demo, made small: what pages show does not depend on its size."""
    monkeypatch.setitem(presets.PRESETS, "hiv-demo", SMALL)
    preset.cache_clear()
    monkeypatch.setattr(jobs, "POLITENESS", 0)  # a busy machine would let a polite job wait for minutes
    monkeypatch.setattr(state, "first_scenario", lambda domain: preset(f"{domain}-demo"))
    yield preset("hiv-demo")
    preset.cache_clear()


@pytest.fixture(scope="session")
def computed_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result folder with the small scenario, computed once."""
    root = tmp_path_factory.mktemp("computed")
    experiment.run(Scenario.build({"preset": "hiv-demo", **SMALL}), Store(root))
    return root


@pytest.fixture
def computed(computed_root: Path, small: Scenario, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """The small demo with its results in the store."""
    monkeypatch.setenv("SHORTLONG_HOME", str(computed_root))
    return small


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Closed with its module: while it is open, no other event loop may run."""
    from tests.app.browsing import CHROMIUM, FLAGS, playwright_api

    with playwright_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield chromium
        chromium.close()


def one_preset_is_quick(first: str, *others: str) -> pytest.MarkDecorator:
    """Parameter ``preset``: the inner loop takes the first, the whole suite all of them."""
    return pytest.mark.parametrize("preset", [first, *(pytest.param(name, marks=pytest.mark.heavy) for name in others)])


def open_page(file: str, **query: str) -> AppTest:
    """A new session that opens a page by a link."""
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=240)  # seconds; on a busy machine
    page.query_params.update(query)
    if file != "app.py":
        page.switch_page(file)
    return page.run()


def unfold(page: AppTest, *keys: str) -> AppTest:
    """The page with some of its folded parts open."""
    for key in keys:
        page.session_state[key] = True
    return page.run()


def texts(page: AppTest) -> str:
    """Everything that is written on a page, in one string."""
    parts = [
        *page.title,
        *page.header,
        *page.markdown,
        *page.caption,
        *page.info,
        *page.warning,
        *page.error,
        *page.success,
    ]
    return as_read("\n".join(str(part.value) for part in parts))


def cards(page: AppTest) -> str:
    """The error cards of a page; a traceback would be a defect."""
    assert not page.exception
    return as_read("\n".join(error.value for error in page.error))


def as_read(markdown: str) -> str:
    """Markdown as a person reads it, as far as escaped punctuation goes."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown.replace(WORD_JOINER, ""))
