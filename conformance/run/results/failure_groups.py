"""Group failures that probably have the same cause, and describe groups and diagnoses in sentences.

Two results are in the same group if their subjects, verdicts and signatures are equal. The signature is the message or
the first violation, without numbers, element positions and other details that vary between cases. Failures that a
diagnosis explains form groups of their own. Wrong outputs of one signature are divided further where their differences,
types and operator versions have nothing in common. `group_failures` groups the unexpected results of a run.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from conformance.base.serialization.printable_text import count_cases, name_list, shorten_middle
from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case import CaseKind
from conformance.exact.clauses import clauses as specification_clauses
from conformance.exact.clauses import family_titles
from conformance.run.results.missing_operators import missing_operator
from conformance.run.results.records import wrong_kinds
from conformance.run.results.violations import (
    MAX_SIGNATURE_LENGTH,
    Violation,
    ViolationKind,
    WrongKind,
    normalize_message,
    strip_tensor_number,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from conformance.run.results.records import (
        CaseRecord,
        CaseRow,
        DiagnosisRecord,
        Expected,
        Footer,
        Judged,
        OutputEvidence,
        Result,
        ResultRow,
        RewriteCheck,
        UnexplainedRecord,
    )
    from conformance.run.results.results_file import Results


INVALID_MODEL_SIGNATURE = "computed something from a model that is invalid"
"""Signature of every backend that does not reject an invalid model."""

NEVER_STARTED = "never started"
"""Prefix of the signature of a subject that fails to start."""

# The patterns are text, which `re` compiles when it is used, because most runs have no failure.

_NAME_OF_PLACE = r"^(?:(index)|([A-Z])\d*(_new))(?:\d|_)\w*$"
"""An output that is also named after its place in the model, such as `index_if` of an If and `X1_new_captured`."""

_COLLECTION = r"\[\]|\{\}|\[[^][{}]*[,:<'][^][{}]*\]|\{[^][{}]*[,:<'][^][{}]*\}"
"""A list or dictionary in an error message, such as the attributes of the case's node."""

_ATTRIBUTE = r"\b(attribute )'\w+'"
"""The name of an attribute. A runtime that looks attributes up in the order of a set names the first one it misses."""

_CHECK_RANKS = {name: rank for rank, name in enumerate(("structure", "checker", "interface", "preservation"))}
"""Ranks of checks that show the cause of a failure; violations of the other checks are often consequences."""


@dataclass(frozen=True)
class FailureKind:
    """Verdict, phase and signature of a result: the criteria by which reports count failures of one kind."""

    verdict: str
    phase: str | None
    text: str


def failure_kind(case: CaseRow, result: Result) -> FailureKind | None:
    """Return the kind of a result; None if its verdict is pass."""
    if result.verdict == Verdict.PASS:
        return None
    if case.kind == CaseKind.INVALID and result.verdict == Verdict.FAIL:
        text = INVALID_MODEL_SIGNATURE
    else:
        text = result_signature(result)
    return FailureKind(result.verdict, result.phase, text)


def result_signature(result: Result) -> str:
    """Return the first violation of a result, or otherwise its message, without the details that vary."""
    output = next((output for output in result.outputs if output.violation is not None), None)
    if output is not None and output.violation is not None:
        return normalize_message(f"{output.name} {output.violation.cause}")
    return normalize_message(first_sentence(result))


def first_sentence(result: Result | Judged) -> str:
    """Return the first violation of an output, or of the violated checks of the strongest level, or the message."""
    outputs = (f"{output.name} {output.violation}" for output in result.outputs if output.violation is not None)
    violated = sorted((check for check in result.checks if check.violation is not None), key=lambda one: one.level.rank)
    checks = (f"{check.name}: {check.violation}" for check in violated)
    return next(outputs, next(checks, result.message))


# ---- Causes


class CauseKind(Enum):
    """The kinds of causes."""

    VARYING_VERDICT = auto()
    UNEXPECTED_PASS = auto()
    FAILED_START = auto()
    MESSAGE = auto()
    VIOLATED_CHECK = auto()
    ACCEPTED_INVALID_MODEL = auto()
    WRONG_RETURN = auto()
    WRONG_TYPE_OR_SHAPE = auto()
    WRONG_VALUES = auto()
    MUTANT = auto()


