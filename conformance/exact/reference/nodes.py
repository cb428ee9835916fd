"""Nodes of a graph as Python objects: attribute values are read, references to function attributes are resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import onnx
from onnx import helper

from conformance.base.verdicts import Unsupported
from conformance.exact.models.input_files import dense_array, tensor_elements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.numbers.enclosure import Tensor
    from conformance.exact.reference.numbers.formula_tensor import T
    from conformance.exact.reference.numbers.number_system import NumberSystem, Value

    NodeEnclosure: TypeAlias = Callable[["Node", Sequence[Tensor]], Sequence[Tensor]]

MAX_OPERANDS = 10_000
"""Maximum number of operands of a node that is evaluated."""

MAX_STEPS = 2**26
"""Maximum number of steps of a node whose attributes or operands, and not its sizes, determine how many it takes."""

TOO_LARGE = "it is too large"
"""The beginning of the reason why the outputs of a large node are not judged."""


def check_steps(count: int) -> None:
    """Check that the computation of a node does not take too long, before it begins.

    Raises:
        Unsupported: it does.
    """
    if count > MAX_STEPS:
        raise Unsupported(f"{TOO_LARGE}: its computation takes {count:.3g} steps, more than {MAX_STEPS:,}")


@dataclass(frozen=True)
class Node:
    """A node in the form in which the evaluation of its operator receives it.

    Attributes:
        op_type: the operator.
        inputs: the names of its inputs, then of the values that its subgraphs capture.
        outputs: the names of its outputs.
        attributes: the values of its attributes by name.
        opset: the version of its domain.
        domain: the domain of the operator.
    """

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    opset: int
    domain: str = ""


class NodeFormula(Protocol):
    """The formula of an operator on tensors of one kind; inputs that are not its operands are arrays."""

    def __call__(self, node: Node, inputs: Sequence[T | Array | None], /) -> list[T]: ...


Evaluation: TypeAlias = "Callable[[Node, list[Value], NumberSystem], list[Value]]"


def attribute_values(attributes: Iterable[onnx.AttributeProto]) -> dict[str, Any]:
    """Return attribute values by name: numbers, text, arrays, and lists of these. Graph attributes are omitted."""
    return {attribute.name: _value(attribute) for attribute in attributes if attribute.type not in _GRAPHS}


def check_operands(node: onnx.NodeProto) -> None:
    """Check that a node has no more operands than can be evaluated in time.

    Raises:
        Unsupported: the node has more operands.
    """
    if len(node.input) > MAX_OPERANDS:
        raise Unsupported(f"a node has more than {MAX_OPERANDS:,} operands")


def resolve_references(
    attributes: Iterable[onnx.AttributeProto], given: Mapping[str, onnx.AttributeProto]
) -> Iterator[onnx.AttributeProto]:
    """Yield the attributes of a node in a function's body, with references replaced by attributes of the call.

    A reference to an attribute that the call does not have is omitted, as ONNX requires.

    Args:
        attributes: the attributes of the node.
        given: the attributes of the call, by name.
    """
    for attribute in attributes:
        if not attribute.ref_attr_name:
            yield attribute
        elif attribute.ref_attr_name in given:
            copy = onnx.AttributeProto()
            copy.CopyFrom(given[attribute.ref_attr_name])
            copy.name = attribute.name
            yield copy


def call_attributes(
    function: onnx.FunctionProto, call: Iterable[onnx.AttributeProto]
) -> dict[str, onnx.AttributeProto]:
    """Return the attributes of a function call by name, completed by the defaults of the function.

    Raises:
        Unsupported: the call lacks an attribute without a default.
    """
    defaults = {attribute.name: attribute for attribute in function.attribute_proto}
    values = {**defaults, **{attribute.name: attribute for attribute in call}}
    if missing := [name for name in function.attribute if name not in values]:
        raise Unsupported(f"a call of the function {function.name} lacks the attributes {missing}")
    return values


def _value(proto: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(proto)
    if isinstance(value, onnx.TensorProto):
        return tensor_elements(value)
    if isinstance(value, onnx.SparseTensorProto):
        return dense_array(value)
    if isinstance(value, list):
        return [_text(element) for element in value]
    return _text(value)


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


_GRAPHS = {onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS, onnx.AttributeProto.TYPE_PROTO}
