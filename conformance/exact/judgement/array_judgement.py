"""The functions of the Python interface that judge arrays: `judge`, `assert_conforms` and `evaluate`.

A call of an operator is judged as a model of one node. In a model of several nodes, the bounds of an output are
composed over all nodes from the inputs. Bounds that are composed over many nodes are wide; `audit_model` judges each
node on its own.
"""

from __future__ import annotations

import html
import math
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from conformance.base.errors import UnknownName, UsageError
from conformance.base.serialization.printable_text import first_line
from conformance.base.verdicts import Level, Unsupported
from conformance.exact.declarations.exact_sums import summed_terms
from conformance.exact.judgement.distances import find_distances, noticed_text
from conformance.exact.judgement.given_arrays import whole_number
from conformance.exact.judgement.node_comparison import (
    NodeComparison,
    bound_source,
    enclose_part,
    number_text,
)
from conformance.exact.judgement.operator_call import OperatorCall, call_of_model, call_of_operator
from conformance.exact.models.arrays import element_count, is_floating, type_name
from conformance.exact.models.graphs import count_local_uses, is_operator, names_taken_by, normal_domain, operator_text
from conformance.exact.models.input_files import inferred_output_shapes
from conformance.exact.models.spec_text import specification_text
from conformance.exact.reference.enclosures.random_values import RANDOM_ENCLOSURES
from conformance.exact.reference.node_enclosures import LiveValues, NodeScope, enclose_by_any_text
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.exact.reference.oracle import EVALUATION_ERRORS
from conformance.exact.reference.oracle import evaluate as evaluate_exactly

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator, Mapping
    from typing import TypeAlias

    from conformance.exact.judgement.node_comparison import ComparedOutput
    from conformance.exact.judgement.operator_call import Values
    from conformance.exact.models.arrays import Array

    ModelOrOperator: TypeAlias = "str | onnx.ModelProto | bytes | os.PathLike[str]"
    """The name of an operator, a model of onnx, its bytes, or the path of its file."""

MAX_WRONG_ELEMENTS = 100
"""Number of wrong elements that a judgement describes; it counts all of them."""

MAX_SHOWN_ELEMENTS = 5
"""Number of wrong elements in the text of a judgement."""

MAX_EXACT_ELEMENTS = 4096
"""Number of elements of a tensor up to which `evaluate` computes with exact numbers, and not in double precision."""

MAX_PASSAGE = 300
"""Number of characters of the operator's page that a wrong element quotes."""

UNDETERMINED = "every value is admissible, for example after an overflow"

REASONS = {
    "unspecified": "the page of the operator states no result",
    "undetermined": UNDETERMINED,
    "loose": "the bound is larger than the expected value, so that 0 is admissible too",
}
"""Why compared elements are not judged, by the name of the mask in `Distances`."""

NOTHING_JUDGED = "no value would be wrong here: give other operands, or leave the assertion out"
"""The line that `assert_conforms` adds to its message if no element was judged."""

RANDOM = "the operator returns random values, of which only type, shape and range are judged"

LEFT_OUT = "left out of the sample"

ALWAYS_COUNTED = frozenset({LEFT_OUT, RANDOM, *REASONS.values()})
"""Reasons that a judgement leaves out if they hold for no element."""

LARGEST_WHOLE_DOUBLE = 2.0**53
"""Size from which a number of type double has no neighbours that are 1 apart."""

JUDGED_LEVELS = [str(Level.MUST), str(Level.SHOULD)]
"""Names of the levels at which results are judged."""


