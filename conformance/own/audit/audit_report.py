"""Reports of an audit: text for the terminal, and JSON."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence  # noqa: TC003 - msgspec reads the annotations
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from conformance.base.serialization.printable_text import ratio_text
from conformance.base.verdicts import Level
from conformance.exact.judgement.distances import noticed_text
from conformance.exact.judgement.node_comparison import JudgedElement, bound_source, number_text
from conformance.exact.models.graphs import operator_text
from conformance.own.audit.node_verdicts import JudgedNode, NodeJudgement, NodeVerdict
from conformance.own.graphs.intermediate_values import Exposure
from conformance.own.graphs.reading import LoadedModel, ModelRecord
from conformance.run.results.records import DiagnosisRecord  # noqa: TC001 - msgspec reads the annotations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.own.audit.audit_session import SubjectAudit
    from conformance.own.audit.probes import ProbedNode

MAX_LISTED_NODES = 20
"""Wrong nodes that the terminal lists, and nodes of each other kind."""

MAX_LISTED_OPERATORS = 8
"""Maximum number of operators without hard data that a report names."""

MAX_OPEN_PROBES = 3
"""Nodes that the terminal lists because the page leaves one of their results on hard data open."""

MAX_LISTED_ERRORS = 8
"""Nodes in the table of errors."""

MAX_LISTED_OPERATORS = 8
"""Operators that are named as not judged in a line."""


class OperatorRow(
    msgspec.Struct,
    rename={"at_should": "at should", "not_judged": "not judged", "is_correctly_rounded": "correctly rounded"},
):
    """The numbers of nodes of one operator by verdict, and the largest share of a bound.

    Nodes that are judged at level `should` only are counted apart from the judged ones. `is_correctly_rounded` states
    whether all elements are exact results that were rounded once. `missing` counts the judged nodes without known
    outputs, which have no share of a bound.
    """

    operator: str
    nodes: int = 0
    judged: int = 0
    at_should: int = 0
    wrong: int = 0
    unspecified: int = 0
    not_judged: int = 0
    missing: int = 0
    share: float = 0.0
    is_correctly_rounded: bool = True

    @property
    def has_share(self) -> bool:
        """Whether an output of a judged node was compared."""
        return self.judged + self.at_should > self.missing


def operator_rows(nodes: Sequence[JudgedNode]) -> list[OperatorRow]:
    """Return one row for each operator."""
    rows: dict[str, OperatorRow] = {}
    for node in nodes:
        row = rows.setdefault(operator_name(node), OperatorRow(operator_name(node)))
        row.nodes += 1
        if node.verdict is NodeVerdict.NOT_JUDGED:
            row.not_judged += 1
            continue
        row.judged += node.level is Level.MUST
        row.at_should += node.level is not Level.MUST
        row.wrong += node.verdict is NodeVerdict.WRONG
        row.unspecified += node.verdict is NodeVerdict.UNSPECIFIED
        if node.covered_by is not None:
            row.missing += 1
            continue
        row.share = max(row.share, node.level_share)
        row.is_correctly_rounded &= node.is_correctly_rounded
    return sorted(rows.values(), key=lambda row: (-row.wrong, -row.nodes, row.operator))


def operator_name(node: JudgedNode) -> str:
    """Return the operator of a node, with its domain unless it is the main domain."""
    return operator_text(node.op_type, node.domain)


def share_text(share: float, *, is_correctly_rounded: bool = False) -> str:
    """Return the share of a bound as text: `0.65`, or `not equal` where the output must be equal.

    An error up to half an ULP may be the whole bound. `correctly rounded` then states that no better result exists.
    """
    if math.isinf(share):
        return "not equal"
    return ratio_text(share, 2) + (" correctly rounded" if is_correctly_rounded and share else "")


def reasons(nodes: Sequence[JudgedNode]) -> list[tuple[str, int]]:
    """Return why nodes were not judged, each with the number of nodes, the most frequent first."""
    counts = Counter(node.reason for node in nodes if node.reason and node.verdict is NodeVerdict.NOT_JUDGED)
    return counts.most_common()


def wrong_title(audit: SubjectAudit) -> str:
    """Return how many nodes are wrong, and how many distinct ones on hard data."""
    counts = (len(audit.wrong_nodes), ""), (len(audit.wrong_probes), " on hard data")
    parts = [f"{count} wrong node{'s' * (count > 1)}{place}" for count, place in counts if count]
    return ", ".join(parts) or "No node is wrong"


def audit_title(audit: SubjectAudit) -> str:
    """Return the subject, its version if it is known, and the data set of an audit."""
    return f"{f'{audit.subject} {audit.version}'.strip()}, {audit.data_set}"


def ways_text(audit: SubjectAudit) -> str:
    """Return the number of values by the way they were obtained, and why not by added outputs alone."""
    ways = (f"{count} {'' if way in _MISSING else 'by '}{way}" for way, count in audit.ways.items())
    return ", ".join(ways) + (f" ({audit.remark})" if audit.remark else "")


_MISSING = {Exposure.HIDDEN, Exposure.UNRECORDED}


def text_lines(audit: SubjectAudit) -> Iterator[str]:
    """Yield the lines that the terminal shows for one subject and data set."""
    yield audit_title(audit)
    if audit.failure:
        yield f"  The subject does not run the model: {audit.failure}"
        return
    if not audit.is_repeatable:
        yield "  The first and the second run of the prepared model return different outputs."
    if not audit.repeats_when_prepared_again:
        yield "  The model returns different outputs when it is prepared again."
    for warning in audit.warnings[:MAX_LISTED_NODES]:
        yield f"  WARNING {warning}"
    yield f"  values: {ways_text(audit)}"
    rows = operator_rows(audit.nodes)
    width = max([len("operator"), *(len(row.operator) for row in rows)])
    yield f"  {'operator':{width}}  nodes  judged  at should  wrong  unspecified  not judged  largest error / bound"
    for row in rows:
        share = "-"
        if row.has_share:
            share = share_text(row.share, is_correctly_rounded=row.is_correctly_rounded)
        yield (
            f"  {row.operator:{width}}  {row.nodes:5}  {row.judged:6}  {row.at_should:9}  {row.wrong:5}"
            f"  {row.unspecified:11}  {row.not_judged:10}  {share:>21}"
        )
    yield from _error_lines(audit)
    yield f"  {judged_text(audit)}"
    for node in [each for each in audit.nodes if each.open_element][:MAX_LISTED_NODES]:
        yield f"  UNSPECIFIED {open_text(node)}"
    for node in [each for each in audit.nodes if each.text][:MAX_LISTED_NODES]:
        yield f"  EARLIER TEXT {operator_text(node.op_type, node.domain)} {node.name}: {node.text}"
    yield from _fault_lines(audit, "SHOULD", audit.nodes_below_should, should_text)
    for node in audit.weak_nodes(Level.MUST)[:MAX_LISTED_NODES]:
        yield f"  WEAKLY JUDGED {weak_text(node)}"
    for reason, count in reasons(audit.nodes):
        yield f"  not judged, {count}: {reason}"
    yield from _fault_lines(audit, "WRONG", audit.wrong_nodes, wrong_text)
    if len(audit.wrong_nodes) > MAX_LISTED_NODES:
        yield f"  {len(audit.wrong_nodes) - MAX_LISTED_NODES} more wrong nodes; --json has all"
    if audit.probes:
        yield f"  on hard data: {probes_text(audit.probes)}"
        for reason, count in reasons([each.node for each in audit.probes]):
            yield f"  not judged on hard data, {count}: {reason}"
        if without := without_hard_data(audit):
            yield f"  without hard data: {without}"
    for probed in [each for each in audit.probes if each.node.open_element][:MAX_OPEN_PROBES]:
        yield f"  UNSPECIFIED ON HARD DATA {open_text(probed.node)}"
    for kind, probes, text in (
        ("WRONG", audit.wrong_probes, wrong_text),
        ("SHOULD", audit.probes_below_should, should_text),
    ):
        shown = {text(node) for node in (audit.wrong_nodes if kind == "WRONG" else audit.nodes_below_should)}
        others = [each.node for each in probes if text(each.node) not in shown]
        yield from _fault_lines(audit, f"{kind} ON HARD DATA", others, text)
    for record in audit.diagnoses:
        yield f"  DIAGNOSIS {diagnosis_text(record)}"


def diagnosis_text(record: DiagnosisRecord) -> str:
    """Return a mistake, and how many wrong results of its operator it explains."""
    from conformance.run.results.failure_groups import mutant_sentence  # late: only audits with a wrong node need it

    of = "the only wrong result" if record.failing == 1 else f"{record.explained} of {record.failing} wrong results"
    return f"{mutant_sentence(record)}; explains {of} of {record.operator}"


def without_hard_data(audit: SubjectAudit) -> str:
    """Return the operators with nodes that have no hard data, such as those that only take constants, with numbers."""
    probed = {number for each in audit.probes for number in each.numbers}
    counts = Counter(operator_name(node) for node in audit.nodes if node.number not in probed)
    texts = [f"{count} {operator}" for operator, count in counts.most_common(MAX_LISTED_OPERATORS)]
    return ", ".join([*texts, *([f"{len(counts) - len(texts)} more operators"] if len(counts) > len(texts) else [])])


def probes_text(probes: Sequence[ProbedNode]) -> str:
    """Return how many distinct nodes were judged on hard data, and how many are wrong."""
    verdicts = Counter(each.node.verdict for each in probes)
    judged, at_should = (sum(each.node.is_judged_at(level) for each in probes) for level in (Level.MUST, Level.SHOULD))
    text = f"{judged} of {len(probes)} distinct nodes judged{_more_at_should(at_should - judged)}"
    text += f", {_wrong_text(verdicts[NodeVerdict.WRONG], sum(each.node.should_worst is not None for each in probes))}"
    unspecified = verdicts[NodeVerdict.UNSPECIFIED]
    return f"{text}, {unspecified} unspecified" if unspecified else text


def _error_lines(audit: SubjectAudit) -> Iterator[str]:
    """Yield a table of the nodes with the largest errors against the exact value of the whole model."""
    if not audit.has_traced_errors:
        yield "  errors since the inputs: not computed, because the model is too large"
        return
    nodes = sorted(audit.nodes, key=lambda node: -(node.accumulated or 0.0))[:MAX_LISTED_ERRORS]
    rows = [(f"{node.number} {operator_name(node)}", node) for node in nodes if node.accumulated]
    if not rows:
        return
    width = max(len("largest errors"), *(len(name) for name, _ in rows))
    yield f"  {'largest errors':{width}}  of the node  since the inputs"
    for name, node in rows:
        own = "-" if node.verdict is NodeVerdict.NOT_JUDGED else f"{node.introduced:.2g}"
        yield f"  {name:{width}}  {own:>11}  {node.accumulated:16.2g}  {origin_text(audit, node)}".rstrip()


def origin_text(audit: SubjectAudit, node: JudgedNode) -> str:
    """Return where the error of a node comes from; an empty text if that is not known."""
    if node.origin is None or not node.accumulated or node.verdict is NodeVerdict.NOT_JUDGED:
        return ""
    if node.origin == node.number:
        return "introduced here"
    origin = next(each for each in audit.nodes if each.number == node.origin)
    return f"propagated from node {origin.number} {operator_name(origin)}"


def node_command(audit: SubjectAudit, node: JudgedNode) -> str | None:
    """Return the command that runs a node alone, with the nodes that it was judged together with; None if unknown."""
    numbers = sorted({*node.segment, node.number})
    return " ".join([audit.command, *(f"--node {number}" for number in numbers)]) if audit.command else None


def _fault_lines(
    audit: SubjectAudit, kind: str, nodes: Sequence[JudgedNode], text: Callable[[JudgedNode], str]
) -> Iterator[str]:
    for node in nodes[:MAX_LISTED_NODES]:
        yield f"  {kind} {text(node)}"
        if command := node_command(audit, node):
            yield f"    to run it alone: {command}"


class AuditOutcome(StrEnum):
    """The outcome of some audits: `no verdict` if nothing is wrong, and no element could be wrong."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    NO_VERDICT = "NO VERDICT"

    @classmethod
    def of(cls, audits: Sequence[SubjectAudit], level: Level = Level.MUST, required: float = 0.0) -> AuditOutcome:
        """Return the outcome of some audits at a level.

        Args:
            audits: the audits.
            level: the weakest level whose bounds the outputs must keep.
            required: the share of each audit that must be judged.
        """
        shares = [JudgedShare.of([each], level) for each in audits]
        if any(each.has_faults_at(level) for each in audits) or not all(each.is_enough(required) for each in shares):
            return cls.FAILED
        return cls.PASSED if all(each.has_judged for each in shares) else cls.NO_VERDICT


