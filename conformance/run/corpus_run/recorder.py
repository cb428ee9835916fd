"""The results of a run as it judges them, and their results file.

`AssessedResults` makes a result of what a subject did: with level, expectation and baseline, and with the diagnoses of
failures at the end. `Recorder` writes the results.

The recorder also adds an archive of each failing case to the results file, so that a reader can run the case.
"""

from __future__ import annotations

import base64
import io
import time
import zipfile
from typing import TYPE_CHECKING, Any

from msgspec import structs
from msgspec.structs import replace

from conformance import __version__
from conformance.base.errors import ConformanceError, OutputFault, UsageError
from conformance.base.files.atomic_write import deferred_signals
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import MODELS_CORPUS
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.corpus.cases.corpus import MANIFEST, manifest_bytes
from conformance.exact.clauses import clauses, family_titles
from conformance.run.corpus_run.environment_versions import run_environment, subject_files_digest
from conformance.run.corpus_run.resume import PartialResults, different_run_error
from conformance.run.diagnosis.collected_results import ResultCollector
from conformance.run.expectations.criterion import CaseFacts, Completeness, MissingCause, case_facts
from conformance.run.results.failure_groups import CaseResult, FailureGrouper
from conformance.run.results.missing_operators import (
    missing_operator_sentences,
    older_versions_sentences,
    other_operators_lines,
    unsupported_reasons,
)
from conformance.run.results.outcome_counts import count_node_shares, is_known_failure
from conformance.run.results.recorded_environment import processor, subject_identity
from conformance.run.results.records import (
    ArchiveRecord,
    Assessment,
    ClauseRecord,
    CorpusRecord,
    Diagnosed,
    Footer,
    Header,
    Judged,
    Result,
    Selection,
    SubjectRecord,
    case_record,
    effective_level,
)
from conformance.run.results.results_file import FORMAT, MAX_LINE_BYTES, encode_record, record_kind, unexpected_kind
from conformance.subjects.calling.request import adapter_digest
from conformance.subjects.calling.subject_names import SubjectName

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from msgspec import Struct

    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.run.corpus_run.resume import InterruptedRun
    from conformance.run.expectations.criterion import PassCriterion
    from conformance.run.results.failure_groups import FailureGroup
    from conformance.run.results.missing_operators import UnsupportedReason
    from conformance.run.results.outcome_counts import NodeShare
    from conformance.run.results.records import CaseRecord, DiagnosisRecord
    from conformance.subjects.calling.subject_names import Subject


MAX_ARCHIVE_BYTES = 64 * 1024
"""Largest archive of a case; larger archives are not written."""
ARCHIVE_BUDGET_BYTES = 2 * 1024 * 1024
"""Limit on the total size of all archives of a run."""

_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
_REGULAR_FILE_MODE = 0o100644 << 16
_UNIX_SYSTEM = 3


