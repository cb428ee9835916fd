"""Known faults that a report shows: of its subjects, in cases in which these go wrong and that the fault's page names.

What is written up of a fault goes into the document, so that its link leads somewhere without a network.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.report.html.groups import case_link
from conformance.results.known_faults import KnownFault, known_faults_in
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from conformance.report.html.columns import Column


@dataclass(frozen=True)
class Known:
    """A known fault of a subject.

    Attributes:
        column: the subject's place among those shown.
        label: the subject's.
        cases: those in which it is known and that go wrong here, that of its page's command first.
    """

    fault: KnownFault
    column: int
    label: str
    cases: tuple[str, ...]

    @property
    def link(self) -> str:
        """The address of a case's page where it is told, open at the subject."""
        return case_link(self.cases[0], self.label)

    def is_among(self, cases: Collection[str]) -> bool:
        """Whether it is known in one of these cases."""
        return not set(self.cases).isdisjoint(cases)


def known(shown: Sequence[Column]) -> list[Known]:
    """The known faults of all subjects, in the order of the columns and of the pages' cases."""
    return [one for number, column in enumerate(shown) for one in _of(number, column)]


def packed_known(found: Sequence[Known], numbers: dict[str, int]) -> list[list[Any]]:
    """[subject, runtime, title, points, upstream, place, cases], subject and cases as numbers in the index."""
    return [
        [
            one.column,
            one.fault.runtime,
            one.fault.title,
            [_without_links(point) for point in one.fault.points],
            _without_links(one.fault.upstream),
            one.fault.place,
            [numbers[case] for case in one.cases],
        ]
        for one in found
    ]


def _of(number: int, column: Column) -> list[Known]:
    wrong = sorted(case for case, row in column.rows.items() if Verdict(row["verdict"]).is_defect)
    cases: dict[KnownFault, list[str]] = {}
    for case in wrong:
        for fault in known_faults_in(column.subject["id"], column.subject["kind"], case):
            cases.setdefault(fault, []).append(case)
    return [
        Known(fault, number, column.label, tuple(sorted(own, key=lambda case: case != fault.case)))
        for fault, own in cases.items()
    ]


def _without_links(text: str) -> str:
    """A Markdown text whose links are their words: what they lead to is beside the page, not beside the report."""
    return re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
