"""Enclosures of operators that compute each element from the corresponding elements of the operands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import dtype_of
from conformance.reference.numbers.enclosure import FUNCTION_ULPS, Enclosure, add, divide, hull, multiply, subtract
from conformance.reference.numbers.precision import is_computed
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.models.arrays import Array
    from conformance.reference.enclosures.exact import NodeEnclosure
    from conformance.reference.nodes import Node
    from conformance.reference.numbers.enclosure import Tensor

    Formula = Callable[[Enclosure], Enclosure]


def erf(X: Array) -> Array:
    """Return the error function of each element, in double."""
    return np.asarray(np.frompyfunc(math.erf, 1, 1)(X), dtype=np.float64)


# Functions of one tensor, which nodes and gates of recurrent networks apply


def exp(X: Enclosure) -> Enclosure:
    """Return the exponentials."""
    return X.named("exp", np.exp)


def log(X: Enclosure) -> Enclosure:
    """Return the natural logarithms."""
    return X.named("log", np.log)


def sqrt(X: Enclosure) -> Enclosure:
    """Return the square roots."""
    return X.named("sqrt", np.sqrt)


def tanh(X: Enclosure) -> Enclosure:
    """Return the hyperbolic tangents."""
    return X.named("tanh", np.tanh)


def sigmoid(X: Enclosure) -> Enclosure:
    """Return 1 / (1 + Exp(-X)), or the equal form (1 + Tanh(X / 2)) / 2, which has an absolute error far below 0."""
    with np.errstate(all="ignore"):
        return hull((1.0 + exp(-X)).apply(lambda y: 1 / y, FUNCTION_ULPS["exp"]), 0.5 * (1.0 + tanh(0.5 * X)))


def softplus(X: Enclosure) -> Enclosure:
    """Return Log(Exp(X) + 1), or the equal form Max(X, 0) + Log(1 + Exp(-Abs(X))), which does not overflow."""
    safe = X.apply(lambda x: np.maximum(x, 0)) + exp(-abs(X)).named("log1p", np.log1p)
    direct = log(exp(X) + 1.0)
    return Enclosure(safe.value, np.where(np.isfinite(direct.error), hull(safe, direct).error, safe.error), X.dtype)


def relu(X: Enclosure) -> Enclosure:
    """Return Max(X, 0)."""
    return X.apply(lambda x: np.maximum(x, 0))


def gelu(X: Enclosure, *, approximate: str = "none") -> Enclosure:
    """Return the Gaussian error linear unit: 0.5 X (1 + Erf(X / Sqrt(2))), or its approximation with Tanh."""
    if approximate == "tanh":
        cubic = X + 0.044715 * (X * X * X)
        return 0.5 * (X * (1.0 + tanh(math.sqrt(2 / math.pi) * cubic)))
    return 0.5 * (X * (1.0 + _erf(math.sqrt(0.5) * X)))


def _erf(X: Enclosure) -> Enclosure:
    return X.named("erf", erf)


def _elu(X: Enclosure, alpha: float) -> Enclosure:
    negative = X.apply(lambda x: np.minimum(x, 0))
    below = alpha * hull(negative.named("expm1", np.expm1), exp(negative) - 1.0)
    return _choose(X.value < 0, below, X)


def _choose(condition: Array, A: Enclosure, B: Enclosure) -> Enclosure:
    """Return A where a condition on exact numbers holds, otherwise B; both functions must meet where it changes."""
    return Enclosure(np.where(condition, A.value, B.value), np.where(condition, A.error, B.error), A.dtype)


# The nodes


def _unary(function: Formula) -> NodeEnclosure:
    return lambda _, inputs: [function(_tensor(inputs[0]))]


def _with_numbers(function: Callable[..., Enclosure], **defaults: float) -> NodeEnclosure:
    """Return the enclosure of a function with numbers as attributes, whose defaults the schema states in float."""

    def enclose(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
        numbers = {name: float(node.attributes.get(name, np.float32(value))) for name, value in defaults.items()}
        return [function(_tensor(inputs[0]), **numbers)]

    return enclose


def _binary(function: Callable[[Enclosure, Enclosure], Enclosure]) -> NodeEnclosure:
    return lambda node, inputs: [function(*_legacy_broadcast(node, inputs))]


def _legacy_broadcast(node: Node, inputs: Sequence[Tensor]) -> tuple[Enclosure, Enclosure]:
    """Return both operands; below opset 7, `axis` states where the second operand is aligned with the first."""
    A, B = _tensor(inputs[0]), _tensor(inputs[1])
    if node.opset < 7 and node.attributes.get("broadcast", 0) and "axis" in node.attributes:
        after = len(A.shape) - node.attributes["axis"] - len(B.shape)
        B = B.moved(lambda x: x.reshape(*x.shape, *[1] * after))
    return A, B


def _tensor(tensor: Tensor) -> Enclosure:
    if not isinstance(tensor, Enclosure):
        raise Unsupported("an operand is not a tensor of floating-point numbers")
    return tensor


def _pow(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Pow. An exponent that is a positive integer may be computed by multiplications."""
    X = _tensor(inputs[0])
    given = inputs[1]
    if isinstance(given, Enclosure):
        if not given.is_exact:
            raise Unsupported("the exponent of Pow is not exact")
        exponent = given.value
    else:
        assert given is not None
        exponent = given.astype(np.float64)
    if not X.is_exact and not (np.all(X.value - X.error > 0) or np.all(exponent == 2)):
        raise Unsupported("the base of Pow is not exact and may be negative")
    if np.all(exponent == 2):
        return [_broadcast(multiply(X, X), np.broadcast_shapes(X.shape, exponent.shape))]
    X = _broadcast(X, np.broadcast_shapes(X.shape, exponent.shape))
    # A function call, or an exponential of a product with a logarithm: relative error 3 |y log x| u.
    with np.errstate(all="ignore"):
        log_of_power = np.abs(exponent * np.log(np.abs(X.value)))
    log_of_power = np.where(np.isfinite(log_of_power), log_of_power, 0.0)
    roundings = np.maximum(2 * FUNCTION_ULPS["pow"], np.maximum(np.abs(exponent), 4 * log_of_power))
    return [X.apply(lambda x: x**exponent, roundings / 2)]


