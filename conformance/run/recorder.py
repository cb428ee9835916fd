"""Writes a run's results file as the results come in, and keeps counts only."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from conformance import __version__
from conformance.clauses import clauses
from conformance.corpus.document import case_json
from conformance.diagnosis.findings import Findings
from conformance.files.undisturbed import undisturbed
from conformance.gate.case_facts import Facts, facts
from conformance.results.causes import Causes
from conformance.results.environment import environment
from conformance.results.file import FORMAT
from conformance.results.levels import standing_level
from conformance.run.archives import Archives
from conformance.run.dependencies import dependencies
from conformance.run.partial import PartialResults
from conformance.run.resuming import not_alike
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from conformance.corpus.corpus import Corpus
    from conformance.expectations.file import Expectation
    from conformance.gate.gate import Gate
    from conformance.results.causes import Cause
    from conformance.results.diagnosis_records import DiagnosisRecord, UnexplainedRecord
    from conformance.results.records import Expected
    from conformance.run.resuming import Begun
    from conformance.subjects.loading import Subject

_ADDED = {"record", "level", "expected", "baseline", "baseline_level", "surprise"}
"""What of a result's record is said here, and not by who ran the case."""


class Recorder:
    """The receiving end of a run.

    Args:
        path: the results file, or None to keep counts only.
        options: by subject, the words of the command line on which its verdicts depend.
        diagnosis: whether to say what explains failures.
    """

    def __init__(
        self,
        corpus: Corpus,
        subjects: Sequence[Subject],
        gate: Gate,
        path: Path | None,
        options: Mapping[str, Sequence[str]] | None = None,
        *,
        diagnosis: bool = True,
    ) -> None:
        self._corpus = corpus
        self._subjects = subjects
        self._options = {subject: list(words) for subject, words in (options or {}).items()}
        self._partial = PartialResults(path) if path is not None else None
        self._described: set[str] = set()
        self._facts: dict[str, Facts] = {}
        self._started = time.perf_counter()
        self._findings = Findings(wanted=diagnosis)
        self._archives = Archives(corpus)
        self._causes = Causes()
        self.gate = gate
        self.results = 0
        self.has_begun = False
        self.diagnoses: list[DiagnosisRecord] = []
        self.unexplained: list[UnexplainedRecord] = []

    def begin(self, selected: int, selection: Mapping[str, str], command: str, due: int = 0) -> None:
        """Open the file and write the header.

        Args:
            selected: how many of the corpus's cases are run.
            selection: the options that selected them.
            command: the command line, for people.
            due: how many results there will be.
        """
        if self._partial is not None:
            self._partial.begin()
        self._write(self.header(selected, selection, command, due))
        self.has_begun = True

    def header(self, selected: int, selection: Mapping[str, str], command: str, due: int = 0) -> dict[str, Any]:
        """The header record; the arguments are those of `begin`."""
        return {
            "record": "header",
            "format": FORMAT,
            "suite": __version__,
            "corpus": {
                "version": self._corpus.version,
                "digest": self._corpus.digest,
                "cases": len(self._corpus.cases),
                "selected": selected,
            },
            "subjects": [_subject(subject) for subject in self._subjects],
            "environment": environment() | dependencies(subject.id for subject in self._subjects),
            "selection": dict(selection),
            "command": command,
            "clauses": {id: {"text": clause.text, "source": clause.source} for id, clause in clauses().items()},
            "rules": self.gate.rules.record(due),
            "options": self._options,
            "started": round(time.time(), 3),
        }

    def resume(self, begun: Begun) -> None:
        """Take over the results that a run gave before it was cut off, and go on writing its file.

        Raises:
            UsageError: with today's expectations the results are told otherwise.
        """
        lost = []
        for result in begun.results.values():
            record, _ = self._judged({name: value for name, value in result.items() if name not in _ADDED})
            if record != result:
                raise not_alike(begun, f"its result of {result['case']} on {result['subject']} (see --expect)")
            if Verdict(record["verdict"]).is_defect and (files := self._archives_of(record)):
                lost += [files] if result["case"] not in begun.archives else []
        self._described.update(begun.cases)
        self.has_begun = True
        if self._partial is not None:
            self._partial.go_on(begun.source, begun.size)
        for files in lost:
            self._write(files)

    def add(self, result: Mapping[str, Any]) -> bool:
        """Write a result, and its case before it where it is new; whether the result is as expected or tolerated.

        Args:
            result: a result record but for its level and expectation, which are added here.
        """
        with undisturbed():  # what is counted is written, and the reverse
            record, expected = self._judged(result)
            if self._partial is None:
                return expected
            if result["case"] not in self._described:
                self._describe(result["case"])
            self._write(record)
            if Verdict(record["verdict"]).is_defect and (files := self._archives_of(record)):
                self._write(files)
            return expected

    def _archives_of(self, record: Mapping[str, Any]) -> Any:
        case = record["case"]
        return self._archives.of(self._corpus.cases[case], surprise=record["surprise"])

    def _judged(self, result: Mapping[str, Any]) -> tuple[Any, bool]:
        """A result's whole record, and whether it is as expected or tolerated; it is counted."""
        case = result["case"]
        profile, own = self.gate.rules.profile, self._corpus.cases[case].level
        level = standing_level(result, profile.level_of(result.get("rules", ()), own) if profile else own)
        record: Any = {"record": "result", **result, "level": str(level), **self._held_against(result["subject"], case)}
        expected = self.gate.judge(record, lambda: self._facts_of(case))
        self.results += 1
        self._findings.add(result, own)  # a deviation is from the specification, whatever a profile asks
        if not expected:
            self._causes.add(self._case_record(case), record)
        return {**record, "surprise": not expected}, expected

    @property
    def causes(self) -> list[Cause]:
        """What the gate holds against the subjects, by cause; diagnoses are among them once the run has ended."""
        return self._causes.found(self.diagnoses)

    def _held_against(self, subject: str, case: str) -> dict[str, Any]:
        """What a verdict is held against: the expectation, and the baseline's verdict where there is one."""
        baseline = self.gate.rules.baseline
        was = baseline.standings.get((subject, case), {}) if baseline else {}
        return {"expected": _expected(self.gate.expectation(subject, case), case), **was}

    def end(self, reasons: Sequence[str], *, interrupted: bool = False, processes: int = 1) -> None:
        """Say what explains the failures, write the footer, close the file and give it its name.

        Args:
            processes: in how many explanations are sought.
        """
        if self._findings.explicable:
            from conformance.diagnosis.diagnosing import diagnosed

            found = diagnosed(self._findings, self._corpus, processes)
            self.diagnoses, self.unexplained = found["diagnoses"], found["unexplained"]
        counts = {
            subject: {str(level): {str(v): n for v, n in counter.items()} for level, counter in levels.items()}
            for subject, levels in self.gate.verdicts.items()
        }
        footer = {
            "record": "footer",
            "results": self.results,
            "verdicts": counts,
            "gate": "fail" if reasons else "pass",
            "reasons": list(reasons),
            "seconds": round(time.perf_counter() - self._started, 3),
            "diagnoses": self.diagnoses,
            "unexplained": self.unexplained,
            **({"interrupted": True} if interrupted else {}),
        }
        with undisturbed():
            self._write(footer)
            if self._partial is not None:
                self._partial.finish()

    def abandon(self) -> None:
        """Leave no file of this run behind: it could not be trusted. What an earlier run left stays."""
        if self._partial is not None:
            self._partial.abandon()

    def _describe(self, case: str) -> None:
        self._described.add(case)
        self._write(self._case_record(case))

    def _case_record(self, case: str) -> Any:
        entry = self._corpus.cases[case]
        document = case_json(self._corpus, entry)
        del document["generator"]
        return {"record": "case", "case": case, "kind": str(entry.kind), **document}

    def _facts_of(self, case: str) -> Facts:
        if case not in self._facts:
            self._facts[case] = facts(self._case_record(case))
        return self._facts[case]

    def _write(self, record: Mapping[str, Any]) -> None:
        if self._partial is not None:
            self._partial.write(record)


def _expected(entry: Expectation | None, case: str) -> Expected | None:
    if entry is None:
        return None
    told: Expected = {"verdict": str(entry.verdict), "reason": entry.reason, "place": entry.place_of(case)}
    if entry.issue:
        told["issue"] = entry.issue
    if entry.checks:
        told["checks"] = list(entry.checks)
    return told


def _subject(subject: Subject) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": subject.id,
        "kind": str(subject.kind),
        "version": subject.version,
        "language": subject.language,
    }
    told |= {"passes": list(subject.passes)} if subject.passes else {}
    told |= {"provider": subject.provider} if subject.provider else {}
    return told | ({"placement": subject.placement} if subject.placement else {})