@dataclass(frozen=True)
class ReportedAudit:
    """The outcome of an audit with the known failures of expectations files.

    Attributes:
        outcome: the outcome.
        reasons: the reasons for which it fails although failures are known; empty without expectations files.
        summary: the outcome and the numbers of judged nodes and elements, in one line.
    """

    outcome: AuditOutcome
    reasons: Sequence[str]
    summary: str


class JudgedShare(msgspec.Struct):
    """The judged share of some audits at a level.

    Attributes:
        nodes: the number of nodes that are judged at the level.
        should_nodes: the number of nodes that are judged at level `should` only.
        all_nodes: the number of nodes.
        wrong: the number of wrong nodes.
        wrong_at_should: the number of nodes that are outside of their bounds of level `should` only.
        unspecified: the number of nodes with elements for which the page states no result, and without a wrong element.
        elements: the number of judged elements.
        all_elements: the number of elements of all nodes.
        sampled: the number of judged nodes of whose outputs only a sample was compared.
        represented_elements: the number of elements that the judged ones stand for: of a large output, only a sample is
            compared.
        undetermined: the number of elements for which every value is admissible.
        loose: the number of elements whose bound is larger than the magnitude of the expected value.
        open_elements: the number of elements for which the page states no result.
        operations: about how many operations the compared elements of the judged nodes need.
        all_operations: about how many operations all nodes need.
        open_nodes: the number of nodes that were compared, and most of whose elements are unspecified or have no useful
            bound.
        weak_nodes: the number of nodes on which an error of 1 % in every element would pass.
        covered: the number of nodes whose outputs are missing, and that were judged only together with later nodes.
        groups: the number of groups of such nodes with a later node.
        largest_group: the number of nodes in the largest one.
        passing: the largest relative error that would pass in every element of an output of one of the groups.
        unjudged: the number of nodes that were not judged, also not with later nodes, by operator.
        share: the smallest one of the judged shares of the nodes, the elements and the arithmetic, without unspecified
            elements and without nodes that have no other elements. Weakly judged nodes are not judged here. A sample
            stands for its node.
    """

    nodes: int = 0
    should_nodes: int = 0
    all_nodes: int = 0
    wrong: int = 0
    wrong_at_should: int = 0
    unspecified: int = 0
    elements: int = 0
    all_elements: int = 0
    sampled: int = 0
    represented_elements: float = 0.0
    undetermined: int = 0
    loose: int = 0
    open_elements: int = 0
    operations: int = 0
    all_operations: int = 0
    open_nodes: int = 0
    weak_nodes: int = 0
    covered: int = 0
    groups: int = 0
    largest_group: int = 0
    passing: float = 0.0
    unjudged: dict[str, int] = {}
    share: float = 0.0

    @classmethod
    def of(cls, audits: Sequence[SubjectAudit], level: Level = Level.MUST) -> JudgedShare:
        """Return how much of some audits was judged at a level."""
        nodes = [node for audit in audits for node in audit.nodes]
        judged = [node for node in nodes if node.is_judged_at(level)]
        useless = [node.useless_bounds(level) for node in nodes]
        verdicts = Counter(node.verdict for node in nodes)
        weak = sum(len(audit.weak_nodes(level)) for audit in audits)
        groups = [each for audit in audits for each in _groups(audit)]
        left_out = [node for node in nodes if node.verdict is NodeVerdict.NOT_JUDGED and node.covered_by is None]
        unjudged = Counter(map(operator_name, left_out))
        found = cls(
            nodes=len(judged),
            should_nodes=sum(node.is_judged_at(Level.SHOULD) and node.level is Level.SHOULD for node in nodes),
            all_nodes=len(nodes),
            wrong=verdicts[NodeVerdict.WRONG],
            wrong_at_should=sum(node.should_worst is not None for node in nodes),
            unspecified=verdicts[NodeVerdict.UNSPECIFIED],
            elements=sum(node.judged_elements(level) for node in judged),
            all_elements=sum(node.all_elements for node in nodes),
            represented_elements=sum(
                node.judged_elements(level) / node.elements * node.all_elements for node in judged if node.elements
            ),
            undetermined=sum(undetermined for undetermined, _ in useless),
            loose=sum(loose for _, loose in useless),
            open_elements=sum(node.unspecified for node in nodes),
            sampled=sum(node.is_sampled for node in judged),
            operations=sum(node.compared_operations for node in judged),
            all_operations=sum(node.operations for node in nodes),
            open_nodes=sum(node.is_open(level) for node in nodes),
            weak_nodes=weak,
            covered=sum(node.covered_by is not None for node in nodes),
            groups=len(groups),
            largest_group=max((1 + len(node.together) for node in groups), default=0),
            passing=max((node.noticed_at(level) for node in groups), default=0.0),
            unjudged=dict(unjudged.most_common()),
        )
        closed = [node for node in nodes if node.unspecified < max(node.elements, 1)]
        judged = [node for node in closed if node.is_judged_at(level)]
        parts = (len(judged) - weak, found.represented_elements, sum(node.operations for node in judged))
        wholes = (
            len(closed),
            sum(node.all_elements * (1 - node.unspecified / max(node.elements, 1)) for node in closed),
            sum(node.operations for node in closed),
        )
        shares = (min(1.0, part / whole) for part, whole in zip(parts, wholes, strict=True) if whole)
        found.share = min(shares, default=float(bool(nodes)))
        return found

    @property
    def has_judged(self) -> bool:
        """Whether at least one node and one element were judged.

        A model whose tensors are all empty needs no judged element.
        """
        return self.nodes > 0 and (self.elements > 0 or not self.all_elements)

    def is_enough(self, required: float) -> bool:
        """Return whether at least a share was judged, and at least one element, unless every node is open."""
        is_open = 0 < self.open_nodes == self.all_nodes
        return (self.has_judged or is_open) and self.share >= required

    @property
    def text(self) -> str:
        """The judged share, in one line."""
        elements = [f"{self.elements} of {self.all_elements} element{'' if self.all_elements == 1 else 's'}"]
        elements += [
            f"{count} {kind}"
            for count, kind in (
                (self.undetermined, "undetermined"),
                (self.loose, "with a bound above their magnitude"),
                (self.open_elements, "unspecified"),
            )
            if count
        ]
        arithmetic = self.operations / self.all_operations if self.all_operations else 0.0
        text = f"{self.nodes} of {self.all_nodes} nodes judged{_more_at_should(self.should_nodes)} "
        text += f"({', '.join(elements)}; {_percent(arithmetic)} of the arithmetic), "
        text += _wrong_text(self.wrong, self.wrong_at_should)
        if self.unspecified:
            text += f", {self.unspecified} unspecified"
        if self.weak_nodes:
            text += f", {self.weak_nodes} weakly judged"
        if self.sampled:
            text += f"; {self.sampled} on a sample, --all-elements judges all"
        if self.covered:
            groups = "in 1 group" if self.groups == 1 else f"in {self.groups} groups, the largest"
            text += f"; {self.covered} without known outputs, judged only together with later nodes {groups} of "
            text += f"{self.largest_group} nodes: {_passing_text(self.passing)} of an output would pass"
        listed = [f"{count} {operator}" for operator, count in self.unjudged.items()]
        if len(listed) > MAX_LISTED_OPERATORS:
            listed[MAX_LISTED_OPERATORS:] = ["…"]
        return f"{text}; not judged: {', '.join(listed)}" if listed else text


