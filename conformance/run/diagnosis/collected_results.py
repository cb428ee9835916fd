"""The results of a run as diagnosis needs them, collected while the run goes on.

The module imports no mutants, so that a run without failures does not load them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.base.verdicts import Level, Verdict
from conformance.run.results.failure_groups import first_violation, result_signature
from conformance.run.results.records import Result
from conformance.run.results.violations import normalize_message

if TYPE_CHECKING:
    from conformance.run.results.records import RecordedOutputs, ResultRow


@dataclass(frozen=True, slots=True)
class CollectedResult:
    """The part of a result that the diagnosis needs.

    Attributes:
        level: the level of the case.
        recorded_outputs: the recorded outputs of the subject; None for a passed case, a crash or a timeout.
        message: the message without numbers, for a failure without recorded outputs.
    """

    level: Level
    verdict: Verdict
    recorded_outputs: RecordedOutputs | None = None
    message: str = ""


class ResultCollector:
    """All results of a run by subject and case.

    Attributes:
        by_subject: the results by subject and case id.
        has_explainable_failure: whether there is a failure to explain.

    Args:
        is_enabled: whether diagnosis is enabled.
    """

    def __init__(self, *, is_enabled: bool = True) -> None:
        self.by_subject: dict[str, dict[str, CollectedResult]] = defaultdict(dict)
        self.has_explainable_failure = False
        self._is_enabled = is_enabled

    def add(self, result: ResultRow, level: Level) -> None:
        """Add a result with the level of its case; results of a subject that did not start are ignored."""
        if result.phase == "start":
            return
        observed = result.recorded_outputs if isinstance(result, Result) else None
        verdict = result.verdict
        ended = verdict in {Verdict.CRASH, Verdict.TIMEOUT}
        self.has_explainable_failure |= self._is_enabled and (ended or observed is not None)
        message = _failure_message(result) if verdict.is_defect and observed is None else ""
        self.by_subject[result.subject][result.case] = CollectedResult(level, verdict, observed, message)


def _failure_message(result: ResultRow) -> str:
    """Return the first violated check of a graph optimizer, or otherwise the message, both without details."""
    check = first_violation(result)
    if check is not None and check.violation is not None:
        return f"{check.name}: {check.violation.cause}"
    return result_signature(result) if isinstance(result, Result) else normalize_message(result.message)
