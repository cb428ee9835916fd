"""How accurate the answers of runs are that were to tell: counts by subject, operator and quality, never the gate."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypedDict

from conformance.results.families import family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.results.file import Results


class QualitySummary(TypedDict):
    """A subject's answers to the cases of an operator: how many elements, and how many whole cases, have a quality."""

    subject: str
    operator: str
    quality: str
    elements: int
    within: int
    cases: int
    cases_within: int


def quality_of(run: Results) -> Iterator[QualitySummary]:
    """The counts of a run, of operators in order and of qualities the strictest first; of invalid models none."""
    counts: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0] * 4)
    for (subject, case), row in run.rows.items():
        for name, told in row.get("quality", {}).items():
            key = subject, family(run.described[case]), name
            whole = told["within"] == told["elements"]
            counts[key] = [
                old + new for old, new in zip(counts[key], (told["elements"], told["within"], 1, whole), strict=True)
            ]
    for (subject, operator, name), (elements, within, cases, cases_within) in sorted(
        counts.items(), key=lambda item: item[0][:2]
    ):
        yield {
            "subject": subject,
            "operator": operator,
            "quality": name,
            "elements": elements,
            "within": within,
            "cases": cases,
            "cases_within": cases_within,
        }
