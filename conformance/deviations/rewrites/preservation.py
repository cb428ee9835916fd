"""Faults that lose what has nothing to do with the pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from conformance.deviations.rewrites.fault import afterwards, altered
from conformance.models.scopes import Scope
from conformance.passes.eliminate_nop_monotone_argmax import rewire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import onnx

    from conformance.passes.eliminate_nop_monotone_argmax import Site


def _cleared(of: Callable[[onnx.ModelProto], Iterable[Any]], field: str) -> Callable[[onnx.ModelProto], None]:
    """Clears a field of some messages of a model."""

    def spoil(model: onnx.ModelProto) -> None:
        for message in of(model):
            message.ClearField(field)

    return spoil


def _model(model: onnx.ModelProto) -> list[Any]:
    return [model]


def _graph(model: onnx.ModelProto) -> list[Any]:
    return [model.graph]


def _nodes(model: onnx.ModelProto) -> list[Any]:
    return [node for scope in Scope(model, model.graph).walk() for node in scope.graph.node]


def _values(model: onnx.ModelProto) -> list[Any]:
    return [*model.graph.input, *model.graph.output]


def _attributes(model: onnx.ModelProto) -> list[Any]:
    return [attribute for node in _nodes(model) for attribute in node.attribute]


def _types(model: onnx.ModelProto) -> list[Any]:
    return [value.type for value in _values(model)]


def _dimensions(model: onnx.ModelProto) -> list[Any]:
    return [dim for type in _types(model) for dim in type.tensor_type.shape.dim]


def _denotations(model: onnx.ModelProto) -> None:
    for spoil in (_cleared(_types, "denotation"), _cleared(_dimensions, "denotation")):
        spoil(model)


def _plain_graph_name(model: onnx.ModelProto) -> None:
    model.graph.name = re.sub(r"\W", "_", model.graph.name)


def _at_least_8(model: onnx.ModelProto) -> None:
    model.ir_version = max(model.ir_version, 8)


def _at_most_8(model: onnx.ModelProto) -> None:
    model.ir_version = min(model.ir_version, 8)


def _unused_initializers(model: onnx.ModelProto) -> None:
    scope = Scope(model, model.graph)
    for tensor in [tensor for tensor in model.graph.initializer if not scope.uses(tensor.name)]:
        model.graph.initializer.remove(tensor)


def _other_ir_version(model: onnx.ModelProto) -> None:
    model.ir_version += 1


def _other_producer(model: onnx.ModelProto) -> None:
    model.producer_name = "optimizer"


def _leaving(field: str) -> Callable[[Site], None]:
    """Rewires, and leaves a graph's field as it was."""

    def rewired(site: Site) -> None:
        graph = site.scope.graph
        said = [type(entry).FromString(entry.SerializeToString()) for entry in getattr(graph, field)]
        rewire(site)
        graph.ClearField(field)
        getattr(graph, field).extend(said)

    return rewired


PRESERVATION = (
    altered("stale_value_info", "leaves what is declared of the removed tensor", rewire=_leaving("value_info")),
    altered(
        "stale_annotations",
        "leaves the quantization annotation of the removed tensor",
        rewire=_leaving("quantization_annotation"),
    ),
    afterwards("no_metadata", "drops the model's metadata", _cleared(_model, "metadata_props")),
    afterwards("no_doc_string", "drops the model's doc string", _cleared(_model, "doc_string")),
    afterwards("no_domain", "drops the model's domain", _cleared(_model, "domain")),
    afterwards("no_version", "drops the model's version", _cleared(_model, "model_version")),
    afterwards("other_producer", "calls itself the model's producer", _other_producer),
    afterwards("other_ir_version", "raises the IR version", _other_ir_version),
    afterwards("no_producer_version", "drops the version of the producer", _cleared(_model, "producer_version")),
    afterwards("ir_version_raised", "raises IR versions below 8 to it", _at_least_8),
    afterwards("ir_version_lowered", "lowers IR versions above 8 to it", _at_most_8),
    afterwards("no_training_info", "drops training information", _cleared(_model, "training_info")),
    afterwards("no_functions", "drops functions", _cleared(_model, "functions")),
    afterwards("no_graph_name", "drops the graph's name", _cleared(_graph, "name")),
    afterwards("plain_graph_name", "writes the graph's name in letters, digits and _ alone", _plain_graph_name),
    afterwards("no_graph_doc_string", "drops the graph's doc string", _cleared(_graph, "doc_string")),
    afterwards("no_graph_metadata", "drops the graph's metadata", _cleared(_graph, "metadata_props")),
    afterwards("no_annotations", "drops quantization annotations", _cleared(_graph, "quantization_annotation")),
    afterwards("no_value_info", "drops what is said of all inner tensors", _cleared(_graph, "value_info")),
    afterwards("no_sparse_initializers", "drops sparse initializers", _cleared(_graph, "sparse_initializer")),
    afterwards("no_unused_initializers", "drops initializers without a use", _unused_initializers),
    afterwards("no_node_names", "drops the names of nodes", _cleared(_nodes, "name")),
    afterwards("no_node_doc_strings", "drops the doc strings of nodes", _cleared(_nodes, "doc_string")),
    afterwards("no_node_metadata", "drops the metadata of nodes", _cleared(_nodes, "metadata_props")),
    afterwards("no_attribute_doc_strings", "drops the doc strings of attributes", _cleared(_attributes, "doc_string")),
    afterwards("no_value_metadata", "drops the metadata of inputs and outputs", _cleared(_values, "metadata_props")),
    afterwards("no_denotations", "drops the denotations of types and dimensions", _denotations),
    afterwards("no_value_doc_strings", "drops the doc strings of inputs and outputs", _cleared(_values, "doc_string")),
)
