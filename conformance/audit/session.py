"""An audit of a model on one subject: run it, record its intermediate values, and judge each node.

`audit_subject` does it for one data set. The result is data only; `conformance.audit.report` shows it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from conformance.audit.cases import case_of_wrong_node
from conformance.audit.job import AuditWorkers, Recording, RecordingKey
from conformance.audit.judgement import JudgedNode, NodeVerdict, judge_nodes
from conformance.audit.probes import ProbedNode, probe_nodes
from conformance.audit.propagation import trace_errors
from conformance.errors import UsageError
from conformance.graphs.cutting import cut, part_of
from conformance.graphs.inlining import inline_taken_branches
from conformance.graphs.inputs import InputSet
from conformance.graphs.intermediate_values import (
    Exposure,
    SubjectRefused,
    are_identical,
    expose_together,
    record_values,
    run_once,
    set_data_folder,
)
from conformance.graphs.reading import LoadedModel
from conformance.models.arrays import type_name
from conformance.models.external_data import initializer_arrays_in
from conformance.models.graphs import graph_edges, is_operator, names_taken_by
from conformance.models.types import with_inferred_types
from conformance.reference.tolerances import NARROW
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    import onnx

    from conformance.corpus.case import Case
    from conformance.graphs.intermediate_values import RecordedValues
    from conformance.models.arrays import Array
    from conformance.subjects.loading import Subject

APART = "its operands and its result cannot be exposed in one run without a change of the model's outputs"
"""Reason for not judging a node that seems wrong on values of several runs."""

_EXPOSED_IN_MODEL = {Exposure.OUTPUT, Exposure.ADDED_OUTPUT, Exposure.GROUP}
"""The ways of values that the runtime computed in the whole model."""

_PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
"""Operators whose weights take in factors that follow, when a runtime folds constants."""

_FACTORS: Mapping[str, slice] = {
    **dict.fromkeys(("Mul", "Div", "MatMul", "Gemm"), slice(3)),
    **dict.fromkeys(("Conv", "ConvTranspose", "BatchNormalization"), slice(1, 5)),
    "LayerNormalization": slice(1, 2),
}
"""The places of operands of an operator whose constants a runtime may multiply by other factors."""

_SUMMANDS: Mapping[str, slice] = {
    **dict.fromkeys(("Add", "Sub"), slice(2)),
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm", "LayerNormalization", "BatchNormalization"), slice(2, 3)),
}
"""The places of operands of an operator whose constants a runtime may add to other summands."""

MAX_WIDENING = 6
"""Number of times that the segment of a wrong node takes in the nodes before it."""

MAX_CASES = 100
"""Number of wrong nodes that become cases."""

MAX_BRANCH_DEPTH = 8
"""Maximum depth of nested If nodes whose branches are moved into the main graph."""


@dataclass
class SubjectAudit:
    """The audit of a model on one subject with one data set.

    Attributes:
        subject: the id of the subject.
        version: its version.
        data_set: the name of the data set.
        failure: the message of the subject if it did not run the model; otherwise empty.
        is_repeatable: whether the first and the second run of one prepared model returned the same outputs.
        repeats_when_prepared_again: whether a model that was prepared again returned the same outputs.
        ways: the number of intermediate values by the way they were obtained.
        remark: why added outputs could not be used for all values; empty if they could.
        model_runs: the number of models that were run to obtain the values.
        nodes: the judged nodes, in the model's order.
        edges: pairs of numbers of nodes; the second node takes a result of the first.
        cases: wrong nodes as cases, if they are asked for.
        probes: the distinct nodes that ran alone on hard values.
        has_traced_errors: whether the exact values of the whole model were computed.
        command: the command line of the audit, to which `--node` can be added; empty if it is not known.
    """

    subject: str
    version: str
    data_set: str
    failure: str = ""
    is_repeatable: bool = True
    repeats_when_prepared_again: bool = True
    ways: dict[str, int] = field(default_factory=dict)
    remark: str = ""
    model_runs: int = 0
    nodes: list[JudgedNode] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    has_traced_errors: bool = False
    command: str = ""
    probes: list[ProbedNode] = field(default_factory=list)

    @property
    def wrong_nodes(self) -> list[JudgedNode]:
        """The nodes with a wrong output, the worst first."""
        wrong = [node for node in self.nodes if node.verdict is NodeVerdict.WRONG]
        return sorted(wrong, key=lambda node: (-node.share, node.number))

    @property
    def nodes_below_should(self) -> list[JudgedNode]:
        """The nodes outside of their bounds of level `should` only, the worst first."""
        below = [node for node in self.nodes if node.should_worst is not None]
        return sorted(below, key=lambda node: (-node.should_share, node.number))

    @property
    def wrong_probes(self) -> list[ProbedNode]:
        """The distinct nodes with a wrong output on hard values."""
        return [each for each in self.probes if each.node.verdict is NodeVerdict.WRONG]

    @property
    def probes_below_should(self) -> list[ProbedNode]:
        """The distinct nodes that are outside of their bounds of level `should` only on hard values."""
        return [each for each in self.probes if each.node.should_worst is not None]

    @property
    def has_faults(self) -> bool:
        """Whether the subject failed, returned different outputs for the same inputs, or has a wrong node."""
        is_stable = self.is_repeatable and self.repeats_when_prepared_again
        return bool(self.failure) or not is_stable or bool(self.wrong_nodes) or bool(self.wrong_probes)

    def has_faults_at(self, level: Level) -> bool:
        """Return whether the audit has faults, if outputs must keep the bounds of a level."""
        below = self.nodes_below_should or self.probes_below_should
        return self.has_faults or (level is not Level.MUST and bool(below))


def audit_subject(
    model: LoadedModel,
    subject: Subject,
    data_set: InputSet,
    progress: Callable[[str], None] = lambda _: None,
    *,
    all_elements: bool = False,
    makes_cases: bool = False,
    workers: AuditWorkers | None = None,
    probes: int = 0,
    numbering: Mapping[str, int] | None = None,
) -> SubjectAudit:
    """Run a model on a subject, and judge its nodes on the values that the subject computed.

    Args:
        model: the model.
        subject: the backend.
        data_set: the inputs.
        progress: is called with a text for the user.
        all_elements: whether every element of a large output is judged, and not a sample.
        makes_cases: whether wrong nodes become cases.
        workers: workers that judge the nodes, and the folder of an interrupted audit; None to judge in this process.
        probes: the number of sets of hard values on which each distinct small node runs alone.
        numbering: the numbers of the nodes in the whole model, by the name of an output; None if `model` is whole.

    Raises:
        ConformanceError: the folder cannot be used, or the workers cannot continue.
    """
    audit = SubjectAudit(subject.id, subject.version or "", data_set.name)
    key = RecordingKey.of(model.digest, audit.subject, audit.version, data_set.arrays)
    recording = None if workers is None else workers.find(key, model.data_folder)
    set_data_folder(subject.target, model.data_folder)
    try:
        recording = recording or _run(model, subject, data_set, progress)
    except SubjectRefused as refusal:
        audit.failure = str(refusal)
        return audit
    audit.is_repeatable = recording.is_repeatable
    audit.repeats_when_prepared_again = recording.repeats_when_prepared_again
    judged, recorded = recording.model, recording.values
    audit.edges = graph_edges(judged.graph)

    def count(done: int, total: int) -> None:
        if done % 50 == 0 or done == total:
            progress(f"{done} of {total} nodes judged")

    if workers is None:
        audit.nodes = judge_nodes(judged, recorded, count, all_elements=all_elements)
    else:
        audit.nodes = workers.judge(key, recording, count, all_elements=all_elements)
    confirmation = _Confirmation(judged, recorded, subject, data_set, all_elements)
    confirmed = _confirm_wrong_nodes(audit.nodes, confirmation)
    audit.has_traced_errors = trace_errors(judged, recorded, audit.nodes)
    audit.probes = probe_nodes(judged, recorded, subject, probes, progress)
    numbers = list(range(len(judged.graph.node))) if numbering is None else _numbers_in(judged, numbering)
    if makes_cases:
        constants = {name: recorded.values[name] for name, way in recorded.ways.items() if way is Exposure.CONSTANT}
        wrong = [(node, confirmed.get(node.number, recorded.values)) for node in audit.wrong_nodes]
        wrong += [(each.node, each.values) for each in audit.wrong_probes]
        made = (
            case_of_wrong_node(model.path.stem, node, judged, values, constants, numbers)
            for node, values in wrong[:MAX_CASES]
        )
        audit.cases = [case for case in made if case is not None]
    _renumber(audit, numbers)
    audit.remark, audit.model_runs = recorded.remark, recorded.runs
    ways: Counter[Any] = Counter(way for way in recorded.ways.values() if way is not Exposure.CONSTANT)
    audit.ways = {str(way): ways[way] for way in Exposure if ways[way]}
    return audit


def audit_nodes_alone(
    model: LoadedModel,
    subject: Subject,
    data_set: InputSet,
    numbers: Sequence[int],
    progress: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> SubjectAudit:
    """Cut some nodes out of a model, and audit them as a model of their own on the values that the subject computed.

    Args:
        model: the model.
        subject: the backend.
        data_set: the inputs of the model.
        numbers: the numbers of the nodes, as an audit of the model shows them.
        progress: is called with a text for the user.
        options: the options of `audit_subject`.

    Raises:
        UsageError: a node does not exist, or its operands are hidden.
    """
    set_data_folder(subject.target, model.data_folder)
    try:
        recording = _run(model, subject, data_set, progress)
    except SubjectRefused as refusal:
        return SubjectAudit(subject.id, subject.version or "", data_set.name, str(refusal))
    count = len(recording.model.graph.node)
    if max(numbers) >= count:
        raise UsageError("node-missing", f"--node: the model has no node {max(numbers)}.", f"It has {count} nodes.")
    part = cut(recording.model, sorted(set(numbers)), recording.values.values)
    if part is None:
        raise UsageError(
            "node-not-alone",
            f"--node: {subject.id} does not show the operands of the nodes {', '.join(map(str, numbers))}.",
            "Add the nodes before them.",
        )
    content = part.model.SerializeToString(deterministic=True)
    single = LoadedModel(
        model.path, hashlib.sha256(content).hexdigest(), part.model, with_inferred_types(part.model), model.data_folder
    )
    nodes = enumerate(recording.model.graph.node)
    numbering = {name: number for number, node in nodes for name in node.output if name}
    return audit_subject(
        single, subject, InputSet(data_set.name, tuple(part.arrays)), progress, numbering=numbering, **options
    )


def _numbers_in(part: onnx.ModelProto, numbering: Mapping[str, int]) -> list[int]:
    """Return the numbers of a part's nodes in the whole model.

    The nodes of a branch may have replaced an If in the part alone. They stand before the nodes that have the outputs
    of the If, and have its number.
    """
    found, following = [], 0
    for node in reversed(part.graph.node):
        following = next((numbering[name] for name in node.output if name in numbering), following)
        found.append(following)
    return found[::-1]


def _renumber(audit: SubjectAudit, numbers: Sequence[int]) -> None:
    """Replace the numbers of nodes in an audit; `numbers` has the new number of each node."""

    def renumber(node: JudgedNode) -> JudgedNode:
        return replace(
            node,
            number=numbers[node.number],
            segment=tuple(numbers[each] for each in node.segment),
            origin=None if node.origin is None else numbers[node.origin],
        )

    audit.nodes = [renumber(node) for node in audit.nodes]
    audit.probes = [replace(probed, node=renumber(probed.node)) for probed in audit.probes]
    edges = dict.fromkeys((numbers[first], numbers[second]) for first, second in audit.edges)
    audit.edges = [(first, second) for first, second in edges if first != second]


def _run(model: LoadedModel, subject: Subject, data_set: InputSet, progress: Callable[[str], None]) -> Recording:
    """Run a model three times, and record its intermediate values.

    Raises:
        SubjectRefused: the subject does not run the model.
    """
    first, second = run_once(subject.target, model.original, data_set.arrays, times=2)
    (again,) = run_once(subject.target, model.original, data_set.arrays)
    is_repeatable, repeats_again = are_identical(first, second), are_identical(first, again)
    is_stable = is_repeatable and repeats_again
    judged, recorded = _record(model, subject, data_set, first, progress, is_stable=is_stable)
    return Recording(judged, recorded, is_repeatable, repeats_again, model.data_folder)


def _record(
    audited: LoadedModel,
    subject: Subject,
    data_set: InputSet,
    outputs: list[Array],
    progress: Callable[[str], None],
    *,
    is_stable: bool,
) -> tuple[onnx.ModelProto, RecordedValues]:
    """Return the model whose nodes can be judged alone, and its recorded values.

    An If is replaced by the branch that it takes, at every depth, as long as the outputs keep their bits.
    """
    model, constants = audited.prepared, initializer_arrays_in(audited.prepared.graph, audited.data_folder)
    recorded = record_values(
        subject.target, model, data_set.arrays, outputs, progress, is_stable=is_stable, constants=constants
    )
    for _ in range(MAX_BRANCH_DEPTH):
        inlined = inline_taken_branches(model, recorded.values)
        if inlined is None:
            break
        progress("the branches that are taken are moved into the main graph")
        try:
            (results,) = run_once(subject.target, inlined, data_set.arrays)
            if not are_identical(results, outputs):
                break
            constants = initializer_arrays_in(inlined.graph, audited.data_folder)
            further = record_values(subject.target, inlined, data_set.arrays, outputs, progress, constants=constants)
        except SubjectRefused:
            break
        further.runs += recorded.runs
        model, recorded = inlined, further
    return model, recorded


def _confirm_wrong_nodes(nodes: list[JudgedNode], confirmation: _Confirmation) -> dict[int, Mapping[str, Array]]:
    """Replace the judgements of nodes outside of their bounds by those of `confirmation`.

    Returns:
        the values on which nodes were judged again, by the number of the node and the name of the value.
    """
    used: dict[int, Mapping[str, Array]] = {}
    for position, suspect in enumerate(nodes):
        if not _fault_rank(suspect) or confirmation.has_other_outputs(suspect.number):
            continue
        is_fused = confirmation.is_better_alone(suspect)
        if not (is_fused or confirmation.is_needed(suspect.number)):
            continue
        found = _decisive_judgement(
            confirmation.judge_wider_segments(suspect.number, is_wrong=_fault_rank(suspect) > 1, is_fused=is_fused)
        )
        if suspect.verdict is not NodeVerdict.WRONG and (found is None or found.node.verdict is not suspect.verdict):
            nodes[position] = replace(suspect, should_share=0.0, should_worst=None)
        elif found is None:
            nodes[position] = replace(
                suspect, verdict=NodeVerdict.NOT_JUDGED, reason=APART, share=0.0, worst=None, together=()
            )
        else:
            nodes[position], used[suspect.number] = found.node, found.values
    return used


def _fault_rank(node: JudgedNode) -> int:
    """Return 2 for a wrong node, 1 for a node outside of its bounds of level `should` only, and otherwise 0."""
    return 2 if node.verdict is NodeVerdict.WRONG else int(node.should_worst is not None)


@dataclass(frozen=True)
class _SegmentJudgement:
    """The judgement of a node together with nodes before it.

    Attributes:
        node: the judgement.
        values: the values on which it was judged, by name.
    """

    node: JudgedNode
    values: Mapping[str, Array]


def _decisive_judgement(judgements: Iterable[_SegmentJudgement | None]) -> _SegmentJudgement | None:
    """Return the judgement that counts: the mildest one, and of these that of the smallest segment.

    Segments before one whose values the subject does not return in one run do not count. The result is None if that is
    the last segment. A segment that the reference cannot compute explains nothing, and is skipped.
    """
    mildest: _SegmentJudgement | None = None
    for judgement in judgements:
        if judgement is None:
            mildest = None
        elif judgement.node.verdict is NodeVerdict.NOT_JUDGED and not judgement.node.elements:
            continue
        elif mildest is None or _fault_rank(judgement.node) < _fault_rank(mildest.node):
            mildest = judgement
        if mildest is not None and not _fault_rank(mildest.node):
            break
    return mildest


@dataclass(frozen=True)
class _Confirmation:
    """Judges nodes outside of their bounds again, on all operands that the runtime may have passed to them.

    An exposed operand can differ from the operand of the node in three ways:

    - A runtime that computes a region of float16 or bfloat16 nodes in float rounds the exposed operand only. The node
      is therefore judged with every operand that is rounded to the exposed one.
    - A runtime that fuses nodes can compute an operand twice: for the output, and inside of the fused kernel with other
      last bits. A node with values that were exposed in groups is therefore judged on values of one run, and then
      together with more and more nodes before it.
    - A fused kernel can also stay when all values are exposed, if the runtime computes them once more for the outputs.
      The subject then returns another result for the node alone. A node that is correct alone is judged together with
      more and more nodes before it.

    It is wrong if it is wrong in all of these ways. The smallest wrong segment is reported.

    Attributes:
        model: the model.
        recorded: its values; their number of runs is increased.
        subject: the backend.
        data_set: the inputs.
        all_elements: whether every element of a large output is judged, and not a sample.
    """

    model: onnx.ModelProto
    recorded: RecordedValues
    subject: Subject
    data_set: InputSet
    all_elements: bool

    @cached_property
    def _producers(self) -> Mapping[str, int]:
        return {name: number for number, node in enumerate(self.model.graph.node) for name in node.output if name}

    @property
    def _hidden(self) -> set[str]:
        return {name for name, way in self.recorded.ways.items() if way is Exposure.HIDDEN}

    @cached_property
    def _rounded(self) -> frozenset[str]:
        """The values that the runtime may have rounded only for the output."""
        values = self.recorded.values
        exposed = [name for name, way in self.recorded.ways.items() if way in _EXPOSED_IN_MODEL]
        return frozenset(
            name
            for name in exposed
            if name in self._producers
            and not is_operator(self.model.graph.node[self._producers[name]], "Constant")
            and type_name(values[name].dtype) in NARROW
        )

    def _folded_constants(self, numbers: Sequence[int], *, is_wrong: bool) -> set[str]:
        """Return the constants of some nodes that a runtime may fold into one constant.

        Two nodes in a row may add constants, or multiply by them. For the bounds of level `should`, a factor may also
        be folded into the weights of any product before it.
        """
        nodes = [self.model.graph.node[number] for number in numbers]
        folded: set[str] = set()
        for places, products in ((_SUMMANDS, ()), (_FACTORS, () if is_wrong else _PRODUCTS)):
            taken = {
                number: self._narrow_constants.intersection(node.input[places[node.op_type]])
                for number, node in enumerate(nodes)
                if is_operator(node, *places)
            }
            for first, second in combinations(taken, 2):
                before, after = nodes[first], nodes[second]
                is_in_row = is_operator(before, *products) or not {*before.output}.isdisjoint(after.input)
                if is_in_row and taken[first] and taken[second] and not is_operator(after, *_PRODUCTS):
                    folded |= taken[first] | taken[second]
        return folded

    @cached_property
    def _narrow_constants(self) -> frozenset[str]:
        values = self.recorded.values
        constants = [name for name, way in self.recorded.ways.items() if way is Exposure.CONSTANT]
        return frozenset(name for name in constants if type_name(values[name].dtype) in NARROW)

    def has_other_outputs(self, number: int) -> bool:
        """Return whether a node has an output that is a sequence or a map, which is exact on any operands."""
        return not self.recorded.others.keys().isdisjoint(self.model.graph.node[number].output)

    def is_needed(self, number: int) -> bool:
        """Return whether a node may have had other operands than the exposed ones."""
        numbers, names = self._segment(number, self._hidden)
        has_other_operands = bool(self._grouped(names) or self._rounded_operands(number, names))
        return has_other_operands or self._has_narrow_segment(numbers, self._hidden)

    def is_better_alone(self, suspect: JudgedNode) -> bool:
        """Return whether the subject keeps more bounds if it runs a node as a model of its own, on the same operands.

        Args:
            suspect: the judgement of the node in the whole model, which is outside of a bound.
        """
        number = suspect.number
        node, values = self.model.graph.node[number], self.recorded.values
        operands = names_taken_by(node)
        if not self._exposed_operands(number, operands) or any(name not in values for name in operands):
            return False
        single = cut(self.model, [number], values)  # with its constants: some runtimes run no node without them
        if single is None:
            return False
        self.recorded.runs += 1
        try:
            (results,) = run_once(self.subject.target, single.model, single.arrays)
        except SubjectRefused:
            return False
        known = {name: values[name] for name in operands}
        known |= {value.name: array for value, array in zip(single.model.graph.output, results, strict=True)}
        alone = replace(self.recorded, values=known)
        (judged,) = judge_nodes(part_of(self.model, "alone", [number]), alone, all_elements=self.all_elements)
        return _fault_rank(judged) < _fault_rank(suspect) and judged.verdict is not NodeVerdict.NOT_JUDGED

    def _exposed_operands(self, number: int, names: Sequence[str]) -> list[str]:
        """Return which of some values around a node are operands that other nodes compute, and that are outputs."""
        results = self.model.graph.node[number].output
        if any(self.recorded.ways.get(name) is Exposure.CUT for name in results):
            return []
        return [
            name
            for name in names
            if self.recorded.ways.get(name) in _EXPOSED_IN_MODEL
            and name in self._producers
            and name not in results
            and not is_operator(self.model.graph.node[self._producers[name]], "Constant")
        ]

    def _rounded_operands(self, number: int, names: Sequence[str]) -> list[str]:
        """Return which of some values around a node are operands that may have been rounded for the output only."""
        return [name for name in self._exposed_operands(number, names) if name in self._rounded]

    def judge_wider_segments(
        self, number: int, *, is_wrong: bool, is_fused: bool
    ) -> Iterator[_SegmentJudgement | None]:
        """Yield the judgements of a node, each with more operands that the runtime may have passed to it.

        First the node is judged alone, then together with more and more nodes before it. In a wider segment, nodes of
        float16 and bfloat16 are computed in float, and constants of a narrow type may also be folded. A judgement is
        None if the subject does not return the values around the segment in one run.

        Args:
            number: the number of the node.
            is_wrong: whether the node is outside of its bounds of level `must`. Otherwise rounded operands do not make
                the segment wider: the operands of a wider segment are rounded too, and each adds an error.
            is_fused: whether all exposed operands make the segment wider.
        """
        results = set(self.model.graph.node[number].output)
        hidden = self._hidden
        for widening in range(MAX_WIDENING + 1):
            numbers, names = self._segment(number, hidden)
            grouped, rounded = self._grouped(names), self._rounded_operands(number, names)
            if rounded and not widening:
                yield self._judge(numbers, {}, hidden)
            exposed: dict[str, Array] | None = {}
            if grouped:
                self.recorded.runs += 1
                exposed = expose_together(self.subject.target, self.model, self.data_set.arrays, grouped, self.recorded)
                yield None if exposed is None else self._judge(numbers, exposed, hidden)
            elif is_fused and widening:
                yield self._judge(numbers, {}, hidden)
            if exposed is not None and self._has_narrow_segment(numbers, hidden):
                yield self._judge(numbers, exposed, hidden, keeps_float=True)
                if folded := self._folded_constants(numbers, is_wrong=is_wrong):
                    yield self._judge(numbers, exposed, hidden, keeps_float=True, folded=folded)
            fused = self._exposed_operands(number, names) if is_fused else ()
            operands = {*grouped, *fused, *(rounded if is_wrong else ())} - results
            if not operands:
                return
            hidden |= operands

    def _has_narrow_segment(self, numbers: Sequence[int], hidden: Container[str]) -> bool:
        """Return whether a hidden value between some nodes has, or may have, a narrow type."""
        between = {name for number in numbers for name in self.model.graph.node[number].output if name in hidden}
        return not between.isdisjoint(self._rounded) or any(name not in self.recorded.values for name in between)

    def _grouped(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self.recorded.ways.get(name) is Exposure.GROUP]

    def _judge(
        self,
        numbers: Sequence[int],
        exposed: Mapping[str, Array],
        hidden: Container[str],
        **options: Any,
    ) -> _SegmentJudgement:
        """Judge the last of some nodes, with values of one run, and with the values `hidden` not used."""
        known = {name: array for name, array in self.recorded.values.items() if name not in hidden}
        recorded = replace(self.recorded, values=known | dict(exposed))
        part = part_of(self.model, "segment", numbers)
        options |= {"rounded": self._rounded, "all_elements": self.all_elements}
        judged = judge_nodes(part, recorded, **options)[-1]
        segment = tuple(numbers[place] for place in judged.segment)
        return _SegmentJudgement(replace(judged, number=numbers[-1], segment=segment), recorded.values)

    def _segment(self, number: int, hidden: Container[str]) -> tuple[list[int], list[str]]:
        """Return a node with the nodes of the hidden values before it, in order, and the known values around them."""
        numbers, names, pending = {number}, [*self.model.graph.node[number].output], [number]
        while pending:
            node = self.model.graph.node[pending.pop()]
            for name in names_taken_by(node):
                if name not in hidden:
                    names.append(name)
                elif self._producers[name] not in numbers:
                    numbers.add(self._producers[name])
                    pending.append(self._producers[name])
        return sorted(numbers), list(dict.fromkeys(name for name in names if name))
