"""Faults that lose what has nothing to do with the pass; those that clear a field are in `fields`."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from conformance.deviations.rewrites.fault import afterwards, altered
from conformance.models.scopes import Scope
from conformance.passes.eliminate_nop_monotone_argmax import rewire
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from conformance.passes.eliminate_nop_monotone_argmax import Site


def _values(model: onnx.ModelProto) -> list[Any]:
    return [*model.graph.input, *model.graph.output]


def _types(model: onnx.ModelProto) -> list[Any]:
    return [value.type for value in _values(model)]


def _dimensions(model: onnx.ModelProto) -> list[Any]:
    return [dim for type in _types(model) for dim in type.tensor_type.shape.dim]


def _denotations(model: onnx.ModelProto) -> None:
    for message in (*_types(model), *_dimensions(model)):
        message.ClearField("denotation")


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


def _without_last(field: str) -> Callable[[onnx.ModelProto], None]:
    """Drops the last of several entries of a field of each graph."""

    def spoil(model: onnx.ModelProto) -> None:
        for scope in Scope(model, model.graph).walk():
            if len(getattr(scope.graph, field)) > 1:
                del getattr(scope.graph, field)[-1]

    return spoil


def _forgetting_input(site: Site) -> None:
    """Rewires, and forgets what is declared of the operator's input too."""
    site.scope.connections.forget(site.before)
    rewire(site)


def _new_argmax(*kept: str) -> Callable[[Site], None]:
    """Rewires a new ArgMax, which has not all that the old one said of itself."""

    def rewired(site: Site) -> None:
        rewire(site)
        for field in {"name", "doc_string", "metadata_props", "device_configurations"} - {*kept}:
            site.argmax.ClearField(field)

    return rewired


def _named_after_operator(site: Site) -> None:
    site.argmax.name = site.producer.name
    rewire(site)


def _rewired_outside(site: Site) -> None:
    """Rewires; in graphs inside of nodes what is said of the removed value stays."""
    (_leaving("value_info") if site.scope.path else rewire)(site)


lost = partial(afterwards, level=Level.SHOULD)
"""A rewrite that is right but for what no passage says that it has to keep."""

PRESERVATION = (
    altered(
        "stale_value_info",
        "leaves what is declared of the removed tensor",
        level=Level.SHOULD,
        rewire=_leaving("value_info"),
    ),
    altered(
        "stale_annotations",
        "leaves the quantization annotation of the removed tensor",
        level=Level.SHOULD,
        rewire=_leaving("quantization_annotation"),
    ),
    altered(
        "stale_inside",
        "leaves what is declared of the removed tensor in graphs inside of nodes",
        level=Level.SHOULD,
        rewire=_rewired_outside,
    ),
    *(
        lost(f"no_last_{field}", f"drops the last of several entries of {field}", _without_last(field))
        for field in ("value_info", "quantization_annotation")
    ),
    *(
        altered(id, text, level=Level.SHOULD, rewire=step)
        for id, text, step in (
            ("forgets_input", "forgets what is declared of the operator's input", _forgetting_input),
            ("new_argmax", "makes a new ArgMax that says nothing of itself", _new_argmax()),
            ("new_named_argmax", "makes a new ArgMax with the old one's name alone", _new_argmax("name")),
            ("named_after_operator", "gives ArgMax the operator's node name", _named_after_operator),
        )
    ),
    lost("other_producer", "calls itself the model's producer", _other_producer),
    lost("other_ir_version", "raises the IR version", _other_ir_version),
    lost("ir_version_raised", "raises IR versions below 8 to it", _at_least_8),
    lost("ir_version_lowered", "lowers IR versions above 8 to it", _at_most_8),
    lost("plain_graph_name", "writes the graph's name in letters, digits and _ alone", _plain_graph_name),
    lost("no_unused_initializers", "drops initializers without a use", _unused_initializers),
    lost("no_denotations", "drops the denotations of types and dimensions", _denotations),
)
