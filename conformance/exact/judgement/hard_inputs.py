"""Hard inputs of an operator, from its declaration: ties, limits, subnormal numbers, infinities, NaN, and small shapes.

`hard_inputs` draws inputs for fixed attributes. `nodes` is a Hypothesis strategy that draws the attributes too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from itertools import count as numbers_from
from itertools import islice, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.base.errors import UsageError
from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import declarations_of, domain_and_type, has_schemas
from conformance.exact.declarations.drawing import InvalidNodeError, draw_node, draw_valid_node
from conformance.exact.declarations.exact_sums import (
    MIN_SUMMED_TERMS,
    WITH_EXACT_SUMS,
    WITH_LONG_AXES,
    exact_sums,
    probed_terms,
)
from conformance.exact.declarations.given_attributes import (
    best_fitting,
    declarations_for,
    default_attributes,
    keyed_declarations,
)
from conformance.exact.declarations.hard_values import (
    EQUAL_ELEMENTS,
    EXTREMES,
    MODES,
    NUMBER_KINDS,
    SMALL_KINDS,
    elements,
    free_operands,
    hard_elements,
    hard_numbers_of,
    magnitudes,
    text_bits,
    with_equal_elements,
    with_late_extremes,
)
from conformance.exact.judgement.given_arrays import element_types, whole_number
from conformance.exact.judgement.operator_call import call_of_operator, check_attributes
from conformance.exact.models.arrays import dtype_of, is_floating, type_name, type_number
from conformance.exact.models.graphs import is_operator, main_opset
from conformance.exact.models.input_files import inferred_output_shapes, inferred_output_sizes
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.nodes import attribute_values
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.exact.reference.oracle import EVALUATION_ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from hypothesis.strategies import SearchStrategy

    from conformance.exact.declarations.declaration_tables import OperatorDeclaration
    from conformance.exact.declarations.drawing import DrawnNode, SizeOf
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
            first input that has none of them, such as a condition, is free, and so are numbers beside integers only.
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
        found = (each.inputs for each in drawn_shapes(operator, version, element_types(types), where, salt, attributes))
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
            else np.asarray(hard_elements(node, call.values, place, kinds[name], number, hard))
            if name in kinds
            else np.asarray(call.values[name])
            for place, name in enumerate(node.input)
        ]
        if number == first:
            yield from _exact_sums_of(call, kinds, salt)


def _exact_sums_of(call: OperatorCall, free: Container[str], salt: str) -> Iterator[list[Array | None]]:
    """Yield the inputs of a call with exact sums, see `conformance.exact.declarations.exact_sums`."""
    node = call.model.graph.node[0]
    for values in exact_sums(node, call.values, free, _terms_of(call), salt):
        yield [np.asarray(values[name]) if name else None for name in node.input]


def _terms_of(call: OperatorCall) -> int:
    """Return the number of terms of each sum of a call; 1 if it computes no sums, or sums of integers."""
    node = call.model.graph.node[0]
    arrays = {name: each for name, each in call.values.items() if isinstance(each, np.ndarray)}
    if not is_operator(node, *WITH_EXACT_SUMS) or node.input[0] not in arrays:
        return 1
    result = inferred_output_shapes(call.model, arrays).get(node.output[0])
    shapes = {name: each.shape for name, each in arrays.items()}
    return probed_terms(node, shapes if result is None else {**shapes, node.output[0]: result})


def long_sums(drawn: DrawnShape, salt: str) -> Iterator[list[Array | None]]:
    """Yield inputs with exact sums of many terms, of the types and ranks of a drawn shape; none for other operators.

    Args:
        drawn: the drawn shape, of which a size becomes long.
        salt: a text that chooses the elements.
    """
    if not is_operator(drawn.node.proto, *WITH_LONG_AXES):
        return
    for name in drawn.size_names[::-1]:
        for length in LONG_SIZES:
            longer = drawn.resized(_with_sizes({name: length}), 2 * MAX_LONG_ELEMENTS)
            if longer is None:
                continue
            call = drawn.call(longer)
            if _terms_of(call) >= MIN_SUMMED_TERMS and _has_small_outputs(call):
                kinds = free_operands(call.model.graph.node[0], main_opset(call.model), call.values, ())
                yield from _exact_sums_of(call, kinds, salt)
                return


def _has_small_outputs(call: OperatorCall) -> bool:
    """Return whether the outputs are no larger than long inputs: a long filter of ConvTranspose makes large outputs."""
    return _output_elements(call) <= MAX_LONG_ELEMENTS


def _output_elements(call: OperatorCall) -> int:
    arrays = {name: each for name, each in call.values.items() if isinstance(each, np.ndarray)}
    return sum(map(prod, inferred_output_shapes(call.model, arrays).values()))


LONG_SIZES = (2**14, 2**12, 2**10)
MAX_LONG_ELEMENTS = 2**18
"""Lengths of an axis with long sums, the first choice first, and the largest number of elements of such an input."""

EQUAL_SIZES = ((61, 13), (5, 3))
LARGE_SIZES = (1031, 331)
"""Sizes that all axes of equal inputs have, for large and for small ones, and sizes of the long axis of large inputs;
the first choice first."""

MAX_RESIZED_ELEMENTS = 2**12
"""Largest number of elements of the inputs with other sizes; an attention has the square of a size as scores."""

RESIZED_CALLS = 3
"""Number of sets of elements of equal and of large inputs."""


def equal_sizes(drawn: DrawnShape, salt: str) -> Iterator[list[Array | None]]:
    """Yield inputs whose axes have equal sizes; a kernel that takes a square matrix transposed is wrong on them.

    Args:
        drawn: a drawn shape, of which all sizes change.
        salt: a text that chooses the elements.
    """
    for choices in EQUAL_SIZES:
        sizes = (_with_sizes(dict.fromkeys(drawn.size_names, size)) for size in choices)
        other = _first_resized(drawn, sizes, MAX_RESIZED_ELEMENTS)
        if other is not None and any(each.ndim - each.shape.count(1) > 1 for each in other if each is not None):
            yield from islice(drawn.like(other, f"{salt}/{choices[0]}"), RESIZED_CALLS)


def equal_elements(drawn: DrawnShape, salt: str) -> Iterator[list[Array | None]]:
    """Yield inputs whose elements are all equal, also to those of other operands: one of a few numbers, 1 first.

    Inputs with equal sizes have the first number. Arguments as for `equal_sizes`; inputs of one element have none.
    """
    if max((each.size for each in drawn.inputs if each is not None), default=0) < 2:
        return
    sizes = (_with_sizes(dict.fromkeys(drawn.size_names, size)) for size in EQUAL_SIZES[-1])
    square = _first_resized(drawn, sizes, MAX_RESIZED_ELEMENTS)
    numbers = [(drawn.inputs, number) for number in range(EQUAL_ELEMENTS)]
    for inputs, number in [*numbers, (square, 0)]:
        if inputs is not None:
            call = drawn.call(inputs)
            yield with_numbers(call, salt, partial(_equal_elements, number))


def _equal_elements(number: int, _: str, array: Array, kind: str) -> Array:
    return with_equal_elements(array, kind, number) if has_free_numbers(array, kind) else array


def has_free_numbers(array: Array, kind: str) -> bool:
    """Return whether an operand of a kind has numbers, of which none is a step of quantization or hides others."""
    is_number = array.dtype.kind in "biu" or is_floating(array.dtype)
    return is_number and kind in (*NUMBER_KINDS, *SMALL_KINDS)


def large_sizes(drawn: DrawnShape, salt: str) -> Iterator[list[Array | None]]:
    """Yield inputs with more than 300 elements in an axis, for each axis, also with numbers of all magnitudes.

    A kernel that is right for small shapes only, or wrong in a range of numbers, is wrong on them. Arguments are those
    of `equal_sizes`.
    """
    for name in drawn.size_names:
        other = _first_resized(drawn, _large_sizes(name), MAX_RESIZED_ELEMENTS)
        if other is not None:
            yield from islice(drawn.like(other, f"{salt}/{name}"), 1)
            call = drawn.call(other)
            yield with_numbers(call, f"{salt}/{name}", _magnitudes)


def _large_sizes(long: str) -> Iterator[SizeOf]:
    """Yield functions of sizes, of which the one with a name is large; then the other ones are small."""
    return (_with_long(long, large, most) for most, large in product((None, 2), LARGE_SIZES))


def _with_long(long: str, length: int, most: int | None) -> SizeOf:
    """Return a function of sizes that gives the one with a name a length, and limits the others except for the rank."""

    def size_of(name: str, size: int) -> int:
        return length if name == long else size if most is None or name == "r" else min(size, most)

    return size_of


def _first_resized(drawn: DrawnShape, every: Iterable[SizeOf], most: int, least: int = 0) -> list[Array | None] | None:
    return next((each for size_of in every if (each := drawn.resized(size_of, most, least)) is not None), None)


MANY_SIZES = ((4099, 900, None), (2051, 900, None), (4099, 900, 2), (2051, 900, 2), (1031, 900, 2), (331, 90, None))
"""Sizes of an axis of inputs with many elements, the first choice first: the smallest one, the range of odd ones of
which one is drawn, and the largest size of the other axes."""

MANY_ELEMENTS = 2**12 + 1
MAX_MANY_ELEMENTS = 20_000
"""Smallest and largest number of elements of all inputs with many elements."""

LONG_AXIS = 331
"""Size from which an axis of an operand has its extremes near the end."""


def many_elements(drawn: DrawnShape, salt: str) -> Iterator[list[Array | None]]:
    """Yield inputs with more elements than a block or a page of memory, for each axis; arguments as `equal_sizes`.

    Behind those with ordinary elements come those whose extremes are near the end of the axis.
    """
    for name in drawn.size_names:
        other = _first_resized(drawn, _many_sizes(name, f"{salt}/{name}"), MAX_MANY_ELEMENTS, MANY_ELEMENTS)
        if other is None:
            continue
        call = drawn.call(other)
        if _output_elements(call) <= MAX_MANY_ELEMENTS:
            yield from islice(drawn.like(other, f"{salt}/{name}", 1), 1)
            for number in range(EXTREMES):
                yield with_numbers(call, f"{salt}/{name}", partial(_late_extremes, number))


def _many_sizes(long: str, salt: str) -> Iterator[SizeOf]:
    """Yield functions of sizes, of which the one with a name is long."""
    for least, count, most in MANY_SIZES:
        yield _with_long(long, least + 2 * (text_bits(f"{salt}/{least}") % (count // 2)), most)


def _late_extremes(number: int, text: str, array: Array, kind: str) -> Array:
    is_long = max(array.shape, default=0) >= LONG_AXIS
    return with_late_extremes(text, array, kind, number) if is_long and has_free_numbers(array, kind) else array


MORE_AXES = (4, 5)
"""Ranks of inputs with many axes, or numbers of their leading axes."""


def more_axes(drawn: DrawnShape, salt: str) -> Iterator[list[Array | None]]:
    """Yield inputs with four and with five axes, if the operator takes any number. Arguments as for `equal_sizes`."""
    for rank in MORE_AXES if drawn.has_any_rank else ():

        def size_of(name: str, size: int, rank: int = rank) -> int:
            return rank if name == "r" else 2 + ord(name[-1]) % 2 if name[:1] == "S" else min(size, 5)

        other = drawn.resized(size_of, MAX_RESIZED_ELEMENTS)
        if other is not None:
            yield from islice(drawn.like(other, f"{salt}/{rank}"), 2)


RELATIVE_TO_LARGEST = frozenset({"Conv", "ConvTranspose", "DFT", "STFT"})
"""Operators whose transforms have an error relative to the largest element, so that it hides wrong small results."""


def like_magnitudes(drawn: DrawnShape, salt: str) -> Iterator[list[Array | None]]:
    """Yield inputs with numbers near 1, if the operator is in `RELATIVE_TO_LARGEST`; arguments as `equal_sizes`."""
    if is_operator(drawn.node.proto, *RELATIVE_TO_LARGEST):
        yield with_numbers(drawn.call(drawn.inputs), salt, _near_1)


def _near_1(text: str, array: Array, kind: str) -> Array:
    has_numbers = has_free_numbers(array, kind) and is_floating(array.dtype)
    return elements(text, array.dtype, array.shape, kind, MODES.index("near 1"), ()) if has_numbers else array


def all_magnitudes(drawn: DrawnShape, salt: str) -> Iterator[list[Array | None]]:
    """Yield inputs of a drawn shape with numbers of all magnitudes, and those with a large axis; as `equal_sizes`."""
    call = drawn.call(drawn.inputs)
    for number in range(RESIZED_CALLS):
        yield with_numbers(call, f"{salt}/{number}", _magnitudes)
    yield from islice(large_sizes(drawn, salt), 1, 2)


def _with_sizes(sizes: Mapping[str, int]) -> SizeOf:
    """Return a function that returns sizes by name, and otherwise the drawn one."""

    def size_of(name: str, size: int) -> int:
        return sizes.get(name, size)

    return size_of


def _count(inputs: Sequence[Array | None]) -> int:
    return sum(each.size for each in inputs if each is not None)


def with_numbers(call: OperatorCall, salt: str, draw: Callable[[str, Array, str], Array]) -> list[Array | None]:
    """Return the inputs of a call, of which a function draws the free ones from a text, the array and the kind."""
    node = call.model.graph.node[0]
    kinds = free_operands(node, main_opset(call.model), call.values, ())
    found: list[Array | None] = []
    for place, name in enumerate(node.input):
        array = call.values[name] if name else None
        kind = kinds.get(name)
        if array is not None and isinstance(kind, str):
            array = draw(f"{salt}/{place}", array, kind)
        found.append(array)
    return found


def _magnitudes(text: str, array: Array, kind: str) -> Array:
    """Return floating-point numbers that cover magnitudes evenly; others stay."""
    if kind not in NUMBER_KINDS or not is_floating(array.dtype):
        return array
    numbers = magnitudes(text, array.size).reshape(array.shape)
    with np.errstate(all="ignore"):
        return np.asarray(np.abs(numbers) if kind == "positive" else numbers).astype(array.dtype)


@dataclass(frozen=True)
class DrawnShape:
    """Drawn inputs of an operator, with what is needed to draw them with other sizes.

    Attributes:
        operator: the operator.
        node: the drawn node.
        declaration: its declaration.
        opset: the version of the operator's domain.
        attributes: the attributes of the caller.
        given: these attributes, with the defaults of the others.
        draw: draws the node again with other sizes.
        accepts: returns whether the caller accepts inputs.
        fitting: the choices of each declaration and version that fit the attributes.
    """

    operator: str
    node: DrawnNode
    declaration: OperatorDeclaration
    opset: int
    attributes: dict[str, Any]
    given: dict[str, Any]
    draw: partial[DrawnNode]
    accepts: Callable[[DrawnNode], bool]
    fitting: Sequence[Mapping[str, int]]

    @property
    def inputs(self) -> list[Array | None]:
        """The inputs in order."""
        return _inputs_of(self.node)

    def call(self, inputs: Sequence[Array | None]) -> OperatorCall:
        """Return the call of the operator on inputs of any sizes and elements."""
        return call_of_operator(self.operator, inputs, self.attributes, opset=self.opset)

    @property
    def size_names(self) -> list[str]:
        """The names of the sizes that can change, those of the last axes first."""
        names = [name.removeprefix("size ") for name in self.node.choices if name.startswith("size ")]
        return names[::-1]

    @property
    def has_any_rank(self) -> bool:
        """Whether the first input can have any number of axes."""
        first = self.declaration.operands()[0]
        return re.search(r"\bS(\.\.\.|~|\[)", first.shape) is not None and max(self.declaration.ranks) > 1

    def resized(self, size_of: SizeOf, most: int, least: int = 0) -> list[Array | None] | None:
        """Return inputs with other sizes; None if they are invalid, not judged, or have too many or few elements."""
        other = self.redrawn(size_of, most, least=least)
        shapes = [each.shape for each in self.inputs if each is not None]
        if other is None or shapes == [each.shape for each in other.inputs if each is not None]:
            return None
        return other.inputs

    def redrawn(
        self, size_of: SizeOf, most: int, chosen: Mapping[str, int] | None = None, *, least: int = 0
    ) -> DrawnShape | None:
        """Return a drawn shape with other sizes and other options of some choices; None as for `resized`."""
        try:
            node = self.draw(size_of=size_of, chosen={**self.draw.keywords["chosen"], **(chosen or {})})
        except InvalidNodeError:
            return None
        if not least <= _count(_inputs_of(node)) <= most or self.judged_inputs(node) is None:
            return None
        return replace(self, node=node)

    def judged_inputs(self, node: DrawnNode) -> list[Array | None] | None:
        """Return the inputs of a node; None if the caller does not accept them, or they are not judged."""
        inputs = _inputs_of(node)
        is_judged = self.accepts(node) and _fit(self.operator, inputs, self.attributes, self.opset, is_judged=True)
        return inputs if is_judged else None

    def like(self, inputs: Values, salt: str, start: int = 0) -> Iterator[list[Array | None]]:
        """Yield hard inputs with the types and shapes of others that the caller accepts, without end."""
        return inputs_like(self.operator, inputs, self.opset, salt, self.attributes, start)


def _inputs_of(node: DrawnNode) -> list[Array | None]:
    return [node.operands[name] if name else None for name in node.proto.input]


def drawn_shapes(
    operator: str,
    opset: int | None,
    types: tuple[str, ...],
    where: Callable[[list[Array | None]], bool] | None,
    salt: str,
    attributes: dict[str, Any],
) -> Iterator[DrawnShape]:
    """Yield drawn inputs of an operator without end; see `hard_inputs`."""
    version = _version(operator, opset)
    schema = _schema(operator, version)
    _check_choices(operator, schema, types, attributes)
    given = {**default_attributes(schema), **attributes}
    declarations = declarations_for(operator, given)
    chosen = _choices(operator, declarations, version, given, default_attributes(schema))
    # types of integers alone leave the numbers free, such as the scale of quantized integers
    has_numbers = any(is_floating(dtype_of(type_number(name))) for name in types)
    # an input of truth values or texts, such as the condition of Where, has none of the types of numbers
    is_free = bool(schema and schema.inputs) and not {f"tensor({name})" for name in types} & {*schema.inputs[0].types}

    def accepts(node: DrawnNode) -> bool:
        inputs = _inputs_of(node)
        kinds = {type_name(array.dtype) for array in node.operands.values() if is_floating(array.dtype)}
        first = next((type_name(each.dtype) for each in inputs if each is not None), None)
        quantized = {kind for kind in kinds if kind.startswith(("float8", "float4"))}
        has_types = not types or ((is_free or first in types) and (kinds if has_numbers else quantized) <= {*types})
        return has_types and (where is None or where(inputs))

    for number in numbers_from():
        for draw in range(MAX_DRAWS):
            own = f"{salt}/{number}/{draw}"
            choices = chosen[(number + draw) % len(chosen)]
            redraw = partial(draw_node, operator, own, chosen=choices, given=given)
            try:
                node = redraw()
            except InvalidNodeError:
                continue
            if accepts(node) and _fit(operator, _inputs_of(node), attributes, version):
                declaration = declarations[choices["declaration"]]
                yield DrawnShape(operator, node, declaration, version, attributes, given, redraw, accepts, chosen)
                break
        else:
            raise UsageError("no-hard-inputs", operator=operator, count=MAX_DRAWS)


def default_types(operator: str, attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """Return `float` if an operator takes it or has no schema, and otherwise nothing, which leaves all types.

    An operator whose attributes have keys has the types of the keys.
    """
    if keyed := keyed_declarations(operator, attributes):
        return tuple(each.operands()[0].type for each in keyed)
    schema = _schema(operator, _version(operator, None))
    takes_float = schema is None or any("tensor(float)" in each.types for each in schema.inputs)
    return ("float",) if takes_float else ()


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
    except UsageError:
        return False
    arrays = {name: each for name, each in call.values.items() if isinstance(each, np.ndarray)}
    shapes = inferred_output_sizes(call.model, arrays)
    if not _are_sizes(operator, version, arrays.values(), shapes.values()):
        return False
    try:
        with np.errstate(all="ignore"):
            outputs = enclose(NodeScope.of(call.model), call.model.graph.node[0], call.values)
    except Unsupported:
        return not is_judged
    except (UsageError, *EVALUATION_ERRORS):
        return False
    for value, output in zip(call.model.graph.output, outputs, strict=False):
        shape = shapes.get(value.name)
        # onnx infers no columns of a LinearClassifier without intercepts
        is_known = shape is not None and (0 not in shape or any(not each.size for each in arrays.values()))
        if isinstance(output, (np.ndarray, Enclosure)) and is_known and shape != tuple(output.shape):
            return False
    return True


def _are_sizes(operator: str, version: int, inputs: Iterable[Array], outputs: Iterable[tuple[int, ...]]) -> bool:
    """Return whether inferred sizes are no negative numbers; a window that is longer than an image gives 0 or less."""
    schema = _schema(operator, version)
    has_windows = schema is not None and "kernel_shape" in schema.attributes
    least = int(has_windows and all(each.size for each in inputs))
    return all(size >= least for sizes in outputs for size in sizes)


def _schema(operator: str, version: int) -> Any:
    """Return the schema of an operator; None if the installed onnx has no schemas of its domain."""
    domain = declarations_of(operator)[0].domain
    if not has_schemas(domain):
        return None
    return onnx.defs.get_schema(domain_and_type(operator)[1], version, domain)


def _version(operator: str, opset: int | None) -> int:
    """Return the version of an operator that a caller means, the newest one if that is None.

    Raises:
        UsageError: the operator has no declaration, or none of the version.
    """
    known = [version for each in declarations_of(operator) for version in each.opsets_of(operator)]
    fitting = [version for version in known if opset is None or version <= opset]
    if not fitting:
        raise UsageError("no-hard-inputs", operator=operator, count=0)
    return max(fitting)


def _choices(
    operator: str,
    declarations: Sequence[OperatorDeclaration],
    version: int,
    given: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> list[dict[str, int]]:
    """Return the choices of each declaration that has a version of an operator and fits the attributes."""
    every = [each.opsets_of(operator)[::-1] for each in declarations]
    places = [place for place, versions in enumerate(every) if version in versions]
    fitting = best_fitting(declarations, places, given, defaults)
    return [{"declaration": place, "opset": every[place].index(version)} for place in fitting]


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
