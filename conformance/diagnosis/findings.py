"""What is kept of a run's results to say at its end what explains the failures, which `diagnosis` does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.errors import CorpusError
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.corpus.corpus import Corpus
    from conformance.results.records import DiagnosisRecord


@dataclass(frozen=True)
class Finding:
    """What is known of a subject's result on a case.

    Attributes:
        agrees_with: ids of the deviations that fail the case as the subject does.
    """

    level: Level
    verdict: Verdict
    agrees_with: frozenset[str] = frozenset()


class Findings:
    """All results of a run, by subject and case."""

    def __init__(self) -> None:
        self._findings: dict[str, dict[str, Finding]] = defaultdict(dict)
        self._suspected = False

    def add(self, result: Mapping[str, Any], level: Level) -> None:
        """Note a result."""
        agrees_with = frozenset(result.get("agrees_with", ()))
        self._suspected = self._suspected or bool(agrees_with)
        self._findings[result["subject"]][result["case"]] = Finding(level, Verdict(result["verdict"]), agrees_with)

    def diagnoses(self, corpus: Corpus) -> list[DiagnosisRecord]:
        """What explains the failures, if anything does; where nothing is suspected, nothing is loaded to find out.

        A case that cannot be read whole explains nothing: a subject may fail before all of it has been read.
        """
        if not self._suspected:
            return []
        from conformance.diagnosis.diagnosis import diagnoses

        try:
            return [diagnosis.record for diagnosis in diagnoses(self._findings, corpus)]
        except CorpusError:
            return []
