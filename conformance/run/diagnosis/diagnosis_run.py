"""Diagnose a whole run: explain the failures of each subject on each operator family.

Each subject and operator family with a failure is one chunk of a `DiagnosisJob`, which worker processes run.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

from conformance.base.errors import ConformanceError, JobError
from conformance.base.jobs.job import require_number, run_job
from conformance.base.jobs.process_pool import ProcessWorkers
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_json import read_case_json
from conformance.corpus.cases.case_loading import load_case, load_case_in_memory
from conformance.run.diagnosis.diagnosis import CaseTopics, diagnose
from conformance.run.diagnosis.recorded_outputs import evidence_family
from conformance.run.mutants import FAMILIES, model_family
from conformance.run.results.records import Diagnosed, UndiagnosedRecord
from conformance.subjects.calling.failures import format_exception

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.base.jobs.job import ChunkResult
    from conformance.corpus.cases.case_loading import CaseInMemory
    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.diagnosis.collected_results import CollectedResult, ResultCollector


@dataclass(frozen=True)
class DiagnosisTask:
    """The input of one diagnosis: the results of a subject on the cases of an operator family.

    Attributes:
        findings: the results of the passed and failed cases of the family, by case id.
        further: the results of the failed cases whose models have further operators, by case id.
    """

    subject: str
    family: str
    findings: Mapping[str, CollectedResult]
    further: Mapping[str, CollectedResult]


@dataclass(frozen=True)
class DiagnosisJob:
    """All diagnoses of a run as a job; each `DiagnosisTask` is a chunk. See `conformance.base.jobs.job.Job`."""

    result_type: ClassVar[Any] = Diagnosed

    corpus: Corpus
    questions: tuple[DiagnosisTask, ...]

    def chunk_numbers(self) -> range:
        """See `conformance.base.jobs.job.Job`."""
        return range(len(self.questions))

    def check_result(self, chunk: ChunkResult) -> None:
        """See `conformance.base.jobs.job.Job`."""
        require_number(chunk.number, len(self.questions))

    @contextmanager
    def open(self) -> Iterator[Callable[[int], Diagnosed]]:
        """See `conformance.base.jobs.job.Job`."""
        yield partial(self._answer, cache(lambda case: load_case_in_memory(self.corpus, self.corpus.cases[case])))

    def _answer(self, load: Callable[[str], CaseInMemory], number: int) -> Diagnosed:
        question = self.questions[number]
        try:
            return self._explain(question, load)
        except Exception as error:  # noqa: BLE001 - a failed diagnosis must not lose the verdicts, nor the other diagnoses
            return Diagnosed([], [], [_undiagnosed(question.subject, error, question.family)])

    def _explain(self, question: DiagnosisTask, load: Callable[[str], CaseInMemory]) -> Diagnosed:

        @cache
        def topics(id: str) -> CaseTopics:
            document = read_case_json(self.corpus, self.corpus.cases[id])
            return CaseTopics(tuple(document.clauses), tuple(document.tags))

        cases = {id: load(id) for id in (*question.findings, *question.further)}
        found = diagnose(question.subject, question.family, question.findings, cases, topics, question.further)
        return Diagnosed(found.diagnosis_records, list(found.unexplained))


def diagnose_run(findings: ResultCollector, corpus: Corpus, processes: int = 1) -> Diagnosed:
    """Explain the failures of each subject on each operator family that has mutants.

    The function raises no error: a diagnosis that fails is recorded in `undiagnosed`, so that no verdict is lost.

    Args:
        processes: the number of worker processes. If they crash, the work is done in this process.
    """
    try:
        job = DiagnosisJob(corpus, tuple(_tasks(findings.by_subject, corpus)))
        answers = _run_tasks(job, min(processes, len(job.questions)) or 1)
    except Exception as error:  # noqa: BLE001 - the results file is written after this function
        failing = [
            subject
            for subject, found in findings.by_subject.items()
            if any(one.verdict.is_defect for one in found.values())
        ]
        return Diagnosed([], [], [_undiagnosed(subject, error) for subject in failing])
    return Diagnosed(
        [record for answer in answers for record in answer.diagnoses],
        [record for answer in answers for record in answer.unexplained],
        [record for answer in answers for record in answer.undiagnosed],
    )


def _undiagnosed(subject: str, error: Exception, family: str = "") -> UndiagnosedRecord:
    """Return the record of a diagnosis that `error` ended."""
    code = error.code if isinstance(error, ConformanceError) else "diagnosis.failed"
    problem = error.problem if isinstance(error, ConformanceError) else format_exception(error)
    return UndiagnosedRecord(subject, code, problem, family)


def _run_tasks(job: DiagnosisJob, processes: int) -> list[Diagnosed]:
    """Return the diagnosis of each task, in the order of the tasks."""
    try:
        chunks = list(run_job(job, ProcessWorkers(processes, _discard_message)))
    except JobError:
        chunks = list(run_job(job, ProcessWorkers(1, _discard_message)))
    return [chunk.result for chunk in sorted(chunks, key=lambda chunk: chunk.number)]


def _discard_message(_: str) -> None:
    """Ignore the message that a worker process died; the result is the same without that worker."""


def _tasks(by_subject: Mapping[str, Mapping[str, CollectedResult]], corpus: Corpus) -> Iterator[DiagnosisTask]:
    """Yield a task for each family and each subject that fails a case of the family."""
    families = _families(by_subject, corpus)
    for family in FAMILIES:
        for subject, findings in by_subject.items():
            judged = {id: one for id, one in findings.items() if _is_passed_or_failed(one)}
            own = {id: one for id, one in judged.items() if families.get(id) == (family, True)}
            further = {id: one for id, one in judged.items() if families.get(id) == (family, False)}
            failed = {id: one for id, one in further.items() if one.recorded_outputs and one.verdict.is_defect}
            if any(one.verdict.is_defect for one in own.values()):
                yield DiagnosisTask(subject, family, own, failed)


def _is_passed_or_failed(finding: CollectedResult) -> bool:
    """Return whether the subject passed or failed the case."""
    return finding.verdict is Verdict.PASS or finding.verdict.is_defect


def _families(
    by_subject: Mapping[str, Mapping[str, CollectedResult]], corpus: Corpus
) -> dict[str, tuple[str | None, bool]]:
    """Return, by case id, the operator family of each case that a subject with a failure passed or failed.

    The second value states whether a failure of the case is attributed to the family, see `evidence_family`.
    """
    relevant: dict[str, set[str]] = defaultdict(set)
    for subject, findings in by_subject.items():
        relevant[subject] = {id for id, finding in findings.items() if _is_passed_or_failed(finding)}
    failing = {id for findings in by_subject.values() for id, one in findings.items() if one.verdict.is_defect}
    concerned = {id for ids in relevant.values() if failing & ids for id in ids}
    found = (corpus.cases[id] for id in concerned if id in corpus.cases)
    judged = (case for case in found if not case.is_invalid and case.level is not Level.SILENT)
    models = ((case.id, load_case(corpus, case).model) for case in judged)
    return {id: (model_family(model), evidence_family(model) is not None) for id, model in models}
