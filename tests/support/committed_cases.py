"""The ids and documents of committed cases; reading them is much faster than defining the cases."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from repository import DATA


@cache
def case_documents(generator: str) -> dict[str, Any]:
    """Return the content of case.json of each committed case of a generator, by id."""
    named = f'"generator": "{generator}"'.encode()
    contents = ((path, path.read_bytes()) for path in sorted(DATA.glob("*/*/case.json")))
    return {path.parent.name: json.loads(content) for path, content in contents if named in content}


def case_ids(generator: str, *tags: str) -> list[str]:
    """Return the ids of cases of a generator that have all these tags."""
    return [id for id, document in case_documents(generator).items() if set(tags) <= set(document["tags"])]
