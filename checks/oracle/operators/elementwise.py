"""Operators on corresponding elements of tensors, which are broadcast as in NumPy."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from flint import fmpq
from onnx import TensorProto

from checks.oracle import reals, stepwise_functions
from checks.oracle.arithmetic import Enclosure
from checks.oracle.formats import FLOATS, wrap
from checks.oracle.tensors import Tensor, map_elements

if TYPE_CHECKING:
    from collections.abc import Callable

    from checks.oracle.arithmetic import Function
    from checks.oracle.calls import Call


def _unary(function: Function) -> Callable[[Call, Tensor], Tensor]:
    def operator(call: Call, x: Tensor) -> Tensor:
        arithmetic = call.arithmetic(x.type)
        return x.with_elements(map_elements(lambda item: arithmetic(function, item), x.elements))

    return operator


def _binary(function: Function) -> Callable[[Call, Tensor, Tensor], Tensor]:
    def operator(call: Call, x: Tensor, y: Tensor) -> Tensor:
        arithmetic = call.arithmetic(x.type)
        return x.with_elements(map_elements(lambda a, b: arithmetic(function, a, b), x.elements, y.elements))

    return operator


def _variadic(function: Function) -> Callable[..., Tensor]:
    two = _binary(function)

    def operator(call: Call, *operands: Tensor) -> Tensor:
        return reduce(lambda x, y: two(call, x, y), operands)

    return operator


def _mean(call: Call, *operands: Tensor) -> Tensor:
    total = _variadic(reals.add)(call, *operands)
    arithmetic = call.arithmetic(total.type)
    return total.with_elements(
        map_elements(lambda item: arithmetic(reals.divide, item, fmpq(len(operands))), total.elements),
    )


def _reciprocal(call: Call, x: Tensor) -> Tensor:
    arithmetic = call.arithmetic(x.type)
    return x.with_elements(map_elements(lambda item: arithmetic(reals.divide, fmpq(1), item), x.elements))


def _power(call: Call, x: Tensor, y: Tensor) -> Tensor:
    """Compute a power. The exponent may have another type; the result has the type of the base."""
    arithmetic = call.arithmetic(x.type)
    exponents = map_elements(_real, y.elements)
    return x.with_elements(map_elements(lambda a, b: arithmetic(reals.power, a, b), x.elements, exponents))


def _less(call: Call, x: Tensor, y: Tensor) -> Tensor:
    return Tensor(TensorProto.BOOL, map_elements(call.arithmetic(x.type).less, x.elements, y.elements))


def _equal(call: Call, x: Tensor, y: Tensor) -> Tensor:
    """Compare integers. None, which may be true or false, is the answer where an operand is one of several indices."""
    if x.type in FLOATS:
        raise NotImplementedError("The second oracle does not compare floating-point numbers for equality.")
    return Tensor(TensorProto.BOOL, map_elements(_are_equal, x.elements, y.elements))


def _are_equal(a: Any, b: Any) -> bool | None:
    return None if isinstance(a, frozenset) or isinstance(b, frozenset) else bool(a == b)


def _not(call: Call, x: Tensor) -> Tensor:
    """Negate each element. None, which may be true or false, stays None."""
    return x.with_elements(map_elements(lambda item: None if item is None else not item, x.elements))


def _where(call: Call, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return x.with_elements(map_elements(call.arithmetic(x.type).select, condition.elements, x.elements, y.elements))


def _clip(call: Call, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    if low is not None:
        x = _binary(stepwise_functions.maximum)(call, x, low)
    return x if high is None else _binary(stepwise_functions.minimum)(call, x, high)


def _cast(call: Call, x: Tensor) -> Tensor:
    to = call.attributes["to"]
    return Tensor(to, map_elements(lambda item: _convert(item, x.type, to), x.elements))


def _convert(item: Any, origin: int, to: int) -> Any:
    """Return an element converted to another type. Between floating-point types, the number does not change."""
    if to in FLOATS and origin in FLOATS:
        return item
    if isinstance(item, (Enclosure, frozenset)) or item is None:
        raise NotImplementedError("The second oracle does not convert a number that is not exact to another type.")
    if to == TensorProto.BOOL:
        return bool(item != 0)
    if to in FLOATS:
        return _real(item)
    return wrap(to, int(item) if isinstance(item, (int, float)) else stepwise_functions.truncate(item))


def _real(item: Any) -> Any:
    """Return an integer, boolean or real element as a real number."""
    return reals.real(int(item)) if isinstance(item, int) else item


OPERATORS = {
    "Abs": _unary(reals.absolute),
    "Add": _binary(reals.add),
    "Asinh": _unary(reals.inverse_hyperbolic_sine),
    "Atan": _unary(reals.arctangent),
    "Atanh": _unary(reals.inverse_hyperbolic_tangent),
    "Cast": _cast,
    "Ceil": _unary(stepwise_functions.ceiling),
    "Clip": _clip,
    "Cosh": _unary(reals.hyperbolic_cosine),
    "Div": _binary(reals.divide),
    "Equal": _equal,
    "Erf": _unary(reals.error_function),
    "Exp": _unary(reals.exponential),
    "Floor": _unary(stepwise_functions.floor),
    "Less": _less,
    "Log": _unary(reals.logarithm),
    "Max": _variadic(stepwise_functions.maximum),
    "Mean": _mean,
    "Min": _variadic(stepwise_functions.minimum),
    "Mul": _binary(reals.multiply),
    "Neg": _unary(reals.negative),
    "Not": _not,
    "Pow": _power,
    "Reciprocal": _reciprocal,
    "Round": _unary(stepwise_functions.round_half_even),
    "Sign": _unary(stepwise_functions.signum),
    "Sinh": _unary(reals.hyperbolic_sine),
    "Sqrt": _unary(reals.square_root),
    "Sub": _binary(reals.subtract),
    "Sum": _variadic(reals.add),
    "Tanh": _unary(reals.hyperbolic_tangent),
    "Where": _where,
}
