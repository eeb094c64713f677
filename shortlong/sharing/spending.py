"""What a person's jobs have used of the processors, read from the folders of the jobs; used by the server and by keepers."""

import json
from contextlib import suppress
from pathlib import Path

USED = "used.json"  # in the folder of a job: what it has used so far
LEDGER = "spent.json"  # beside them: what removed jobs have used, and when


def cpu_of(job: Path) -> float:
    """CPU-seconds of one job."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return float(json.loads((job / USED).read_text(encoding="utf-8"))["cpu_seconds"])
    return 0.0


def spent(jobs: Path, since: float) -> float:
    """CPU-seconds of all jobs of a person that were at work since then, removed ones included."""
    total = sum(seconds for when, seconds in ledger(jobs) if when > since)
    for file in jobs.glob(f"*/{USED}"):
        with suppress(OSError):  # it has just been removed
            if file.stat().st_mtime > since:
                total += cpu_of(file.parent)
    return total


def ledger(jobs: Path) -> list[tuple[float, float]]:
    """When removed jobs ended, and their CPU-seconds."""
    with suppress(OSError, ValueError, TypeError):
        content = json.loads((jobs / LEDGER).read_text(encoding="utf-8"))
        return [(float(when), float(seconds)) for when, seconds in content]
    return []
