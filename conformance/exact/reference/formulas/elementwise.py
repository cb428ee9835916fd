"""Formulas of operators that compute each element from the corresponding elements of the operands."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, cast

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import format_of, type_name
from conformance.exact.reference.numbers import elementary
from conformance.exact.reference.numbers.enclosure import Enclosure, admit, is_strict
from conformance.exact.reference.tolerances import NARROW, ROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure, NodeFormula
    from conformance.exact.reference.numbers.enclosure import Tensor
    from conformance.exact.reference.numbers.formula_tensor import T

    Formula = Callable[[Enclosure], Enclosure]


def tensor(given: T | Array | None) -> T:
    """Return an input as a tensor of floating-point numbers.

    Raises:
        Unsupported: the input is missing or has another type.
    """
    if given is None or isinstance(given, np.ndarray):
        raise Unsupported("an operand is not a tensor of floating-point numbers")
    return given


# Functions of one tensor, which nodes and gates of recurrent networks apply


def exp(X: T) -> T:
    """Return the exponentials."""
    return X.named("exp", np.exp)


def log(X: T) -> T:
    """Return the natural logarithms."""
    return X.named("log", np.log)


def sqrt(X: T) -> T:
    """Return the square roots."""
    return X.sqrt()


def tanh(X: T) -> T:
    """Return the hyperbolic tangents."""
    return X.named("tanh", elementary.tanh)


def sigmoid(X: T, name: str = "Sigmoid") -> T:
    """Return 1 / (1 + Exp(-X)). The form with Tanh has an absolute error far below 0.

    Args:
        X: the operand.
        name: the row of `tolerances.FORMS`.
    """
    ulps = X.ulps_of("exp")
    with np.errstate(all="ignore"):
        return admit(
            name,
            written=lambda: (1.0 + exp(-X)).without_overflow().apply(lambda y: 1 / y, ulps),
            tanh=lambda: 0.5 * (1.0 + tanh(0.5 * X)),
        )


def softplus(X: Enclosure) -> Enclosure:
    """Return Log(Exp(X) + 1), or the equal form Max(X, 0) + Log(1 + Exp(-Abs(X))), where the first overflows."""
    safe = X.apply(lambda x: np.maximum(x, 0)) + exp(-abs(X)).named("log1p", elementary.log1p)
    direct = log(exp(X) + 1.0)
    both = admit("Softplus", shifted=lambda: safe, written=lambda: direct)
    return Enclosure(safe.value, np.where(np.isfinite(direct.magnitude), both.error, safe.error), X.dtype)


def softplus_of_page(X: Enclosure) -> Enclosure:
    """Return Log(Exp(X) + 1), which is open at level `must` where the exponential overflows."""
    result = softplus(X)
    if is_strict():
        return result
    is_open = np.isfinite(X.magnitude) & ~np.isfinite(exp(X).magnitude)
    return result.leave_open(is_open, "overflow of an exponential")


def _mish(X: Enclosure) -> Enclosure:
    written = X * tanh(softplus(X))
    square = (1.0 + exp(X)) * (1.0 + exp(X))
    quotient = X * ((square - 1.0) / (square + 1.0))
    has_form = (X.value < 0) & (type_name(X.dtype) not in NARROW)
    return admit("Mish", written=lambda: written, quotient=lambda: quotient.where(has_form, written))


def softsign(X: T) -> T:
    """Return X / (1 + Abs(X))."""
    return X / (1.0 + absolute(X))


def absolute(X: T) -> T:
    """Return the magnitudes."""
    return cast("T", abs(X))


def relu(X: T) -> T:
    """Return Max(X, 0)."""
    return X.apply(lambda x: np.maximum(x, 0))


LARGEST_OF_GELU = 12.0
"""Largest number before which Tanh of Gelu is not 1 in each type; the third power of a larger one can overflow."""


def gelu(X: Enclosure, *, approximate: str = "none") -> Enclosure:
    """Return the Gaussian error linear unit: 0.5 X (1 + Erf(X / Sqrt(2))), or its approximation with Tanh."""
    if approximate == "tanh":
        base = X.apply(lambda x: np.clip(x, -LARGEST_OF_GELU, LARGEST_OF_GELU))
        return gelu_by_tanh(X, math.sqrt(2 / math.pi) * (base + 0.044715 * (base * base * base)))
    function = "erf of Gelu" if type_name(X.dtype) == "float" else "erf"
    return 0.5 * (X * (1.0 + (X.constant(math.sqrt(0.5), may_be_float=False) * X).named(function, elementary.erf)))


def gelu_by_tanh(X: Enclosure, u: Enclosure) -> Enclosure:
    """Return 0.5 X (1 + Tanh(u)), or the equal form X / (1 + Exp(-2 u)), which has another error near 0."""
    return admit(
        "Gelu by Tanh",
        written=lambda: 0.5 * (X * (1.0 + tanh(u))),
        sigmoid=lambda: X * sigmoid(2.0 * u),
    )


def elu(X: T, alpha: float) -> T:
    """Return X, and alpha (Exp(X) - 1) for X < 0."""
    negative = X.apply(lambda x: np.minimum(x, 0))
    return (alpha * _exp_minus_1(negative)).where(X.value < 0, X)


def _exp_minus_1(X: T) -> T:
    return admit("Elu", expm1=lambda: X.named("expm1", elementary.expm1), written=lambda: exp(X) - 1.0)


def _selu(X: T, alpha: float, gamma: float) -> T:
    negative = X.apply(lambda x: np.minimum(x, 0))
    below = admit(
        "Selu",
        expm1=lambda: gamma * (alpha * negative.named("expm1", elementary.expm1)),
        written=lambda: gamma * (alpha * exp(negative) - alpha),
        folded=lambda: (X.constant(gamma) * alpha) * (exp(negative) - 1.0),
    )
    return below.where(X.value <= 0, gamma * X)


def _celu(X: T, alpha: float) -> T:
    below = alpha * _exp_minus_1(X.apply(lambda x: np.minimum(x, 0)) / alpha)
    return admit(
        "Celu",
        written=lambda: below.where(X.value < 0, X),
        function=lambda: below.where(X.value < 0, alpha * (X / alpha)),
    )


def _shrink(X: Enclosure, lambd: float, bias: float) -> Enclosure:
    if not X.is_exact:
        raise Unsupported("rounding of an input decides the result of Shrink")
    zero = X.zeros(X.shape)
    return (X + bias).where(X.value < -lambd, (X - bias).where(X.value > lambd, zero))


# The nodes


def _unary(function: Formula) -> NodeEnclosure:
    return lambda _, inputs: [function(tensor(inputs[0]))]


def _with_numbers(function: Callable[..., Enclosure], **defaults: float) -> NodeEnclosure:
    """Return the enclosure of a function with numbers as attributes, whose defaults the schema states in float."""

    def enclose(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
        numbers = {name: float(node.attributes.get(name, np.float32(value))) for name, value in defaults.items()}
        return [function(tensor(inputs[0]), **numbers)]

    return enclose


def _binary(function: Callable[[Enclosure, Enclosure], Enclosure]) -> NodeEnclosure:
    return lambda _, inputs: [function(tensor(inputs[0]), tensor(inputs[1]))]


def _pow(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Pow. An exponent that is a positive integer may be computed by multiplications."""
    base = inputs[0]
    given = inputs[1]
    if isinstance(base, np.ndarray):
        return [_integer_power(base, tensor(given))]
    X = tensor(base)
    if isinstance(given, Enclosure):
        if not given.is_exact:
            raise Unsupported("the exponent of Pow is not exact")
        exponent = given.value
    else:
        assert given is not None
        exponent = given.astype(np.float64)
    is_whole = np.all((exponent >= 0) & (exponent % 1 == 0))
    if not X.is_exact and not (np.all(X.value - X.error > 0) or is_whole):
        raise Unsupported("the base of Pow is not exact and may be negative")
    if np.all(exponent == 2):
        square = X.times(X)
        power = admit("Power of 2", product=lambda: square, function=lambda: _power(X, exponent, square))
        square = replace(power, terms=square.terms)
        return [_broadcast(square, np.broadcast_shapes(X.shape, exponent.shape))]
    X = _broadcast(X, np.broadcast_shapes(X.shape, exponent.shape))
    exponent = np.broadcast_to(exponent, X.shape).copy()  # NumPy takes the root for a single exponent of 0.5
    if is_whole and not X.is_exact:  # for a negative base, too, the power changes most at the end farthest from 0
        with np.errstate(all="ignore"):
            value = elementary.power(X.value, exponent)
            spread = np.power(X.magnitude, exponent) - np.abs(value)
        spread = np.where(exponent == 0, 0.0, np.where(np.isnan(spread), np.inf, spread))
        propagated = Enclosure(value, spread, X.dtype)
    else:
        propagated = X.apply(lambda x: elementary.power(x, exponent))
    power = _power(X, exponent, propagated)
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu":
        # a kernel may compute with the exponent in the type of the base, in which no large number is odd
        is_rounded = np.abs(exponent) > 2.0 ** format_of(X.dtype).precision
        power = replace(power, error=np.where(is_rounded & (X.value < 0), np.inf, power.error))
    if is_strict():
        return [power]
    # a kernel may take the root too, whose result for a negative infinity is NaN
    is_open = (exponent == 0.5) & np.isneginf(X.value)
    return [replace(power, error=np.where(is_open, np.inf, power.error))]


