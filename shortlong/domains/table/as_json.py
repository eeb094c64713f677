"""What a person said about a table, as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class AsJson:
    """Base of data classes of texts, numbers and tuples of them."""

    def as_json(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        return cls(**{n: tuple(value) if isinstance(value, list) else value for n, value in content.items()})
