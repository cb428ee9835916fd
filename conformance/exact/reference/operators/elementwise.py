"""Operators that compute each element of the result from the corresponding elements of the operands.

The module has two parts, each for any number system:

- operators on one tensor (`ELEMENTWISE`). A monotone formula maps the interval of its operand to an interval. Any other
  formula requires operands on which all admissible evaluations agree;
- arithmetic, comparisons and casts (`PRIMITIVES`), of which expanded optimizers consist. A primitive computes in the
  type of its tensors.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import (
    dtype_of,
    is_computed,
    is_floating,
    object_array,
    to_power_of_two,
    type_name,
)
from conformance.exact.reference.numbers.bounded import BoundedNumber
from conformance.exact.reference.numbers.elementary import (
    acosh,
    asinh,
    atan,
    atanh,
    ceil,
    compute_in_double,
    cosh,
    erf,
    exp,
    expm1,
    floor,
    log1p,
    round_half_even,
    sinh,
    tanh,
    truncate,
)
from conformance.exact.reference.numbers.number_system import ABSENT, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Evaluation, Node
    from conformance.exact.reference.numbers.number_system import NumberSystem


MANY_ROUNDINGS = 64
"""The roundings of an admissible evaluation of a function that the suite does not test."""


# Operators on one tensor


@dataclass(frozen=True)
class ElementwiseFormula:
    """An operator on each element of one tensor.

    Attributes:
        formula: a function of an array and the attributes.
        roundings: the number of roundings of an admissible evaluation: 0 if the formula only selects, 1 for one
            operation.
        defaults: the default of each attribute in the schema.
        is_monotone: whether the formula is increasing or decreasing everywhere, if no attribute is negative.
    """

    formula: Callable[..., Array]
    roundings: int = 0
    defaults: Mapping[str, float] = field(default_factory=dict)
    is_monotone: bool = True

    def __call__(self, node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
        X = inputs[0]
        given = node.attributes
        numbers = {name: float(given.get(name, np.float32(value))) for name, value in self.defaults.items()}
        if not self.is_monotone or any(number < 0 for number in numbers.values()):
            X = Value(system.exact_elements(X), X.dtype)
        return [system.apply_monotone(self.formula, X, roundings=self.roundings, **numbers)]


def _softplus(X: Array) -> Array:
    return np.asarray(np.where(X > 0, X, 0) + log1p(exp(-abs(X))))


def _sigmoid(X: Array) -> Array:
    E = exp(-abs(X))
    return np.asarray(np.where(X < 0, E, 1) / (1 + E))


def _elu(X: Array, *, alpha: Any) -> Array:
    return np.where(X < 0, alpha * expm1(np.where(X < 0, X, 0)), X)


def _selu(X: Array, *, alpha: Any, gamma: Any) -> Array:
    return np.asarray(gamma * _elu(X, alpha=alpha))


def _celu(X: Array, *, alpha: Any) -> Array:
    return np.where(X < 0, alpha * expm1(np.where(X < 0, X, 0) / alpha), X)


def _shrink(X: Array, *, lambd: Any, bias: Any) -> Array:
    is_below = np.zeros(X.shape, bool) if X.dtype.kind == "u" else -lambd > X
    zero = 0 * np.where(X == X, X, 0)  # noqa: PLR0124 - the result for NaN is 0
    return np.where(is_below, X + bias, np.where(lambd < X, X - bias, zero))


def _mish(X: Array) -> Array:
    return np.asarray(X * tanh(_softplus(X)))


def _hard_sigmoid(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    defaults = {"alpha": 0.2, "beta": 0.5}
    slope, shift = (node.attributes.get(name, float(np.float32(value))) for name, value in defaults.items())
    return [_ramp(inputs[0], slope, shift, system)]


def _hard_swish(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    ramp = _ramp(inputs[0], float(np.float32(1 / 6)), 0.5, system)
    return [system.apply_elementwise(lambda X, Y: X * Y, inputs[0], ramp, roundings=MANY_ROUNDINGS)]


def _ramp(X: Value, slope: float, shift: float, system: NumberSystem) -> Value:
    """Return max(0, min(1, slope * X + shift)), the formula of HardSigmoid and HardSwish."""
    a = system.constant(slope, X.dtype)
    b = system.constant(shift, X.dtype)
    line = system.apply_elementwise(lambda X, slope, shift: slope * X + shift, X, a, b, roundings=2)
    return system.apply_monotone(lambda Y: np.where(Y < 0, 0, np.where(Y > 1, 1, Y)), line)


def _clip(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Evaluate Clip. The limits are attributes below opset 11 and inputs since opset 11."""
    X = inputs[0]
    given = [*inputs[1:3], *[ABSENT] * (3 - len(inputs))]
    if node.opset < 11:
        limits = (node.attributes.get("min"), node.attributes.get("max"))
        given = [ABSENT if limit is None else system.constant(limit, X.dtype) for limit in limits]
    for limit, largest in zip(given, (True, False), strict=True):
        X = X if limit.is_absent else _extreme([X, limit], system, largest=largest)
    return [X]


