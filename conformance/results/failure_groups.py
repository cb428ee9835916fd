"""Group failures that probably have the same cause, and describe groups and diagnoses in sentences.

Two results are in the same group if their subjects, verdicts and signatures are equal. The signature is the message or
the first violation, without numbers, element positions and other details that vary between cases. Failures that a
diagnosis explains form groups of their own. `group_failures` groups the unexpected results of a run.
"""

from __future__ import annotations

import re
from bisect import insort
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from conformance.corpus.case import CaseKind
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from conformance.results.file import Results
    from conformance.results.records import (
        CaseRecord,
        CaseRow,
        DiagnosisRecord,
        Footer,
        OutputEvidence,
        ResultRecord,
        RewriteCheck,
        UnexplainedRecord,
    )


# ---- Signatures: messages without the details that vary between cases

MAX_SIGNATURE_LENGTH = 200
"""Characters of a signature."""

INVALID_MODEL_SIGNATURE = "computed something from a model that is invalid"
"""Signature of every backend that does not reject an invalid model."""

NEVER_STARTED = "never started"
"""Prefix of the signature of a subject that fails to start."""

_POSITIONS = (
    re.compile(r" \(and \d+ more(?: outputs?)?\)"),
    re.compile(r" of data set \d+"),
    re.compile(r", first at \[.*", re.DOTALL),
)
"""Parts of messages that name further outputs, the data set and the element."""

_SHAPES = re.compile(r"\bhas shape \[[^\]]*\] instead of \[[^\]]*\]")
_TENSOR_NUMBER = re.compile(r"\b([A-Za-z_]+)\d+(?=_new\b)")
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)*(?:[eE][-+]?\d+)?)(?!\w)")

_VIOLATION_DETAILS = (
    (re.compile(r", which makes [^,]*,?"), ""),
    (re.compile(r": .*", re.DOTALL), ""),
    (re.compile(r" changed from .*", re.DOTALL), " changed"),
    (re.compile(r" takes .* instead of .*", re.DOTALL), " takes other inputs"),
    (re.compile(r" is made by .*", re.DOTALL), " is made by another operator"),
    (re.compile(r" (?:is|has) .* instead of .*", re.DOTALL), " is another"),
    (re.compile(r" on data set .*", re.DOTALL), ""),
)
"""Parts of the violations of `judging/optimizer_checks.py` that name values, and their replacements."""


@dataclass(frozen=True)
class FailureKind:
    """Verdict, phase and signature of a result: the criteria by which reports count failures of one kind."""

    verdict: str
    phase: str | None
    text: str


def failure_kind(case: CaseRow, result: ResultRecord) -> FailureKind | None:
    """Return the kind of a result; None if its verdict is pass."""
    if result["verdict"] == Verdict.PASS:
        return None
    if case["kind"] == CaseKind.INVALID and result["verdict"] == Verdict.FAIL:
        text = INVALID_MODEL_SIGNATURE
    else:
        text = normalize_message(_first_message(result))
    return FailureKind(result["verdict"], result["phase"], text)


def strip_tensor_number(name: str) -> str:
    """Return an output's name without the number of the tensor: X_new for X1_new and for X2_new."""
    return _TENSOR_NUMBER.sub(r"\1", name)


def normalize_message(message: str) -> str:
    """Return the first line of a message without the details that vary between failures of one kind."""
    lines = message.strip().splitlines()
    text = lines[0] if lines else ""
    for position in _POSITIONS:
        text = position.sub("", text)
    text = _SHAPES.sub("has another shape", text)
    return _NUMBER.sub("N", strip_tensor_number(text))[:MAX_SIGNATURE_LENGTH]


def normalize_violation(violation: str) -> str:
    """Return the violation of a graph optimizer check without the names of values, which vary between cases."""
    for detail, replacement in _VIOLATION_DETAILS:
        violation = detail.sub(replacement, violation)
    return normalize_message(violation)


def _first_message(result: ResultRecord) -> str:
    """Return the message of a result; if it is empty, the first violation of an output or of a check."""
    if result["message"]:
        return result["message"]
    outputs = (f"{output['name']} {output['violation']}" for output in result["outputs"] if "violation" in output)
    checks = (f"{check['name']}: {check['violation']}" for check in result.get("checks", ()) if "violation" in check)
    return next(outputs, next(checks, ""))


