"""Comparison of the outputs of one node with their enclosures.

`enclose_part` computes the enclosures of a node's outputs, or of a sample of them. `NodeComparison` compares outputs
with these enclosures at two levels, and describes the elements that are outside of their bounds.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, starmap
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct

from conformance.base.serialization.printable_text import shorten_middle
from conformance.base.verdicts import Level, Unsupported
from conformance.exact.judgement import samples
from conformance.exact.judgement.distances import (
    Distances,
    are_comparable,
    find_distances,
    is_correctly_rounded,
    output_share,
    relative_error,
)
from conformance.exact.judgement.samples import DeferredTensor, Sample, computed, independent_axes, take_sample
from conformance.exact.models.arrays import element_count, have_same_bits
from conformance.exact.models.graphs import MAIN_DOMAINS, names_taken_by, operator_text
from conformance.exact.reference.enclosures import has_signed_zeros
from conformance.exact.reference.enclosures.earlier_texts import changed_shapes, readings_of
from conformance.exact.reference.enclosures.machine_learning import MAP_OPERATORS
from conformance.exact.reference.enclosures.sequences import stack
from conformance.exact.reference.formulas.elementwise import ELEMENTWISE_ENCLOSURES
from conformance.exact.reference.formulas.linear import dilations, explicit_pads, reduced_axes, strides
from conformance.exact.reference.node_enclosures import WITH_STATES, NodeScope, enclose, enclose_steps
from conformance.exact.reference.nodes import Node, attribute_values
from conformance.exact.reference.numbers.enclosure import Enclosure, read_as
from conformance.exact.reference.tolerances import ERRATA, FORMS, FUNCTIONS, RANGES, forms_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    import onnx

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.numbers.enclosure import Tensor, TensorOrSequence


class JudgedElement(Struct, frozen=True, forbid_unknown_fields=True):
    """An element of an output that a report shows.

    Attributes:
        output: the name of the output.
        index: the position of the element.
        value: the subject's value; NaN for a text.
        expected: the expected value; NaN for a text.
        bound: the largest admissible difference.
        operands: the elements of the node's operands that the element may depend on, as texts.
        texts: for a tensor of strings, the subject's text and the expected text, shortened; otherwise None.
    """

    output: str
    index: tuple[int, ...]
    value: float
    expected: float
    bound: float
    operands: tuple[str, ...] = ()
    texts: tuple[str, str] | None = None

    @property
    def shown(self) -> tuple[float | str, float | str]:
        """The subject's value and the expected value, for a report."""
        return self.texts or (self.value, self.expected)

    @property
    def place(self) -> str:
        """The name of the output and the position of the element."""
        return f"{self.output}[{', '.join(map(str, self.index))}]"

    @property
    def text(self) -> str:
        """The place of the element, its value, and the expected value with its bound, for a report."""
        value, expected = map(number_text, self.shown)
        bound = f" ± {self.bound:.3g}" if self.bound else ""
        return f"{self.place} is {value}, expected {expected}{bound}"

    @classmethod
    def of(
        cls,
        output: str,
        index: tuple[int, ...],
        value: Any,
        expected: Any,
        bound: Any,
        operands: tuple[str, ...] = (),
    ) -> JudgedElement:
        """Return an element with elements of tensors as its values."""
        texts = _shown_texts(value, expected)
        return cls(output, index, as_number(value), as_number(expected), as_number(bound), operands, texts)


@dataclass(frozen=True)
class EnclosedPart:
    """The part of a node that is judged, and the enclosures of its outputs.

    Attributes:
        part: the node, its operands and its outputs, whole or sampled.
        expected: the enclosure of each output, by position.
        is_sample: whether the part is a sample.
        changed_shapes: how the text of the page changed, for each shape of an output by one of both texts only.
        change: how the text changed, if the outputs follow an earlier one throughout; otherwise None.
    """

    part: Sample
    expected: Sequence[TensorOrSequence]
    is_sample: bool
    changed_shapes: Mapping[tuple[int, ...], str]
    change: str | None = None


