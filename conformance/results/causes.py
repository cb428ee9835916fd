"""Failures by what they have in common, so that causes are counted first and cases second.

A cause is a deviation that explains its cases; where none does, of a graph optimizer the check that complains and how,
of a backend's wrong answer the clause, the check of its output and the complaint, and of any other defect what was
said. Numbers and the case's own name aside, complaints of one class are one, see `failure_kinds`. Of the clauses that
cases are about, the fewest are named: that of most cases first, then that of most of those which are left.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from conformance.corpus.case import CaseKind
from conformance.results.diagnosed import explained
from conformance.results.failure_kinds import OF_INVALID, normalized, serial_free, undetailed
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from conformance.results.diagnosis_records import DiagnosisRecord
    from conformance.results.file import Results
    from conformance.results.records import CaseRecord, OutputEvidence, ResultRecord, RewriteCheck

FEW = 3
"""Of how many cases of a cause, the smallest ones, the evidence is shown."""

KEPT = 12
"""Of how many cases of one kind the evidence is kept, since a diagnosis may come to explain some of them."""

NEVER_STARTED = "never started"


class CaseResult(NamedTuple):
    """A case and what a subject made of it."""

    case: CaseRecord
    result: ResultRecord


@dataclass(frozen=True)
class Cause:
    """What several failures of a subject have in common.

    Attributes:
        text: what is wrong, in a line.
        clause: one that all cases are about and none of their right outputs; None where no answer came or one of the
            wrong type or shape, where a check is broken or where a deviation is found.
        check: how the wrong output is checked (`exact`, `bound`, `index`), or the check of a graph optimizer; or None.
        diagnosis: the deviation that explains them, or None.
        cases: their ids, the smallest case first.
        smallest: the first few of them with their evidence.
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
        """The clause or check, and what is wrong."""
        if self.diagnosis is not None:
            return self.text
        place = ", ".join(part for part in (self.clause, self.check) if part)
        return f"{place}: {self.text}" if place else f"{self.verdict}: {self.text}"


def clause_of(cause: Cause, case: CaseRecord, result: ResultRecord) -> str | None:
    """The clause that a wrong answer breaks: its cause's, or else the case's first; None where none is to be named."""
    if cause.clause is not None or result["verdict"] != Verdict.FAIL or first_complaint(result) is not None:
        return cause.clause
    return next(iter(broken_clauses(case, result["outputs"])), None)


def counted(causes: Sequence[Cause]) -> str:
    """How many causes, and of how many cases: `2 causes, 18 cases`."""
    cases = sum(len(cause.cases) for cause in causes)
    return f"{len(causes)} cause{'s' * (len(causes) != 1)}, {cases} case{'s' * (cases != 1)}"


def causes_of(run: Results) -> list[Cause]:
    """The causes of what a run's gate holds against its subjects."""
    causes = Causes()
    for key, row in run.rows.items():
        if row["surprise"]:
            causes.add(run.cases[row["case"]], run.results[key])
    return causes.found(run.footer.get("diagnoses", ()))


@dataclass(frozen=True)
class _Kind:
    """What results that are to have one cause agree in, but for a diagnosis."""

    subject: str
    verdict: str
    text: str
    check: str | None = None


@dataclass
class _Group:
    """Cases by their sizes, and the smallest with their evidence."""

    sizes: list[tuple[tuple[int, int], str]] = field(default_factory=list)
    smallest: list[tuple[tuple[int, int], str, CaseResult]] = field(default_factory=list)

    def add(self, case: CaseRecord, result: ResultRecord) -> None:
        size = _size(case), case["case"]
        insort(self.sizes, size)
        insort(self.smallest, (*size, CaseResult(case, result)), key=lambda entry: entry[:2])
        del self.smallest[KEPT:]

    def join(self, other: _Group) -> None:
        self.sizes = sorted(self.sizes + other.sizes)
        self.smallest = sorted(self.smallest + other.smallest, key=lambda entry: entry[:2])[:KEPT]

    def parted(self, cases: Collection[str]) -> tuple[_Group, _Group]:
        """Those of its cases that are among these, and the others."""
        parts = (
            _Group(
                [entry for entry in self.sizes if (entry[1] in cases) is wanted],
                [entry for entry in self.smallest if (entry[1] in cases) is wanted],
            )
            for wanted in (True, False)
        )
        return next(parts), next(parts)


class Causes:
    """Surprising results, grouped as they come; of each group no more than the smallest cases' evidence is kept."""

    def __init__(self) -> None:
        self._groups: dict[tuple[_Kind, tuple[str, ...], frozenset[str]], _Group] = defaultdict(_Group)

    def add(self, case: CaseRecord, result: ResultRecord) -> None:
        """Take note of a result."""
        kind = _kind(case, result)
        clauses = broken_clauses(case, result["outputs"]) if _breaks_a_clause(result) else ()
        self._groups[kind, clauses, frozenset(result.get("agrees_with", ()))].add(case, result)

    def found(self, diagnoses: Iterable[DiagnosisRecord]) -> list[Cause]:
        """The causes, subject after subject: what is explained first, then those of most cases.

        Args:
            diagnoses: what explains failures; a case that two explain is the first one's.
        """
        explaining = tuple(diagnoses)
        named: dict[tuple[int, _Kind], _Group] = defaultdict(_Group)
        left: dict[_Kind, dict[tuple[str, ...], _Group]] = defaultdict(lambda: defaultdict(_Group))
        for (kind, clauses, agrees_with), group in self._groups.items():
            rest = group
            for place, diagnosis in enumerate(explaining):
                if diagnosis["subject"] == kind.subject:
                    part, rest = rest.parted(_explained_by(diagnosis, rest, agrees_with))
                    if part.sizes:
                        named[place, _Kind(kind.subject, kind.verdict, explained(diagnosis))].join(part)
            if rest.sizes:
                left[kind][clauses].join(rest)
        causes = [
            *(_cause(kind, group, diagnosis=explaining[place]) for (place, kind), group in named.items()),
            *(_cause(kind, group, clause) for kind, groups in left.items() for clause, group in _by_clause(groups)),
        ]
        subjects = list(dict.fromkeys(kind.subject for kind, *_ in self._groups))
        return sorted(
            causes,
            key=lambda each: (subjects.index(each.subject), each.diagnosis is None, -len(each.cases), each.cases[0]),
        )