_CAUSE_TEXTS = {
    CauseKind.VARYING_VERDICT: "the verdict varies from run to run",
    CauseKind.UNEXPECTED_PASS: "{1} expects {0}",
    CauseKind.FAILED_START: f"{NEVER_STARTED}: {{}}",
    CauseKind.ACCEPTED_INVALID_MODEL: INVALID_MODEL_SIGNATURE,
    CauseKind.WRONG_TYPE_OR_SHAPE: "an output {}",
}
"""The text of a cause, with places for its details; without an entry, the text is the details."""


@dataclass(frozen=True)
class Cause:
    """The probable cause of a result; results with equal causes are in one group.

    Attributes:
        details: the parts of the cause without what varies between cases, such as the output and its violation.
        check: how the wrong output is checked (`exact`, `bound`, `index`), the name of the violated check, or None.
    """

    kind: CauseKind
    details: tuple[str, ...] = ()
    check: str | None = None

    @property
    def text(self) -> str:
        """The cause in words."""
        template = _CAUSE_TEXTS.get(self.kind)
        return template.format(*self.details) if template else " ".join(self.details)

    @property
    def line(self) -> str:
        """The cause in one line, with the name of a violated check."""
        return f"{self.check}: {self.text}" if self.kind is CauseKind.VIOLATED_CHECK else self.text


def find_cause(kind: str, result: Result | Judged, expected: Expected | None = None) -> Cause:
    """Return the probable cause of a result; results of several releases can have equal causes.

    Args:
        kind: the kind of the case.
        result: a result that fails, or an unexpected pass.
        expected: the expectation of an unexpected pass.
    """
    if result.varies:
        return Cause(CauseKind.VARYING_VERDICT)
    if result.verdict is Verdict.PASS and expected is not None:
        file = location_file(expected.location)
        return Cause(CauseKind.UNEXPECTED_PASS, (expected.verdict, file or "the expectations file"))
    message = re.sub(_COLLECTION, "[…]", result.message.replace(result.case, "CASE"))
    message = normalize_message(re.sub(_ATTRIBUTE, r"\1'…'", message))
    if result.verdict is not Verdict.FAIL:
        return Cause(CauseKind.FAILED_START if result.phase == "start" else CauseKind.MESSAGE, (message,))
    if (check := first_violation(result)) is not None and check.violation is not None:
        return Cause(CauseKind.VIOLATED_CHECK, (check.violation.cause,), check.name)
    if kind == CaseKind.INVALID:
        return Cause(CauseKind.ACCEPTED_INVALID_MODEL)
    wrong = _first_wrong_output(result)
    return Cause(CauseKind.WRONG_RETURN, (message,)) if wrong is None else _cause_of_output(wrong)


def _cause_of_output(wrong: OutputEvidence) -> Cause:
    violation = wrong.violation.cause if wrong.violation is not None else ""
    if wrong.first_bad is None and wrong.actual is not None:  # the check of the values does not matter
        return Cause(CauseKind.WRONG_TYPE_OR_SHAPE, (violation,))
    name = re.sub(_NAME_OF_PLACE, r"\1\2\3", strip_tensor_number(wrong.name))
    details = name, violation if wrong.first_bad is None else "has wrong elements"
    return Cause(CauseKind.WRONG_VALUES, details, wrong.check)


# ---- Groups

EVIDENCE_CASES = 3
"""Number of cases of a group, the smallest ones, whose evidence is shown."""

_COMPUTED_LAST = "X_new"
"""Name of the output that a training optimizer computes from its other outputs."""

_ANY_NAME_CLAUSE = ".value_names"
"""End of the ids of the clauses whose cases have outputs of any name."""

_NO_ELEMENTS_SIZE = 2**62
"""Size of a case with an empty input: it shows less than any other case."""


class CaseResult(NamedTuple):
    """A case, and the result of one subject on it."""

    case: CaseRecord
    result: Result