def enclose_part(
    scope: NodeScope,
    node: onnx.NodeProto,
    known: Mapping[str, TensorOrSequence],
    outputs: Mapping[str, Array],
    sampled_above: int | None,
    check: Callable[[Sample], None] = lambda _: None,
) -> EnclosedPart:
    """Compute the enclosures of the outputs of a node, or of a sample of a large node.

    Args:
        scope: the scope of the node.
        node: the node.
        known: the values of its operands by name.
        outputs: its known outputs by name.
        sampled_above: the number of elements of a tensor above which a sample is judged; None to judge all elements.
        check: raises `Unsupported` for a part that is too large.

    Raises:
        Unsupported: there is no reference for the node, or an operand is not known.
    """
    tensors = {name: each for name, each in known.items() if not isinstance(each, list)}
    sample = None
    if sampled_above is not None and len(tensors) == len(known):
        sample = take_sample(node, scope, tensors, outputs, sampled_above)
    part = Sample(node, tensors, dict(outputs)) if sample is None else sample
    check(part)
    first = node.output[0] if node.output else ""
    if sample is None and not outputs and (product := _product_by_columns(scope, node, known)) is not None:
        return EnclosedPart(part, [product], False, {})
    part.operands = {name: computed(each) for name, each in part.operands.items()}
    given = {**known, **part.operands}
    with np.errstate(all="ignore"):
        if sample is None and node.op_type in WITH_STATES and first in outputs:
            expected = enclose_steps(scope, node, given, outputs[first])
        else:
            expected = enclose(scope, part.node, given, are_returned=first in outputs)
    if node.op_type in MAP_OPERATORS and first in outputs and outputs[first].ndim == 1:
        expected = [each.reshape(-1) if isinstance(each, np.ndarray) else each for each in expected]
    operand = tensors.get(node.input[0]) if node.input else None
    changed = (
        {} if operand is None or isinstance(operand, dict) else changed_shapes(scope.node(node), tuple(operand.shape))
    )
    enclosed = EnclosedPart(part, expected, sample is not None, changed)
    for reading in readings_of(scope.node(part.node)):
        if _contains(enclosed.expected, part):
            break
        with np.errstate(all="ignore"), read_as(reading):
            other = enclose(scope, part.node, given)
        if _contains(other, part):
            changes = "; ".join(ERRATA[name].change for name in sorted(reading))
            enclosed = replace(enclosed, expected=other, change=changes)
    return enclosed


