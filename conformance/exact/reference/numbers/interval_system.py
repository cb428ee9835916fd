"""The interval number system, the arithmetic of the oracle: exact values with intervals of all admissible results.

Its tensors are object arrays. A tensor that an operator computed has `BoundedNumber` elements. An input of the graph
has exact decimals, which become bounded numbers in the precision of the operator that reads them. Tensors of integers
and of other types without rounding are computed natively.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial, reduce
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import FLOAT, Array, format_of, is_computed, object_array
from conformance.exact.reference.numbers import decimals
from conformance.exact.reference.numbers.bounded import BoundedNumber
from conformance.exact.reference.numbers.formula_evaluation import (
    MAX_ELEMENTS_WITH_OWN_SYMBOLS,
    StatementForms,
    UniqueElements,
    as_number_array,
    elementwise_hull,
    evaluate_formula,
    monotone_image,
    to_precision,
)
from conformance.exact.reference.numbers.formula_tensor import NumberTensor
from conformance.exact.reference.numbers.number_system import NumberSystem, SortKeys, Value
from conformance.exact.reference.numbers.precision import Precision, Role
from conformance.exact.reference.numbers.ranking import (
    as_single_terms,
    distinct_numbers,
    drop_error,
    extreme,
    is_exact_number,
    is_exact_or_nan,
    possible_maxima,
    rank,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.exact.models.arrays import FloatFormat
    from conformance.exact.reference.numbers.number_system import Forms, Formula, OptimizerFormula
    from conformance.exact.reference.numbers.precision import Adversary
    from conformance.exact.reference.tolerances import Accuracy


ARITHMETIC_OPERATORS = frozenset({operator.add, operator.sub, operator.mul, operator.truediv})
"""Formulas that compute each element from the corresponding elements only. Other formulas may read whole rows."""


@dataclass(frozen=True)
class IntervalSystem(NumberSystem):
    """Number system of exact values, each with an interval of the results of all admissible evaluations.

    Attributes:
        strict: whether to judge as level `should` does: IEEE 754 throughout, and scalars in the tensor's own precision.
        adversary: chooses the result of each rounding; None if intervals enclose all results.
        complement_formats: the format to which `1 - attribute` is rounded, by the name of the attribute. If it is set,
            all elements of all tensors use the same value of every number that does not depend on a tensor. If it is
            None, each element may use a different value.
        interpolated: the attributes a of which 1 - a is a share of a difference. Otherwise 1 - a is a weight. This
            matters only if 1 - a is rounded to float, because the results then differ.
        form_index: the index of the only form of each statement to compute; 0 is the form on the operator's page, the
            last form counts where there are fewer, and None means all forms.
        accuracy: the accuracy of operations by the name of the format; it replaces the accuracy that the level admits.
    """

    strict: bool = False
    adversary: Adversary | None = None
    complement_formats: Mapping[str, FloatFormat] | None = None
    interpolated: frozenset[str] = frozenset()
    form_index: int | None = None
    accuracy: Mapping[str, Accuracy] | None = None

    def from_array(self, array: Array) -> Value:
        if not is_computed(array.dtype):
            return Value(array, array.dtype)
        return Value(decimals.from_array(array), array.dtype)

    def constant(self, number: float, dtype: np.dtype[Any]) -> Value:
        if _is_integral(dtype):
            return NumberSystem().constant(number, dtype)
        return Value(object_array([Decimal(number)], ()), dtype)

    def apply_optimizer(
        self,
        optimizer: OptimizerFormula,
        R: Value,
        T: Value,
        tensors: Sequence[Sequence[Value]],
        attributes: Mapping[str, Any],
    ) -> list[list[Value]]:
        has_own_symbols = self.adversary is None and self.complement_formats is None
        can_join = has_own_symbols and not R.elements.ndim
        results: dict[int, list[Value]] = {}
        for group in _tensors_to_join(tensors) if can_join else ([place] for place in range(len(tensors))):
            if len(group) == 1:
                results[group[0]] = self.update_tensor(optimizer, R, T, tensors[group[0]], attributes)
                continue
            operands = zip(*(tensors[place] for place in group), strict=True)
            joined = self.update_tensor(optimizer, R, T, [_join(kind) for kind in operands], attributes)
            parts = (_split(result, [tensors[place][0] for place in group]) for result in joined)
            results.update(zip(group, map(list, zip(*parts, strict=True)), strict=True))
        return [results[place] for place in range(len(tensors))]

    def update_tensor(
        self, optimizer: OptimizerFormula, R: Value, T: Value, tensors: Sequence[Value], attributes: Mapping[str, Any]
    ) -> list[Value]:
        """Return the results of a training optimizer's formula for the operands of one tensor."""
        dtype = tensors[0].dtype
        narrowest_scalar = dtype if self.strict else _narrower_dtype(R.dtype, dtype)
        narrowest_attribute = dtype if self.strict else _narrower_dtype(np.dtype(np.float32), dtype)
        scalar = self._precision(Role.SCALAR, dtype, narrowest_scalar)
        attribute = self._precision(Role.ATTRIBUTE, dtype, narrowest_attribute)
        complements = {
            name: replace(attribute, complement_format=format)
            for name, format in (self.complement_formats or {}).items()
        }
        numbers = {
            name: BoundedNumber.from_input(Decimal(value), complements.get(name, attribute))
            if isinstance(value, float)
            else value
            for name, value in attributes.items()
        }
        update_count = BoundedNumber.from_input(Decimal(int(T.elements.item())), attribute)
        results = evaluate_formula(
            self._formula(optimizer, self.tensor_precision(dtype)),
            [to_precision(R.elements, scalar)[()], update_count],
            [tensor.elements for tensor in tensors],
            numbers,
            self.tensor_precision(dtype),
            has_independent_results=self.complement_formats is None,
        )
        return [Value(result, dtype) for result in results]

    def apply_elementwise(self, formula: Callable[..., Any], X: Value, *others: Value, roundings: int = 1) -> Value:
        if _is_integral(X.dtype):
            _require_single_choice(X, *others)
            return NumberSystem().apply_elementwise(formula, X, *others, roundings=roundings)
        precision = self.tensor_precision(X.dtype)
        operands = [operand.elements for operand in (X, *others)]
        if formula in ARITHMETIC_OPERATORS and self.adversary is None and (unique := UniqueElements.find(operands)):
            taken = (to_precision(unique.take(operand), precision) for operand in operands)
            results = as_number_array(formula(*taken), precision)
            return Value(unique.spread(results, own_symbols=True), X.dtype)
        numbers = (to_precision(operand, precision) for operand in operands)
        return Value(as_number_array(formula(*numbers), precision), X.dtype)

    def apply_monotone(self, formula: Callable[..., Any], X: Value, *, roundings: int = 0, **numbers: float) -> Value:
        if _is_integral(X.dtype):
            _require_single_choice(X)
            return NumberSystem().apply_monotone(formula, X, roundings=roundings, **numbers)
        precision = self.tensor_precision(X.dtype)
        unique = UniqueElements.of(X.elements, ignore_symbols=self.adversary is None)
        operands = to_precision(unique.take(X.elements), precision)
        constants = {name: Decimal(value) for name, value in numbers.items()}
        arguments = (object_array((number.value for number in operands), operands.shape), *interval_ends(operands))
        values, *ends = (np.asarray(formula(array, **constants), dtype=object).flat for array in arguments)
        images = (monotone_image(precision, roundings, *number) for number in zip(operands, values, *ends, strict=True))
        results = object_array(images, operands.shape)
        return Value(unique.spread(results, own_symbols=False), X.dtype)

    def apply_formula(self, formula: Formula, inputs: Sequence[Value | None]) -> list[Value]:
        first = next(value for value in inputs if value is not None)
        if _is_integral(first.dtype):
            return NumberSystem().apply_formula(formula, inputs)
        tensors = [
            None
            if value is None
            else NumberTensor(
                to_precision(value.elements, self.tensor_precision(value.dtype)), value.dtype, self.tensor_precision
            )
            for value in inputs
        ]
        results = formula(tensors)
        return [Value(result.numbers, result.dtype) for result in results]

    def exact_elements(self, X: Value) -> Array:
        _require_single_choice(X)
        if not all(is_exact_or_nan(element) for element in X.elements.flat):
            raise Unsupported("an operator needs exact elements, but rounding changes them")
        if X.elements.dtype != object or X.dtype == object:
            return X.elements
        return object_array((exact_value(element) for element in X.elements.flat), X.elements.shape)

    def inexact_mask(self, X: Value) -> Array:
        if X.elements.dtype != object:
            return NumberSystem().inexact_mask(X)
        is_exact = {key: is_exact_number(number) for key, number in distinct_numbers(X.elements).items()}
        flags = map(is_exact.__getitem__, map(id, X.elements.flat))
        return ~np.fromiter(flags, bool, X.elements.size).reshape(X.elements.shape)

    def reduce_extreme(self, X: Value, axes: Sequence[int], *, largest: bool) -> Value:
        if X.elements.dtype != object:
            return NumberSystem().reduce_extreme(X, axes, largest=largest)
        rows, shape = _rows(X.elements, axes)
        if not rows.shape[1]:
            raise Unsupported("an empty tensor has no largest or smallest element")
        precision = self.tensor_precision(X.dtype)
        pick = max if largest else min
        extremes = (extreme(list(distinct_numbers(row).values()), pick, precision) for row in rows)
        return Value(object_array(extremes, shape), X.dtype)

    def top_k(self, X: Value, axis: int, count: int, *, largest: bool) -> tuple[Value, Value]:
        if X.elements.dtype != object:
            return NumberSystem().top_k(X, axis, count, largest=largest)
        rows, outer_shape = _rows(X.elements, [axis])
        shape = (*outer_shape, count)
        width = rows.shape[1]
        precision = self.tensor_precision(X.dtype)
        ranked = [rank(list(row), count, precision, largest=largest) for row in rows]
        values = object_array((value for row, _, _ in ranked for value in row), shape)
        indices = np.array([row for _, row, _ in ranked], dtype=np.int64).reshape(shape)
        choices = None
        if self.inexact_mask(X).any():
            choices = np.array([row for _, _, row in ranked], dtype=bool).reshape(*shape, width)
            choices = np.moveaxis(choices, -2, axis % X.elements.ndim)
        return (
            Value(np.moveaxis(values, -1, axis), X.dtype),
            Value(np.moveaxis(indices, -1, axis), indices.dtype, choices),
        )

    def sort_keys(self, forms: Forms, X: Value, axes: Collection[int] | None = None) -> SortKeys | None:
        axes = X.rounded_keys.common_axes(axes) if X.rounded_keys is not None else axes
        return SortKeys(partial(self._sort_keys, forms, X), axes)

    def _sort_keys(self, forms: Forms, X: Value) -> Array:
        """Return numbers that order the results of a formula, see `sort_keys`.

        The keys have one more rounding than the formula, because an error that all results share also changes their
        own errors.
        """
        source = X if X.rounded_keys is None else Value(X.rounded_keys.elements, X.dtype)
        numbers = to_precision(source.elements, self.tensor_precision(source.dtype))
        operand = source.with_elements(as_single_terms(numbers))
        results = [self.apply_elementwise(partial(form, shared=drop_error), operand) for form in forms]
        keys = reduce(self.enclose_alternatives, results).elements
        return object_array((number.with_roundings(1) for number in keys.flat), X.elements.shape)

    def less(self, A: Value, B: Value) -> Value:
        if _is_integral(A.dtype):
            return NumberSystem().less(A, B)
        precision = self.tensor_precision(A.dtype)
        A_low, A_high = interval_ends(to_precision(A.elements, precision))
        B_low, B_high = interval_ends(to_precision(B.elements, precision))
        is_less = np.asarray(A_high < B_low, dtype=bool)
        can_be_less = np.asarray(A_low < B_high, dtype=bool)
        if (is_less != can_be_less).any():
            raise Unsupported("rounding decides the comparison of two numbers")
        return Value(is_less, is_less.dtype)

    def cast(self, X: Value, dtype: np.dtype[Any]) -> Value:
        """Return a tensor whose intervals contain the rounded number and the number itself (wider intermediates)."""
        _require_single_choice(X)
        precision = self.tensor_precision(dtype)
        if _is_integral(X.dtype):
            integers = (BoundedNumber(Decimal(int(element)), precision) for element in X.elements.flat)
            numbers = object_array(integers, X.elements.shape)
            return Value(as_number_array(numbers * 1, precision), dtype)
        unique = UniqueElements.of(X.elements, ignore_symbols=self.adversary is None)
        numbers = to_precision(to_precision(unique.take(X.elements), self.tensor_precision(X.dtype)), precision)
        return Value(unique.spread(as_number_array(numbers * 1, precision), own_symbols=self.adversary is None), dtype)

    def enclose_alternatives(self, first: Value, second: Value) -> Value:
        """Return a tensor that encloses both; elements that contradict each other are indeterminate.

        With an adversary, return the first tensor.
        """
        if self.adversary is not None:
            return first
        precision = self.tensor_precision(first.dtype)
        numbers = (to_precision(value.elements, precision) for value in (first, second))
        return Value(elementwise_hull(*numbers), first.dtype)

    def maximum_mask(self, X: Value, axis: int) -> Array:
        """Return which elements are the largest along an axis in some admissible evaluation (bool, X's shape).

        The mask has all exactly equal maxima, and all elements of a row with a NaN.
        """
        if X.elements.dtype != object:
            return np.asarray(X.elements == X.elements.max(axis=axis, keepdims=True))
        maxima = possible_maxima(X.elements, axis)
        keys = X.rounded_keys
        if keys is None or not keys.is_valid_along(axis % X.elements.ndim) or (maxima.sum(axis=axis) == 1).all():
            return maxima
        return np.asarray(maxima & possible_maxima(keys.elements, axis))

    def _formula(self, optimizer: OptimizerFormula, precision: Precision) -> Callable[..., Any]:
        """Return an optimizer's formula in the forms that this system encloses."""
        if self.form_index == 0 or not precision.format.unit_roundoff:
            return optimizer.formula
        float_complements = {name for name, format in (self.complement_formats or {}).items() if format == FLOAT}
        forms = StatementForms(
            precision,
            form_index=self.form_index,
            weights=float_complements - self.interpolated,
            shares=float_complements & self.interpolated,
        )
        return partial(optimizer.formula_in_all_forms, forms)

    def tensor_precision(self, dtype: np.dtype[Any]) -> Precision:
        """Return the precision in which the elements of a tensor of this type may be computed."""
        return self._precision(Role.TENSOR, dtype, dtype)

    def _precision(self, role: Role, tensor: np.dtype[Any], narrowest: np.dtype[Any]) -> Precision:
        tensor_format = format_of(tensor)
        return Precision(
            role,
            format_of(narrowest),
            tensor_format,
            self.strict,
            has_shared_scalar_error=self.complement_formats is not None,
            adversary=self.adversary,
            accuracy_override=(self.accuracy or {}).get(tensor_format.name),
        )


