"""Kernels with one mistake each that the catalogue of deviations does not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.deviations import Alteration, AlteredBackend
from conformance.deviations.adagrad import STEP
from conformance.deviations.deviation import Arithmetic
from conformance.deviations.twists import R, T, answering, by_tensor, each_operand, feeding, reading, scalar, unchanged

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.deviations.deviation import Twist
    from conformance.models.arrays import Array
    from conformance.reference.nodes import Node


@dataclass(frozen=True)
class Mistake:
    """A wrong kernel.

    Attributes:
        text: what it does, a sentence without its subject.
        operator: its op_type.
        alteration: how it differs from the reference's.
    """

    text: str
    operator: str
    alteration: Alteration

    @property
    def backend(self) -> AlteredBackend:
        """A backend that has it."""
        return AlteredBackend({self.operator: self.alteration})


def _edited(text: str, operator: str, old: str, new: str) -> Mistake:
    return Mistake(text, operator, Alteration(arithmetic=Arithmetic({old: new})))


def _twisted(text: str, operator: str, twist: Twist) -> Mistake:
    return Mistake(text, operator, Alteration(twists=(twist,)))


def _attribute(name: str, change: Callable[[Any], Any]) -> Twist:
    return reading(lambda given: {**given, name: change(given[name])} if name in given else given)


def _where(condition: Callable[[Node, list[Array]], bool], change: Callable[[Array], Array]) -> Twist:
    """The outputs are changed where a node and its inputs are so."""
    return answering(lambda node, inputs, outputs: [*map(change, outputs)] if condition(node, inputs) else outputs)


def _each(condition: Callable[[Array], bool], change: Callable[[Array], Array]) -> Twist:
    """Each output that is so is changed."""
    return answering(lambda _, __, outputs: [change(array) if condition(array) else array for array in outputs])


def _doubled(array: Array) -> Array:
    return (array * 2).astype(array.dtype)


def _halved(array: Array) -> Array:
    return array / 2


def _reversed(array: Array) -> Array:
    return array[::-1].copy()


def _stale(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
    """Where there are several tensors, nothing is updated."""
    return unchanged(node, inputs) if len(by_tensor(node, inputs)) > 1 else outputs


def _infinity_for_nan(array: Array) -> Array:
    return np.where(np.isnan(array), array.dtype.type(np.inf), array) if array.dtype.kind == "f" else array


def _takes_last(node: Node, _: Array) -> bool:
    return node.attributes.get("select_last_index", 0) == 1


def _plus_1(array: Array) -> Array:
    return array + 1


def _index(condition: Callable[[Node, Array], bool], change: Callable[[Array], Array]) -> Twist:
    return _where(lambda node, inputs: condition(node, inputs[0]), lambda array: change(array).astype(array.dtype))


ADAM = (
    _twisted("holds alpha at 0.95", "Adam", _attribute("alpha", lambda alpha: min(alpha, 0.95))),
    _twisted("holds beta at 0.99", "Adam", _attribute("beta", lambda beta: min(beta, 0.99))),
    _edited("squares norm_coefficient", "Adam", "norm_coefficient * X", "norm_coefficient * norm_coefficient * X"),
    _edited(
        "takes norm_coefficient_post twice", "Adam", "(1 - norm_coefficient_post)", "(1 - norm_coefficient_post) ** 2"
    ),
    _twisted("holds epsilon above 1e-5", "Adam", _attribute("epsilon", lambda epsilon: max(epsilon, 1e-5))),
    _twisted("holds T at 100", "Adam", scalar(T, lambda t: np.minimum(t, 100))),
    _twisted("doubles what it gives for double tensors", "Adam", _each(lambda a: a.dtype == np.float64, _doubled)),
    _twisted("does nothing where there are several tensors", "Adam", answering(_stale)),
    _twisted("reverses the rows of matrices", "Adam", _each(lambda a: a.ndim == 2, _reversed)),
    _twisted("doubles what it gives where T is 10 or more", "Adam", _where(lambda _, i: i[T] >= 10, _doubled)),
    _twisted("takes a negative gradient for 0", "Adam", each_operand(lambda G: np.maximum(G, 0), "G")),
    _twisted("takes an R of 0 for 0.01", "Adam", scalar(R, lambda r: np.where(r == 0, 0.01, r).astype(r.dtype))),
)

MOMENTUM = (
    _edited("adds R to alpha in mode nesterov", "Momentum", "alpha * V_new)", "(alpha + R) * V_new)"),
    _edited("takes R twice in mode standard", "Momentum", "X - R * V_new", "X - 2 * R * V_new"),
    _twisted("takes an alpha of 0 for 0.9", "Momentum", _attribute("alpha", lambda alpha: alpha or 0.9)),
    _twisted("holds beta at 0.5", "Momentum", _attribute("beta", lambda beta: min(beta, 0.5))),
    _edited("squares norm_coefficient", "Momentum", "norm_coefficient * X", "norm_coefficient * norm_coefficient * X"),
    _twisted("doubles what it gives for float tensors", "Momentum", _each(lambda a: a.dtype == np.float32, _doubled)),
    _twisted("does nothing where there are several tensors", "Momentum", answering(_stale)),
    _twisted("gives 7 for 0-d tensors", "Momentum", _each(lambda a: not a.ndim, lambda a: np.full_like(a, 7))),
    _twisted("doubles what it gives where T is negative", "Momentum", _where(lambda _, i: i[T] < 0, _doubled)),
    _twisted("reverses tensors of three and more dimensions", "Momentum", _each(lambda a: a.ndim > 2, _reversed)),
)

ADAGRAD = (
    _edited("divides the step by 1 + decay_factor", "Adagrad", STEP, f"{STEP} / (1 + decay_factor)"),
    _twisted("holds T at 1", "Adagrad", scalar(T, lambda t: np.minimum(t, 1))),
    _edited("squares norm_coefficient", "Adagrad", "norm_coefficient * X", "norm_coefficient * norm_coefficient * X"),
    _twisted("holds epsilon above 1e-5", "Adagrad", _attribute("epsilon", lambda epsilon: max(epsilon, 1e-5))),
    _twisted(
        "halves what it gives for double tensors", "Adagrad", _each(lambda a: a.dtype == np.float64, lambda a: a / 2)
    ),
    _twisted("does nothing where there are several tensors", "Adagrad", answering(_stale)),
    _twisted("gives 7 for 0-d tensors", "Adagrad", _each(lambda a: not a.ndim, lambda a: np.full_like(a, 7))),
    _twisted("doubles what it gives where T is 2", "Adagrad", _where(lambda _, i: i[T] == 2, _doubled)),
    _twisted("reverses tensors of three and more dimensions", "Adagrad", _each(lambda a: a.ndim > 2, _reversed)),
)

ARGMAX = (
    _twisted("adds 1 for uint8", "ArgMax", _index(lambda _, X: X.dtype == np.uint8, _plus_1)),
    _twisted("adds 1 for float16", "ArgMax", _index(lambda _, X: X.dtype == np.float16, _plus_1)),
    _twisted("adds 1 for signed 64-bit integers", "ArgMax", _index(lambda _, X: X.dtype == np.int64, _plus_1)),
    _twisted("adds 1 for a negative axis", "ArgMax", _index(lambda n, _: n.attributes.get("axis", 0) < 0, _plus_1)),
    _twisted("adds 1 where keepdims is 0", "ArgMax", _index(lambda n, _: not n.attributes.get("keepdims", 1), _plus_1)),
    _twisted("gives 0 for more than three dimensions", "ArgMax", _index(lambda _, X: X.ndim > 3, lambda a: a * 0)),
    _twisted(
        "adds 1 where select_last_index is 1",
        "ArgMax",
        _index(lambda n, _: n.attributes.get("select_last_index", 0) == 1, _plus_1),
    ),
    _twisted("adds 1 for vectors", "ArgMax", _index(lambda _, X: X.ndim == 1, _plus_1)),
    _twisted("takes NaN for infinity", "ArgMax", feeding(lambda _, inputs: [*map(_infinity_for_nan, inputs)])),
)

MISTAKES = (*ADAM, *MOMENTUM, *ADAGRAD, *ARGMAX)
"""Forty of them."""
