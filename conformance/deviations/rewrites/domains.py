"""Faults about whose operators are removed: ONNX's own, and those of other domains with their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.deviations.rewrites.fault import altered
from conformance.passes.eliminate_nop_monotone_argmax import is_standard

if TYPE_CHECKING:
    import onnx

    from conformance.models.scopes import Scope


def _any(_: Scope, __: onnx.NodeProto) -> bool:
    return True


def _producer_of_any(scope: Scope, node: onnx.NodeProto) -> bool:
    return node.op_type != "ArgMax" or is_standard(scope, node)


def _argmax_of_any(scope: Scope, node: onnx.NodeProto) -> bool:
    return node.op_type == "ArgMax" or is_standard(scope, node)


def _no_functions_at_all(scope: Scope, node: onnx.NodeProto) -> bool:
    return is_standard(scope, node) and all(function.name != node.op_type for function in scope.model.functions)


def _one_input(scope: Scope, name: str) -> onnx.NodeProto | None:
    """The producer of a value, which is taken to have one input.

    Raises:
        ValueError: an operator of the name of one of the five has not.
    """
    node = scope.producer(name)
    if node is not None and node.op_type in {"Log", "Exp", "Sqrt", "Softmax", "LogSoftmax"} and len(node.input) != 1:
        raise ValueError(f"{node.op_type} has {len(node.input)} inputs")
    return node


DOMAINS = (
    altered("ignores_domains", "does not look at domains", is_standard=_any),
    altered("ignores_producer_domain", "does not look at the operator's domain", is_standard=_producer_of_any),
    altered("ignores_argmax_domain", "does not look at ArgMax's domain", is_standard=_argmax_of_any),
    altered(
        "any_function", "stays where a function of any domain has the operator's name", is_standard=_no_functions_at_all
    ),
    altered("raises_on_other_arity", "raises where an operator of others has not one input", producer=_one_input),
)
