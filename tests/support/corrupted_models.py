"""Randomly corrupted models: fields cleared, changed, repeated or removed, and bytes changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
from argmax_models import CAPTURED_TWICE_INSIDE, argmax_model
from expandable_models import one_node
from hypothesis import strategies as st
from large_models import OPSETS, chain, doubling, pairs
from onnx import helper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from google.protobuf.message import Message


def _within_a_function() -> onnx.ModelProto:
    """An optimizer in a function, with an attribute of the call."""
    proto = one_node("Adagrad")
    (node,) = proto.graph.node
    body = onnx.NodeProto.FromString(node.SerializeToString())
    body.attribute.append(onnx.AttributeProto(name="epsilon", ref_attr_name="epsilon", type=onnx.AttributeProto.FLOAT))
    imports = [*proto.opset_import]
    proto.functions.append(
        helper.make_function("acme", "Step", node.input, node.output, [body], imports, attributes=["epsilon"])
    )
    proto.opset_import.append(OPSETS[1])
    node.domain, node.op_type = "acme", "Step"
    node.attribute.append(helper.make_attribute("epsilon", 0.5))
    return proto


SOUND = (
    pairs(2),
    chain(2),
    doubling(2),
    argmax_model("E = Exp(X) L = Softmax<axis=1>(E) index = ArgMax<axis=1, keepdims=0>(L)"),
    argmax_model(CAPTURED_TWICE_INSIDE),
    *(one_node(op_type) for op_type in ("Adam", "Momentum", "Adagrad")),
    _within_a_function(),
)

NUMBERS = (-(2**31), -7, -1, 0, 1, 2, 3, 7, 16, 99, 2**31 - 1)
TEXTS = ("", "X", "Y", "index", "Exp", "ArgMax", "Adam", "ai.onnx", "ai.onnx.preview.training", "acme", "\x00\u202e")


@st.composite
def corrupted_model(draw: st.DrawFn) -> bytes:
    """Return the bytes of a model after one to four random changes."""
    proto = type(SOUND[0])()
    proto.CopyFrom(draw(st.sampled_from(SOUND)))
    for _ in range(draw(st.integers(1, 4))):
        _change(draw, draw(st.sampled_from(list(_messages(proto)))))
    content = proto.SerializeToString()
    return _changed_bytes(draw, content) if draw(st.booleans()) else content


def _messages(message: Message) -> Iterator[Message]:
    """A message and all within it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if _is_repeated(field) else [value]:
                yield from _messages(inner)


def _change(draw: st.DrawFn, message: Message) -> None:
    """Change a field of a message."""
    field = draw(st.sampled_from(list(message.DESCRIPTOR.fields)))
    what = draw(st.sampled_from(["clear", "set", "count"]))
    if what == "clear" or field.message_type is not None:
        if _is_repeated(field) and what != "clear":
            _less_or_more(draw, getattr(message, field.name))
        else:
            message.ClearField(field.name)
    elif _is_repeated(field):
        getattr(message, field.name).append(_value(draw, field))
    else:
        setattr(message, field.name, _value(draw, field))


def _less_or_more(draw: st.DrawFn, entries: Any) -> None:
    """Take an entry away, or repeat it."""
    if not len(entries):
        entries.add()
        return
    place = draw(st.integers(0, len(entries) - 1))
    if draw(st.booleans()):
        del entries[place]
    else:
        entries.add().CopyFrom(entries[place])


def _value(draw: st.DrawFn, field: Any) -> Any:
    if field.enum_type is not None:
        return draw(st.sampled_from([value.number for value in field.enum_type.values]))
    if field.cpp_type == field.CPPTYPE_STRING:
        text = draw(st.sampled_from(TEXTS))
        return text.encode() if field.type == field.TYPE_BYTES else text
    if field.cpp_type in {field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE}:
        return draw(st.floats(width=32))
    return draw(st.sampled_from(NUMBERS if field.cpp_type in {field.CPPTYPE_INT32, field.CPPTYPE_INT64} else (0, 1)))


def _changed_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Some bytes replaced by others."""
    start = draw(st.integers(0, len(content)))
    length = draw(st.integers(0, 8))
    return content[:start] + draw(st.binary(max_size=8)) + content[start + length :]


def _is_repeated(field: Any) -> bool:
    """Whether a field has entries; protobuf says so by a property since version 6, by a label before."""
    given = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if given is None else given)