# ---- Groups

EVIDENCE_CASES = 3
"""Number of cases of a group, the smallest ones, whose evidence is shown."""

MAX_KEPT_CASES = 12
"""Number of cases with one signature whose evidence is kept until diagnoses divide them into groups."""

_NO_ELEMENTS_SIZE = 2**62
"""Size of a case with an empty input: it shows less than any other case."""


class CaseResult(NamedTuple):
    """A case, and the result of one subject on it."""

    case: CaseRecord
    result: ResultRecord


@dataclass(frozen=True)
class FailureGroup:
    """Failures of one subject that probably have one cause.

    Attributes:
        text: the signature, or the sentence of the diagnosis that explains the failures.
        clause: a clause that all cases of the group can violate. None if the values of outputs are not wrong (an error,
            a wrong type or shape, a violated check), or if a diagnosis explains the failures.
        check: how the wrong output is checked (`exact`, `bound`, `index`), the name of the violated check, or None.
        diagnosis: the diagnosis that explains the failures, or None.
        cases: ids of the cases, the smallest case first.
        smallest: the first cases with their results, at most `EVIDENCE_CASES`.
    """

    subject: str
    verdict: str
    text: str
    clause: str | None
    check: str | None
    diagnosis: DiagnosisRecord | None
    cases: tuple[str, ...]
    smallest: tuple[CaseResult, ...]

    @property
    def sentence(self) -> str:
        """A sentence for reports: the clause and the check, or the verdict, followed by the signature."""
        if self.diagnosis is not None:
            return self.text
        prefix = ", ".join(part for part in (self.clause, self.check) if part)
        return f"{prefix or self.verdict}: {self.text}"


def group_failures(run: Results) -> list[FailureGroup]:
    """Return the groups of the unexpected results of a run."""
    grouper = FailureGrouper()
    for key, row in run.rows.items():
        if row["unexpected"]:
            grouper.add(run.cases[row["case"]], run.results[key])
    return grouper.groups(run.footer["diagnoses"])


def format_group_counts(groups: Sequence[FailureGroup]) -> str:
    """Return a phrase with the number of groups and the number of their cases, such as `2 causes, 18 cases`."""
    cases = sum(len(group.cases) for group in groups)
    return f"{len(groups)} cause{'s' * (len(groups) != 1)}, {cases} case{'s' * (cases != 1)}"


def violated_clause(group: FailureGroup, case: CaseRecord, result: ResultRecord) -> str | None:
    """Return the clause that a result violates: the group's clause, else the first of `violated_clauses`, or None."""
    if group.clause is not None or result["verdict"] != Verdict.FAIL or first_violation(result) is not None:
        return group.clause
    return next(iter(violated_clauses(case, result["outputs"])), None)


def violated_clauses(case: CaseRecord, outputs: Sequence[OutputEvidence]) -> tuple[str, ...]:
    """Return the clauses of a case that its wrong outputs can violate.

    A clause that is named after a correct output is left out: `adam.v_new` if V_new is correct and X_new is wrong.
    """
    wrong = {strip_tensor_number(output["name"]).lower() for output in outputs if "violation" in output}
    right = {strip_tensor_number(output["name"]).lower() for output in outputs} - wrong if wrong else set()
    candidates = tuple(clause for clause in case["clauses"] if clause.rpartition(".")[2] not in right)
    return candidates or tuple(case["clauses"])


def first_violation(result: Mapping[str, Any]) -> RewriteCheck | None:
    """Return the violated check of the strongest level; None if no check is violated."""
    violated = [check for check in result.get("checks", ()) if "violation" in check]
    return min(violated, key=lambda check: Level(check["level"]).rank, default=None)