def _groups(audit: SubjectAudit) -> list[JudgedNode]:
    """Return the nodes together with which alone others were judged."""
    numbers = {node.covered_by for node in audit.nodes}
    return [node for node in audit.nodes if node.number in numbers]


def _passing_text(noticed: float) -> str:
    """Return which error of every element of an output would pass."""
    return f"an error of {min(100.0, 100 * noticed):.2g} % in every element" if noticed else "no error"


def _more_at_should(count: int) -> str:
    return f", {count} more at level should" if count else ""


def _wrong_text(wrong: int, at_should: int) -> str:
    return f"{wrong} wrong" + (f", {at_should} outside of level should" if at_should else "")


def _percent(share: float) -> str:
    """Return a share in percent; 100 % only for the whole, and 0 % only for nothing."""
    return f"{min(99.9, max(0.1, 100 * share)):.3g} %" if 0 < share < 1 else f"{share:.0%}".replace("%", " %")


def summary_text(audits: Sequence[SubjectAudit]) -> str:
    """Return how much was judged on the user's data, and on hard data."""
    probes = [each for audit in audits for each in audit.probes]
    failing = [
        f"{subject} does not run the model" for subject in sorted({each.subject for each in audits if each.failure})
    ]
    if failing and all(each.failure for each in audits):
        return "; ".join(failing)
    return "; ".join([*failing, _judged_summary(audits, probes)])


