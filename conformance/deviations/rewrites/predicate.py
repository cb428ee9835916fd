"""Faults in which operators are removed, and before which."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onnx import TensorProto

from conformance.deviations.rewrites.fault import FaultyRewrite, altered
from conformance.passes.eliminate_nop_monotone_argmax import (
    ALONG_AXIS,
    ELEMENTWISE,
    Elimination,
    eliminate,
    explicit_axis,
    is_monotone,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from conformance.models.scopes import Scope
    from conformance.passes.eliminate_nop_monotone_argmax import Site

ALSO = {
    "Relu": "which is not injective",
    "Neg": "which reverses the order",
    "Abs": "which is not monotone",
    "Reciprocal": "which reverses the order",
    "Floor": "which is not injective",
    "Sign": "which is not injective",
    "Tanh": "which the pass does not know",
    "Sigmoid": "which the pass does not know",
    "Identity": "which other passes remove",
}


def _also(op_type: str) -> Callable[[Site], bool]:
    def fires(site: Site) -> bool:
        return is_monotone(site) or (site.producer.op_type == op_type and explicit_axis(site.argmax) is not None)

    return fires


def _never(op_type: str) -> Callable[[Site], bool]:
    return lambda site: is_monotone(site) and site.producer.op_type != op_type


def _hardmax_too(site: Site) -> bool:
    axis = explicit_axis(site.argmax)
    return is_monotone(site) or (site.producer.op_type == "Hardmax" and explicit_axis(site.producer) == axis)


def _before(op_type: str) -> Callable[..., onnx.ModelProto]:
    """The pass, and the same before another operator, whatever attributes that has."""

    def monotone(site: Site) -> bool:
        return site.producer.op_type in ELEMENTWISE | ALONG_AXIS

    other = Elimination(consumer=op_type, is_monotone=monotone)

    def optimize(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
        return other(eliminate(model, fixed_point), fixed_point)

    return optimize


def _through_identity(scope: Scope, name: str) -> onnx.NodeProto | None:
    """The producer of a value, or of what Identity copies, with Identity taken out of the way."""
    node = scope.producer(name)
    if node is not None and node.op_type == "Identity" and scope.uses(name) == 1:
        before = scope.producer(node.input[0])
        if before is not None and before.op_type in ELEMENTWISE and scope.uses(node.input[0]) == 1:
            before.output[0] = name
            scope.graph.node.remove(node)
            scope.changed()
            return before
    return node


def _of_float_only(site: Site) -> bool:
    graph = site.scope.graph
    types = {value.name: value.type.tensor_type.elem_type for value in (*graph.input, *graph.value_info)}
    return is_monotone(site) and types.get(site.before, TensorProto.FLOAT) == TensorProto.FLOAT


def _where(condition: Callable[[dict[str, Any]], bool]) -> Callable[[Site], bool]:
    """Whether the pass fires, and a condition on the integer attributes of ArgMax holds."""
    return lambda site: is_monotone(site) and condition({held.name: held.i for held in site.argmax.attribute})


def _nothing(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:  # noqa: ARG001
    return replace(eliminate, consumer="")(model)


PREDICATE = (
    *(
        altered(f"removes_{op_type.lower()}", f"removes {op_type} too, {why}", is_monotone=_also(op_type))
        for op_type, why in ALSO.items()
    ),
    altered("removes_hardmax", "removes Hardmax along the same axis too", is_monotone=_hardmax_too),
    *(
        altered(f"leaves_{op_type.lower()}", f"does not know {op_type}", is_monotone=_never(op_type))
        for op_type in sorted(ELEMENTWISE | ALONG_AXIS)
    ),
    FaultyRewrite("before_argmin", "fires before ArgMin too", _before("ArgMin")),
    FaultyRewrite("before_reduce_max", "fires before ReduceMax too", _before("ReduceMax")),
    altered("through_identity", "looks past an Identity between the operator and ArgMax", producer=_through_identity),
    altered("float_only", "fires on float alone of the element types", is_monotone=_of_float_only),
    altered(
        "keepdims_zero_only",
        "fires only where keepdims is 0",
        is_monotone=_where(lambda given: given.get("keepdims", 1) == 0),
    ),
    altered(
        "first_index_only",
        "stays where select_last_index is set",
        is_monotone=_where(lambda given: not given.get("select_last_index", 0)),
    ),
    FaultyRewrite("never", "never fires", _nothing),
)