@dataclass(frozen=True)
class WrongElement:
    """An element of an output that is outside of its bound.

    Attributes:
        output: the name of the output.
        index: the position of the element.
        value: the given value, a number or a text.
        expected: the exact value; several admissible forms of a computation have it in their middle.
        bound: the largest admissible difference; 0 if the element must be equal.
        level: `must` if the bound of this level is exceeded, and otherwise `should`.
        source: where the bound comes from.
        passage: the part of the specification that states the result, with its first words.
        operands: the elements of the operands from which the element may be computed, as texts.
    """

    output: str
    index: tuple[int, ...]
    value: float | str
    expected: float | str
    bound: float
    level: Level
    source: str
    passage: str
    operands: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.text()}; {self.source}"

    def text(self, known: Collection[str] = ()) -> str:
        """Return the element, its value, the bound and the operands, apart from operands that are known already."""
        text = f"{self.output}[{', '.join(map(str, self.index))}] is {number_text(self.value)}"
        text += f", expected {number_text(self.expected)}"
        if self.bound:
            distance = abs(float(self.value) - float(self.expected)) / self.bound
            text += f" ± {self.bound:.3g}"
            text += f" ({distance:.3g} times the bound)" if math.isfinite(distance) else ""
        operands = ", ".join(each for each in self.operands if each not in known)
        return f"{text}; {operands}" if operands else text


@dataclass(frozen=True)
class Judgement:
    """The judgement of the outputs of a model or of an operator.

    It is true if everything that the specification determines is admissible, and at least one element was judged.

    Attributes:
        title: the operator with its version, or the name of the model's graph.
        level: the level of the bounds.
        elements: the number of elements of all outputs.
        judged: the number of elements that have a bound which a wrong value exceeds.
        wrong: the number of elements outside of their bounds.
        wrong_elements: the worst of them, at most `MAX_WRONG_ELEMENTS`.
        faults: what is wrong with the type or the shape of an output, or with a sequence.
        not_judged: the number of elements that were not judged, by reason.
        share: the largest difference as a share of the bound; infinite for an element that must be equal and differs.
        noticed: the smallest relative error that would be wrong if all elements of any output had it; infinite if none
            would be.
        terms: the number of terms of each sum of the operator; 1 if it has none.
    """

    title: str
    level: Level
    elements: int = 0
    judged: int = 0
    wrong: int = 0
    wrong_elements: tuple[WrongElement, ...] = ()
    faults: tuple[str, ...] = ()
    not_judged: Mapping[str, int] = field(default_factory=dict)
    share: float = 0.0
    noticed: float = 0.0
    terms: int = 1

    def __bool__(self) -> bool:
        return not self.is_wrong and self.is_judged

    @property
    def is_wrong(self) -> bool:
        """Whether an output has a wrong type, a wrong shape or a wrong element."""
        return bool(self.wrong or self.faults)

    @property
    def is_judged(self) -> bool:
        """Whether a wrong value could have been found; outputs without elements are judged by type and shape."""
        return self.judged > 0 or (not self.elements and not self.not_judged)

    @property
    def verdict(self) -> str:
        """`wrong`, `admissible`, or `not judged`."""
        return "wrong" if self.is_wrong else "admissible" if self.is_judged else "not judged"

    @property
    def summary(self) -> str:
        """The verdict and the numbers of elements, in one line."""
        text = f"{self.title} is {self.verdict} at level {self.level}"
        if self.faults:
            return f"{text}: {'; '.join(self.faults)}"
        text += f": {self.judged:,} of {self.elements:,} elements judged"
        if self.wrong:
            return f"{text}, {self.wrong:,} wrong"
        return f"{text}, largest error {self.share:.2g} of the bound" if self.judged else text

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def __repr__(self) -> str:
        return str(self)  # what pytest shows of `assert judgement`

    def _lines(self) -> Iterator[str]:
        yield self.summary
        if self.judged and self.noticed and not self.is_wrong:
            yield f"  smallest noticed error of all elements: {noticed_text(self.noticed, self.terms)}"
        shown = self.wrong_elements[:MAX_SHOWN_ELEMENTS]
        known: set[str] = set()
        for element in shown:
            yield f"  {element.text(known)}"
            known |= {*element.operands}
        if self.wrong > MAX_SHOWN_ELEMENTS:
            yield f"  and {self.wrong - MAX_SHOWN_ELEMENTS:,} more"
        yield from (f"  {source}" for source in dict.fromkeys(element.source for element in shown))
        for passage in dict.fromkeys(element.passage for element in self.wrong_elements):
            yield f"  {passage}"
        yield from (f"  not judged, {count:,}: {reason}" for reason, count in self.not_judged.items())

    def _repr_html_(self) -> str:
        """Return the judgement for a notebook; all texts are escaped."""
        cell = html.escape
        shown = self.wrong_elements[:MAX_SHOWN_ELEMENTS]
        rows = "".join(
            f"<tr><td>{cell(each.output)}{list(each.index)}</td><td>{cell(number_text(each.value))}</td>"
            f"<td>{cell(number_text(each.expected))}</td><td>{each.bound:.3g}</td><td>{each.level}</td>"
            f"<td>{cell('; '.join(each.operands))}</td></tr>"
            for each in shown
        )
        head = "".join(f"<th>{name}</th>" for name in ("element", "value", "expected", "bound", "level", "operands"))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
        notes = [f"and {self.wrong - len(shown):,} more"] if self.wrong > len(shown) else []
        notes += dict.fromkeys(text for each in shown for text in (each.source, each.passage))
        notes += [f"not judged, {count:,}: {reason}" for reason, count in self.not_judged.items()]
        items = "".join(f"<li>{cell(note)}</li>" for note in notes)
        return f"<p>{cell(self.summary)}</p>{table}{f'<ul>{items}</ul>' if items else ''}"


