"""Operators that take elements at the same place, broadcast as NumPy does."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from flint import fmpq
from onnx import TensorProto

from oracle import reals, steps
from oracle.arithmetic import Enclosure
from oracle.formats import FLOATS, wrap
from oracle.tensors import Tensor, each

if TYPE_CHECKING:
    from collections.abc import Callable

    from oracle.arithmetic import Function
    from oracle.calls import Call


def _of_one(function: Function) -> Callable[[Call, Tensor], Tensor]:
    def operator(call: Call, x: Tensor) -> Tensor:
        arithmetic = call.arithmetic(x.type)
        return x.with_elements(each(lambda item: arithmetic(function, item), x.elements))

    return operator


def _of_two(function: Function) -> Callable[[Call, Tensor, Tensor], Tensor]:
    def operator(call: Call, x: Tensor, y: Tensor) -> Tensor:
        arithmetic = call.arithmetic(x.type)
        return x.with_elements(each(lambda a, b: arithmetic(function, a, b), x.elements, y.elements))

    return operator


def _of_many(function: Function) -> Callable[..., Tensor]:
    two = _of_two(function)

    def operator(call: Call, *operands: Tensor) -> Tensor:
        return reduce(lambda x, y: two(call, x, y), operands)

    return operator


def _mean(call: Call, *operands: Tensor) -> Tensor:
    total = _of_many(reals.add)(call, *operands)
    arithmetic = call.arithmetic(total.type)
    return total.with_elements(
        each(lambda item: arithmetic(reals.divide, item, fmpq(len(operands))), total.elements),
    )


def _reciprocal(call: Call, x: Tensor) -> Tensor:
    arithmetic = call.arithmetic(x.type)
    return x.with_elements(each(lambda item: arithmetic(reals.divide, fmpq(1), item), x.elements))


def _power(call: Call, x: Tensor, y: Tensor) -> Tensor:
    """An exponent may be of another type than its base, whose type the result has."""
    arithmetic = call.arithmetic(x.type)
    exponents = each(_real, y.elements)
    return x.with_elements(each(lambda a, b: arithmetic(reals.power, a, b), x.elements, exponents))


def _less(call: Call, x: Tensor, y: Tensor) -> Tensor:
    return Tensor(TensorProto.BOOL, each(call.arithmetic(x.type).less, x.elements, y.elements))


def _not(call: Call, x: Tensor) -> Tensor:
    """Of a truth value that may be either, either."""
    return x.with_elements(each(lambda item: None if item is None else not item, x.elements))


def _where(call: Call, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return x.with_elements(each(call.arithmetic(x.type).either, condition.elements, x.elements, y.elements))


def _clip(call: Call, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    if low is not None:
        x = _of_two(steps.larger)(call, x, low)
    return x if high is None else _of_two(steps.smaller)(call, x, high)


def _cast(call: Call, x: Tensor) -> Tensor:
    to = call.attributes["to"]
    return Tensor(to, each(lambda item: _converted(item, x.type, to), x.elements))


def _converted(item: Any, origin: int, to: int) -> Any:
    """An element in another type; a conversion between types of real numbers keeps the number."""
    if to in FLOATS and origin in FLOATS:
        return item
    if isinstance(item, (Enclosure, frozenset)) or item is None:
        raise NotImplementedError("The second oracle does not convert an uncertain number to another type.")
    if to == TensorProto.BOOL:
        return bool(item != 0)
    if to in FLOATS:
        return _real(item)
    return wrap(to, int(item) if isinstance(item, (int, float)) else steps.towards_zero(item))


def _real(item: Any) -> Any:
    """An integer or boolean element as a real number; a real number is one already."""
    return reals.real(int(item)) if isinstance(item, int) else item


OPERATORS = {
    "Abs": _of_one(reals.absolute),
    "Add": _of_two(reals.add),
    "Asinh": _of_one(reals.inverse_hyperbolic_sine),
    "Atanh": _of_one(reals.inverse_hyperbolic_tangent),
    "Cast": _cast,
    "Ceil": _of_one(steps.ceiling),
    "Clip": _clip,
    "Cosh": _of_one(reals.hyperbolic_cosine),
    "Div": _of_two(reals.divide),
    "Exp": _of_one(reals.exponential),
    "Floor": _of_one(steps.floor),
    "Less": _less,
    "Log": _of_one(reals.logarithm),
    "Max": _of_many(steps.larger),
    "Mean": _mean,
    "Min": _of_many(steps.smaller),
    "Mul": _of_two(reals.multiply),
    "Neg": _of_one(reals.negative),
    "Not": _not,
    "Pow": _power,
    "Reciprocal": _reciprocal,
    "Round": _of_one(steps.rounded),
    "Sign": _of_one(steps.signum),
    "Sinh": _of_one(reals.hyperbolic_sine),
    "Sqrt": _of_one(reals.square_root),
    "Sub": _of_two(reals.subtract),
    "Sum": _of_many(reals.add),
    "Tanh": _of_one(reals.hyperbolic_tangent),
    "Where": _where,
}