def _product_by_columns(
    scope: NodeScope, node: onnx.NodeProto, known: Mapping[str, TensorOrSequence | DeferredTensor]
) -> Tensor:
    """Return the product with a large deferred matrix, of which some columns are computed at a time.

    None for another node.
    """
    matrix = known.get(node.input[1]) if node.op_type == "MatMul" and node.domain in MAIN_DOMAINS else None
    if not isinstance(matrix, DeferredTensor) or len(matrix.shape) != 2 or node.input[0] == node.input[1]:
        return None
    size = matrix.shape[1]
    count = max(1, samples.SAMPLED_ABOVE // max(1, matrix.shape[0]))
    blocks = [matrix.taken(np.arange(start, min(start + count, size)), 1) for start in range(0, size, count)]
    other = computed(known[node.input[0]])

    def joined(*, is_strict: bool) -> Tensor:
        found = []
        for block in blocks:
            if block is None:
                return None
            with np.errstate(all="ignore"):
                (columns,) = enclose(scope, node, {node.input[0]: other, node.input[1]: block.computed()})
            strict = columns.should if is_strict and isinstance(columns, Enclosure) else None
            found.append(strict or columns)
        return stack(found, -1, joins=True)

    product = joined(is_strict=False)
    if not isinstance(product, Enclosure):
        return product

    def compute_should() -> Enclosure:
        strict = joined(is_strict=True)
        return strict if isinstance(strict, Enclosure) else product

    return replace(product, compute_should=compute_should)


def _contains(expected: Sequence[TensorOrSequence], part: Sample) -> bool:
    """Return whether all known outputs are within the bounds of level `must`."""
    pairs = zip(part.node.output, expected, strict=False)
    known = [(part.outputs[name], tensor) for name, tensor in pairs if name in part.outputs and tensor is not None]
    return all(share is not None and share <= 1 for share in starmap(output_share, known))


@dataclass(frozen=True)
class ComparedOutput:
    """An output beside its enclosure.

    Attributes:
        name: the name of the output.
        position: its position among the outputs of the node.
        actual: the output, or its sampled elements.
        expected: the enclosure.
        shape: the shape of the whole output.
        part: the part of the node that is judged.
        keeps_signs: whether the sign of a zero matters at level `should`.
        place: the place in the output of a tensor of a sequence; empty for an output that is a tensor.
    """

    name: str
    position: int
    actual: Array
    expected: Array | Enclosure
    shape: tuple[int, ...]
    part: Sample
    keeps_signs: bool
    place: tuple[int, ...] = ()

    @cached_property
    def at_must(self) -> Distances:
        """The distances at level `must`."""
        return find_distances(self.actual, self.expected)

    @cached_property
    def at_should(self) -> Distances:
        """The distances at level `should`."""
        strict = (self.expected.should or self.expected) if isinstance(self.expected, Enclosure) else self.expected
        return find_distances(self.actual, strict, has_signed_zeros=self.keeps_signs)

    def distances(self, level: Level) -> Distances:
        """Return the distances at a level."""
        return self.at_must if level is Level.MUST else self.at_should

    def element(self, place: int, level: Level) -> JudgedElement:
        """Return the element at a position of the flat array `actual`."""
        distances = self.distances(level)
        value, expected, bound = (
            np.asarray(each).flat[place] for each in (self.actual, distances.expected, distances.bounds)
        )
        index = tuple(int(each) for each in np.unravel_index(place, self.actual.shape)) if self.actual.shape else ()
        operands = operand_texts(self.part.node, self.part.operands, self.actual.shape, index)
        whole = self.part.locate(self.position, place, self.shape)
        return JudgedElement.of(self.name, (*self.place, *whole), value, expected, bound, operands)


@dataclass(frozen=True)
class Mismatch:
    """What is wrong with an output as a whole.

    Attributes:
        output: the name of the output.
        kind: `output_type`, `output_shape`, `no_array`, or `elements` for a map with other entries.
        text: what is wrong, for a report.
        actual: its type, or its shape.
        expected: what is expected instead.
        wrong: the number of wrong entries of a map.
        entries: the number of all its entries.
    """

    output: str
    kind: str
    text: str
    actual: str = ""
    expected: str = ""
    wrong: int = 0
    entries: int = 0


@dataclass
class LevelCounts:
    """The outputs of a node compared with the bounds of one level; for the fields see `NodeJudgement` of `audit`."""

    undetermined: int = 0
    loose: int = 0
    share: float = 0.0
    worst: JudgedElement | None = None
    noticed: float = 0.0


@dataclass
class NodeComparison:
    """The comparison of the outputs of a node with their enclosures.

    Attributes:
        part: the part of the node that is judged.
        keeps_signs: whether the sign of a zero matters at level `should`.
        infer_shape: returns the shape that onnx infers for an output; None if it infers none.
        changed_shapes: how the text of the page changed, for each shape of an output by one of both texts only.
        outputs: the outputs that have the expected type and shape.
        elements: the number of compared elements.
        in_sequences: the number of those that are in sequences or maps.
        in_maps: the number of those that are in maps.
        unknown: the number of elements of outputs that the reference does not compute.
        mismatches: the outputs with a wrong type or shape, and the wrong sequences.
        disagreement: how the page and onnx's shape inference disagree, for an output with the inferred shape.
        is_empty: whether an output, or an output that the page states, has no elements.
    """

    part: Sample
    keeps_signs: bool
    infer_shape: Callable[[str], tuple[int, ...] | None]
    changed_shapes: Mapping[tuple[int, ...], str]
    outputs: list[ComparedOutput] = field(default_factory=list)
    elements: int = 0
    in_sequences: int = 0
    in_maps: int = 0
    unknown: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)
    disagreement: str | None = None
    is_empty: bool = False

    @classmethod
    def of(
        cls, enclosed: EnclosedPart, infer_shape: Callable[[str], tuple[int, ...] | None], *, has_exact_operands: bool
    ) -> NodeComparison:
        """Return an empty comparison of a node.

        Args:
            enclosed: the part of the node that is judged.
            infer_shape: returns the shape that onnx infers for an output; None if it infers none.
            has_exact_operands: whether the operands of the node are known, and not computed from hidden values.
        """
        keeps_signs = has_exact_operands and has_signed_zeros(enclosed.part.node)
        return cls(enclosed.part, keeps_signs, infer_shape, enclosed.changed_shapes)

    def add(self, name: str, position: int, expected: Tensor, shape: tuple[int, ...]) -> None:
        """Compare an output with its enclosure.

        Args:
            name: the name of the output.
            position: its position.
            expected: its enclosure; None if it is not known.
            shape: the shape of the whole output.
        """
        self._add_tensor(name, position, self.part.outputs[name], expected, shape)

    def _add_tensor(
        self,
        name: str,
        position: int,
        actual: Array,
        expected: Tensor,
        shape: tuple[int, ...],
        place: tuple[int, ...] = (),
    ) -> None:
        self.elements += int(actual.size)
        if expected is None:
            self.unknown += int(actual.size)
            return
        self.is_empty |= 0 in (*actual.shape, *expected.shape)
        if not are_comparable(actual, expected):
            found = f"{name}{list(place) or ''} is {actual.dtype} {list(actual.shape)}"
            if actual.dtype == expected.dtype and self.infer_shape(name) == shape:
                self.disagreement = f"{found}, as onnx's shape inference states; the page states {list(expected.shape)}"
            elif actual.dtype == expected.dtype and shape in self.changed_shapes:
                self.disagreement = f"{found}: {self.changed_shapes[shape]}"
            else:
                text = f"{found}, but must be {expected.dtype} {list(expected.shape)}"
                if actual.dtype == expected.dtype:
                    values = str(list(actual.shape)), str(list(expected.shape))
                    self.mismatches.append(Mismatch(name, "output_shape", text, *values))
                else:
                    values = str(actual.dtype), str(expected.dtype)
                    self.mismatches.append(Mismatch(name, "output_type", text, *values))
        elif actual.size:
            self.outputs.append(
                ComparedOutput(name, position, actual, expected, shape, self.part, self.keeps_signs, place)
            )

    def add_sequence(self, name: str, position: int, expected: Sequence[Any], actual: Any) -> None:
        """Compare an output that must be a sequence.

        Args:
            name: the name of the output.
            position: its position.
            expected: the expected maps and tensors.
            actual: the output.
        """
        count = element_count(expected)
        self.in_sequences += count
        if getattr(actual, "digest", ""):  # a harness sent nothing else
            self.elements += count
            self.unknown += count
        elif not isinstance(actual, (list, tuple)) or len(actual) != len(expected):
            self.elements += count
            must = f"but must be a sequence of {len(expected)}"
            if isinstance(actual, (list, tuple)):
                text = f"{name} has {len(actual)} items, {must}"
                values = f"[{len(actual)}]", f"[{len(expected)}]"
                self.mismatches.append(Mismatch(name, "output_shape", text, *values))
            else:
                own = type(actual).__name__
                self.mismatches.append(Mismatch(name, "output_type", f"{name} is a {own}, {must}", own, "sequence"))
        else:
            for place, (one, other) in enumerate(zip(actual, expected, strict=True)):
                self._add_item(name, position, place, one, other)

    def _add_item(self, name: str, position: int, place: int, actual: Any, expected: Any) -> None:
        if isinstance(expected, dict):
            self.elements += len(expected)
            self.in_maps += len(expected)
            if not have_same_bits(actual, expected):
                text = f"{name}[{place}] has other entries than those that the page states"
                given = actual if isinstance(actual, dict) else {}
                keys = expected.keys() | given.keys()
                wrong = [
                    key for key in keys if not have_same_bits(*({key: each.get(key)} for each in (given, expected)))
                ]
                self.mismatches.append(Mismatch(name, "elements", text, wrong=len(wrong), entries=len(keys)))
        elif isinstance(actual, np.ndarray):
            self._add_tensor(name, position, actual, expected, actual.shape, (place,))
        else:
            text = f"{name}[{place}] is a {type(actual).__name__}, but must be a tensor"
            self.mismatches.append(Mismatch(name, "no_array", text, type(actual).__name__))

    def counts(self, level: Level) -> LevelCounts:
        """Return the number of elements without a useful bound of a level, and the worst element."""
        counts = LevelCounts(undetermined=self.unknown)
        for output in self.outputs:
            distances = output.distances(level)
            counts.undetermined += int(np.count_nonzero(distances.undetermined))
            counts.loose += int(np.count_nonzero(distances.loose))
            counts.noticed = max(counts.noticed, distances.smallest_noticed)
            share = float(distances.shares.max())
            if share > 1 and (share > counts.share or counts.worst is None):
                counts.worst = output.element(int(np.argmax(distances.shares)), level)
            counts.share = max(share, counts.share)
        if self.mismatch is not None and level is Level.MUST:
            counts.share = math.inf
        return counts

    @property
    def mismatch(self) -> str | None:
        """What is wrong with an output as a whole, for a report; otherwise None."""
        return self.mismatches[-1].text if self.mismatches else None

    @property
    def unspecified(self) -> int:
        """The number of elements for which the page of the operator states no result."""
        return sum(int(np.count_nonzero(output.at_must.unspecified)) for output in self.outputs)

    @property
    def open_element(self) -> JudgedElement | None:
        """The first element for which the page of the operator states no result."""
        for output in self.outputs:
            if output.at_must.unspecified.any():
                return output.element(int(np.argmax(output.at_must.unspecified)), Level.MUST)
        return None

    @property
    def silences(self) -> set[str]:
        """The names of the sentences that the page lacks."""
        return {name for output in self.outputs for name in getattr(output.expected, "silences", ())}

    @property
    def is_correctly_rounded(self) -> bool:
        """Whether each element is the exact result, rounded once to its type; not for maps."""
        return self.elements > self.in_maps == 0 and all(
            is_correctly_rounded(each.actual, np.asarray(each.at_must.expected)) for each in self.outputs
        )

    @property
    def introduced(self) -> float:
        """The largest error, relative to the largest magnitude of the output."""
        errors = (relative_error(output.actual, np.asarray(output.at_must.expected)) for output in self.outputs)
        return max(errors, default=0.0)