class Archives:
    """Archives (zip files) of the failing cases of a run, with a limit on their total size.

    The limit is `ARCHIVE_BUDGET_BYTES`. Unexpected failures may use all of it, and expected failures half of it. Each
    case is archived once, also if several subjects fail it.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._decided: set[str] = set()
        self._remaining_bytes = {True: ARCHIVE_BUDGET_BYTES, False: ARCHIVE_BUDGET_BYTES // 2}

    def record_for(self, case: CorpusCase, *, unexpected: bool) -> ArchiveRecord | None:
        """Return the archive record of a failing case, or None if the case is archived already or the limit is reached.

        After the first archive that exceeds the limit, no further archive is made: packing takes time, and a subject
        may fail every case.

        Args:
            unexpected: whether the failure is unexpected.
        """
        if case.id in self._decided or not self._remaining_bytes[unexpected]:
            return None
        content = archive_case(self._corpus, case)
        if len(content) <= MAX_ARCHIVE_BYTES and len(content) > self._remaining_bytes[unexpected]:
            self._remaining_bytes[unexpected] = 0
            return None
        self._decided.add(case.id)
        if len(content) > MAX_ARCHIVE_BYTES:
            return None
        self._remaining_bytes = {kind: max(0, size - len(content)) for kind, size in self._remaining_bytes.items()}
        return ArchiveRecord(case.id, base64.b64encode(content).decode())


def archive_case(corpus: Corpus, case: CorpusCase) -> bytes:
    """Return a zip file with one folder: a corpus that contains only this case, for the option `--data`.

    The name of the folder is the id of the case.

    Raises:
        CorpusError: a file of the case differs from the manifest.
    """
    files = {f"{case.path}/{name}": corpus.read(case, name) for name in sorted(case.files)}
    files[MANIFEST] = manifest_bytes(corpus.version, {case.path: case.files}, {case.path: case.level}, corpus.name)
    return _zip_bytes({f"{case.id}/{name}": content for name, content in files.items()})


def _zip_bytes(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as bundle:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _ZIP_EPOCH)
            entry.create_system = _UNIX_SYSTEM
            entry.external_attr = _REGULAR_FILE_MODE
            entry.compress_type = zipfile.ZIP_DEFLATED
            bundle.writestr(entry, content)
    return target.getvalue()


_EVIDENCE: dict[str, Any] = {
    "outputs": [],
    "placement": None,
    "returned": None,
    "recorded_outputs": None,
    "stderr": "",
    "hazards": [],
    "checks": [],
    "accuracy": {},
}


def without_evidence(result: Result, **kept: Any) -> Result:
    """Return a result without its evidence, apart from some fields, so that it needs little space."""
    return replace(result, **_EVIDENCE | kept)


class AssessedResults:
    """The results of a run, judged by its pass criterion.

    Args:
        is_diagnosed: whether to search for mutants that explain the failures.

    Attributes:
        criterion: the pass criterion, which also counts the verdicts.
        weaker_failures: subject and case of the failures that would fail a run with the level `should`.
    """

    def __init__(self, corpus: Corpus, criterion: PassCriterion, *, is_diagnosed: bool) -> None:
        self.criterion = criterion
        self._corpus = corpus
        self._is_diagnosed = is_diagnosed
        self._facts: dict[str, CaseFacts] = {}
        self._last_case: CaseRecord | None = None
        self._verdicts: dict[tuple[str, str], Verdict] = {}
        self._for_diagnosis: list[tuple[Result, Level]] = []
        self._unexpected: dict[tuple[str, str], Result] = {}
        self.weaker_failures: set[tuple[str, str]] = set()
        self._grouper = FailureGrouper(
            lambda subject, case: CaseResult(self._case_record(case), self._unexpected[subject, case])
        )

    def __len__(self) -> int:
        """Return the number of results."""
        return len(self._verdicts)

    def __contains__(self, judged: Judged) -> bool:
        """Return whether the case has a result on the subject already."""
        return (judged.subject, judged.case) in self._verdicts

    def add(self, judged: Judged | Result) -> Result:
        """Count what a subject did, and return it as a result with its level, its expectation and its baseline.

        Args:
            judged: what the subject did; what an earlier run thought of a `Result` is ignored.
        """
        case = self._corpus.cases[judged.case]
        result = Result.assessed(judged, self._assess(judged))
        is_expected = self.criterion.assess(result, lambda: self._facts_of(case.id))
        result.unexpected = not is_expected
        self._verdicts[result.subject, result.case] = result.verdict
        if not self._is_failure_of_base(result):
            evidence = {"checks": result.checks, "recorded_outputs": result.recorded_outputs}
            self._for_diagnosis.append((without_evidence(result, **evidence), case.level))
        if is_expected and result.level is Level.SHOULD and unexpected_kind(result, Level.SHOULD) is not None:
            self.weaker_failures.add((result.subject, result.case))
        if not is_expected:
            self._unexpected[result.subject, result.case] = result
            self._grouper.add(self._case_record(case.id), result)
        return result

    def _assess(self, judged: Judged | Result) -> Assessment:
        """Return the level, the expectation and the baseline of what a subject did. Mutants do not depend on these."""
        settings = self.criterion.settings
        case = self._corpus.cases[judged.case]
        level = case.level
        if settings.profile:
            level = settings.profile.level_of(judged.rules, level)
        standing = self.criterion.find_standing(judged)
        return Assessment(
            level=effective_level(judged, level),
            expected=self.criterion.find_expectation(judged, lambda: load_case_in_memory(self._corpus, case)),
            baseline=standing.verdict,
            baseline_level=standing.level,
            baseline_wrong=list(standing.wrong),
        )

    def _is_failure_of_base(self, record: Result) -> bool:
        """Return whether the subject of `--relative-to` fails the case too, so that diagnosis leaves the case out."""
        baseline = self.criterion.settings.baseline
        is_relative = baseline is not None and bool(baseline.record.relative_to)
        return is_relative and record.baseline is not None and record.baseline.is_defect

    def node_shares(self) -> list[NodeShare]:
        """Return the share of the nodes of a user's models that each subject computes correctly."""
        if self._corpus.name != MODELS_CORPUS:
            return []
        rows = {id: self._case_record(id) for id in {case for _, case in self._verdicts}}
        results = ((subject, rows[case], verdict) for (subject, case), verdict in self._verdicts.items())
        return count_node_shares(results, self._corpus.nodes)

    def failure_groups(self, diagnoses: Iterable[DiagnosisRecord]) -> list[FailureGroup]:
        """Return the groups of unexpected failures, with the diagnoses that explain them."""
        return self._grouper.groups(diagnoses)

    def missing_operators(self) -> list[str]:
        """Return a sentence for each subject that ends in an error where it seems to lack operators."""
        errors = [
            result
            for result, _ in self._for_diagnosis
            if result.verdict is Verdict.ERROR and result.phase != "start" and result.expected is None
        ]
        if not errors:
            return []
        return missing_operator_sentences(errors, self._verdicts, lambda case: self._facts_of(case).operators)

    def known_failures(self) -> list[str]:
        """Return a sentence for each known failure that an expectations file lists, with its reason."""
        return [
            f"{result.case} is a known failure on {result.subject}: {entry.reason} ({entry.location})"
            for result, _ in self._for_diagnosis
            if (entry := result.expected) is not None and is_known_failure(result)
        ]

    def older_versions(self) -> list[str]:
        """Return a sentence for each subject and operator that fails in old versions only, and passes in the newest."""
        if Verdict.PASS not in self._verdicts.values():
            return []
        return older_versions_sentences(self._unexpected, self._verdicts, self._case_record)

    def unsupported_reasons(self) -> dict[str, list[UnsupportedReason]]:
        """Return the reasons of the unsupported cases of each subject that the run judges, that of most cases first."""
        weakest = self.criterion.settings.level
        judged = [result for result, level in self._for_diagnosis if level.is_within(weakest)]
        unsupported = [result for result in judged if result.verdict is Verdict.UNSUPPORTED]
        return unsupported_reasons(unsupported) if unsupported else {}

    def other_operators(self, backends: Collection[str], selected: Collection[str]) -> list[str]:
        """Return a sentence for each backend on operators that have no case of their own in the suite's corpus.

        Args:
            backends: the names of the backends.
            selected: the operators that selected the cases, and of which the sentence speaks; empty for all.
        """
        if self._corpus.name or not backends:
            return []
        passing: dict[str, set[str]] = {id: set() for id in backends}
        families = set()
        for (subject, case), verdict in self._verdicts.items():
            facts = self._facts_of(case)
            families.add(facts.family)
            if verdict is Verdict.PASS and subject in passing:
                passing[subject] |= facts.operators
        if not families or not families <= {*family_titles().values()}:  # no result was received, or of other cases
            return []
        if selected:
            passing = {
                subject: names & {*selected} for subject, names in passing.items() if names & {*selected} - families
            }
        return [
            line
            for subject, operators in passing.items()
            for line in other_operators_lines(subject, operators, families)
        ]

    def failing_cases(self) -> dict[str, list[str]]:
        """Return the ids of all failing cases by subject, of every level, also of known failures."""
        found: dict[str, list[str]] = {}
        for result, _ in self._for_diagnosis:
            if result.verdict.is_defect:
                found.setdefault(result.subject, []).append(result.case)
        return found

    def explain(self, processes: int) -> tuple[Diagnosed, Exception | None]:
        """Search for mutants that explain the failures, in some processes.

        Return the diagnoses, and the error because of which there are none, if any.
        """
        collector = ResultCollector(is_enabled=self._is_diagnosed)
        try:
            for result, level in self._for_diagnosis:
                collector.add(result, level)
            if collector.has_explainable_failure:
                from conformance.run.diagnosis.diagnosis_run import diagnose_run

                return diagnose_run(collector, self._corpus, processes), None
        except (ConformanceError, OSError) as error:  # such as a full disk: no fault of the suite
            return Diagnosed([], []), error
        except Exception as error:  # noqa: BLE001 - the results must be written, whatever an explanation raises
            return Diagnosed([], []), OutputFault.caused_by(error, "the failures were not explained")
        return Diagnosed([], []), None

    def _facts_of(self, case: str) -> CaseFacts:
        if case not in self._facts:
            self._facts[case] = case_facts(self._case_record(case))
        return self._facts[case]

    def _case_record(self, case: str) -> CaseRecord:
        if self._last_case is None or self._last_case.case != case:
            self._last_case = case_record(self._corpus, self._corpus.cases[case])
        return self._last_case