def _judged_summary(audits: Sequence[SubjectAudit], probes: Sequence[ProbedNode]) -> str:
    return JudgedShare.of(audits).text + (f"; on hard data {probes_text(probes)}" if probes else "")


def judged_text(audit: SubjectAudit) -> str:
    """Return how many nodes and elements were judged, and how many nodes are wrong."""
    return "the subject does not run the model" if audit.failure else JudgedShare.of([audit]).text


def wrong_text(node: JudgedNode) -> str:
    """Return the description of a wrong node in one line."""
    fault = node.reason if node.worst is None else _element_text(node, node.worst, node.share, Level.MUST)
    return f"{_place(node)}: {fault}"


def should_text(node: JudgedNode) -> str:
    """Return the description of a node that is outside of its bound of level `should` only; otherwise no text."""
    worst = node.should_worst
    return "" if worst is None else f"{_place(node)}: {_element_text(node, worst, node.should_share, Level.SHOULD)}"


def open_text(node: JudgedNode) -> str:
    """Return the description of a node with an element for which the page states no result; otherwise no text."""
    element = node.open_element
    if element is None:
        return ""
    value = number_text(element.shown[0])
    are_open = "1 element is" if node.unspecified == 1 else f"{node.unspecified} elements are"
    why = f": {node.reason.partition('; ')[2]}" if node.reason and "; " in node.reason else ""
    return f"{_place(node)}: {element.place} is {value}; {are_open} open{why}"