MAX_TEXT_LENGTH = 200
"""Maximum number of characters of a text that a report shows."""


def _shown_texts(actual: Any, expected: Any) -> tuple[str, str] | None:
    """Return two elements of tensors of strings, shortened; None for other elements."""
    if not (isinstance(actual, str) and isinstance(expected, str)):
        return None
    return shorten_middle(actual, MAX_TEXT_LENGTH), shorten_middle(expected, MAX_TEXT_LENGTH)


def as_number(element: Any) -> float:
    """Return an element as a number of Python; NaN for a text."""
    if isinstance(element, str):
        return math.nan  # also for "inf"
    try:
        return int(element) if np.asarray(element).dtype.kind in "iu" else float(element)
    except (TypeError, ValueError):
        return math.nan


def bound_source(
    op_type: str, domain: str, element_type: str | None, level: Level, *, is_exact: bool, node_count: int = 1
) -> str:
    """Return where the bound of an element comes from.

    Args:
        op_type: the operator.
        domain: its domain.
        element_type: the element type of the output.
        level: the level of the bound.
        is_exact: whether the element must equal the expected value.
        node_count: the number of nodes over which the bound is composed.
    """
    if is_exact:
        return f"{op_type} has exact results, also for the sign of zero" if level is Level.SHOULD else "exact result"
    source = f"bound of {operator_text(op_type, domain)} in {element_type} at level {level}"
    if node_count > 1:
        source += f", composed over {node_count} nodes"
    function = FUNCTIONS.get(op_type.lower())
    if function is not None and element_type:
        source += f", {function.ulps(element_type, is_strict=level is Level.SHOULD):g} ULP of the function"
    if domain in MAIN_DOMAINS and op_type in RANGES and element_type:
        source += ", within the range of the function"
    if op_type in FORMS:
        forms = [FORMS[op_type][form] for form in forms_of(op_type, level)]
        source += f", for the forms {' and '.join(forms)}"
    return source


