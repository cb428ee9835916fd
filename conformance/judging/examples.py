"""What models answer on a case's data sets, by the suite's exact reference: no runtime is trusted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.reference.evaluation import evaluate
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnx

    from conformance.models.arrays import Array

SLACK = 64
"""By how many units in the last place a floating-point output may move where constants are folded."""


@dataclass(frozen=True)
class Example:
    """A data set.

    Attributes:
        number: its place in the case.
        inputs: the graph's inputs by name.
        hazard: the class of hazard that it exposes, or None.
    """

    number: int
    inputs: Mapping[str, Array]
    hazard: str | None = None


@dataclass(frozen=True)
class Examples:
    """The data sets of a case, and what has been computed from them."""

    every: tuple[Example, ...]
    _answers: dict[tuple[bytes, int, bool], list[Any]] = field(default_factory=dict)

    def safe(self) -> Iterator[Example]:
        """Those on which the pass keeps the answer."""
        return (example for example in self.every if example.hazard is None)

    def hazardous(self) -> Iterator[Example]:
        """Those on which it may change the answer."""
        return (example for example in self.every if example.hazard is not None)

    def answers(self, model: onnx.ModelProto, example: Example, *, declared: bool = False) -> list[Any]:
        """The outputs of a model: arrays, lists of arrays for sequences, None for empty optionals.

        Args:
            declared: round the result of every node to its declared type; else compute exactly to the end.

        Raises:
            Unsupported: the model has operators that the reference lacks, or is no model: a graph optimizer may have
                made anything of it, of which the check of validity tells.
        """
        key = model.SerializeToString(deterministic=True), example.number, declared
        if key not in self._answers:
            self._answers[key] = _evaluated(model, example, declared)
        return self._answers[key]


def _evaluated(model: onnx.ModelProto, example: Example, declared: bool) -> list[Any]:
    try:
        return evaluate(model, example.inputs, declared=declared)
    except Unsupported:
        raise
    except Exception as error:  # whatever a malformed message leads to
        raise Unsupported(f"{type(error).__name__}: {error}") from error


def same(one: Any, other: Any) -> bool:
    """Whether outputs are the same, but for rounding of floating-point numbers; NaN is like NaN."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and one.dtype == other.dtype and bool(_equal(one, other).all())
    return one is None and other is None


def within(answer: Any, admissible: Sequence[Any]) -> bool:
    """Whether each element of an answer is that of one of the admissible ones."""
    if not isinstance(answer, np.ndarray):
        return any(same(answer, other) for other in admissible)
    fitting = [other for other in admissible if other.shape == answer.shape and other.dtype == answer.dtype]
    if not fitting:
        return False
    agreeing = [_equal(answer, other) for other in fitting]
    return bool(np.logical_or.reduce(agreeing).all())


def _equal(one: Array, other: Array) -> Array:
    if one.dtype.kind != "f":  # integers, and the floating-point types that NumPy does not have itself
        return np.asarray((one == other) | ((one != one) & (other != other)))  # noqa: PLR0124
    room = SLACK * np.finfo(one.dtype).eps
    with np.errstate(all="ignore"):
        return np.isclose(one, other, rtol=room, atol=0, equal_nan=True)
