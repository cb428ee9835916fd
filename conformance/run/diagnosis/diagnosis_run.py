"""Diagnose a run: explain the failures of each subject on each operator family by mutants, known wrong implementations.

Each subject and operator family with a failure is one chunk of a `DiagnosisJob`, which worker processes run. A mutant
explains a failing case if it returns the same wrong outputs, apart from rounding. `explanations` selects the mutants.
The failures that no mutant explains are grouped by failure mode, with the properties that distinguish the failing cases
from the passing ones.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar

from conformance.base.errors import ConformanceError, JobError
from conformance.base.jobs.job import limit_cpu_time, require_number, run_job
from conformance.base.jobs.process_pool import ProcessWorkers
from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case_loading import load_case, load_case_in_memory, read_case_json
from conformance.exact.declarations.declaration_tables import operator_name
from conformance.exact.models.graphs import normal_domain
from conformance.run.diagnosis.explanations import (
    build_explanation,
    explaining_combinations,
    select_explanations,
    with_explanations_under_conditions,
)
from conformance.run.diagnosis.failure_evidence import (
    Evidence,
    evidence_family,
    failure_mode,
    is_failure,
    observation_from_record,
    single_node,
)
from conformance.run.diagnosis.properties import CommonProperty, case_properties, common_properties
from conformance.run.mutants import FAMILIES, family_mutants, model_family
from conformance.run.results.records import (
    Diagnosed,
    DiagnosisRecord,
    SharedRecord,
    UndiagnosedRecord,
    UnexplainedRecord,
)
from conformance.subjects.calling.request import format_exception

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import onnx

    from conformance.base.jobs.job import ChunkResult
    from conformance.corpus.cases.case_loading import CaseInMemory
    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.diagnosis.collected_results import CollectedResult, ResultCollector
    from conformance.run.diagnosis.explanations import Explanation
    from conformance.run.diagnosis.failure_evidence import MutantCombination, Observation


MAX_SECONDS = 300.0
"""Processor time of a diagnosis; mutants run in this process, and a hostile model can keep them for hours."""


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
            with limit_cpu_time(MAX_SECONDS):
                return self._explain(question, load)
        except Exception as error:  # noqa: BLE001 - a failed diagnosis must not lose the verdicts, nor the other diagnoses
            return Diagnosed([], [], [_undiagnosed(question.subject, error, question.family)])

    def _explain(self, question: DiagnosisTask, load: Callable[[str], CaseInMemory]) -> Diagnosed:

        @cache
        def topics(id: str) -> CaseTopics:
            document = read_case_json(self.corpus, self.corpus.cases[id])
            return CaseTopics(tuple(document.clauses), tuple(document.tags))

        cases = {id: load(id) for id in (*question.findings, *question.further)}
        if question.family not in FAMILIES:
            return diagnose_operator(question.subject, question.family, question.findings, cases, topics)
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
    """Yield a task for each family and each other operator, and each subject that fails a case of it."""
    families = _families(by_subject, corpus)
    operators = {family for family, _ in families.values() if family is not None}
    for family in (*FAMILIES, *sorted(operators - {*FAMILIES})):
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

    A model of one node without a family has the name of its operator. The second value states whether a failure of the
    case is attributed to the family, see `evidence_family`.
    """
    relevant: dict[str, set[str]] = defaultdict(set)
    for subject, findings in by_subject.items():
        relevant[subject] = {id for id, finding in findings.items() if _is_passed_or_failed(finding)}
    failing = {id for findings in by_subject.values() for id, one in findings.items() if one.verdict.is_defect}
    concerned = {id for ids in relevant.values() if failing & ids for id in ids}
    found = (corpus.cases[id] for id in concerned if id in corpus.cases)
    judged = (case for case in found if not case.is_invalid and case.level is not Level.SILENT)
    models = ((case.id, load_case(corpus, case).model) for case in judged)
    return {id: _attributed_family(model) for id, model in models}


