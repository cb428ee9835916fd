"""Validate documents against the JSON Schemas in `schemas/`; `scripts/make_schemas.py` generates them from types."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import jsonschema_rs

MAX_VIOLATION_LENGTH = 200
"""Characters of the text that `schema_violation` returns, without the path."""


@cache
def schema(name: str) -> dict[str, Any]:
    """Return a JSON Schema: `case`, `census`, `manifest`, `protocol`, `released`, `results` or `summary`."""
    text = resources.files(__package__).joinpath("schemas", f"{name}.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


@cache
def schema_check(name: str, definition: str = "") -> Callable[[object], bool]:
    """Return a function that returns whether a document is valid; the arguments are those of `schema_violation`."""
    return _validator(name, definition).is_valid


def schema_violation(name: str, document: object, definition: str = "") -> str | None:
    """Return the path and the reason of the first violation of a JSON Schema; None if the document is valid.

    Args:
        name: name of the schema, see `schema`.
        definition: key of `$defs` in the schema; if it is given, the document is checked against this definition.
    """
    validator = _validator(name, definition)
    if validator.is_valid(document):
        return None
    error = next(validator.iter_errors(document), None)
    if error is None:
        return None
    path = "/".join(str(key) for key in error.instance_path)
    message = error.message
    if len(message) > MAX_VIOLATION_LENGTH:
        message = message[:MAX_VIOLATION_LENGTH] + "…"
    return f"{path}: {message}" if path else message


@cache
def _validator(name: str, definition: str) -> jsonschema_rs.Validator:
    import jsonschema_rs  # late: the import is slow, and many commands need no schema

    whole = schema(name)
    if not definition:
        return jsonschema_rs.validator_for(whole)
    return jsonschema_rs.validator_for(
        {"$schema": whole["$schema"], "$defs": whole["$defs"], "$ref": f"#/$defs/{definition}"}
    )
