"""The ids of committed cases, to name tests by: quick to read, while to define the cases takes seconds."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from repository import DATA


@cache
def documents() -> dict[str, Any]:
    """What case.json says of each committed case, by id."""
    return {path.parent.name: json.loads(path.read_bytes()) for path in sorted(DATA.glob("*/*/case.json"))}


def ids_of(generator: str, *tags: str) -> list[str]:
    """The cases of a generator that have all these tags."""
    return [
        id
        for id, document in documents().items()
        if document["generator"] == generator and set(tags) <= set(document["tags"])
    ]
