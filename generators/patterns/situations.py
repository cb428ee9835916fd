"""Situations of a pattern that make a usual rewrite wrong, whatever the pattern is.

A situation changes the model of a case and its inputs: an initializer becomes an input too, an axis counts from the
end, a size is 0, the nodes are in a branch. It has the places that it changes: operators, with the operands or the
neighbour that matter. `situated_cases` chooses cases of the families so that each situation has each of its places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
import onnx
from onnx import TensorProto, helper

from conformance.base.verdicts import Level, Unsupported
from conformance.corpus.generation.expected_outputs import enclosed_answers, is_unbounded, with_answers
from conformance.exact.models.arrays import array_of, dtype_of, tensor_of
from conformance.exact.models.graphs import (
    MAIN_DOMAINS,
    Scope,
    all_graphs,
    all_nodes,
    all_tensors,
    copy_of,
    infer_shapes,
    main_opset,
)
from conformance.exact.models.input_files import DeclaredInput
from conformance.exact.models.model_building import array_value_info
from conformance.exact.models.model_validity import is_fully_valid
from conformance.exact.reference.node_enclosures import enclose
from generators.patterns import variations
from generators.patterns.variations import BROADCASTING, Pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from conformance.corpus.cases.case import Case
    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.node_enclosures import NodeScope
    from conformance.exact.reference.numbers.enclosure import TensorOrSequence
    from conformance.exact.reference.oracle import Answer
    from generators.patterns.variations import Places

    Inputs = dict[str, Array]
    WholeChange = Callable[[onnx.ModelProto, Inputs], set[str]]


def _readers(graph: onnx.GraphProto, name: str) -> list[onnx.NodeProto]:
    """Return the nodes of a graph that read a value."""
    return [node for node in graph.node if name in node.input]


def _initializer(graph: onnx.GraphProto, name: str) -> onnx.TensorProto | None:
    """Return the initializer of a value; None if it has none."""
    return next((tensor for tensor in graph.initializer if tensor.name == name), None)


def defaults(model: onnx.ModelProto, _: Inputs) -> set[str]:
    """Make each initializer an input too, which a caller can replace."""
    graph = model.graph
    fed = {value.name for value in graph.input}
    fixed = {tensor.name: tensor for tensor in graph.initializer if tensor.name not in fed}
    used = {name for node in graph.node for name in node.input if name in fixed}
    for name in sorted(used):
        graph.input.append(helper.make_tensor_value_info(name, fixed[name].data_type, fixed[name].dims))
    kinds = {name: array_of(fixed[name]).dtype.kind for name in used}
    return {
        f"{node.op_type} {used >= {*node.input}} {sorted({kinds[name] for name in node.input if name in used})}"
        for node in graph.node
        if used & {*node.input}
    }


AXES_OPERANDS = {"Squeeze": 1, "Unsqueeze": 1, "Slice": 3, "Pad": 3, "CumSum": 1}
"""The operand with the axes; that of reductions is the second one."""

WIDER = {"Unsqueeze"}
"""Operators whose axes count in the shape of their result."""


def other_axes(model: onnx.ModelProto, _: Inputs) -> set[str]:
    """Count axes from the other end."""
    graph = model.graph
    inferred = infer_shapes(model, data_prop=True).graph
    ranks = {
        value.name: len(value.type.tensor_type.shape.dim)
        for value in (*inferred.input, *inferred.output, *inferred.value_info)
        if value.type.tensor_type.HasField("shape")
    }
    ranks |= {tensor.name: len(tensor.dims) for tensor in graph.initializer}
    found = set()
    for number, node in enumerate(graph.node):
        counted = node.output[0] if node.op_type in WIDER else node.input[0] if node.input else ""
        rank = ranks.get(counted)
        if not rank or node.domain not in MAIN_DOMAINS:
            continue

        def exchanged(axis: int, rank: int = rank) -> int:
            return axis - rank if axis >= 0 else axis + rank

        for each in node.attribute:
            if each.name == "axis" and _may_be_negative(model, node):
                each.i = exchanged(each.i)
                found.add(f"{node.op_type} {number}")
            elif each.name == "axes" and main_opset(model) >= 11:
                each.ints[:] = map(exchanged, each.ints)
                found.add(f"{node.op_type} {number}")
        place = AXES_OPERANDS.get(node.op_type, 1 if node.op_type.startswith("Reduce") else None)
        if place is not None and len(node.input) > place and node.input[place]:
            tensor = _initializer(graph, node.input[place])
            if tensor is not None:
                name = f"axes_{number}"
                axes = np.asarray(array_of(tensor))
                graph.initializer.append(tensor_of(np.where(axes >= 0, axes - rank, axes + rank), name))
                node.input[place] = name
                found.add(f"{node.op_type} {number}")
    return found


def _may_be_negative(model: onnx.ModelProto, node: onnx.NodeProto) -> bool:
    return main_opset(model) >= 13 or node.op_type in ("Concat", "Gather", "Split")


def moved_axis(model: onnx.ModelProto, _: Inputs) -> set[str]:
    """Give the last node with one axis the axis before it."""
    graph = model.graph
    for node in reversed(graph.node):
        given = next((each for each in node.attribute if each.name == "axis"), None)
        place = AXES_OPERANDS.get(node.op_type, 1 if node.op_type.startswith("Reduce") else None)
        name = node.input[place] if place is not None and len(node.input) > place else ""
        tensor = _initializer(graph, name)
        axes = np.array(given.i if given is not None else [] if tensor is None else array_of(tensor))
        if node.domain not in MAIN_DOMAINS or axes.size != 1:
            continue
        moved = np.where(axes == 0, 1, axes - 1)
        if given is not None:
            given.i = moved.item()
        elif place is not None:
            graph.initializer.append(tensor_of(moved, "moved"))
            node.input[place] = "moved"
        return {f"{node.op_type} after {first_producer(model, node)}"}
    return set()


def other_keepdims(model: onnx.ModelProto, _: Inputs) -> set[str]:
    """Let the last reduction of the model drop the axes that it keeps, or keep those that it drops."""
    for node in reversed(model.graph.node):
        if node.op_type.startswith(("Reduce", "Arg")):
            given = next((each for each in node.attribute if each.name == "keepdims"), None)
            kept = given is None or bool(given.i)
            if given is not None:
                node.attribute.remove(given)
            node.attribute.append(helper.make_attribute("keepdims", int(not kept)))
            readers = [each.op_type for each in _readers(model.graph, node.output[0])]
            return {f"{node.op_type} {not kept} before {readers}"}
    return set()


def empty(model: onnx.ModelProto, inputs: Inputs, axis: int, *, is_named: bool) -> set[str]:
    """Give inputs a size of 0.

    Args:
        model: the model.
        inputs: the inputs.
        axis: the axis of this size.
        is_named: whether the model has a name for this size instead of the number.
    """
    sizes = {array.shape[axis] for array in inputs.values() if array.ndim}
    for value in model.graph.input:
        array = inputs.get(value.name)
        if array is None or not array.ndim or len(sizes) > 1:
            continue
        dimension = value.type.tensor_type.shape.dim[axis]
        dimension.Clear()
        if is_named:
            dimension.dim_param = "rows"
        else:
            dimension.dim_value = 0
        inputs[value.name] = np.take(array, [], axis)
    return {node.op_type for node in model.graph.node} if len(sizes) == 1 else set()


def named_sizes(model: onnx.ModelProto, inputs: Inputs) -> set[str]:
    """Give each size of the inputs, except 1, a name of its own."""
    for number, value in enumerate(model.graph.input):
        if value.name in inputs:
            for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
                if dimension.dim_value != 1:
                    dimension.Clear()
                    dimension.dim_param = f"size_{number}_{axis}"
    return {node.op_type for node in model.graph.node}


def equal_sizes(model: onnx.ModelProto, inputs: Inputs) -> set[str]:
    """Give equal sizes of the inputs one name, and other sizes others."""
    for value in model.graph.input:
        if value.name in inputs:
            for dimension in value.type.tensor_type.shape.dim:
                if dimension.HasField("dim_value"):
                    size = dimension.dim_value
                    dimension.Clear()
                    dimension.dim_param = f"size_{size}"
    return {node.op_type for node in model.graph.node}


def wide_constants(model: onnx.ModelProto, _: Inputs) -> set[str]:
    """Give a constant of the last node that broadcasts more axes than its result has."""
    graph = model.graph
    inferred = infer_shapes(model).graph
    ranks = {
        value.name: len(value.type.tensor_type.shape.dim)
        for value in (*inferred.output, *inferred.value_info)
        if value.type.tensor_type.HasField("shape")
    }
    for node in reversed(graph.node):
        for place, name in enumerate(node.input):
            tensor = _initializer(graph, name)
            is_fit = node.op_type in BROADCASTING and node.output[0] in ranks
            if tensor is None or not is_fit or name in {value.name for value in graph.input}:
                continue
            array = array_of(tensor)
            shape = (1,) * (ranks[node.output[0]] + 1 - array.ndim) + array.shape
            graph.initializer.append(tensor_of(array.reshape(shape), "wide"))
            node.input[place] = "wide"
            return {f"{node.op_type} after {first_producer(model, node)}"}
    return set()


def first_producer(model: onnx.ModelProto, node: onnx.NodeProto) -> str:
    """Return the first operator that makes an operand of a node; empty if none does."""
    scope = Scope(model, model.graph)
    return next((each.op_type for name in node.input if (each := scope.producer(name)) is not None), "")


def special_values(model: onnx.ModelProto, inputs: Inputs) -> set[str]:
    """Put a NaN, infinities and a negative zero between the elements of the inputs."""
    changed = False
    for name, array in inputs.items():
        if array.dtype.kind == "f" and array.size > 4:
            elements = array.copy()
            elements.flat[:4] = [np.nan, -np.inf, -0.0, np.inf]
            inputs[name] = elements
            changed = True
    return {node.op_type for node in model.graph.node} if changed else set()


def other_type(model: onnx.ModelProto, inputs: Inputs, number: int) -> set[str]:
    """Give all floats another type."""
    dtype = dtype_of(number)
    for tensor in all_tensors(model):
        if tensor.data_type == TensorProto.FLOAT:
            with np.errstate(all="ignore"):
                tensor.CopyFrom(tensor_of(array_of(tensor).astype(dtype), tensor.name))
    for graph in all_graphs(model):
        for value in (*graph.input, *graph.output, *graph.value_info):
            if value.type.tensor_type.elem_type == TensorProto.FLOAT:
                value.type.tensor_type.elem_type = number
    for node in all_nodes(model):
        for each in node.attribute:
            if node.op_type == "Cast" and each.name == "to" and each.i == TensorProto.FLOAT:
                each.i = number
    for name, array in inputs.items():
        if array.dtype == np.float32:
            with np.errstate(all="ignore"):
                inputs[name] = array.astype(dtype)
    is_float = any(array.dtype == dtype for array in inputs.values())
    return {node.op_type for node in model.graph.node} if is_float else set()


AXES_BY_INPUT = {"Squeeze": 13, "Unsqueeze": 13, "ReduceSum": 13}
"""The opset from which on the axes are an input; for other reductions it is 18."""


def other_version(model: onnx.ModelProto, _: Inputs, opset: int) -> set[str]:
    """Give the model another opset, with axes as this opset has them."""
    if model.functions or main_opset(model) == opset:
        return set()
    before = main_opset(model)
    for entry in model.opset_import:
        if entry.domain == "":
            entry.version = opset
    found = set()
    for node in [*all_nodes(model)]:
        if node.domain in MAIN_DOMAINS and onnx.defs.has(node.op_type):
            if not onnx.defs.has(node.op_type, min(before, opset), ""):
                return set()
            versions = [onnx.defs.get_schema(node.op_type, each).since_version for each in (before, opset)]
            if versions[0] != versions[1]:
                found.add(node.op_type)
        is_reduction = node.op_type.startswith("Reduce")
        since = AXES_BY_INPUT.get(node.op_type, 18 if is_reduction else None)
        if since is not None and (before < since) != (opset < since):
            _move_axes(model, node, is_input=opset >= since)
        if node.op_type == "Split" and len(node.input) < 2 and opset >= 18 > before:
            node.attribute.append(helper.make_attribute("num_outputs", len(node.output)))
    return found


def _move_axes(model: onnx.ModelProto, node: onnx.NodeProto, *, is_input: bool) -> None:
    """Make the attribute `axes` an input, or the input an attribute."""
    given = next((each for each in node.attribute if each.name == "axes"), None)
    if is_input and given is not None:
        name = f"axes_of_{node.output[0]}"
        model.graph.initializer.append(tensor_of(np.array(given.ints, np.int64), name))
        node.input.append(name)
        node.attribute.remove(given)
    elif not is_input and len(node.input) > 1:
        tensor = _initializer(model.graph, node.input[1])
        if tensor is not None and array_of(tensor).size:
            del node.input[1:]
            node.attribute.append(helper.make_attribute("axes", array_of(tensor).tolist()))


def _outputs_outside(graph: onnx.GraphProto, part: onnx.GraphProto) -> list[str]:
    """Move the nodes and outputs of a graph to a part, and return the names of the outputs outside of it."""
    part.node.extend(graph.node)
    part.output.extend(graph.output)
    del graph.node[:]
    for value in graph.output:
        value.name = f"{value.name}_outside"
    return [value.name for value in graph.output]


def in_branch(model: onnx.ModelProto, inputs: Inputs) -> set[str]:
    """Put the nodes into the branch of an If whose condition is an input."""
    graph = model.graph
    found = {node.op_type for node in graph.node}
    types = [copy_of(value) for value in graph.output]
    branch = onnx.GraphProto(name="then_branch")
    names = _outputs_outside(graph, branch)
    other = onnx.GraphProto(name="else_branch")
    for value in types:
        shape = [size.dim_value or 1 for size in value.type.tensor_type.shape.dim]
        dtype = dtype_of(value.type.tensor_type.elem_type)
        zeros = np.full(shape, "" if dtype.kind == "O" else 0, dtype)
        other.node.append(helper.make_node("Constant", [], [f"{value.name}_else"], value=tensor_of(zeros, "")))
        other.output.append(array_value_info(f"{value.name}_else", zeros))
    graph.node.append(helper.make_node("If", ["taken"], names, then_branch=branch, else_branch=other))
    graph.input.append(array_value_info("taken", np.array(True)))
    inputs["taken"] = np.array(True)
    return found


def in_loop(model: onnx.ModelProto, inputs: Inputs) -> set[str]:
    """Put the nodes into the body of a Loop, which stacks the results of two iterations."""
    graph = model.graph
    found = {node.op_type for node in graph.node}
    body = onnx.GraphProto(name="body")
    body.input.extend(array_value_info(name, array) for name, array in (("i", np.array(0)), ("go_on", np.array(True))))
    body.output.append(array_value_info("goes_on", np.array(True)))
    body.node.append(helper.make_node("Identity", ["go_on"], ["goes_on"]))
    names = _outputs_outside(graph, body)
    for value in graph.output:
        sizes = [copy_of(size) for size in value.type.tensor_type.shape.dim]
        shape = value.type.tensor_type.shape
        del shape.dim[:]
        shape.dim.add(dim_param="iterations")
        shape.dim.extend(sizes)
    graph.node.append(helper.make_node("Loop", ["trips", "running"], names, body=body))
    for name, array in (("trips", np.array(2)), ("running", np.array(True))):
        graph.input.append(array_value_info(name, array))
        inputs[name] = array
    return found


def in_nested_graph(model: onnx.ModelProto, inputs: Inputs) -> set[str]:
    """Put the nodes into the branch of an If in the body of a Loop."""
    found = in_branch(model, inputs)
    in_loop(model, inputs)
    return found


def in_function(model: onnx.ModelProto, inputs: Inputs) -> set[str]:
    """Put the nodes and the constants into a function of the model, which is called twice."""
    graph = model.graph
    fed = {value.name for value in graph.input}
    if model.functions or any(tensor.name in fed for tensor in graph.initializer) or graph.sparse_initializer:
        return set()
    found = {node.op_type for node in graph.node}
    constants = [helper.make_node("Constant", [], [each.name], value=each) for each in graph.initializer]
    inner = [value.name for value in graph.output]
    imports = [copy_of(entry) for entry in model.opset_import]
    function = helper.make_function(
        "acme", "Pattern", [value.name for value in graph.input], inner, [*constants, *graph.node], imports
    )
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    again = [copy_of(value) for value in graph.output]
    for value in again:
        value.name = f"{value.name}_again"
    graph.node.append(helper.make_node("Pattern", [value.name for value in graph.input], inner, domain="acme"))
    graph.node.append(
        helper.make_node(
            "Pattern", [value.name for value in graph.input], [value.name for value in again], domain="acme"
        )
    )
    graph.output.extend(again)
    model.functions.append(function)
    if "acme" not in {entry.domain for entry in model.opset_import}:
        model.opset_import.add(domain="acme", version=1)
    return found if inputs else set()


PARAMETER_TYPES = frozenset({onnx.AttributeProto.INT, onnx.AttributeProto.INTS, onnx.AttributeProto.FLOAT})
"""Types of attributes that become attributes of a function."""


def function_parameters(model: onnx.ModelProto, inputs: Inputs) -> set[str]:
    """Put the nodes into a function; attributes of nodes are its attributes, and omitted operands its inputs."""
    if not in_function(model, inputs):
        return set()
    model.ir_version = max(model.ir_version, 9)
    first, second = model.graph.node
    function = model.functions[0]
    found = set()
    for number, node in enumerate(function.node):
        for each in node.attribute:
            if each.type in PARAMETER_TYPES and node.op_type != "Constant":
                found.add(f"{node.op_type} {each.name}")
                default = copy_of(each)
                default.name = f"{each.name}_{number}"
                function.attribute_proto.append(default)
                second.attribute.append(default)
                each.CopyFrom(onnx.AttributeProto(name=each.name, type=each.type, ref_attr_name=default.name))
        for place, name in enumerate(node.input):
            if not name:
                found.add(f"{node.op_type} without {place}")
                node.input[place] = f"omitted_{number}_{place}"
                function.input.insert(0, node.input[place])
                for call in (first, second):
                    call.input.insert(0, "")
    return found


def inner_constants(model: onnx.ModelProto, inputs: Inputs) -> set[str]:
    """Put the nodes and the constants into the branch of an If."""
    graph = model.graph
    outside = {value.name for value in (*graph.input, *graph.output)}
    inner = [tensor for tensor in graph.initializer if tensor.name not in outside]
    found = in_branch(model, inputs)
    branch = next(each.g for each in graph.node[-1].attribute if each.name == "then_branch")
    branch.initializer.extend(inner)
    for tensor in inner:
        graph.initializer.remove(tensor)
    return found if inner else set()


def whole(change: WholeChange) -> Callable[[Pattern], Places]:
    """Return the one place of a situation that changes a whole model, and that returns what it changes."""
    return lambda _: iter([("", "", change)])


WHOLE: Sequence[str] = ()
"""Each family, and each of the words that a change of a whole model returns."""

KIND = ("{operand}: {kind}",)
OPERAND = ("{family}: {operand}", "{operand}: {kind}")
PLACE_ALONE = ("{family}: {place}",)
PLACE = ("{family}: {place}", "{operand}: {kind}")
OPERAND_KIND = ("{family}: {operand}: {kind}",)
PLACE_KIND = ("{family}: {place}: {kind}",)
"""Combinations of which each one is in a case. An operand is one of an operator; a place has its neighbours too."""


class Situation(NamedTuple):
    """A dimension of the surroundings of patterns.

    Attributes:
        title: words for the titles of cases.
        places: the function that yields the places of a pattern which can have it.
        strength: the combinations of which each one is in a case.
    """

    title: str
    places: Callable[[Pattern], Places]
    strength: Sequence[str]

    def labels(self, family: str, words: str, kind: str) -> set[str]:
        """Return the combinations that a place has; none for a whole model, whose change returns them."""
        operand = re.sub(r"[^ >]*>([^ >]*)>[^ >]*", r"\1", words)
        return {each.format(family=family, place=words, operand=operand, kind=kind) for each in self.strength}


SITUATIONS: Mapping[str, Situation] = {
    "defaults": Situation("constants that a caller can replace", whole(defaults), WHOLE),
    "late_operands": Situation("an operand that is computed late", variations.late, OPERAND),
    "other_axes": Situation("axes that count from the other end", whole(other_axes), WHOLE),
    "moved_axis": Situation("another axis", whole(moved_axis), WHOLE),
    "other_keepdims": Situation("a reduction that keeps other axes", whole(other_keepdims), WHOLE),
    "no_rows": Situation("inputs without rows", whole(partial(empty, axis=0, is_named=True)), WHOLE),
    "no_columns": Situation("inputs with a last size of 0", whole(partial(empty, axis=-1, is_named=False)), WHOLE),
    "named_sizes": Situation("inputs with unknown sizes", whole(named_sizes), WHOLE),
    "equal_sizes": Situation("inputs with a name for equal sizes", whole(equal_sizes), WHOLE),
    "wide_constants": Situation("a constant with more axes than the result", whole(wide_constants), WHOLE),
    "special_values": Situation("NaN, infinities and a negative zero", whole(special_values), WHOLE),
    "half": Situation("float16", whole(partial(other_type, number=TensorProto.FLOAT16)), WHOLE),
    "double": Situation("double", whole(partial(other_type, number=TensorProto.DOUBLE)), WHOLE),
    "int32": Situation("int32", whole(partial(other_type, number=TensorProto.INT32)), WHOLE),
    "int64": Situation("int64", whole(partial(other_type, number=TensorProto.INT64)), WHOLE),
    "opset_12": Situation("opset 12", whole(partial(other_version, opset=12)), WHOLE),
    "opset_23": Situation("opset 23", whole(partial(other_version, opset=23)), WHOLE),
    "in_branch": Situation("in a branch", whole(in_branch), WHOLE),
    "inner_constants": Situation("in a branch that has the constants", whole(inner_constants), WHOLE),
    "in_loop": Situation("in the body of a Loop", whole(in_loop), WHOLE),
    "in_nested_graph": Situation("in a branch in the body of a Loop", whole(in_nested_graph), WHOLE),
    "in_function": Situation("in a function that is called twice", whole(in_function), WHOLE),
    "function_parameters": Situation("in a function with attributes", whole(function_parameters), WHOLE),
    "values_elsewhere": Situation("a value that is used elsewhere", variations.values_elsewhere, PLACE_ALONE),
    "constants_elsewhere": Situation("a constant that is used elsewhere", variations.constants_elsewhere, OPERAND),
    "replaceable": Situation("a constant that a caller can replace", variations.replaceable, OPERAND),
    "unknown": Situation("an input instead of a constant", variations.unknown, PLACE),
    "constant_nodes": Situation("a Constant instead of an initializer", variations.constant_nodes, KIND),
    "other_elements": Situation("a constant with other elements", variations.other_elements, PLACE_KIND),
    "special_constants": Situation("a constant with a special element", variations.special_constants, OPERAND),
    "other_shapes": Situation("a constant of another shape", variations.other_shapes, PLACE_KIND),
    "attributes": Situation("another attribute", variations.attributes, PLACE_KIND),
    "swapped": Situation("operands in another order", variations.swapped, PLACE),
    "fed_twice": Situation("an operand that is read twice", variations.fed_twice, PLACE),
    "other_operand": Situation("another input instead of a second use", variations.other_readings, PLACE),
    "omitted": Situation("an operand that is left out", variations.omitted, PLACE),
    "more_results": Situation("another result of a node", variations.more_results, PLACE),
    "broadcasts": Situation("an input that broadcasts", variations.broadcasts, OPERAND),
    "more_axes": Situation("inputs of another rank", variations.more_axes, OPERAND_KIND),
    "twice": Situation("the pattern twice", variations.twice, PLACE),
    "one_shared": Situation(
        "the pattern twice with one constant",
        partial(variations.twice, is_shared_alone=True),
        KIND,
    ),
    "inside": Situation("the pattern between other nodes", variations.inside, PLACE),
    "other_types": Situation("an operand of another type", variations.other_types, OPERAND),
    "operand_counts": Situation("more or fewer operands", variations.operand_counts, PLACE_KIND),
    "added": Situation("one more operand", variations.added, PLACE_KIND),
    "together": Situation("an attribute or constant of several nodes", variations.together, OPERAND_KIND),
    "other_operators": Situation("another operator", variations.other_operators, PLACE),
    "exchanged": Situation("two nodes in another order", variations.exchanged, PLACE),
    "other_domains": Situation("an operator of another domain", variations.other_domains, OPERAND),
}
"""The situations by name."""


@dataclass(frozen=True)
class Situated:
    """A model in a situation.

    Attributes:
        model: the model, whose outputs have inferred types.
        inputs: the values of the inputs without an initializer, in order.
        places: the places that the situation changes.
    """

    model: onnx.ModelProto
    inputs: tuple[Array, ...]
    places: frozenset[str]


def situations(
    pattern: Pattern, name: str, family: str = "", covered: AbstractSet[str] = frozenset()
) -> Iterator[Situated]:
    """Yield a model and its inputs in a situation, for each place that can have it and that is not covered.

    Args:
        pattern: the model and its inputs.
        name: the name of the situation.
        family: the name of the family of the pattern.
        covered: the places that other models have; a caller can add places between two results.
    """
    situation = SITUATIONS[name]
    found = sorted(situation.places(pattern), key=lambda place: crc32(f"{family} {place[:2]}".encode()))
    for words, kind, change in found:
        labels = situation.labels(family, words, kind)
        if change is None:
            continue
        if labels and labels <= covered:
            continue
        model = copy_of(pattern.model)
        inputs = dict(pattern.inputs)
        changed = change(model, inputs)
        places = labels or (changed and {family, *changed}) or set()
        made = None if places <= covered else _inferred(model, inputs, frozenset(places))
        if made is not None:
            yield made


def situate(
    model: onnx.ModelProto, inputs: Sequence[Array], name: str, covered: AbstractSet[str] = frozenset()
) -> Situated | None:
    """Return the first of `situations`; None if there is none."""
    pattern = Pattern.of(model, inputs)
    return None if pattern is None else next(situations(pattern, name, covered=covered), None)


def _inferred(model: onnx.ModelProto, inputs: Inputs, places: frozenset[str]) -> Situated | None:
    """Return a changed model with inferred types of its outputs; None if it is not valid."""
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    try:
        inferred = infer_shapes(model, data_prop=True, strict_mode=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return None
    for value, known in zip(model.graph.output, inferred.graph.output, strict=True):
        if not known.type.tensor_type.HasField("shape"):
            return None
        value.type.CopyFrom(known.type)
        for number, size in enumerate(value.type.tensor_type.shape.dim):
            if not size.HasField("dim_value"):
                size.Clear()
                size.dim_param = f"{value.name}_{number}"
    fixed = {tensor.name for tensor in model.graph.initializer}
    order = [value.name for value in model.graph.input if value.name not in fixed]
    return Situated(model, tuple(inputs[each] for each in order), places)


def _family(case: Case) -> str:
    """Return the name of the family of a case."""
    return next(tag for tag in case.tags[1:] if tag != "pass")


def _patterns(cases: Iterable[Case]) -> list[tuple[Case, Pattern]]:
    """Return the cases that can be in situations, with their patterns."""
    found = []
    for case in cases:
        if case.level is Level.MUST and len(case.data_sets) == 1:
            pattern = Pattern.of(onnx.load_model_from_string(case.model), case.data_sets[0])
            if pattern is not None:
                found.append((case, pattern))
    return found


def situated_cases(cases: Iterable[Case], others: Iterable[Case] = ()) -> Iterator[Case]:
    """Yield cases in situations, so that each situation has each of its places in one of them.

    Args:
        cases: the cases of the families, in order of preference.
        others: cases that are in the corpus too, and that can have places.
    """
    usable = _patterns(cases)
    whole_corpus = (*usable, *_patterns(others))
    compute = _KnownResults()
    widest = sorted(usable, key=lambda each: -len({node.op_type for node in each[1].nodes}))
    for name, situation in SITUATIONS.items():
        covered: set[str] = set()
        for case, pattern in whole_corpus if situation.strength else ():
            present = [place[:2] for place in situation.places(pattern) if place[2] is None]
            covered = covered.union(*(situation.labels(_family(case), *place) for place in present))
        count = 0
        for case, pattern in usable if situation.strength else widest:
            for found in situations(pattern, name, _family(case), covered):
                made = _answered(case, found, f"{name}_{count + 1:03}", situation.title, compute)
                if made is not None:
                    count += 1
                    covered |= found.places
                    yield made


MOST_KNOWN = 20_000
"""The most nodes whose results are kept."""


class _KnownResults:
    """Enclosures of the results of nodes, each computed once: most nodes are the same in all situations."""

    def __init__(self) -> None:
        self._results: dict[tuple[Any, ...], Sequence[TensorOrSequence]] = {}

    def __call__(
        self, scope: NodeScope, proto: onnx.NodeProto, values: Mapping[str, TensorOrSequence]
    ) -> Sequence[TensorOrSequence]:
        """Return enclosures of the results of a node; arguments and errors are those of `enclose`."""
        is_plain = proto.domain in MAIN_DOMAINS and not any(each.HasField("g") for each in proto.attribute)
        given = [values.get(name) if name else "" for name in proto.input]
        is_known = not any(each is None or (isinstance(each, np.ndarray) and each.dtype == object) for each in given)
        if not is_plain or not is_known:
            return enclose(scope, proto, values)
        anonymous = onnx.NodeProto(op_type=proto.op_type, attribute=proto.attribute)
        content = anonymous.SerializeToString(deterministic=True)
        key = (content, scope.opsets.get(""), tuple(map(bool, proto.output)), *map(_identity, given))
        if key not in self._results:
            if len(self._results) == MOST_KNOWN:
                self._results.clear()
            self._results[key] = enclose(scope, proto, values)
        return self._results[key]


def _identity(value: TensorOrSequence | str) -> Any:
    """Return what is equal for equal arrays; other values, which a result of `_KnownResults` has, are themselves."""
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else _Same(value)


@dataclass(frozen=True, eq=False)
class _Same:
    """A value that equals itself alone, and that lives as long as this key."""

    value: object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def _answered(case: Case, found: Situated, name: str, title: str, compute: _KnownResults) -> Case | None:
    """Return the case of a model in a situation with its answers; None if nothing can judge it."""
    content = found.model.SerializeToString(deterministic=True)
    if not is_fully_valid(content):
        return None
    made = replace(
        case,
        id=f"test_pattern_{name}_{case.id.removeprefix('test_pattern_')}"[:125],
        title=f"{case.title}, {title}",
        tags=(*(tag for tag in case.tags if "=" not in tag), f"situation={name.rpartition('_')[0]}"),
        model=content,
        data_sets=(found.inputs,),
        answers=(),
    )
    try:
        try:
            answers: Sequence[Answer] = enclosed_answers(found.model, found.inputs, compute)
        except Unsupported:
            (answers,) = with_answers(made).answers
        for value, answer in zip(found.model.graph.output, answers, strict=True):
            DeclaredInput.of(value).check(answer.expected.dtype, answer.expected.shape)
    except (Unsupported, TypeError, ValueError, LookupError, AssertionError, AttributeError, ArithmeticError):
        return None
    return None if all(map(is_unbounded, answers)) else replace(made, answers=(tuple(answers),))