class Recorder:
    """Writes the judged results of a run to the results file.

    Args:
        criterion: the pass criterion.
        path: the results file, or None to write no file.
        options: for each subject, the command-line options on which its verdicts depend.
        diagnosis: whether to search for mutants that explain the failures.

    Attributes:
        assessed: the results so far, judged by the pass criterion.
        repeated: number of results that were ignored, because the case had a result on the subject already.
        header: the header of the results file, if it is written, or None.
    """

    def __init__(
        self,
        corpus: Corpus,
        subjects: Sequence[Subject],
        criterion: PassCriterion,
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
        self._started = time.perf_counter()
        self._archives = Archives(corpus)
        self.assessed = AssessedResults(corpus, criterion, is_diagnosed=diagnosis)
        self.repeated = 0
        self.header: Header | None = None

    def begin(self, selected: int, selection: Selection, command: str, expected_results: int = 0) -> None:
        """Open the results file and write the header.

        Args:
            selected: number of cases that are run.
            selection: the conditions on the cases.
            command: the command line.
            expected_results: number of results that the run must have.
        """
        if self._partial is not None:
            self._partial.begin()
        header = self.new_header(selected, selection, command, expected_results)
        self._write(header)
        self.header = header

    def new_header(self, selected: int, selection: Selection, command: str, expected_results: int = 0) -> Header:
        """Return the header record; the arguments are those of `begin`."""
        corpus = self._corpus
        return Header(
            format=FORMAT,
            suite=__version__,
            corpus=CorpusRecord(corpus.version, corpus.digest, len(corpus.cases), selected, corpus.name, corpus.nodes),
            subjects=[_subject(subject) for subject in self._subjects],
            environment=run_environment(self._subjects),
            command=command,
            clauses={id: ClauseRecord(clause.text, clause.source) for id, clause in clauses().items()},
            criterion=self.assessed.criterion.settings.record(expected_results),
            options=self._options,
            started=round(time.time(), 3),
            selections=[selection] if selection != Selection() else [],
        )

    def resume(self, run: InterruptedRun) -> None:
        """Read the results of an interrupted run, and continue to write its results file.

        Raises:
            UsageError: the pass criterion judges a recorded result differently now.
        """
        missing_archives = []
        archived = set[str]()
        for id, case in run.cases.items():
            if id not in self._corpus.cases or case != case_record(self._corpus, self._corpus.cases[id]):
                raise different_run_error(run, f"its description of case {id} is not that of the corpus")
        for result in run.results.values():
            record = self.assessed.add(result)
            if record != result:
                raise different_run_error(run, f"its result of {result.case} on {result.subject} (see --expect)")
            if record.verdict.is_defect and (archive := self._archive_record(record)):
                if run.archives.get(result.case, archive) != archive:
                    raise different_run_error(run, f"its archive of case {result.case} is not that of the corpus")
                missing_archives += [archive] if result.case not in run.archives else []
                archived.add(result.case)
        if unknown := run.archives.keys() - archived:
            raise different_run_error(run, f"it has an archive of case {min(unknown)}, which did not fail")
        self._described.update(run.cases)
        self.header = run.header
        if self._partial is not None:
            self._partial.continue_from(run.source, run.size)
        for archive in missing_archives:
            self._write(archive)

    def add(self, judged: Judged) -> bool:
        """Write what a subject did to the results file, and return whether the result is as expected.

        The record of the case is written before its first result.
        """
        with deferred_signals():  # an interruption must not separate counting from writing
            if judged in self.assessed:  # another plugin runs items again
                self.repeated += 1
                return False
            record = self.assessed.add(judged)
            if self._partial is None:
                return not record.unexpected
            if judged.case not in self._described:
                self._describe(judged.case)
            self._write(record)
            if record.verdict.is_defect and (archive := self._archive_record(record)):
                self._write(archive)
            return not record.unexpected

    def _archive_record(self, record: Result) -> ArchiveRecord | None:
        return self._archives.record_for(self._corpus.cases[record.case], unexpected=record.unexpected)

    def end(
        self, completeness: Completeness, *, is_resumable: bool = False, processes: int = 1, hosts: Sequence[str] = ()
    ) -> tuple[Footer, Exception | None]:
        """Search for explanations of the failures, write the footer, and rename the file to its final name.

        The user waits for the end of an interrupted run, so its failures are not explained; `--resume` explains them.
        Return the footer, and the error because of which there are no explanations, if any.

        Args:
            completeness: which results the run has.
            is_resumable: whether a later run can continue this one: the user ended it, or a worker died.
            processes: number of processes that search for explanations.
            hosts: names of the machines whose Dask workers executed cases; empty for a run on this machine.
        """
        is_interrupted = completeness.cause is MissingCause.INTERRUPTED
        diagnosed, fault = (Diagnosed([], []), None) if is_interrupted else self.assessed.explain(processes)
        causes: list[tuple[str, str]] = []
        try:
            causes = [(group.subject, group.cases[0]) for group in self.assessed.failure_groups(diagnosed.diagnoses)]
        except Exception as error:  # noqa: BLE001 - the results must be written; the reasons need no causes
            fault = fault or error
        reasons = self.assessed.criterion.reasons(completeness, causes)
        footer = Footer(
            results=len(self.assessed),
            verdicts=self.assessed.criterion.verdicts,
            outcome="fail" if reasons else "pass",
            reasons=reasons,
            seconds=round(time.perf_counter() - self._started, 3),
            **structs.asdict(diagnosed),
            interrupted=is_resumable,
            hosts=sorted(hosts),
        )
        with deferred_signals():
            self._write(footer)
            if self._partial is not None:
                self._partial.finish()
        return footer, fault

    def abandon(self, *, keeps_results: bool = False) -> None:
        """Close the partial results file. It is removed, unless it has the results of an earlier run.

        Args:
            keeps_results: whether the results are valid, so that the file is kept too: `--resume` can continue the run.
        """
        if self._partial is not None:
            if keeps_results:
                self._partial.keep()
            self._partial.abandon()

    def _describe(self, case: str) -> None:
        self._described.add(case)
        self._write(case_record(self._corpus, self._corpus.cases[case]))

    def _write(self, record: Struct) -> None:
        if self._partial is None:
            return
        line = encode_record(record)
        if len(line) > MAX_LINE_BYTES and isinstance(record, Result):  # a verdict must not be lost
            line = encode_record(without_evidence(record))
        if len(line) > MAX_LINE_BYTES:
            kind = record_kind(record)
            raise UsageError("record-too-large", kind=kind, size=len(line), most=MAX_LINE_BYTES)
        self._partial.write(line)


def _subject(subject: Subject) -> SubjectRecord:
    adapter = adapter_digest(SubjectName.parse(subject.id, subject.kind))
    return SubjectRecord(
        id=subject.id,
        kind=subject.kind,
        version=subject.version,
        language=subject.language,
        files_sha256=subject_files_digest(subject.id, subject.kind) or "",
        passes=list(subject.passes),
        provider=subject.provider or "",
        placement=subject.placement,
        identity=subject_identity(processor(), subject.python, subject.packages, adapter),
    )
