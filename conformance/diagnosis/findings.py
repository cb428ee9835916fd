"""What is kept of a run's results to say at its end what explains the failures, which `diagnosis` does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.results.diagnosis_records import ObservedRecord


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of a subject's result on a case.

    Attributes:
        level: the case's.
        observed: what the subject made of the case, where it fails it.
    """

    level: Level
    verdict: Verdict
    observed: ObservedRecord | None = None


class Findings:
    """All results of a run, by subject and case; `explicable` where one has what an explanation is sought for."""

    def __init__(self) -> None:
        self.by_subject: dict[str, dict[str, Finding]] = defaultdict(dict)
        self.explicable = False

    def add(self, result: Mapping[str, Any], level: Level) -> None:
        """Note a result's record, which has what was observed, and its case's level."""
        observed = result.get("observed")
        self.explicable = self.explicable or observed is not None
        self.by_subject[result["subject"]][result["case"]] = Finding(level, Verdict(result["verdict"]), observed)
