"""Every protobuf field of a model: the check that protects it, and the case of the pass that sets it.

The fields are data in `fields.toml`. A rewrite that clears a field, and changes nothing else, must violate the check
that the file names for the field. For a field that a rewrite may clear, the file has a reason instead.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import resources
from typing import TYPE_CHECKING, Any

import onnx

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class MessageScope(StrEnum):
    """The part of a model that contains a protobuf message."""

    MODEL = "model"
    """Outside graphs: the model itself, its functions as wholes, its training information."""
    MAIN = "main"
    """The main graph."""
    SUBGRAPH = "subgraph"
    """A graph in an attribute of a node, at any depth."""
    FUNCTION = "function"
    """The body of a function."""
    TRAINING = "training"
    """A graph of training information."""


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


CASE_MESSAGES: Mapping[str, str] = {
    "OperatorSetIdProto": "ModelProto",
    "TrainingInfoProto": "ModelProto",
    "SparseTensorProto": "GraphProto",
    "TensorAnnotation": "GraphProto",
}
"""Messages without a case of their own, and the message whose case sets their fields."""

IN_GRAPHS = (MessageScope.MAIN, MessageScope.SUBGRAPH, MessageScope.FUNCTION)


def snake_case(name: str) -> str:
    """Return the name of a message in snake case, without `Proto`: `value_info` for `ValueInfoProto`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("Proto")).lower()


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


def iter_messages(model: onnx.ModelProto) -> Iterator[tuple[MessageScope, Any]]:
    """Yield every protobuf message of a model, with the part of the model that contains the message."""
    yield from _iter_messages(model, MessageScope.MODEL)


def _iter_messages(message: Any, scope: MessageScope) -> Iterator[tuple[MessageScope, Any]]:
    yield scope, message
    inside = _CONTENT_SCOPES.get(type(message).__name__, scope)
    for descriptor, content in message.ListFields():
        if descriptor.message_type is not None:
            for entry in content if hasattr(content, "extend") else [content]:
                yield from _iter_messages(entry, _scope_inside(inside, entry))


def _scope_inside(scope: MessageScope, message: Any) -> MessageScope:
    """Return the scope of the messages inside `message`, which has the scope `scope`."""
    if not isinstance(message, onnx.GraphProto):
        return scope
    return {MessageScope.MODEL: MessageScope.MAIN, MessageScope.MAIN: MessageScope.SUBGRAPH}.get(scope, scope)


_CONTENT_SCOPES = {"FunctionProto": MessageScope.FUNCTION, "TrainingInfoProto": MessageScope.TRAINING}
"""Messages whose contents have another scope than the message itself."""
