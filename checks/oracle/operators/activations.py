"""Activation functions: the formula of each operator's document, for one element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flint import fmpq

from checks.oracle import reals, stepwise_functions
from checks.oracle.tensors import map_elements

if TYPE_CHECKING:
    from collections.abc import Callable

    from checks.oracle.arithmetic import Arithmetic
    from checks.oracle.calls import Call
    from checks.oracle.tensors import Tensor

ZERO, ONE, HALF, SIXTH = 0.0, fmpq(1), fmpq(1, 2), fmpq(1, 6)


def _relu(a: Arithmetic, x: Any) -> Any:
    return a(stepwise_functions.maximum, x, ZERO)


def _leaky_relu(a: Arithmetic, x: Any, alpha: Any) -> Any:
    return a.select(a.less(x, ZERO), a(reals.multiply, alpha, x), x)


def _thresholded_relu(a: Arithmetic, x: Any, alpha: Any) -> Any:
    return a.select(a.less(alpha, x), x, ZERO)


def _elu(a: Arithmetic, x: Any, alpha: Any) -> Any:
    return a.select(a.less(x, ZERO), a(reals.multiply, alpha, _exponential_less_one(a, x)), x)


def _celu(a: Arithmetic, x: Any, alpha: Any) -> Any:
    below = a(reals.multiply, alpha, _exponential_less_one(a, a(reals.divide, x, alpha)))
    return a(reals.add, a(stepwise_functions.maximum, ZERO, x), a(stepwise_functions.minimum, ZERO, below))


def _selu(a: Arithmetic, x: Any, alpha: Any, gamma: Any) -> Any:
    return a(reals.multiply, gamma, _elu(a, x, alpha))


def _sigmoid(a: Arithmetic, x: Any) -> Any:
    return a(reals.divide, ONE, a(reals.add, ONE, a(reals.exponential, a(reals.negative, x))))


def _hard_sigmoid(a: Arithmetic, x: Any, alpha: Any, beta: Any) -> Any:
    line = a(reals.add, a(reals.multiply, alpha, x), beta)
    return a(stepwise_functions.maximum, ZERO, a(stepwise_functions.minimum, ONE, line))


def _hard_swish(a: Arithmetic, x: Any) -> Any:
    return a(reals.multiply, x, _hard_sigmoid(a, x, SIXTH, HALF))


def _softplus(a: Arithmetic, x: Any) -> Any:
    return a(reals.logarithm, a(reals.add, a(reals.exponential, x), ONE))


def _softsign(a: Arithmetic, x: Any) -> Any:
    return a(reals.divide, x, a(reals.add, ONE, a(reals.absolute, x)))


def _mish(a: Arithmetic, x: Any) -> Any:
    return a(reals.multiply, x, a(reals.hyperbolic_tangent, _softplus(a, x)))


def _shrink(a: Arithmetic, x: Any, bias: Any, lambd: Any) -> Any:
    above = a.select(a.less(lambd, x), a(reals.subtract, x, bias), ZERO)
    return a.select(a.less(x, -lambd), a(reals.add, x, bias), above)


def _exponential_less_one(a: Arithmetic, x: Any) -> Any:
    return a(reals.subtract, a(reals.exponential, x), ONE)


def _operator(formula: Callable[..., Any]) -> Callable[[Call, Tensor], Tensor]:
    """Return an operator that applies a formula to each element. The attributes are its other parameters."""

    def operator(call: Call, x: Tensor) -> Tensor:
        arithmetic = call.arithmetic(x.type)
        return x.with_elements(map_elements(lambda item: formula(arithmetic, item, **call.attributes), x.elements))

    return operator


OPERATORS = {
    "Celu": _operator(_celu),
    "Elu": _operator(_elu),
    "HardSigmoid": _operator(_hard_sigmoid),
    "HardSwish": _operator(_hard_swish),
    "LeakyRelu": _operator(_leaky_relu),
    "Mish": _operator(_mish),
    "Relu": _operator(_relu),
    "Selu": _operator(_selu),
    "Shrink": _operator(_shrink),
    "Sigmoid": _operator(_sigmoid),
    "Softplus": _operator(_softplus),
    "Softsign": _operator(_softsign),
    "ThresholdedRelu": _operator(_thresholded_relu),
}
