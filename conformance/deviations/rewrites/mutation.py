"""Faults in what becomes of the caller's model, and in what is returned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.deviations.rewrites.fault import FaultyRewrite
from conformance.passes.eliminate_nop_monotone_argmax import eliminate
from conformance.verdicts import Level

if TYPE_CHECKING:
    import onnx


def _in_place(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    model.CopyFrom(eliminate(model, fixed_point))
    return model


def _both(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    after = eliminate(model, fixed_point)
    model.CopyFrom(after)
    return after


def _shape_inferred(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    after = eliminate(model, fixed_point)
    if not model.graph.value_info:
        model.graph.value_info.add(name="inferred")
    return after


def _stripped(model: onnx.ModelProto, fixed_point: bool = False) -> onnx.ModelProto:
    after = eliminate(model, fixed_point)
    model.ClearField("producer_name")
    return after


def _nothing_returned(model: onnx.ModelProto, fixed_point: bool = False) -> None:
    model.CopyFrom(eliminate(model, fixed_point))


MUTATION = (
    FaultyRewrite("in_place", "rewrites the caller's model and returns it", _in_place, Level.SHOULD),
    FaultyRewrite("caller_too", "rewrites the caller's model besides a copy", _both, Level.SHOULD),
    FaultyRewrite("inferred_in_place", "adds inferred types to the caller's model", _shape_inferred, Level.SHOULD),
    FaultyRewrite("caller_stripped", "strips the caller's model of its producer's name", _stripped, Level.SHOULD),
    FaultyRewrite("returns_nothing", "rewrites in place and returns nothing", _nothing_returned),
)