MAX_ROW = 6
"""Elements of a row that are shown: the first ones and the last one."""

MAX_OPERANDS = 9
"""Operands that are shown."""

_SHAPE_ONLY = 25
"""The opset of a node whose attributes are read here: no axis depends on it, except that of an old Softmax."""

Place: TypeAlias = "tuple[Any, ...]"
"""A part of an operand, as an index of NumPy."""


@dataclass(frozen=True)
class _Element:
    """An element of an output, with the node and its operands; None for an operand that is left out or not known.

    Attributes:
        node: the node.
        operands: its operands.
        shape: the shape of the output.
        index: the position of the element in the output.
    """

    node: Node
    operands: Sequence[Tensor | None]
    shape: tuple[int, ...]
    index: tuple[int, ...]

    def shape_of(self, position: int) -> tuple[int, ...]:
        """Return the shape of a known operand."""
        operand = self.operands[position]
        return () if operand is None else tuple(operand.shape)


def operand_texts(
    node: onnx.NodeProto, known: Mapping[str, Tensor], shape: tuple[int, ...], index: tuple[int, ...]
) -> tuple[str, ...]:
    """Return the elements of the operands that an element may depend on.

    Args:
        node: the node.
        known: its operands by name.
        shape: the shape of the output.
        index: the position of the element in the output.
    """
    names = [*node.input, *(name for name in names_taken_by(node) if name not in node.input)]
    found = [tensor if hasattr(tensor, "shape") else None for tensor in map(known.get, names)]  # a map has none
    read = Node(node.op_type, tuple(names), tuple(node.output), attribute_values(node.attribute), _SHAPE_ONLY)
    element = _Element(read, found, shape, index)
    find = _PLACES.get(node.op_type, _independent_part) if node.domain in MAIN_DOMAINS else _whole
    texts: list[str] = []
    for position, (name, tensor) in enumerate(zip(names, found, strict=True)):
        if tensor is not None and len(texts) < MAX_OPERANDS:
            with suppress(IndexError, ValueError, TypeError, ZeroDivisionError, Unsupported):  # a malformed node
                texts.append(f"{name} = {_text(tensor, find(element, position))}")
    return tuple(dict.fromkeys(texts))


