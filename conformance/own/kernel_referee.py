"""The referee for kernels: `judge_kernel` calls a function on fresh hard inputs, and judges each of its outputs.

A kernel is a function that computes one operator, such as one that a program has written. The referee draws small
shapes that the author has not seen, and calls the kernel twice on each shape, and on the largest one more often, with
other elements. It judges every output by exact bounds, and checks the memory of inputs and outputs.

A kernel that is given by the name of its function runs in a process of its own, with a time limit. There it has no
expected values, and a crash is a fault of one call. A function object runs in this process: it can end or stop the
process, and nothing keeps it from importing this package. In both cases, the checks of memory run in the process of the
kernel, which can change them.
"""

from __future__ import annotations

import html
import math
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.errors import ConformanceError, UsageError
from conformance.base.serialization.printable_text import first_line
from conformance.base.verdicts import Level, Verdict
from conformance.exact.judgement.array_judgement import Judgement, judge, judged_level
from conformance.exact.judgement.given_arrays import element_types, given_array, shown, whole_number
from conformance.exact.judgement.hard_inputs import (
    all_magnitudes,
    default_types,
    drawn_shapes,
    equal_elements,
    equal_sizes,
    hard_inputs,
    large_sizes,
    like_magnitudes,
    long_sums,
    many_elements,
    more_axes,
)
from conformance.exact.judgement.operand_relations import (
    broadcast_squares,
    neutral_operands,
    special_operand,
    structured_matrices,
)
from conformance.exact.judgement.operator_call import call_of_operator
from conformance.exact.judgement.option_pairs import option_pairs
from conformance.exact.models.arrays import is_floating, type_name
from conformance.exact.reference.enclosures.exact import MOVEMENT
from conformance.subjects.adapters.kernel import CheckedKernel, KernelFault
from conformance.subjects.adapters.server import Unsupported
from conformance.subjects.calling.request import CaseEnded, call_running_subject
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from conformance.exact.judgement.hard_inputs import DrawnShape
    from conformance.exact.judgement.operator_call import Values
    from conformance.exact.models.arrays import Array

    Inputs: TypeAlias = "list[Array | None]"

KERNEL_ADAPTER = "conformance.subjects.adapters.kernel:KernelBackend"

_RETURNS_INPUTS = MOVEMENT | {"Cast", "CastLike", "Dropout", "Einsum", "Max", "Mean", "Min", "Sum"}
"""Operators of which a right function returns its input, or a view of it, for some shapes and attributes."""

MAX_FAULTS = 10
"""Number of faulty calls after which the kernel is not called any more."""

KINDS = 6
"""Number of kinds of sets of elements; the largest shape has each kind twice."""

MAX_DRAWS_PER_SHAPE = 10
"""Number of shapes that are drawn for each one that the kernel must compute; the others it may refuse."""

PAIRS_PER_SHAPE = 8
"""Number of calls with pairs of options, for each drawn shape and each declaration that fits the attributes."""

MIN_SHAPES = 5
"""Number of drawn shapes that the kernel must compute, if so many are drawn."""

MAX_SHOWN_FAULTS = 3
"""Number of faulty calls in the text of a judgement."""


@dataclass(frozen=True)
class KernelFaultRecord:
    """A faulty call of a kernel.

    Attributes:
        call: the number of the call.
        problem: what is wrong.
        shapes: the types and shapes of the inputs, as text.
        inputs: the inputs.
        judgement: the judgement of the outputs; None if the call returned none.
    """

    call: int
    problem: str
    shapes: str
    inputs: Inputs
    judgement: Judgement | None = None

    def __str__(self) -> str:
        return f"call {self.call} on {self.shapes}: {self.problem}"


