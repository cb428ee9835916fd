"""Nodes as the walk of a graph sees them: attributes read, references of a function's body resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx
from onnx import helper

from conformance.models.constants import dense_of, elements_of
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from conformance.reference.numbers.values import NumberSystem, Value


@dataclass(frozen=True)
class Node:
    """A node as its operator's evaluation sees it: attributes resolved, the opset of its domain known.

    What the graphs in it capture from around it comes after its own inputs.
    """

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    opset: int
    domain: str = ""


Evaluation: TypeAlias = "Callable[[Node, list[Value], NumberSystem], list[Value]]"


def attribute_values(attributes: Iterable[onnx.AttributeProto]) -> dict[str, Any]:
    """What attributes hold: numbers, text, arrays for tensors, and lists of these; graphs are left out."""
    return {attribute.name: _value(attribute) for attribute in attributes if attribute.type not in _GRAPHS}


def captured_names(graph: onnx.GraphProto) -> tuple[str, ...]:
    """The values that a graph in a node takes from the graphs around it, at any depth; what it defines hides them."""
    known = {"", *(value.name for value in graph.input), *(tensor.name for tensor in graph.initializer)}
    known.update(tensor.values.name for tensor in graph.sparse_initializer)
    names: dict[str, None] = {}
    for node in graph.node:
        taken = list(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                taken += captured_names(attribute.g)
        names.update((name, None) for name in taken if name not in known)
        known.update(node.output)
    names.update((value.name, None) for value in graph.output if value.name not in known)
    return tuple(names)


def resolved(
    attributes: Iterable[onnx.AttributeProto], given: Mapping[str, onnx.AttributeProto]
) -> Iterator[onnx.AttributeProto]:
    """The attributes of a node in a function's body, where a call gives these.

    A reference to an attribute that the call does not give is no attribute at all, as ONNX has it.
    """
    for attribute in attributes:
        if not attribute.ref_attr_name:
            yield attribute
        elif attribute.ref_attr_name in given:
            copy = onnx.AttributeProto()
            copy.CopyFrom(given[attribute.ref_attr_name])
            copy.name = attribute.name
            yield copy


def given_attributes(
    function: onnx.FunctionProto, call: Iterable[onnx.AttributeProto]
) -> dict[str, onnx.AttributeProto]:
    """A call's attributes with the function's defaults.

    Raises:
        Unsupported: the call lacks one that has no default.
    """
    defaults = {attribute.name: attribute for attribute in function.attribute_proto}
    values = {**defaults, **{attribute.name: attribute for attribute in call}}
    if missing := [name for name in function.attribute if name not in values]:
        raise Unsupported(f"a call of the function {function.name} lacks {missing}")
    return values


def _value(proto: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(proto)
    if isinstance(value, onnx.TensorProto):
        return elements_of(value)
    if isinstance(value, onnx.SparseTensorProto):
        return dense_of(value)
    if isinstance(value, list):
        return [_text(element) for element in value]
    return _text(value)


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


_GRAPHS = {onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS, onnx.AttributeProto.TYPE_PROTO}