def _whole(element: _Element, position: int) -> Place:
    return tuple(slice(None) for _ in element.shape_of(position))


def _independent_part(element: _Element, position: int) -> Place:
    """Return an operand without what other elements depend on, as far as the axes of samples show it."""
    place = list(_whole(element, position))
    results = [np.broadcast_to(np.float32(0), element.shape)] if len(element.node.outputs) == 1 else []
    for axis in independent_axes(element.node, element.operands, results) if results else ():
        if position in axis.inputs and position not in axis.inner:
            place[axis.inputs[position]] = element.index[axis.outputs[0]]
    return tuple(place)


def _broadcast(element: _Element, position: int) -> Place:
    """Return the element that broadcasting moves to the index of the output."""
    own = element.shape_of(position)
    last = element.index[len(element.index) - len(own) :]
    return tuple(0 if size == 1 else place for size, place in zip(own, last, strict=True))


def _matmul(first: int, second: int, of_rows: Container[int]) -> _Find:
    """Return the places in a product of matrices.

    Args:
        first: the position of the first matrix.
        second: the position of the second matrix.
        of_rows: the positions of the scales and zero points that may have an element for each row of the first matrix;
            those of the second matrix have one for each column.
    """

    def find(element: _Element, position: int) -> Place:
        own = element.shape_of(position)
        ranks = [len(element.shape_of(each)) for each in (first, second)]
        count = min(1, ranks[0] - 1) + min(1, ranks[1] - 1)  # of rows and columns in the index of the output
        batch = element.index[: len(element.index) - count]
        row = element.index[len(batch) : len(batch) + 1]
        column = element.index[len(element.index) - 1 :]
        if position not in (first, second):
            is_one = len(own) != 1 or own[0] == 1
            return _whole(element, position) if is_one else row if position in of_rows else column
        if len(own) == 1:
            return (slice(None),)
        last = batch[len(batch) - len(own) + 2 :]
        outer = tuple(0 if size == 1 else place for size, place in zip(own, last, strict=False))
        return (*outer, *row, slice(None)) if position == first else (*outer, slice(None), *column)

    return find


