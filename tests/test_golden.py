"""Small results of each domain, kept with the settings that made them: whoever changes results must raise a version.

Stored results are found by the versions of domain and methods, so a change without a new version would mix old and new
numbers. After raising the version, or for a new method, remake the files with

    python -m tests.test_golden

Learned methods depend on the last bit of the arithmetic: another processor's matrix product is enough to take another
branch. On a machine that calculates differently from the one that made the file they are compared to three digits, or, where
a branch was taken, by the order of the policies that are clearly apart and their typical size.
"""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlong.compute.dataset import load_dataset
from shortlong.compute.engine import one_thread_per_process
from shortlong.compute.experiment import run
from shortlong.compute.store import Store
from shortlong.core.predictions import per_policy
from shortlong.domains import DOMAINS
from shortlong.methods import METHODS, why_not
from shortlong.scenario import Scenario

pytestmark = pytest.mark.heavy  # whole runs

FOLDER = Path(__file__).parent / "golden"
REMAKE = "remake the files with  python -m tests.test_golden"
PLAIN = ("mean_reward", "last_reward", "off_policy_mean")  # a few sums: the same everywhere
TOLERANCE = 1e-6  # relative, with the same arithmetic
LOOSE = 2e-3  # relative, with another one: three digits
NEAR_TIE = 0.02  # of the range of all policies: closer ones may change places
TYPICAL = (
    0.08  # relative difference of the middle value where a branch was taken; up to 0.051 seen between two processors
)
DIGITS = 9
SIZED = (
    "slev",
    "slev_doubly_robust",
    "sled",
    "sled_ensemble",
    "fqe",
    "fqe_observed",
    "online_dynamics",
    "joint_dynamics",
)
DEMO: dict[str, Any] = {name: {"size": "demo"} for name in SIZED} | {
    "fqe_printed": {"trees": 5, "updates": 60, "batch": 300}
}
SETTINGS: dict[str, dict[str, Any]] = {
    "hiv": {
        "data": {
            "domain": "hiv",
            "train_discounts": [0.7, 0.8, 0.9],
            "test_discounts": [0.85],
            "rounds": 3,
            "patients": 6,
            "steps": 60,
            "trees": 5,
            "rebuilds": 2,
            "backups": 10,
            "learning_patients": 6,
        },
        "horizons": [10],
        "settings": DEMO,
    },
    "kidney": {
        "data": {
            "domain": "kidney",
            "train": {"policies": 8},
            "test": {"policies": 4},
            "patients": 5,
            "rollouts": 3,
            "steps": 40,
            "recorded_steps": 12,
        },
        "horizons": [4],
        "settings": {**DEMO, "slev_pooled": {"size": "demo"}},
    },
    "battery": {"data": {"domain": "battery"}, "horizons": [5]},
}
CASES = [
    (domain, name)
    for domain in SETTINGS
    for name, card in METHODS.items()
    if why_not(card, DOMAINS[domain].offers) is None
]


def arithmetic() -> str:
    """A fingerprint of how this machine and these libraries calculate."""
    import torch

    generator = np.random.default_rng(0)
    first, second = generator.normal(size=(2, 70, 90)).astype(np.float32)
    digest = hashlib.blake2b(f"{np.__version__} {torch.__version__}".encode(), digest_size=8)
    product = torch.from_numpy(first) @ torch.from_numpy(second).T
    for values in (
        first @ second.T,
        product.numpy(),
        torch.tanh(product).numpy(),
        np.log10(np.abs(first)),
        np.exp(second),
    ):
        digest.update(values.tobytes())
    return digest.hexdigest()


def make(name: str, home: Path) -> dict[str, Any]:
    """What the file of a domain holds, from this code."""
    domain = DOMAINS[name]
    methods = [method for case, method in CASES if case == name]
    scenario = Scenario.build({**SETTINGS[name], "methods": methods})
    store = Store(home)
    results = run(scenario, store)
    data = load_dataset(store, scenario.data)
    values = per_policy(results.predictions).groupby(["method", "horizon"], sort=False)["predicted"].apply(list)
    return {
        "remake": "python -m tests.test_golden",
        "arithmetic": arithmetic(),
        "settings": SETTINGS[name],
        "domain": {
            "version": domain.version,
            "train": _rounded(_values(data.train)),
            "test": _rounded(_values(data.test)),
        },
        "methods": {
            method: {
                "version": METHODS[method].on(domain.offers).version,
                "predicted": {str(horizon): _rounded(values[method, horizon]) for horizon in scenario.horizons},
            }
            for method in methods
        },
    }


