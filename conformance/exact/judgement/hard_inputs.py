"""Hard inputs of an operator, from its declaration: ties, limits, subnormal numbers, infinities, NaN, and small shapes.

`hard_inputs` draws inputs for fixed attributes. `nodes` is a Hypothesis strategy that draws the attributes too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count as numbers_from
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.base.errors import UsageError
from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import declarations_of, has_schemas
from conformance.exact.declarations.drawing import InvalidNodeError, draw_node, draw_valid_node
from conformance.exact.declarations.exact_sums import (
    MIN_SUMMED_TERMS,
    WITH_EXACT_SUMS,
    WITH_LONG_AXES,
    exact_sums,
    probed_terms,
)
from conformance.exact.declarations.hard_values import (
    free_operands,
    hard_elements,
    hard_numbers_of,
    magnitudes,
    text_bits,
)
from conformance.exact.judgement.given_arrays import element_types, whole_number
from conformance.exact.judgement.operator_call import call_of_operator, check_attributes
from conformance.exact.models.arrays import is_floating, type_name
from conformance.exact.models.graphs import is_operator, main_opset
from conformance.exact.models.input_files import inferred_output_shapes
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.nodes import attribute_values
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.exact.reference.oracle import EVALUATION_ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from hypothesis.strategies import SearchStrategy

    from conformance.exact.judgement.operator_call import OperatorCall, Values
    from conformance.exact.models.arrays import Array

MAX_DRAWS = 400
"""Number of nodes that are drawn for one example until one has the types and the condition that are asked for."""

PROBE_PERIOD = 30
"""The kinds of elements of probes repeat after so many numbers; see `conformance.exact.declarations.hard_values`."""


@dataclass(frozen=True)
class HardCall:
    """A call of an operator with hard inputs.

    Attributes:
        operator: the operator.
        inputs: its inputs in order; None for one that is left out.
        attributes: its attributes by name.
        opset: the version of its domain.
        output_count: the number of its outputs.
    """

    operator: str
    inputs: list[Array | None]
    attributes: dict[str, Any]
    opset: int
    output_count: int


def hard_inputs(
    operator: str,
    /,
    *,
    count: int = 20,
    opset: int | None = None,
    types: Sequence[str] = (),
    like: Values | None = None,
    where: Callable[[list[Array | None]], bool] | None = None,
    salt: str = "",
    **attributes: Any,
) -> Iterator[list[Array | None]]:
    """Yield hard inputs of an operator, each a list in the order of the operator's page.

    Args:
        operator: the operator, with its domain unless that is the main domain.
        count: the number of inputs.
        opset: the version of the operator's domain; None for the newest one of the installed onnx.
        types: the names of the element types of the first input and of all floating-point numbers, such as `float`. A
            first input that has none of them, such as a condition, is free.
        like: inputs whose types and shapes all drawn inputs have; None to draw shapes too. Inputs that are sizes or
            axes keep their elements.
        where: returns whether the caller accepts inputs.
        salt: a text; other texts give other inputs.
        attributes: the attributes of the operator; others have their defaults.

    Raises:
        ConformanceError: the operator has no declaration, or no drawn inputs fit the arguments.
    """
    version = None if opset is None else whole_number(opset, "opset")
    if like is not None:
        found = inputs_like(operator, like, version, salt, attributes)
    else:
        found = _drawn_inputs(operator, version, element_types(types), where, salt, attributes)
    yield from islice(found, whole_number(count, "count", least=0))


def inputs_like(
    operator: str, like: Values, opset: int | None, salt: str, attributes: dict[str, Any], start: int = 0
) -> Iterator[list[Array | None]]:
    """Yield hard inputs with the types and shapes of others, without end; see `hard_inputs`.

    Behind the first ones come those with exact sums, if the operator computes sums of many terms.

    Args:
        operator: the operator.
        like: the other inputs.
        opset: the version of the operator's domain; None for the newest one.
        salt: a text that chooses the inputs.
        attributes: the attributes of the operator.
        start: the number of the first inputs, on which the kind of their elements depends.
    """
    declarations_of(operator)
    call = call_of_operator(operator, like, attributes, opset=opset)
    node = call.model.graph.node[0]
    version = main_opset(call.model)
    kinds = free_operands(node, version, call.values, ())
    hard = hard_numbers_of(node, version, call.values)
    first = text_bits(salt) % 10**6 * PROBE_PERIOD + start
    for number in numbers_from(first):
        yield [
            None
            if not name
            else hard_elements(node, call.values, place, kinds[name], number, hard)
            if name in kinds
            else call.values[name]
            for place, name in enumerate(node.input)
        ]
        if number == first:
            yield from _exact_sums_of(call, kinds, salt)


def _exact_sums_of(call: OperatorCall, free: Container[str], salt: str) -> Iterator[list[Array | None]]:
    """Yield the inputs of a call with exact sums, see `conformance.exact.declarations.exact_sums`."""
    node = call.model.graph.node[0]
    for values in exact_sums(node, call.values, free, _terms_of(call), salt):
        yield [values[name] if name else None for name in node.input]


def _terms_of(call: OperatorCall) -> int:
    """Return the number of terms of each sum of a call; 1 if it computes no sums, or sums of integers."""
    node = call.model.graph.node[0]
    arrays = {name: each for name, each in call.values.items() if isinstance(each, np.ndarray)}
    if not is_operator(node, *WITH_EXACT_SUMS) or node.input[0] not in arrays:
        return 1
    result = inferred_output_shapes(call.model, arrays).get(node.output[0])
    shapes = {name: each.shape for name, each in arrays.items()}
    return probed_terms(node, shapes if result is None else {**shapes, node.output[0]: result})


def long_sums(
    operator: str, inputs: Sequence[Array | None], opset: int | None, salt: str, attributes: dict[str, Any]
) -> Iterator[list[Array | None]]:
    """Yield inputs with exact sums of many terms, of the types and ranks of others; none for other operators.

    Args:
        operator: the operator.
        inputs: the other inputs. An axis of the first one, and of the second one if it has to fit, becomes long.
        opset: the version of the operator's domain; None for the newest one.
        salt: a text that chooses the elements.
        attributes: the attributes of the operator.
    """
    first = inputs[0]
    call = call_of_operator(operator, inputs, attributes, opset=opset)
    if first is None or not first.size or not is_operator(call.model.graph.node[0], *WITH_LONG_AXES):
        return
    others: list[int | None] = [None]
    if len(inputs) > 1 and inputs[1] is not None:
        others += range(inputs[1].ndim)
    for axis in range(first.ndim):
        for other in others:
            longer = _with_long_axes(inputs, axis, other)
            if longer is None:
                continue
            try:
                call = call_of_operator(operator, longer, attributes, opset=opset)
                terms = _terms_of(call)
            except UsageError:
                continue
            version = main_opset(call.model)
            is_long = terms >= MIN_SUMMED_TERMS and _has_small_outputs(call)
            if is_long and _fit(operator, longer, attributes, version, is_judged=True):
                kinds = free_operands(call.model.graph.node[0], main_opset(call.model), call.values, ())
                yield from _exact_sums_of(call, kinds, salt)
                return


def _has_small_outputs(call: OperatorCall) -> bool:
    """Return whether the outputs are no larger than long inputs: a long filter of ConvTranspose makes large outputs."""
    arrays = {name: each for name, each in call.values.items() if isinstance(each, np.ndarray)}
    return sum(map(prod, inferred_output_shapes(call.model, arrays).values())) <= MAX_LONG_ELEMENTS


LONG_AXIS = 2**14
MAX_LONG_ELEMENTS = 2**18
"""Length of the long axis of inputs with long sums, and the largest number of elements of such an input."""


def _with_long_axes(inputs: Sequence[Array | None], axis: int, other: int | None) -> list[Array | None] | None:
    """Return zeros in place of inputs, with a long axis of the first and perhaps of the second one.

    The result is None if the two axes have different sizes, or an operand has too many other elements.
    """
    places = {0: axis} if other is None else {0: axis, 1: other}
    length = LONG_AXIS
    for place, chosen in places.items():
        array = inputs[place]
        if array is None or not array.size or not is_floating(array.dtype):
            return None
        length = min(length, MAX_LONG_ELEMENTS // (array.size // array.shape[chosen]))
    longer = list(inputs)
    for place, chosen in places.items():
        array = inputs[place]
        assert array is not None
        longer[place] = np.zeros((*array.shape[:chosen], length, *array.shape[chosen + 1 :]), array.dtype)
    return longer


EQUAL_SIZES = (3, 5)
LARGE_SIZES = (1031, 331)
"""Sizes that all axes of equal inputs have, and sizes of the long axis of large inputs, the first choice first."""

MAX_RESIZED_ELEMENTS = 2**12
"""Largest number of elements of the inputs with other sizes; an attention has the square of a size as scores."""

RESIZED_CALLS = 3
"""Number of sets of elements of equal and of large inputs."""


def equal_sizes(
    operator: str, inputs: Sequence[Array | None], opset: int | None, salt: str, attributes: dict[str, Any]
) -> Iterator[list[Array | None]]:
    """Yield inputs whose axes have equal sizes; a kernel that takes a square matrix transposed is wrong on them.

    Args:
        operator: the operator.
        inputs: other inputs. Tensors of the first one's type get other sizes, except for sizes of 1.
        opset: the version of the operator's domain; None for the newest one.
        salt: a text that chooses the elements.
        attributes: the attributes of the operator.
    """
    sizes = {size for each in inputs if each is not None for size in each.shape if size > 1}
    resized = [_resized(inputs, dict.fromkeys(sizes, size)) for size in EQUAL_SIZES]
    other = _first_fitting(operator, resized, opset, attributes)
    if other is not None and any(each.ndim - each.shape.count(1) > 1 for each in other if each is not None):
        yield from islice(inputs_like(operator, other, opset, salt, attributes), RESIZED_CALLS)


def large_sizes(
    operator: str, inputs: Sequence[Array | None], opset: int | None, salt: str, attributes: dict[str, Any]
) -> Iterator[list[Array | None]]:
    """Yield inputs with more than 300 elements in an axis, for each axis, also with numbers of all magnitudes.

    A kernel that is right for small shapes only, or wrong in a range of numbers, is wrong on them. Arguments are those
    of `equal_sizes`.
    """
    first = inputs[0]
    for old in dict.fromkeys(first.shape[::-1] if first is not None else ()):
        resized = [_resized(inputs, {old: large}) for large in LARGE_SIZES if old > 1]
        other = _first_fitting(operator, resized, opset, attributes)
        if other is not None:
            yield from islice(inputs_like(operator, other, opset, f"{salt}/{old}", attributes), 1)
            yield _of_all_magnitudes(operator, other, opset, f"{salt}/{old}", attributes)


_WITH_LABELS = frozenset({"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"})
"""Operators with a vector of labels, which has the sizes of the first input and keeps its own."""


def _first_fitting(
    operator: str, every: Iterable[list[Array | None] | None], opset: int | None, attributes: dict[str, Any]
) -> list[Array | None] | None:
    if operator in _WITH_LABELS:
        return None
    version = _choices(operator, opset)[0]
    fitting = (each for each in every if each is not None and _fit(operator, each, attributes, version, is_judged=True))
    return next(fitting, None)


def _resized(inputs: Sequence[Array | None], sizes: Mapping[int, int]) -> list[Array | None] | None:
    """Return inputs with new sizes, by the old size; elements are repeated. None if they would be too large.

    A vector of another type than the first input stays, because it may have axes or sizes.
    """
    kind = None if inputs[0] is None else inputs[0].dtype
    shapes = [
        tuple(sizes.get(size, size) for size in each.shape)
        if each is not None and (each.dtype == kind or each.ndim > 1)
        else None
        for each in inputs
    ]
    if sum(prod(shape) for shape in shapes if shape is not None) > MAX_RESIZED_ELEMENTS:
        return None
    return [
        each if each is None or shape is None else np.resize(each, shape)
        for each, shape in zip(inputs, shapes, strict=True)
    ]


def _of_all_magnitudes(
    operator: str, inputs: Sequence[Array | None], opset: int | None, salt: str, attributes: dict[str, Any]
) -> list[Array | None]:
    """Return inputs whose floating-point numbers cover magnitudes evenly; rules of operands hold."""
    call = call_of_operator(operator, inputs, attributes, opset=opset)
    node = call.model.graph.node[0]
    kinds = free_operands(node, main_opset(call.model), call.values, ())
    found: list[Array | None] = []
    for place, name in enumerate(node.input):
        array = call.values[name] if name else None
        kind = kinds.get(name)
        if array is not None and kind in ("number", "positive", "divisor") and is_floating(array.dtype):
            numbers = magnitudes(f"{salt}/{place}", array.size).reshape(array.shape)
            with np.errstate(all="ignore"):
                array = (np.abs(numbers) if kind == "positive" else numbers).astype(array.dtype)
        found.append(array)
    return found


def _drawn_inputs(
    operator: str,
    opset: int | None,
    types: tuple[str, ...],
    where: Callable[[list[Array | None]], bool] | None,
    salt: str,
    attributes: dict[str, Any],
) -> Iterator[list[Array | None]]:
    version, chosen = _choices(operator, opset)
    schema = _schema(operator, version)
    _check_choices(operator, schema, types, attributes)
    given = {**(_defaults(schema) if schema else {}), **attributes}
    # an input of truth values or texts, such as the condition of Where, has none of the types of numbers
    is_free = bool(schema and schema.inputs) and not {f"tensor({name})" for name in types} & {*schema.inputs[0].types}
    for number in numbers_from():
        for draw in range(MAX_DRAWS):
            own = f"{salt}/{number}/{draw}"
            try:
                node = draw_node(operator, own, chosen[text_bits(own) % len(chosen)], given=given)
            except InvalidNodeError:
                continue
            inputs = [node.operands[name] if name else None for name in node.proto.input]
            kinds = {type_name(array.dtype) for array in node.operands.values() if is_floating(array.dtype)}
            first = next((type_name(each.dtype) for each in inputs if each is not None), None)
            has_types = not types or ((is_free or first in types) and kinds <= set(types))
            if has_types and (where is None or where(inputs)) and _fit(operator, inputs, attributes, version):
                yield inputs
                break
        else:
            raise UsageError("no-hard-inputs", operator=operator, count=MAX_DRAWS)


def _check_choices(operator: str, schema: Any, types: tuple[str, ...], attributes: dict[str, Any]) -> None:
    """Check attributes, and that an operator takes tensors of at least one of some element types."""
    if schema is None:
        return
    check_attributes(attributes, schema, f"{operator}-{schema.since_version}")
    taken = {text[7:-1] for each in schema.inputs for text in each.types if text.startswith("tensor(")}
    if types and schema.inputs and taken.isdisjoint(types):
        raise UsageError("types-not-taken", operator=operator, types=" or ".join(types), known=sorted(taken))


def _fit(
    operator: str, inputs: list[Array | None], attributes: dict[str, Any], version: int, *, is_judged: bool = False
) -> bool:
    """Return whether an operator computes inputs, and onnx infers the shapes of the outputs.

    Some declarations need other attributes than those of the caller. With `is_judged`, inputs must have a reference:
    one that fails may have found them invalid, such as labels that are no classes.
    """
    try:
        call = call_of_operator(operator, inputs, attributes, opset=version)
        with np.errstate(all="ignore"):
            outputs = enclose(NodeScope.of(call.model), call.model.graph.node[0], call.values)
    except Unsupported:
        return not is_judged
    except (UsageError, *EVALUATION_ERRORS):
        return False
    arrays = {name: each for name, each in call.values.items() if isinstance(each, np.ndarray)}
    shapes = inferred_output_shapes(call.model, arrays)
    for value, output in zip(call.model.graph.output, outputs, strict=False):
        shape = shapes.get(value.name)
        if isinstance(output, (np.ndarray, Enclosure)) and shape not in (None, tuple(output.shape)):
            return False
    return True


def _schema(operator: str, version: int) -> Any:
    """Return the schema of an operator; None if the installed onnx has no schemas of its domain."""
    domain = declarations_of(operator)[0].domain
    if not has_schemas(domain):
        return None
    return onnx.defs.get_schema(operator.removeprefix(f"{domain}."), version, domain)


def _defaults(schema: Any) -> dict[str, Any]:
    """Return the defaults of the attributes of an operator, on which the shapes of its inputs can depend."""
    return attribute_values(each.default_value for each in schema.attributes.values() if each.default_value.name)


def _choices(operator: str, opset: int | None) -> tuple[int, list[dict[str, int]]]:
    """Return a version of an operator, and the choices of each declaration that has this version.

    Raises:
        UsageError: the operator has no declaration, or none of the version.
    """
    every = [each.opsets_of(operator)[::-1] for each in declarations_of(operator)]
    known = {version for versions in every for version in versions if opset is None or version <= opset}
    if not known:
        raise UsageError("no-hard-inputs", operator=operator, count=0)
    newest = max(known)
    places = [place for place, versions in enumerate(every) if newest in versions]
    return newest, [{"declaration": place, "opset": every[place].index(newest)} for place in places]


def nodes(operator: str) -> SearchStrategy[HardCall]:
    """Return a Hypothesis strategy of calls of an operator, with hard inputs and attributes.

    A failing call does not become smaller by itself: `onnx-conformance search` has a shrinker.

    Args:
        operator: the operator, with its domain unless that is the main domain.

    Raises:
        ConformanceError: Hypothesis is not installed, or the operator has no declaration.
    """
    try:
        from hypothesis import strategies
    except ModuleNotFoundError:
        raise UsageError("hypothesis-missing") from None
    declarations_of(operator)
    return strategies.integers(0, 2**32 - 1).map(lambda number: draw_call(operator, str(number)))


def draw_call(operator: str, seed: str) -> HardCall:
    """Return the call of a seed; equal seeds give equal calls.

    Raises:
        ConformanceError: the operator has no declaration.
    """
    node, _ = draw_valid_node(operator, seed)
    proto = node.proto
    inputs = [node.operands[name] if name else None for name in proto.input]
    version = next(entry.version for entry in node.model.opset_import if entry.domain == proto.domain)
    return HardCall(operator, inputs, attribute_values(proto.attribute), version, len(proto.output))