def _explained_by(diagnosis: DiagnosisRecord, group: _Group, agrees_with: frozenset[str]) -> Collection[str]:
    """The cases that a diagnosis explains: it says so itself, or, in format 1, each result what it agrees with."""
    if "cases" in diagnosis:
        return set(diagnosis["cases"])
    agrees = agrees_with & {diagnosis["deviation"], *diagnosis["alike"]}
    return {case for _, case in group.sizes} if agrees else ()


def _by_clause(groups: Mapping[tuple[str, ...], _Group]) -> Iterator[tuple[str | None, _Group]]:
    """Groups that differ in the clauses they are about, joined by clause: that of most cases first."""
    left = dict(groups)
    while left:
        cases: Counter[str] = Counter()
        places: Counter[str] = Counter()
        for clauses, group in left.items():
            for place, clause in enumerate(clauses):
                cases[clause] += len(group.sizes)
                places[clause] += place * len(group.sizes)
        chosen = min(cases, key=lambda clause: (-cases[clause], places[clause], clause), default=None)
        joined = _Group()
        for clauses in [clauses for clauses in left if chosen is None or chosen in clauses]:
            joined.join(left.pop(clauses))
        yield chosen, joined


def _cause(kind: _Kind, group: _Group, clause: str | None = None, diagnosis: DiagnosisRecord | None = None) -> Cause:
    return Cause(
        *(kind.subject, kind.verdict, kind.text, clause, kind.check, diagnosis),
        cases=tuple(id for _, id in group.sizes),
        smallest=tuple(case_result for *_, case_result in group.smallest[:FEW]),
    )


def _size(case: CaseRecord) -> tuple[int, int]:
    """How much there is to look at: nodes, then elements of all inputs; an input without any shows least of all."""
    elements = [prod(tensor["shape"]) for data_set in case["data_sets"] for tensor in data_set["inputs"]]
    return len(case["model"]["nodes"]), sum(elements) if all(elements) else _MANY


_MANY = 2**62


def _kind(case: CaseRecord, result: ResultRecord) -> _Kind:
    subject, verdict = result["subject"], result["verdict"]
    message = normalized(result["message"].replace(case["case"], "CASE"))
    expected = result["expected"]
    if len(result.get("repeats", ())) > 1:
        return _Kind(subject, verdict, "the verdict varies from run to run")
    if verdict == Verdict.PASS and expected is not None:
        return _Kind(subject, verdict, f"{expected['verdict']} is expected ({expected.get('place', '')})")
    if verdict != Verdict.FAIL:
        return _Kind(subject, verdict, f"{NEVER_STARTED}: {message}" if result["phase"] == "start" else message)
    if (check := first_complaint(result)) is not None:
        return _Kind(subject, verdict, undetailed(check["complaint"]), check=check["name"])
    text = OF_INVALID if case["kind"] == CaseKind.INVALID else message
    wrong = next((output for output in result["outputs"] if "complaint" in output), None)
    if wrong is not None:
        complaint = "has wrong elements" if "first_bad" in wrong else normalized(wrong["complaint"])
        text = f"{serial_free(wrong['name'])} {complaint}"
    return _Kind(subject, verdict, text, wrong and wrong["check"])


def _breaks_a_clause(result: ResultRecord) -> bool:
    """Whether the values are wrong, as against the type or shape of an output, a rewritten model, or no answer."""
    if result["verdict"] != Verdict.FAIL or len(result.get("repeats", ())) > 1 or first_complaint(result) is not None:
        return False
    wrong = next((output for output in result["outputs"] if "complaint" in output), None)
    return wrong is None or "first_bad" in wrong or "actual" not in wrong


def first_complaint(result: Mapping[str, Any]) -> RewriteCheck | None:
    """The check of a graph optimizer at whose level it fails, with its complaint."""
    complaining = [check for check in result.get("checks", ()) if "complaint" in check]
    return min(complaining, key=lambda check: Level(check.get("level", result["level"])).rank, default=None)


def broken_clauses(case: CaseRecord, outputs: Sequence[OutputEvidence]) -> tuple[str, ...]:
    """The clauses of a case but for those that by their names speak of outputs that are right (`adam.v_new`)."""
    wrong = {serial_free(output["name"]).lower() for output in outputs if "complaint" in output}
    right = {serial_free(output["name"]).lower() for output in outputs} - wrong if wrong else set()
    left = tuple(clause for clause in case["clauses"] if clause.rpartition(".")[2] not in right)
    return left or tuple(case["clauses"])