@dataclass(frozen=True)
class FailureGroup:
    """Failures of one subject that probably have one cause.

    Attributes:
        text: the signature, or the sentence of the diagnosis that explains the failures.
        clause: the clause that the mutant of the diagnosis violates, or a clause that all cases of the group can
            violate. None if the values of outputs are not wrong (an error, a wrong type or shape, a violated check).
        check: how the wrong output is checked (`exact`, `bound`, `index`), the name of the violated check, or None.
        diagnosis: the diagnosis that explains the failures, or None.
        cases: ids of the cases, the smallest case first.
        smallest: the first cases with their results, at most `EVIDENCE_CASES`.
        message: the message of the subject, shortened in the middle, if it is the same in all cases; otherwise empty.
        also_explained: number of failing cases outside the group that the diagnosis explains, and that the pass
            criterion does not count: known failures, and cases of a weaker level.
        operator: the operator whose outputs are wrong, or those of a region (`Conv-Relu`), if the cases have no clause.
    """

    subject: str
    verdict: str
    text: str
    clause: str | None
    check: str | None
    diagnosis: DiagnosisRecord | None
    cases: tuple[str, ...]
    smallest: tuple[CaseResult, ...]
    message: str = ""
    also_explained: int = 0
    operator: str | None = None

    @property
    def sentence(self) -> str:
        """A sentence for reports: operator, clause and check, or the verdict, then the message or the signature.

        The sentence of a diagnosis names the operator and the mutant.
        """
        if self.diagnosis is not None:
            others = self.also_explained
            return self.text + (
                f"; it also explains {count_cases(others)} that {'does' if others == 1 else 'do'} not fail the run"
                if others
                else ""
            )
        prefix = ", ".join(part for part in (self.operator, self.clause, self.check) if part)
        return f"{prefix or self.verdict}: {self.message or self.text}"


def group_failures(run: Results) -> list[FailureGroup]:
    """Return the groups of the unexpected results of a run."""
    grouper = FailureGrouper(lambda subject, case: CaseResult(run.cases[case], run.results[subject, case]))
    for key, row in run.rows.items():
        if row.unexpected:
            grouper.add(run.cases[row.case], run.results[key])
    return grouper.groups(run.footer.diagnoses)


def format_group_counts(groups: Sequence[Collection[str]]) -> str:
    """Return a phrase with the number of groups and the number of their cases, such as `2 causes, 18 cases`.

    Args:
        groups: the cases of each group.
    """
    return f"{len(groups)} cause{'s' * (len(groups) != 1)}, {count_cases(sum(map(len, groups)))}"


def violated_clause(group: FailureGroup, case: CaseRecord, result: Result) -> str | None:
    """Return the clause that a result violates: the group's clause, else the first of `violated_clauses`, or None."""
    if group.clause is not None or result.verdict != Verdict.FAIL or first_violation(result) is not None:
        return group.clause
    return next(iter(violated_clauses(case, result.outputs)), None)


def violated_clauses(case: CaseRecord, outputs: Sequence[OutputEvidence]) -> tuple[str, ...]:
    """Return the clauses of a case that its wrong outputs can violate.

    A clause about another output, or about attributes that no node with a wrong output has, is left out. X_new is
    computed from the other outputs, so its clauses are left out if another output is wrong too. If no clause is left,
    the result is the formula of the wrong output. A clause about a mode that no node has is replaced by the clause
    about the mode of the nodes. The clauses of a case of a pass are about graph optimizers: the result is then the
    clauses about the operators in its model.
    """
    wrong = {strip_tensor_number(output.name) for output in outputs if output.violation is not None}
    first = wrong - {_COMPUTED_LAST} or wrong
    clauses = [_of_used_mode(clause, case) for clause in case.clauses]
    known = specification_clauses()
    if wrong and any(known[clause].is_of_pass for clause in clauses if clause in known):
        clauses = _operator_clauses(case)
    concerned = {clause: known[clause].output if clause in known else "" for clause in clauses}
    names = {output.name for output in outputs if output.violation is not None}
    if candidates := tuple(
        clause
        for clause in clauses
        if (not concerned[clause] or concerned[clause] in first) and _is_about(clause, case, names)
    ):
        return candidates
    formulas = (f"{clause.partition('.')[0]}.{name.lower()}" for clause in clauses[:1] for name in sorted(first))
    return tuple(filter(known.__contains__, formulas)) or tuple(clauses)


def _is_about(clause: str, case: CaseRecord, wrong: Collection[str]) -> bool:
    """Return whether a node that makes a wrong output can violate a clause; without such a node, whether any node can.

    Args:
        wrong: names of the wrong outputs.
    """
    known = specification_clauses().get(clause)
    operator = family_titles().get(clause.partition(".")[0])
    nodes = [node for node in case.model.nodes if node.op_type == operator]
    makers = [node for node in nodes if not set(wrong).isdisjoint(node.outputs)] or nodes
    return known is None or not makers or any(known.is_about(node.attributes) for node in makers)


def _operator_clauses(case: CaseRecord) -> list[str]:
    """Return the clauses about the operators before ArgMax in a case, or else the clause about the index."""
    names = (re.sub(r"(?<=[a-z])(?=[A-Z])", "_", node.op_type).lower() for node in case.model.nodes)
    return [id for name in names if (id := f"monotone.{name}") in specification_clauses()] or ["argmax.index"]


