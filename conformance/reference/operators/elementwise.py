"""Operators on each element of one tensor, in any number system.

Each is a formula on an array and the node's attributes. Where it rises or falls with the element throughout, it can
follow what rounding may have changed; the others are computed of numbers that are certain.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.reference.numbers.values import ABSENT, Value
from conformance.reference.operators import functions as f

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.models.arrays import Array
    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.numbers.values import NumberSystem

SEVERAL = 64
"""How many roundings an admissible evaluation makes of a function that this suite is not about."""


@dataclass(frozen=True)
class Formula:
    """An operator on each element.

    Attributes:
        formula: takes an array and the attributes.
        roundings: how many an admissible evaluation makes; 0 where it selects, 1 where it is one operation.
        defaults: the attributes with the schema's defaults.
        monotone: whether it only rises or only falls, given that no attribute is negative.
    """

    formula: Callable[..., Array]
    roundings: int = 0
    defaults: Mapping[str, float] = field(default_factory=dict)
    monotone: bool = True

    def __call__(self, node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
        X, given = inputs[0], node.attributes
        numbers = {name: float(given.get(name, np.float32(value))) for name, value in self.defaults.items()}
        if not self.monotone or any(number < 0 for number in numbers.values()):
            X = Value(system.certain(X), X.dtype)
        return [system.monotone(self.formula, X, roundings=self.roundings, **numbers)]


def _softplus(X: Array) -> Array:
    return np.asarray(np.where(X > 0, X, 0) + f.log1p(f.exp(-abs(X))))


def _sigmoid(X: Array) -> Array:
    E = f.exp(-abs(X))
    return np.asarray(np.where(X < 0, E, 1) / (1 + E))


def _elu(X: Array, *, alpha: Any) -> Array:
    return np.where(X < 0, alpha * f.expm1(np.minimum(X, 0 * X)), X)


def _selu(X: Array, *, alpha: Any, gamma: Any) -> Array:
    return np.asarray(gamma * _elu(X, alpha=alpha))


def _celu(X: Array, *, alpha: Any) -> Array:
    return np.where(X < 0, alpha * f.expm1(np.minimum(X, 0 * X) / alpha), X)


def _shrink(X: Array, *, lambd: Any, bias: Any) -> Array:
    return np.where(-lambd > X, X + bias, np.where(lambd < X, X - bias, 0 * X))


def _mish(X: Array) -> Array:
    return np.asarray(X * f.tanh(_softplus(X)))


def _hard_sigmoid(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    defaults = {"alpha": 0.2, "beta": 0.5}
    slope, shift = (node.attributes.get(name, float(np.float32(value))) for name, value in defaults.items())
    return [_ramp(inputs[0], slope, shift, system)]


def _hard_swish(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    ramp = _ramp(inputs[0], float(np.float32(1 / 6)), 0.5, system)
    return [system.elementwise(lambda X, Y: X * Y, inputs[0], ramp, roundings=SEVERAL)]


def _ramp(X: Value, slope: float, shift: float, system: NumberSystem) -> Value:
    """max(0, min(1, slope * X + shift))."""
    line = system.elementwise(
        lambda X, slope, shift: slope * X + shift,
        *(X, system.constant(slope, X.dtype), system.constant(shift, X.dtype)),
        roundings=2,
    )
    return system.monotone(lambda Y: np.where(Y < 0, 0 * Y, np.where(Y > 1, 1, Y)), line)


def _clip(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """The limits are attributes below opset 11, inputs since."""
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
    return system.extreme(Value(stacked, values[0].dtype), [0], largest=largest)


def _of_all(largest: bool, _: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [_extreme(inputs, system, largest=largest)]


ELEMENTWISE: Mapping[str, Evaluation] = {
    "Neg": Formula(lambda X: X * -1),
    "Relu": Formula(lambda X: np.where(X <= 0, 0, X)),
    "Abs": Formula(abs, monotone=False),
    "Reciprocal": Formula(lambda X: np.asarray(1 / X), roundings=2, monotone=False),
    "Ceil": Formula(f.ceil),
    "Floor": Formula(f.floor),
    "Round": Formula(f.nearest_even),
    "Sign": Formula(lambda X: np.where(X > 0, 1, np.where(X < 0, -1, X))),
    "LeakyRelu": Formula(lambda X, alpha: np.where(X < 0, alpha * X, X), 3, {"alpha": 0.01}),
    "ThresholdedRelu": Formula(lambda X, alpha: np.where(alpha < X, X, 0 * X), 0, {"alpha": 1.0}),
    "Elu": Formula(_elu, SEVERAL, {"alpha": 1.0}),
    "Selu": Formula(_selu, SEVERAL, {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}),
    "Celu": Formula(_celu, SEVERAL, {"alpha": 1.0}),
    "Shrink": Formula(_shrink, 1, {"lambd": 0.5, "bias": 0.0}, monotone=False),
    "Sigmoid": Formula(_sigmoid, SEVERAL),
    "Tanh": Formula(f.tanh, SEVERAL),
    "Softplus": Formula(_softplus, SEVERAL),
    "Softsign": Formula(lambda X: np.asarray(X / (1 + abs(X))), SEVERAL),
    "Mish": Formula(_mish, SEVERAL, monotone=False),
    "Sinh": Formula(f.sinh, SEVERAL),
    "Cosh": Formula(f.cosh, SEVERAL, monotone=False),
    "Asinh": Formula(f.asinh, SEVERAL),
    "Acosh": Formula(f.acosh, SEVERAL, monotone=False),
    "Atanh": Formula(f.atanh, SEVERAL, monotone=False),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Clip": _clip,
    "Max": partial(_of_all, True),
    "Min": partial(_of_all, False),
}
