"""Mutants of any node, made from its operator's schema: an attribute is ignored, operands are swapped, NaN is lost.

A mutant is a rule applied to one node. Some rules change the node, its opset or its inputs, and the reference computes
the changed node. The others change the outputs of the right node, as a kernel does that leaves out the last rows. A
mutant has the same id on every node of its operator, so that its results on many nodes count together.

The functions `*_rules` list the rules by what they change. `SPECIAL` has the mistakes that only one operator can have.

Some mistakes have no meaning, and are no mutants:

- An attribute or input without an effect is misread: the page states that it is legacy, is for random numbers, only
  permits a shape, or repeats the shape of an operand. The order of axes to reduce has no effect either.
- An attribute is misread as the value that it has, or is ignored at its default. An attribute that only takes 0 and 1
  has one other value. An attribute that has the number of an element type can only be ignored.
- A value is read or returned wrongly that no operand or output has, such as NaN.
- A tensor is read or returned in a lower type although the bounds of all outputs are as wide as its rounding.
- An older version is computed that does not allow the node, or whose outputs the bounds do not distinguish.
- `EQUIVALENT` lists further mistakes of single operators that change no output.
- The changed node is invalid, or its outputs differ only where the page determines no output: the computation returns
  None.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import chain
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import onnx
from onnx import AttributeProto, helper

from conformance.base.errors import ConformanceError
from conformance.base.verdicts import Unsupported
from conformance.exact.declarations.declaration_tables import declarations, operator_name, schemas_of
from conformance.exact.models.arrays import (
    Array,
    element_distances,
    equal_elements,
    format_of,
    is_computed,
    is_floating,
    type_name,
    type_number,
)
from conformance.exact.models.graphs import copy_of, normal_domain
from conformance.exact.reference.node_enclosures import NodeScope, answer_of, enclose
from conformance.exact.reference.oracle import EVALUATION_ERRORS, Answer, quiet_evaluation

Inputs: TypeAlias = Sequence[Array | None]
Answers: TypeAlias = Sequence[Answer]

COMPUTES_OLDER = "computes an older version"
COMPUTES_NEWEST = "computes the newest version"
"""Names of the mistakes of computing another version of an operator than that of the model's opset."""

VECTOR_SIZES = (4, 8, 16)
"""Numbers of elements that a vectorized kernel handles at once; the mutants leave out the rest after whole vectors."""

THRESHOLDS = (64, 1024)
"""Numbers of elements above which a mutant takes another, wrong path."""

RANK_LIMITS = (3, 4, 5)
"""Ranks above which a mutant is wrong."""

INPUT_LIMITS = (8, 16)
"""Numbers of inputs after which a mutant ignores the further ones."""

LONG_ROW = 128
"""Number of elements above which a mutant reads a row in whole vectors of `VECTOR_SIZES[0]`, without the rest."""

MAX_INTEGER = 2**63 - 1
"""Largest integer of an attribute."""

AXIS_ATTRIBUTES = ("axis", "axes", "batch_axis", "time_axis", "concat_axis")
"""Attributes that are numbers of axes."""

TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype", "stash_type", "softmax_precision", "precision")
"""Attributes that are numbers of element types."""

PRECISIONS = ("stash_type", "softmax_precision")
"""Attributes that are the number of the type in which a node computes."""

WITHOUT_EFFECT = (
    "legacy optimization attribute",
    "Seed to the random generator",
    "used for performance",
    "does not affect output correctness",
    "is optional if 0",
    "inferred from",
    "Number of neurons in the hidden layer",
    "Number of outputs to split parts",
    "ratio of random dropout",
    "Pass 1 to enable broadcasting",
    "Enable broadcasting",
    "Whether C should be broadcasted",
)
"""Texts of pages about attributes that have no determined effect, repeat a shape, or only permit a shape."""

TRUTH = (
    "what to do in the presence of a missing value",
    "what to do in the presence of a NaN",
    "in the presence of a NaN input feature",
)
"""Texts of pages about attributes whose elements are true unless they are 0."""

WITHOUT_ORDER = "along which to reduce"
"""Text of pages about an attribute whose elements have no order."""


@dataclass(frozen=True)
class NodeRun:
    """A node with its operands: everything that a mutant can change.

    Attributes:
        node: the node.
        opset: the version of the node's domain.
        inputs: its operands, None for an input that is left out.
    """

    node: onnx.NodeProto
    opset: int
    inputs: tuple[Array | None, ...]

    @cached_property
    def schema(self) -> onnx.defs.OpSchema:
        """The schema of the node's operator in its version."""
        return onnx.defs.get_schema(self.node.op_type, self.opset, self.node.domain)

    @property
    def values(self) -> dict[str, Any]:
        """The values of the attributes that are not graphs, by name."""
        graphs = {AttributeProto.GRAPH, AttributeProto.GRAPHS, AttributeProto.TYPE_PROTO, AttributeProto.TENSOR}
        given = [each for each in self.node.attribute if each.type not in graphs]
        return {each.name: helper.get_attribute_value(each) for each in given}

    def with_attribute(self, name: str, value: Any) -> NodeRun:
        """Return the run with another value of an attribute; None removes the attribute."""
        node = copy_of(self.node)
        kept = [each for each in node.attribute if each.name != name]
        del node.attribute[:]
        node.attribute.extend(kept)
        if value is not None:
            node.attribute.append(helper.make_attribute(name, value))
        return NodeRun(node, self.opset, self.inputs)

    def with_inputs(self, inputs: Inputs) -> NodeRun:
        """Return the run with other operands. The operands that are None are left out of the node."""
        node = copy_of(self.node)
        names = [f"input_{number}" if each is not None else "" for number, each in enumerate(inputs)]
        while names and not names[-1]:
            names.pop()
        del node.input[:]
        node.input.extend(names)
        return NodeRun(node, self.opset, tuple(inputs[: len(names)]))

    def is_allowed(self) -> bool:
        """Return whether the operator's version has the attributes of the node, its number of inputs, and their types.

        The checker of onnx checks no types of operands.
        """
        try:
            schema = self.schema
        except onnx.defs.SchemaError:
            return False
        allowed = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
        has_types = all(
            f"tensor({type_name(operand.dtype)})" in allowed.get(formal.type_str, [formal.type_str])
            for operand, formal in zip(self.inputs, _formal_inputs(schema, len(self.inputs)), strict=False)
            if operand is not None
        )
        has_attributes = all(each.name in schema.attributes for each in self.node.attribute)
        is_complete = {name for name, each in schema.attributes.items() if each.required} <= {*self.values}
        has_place = schema.min_input <= len(self.inputs) <= schema.max_input
        return has_types and has_attributes and is_complete and has_place and not schema.deprecated

    def answers(self) -> list[Answer] | None:
        """Return the acceptable outputs that have names; None if the reference has none, or one is a sequence."""
        opsets = [helper.make_opsetid(self.node.domain, self.opset)]
        if normal_domain(self.node.domain):
            opsets.append(helper.make_opsetid("", onnx.defs.onnx_opset_version()))
        graph = helper.make_graph([self.node], "mutant", [], [])
        scope = NodeScope.of(helper.make_model(graph, opset_imports=opsets))
        operands = {name: each for name, each in zip(self.node.input, self.inputs, strict=True) if name}
        try:
            with quiet_evaluation():
                found = enclose(scope, self.node, operands)
            return [answer_of(each) for name, each in zip(self.node.output, found, strict=False) if name]
        except (*EVALUATION_ERRORS, ConformanceError, Unsupported, onnx.defs.SchemaError):
            return None


