"""The keeper: a job that outgrows its memory, time or disk ends with a sentence and all its processes, and nothing else does."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from shortlong.sharing.keeper import folder_size
from tests.saying import says

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="limits need /proc")
GROWS = "x = []\nwhile True:\n    x.append(bytearray(b'1') * 20_000_000)"
TWO_GROW = f"import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', {GROWS!r}])\nchild.wait()"
SPINS = "while True: pass"
FILLS = (
    "n = 0\nwhile True:\n    open(f'fill-{n}', 'wb').write(bytes(1_000_000)); n += 1\n    import time; time.sleep(0.05)"
)


def keeper(folder: Path, code: str, *options: str, seconds: float = 30) -> tuple[int, str, float]:
    """Exit code, what was said, and how long it took."""
    command = [sys.executable, "-m", "shortlong.sharing.keeper", *options, "--used", str(folder / "used.json")]
    start = time.monotonic()
    done = subprocess.run(
        [*command, "--", sys.executable, "-c", code],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True, text=True, timeout=seconds, start_new_session=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr.strip(), time.monotonic() - start


@pytest.mark.parametrize("code", [GROWS, TWO_GROW], ids=["the command", "a process of its own"])
def test_a_job_that_needs_too_much_memory_ends_with_a_sentence(tmp_path, code):
    exit_code, said, _ = keeper(tmp_path, code, "--memory", "200")
    assert exit_code == 2
    assert said.startswith("Error: ")
    assert says(said, "more than 0.2 GB of memory")
    peak = json.loads((tmp_path / "used.json").read_text())["peak_bytes"]
    assert 200e6 < peak < 1500e6, "it is noticed before the machine is full"
    assert not [p for p in psutil.process_iter(["cmdline"]) if "b'1'" in " ".join(p.info["cmdline"] or [])]


def test_a_job_that_computes_too_long_ends_with_a_sentence(tmp_path):
    exit_code, said, _ = keeper(tmp_path, SPINS, "--cpu", "0.5")
    assert exit_code == 2
    assert "computing time" in said


def test_a_job_that_fills_the_disk_ends_with_a_sentence(tmp_path):
    exit_code, said, _ = keeper(tmp_path, FILLS, "--disk", "20", "--folder", str(tmp_path))
    assert exit_code == 2
    assert "on disk" in said
    assert folder_size(tmp_path) < 300e6


def test_jobs_that_run_at_once_end_when_they_have_used_their_budget_together(tmp_path):
    """Each alone would be far below it; what an earlier job and one that was removed have used counts too."""
    for name in ("a", "b", "earlier"):
        (tmp_path / name).mkdir()
    (tmp_path / "earlier" / "used.json").write_text('{"cpu_seconds": 1000}')
    (tmp_path / "spent.json").write_text(json.dumps([[time.time(), 500.0], [time.time() - 90_000, 9000.0]]))
    charged = "import os\nopen(os.environ['SHORTLONG_CPU_ELSEWHERE'], 'a').write('40.5\\n')\nwhile True: pass"
    with ThreadPoolExecutor(2) as pool:
        both = list(
            pool.map(
                lambda name: keeper(tmp_path / name, charged, "--budget", "1580", "--jobs", str(tmp_path), seconds=100),
                ("a", "b"),
            )
        )
    assert [code for code, _, _ in both] == [2, 2]
    assert all("within a day" in said for _, said, _ in both)
    used = [json.loads((tmp_path / name / "used.json").read_text())["cpu_seconds"] for name in ("a", "b")]
    assert all(40.5 < seconds < 60 for seconds in used), "what a cluster has done is charged"


@pytest.mark.parametrize(("code", "expected"), [("print('fine')", 0), ("import sys; sys.exit(7)", 7)])
def test_within_its_limits_a_job_ends_as_it_likes(tmp_path, code, expected):
    exit_code, said, _ = keeper(
        tmp_path, code, "--memory", "500", "--cpu", "30", "--disk", "50", "--folder", str(tmp_path)
    )
    assert (exit_code, said) == (expected, "")
    assert json.loads((tmp_path / "used.json").read_text())["cpu_seconds"] >= 0


def test_a_job_ends_with_its_keeper(tmp_path):
    command = [sys.executable, "-m", "shortlong.sharing.keeper", "--used", str(tmp_path / "used.json"), "--"]
    process = subprocess.Popen([*command, sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
    kept = []
    while not kept and process.poll() is None:
        kept = psutil.Process(process.pid).children()
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait(100)
    gone, alive = psutil.wait_procs(kept, timeout=100)
    for left in alive:
        left.kill()
    assert gone
    assert not alive, "without a keeper it would have no limits"
