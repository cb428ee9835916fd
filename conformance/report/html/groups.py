"""Cases that have something in common: a cause of failures, a diagnosis, or what no diagnosis explains.

The overview counts them and links to them, and the matrix can be narrowed to one of them by its number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from conformance.results.causes import causes_of
from conformance.results.diagnosed import explained, unexplained

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from conformance.report.html.columns import Column
    from conformance.results.diagnosis_records import DiagnosisRecord
    from conformance.results.file import Results


class GroupKind(StrEnum):
    """Why cases stand together."""

    CAUSE = "cause"
    DIAGNOSIS = "diagnosis"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Group:
    """Cases of one subject that stand together.

    Attributes:
        number: its place among all groups of the report, which is its name in an address.
        column: the subject's place among those shown.
        verdict: what became of each of the cases; None where they may differ.
        cases: their ids, in a cause the smallest first; none where a run of format 1 does not say which.
    """

    number: int
    kind: GroupKind
    column: int
    verdict: str | None
    text: str
    cases: tuple[str, ...]

    @property
    def link(self) -> str:
        """The address of the matrix with these cases alone."""
        return "#" + urlencode({"view": "matrix", "group": self.number})


@dataclass(frozen=True)
class Part:
    """A piece of a sentence, and where it leads."""

    text: str
    link: str | None = None


def groups(runs: Sequence[Results], shown: Sequence[Column]) -> list[Group]:
    """All groups, subject after subject in the order of the columns, causes first."""
    found = [row for number, run in enumerate(runs) for row in _groups(run, number, shown)]
    found.sort(key=lambda row: (row[1], list(GroupKind).index(row[0])))
    return [Group(number, *row) for number, row in enumerate(found)]


def packed_groups(found: Sequence[Group], numbers: dict[str, int]) -> list[list[Any]]:
    """[kind, subject, verdict, text, cases], subject and cases as numbers in the index."""
    return [
        [
            group.kind,
            group.column,
            group.verdict,
            group.text,
            [numbers[case] for case in group.cases if case in numbers],
        ]
        for group in found
    ]


def deviation_texts(runs: Sequence[Results]) -> dict[str, str]:
    """What each deviation that the runs' diagnoses name does, by its id."""
    return {record["deviation"]: record["text"] for run in runs for record in run.footer.get("diagnoses", ())}


def case_link(case: str, subject: str | None = None) -> str:
    """The address of a case's page, open at a subject."""
    return "#" + urlencode({"case": case} | ({"subject": subject} if subject else {}), quote_via=quote)


def linked(sentence: str, cases: Collection[str]) -> list[Part]:
    """A sentence in pieces, in which each name of a case leads to it."""
    pieces = re.split(r"([\w.-]+)", sentence)
    return [Part(piece, case_link(piece) if piece in cases else None) for piece in pieces]


def _groups(
    run: Results, number: int, shown: Sequence[Column]
) -> Iterator[tuple[GroupKind, int, str | None, str, tuple[str, ...]]]:
    places = {column.subject["id"]: place for place, column in enumerate(shown) if column.run == number}
    named: list[DiagnosisRecord] = []
    for cause in causes_of(run):
        yield (
            GroupKind.CAUSE,
            places[cause.subject],
            cause.verdict,
            cause.sentence.removeprefix(f"{cause.verdict}: "),
            cause.cases,
        )
        if cause.diagnosis is not None:
            named.append(cause.diagnosis)
    for record in run.footer.get("diagnoses", ()):
        if record["subject"] in places and record not in named:
            cases = tuple(record.get("cases", ()))
            yield GroupKind.DIAGNOSIS, places[record["subject"]], None, explained(record), cases
    for left in run.footer.get("unexplained", ()):
        if left["subject"] in places:
            yield GroupKind.UNEXPLAINED, places[left["subject"]], None, unexplained(left), tuple(left["cases"])