@dataclass(frozen=True)
class AdmissibleOutput:
    """The admissible values of one output. Elements for which the specification states no result are masked.

    Attributes:
        name: the name of the output.
        value: the exact value, rounded once to the element type. In tensors of more than `MAX_EXACT_ELEMENTS` elements,
            and for operators without exact arithmetic, it is the value of double precision, rounded to the type.
        lower: the smallest admissible number of the element type; minus infinity, or the smallest integer, if every
            value is admissible.
        upper: the largest one.
    """

    name: str
    value: np.ma.MaskedArray[Any, Any]
    lower: np.ma.MaskedArray[Any, Any]
    upper: np.ma.MaskedArray[Any, Any]


def judged_level(name: str) -> Level:
    """Return the level of a name: `must` or `should`.

    Raises:
        UnknownName: no result is judged at this level, or it does not exist.
    """
    if name not in JUDGED_LEVELS:
        raise UnknownName("value", kind="level", name=name, known=JUDGED_LEVELS)
    return Level(name)


def judge(
    model_or_operator: ModelOrOperator,
    inputs: Values,
    outputs: Values,
    /,
    *,
    opset: int | None = None,
    level: str = Level.MUST,
    max_elements: int | None = None,
    **attributes: Any,
) -> Judgement:
    """Judge the outputs of an operator or of a model by the bounds of the exact result.

    `judge("Softmax", [x], [y], axis=-1)` judges y. Arrays may be of NumPy, PyTorch, JAX, CuPy or tinygrad.

    Args:
        model_or_operator: the name of an operator, with its domain unless that is the main domain; or a model: a
            ModelProto, its bytes, or the path of its file.
        inputs: the inputs, by name or in order. None leaves an optional input out; a list is a sequence.
        outputs: the outputs, by name or in order. None leaves an output out of the judgement.
        opset: the version of the operator's domain; None for the newest one of the installed onnx.
        level: `must` or `should`; the bounds of `should` are narrower.
        max_elements: a tensor with more elements is judged on a sample with a fixed seed; None judges all elements.
        attributes: the attributes of the operator. A model stores numbers such as 0.8 in float. Outputs are also
            right if they all conform to the number as given, which a kernel in double may have.

    Raises:
        ConformanceError: there is no such operator, attribute or input, onnx rejects the node, the model cannot be
            read, or a value is no array.
    """
    call = _call(model_or_operator, inputs, attributes, opset, outputs)
    limit = None if max_elements is None else whole_number(max_elements, "max_elements")
    given = call.outputs_by_name(outputs)
    found = _OutputJudge(call, given, judged_level(level), limit).judge()
    if found.is_wrong and call.exact_attributes:
        other = _OutputJudge(call, given, judged_level(level), limit, call.exact_attributes).judge()
        return other if other.is_judged and not other.is_wrong else found
    return found


