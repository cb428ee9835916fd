"""Faults in the interface of the rewritten model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, defs, helper
from onnx.numpy_helper import from_array

from conformance.deviations.rewrites.fault import afterwards, altered
from conformance.passes.eliminate_nop_monotone_argmax import rewire

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from conformance.passes.eliminate_nop_monotone_argmax import Site


def _type_of_removed(site: Site) -> None:
    """Rewire, and say of the input what was said of the removed tensor."""
    graph = site.scope.graph
    said = {value.name: value for value in graph.value_info}.get(site.between)
    for value in (*graph.input, *graph.value_info):
        if said is not None and value.name == site.before:
            value.type.CopyFrom(said.type)
    rewire(site)


def _shape_forgotten(site: Site) -> None:
    """Rewire, and say of no input's shape what was also said of the removed tensor's."""
    graph = site.scope.graph
    if any(value.name == site.between for value in graph.value_info):
        for value in graph.input:
            if value.name == site.before:
                value.type.tensor_type.ClearField("shape")
    rewire(site)


def _renaming(rename: Callable[[str], str]) -> Callable[[onnx.ModelProto], None]:
    """Gives every value of the main graph another name."""

    def spoil(model: onnx.ModelProto) -> None:
        graph = model.graph
        for named in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
            named.name = rename(named.name)
        for node in graph.node:
            node.input[:] = map(rename, node.input)
            node.output[:] = map(rename, node.output)

    return spoil


def _as_identifier(name: str) -> str:
    word = re.sub(r"\W", "_", name, flags=re.ASCII)
    return f"_{word}" if word[:1].isdigit() else word


def _declared_are_inputs(model: onnx.ModelProto) -> None:
    made = {name for node in model.graph.node for name in node.output}
    for value in [value for value in model.graph.value_info if value.name not in made]:
        model.graph.input.append(value)


def _counted_from_one(model: onnx.ModelProto) -> None:
    """Add one to every output that is an ArgMax's."""
    graph = model.graph
    for node in [node for node in graph.node if node.op_type == "ArgMax"]:
        name = node.output[0]
        if any(value.name == name for value in graph.output):
            node.output[0] = f"{name}_from_zero"
            graph.node.append(helper.make_node("Constant", [], [f"{name}_one"], value=from_array(np.array(1))))
            graph.node.append(helper.make_node("Add", [node.output[0], f"{name}_one"], [name]))


def _reversed(of: Callable[[onnx.ModelProto], Any]) -> Callable[[onnx.ModelProto], None]:
    def spoil(model: onnx.ModelProto) -> None:
        values = of(model)
        order = [type(value).FromString(value.SerializeToString()) for value in reversed(values)]
        del values[:]
        values.extend(order)

    return spoil


def _dimensions(model: onnx.ModelProto) -> list[onnx.TensorShapeProto.Dimension]:
    return [dim for value in (*model.graph.input, *model.graph.output) for dim in value.type.tensor_type.shape.dim]


def _fixed_dimensions(model: onnx.ModelProto) -> None:
    for dim in _dimensions(model):
        if not dim.HasField("dim_value"):
            dim.dim_value = 1


def _open_dimensions(model: onnx.ModelProto) -> None:
    for dim in _dimensions(model):
        if dim.dim_param:
            dim.Clear()


def _constants_only(model: onnx.ModelProto) -> None:
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in [value for value in model.graph.input if value.name in constants]:
        model.graph.input.remove(value)


def _initializers_are_inputs(model: onnx.ModelProto) -> None:
    there = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer:
        if tensor.name not in there:
            value = model.graph.input.add(name=tensor.name)
            value.type.tensor_type.elem_type = tensor.data_type
            for size in tensor.dims:
                value.type.tensor_type.shape.dim.add(dim_value=size)


def _unused_inputs_dropped(model: onnx.ModelProto) -> None:
    used = {name for node in model.graph.node for name in node.input}
    for value in [value for value in model.graph.input if value.name not in used]:
        model.graph.input.remove(value)


def _newer_opset(model: onnx.ModelProto) -> None:
    for entry in model.opset_import:
        if not entry.domain:
            entry.version += 1


def _one_import(model: onnx.ModelProto) -> None:
    for entry in [entry for entry in model.opset_import if entry.domain not in {"", "ai.onnx"}]:
        model.opset_import.remove(entry)


def _renamed_output(model: onnx.ModelProto) -> None:
    old = model.graph.output[0].name
    model.graph.output[0].name = "result"
    for node in model.graph.node:
        node.output[:] = ["result" if name == old else name for name in node.output]


def _int32_output(model: onnx.ModelProto) -> None:
    for value in model.graph.output:
        if value.type.tensor_type.elem_type == TensorProto.INT64:
            value.type.tensor_type.elem_type = TensorProto.INT32


INTERFACE = (
    altered("type_of_removed", "says of the input what was said of the removed tensor", rewire=_type_of_removed),
    altered(
        "shape_forgotten", "forgets the input's shape where the removed tensor's is told too", rewire=_shape_forgotten
    ),
    afterwards("names_as_identifiers", "makes C identifiers of the names of values", _renaming(_as_identifier)),
    afterwards("names_cut", "cuts the names of values after 255 characters", _renaming(lambda name: name[:255])),
    afterwards(
        "names_not_of_operators",
        "lengthens the names of values that are names of operators",
        _renaming(lambda name: f"{name}_0" if defs.has(name) else name),
    ),
    afterwards("declared_are_inputs", "takes declared tensors that no node gives for inputs", _declared_are_inputs),
    afterwards("counted_from_one", "counts indices from 1", _counted_from_one),
    afterwards("inputs_reversed", "gives the inputs in another order", _reversed(lambda model: model.graph.input)),
    afterwards("outputs_reversed", "gives the outputs in another order", _reversed(lambda model: model.graph.output)),
    afterwards(
        "nodes_reversed",
        "gives the nodes in an order that is not topological",
        _reversed(lambda model: model.graph.node),
    ),
    afterwards("dimensions_fixed", "takes open and symbolic dimensions for 1", _fixed_dimensions),
    afterwards("dimensions_opened", "drops the names of symbolic dimensions", _open_dimensions),
    afterwards("initializers_no_inputs", "drops inputs that have an initializer", _constants_only),
    afterwards("initializers_are_inputs", "makes every initializer an input", _initializers_are_inputs),
    afterwards("unused_inputs", "drops inputs that no node of the main graph uses", _unused_inputs_dropped),
    afterwards("newer_opset", "imports the next opset", _newer_opset),
    afterwards("one_import", "drops the imports of other domains", _one_import),
    afterwards("renamed_output", "renames the first output", _renamed_output),
    afterwards("int32_output", "declares indices as int32", _int32_output),
)
