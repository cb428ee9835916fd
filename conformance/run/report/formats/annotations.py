"""GitHub annotations: workflow commands for the outcome and for each cause of failures. A job prints them.

GitHub displays at most ten errors per step. Therefore each cause is one error, with its smallest case as an example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.base.serialization.printable_text import count_cases, one_line
from conformance.run.report.summary import summary
from conformance.run.results.evidence import truncate_line
from conformance.run.results.failure_groups import format_group_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.run.report.summary import FailureSummary
    from conformance.run.results.results_file import Results

MAX_CAUSES = 9
"""Maximum number of causes that are written; with the outcome of the run, there are at most ten errors."""


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield the commands, one line each; the same runs give the same bytes."""
    document = summary(runs)
    causes = document.failures
    if document.outcome == "fail":
        counts = format_group_counts([cause.cases for cause in causes])
        yield _error_command(f"FAILED: ONNX conformance, {counts}", document.reasons)
    for cause in sorted(causes, key=lambda cause: (cause.mutant is None, -len(cause.cases)))[:MAX_CAUSES]:
        yield _failure_command(cause)


def _failure_command(cause: FailureSummary) -> str:
    title = f"{cause.subject}: {cause.cause} ({count_cases(len(cause.cases))})"
    return _error_command(title, [f"{cause.cases[0]}: {cause.message}", *cause.evidence])


def _error_command(title: str, lines: Sequence[str]) -> str:
    message = "%0A".join(_escape(truncate_line(one_line(line))) for line in lines)
    return (
        f"::error title={_escape(truncate_line(one_line(title))).replace(':', '%3A').replace(',', '%2C')}::{message}\n"
    )


def _escape(text: str) -> str:
    return text.replace("%", "%25")
