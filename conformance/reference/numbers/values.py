"""A tensor of a graph in some number system, and what operators ask of the system."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.models.arrays import Array


@dataclass(frozen=True)
class Order:
    """Numbers in the order of a tensor's elements, told apart where those are too large or too near for any digits.

    Attributes:
        given: the numbers, in the tensor's shape, or what computes them when they are asked for.
        axes: along which axes the order is the same; None for all.
    """

    given: Array | Callable[[], Array]
    axes: Collection[int] | None = None

    @cached_property
    def elements(self) -> Array:
        """The numbers, in the tensor's shape."""
        return self.given() if callable(self.given) else self.given

    def axes_within(self, axes: Collection[int] | None) -> Collection[int] | None:
        """Along which of some axes, or of all, the order is the same."""
        if self.axes is None or axes is None:
            return axes if self.axes is None else self.axes
        return set(self.axes) & set(axes)

    def holds_along(self, axis: int) -> bool:
        """Whether the order is the same along an axis, not negative."""
        return self.axes is None or axis in self.axes


@dataclass(frozen=True)
class Value:
    """A tensor of a graph in some number system.

    Attributes:
        elements: the numbers, in the tensor's shape.
        dtype: the tensor's own type.
        choices: for indices that admissible evaluations may disagree on, which ones are acceptable (bool, the
            tensor's shape and one more axis, over the indices).
        order: numbers in the same order, where a function made the tensor of them.
        ranks: numbers that an evaluation has in the order of the elements, without the errors that these share.
    """

    elements: Array
    dtype: np.dtype[Any]
    choices: Array | None = None
    order: Order | None = None
    ranks: Order | None = None

    def with_elements(self, elements: Array) -> Value:
        """A tensor of the same type with other elements."""
        return Value(elements, self.dtype, order=self.order)

    def ordering(self, axes: Collection[int] | None = None) -> Order:
        """The order of what a strictly rising function makes of this tensor, along some axes or all."""
        if self.order is None:
            return Order(self.elements, axes)
        return Order(self.order.elements, self.order.axes_within(axes))

    @property
    def is_absent(self) -> bool:
        """Whether it stands for an optional input that a node leaves out, or for an empty optional."""
        return self is ABSENT


ABSENT = Value(np.empty(0, dtype=bool), np.dtype(bool))
"""An optional input that a node leaves out, or an empty optional."""


class NumberSystem(Protocol):
    """What an operator asks of the numbers it computes with."""

    def entering(self, array: Array) -> Value:
        """An input or initializer of the graph."""

    def constant(self, number: float, dtype: np.dtype[Any]) -> Value:
        """A number that an attribute or a schema gives, to compute with tensors of a type."""

    def optimizer(
        self,
        forms: Sequence[Callable[..., Any]],
        R: Value,
        T: Value,
        tensors: Sequence[Value],
        attributes: Mapping[str, Any],
    ) -> list[Value]:
        """An optimizer's formula on one tensor: its operands and its results.

        Args:
            forms: the formula as its page writes it, then in forms that are equal in algebra. What they round otherwise
                is admissible too; a system that computes one result computes the page's.
        """

    def elementwise(self, formula: Callable[..., Any], X: Value, *others: Value, roundings: int = 1) -> Value:
        """A formula on tensors of one type, in that type.

        Args:
            roundings: 1 for an operation that IEEE 754 rounds once; how many more a faithful evaluation makes, for
                what is a function or is several operations.
        """

    def monotone(self, formula: Callable[..., Any], X: Value, *, roundings: int = 0, **numbers: float) -> Value:
        """A formula on one tensor and on numbers that only rises or only falls with the tensor's elements.

        Args:
            roundings: how many roundings an admissible evaluation makes, relative to the result; none where it selects.
        """

    def certain(self, X: Value) -> Array:
        """The elements, where all admissible evaluations agree on them.

        Raises:
            Unsupported: rounding decides them.
        """

    def extreme(self, X: Value, axes: Sequence[int], *, largest: bool) -> Value:
        """The largest or smallest elements along some axes, which go."""

    def ranked(self, X: Value, axis: int, count: int, *, largest: bool) -> tuple[Value, Value]:
        """The first elements in order along an axis, and their indices; of equal ones the first comes first."""

    def apart(self, forms: Sequence[Callable[..., Any]], X: Value, axes: Collection[int] | None = None) -> Order | None:
        """By what evaluations order a function's results along some axes or all; None where rounding decides nothing.

        Args:
            forms: the function in every form that it may be computed in, each called with X's numbers and with
                `shared`, which takes the error away from what is the same for all results: so is its error.
        """

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

    def winners(self, X: Value, axis: int, largest: Array) -> Array:
        """Which elements count as the largest where one index is to be told of several that are, or may be."""

    def uncertain(self, X: Value) -> Array:
        """Which elements admissible evaluations may differ on (bool, X's shape)."""