_MODES = ("standard", "nesterov")
"""Values of the attribute mode of Momentum, with which the ids of clauses about one mode end."""


def _of_used_mode(clause: str, case: CaseRecord) -> str:
    """Return the clause about the mode that the nodes of a case have, in place of the clause about the other mode."""
    begin, _, mode = clause.rpartition("_")
    nodes = case.model.nodes if mode in _MODES else ()
    used = {node.attributes["mode"] for node in nodes if node.attributes.get("mode") in _MODES}
    return clause if not used or mode in used else f"{begin}_{min(used)}"


def _first_wrong_output(result: Result | Judged) -> OutputEvidence | None:
    """Return the first wrong output, but X_new only if no other output is wrong; None if all outputs are correct."""
    wrong = [output for output in result.outputs if output.violation is not None]
    return min(wrong, key=lambda output: strip_tensor_number(output.name) == _COMPUTED_LAST, default=None)


def first_violation(result: ResultRow | Judged) -> RewriteCheck | None:
    """Return the violated check of the strongest level; None if no check is violated.

    Of several checks of this level, it is the one that is closest to the cause: `structure` before `answers`.
    """
    violated = [check for check in result.checks if check.violation is not None]
    return min(
        violated,
        key=lambda check: (check.level.rank, _CHECK_RANKS.get(check.name, len(_CHECK_RANKS))),
        default=None,
    )


class FailureGrouper:
    """Groups of failures, built result by result; it keeps no evidence.

    Args:
        load: function that returns a case with its result, from a subject and a case id. It is called for the smallest
            cases of each group.
    """

    def __init__(self, load: Callable[[str, str], CaseResult]) -> None:
        self._load = load
        self._groups: dict[tuple[_GroupKey, tuple[str, ...]], _CaseGroup] = defaultdict(dict)

    def add(self, case: CaseRecord, result: Result) -> None:
        """Add an unexpected result."""
        cause = find_cause(case.kind, result, result.expected)
        topics: tuple[str, ...] = ()
        is_wrong_output = cause.kind in {CauseKind.WRONG_VALUES, CauseKind.WRONG_TYPE_OR_SHAPE}
        is_by_operator = not case.clauses and is_wrong_output
        if cause.kind is CauseKind.WRONG_VALUES and (is_by_operator or case.clauses[0].endswith(_ANY_NAME_CLAUSE)):
            check = None if is_by_operator else cause.check
            cause = Cause(cause.kind, ("an output", *cause.details[1:]), check)
        if is_by_operator:
            topics = _tested_operators(case)
        elif cause.kind in {CauseKind.WRONG_VALUES, CauseKind.WRONG_RETURN}:
            topics = violated_clauses(case, result.outputs)
        operator = ""
        if result.verdict is Verdict.ERROR and cause.kind is CauseKind.MESSAGE:
            missing = missing_operator(result.message, {node.op_type for node in case.model.nodes})
            if missing is not None:
                operator, message = missing
                cause = Cause(cause.kind, (normalize_message(message),))
        key = _GroupKey(result.subject, result.verdict, cause, is_by_operator)
        traits = _traits(case, result) if is_wrong_output else _Traits()
        grouped = _GroupedCase(_case_size(case), _shown_message(result), operator, traits)
        self._groups[key, topics][result.case] = grouped

    def groups(self, diagnoses: Iterable[DiagnosisRecord]) -> list[FailureGroup]:
        """Return the groups by subject: first those with most cases; of equally large groups, a diagnosed one first.

        Args:
            diagnoses: the diagnoses; the first that explains a case takes it.
        """
        known = tuple(diagnoses)
        diagnosed: dict[tuple[int, _GroupKey], _CaseGroup] = defaultdict(dict)
        rest: dict[_GroupKey, dict[tuple[str, ...], _CaseGroup]] = defaultdict(lambda: defaultdict(dict))
        for (key, topics), cases in self._groups.items():
            remaining = dict(cases)
            for number, diagnosis in enumerate(known):
                explained = remaining.keys() & diagnosis.cases if diagnosis.subject == key.subject else ()
                if explained:
                    mutant = Cause(CauseKind.MUTANT, (diagnosis.operator, diagnosis.mutant))
                    explained_key = _GroupKey(key.subject, key.verdict, mutant)
                    diagnosed[number, explained_key] |= {id: remaining.pop(id) for id in explained}
            if remaining:
                rest[key][topics] |= remaining
        groups = [
            *(self._diagnosed_group(key, cases, known[number]) for (number, key), cases in diagnosed.items()),
            *(group for key, by in rest.items() for group in self._unexplained_groups(key, by)),
        ]
        subjects = list(dict.fromkeys(key.subject for key, _ in self._groups))
        return sorted(
            groups,
            key=lambda each: (subjects.index(each.subject), -len(each.cases), each.diagnosis is None, each.cases[0]),
        )

    def _unexplained_groups(self, key: _GroupKey, by: Mapping[tuple[str, ...], _CaseGroup]) -> Iterator[FailureGroup]:
        """Yield the groups of the results with one key, divided by operator or by clause, and then by their traits."""
        if key.is_by_operator:
            named = list(_merge_by_clause(_by_single_operator(by)))
        else:
            named = list(_merge_under_output(key.cause, list(_merge_by_clause(by))))
        for name, cases in named:
            for part, traits in _divide_by_traits(cases):
                group = self._group(key, part, None if key.is_by_operator else name)
                text = f"{group.text} ({traits})" if traits else group.text
                yield replace(group, text=text, operator=name if key.is_by_operator else None)

    def _diagnosed_group(self, key: _GroupKey, cases: _CaseGroup, diagnosis: DiagnosisRecord) -> FailureGroup:
        unexpected = {id for (of, _), group in self._groups.items() if of.subject == key.subject for id in group}
        return replace(
            self._group(key, cases, diagnosis.clause or None),
            text=mutant_sentence(diagnosis),
            diagnosis=diagnosis,
            also_explained=len(set(diagnosis.cases) - unexpected),
        )

    def _group(self, key: _GroupKey, group: _CaseGroup, clause: str | None = None) -> FailureGroup:
        cases = tuple(sorted(group, key=lambda case: (group[case].size, case)))
        messages = {one.message for one in group.values()} if key.verdict != Verdict.FAIL else set()
        operators = {one.missing for one in group.values()} - {""}
        text = f"{key.cause.text}, for {name_list(operators)}" if operators else key.cause.text
        smallest = tuple(self._load(key.subject, case) for case in cases[:EVIDENCE_CASES])
        shown = {each.result.message.strip().partition("\n")[0] for each in smallest}
        if key.cause.kind is CauseKind.FAILED_START and len(shown) == 1:
            text = f"{NEVER_STARTED}: {shorten_middle(min(shown), MAX_SIGNATURE_LENGTH)}"  # with its own numbers
        return FailureGroup(
            key.subject,
            key.verdict,
            text,
            clause,
            key.cause.check,
            None,
            cases=cases,
            smallest=smallest,
            message=messages.pop() if len(messages) == 1 else "",
        )