@dataclass(frozen=True)
class KernelJudgement:
    """The judgement of a kernel. It is true if no call is faulty, and enough was judged.

    Enough is at least one element, if the kernel computed `MIN_SHAPES` drawn shapes or is given others, and refused at
    most half of the other elements on shapes that it computes.

    Attributes:
        operator: the operator.
        salt: the text from which the inputs were drawn; `judge_kernel` with this text calls the kernel on equal inputs.
        calls: the number of calls.
        judged_calls: the number of calls in which at least one element was judged.
        unsupported: the number of calls that the kernel refused by NotImplementedError.
        refused_shapes: the number of drawn shapes that it refused; another shape was drawn in the place of each.
        missing_shapes: the number of drawn shapes that it should have computed besides; 0 if shapes were given.
        pair_calls: the number of calls with pairs of options, each of which the kernel may refuse.
        refused_pairs: the number of those that it refused.
        elements: the number of judged elements.
        faults: the faulty calls, at most `MAX_FAULTS`; the kernel is not called after the last one.
    """

    operator: str
    salt: str
    calls: int
    judged_calls: int
    unsupported: int
    elements: int
    faults: tuple[KernelFaultRecord, ...] = ()
    refused_shapes: int = 0
    missing_shapes: int = 0
    pair_calls: int = 0
    refused_pairs: int = 0

    def __bool__(self) -> bool:
        return not self.faults and self.is_judged

    @property
    def is_judged(self) -> bool:
        """Whether an element was judged, and the kernel computed enough of the calls."""
        others = self.calls - self.refused_shapes - self.pair_calls
        refused = self.unsupported - self.refused_shapes - self.refused_pairs
        return self.judged_calls > 0 and not self.missing_shapes and 2 * refused <= others

    @property
    def summary(self) -> str:
        """The outcome and the numbers of calls, in one line."""
        found = "is wrong" if self.faults else "is admissible" if self.is_judged else "is not judged enough"
        count = len(self.faults)
        end = " (no further call was made)" if count == MAX_FAULTS else ""
        text = f"the kernel of {self.operator} {found}: {count} of {self.calls} calls are faulty{end}, "
        text += f"{self.judged_calls} judged with {self.elements:,} elements"
        refused = f", {self.unsupported} refused" if self.unsupported else ""
        return f"{text}{refused} (salt={self.salt!r})"

    def __str__(self) -> str:
        shown = self.faults[:MAX_SHOWN_FAULTS]
        wrong = [each.judgement.wrong_elements[:1] for each in shown if each.judgement is not None]
        sources = dict.fromkeys(element.source for elements in wrong for element in elements)
        bounds = (f"bound: {source}" for source in sources)
        return "\n".join([self.summary, *(f"  {text}" for text in (*shown, *bounds))])

    def __repr__(self) -> str:
        return str(self)  # what pytest shows of `assert judgement`

    def _repr_html_(self) -> str:
        """Return the judgement for a notebook; all texts are escaped."""
        rows = "".join(f"<li>{html.escape(str(fault))}</li>" for fault in self.faults[:MAX_SHOWN_FAULTS])
        return f"<p>{html.escape(self.summary)}</p><ul>{rows}</ul>"


