"""Running error bounds on whole arrays: a quick, slightly wider copy of the oracle's bound, to screen many elements.

The values are in extended precision and nothing counts as exact, so what is near this bound may be over the oracle's,
and what is far from it is far from the oracle's too. The oracle has the last word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import type_name
from conformance.reference.numbers.accuracy import MUST

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.models.arrays import Array
    from conformance.reference.numbers.accuracy import Accuracy


@dataclass(frozen=True)
class Running:
    """Numbers and the error that an evaluation may have made in each.

    Attributes:
        value: the numbers, in extended precision.
        error: the absolute error of each.
        role: 0 for attributes, 1 for scalars, 2 for tensors.
        u: the unit roundoff of their precision.
        accuracy: what quotients, roots and powers are admitted in the tensor's type.
    """

    value: Any
    error: Any
    role: int
    u: float
    accuracy: Accuracy

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *_: Any, **__: Any) -> Any:
        return self.sqrt() if ufunc is np.sqrt and method == "__call__" else NotImplemented

    def __add__(self, other: Any) -> Running:
        other = self._number(other)
        return self._rounded(other, self.value + other.value, self.error + other.error)

    def __sub__(self, other: Any) -> Running:
        other = self._number(other)
        return self._rounded(other, self.value - other.value, self.error + other.error)

    def __mul__(self, other: Any) -> Running:
        other = self._number(other)
        error = abs(self.value) * other.error + abs(other.value) * self.error + self.error * other.error
        return self._rounded(other, self.value * other.value, error)

    def __truediv__(self, other: Any) -> Running:
        other = self._number(other)
        quotient = self.value / other.value
        least = abs(other.value) - other.error
        error = np.where(least > 0, (self.error + abs(quotient) * other.error) / least, np.inf)[()]
        return self._rounded(other, quotient, error, 2 * float(self.accuracy.quotient))

    def __pow__(self, T: Running) -> Running:
        value = self.value**T.value
        logarithm = np.log(np.maximum(abs(self.value), np.finfo(np.longdouble).tiny))
        steps = np.maximum(np.maximum(2 * float(self.accuracy.power), T.value), 3 * T.value * abs(logarithm))
        return Running(value, abs(value) * np.expm1(steps * self.u), self.role, self.u, self.accuracy)

    def __radd__(self, other: Any) -> Running:
        return self._number(other) + self

    def __rsub__(self, other: Any) -> Running:
        return self._number(other) - self

    def __rmul__(self, other: Any) -> Running:
        return self._number(other) * self

    def __rtruediv__(self, other: Any) -> Running:
        return self._number(other) / self

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > other)

    def sqrt(self) -> Running:
        """The square root."""
        root = np.sqrt(self.value)
        error = self.error / (root + np.sqrt(np.maximum(self.value - self.error, 0)))
        return self._rounded(self, root, error, 2 * float(self.accuracy.root))

    def _number(self, other: Any) -> Running:
        return other if isinstance(other, Running) else Running(np.longdouble(other), 0, 0, self.u, self.accuracy)

    def _rounded(self, other: Running, value: Any, error: Any, roundings: float = 1) -> Running:
        """The result of an operation, in the precision of the higher role."""
        chief = max(self, other, key=lambda number: number.role)
        u = max(self.u, other.u) if chief.role < 2 else chief.u
        return Running(value, error + roundings * u * abs(value), chief.role, u, self.accuracy)


def running(
    formula: Callable[..., Any], R: Array, T: Array, tensors: list[Array], attributes: Mapping[str, Any]
) -> list[tuple[Array, Array]]:
    """A formula's values and bounds on one tensor, the last half ULP and the range of its type included."""
    own = np.finfo(tensors[0].dtype)
    roundoff = float(own.eps) / 2
    coarsest = max(roundoff, float(np.finfo(R.dtype).eps) / 2)
    attribute = float(np.finfo(np.float32).eps) / 2
    admitted = MUST[type_name(tensors[0].dtype)]
    numbers = {
        name: Running(np.longdouble(value), 0, 0, attribute, admitted) if isinstance(value, float) else value
        for name, value in attributes.items()
    }
    with np.errstate(all="ignore"):
        results = formula(
            Running(np.longdouble(R), coarsest * abs(np.longdouble(R)), 1, coarsest, admitted),
            Running(np.longdouble(T), 0, 0, attribute, admitted),
            *(Running(tensor.astype(np.longdouble), 0, 2, roundoff, admitted) for tensor in tensors),
            **numbers,
        )
    half_ulp = [roundoff * abs(result.value) + float(own.tiny) for result in results]
    return [(result.value, result.error + half) for result, half in zip(results, half_ulp, strict=True)]


def running_hull(forms: Sequence[list[tuple[Array, Array]]]) -> list[tuple[Array, Array]]:
    """The values and bounds of a formula that may be computed in any of these forms."""
    return [(results[0][0], np.maximum.reduce([bound for _, bound in results])) for results in zip(*forms, strict=True)]
