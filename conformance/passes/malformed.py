"""What nothing can be said of the pass on: nodes of it, and types, that are not as ONNX has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import AttributeProto, TensorProto

from conformance.errors import ModelError
from conformance.models.functions import recursion
from conformance.models.scopes import Scope
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, is_standard

if TYPE_CHECKING:
    from collections.abc import Iterator

WITH_AXIS = ALONG_AXIS | {"ArgMax"}


def refuse_malformed(model: onnx.ModelProto) -> None:
    """Make sure that a model's ArgMax nodes, what is before them and its types can be read.

    Raises:
        ModelError: an ArgMax has no output, an `axis` is no integer, an element type is unknown, or functions call
            each other without end.
    """
    if (fault := recursion(model)) is not None:
        raise ModelError(fault, "Mend the model.")
    for scope in Scope(model, model.graph).walk():
        for fault in _faults(scope):
            raise ModelError(fault, "Mend the model; `onnx.checker` may say more.")


def _faults(scope: Scope) -> Iterator[str]:
    graph = scope.graph
    for value in (*graph.input, *graph.value_info, *graph.output):
        type = value.type.tensor_type.elem_type
        if type not in TensorProto.DataType.values():
            known = f"which onnx {onnx.__version__} does not know"
            yield f"The value {scope.path}{value.name} is of the element type {type}, {known}."
    for node in graph.node:
        if node.op_type not in WITH_AXIS or not is_standard(scope, node):
            continue
        if node.op_type == "ArgMax" and not any(node.output):
            yield f"The ArgMax of {scope.path}{''.join(node.input[:1]) or 'nothing'} has no output."
        for attribute in node.attribute:
            if attribute.name == "axis" and not attribute.ref_attr_name and attribute.type != AttributeProto.INT:
                yield f"The {node.op_type} that computes {scope.path_of(node)} has an axis that is no integer."
