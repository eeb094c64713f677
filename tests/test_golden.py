"""A small HIV result that is kept with the settings that made it: whoever changes results must raise a version.

Stored results are found by the versions of domain and methods, so a change without a new version would mix old and new
numbers. After raising the version, or for a new method, remake the file with

    python -m tests.test_golden

Learned methods depend on the last bit of the arithmetic (another processor's matrix product is enough to take another
branch), so their values are compared only where the arithmetic is that of the machine that made the file.
"""

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shortlong.dataset import load_dataset
from shortlong.domains import DOMAINS
from shortlong.engine import one_thread_per_process
from shortlong.experiment import run
from shortlong.methods import METHODS, why_not
from shortlong.predictions import per_policy
from shortlong.scenario import Scenario
from shortlong.store import Store

FILE = Path(__file__).parent / "golden" / "hiv.json"
REMAKE = "remake the file with  python -m tests.test_golden"
PLAIN = ("mean_reward", "last_reward", "off_policy_mean")  # a few sums: the same everywhere
TOLERANCE = 1e-6  # relative
DIGITS = 9
SETTINGS = {
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
    "settings": {name: {"size": "demo"} for name in ("slev", "sled", "fqe", "online_dynamics")},
}


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


def make(home: Path) -> dict[str, Any]:
    """What the file holds, from this code."""
    domain = DOMAINS["hiv"]
    methods = [name for name, card in METHODS.items() if why_not(card, domain.offers) is None]
    scenario = Scenario.build({**SETTINGS, "methods": methods})
    store = Store(home)
    results = run(scenario, store)
    data = load_dataset(store, scenario.data)
    values = per_policy(results.predictions).groupby(["method", "horizon"], sort=False)["predicted"].apply(list)
    return {
        "remake": "python -m tests.test_golden",
        "arithmetic": arithmetic(),
        "settings": SETTINGS,
        "domain": {
            "version": domain.version,
            "train": _rounded(data.train.returns.mean(axis=1)),
            "test": _rounded(data.test.returns.mean(axis=1)),
        },
        "methods": {
            name: {
                "version": METHODS[name].version,
                "predicted": {str(horizon): _rounded(values[name, horizon]) for horizon in scenario.horizons},
            }
            for name in methods
        },
    }


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]


def same(old: Any, new: Any) -> bool:
    """Whether two pieces of the file are equal but for the tolerance."""
    if isinstance(old, dict):
        return old.keys() == new.keys() and all(same(old[key], new[key]) for key in old)
    return (
        len(old) == len(new) and np.allclose(old, new, rtol=TOLERANCE, atol=0) if isinstance(old, list) else old == new
    )


@pytest.fixture(scope="module")
def old() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return make(tmp_path_factory.mktemp("golden"))


def test_settings_are_those_of_the_file(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert old["settings"] == SETTINGS, REMAKE
    assert set(old["methods"]) == set(new["methods"]), REMAKE


def test_domain(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert old["domain"]["version"] == new["domain"]["version"], REMAKE
    assert same(old["domain"], new["domain"]), f"the histories have changed: raise the domain's version, then {REMAKE}"


@pytest.mark.parametrize("name", [name for name, card in METHODS.items() if not why_not(card, DOMAINS["hiv"].offers)])
def test_method(name: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    assert name in old["methods"], REMAKE
    assert old["methods"][name]["version"] == METHODS[name].version, REMAKE
    if name not in PLAIN and old["arithmetic"] != new["arithmetic"]:
        pytest.skip("this machine calculates differently in the last bit from the one that made the file")
    assert same(old["methods"][name], new["methods"][name]), (
        f"{name} predicts something else: raise its version, then {REMAKE}"
    )


def remake() -> int:
    """Write the file, but not a changed value under an unchanged version."""
    one_thread_per_process()
    with tempfile.TemporaryDirectory() as home:
        new = make(Path(home))
    old = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if old.get("arithmetic") == new["arithmetic"] and old["settings"] == new["settings"]:
        pieces = [("domain", old["domain"], new["domain"])]
        if same(old["domain"], new["domain"]):  # else all methods change with it
            pieces += [
                (name, old["methods"][name], piece) for name, piece in new["methods"].items() if name in old["methods"]
            ]
        changed = [name for name, was, now in pieces if was["version"] == now["version"] and not same(was, now)]
        if changed:
            print(f"Changed without a new version: {', '.join(changed)}. Raise the version first.", file=sys.stderr)
            return 1
    FILE.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {os.path.relpath(FILE)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(remake())
