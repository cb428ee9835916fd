"""Parts of test graphs: sources of operands and consumers of results.

`SOURCES` has a builder for each way in which an operand can enter a graph: as an input, an initializer, or the result
of another node. `CONSUMERS` has a builder for each way in which a result can be used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import onnx
from onnx import helper

from conformance.exact.models.arrays import Array, tensor_of, type_name, type_number
from conformance.exact.models.graphs import copy_of
from conformance.exact.models.model_building import array_value_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    TensorEncoding: TypeAlias = Callable[[Array, str], onnx.TensorProto]
    SourceBuilder: TypeAlias = Callable[[str, Array, TensorEncoding], "OperandSource"]


@dataclass(frozen=True)
class Fragment:
    """The tested nodes, without the graph around them. The nodes have no subgraphs.

    Attributes:
        nodes: nodes in topological order.
        operands: values of the nodes' operands by name.
        results: an array of the type and shape of each result, by name. The elements are not used.
        opsets: opset version by domain.
        carried: for a result's name, the name of the operand that it replaces in the next iteration of a loop.
        again: the same nodes with other attributes, for a second call of a function.
    """

    nodes: tuple[onnx.NodeProto, ...]
    operands: Mapping[str, Array]
    results: Mapping[str, Array]
    opsets: Mapping[str, int]
    carried: Mapping[str, str] = field(default_factory=dict)
    again: tuple[onnx.NodeProto, ...] = ()

    def inside(self, names: Mapping[str, str] | None = None) -> GraphPart:
        """Return copies of the nodes for a subgraph: results get new names, and operands are renamed by `names`."""
        given = {name: f"{name}_inside" for node in self.nodes for name in node.output if name}
        nodes = [rename_values(node, {**given, **(names or {})}) for node in self.nodes]
        return GraphPart(nodes, given={given[name]: array for name, array in self.results.items()})


@dataclass(frozen=True)
class GraphPart:
    """Nodes and their constants, which can be inserted into any graph.

    Attributes:
        nodes: nodes in topological order.
        initializers: dense initializers that the nodes use.
        sparse: sparse initializers that the nodes use.
        given: an array of the type and shape of each output, by name. The elements are not used.
        functions: model-local functions that the nodes call.
    """

    nodes: Sequence[onnx.NodeProto] = ()
    initializers: Sequence[onnx.TensorProto] = ()
    sparse: Sequence[onnx.SparseTensorProto] = ()
    given: Mapping[str, Array] = field(default_factory=dict)
    functions: Sequence[onnx.FunctionProto] = ()

    def graph(self, name: str, inputs: Mapping[str, Array] | None = None) -> onnx.GraphProto:
        """Return a graph with these nodes, the inputs `inputs`, and the outputs of this part."""
        return helper.make_graph(
            list(self.nodes),
            name,
            [array_value_info(*named) for named in (inputs or {}).items()],
            [array_value_info(*named) for named in self.given.items()],
            list(self.initializers),
            sparse_initializer=list(self.sparse),
        )


def join_parts(parts: Iterable[GraphPart]) -> GraphPart:
    """Return one part with the nodes, constants and outputs of all parts."""
    each = list(parts)
    return GraphPart(
        [node for part in each for node in part.nodes],
        [tensor for part in each for tensor in part.initializers],
        [tensor for part in each for tensor in part.sparse],
        {name: array for part in each for name, array in part.given.items()},
        [function for part in each for function in part.functions],
    )


def rename_values(node: onnx.NodeProto, names: Mapping[str, str]) -> onnx.NodeProto:
    """Return a copy of a node whose inputs and outputs are renamed by the mapping `names`."""
    copy = copy_of(node)
    copy.input[:] = [names.get(name, name) for name in node.input]
    copy.output[:] = [names.get(name, name) for name in node.output]
    return copy


def constant_node(name: str, array: Array) -> onnx.NodeProto:
    """Return a Constant node."""
    return helper.make_node("Constant", [], [name], value=tensor_of(array, name))


_NO_PART = GraphPart()

PADDING_VALUE = 77
"""Value of the padding around an operand that is sliced from a larger tensor. Using it changes every result."""


@dataclass(frozen=True)
class OperandSource:
    """The graph inputs, initializers and nodes that provide an operand of the tested nodes.

    Attributes:
        fed: graph inputs with their values.
        overridable: initializers that are also graph inputs, so that a caller may omit them.
        overriding: values that the caller feeds for such inputs. If there are any, the caller feeds every input.
        before: nodes and constants that compute the operand.
        after: nodes that read another name of the operand after the tested nodes.
    """

    fed: Mapping[str, Array] = field(default_factory=dict)
    overridable: tuple[onnx.TensorProto, ...] = ()
    overriding: Mapping[str, Array] = field(default_factory=dict)
    before: GraphPart = _NO_PART
    after: GraphPart = _NO_PART


def typed_tensor(array: Array, name: str) -> onnx.TensorProto:
    """Return a tensor with its elements in a typed field such as `float_data`. 16-bit floats are stored as bits."""
    type = type_number(type_name(array.dtype))
    if array.dtype.itemsize == 2 and array.dtype.kind not in "iu":
        bits = array.reshape(-1).view(np.uint16).tolist()
        return onnx.TensorProto(name=name, data_type=type, dims=array.shape, int32_data=bits)
    return helper.make_tensor(name, type, array.shape, array.flatten().tolist())


TENSOR_ENCODINGS: Mapping[str, TensorEncoding] = {"raw": tensor_of, "typed": typed_tensor}
"""Functions that create a tensor from an array and a name, by storage: raw bytes or typed field."""


def _constant(name: str, array: Array, encode: TensorEncoding) -> OperandSource:
    return OperandSource(before=GraphPart([helper.make_node("Constant", [], [name], value=encode(array, name))]))


def _rearranged(name: str, array: Array, encode: TensorEncoding) -> OperandSource:
    """Return a source that computes the operand by a Transpose, which may be a strided view; by Reshape for scalars."""
    whole = f"{name}_rearranged"
    if array.ndim:
        node = helper.make_node("Transpose", [whole], [name])
        return OperandSource({whole: np.ascontiguousarray(array.T)}, before=GraphPart([node]))
    shape = encode(np.zeros(0, dtype=np.int64), f"{name}_shape")
    node = helper.make_node("Reshape", [whole, shape.name], [name])
    return OperandSource({whole: array.reshape(1)}, before=GraphPart([node], [shape]))


def _part(name: str, array: Array, encode: TensorEncoding) -> OperandSource:
    """Return a source that takes the operand from a larger tensor by a Slice, possibly a view; scalars by Gather."""
    whole = f"{name}_whole"
    if not array.ndim:
        place = encode(np.array(2, dtype=np.int64), f"{name}_place")
        values = np.array([PADDING_VALUE, PADDING_VALUE, array, PADDING_VALUE], dtype=array.dtype)
        node = helper.make_node("Gather", [whole, place.name], [name])
        return OperandSource({whole: values}, before=GraphPart([node], [place]))
    ends = {"starts": [1] * array.ndim, "ends": [size + 1 for size in array.shape]}
    constants = [encode(np.array(numbers, dtype=np.int64), f"{name}_{word}") for word, numbers in ends.items()]
    node = helper.make_node("Slice", [whole, *(tensor.name for tensor in constants)], [name])
    return OperandSource({whole: np.pad(array, 1, constant_values=PADDING_VALUE)}, before=GraphPart([node], constants))


def _sparse_constant(name: str, array: Array, encode: TensorEncoding) -> OperandSource:
    """Return a Constant with a sparse value, which lacks the elements that are 0.

    Indices are positions if elements are stored in `raw_data`, otherwise coordinates. ONNX's sparse format has neither
    scalars nor empty tensors; they are Constants with a dense value.
    """
    if not array.ndim or not array.size:
        return _constant(name, array, encode)
    places = np.flatnonzero(array).astype(np.int64)
    stored = places if encode is tensor_of else np.stack(np.unravel_index(places, array.shape), axis=1)
    values = encode(array.reshape(-1)[places], f"{name}_values")
    indices = encode(stored, f"{name}_indices")
    sparse = helper.make_sparse_tensor(values, indices, array.shape)
    return OperandSource(before=GraphPart([helper.make_node("Constant", [], [name], sparse_value=sparse)]))


def _alias(name: str, array: Array, encode: TensorEncoding, *, reads_alias: bool) -> OperandSource:
    """Return a source that gives the operand a second name, which a node reads after the tested nodes.

    A runtime may store both names in the same memory. Then the tested nodes must not write to it. The kind of the
    second name depends on the operand; Dropout does not accept integers.
    """
    kinds = [kind for kind in ALIASES if kind != "dropout" or array.dtype.kind not in "iu"]
    return alias_source(name, array, encode, kinds[sum(map(ord, name)) % len(kinds)], reads_alias=reads_alias)


def alias_source(name: str, array: Array, encode: TensorEncoding, kind: str, *, reads_alias: bool) -> OperandSource:
    """Return a source that computes a value and a second name of it, of which one is the operand.

    Args:
        name: name of the operand.
        array: value of the operand.
        encode: how constants are stored.
        kind: how the second name is made, a key of `ALIASES`.
        reads_alias: whether the operand is the second name. Otherwise a later node reads the second name.
    """
    other = f"{name}_other"
    original, alias = (other, name) if reads_alias else (name, other)
    made = ALIASES[kind](original, alias, array, encode)
    before = GraphPart([helper.make_node("Neg", [f"{name}_negated"], [original]), *made.nodes], made.initializers)
    return OperandSource({f"{name}_negated": -array}, before=before, after=extra_reader(other, array))


def _copied_alias(op_type: str, original: str, alias: str, _: Array, __: TensorEncoding) -> GraphPart:
    return GraphPart([helper.make_node(op_type, [original], [alias])])


def _reshape_alias(original: str, alias: str, array: Array, encode: TensorEncoding) -> GraphPart:
    shape = encode(np.array(array.shape, dtype=np.int64), f"{alias}_shape")
    return GraphPart([helper.make_node("Reshape", [original, shape.name], [alias])], [shape])


def _through_sequence(
    name: str, taken: str, prefix: str, between: Iterable[onnx.NodeProto] = ()
) -> list[onnx.NodeProto]:
    """Return nodes that put a value into a sequence, and after the nodes `between` take it out by another name."""
    sequence = f"{prefix}_sequence"
    place = f"{prefix}_first"
    return [
        helper.make_node("SequenceConstruct", [name], [sequence]),
        *between,
        constant_node(place, np.array(0, dtype=np.int64)),
        helper.make_node("SequenceAt", [sequence, place], [taken]),
    ]


ALIASES: Mapping[str, Callable[[str, str, Array, TensorEncoding], GraphPart]] = {
    "identity": partial(_copied_alias, "Identity"),
    "reshape": _reshape_alias,
    "dropout": partial(_copied_alias, "Dropout"),
    "if": lambda original, alias, array, _: GraphPart([_if_identity(original, alias, f"{alias}_then", array)]),
    "sequence": lambda original, alias, _, __: GraphPart(_through_sequence(original, alias, alias)),
}
"""Builders of nodes that give a value a second name, by level. A runtime may store both names in the same memory."""


def _after_empty_names(name: str, array: Array, _: TensorEncoding) -> OperandSource:
    """Return a source that computes the operand by a Dropout whose last inputs and last output have empty names."""
    given = f"{name}_given"
    return OperandSource({given: array}, before=GraphPart([helper.make_node("Dropout", [given, "", ""], [name, ""])]))


OMITTING_SOURCES: Mapping[str, SourceBuilder] = {"trailing_empty": _after_empty_names}
"""Builders of sources of floating-point operands with omitted inputs and outputs, by level. They need opset 12."""

SOURCES: Mapping[str, SourceBuilder] = {
    "input": lambda name, array, _: OperandSource({name: array}),
    "initializer": lambda name, array, encode: OperandSource(before=GraphPart(initializers=[encode(array, name)])),
    "overridable": lambda name, array, encode: OperandSource(overridable=(encode(array, name),)),
    "constant": _constant,
    "rearranged": _rearranged,
    "part": _part,
    "alias": partial(_alias, reads_alias=True),
    "aliased": partial(_alias, reads_alias=False),
    "sparse_constant": _sparse_constant,
    "overridden": lambda name, array, encode: OperandSource(
        overridable=(encode(np.zeros_like(array), name),), overriding={name: array}
    ),
}
"""Builders of operand sources by level. `overridden` is an initializer for which the caller feeds another value."""

ALIAS_SIDES = ("alias", "original")
"""The name that the tested nodes read, of two names of one value. Another node reads the other name later."""

ALIAS_SOURCES: Mapping[str, SourceBuilder] = {
    f"{kind}_{side}": partial(alias_source, kind=kind, reads_alias=side == "alias")
    for kind in ALIASES
    for side in ALIAS_SIDES
}
"""Builders of operand sources for each kind of alias, by kind and side."""

PERMITTED_SOURCES = ("overridden",)
"""Sources that the specification permits and does not require. They occur in no `must` case."""

CONDITION_INPUT = "yes"
"""Name of a graph input with the value true. It is the condition of every If."""


def _output(name: str, array: Array) -> GraphPart:
    return GraphPart(given={name: array})


def _identity(name: str, array: Array) -> GraphPart:
    same = f"{name}_same"
    nodes = [helper.make_node("Identity", [name], [same]), *_allocating_nodes(name)]
    return GraphPart(nodes, given={same: array, f"{name}_later": array})


def _reshaped(name: str, array: Array) -> GraphPart:
    """Return a consumer that reads the result by a second name of another shape, after other nodes allocate memory."""
    shape = f"{name}_shape"
    flat = f"{name}_flat"
    nodes = [
        constant_node(shape, np.array([-1], dtype=np.int64)),
        helper.make_node("Reshape", [name, shape], [flat]),
        *_allocating_nodes(name),
    ]
    return GraphPart(nodes, given={flat: array.reshape(-1), f"{name}_later": array})


def _captured(name: str, array: Array) -> GraphPart:
    """Return an If node whose branch captures the result from the enclosing graph."""
    taken = f"{name}_captured"
    node = _if_identity(name, taken, f"{name}_then", array)
    return GraphPart([node, *_allocating_nodes(name)], given={taken: array, f"{name}_later": array})


def _sequence(name: str, array: Array) -> GraphPart:
    """Return nodes that put the result into a sequence, allocate memory, and read the result from the sequence."""
    nodes = _through_sequence(name, f"{name}_at", name, _allocating_nodes(name))
    return GraphPart(nodes, given={f"{name}_at": array, f"{name}_later": array})


def _allocating_nodes(name: str) -> list[onnx.NodeProto]:
    """Return nodes whose results have the size of the value `name`, so that a runtime allocates memory."""
    negative = f"{name}_negative"
    return [helper.make_node("Neg", [name], [negative]), helper.make_node("Add", [negative] * 2, [f"{name}_later"])]


def zeros_part(given: Mapping[str, Array]) -> GraphPart:
    """Return constants of zeros, one of the type and shape of each array, for a branch that is not taken."""
    inner = {f"{name}_zeros": np.zeros_like(array) for name, array in given.items()}
    return GraphPart([constant_node(*named) for named in inner.items()], given=inner)


def if_node(outputs: Sequence[str], then: onnx.GraphProto, given: Mapping[str, Array]) -> onnx.NodeProto:
    """Return an If whose condition is true. Its else branch gives zeros of the shapes of the given arrays."""
    other = zeros_part(given).graph("else")
    return helper.make_node("If", [CONDITION_INPUT], list(outputs), then_branch=then, else_branch=other)


def _if_identity(name: str, output: str, inner: str, array: Array) -> onnx.NodeProto:
    """Return an If whose branch returns a value that it captures."""
    then = GraphPart([helper.make_node("Identity", [name], [inner])], given={inner: array})
    return if_node([output], then.graph("then"), {output: array})


def extra_reader(name: str, array: Array) -> GraphPart:
    """Return a node that reads an operand after the tested nodes. It reveals an operand that was overwritten."""
    other = f"{name}_negative"
    return GraphPart([helper.make_node("Neg", [name], [other])], given={other: array})


CONSUMERS: Mapping[str, Callable[[str, Array], GraphPart]] = {
    "output": _output,
    "unused": lambda _, __: _NO_PART,
    "read_too": lambda name, array: join_parts((_output(name, array), extra_reader(name, array))),
    "identity": _identity,
    "captured": _captured,
    "sequence": _sequence,
    "reshaped": _reshaped,
}
"""Builders of result consumers by level."""