def node_noticed_text(audit: SubjectAudit, node: JudgedNode) -> str:
    """Return the smallest relative error in every element of a node that would show, and whether a lost term would."""
    return noticed_text(audit.noticed(node), node.terms)


def weak_text(node: JudgedNode) -> str:
    """Return which errors of a node would pass."""
    text = f"{_place(node)}: {_passing_text(node.noticed)} would pass"
    return f"{text}; so would a lost one of {node.terms} terms" if node.noticed * node.terms > 1 < node.terms else text


def _place(node: JudgedNode) -> str:
    """Return the number, operator and name of a node; of a wrong region, its cause, or all of its nodes."""
    place = f"node {node.number} {operator_name(node)} {node.name}"
    if not node.together:
        return place
    if node.verdict is not NodeVerdict.WRONG:
        return f"{place} (judged together with {', '.join(node.together)})"
    region = dict(zip((*node.segment, node.number), (*node.together, node.name), strict=True))
    is_recorded = node.way == Exposure.RECORDED  # then the suite does not know what the runtime computes together
    place = f"nodes {', '.join(region.values())}, {'judged' if is_recorded else 'which the runtime computes'} together"
    if node.wrong_alone is None:
        return place
    causes = ", ".join(f"{number} {region[number]}" for number in node.wrong_alone)
    return f"{place} ({f'wrong alone: {causes}' if causes else 'none is wrong alone'})"