def _attributed_family(model: onnx.ModelProto) -> tuple[str | None, bool]:
    family = model_family(model)
    node = single_node(model)
    if family is None and node is not None:
        return operator_name(node.op_type, normal_domain(node.domain)), True
    return family, evidence_family(model) is not None


SEARCH_TAG = "search"
"""Tag of a case that a search found. The ids of the mutants that the search named for it are tags too."""


@dataclass(frozen=True)
class Diagnosis:
    """The explanation of a subject's failures on the cases of one operator family.

    A model with several operators belongs to the family of its main operator.

    Attributes:
        failing: the number of failing cases.
        unexplained: the cases that no mutant explains, by failure mode.
    """

    subject: str
    failing: int
    explanations: tuple[Explanation, ...]
    unexplained: tuple[UnexplainedRecord, ...]

    @property
    def diagnosis_records(self) -> list[DiagnosisRecord]:
        """The explaining mutants, in the format of the results file."""
        return [self._record(explanation) for explanation in self.explanations]

    def _record(self, explanation: Explanation) -> DiagnosisRecord:
        mutant = explanation.mutant
        return DiagnosisRecord(
            subject=self.subject,
            operator=mutant.operator,
            mutant=mutant.id,
            text=mutant.description,
            explained=len(explanation.cases),
            failing=self.failing,
            indistinguishable=[other.id for other in explanation.indistinguishable],
            cases=sorted(explanation.cases),
            jointly_explained=sorted(explanation.jointly_explained),
            partners=[
                other.mutant.description
                for other in self.explanations
                if other is not explanation and other.jointly_explained & explanation.jointly_explained
            ],
            alternatives=[other.description for other in explanation.indistinguishable],
            condition=explanation.condition,
            clause=mutant.clause,
        )


@dataclass(frozen=True)
class CaseTopics:
    """The clauses and tags of a case, from its case.json."""

    clauses: tuple[str, ...]
    tags: tuple[str, ...]


def diagnose(
    subject: str,
    family: str,
    findings: Mapping[str, CollectedResult],
    cases: Mapping[str, CaseInMemory],
    topics: Callable[[str], CaseTopics],
    further: Mapping[str, CollectedResult] | None = None,
) -> Diagnosis:
    """Explain a subject's failures on the cases of one operator family.

    Args:
        findings: the subject's results on the cases of the family, by case id.
        cases: the cases by id.
        topics: returns the clauses and tags of a case by its id.
        further: failures on models of the family with further operators. They neither suggest nor refute a mutant; a
            named mutant explains such a case if it returns the same outputs.
    """
    failing = {id for id, finding in findings.items() if finding.verdict.is_defect}
    observations = dict(_reproduced_failures(findings, cases))
    level = Level.MUST if any(findings[id].level is Level.MUST for id in failing) else Level.SHOULD
    passed = [id for id, finding in findings.items() if finding.verdict is Verdict.PASS]
    evidence = Evidence(
        family_mutants(family),
        {id: cases[id] for id in findings},
        observations,
        [id for id in passed if findings[id].level.is_within(level)],
        [id for id in passed if not findings[id].level.is_within(level)],
        {id: topics(id).clauses for id in observations},
        cache(lambda case: case_properties(cases[case], topics(case).tags)),
    )
    explanations = tuple(select_explanations(evidence)) if observations else ()
    explanations = tuple(with_explanations_under_conditions(evidence, explanations))
    explanations = tuple(one for one in explanations if _is_checked(one, topics))
    left = failing.difference(*(explanation.cases for explanation in explanations))
    manners = {id: failure_mode(findings[id], observations.get(id), cases[id]) for id in left}
    observed = dict(_reproduced_failures(further or {}, cases))
    reasons = explaining_combinations(
        Evidence((), {id: cases[id] for id in observed}, observed, ()), tuple(one.mutant for one in explanations)
    )
    count = len(failing) + len(reasons)
    unexplained = _unexplained_records(subject, family, count, manners, passed, evidence)
    return Diagnosis(subject, count, tuple(_with_reasons(one, reasons) for one in explanations), tuple(unexplained))


