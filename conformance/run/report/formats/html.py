"""The HTML report: one self-contained document that is computed from results files alone.

The template renders the overview. The script of the document draws every other page in the browser, from JSON that the
document contains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.base.pages.templating import page_parts
from conformance.run.report.html.data import (
    ResultSurvey,
    case_archives,
    case_index,
    detail_blocks,
    failure_texts,
    survey_results,
)
from conformance.run.report.html.groups import groups, known_fault_cases
from conformance.run.report.html.overview import overview
from conformance.run.report.html.subjects import columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.run.report.html.groups import Group, KnownFaultCases
    from conformance.run.report.html.subjects import Column
    from conformance.run.results.results_file import Results

STYLES = ("matrix.css", "case.css", "plots.css")
SCRIPTS = (
    "dom.js",
    "data.js",
    "address.js",
    "groups.js",
    "filters.js",
    "lists.js",
    "matrix.js",
    "plots.js",
    "graph.js",
    "tensors.js",
    "evidence.js",
    "case.js",
    "subject.js",
    "clauses.js",
    "scores.js",
    "errors.js",
    "silent.js",
    "hazards.js",
    "compare.js",
    "report.js",
)


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the parts of the HTML document; the same runs give the same bytes.

    Several runs of one subject are shown in adjacent columns. The report warns about runs of different corpora. Without
    runs, the report has neither subjects nor cases.
    """
    shown = columns(runs)
    survey = survey_results(runs, shown)
    found = groups(runs, shown)
    faults = known_fault_cases(shown)
    yield from page_parts(
        "report.html.j2",
        styles=STYLES,
        scripts=SCRIPTS,
        data=_data(runs, shown, survey, found, faults),
        packed=_packed(runs, shown),
        archives=case_archives(runs),
        **overview(runs, shown, survey, found, faults),
    )


def _data(
    runs: Sequence[Results],
    shown: Sequence[Column],
    survey: ResultSurvey,
    found: Sequence[Group],
    faults: Sequence[KnownFaultCases],
) -> Iterator[tuple[str, Any]]:
    """Yield the JSON values that the script reads at once, each with the id of the HTML element that contains it."""
    yield "index", case_index(runs, shown, found, faults)
    yield "errors", survey.errors
    yield "hazards", survey.hazards
    yield from ((f"subject-{number}", page) for number, page in enumerate(survey.pages))


def _packed(runs: Sequence[Results], shown: Sequence[Column]) -> Iterator[tuple[str, Any]]:
    """Yield the values that the script unpacks for the page that shows them, each with the id of its element."""
    yield from ((f"details-{number}", block) for number, block in enumerate(detail_blocks(runs, shown)))
    yield "failure-texts", failure_texts(runs, shown)