def assert_conforms(
    model_or_operator: ModelOrOperator,
    inputs: Values,
    outputs: Values,
    /,
    *,
    opset: int | None = None,
    level: str = Level.MUST,
    max_elements: int | None = None,
    **attributes: Any,
) -> None:
    """Raise an error if `judge` does not judge the outputs, or finds them wrong; for the arguments see `judge`.

    Raises:
        AssertionError: an output is wrong, or no element was judged. Its text is that of the judgement.
        ConformanceError: see `judge`.
    """
    __tracebackhide__ = True  # pytest shows the caller
    judgement = judge(
        model_or_operator, inputs, outputs, opset=opset, level=level, max_elements=max_elements, **attributes
    )
    if not judgement:
        raise AssertionError(str(judgement) if judgement.is_wrong else f"{judgement}\n  {NOTHING_JUDGED}")


def evaluate(
    model_or_operator: ModelOrOperator,
    inputs: Values,
    /,
    *,
    opset: int | None = None,
    level: str = Level.MUST,
    output_count: int | None = None,
    **attributes: Any,
) -> list[AdmissibleOutput]:
    """Return the exact outputs of an operator or of a model, with the smallest and the largest admissible values.

    Args:
        model_or_operator: the operator or the model; see `judge`.
        inputs: the inputs, by name or in order.
        opset: the version of the operator's domain; None for the newest one of the installed onnx.
        level: `must` or `should`.
        output_count: the number of outputs of the operator; None for those that every node of the operator has.
        attributes: the attributes of the operator; numbers have the values of type float that a model stores.

    Raises:
        ConformanceError: the reference does not compute an output, an output is no tensor, or see `judge`.
    """
    count = None if output_count is None else whole_number(output_count, "output_count")
    call = _call(model_or_operator, inputs, attributes, opset, count)
    nodes = call.model.graph.node
    values = LiveValues(call.values, nodes, kept=call.output_names.values())
    scope = NodeScope.of(call.model)
    most = max(map(element_count, values.values()), default=0)
    try:
        for number, node in enumerate(nodes):
            if not (is_operator(node, "Constant") and node.output[0] in values):
                for name, each in zip(node.output, enclose_by_any_text(scope, node, values), strict=False):
                    values.add(name, each if call.is_operator else _unrounded(each))
                    most = max(most, element_count(each))
            values.drop(number, node)
        exact = _exact_outputs(call, most)
        return [
            _admissible_output(name, values.get(own), exact.get(own), judged_level(level))
            for name, own in call.output_names.items()
        ]
    except Unsupported as error:
        raise UsageError("not-evaluable", title=call.title, reason=error) from None
    except EVALUATION_ERRORS as error:
        reason = f"the reference fails with {type(error).__name__}: {first_line(error)}"
        raise UsageError("not-evaluable", title=call.title, reason=reason) from error


def _call(
    given: ModelOrOperator, inputs: Values, attributes: Mapping[str, Any], opset: int | None, outputs: Any
) -> OperatorCall:
    if isinstance(given, str):
        return call_of_operator(given, inputs, attributes, opset=opset, outputs=outputs)
    if attributes or opset is not None:
        raise UsageError("attributes-of-model", names=sorted([*attributes, *(["opset"] if opset is not None else [])]))
    return call_of_model(given, inputs)


def _unrounded(tensor: Any) -> Any:
    return tensor.unrounded() if isinstance(tensor, Enclosure) else tensor


def _exact_outputs(call: OperatorCall, most: int) -> dict[str, Any]:
    """Return the outputs by exact arithmetic; none if a tensor is large or an operator has no exact arithmetic.

    Args:
        call: the call.
        most: the number of elements of its largest value.
    """
    if most > MAX_EXACT_ELEMENTS or not all(isinstance(each, np.ndarray) for each in call.values.values()):
        return {}
    try:
        found = evaluate_exactly(call.model, call.values)
    except (Unsupported, *EVALUATION_ERRORS):
        return {}
    return dict(zip((value.name for value in call.model.graph.output), found, strict=True))


