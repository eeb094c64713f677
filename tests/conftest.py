"""What all tests share: a result folder of their own, one thread, and a scenario that takes a second."""

from collections import defaultdict
from pathlib import Path

import pytest

from shortlong.compute.engine import one_thread_per_process

one_thread_per_process()  # before any test imports numpy or torch

from shortlong.compute.store import Store  # noqa: E402
from shortlong.scenario import Scenario  # noqa: E402

TINY_HIV = {
    "data": {
        "domain": "hiv",
        "train_discounts": [0.7, 0.9],
        "test_discounts": [0.8],
        "rounds": 2,
        "patients": 5,
        "steps": 30,
        "trees": 3,
        "rebuilds": 1,
        "backups": 5,
        "learning_patients": 4,
    },
    "horizons": [3, 10],
    "methods": ["mean_reward", "last_reward", "off_policy_mean"],
}


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named after their argument: packed ones hold the time, and every worker must collect the same names."""
    return argname if isinstance(val, bytes) else None


SECONDS = {"browser": 5.0, "heavy": 2.0}  # about what one test takes; any other a tenth of a second


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long come first: a worker takes whole files, and all of them should end at the same time."""
    expected: defaultdict[Path, float] = defaultdict(float)
    for item in items:
        expected[item.path] += max((SECONDS.get(mark.name, 0.0) for mark in item.iter_markers()), default=0.0) or 0.1
    items.sort(key=lambda item: (-expected[item.path], item.path))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """SHORTLONG_HOME of this test alone, also for the processes that it starts."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SHORTLONG_HOME", str(folder))
    return folder


@pytest.fixture
def store(home: Path) -> Store:
    return Store(home)


@pytest.fixture
def tiny() -> Scenario:
    """HIV with 4 training and 2 test policies, 5 patients and 30 steps."""
    return Scenario.build(TINY_HIV)


@pytest.fixture
def tiny_file(tiny: Scenario, tmp_path: Path) -> Path:
    """The same as a YAML file, for the command line."""
    file = tmp_path / "tiny.yaml"
    file.write_text(tiny.to_yaml(), encoding="utf-8")
    return file