def interval_ends(numbers: Array) -> tuple[Array, Array]:
    """Return the lower and the upper ends of an array of bounded or exact numbers."""
    ends = [
        (number.low, number.high) if isinstance(number, BoundedNumber) else (number, number) for number in numbers.flat
    ]
    return object_array((low for low, _ in ends), numbers.shape), object_array(
        (high for _, high in ends), numbers.shape
    )


def exact_value(element: BoundedNumber | Decimal) -> Decimal:
    """Return the exact value of a bounded or an exact number."""
    return element.value if isinstance(element, BoundedNumber) else element


def _rows(elements: Array, axes: Sequence[int]) -> tuple[Array, tuple[int, ...]]:
    """Return the elements as a matrix whose rows are to be reduced, and the shape of the reduced tensor."""
    moved = np.moveaxis(elements, axes, range(-len(axes), 0))
    shape = moved.shape[: moved.ndim - len(axes)]
    return moved.reshape(prod(shape), prod(moved.shape[len(shape) :])), shape


def _tensors_to_join(tensors: Sequence[Sequence[Value]]) -> list[list[int]]:
    """Return groups of the places of tensors whose equal elements can be computed once.

    The elements of a group get noise symbols of their own, as those of each tensor do.
    """
    groups: list[list[int]] = []
    open_groups: dict[np.dtype[Any], tuple[list[int], int]] = {}
    for place, operands in enumerate(tensors):
        X = operands[0]
        group, size = open_groups.get(X.dtype, ([], 0))
        has_one_shape = len({operand.elements.shape for operand in operands}) == 1
        can_join = has_one_shape and X.elements.size <= MAX_ELEMENTS_WITH_OWN_SYMBOLS
        if not group or not can_join or size + X.elements.size > MAX_ELEMENTS_WITH_OWN_SYMBOLS:
            group = []
            size = 0
            groups.append(group)
        group.append(place)
        if can_join:
            open_groups[X.dtype] = group, size + X.elements.size
    return groups


def _join(values: Sequence[Value]) -> Value:
    """Return the elements of tensors of one type as one vector."""
    return Value(np.concatenate([value.elements.reshape(-1) for value in values]), values[0].dtype)


def _split(joined: Value, tensors: Sequence[Value]) -> list[Value]:
    """Return the parts of a vector that have the shapes of tensors, one after the other."""
    ends = np.cumsum([tensor.elements.size for tensor in tensors])[:-1]
    parts = zip(np.split(joined.elements, ends), tensors, strict=True)
    return [Value(part.reshape(tensor.elements.shape), joined.dtype) for part, tensor in parts]


def _is_integral(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iub"


def _narrower_dtype(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    return min(a, b, key=lambda dtype: format_of(dtype).precision)


def _require_single_choice(*values: Value) -> None:
    """Raise Unsupported if a tensor that an operator reads has an element with several acceptable indices."""
    if any(value.choices is not None and (value.choices.sum(axis=-1) > 1).any() for value in values):
        raise Unsupported("an operator reads an index that rounding decides")