def judge_kernel(
    function: Callable[..., Any] | str,
    operator: str,
    /,
    *,
    count: int = 20,
    opset: int | None = None,
    types: Sequence[str] | None = None,
    like: Values | None = None,
    where: Callable[[Inputs], bool] | None = None,
    convert: Callable[[Array], Any] | None = None,
    level: str = Level.MUST,
    output_count: int | None = None,
    may_return_views: bool | None = None,
    is_contiguous: bool = False,
    salt: str | None = None,
    timeout: float = 60.0,
    **attributes: Any,
) -> KernelJudgement:
    """Judge a function that computes an operator, on fresh hard inputs for each call.

    Args:
        function: the kernel: it takes the inputs in the order of the operator's page, and returns an array or a tuple
            of arrays. As the text `"package.module:function"`, it runs in a process of its own.
        operator: the operator.
        count: the number of drawn shapes that the kernel does not refuse; it is called twice on each, and more
            often on the largest one, with other elements. The number of calls with pairs of options depends on it too.
        opset: the version of the operator's domain.
        types: the names of the element types of the kernel's first input and of all its floating-point numbers. Numbers
            are free if all are types of integers. None is `float`, or all types of an operator that takes no `float`.
        like: inputs as the kernel receives them in use. It is called `count` times more on these types and shapes.
        where: returns whether the kernel accepts inputs, such as `lambda inputs: inputs[0].ndim == 2`.
        convert: makes the kernel's arrays of NumPy's, such as `torch.from_numpy`; only for a function object.
        level: `must` or `should`.
        output_count: the number of outputs; None for any that the page permits. It is equal in all calls with the same
            inputs left out.
        may_return_views: whether an output may share memory with an input. None is yes for an operator that can give
            its input as it is, such as Transpose, Cast, or Max of one input, and no for others.
        is_contiguous: whether the kernel takes contiguous inputs only, as one of C does.
        salt: a text that chooses the inputs; None for fresh ones in each judgement.
        timeout: seconds for a call in a process of its own.
        attributes: the attributes of the operator, which the kernel must have built in. A kernel in double may have
            a number as given, or rounded to float, as `judge` states.

    Raises:
        ConformanceError: an argument is wrong, the operator has no declaration, no inputs fit, or the module of the
            function cannot be used.
    """
    if not isinstance(function, str) and not callable(function):
        raise UsageError("argument", name="the kernel", kind="a function or its name", value=shown(function))
    if isinstance(function, str) and convert is not None:
        raise UsageError("options-conflict.two", first="convert", second="the name of a function")
    if where is not None and not callable(where):
        raise UsageError("argument", name="where", kind="a function of the inputs", value=shown(where))
    if not 0 < timeout < math.inf:
        raise UsageError("argument", name="timeout", kind="a positive number of seconds", value=shown(timeout))
    if output_count is not None:
        whole_number(output_count, "output_count")
    whole_number(count, "count")
    judged_level(level)
    own = secrets.token_hex(8) if salt is None else salt
    referee = _Referee(operator, level, opset, output_count, attributes)
    calls = _inputs_of_calls(referee, count, like, own, opset=opset, types=types, where=where, **attributes)
    views = operator in _RETURNS_INPUTS if may_return_views is None else may_return_views
    checks = {"may_return_views": views, "is_contiguous": is_contiguous}
    with _caller(function, referee, timeout, convert, checks) as call:
        for inputs in calls:
            referee.judge_call(call, inputs)
            if len(referee.faults) == MAX_FAULTS:
                break
    return KernelJudgement(
        operator,
        own,
        referee.calls,
        referee.judged,
        referee.unsupported,
        referee.elements,
        tuple(referee.faults),
        referee.refused_shapes,
        0 if like is not None else max(min(MIN_SHAPES, count) - referee.computed_shapes, 0),
        referee.pair_calls,
        referee.refused_pairs,
    )


def _inputs_of_calls(referee: _Referee, count: int, like: Values | None, salt: str, **options: Any) -> Iterator[Inputs]:
    """Yield the inputs of each call: drawn shapes with two sets of elements, the largest one with more, and given ones.

    Another shape takes the place of a shape that the kernel refuses. If it refuses all, they are kept.

    A set of elements has a kind: few elements of small shapes are NaN, infinite or large, so the largest shape has each
    kind, as has the largest one of each element type. Then come calls with each pair of options of the declarations,
    with equal sizes of all axes, with a large axis, with four and five axes, with many elements, and with exact sums of
    many terms, if the operator computes sums. The last ones have operands with a special relation.
    """
    operator = referee.operator
    where = options["where"]
    given = {key: each for key, each in options.items() if key not in ("types", "where")}
    attributes = {key: each for key, each in given.items() if key != "opset"}

    def accepted(found: Iterator[Inputs], most: int | None = None) -> Iterator[Inputs]:
        yield from (each for each in islice(found, most) if where is None or where(each))

    every: list[DrawnShape] = []
    refused: list[DrawnShape] = []
    types = default_types(operator, attributes) if options["types"] is None else element_types(options["types"])
    shapes = islice(
        drawn_shapes(operator, options["opset"], types, where, salt, attributes), MAX_DRAWS_PER_SHAPE * count
    )
    for number, drawn in enumerate(shapes if like is None else _until_none_fit(shapes)):
        before = referee.unsupported
        yield drawn.inputs
        if referee.unsupported > before:
            refused.append(drawn)
            referee.refused_shapes += 1
            continue
        referee.computed_shapes += 1
        yield from accepted(drawn.like(drawn.inputs, f"{salt}/{number}", number), 1)
        yield from accepted(like_magnitudes(drawn, f"{salt}/{number}"))
        every.append(drawn)
        if len(every) == count:
            break
    every = every or refused[:count]
    largest = max(every, key=_size, default=None)
    if largest is not None:
        yield from accepted(largest.like(largest.inputs, f"{salt}/largest"), KINDS)
    for drawn in _largest_of_types(every):
        types_salt = f"{salt}/{' '.join(_types_of(drawn))}"
        yield from accepted(drawn.like(drawn.inputs, types_salt), KINDS)
        yield from accepted(all_magnitudes(drawn, types_salt))
    for found in option_pairs(largest, f"{salt}/pairs", PAIRS_PER_SHAPE * count) if largest is not None else ():
        before = referee.unsupported
        yield found
        referee.pair_calls += 1
        referee.refused_pairs += referee.unsupported - before
    every.sort(key=lambda each: (_has_axis_of_one(each), _size(each)))
    for more, most, ordered in OTHER_INPUTS:
        resized = ([*accepted(more(drawn, f"{salt}/{more.__name__}"))] for drawn in ordered(every))
        yield from chain.from_iterable(islice(filter(None, resized), most))
    if like is not None:
        yield from accepted(hard_inputs(operator, count=count, like=like, salt=salt, **given))