def _values(runs: Any) -> Any:
    """Mean outcome of each policy."""
    return np.bincount(runs.policy, runs.returns) / np.bincount(runs.policy)


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]


def same(old: Any, new: Any) -> bool:
    """Whether two pieces of a file are equal but for the tolerance."""
    if isinstance(old, dict):
        return old.keys() == new.keys() and all(same(old[key], new[key]) for key in old)
    return (
        len(old) == len(new) and np.allclose(old, new, rtol=TOLERANCE, atol=0) if isinstance(old, list) else old == new
    )


def alike(old: list[float], new: list[float]) -> bool:
    """Three digits alike, or the same typical size and no two policies exchanged that were clearly apart.

    Differences are relative to the value or, where a value is near zero, to the range of all policies.
    """
    width = float(np.ptp(old))
    if np.allclose(old, new, rtol=LOOSE, atol=LOOSE * width):
        return True
    scale = np.maximum(np.maximum(np.abs(old), width), 1e-12)
    middle = float(np.median(np.abs(np.subtract(old, new)) / scale))
    apart, now = np.subtract.outer(old, old), np.subtract.outer(new, new)
    exchanged = (apart > NEAR_TIE * width) & (now <= 0)
    return middle < TYPICAL and not exchanged.any()


@cache
def old(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    return cache(lambda name: make(name, tmp_path_factory.mktemp(f"golden-{name}")))


@pytest.mark.parametrize("domain", SETTINGS)
def test_domain(domain: str, new: Callable[[str], dict[str, Any]]) -> None:
    was, now = old(domain), new(domain)
    assert was["settings"] == SETTINGS[domain], REMAKE
    assert set(was["methods"]) == set(now["methods"]), REMAKE
    assert was["domain"]["version"] == now["domain"]["version"], REMAKE
    assert same(was["domain"], now["domain"]), f"the histories have changed: raise the domain's version, then {REMAKE}"


@pytest.mark.parametrize(("domain", "name"), CASES)
def test_method(domain: str, name: str, new: Callable[[str], dict[str, Any]]) -> None:
    was, now = old(domain), new(domain)
    assert name in was["methods"], REMAKE
    before, after = was["methods"][name], now["methods"][name]
    assert before["version"] == after["version"], REMAKE
    changed = f"{name} predicts something else on {domain}: raise its version, then {REMAKE}"
    if name in PLAIN or was["arithmetic"] == now["arithmetic"]:
        assert same(before, after), changed
    else:
        for horizon, values in before["predicted"].items():
            assert alike(values, after["predicted"][horizon]), changed


def test_another_arithmetic_may_move_a_digit_but_no_policy() -> None:
    assert alike([1.0, 2.0, 3.0], [1.0001, 2.0, 3.0])
    assert alike([0.2213, 0.0071, 0.1377], [0.2214, 0.0071, 0.0941])
    assert alike([0.158842777, 0.16107747, 5.29309011], [0.140631388, 0.179452109, 5.28621753])
    assert alike([0.230505548, 0.225899408, 5.28302042], [0.232709445, 0.233993242, 5.68863197]), "a near-tie"
    assert alike([3.51882261, 4.65077078, 2.60972938], [3.69874616, 4.10078113, 2.66336881])
    assert not alike([1.0, 2.0, 3.0], [2.0, 1.0, 3.0])
    assert not alike([1.0, 1.1, 3.0, 4.0], [1.1, 1.0, 3.0, 4.0]), "apart by 3 % of the range"
    assert not alike([0.16, 0.17, 5.3], [0.6, 0.7, 5.3])
    assert not alike([1.0, 2.0, 3.0], [1.2, 2.4, 3.6])


def remake() -> int:
    """Write the files, but not a changed value under an unchanged version."""
    one_thread_per_process()
    return max(_remake(name) for name in SETTINGS)


def _remake(name: str) -> int:
    with tempfile.TemporaryDirectory() as home:
        new = make(name, Path(home))
    file = FOLDER / f"{name}.json"
    old = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if old.get("arithmetic") == new["arithmetic"] and old["settings"] == new["settings"]:
        pieces = [("domain", old["domain"], new["domain"])]
        if same(old["domain"], new["domain"]):  # else all methods change with it
            pieces += [
                (method, old["methods"][method], piece)
                for method, piece in new["methods"].items()
                if method in old["methods"]
            ]
        changed = [label for label, was, now in pieces if was["version"] == now["version"] and not same(was, now)]
        if changed:
            print(f"Changed without a new version: {', '.join(changed)}. Raise the version first.", file=sys.stderr)
            return 1
    file.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {os.path.relpath(file)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(remake())
