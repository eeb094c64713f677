"""All runs of a shared server as tables: for everybody without what they are about, for administrators with it."""

import time

import pandas as pd

from shortlong.core.home import root_of_machine
from shortlong.sharing.keeper import folder_size
from shortlong.sharing.people import Person, known_people
from shortlong.ui import modes
from shortlong.ui.progress import progress_text
from shortlong.ui.queue import DAY, HOUR, Entry
from shortlong.words.numbers import duration, percent
from shortlong.words.scenario import scenario_title

VISITOR = "a visitor"


def runs_of_others() -> list[Entry]:
    """What other people run or wait for, in the order of their turns."""
    mine = modes.store_of_session().root.name
    return [entry for entry in modes.desk().active() if entry.owner != mine]


def others_table(entries: list[Entry]) -> pd.DataFrame:
    """Whose runs, and how far they are; not what they are about."""
    names = owners()
    return pd.DataFrame(
        [
            {
                "owner": names[entry.owner].name if entry.owner in names else VISITOR,
                "state": entry.job.state,
                "done": percent(entry.job.share),
            }
            for entry in entries
        ]
    )


def all_table(entries: list[Entry]) -> pd.DataFrame:
    """Everything that administrators may know of the runs in progress."""
    names = owners()
    return pd.DataFrame([_row(entry, names.get(entry.owner)) for entry in entries])


def _row(entry: Entry, owner: Person | None) -> dict[str, str | float]:
    job = entry.job
    return {
        "owner": owner.name if owner else VISITOR,
        "e-mail": owner.email if owner else "",
        "run": run_title(entry),
        "state": "stopping" if job.stopping else job.state,
        "progress": progress_text(job),
        "elapsed": duration(job.elapsed),
        "CPU (s)": job.cpu_seconds,
    }


def run_title(entry: Entry) -> str:
    return scenario_title(entry.job.scenario) if entry.job.scenario else "unreadable scenario"


def owner_name(entry: Entry) -> str:
    owner = owners().get(entry.owner)
    return owner.name if owner else VISITOR


def owners() -> dict[str, Person]:
    return known_people(root_of_machine()) if modes.mode() == "team" else {}


def use_table() -> pd.DataFrame:
    """What each person uses: disk, and CPU time of the last day."""
    home, rows = root_of_machine(), []
    for key, owner in sorted(owners().items(), key=lambda item: item[1].name.lower()):
        jobs = modes.jobs_of(key)
        rows.append(
            {
                "person": owner.name,
                "e-mail": owner.email,
                "runs in progress or waiting": sum(job.active for job in jobs.all()),
                "CPU-hours in 24 h": jobs.spent(time.time() - DAY) / HOUR,
                "disk (MB)": folder_size(owner.folder(home)) / 1e6,
            }
        )
    return pd.DataFrame(rows)
