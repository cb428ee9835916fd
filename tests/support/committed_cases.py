"""The ids of committed cases; reading them is much faster than defining the cases."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from repository import DATA


@cache
def _heads() -> dict[str, Any]:
    """Return the fields before the model in case.json of each committed case, by id."""
    contents = ((path.parent.name, path.read_bytes()) for path in sorted(DATA.glob("*/*/case.json")))
    return {id: json.loads(content.partition(b',\n "model"')[0] + b"}") for id, content in contents}


def case_ids(generator: str, *tags: str) -> list[str]:
    """Return the ids of cases of a generator that have all these tags."""
    return [id for id, head in _heads().items() if head["generator"] == generator and set(tags) <= set(head["tags"])]