def _integer_power(base: Array, exponent: Enclosure) -> Tensor:
    """Return powers of integers with an exponent that is no integer type; a power with a fraction is left open."""
    if not exponent.is_exact:
        raise Unsupported("the exponent of Pow is not exact")
    value = np.power(base.astype(np.float64), exponent.value)
    limits = np.iinfo(base.dtype)
    is_known = (value % 1 == 0) & (value >= limits.min) & (value <= min(limits.max, 2**53))
    known = np.where(is_known, value, 0.0)
    if is_known.all():
        return known.astype(base.dtype)
    return Enclosure(known, 0 * known, base.dtype).leave_open(~is_known, "overflow of integers")


def raise_to(X: Enclosure, exponent: float) -> Enclosure:
    """Return positive numbers to a power."""
    exponents = np.full(X.shape, exponent)
    return _power(X, exponents, X.apply(lambda x: elementary.power(np.maximum(x, 0), exponents)))


def _power(X: Enclosure, exponent: Array, power: Enclosure) -> Enclosure:
    """Return a power with the error of a function call, or of an exponential of a product with a logarithm.

    The exponential has the relative error 3 Abs(y Log(x)) u.

    Args:
        X: the base.
        exponent: the exponent.
        power: the power, with the error that the base contributes.
    """
    with np.errstate(all="ignore"):
        log_of_power = np.abs(exponent * np.log(np.abs(X.value)))
    log_of_power = np.where(np.isfinite(log_of_power), log_of_power, 0.0)
    ulps = power.ulps_of("pow")
    roundings = np.maximum(2 * ulps, np.maximum(np.abs(exponent), 4 * log_of_power))
    return power.with_roundings(roundings, np.broadcast_to(X.error == 0, power.shape))