def diagnose_operator(
    subject: str,
    operator: str,
    findings: Mapping[str, CollectedResult],
    cases: Mapping[str, CaseInMemory],
    topics: Callable[[str], CaseTopics],
) -> Diagnosed:
    """Explain a subject's failures on models of one node by mutants of the node.

    The arguments are those of `diagnose`.
    """
    from conformance.run.diagnosis.node_diagnosis import mistake_text, named_mistakes  # late: most runs need neither

    failing = {id for id, finding in findings.items() if finding.verdict.is_defect}
    observations = dict(_reproduced_failures(findings, cases))
    passed = [id for id, finding in findings.items() if finding.verdict is Verdict.PASS]
    records = [
        DiagnosisRecord.of_mistake(
            subject,
            operator,
            one.mistakes,
            one.cases,
            len(failing),
            one.condition,
            texts=[mistake_text(operator, mistake) for mistake in one.mistakes],
        )
        for one in named_mistakes(cases, observations, passed)
    ]
    left = failing.difference(*(record.cases for record in records))
    manners = {id: failure_mode(findings[id], observations.get(id), cases[id]) for id in left}
    evidence = Evidence(
        (), cases, observations, passed, properties=cache(lambda case: case_properties(cases[case], topics(case).tags))
    )
    return Diagnosed(records, list(_unexplained_records(subject, operator, len(failing), manners, passed, evidence)))


def _with_reasons(explanation: Explanation, reasons: Mapping[str, MutantCombination]) -> Explanation:
    """Return an explanation with the further cases of which its mutant is a reason, by case id."""
    own = build_explanation((explanation.mutant,), reasons)
    return replace(
        explanation,
        cases=explanation.cases | own.cases,
        jointly_explained=explanation.jointly_explained | own.jointly_explained,
    )


def _is_checked(explanation: Explanation, topics: Callable[[str], CaseTopics]) -> bool:
    """Return whether a mutant may be named: a case that it explains is of a corpus, or the search named it for a case.

    A search checks the mutants that fit a shrunk example on other examples, which a run of the shrunk ones cannot do.
    """
    tags = [topics(case).tags for case in explanation.cases]
    names = {one.id for one in (explanation.mutant, *explanation.indistinguishable)}
    return any(SEARCH_TAG not in own or not names.isdisjoint(own) for own in tags)


def _reproduced_failures(
    findings: Mapping[str, CollectedResult], cases: Mapping[str, CaseInMemory]
) -> Iterator[tuple[str, Observation]]:
    """Yield the recorded outputs of each failing case, if they are readable and are wrong for the case."""
    for id, finding in findings.items():
        if finding.recorded_outputs is None or not finding.verdict.is_defect:
            continue
        observation = observation_from_record(finding.recorded_outputs)
        if observation is not None and is_failure(observation, cases[id]):
            yield id, observation


def _unexplained_records(
    subject: str, family: str, failing: int, manners: Mapping[str, str], passed: Sequence[str], evidence: Evidence
) -> Iterator[UnexplainedRecord]:
    """Yield the unexplained cases by failure mode, the largest group first.

    Args:
        failing: the number of failing cases.
        manners: the failure mode of each unexplained case.
        passed: the ids of the passed cases.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for id in sorted(manners):
        groups[manners[id]].append(id)
    for how, ids in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        common = [CommonProperty(f"have the operator {family}", frozenset(ids), frozenset())]
        if passed:
            own, others = ({id: evidence.properties(id) for id in some} for some in (ids, passed))
            common = common_properties(own, others)
        shared = [SharedRecord(one.text, len(one.cases), len(one.others)) for one in common]
        yield UnexplainedRecord(subject, family, how, ids, failing, len(passed), shared)
