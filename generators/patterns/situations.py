"""Situations of a pattern that make a usual rewrite wrong, whatever the pattern is.

A situation changes the model of a case and its inputs: an initializer becomes an input too, an axis counts from the
end, a size is 0, the nodes are in a branch. It has the places that it changes: operators, with the operands or the
neighbour that matter. `situated_cases` chooses cases of the families so that each situation has each of its places.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper

from conformance.base.errors import CaseError
from conformance.base.verdicts import Level, Unsupported
from conformance.corpus.generation.expected_outputs import case_files, with_answers
from conformance.exact.models.arrays import array_of, dtype_of, tensor_of
from conformance.exact.models.graphs import (
    MAIN_DOMAINS,
    Scope,
    all_graphs,
    all_nodes,
    all_tensors,
    copy_of,
    count_captures,
    infer_shapes,
    main_opset,
)
from conformance.exact.models.model_building import array_value_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from conformance.corpus.cases.case import Case
    from conformance.exact.models.arrays import Array

    Inputs = dict[str, Array]
    Change = Callable[[onnx.ModelProto, Inputs], set[str]]


def _readers(graph: onnx.GraphProto, name: str) -> list[onnx.NodeProto]:
    """Return the nodes of a graph that read a value."""
    return [node for node in graph.node if name in node.input]


def _place(graph: onnx.GraphProto, node: onnx.NodeProto) -> int:
    """Return the number of a node."""
    return next(number for number, each in enumerate(graph.node) if each is node)


def _initializer(graph: onnx.GraphProto, name: str) -> onnx.TensorProto | None:
    """Return the initializer of a value; None if it has none."""
    return next((tensor for tensor in graph.initializer if tensor.name == name), None)


def _insert(graph: onnx.GraphProto, place: int, node: onnx.NodeProto) -> None:
    """Insert a node before another one."""
    nodes = [copy_of(each) for each in graph.node]
    del graph.node[:]
    graph.node.extend([*nodes[:place], node, *nodes[place:]])


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


def late_operands(model: onnx.ModelProto, inputs: Inputs) -> set[str]:
    """Compute a constant operand of floats from an input, as late as possible."""
    graph = model.graph
    scope = Scope(model, graph)
    fed = {value.name for value in graph.input}
    for node in reversed(graph.node):
        for place, name in enumerate(node.input):
            tensor = None if name in fed else _initializer(graph, name)
            before = [scope.producer(other) for other in node.input if other != name]
            known = [each for each in before if each is not None and each.op_type != "Constant"]
            if tensor is None or not known or len(_readers(graph, name)) > 1 or count_captures(graph)[name]:
                continue
            array = array_of(tensor)
            if array.dtype.kind != "f":
                continue
            given = f"{name}_given"
            graph.initializer.remove(tensor)
            graph.input.append(array_value_info(given, array))
            inputs[given] = -array
            _insert(graph, _place(graph, node), helper.make_node("Neg", [given], [name]))
            return {f"{node.op_type} {place}"}
    return set()


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
    """Give each size of the inputs a name of its own."""
    for number, value in enumerate(model.graph.input):
        if value.name in inputs:
            for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
                dimension.Clear()
                dimension.dim_param = f"size_{number}_{axis}"
    return {node.op_type for node in model.graph.node}


BROADCASTING = frozenset(
    {"Add", "Sub", "Mul", "Div", "Pow", "Mod", "Where", "Max", "Min", "Sum", "Mean", "And", "Or", "Xor"}
    | {"Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual"}
)
"""Operators whose result has the widest shape of the operands."""


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
            with np.errstate(over="ignore"):
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
            with np.errstate(over="ignore"):
                inputs[name] = array.astype(dtype)
    is_float = any(array.dtype == dtype for array in inputs.values())
    return {node.op_type for node in model.graph.node} if is_float else set()


def other_operand(model: onnx.ModelProto, inputs: Inputs) -> set[str]:
    """Let the last node that reads an input again read another input of its type."""
    graph = model.graph
    for value in list(graph.input):
        array = inputs.get(value.name)
        readers = [(node, place) for node in graph.node for place, name in enumerate(node.input) if name == value.name]
        if array is None or len(readers) < 2 or array.size < 2:
            continue
        node, place = readers[-1]
        other = copy_of(value)
        other.name = f"{value.name}_other"
        graph.input.append(other)
        inputs[other.name] = np.flip(array).copy()
        node.input[place] = other.name
        return {" ".join([*(each.op_type for each, _ in readers), node.op_type])}
    return set()


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


SITUATIONS: Mapping[str, tuple[str, Change]] = {
    "defaults": ("constants that a caller can replace", defaults),
    "late_operands": ("an operand that is computed late", late_operands),
    "other_axes": ("axes that count from the other end", other_axes),
    "moved_axis": ("another axis", moved_axis),
    "other_keepdims": ("a reduction that keeps other axes", other_keepdims),
    "no_rows": ("inputs without rows", partial(empty, axis=0, is_named=True)),
    "no_columns": ("inputs with a last size of 0", partial(empty, axis=-1, is_named=False)),
    "named_sizes": ("inputs with unknown sizes", named_sizes),
    "wide_constants": ("a constant with more axes than the result", wide_constants),
    "special_values": ("NaN, infinities and a negative zero", special_values),
    "half": ("float16 instead of float", partial(other_type, number=TensorProto.FLOAT16)),
    "double": ("double instead of float", partial(other_type, number=TensorProto.DOUBLE)),
    "other_operand": ("another input instead of a second use", other_operand),
    "opset_12": ("opset 12", partial(other_version, opset=12)),
    "opset_23": ("opset 23", partial(other_version, opset=23)),
    "in_branch": ("in a branch", in_branch),
    "in_loop": ("in the body of a Loop", in_loop),
    "in_function": ("in a function that is called twice", in_function),
    "function_parameters": ("in a function with attributes and omitted inputs", function_parameters),
}
"""The situations by name: a title, and the function that changes a model and its inputs, and returns the places."""


ALTERNATIVES = (
    ("in_branch", "in_loop", "in_function"),
    ("half", "special_values", "double"),
    ("named_sizes", "no_columns", "no_rows"),
)
"""Situations of which one is enough for a place."""


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


def situate(
    model: onnx.ModelProto, inputs: Sequence[Array], name: str, covered: AbstractSet[str] = frozenset()
) -> Situated | None:
    """Return a model and its inputs in a situation; None if it does not exist for them, or changes covered places only.

    Args:
        covered: the places that other models have, which are left out before types are inferred: this takes longest.
    """
    changed = copy_of(model)
    fixed = {tensor.name for tensor in model.graph.initializer}
    fed = [value.name for value in model.graph.input if value.name not in fixed]
    if len(fed) != len(inputs):
        return None
    given = dict(zip(fed, inputs, strict=True))
    places = SITUATIONS[name][1](changed, given)
    if places <= covered:
        return None
    for value in changed.graph.output:
        value.type.tensor_type.ClearField("shape")
    del changed.graph.value_info[:]
    try:
        inferred = infer_shapes(changed, data_prop=True, strict_mode=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return None
    for value, known in zip(changed.graph.output, inferred.graph.output, strict=True):
        if not known.type.tensor_type.HasField("shape"):
            return None
        value.type.CopyFrom(known.type)
        for number, size in enumerate(value.type.tensor_type.shape.dim):
            if not size.HasField("dim_value"):
                size.Clear()
                size.dim_param = f"{value.name}_{number}"
    kept = {tensor.name for tensor in changed.graph.initializer}
    order = [value.name for value in changed.graph.input if value.name not in kept]
    return Situated(changed, tuple(given[each] for each in order), frozenset(places))


def situated_cases(cases: Iterable[Case]) -> Iterator[Case]:
    """Yield cases in situations, so that each situation has each of its places in one of them.

    Args:
        cases: the cases of the families, in order of preference.
    """
    usable = [case for case in cases if case.level is Level.MUST and len(case.data_sets) == 1]
    models = [onnx.load_model_from_string(case.model) for case in usable]
    order = sorted(range(len(usable)), key=lambda each: -len({node.op_type for node in models[each].graph.node}))
    for names in (*ALTERNATIVES, *((name,) for name in SITUATIONS if not any(name in each for each in ALTERNATIVES))):
        covered: set[str] = set()
        turns = deque(names)
        counts = dict.fromkeys(names, 0)
        for number in order:
            for name in list(turns):
                found = situate(models[number], usable[number].data_sets[0], name, covered)
                if found is None:
                    continue
                made = _answered(usable[number], found, f"{name}_{counts[name] + 1:03}", SITUATIONS[name][0])
                if made is not None:
                    counts[name] += 1
                    covered |= found.places
                    turns.remove(name)
                    turns.append(name)
                    yield made


def _answered(case: Case, found: Situated, name: str, title: str) -> Case | None:
    """Return the case of a model in a situation with its answers; None if nothing can judge it."""
    family = next(tag for tag in case.tags[1:] if tag != "pass")
    try:
        made = with_answers(
            replace(
                case,
                id=f"test_pattern_{name}_{case.id.removeprefix('test_pattern_')}"[:125],
                title=f"{case.title}, {title}",
                tags=(*(tag for tag in case.tags if "=" not in tag), f"situation={name.rpartition('_')[0]}"),
                model=found.model.SerializeToString(deterministic=True),
                data_sets=(found.inputs,),
                answers=(),
            )
        )
        case_files(made, family)
    except (CaseError, Unsupported, ValueError, KeyError, IndexError, AssertionError):
        return None
    return made