def _gemm(element: _Element, position: int) -> Place:
    flags = [bool(element.node.attributes.get(name, 0)) for name in ("transA", "transB")]
    if position > 1:
        return _broadcast(element, position)
    line: Place = (element.index[position],)
    return (*line, slice(None)) if flags[position] == bool(position) else (slice(None), *line)


def _along_axis(*, to_last: bool = False) -> _Find:
    """Return the places in the line along an axis of the first operand, or in the part from there to the last axis."""

    def find(element: _Element, position: int) -> Place:
        own = element.shape_of(position)
        if position > 0 or own != element.shape:
            return _whole(element, position)
        axis = element.node.attributes.get("axis", -1) % len(own)
        last = len(own) - 1 if to_last else axis
        return tuple(slice(None) if axis <= each <= last else place for each, place in enumerate(element.index))

    return find


def _reduction(element: _Element, position: int) -> Place:
    if position > 0:
        return _whole(element, position)
    rank = len(element.shape_of(0))
    if element.node.op_type in ("ArgMax", "ArgMin"):
        reduced: Sequence[int] = [element.node.attributes.get("axis", 0) % rank]
    else:
        reduced = reduced_axes(element.node, element.operands, rank) or ()
    kept = iter(element.index)
    has_all = bool(element.node.attributes.get("keepdims", 1))
    place: list[Any] = []
    for axis in range(rank):
        if axis in reduced:
            place.append(slice(None))
            if has_all:
                next(kept)
        else:
            place.append(next(kept))
    return tuple(place)


