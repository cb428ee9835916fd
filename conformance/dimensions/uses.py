"""What becomes of a result: a table of builders, each of which takes a value of a name to the graph's outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from onnx import helper

from conformance.dimensions.fragments import Part, constant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import onnx

    from conformance.models.arrays import Array

CONDITION = "yes"
"""The graph input, fed with true, by which If decides; what is in a node and reads it, is in one that reads it too."""


def _output(name: str, array: Array) -> Part:
    return Part(given={name: array})


def _unused(_: str, __: Array) -> Part:
    return Part()


def _read_too(name: str, array: Array) -> Part:
    """A graph output that a later node reads as well."""
    other = f"{name}_negative"
    return Part([helper.make_node("Neg", [name], [other])], given={name: array, other: array})


def _identity(name: str, array: Array) -> Part:
    same = f"{name}_same"
    nodes = [helper.make_node("Identity", [name], [same]), *_later(name)]
    return Part(nodes, given={same: array, f"{name}_later": array})


def _captured(name: str, array: Array) -> Part:
    """A graph within an If takes it from around."""
    taken, inner = f"{name}_captured", f"{name}_then"
    then = Part([helper.make_node("Identity", [name], [inner])], given={inner: array})
    node = helper.make_node(
        "If", [CONDITION], [taken], then_branch=then.graph("then"), else_branch=zeros({taken: array}).graph("else")
    )
    return Part([node, *_later(name)], given={taken: array, f"{name}_later": array})


def _sequence(name: str, array: Array) -> Part:
    """It waits in a sequence while later nodes need memory."""
    sequence, taken, place = f"{name}_sequence", f"{name}_at", f"{name}_first"
    nodes = [
        helper.make_node("SequenceConstruct", [name], [sequence]),
        *_later(name),
        constant(place, np.array(0, dtype=np.int64)),
        helper.make_node("SequenceAt", [sequence, place], [taken]),
    ]
    return Part(nodes, given={taken: array, f"{name}_later": array})


def _later(name: str) -> list[onnx.NodeProto]:
    """Nodes that need memory of a result's size."""
    negative = f"{name}_negative"
    return [helper.make_node("Neg", [name], [negative]), helper.make_node("Add", [negative] * 2, [f"{name}_later"])]


def zeros(given: Mapping[str, Array]) -> Part:
    """What a branch that is not taken gives instead, under names of its own."""
    inner = {f"{name}_zeros": np.zeros_like(array) for name, array in given.items()}
    return Part([constant(*named) for named in inner.items()], given=inner)


def read_by_another(name: str, array: Array) -> Part:
    """A node that reads an operand after the nodes that take it, so that whoever writes into it is noticed."""
    other = f"{name}_negative"
    return Part([helper.make_node("Neg", [name], [other])], given={other: array})


USES: Mapping[str, Callable[[str, Array], Part]] = {
    "output": _output,
    "unused": _unused,
    "read_too": _read_too,
    "identity": _identity,
    "captured": _captured,
    "sequence": _sequence,
}
"""By word."""