class FailureGrouper:
    """Groups of failures, built result by result; it keeps the evidence of the smallest cases only."""

    def __init__(self) -> None:
        self._groups: dict[tuple[_GroupKey, tuple[str, ...]], _CaseGroup] = defaultdict(_CaseGroup)

    def add(self, case: CaseRecord, result: ResultRecord) -> None:
        """Add an unexpected result."""
        key = _group_key(case, result)
        clauses = violated_clauses(case, result["outputs"]) if _has_wrong_values(result) else ()
        self._groups[key, clauses].add(case, result)

    def groups(self, diagnoses: Iterable[DiagnosisRecord]) -> list[FailureGroup]:
        """Return the groups by subject: first those that a diagnosis explains, then those with most cases.

        Args:
            diagnoses: the diagnoses; the first that explains a case takes it.
        """
        known = tuple(diagnoses)
        diagnosed: dict[tuple[int, _GroupKey], _CaseGroup] = defaultdict(_CaseGroup)
        rest: dict[_GroupKey, dict[tuple[str, ...], _CaseGroup]] = defaultdict(lambda: defaultdict(_CaseGroup))
        for (key, clauses), cases in self._groups.items():
            remaining = cases
            for number, diagnosis in enumerate(known):
                if diagnosis["subject"] == key.subject:
                    part, remaining = remaining.partition(set(diagnosis["cases"]))
                    if part.sizes:
                        explained_key = _GroupKey(key.subject, key.verdict, explained_sentence(diagnosis))
                        diagnosed[number, explained_key].join(part)
            if remaining.sizes:
                rest[key][clauses].join(remaining)
        groups = [
            *(_failure_group(key, cases, diagnosis=known[number]) for (number, key), cases in diagnosed.items()),
            *(_failure_group(key, cases, clause) for key, by in rest.items() for clause, cases in _merge_by_clause(by)),
        ]
        subjects = list(dict.fromkeys(key.subject for key, _ in self._groups))
        return sorted(
            groups,
            key=lambda each: (subjects.index(each.subject), each.diagnosis is None, -len(each.cases), each.cases[0]),
        )


@dataclass(frozen=True)
class _GroupKey:
    """The values that all results of a group have in common, before diagnoses and clauses divide the group."""

    subject: str
    verdict: str
    text: str
    check: str | None = None


@dataclass
class _CaseGroup:
    """The cases of a group: their ids in order of size, and the smallest cases with their results."""

    sizes: list[tuple[tuple[int, int], str]] = field(default_factory=list)
    smallest: list[tuple[tuple[int, int], str, CaseResult]] = field(default_factory=list)

    def add(self, case: CaseRecord, result: ResultRecord) -> None:
        size = _case_size(case), case["case"]
        insort(self.sizes, size)
        insort(self.smallest, (*size, CaseResult(case, result)), key=lambda entry: entry[:2])
        del self.smallest[MAX_KEPT_CASES:]

    def join(self, other: _CaseGroup) -> None:
        self.sizes = sorted(self.sizes + other.sizes)
        self.smallest = sorted(self.smallest + other.smallest, key=lambda entry: entry[:2])[:MAX_KEPT_CASES]

    def partition(self, cases: Collection[str]) -> tuple[_CaseGroup, _CaseGroup]:
        """Return two groups: one of the cases with these ids, one of all other cases."""
        parts = (
            _CaseGroup(
                [entry for entry in self.sizes if (entry[1] in cases) is wanted],
                [entry for entry in self.smallest if (entry[1] in cases) is wanted],
            )
            for wanted in (True, False)
        )
        return next(parts), next(parts)


def _group_key(case: CaseRecord, result: ResultRecord) -> _GroupKey:
    subject, verdict = result["subject"], result["verdict"]
    message = normalize_message(result["message"].replace(case["case"], "CASE"))
    expected = result["expected"]
    if len(result.get("repeats", ())) > 1:
        return _GroupKey(subject, verdict, "the verdict varies from run to run")
    if verdict == Verdict.PASS and expected is not None:
        return _GroupKey(subject, verdict, f"{expected['verdict']} is expected ({expected.get('location', '')})")
    if verdict != Verdict.FAIL:
        text = f"{NEVER_STARTED}: {message}" if result["phase"] == "start" else message
        return _GroupKey(subject, verdict, text)
    if (check := first_violation(result)) is not None:
        return _GroupKey(subject, verdict, normalize_violation(check["violation"]), check=check["name"])
    text = INVALID_MODEL_SIGNATURE if case["kind"] == CaseKind.INVALID else message
    wrong = next((output for output in result["outputs"] if "violation" in output), None)
    if wrong is not None:
        violation = "has wrong elements" if "first_bad" in wrong else normalize_message(wrong["violation"])
        text = f"{strip_tensor_number(wrong['name'])} {violation}"
    return _GroupKey(subject, verdict, text, wrong and wrong["check"])


