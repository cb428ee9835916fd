"""What explains the failures of a run: a question for each subject and family of operators, a piece of a job each."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from conformance.campaigns.processes import ProcessWorkers
from conformance.corpus.document import case_json
from conformance.corpus.loading import case_in_memory, load_case
from conformance.deviations import FAMILIES
from conformance.diagnosis.diagnosis import Topics, diagnosis
from conformance.diagnosis.transcript import family_shown
from conformance.errors import CampaignError, CorpusError
from conformance.results.diagnosis_records import Diagnosed
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.diagnosis.findings import Finding, Findings


@dataclass(frozen=True)
class Question:
    """Why a subject fails cases of a family.

    Attributes:
        findings: on the cases of the family that it passes or fails, by id.
    """

    subject: str
    family: str
    findings: Mapping[str, Finding]


@dataclass(frozen=True)
class Diagnosing:
    """The questions of a run, see `conformance.campaigns.job.Job`."""

    corpus: Corpus
    questions: tuple[Question, ...]

    @property
    def identity(self) -> Mapping[str, Any]:
        """See `conformance.campaigns.job.Job`."""
        return {
            "corpus": self.corpus.digest,
            "questions": [[one.subject, one.family, sorted(one.findings)] for one in self.questions],
        }

    @property
    def result(self) -> Any:
        """See `conformance.campaigns.job.Job`."""
        return Diagnosed

    def pieces(self) -> range:
        """See `conformance.campaigns.job.Job`."""
        return range(len(self.questions))

    @contextmanager
    def opened(self) -> Iterator[Callable[[int], Diagnosed]]:
        """See `conformance.campaigns.job.Job`."""
        yield self._answer

    def _answer(self, number: int) -> Diagnosed:
        question = self.questions[number]

        @cache
        def topics(id: str) -> Topics:
            told = case_json(self.corpus, self.corpus.cases[id])
            return Topics(tuple(told["clauses"]), tuple(told["tags"]))

        cases = {id: case_in_memory(self.corpus, self.corpus.cases[id]) for id in question.findings}
        found = diagnosis(question.subject, question.family, question.findings, cases, topics)
        return {"diagnoses": found.diagnosis_records, "unexplained": found.unexplained_records}


def diagnosed(findings: Findings, corpus: Corpus, processes: int = 1) -> Diagnosed:
    """What is wrong with each subject that fails cases of a family which has deviations.

    A case that cannot be read whole explains nothing: a subject may fail before all of it has been read.

    Args:
        processes: in how many the questions are asked; where these die, in this one.
    """
    try:
        job = Diagnosing(corpus, tuple(_questions(findings.by_subject, corpus)))
        answers = _answers(job, min(processes, len(job.questions)) or 1)
    except CorpusError:
        answers = []
    return {
        "diagnoses": [record for answer in answers for record in answer["diagnoses"]],
        "unexplained": [record for answer in answers for record in answer["unexplained"]],
    }


def _answers(job: Diagnosing, processes: int) -> list[Diagnosed]:
    """The answers in the order of the questions."""
    try:
        pieces = list(ProcessWorkers(processes, _unsaid).done(job, job.pieces()))
    except CampaignError:
        pieces = list(ProcessWorkers(1, _unsaid).done(job, job.pieces()))
    return [piece.result for piece in sorted(pieces, key=lambda piece: piece.number)]


def _unsaid(_: str) -> None:
    """That a worker died changes no answer."""


def _questions(by_subject: Mapping[str, Mapping[str, Finding]], corpus: Corpus) -> Iterator[Question]:
    """Family after family, for each subject that fails a case of it."""
    families = _families(by_subject, corpus)
    for family in FAMILIES:
        for subject, findings in by_subject.items():
            own = {id: one for id, one in findings.items() if _tells(one) and families.get(id) == family}
            if any(one.verdict.is_defect for one in own.values()):
                yield Question(subject, family, own)


def _tells(finding: Finding) -> bool:
    """Whether a subject has passed or failed a case."""
    return finding.verdict is Verdict.PASS or finding.verdict.is_defect


def _families(by_subject: Mapping[str, Mapping[str, Finding]], corpus: Corpus) -> dict[str, str | None]:
    """Of which family the cases are evidence that a subject with a failure has passed or failed."""
    told: dict[str, set[str]] = defaultdict(set)
    for subject, findings in by_subject.items():
        told[subject] = {id for id, finding in findings.items() if _tells(finding)}
    failing = {id for findings in by_subject.values() for id, one in findings.items() if one.verdict.is_defect}
    concerned = {id for ids in told.values() if failing & ids for id in ids}
    judged = (corpus.cases[id] for id in concerned if id in corpus.cases)
    return {case.id: family_shown(load_case(corpus, case).model) for case in judged if _is_evidence(case)}


def _is_evidence(case: CorpusCase) -> bool:
    return not case.is_invalid and case.level is not Level.SILENT
