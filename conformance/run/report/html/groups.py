"""Groups of failing cases of a subject: with the same cause, diagnosis or known fault, or without a diagnosis.

The overview lists the groups. The matrix of cases can show the cases of one group.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote, urlencode

from conformance.run.results.failure_groups import explained_sentence, group_failures, unexplained_sentence
from conformance.run.results.known_faults import KnownFault, known_faults_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from conformance.run.report.html.subjects import Column
    from conformance.run.results.records import DiagnosisRecord
    from conformance.run.results.results_file import Results


class GroupKind(StrEnum):
    """Common property of the cases of a group."""

    CAUSE = "cause"
    DIAGNOSIS = "diagnosis"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Group:
    """Failing cases of one subject with a common property.

    Attributes:
        number: the index among all groups of the report; links contain it.
        column: the index of the column of the subject.
        verdict: the verdict of all cases; None if verdicts may differ.
        text: the description of the group.
        cases: ids of the cases; for a cause, the smallest case first.
        is_minor: whether neither a mutant nor a common property of the cases is known, so that a cause says as much.
    """

    number: int
    kind: GroupKind
    column: int
    verdict: str | None
    text: str
    cases: tuple[str, ...]
    is_minor: bool = False

    @property
    def link(self) -> str:
        """The address (URL fragment) of the matrix with only these cases."""
        return "#" + urlencode({"view": "matrix", "group": self.number})


@dataclass(frozen=True)
class LinkedText:
    """A part of a sentence, with the address that it links to, if any."""

    text: str
    link: str | None = None


def groups(runs: Sequence[Results], shown: Sequence[Column]) -> list[Group]:
    """Return all groups in the order of the columns; causes come first for each subject."""
    found = [row for number, run in enumerate(runs) for row in _run_groups(run, number, shown)]
    found.sort(key=lambda row: (row[1], list(GroupKind).index(row[0])))
    return [Group(number, *row) for number, row in enumerate(found)]


GroupRow: TypeAlias = tuple[GroupKind, int, str | None, str, list[int]]
"""A group in the index of cases: kind, subject, verdict, text and cases; subject and cases are numbers."""


def pack_groups(found: Sequence[Group], numbers: dict[str, int]) -> list[GroupRow]:
    """Return the groups as rows for the index of cases."""
    return [
        (
            group.kind,
            group.column,
            group.verdict,
            group.text,
            [numbers[case] for case in group.cases if case in numbers],
        )
        for group in found
    ]


def case_link(case: str, subject: str | None = None) -> str:
    """Return the address of the page of a case, with the evidence of `subject` open."""
    return "#" + urlencode({"case": case} | ({"subject": subject} if subject else {}), quote_via=quote)


def link_cases(sentence: str, cases: Collection[str]) -> list[LinkedText]:
    """Split a sentence into parts, in which every case id links to its case."""
    pieces = re.split(r"([\w.-]+)", sentence)
    return [LinkedText(piece, case_link(piece) if piece in cases else None) for piece in pieces]


def _run_groups(
    run: Results, number: int, shown: Sequence[Column]
) -> Iterator[tuple[GroupKind, int, str | None, str, tuple[str, ...], bool]]:
    places = {column.subject.id: place for place, column in enumerate(shown) if column.run == number}
    named: list[DiagnosisRecord] = []
    for cause in group_failures(run):
        yield (
            GroupKind.CAUSE,
            places[cause.subject],
            cause.verdict,
            cause.sentence.removeprefix(f"{cause.verdict}: "),
            cause.cases,
            False,
        )
        if cause.diagnosis is not None:
            named.append(cause.diagnosis)
    for record in run.footer.diagnoses:
        if record.subject in places and record not in named:
            cases = tuple(record.cases)
            yield GroupKind.DIAGNOSIS, places[record.subject], None, explained_sentence(record), cases, False
    for left in run.footer.unexplained:
        if left.subject in places:
            text = unexplained_sentence(left)
            cases = tuple(left.cases)
            yield GroupKind.UNEXPLAINED, places[left.subject], None, text, cases, not left.shared


@dataclass(frozen=True)
class KnownFaultCases:
    """A known fault of a subject, with the failing cases that show it.

    Attributes:
        fault: the known fault, from the published findings.
        column: the index of the subject among the columns.
        label: the label of the column.
        cases: failing cases in which the fault is known; the example case of the fault comes first.
    """

    fault: KnownFault
    column: int
    label: str
    cases: tuple[str, ...]

    @property
    def link(self) -> str:
        """The address of the page of the first case, with the evidence of the subject open."""
        return case_link(self.cases[0], self.label)


def known_fault_cases(shown: Sequence[Column]) -> list[KnownFaultCases]:
    """Return the known faults that failing cases of a subject show, for all subjects in the order of the columns."""
    return [one for number, column in enumerate(shown) for one in _column_faults(number, column)]


KnownFaultRow: TypeAlias = tuple[int, str, str, list[str], str, str, list[int]]
"""A known fault in the index of cases: subject, runtime, title, points, upstream, place and cases; see `GroupRow`."""


def pack_known_faults(found: Sequence[KnownFaultCases], numbers: dict[str, int]) -> list[KnownFaultRow]:
    """Return known faults as rows for the index of cases."""
    return [
        (
            one.column,
            one.fault.runtime,
            one.fault.title,
            [_without_links(point) for point in one.fault.points],
            _without_links(one.fault.upstream),
            one.fault.location,
            [numbers[case] for case in one.cases],
        )
        for one in found
    ]


def _column_faults(number: int, column: Column) -> list[KnownFaultCases]:
    wrong = sorted(case for case, row in column.rows.items() if row.verdict.is_defect)
    cases: dict[KnownFault, list[str]] = {}
    for case in wrong:
        for fault in known_faults_in(column.subject.id, column.subject.kind, case):
            if fault.fits(column.subject.version, column.rows[case]):
                cases.setdefault(fault, []).append(case)
    return [
        KnownFaultCases(fault, number, column.label, tuple(sorted(own, key=lambda case: case != fault.case)))
        for fault, own in cases.items()
    ]


def _without_links(text: str) -> str:
    """Return a Markdown text with each link replaced by its text; the link targets are not part of the report."""
    return re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
