"""What an operator is given beside its operands: its attributes and version, and how to compute."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from oracle.arithmetic import Arithmetic, Enclosing, Exact, Integers, Stepwise
from oracle.formats import FLOATS
from oracle.tensors import Tensor, Value, each

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import GraphProto, NodeProto

    from oracle.formats import FloatFormat


@dataclass(frozen=True)
class Mode:
    """How numbers are computed.

    Attributes:
        arithmetic: what elements of a floating-point type are computed with.
        rounds: each node's results are rounded to their declared types.
        encloses: an element may be an `Enclosure`, and an index a set of indices.
    """

    arithmetic: Callable[[FloatFormat], Arithmetic]
    rounds: bool
    encloses: bool = False


EXACT = Mode(lambda _: Exact(), rounds=False)
"""Nothing is rounded: the graph as a formula of real numbers."""
DECLARED = Mode(lambda _: Exact(), rounds=True)
"""Each node's result is the exact one of its operands, rounded once to its declared type: the graph as it stands."""
STEPWISE = Mode(Stepwise, rounds=True)
"""The same, and each operation of an operator's formula is rounded too."""
NARROW = Mode(partial(Enclosing, units=1), rounds=False, encloses=True)
"""All results of evaluations whose operations are within 1 ULP, enclosed."""
WIDE = Mode(partial(Enclosing, units=8), rounds=False, encloses=True)
"""All results of evaluations whose operations are within 8 ULP, enclosed."""


@dataclass(frozen=True)
class Call:
    """What an operator knows of the node beside its operands."""

    node: NodeProto
    version: int
    attributes: Mapping[str, Any]
    mode: Mode
    run: Callable[[GraphProto, Sequence[Value]], tuple[Value, ...]]

    def arithmetic(self, type_: int) -> Arithmetic:
        """What elements of this type are computed with."""
        return self.mode.arithmetic(FLOATS[type_]) if type_ in FLOATS else Integers(type_)


def rounded(tensor: Tensor) -> Tensor:
    """The tensor with each element rounded to its type."""
    if tensor.type not in FLOATS:
        return tensor
    return tensor.with_elements(each(FLOATS[tensor.type].round, tensor.elements))
