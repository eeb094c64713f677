"""How commands print documents for programs."""

import json
from typing import Any


def print_json(value: Any) -> None:
    """One JSON document; a number that is not finite is a defect."""
    print(json.dumps(value, indent=1, allow_nan=False))
