"""A cluster without a shared folder: two workers with another SHORTLONG_HOME and another working folder, over TLS.

What tasks make travels back and is stored here, histories are sent once and kept there, and the numbers are the same, bit by
bit, as on this machine.
"""

import datetime
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import pytest

from shortlong.compute import parcels
from shortlong.compute.computations import computations_of
from shortlong.compute.experiment import run
from shortlong.compute.failures import Failure, note_failure, read_failure
from shortlong.compute.store import Store
from shortlong.core.errors import UserError
from shortlong.domains import table
from shortlong.scenario import Scenario, load_scenario
from shortlong.ui.jobs import Jobs
from tests.command import command
from tests.compute.clusters import Start, address_in, starting, wait_for_workers
from tests.compute.test_faults import content, times
from tests.conftest import TINY_HIV

pytestmark = pytest.mark.heavy

pytest.importorskip("distributed", reason='needs dask; install it with  python -m pip install "dask[distributed]"')
pytest.importorskip("cryptography", reason="makes the certificates")

SCENARIO = Scenario.build(
    {
        **TINY_HIV,
        "methods": ["mean_reward", "cohort_slev", "fqe"],
        "settings": {"cohort_slev": {"folds": 2, "trees": 10}},
    }
)


@dataclass(frozen=True)
class Cluster:
    address: str
    places: tuple[Path, Path]  # working folders of the workers, with a SHORTLONG_HOME in each
    start: Start

    def stores(self) -> list[Store]:
        return [Store(place / "home" / parcels.OWN_FOLDER) for place in self.places]


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings of dask for encrypted connections on which both sides show a certificate, as docs/cluster.md has them."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    folder = tmp_path_factory.mktemp("tls")
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "cluster")])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    (folder / "ca.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    settings = {"ca-file": str(folder / "ca.pem")}
    for role in ("scheduler", "worker", "client"):
        settings |= {f"{role}.cert": str(folder / "ca.pem"), f"{role}.key": str(folder / "key.pem")}
    return {"distributed.comm.require-encryption": "True"} | {
        f"distributed.comm.tls.{name}": value for name, value in settings.items()
    }


@pytest.fixture(scope="module")
def cluster(tls: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    import dask.config

    folder = tmp_path_factory.mktemp("apart")
    places = (folder / "one", folder / "two")
    variables = {f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": value for name, value in tls.items()}
    with ExitStack() as stack:
        start = stack.enter_context(starting(folder, variables, "tls"))
        stack.enter_context(dask.config.set(tls))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in variables.items():
            patch.setenv(name, value)
        start("scheduler")
        for place in places:
            start("worker", place, place / "home")
        address = address_in(folder)
        wait_for_workers(address, 2)
        yield Cluster(address, places, start)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same scenario, computed on this machine."""
    home = tmp_path_factory.mktemp("here")
    run(SCENARIO, Store(home), leave="policy")
    return home


@pytest.mark.slow
def test_jobs_of_the_app_are_done_by_the_cluster_bit_by_bit(
    cluster: Cluster, here: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Histories, predictions and the back-test travel back; while it runs, tasks tell how far they are."""
    assert cluster.address.startswith("tls://")
    monkeypatch.setenv("SHORTLONG_SCHEDULER", cluster.address)
    job, told = Jobs(home).start(SCENARIO), set()
    deadline = time.monotonic() + 300
    while job.active:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        told |= set(progress.running) if (progress := job.progress()) else set()
    assert job.state == "finished", job.message()
    assert content(home) == content(here)
    assert told, "nobody told of its progress"
    for own in cluster.stores():
        assert {entry.manifest["kind"] for entry in own.entries()} == set(parcels.KEPT), "the worker did its share"
        assert list((own.root / "temporary").iterdir()) == []
    assert not (home / parcels.OWN_FOLDER).exists()


def test_histories_are_sent_once_and_kept(cluster: Cluster, here: Path, tmp_path: Path) -> None:
    arrived = [times(own.root) for own in cluster.stores()]
    store = Store(shutil.copytree(here, tmp_path / "copy"))
    run(SCENARIO.changed({"horizons": "5"}), store, scheduler=cluster.address)
    for own, before in zip(cluster.stores(), arrived, strict=True):
        assert times(own.root).items() >= before.items()


@pytest.mark.slow
def test_a_damaged_history_of_a_worker_is_sent_again(cluster: Cluster, here: Path, tmp_path: Path) -> None:
    """Also a worker that joins later, with an empty folder, gets what it needs; a note of a failure goes with the result."""
    place = tmp_path / "late"
    late = cluster.start("worker", place, place / "home")
    wait_for_workers(cluster.address, 3)
    try:
        for own in cluster.stores():
            for entry in own.entries():
                (entry.folder / "manifest.json").write_text("{}")
        store = Store(shutil.copytree(here, tmp_path / "again"))
        scenario = SCENARIO.changed({"horizons": "4", "seeds": "0,1,2"})
        computation = next(c for c in computations_of(scenario) if c.method == "cohort_slev")
        note_failure(store, computation.ingredients, Failure("It was tried before."))
        results = run(scenario, store, scheduler=cluster.address)
        assert not results.failed
        assert read_failure(store, computation.ingredients) is None
        assert Store(place / "home" / parcels.OWN_FOLDER).keys()
    finally:
        late.kill()
        late.wait()
    local = run(scenario, Store(shutil.copytree(here, tmp_path / "local")))
    assert results.predictions.equals(local.predictions)


def test_own_table_travels_without_the_table_itself(cluster: Cluster, home: Path, tmp_path: Path) -> None:
    from benchmarks.table import make_table

    file = tmp_path / "arms.parquet"
    make_table(5_000).to_parquet(file, index=False)
    report = table.check(table.read_any(file))
    table.add(report, "arms", home)
    scenario = load_scenario("arms").changed({"horizons": "10", "methods": "mean_reward,off_policy_mean"})
    there = run(scenario, Store(home), scheduler=cluster.address, leave="policy")
    known = [file.name for own in cluster.stores() for file in own.root.glob("tables/*/*")]
    assert set(known) == {"about.json"}
    results = there.predictions
    for entry in list(Store(home).entries()):
        Store(home).remove(entry.key)
    assert run(scenario, Store(home), leave="policy").predictions.equals(results)


def test_a_setting_that_is_no_address_gets_a_sentence(
    home: Path, tiny_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORTLONG_SCHEDULER", "nonsense")
    code, _, errors = command("run", tiny_file, home=home)
    assert code == 2
    assert "tcp://host:port" in errors


def test_what_is_longest_unused_makes_room(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    store = Store(home)
    for number, key in enumerate(("a" * 20, "b" * 20, "c" * 20)):
        entry = store.put(key, "histories", made_from=number, arrays={"x": {"x": np.zeros(1000)}})
        os.utime(entry.folder, (number, number))
    monkeypatch.setenv(parcels.ROOM_VARIABLE, str(2.5 * entry.bytes / 1e9))
    with store.in_use(["a" * 20]):
        parcels._make_room(store, 1000)
    assert store.keys() == {"a" * 20, "c" * 20}


def test_another_version_is_refused(tmp_path: Path) -> None:
    sender = parcels.Sender(str(tmp_path), "", "0.0.0")
    with pytest.raises(UserError, match="install the same"):
        parcels.carry_out(sender, parcels.Needs(()), "tcp://worker:1", print, ("",), None)
