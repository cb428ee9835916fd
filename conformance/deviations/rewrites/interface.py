"""Faults in the interface of the rewritten model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import TensorProto

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
