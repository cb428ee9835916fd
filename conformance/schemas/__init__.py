"""The JSON Schemas of the files this suite writes, and the one way to hold a document against them."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of that name: `case`, `manifest` or `results`."""
    text = resources.files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def complaint(name: str, document: object) -> str | None:
    """The first thing in which a document departs from its schema, in one sentence, or None."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator(name).iter_errors(document))
    if error is None:
        return None
    where = "/".join(str(part) for part in error.absolute_path)
    message = error.message if len(error.message) < 200 else error.message[:200] + "…"
    return f"{where}: {message}" if where else message


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema(name))
