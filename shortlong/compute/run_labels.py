"""Names, notes and stars that a person gives to runs, one small file each beside the results of that person.

A label belongs to the result folder in which it is written, so in a team only its owner sees and changes it. Shipped results
can have one too.
"""

import json
import os
import re
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from shortlong.compute.store import Store
from shortlong.core.errors import UserError

FOLDER = "labels"
LONGEST_NAME, LONGEST_NOTE = 80, 2000  # characters
RUN_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}")  # what may be the name of a file


@dataclass(frozen=True)
class RunLabel:
    """The name, note and star that a person gave to a run."""

    name: str = ""
    note: str = ""
    star: bool = False


NO_LABEL = RunLabel()


def read_labels(store: Store) -> dict[str, RunLabel]:
    """All labels of a result folder by the keys of their runs; what cannot be read counts as none."""
    labels = {}
    for file in sorted((store.root / FOLDER).glob("*.json")):
        if label := _read(file):
            labels[file.stem] = label
    return labels


def _read(file: Path) -> RunLabel | None:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return RunLabel(
            str(content["name"])[:LONGEST_NAME], str(content["note"])[:LONGEST_NOTE], content["star"] is True
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_label(store: Store, key: str, label: RunLabel) -> None:
    """Keep the label of a run; an empty one is removed. Readers see the old or the new one, never half of it."""
    if not RUN_KEY.fullmatch(key):
        raise UserError("This run cannot have a name; choose another run.")
    if len(label.name) > LONGEST_NAME or len(label.note) > LONGEST_NOTE:
        raise UserError(
            f"A name has at most {LONGEST_NAME} characters and a note at most {LONGEST_NOTE:,}; shorten it."
        )
    store.check_writable()
    file = store.root / FOLDER / f"{key}.json"
    if label == NO_LABEL:
        file.unlink(missing_ok=True)
        return
    temporary = file.with_name(f".{key}-{os.getpid()}-{uuid.uuid4().hex}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(asdict(label), ensure_ascii=False), encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        raise UserError(
            f"The name cannot be saved ({error.strerror or error}); free space in the result folder."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