def _formal_inputs(schema: onnx.defs.OpSchema, count: int) -> list[Any]:
    """Return the declared input of each operand; the last one repeats."""
    declared = list(schema.inputs)
    return [declared[min(number, len(declared) - 1)] for number in range(count)] if declared else []


@dataclass(frozen=True)
class NodeMutant:
    """A mutant on one node.

    Attributes:
        id: `OPERATOR-MISTAKE`, the same for all nodes of the operator.
        mistake: the mistake as a sentence without a subject, such as `ignores dilations`.
        compute: returns the wrong outputs, with bounds, from the right ones; None if the mistake has no meaning on
            the node.
    """

    id: str
    mistake: str
    compute: Callable[[Answers], Answers | None]


Rule: TypeAlias = tuple[str, Callable[[Answers], Answers | None]]
"""A mistake and the function that makes it."""


def node_mutants(run: NodeRun, right: Sequence[Array]) -> list[NodeMutant]:
    """Return the mutants of a node.

    Args:
        run: the node with its operands.
        right: its right outputs. Their types and shapes decide which mistakes have a meaning.

    Raises:
        SchemaError: the operator has no schema.
    """
    rules = [
        *attribute_rules(run),
        *operand_rules(run),
        *version_rules(run),
        *output_rules(run, right),
        *special_rules(run),
    ]
    equivalent = EQUIVALENT.get(run.node.op_type, {})
    return [_mutant(run, mistake, compute) for mistake, compute in rules if mistake not in equivalent]


def _mutant(run: NodeRun, mistake: str, compute: Callable[[Answers], Answers | None]) -> NodeMutant:
    return NodeMutant(f"{run.node.op_type}-{mistake.replace(' ', '-')}", mistake, partial(_determined, compute))


def _determined(compute: Callable[[Answers], Answers | None], right: Answers) -> Answers | None:
    """Return wrong outputs; None if they differ from the right ones, but only where the page determines no output."""
    changed = compute(right)
    if changed is None:
        return None
    arrays = [answer.expected for answer in changed]
    is_other = differs(arrays, [answer.expected for answer in right])
    return None if is_other and not differs_where_determined(arrays, right) else changed


def _evaluated(run: NodeRun | None) -> Callable[[Answers], Answers | None]:
    """Return a computation of the outputs of another node."""
    return lambda _: None if run is None else run.answers()


def attribute_rules(run: NodeRun) -> Iterator[Rule]:
    """Yield mistakes with the attributes of the node: ignored, negated, misread, or another word."""
    operator = operator_name(run.node.op_type, run.node.domain)
    given = run.values
    for name, attribute in run.schema.attributes.items():
        default = _default_value(attribute)
        value = given.get(name, default)
        if value is None or (
            name not in TYPE_ATTRIBUTES and any(text in attribute.description for text in WITHOUT_EFFECT)
        ):
            continue
        if not attribute.required and value != default:
            yield f"ignores {name}", _evaluated(run.with_attribute(name, None))
        if name not in given:
            for other in sorted(_defaults_of_versions(run.node.op_type, run.node.domain, name) - {default}):
                changed = _evaluated(run.with_attribute(name, other))
                yield f"takes {other} for {name} by default, as another version does", changed
        if name in AXIS_ATTRIBUTES and name in given:
            yield f"counts {name} from the other end", _evaluated(_from_the_other_end(run, name, value))
        own_type = next((each.dtype for each in run.inputs if each is not None and is_floating(each.dtype)), None)
        if name in PRECISIONS and own_type is not None and (number := type_number(type_name(own_type))) != value:
            changed = _evaluated(run.with_attribute(name, number))
            yield f"takes the type of the input for {name}", partial(_if_distinguished, changed)
        is_number_of_type = name in TYPE_ATTRIBUTES
        if not is_number_of_type and (is_switch(operator, name) or attribute.description.startswith("Boolean")):
            other = 0 if value else 1
            if attribute.required or other != default:
                yield f"takes {name} as {other}", _evaluated(run.with_attribute(name, other))
        elif name in given and not is_number_of_type:
            for mistake, changed in _misread(value):
                has_no_meaning = (mistake == "reverses" and WITHOUT_ORDER in attribute.description) or (
                    mistake in {"negates", "is off by one in"} and any(text in attribute.description for text in TRUTH)
                )
                if changed not in (value, default) and not has_no_meaning:
                    yield f"{mistake} {name}", _evaluated(run.with_attribute(name, changed))
        if isinstance(value, bytes):
            for word in attribute_words(operator, name, run.schema.since_version):
                if word.encode() not in (value, default):
                    yield f"takes {word or 'nothing'} for {name}", _evaluated(run.with_attribute(name, word))


@cache
def _defaults_of_versions(operator: str, domain: str, name: str) -> frozenset[int | float]:
    """Return the numbers that the versions of an operator have as the default of an attribute."""
    schemas = schemas_of(operator, normal_domain(domain))
    found = [_default_value(each.attributes[name]) for each in schemas if name in each.attributes]
    return frozenset(each for each in found if isinstance(each, int | float))


