"""The number systems behind one interface, so that a graph is walked once for all of them.

`Native` computes with arrays of the tensors' own types and is the `reference` backend. `Enclosing` computes with
`Bounded` numbers and is the oracle: its values are the exact ones, its intervals enclose what a backend may answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from conformance.arrays import Array, objects, type_name
from conformance.reference import exact, formats
from conformance.reference.bounded import ZERO, Bounded
from conformance.reference.nodes import Unsupported
from conformance.reference.precision import Precision, Role
from conformance.reference.sums import total

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True)
class Value:
    """A tensor of a graph in some number system.

    Attributes:
        elements: the numbers, in the tensor's shape.
        dtype: the tensor's own type.
        choices: for indices that admissible evaluations may disagree on, which ones are acceptable (bool, the
            tensor's shape and one more axis, over the indices).
    """

    elements: Array
    dtype: np.dtype[Any]
    choices: Array | None = None


class NumberSystem(Protocol):
    """What an operator asks of the numbers it computes with."""

    def entering(self, array: Array) -> Value:
        """An input or initializer of the graph."""

    def optimizer(
        self, formula: Callable[..., Any], R: Value, T: Value, tensors: Sequence[Value], attributes: Mapping[str, Any]
    ) -> list[Value]:
        """An optimizer's formula on one tensor: its operands and its results."""

    def elementwise(self, formula: Callable[..., Any], X: Value, *others: Value) -> Value:
        """A formula on tensors of one type, in that type."""

    def monotone(self, formula: Callable[[Array], Array], X: Value) -> Value:
        """A formula on one tensor that only rises or only falls with it, and rounds nothing."""

    def total(self, X: Value, axes: Sequence[int]) -> Value:
        """The sums along some axes, which go; their terms may be added in any order."""

    def less(self, A: Value, B: Value) -> Value:
        """Whether each element of one tensor is less than that of another (bool)."""

    def cast(self, X: Value, dtype: np.dtype[Any]) -> Value:
        """A tensor in a floating-point type."""

    def either(self, first: Value, second: Value) -> Value:
        """What an evaluation may give that is free to compute the one or the other."""

    def largest(self, X: Value, axis: int) -> Array:
        """Which elements are, or may be, the largest along an axis (bool, X's shape)."""

    def uncertain(self, X: Value) -> Array:
        """Which elements admissible evaluations may differ on (bool, X's shape)."""


class Native:
    """NumPy arrays of the tensors' own types: the embedded reference backend."""

    def entering(self, array: Array) -> Value:
        return Value(array, array.dtype)

    def optimizer(
        self, formula: Callable[..., Any], R: Value, T: Value, tensors: Sequence[Value], attributes: Mapping[str, Any]
    ) -> list[Value]:
        dtype = tensors[0].dtype
        numbers = {name: dtype.type(value) if isinstance(value, float) else value for name, value in attributes.items()}
        with np.errstate(all="ignore"):
            scalars = (operand.elements.astype(dtype)[()] for operand in (R, T))
            results = formula(*scalars, *(tensor.elements for tensor in tensors), **numbers)
        return [Value(np.asarray(result, dtype=dtype), dtype) for result in results]

    def elementwise(self, formula: Callable[..., Any], X: Value, *others: Value) -> Value:
        with np.errstate(all="ignore"):
            result = formula(X.elements, *(other.elements for other in others))
            return Value(np.asarray(result, dtype=X.dtype), X.dtype)

    def monotone(self, formula: Callable[[Array], Array], X: Value) -> Value:
        return self.elementwise(formula, X)

    def total(self, X: Value, axes: Sequence[int]) -> Value:
        return self.elementwise(lambda elements: elements.sum(axis=tuple(axes)), X)

    def less(self, A: Value, B: Value) -> Value:
        return Value(np.asarray(A.elements < B.elements), np.dtype(bool))

    def cast(self, X: Value, dtype: np.dtype[Any]) -> Value:
        with np.errstate(all="ignore"):
            return Value(X.elements.astype(dtype), dtype)

    def either(self, first: Value, second: Value) -> Value:  # noqa: ARG002 - one answer is enough here
        return first

    def largest(self, X: Value, axis: int) -> Array:
        return np.asarray(X.elements == X.elements.max(axis=axis, keepdims=True))

    def uncertain(self, X: Value) -> Array:
        return np.zeros(X.elements.shape, dtype=bool)


@dataclass(frozen=True)
class Enclosing:
    """`Bounded` numbers in object arrays: exact values, enclosed.

    Attributes:
        strict: judge as level `should` does: IEEE 754 throughout, and scalars in the tensor's own precision.
    """

    strict: bool = False

    def entering(self, array: Array) -> Value:
        """A tensor as it is given; integers stay integers."""
        if array.dtype.kind in "iub":
            return Value(array, array.dtype)
        return Value(exact.from_array(array), array.dtype)

    def optimizer(
        self, formula: Callable[..., Any], R: Value, T: Value, tensors: Sequence[Value], attributes: Mapping[str, Any]
    ) -> list[Value]:
        dtype = tensors[0].dtype
        tensor = self._tensor(dtype)
        scalar = self._precision(Role.SCALAR, dtype, dtype if self.strict else _narrower(R.dtype, dtype))
        attribute = self._precision(
            Role.ATTRIBUTE, dtype, dtype if self.strict else _narrower(np.dtype(np.float32), dtype)
        )
        numbers = {
            name: Bounded.entering(Decimal(value), attribute) if isinstance(value, float) else value
            for name, value in attributes.items()
        }
        results = formula(
            _entering(R, scalar)[()],
            Bounded.entering(Decimal(int(T.elements.item())), attribute),
            *(_entering(operand, tensor) for operand in tensors),
            **numbers,
        )
        return [Value(_settled(_as_objects(result, tensor)), dtype) for result in results]

    def elementwise(self, formula: Callable[..., Any], X: Value, *others: Value) -> Value:
        if X.dtype.kind in "iub":
            return Native().elementwise(formula, X, *others)
        tensor = self._tensor(X.dtype)
        return Value(_as_objects(formula(*(_entering(operand, tensor) for operand in (X, *others))), tensor), X.dtype)

    def monotone(self, formula: Callable[[Array], Array], X: Value) -> Value:
        tensor = self._tensor(X.dtype)
        numbers = _entering(X, tensor)
        decimals = (objects((number.value for number in numbers.flat), numbers.shape), *_ends(numbers))
        values, *ends = (np.asarray(formula(array), dtype=object).flat for array in decimals)
        images = zip(values, *ends, (number.doubt for number in numbers.flat), strict=True)
        return Value(objects((_image(tensor, *image) for image in images), numbers.shape), X.dtype)

    def total(self, X: Value, axes: Sequence[int]) -> Value:
        if X.dtype.kind in "iub":
            return Native().total(X, axes)
        tensor = self._tensor(X.dtype)
        numbers = np.moveaxis(_entering(X, tensor), axes, range(-len(axes), 0))
        shape = numbers.shape[: numbers.ndim - len(axes)]
        rows = numbers.reshape(prod(shape), prod(numbers.shape[len(shape) :]))
        return Value(objects((total(row) if row.size else Bounded(ZERO, tensor) for row in rows), shape), X.dtype)

    def less(self, A: Value, B: Value) -> Value:
        """A comparison that no rounding decides.

        Raises:
            Unsupported: admissible evaluations may differ on it.
        """
        if A.dtype.kind in "iub":
            return Native().less(A, B)
        (low, high), (other_low, other_high) = (_ends(_entering(operand, self._tensor(A.dtype))) for operand in (A, B))
        surely, possibly = np.asarray(high < other_low, dtype=bool), np.asarray(low < other_high, dtype=bool)
        if (surely != possibly).any():
            raise Unsupported("rounding decides the comparison of two numbers")
        return Value(surely, surely.dtype)

    def cast(self, X: Value, dtype: np.dtype[Any]) -> Value:
        """Rounded once, or kept as it is where an evaluation computes on in a wider type; integers alike."""
        tensor = self._tensor(dtype)
        if X.dtype.kind in "iub":
            numbers = objects((Bounded(Decimal(int(element)), tensor) for element in X.elements.flat), X.elements.shape)
        else:
            numbers = _entering(Value(_entering(X, self._tensor(X.dtype)), X.dtype), tensor)
        return Value(_as_objects(numbers * 1, tensor), dtype)

    def either(self, first: Value, second: Value) -> Value:
        """Both are enclosed; where they contradict each other, it is in doubt."""
        tensor = self._tensor(first.dtype)
        pairs = zip(_entering(first, tensor).flat, _entering(second, tensor).flat, strict=True)
        return Value(objects((_enclosing(*pair) for pair in pairs), first.elements.shape), first.dtype)

    def largest(self, X: Value, axis: int) -> Array:
        """Elements that some admissible evaluation may find largest; of exact ties all."""
        if X.elements.dtype != object:
            return np.asarray(X.elements == X.elements.max(axis=axis, keepdims=True))
        low, high = _ends(X.elements)
        return np.asarray(high >= low.max(axis=axis, keepdims=True), dtype=bool)

    def uncertain(self, X: Value) -> Array:
        certain = [not isinstance(element, Bounded) or element.is_exact for element in X.elements.flat]
        return ~np.array(certain, dtype=bool).reshape(X.elements.shape)

    def _tensor(self, dtype: np.dtype[Any]) -> Precision:
        return self._precision(Role.TENSOR, dtype, dtype)

    def _precision(self, role: Role, widest: np.dtype[Any], narrowest: np.dtype[Any]) -> Precision:
        named = formats.BY_NAME
        return Precision(role, named[type_name(narrowest)], named[type_name(widest)], self.strict)


def _narrower(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    return min(a, b, key=lambda dtype: formats.BY_NAME[type_name(dtype)].precision)


def _entering(value: Value, precision: Precision) -> Array:
    """A value's numbers in the precision of the operator that takes them."""
    return objects((_in_precision(element, precision) for element in value.elements.flat), value.elements.shape)


def _in_precision(element: Bounded | Decimal, precision: Precision) -> Bounded:
    if isinstance(element, Decimal):
        return Bounded.entering(element, precision)
    ends = element.low, element.high
    return Bounded(element.value, precision, ends, doubt=element.doubt, terms=element.terms)


def _settled(numbers: Array) -> Array:
    """An optimizer's results: to what comes after it each is one term, not the sum that it was computed as."""
    for number in numbers.flat:
        number.terms = (number.value,)
    return numbers


def _as_objects(result: Any, precision: Precision) -> Array:
    """A formula's result as an array of numbers: NumPy returns a bare one for 0-d arrays, and keeps literals."""
    array = np.asarray(result, dtype=object)
    numbers = (number if isinstance(number, Bounded) else Bounded(Decimal(number), precision) for number in array.flat)
    return objects(numbers, array.shape)


def _image(precision: Precision, value: Any, a: Any, b: Any, doubt: bool) -> Bounded:
    """What a monotone formula makes of a number, given what it makes of its value and of its two ends."""
    value, a, b = Decimal(value), Decimal(a), Decimal(b)
    return Bounded(value, precision, (a, b) if a <= b else (b, a), doubt=doubt)


def _enclosing(a: Bounded, b: Bounded) -> Bounded:
    """The first number with an interval that holds the second's too; a contradiction is a doubt."""
    if a.value.is_nan() or b.value.is_nan():
        return Bounded(a.value, a.precision, doubt=a.doubt or b.doubt or a.value.is_nan() != b.value.is_nan())
    contradicts = not (a.low <= b.value <= a.high or b.low <= a.value <= b.high)
    interval = min(a.low, b.low), max(a.high, b.high)
    return Bounded(a.value, a.precision, interval, doubt=a.doubt or b.doubt or contradicts)


def _ends(numbers: Array) -> tuple[Array, Array]:
    """The lower and the upper ends of numbers that may be exact."""
    ends = [(number.low, number.high) if isinstance(number, Bounded) else (number, number) for number in numbers.flat]
    return objects((low for low, _ in ends), numbers.shape), objects((high for _, high in ends), numbers.shape)