def _until_none_fit(shapes: Iterator[DrawnShape]) -> Iterator[DrawnShape]:
    """Yield drawn inputs, and end where none of many draws fits the attributes: other inputs are given."""
    try:
        yield from shapes
    except UsageError as error:
        if error.code != "usage.no-hard-inputs":
            raise


def _largest_of_types(every: Sequence[DrawnShape]) -> list[DrawnShape]:
    """Return the largest drawn shape of each combination of element types of the inputs."""
    return [*{_types_of(each): each for each in sorted(every, key=_size)}.values()]


def _of_each_form(every: Sequence[DrawnShape]) -> list[DrawnShape]:
    """Return the first drawn shape for each list of ranks; an input that is left out has none."""
    found: dict[tuple[int | None, ...], DrawnShape] = {}
    for each in every:
        found.setdefault(tuple(None if array is None else array.ndim for array in each.inputs), each)
    return [*found.values()]


def _of_each_declaration(every: Sequence[DrawnShape]) -> list[DrawnShape]:
    """Return the first drawn shape of each declaration that has the most inputs."""
    found: dict[int, DrawnShape] = {}
    for each in sorted(every, key=lambda each: -sum(array is not None for array in each.inputs)):
        found.setdefault(id(each.declaration), each)
    return [*found.values()]


def _of_each_declaration_wide_first(every: Sequence[DrawnShape]) -> list[DrawnShape]:
    return _of_each_declaration(_wide_first(every))


def _wide_first(every: Sequence[DrawnShape]) -> list[DrawnShape]:
    """Return the drawn shapes, last those with numbers of few digits: bounds of their long sums admit all values."""
    return sorted(every, key=_is_narrow)


OTHER_INPUTS = (
    (equal_sizes, 4, list),
    (equal_elements, 8, _of_each_form),
    (large_sizes, 3, _of_each_declaration),
    (more_axes, 1, list),
    (many_elements, 1, _wide_first),
    (long_sums, 1, _wide_first),
    (broadcast_squares, 3, _of_each_declaration_wide_first),
    (structured_matrices, 3, _of_each_declaration_wide_first),
    (special_operand, 3, _of_each_declaration_wide_first),
    (neutral_operands, 3, _of_each_declaration_wide_first),
)
"""Other sizes or elements, the number of drawn shapes that get them, and the order in which shapes are tried.

Equal sizes can be right for some options only, so several shapes get them.
"""


def _types_of(drawn: DrawnShape) -> tuple[str, ...]:
    return tuple("" if each is None else type_name(each.dtype) for each in drawn.inputs)


def _has_axis_of_one(drawn: DrawnShape) -> bool:
    return any(1 in each.shape for each in drawn.inputs if each is not None)


def _is_narrow(drawn: DrawnShape) -> bool:
    return any(each is not None and is_floating(each.dtype) and each.dtype.itemsize < 4 for each in drawn.inputs)


def _size(drawn: DrawnShape) -> int:
    return sum(each.size for each in drawn.inputs if each is not None)


@contextmanager
def _caller(
    function: Callable[..., Any] | str,
    referee: _Referee,
    timeout: float,
    convert: Callable[[Array], Any] | None,
    checks: Mapping[str, bool],
) -> Iterator[Callable[[Inputs], list[Any]]]:
    """Yield a function that calls the kernel, in this process or in one of its own."""
    if not isinstance(function, str):
        yield CheckedKernel(_converted(function, convert), **checks).call
        return
    views, contiguous = ("yes" if each else "no" for each in checks.values())
    named = SubjectName.parse(
        f"{KERNEL_ADAPTER}[function={function},views={views},contiguous={contiguous}]", SubjectKind.BACKEND
    )
    with started_subjects([named], Limits(timeout)) as (subject,):

        def call(inputs: Inputs) -> list[Any]:
            made = referee.call_of(inputs)
            arrays = list(made.values.values())
            prepared = call_running_subject(function, "load", lambda: subject.target.prepare(made.model, "CPU"))
            return list(call_running_subject(function, "run", lambda: prepared.run(arrays)))

        yield call


