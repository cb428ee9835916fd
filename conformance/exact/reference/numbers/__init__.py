"""Number systems: the kinds of numbers that the reference computes with, all behind one interface.

A graph is evaluated by the same code in every system:

- `NumberSystem`, the base class: NumPy arrays of the tensors' own types, the arithmetic of the `reference` backend.
- `IntervalSystem`: exact values, each with an interval of all results that a conforming backend can compute. It is the
  arithmetic of the oracle.
- `IeeeSystem`: every operator's result rounded once, correctly, to its tensor's type; or no rounding at all.

`symbolic` is not a `NumberSystem`: it records an optimizer's formula as a graph of ONNX operators.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable


class ArithmeticOperators:
    """The arithmetic operators of a type of tensors or numbers, which `_operate` computes."""

    def _operate(self, operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Self:
        """Return the result of a function of the module `operator`; one of the operands may be a number."""
        raise NotImplementedError

    def __add__(self, other: Any) -> Self:
        return self._operate(operator.add, self, other)

    def __radd__(self, other: Any) -> Self:
        return self._operate(operator.add, other, self)

    def __sub__(self, other: Any) -> Self:
        return self._operate(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Self:
        return self._operate(operator.sub, other, self)

    def __mul__(self, other: Any) -> Self:
        return self._operate(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Self:
        return self._operate(operator.mul, other, self)

    def __truediv__(self, other: Any) -> Self:
        return self._operate(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._operate(operator.truediv, other, self)
