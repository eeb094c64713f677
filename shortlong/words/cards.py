"""A card above charts, in words."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """One figure: what it is, how much, compared with what, and what it means."""

    label: str
    value: str
    note: str
    help: str