def _admissible_output(name: str, tensor: Any, exact: Any, level: Level) -> AdmissibleOutput:
    """Return the admissible values of an output from its enclosure.

    Raises:
        Unsupported: the output is not known, or is a sequence.
    """
    if tensor is None or not isinstance(tensor, (np.ndarray, Enclosure)):
        raise Unsupported(f"{name} is not known, or is no tensor")
    if not isinstance(tensor, Enclosure):
        whole = np.ma.MaskedArray(tensor)
        return AdmissibleOutput(name, whole, whole, whole)
    enclosure = (tensor.should or tensor) if level is not Level.MUST else tensor
    dtype = enclosure.dtype
    value = np.broadcast_to(np.asarray(enclosure.value), enclosure.shape)
    error = np.broadcast_to(np.asarray(enclosure.error), enclosure.shape)
    is_unbounded = ~np.isfinite(error) & np.isfinite(value.astype(np.float64))
    mask = np.zeros(value.shape, bool) if enclosure.unspecified is None else np.asarray(enclosure.unspecified, bool)
    with np.errstate(all="ignore"):
        if is_floating(dtype):
            rounded = value.astype(dtype)
            lower, upper = (_end(rounded, value, error, is_unbounded, enclosure, sign) for sign in (-1, 1))
            if isinstance(exact, np.ndarray) and exact.dtype == dtype and exact.shape == value.shape:
                is_near = find_distances(np.ascontiguousarray(exact), enclosure).shares <= 1
                rounded = np.where(is_near, exact, rounded)
        elif dtype.kind in "iu":
            rounded, lower, upper = (_integer_end(value, error, is_unbounded, dtype, sign) for sign in (0, -1, 1))
            rounded = np.clip(rounded, lower, upper)
        else:
            rounded = value.astype(dtype)
            distance = np.where(is_unbounded, 0, error)
            lower = np.ceil(value - distance).astype(dtype)
            upper = np.floor(value + distance).astype(dtype)
    parts = (np.ma.MaskedArray(part, mask) for part in (rounded, lower, upper))
    return AdmissibleOutput(name, *parts)


def _end(rounded: Array, value: Array, error: Array, is_unbounded: Array, enclosure: Enclosure, sign: int) -> Array:
    """Return the smallest or the largest admissible number of a floating-point type."""
    dtype = rounded.dtype
    limit = np.asarray(sign * np.inf).astype(dtype)
    if not np.isinf(limit.astype(np.float64)):  # a type without infinities
        import ml_dtypes

        limit = np.asarray(sign * float(ml_dtypes.finfo(dtype).max), dtype)  # type: ignore[no-untyped-call]
    is_exact = (error == 0) | ~np.isfinite(error)
    wide = value.astype(np.float64) + sign * np.where(is_exact, 0, error)
    wide = wide if enclosure.limits is None else np.clip(wide, *enclosure.limits)
    end = np.where(is_exact, rounded, wide.astype(dtype))
    for _ in range(2):
        is_outside = (find_distances(end, enclosure).shares > 1) & ~is_exact
        end = np.where(is_outside, np.nextafter(end, rounded), end)
    return np.where(is_unbounded, limit, end)


def _integer_end(value: Array, error: Array, is_unbounded: Array, dtype: np.dtype[Any], sign: int) -> Array:
    """Return the smallest or the largest admissible integer of each element, or the value itself if `sign` is 0."""
    limits = np.iinfo(dtype)
    distance = sign * np.where(is_unbounded | np.isnan(error), 0.0, error)
    wide = value.astype(np.float64) + distance
    whole = np.ceil(wide) if sign < 0 else np.floor(wide) if sign else np.rint(wide)
    is_exact = (distance == 0) & (value.dtype.kind in "iu")
    is_small = np.abs(whole) < LARGEST_WHOLE_DOUBLE
    limited = np.clip(np.where(is_small, whole, 0), float(limits.min), float(limits.max))
    ends = np.where(is_exact, value.astype(dtype), limited.astype(dtype))
    for place in map(tuple, np.argwhere(~is_exact & ~is_small & np.isfinite(wide))):
        number = Fraction(value[place].item()) + Fraction(float(distance[place]))
        end = math.ceil(number) if sign < 0 else math.floor(number)
        ends[place] = min(max(end, limits.min), limits.max)
    return np.where(is_unbounded & (sign != 0), limits.max if sign > 0 else limits.min, ends).astype(dtype)


