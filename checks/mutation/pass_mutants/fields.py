"""Every protobuf field of a model: the check that protects it, and the case of the pass that sets it.

The fields are data in `fields.toml`. A rewrite that clears a field, and changes nothing else, must violate the check
that the file names for the field. For a field that a rewrite may clear, the file has a reason instead.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

from conformance.corpus.factors.message_fields import CASE_MESSAGES, MessageScope, snake_case

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class ModelField:
    """A field of a protobuf message, and the check that detects its loss.

    Attributes:
        message: name of the message type, such as "NodeProto".
        checks: maps a part of the model, such as the main graph, to the check that a rewrite violates if it clears the
            field there. Empty if a rewrite may clear the field.
        reason: why a rewrite may clear the field; otherwise empty.
    """

    message: str
    name: str
    checks: Mapping[MessageScope, str] = field(default_factory=dict)
    reason: str = ""

    def case_id(self, scope: MessageScope) -> str:
        """Return the id of the case that sets the field in this part of the model."""
        group = CASE_MESSAGES.get(self.message, self.message)
        return f"test_argmax_pass_fields_{snake_case(group)}{'' if scope is MessageScope.MODEL else f'_{scope}'}"


def _read_fields() -> Iterator[ModelField]:
    """Yield the fields in `fields.toml`, grouped by message."""
    text = resources.files(__package__).joinpath("fields.toml").read_text(encoding="utf-8")
    for message, table in tomllib.loads(text).items():
        for name, given in table["checks"].items():
            checks = dict.fromkeys(table["scopes"], given) if isinstance(given, str) else given
            yield ModelField(message, name, {MessageScope(scope): check for scope, check in checks.items()})
        for name, reason in table.get("unprotected", {}).items():
            yield ModelField(message, name, reason=reason)


FIELDS = tuple(_read_fields())
"""All fields, grouped by message."""