@dataclass(frozen=True)
class _GroupKey:
    """The values that all results of a group have in common, before diagnoses, operators or clauses divide the group.

    Attributes:
        is_by_operator: whether operators divide the group, because its cases have no clause.
    """

    subject: str
    verdict: Verdict
    cause: Cause
    is_by_operator: bool = False


ELEMENT_TYPES = frozenset(
    (
        "bfloat16",
        "bool",
        "double",
        "float",
        "float16",
        "string",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    )
)
"""Names of element types among the tags of cases."""


class _Traits(NamedTuple):
    """The properties that distinguish the wrong outputs of one fault from those of another.

    Attributes:
        differences: how the elements are wrong, in words; empty if it is unknown.
        types: the element types among the tags of the case, or else the types of all inputs.
        versions: the tested operator with its version, or the opset of a model without it.
    """

    differences: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    versions: frozenset[str] = frozenset()

    def is_near(self, other: _Traits) -> bool:
        """Return whether one fault can easily show both: a common difference, and equal types or versions.

        What is unknown, and therefore empty, is equal to anything.
        """
        is_alike = not (self.differences and other.differences) or not self.differences.isdisjoint(other.differences)
        has_types = not (self.types and other.types) or self.types == other.types
        return is_alike and (has_types or not (self.versions and other.versions) or self.versions == other.versions)


class _GroupedCase(NamedTuple):
    """A case of a group: its size, the message of the subject, the operator that is missing, and the traits."""

    size: tuple[int, int]
    message: str
    missing: str = ""
    traits: _Traits = _Traits()


_CaseGroup: TypeAlias = dict[str, _GroupedCase]
"""The cases of a group by id."""