def _extreme(values: list[Value], system: NumberSystem, *, largest: bool) -> Value:
    stacked = np.stack(np.broadcast_arrays(*(value.elements for value in values)))
    return system.reduce_extreme(Value(stacked, values[0].dtype), [0], largest=largest)


def _reduce_operands(largest: bool, _: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [_extreme(inputs, system, largest=largest)]


def _function(
    formula: Callable[[Array], Array], roundings: int, _: Node, inputs: list[Value], system: NumberSystem
) -> list[Value]:
    """Evaluate a strictly increasing function. The result has sort keys, which ArgMax compares."""
    (X,) = inputs
    result = system.apply_elementwise(formula, X, roundings=roundings)
    keys = None if X.rounded_keys is None else system.sort_keys([lambda numbers, shared: formula(numbers)], X)  # noqa: ARG005
    return [Value(result.elements, result.dtype, exact_keys=X.keys_of_image(), rounded_keys=keys)]


ELEMENTWISE: Mapping[str, Evaluation] = {
    "Neg": ElementwiseFormula(lambda X: X * -1),
    "Relu": ElementwiseFormula(lambda X: np.where(X <= 0, 0, X)),
    "Abs": ElementwiseFormula(abs, is_monotone=False),
    "Reciprocal": ElementwiseFormula(lambda X: np.asarray(1 / X), roundings=2, is_monotone=False),
    "Ceil": ElementwiseFormula(ceil),
    "Floor": ElementwiseFormula(floor),
    "Round": ElementwiseFormula(round_half_even),
    "Sign": ElementwiseFormula(lambda X: np.where(X > 0, 1, np.where(X < 0, -1, X))),
    "LeakyRelu": ElementwiseFormula(lambda X, alpha: np.where(X < 0, alpha * X, X), 3, {"alpha": 0.01}),
    "ThresholdedRelu": ElementwiseFormula(lambda X, alpha: np.where(alpha < X, X, 0), 0, {"alpha": 1.0}),
    "Elu": ElementwiseFormula(_elu, MANY_ROUNDINGS, {"alpha": 1.0}),
    "Selu": ElementwiseFormula(
        _selu, MANY_ROUNDINGS, {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}
    ),
    "Celu": ElementwiseFormula(_celu, MANY_ROUNDINGS, {"alpha": 1.0}),
    "Shrink": ElementwiseFormula(_shrink, 1, {"lambd": 0.5, "bias": 0.0}, is_monotone=False),
    "Sigmoid": ElementwiseFormula(_sigmoid, MANY_ROUNDINGS),
    "Tanh": ElementwiseFormula(tanh, MANY_ROUNDINGS),
    "Softplus": ElementwiseFormula(_softplus, MANY_ROUNDINGS),
    "Softsign": ElementwiseFormula(lambda X: np.asarray(X / (1 + abs(X))), MANY_ROUNDINGS),
    "Mish": ElementwiseFormula(_mish, MANY_ROUNDINGS, is_monotone=False),
    "Sinh": ElementwiseFormula(sinh, MANY_ROUNDINGS),
    "Cosh": ElementwiseFormula(cosh, MANY_ROUNDINGS, is_monotone=False),
    "Asinh": ElementwiseFormula(asinh, MANY_ROUNDINGS),
    "Acosh": ElementwiseFormula(acosh, MANY_ROUNDINGS, is_monotone=False),
    "Atanh": ElementwiseFormula(atanh, MANY_ROUNDINGS, is_monotone=False),
    "Atan": ElementwiseFormula(atan, MANY_ROUNDINGS),
    "Erf": ElementwiseFormula(erf, MANY_ROUNDINGS),
    "Exp": partial(_function, compute_in_double(np.exp), 2),
    "Log": partial(_function, compute_in_double(np.log), 2),
    "Sqrt": partial(_function, np.sqrt, 1),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Clip": _clip,
    "Max": partial(_reduce_operands, True),
    "Min": partial(_reduce_operands, False),
}


# Arithmetic, comparisons and casts


def _elementwise(formula: Callable[..., Any], _: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.apply_elementwise(formula, *inputs)]


def _divide(A: Array, B: Array) -> Any:
    """Return the quotients; those of integers are rounded towards zero, without rounding to double before."""
    if A.dtype.kind not in "iu":
        return A / B
    down = np.floor_divide(A, B)
    return down + ((down * B != A) & ((A < 0) != (B < 0))).astype(A.dtype)


def _pow(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Evaluate Pow with positive integer exponents, which may have any numeric type."""
    base, exponent = inputs
    if not all(_is_positive_integer(element) for element in exponent.elements.flat):
        raise Unsupported(f"{node.op_type} with an exponent that is not a positive integer")
    if exponent.dtype != base.dtype:
        exponent = system.cast(exponent, base.dtype)
    return [system.apply_elementwise(_raise_to_power, base, exponent)]


def _is_positive_integer(element: Any) -> bool:
    number = element.value if isinstance(element, BoundedNumber) else element
    return bool(number > 0 and number % 1 == 0)


def _raise_to_power(base: Array, exponent: Array) -> Any:
    """Return `base ** exponent`; for an exponent with an interval, enclose the powers for all exponents in it."""
    if base.dtype != object:
        return base**exponent
    base, exponent = np.broadcast_arrays(base, exponent)
    return object_array((_bounded_power(a, b) for a, b in zip(base.flat, exponent.flat, strict=True)), base.shape)


def _bounded_power(base: BoundedNumber, exponent: BoundedNumber) -> BoundedNumber:
    power = base**exponent
    ends = [base ** BoundedNumber(end, exponent.precision) for end in {exponent.low, exponent.high} - {exponent.value}]
    if not ends:
        return power
    low = min(power.low, *(end.low for end in ends))
    high = max(power.high, *(end.high for end in ends))
    return BoundedNumber(
        power.value,
        power.precision,
        (low, high),
        is_indeterminate=any(number.is_indeterminate for number in (power, *ends)),
    )


def _less(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.less(*inputs)]


def _where(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    condition, *branches = inputs
    return [system.apply_elementwise(partial(np.where, condition.elements), *branches)]


def _greater(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.less(*reversed(inputs))]


def _largest(dtype: Any) -> float:
    return float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]


def _cast(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    X = inputs[0]
    dtype = dtype_of(node.attributes["to"])
    if dtype == X.dtype:
        return inputs
    if object in (dtype, X.dtype):
        raise Unsupported("Cast converts strings")
    if dtype.itemsize == 1 and is_floating(dtype) and not np.all(np.abs(X.elements) <= _largest(dtype)):
        raise Unsupported("Cast of numbers beyond a type of 8 bits, which may saturate")
    if is_computed(dtype):
        return [system.cast(X, dtype)]
    exact = system.exact_elements(X)
    numbers = truncate(exact) if dtype.kind in "iu" else exact
    if type_name(dtype) == "float8e8m0":
        attributes = node.attributes
        numbers = to_power_of_two(
            exact.astype(np.float64), attributes.get("round_mode", "up"), bool(attributes.get("saturate", 1))
        )
    with np.errstate(all="ignore"):
        return [system.from_array(np.asarray(numbers != 0) if dtype.kind == "b" else numbers.astype(dtype))]


def _logical(formula: Callable[..., Any], _: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """Evaluate a comparison or a logical operator on elements on which all admissible evaluations agree."""
    with np.errstate(all="ignore"):
        return [system.from_array(np.asarray(formula(*map(system.exact_elements, inputs)), dtype=bool))]


PRIMITIVES: Mapping[str, Evaluation] = {
    "Add": partial(_elementwise, operator.add),
    "Sub": partial(_elementwise, operator.sub),
    "Mul": partial(_elementwise, operator.mul),
    "Div": partial(_elementwise, _divide),
    "Pow": _pow,
    "Less": _less,
    "Where": _where,
    "Cast": _cast,
    "Greater": _greater,
    "Equal": partial(_logical, lambda A, B: A == B),
    "LessOrEqual": partial(_logical, lambda A, B: A <= B),
    "GreaterOrEqual": partial(_logical, lambda A, B: A >= B),
    "Not": partial(_logical, lambda A: ~A),
    "And": partial(_logical, lambda A, B: A & B),
    "Or": partial(_logical, lambda A, B: A | B),
    "Xor": partial(_logical, lambda A, B: A ^ B),
}