def _has_wrong_values(result: ResultRecord) -> bool:
    """Return whether a result has outputs with wrong values, not only with a wrong type or shape."""
    if result["verdict"] != Verdict.FAIL or len(result.get("repeats", ())) > 1 or first_violation(result) is not None:
        return False
    wrong = next((output for output in result["outputs"] if "violation" in output), None)
    return wrong is None or "first_bad" in wrong or "actual" not in wrong


def _case_size(case: CaseRecord) -> tuple[int, int]:
    """Return the size of a case: the number of nodes, and the number of elements of all inputs."""
    elements = [prod(tensor["shape"]) for data_set in case["data_sets"] for tensor in data_set["inputs"]]
    return len(case["model"]["nodes"]), sum(elements) if all(elements) else _NO_ELEMENTS_SIZE


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
                cases[clause] += len(group.sizes)
                ranks[clause] += rank * len(group.sizes)
        chosen = min(cases, key=lambda clause: (-cases[clause], ranks[clause], clause), default=None)
        joined = _CaseGroup()
        for clauses in [clauses for clauses in left if chosen is None or chosen in clauses]:
            joined.join(left.pop(clauses))
        yield chosen, joined


def _failure_group(
    key: _GroupKey, group: _CaseGroup, clause: str | None = None, diagnosis: DiagnosisRecord | None = None
) -> FailureGroup:
    return FailureGroup(
        *(key.subject, key.verdict, key.text, clause, key.check, diagnosis),
        cases=tuple(id for _, id in group.sizes),
        smallest=tuple(case_result for *_, case_result in group.smallest[:EVIDENCE_CASES]),
    )


# ---- Diagnoses in sentences

MAX_NAMED_CASES = 3
"""Number of unexplained cases that a sentence names if the cases have no property in common."""


def explained_sentence(record: DiagnosisRecord) -> str:
    """Return how many failing cases a mutant explains, and which mutants no case distinguishes from it."""
    others = ", ".join(record["indistinguishable"])
    jointly = len(record["jointly_explained"])
    return (
        f"{record['operator']} on {record['subject']}: {record['explained']} of {record['failing']} failing cases"
        f" are explained by: {record['text']}{f' (no case distinguishes it from {others})' if others else ''}"
        f"{f'; {jointly} of them only together with another mutant' if jointly else ''}"
    )


def unexplained_sentence(record: UnexplainedRecord) -> str:
    """Return how many failing cases no mutant explains, how they fail, and in what they differ from passing cases."""
    cases = record["cases"]
    shared = "; ".join(_shared_properties(record)) or f"nothing found in common: {', '.join(_first_cases(cases))}"
    return (
        f"{record['operator']} on {record['subject']}: {len(cases)} of {record['failing']} failing cases unexplained"
        f" ({record['failure_mode']}): {shared}"
    )


def _shared_properties(record: UnexplainedRecord) -> Iterator[str]:
    total, passing = len(record["cases"]), record["passing"]
    for one in record["shared"]:
        failing = (f"all {total}" if total > 1 else "it") if one["cases"] == total else f"{one['cases']} of {total}"
        others = f"{one['passing']} of the {passing} that pass" if one["passing"] else "none that passes"
        yield f"{failing} {one['text']}, and {others}"


def _first_cases(cases: list[str]) -> list[str]:
    return cases if len(cases) <= MAX_NAMED_CASES else [*cases[:MAX_NAMED_CASES], "…"]


def mutants_by_case(footer: Footer) -> dict[tuple[str, str], list[str]]:
    """Return the ids of the mutants that explain each result, by subject and case."""
    found: dict[tuple[str, str], list[str]] = {}
    for record in footer["diagnoses"]:
        for case in record["cases"]:
            found.setdefault((record["subject"], case), []).append(record["mutant"])
    return found