def _element_text(node: JudgedNode, element: JudgedElement, share: float, level: Level) -> str:
    """Return an element outside of its bound, with its bound, the operands and the source of the bound."""
    is_relative = element.bound and not math.isinf(share)
    text = element.text + (f" ({share_text(share)} times the bound)" if is_relative else "")
    operands = f"; {', '.join(element.operands)}" if element.operands else ""
    return f"{text}{operands}; {bound_text(node, element, level)}"


def bound_text(node: JudgedNode, element: JudgedElement, level: Level) -> str:
    """Return where the bound of an element comes from."""
    return bound_source(
        node.op_type, node.domain, node.type, level, is_exact=not element.bound, node_count=1 + len(node.together)
    )


class NodeRecord(NodeJudgement, frozen=True, kw_only=True):
    """A node in the document of an audit.

    Attributes:
        operator: the operator, with its domain unless it is the main domain.
        command: the command that runs the node alone; None if the node has no fault.
        fault: what is wrong, in one line; None if the node has no fault.
    """

    operator: str
    command: str | None
    fault: str | None


class ProbeRecord(NodeRecord, frozen=True, kw_only=True):
    """A distinct node on hard values; for its attributes see `conformance.own.audit.probes.ProbedNode`."""

    nodes: int
    probes: int


