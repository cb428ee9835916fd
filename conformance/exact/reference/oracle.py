"""The oracle: the outputs that a conforming backend can return for a model and its inputs.

`answers` returns the expected value, the bound and the acceptable indices of each output, at a level. It reads only the
serialised model and the inputs. `evaluate` returns the outputs without bounds, computed exactly or rounded to the
declared types. The suite uses it to compare two models with each other.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from msgspec.structs import replace

from conformance.base.jobs.job import limit_evaluation
from conformance.base.verdicts import CheckKind, Level, Unsupported, check_name
from conformance.exact.models import arrays
from conformance.exact.models.arrays import Array, format_of, is_computed, type_name
from conformance.exact.reference.graph import Graph
from conformance.exact.reference.numbers import decimals
from conformance.exact.reference.numbers.bounded import BoundedNumber
from conformance.exact.reference.numbers.ieee_system import IeeeSystem
from conformance.exact.reference.numbers.interval_system import IntervalSystem, exact_value
from conformance.exact.reference.operators.sequences import SequenceValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.exact.models.arrays import Array, FloatFormat
    from conformance.exact.reference.numbers.number_system import Value
    from conformance.exact.reference.tolerances import Accuracy


@dataclass(frozen=True)
class Answer:
    """The acceptable values of one output.

    Attributes:
        expected: the exact value rounded once to the output's type; for indices, one acceptable index.
        bound: the largest accepted difference of each element from the expected value (double, the output's shape).
            None if all bits must match. An infinite bound accepts every value.
        choices: the acceptable indices (bool, the output's shape and one more axis); None if only one is acceptable.
        indeterminacy: a description of the first element on which admissible evaluations differ by more than rounding.
            No `must` case may depend on this element. None if there is no such element.
        determinate_mask: which elements admissible evaluations agree on, except for rounding (bool, the output's
            shape); None if they agree on all elements.
    """

    expected: Array
    bound: Array | None = None
    choices: Array | None = None
    indeterminacy: str | None = None
    determinate_mask: Array | None = None

    @property
    def accepts_every_value(self) -> bool:
        """Whether no value of the output is wrong."""
        return self.bound is not None and self.bound.size > 0 and bool(np.isinf(self.bound).all())

    @property
    def check(self) -> CheckKind:
        """The name of the check of the output: `exact`, `bound` or `index`."""
        return check_name(bound=self.bound, choices=self.choices)


EVALUATION_ERRORS = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    StopIteration,
    MemoryError,
    AssertionError,
)
"""Errors of a formula for operands that the reference does not expect."""


@contextmanager
def quiet_evaluation() -> Iterator[None]:
    """Evaluate formulas without warnings.

    Raises:
        Unsupported: a formula fails.
    """
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except EVALUATION_ERRORS as error:
        raise Unsupported(f"the reference fails with {type(error).__name__}") from None


def answers(model: bytes, inputs: Sequence[Array], level: Level) -> list[Answer]:
    """Return the acceptable values of each output of a serialised model (see `answers_for_graph`).

    Raises:
        Unsupported: the reference does not support an operator of the model.
    """
    return answers_for_graph(Graph.from_model(onnx.load_model_from_string(model)), inputs, level)


def answers_for_graph(graph: Graph, inputs: Sequence[Array], level: Level) -> list[Answer]:
    """Return the acceptable values of each output of a graph.

    If an index depends on rounding, level `must` accepts the index of every admissible evaluation, including those with
    wider intermediates. The other levels accept the index of the declared types: every operator rounds to its tensor's
    type, and `select_last_index` decides ties. They accept several indices only if faithful evaluations (error up to
    one ULP) disagree. If one of the elements is NaN, every index is acceptable.

    Args:
        graph: the graph.
        inputs: the inputs, in the order of the graph.
        level: `must` admits every defensible interpretation of the specification. The other levels require IEEE 754 in
            the tensor's own precision.

    Raises:
        Unsupported: a node cannot be evaluated.
    """
    system = IntervalSystem(strict=level is not Level.MUST)
    with limit_evaluation(), decimals.exact_context(_float_arrays(inputs)):
        values = graph.run(inputs, system)
        if not all(value.choices is None or _has_single_choice(value.choices) for value in values):
            accept = _accept_all_choices if level is Level.MUST else _accept_faithful_choices
            values = list(map(accept, values, graph.run(inputs, IeeeSystem())))
        return [_answer(value) for value in values]


def bounds_for_accuracy(
    accuracy: Mapping[str, Accuracy], model: bytes, inputs: Sequence[Array], level: Level
) -> list[Array | None]:
    """Return the bound of each output if operations have a given accuracy, over all orders and forms of evaluation.

    Args:
        accuracy: the accuracy by the name of a format. A format without an entry has the accuracy of the level.
        model: the serialised model.
        inputs: the inputs, in the order of the graph.
        level: the level.

    Returns:
        The bound of each output; None for an output of indices.

    Raises:
        Unsupported: the reference cannot compute the model.
    """
    graph = Graph.from_model(onnx.load_model_from_string(model))
    system = IntervalSystem(strict=level is not Level.MUST, accuracy=accuracy)
    try:
        with limit_evaluation(), decimals.exact_context(inputs):
            return [_answer(value).bound for value in graph.run(inputs, system)]
    except EVALUATION_ERRORS as error:
        raise Unsupported(f"a formula fails: {error}") from error


def _accept_all_choices(value: Value, declared: Value) -> Value:
    """Return `value` with all its acceptable indices, and the index of `declared` as expected index if acceptable.

    Args:
        value: the indices, with the acceptable indices of all admissible evaluations.
        declared: the indices if every operator rounds to its declared type.
    """
    if value.choices is None:
        return value
    indices = np.arange(value.choices.shape[-1])
    is_acceptable = (value.choices & (declared.elements[..., np.newaxis] == indices)).any(axis=-1)
    return replace(value, elements=np.where(is_acceptable, declared.elements, value.elements))


def _accept_faithful_choices(value: Value, declared: Value) -> Value:
    """Return `declared` with the acceptable indices that faithful evaluations in the declared types give.

    The arguments are those of `_accept_all_choices`.
    """
    if value.choices is None or _has_single_choice(value.choices):
        return value
    own = declared.choices
    if own is None:
        own = declared.elements[..., np.newaxis] == np.arange(value.choices.shape[-1])
    width = min(own.shape[-1], value.choices.shape[-1])
    choices = own[..., :width] & value.choices[..., :width]
    return replace(declared, choices=None if _has_single_choice(choices) else choices)


def _has_single_choice(choices: Array) -> bool:
    """Return whether every element has at most one acceptable index."""
    return bool((choices.sum(axis=-1) <= 1).all())


def _answer(value: Value) -> Answer:
    if isinstance(value, SequenceValue) or value.is_absent:
        raise Unsupported("an output is not a tensor")
    if value.elements.dtype != object:
        return Answer(value.elements, choices=value.choices)
    format = arrays.FLOAT_FORMATS[type_name(value.dtype)]
    numbers: list[Any] = list(value.elements.flat)
    if numbers and not any(isinstance(number, BoundedNumber) for number in numbers):  # an input passed through
        return Answer(decimals.to_array(value.elements, format, value.dtype))
    expected, bounds, determinate = zip(*_evaluate_elements(numbers, format), strict=True) if numbers else ((), (), ())
    shape = value.elements.shape
    return Answer(
        np.array(expected, dtype=np.float64).reshape(shape).astype(value.dtype),
        np.array(bounds, dtype=np.float64).reshape(shape),
        indeterminacy=_first_indeterminate(value.elements, determinate),
        determinate_mask=None if all(determinate) else np.array(determinate).reshape(shape),
    )


def _evaluate_elements(numbers: Sequence[Any], format: FloatFormat) -> list[tuple[float, float, bool]]:
    """Return the result of `_evaluate_element` for each number; equal numbers are evaluated once.

    A number without bounds is one of an input that a Loop or a Scan stacked with computed numbers.
    """
    precision = next((number.precision for number in numbers if isinstance(number, BoundedNumber)), None)
    if precision is not None:
        numbers = [each if isinstance(each, BoundedNumber) else BoundedNumber(each, precision) for each in numbers]
    keys = [(id(number.value), id(number.low), id(number.high), number.is_indeterminate) for number in numbers]
    evaluated = {
        key: _evaluate_element(number, format) for key, number in dict(zip(keys, numbers, strict=True)).items()
    }
    return [evaluated[key] for key in keys]


def _evaluate_element(number: BoundedNumber, format: FloatFormat) -> tuple[float, float, bool]:
    """Return the expected value of an element, its bound, and whether it is determinate."""
    expected = format.round_to_nearest(number.value)
    if math.isnan(expected):
        return expected, math.inf if number.is_indeterminate else 0.0, not number.is_indeterminate
    if math.isinf(expected) and format.round_to_nearest(number.low) == format.round_to_nearest(number.high) == expected:
        return expected, 0.0, True
    if number.is_exact and format.can_represent(number.value):
        return expected, 0.0, not number.is_indeterminate
    if math.isinf(expected) or not (number.low.is_finite() and number.high.is_finite()):
        return expected, math.inf, False
    distance = max(number.high - Decimal(expected), Decimal(expected) - number.low)
    half_ulp = max(abs(number.low), abs(number.high), format.smallest_normal) * format.unit_roundoff
    return expected, _round_up(distance + half_ulp), not number.is_indeterminate


def _round_up(value: Decimal) -> float:
    nearest = float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def _first_indeterminate(elements: Array, determinate: Sequence[bool]) -> str | None:
    if all(determinate):
        return None
    first = determinate.index(False)
    index = np.unravel_index(first, elements.shape) if elements.ndim else ()
    return f"element {[int(part) for part in index]} is {elements.flat[first]!r}"


def evaluate(model: onnx.ModelProto, inputs: Sequence[Any] | Mapping[str, Any], *, declared: bool = False) -> list[Any]:
    """Return a model's outputs, computed exactly and rounded once at the end.

    For ArgMax, NaN counts as the largest element; the specification does not define this.

    Args:
        model: the model. It need not be the model that the inputs were made for.
        inputs: in the order of the graph, or by name. Names that the model does not have are ignored, and inputs with
            an initializer may be left out. A list is a sequence, and None an empty optional.
        declared: whether to round the result of every operator correctly to its tensor's type. An ArgMax then finds the
            ties that this rounding makes. Otherwise it finds the maximum of exact arithmetic.

    Returns:
        An array for each output; a list of arrays for a sequence; None for an empty optional.

    Raises:
        Unsupported: the reference does not support an operator of the model, or an input is missing.
    """
    graph = Graph.from_model(model)
    arrays = _arrange_inputs(graph, inputs)
    given_floats = _float_arrays([*arrays, *graph.initializers.values()])
    with limit_evaluation(), decimals.exact_context(given_floats):
        return [_to_array(value) for value in graph.run(arrays, IeeeSystem(rounds=declared))]


def _arrange_inputs(graph: Graph, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    if not isinstance(inputs, Mapping):
        return list(inputs)
    given = {**graph.initializers, **inputs}
    if missing := [name for name in graph.all_inputs if name not in given]:
        raise Unsupported(f"the input {missing[0]} is missing")
    return [given[name] for name in graph.all_inputs]


def _float_arrays(inputs: Sequence[Any]) -> Iterator[Array]:
    """Yield the floating-point arrays among the inputs, also from sequences."""
    for given in inputs:
        if isinstance(given, list):
            yield from _float_arrays(given)
        elif given is not None and is_computed(given.dtype):
            yield given


def _to_array(value: Value) -> Any:
    if isinstance(value, SequenceValue):
        return [_to_array(item) for item in value.items]
    if value.is_absent:
        return None
    if value.elements.dtype != object or not is_computed(value.dtype):
        return np.asarray(value.elements)  # an input of a model can be a scalar of NumPy
    elements = np.array([exact_value(element) for element in value.elements.flat], dtype=object)
    return decimals.to_array(elements.reshape(value.elements.shape), format_of(value.dtype), value.dtype)
