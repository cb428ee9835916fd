"""The primitive operators that lowered optimizers and training steps are made of, in any number system.

Each is written once, in array arithmetic. A primitive computes in the type of its tensors: a graph of them spells out
the types that an optimizer's page leaves to the reader.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.arrays import dtype_of, objects
from conformance.reference.bounded import Bounded
from conformance.reference.nodes import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.arrays import Array
    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.systems import NumberSystem, Value


def _elementwise(formula: Callable[..., Any], _: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.elementwise(formula, *inputs)]


def _monotone(formula: Callable[[Array], Array], _: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.monotone(formula, inputs[0])]


def _power(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """A power with an integer exponent, of any type as ONNX allows it."""
    base, exponent = inputs
    if not all(_is_count(element) for element in exponent.elements.flat):
        raise Unsupported(f"{node.op_type} with an exponent that is no positive integer")
    if exponent.dtype != base.dtype:
        exponent = system.cast(exponent, base.dtype)
    return [system.elementwise(_raised, base, exponent)]


def _is_count(element: Any) -> bool:
    number = element.value if isinstance(element, Bounded) else element
    return bool(number > 0 and number % 1 == 0)


def _raised(base: Array, exponent: Array) -> Any:
    """`base ** exponent`, where an exponent that rounding may have changed stands for all it may be."""
    if base.dtype != object:
        return base**exponent
    base, exponent = np.broadcast_arrays(base, exponent)
    return objects((_power_of(a, b) for a, b in zip(base.flat, exponent.flat, strict=True)), base.shape)


def _power_of(base: Bounded, exponent: Bounded) -> Bounded:
    power = base**exponent
    ends = [base ** Bounded(end, exponent.precision) for end in {exponent.low, exponent.high} - {exponent.value}]
    if not ends:
        return power
    low, high = min(power.low, *(end.low for end in ends)), max(power.high, *(end.high for end in ends))
    return Bounded(power.value, power.precision, (low, high), doubt=any(number.doubt for number in (power, *ends)))


def _less(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.less(*inputs)]


def _where(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    condition, *branches = inputs
    return [system.elementwise(partial(np.where, condition.elements), *branches)]


def _cast(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    dtype = dtype_of(node.attributes["to"])
    if dtype == inputs[0].dtype:
        return inputs
    if dtype.kind != "f":
        raise Unsupported(f"Cast to {dtype}")
    return [system.cast(inputs[0], dtype)]


def _constant(node: Node, _: list[Value], system: NumberSystem) -> list[Value]:
    ((name, value),) = node.attributes.items()
    if name not in _CONSTANTS:
        raise Unsupported(f"Constant with the attribute {name}")
    return [system.entering(np.asarray(value, dtype=_CONSTANTS[name]))]


def _moved(movement: Callable[..., Array], node: Node, inputs: list[Value], _: NumberSystem) -> list[Value]:
    """A movement of elements, which computes nothing; shapes and axes are its further inputs."""
    arguments = [[int(element) for element in value.elements.flat] for value in inputs[1:]]
    return [replace(inputs[0], elements=movement(inputs[0].elements, *arguments, **node.attributes))]


def _reshaped(X: Array, shape: list[int], *, allowzero: int = 0) -> Array:
    return X.reshape([X.shape[axis] if size == 0 and not allowzero else size for axis, size in enumerate(shape)])


def _expanded(X: Array, shape: list[int]) -> Array:
    return np.broadcast_to(X, np.broadcast_shapes(X.shape, tuple(shape)))


def _transposed(X: Array, *, perm: list[int] | None = None) -> Array:
    return X.transpose(perm)


def _matmul(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """The sums of products, after each product; what fuses the two rounds less."""
    if any(value.elements.ndim < 2 for value in inputs):
        raise Unsupported(f"{node.op_type} of a vector")
    products = system.elementwise(lambda A, B: A[..., np.newaxis] * B[..., np.newaxis, :, :], *inputs)
    return [system.total(products, [products.elements.ndim - 2])]


def _reduce_sum(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    X, axes = inputs[0], _axes(node, inputs)
    total = system.total(X, axes)
    return [_with_axes(total, axes) if node.attributes.get("keepdims", 1) else total]


def _reduce_mean(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    count = prod(inputs[0].elements.shape[axis] for axis in _axes(node, inputs))
    return [system.elementwise(lambda total: total / count, *_reduce_sum(node, inputs, system))]


def _axes(node: Node, inputs: list[Value]) -> list[int]:
    """The axes to reduce, not negative and in order: an attribute or an input, as the opset has it; by default all."""
    rank = inputs[0].elements.ndim
    given = inputs[1].elements.tolist() if len(inputs) > 1 else node.attributes.get("axes", [])
    if not given and node.attributes.get("noop_with_empty_axes", 0):
        return []
    return sorted(axis % rank for axis in given) if given else list(range(rank))


def _with_axes(value: Value, axes: list[int]) -> Value:
    return replace(value, elements=np.expand_dims(value.elements, tuple(axes)))


_CONSTANTS: Mapping[str, Any] = {
    "value": None,
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}

PRIMITIVES: Mapping[str, Evaluation] = {
    "Add": partial(_elementwise, lambda A, B: A + B),
    "Sub": partial(_elementwise, lambda A, B: A - B),
    "Mul": partial(_elementwise, lambda A, B: A * B),
    "Div": partial(_elementwise, lambda A, B: A / B),
    "Sqrt": partial(_elementwise, np.sqrt),
    "Pow": _power,
    "Neg": partial(_monotone, lambda X: X * -1),
    "Relu": partial(_monotone, lambda X: np.where(X <= 0, 0, X)),
    "Less": _less,
    "Where": _where,
    "Cast": _cast,
    "Constant": _constant,
    "Identity": partial(_moved, lambda X: X),
    "Reshape": partial(_moved, _reshaped),
    "Expand": partial(_moved, _expanded),
    "Transpose": partial(_moved, _transposed),
    "MatMul": _matmul,
    "ReduceSum": _reduce_sum,
    "ReduceMean": _reduce_mean,
}
