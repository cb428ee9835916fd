"""The number systems behind one interface, so that a graph is walked once for all of them.

`Native` computes with arrays of the tensors' own types and is the `reference` backend. `Enclosing` computes with
`Bounded` numbers and is the oracle: its values are the exact ones, its intervals enclose what a backend may answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from conformance.arrays import Array, objects, type_name
from conformance.reference import exact, formats
from conformance.reference.bounded import Bounded
from conformance.reference.precision import Precision, Role

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

    def elementwise(self, formula: Callable[[Array], Array], X: Value) -> Value:
        """A formula on one floating-point tensor, in that tensor's type."""

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

    def elementwise(self, formula: Callable[[Array], Array], X: Value) -> Value:
        with np.errstate(all="ignore"):
            return Value(np.asarray(formula(X.elements), dtype=X.dtype), X.dtype)

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
        tensor = self._precision(Role.TENSOR, dtype, dtype)
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
            Bounded(Decimal(int(T.elements.item())), attribute),
            *(_entering(operand, tensor) for operand in tensors),
            **numbers,
        )
        return [Value(_as_objects(result, tensor), dtype) for result in results]

    def elementwise(self, formula: Callable[[Array], Array], X: Value) -> Value:
        tensor = self._precision(Role.TENSOR, X.dtype, X.dtype)
        return Value(_as_objects(formula(_entering(X, tensor)), tensor), X.dtype)

    def largest(self, X: Value, axis: int) -> Array:
        """Elements that some admissible evaluation may find largest; of exact ties all."""
        if X.elements.dtype != object:
            return np.asarray(X.elements == X.elements.max(axis=axis, keepdims=True))
        low, high = _ends(X.elements)
        return np.asarray(high >= low.max(axis=axis, keepdims=True), dtype=bool)

    def uncertain(self, X: Value) -> Array:
        certain = [not isinstance(element, Bounded) or element.is_exact for element in X.elements.flat]
        return ~np.array(certain, dtype=bool).reshape(X.elements.shape)

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
    return Bounded(element.value, precision, (element.low, element.high), doubt=element.doubt)


def _as_objects(result: Any, precision: Precision) -> Array:
    """A formula's result as an array of numbers: NumPy returns a bare one for 0-d arrays, and keeps literals."""
    array = np.asarray(result, dtype=object)
    numbers = (number if isinstance(number, Bounded) else Bounded(Decimal(number), precision) for number in array.flat)
    return objects(numbers, array.shape)


def _ends(numbers: Array) -> tuple[Array, Array]:
    """The lower and the upper ends of numbers that may be exact."""
    ends = [(number.low, number.high) if isinstance(number, Bounded) else (number, number) for number in numbers.flat]
    return objects((low for low, _ in ends), numbers.shape), objects((high for _, high in ends), numbers.shape)
