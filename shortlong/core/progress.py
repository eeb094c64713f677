"""How far a piece of work is: what long functions report to."""

from collections.abc import Callable

Progress = Callable[[float], None]  # called with the share done; may raise Cancelled


def quiet(share: float) -> None:
    """Progress that nobody watches."""
