"""Keeps one job within its limits: a small process that starts the job's command and watches all processes of its group.

``python -m shortlong.sharing.keeper [--memory MB] [--cpu SECONDS] [--budget SECONDS --jobs FOLDER]
[--disk MB --folder FOLDER] [--job FOLDER] --used FILE -- COMMAND ...``

A job that outgrows a limit is ended with a sentence, long before the machine has to end something. It is a process of its
own, because a thread would not run while compiled code does, and a server may be restarted while its jobs go on. Nothing heavy
is imported: a keeper takes some 10 MB. Limits need ``/proc``; elsewhere the command just runs.
"""

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from shortlong.core.charges import FILE_VARIABLE, charged
from shortlong.sharing.spending import spent

LOOK = 0.1  # seconds between two looks at the memory of known processes
LOOK_AROUND = 1.0  # seconds between two searches for new processes, and two notes of what was used
LOOK_AT_DISK = 2.0
DAY = 86_400.0
ENDED_BY_LIMIT = 2  # exit code, as for everything that a person can mend


_HAS_PROC = Path("/proc/self/stat").exists()
_PR_SET_PDEATHSIG = 1


class Group:
    """The processes of this process's group, itself included."""

    def __init__(self) -> None:
        self.number = os.getpgrp()
        self.ticks: dict[tuple[int, int], int] = {}  # by process number and start; those that ended keep theirs
        self.members: list[int] = []
        self.peak = 0
        self.elsewhere = 0.0  # CPU-seconds on a cluster

    def look_around(self) -> None:
        """Find the members and what they have used of the processors."""
        self.members = []
        for pid in _processes():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == self.number:
                self.members.append(pid)
                self.ticks[pid, int(fields[19])] = int(fields[11]) + int(fields[12])

    def memory(self) -> int:
        """Bytes that belong to the members alone: neither program files nor what the disk cache holds for them.

        Children are followed at once: a new process could take gigabytes before the next search finds it.
        """
        for pid in self.members:  # it grows while it is read
            self.members += [child for child in _children(pid) if child not in self.members]
        total = sum(map(_own_memory, self.members))
        self.peak = max(self.peak, total)
        return total

    @property
    def cpu_seconds(self) -> float:
        return sum(self.ticks.values()) / os.sysconf("SC_CLK_TCK") + self.elsewhere

    def kill_others(self) -> None:
        """All members but this process; those that are born meanwhile too."""
        for _ in range(20):
            self.look_around()
            others = [pid for pid in self.members if pid != os.getpid() and _is_alive(pid)]
            if not others:
                return
            for pid in others:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.05)


def _end_with_keeper() -> None:
    """In the new process: a job without its keeper would have no limits, so it is asked to stop when the keeper is killed."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    except (OSError, AttributeError):
        return


def _processes() -> Iterator[int]:
    yield from (int(name) for name in os.listdir("/proc") if name.isdigit())


def _children(pid: int) -> list[int]:
    """Of the first thread, which starts processes in most programs; others are found by the next search."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def _own_memory(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    kilobytes = [int(line.split()[1]) for line in lines if line.startswith(("RssAnon:", "RssShmem:"))]
    return sum(kilobytes) * 1024


def folder_size(folder: Path) -> int:
    """Bytes of all files below a folder, as far as they can be seen."""
    total, waiting = 0, [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(entry.path)
                        else:
                            total += entry.stat(follow_symlinks=False).st_size
                    except OSError:  # it has just gone
                        continue
        except OSError:
            continue
    return total


def keep(
    command: list[str],
    used: Path,
    memory: float | None = None,
    cpu: float | None = None,
    disk: float | None = None,
    folder: Path | None = None,
    budget: float | None = None,
    jobs: Path | None = None,
) -> int:
    """Run a command within limits (bytes and CPU-seconds); gives its exit code.

    The budget is of all jobs in a folder together, over a day.
    """
    signal.signal(signal.SIGTERM, lambda *_: None)  # meant for the command, which ends in its own way
    elsewhere = used.with_suffix(".elsewhere")
    child = subprocess.Popen(  # it inherits the lock of the job
        command,
        stdin=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=_end_with_keeper if _HAS_PROC else None,
        env={**os.environ, FILE_VARIABLE: str(elsewhere.absolute())},
    )
    if not _HAS_PROC:
        return child.wait()
    group, next_note, next_disk = Group(), 0.0, time.monotonic() + LOOK_AT_DISK
    while child.poll() is None:
        now, problem, spent_all = time.monotonic(), "", False
        if now >= next_note:
            group.look_around()
            group.elsewhere = charged(elsewhere)
            _note(used, group)
            next_note = now + LOOK_AROUND
            spent_all = budget is not None and jobs is not None and spent(jobs, time.time() - DAY) > budget
        if memory is not None and group.memory() > memory:
            problem = f"The run needed more than {memory / 1e9:.2g} GB of memory, which is the limit of this server"
        elif cpu is not None and group.cpu_seconds > cpu:
            problem = f"The run has used its {_hours(cpu)} of computing time"
        elif budget is not None and spent_all:
            problem = f"Your runs have used their {_hours(budget)} of computing time within a day"
        elif disk is not None and folder is not None and now >= next_disk:
            next_disk = now + LOOK_AT_DISK
            if folder_size(folder) > disk:
                problem = f"The results take more than {disk / 1e9:.2g} GB on disk, which is the limit of this server"
        if problem:
            group.kill_others()
            _note(used, group)
            print(
                f"\nError: {problem}; choose fewer or smaller settings. Finished parts are kept.",
                file=sys.stderr,
                flush=True,
            )
            return ENDED_BY_LIMIT
        time.sleep(LOOK)
    group.look_around()
    group.elsewhere = charged(elsewhere)
    _note(used, group)
    return child.returncode


def _say_who_we_are(job: Path) -> None:
    """As whoever started this process does, who may have been killed meanwhile: its number, and that it waits no longer."""
    try:
        (job / "pid").write_text(str(os.getpid()))
        (job / "waiting").unlink(missing_ok=True)
    except OSError:  # the folder was removed, or the disk is full: then it is ended like any other
        return


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2g} h" if seconds >= 3600 else f"{seconds:.0f} s"


def _note(file: Path, group: Group) -> None:
    """What was used until now, written under another name and renamed."""
    temporary = file.with_suffix(".new")
    try:
        temporary.write_text(json.dumps({"cpu_seconds": round(group.cpu_seconds, 2), "peak_bytes": group.peak}))
        temporary.replace(file)
    except OSError:  # a full disk ends the command itself
        return


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", type=float)
    parser.add_argument("--cpu", type=float)
    parser.add_argument("--budget", type=float)
    parser.add_argument("--jobs", type=Path)
    parser.add_argument("--disk", type=float)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--used", type=Path, required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    parser.add_argument("--job", type=Path)
    given = parser.parse_args()
    if given.job is not None:
        _say_who_we_are(given.job)
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    memory, disk = (value * 1e6 if value is not None else None for value in (given.memory, given.disk))
    return keep(command, given.used, memory, given.cpu, disk, given.folder, given.budget, given.jobs)


if __name__ == "__main__":
    code = main()
    sys.exit(code if code >= 0 else 128 - code)