def _converted(function: Callable[..., Any], convert: Callable[[Array], Any] | None) -> Callable[..., Any]:
    """Return a kernel of another library as one of arrays of NumPy; the inputs are compared after the call."""
    if convert is None:
        return function

    def call(*inputs: Array | None) -> Any:
        own = [None if each is None else convert(each) for each in inputs]
        result = function(*own)
        for given, each in zip(inputs, own, strict=True):
            if given is not None:
                given[...] = given_array(each, "an input")  # shows what the kernel did to its copy on a device
        outputs = result if isinstance(result, (list, tuple)) else [result]
        return [given_array(each, "an output") for each in outputs]

    return call


@dataclass
class _Referee:
    """The calls of one kernel, and what was found."""

    operator: str
    level: str
    opset: int | None
    output_count: int | None
    attributes: dict[str, Any]

    def __post_init__(self) -> None:
        self.calls = 0
        self.judged = 0
        self.unsupported = 0
        self.refused_shapes = 0
        self.computed_shapes = 0
        self.pair_calls = 0
        self.refused_pairs = 0
        self.elements = 0
        self.output_counts: dict[tuple[int, ...], int] = {}
        self.faults: list[KernelFaultRecord] = []

    def call_of(self, inputs: Inputs) -> Any:
        """Return the model of a call, of which a kernel in another process reads the names of its inputs."""
        return call_of_operator(self.operator, inputs, self.attributes, opset=self.opset, outputs=self.output_count)

    def judge_call(self, call: Callable[[Inputs], list[Any]], inputs: Inputs) -> None:
        """Call the kernel, and judge its outputs."""
        self.calls += 1
        try:
            outputs = call(inputs)
        except (Unsupported, NotImplementedError):
            self.unsupported += 1
        except CaseEnded as ended:
            if ended.verdict is Verdict.UNSUPPORTED:
                self.unsupported += 1
            else:
                self.add_fault(f"{ended.verdict}: {ended.message}", inputs)
        except KernelFault as fault:
            self.add_fault(str(fault), inputs)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a kernel can raise anything
            self.add_fault(f"raises {type(error).__name__}: {first_line(error)}", inputs)
        else:
            self.judge_outputs(inputs, outputs)

    def count_problem(self, inputs: Inputs, count: int) -> str | None:
        """Return what is wrong with a number of outputs; None if the page permits it, as it was for like inputs."""
        expected = len(self.call_of(inputs).output_names)
        if self.output_count is None:
            try:
                call_of_operator(self.operator, inputs, self.attributes, opset=self.opset, outputs=count)
            except ConformanceError as error:
                return f"returns {count} outputs: {error.problem}"
            like = (expected, *(place for place, each in enumerate(inputs) if each is not None))
            expected = self.output_counts.setdefault(like, max(count, expected))
        return None if count == expected else f"returns {count} outputs instead of {expected}"

    def judge_outputs(self, inputs: Inputs, outputs: list[Any]) -> None:
        """Judge the outputs of a call."""
        if problem := self.count_problem(inputs, len(outputs)):
            self.add_fault(problem, inputs)
            return
        if others := [each for each in outputs if not isinstance(each, (np.ndarray, np.generic))]:
            self.add_fault(f"returns a {type(others[0]).__name__} instead of an array", inputs)
            return
        try:
            judgement = judge(self.operator, inputs, outputs, opset=self.opset, level=self.level, **self.attributes)
        except ConformanceError as error:
            self.add_fault(error.problem, inputs)
            return
        self.elements += judgement.judged
        self.judged += bool(judgement.judged)
        if judgement.is_wrong:
            worst = "".join(f"; {element.text()}" for element in judgement.wrong_elements[:1])
            self.add_fault(f"{judgement.summary}{worst}", inputs, judgement)

    def add_fault(self, problem: str, inputs: Inputs, judgement: Judgement | None = None) -> None:
        """Record a faulty call."""
        shapes = ", ".join("nothing" if each is None else f"{each.dtype}{list(each.shape)}" for each in inputs)
        self.faults.append(KernelFaultRecord(self.calls, problem, shapes, inputs, judgement))
