"""The enclosing number system: exact values within intervals that hold every admissible evaluation."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial, reduce
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models import formats
from conformance.models.arrays import Array, objects, type_name
from conformance.reference.numbers import exact
from conformance.reference.numbers.alternatives import either_of
from conformance.reference.numbers.bounded import ZERO, Bounded
from conformance.reference.numbers.columns import Columns
from conformance.reference.numbers.formulas import as_objects, enclosed, entering
from conformance.reference.numbers.images import ends_of, image
from conformance.reference.numbers.native import Native
from conformance.reference.numbers.precision import Precision, Role
from conformance.reference.numbers.ranking import (
    each_once,
    extreme_of,
    in_one_term,
    is_certain,
    is_settled,
    possibly_largest,
    ranking,
    without_error,
)
from conformance.reference.numbers.sums import total
from conformance.reference.numbers.values import Order, Value
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.reference.numbers.accuracy import Accuracy
    from conformance.reference.numbers.adversary import Adversary


ELEMENT_BY_ELEMENT = frozenset({operator.add, operator.sub, operator.mul, operator.truediv})
"""Formulas that make of each element a number of its own; others may go over rows."""


@dataclass(frozen=True)
class Enclosing:
    """`Bounded` numbers in object arrays: exact values, enclosed.

    Attributes:
        strict: judge as level `should` does: IEEE 754 throughout, and scalars in the tensor's own precision.
        adversary: who chooses each rounding, instead of all being enclosed.
        once: by the name of an attribute of an optimizer the format that 1 - attribute is rounded to, for all elements
            of all tensors; what else has no tensor in it is one number for all of them too. None where every element
            may take another.
        form: in which of its forms an optimizer's formula is computed, 0 for the page's own; None for any.
        accuracy: how accurate operations are, by the format's name, instead of what the level admits.
    """

    strict: bool = False
    adversary: Adversary | None = None
    once: Mapping[str, formats.Format] | None = None
    form: int | None = None
    accuracy: Mapping[str, Accuracy] | None = None

    def entering(self, array: Array) -> Value:
        """A tensor as it is given; what is no number of a format here stays what it is."""
        if not is_computed(array.dtype):
            return Value(array, array.dtype)
        return Value(exact.from_array(array), array.dtype)

    def constant(self, number: float, dtype: np.dtype[Any]) -> Value:
        if dtype.kind in "iub":
            return Native().constant(number, dtype)
        return Value(objects([Decimal(number)], ()), dtype)

    def optimizer(
        self,
        forms: Sequence[Callable[..., Any]],
        R: Value,
        T: Value,
        tensors: Sequence[Value],
        attributes: Mapping[str, Any],
    ) -> list[Value]:
        dtype = tensors[0].dtype
        tensor = self._tensor(dtype)
        scalar = self._precision(Role.SCALAR, dtype, dtype if self.strict else _narrower(R.dtype, dtype))
        attribute = self._precision(
            Role.ATTRIBUTE, dtype, dtype if self.strict else _narrower(np.dtype(np.float32), dtype)
        )
        once = self.once or {}
        numbers = {
            name: Bounded.entering(Decimal(value), replace(attribute, once=once[name]) if name in once else attribute)
            if isinstance(value, float)
            else value
            for name, value in attributes.items()
        }
        scalars = [_entering(R, scalar)[()], Bounded.entering(Decimal(int(T.elements.item())), attribute)]
        operands = [operand.elements for operand in tensors]
        handed_on = self.once is None
        results = enclosed(self._forms(forms), scalars, operands, numbers, tensor, handed_on=handed_on)
        return [Value(result, dtype) for result in results]

    def elementwise(self, formula: Callable[..., Any], X: Value, *others: Value, roundings: int = 1) -> Value:
        if X.dtype.kind in "iub":
            _refuse_choices(X, *others)
            return Native().elementwise(formula, X, *others, roundings=roundings)
        tensor = self._tensor(X.dtype)
        operands = [operand.elements for operand in (X, *others)]
        if formula in ELEMENT_BY_ELEMENT and self.adversary is None and (columns := Columns.of(operands)):
            taken = (entering(columns.taken(operand), tensor) for operand in operands)
            return Value(columns.spread(as_objects(formula(*taken), tensor), apart=True), X.dtype)
        return Value(as_objects(formula(*(entering(operand, tensor) for operand in operands)), tensor), X.dtype)

    def monotone(self, formula: Callable[..., Any], X: Value, *, roundings: int = 0, **numbers: float) -> Value:
        if X.dtype.kind in "iub":
            _refuse_choices(X)
            return Native().monotone(formula, X, roundings=roundings, **numbers)
        tensor = self._tensor(X.dtype)
        entered, attributes = _entering(X, tensor).ravel(), {name: Decimal(value) for name, value in numbers.items()}
        decimals = (objects((number.value for number in entered), entered.shape), *ends_of(entered))
        values, *ends = (np.asarray(formula(array, **attributes), dtype=object).flat for array in decimals)
        images = zip(entered, values, *ends, strict=True)
        return Value(objects((image(tensor, roundings, *one) for one in images), X.elements.shape), X.dtype)

    def certain(self, X: Value) -> Array:
        _refuse_choices(X)
        if not all(is_settled(element) for element in X.elements.flat):
            raise Unsupported("rounding decides what is computed")
        if X.elements.dtype != object or X.dtype == object:
            return X.elements
        return objects((_decimal(element) for element in X.elements.flat), X.elements.shape)

    def extreme(self, X: Value, axes: Sequence[int], *, largest: bool) -> Value:
        if X.elements.dtype != object:
            return Native().extreme(X, axes, largest=largest)
        elements = np.moveaxis(X.elements, axes, range(-len(axes), 0))
        shape = elements.shape[: elements.ndim - len(axes)]
        rows = elements.reshape(prod(shape), prod(elements.shape[len(shape) :]))
        if not rows.shape[1]:
            raise Unsupported("there is no extreme of no elements")
        tensor, pick = self._tensor(X.dtype), max if largest else min
        return Value(objects((extreme_of(list(each_once(row).values()), pick, tensor) for row in rows), shape), X.dtype)

    def ranked(self, X: Value, axis: int, count: int, *, largest: bool) -> tuple[Value, Value]:
        if X.elements.dtype != object:
            return Native().ranked(X, axis, count, largest=largest)
        moved = np.moveaxis(X.elements, axis, -1)
        shape = (*moved.shape[:-1], count)
        tensor, width = self._tensor(X.dtype), moved.shape[-1]
        ranks = [ranking(list(row), count, tensor, largest=largest) for row in moved.reshape(prod(shape[:-1]), width)]
        values = objects((value for row, _, _ in ranks for value in row), shape)
        indices = np.array([row for _, row, _ in ranks], dtype=np.int64).reshape(shape)
        choices = None
        if self.uncertain(X).any():
            choices = np.array([row for _, _, row in ranks], dtype=bool).reshape(*shape, width)
            choices = np.moveaxis(choices, -2, axis % moved.ndim)
        return (
            Value(np.moveaxis(values, -1, axis), X.dtype),
            Value(np.moveaxis(indices, -1, axis), indices.dtype, choices),
        )

    def apart(self, forms: Sequence[Callable[..., Any]], X: Value, axes: Collection[int] | None = None) -> Order | None:
        """Rounded once more, for what the shared numbers' own errors change in the errors of the others."""
        return Order(partial(self._apart, forms, X), X.ranks.axes_within(axes) if X.ranks is not None else axes)

    def _apart(self, forms: Sequence[Callable[..., Any]], X: Value) -> Array:
        source = X if X.ranks is None else Value(X.ranks.elements, X.dtype)
        numbers = source.with_elements(in_one_term(_entering(source, self._tensor(X.dtype))))
        every = [self.elementwise(partial(form, shared=without_error), numbers) for form in forms]
        enclosed = reduce(self.either, every).elements
        return objects((number.rounded(1) for number in enclosed.flat), X.elements.shape)

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
        (low, high), (other_low, other_high) = (
            ends_of(_entering(operand, self._tensor(A.dtype))) for operand in (A, B)
        )
        surely, possibly = np.asarray(high < other_low, dtype=bool), np.asarray(low < other_high, dtype=bool)
        if (surely != possibly).any():
            raise Unsupported("rounding decides the comparison of two numbers")
        return Value(surely, surely.dtype)

    def cast(self, X: Value, dtype: np.dtype[Any]) -> Value:
        """Rounded once, or kept as it is where an evaluation computes on in a wider type; integers alike."""
        _refuse_choices(X)
        tensor = self._tensor(dtype)
        if X.dtype.kind in "iub":
            numbers = objects((Bounded(Decimal(int(element)), tensor) for element in X.elements.flat), X.elements.shape)
        else:
            numbers = _entering(Value(_entering(X, self._tensor(X.dtype)), X.dtype), tensor)
        return Value(as_objects(numbers * 1, tensor), dtype)

    def either(self, first: Value, second: Value) -> Value:
        """Both are enclosed; where they contradict each other, it is in doubt. An adversary takes the first."""
        if self.adversary is not None:
            return first
        tensor = self._tensor(first.dtype)
        return Value(either_of(_entering(first, tensor), _entering(second, tensor)), first.dtype)

    def largest(self, X: Value, axis: int) -> Array:
        """Elements that some admissible evaluation may find largest; of exact ties all, and all beside a NaN."""
        if X.elements.dtype != object:
            return np.asarray(X.elements == X.elements.max(axis=axis, keepdims=True))
        largest = possibly_largest(X.elements, axis)
        if X.ranks is None or not X.ranks.holds_along(axis % X.elements.ndim) or (largest.sum(axis=axis) == 1).all():
            return largest
        return np.asarray(largest & possibly_largest(X.ranks.elements, axis))

    def winners(self, X: Value, axis: int, largest: Array) -> Array:  # noqa: ARG002
        return largest

    def uncertain(self, X: Value) -> Array:
        if X.elements.dtype != object:
            return Native().uncertain(X)
        certain = {key: is_certain(number) for key, number in each_once(X.elements).items()}
        flags = (certain[id(number)] for number in X.elements.flat)
        return ~np.fromiter(flags, bool, X.elements.size).reshape(X.elements.shape)

    def _forms(self, forms: Sequence[Callable[..., Any]]) -> Sequence[Callable[..., Any]]:
        if self.strict:
            return forms[:1]
        return forms if self.form is None else [forms[min(self.form, len(forms) - 1)]]

    def _tensor(self, dtype: np.dtype[Any]) -> Precision:
        return self._precision(Role.TENSOR, dtype, dtype)

    def _precision(self, role: Role, widest: np.dtype[Any], narrowest: np.dtype[Any]) -> Precision:
        own = format_of(widest)
        return Precision(
            role,
            *(format_of(narrowest), own, self.strict),
            shared=self.once is not None,
            adversary=self.adversary,
            admitted=(self.accuracy or {}).get(own.name),
        )


def is_computed(dtype: np.dtype[Any]) -> bool:
    """Whether there is arithmetic for a type here; the other types of ONNX may stand aside."""
    try:
        return type_name(dtype) in formats.BY_NAME
    except (KeyError, ValueError):
        return False


def format_of(dtype: np.dtype[Any]) -> formats.Format:
    """The format of a floating-point type.

    Raises:
        Unsupported: nothing is computed in that type here.
    """
    if not is_computed(dtype):
        raise Unsupported(f"nothing is computed in {dtype} here")
    return formats.BY_NAME[type_name(dtype)]


def _narrower(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    return min(a, b, key=lambda dtype: format_of(dtype).precision)


def _entering(value: Value, precision: Precision) -> Array:
    """A value's numbers in the precision of the operator that takes them."""
    return entering(value.elements, precision)


def _refuse_choices(*values: Value) -> None:
    if any(value.choices is not None and (value.choices.sum(axis=-1) > 1).any() for value in values):
        raise Unsupported("rounding decides an index that is computed with")


def _decimal(element: Bounded | Decimal) -> Decimal:
    return element.value if isinstance(element, Bounded) else element
