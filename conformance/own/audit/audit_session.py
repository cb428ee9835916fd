"""An audit of a model on one subject with one data set: `audit_subject` is the pipeline of its stages.

1. `expose_model` runs the model, exposes its intermediate values, and takes the branches of its If nodes.
2. `judge_exposed_model` judges each node on the exposed values.
3. `Confirmation.confirm` judges each node outside of its bounds again, on other operands that it may have received.
4. `trace_errors` finds the node from which the errors of other nodes come.
5. `probe_nodes` runs each distinct node on hard values, and judges it.
6. `diagnose_nodes` names the mistakes that explain wrong results of an operator, and no right ones.
7. `cases_of_wrong_nodes` makes cases of a corpus.

Each stage returns new data, and changes none of its arguments. The result, `SubjectAudit`, is data only;
`conformance.own.audit.audit_report` shows it. The page "The way of an audit" follows one model through the stages.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from conformance.base.errors import UsageError
from conformance.base.verdicts import Level
from conformance.exact.declarations.declaration_tables import operator_name
from conformance.exact.models.arrays import hash_values
from conformance.exact.models.external_data import initializer_arrays_in
from conformance.exact.models.graphs import find_producers, graph_edges, normal_domain, with_inferred_types
from conformance.exact.models.input_files import constant_node_values, required_input_names
from conformance.exact.models.model_validity import invalid_model, newer_than_onnx, unnoticed_violation
from conformance.own.audit.audit_cases import case_of_node, case_of_wrong_node
from conformance.own.audit.audit_job import AuditKey, AuditWorkers, ExposedModel
from conformance.own.audit.confirmation import Confirmation
from conformance.own.audit.node_verdicts import JudgedNode, JudgementOptions, NodeVerdict, judge_nodes
from conformance.own.audit.probes import ProbedNode, probe_nodes
from conformance.own.audit.propagation import trace_errors
from conformance.own.graphs.cutting import GraphParts
from conformance.own.graphs.inlining import inline_neutral_functions, inline_taken_branches
from conformance.own.graphs.intermediate_values import (
    ExposedValues,
    Exposure,
    SubjectRefused,
    are_identical,
    constant_text,
    declaration_text,
    expose_values,
    random_values,
    run_once,
    set_data_folder,
)
from conformance.own.graphs.model_inputs import vocabulary_text
from conformance.own.graphs.reading import LoadedModel
from conformance.own.graphs.tensor_borders import with_tensor_inputs
from conformance.run.diagnosis.node_diagnosis import NodeResult, mistake_text, mistakes_of_results
from conformance.run.mutants.node_mutants import NodeRun
from conformance.run.results.records import DiagnosisRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import onnx

    from conformance.corpus.cases.case import Case
    from conformance.exact.models.arrays import Array
    from conformance.own.audit.confirmation import ConfirmedNode
    from conformance.own.graphs.model_inputs import InputSet
    from conformance.own.graphs.recorded_outputs import DeviceRun
    from conformance.subjects.calling.subject_names import Subject


MAX_CASES = 100
"""Number of wrong nodes that become cases."""

SECONDS_OF_PROGRESS = 0.5
"""Time between two reports of the number of judged nodes."""

MAX_BRANCH_DEPTH = 8
"""Maximum depth of nested If nodes whose branches are moved into the main graph."""


@dataclass(frozen=True)
class AuditOptions:
    """Options of an audit.

    Attributes:
        all_elements: whether every element of a large output is judged, and not a sample.
        makes_cases: whether wrong nodes become cases.
        workers: workers that judge the nodes, and the folder of an interrupted audit; None to judge in this process.
        probes: the number of sets of hard values on which each distinct small node runs alone.
        command: the command line of the audit, to which `--node` can be added; None if it is not known.
    """

    all_elements: bool = False
    makes_cases: bool = False
    workers: AuditWorkers | None = None
    probes: int = 0
    command: str | None = None


_DEFAULT_OPTIONS = AuditOptions()


@dataclass(frozen=True)
class SubjectAudit:
    """The audit of a model on one subject with one data set.

    Attributes:
        subject: the id of the subject.
        version: its version.
        data_set: the name of the data set.
        failure: the message of the subject if it did not run the model; otherwise None.
        is_repeatable: whether the first and the second run of one prepared model returned the same outputs.
        repeats_when_prepared_again: whether a model that was prepared again returned the same outputs.
        ways: the number of intermediate values by the way they were obtained.
        remark: why added outputs could not be used for all values; None if they could.
        warnings: outputs that contradict their declaration, outputs whose elements are all equal, and vocabularies of
            which no element is an entry.
        model_runs: the number of models that were run to obtain the values.
        nodes: the judged nodes, in the model's order.
        edges: pairs of numbers of nodes; the second node takes a result of the first.
        cases: wrong nodes as cases, if they are asked for.
        probes: the distinct nodes that ran alone on hard values.
        has_traced_errors: whether the exact values of the whole model were computed.
        diagnoses: the mistakes that explain wrong results of an operator and no right ones.
        command: the command line of the audit, to which `--node` can be added; None if it is not known.
    """

    subject: str
    version: str
    data_set: str
    failure: str | None = None
    is_repeatable: bool = True
    repeats_when_prepared_again: bool = True
    ways: Mapping[str, int] = field(default_factory=dict)
    remark: str | None = None
    model_runs: int = 0
    nodes: Sequence[JudgedNode] = ()
    edges: Sequence[tuple[int, int]] = ()
    cases: Sequence[Case] = ()
    has_traced_errors: bool = False
    command: str | None = None
    probes: Sequence[ProbedNode] = ()
    diagnoses: Sequence[DiagnosisRecord] = ()
    warnings: Sequence[str] = ()

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

    @cached_property
    def wrong_on_hard_data(self) -> frozenset[int]:
        """The numbers of the nodes that are equal to a node with a wrong output on hard values."""
        return frozenset(number for each in self.wrong_probes for number in each.numbers)

    @property
    def probes_below_should(self) -> list[ProbedNode]:
        """The distinct nodes that are outside of their bounds of level `should` only on hard values."""
        return [each for each in self.probes if each.node.should_worst is not None]

    @cached_property
    def _probed(self) -> Mapping[int, JudgedNode]:
        """The judgement on hard values of each node of which an equal node was judged on them, by number."""
        judged = (each for each in self.probes if each.node.verdict is not NodeVerdict.NOT_JUDGED)
        return {number: each.node for each in judged for number in each.numbers}

    def noticed(self, node: JudgedNode) -> float:
        """Return the smallest relative error in every element of a node that would be wrong, also on hard values."""
        hard = self._probed.get(node.number, node)
        return min(each.noticed_at(each.level) for each in (node, hard))

    def weak_nodes(self, level: Level) -> list[JudgedNode]:
        """Return the nodes on which an error of 1 % in every element would pass, also on hard values."""
        return [
            structs.replace(node, noticed=min(node.noticed, hard.noticed))
            for node in self.nodes
            if node.is_weak(level)
            for hard in (self._probed.get(node.number, node),)
            if hard.passes_much(level) and hard.verdict is not NodeVerdict.WRONG
        ]

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
    options: AuditOptions = _DEFAULT_OPTIONS,
    numbering: Mapping[str, int] | None = None,
) -> SubjectAudit:
    """Run a model on a subject, and judge its nodes on the values that the subject computed.

    Args:
        model: the model.
        subject: the backend.
        data_set: the inputs.
        progress: is called with a text for the user.
        options: the options of the audit.
        numbering: the numbers of the nodes in the whole model, by the name of an output; None if `model` is whole.

    Raises:
        ModelError: the subject refuses the model, which violates the specification.
        ConformanceError: the folder of the workers cannot be used, or the workers cannot continue.
    """
    key = AuditKey(model.digest, subject.id, subject.version or "", hash_values(data_set.arrays))
    set_data_folder(subject.target, model.data_folder)
    try:
        found = options.workers.find(key, model.data_folder) if options.workers else None
        exposed = found or expose_model(model, subject, data_set, progress)
    except SubjectRefused as refusal:
        _check_refused_model(model, subject)
        may_be_sizes = data_set.chosen and not refusal.is_unsupported
        hint = " (with the inputs that the suite chose; give others with --shape or --input)" if may_be_sizes else ""
        return SubjectAudit(key.subject, key.version, data_set.name, f"{refusal}{hint}", command=options.command)
    _, (fed,) = with_tensor_inputs(model, [data_set])
    return _audit_exposed_model(model, subject, fed, key, exposed, progress, options, numbering)


def audit_recorded(
    model: LoadedModel,
    recorded: DeviceRun,
    data_set: InputSet,
    progress: Callable[[str], None] = lambda _: None,
    options: AuditOptions = _DEFAULT_OPTIONS,
) -> SubjectAudit:
    """Judge the nodes of a model on values that were recorded elsewhere; no model runs.

    The nodes around a value that was not recorded are judged together. Only the last of them counts as judged.

    Args:
        model: the model.
        recorded: the values.
        data_set: the inputs for which they were recorded.
        progress: is called with a text for the user.
        options: the options of the audit.
    """
    made, (fed,) = with_tensor_inputs(model, [data_set])
    graph = made.prepared.graph
    constants = initializer_arrays_in(graph, model.data_folder) | constant_node_values(graph)
    inputs = dict(zip(required_input_names(graph), fed.arrays, strict=True))
    given = {**inputs, **recorded.values}
    others = {name: value for name, value in given.items() if not isinstance(value, np.ndarray)}
    arrays = {name: value for name, value in given.items() if name not in others}
    computed = [name for node in graph.node for name in node.output if name and name not in constants]
    ways = dict.fromkeys(constants, Exposure.CONSTANT) | dict.fromkeys(inputs, Exposure.OUTPUT)
    ways |= {name: Exposure.RECORDED if name in recorded.values else Exposure.UNRECORDED for name in computed}
    values = ExposedValues(
        {**constants, **arrays},
        ways,
        [recorded.values[value.name] for value in graph.output if value.name in recorded.values],
        runs=0,
        others=others,
    )
    exposed = ExposedModel(made.prepared, values, True, True, model.data_folder)
    key = AuditKey(model.digest, recorded.subject, "", hash_values(data_set.arrays))
    return _audit_exposed_model(model, None, fed, key, exposed, progress, options)


def _audit_exposed_model(
    model: LoadedModel,
    subject: Subject | None,
    data_set: InputSet,
    key: AuditKey,
    exposed: ExposedModel,
    progress: Callable[[str], None],
    options: AuditOptions,
    numbering: Mapping[str, int] | None = None,
) -> SubjectAudit:
    """Judge the nodes of an exposed model; for the other arguments see `audit_subject` and `audit_recorded`."""
    judged = exposed.model
    values = exposed.values
    nodes = judge_exposed_model(exposed, key, progress, options)
    confirmation = Confirmation(judged, replace(values, enclosed={}), subject, data_set.arrays, options.all_elements)
    confirmed = []
    for node in nodes:
        if node.fault_rank:  # each takes several runs of the model
            progress(f"node {node.number} is outside of its bounds, and is judged again")
        confirmed.append(_without_chosen_fault(confirmation.confirm(node), data_set))
    traced = trace_errors(judged, values, [each.node for each in confirmed])
    probes = [] if subject is None else probe_nodes(judged, values, subject, options.probes, progress)
    ways = Counter(values.ways.values())
    audit = SubjectAudit(
        key.subject,
        key.version,
        data_set.name,
        is_repeatable=exposed.is_repeatable,
        repeats_when_prepared_again=exposed.repeats_when_prepared_again,
        ways={str(way): ways[way] for way in Exposure if ways[way] and way is not Exposure.CONSTANT},
        remark=values.remark or None,
        model_runs=sum([values.runs, *(each.model_runs for each in confirmed), *(each.model_runs for each in probes)]),
        nodes=[each.node for each in confirmed] if traced is None else traced,
        edges=graph_edges(judged.graph),
        has_traced_errors=traced is not None,
        command=options.command,
        probes=probes,
        warnings=[*_model_warnings(model), *_output_warnings(judged.graph, values.values)],
    )
    numbers = range(len(judged.graph.node)) if numbering is None else _numbers_in(judged, numbering)
    if audit.wrong_nodes or audit.wrong_probes:
        results = (
            (case_of_node(model.path.name, numbers[node.number], node, is_probe=is_probe), node, known)
            for node, known, is_probe in _results(audit, values, confirmed)
        )
        audit = replace(audit, diagnoses=diagnose_nodes(judged, key.subject, results))
    cases = cases_of_wrong_nodes(model.path.name, audit, exposed, confirmed, numbers) if options.makes_cases else []
    return replace(_renumbered(audit, numbers), cases=cases)


def _check_refused_model(model: LoadedModel, subject: Subject) -> None:
    """Check that a model that a subject refuses is valid.

    Raises:
        ModelError: it violates the specification, so the subject may refuse it.
    """
    if violation := unnoticed_violation(model.original):
        raise invalid_model(model.path, model.original, f"{violation}; {subject.id} does not run it")


def _model_warnings(model: LoadedModel) -> list[str]:
    """Return notes on a model that violates the specification, or has a newer opset.

    Nodes of a newer opset are judged by the newest definition that onnx has.
    """
    newer = newer_than_onnx(model.path, model.original)
    notes = [f"{newer.problem} Its nodes are judged by older definitions. {newer.hint}"] if newer else []
    violation = unnoticed_violation(model.original)
    return [*notes, *([f"the model is invalid: {violation}"] if violation else [])]


def _output_warnings(graph: onnx.GraphProto, values: Mapping[str, Array]) -> list[str]:
    """Return notes on the outputs of a model that a user should see, although no verdict depends on them."""
    given = [(each, values.get(each.name)) for each in graph.output]
    texts = [text for each, value in given for text in (declaration_text(each, value), constant_text(each.name, value))]
    return [text for text in (*texts, vocabulary_text(graph.node, values)) if text]


def _without_chosen_fault(confirmed: ConfirmedNode, data_set: InputSet) -> ConfirmedNode:
    """Return no verdict for a wrong node whose output is empty, if the suite chose the sizes of the inputs."""
    node = confirmed.node
    if not data_set.chosen or node.verdict is not NodeVerdict.WRONG or not node.is_empty:
        return confirmed
    reason = f"the chosen sizes of the inputs make an empty tensor: {node.reason}; give {' '.join(data_set.chosen)}"
    unjudged = structs.replace(node, verdict=NodeVerdict.NOT_JUDGED, reason=f"{reason} with other sizes", share=0.0)
    return replace(confirmed, node=unjudged)


def audit_nodes_alone(
    model: LoadedModel,
    subject: Subject,
    data_set: InputSet,
    numbers: Sequence[int],
    progress: Callable[[str], None] = lambda _: None,
    options: AuditOptions = _DEFAULT_OPTIONS,
) -> SubjectAudit:
    """Cut some nodes out of a model, and audit them as a model of their own on the values that the subject computed.

    Args:
        model: the model.
        subject: the backend.
        data_set: the inputs of the model.
        numbers: the numbers of the nodes, as an audit of the model shows them.
        progress: is called with a text for the user.
        options: the options of the audit.

    Raises:
        UsageError: a node does not exist, or its operands are hidden.
    """
    set_data_folder(subject.target, model.data_folder)
    try:
        exposed = expose_model(model, subject, data_set, progress)
    except SubjectRefused as refusal:
        _check_refused_model(model, subject)
        return SubjectAudit(subject.id, subject.version or "", data_set.name, str(refusal))
    count = len(exposed.model.graph.node)
    if max(numbers) >= count:
        raise UsageError("node-missing", number=max(numbers), count=count)
    part = GraphParts(exposed.model).cut(sorted(set(numbers)), exposed.values.operands)
    if part is None:
        raise UsageError("node-not-alone", subject=subject.id, numbers=list(numbers))
    content = part.model.SerializeToString(deterministic=True)
    single = LoadedModel(
        model.path, hashlib.sha256(content).hexdigest(), part.model, with_inferred_types(part.model), model.data_folder
    )
    inputs = replace(data_set, arrays=tuple(part.arrays))
    return audit_subject(single, subject, inputs, progress, options, find_producers(exposed.model.graph))


def expose_model(
    model: LoadedModel, subject: Subject, data_set: InputSet, progress: Callable[[str], None] = lambda _: None
) -> ExposedModel:
    """Run a model three times, and record its intermediate values.

    Inputs that are not tensors are made from tensors, and an If is replaced by the branch that it takes, at every
    depth, as long as the outputs keep their bits; so is the call of a function by its nodes. Some runtimes keep them
    only if the values at the border of the branch are rounded as they were.

    Raises:
        SubjectRefused: the subject does not run the model.
    """
    progress(f"{subject.id} runs the model")
    first, other = run_once(subject.target, model.original, data_set.arrays, times=2)
    is_repeatable = are_identical(first, other)
    chance = random_values(model.prepared.graph)
    names = [value.name for value in model.original.graph.output]

    def repeats(again: Sequence[Any]) -> bool:
        """Return whether the outputs that do not depend on random numbers are the same again."""
        return all(name in chance or are_identical([a], [b]) for name, a, b in zip(names, first, again, strict=True))

    is_like_first = repeats(other)
    del other  # the outputs can be large
    (other,) = run_once(subject.target, model.original, data_set.arrays)
    repeats_again = are_identical(first, other)
    is_like_first_again = repeats(other)
    del other
    made, (fed,) = with_tensor_inputs(model, [data_set])

    def expose(prepared: onnx.ModelProto, *, is_stable: bool) -> ExposedValues:
        constants = initializer_arrays_in(prepared.graph, model.data_folder)
        return expose_values(
            subject.target, prepared, fed.arrays, first, progress, is_stable=is_stable, constants=constants
        )

    judged = made.prepared
    if (
        model.original.functions
        and is_repeatable
        and repeats_again
        and not _keeps_outputs(subject, judged, fed.arrays, first)
    ):
        progress("the calls that the subject does not compute like the nodes of their functions stay")
        keeps = partial(_keeps_outputs, subject, inputs=fed.arrays, outputs=first)
        judged = with_inferred_types(inline_neutral_functions(made.original, keeps))
    values = expose(judged, is_stable=is_repeatable and repeats_again)
    for _ in range(MAX_BRANCH_DEPTH):
        for keeps_borders in (False, True):
            inlined = inline_taken_branches(judged, values.values, keeps_borders=keeps_borders)
            if inlined is not None and _keeps_outputs(subject, inlined, fed.arrays, first):
                break
        else:
            break
        progress("the branches that are taken are moved into the main graph")
        try:
            further = expose(inlined, is_stable=True)
        except SubjectRefused:
            break
        judged, values = inlined, replace(further, runs=further.runs + values.runs)
    values = replace(values, values={**values.values, **constant_node_values(judged.graph)})
    return ExposedModel(judged, values, is_like_first, is_like_first_again, model.data_folder)


def _keeps_outputs(subject: Subject, model: onnx.ModelProto, inputs: Sequence[Array], outputs: Sequence[Any]) -> bool:
    """Return whether the subject computes outputs with the same bits."""
    try:
        (results,) = run_once(subject.target, model, inputs)
    except SubjectRefused:
        return False
    return are_identical(results, outputs)


def judge_exposed_model(
    exposed: ExposedModel, key: AuditKey, progress: Callable[[str], None], options: AuditOptions = _DEFAULT_OPTIONS
) -> list[JudgedNode]:
    """Judge each node on the exposed values, in this process or on workers."""
    shown = time.monotonic()

    def count(done: int, total: int) -> None:
        nonlocal shown
        if time.monotonic() - shown > SECONDS_OF_PROGRESS or done == total:
            shown = time.monotonic()
            progress(f"{done} of {total} nodes judged")

    if options.workers is not None:
        return options.workers.judge(key, exposed, count, all_elements=options.all_elements)
    return judge_nodes(exposed.model, exposed.values, count, JudgementOptions(options.all_elements))


def _results(
    audit: SubjectAudit, exposed: ExposedValues, confirmed: Sequence[ConfirmedNode]
) -> list[tuple[JudgedNode, Mapping[str, Array], bool]]:
    """Return the wrong and the correct nodes and probes of an audit, wrong ones first.

    Each has its values by name, and whether it is a probe.
    """
    others = {each.node.number: each.values for each in confirmed if each.values is not None}
    correct = (node for node in audit.nodes if node.verdict is NodeVerdict.CORRECT)
    right_probes = (each for each in audit.probes if each.node.verdict is NodeVerdict.CORRECT)
    return [
        *((node, others.get(node.number, exposed.values), False) for node in (*audit.wrong_nodes, *correct)),
        *((each.node, each.values, True) for each in (*audit.wrong_probes, *right_probes)),
    ]


def cases_of_wrong_nodes(
    name: str, audit: SubjectAudit, exposed: ExposedModel, confirmed: Sequence[ConfirmedNode], numbers: Sequence[int]
) -> list[Case]:
    """Return the wrong nodes of an audit as cases.

    Args:
        name: the name of the file of the model.
        audit: the audit, with the numbers of the judged model.
        exposed: the exposed model.
        confirmed: the judgements, with the values of nodes that were judged again.
        numbers: the number in the whole model of each judged node.
    """
    known = exposed.values
    results = _results(audit, known, confirmed)
    wrong = [each for each in results if each[0].verdict is NodeVerdict.WRONG]
    constants = {name: known.values[name] for name, way in known.ways.items() if way is Exposure.CONSTANT}
    made = (
        case_of_wrong_node(name, node, exposed.model, values, constants, numbers, is_probe=is_probe)
        for node, values, is_probe in wrong[:MAX_CASES]
    )
    return [case for case in made if case is not None]


def _numbers_in(part: onnx.ModelProto, numbering: Mapping[str, int]) -> list[int]:
    """Return the numbers of a part's nodes in the whole model.

    The nodes of a branch may have replaced an If in the part alone. They stand before the nodes that have the outputs
    of the If, and have its number.
    """
    found = []
    following = 0
    for node in reversed(part.graph.node):
        following = next((numbering[name] for name in node.output if name in numbering), following)
        found.append(following)
    return found[::-1]


def _renumbered(audit: SubjectAudit, numbers: Sequence[int]) -> SubjectAudit:
    """Return an audit with other numbers of the nodes; `numbers` has the new number of each node."""

    def renumber(node: JudgedNode) -> JudgedNode:
        return structs.replace(
            node,
            number=numbers[node.number],
            segment=tuple(numbers[each] for each in node.segment),
            wrong_alone=None if node.wrong_alone is None else tuple(numbers[each] for each in node.wrong_alone),
            origin=None if node.origin is None else numbers[node.origin],
            covered_by=None if node.covered_by is None else numbers[node.covered_by],
        )

    edges = dict.fromkeys((numbers[first], numbers[second]) for first, second in audit.edges)
    return replace(
        audit,
        nodes=[renumber(node) for node in audit.nodes],
        probes=[
            replace(probed, node=renumber(probed.node), numbers=[numbers[each] for each in probed.numbers])
            for probed in audit.probes
        ],
        edges=[(first, second) for first, second in edges if first != second],
    )


MAX_NODES = 60
"""Number of wrong and of right nodes and probes of an operator on which mistakes are tried."""


def diagnose_nodes(
    model: onnx.ModelProto,
    subject: str,
    results: Iterable[tuple[str, JudgedNode, Mapping[str, Array]]],
) -> list[DiagnosisRecord]:
    """Return the mistakes that explain the wrong results of the nodes of each operator, by the diagnosis of `run`.

    A mistake that explains all wrong results on which it is tried explains those too that are too large.

    Args:
        model: the model; the numbers of the nodes are those of its main graph.
        subject: the id of the subject.
        results: the wrong and the correct nodes and probes, each with the id of its case and with the values that the
            subject took and returned.
    """
    opsets = {normal_domain(each.domain): each.version for each in model.opset_import}
    wrong: dict[str, dict[str, list[NodeResult]]] = {}
    right: dict[str, list[NodeResult]] = {}
    for case, judged, values in results:
        operator = operator_name(judged.op_type, normal_domain(judged.domain))
        is_wrong = judged.verdict is NodeVerdict.WRONG
        others = right.setdefault(operator, [])
        own = wrong.setdefault(operator, {}).setdefault(case, []) if is_wrong else others
        if len(others) < MAX_NODES if not is_wrong else len(wrong[operator]) <= MAX_NODES:
            own += _results_of_node(model.graph.node[judged.number], opsets, values, is_wrong=is_wrong)
    return [
        DiagnosisRecord.of_mistake(
            subject,
            operator,
            one.mistakes,
            cases if one.is_of_all else one.cases,
            len(cases),
            one.condition,
            texts=[mistake_text(operator, mistake) for mistake in one.mistakes],
        )
        for operator, cases in wrong.items()
        for one in mistakes_of_results(cases, right[operator])
    ]


def _results_of_node(
    node: onnx.NodeProto, opsets: Mapping[str, int], values: Mapping[str, Array], *, is_wrong: bool
) -> Iterator[NodeResult]:
    """Yield what a subject returned for a node; nothing if a value is not known."""
    if all(name in values for name in (*node.input, *node.output) if name):
        operands = tuple(values[name] if name else None for name in node.input)
        run = NodeRun(node, opsets[normal_domain(node.domain)], operands)
        yield NodeResult(run, None, [values[name] for name in node.output if name], is_wrong)
