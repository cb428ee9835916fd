"""The control-flow operators If, Loop and Scan, which evaluate subgraphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto

from checks.oracle.tensors import int64_tensor, scalar_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checks.oracle.calls import Call
    from checks.oracle.tensors import Tensor, Value


def _if(call: Call, condition: Tensor) -> tuple[Value, ...]:
    return call.run(call.attributes["then_branch" if _is_true(condition) else "else_branch"], ())


def _loop(call: Call, count: Tensor | None, condition: Tensor | None, *carried: Value) -> tuple[Value, ...]:
    """Run the body while the condition is true, at most `count` times. Stack the scan outputs."""
    body = call.attributes["body"]
    most = count.integers()[0] if count is not None else None
    goes_on = condition is None or _is_true(condition)
    values: Sequence[Any] = carried
    scanned: list[list[Any]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    iteration = 0
    while goes_on and (most is None or iteration < most):
        results = call.run(body, (int64_tensor([iteration], ()), scalar_tensor(TensorProto.BOOL, True), *values))
        goes_on = _is_true(results[0])
        values = results[1 : 1 + len(carried)]
        for collected, result in zip(scanned, results[1 + len(carried) :], strict=True):
            collected.append(result)
        iteration += 1
    return (*values, *(_stack(collected, 0) for collected in scanned))


def _scan(call: Call, *operands: Tensor) -> tuple[Value, ...]:
    """Run the body for each slice of the scan inputs. Stack the scan outputs. Supports opset 9 and later."""
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
    return (*states, *(_stack(collected, axis) for collected, axis in zip(turned, out_of, strict=True)))


def _stack(tensors: Sequence[Tensor], axis: int) -> Tensor:
    if not tensors:
        raise NotImplementedError(
            "The second oracle does not know the shape of the scan outputs of a loop without iterations."
        )
    return tensors[0].with_elements(np.stack([tensor.elements for tensor in tensors], axis=axis))


def _is_true(condition: Any) -> bool:
    answer = condition.scalar()
    if answer is None:
        raise NotImplementedError("The second oracle does not support a condition that may be true or false.")
    return bool(answer)


OPERATORS = {"If": _if, "Loop": _loop, "Scan": _scan}
