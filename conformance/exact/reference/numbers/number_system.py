"""The operations of a number system, and the tensors that an operator computes with.

An operator is written once. It computes with `Value` tensors, and calls a `NumberSystem` for everything that depends on
the kind of numbers: rounding, comparison, sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import TypeAlias

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.numbers.formula_tensor import NumberTensor

    Formula: TypeAlias = Callable[[Sequence[NumberTensor | None]], Sequence[NumberTensor]]
    """The formula of an operator on tensors of numbers."""

    Forms: TypeAlias = Sequence[Callable[..., Any]]
    """A formula in several forms, which are equal in algebra but round differently; the first is that of its page."""


class OptimizerFormula(Protocol):
    """The formula of a training optimizer."""

    @property
    def formula(self) -> Callable[..., Any]:
        """The formula as written on the operator's page."""

    @property
    def formula_in_all_forms(self) -> Callable[..., Any]:
        """The formula with all admissible forms of each statement; its first argument encloses the forms."""


@dataclass(frozen=True)
class SortKeys:
    """Numbers in the same order as the elements of a tensor.

    ArgMax compares the keys if the elements cannot be distinguished in any number of digits: for example, exponentials
    of very large numbers.

    Attributes:
        source: the numbers, in the tensor's shape, or a function that computes them on first use.
        axes: the axes along which the keys have the order of the elements; None for all axes.
    """

    source: Array | Callable[[], Array]
    axes: Collection[int] | None = None

    @cached_property
    def elements(self) -> Array:
        """The numbers, in the tensor's shape."""
        return self.source() if callable(self.source) else self.source

    def common_axes(self, axes: Collection[int] | None) -> Collection[int] | None:
        """Return the members of `axes` along which the keys are valid. None stands for all axes."""
        if self.axes is None or axes is None:
            return axes if self.axes is None else self.axes
        return set(self.axes) & set(axes)

    def is_valid_along(self, axis: int) -> bool:
        """Return whether the keys have the order of the elements along an axis (not negative)."""
        return self.axes is None or axis in self.axes


class Value(Struct, frozen=True):
    """A tensor of a graph in some number system.

    Attributes:
        elements: the numbers, in the tensor's shape.
        dtype: the tensor's type in the model.
        choices: the acceptable indices, if the elements are indices on which admissible evaluations may disagree (bool,
            the tensor's shape and one more axis, over the indices). None if each element is the only acceptable index.
        exact_keys: exact numbers in the order of the exact elements, if a strictly increasing function computed them.
        rounded_keys: numbers in the order of the rounded elements, without the errors that all elements share.
    """

    elements: Array
    dtype: np.dtype[Any]
    choices: Array | None = None
    exact_keys: SortKeys | None = None
    rounded_keys: SortKeys | None = None

    def with_elements(self, elements: Array) -> Value:
        """Return a tensor of the same type and the same exact keys with other elements."""
        return Value(elements, self.dtype, exact_keys=self.exact_keys)

    def keys_of_image(self, axes: Collection[int] | None = None) -> SortKeys:
        """Return keys that order the results of a strictly increasing function of this tensor, along `axes` or all."""
        if self.exact_keys is None:
            return SortKeys(self.elements, axes)
        return SortKeys(self.exact_keys.elements, self.exact_keys.common_axes(axes))

    @property
    def is_absent(self) -> bool:
        """Whether this is an optional input that a node leaves out, or an empty optional."""
        return self is ABSENT


ABSENT = Value(np.empty(0, dtype=bool), np.dtype(bool))
"""An optional input that a node leaves out, or an empty optional."""