class AuditRecord(msgspec.Struct):
    """The audit on one subject with one data set; for most attributes see `SubjectAudit`."""

    subject: str
    version: str
    data_set: str
    failure: str | None
    is_repeatable: bool
    repeats_when_prepared_again: bool
    ways: Mapping[str, int]
    remark: str | None
    model_runs: int
    judged: JudgedShare
    operators: list[OperatorRow]
    command: str | None
    has_traced_errors: bool
    nodes: list[NodeRecord]
    probes: list[ProbeRecord]
    diagnoses: Sequence[DiagnosisRecord]
    warnings: Sequence[str]


class AuditDocument(msgspec.Struct):
    """The file of `--json`.

    Attributes:
        model: the model.
        inputs: the names, types and shapes of the inputs of each data set.
        seed: the seed of pseudo-random inputs; None for inputs from files.
        audits: the audits, one for each subject and data set.
        level: the weakest level whose bounds the outputs must keep.
        too_little: the subjects on which less was judged than the user requires.
        is_part: whether only some nodes were audited, each alone.
    """

    format: Literal[1]
    model: ModelRecord
    inputs: Sequence[str]
    seed: int | None
    audits: list[AuditRecord]
    level: Level = Level.MUST
    too_little: Sequence[str] = ()
    is_part: bool = False


def audit_document(
    model: LoadedModel,
    audits: Sequence[SubjectAudit],
    inputs: Sequence[str],
    seed: int | None,
    level: Level = Level.MUST,
    too_little: Sequence[str] = (),
    *,
    is_part: bool = False,
) -> AuditDocument:
    """Return the document of some audits of one model; for the arguments see `AuditDocument`."""
    record = ModelRecord(model.path.name, model.digest, len(model.prepared.graph.node))
    return AuditDocument(1, record, inputs, seed, list(map(_audit_record, audits)), level, too_little, is_part)


def _audit_record(audit: SubjectAudit) -> AuditRecord:
    own = {
        "judged": JudgedShare.of([audit]),
        "operators": operator_rows(audit.nodes),
        "nodes": [NodeRecord(**_node_fields(audit, node)) for node in audit.nodes],
        "probes": [
            ProbeRecord(**_node_fields(audit, each.node), **_shared(ProbeRecord, each)) for each in audit.probes
        ],
    }
    return AuditRecord(**_shared(AuditRecord, audit) | own)


def _node_fields(audit: SubjectAudit, node: JudgedNode) -> dict[str, Any]:
    command = node_command(audit, node) if node.fault_rank else None
    fault = wrong_text(node) if node.verdict is NodeVerdict.WRONG else should_text(node) or None
    outputs = node.outputs if fault else ()
    own = {"operator": operator_name(node), "command": command, "fault": fault, "outputs": outputs}
    return {**_shared(NodeRecord, node), **own}


def _shared(record: type[msgspec.Struct], source: object) -> dict[str, Any]:
    """Return the attributes of an object that a record of it has under the same names."""
    return {name: getattr(source, name) for name in record.__struct_fields__ if hasattr(source, name)}