def _shown_message(result: Result) -> str:
    """Return the first line of a message in its own words, shortened in the middle.

    The text is empty if another text describes the result: outputs, checks, or that the subject did not start.
    """
    is_described = result.verdict in {Verdict.FAIL, Verdict.PASS} or result.varies
    if is_described or result.phase == "start":
        return ""
    lines = result.message.replace(result.case, "CASE").strip().splitlines()
    return shorten_middle(lines[0], MAX_SIGNATURE_LENGTH) if lines else ""


def location_file(location: str) -> str:
    """Return the file of a location such as `acme.toml:3` or `acme.toml, entry 2`."""
    return re.sub(r"(?::\d+|, entry \d+)$", "", location)


def _case_size(case: CaseRecord) -> tuple[int, int]:
    """Return the size of a case: the number of nodes, and the number of elements of all inputs."""
    elements = [prod(tensor.shape) for data_set in case.data_sets for tensor in data_set.inputs]
    return len(case.model.nodes), sum(elements) if all(elements) else _NO_ELEMENTS_SIZE


def _tested_operators(case: CaseRecord) -> tuple[str, ...]:
    """Return the operators of a case without clauses: its first tag, then its further tags that are operators."""
    used = {node.op_type for node in case.model.nodes}
    return tuple(tag for number, tag in enumerate(case.tags) if not number or tag in used)


def _by_single_operator(groups: Mapping[tuple[str, ...], _CaseGroup]) -> dict[tuple[str, ...], _CaseGroup]:
    """Return the groups with regions by the operators that also fail alone, or by the whole region if none does."""
    alone = {operators[0] for operators in groups if len(operators) == 1}
    found: dict[tuple[str, ...], _CaseGroup] = defaultdict(dict)
    for operators, group in groups.items():
        found[tuple(filter(alone.__contains__, operators)) or ("-".join(operators),)] |= group
    return found


def _merge_by_clause(groups: Mapping[tuple[str, ...], _CaseGroup]) -> Iterator[tuple[str | None, _CaseGroup]]:
    """Merge groups that have a clause in common, and yield each clause with its group.

    The clause with most cases is chosen first, so that few clauses cover all cases.

    Args:
        groups: each group, by the clauses that its cases can violate.
    """
    left = dict(groups)
    while left:
        cases: Counter[str] = Counter()
        ranks: Counter[str] = Counter()
        for clauses, group in left.items():
            for rank, clause in enumerate(clauses):
                cases[clause] += len(group)
                ranks[clause] += rank * len(group)
        chosen = min(cases, key=lambda clause: (-cases[clause], ranks[clause], clause), default=None)
        joined: _CaseGroup = {}
        for clauses in [clauses for clauses in left if chosen is None or chosen in clauses]:
            joined |= left.pop(clauses)
        yield chosen, joined


_DIFFERENCES: dict[str, frozenset[str]] = {
    WrongKind.NAN: frozenset({"NaN or infinity"}),
    WrongKind.INFINITY: frozenset({"NaN or infinity"}),
    WrongKind.NUMBER: frozenset({"numbers instead of NaN or infinity"}),
    WrongKind.NEAR: frozenset({"small errors"}),
    WrongKind.ROUGH: frozenset({"small errors", "large errors"}),
    WrongKind.FAR: frozenset({"large errors"}),
    WrongKind.ZERO: frozenset({"large errors"}),
    WrongKind.SIGN: frozenset({"large errors"}),
}
"""How elements are wrong, by their kind; kinds that the values of one case decide have a word in common."""


def _traits(case: CaseRecord, result: Result) -> _Traits:
    kinds = wrong_kinds(result)
    words = {word for kind in kinds - {WrongKind.NEAR} or kinds for word in _DIFFERENCES.get(kind, ())}
    words |= {_shape_difference(one) for output in result.outputs if (one := output.violation) is not None} - {""}
    opsets = case.model.opset_imports
    tested = {(node.op_type, node.domain) for node in case.model.nodes if node.op_type == case.family}
    versions = {f"{name}-{_version(name, domain, opsets.get(domain, 0))}" for name, domain in tested}
    types = frozenset(value.type for value in case.model.inputs)
    return _Traits(
        frozenset(words),
        ELEMENT_TYPES.intersection(case.tags) or types,
        frozenset(versions or {f"opset {opsets.get('ai.onnx', 0)}"}),
    )


