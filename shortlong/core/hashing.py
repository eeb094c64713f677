"""Stable keys: the same ingredients give the same hash on every machine and in every Python process."""

import hashlib
import json
from pathlib import Path
from typing import Any


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces, so that equal values are equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def key_of(value: Any) -> str:
    """A 20-character hexadecimal key of any JSON value."""
    return hashlib.blake2b(canonical_json(value).encode(), digest_size=10).hexdigest()


def seed_of(*ingredients: Any) -> int:
    """An integer seed that depends on all ingredients, for independent random streams."""
    digest = hashlib.blake2b(canonical_json(list(ingredients)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def checksum(file: Path) -> str:
    """Checksum of a file's content, read in pieces."""
    digest = hashlib.blake2b(digest_size=20)
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
