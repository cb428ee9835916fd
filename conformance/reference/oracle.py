"""What a conforming backend may answer: computed from a serialised model and its inputs, and from nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.models import formats
from conformance.models.arrays import Array, type_name
from conformance.reference.graph import Graph
from conformance.reference.numbers import exact
from conformance.reference.numbers.bounded import Bounded
from conformance.reference.numbers.declared import Declared
from conformance.reference.numbers.enclosing import Enclosing
from conformance.reference.operators.sequences import SequenceValue
from conformance.verdicts import Level, Unsupported, check_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.models.formats import Format
    from conformance.reference.numbers.accuracy import Accuracy
    from conformance.reference.numbers.values import Value


@dataclass(frozen=True)
class Answer:
    """What one output may be.

    Attributes:
        expected: the exact value rounded once to the output's type; for indices, one of the acceptable ones.
        bound: how far each element may be from it (double, the output's shape), or None where bits must match.
            An infinite bound accepts anything: admissible evaluations differ without limit.
        choices: the acceptable indices (bool, the output's shape and one more axis), or None where one is.
        unsettled: a sentence for the first element on which admissible evaluations differ by more than rounding,
            so that no `must` case may rest on it; None if there is none.
        settled: on which elements they do not (bool, the output's shape), or None where they do on none.
    """

    expected: Array
    bound: Array | None = None
    choices: Array | None = None
    unsettled: str | None = None
    settled: Array | None = None

    @property
    def check(self) -> str:
        """How the output is checked: `exact`, `bound` or `index`."""
        return check_name(bound=self.bound, choices=self.choices)


def answers(model: bytes, inputs: Sequence[Array], level: Level) -> list[Answer]:
    """What each output of a serialised model may be, as `answers_of` its graph.

    Raises:
        Unsupported: the model is not made of this suite's operators.
    """
    return answers_of(Graph.of(onnx.load_model_from_string(model)), inputs, level)


def answers_of(graph: Graph, inputs: Sequence[Array], level: Level) -> list[Answer]:
    """What each output of a graph may be for these inputs, judged at a level.

    Args:
        inputs: the graph's inputs, in its order.
        level: `must` admits whatever a defensible reading admits; the others hold to IEEE 754 in the tensor's own
            precision.

    Raises:
        Unsupported: something has no value.

    An index that rounding decides is judged at `must` by all that some admissible evaluation gives, wider intermediates
    included. At the other levels it is that of the declared types, every operator rounded to its tensor's type and ties
    decided by `select_last_index`, unless faithful evaluations differ on it. A NaN among the elements leaves any index.
    """
    with exact.exactly(inputs):
        values = graph.run(inputs, Enclosing(strict=level is not Level.MUST))
        if not all(value.choices is None or _is_settled(value.choices) for value in values):
            choose = _as_it_stands if level is Level.MUST else _as_declared
            values = list(map(choose, values, graph.run(inputs, Declared())))
        return [_answer(value) for value in values]


def bounds_under(
    accuracy: Mapping[str, Accuracy], model: bytes, inputs: Sequence[Array], level: Level
) -> list[Array | None]:
    """The bound of each output where operations are as accurate as this, in every order and form; None of indices.

    Args:
        accuracy: by the format's name; of others it is what the level admits.

    Raises:
        Unsupported: the model is not made of this suite's operators.
    """
    graph = Graph.of(onnx.load_model_from_string(model))
    with exact.exactly(inputs):
        values = graph.run(inputs, Enclosing(strict=level is not Level.MUST, accuracy=accuracy))
        return [_answer(value).bound for value in values]


def _as_it_stands(value: Value, declared: Value) -> Value:
    """The acceptable indices, of which that of the declared types is expected: a runner may know no other."""
    if value.choices is None:
        return value
    places = np.arange(value.choices.shape[-1])
    acceptable = (value.choices & (declared.elements[..., np.newaxis] == places)).any(axis=-1)
    return replace(value, elements=np.where(acceptable, declared.elements, value.elements))


def _as_declared(value: Value, declared: Value) -> Value:
    """The index of the declared types, and with it what else a faithful evaluation in these types may give."""
    if value.choices is None or _is_settled(value.choices):
        return value
    own = declared.choices
    if own is None:
        own = declared.elements[..., np.newaxis] == np.arange(value.choices.shape[-1])
    width = min(own.shape[-1], value.choices.shape[-1])
    choices = own[..., :width] & value.choices[..., :width]
    return replace(declared, choices=None if _is_settled(choices) else choices)


def _is_settled(choices: Array) -> bool:
    """Whether one index is left everywhere."""
    return bool((choices.sum(axis=-1) <= 1).all())


def _answer(value: Value) -> Answer:
    if isinstance(value, SequenceValue) or value.is_absent:
        raise Unsupported("an output is no tensor")
    if value.elements.dtype != object:
        return Answer(value.elements, choices=value.choices)
    format = formats.BY_NAME[type_name(value.dtype)]
    numbers: list[Any] = list(value.elements.flat)
    if not all(isinstance(number, Bounded) for number in numbers):  # an input passed through
        return Answer(exact.to_array(value.elements, format, value.dtype))
    judged = _elements(numbers, format)
    expected = np.array([nearest for nearest, _, _ in judged], dtype=np.float64)
    bound = np.array([bound for _, bound, _ in judged], dtype=np.float64)
    settled = [is_settled for _, _, is_settled in judged]
    return Answer(
        expected.reshape(value.elements.shape).astype(value.dtype),
        bound.reshape(value.elements.shape),
        unsettled=_first_unsettled(value.elements, settled),
        settled=None if all(settled) else np.array(settled).reshape(value.elements.shape),
    )


def _elements(numbers: Sequence[Bounded], format: Format) -> list[tuple[float, float, bool]]:
    """Each element's; of numbers with the same parts, be they one object or not, it is computed once."""
    keys = [(id(number.value), id(number.low), id(number.high), number.doubt) for number in numbers]
    judged = {key: _element(number, format) for key, number in dict(zip(keys, numbers, strict=True)).items()}
    return [judged[key] for key in keys]


def _element(number: Bounded, format: Format) -> tuple[float, float, bool]:
    """An element's expected value, its bound, and whether admissible evaluations agree on it but for rounding."""
    expected = format.rounded(number.value)
    if math.isnan(expected):
        return expected, math.inf if number.doubt else 0.0, not number.doubt
    if math.isinf(expected) and format.rounded(number.low) == format.rounded(number.high) == expected:
        return expected, 0.0, True
    if number.is_exact and format.represents(number.value):
        return expected, 0.0, not number.doubt
    if math.isinf(expected) or not (number.low.is_finite() and number.high.is_finite()):
        return expected, math.inf, False
    reach = max(number.high - Decimal(expected), Decimal(expected) - number.low)
    half_ulp = max(abs(number.low), abs(number.high), format.smallest_normal) * format.unit_roundoff
    return expected, _rounded_up(reach + half_ulp), not number.doubt


def _rounded_up(value: Decimal) -> float:
    nearest = float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def _first_unsettled(elements: Array, settled: list[bool]) -> str | None:
    if all(settled):
        return None
    place = settled.index(False)
    index = [int(part) for part in np.unravel_index(place, elements.shape)] if elements.ndim else []
    return f"element {index} is {elements.flat[place]!r}"
