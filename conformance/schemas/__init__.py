"""The JSON Schemas of the files this suite writes, and the one way to hold a document against them."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

import jsonschema_rs

LONGEST_COMPLAINT = 200


@cache
def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of that name: `case`, `census`, `manifest`, `protocol`, `released`, `results` or `summary`."""
    text = resources.files(__name__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def complaint(name: str, document: object, part: str = "") -> str | None:
    """The first thing in which a document departs from its schema, in one sentence, or None.

    Args:
        part: which of the schema's `$defs` the document is held against, if not the whole schema.
    """
    validator = _validator(name, part)
    if validator.is_valid(document):
        return None
    error = next(validator.iter_errors(document), None)
    if error is None:
        return None
    where = "/".join(str(part) for part in error.instance_path)
    message = error.message if len(error.message) <= LONGEST_COMPLAINT else error.message[:LONGEST_COMPLAINT] + "…"
    return f"{where}: {message}" if where else message


@cache
def _validator(name: str, part: str) -> jsonschema_rs.Validator:
    whole = schema(name)
    return jsonschema_rs.validator_for(
        {"$schema": whole["$schema"], "$defs": whole["$defs"], "$ref": f"#/$defs/{part}"} if part else whole
    )