def _window(filters: int | None = None, bias: int | None = None, channels: Sequence[int] = ()) -> _Find:
    """Return the places in a window of the first operand, without padding.

    Args:
        filters: the position of the filters of a convolution; None for pooling.
        bias: the position of the bias.
        channels: the positions of operands with an element for each output channel, or with one element.
    """

    def find(element: _Element, position: int) -> Place:
        index = element.index
        if position == filters:
            return (index[1], *(slice(None) for _ in element.shape_of(position)[1:]))
        if position == bias or (position in channels and len(element.shape_of(position)) == 1):
            return (index[1] if element.shape_of(position)[0] > 1 else 0,)
        if position > 0:
            return _whole(element, position)
        sizes = element.shape_of(0)[2:]
        weights = () if filters is None else element.shape_of(filters)
        kernel = element.node.attributes.get("kernel_shape") or weights[2:]
        steps = strides(element.node, len(sizes))
        gaps = dilations(element.node, len(sizes))
        places: list[Any] = [index[0], index[1]]
        if weights:
            groups = element.node.attributes.get("group", 1)
            group = index[1] // (weights[0] // groups)
            places[1] = slice(group * weights[1], (group + 1) * weights[1])
        pads = explicit_pads(element.node, sizes, kernel)
        for axis, (size, width) in enumerate(zip(sizes, kernel, strict=True)):
            start = index[2 + axis] * steps[axis] - pads[axis][0]
            begin = start if start >= 0 else start + -(start // gaps[axis]) * gaps[axis]
            places.append(slice(begin, max(0, min(size, start + (width - 1) * gaps[axis] + 1)), gaps[axis]))
        return tuple(places)

    return find


def _global_window(element: _Element, position: int) -> Place:
    return (*element.index[:2], *_whole(element, position)[2:])


def _quantized(element: _Element, position: int) -> Place:
    """Return the element, and its scale and zero point: of the tensor, of the index of an axis, or of a block."""
    own = element.shape_of(position)
    axis = element.node.attributes.get("axis", 1) % max(1, len(element.shape))
    if position == 0 or own == ():
        return element.index if own else ()
    if len(own) == 1:
        return (element.index[axis] if own[0] > 1 else 0,)
    block = element.node.attributes.get("block_size", 0) or 1
    return tuple(place // block if each == axis else place for each, place in enumerate(element.index))


_Find: TypeAlias = "Callable[[_Element, int], Place]"

_WITHOUT_FORMULA = [
    "And",
    "Ceil",
    "Cast",
    "Clip",
    "Equal",
    "Floor",
    "Greater",
    "GreaterOrEqual",
    "IsInf",
    "IsNaN",
    "Less",
    "LessOrEqual",
    "Max",
    "Min",
    "Mod",
    "Neg",
    "Not",
    "Or",
    "Pow",
    "Abs",
    "Relu",
    "Round",
    "Sign",
    "ThresholdedRelu",
    "Where",
    "Xor",
]
"""Elementwise operators that have exact results, or more than one operand."""

_ELEMENTWISE = (*ELEMENTWISE_ENCLOSURES, *_WITHOUT_FORMULA)

_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")

_PLACES: Mapping[str, _Find] = {
    **dict.fromkeys(_ELEMENTWISE, _broadcast),
    "MatMul": _matmul(0, 1, ()),
    "MatMulInteger": _matmul(0, 1, (2,)),
    "QLinearMatMul": _matmul(0, 3, (1, 2)),
    "Gemm": _gemm,
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax", "LpNormalization"), _along_axis()),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _along_axis(to_last=True)),
    **dict.fromkeys((*(f"Reduce{name}" for name in _REDUCTIONS), "ArgMax", "ArgMin"), _reduction),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), _window()),
    **dict.fromkeys(("Conv", "ConvInteger"), _window(1, 2, (3,))),
    "QLinearConv": _window(3, 8, (4, 5)),
    **dict.fromkeys(("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"), _global_window),
    **dict.fromkeys(("DequantizeLinear", "QuantizeLinear"), _quantized),
}
"""For each operator, the function that returns the part of an operand on which an element depends."""


def _text(tensor: Tensor, place: tuple[Any, ...]) -> str:
    values, errors = (
        (tensor.value, tensor.error) if isinstance(tensor, Enclosure) else (np.asarray(tensor), np.zeros(()))
    )
    part = np.asarray(values[place])
    if part.ndim:
        return _row(part)
    error = float(np.asarray(errors[place] if errors.ndim else errors))
    return f"{number_text(part)} ± {error:.2g}" if error else number_text(part)


def _row(part: Array) -> str:
    if part.size <= MAX_ROW:
        return f"[{', '.join(map(number_text, part.flat))}]"
    first = ", ".join(number_text(each) for each in islice(part.flat, MAX_ROW - 1))
    return f"[{first}, …, {number_text(part.flat[part.size - 1])}] ({part.size} elements)"


def number_text(element: Any) -> str:
    """Return the digits of an element: nine of a number with a fraction, and all of an integer. A text is quoted."""
    if isinstance(element, str):
        return repr(element)
    try:
        return str(int(element)) if np.asarray(element).dtype.kind in "iu" else f"{float(element):.9g}"
    except (TypeError, ValueError):
        return repr(element)[:40]