@dataclass(frozen=True)
class NumberSystem:
    """The operations on numbers that operators are built from.

    This class computes with NumPy arrays of the tensors' own types: the arithmetic of the `reference` backend. The
    subclasses compute with other numbers.
    """

    def from_array(self, array: Array) -> Value:
        """Return an input or initializer of the graph as a tensor of this system."""
        return Value(array, array.dtype)

    def constant(self, number: float, dtype: np.dtype[Any]) -> Value:
        """Return a number of an attribute or a schema as a scalar that can be combined with tensors of type `dtype`."""
        return Value(np.asarray(number).astype(dtype), dtype)

    def apply_optimizer(
        self,
        optimizer: OptimizerFormula,
        R: Value,
        T: Value,
        tensors: Sequence[Sequence[Value]],
        attributes: Mapping[str, Any],
    ) -> list[list[Value]]:
        """Return the results of a training optimizer's formula for each tensor.

        Args:
            optimizer: the formula. The roundings of all its forms are admissible. A system without intervals computes
                the form of the operator's page.
            R: the learning rate.
            T: the update count.
            tensors: the operands of each tensor: X, G and its state.
            attributes: all attributes by name.
        """
        return [self.update_tensor(optimizer, R, T, operands, attributes) for operands in tensors]

    def update_tensor(
        self, optimizer: OptimizerFormula, R: Value, T: Value, tensors: Sequence[Value], attributes: Mapping[str, Any]
    ) -> list[Value]:
        """Return the results of a training optimizer's formula for the operands of one tensor."""
        dtype = tensors[0].dtype
        numbers = {name: dtype.type(value) if isinstance(value, float) else value for name, value in attributes.items()}
        with np.errstate(all="ignore"):
            scalars = (operand.elements.astype(dtype)[()] for operand in (R, T))
            results = optimizer.formula(*scalars, *(tensor.elements for tensor in tensors), **numbers)
        return [Value(np.asarray(result, dtype=dtype), dtype) for result in results]

    def apply_elementwise(self, formula: Callable[..., Any], X: Value, *others: Value, roundings: int = 1) -> Value:  # noqa: ARG002
        """Return the results of an elementwise formula for tensors of one type, computed in that type.

        Args:
            formula: a function of the elements of all tensors.
            X: the first tensor.
            others: the other tensors.
            roundings: the roundings of a faithful evaluation. 1 for an operation that IEEE 754 rounds once; more for a
                function or for several operations.
        """
        with np.errstate(all="ignore"):
            result = formula(X.elements, *(other.elements for other in others))
            return Value(np.asarray(result, dtype=X.dtype), X.dtype)

    def apply_monotone(self, formula: Callable[..., Any], X: Value, *, roundings: int = 0, **numbers: float) -> Value:
        """Return the results of an elementwise formula that is monotone in the elements of X.

        Args:
            formula: a function of the elements and of the constants `numbers`.
            X: the tensor.
            roundings: the number of roundings of an admissible evaluation, relative to the result. 0 for a formula
                that only selects an operand.
            numbers: constants of the formula.
        """
        typed = {name: X.dtype.type(number) for name, number in numbers.items()}
        return self.apply_elementwise(partial(formula, **typed), X, roundings=roundings)

    def apply_formula(self, formula: Formula, inputs: Sequence[Value | None]) -> list[Value]:
        """Return the results of the formula of an operator, which takes and returns tensors of numbers.

        Args:
            formula: the formula. The roundings of its operations, in any order, are admissible.
            inputs: tensors of numbers; None for an optional input that a node leaves out.
        """
        from conformance.exact.reference.numbers.formula_tensor import NumberTensor  # late: most runs use no formula

        with np.errstate(all="ignore"):
            results = formula(
                [None if value is None else NumberTensor(value.elements, value.dtype) for value in inputs]
            )
            return [Value(np.asarray(result.numbers, dtype=result.dtype), result.dtype) for result in results]

    def exact_elements(self, X: Value) -> Array:
        """Return the elements, provided that all admissible evaluations agree on each of them.

        Raises:
            Unsupported: admissible evaluations differ in an element.
        """
        return X.elements

    def inexact_mask(self, X: Value) -> Array:
        """Return on which elements admissible evaluations may disagree (bool, X's shape)."""
        return np.zeros(X.elements.shape, dtype=bool)

    def reduce_extreme(self, X: Value, axes: Sequence[int], *, largest: bool) -> Value:
        """Return the largest or smallest element along some axes, which are removed."""
        reduce = np.max if largest else np.min
        return Value(np.asarray(reduce(X.elements, axis=tuple(axes))), X.dtype)

    def top_k(self, X: Value, axis: int, count: int, *, largest: bool) -> tuple[Value, Value]:
        """Return the `count` largest or smallest elements along an axis, in order, and their indices.

        Among equal elements, the element with the lower index comes first.
        """
        if largest:
            ascending = np.argsort(np.flip(X.elements, axis), axis=axis, kind="stable")
            order = np.flip(X.elements.shape[axis] - 1 - ascending, axis)
        else:
            order = np.argsort(X.elements, axis=axis, kind="stable")
        indices = np.asarray(np.take(order, range(count), axis=axis), dtype=np.int64)
        return Value(np.take_along_axis(X.elements, indices, axis), X.dtype), Value(indices, indices.dtype)

    def sort_keys(self, forms: Forms, X: Value, axes: Collection[int] | None = None) -> SortKeys | None:  # noqa: ARG002
        """Return numbers in the same order as the rounded results of a function.

        Args:
            forms: the function in every form in which it may be computed. Each form takes X's numbers and `shared`, a
                function that removes the error of a number that all results have in common. An error in common does
                not change the order of the results.
            X: the operand of the function.
            axes: the axes along which results are compared; None for all.

        Returns:
            The keys; None if the order of results does not depend on rounding in this system.
        """
        return None

    def less(self, A: Value, B: Value) -> Value:
        """Return whether each element of A is less than the corresponding element of B (bool)."""
        return Value(np.asarray(A.elements < B.elements), np.dtype(bool))

    def cast(self, X: Value, dtype: np.dtype[Any]) -> Value:
        """Return a tensor converted to a floating-point type."""
        with np.errstate(all="ignore"):
            return Value(X.elements.astype(dtype), dtype)

    def enclose_alternatives(self, first: Value, second: Value) -> Value:  # noqa: ARG002 - either result is correct
        """Return a tensor that encloses both tensors, for an evaluation that may compute either of them."""
        return first

    def maximum_mask(self, X: Value, axis: int) -> Array:
        """Return which elements are, or may be, the largest along an axis (bool, X's shape)."""
        with np.errstate(all="ignore"):
            return np.asarray(X.elements == X.elements.max(axis=axis, keepdims=True))

    def selected_maximum_mask(self, X: Value, axis: int, maximum_mask: Array) -> Array:  # noqa: ARG002
        """Return which elements count as the largest in the choice of the one index that is returned.

        Args:
            X: the tensor.
            axis: the axis.
            maximum_mask: which elements are, or may be, the largest along the axis.
        """
        return maximum_mask
