"""The ids and documents of committed cases; reading them is much faster than defining the cases."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from repository import DATA


@cache
def case_documents() -> dict[str, Any]:
    """Return the content of case.json of each committed case, by id."""
    return {path.parent.name: json.loads(path.read_bytes()) for path in sorted(DATA.glob("*/*/case.json"))}


def case_ids(generator: str, *tags: str) -> list[str]:
    """Return the ids of cases of a generator that have all these tags."""
    return [
        id
        for id, document in case_documents().items()
        if document["generator"] == generator and set(tags) <= set(document["tags"])
    ]
