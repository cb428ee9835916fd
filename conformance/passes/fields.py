"""Parts of a model, such as the main graph, and the protobuf messages in them."""

from __future__ import annotations

import re
from enum import StrEnum
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
