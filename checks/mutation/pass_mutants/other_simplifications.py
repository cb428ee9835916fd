"""Mutants that apply the pass and also another simplification, as general optimization tools do.

The other simplification is wrong, or it changes parts of the model that the pass must preserve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

from checks.mutation.pass_mutants.pass_mutant import damage_result, replace_steps
from conformance.base.verdicts import Level
from conformance.corpus.factors.message_fields import iter_messages
from conformance.corpus.passes.eliminate_nop_monotone_argmax import bypass_producer
from conformance.exact.models.graphs import Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.corpus.passes.eliminate_nop_monotone_argmax import Site


def _scopes(model: onnx.ModelProto) -> Iterator[Scope]:
    return Scope(model, model.graph).walk()


def _each(kind: type, change: Callable[[Any], object]) -> Callable[[onnx.ModelProto], None]:
    """Return a function that applies `change` to every protobuf message of a type in a model."""

    def spoil(model: onnx.ModelProto) -> None:
        for _, message in list(iter_messages(model)):
            if isinstance(message, kind):
                change(message)

    return spoil


def _array(tensor: TensorProto, kind: int) -> Any:
    """Return a copy of the elements of a tensor; None if its type is not `kind` or its data is in an external file."""
    is_read = tensor.data_type == kind and tensor.data_location != TensorProto.EXTERNAL
    return numpy_helper.to_array(tensor).copy() if is_read else None


def _stored(tensor: TensorProto, array: Any) -> None:
    for field in ("float_data", "int64_data", "raw_data"):
        tensor.ClearField(field)
    tensor.raw_data = np.asarray(array).tobytes()


def _shared_constants(model: onnx.ModelProto) -> None:
    """Merge equal initializers of the main graph; the fault is that uses in subgraphs are not renamed."""
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


def _merged_initializers(key: Callable[[TensorProto], Any]) -> Callable[[onnx.ModelProto], None]:
    """Return a function that merges the initializers of the main graph with equal keys, in all graphs."""

    def spoil(model: onnx.ModelProto) -> None:
        first: dict[Any, str] = {}
        fed = {value.name for value in model.graph.input}
        tensors = [each for each in model.graph.initializer if each.raw_data and each.name not in fed]
        merged = {tensor.name: first.setdefault(key(tensor), tensor.name) for tensor in tensors}
        for tensor in [tensor for tensor in tensors if merged[tensor.name] != tensor.name]:
            model.graph.initializer.remove(tensor)
        for scope in list(_scopes(model)):
            for node in scope.graph.node:
                node.input[:] = [merged.get(name, name) for name in node.input]

    return spoil


def _numbers(tensor: TensorProto) -> Any:
    """Return a key that is equal for tensors of equal type, shape and numbers; zeros of both signs are equal."""
    return tensor.data_type, tuple(tensor.dims), tuple(numpy_helper.to_array(tensor).reshape(-1)[:10].tolist())


def _unshared_constant(site: Site) -> None:
    """Remove the operator, and the initializer that it reads if no other node of the main graph reads it."""
    graph, name = site.scope.graph, site.before
    bypass_producer(site)
    if sum(list(node.input).count(name) for node in graph.node) > 1:
        for tensor in [tensor for tensor in graph.initializer if tensor.name == name]:
            graph.initializer.remove(tensor)


def _merged_twins(model: onnx.ModelProto) -> None:
    """Merge nodes of the main graph that are equal except for their outputs, but not their uses in subgraphs."""
    first: dict[Any, onnx.NodeProto] = {}
    renamed: dict[str, str] = {}
    shown = {value.name for value in model.graph.output}
    for node in list(model.graph.node):
        node.input[:] = [renamed.get(name, name) for name in node.input]
        content = onnx.NodeProto(op_type=node.op_type, domain=node.domain, input=node.input, attribute=node.attribute)
        if len(node.output) != 1 or not node.input or any(held.HasField("g") for held in node.attribute):
            continue
        same = first.setdefault(content.SerializeToString(deterministic=True), node)
        if same is not node and node.output[0] not in shown:
            renamed[node.output[0]] = same.output[0]
            model.graph.node.remove(node)


def _first_sparse_constant(model: onnx.ModelProto) -> None:
    """Give all sparse constants of a function the value of its first one."""
    for function in model.functions:
        found = [held for node in function.node for held in node.attribute if held.name == "sparse_value"]
        for held in found[1:]:
            held.sparse_tensor.CopyFrom(found[0].sparse_tensor)


def _lifted_constants(model: onnx.ModelProto) -> None:
    """Move all Constant nodes of subgraphs to initializers of the main graph.

    The fault is that of several constants with the same name only the first is moved, and the others are lost.
    """
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
    """Remove the initializers that nodes of their graph do not use; the fault is that uses in subgraphs are ignored."""
    for scope in _scopes(model):
        taken = {name for node in scope.graph.node for name in node.input}
        for tensor in [tensor for tensor in scope.graph.initializer if tensor.name not in taken]:
            scope.graph.initializer.remove(tensor)


def _zeros_left_out(node: onnx.NodeProto) -> None:
    for held in [held for held in node.attribute if held.type == AttributeProto.INT and not held.i]:
        if not held.ref_attr_name:
            node.attribute.remove(held)


def _merged_nodes(model: onnx.ModelProto) -> None:
    """Merge nodes with the same operator and inputs; the fault is that their attributes may differ."""
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
    """Remove nodes of the main graph with unused results; the fault is that uses in subgraphs are ignored."""
    taken = {name for node in model.graph.node for name in node.input} | {value.name for value in model.graph.output}
    for node in [node for node in model.graph.node if taken.isdisjoint(node.output)]:
        model.graph.node.remove(node)


def _copies_inside(model: onnx.ModelProto) -> None:
    """Remove every Identity in subgraphs, and rename the outputs of the subgraphs accordingly."""
    for scope in list(_scopes(model)):
        for node in [node for node in scope.graph.node if scope.path and node.op_type == "Identity"]:
            for value in scope.graph.output:
                value.name = node.input[0] if value.name == node.output[0] else value.name
            scope.graph.node.remove(node)


def _by_node_name(site: Site) -> None:
    """Remove the operator, and use the node name of the new producer as input of ArgMax, instead of its output name."""
    before = site.scope.producer(site.before)
    bypass_producer(site)
    if before is not None and before.name:
        site.argmax.input[0] = before.name


def _defaults_at_ir_3(model: onnx.ModelProto) -> None:
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in [value for value in model.graph.input if value.name in constants and model.ir_version < 4]:
        model.graph.input.remove(value)


def _then_inlined(model: onnx.ModelProto) -> None:
    """Replace every If of the main graph by its then branch."""
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
    damage_result("shares_constants", "leaves one of several equal initializers", _shared_constants),
    damage_result(
        "merges_bytes", "merges initializers of equal bytes", _merged_initializers(lambda tensor: tensor.raw_data)
    ),
    damage_result("merges_zeros", "merges initializers of equal numbers", _merged_initializers(_numbers), Level.SHOULD),
    damage_result("merges_twins", "merges equal nodes", _merged_twins),
    replace_steps("removes_constant", "drops a constant that others use too", rewire=_unshared_constant),
    damage_result("first_sparse", "takes all sparse constants of a function for the first", _first_sparse_constant),
    damage_result(
        "lifts_constants", "makes initializers of the Constants of all branches and bodies", _lifted_constants
    ),
    damage_result("no_constants_in_bodies", "drops the Constants of functions", _constants_of_bodies),
    damage_result(
        "no_captured_initializers", "drops initializers that only graphs inside take", _initializers_of_graphs_inside
    ),
    damage_result("zeros_left_out", "leaves out attributes that are 0", _each(onnx.NodeProto, _zeros_left_out)),
    damage_result("merges_nodes", "takes nodes of equal inputs and other attributes for one", _merged_nodes),
    damage_result("dead_ends", "drops nodes whose results only graphs inside take", _dead_ends),
    damage_result("copies_inside", "drops every Identity of branches and bodies", _copies_inside),
    replace_steps("by_node_name", "takes the name of a node for the name of its output", rewire=_by_node_name),
    damage_result("no_defaults_at_ir_3", "drops inputs with an initializer below IR version 4", _defaults_at_ir_3),
    damage_result("then_inlined", "puts the first branch of an If in its place", _then_inlined),
    damage_result(
        "no_unnamed_inputs", "drops inputs that are left out", _each(onnx.NodeProto, _without_unnamed_inputs)
    ),
    damage_result("ascii_attributes", "writes the text of attributes in ASCII", _each(AttributeProto, _ascii)),
    damage_result("six_digits", "keeps six digits of the numbers of attributes", _each(AttributeProto, _six_digits)),
    damage_result("int32_tensors", "clamps integers of tensors to 32 bits", _each(TensorProto, _clamped)),
    damage_result(
        "int32_attributes", "clamps integers of attributes to 32 bits", _each(AttributeProto, _clamped_attribute)
    ),
    damage_result(
        "no_negative_zeros", "loses the sign of zeros", _each(TensorProto, _without_negative_zeros), Level.SHOULD
    ),
    damage_result("no_empty_initializers", "drops initializers without elements", _without_empty, Level.SHOULD),
    damage_result("no_scalars", "makes initializers of rank 1 of those of rank 0", _of_rank_1, Level.SHOULD),
    damage_result("plain_scan", "leaves out axes and directions of Scan", _each(onnx.NodeProto, _plain_scan)),
)
