"""Faults that released optimizers had, as they would show beside this pass: clean-ups gone wrong, altered numbers.

Each is told of in a report or a change of onnxoptimizer, onnxsim, onnxscript, onnxslim or ONNX Runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

from conformance.deviations.rewrites.fault import afterwards, altered
from conformance.models.scopes import Scope
from conformance.passes.eliminate_nop_monotone_argmax import rewire
from conformance.passes.fields import placed
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.passes.eliminate_nop_monotone_argmax import Site


def _scopes(model: onnx.ModelProto) -> Iterator[Scope]:
    return Scope(model, model.graph).walk()


def _each(kind: type, change: Callable[[Any], object]) -> Callable[[onnx.ModelProto], None]:
    """Changes every message of a kind, wherever it stands."""

    def spoil(model: onnx.ModelProto) -> None:
        for _, message in list(placed(model)):
            if isinstance(message, kind):
                change(message)

    return spoil


def _array(tensor: TensorProto, kind: int) -> Any:
    """The elements of a tensor of a type that has any; None of others."""
    is_read = tensor.data_type == kind and tensor.data_location != TensorProto.EXTERNAL
    return numpy_helper.to_array(tensor).copy() if is_read else None


def _stored(tensor: TensorProto, array: Any) -> None:
    for field in ("float_data", "int64_data", "raw_data"):
        tensor.ClearField(field)
    tensor.raw_data = np.asarray(array).tobytes()


def _shared_constants(model: onnx.ModelProto) -> None:
    """Leaves one of several initializers of equal content; what is inside of nodes still names the others."""
    first: dict[bytes, str] = {}
    renamed: dict[str, str] = {}
    for tensor in list(model.graph.initializer):
        content = type(tensor)()
        content.CopyFrom(tensor)
        content.name = ""
        name = first.setdefault(content.SerializeToString(deterministic=True), tensor.name)
        if name != tensor.name:
            renamed[tensor.name] = name
            model.graph.initializer.remove(tensor)
    for node in model.graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]


def _lifted_constants(model: onnx.ModelProto) -> None:
    """Makes initializers of the main graph of all Constants of graphs inside of nodes, the first of a name."""
    for scope in list(_scopes(model)):
        for node in list(scope.graph.node) if scope.path else ():
            tensor = next((held.t for held in node.attribute if held.name == "value"), None)
            if node.op_type != "Constant" or tensor is None:
                continue
            if all(held.name != node.output[0] for held in model.graph.initializer):
                model.graph.initializer.add().CopyFrom(tensor)
                model.graph.initializer[-1].name = node.output[0]
            scope.graph.node.remove(node)


def _constants_of_bodies(model: onnx.ModelProto) -> None:
    for function in model.functions:
        for node in [node for node in function.node if node.op_type == "Constant"]:
            function.node.remove(node)


def _initializers_of_graphs_inside(model: onnx.ModelProto) -> None:
    """Drops initializers that no node of their very graph takes, though graphs inside of it may."""
    for scope in _scopes(model):
        taken = {name for node in scope.graph.node for name in node.input}
        for tensor in [tensor for tensor in scope.graph.initializer if tensor.name not in taken]:
            scope.graph.initializer.remove(tensor)


def _zeros_left_out(node: onnx.NodeProto) -> None:
    for held in [held for held in node.attribute if held.type == AttributeProto.INT and not held.i]:
        if not held.ref_attr_name:
            node.attribute.remove(held)


def _merged_nodes(model: onnx.ModelProto) -> None:
    """Takes nodes of one operator and equal inputs for one, whatever their attributes."""
    first: dict[tuple[Any, ...], onnx.NodeProto] = {}
    renamed: dict[str, str] = {}
    for node in list(model.graph.node):
        node.input[:] = [renamed.get(name, name) for name in node.input]
        if len(node.output) != 1 or not node.input or any(held.HasField("g") for held in node.attribute):
            continue
        same = first.setdefault((node.domain, node.op_type, *node.input), node)
        if same is not node and all(value.name != node.output[0] for value in model.graph.output):
            renamed[node.output[0]] = same.output[0]
            model.graph.node.remove(node)


def _dead_ends(model: onnx.ModelProto) -> None:
    """Drops nodes of the main graph whose results no node of it takes, though graphs inside of it may."""
    taken = {name for node in model.graph.node for name in node.input} | {value.name for value in model.graph.output}
    for node in [node for node in model.graph.node if taken.isdisjoint(node.output)]:
        model.graph.node.remove(node)


def _copies_inside(model: onnx.ModelProto) -> None:
    """Drops every Identity inside of nodes, and gives out what it copied."""
    for scope in list(_scopes(model)):
        for node in [node for node in scope.graph.node if scope.path and node.op_type == "Identity"]:
            for value in scope.graph.output:
                value.name = node.input[0] if value.name == node.output[0] else value.name
            scope.graph.node.remove(node)


def _by_node_name(site: Site) -> None:
    """Feeds ArgMax from the name of the node before the operator, where it has one, in place of its output."""
    before = site.scope.producer(site.before)
    rewire(site)
    if before is not None and before.name:
        site.argmax.input[0] = before.name


def _defaults_at_ir_3(model: onnx.ModelProto) -> None:
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in [value for value in model.graph.input if value.name in constants and model.ir_version < 4]:
        model.graph.input.remove(value)


def _then_inlined(model: onnx.ModelProto) -> None:
    """Puts the first branch of every If of the main graph in its place."""
    nodes = []
    for node in model.graph.node:
        if node.op_type != "If":
            nodes.append(node)
            continue
        branch = next(held.g for held in node.attribute if held.name == "then_branch")
        nodes += branch.node
        for value, name in zip(branch.output, node.output, strict=True):
            nodes.append(onnx.NodeProto(op_type="Identity", input=[value.name], output=[name]))
    copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del model.graph.node[:]
    model.graph.node.extend(copies)


def _without_unnamed_inputs(node: onnx.NodeProto) -> None:
    node.input[:] = [name for name in node.input if name]


def _ascii(held: AttributeProto) -> None:
    held.s = held.s.decode(errors="replace").encode("ascii", "replace") if held.HasField("s") else held.s
    if not held.s:
        held.ClearField("s")


def _six_digits(held: AttributeProto) -> None:
    if held.HasField("f"):
        held.f = float(f"{held.f:.6g}")
    held.floats[:] = [float(f"{number:.6g}") for number in held.floats]


def _clamped(tensor: TensorProto) -> None:
    array = _array(tensor, TensorProto.INT64)
    if array is not None and array.size and (array.max() >= 2**31 or array.min() < -(2**31)):
        _stored(tensor, np.clip(array, -(2**31), 2**31 - 1))


def _clamped_attribute(held: AttributeProto) -> None:
    if held.HasField("i"):
        held.i = max(-(2**31), min(held.i, 2**31 - 1))
    held.ints[:] = [max(-(2**31), min(number, 2**31 - 1)) for number in held.ints]


def _without_negative_zeros(tensor: TensorProto) -> None:
    array = _array(tensor, TensorProto.FLOAT)
    if array is not None and (np.signbit(array) & (array == 0)).any():
        _stored(tensor, array + np.float32(0))


def _without_empty(model: onnx.ModelProto) -> None:
    for tensor in [tensor for tensor in model.graph.initializer if 0 in tensor.dims]:
        model.graph.initializer.remove(tensor)


def _of_rank_1(model: onnx.ModelProto) -> None:
    for tensor in model.graph.initializer:
        if not tensor.dims:
            tensor.dims.append(1)


def _plain_scan(node: onnx.NodeProto) -> None:
    for held in [held for held in node.attribute if held.name.startswith("scan_")]:
        node.attribute.remove(held)


TOOLS = (
    afterwards("shares_constants", "leaves one of several equal initializers", _shared_constants),
    afterwards("lifts_constants", "makes initializers of the Constants of all branches and bodies", _lifted_constants),
    afterwards("no_constants_in_bodies", "drops the Constants of functions", _constants_of_bodies),
    afterwards(
        "no_captured_initializers", "drops initializers that only graphs inside take", _initializers_of_graphs_inside
    ),
    afterwards("zeros_left_out", "leaves out attributes that are 0", _each(onnx.NodeProto, _zeros_left_out)),
    afterwards("merges_nodes", "takes nodes of equal inputs and other attributes for one", _merged_nodes),
    afterwards("dead_ends", "drops nodes whose results only graphs inside take", _dead_ends),
    afterwards("copies_inside", "drops every Identity of branches and bodies", _copies_inside),
    altered("by_node_name", "takes the name of a node for the name of its output", rewire=_by_node_name),
    afterwards("no_defaults_at_ir_3", "drops inputs with an initializer below IR version 4", _defaults_at_ir_3),
    afterwards("then_inlined", "puts the first branch of an If in its place", _then_inlined),
    afterwards("no_unnamed_inputs", "drops inputs that are left out", _each(onnx.NodeProto, _without_unnamed_inputs)),
    afterwards("ascii_attributes", "writes the text of attributes in ASCII", _each(AttributeProto, _ascii)),
    afterwards("six_digits", "keeps six digits of the numbers of attributes", _each(AttributeProto, _six_digits)),
    afterwards("int32_tensors", "clamps integers of tensors to 32 bits", _each(TensorProto, _clamped)),
    afterwards(
        "int32_attributes", "clamps integers of attributes to 32 bits", _each(AttributeProto, _clamped_attribute)
    ),
    afterwards(
        "no_negative_zeros", "loses the sign of zeros", _each(TensorProto, _without_negative_zeros), Level.SHOULD
    ),
    afterwards("no_empty_initializers", "drops initializers without elements", _without_empty, Level.SHOULD),
    afterwards("no_scalars", "makes initializers of rank 1 of those of rank 0", _of_rank_1, Level.SHOULD),
    afterwards("plain_scan", "leaves out axes and directions of Scan", _each(onnx.NodeProto, _plain_scan)),
)
