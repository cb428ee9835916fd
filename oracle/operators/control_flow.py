"""Operators that run graphs: If, Loop and Scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto

from oracle.tensors import int64, scalar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oracle.calls import Call
    from oracle.tensors import Tensor, Value


def _if(call: Call, condition: Tensor) -> tuple[Value, ...]:
    return call.run(call.attributes["then_branch" if _holds(condition) else "else_branch"], ())


def _loop(call: Call, count: Tensor | None, condition: Tensor | None, *carried: Value) -> tuple[Value, ...]:
    """Runs the body while its condition holds, as often as the count says; what each run scans is stacked."""
    body = call.attributes["body"]
    most = count.integers()[0] if count is not None else None
    goes_on = condition is None or _holds(condition)
    values: Sequence[Any] = carried
    scanned: list[list[Any]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    iteration = 0
    while goes_on and (most is None or iteration < most):
        results = call.run(body, (int64([iteration], ()), scalar(TensorProto.BOOL, True), *values))
        goes_on = _holds(results[0])
        values = results[1 : 1 + len(carried)]
        for collected, result in zip(scanned, results[1 + len(carried) :], strict=True):
            collected.append(result)
        iteration += 1
    return (*values, *(_stacked(collected, 0) for collected in scanned))


def _scan(call: Call, *operands: Tensor) -> tuple[Value, ...]:
    """Runs the body for each slice of the last operands; results past the states are stacked. Since opset 9."""
    body, count = call.attributes["body"], call.attributes["num_scan_inputs"]
    states: Sequence[Any] = operands[: len(operands) - count]
    inputs = operands[len(operands) - count :]
    outputs = len(body.output) - len(states)
    into = call.attributes.get("scan_input_axes", [0] * count)
    out_of = call.attributes.get("scan_output_axes", [0] * outputs)
    backwards = call.attributes.get("scan_input_directions", [0] * count)
    prepends = call.attributes.get("scan_output_directions", [0] * outputs)
    slices = [np.moveaxis(tensor.elements, axis, 0) for tensor, axis in zip(inputs, into, strict=True)]
    slices = [each[::-1] if back else each for each, back in zip(slices, backwards, strict=True)]
    scanned: list[list[Any]] = [[] for _ in range(outputs)]
    for at in range(len(slices[0])):
        parts = [
            tensor.with_elements(np.asarray(each[at], object)) for tensor, each in zip(inputs, slices, strict=True)
        ]
        results = call.run(body, (*states, *parts))
        held, results = results[: len(states)], results[len(states) :]
        states = held
        for collected, result in zip(scanned, results, strict=True):
            collected.append(result)
    turned = [collected[::-1] if prepend else collected for collected, prepend in zip(scanned, prepends, strict=True)]
    return (*states, *(_stacked(collected, axis) for collected, axis in zip(turned, out_of, strict=True)))


def _stacked(tensors: Sequence[Tensor], axis: int) -> Tensor:
    if not tensors:
        raise NotImplementedError("The second oracle does not know the shape of what a loop without a run scans.")
    return tensors[0].with_elements(np.stack([tensor.elements for tensor in tensors], axis=axis))


def _holds(condition: Any) -> bool:
    answer = condition.scalar()
    if answer is None:
        raise NotImplementedError("The second oracle does not follow a condition that may be either.")
    return bool(answer)


OPERATORS = {"If": _if, "Loop": _loop, "Scan": _scan}