def _default_value(attribute: Any) -> Any:
    """Return the default of an attribute of a schema; None if it has none."""
    default = attribute.default_value
    return helper.get_attribute_value(default) if default.type != AttributeProto.UNDEFINED else None


@cache
def is_switch(operator: str, attribute: str) -> bool:
    """Return whether an attribute of an operator takes only 0 and 1 in the declarations, and is no axis."""
    options: set[Any] = set()
    for declaration in declarations().get(operator, ()):
        for option in declaration.attributes.get(attribute, ()):
            size = declaration.sizes.get(option[1:]) if isinstance(option, str) and option.startswith("=") else None
            options.update(size if isinstance(size, tuple) else () if isinstance(option, tuple) else (option,))
    numbers = options - {"absent"}
    return attribute not in AXIS_ATTRIBUTES and 1 in numbers and numbers <= {0, 1}


def _misread(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each way in which a number or a list is misread, with the value that the mutant takes."""
    if isinstance(value, list) and value and not isinstance(value[0], int | float):
        return
    if isinstance(value, list):
        if all(abs(each) <= MAX_INTEGER for each in value):
            yield "negates", [-each for each in value]
        if len(set(value)) > 1:
            yield "takes the first element for all of", [value[0]] * len(value)
            yield "reverses", value[::-1]
        if all(isinstance(each, int) and each < MAX_INTEGER for each in value):
            yield "is off by one in", [each + 1 for each in value]
    elif isinstance(value, int) and abs(value) < MAX_INTEGER:
        yield "is off by one in", value + 1
        if value:
            yield "negates", -value
    elif isinstance(value, float) and value:
        yield "negates", -value


def _from_the_other_end(run: NodeRun, name: str, value: Any) -> NodeRun | None:
    """Return the node with an axis `k` read as the axis that is `k` from the end; None if the operand has no rank."""
    if not run.inputs or run.inputs[0] is None:
        return None
    if isinstance(value, list):
        return run.with_attribute(name, [-1 - each for each in value])
    return run.with_attribute(name, -1 - value)


@cache
def attribute_words(operator: str, attribute: str, version: int) -> tuple[str, ...]:
    """Return the texts that the declarations of an operator's version list for an attribute."""
    words: dict[str, None] = {}
    for declaration in declarations().get(operator, ()):
        options = declaration.attributes.get(attribute, ()) if version in declaration.opsets else ()
        words.update((option, None) for option in options if isinstance(option, str) and option != "absent")
    return tuple(word for word in words if not word.startswith("="))


COMMUTATIVE = frozenset(
    {"Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Max", "Mean", "Min", "Mul", "Or", "Sum", "Xor"}
)
"""Operators whose inputs may be swapped."""

LOWER_TYPES: Mapping[str, tuple[Any, ...]] = {
    "float64": (np.float32,),
    "float32": (np.float16, ml_dtypes.bfloat16),
    "float16": (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn),
    "bfloat16": (ml_dtypes.float8_e4m3fn,),
    "int64": (np.int32, np.float32, np.float64),
    "uint64": (np.uint32, np.float64),
    "int32": (np.int16, np.float32),
}
"""Types in which a mutant reads or returns tensors of a type."""


def _with_finite_squares(array: Array, name: str) -> Array:
    if array.dtype.name != name:
        return array
    limit = float(format_of(array.dtype).largest) ** 0.5
    wide = array.astype(np.float64)
    return np.where(np.abs(wide) > limit, np.copysign(np.inf, wide), wide).astype(array.dtype)


def _without_lowest(array: Array) -> Array:
    if array.dtype.kind != "i":
        return array
    limits = np.iinfo(array.dtype)
    return np.asarray(np.maximum(array, np.array(limits.min + 1, array.dtype)))


def _as_signed(array: Array) -> Array:
    return np.asarray(array.view(f"i{array.dtype.itemsize}")) if array.dtype.kind == "u" else array


def _without_infinities(array: Array) -> Array:
    largest = float(format_of(array.dtype).largest)
    return np.where(np.isinf(array), np.copysign(largest, array.astype(np.float64)), array).astype(array.dtype)


FLOAT_READINGS: Mapping[str, Callable[[Array], Array]] = {
    "reads NaN as 0": lambda array: np.where(np.isnan(array), 0, array).astype(array.dtype),
    "reads infinities as the largest number": _without_infinities,
    "reads -0 as 0": lambda array: (array + np.zeros((), array.dtype)).astype(array.dtype),
}
"""Mistakes in reading operands of floating-point numbers."""


def operand_rules(run: NodeRun) -> Iterator[Rule]:
    """Yield mistakes with the operands: left out, swapped, broadcast by the left, or read in a lower type."""
    declared = list(run.schema.inputs)
    for number, operand in enumerate(run.inputs):
        option = declared[min(number, len(declared) - 1)].option
        if operand is None:
            continue
        has_no_effect = any(text in declared[min(number, len(declared) - 1)].description for text in WITHOUT_EFFECT)
        if option == onnx.defs.OpSchema.FormalParameterOption.Optional and not has_no_effect:
            inputs = [None if place == number else each for place, each in enumerate(run.inputs)]
            yield f"ignores the input {declared[number].name}", _evaluated(run.with_inputs(inputs))
    first, second, *rest = (*run.inputs, None, None)[: max(2, len(run.inputs))]
    if first is not None and second is not None:
        is_of_one_type = first.dtype == second.dtype
        if is_of_one_type and run.node.op_type not in COMMUTATIVE:
            yield "swaps the first two inputs", _evaluated(run.with_inputs([second, first, *rest]))
        is_of_one_parameter = len(declared) == 1 or declared[0].type_str == declared[1].type_str
        if is_of_one_parameter and first.ndim != second.ndim and "broadcast" in (run.schema.doc or ""):
            yield "broadcasts from the left", _evaluated(_aligned_left(run))
    computed = {formal.type_str for formal in run.schema.outputs}
    read = {
        each.dtype.name
        for number, each in enumerate(run.inputs)
        if each is not None and declared[min(number, len(declared) - 1)].type_str in computed
    }
    for name in sorted(read & {*LOWER_TYPES}):
        for lower in LOWER_TYPES[name]:
            inputs = [None if each is None else _rounded_to(each, name, lower) for each in run.inputs]
            if differs(inputs, run.inputs):
                compute = _evaluated(run.with_inputs(inputs))
                yield f"reads {name} in {np.dtype(lower).name}", partial(_if_finer, compute, name, lower)
    for mistake, change in FLOAT_READINGS.items():
        inputs = [each if each is None or not is_computed(each.dtype) else change(each) for each in run.inputs]
        if differs(inputs, run.inputs):
            yield mistake, _evaluated(run.with_inputs(inputs))
    readings: list[tuple[str, Callable[[Array], Array]]] = [
        *(
            (f"reads {name} with too large squares as infinity", partial(_with_finite_squares, name=name))
            for name in {each.dtype.name for each in run.inputs if each is not None and is_computed(each.dtype)}
        ),
        ("reads the lowest integer as the next one", _without_lowest),
        ("reads unsigned integers as signed ones", _as_signed),
        (f"reads rows above {LONG_ROW} elements in whole vectors", _in_whole_vectors),
    ]
    for mistake, change in readings:
        inputs = [each if each is None else change(each) for each in run.inputs]
        if differs(inputs, run.inputs):
            yield mistake, partial(_if_distinguished, partial(_of_right_types, _evaluated(run.with_inputs(inputs))))
    yield from parameter_rules(run, read)


def _in_whole_vectors(array: Array) -> Array:
    size = array.shape[-1] if array.ndim else 0
    if size <= LONG_ROW or array.dtype.kind not in "fiu":
        return array
    changed = array.copy()
    changed[..., size - size % VECTOR_SIZES[0] :] = 0
    return changed


def _of_right_types(compute: Callable[[Answers], Answers | None], right: Answers) -> Answers | None:
    """Return outputs; a signed integer is read as the unsigned one that the right output has."""
    changed = compute(right)
    if changed is None:
        return None
    return [
        replace(each, expected=each.expected.view(own.expected.dtype))
        if own.expected.dtype.kind == "u" and each.expected.dtype == np.dtype(f"i{own.expected.dtype.itemsize}")
        else each
        for each, own in zip(changed, right, strict=False)
    ]


def parameter_rules(run: NodeRun, read: Collection[str]) -> Iterator[Rule]:
    """Yield mistakes with operands that are no data, with shapes of operands, and with their number.

    Args:
        run: the node with its operands.
        read: the names of the types of the operands that have the type of an output.
    """
    declared = list(run.schema.inputs)
    if declared and declared[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
        for limit in INPUT_LIMITS:
            if len(run.inputs) > limit:
                yield f"ignores the inputs after {limit}", _evaluated(run.with_inputs(run.inputs[:limit]))
    for number, operand in enumerate(run.inputs):
        if operand is None:
            continue
        formal = declared[min(number, len(declared) - 1)]
        if operand.dtype == np.int64 and "int64" not in read:
            narrow = operand.astype(np.int32).astype(np.int64)
            if differs([narrow], [operand]):
                yield f"reads {formal.name} in int32", _evaluated(_with_input(run, number, narrow))
        is_column = operand.ndim == 2 and operand.shape[0] > 1 and operand.shape[1] == 1
        if is_column and "broadcast" in (run.schema.doc or ""):
            row = _with_input(run, number, operand.reshape(1, -1))
            yield f"reads the column {formal.name} as a row", partial(_if_distinguished, _evaluated(row))
    axes = _axes(run)
    if axes and len(axes) > 1 and run.inputs[0] is not None:
        places = [axis % max(run.inputs[0].ndim, 1) for axis in axes]
        every = list(range(min(places), max(places) + 1))
        if sorted(axes) != axes:
            yield "sorts axes", partial(_if_distinguished, _evaluated(_with_axes(run, sorted(places))))
        if len(every) > len(places):
            changed = _evaluated(_with_axes(run, every))
            yield "takes all axes from the first to the last", partial(_if_distinguished, changed)


def _with_input(run: NodeRun, number: int, array: Array) -> NodeRun:
    return run.with_inputs([array if place == number else each for place, each in enumerate(run.inputs)])


def _axes_place(run: NodeRun) -> int | None:
    """Return the place of the operand of axes; None if the node has none."""
    names = [each.name for each in run.schema.inputs]
    place = names.index("axes") if "axes" in names else len(run.inputs)
    return place if place < len(run.inputs) and run.inputs[place] is not None else None


def _axes(run: NodeRun) -> list[int] | None:
    """Return the axes that an operand or an attribute lists; None if the node has none."""
    place = _axes_place(run)
    given = run.values.get("axes") if place is None else run.inputs[place]
    return None if given is None else [int(axis) for axis in np.ravel(given)]


def _with_axes(run: NodeRun, axes: list[int]) -> NodeRun:
    place = _axes_place(run)
    if place is None:
        return run.with_attribute("axes", axes)
    operand = run.inputs[place]
    assert operand is not None
    return _with_input(run, place, np.array(axes, operand.dtype))


def _rounded_to(array: Array, name: str, lower: Any) -> Array:
    """Return a tensor of the type `name` with elements rounded to a lower type, and other tensors as they are."""
    if array.dtype.name != name:
        return array
    with np.errstate(all="ignore"):
        return array.astype(lower).astype(array.dtype)


def _if_finer(compute: Callable[[Answers], Answers | None], name: str, lower: Any, right: Answers) -> Answers | None:
    """Return outputs; None if the bounds of all outputs of a type are as wide as the rounding to a lower one."""
    own = [answer for answer in right if answer.expected.dtype.name == name and is_computed(answer.expected.dtype)]
    if own and is_computed(np.dtype(lower)) and all(_is_as_wide(answer, lower) for answer in own):
        return None
    return compute(right)


def _is_as_wide(answer: Answer, lower: Any) -> bool:
    """Return whether the bound of each element other than 0 is at least half a unit in the last place of a type."""
    size = np.abs(_wide(answer.expected))
    rounding = size * 2.0 ** -format_of(np.dtype(lower)).precision
    counts = np.isfinite(size) & (size > 0)
    return bool(counts.any()) and bool((_bound(answer) >= rounding)[counts].all())


def _aligned_left(run: NodeRun) -> NodeRun | None:
    """Return the node with ones added at the end of the shorter of the first two shapes."""
    first, second, *rest = run.inputs
    assert first is not None
    assert second is not None
    rank = max(first.ndim, second.ndim)
    shapes = [array.shape + (1,) * (rank - array.ndim) for array in (first, second)]
    return run.with_inputs([first.reshape(shapes[0]), second.reshape(shapes[1]), *rest])


def _without_subnormals(array: Array) -> Array:
    smallest = float(format_of(array.dtype).smallest_normal)
    with np.errstate(invalid="ignore"):
        flushed = np.copysign(0.0, array.astype(np.float64)).astype(array.dtype)
    return np.where(np.abs(array.astype(np.float64)) < smallest, flushed, array).astype(array.dtype)


def version_rules(run: NodeRun) -> Iterator[Rule]:
    """Yield the mistake of computing the previous version of the operator, if that allows the node."""
    if run.schema.since_version > 1:
        older = NodeRun(run.node, run.schema.since_version - 1, run.inputs)
        if older.is_allowed():
            yield COMPUTES_OLDER, partial(_if_distinguished, _evaluated(older))


def newest_version_rules(run: NodeRun) -> Iterator[Rule]:
    """Yield the mistake of computing the newest version of the operator, if that allows the node.

    It only names mistakes: the mutants that measure cases are those of `node_mutants`.
    """
    newest = onnx.defs.get_schema(run.node.op_type, normal_domain(run.node.domain)).since_version
    newer = NodeRun(run.node, newest, run.inputs)
    if newest > run.schema.since_version and newer.is_allowed():
        yield COMPUTES_NEWEST, partial(_if_distinguished, _evaluated(newer))


def _if_distinguished(compute: Callable[[Answers], Answers | None], right: Answers) -> Answers | None:
    """Return outputs; None if their bounds and those of the right ones overlap at each element."""
    changed = compute(right)
    if changed is None or (len(changed) == len(right) and not any(map(_is_far, changed, right))):
        return None
    return changed


def output_rules(run: NodeRun, right: Sequence[Array]) -> Iterator[Rule]:
    """Yield mistakes in the outputs of the right computation that are no texts."""
    right = [each for each in right if each.dtype != object]
    changes = {
        "returns NaN as 0": _if_float(FLOAT_READINGS["reads NaN as 0"]),
        "returns the largest number for infinities": _if_float(_without_infinities),
        "returns 0 for -0": _if_float(FLOAT_READINGS["reads -0 as 0"]),
        "returns 0 for subnormal numbers": _if_float(_without_subnormals),
    }
    for mistake, change in changes.items():
        if differs(list(map(change, right)), right):
            yield mistake, _each(change)
    for name in sorted({each.dtype.name for each in right} & {*LOWER_TYPES}):
        lower = LOWER_TYPES[name][0]
        rounding = partial(_rounded_to, name=name, lower=lower)
        if differs(list(map(rounding, right)), right):
            mistake = f"returns {name} rounded to {np.dtype(lower).name}"
            yield mistake, partial(_if_finer, _each(rounding), name, lower)
    for size in VECTOR_SIZES:
        if any(each.size % size for each in right):
            yield f"leaves out the elements after whole vectors of {size}", _each(_zeroed_after(size))
    for threshold in THRESHOLDS:
        if any(each.size > threshold for each in right):
            yield f"returns 0 after {threshold} elements", _each(_zeroed_from(threshold))
    if any(each.ndim >= 2 for each in right):
        yield "leaves out the last row", _each(lambda array: _zeroed_last(array, -2))
        yield "leaves out the last column", _each(lambda array: _zeroed_last(array, -1))
        yield "leaves out the last channel", _each(lambda array: _zeroed_last(array, 1))
    if differs(list(map(_repeated_half, right)), right):
        yield "repeats the first half in the second half", _each(_repeated_half)
    if any(each.shape == (1,) for each in right):
        yield "returns a scalar for one element", _each(lambda a: a.reshape(()) if a.shape == (1,) else a)
    if any(not each.shape for each in right):
        yield "returns one element for a scalar", _each(lambda array: array if array.shape else array.reshape(1))
    for limit in RANK_LIMITS:
        if right and any(each is not None and each.ndim > limit for each in run.inputs):
            yield f"is wrong above rank {limit}", _each(np.zeros_like)


def _each(change: Callable[[Array], Array]) -> Callable[[Answers], Answers | None]:
    """Return a computation that changes every numeric output."""

    def compute(right: Answers) -> Answers | None:
        return [each if each.expected.dtype == object else _changed(each, change(each.expected)) for each in right]

    return compute


def _changed(right: Answer, array: Array) -> Answer:
    """Return an answer with other expected values, and with the bound of the right answer if the shape is the same."""
    return replace(right, expected=array) if array.shape == right.expected.shape else Answer(array)


def _if_float(change: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda array: change(array) if is_computed(array.dtype) else array


def _zeroed_from(start: int) -> Callable[[Array], Array]:
    def change(array: Array) -> Array:
        flat = array.copy().reshape(-1)
        flat[start:] = np.zeros((), array.dtype)
        return flat.reshape(array.shape)

    return change


def _zeroed_after(size: int) -> Callable[[Array], Array]:
    return lambda array: _zeroed_from(array.size - array.size % size)(array)


def _zeroed_last(array: Array, axis: int) -> Array:
    if array.ndim < 2 or not array.size:
        return array
    changed = array.copy()
    index: list[Any] = [slice(None)] * array.ndim
    index[axis] = -1
    changed[tuple(index)] = np.zeros((), array.dtype)
    return changed


def _repeated_half(array: Array) -> Array:
    flat = array.copy().reshape(-1)
    half = flat.size // 2
    flat[half : 2 * half] = flat[:half]
    return flat.reshape(array.shape)


Formula: TypeAlias = Callable[..., Any]


def _float(array: Array) -> Array:
    return array.astype(np.float64)


def _saturated_product(a: Array, b: Array, *zeros: Array) -> Array:
    """Return a product of matrices whose sums of two products saturate at 16 bits; zero points are subtracted after."""
    if any(zero.any() for zero in zeros) or (a.dtype.name, b.dtype.name) != ("uint8", "int8"):
        raise ValueError("the sums have zero points, or the instruction has other types")
    products = a.astype(np.int64)[..., :, :, None] * b.astype(np.int64)[..., None, :, :]
    even = products[..., : products.shape[-2] // 2 * 2, :]
    pairs = np.clip(even[..., ::2, :] + even[..., 1::2, :], -(2**15), 2**15 - 1)
    return np.asarray(pairs.sum(-2) + products[..., even.shape[-2] :, :].sum(-2))


def _rounded_remainder(a: Array, b: Array) -> Array:
    """Return the remainder of a division by a quotient that is rounded in the type of floating-point numbers."""
    if not is_floating(a.dtype):
        raise ValueError("integers")
    return np.asarray(a - (np.trunc(a / b) * b).astype(a.dtype))


def _is_largest(x: Array, name: str) -> Array:
    """Return which numbers are infinite, or at least the largest one of a type."""
    if x.dtype.name != name or not is_floating(x.dtype):
        raise ValueError("another type")
    return np.abs(_float(x)) >= float(format_of(x.dtype).largest)


SPECIAL: Mapping[str, Mapping[str, Formula]] = {
    "Round": {
        "rounds half away from zero": lambda x: np.trunc(_float(x) + np.copysign(0.5, _float(x))),
        "rounds half up": lambda x: np.floor(_float(x) + 0.5),
        "rounds towards zero": lambda x: np.trunc(_float(x)),
    },
    "Div": {
        "rounds the quotient of integers down": lambda a, b: np.floor_divide(a, b) if a.dtype.kind == "i" else a / b
    },
    "Max": {"ignores NaN": lambda *xs: np.fmax.reduce(np.broadcast_arrays(*xs))},
    "Min": {"ignores NaN": lambda *xs: np.fmin.reduce(np.broadcast_arrays(*xs))},
    "Relu": {"returns 0 for NaN": lambda x: np.where(x > 0, x, 0)},
    "Sign": {"returns 0 for NaN": lambda x: np.where(np.isnan(_float(x)), 0, np.sign(_float(x)))},
    "Sigmoid": {"clamps at 18": lambda x: 1 / (1 + np.exp(-np.clip(_float(x), -18, 18)))},
    "Tanh": {"clamps at 5": lambda x: np.tanh(np.clip(_float(x), -5, 5))},
    "Exp": {"clamps at 80": lambda x: np.exp(np.clip(_float(x), -80, 80))},
    "Log": {"returns NaN for 0": lambda x: np.where(_float(x) == 0, np.nan, np.log(_float(x)))},
    "Sqrt": {"takes the absolute value": lambda x: np.sqrt(np.abs(_float(x)))},
    "Reciprocal": {"returns the largest number for 0": lambda x: np.nan_to_num(1 / _float(x), nan=np.nan)},
    "Erf": {"approximates by tanh": lambda x: np.tanh(1.1283791671 * _float(x) + 0.1009 * _float(x) ** 3)},
    "Softplus": {"overflows": lambda x: np.log(1 + np.exp(x))},
    "Softsign": {"forgets the absolute value": lambda x: _float(x) / (1 + _float(x))},
    "IsInf": {
        "takes NaN for an infinity": lambda x: ~np.isfinite(_float(x)),
        **{f"takes the largest {name} for an infinity": partial(_is_largest, name=name) for name in LOWER_TYPES},
    },
    "IsNaN": {"takes infinities for NaN": lambda x: ~np.isfinite(_float(x))},
    "Where": {"swaps the branches": lambda c, x, y: np.where(c, y, x)},
    "Mod": {
        "takes the sign of the dividend": np.fmod,
        "subtracts a rounded multiple": _rounded_remainder,
    },
    "MatMulInteger": {"saturates sums of two products at 16 bits": _saturated_product},
    "Equal": {"takes NaN as equal": lambda a, b: (a == b) | (np.isnan(_float(a)) & np.isnan(_float(b)))},
    "Greater": {"includes equality": lambda a, b: a >= b},
    "Less": {"includes equality": lambda a, b: a <= b},
    "GreaterOrEqual": {"excludes equality": lambda a, b: a > b},
    "LessOrEqual": {"excludes equality": lambda a, b: a < b},
    "And": {"computes Or": lambda a, b: a | b},
    "Or": {"computes Xor": lambda a, b: a ^ b},
    "Xor": {"computes Or": lambda a, b: a | b},
    "Ceil": {"rounds towards zero": lambda x: np.trunc(_float(x))},
    "Floor": {"rounds towards zero": lambda x: np.trunc(_float(x))},
    "PRelu": {"applies the slope to 0 and above": lambda x, s: np.where(x >= 0, x * s, x)},
    "Pow": {"takes the absolute value of the base": lambda x, y: np.power(np.abs(_float(x)), _float(y))},
}
"""Mistakes of one operator as formulas of the operands; they give the first output, before its type."""


def _with_padding_of_same(run: NodeRun, ignored: str) -> NodeRun | None:
    """Return the node with explicit padding that is computed for strides or dilations of 1; None if it has no SAME."""
    given = run.values
    end = given.get("auto_pad", b"").decode()
    weights = next((each for each in run.inputs[1:] if each is not None and each.ndim > 2), None)
    kernel = given.get("kernel_shape") or (weights.shape[2:] if weights is not None else ())
    if end not in {"SAME_UPPER", "SAME_LOWER"} or not kernel or ignored not in given or run.inputs[0] is None:
        return None
    ones = [1] * len(kernel)
    steps = {name: ones if name == ignored else given.get(name, ones) for name in ("strides", "dilations")}
    begins = []
    ends = []
    for size, width, stride, dilation in zip(
        run.inputs[0].shape[2:], kernel, steps["strides"], steps["dilations"], strict=True
    ):
        total = max(((size - 1) // stride) * stride + (width - 1) * dilation + 1 - size, 0)
        begins.append(total // 2 if end == "SAME_UPPER" else total - total // 2)
        ends.append(total - begins[-1])
    return run.with_attribute("auto_pad", None).with_attribute("pads", [*begins, *ends])


def _with_one_period(run: NodeRun) -> NodeRun | None:
    """Return the node with pads of at most a whole axis; None if it does not repeat an axis."""
    first, pads, *_ = (*run.inputs, None)
    axes = _axes(run) or range(0 if first is None else first.ndim)
    if run.values.get("mode") != b"wrap" or first is None or pads is None:
        return None
    sizes = np.array([first.shape[axis] for axis in axes] * 2)
    return _with_input(run, 1, np.minimum(pads, sizes)) if (pads > sizes).any() else None


FIRST_SOFTMAX_OF_ONE_AXIS = 13
"""First version of Softmax that normalizes along one axis, and not along all axes from the given one."""


def order_rules(run: NodeRun) -> Iterator[Rule]:
    """Yield mistakes in the order of integers of TopK: a kernel compares other numbers, and returns the right ones."""
    X, K = run.inputs if len(run.inputs) == 2 else (None, None)
    if X is None or K is None or X.dtype.kind not in "iu":
        return
    compared = {
        f"compares integers as {np.dtype(lower).name}": run.with_inputs([X.astype(lower), K])
        for lower in LOWER_TYPES.get(X.dtype.name, ())
    }
    if not run.values.get("largest", 1):
        negated = run.with_attribute("largest", None).with_inputs([np.negative(X), K])
        compared["compares negated integers"] = negated
    for mistake, other in compared.items():
        yield mistake, partial(_if_distinguished, partial(_with_own_elements, other, X))


def _exponentials(run: NodeRun, right: Answers, computed: Any = None) -> Answers | None:
    """Return the output of Softmax if exponentials of the input as it is are divided by their sum.

    Args:
        computed: the type of the exponentials; None for that of the input.
    """
    X = run.inputs[0]
    is_flat = run.schema.since_version < FIRST_SOFTMAX_OF_ONE_AXIS
    axis = run.values.get("axis", 1 if is_flat else -1)
    if X is None or (is_flat and not X.ndim):
        return None
    places = tuple(range(axis % X.ndim, X.ndim)) if is_flat else axis
    with np.errstate(all="ignore"):
        powers = np.exp(X.astype(computed or X.dtype))
        return [_changed(right[0], (powers / powers.sum(places, keepdims=True)).astype(X.dtype))]


NO_MAXIMUM = "does not subtract the maximum"


def wider_rules(run: NodeRun) -> Iterator[Rule]:
    """Yield the mistakes of Softmax as a kernel makes them that computes in float; they only name mistakes."""
    first = run.inputs[0] if run.node.op_type == "Softmax" else None
    if first is not None and first.dtype.itemsize < np.dtype(np.float32).itemsize:
        yield NO_MAXIMUM, partial(_exponentials, run, computed=np.float32)


def _with_own_elements(other: NodeRun, X: Array, _: Answers) -> Answers | None:
    """Return the indices of another node of TopK, and the elements of a tensor at these indices."""
    found = other.answers()
    if found is None or len(found) < 2:
        return None
    places = found[1].expected.astype(np.int64)
    return [Answer(np.take_along_axis(X, places, other.values.get("axis", -1))), found[1]]


def _with_even_blocks(run: NodeRun) -> NodeRun | None:
    """Return the node with blocks of nearly equal sizes in place of a short last one; None if it has no blocks."""
    first, scale, *rest = run.inputs
    axis = run.values.get("axis", 1)
    if not run.values.get("block_size") or first is None or scale is None:
        return None
    size = first.shape[axis]
    places = np.arange(size) * scale.shape[axis] // max(size, 1)
    spread = [None if each is None else each.take(places, axis) for each in (scale, *rest)]
    return run.with_inputs([first, *spread]).with_attribute("block_size", 1)


def _with_inverse_order(run: NodeRun) -> NodeRun | None:
    """Return the node with the inverse permutation; None if it has none."""
    order = run.values.get("perm")
    return None if order is None else run.with_attribute("perm", [int(place) for place in np.argsort(order)])


def _with_sizes_to_even(run: NodeRun) -> NodeRun | None:
    """Return the node with the sizes that its policy gives if halves become even; None if it has no policy."""
    policy = run.values.get("keep_aspect_ratio_policy", b"stretch")
    first = run.inputs[0]
    sizes = run.inputs[3] if len(run.inputs) > 3 else None
    if policy == b"stretch" or first is None or sizes is None:
        return None
    shape = np.array([first.shape[axis] for axis in run.values.get("axes", range(first.ndim))])
    scales = sizes / shape
    scale = scales.min() if policy == b"not_larger" else scales.max()
    changed = _with_input(run, 3, np.rint(scale * shape).astype(np.int64))
    return changed.with_attribute("keep_aspect_ratio_policy", None)


WINDOW_CHANGES: Mapping[str, Callable[[NodeRun], NodeRun | None]] = {
    f"pads SAME without {name}": partial(_with_padding_of_same, ignored=name) for name in ("strides", "dilations")
}

CHANGES: Mapping[str, Mapping[str, Callable[[NodeRun], NodeRun | None]]] = {
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv", "MaxPool", "AveragePool", "LpPool"), WINDOW_CHANGES),
    "QuantizeLinear": {"spreads the blocks evenly": _with_even_blocks},
    "DequantizeLinear": {"spreads the blocks evenly": _with_even_blocks},
    "Pad": {"repeats an axis only once": _with_one_period},
    "Transpose": {"applies the inverse permutation": _with_inverse_order},
    "Resize": {"rounds sizes of a policy half to even": _with_sizes_to_even},
}
"""Mistakes of one operator as changes of the node; None if the mistake has no meaning on a node."""


ADMISSIBLE: Mapping[str, str] = {
    "reads -0 as 0": "no page of an operator determines the sign of a zero: level should",
    "returns 0 for -0": "no page of an operator determines the sign of a zero: level should",
    "returns 0 for subnormal numbers": "flushed subnormal numbers are within every bound of level must",
    "reads infinities as the largest number": "where a result is near the limit, an overflow may saturate or not",
}
"""Mistakes that level `must` admits on purpose, with the reason."""

EQUIVALENT: Mapping[str, Mapping[str, str]] = {
    "Attention": {"negates softcap": "softcap * tanh(x / softcap) is the same for the negated number"},
    "Dropout": {"ignores the input training_mode": "in training mode the outputs are random"},
    "IsInf": {"reads NaN as 0": "neither NaN nor 0 is an infinity"},
    "LinearClassifier": {"is off by one in multi_class": "the page gives the numbers other than 0 no formula"},
    "OneHotEncoder": {"takes zeros as 0": "with 0, the page allows no category that is not in the list"},
    "SVMRegressor": {
        "is off by one in n_supports": "the number of support vectors repeats a shape unless it is 0",
        "negates n_supports": "the number of support vectors repeats a shape unless it is 0",
    },
    "Shape": {"reads NaN as 0": "the output does not depend on the elements"},
    "Size": {"reads NaN as 0": "the output does not depend on the elements"},
}
"""Mistakes of an operator that change no output that its page determines, with the reason. They are no mutants."""


def special_rules(run: NodeRun) -> Iterator[Rule]:
    """Yield the mistakes that only this operator can have."""
    if run.node.domain not in {"", "ai.onnx"}:
        return
    if all(each is not None for each in run.inputs):
        for mistake, formula in SPECIAL.get(run.node.op_type, {}).items():
            yield mistake, partial(_by_formula, formula, run.inputs)
    if run.node.op_type == "TopK":
        yield from order_rules(run)
    if run.node.op_type == "Softmax":
        yield NO_MAXIMUM, partial(_if_distinguished, partial(_exponentials, run))
    for mistake, change in CHANGES.get(run.node.op_type, {}).items():
        changed = change(run)
        if changed is not None:
            yield mistake, partial(_if_distinguished, _evaluated(changed))


def _by_formula(formula: Formula, inputs: Inputs, right: Answers) -> Answers | None:
    with np.errstate(all="ignore"):
        try:
            result = np.asarray(formula(*inputs))
            first = result.astype(right[0].expected.dtype).reshape(right[0].expected.shape)
            return [_changed(right[0], first), *right[1:]]
        except (TypeError, ValueError):
            return None


SHARE_OF_MISTAKE = 2.0**-10
"""Largest distance of an output from a mutant's output, as a share of the mutant's distance from the right output. A
mutant with a smaller effect is not distinguished from other errors."""


def explaining_mistakes(
    run: NodeRun, actual: Sequence[Array], right: Answers | None = None, among: Collection[str] | None = None
) -> list[str]:
    """Return the mistakes whose outputs are the actual outputs of a node, and are not the right ones.

    They are in the order of the rules, which begin with an attribute that is ignored.

    An output is that of a mutant if it has the same type and shape, and if each element that differs from the right
    value by more than its bound lies near the mutant's value. Two mistakes with the same outputs are both returned.

    Args:
        run: the node with its operands.
        actual: its actual outputs.
        right: its right outputs; None to compute them.
        among: the mistakes that are tried, or None for all.
    """
    answers = run.answers() if right is None else right
    if answers is None or len(answers) < len(actual):
        return []
    found: dict[str, None] = {}
    for mistake, changed in _changed_answers(run, answers, among):
        if len(changed) >= len(actual) and mistake not in ADMISSIBLE:
            pairs = list(zip(actual, changed, answers, strict=False))
            if all(_is_near(*pair) for pair in pairs) and any(is_wrong(each, answer) for each, _, answer in pairs):
                found[mistake] = None
    return list(found)


def failing_mistakes(run: NodeRun, right: Answers, among: Collection[str]) -> set[str]:
    """Return the mistakes of some that give wrong outputs on a node, even if their rounding is the most favourable.

    A mistake that can be computed in several types must be wrong in each of them.
    """
    are_wrong: dict[str, bool] = defaultdict(lambda: True)
    for mistake, changed in _changed_answers(run, right, among):
        is_far = len(changed) != len(right) or any(_is_far(*pair) for pair in zip(changed, right, strict=True))
        are_wrong[mistake] &= is_far
    return {mistake for mistake, is_far in are_wrong.items() if is_far}


def _changed_answers(run: NodeRun, right: Answers, among: Collection[str] | None) -> Iterator[tuple[str, Answers]]:
    """Yield the mistakes that have a meaning on a node, with their outputs."""
    further = (_mutant(run, *rule) for rule in chain(newest_version_rules(run), wider_rules(run)))
    for mutant in chain(node_mutants(run, [answer.expected for answer in right]), further):
        if among is None or mutant.mistake in among:
            changed = mutant.compute(right)
            if changed is not None:
                yield mutant.mistake, changed


def _is_far(changed: Answer, right: Answer) -> bool:
    """Return whether no value within the bounds of a mutant's output is acceptable."""
    a = changed.expected
    b = right.expected
    if a.dtype != b.dtype or a.shape != b.shape:
        return True
    return bool((_distances(a, b) > _bound(changed) + _bound(right)).any())


def differs(changed: Inputs, right: Inputs) -> bool:
    """Return whether two lists of arrays differ in a type, a shape or a bit; NaN equals NaN."""
    return len(changed) != len(right) or any(not _equal(*pair) for pair in zip(changed, right, strict=True))


def _equal(a: Array | None, b: Array | None) -> bool:
    if a is None or b is None:
        return a is b
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool(equal_elements(a, b, with_signs=True).all())


def differs_where_determined(changed: Inputs, right: Answers) -> bool:
    """Return whether outputs differ from the right ones in a type, a shape, or an element that the page determines.

    The page determines no element whose bound is infinite, no sign of a zero that has a bound, and no single integer of
    several within a bound.
    """
    if len(changed) != len(right):
        return True
    for array, answer in zip(changed, right, strict=True):
        expected = answer.expected
        determined = array
        is_like = array is not None and array.dtype == expected.dtype and array.shape == expected.shape
        if is_like and array is not None and answer.bound is not None:
            is_open = np.isinf(answer.bound) | ((array == expected) & (expected == 0))
            if array.dtype.kind in "iu":
                is_open |= _distances(array, expected) <= answer.bound
            determined = np.where(is_open, expected, array)
        if differs([determined], [expected]):
            return True
    return False


def is_wrong(array: Array, answer: Answer) -> bool:
    """Return whether an output is not acceptable."""
    expected = answer.expected
    if array.dtype != expected.dtype or array.shape != expected.shape:
        return True
    if expected.dtype == object:
        return bool((array != expected).any())
    return bool((_distances(array, expected) > _bound(answer)).any())


def _is_near(actual: Array, changed: Answer, right: Answer) -> bool:
    """Return whether an actual output is that of a mutant, within its bound or a share of the mutant's distance."""
    value = changed.expected
    if actual.dtype != value.dtype or actual.shape != value.shape:
        return False
    effect = _distances(value, right.expected) if value.shape == right.expected.shape else np.abs(_wide(value))
    spread = np.where(np.isfinite(effect), effect * SHARE_OF_MISTAKE, 0)
    return bool((_distances(actual, value) <= np.maximum(spread, _bound(changed))).all())


def _wide(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype != object else np.zeros(array.shape)


def _distances(a: Array, b: Array) -> Array:
    """Return `element_distances`; that of two different texts is infinite."""
    if a.dtype == object:
        return np.where(a == b, 0.0, np.inf)
    return element_distances(a, b)


def _bound(answer: Answer) -> Array:
    return np.zeros(answer.expected.shape) if answer.bound is None else answer.bound