@dataclass
class _OutputJudge:
    """The judgement of given outputs of a call, output by output."""

    call: OperatorCall
    outputs: Mapping[str, Any]
    level: Level
    max_elements: int | None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scope = replace(NodeScope.of(self.call.model), exact_attributes=self.attributes)
        nodes = self.call.model.graph.node
        self.values = LiveValues(self.call.values, nodes, kept=self.call.output_names.values())
        self.computed: dict[str, int] = {}
        self.names = {own: name for name, own in self.call.output_names.items()}
        self.faults: list[str] = []
        self.not_judged: dict[str, int] = {}
        self.found: list[tuple[float, WrongElement]] = []
        self.wrong = 0
        self.judged = 0
        self.share = 0.0
        self.noticed = 0.0
        self.terms = 1

    def judge(self) -> Judgement:
        """Return the judgement."""
        graph = self.call.model.graph
        uses = count_local_uses(graph)
        for number, node in enumerate(graph.node):
            if not (is_operator(node, "Constant") and node.output[0] in self.values):
                self.judge_node(node, is_last=all(uses[name] <= 1 for name in node.output if name in self.names))
            self.values.drop(number, node)
        produced = {name for node in graph.node for name in node.output}
        for name in self.outputs.keys() - produced:  # an input or a constant that is an output
            self.judge_node(onnx.helper.make_node("Identity", [name], [name]), is_last=True)
        for name, own in self.call.output_names.items():
            if own not in self.outputs:
                self.not_judged[f"the output {name} is not given"] = 0
        if not self.call.output_names:
            self.not_judged["the model has no outputs"] = 0
        self.found.sort(key=lambda each: -each[0])
        return Judgement(
            self.call.title,
            self.level,
            sum(map(_count, self.outputs.values())),
            self.judged,
            self.wrong,
            tuple(element for _, element in self.found[:MAX_WRONG_ELEMENTS]),
            tuple(self.faults),
            {reason: count for reason, count in self.not_judged.items() if count or reason not in ALWAYS_COUNTED},
            self.share,
            self.noticed,
            self.terms,
        )

    def judge_node(self, node: onnx.NodeProto, *, is_last: bool) -> None:
        """Compare the given outputs of a node, and keep the enclosures of the others.

        Args:
            node: the node.
            is_last: whether no other node takes an output, so that a sample can be judged.
        """
        own = {name: self.outputs[name] for name in node.output if name in self.outputs}
        arrays = {name: array for name, array in own.items() if isinstance(array, np.ndarray)}
        taken = [name for name in names_taken_by(node) if name in self.values]
        known = {name: self.values[name] for name in taken}
        limit = self.max_elements if is_last else None
        try:
            enclosed = enclose_part(self.scope, node, known, arrays, limit)
        except Unsupported as error:
            self.leave_out(own, str(error))
            return
        except EVALUATION_ERRORS as error:
            self.leave_out(own, f"the reference cannot compute {node.op_type}: {type(error).__name__}: {error}")
            return
        before = sum(self.computed.get(name, 0) for name in taken)
        comparison = NodeComparison.of(enclosed, self.inferred_shape, has_exact_operands=not before)
        for position, (name, tensor) in enumerate(zip(node.output, enclosed.expected, strict=False)):
            self.values[name] = _unrounded(tensor)
            self.computed[name] = before + 1
            if name in arrays and not isinstance(tensor, (list, dict)):
                comparison.add(name, position, tensor, arrays[name].shape)
                if tensor is not None:
                    self.add_not_judged(LEFT_OUT, _count(arrays[name]) - enclosed.part.outputs[name].size)
            elif name in own:
                self.add_other(comparison, (name, position), tensor, own[name])
        self.add(comparison, node, before)

    def inferred_shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape that onnx infers for an output of an operator; None for an output of a model."""
        if not self.call.is_operator:
            return None
        arrays = {key: each for key, each in self.call.values.items() if isinstance(each, np.ndarray)}
        return inferred_output_shapes(self.call.model, arrays).get(name)

    def add_other(self, comparison: NodeComparison, place: tuple[str, int], expected: Any, actual: Any) -> None:
        """Compare an output that is a sequence or a map, or should be; `place` has its name and position."""
        if isinstance(expected, list):
            comparison.add_sequence(*place, expected, actual)
            self.judged += _count(actual) if comparison.mismatch else comparison.in_maps
        else:
            self.faults.append(f"{self.names[place[0]]} is a {type(actual).__name__}, but must be a tensor")

    def add_not_judged(self, reason: str, count: int) -> None:
        """Count elements that are not judged."""
        self.not_judged[reason] = self.not_judged.get(reason, 0) + count

    def leave_out(self, outputs: Mapping[str, Any], reason: str) -> None:
        """Count the elements of outputs that are not judged."""
        if outputs:
            self.add_not_judged(reason, sum(map(_count, outputs.values())))

    def add(self, comparison: NodeComparison, node: onnx.NodeProto, before: int) -> None:
        """Add the outputs of a node to the judgement."""
        if comparison.mismatch is not None:
            self.faults.append(comparison.mismatch)
        if comparison.disagreement is not None:
            left = sum(output.size for output in comparison.part.outputs.values())
            self.add_not_judged(comparison.disagreement, left - sum(each.actual.size for each in comparison.outputs))
        known = {name: self.values[name] for name in (*node.input, *node.output) if name in self.values}
        shapes = {name: tuple(each.shape) for name, each in known.items() if isinstance(each, (np.ndarray, Enclosure))}
        self.terms = max(self.terms, summed_terms(node, shapes))
        if comparison.unknown:
            self.add_not_judged("the reference has no value", comparison.unknown)
        for output in comparison.outputs:
            distances = output.distances(self.level)
            is_random = normal_domain(node.domain) == "" and node.op_type in RANDOM_ENCLOSURES
            for mask, reason in (REASONS | ({"unspecified": RANDOM} if is_random else {})).items():
                self.not_judged[reason] = self.not_judged.get(reason, 0) + int(
                    np.count_nonzero(getattr(distances, mask))
                )
            self.judged += int(np.count_nonzero(distances.is_judged))
            self.share = max(self.share, float(distances.shares.max()))
            self.noticed = max(self.noticed, distances.smallest_noticed)
            places = np.flatnonzero(distances.shares > 1)
            self.wrong += len(places)
            if len(places) > MAX_WRONG_ELEMENTS:
                shares = distances.shares.reshape(-1)[places]
                places = places[np.argsort(-shares, kind="stable")[:MAX_WRONG_ELEMENTS]]
            for place in places:
                share = float(distances.shares.flat[place])
                self.found.append((share, self.wrong_element(output, int(place), node, before)))

    def wrong_element(self, output: ComparedOutput, place: int, node: onnx.NodeProto, before: int) -> WrongElement:
        """Return the description of a wrong element."""
        is_must = self.level is Level.MUST or output.at_must.shares.flat[place] > 1
        level = Level.MUST if is_must else self.level
        element = output.element(place, level)
        source = bound_source(
            node.op_type,
            node.domain,
            type_name(output.actual.dtype),
            level,
            is_exact=not element.bound,
            node_count=before + 1,
        )
        return WrongElement(
            self.names[output.name],
            element.index,
            *element.shown,
            element.bound,
            level,
            source,
            passage_text(node, self.scope),
            element.operands,
        )


def _count(value: Any) -> int:
    """Return the number of elements of an array, or of all arrays of a sequence or a map."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    each = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [np.zeros(1)]
    return sum(map(_count, each))


def passage_text(node: onnx.NodeProto, scope: NodeScope) -> str:
    """Return the part of the specification that states the results of a node.

    The quoted words are the sentences that name an attribute of the node, or else the first words.
    """
    domain = normal_domain(node.domain)
    version = scope.opsets.get(domain, 1)
    try:
        schema = onnx.defs.get_schema(node.op_type, version, domain)
    except onnx.defs.SchemaError:
        return f"{operator_text(node.op_type, node.domain)}, which onnx does not specify"
    document = f"onnx.defs {domain or 'ai.onnx'} {node.op_type}-{schema.since_version}"
    words = " ".join((specification_text(document, "summary") or "").split())
    names = "|".join(re.escape(each.name) for each in node.attribute)
    named = [each for each in re.split(r"(?<=\.)\s", words) if names and re.search(rf"\b(?:{names})\b", each)]
    words = " … ".join(named) or words
    quoted = f"{words[:MAX_PASSAGE].rstrip()}…" if len(words) > MAX_PASSAGE else words
    return f"{document}, summary: {quoted}" if quoted else document