def _broadcast(X: Enclosure, shape: tuple[int, ...]) -> Enclosure:
    return X.moved(lambda x: np.broadcast_to(x, shape))


def _cast(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, to = inputs[0], dtype_of(node.attributes["to"])
    assert X is not None
    for dtype in (X.dtype, to):
        if not (is_computed(dtype) or (dtype.kind in "iub" and dtype.isbuiltin == 1)):
            raise Unsupported(f"no reference for Cast of the type {dtype}")
    if isinstance(X, Enclosure):
        if to == X.dtype:
            return [X]
        if is_computed(to):
            return [X.as_type(to)]
        exact = X.apply(np.trunc) if to.kind in "iu" else X.apply(lambda x: x != 0)
        if not exact.is_exact:
            raise Unsupported("rounding of an input decides the result of Cast")
        if to.kind in "iu" and not _fits(exact.value, to):
            raise Unsupported("Cast of a number that the integer type does not have")
        return [exact.value.astype(to)]
    if is_computed(to):
        return [Enclosure.exact(X.astype(np.float64)).with_dtype(to).as_type(to)]
    return [X.astype(to)]


def _fits(values: Array, to: np.dtype[Any]) -> bool:
    limits = np.iinfo(to)
    return bool(np.all(np.isfinite(values)) and np.all(values >= limits.min) and np.all(values <= limits.max))


def _fold(function: Callable[[Enclosure, Enclosure], Enclosure], *, mean: bool = False) -> NodeEnclosure:
    def enclose(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
        total, *others = [_tensor(tensor) for tensor in inputs]
        for other in others:
            total = function(total, other)
        return [divide(total, total.constant(len(inputs))) if mean and others else total]

    return enclose


def _hard_sigmoid(X: Enclosure, alpha: float, beta: float) -> Enclosure:
    return add(multiply(X.constant(alpha), X), X.constant(beta)).apply(lambda y: np.clip(y, 0, 1))


def _leaky_relu(X: Enclosure, alpha: float) -> Enclosure:
    return _choose(X.value < 0, alpha * X, X)


def _prelu(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, slope = _tensor(inputs[0]), _tensor(inputs[1])
    product = slope * X
    X = _broadcast(X, product.shape)
    return [_choose(X.value < 0, product, X)]


def _swish(X: Enclosure, alpha: float) -> Enclosure:
    return X * sigmoid(alpha * X)


def _gelu(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    return [gelu(_tensor(inputs[0]), approximate=node.attributes.get("approximate", "none"))]


def _periodic(name: str, function: Callable[[Array], Array]) -> NodeEnclosure:
    """Enclose Sin or Cos, which change by at most the error of their operand."""

    def enclose(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
        X = _tensor(inputs[0])
        exact = Enclosure(X.value, np.zeros_like(X.value), X.dtype)
        result = exact.named(name, function)
        return [Enclosure(result.value, result.error + X.error, X.dtype)]

    return enclose


def _named(name: str, function: Callable[[Array], Array]) -> NodeEnclosure:
    return _unary(lambda X: X.named(name, function))


ELEMENTWISE_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    "Add": _binary(add),
    "Sub": _binary(subtract),
    "Mul": _binary(multiply),
    "Div": _binary(divide),
    "Sum": _fold(add),
    "Mean": _fold(add, mean=True),
    "Pow": _pow,
    "Cast": _cast,
    "Exp": _unary(exp),
    "Log": _unary(log),
    "Sqrt": _unary(sqrt),
    "Reciprocal": _unary(lambda X: 1.0 / X),
    "Tanh": _unary(tanh),
    "Sigmoid": _unary(sigmoid),
    "Softplus": _unary(softplus),
    "Softsign": _unary(lambda X: X / (1.0 + abs(X))),
    "Mish": _unary(lambda X: X * tanh(softplus(X))),
    "Erf": _unary(_erf),
    "Gelu": _gelu,
    "Swish": _with_numbers(_swish, alpha=1.0),
    "Elu": _with_numbers(_elu, alpha=1.0),
    "LeakyRelu": _with_numbers(_leaky_relu, alpha=0.01),
    "PRelu": _prelu,
    "HardSigmoid": _with_numbers(_hard_sigmoid, alpha=0.2, beta=0.5),
    "HardSwish": _unary(lambda X: X * _hard_sigmoid(X, 1 / 6, 0.5)),
    "Sin": _periodic("sin", np.sin),
    "Cos": _periodic("cos", np.cos),
    "Asin": _named("asin", np.arcsin),
    "Acos": _named("acos", np.arccos),
    "Atan": _named("atan", np.arctan),
    "Sinh": _named("sinh", np.sinh),
    "Asinh": _named("asinh", np.arcsinh),
    "Acosh": _named("acosh", np.arccosh),
    "Atanh": _named("atanh", np.arctanh),
}
