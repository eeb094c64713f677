"""What pages work out once for all sessions: the latest answers of a function, found again in some microseconds.

Streamlit's own cache hashes every argument and reads the signature of the function at every call, which for thirty calls in the
run of a page is a tenth of it. The objects kept are shared and never changed.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

from shortlong.compute.results import Results

P = ParamSpec("P")
R = TypeVar("R")


class Kept(Generic[R]):
    """The latest ``most`` answers by key. Whoever asks for one that is being worked out waits for it."""

    def __init__(self, most: int):
        self.most = most
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, R] = OrderedDict()
        self._at_work: dict[Hashable, threading.Lock] = {}

    def get(self, key: Hashable, work: Callable[[], R]) -> R:
        """The answer, worked out at the first time; one that fails is not kept."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
            mine = self._at_work.setdefault(key, threading.Lock())
        with mine:
            with self._lock:
                if key in self._answers:
                    return self._answers[key]
            try:
                answer = work()
                with self._lock:
                    self._answers[key] = answer
                    while len(self._answers) > self.most:
                        self._answers.popitem(last=False)
                return answer
            finally:
                with self._lock:
                    self._at_work.pop(key, None)


def once_per_results(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep the answers of a function of (results, choices) for all sessions; the latest ``most`` of them."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        kept: Kept[R] = Kept(most)

        @wraps(function)
        def ask(*args: P.args, **kwargs: P.kwargs) -> R:
            key = (_part(args), _part(kwargs))
            return kept.get(key, lambda: function(*args, **kwargs))

        return ask

    return decorate


def _part(value: Any) -> Hashable:
    """What identifies an argument: results by their key, never by their data."""
    if isinstance(value, Results):
        return value.key
    if isinstance(value, list | tuple):
        return tuple(map(_part, value))
    if isinstance(value, dict):
        return tuple((name, _part(part)) for name, part in value.items())
    return value
