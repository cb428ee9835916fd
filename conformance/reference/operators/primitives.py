"""Arithmetic, comparisons and casts, of which lowered optimizers are made too, in any number system.

Each is written once, in array arithmetic. A primitive computes in the type of its tensors: a graph of them spells out
the types that an optimizer's page leaves to the reader.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import dtype_of, objects
from conformance.reference.numbers.bounded import Bounded
from conformance.reference.numbers.enclosing import is_computed
from conformance.reference.operators.functions import truncated
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.models.arrays import Array
    from conformance.reference.nodes import Evaluation, Node
    from conformance.reference.numbers.values import NumberSystem, Value


def _elementwise(formula: Callable[..., Any], _: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.elementwise(formula, *inputs)]


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


def _greater(_: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    return [system.less(*reversed(inputs))]


def _cast(node: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    X, dtype = inputs[0], dtype_of(node.attributes["to"])
    if dtype == X.dtype:
        return inputs
    if object in (dtype, X.dtype):
        raise Unsupported("Cast of text")
    if is_computed(dtype):
        return [system.cast(X, dtype)]
    certain = system.certain(X)
    whole = truncated(certain) if dtype.kind in "iu" else certain
    with np.errstate(all="ignore"):
        return [system.entering(np.asarray(whole != 0) if dtype.kind == "b" else whole.astype(dtype))]


def _logical(formula: Callable[..., Any], _: Node, inputs: list[Value], system: NumberSystem) -> list[Value]:
    """What is true or false of numbers or truth values that no rounding decides."""
    with np.errstate(all="ignore"):
        return [system.entering(np.asarray(formula(*map(system.certain, inputs)), dtype=bool))]


PRIMITIVES: Mapping[str, Evaluation] = {
    "Add": partial(_elementwise, operator.add),
    "Sub": partial(_elementwise, operator.sub),
    "Mul": partial(_elementwise, operator.mul),
    "Div": partial(_elementwise, operator.truediv),
    "Pow": _power,
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
