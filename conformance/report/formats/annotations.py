"""GitHub's annotations: the gate and each cause as a workflow command, to be printed in a job.

A step shows ten errors at most, so each cause is one, with its smallest case. Text is escaped as GitHub reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.boundary.text import one_line
from conformance.report.summary import summary
from conformance.results.evidence import bounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.report.summary import FailureSummary
    from conformance.results.file import Results

MOST = 9
"""Causes; the gate is the tenth."""


def render(runs: Sequence[Results]) -> Iterator[str]:
    """The commands, a line each; the same runs give the same bytes."""
    told = summary(runs)
    causes = told["failures"]
    if told["gate"] == "fail":
        cases = sum(len(cause["cases"]) for cause in causes)
        counts = f"{len(causes)} cause{'s' * (len(causes) != 1)}, {cases} case{'s' * (cases != 1)}"
        yield _error(f"ONNX conformance: the gate does not hold: {counts}", told["reasons"])
    for cause in sorted(causes, key=lambda cause: ("deviation" not in cause, -len(cause["cases"])))[:MOST]:
        yield _cause(cause)


def _cause(cause: FailureSummary) -> str:
    count = f"{len(cause['cases'])} case{'s' * (len(cause['cases']) > 1)}"
    title = f"{cause['subject']}: {cause['cause']} ({count})"
    return _error(title, [f"{cause['cases'][0]}: {cause['message']}", *cause["evidence"]])


def _error(title: str, lines: Sequence[str]) -> str:
    message = "%0A".join(_escaped(bounded(one_line(line))) for line in lines)
    return f"::error title={_escaped(bounded(one_line(title))).replace(':', '%3A').replace(',', '%2C')}::{message}\n"


def _escaped(text: str) -> str:
    return text.replace("%", "%25")
