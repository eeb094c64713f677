"""Methods that could not run: noted in the store beside the results of the others, never as a result.

A note tells pages and the command line why a method is missing. Every new run tries again, and a result replaces the note.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeVar

from numpy.linalg import LinAlgError

from shortlong.compute.store import Store
from shortlong.core.errors import Cancelled, ResultFolderError, UserError
from shortlong.core.hashing import key_of

T = TypeVar("T")


@dataclass(frozen=True)
class Failure:
    """Why a method could not run, in a sentence; ``defect`` if nobody foresaw it."""

    reason: str
    defect: bool = False


@dataclass(frozen=True)
class FailedMethod:
    """A method without results at some horizons and seeds, all for the same reason."""

    method: str
    horizons: tuple[int, ...]
    seeds: tuple[int, ...]
    reason: str
    defect: bool
    everywhere: bool  # it has no result at all

    @property
    def sentence(self) -> str:
        if self.everywhere:
            return f"failed: {self.reason}"
        horizons, seeds = (", ".join(map(str, numbers)) for numbers in (self.horizons, self.seeds))
        return f"failed at horizon {horizons} (seed {seeds}): {self.reason}"

    def as_json(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "horizons": list(self.horizons),
            "seeds": list(self.seeds),
            "reason": self.reason,
        }


def attempt(work: Callable[[], T]) -> T | Failure:
    """The result of a method's work, or why there is none. What is wrong with the store or the machine is raised."""
    try:
        return work()
    except (Cancelled, ResultFolderError, OSError):
        raise
    except UserError as error:
        return Failure(str(error))
    except MemoryError:
        return Failure("There was not enough memory; use fewer --jobs, fewer units or a smaller size.")
    except (ArithmeticError, LinAlgError) as error:
        return Failure(f"Its calculation broke down ({error}); try other settings, another seed or another horizon.")
    except Exception as error:
        return Failure(f"This is a defect of the program ({_place_of(error)}); please report it.", defect=True)


def _place_of(error: Exception) -> str:
    """KeyError: 'x' in sled.py, line 90."""
    frames = extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "shortlong" in Path(frame.filename).parts] or frames
    message = str(UserError(error))  # printable and not long
    return f"{type(error).__name__}: {message[:300]} in {Path(ours[-1].filename).name}, line {ours[-1].lineno}"


def failure_key(ingredients: Mapping[str, Any]) -> str:
    return key_of({**ingredients, "kind": "failure"})


def note_failure(store: Store, ingredients: Mapping[str, Any], failure: Failure) -> None:
    key = failure_key(ingredients)
    if read_failure(store, ingredients) == failure:
        return
    forget_failure(store, ingredients)
    store.put(
        key,
        "failure",
        made_from={**ingredients, "kind": "failure"},
        meta={"reason": failure.reason, "defect": failure.defect},
    )


def read_failure(store: Store, ingredients: Mapping[str, Any]) -> Failure | None:
    entry = store.get(failure_key(ingredients))
    return Failure(str(entry.meta["reason"]), bool(entry.meta["defect"])) if entry else None


def forget_failure(store: Store, ingredients: Mapping[str, Any]) -> None:
    with contextlib.suppress(UserError):  # there is none, or another process was quicker
        store.remove(failure_key(ingredients))