def _shape_difference(violation: Violation) -> str:
    """Return how a shape is wrong, in words; empty for another violation."""
    if violation.kind is not ViolationKind.OUTPUT_SHAPE:
        return ""
    ranks = {
        len(shape.strip("[]").split(",")) if shape != "[]" else 0 for shape in (violation.expected, violation.actual)
    }
    return "another rank" if len(ranks) > 1 else "another size"


@cache
def _version(operator: str, domain: str, opset: int) -> int:
    """Return the version of an operator in an opset; the opset itself if the operator is not known."""
    import onnx  # late: most runs have no failure

    with suppress(onnx.defs.SchemaError):
        return int(onnx.defs.get_schema(operator, opset, "" if domain == "ai.onnx" else domain).since_version)
    return opset


def _divide_by_traits(cases: _CaseGroup) -> list[tuple[_CaseGroup, str]]:
    """Divide a group where no chain of near traits connects its cases, and return the parts, each with its traits.

    The traits are words on what the parts do not have in common, and are empty for a single part.
    """
    parts: list[tuple[set[_Traits], _CaseGroup]] = []
    for id, case in cases.items():
        near = [part for part in parts if any(case.traits.is_near(one) for one in part[0])]
        traits = {case.traits}.union(*(part[0] for part in near))
        joined = {id: case}
        for part in near:
            joined |= part[1]
            parts.remove(part)
        parts.append((traits, joined))
    if len(parts) == 1:
        return [(cases, "")]
    fields = [
        [frozenset().union(*(getattr(one, name) for one in traits)) for traits, _ in parts] for name in _Traits._fields
    ]
    common = [frozenset.intersection(*found) for found in fields]
    return [
        (
            part,
            ", ".join(
                word for found, shared in zip(fields, common, strict=True) for word in sorted(found[at] - shared)
            ),
        )
        for at, (_, part) in enumerate(parts)
    ]


MAX_CLAUSES_OF_CAUSE = 3
"""Number of clauses of one operator under which the wrong values of an output count as several causes."""


def _merge_under_output(
    cause: Cause, groups: Sequence[tuple[str | None, _CaseGroup]]
) -> Iterator[tuple[str | None, _CaseGroup]]:
    """Merge the groups of an operator if the formula of its output is the probable cause.

    It is if the clause of the formula has a group, or if more clauses than `MAX_CLAUSES_OF_CAUSE` have one. The groups
    stay apart if the specification has no such clause.
    """
    by_operator: dict[str, list[tuple[str | None, _CaseGroup]]] = defaultdict(list)
    for clause, group in groups:
        by_operator[(clause or "").partition(".")[0]].append((clause, group))
    for operator, own in by_operator.items():
        formula = f"{operator}.{cause.details[0].lower()}" if cause.kind is CauseKind.WRONG_VALUES else ""
        is_probable = len(own) > MAX_CLAUSES_OF_CAUSE or formula in [clause for clause, _ in own]
        if not is_probable or formula not in specification_clauses():
            yield from own
        else:
            yield formula, {id: case for _, group in own for id, case in group.items()}


# ---- Diagnoses in sentences

MAX_NAMED_CASES = 3
"""Number of unexplained cases that a sentence names if the cases have no property in common."""


def cause_text(record: DiagnosisRecord) -> str:
    """Return the operator, the mutant and the condition of a diagnosis: the reason of an entry with its cases."""
    condition = record.condition
    return f"{record.operator}: {record.text}{f' (only in models that {condition})' if condition else ''}"


def mutant_sentence(record: DiagnosisRecord) -> str:
    """Return the operator and the mutant of a diagnosis, and what limits the diagnosis."""
    others = "; or it ".join(record.alternatives or record.indistinguishable)
    jointly = len(record.jointly_explained)
    partner = f": {', and '.join(record.partners)}" if record.partners else ""
    return (
        f"{cause_text(record)}"
        f"{f' (or it {others}: the failing cases do not show which)' if others else ''}"
        f"{f'; {count_cases(jointly)} only together with another mistake{partner}' if jointly else ''}"
    )


def explained_sentence(record: DiagnosisRecord) -> str:
    """Return how many of the examined failing cases a mutant explains, and the mutant."""
    return (
        f"{record.operator} on {record.subject}: a known mistake explains"
        f" {_part_of_examined(record.explained, record.failing, 'all')}. {mutant_sentence(record)}"
    )


