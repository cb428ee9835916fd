"""What is kept of a run's results to say at its end what explains the failures, which `diagnosis` does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.results.causes import first_complaint
from conformance.results.failure_kinds import normalized, undetailed
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.results.diagnosis_records import ObservedRecord


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of a subject's result on a case.

    Attributes:
        level: the case's.
        observed: what the subject made of the case, where it fails it and lives.
        said: of what else it fails, what was said, numbers aside.
    """

    level: Level
    verdict: Verdict
    observed: ObservedRecord | None = None
    said: str = ""


class Findings:
    """All results of a run, by subject and case; `explicable` where one has what an explanation is sought for.

    Args:
        wanted: whether any is.
    """

    def __init__(self, *, wanted: bool = True) -> None:
        self.by_subject: dict[str, dict[str, Finding]] = defaultdict(dict)
        self.explicable = False
        self._wanted = wanted

    def add(self, result: Mapping[str, Any], level: Level) -> None:
        """Note a result's record, which has what was observed, and its case's level; not of what never started."""
        if result.get("phase") == "start":
            return
        observed, verdict = result.get("observed"), Verdict(result["verdict"])
        ended = verdict in {Verdict.CRASH, Verdict.TIMEOUT}
        self.explicable = self.explicable or (self._wanted and (ended or observed is not None))
        said = _said({"level": str(level), **result}) if verdict.is_defect and observed is None else ""
        self.by_subject[result["subject"]][result["case"]] = Finding(level, verdict, observed, said)


def _said(result: Mapping[str, Any]) -> str:
    """The check of a graph optimizer that complains and how, or else what was said."""
    check = first_complaint(result) if "checks" in result else None
    if check is not None:
        return f"{check['name']}: {undetailed(check.get('complaint', ''))}"
    return normalized(result.get("message", ""))
