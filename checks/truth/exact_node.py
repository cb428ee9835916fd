"""A node with exact operands, for the interpreter `exact` and its formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ml_dtypes
import mpmath
import numpy as np
from onnx import helper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import onnx

mpmath.mp.dps = 60


class NoFormula(Exception):
    """An operator, or a form of it, has no exact value here."""


@dataclass(frozen=True)
class Surroundings:
    """The version of each domain of a model, and the type of each of its inputs."""

    opsets: Mapping[str, int]
    types: Mapping[str, Any]


class Node:
    """One node with exact operands."""

    def __init__(
        self, node: onnx.NodeProto, inputs: Sequence[Any], scope: Mapping[str, Any], surroundings: Surroundings
    ) -> None:
        self.operator, self.scope, self.surroundings = node.op_type, scope, surroundings
        self.is_alone = True
        self.opset = surroundings.opsets.get("" if node.domain == "ai.onnx" else node.domain, 1)
        self.types = [surroundings.types.get(name) for name in node.input]  # None for an inner value
        self.dtype = self.types[0] if self.types else None
        self.attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        self.inputs = list(inputs)

    def get(self, name: str, default: Any) -> Any:
        """Return an attribute."""
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def number(self, name: str, default: float) -> Any:
        """Return an attribute that is a number in float."""
        return mpmath.mpf(float(np.float32(self.get(name, default))))

    def input(self, place: int) -> Any:
        """Return an operand; None if it is left out."""
        return self.inputs[place] if place < len(self.inputs) else None

    def axes(self, rank: int) -> tuple[int, ...]:
        """Return the axes of a reduction."""
        given = self.input(1) if self.input(1) is not None else self.get("axes", ())
        if not len(given) and self.get("noop_with_empty_axes", 0):
            raise NoFormula(f"{self.operator} of no axes")
        return tuple(int(axis) % rank for axis in given) if len(given) else tuple(range(rank))


def exact_array(array: Any) -> Any:
    """Return an array of exact numbers; integers, booleans and strings stay as they are."""
    if array.dtype.kind in "iubO":
        return array
    numbers = [mpmath.mpf(float(each)) for each in array.reshape(-1)]
    return objects(numbers, array.shape)


def objects(numbers: Sequence[Any], shape: Sequence[int]) -> Any:
    """Return an array of numbers of any kind."""
    result = np.empty(len(numbers), object)
    result[:] = numbers
    return result.reshape(shape)


def mapped(function: Callable[[Any], Any], x: Any) -> Any:
    """Return the results of a function of each element."""
    return objects([function(each) for each in np.asarray(x, object).reshape(-1)], np.shape(x))


def rounded(x: Any, dtype: Any) -> Any:
    """Return the number of a floating-point type that is nearest to a number, with ties to even."""
    if not mpmath.isfinite(x) or not x:
        return x
    info: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    exponent = max(int(mpmath.floor(mpmath.log(abs(x), 2))), int(info.minexp))
    step = mpmath.mpf(2) ** (exponent - int(info.nmant))
    near = mpmath.nint(x / step) * step
    return near if abs(near) <= float(info.max) else mpmath.sign(x) * mpmath.inf


def saturated(steps: Any, zero_point: Any, low: int, high: int) -> Any:
    """Return a number of steps as a quantized number, rounded half to even; None for NaN."""
    if not mpmath.isfinite(steps):
        return None if mpmath.isnan(steps) else high if steps > 0 else low
    return min(max(int(mpmath.nint(steps)) + int(zero_point), low), high)


def sum_of_products(pairs: Iterable[tuple[Any, Any]]) -> Any:
    """Return a sum of products; 0 times an infinity is NaN."""
    return mpmath.fsum(mpmath.mpf(a) * mpmath.mpf(b) for a, b in pairs)