def unexpected_records(records: Iterable[UnexplainedRecord], groups: Iterable[FailureGroup]) -> list[UnexplainedRecord]:
    """Return the records with a case of a group, because groups have unexpected failures only."""
    unexpected = {(group.subject, case) for group in groups for case in group.cases}
    return [each for each in records if any((each.subject, case) in unexpected for case in each.cases)]


def unexplained_sentence(record: UnexplainedRecord) -> str:
    """Return which failing cases no mutant explains, how they fail, and in what they differ from passing cases."""
    cases = record.cases
    failing = record.failing
    named = cases if len(cases) <= MAX_NAMED_CASES else [*cases[:MAX_NAMED_CASES], "…"]
    return (
        f"{record.operator} on {record.subject}: no known mistake explains"
        f" {_part_of_examined(len(cases), failing, 'any of')} ({_without_exception(record.failure_mode)}):"
        f" {', '.join(named)}. {' '.join(_shared_properties(record)) or 'They have no common property.'}"
    )


def _part_of_examined(count: int, failing: int, whole: str) -> str:
    """Return a number of the failing cases that diagnosis examined as a phrase.

    Args:
        whole: the words for all of several cases.
    """
    if failing == 1:
        return "the only failing case that diagnosis examined"
    part = whole if count == failing else f"{count} of"
    return f"{part} the {failing} failing cases that diagnosis examined"


_ERROR_PHASES = {
    "load": "an error while the model is loaded",
    "run": "an error while the model runs",
    "optimize": "an error while the model is optimized",
}


def _without_exception(mode: str) -> str:
    """Return a failure mode without the text of an exception, which group headings and results records contain."""
    kind, separator, _ = mode.partition(": ")
    if not separator or kind == Verdict.FAIL:
        return mode
    return _ERROR_PHASES.get(kind, kind)


def _shared_properties(record: UnexplainedRecord) -> Iterator[str]:
    total = len(record.cases)
    passing = record.passing
    for one in record.shared:
        others = f"of the passing cases, {one.passing} of {passing} do" if passing else "no case passes"
        yield f"Of these cases, {one.cases} of {total} {one.text}; {others}."


def failing_cases(run: Results) -> dict[str, list[str]]:
    """Return the ids of the failing cases of a run by subject, of every level, also of known failures.

    Failures that the subject of `--relative-to` has too are left out: diagnosis does not examine them.
    """
    found: dict[str, list[str]] = {subject.id: [] for subject in run.header.subjects}
    baseline = run.header.criterion.baseline
    is_relative = baseline is not None and bool(baseline.relative_to)
    for (subject, case), row in run.rows.items():
        is_of_base = is_relative and row.baseline is not None and row.baseline.is_defect
        if row.verdict.is_defect and not is_of_base:
            found[subject].append(case)
    return {subject: sorted(cases) for subject, cases in found.items() if cases}


def not_examined(footer: Footer, failing: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Return the failing cases that diagnosis did not examine, by subject, for subjects that have such cases.

    Without any record of a diagnosis the result is empty, because diagnosis may have been switched off.

    Args:
        footer: the footer of a results file.
        failing: the ids of all failing cases, by subject.
    """
    records: list[DiagnosisRecord | UnexplainedRecord] = [*footer.diagnoses, *footer.unexplained]
    examined: dict[str, set[str]] = defaultdict(set)
    for record in records:
        examined[record.subject].update(record.cases)
    left = {subject: sorted(set(cases) - examined[subject]) for subject, cases in failing.items()}
    return {subject: cases for subject, cases in left.items() if cases} if records else {}


def not_examined_sentence(subject: str, cases: Sequence[str], failing: int) -> str:
    """Return how many failing cases of a subject diagnosis did not examine, and the reason."""
    return (
        f"{subject}: diagnosis examined {failing - len(cases)} of the {failing} failing cases of all levels."
        " It does not examine silent cases and invalid models. Of models with further operators that could be wrong, it"
        " examines those with the outputs of a named mistake."
    )


def not_examined_sentences(footer: Footer, failing: Mapping[str, Collection[str]]) -> Iterator[str]:
    """Yield a sentence for each subject with failing cases that diagnosis did not examine; see `not_examined`."""
    for subject, cases in not_examined(footer, failing).items():
        yield not_examined_sentence(subject, cases, len(failing[subject]))


def mutants_by_case(footer: Footer) -> dict[tuple[str, str], list[str]]:
    """Return the ids of the mutants that explain each result, by subject and case."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for record in footer.diagnoses:
        for case in record.cases:
            found[record.subject, case].append(record.mutant)
    return found