def _broadcast(X: T, shape: tuple[int, ...]) -> T:
    return X.moved(lambda x: np.broadcast_to(x, shape))


def add_operands(operands: Sequence[T]) -> T:
    """Return the sum of some tensors, added in any order."""
    if len(operands) == 1 or any(not isinstance(each, Enclosure) or each.terms for each in operands):
        return reduce(lambda A, B: A.plus(B), operands)
    shape = np.broadcast_shapes(*(each.shape for each in operands))
    first, *others = (_broadcast(each, shape) for each in operands)
    return first.stack(others, 0).sum([0])


def _sum(_: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    return [add_operands([tensor(given) for given in inputs])]


def _mean(_: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    operands = [tensor(given) for given in inputs]
    if len(operands) == 1:
        return operands
    count = operands[0].constant(len(operands))
    return [
        admit(
            "Mean",
            written=lambda: add_operands(operands).over(count),
            scaled=lambda: add_operands([each.over(count) for each in operands]),
        )
    ]


def _hard_swish(X: Enclosure) -> Enclosure:
    clipped = (X + 3.0).apply(lambda y: np.clip(y, 0, 6))
    result = admit(
        "HardSwish",
        written=lambda: X * hard_sigmoid(X, 1 / 6, 0.5),
        relu6=lambda: (X * clipped) / 6.0,
        reciprocal=lambda: X * (clipped * (1 / 6)),
    )
    return Enclosure(result.value, result.error, X.dtype)


def hard_sigmoid(X: T, alpha: float, beta: float) -> T:
    """Return Max(0, Min(1, alpha X + beta))."""
    return X.constant(alpha).times(X).plus(X.constant(beta)).apply(lambda y: np.clip(y, 0, 1))


def leaky_relu(X: T, alpha: float) -> T:
    """Return X, and alpha X for X < 0."""
    return (alpha * X).where(X.value < 0, X)


def _prelu(_: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    X = tensor(inputs[0])
    slope = tensor(inputs[1])
    product = slope * X
    X = _broadcast(X, product.shape)
    return [product.where(X.value < 0, X)]


def _swish(X: Enclosure, alpha: float) -> Enclosure:
    return X * sigmoid(alpha * X)


def _gelu(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    return [gelu(tensor(inputs[0]), approximate=node.attributes.get("approximate", "none"))]


def _periodic(name: str, function: Callable[[Array], Array]) -> NodeEnclosure:
    """Enclose Sin or Cos, which change by at most the error of their operand."""

    def enclose(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
        X = tensor(inputs[0])
        result = Enclosure.exact(X.value, X.dtype).named(name, function)
        return [Enclosure(result.value, result.error + X.error, X.dtype)]

    return enclose


def _tan(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    if not X.is_exact:
        raise Unsupported("the operand of Tan is not exact, and may be near a pole")
    return [X.named("tan", elementary.tan)]


def _mod(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Mod. With `fmod` the result is exact; otherwise one addition of B rounds.

    At level `must`, a kernel may compute the formula of the page with three roundings: A - Floor(A / B) * B, and from
    opset 28 on A - Trunc(A / B) * B with `fmod`.
    """
    A = tensor(inputs[0])
    B = tensor(inputs[1])
    if not (A.is_exact and B.is_exact):
        raise Unsupported("rounding of an input decides the result of Mod")
    shape = np.broadcast_shapes(A.shape, B.shape)
    exact = np.zeros(shape)
    truncates = bool(node.attributes.get("fmod", 0))
    if not truncates and node.opset < 28:
        raise Unsupported("Mod of floating-point numbers with fmod = 0 below opset 28")
    value = (np.fmod if truncates else np.mod)(A.value, B.value)
    if truncates and (is_strict() or node.opset < 28):
        return [Enclosure(value, exact, A.dtype)]
    is_finite = np.isfinite(A.value) & np.isfinite(B.value) & (B.value != 0)
    rounded = Enclosure(value, exact, A.dtype).with_roundings(np.ones(shape), exact == 0)
    is_unrounded = (value == np.fmod(A.value, B.value)) | ~is_finite
    error = np.where(is_unrounded, 0.0, rounded.error)
    if not is_strict():
        size = np.abs(B.value)
        rounding = ROUNDINGS["multiple in Mod"] * float(format_of(A.dtype).unit_roundoff)
        distance = np.where(is_finite, rounding * (np.abs(A.value) + size), 0.0)
        is_near_multiple = (np.abs(value) <= distance) | (np.abs(value) >= size - distance)
        by_formula = distance + np.where(is_near_multiple, size, 0.0)
        largest = float(format_of(A.dtype).largest)  # the quotient may overflow, and the product if it is rounded up
        overflows = (np.abs(A.value) + distance >= largest) | (np.abs(A.value) / size >= largest)
        by_formula = np.where(overflows, np.inf, by_formula)
        has_quotient = (A.value != 0) if not truncates else np.abs(A.value) >= size - distance  # 0 otherwise
        error = np.where(is_finite & has_quotient, by_formula, error)
    return [Enclosure(value, error, A.dtype)]


def _named(name: str, function: Callable[[Array], Array]) -> NodeEnclosure:
    return _unary(lambda X: X.named(name, function))


FORMULAS: Mapping[str, NodeFormula] = {"Sum": _sum, "Mean": _mean}
"""Formulas of every kind of tensor."""

ELEMENTWISE_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    **FORMULAS,
    "Add": _binary(lambda A, B: A.plus(B)),
    "Sub": _binary(lambda A, B: A.minus(B)),
    "Mul": _binary(lambda A, B: A.times(B)),
    "Div": _binary(lambda A, B: A.over(B)),
    "Pow": _pow,
    "Exp": _unary(lambda X: exp(X).without_negative()),
    "Log": _unary(log),
    "Sqrt": _unary(sqrt),
    "Reciprocal": _unary(lambda X: 1.0 / X),
    "Tanh": _unary(tanh),
    "Sigmoid": _unary(sigmoid),
    "Softplus": _unary(lambda X: softplus_of_page(X).without_negative()),
    "Softsign": _unary(softsign),
    "Mish": _unary(_mish),
    "Erf": _unary(lambda X: X.named("erf", elementary.erf)),
    "Gelu": _gelu,
    "Swish": _with_numbers(_swish, alpha=1.0),
    "Elu": _with_numbers(elu, alpha=1.0),
    "Selu": _with_numbers(_selu, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875),
    "Celu": _with_numbers(_celu, alpha=1.0),
    "Shrink": _with_numbers(_shrink, lambd=0.5, bias=0.0),
    "LeakyRelu": _with_numbers(leaky_relu, alpha=0.01),
    "PRelu": _prelu,
    "HardSigmoid": _with_numbers(hard_sigmoid, alpha=0.2, beta=0.5),
    "HardSwish": _unary(_hard_swish),
    "Sin": _periodic("sin", elementary.sin),
    "Cos": _periodic("cos", elementary.cos),
    "Asin": _named("asin", elementary.asin),
    "Acos": _named("acos", elementary.acos),
    "Atan": _named("atan", elementary.atan),
    "Tan": _tan,
    "Mod": _mod,
    "Sinh": _named("sinh", elementary.sinh),
    "Cosh": _named("cosh", elementary.cosh),
    "Asinh": _named("asinh", elementary.asinh),
    "Acosh": _named("acosh", elementary.acosh),
    "Atanh": _named("atanh", elementary.atanh),
}
