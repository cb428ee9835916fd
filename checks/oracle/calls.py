"""The context of an operator's evaluation: attributes, version, and the mode of computation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from checks.oracle.arithmetic import (
    Arithmetic,
    EnclosureArithmetic,
    ExactArithmetic,
    IntegerArithmetic,
    StepwiseArithmetic,
)
from checks.oracle.formats import FLOATS
from checks.oracle.tensors import Tensor, Value, map_elements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import GraphProto, NodeProto

    from checks.oracle.formats import FloatFormat


@dataclass(frozen=True)
class Mode:
    """A mode of computation.

    Attributes:
        arithmetic: returns the arithmetic for elements of a floating-point format.
        rounds: whether each node's results are rounded to their declared types.
        has_enclosures: whether an element may be an `Enclosure`, and an index a set of indices.
    """

    arithmetic: Callable[[FloatFormat], Arithmetic]
    rounds: bool
    has_enclosures: bool = False


EXACT = Mode(lambda _: ExactArithmetic(), rounds=False)
"""No rounding: the graph is a formula of real numbers."""
DECLARED_TYPES = Mode(lambda _: ExactArithmetic(), rounds=True)
"""Each node computes exactly, and rounds its results once to their declared types."""
STEPWISE = Mode(StepwiseArithmetic, rounds=True)
"""Each node rounds its results, and each operation of an operator's formula rounds as well."""
WITHIN_1_ULP = Mode(partial(EnclosureArithmetic, units=1), rounds=False, has_enclosures=True)
"""Enclosures of all evaluations whose operations have errors of at most 1 ULP."""
WITHIN_8_ULP = Mode(partial(EnclosureArithmetic, units=8), rounds=False, has_enclosures=True)
"""Enclosures of all evaluations whose operations have errors of at most 8 ULP."""


@dataclass(frozen=True)
class Call:
    """The node that an operator evaluates, without its operands.

    Attributes:
        node: the node.
        version: the version of the operator's domain.
        attributes: the attributes with their defaults, by name.
        mode: the mode of computation.
        run: evaluates a subgraph of the node for some inputs.
    """

    node: NodeProto
    version: int
    attributes: Mapping[str, Any]
    mode: Mode
    run: Callable[[GraphProto, Sequence[Value]], tuple[Value, ...]]

    def arithmetic(self, type_: int) -> Arithmetic:
        """Return the arithmetic for elements of a type."""
        return self.mode.arithmetic(FLOATS[type_]) if type_ in FLOATS else IntegerArithmetic(type_)

    def integers(self, attribute: str, operand: Tensor | None) -> list[int] | None:
        """Return the integers of an attribute that is an operand in later opsets; None if both are omitted."""
        if operand is not None:
            return operand.integers()
        return list(self.attributes[attribute]) if attribute in self.attributes else None


def round_tensor(tensor: Tensor) -> Tensor:
    """Return a tensor with each element rounded to its type."""
    if tensor.type not in FLOATS:
        return tensor
    return tensor.with_elements(map_elements(FLOATS[tensor.type].round, tensor.elements))
