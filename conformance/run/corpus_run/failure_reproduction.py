"""The reproduction of a failing case: the case runs once more, and becomes a folder that needs no suite."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from conformance.base.errors import ResultsError, UsageError
from conformance.base.verdicts import Level
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import bundled_corpus_path, find_case, open_corpus
from conformance.run.corpus_run.environment_versions import dependency_versions
from conformance.run.corpus_run.settings import Settings
from conformance.run.diagnosis.reproduction.reproduction_folder import reproduction_files
from conformance.run.judging.execute import execute
from conformance.run.results.recorded_environment import describe_environment, rerun_command, rerun_options
from conformance.run.results.records import Assessment, Result, Selection, SubjectRecord, effective_level
from conformance.run.results.results_file import check_recorded_corpus, read_results
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.run.results.records import DiagnosisRecord
    from conformance.run.results.results_file import Results
    from conformance.subjects.isolation.protocol import Limits

_OF_THIS_INTERPRETER = {"python", "onnx", "numpy"}
"""Versions in the environment that say nothing about a subject that another interpreter or program ran."""


@dataclass(frozen=True)
class Reproduction:
    """A reproduced failure.

    Attributes:
        subject: the name of the subject.
        verdict: the verdict of the case.
        files: the contents of the files of the folder by path.
    """

    subject: str
    verdict: str
    files: dict[str, bytes]


def reproduce_failure(
    case: str,
    *,
    backend: str | None,
    optimizer: str | None,
    implements: Sequence[str],
    from_results: Path | None,
    data: Path | None,
    python: Path | None,
    limits: Limits,
) -> Reproduction:
    """Run a failing case, and return the files that reproduce the failure.

    Args:
        case: the id of the case.
        backend: the name of the backend; None for a graph optimizer, or for the failing subject of the results file.
        optimizer: the name of the graph optimizer, or None.
        implements: the passes that the graph optimizer implements.
        from_results: a results file, which can name the subject and the mistakes that explain the failure.
        data: the folder of the corpus; None for the bundled corpus.
        python: the interpreter of the subject; None for this one.
        limits: the limits of the process of the subject.

    Raises:
        UsageError: not exactly one subject is named, or the case passes, or does not apply to the subject.
        ResultsError: the results file belongs to another corpus, or no subject in the file fails the case.
    """
    run = read_results(from_results) if from_results is not None else None
    if run is not None and backend is None and optimizer is None:
        subject, words = _failing_subject(run, case)
        SubjectName.parse(subject.id, subject.kind).check_from_file(Path(run.path))
        backend, optimizer = (subject.id if subject.kind == kind else None for kind in SubjectKind)
        implements = implements or words
    if (backend is None) == (optimizer is None):
        raise UsageError("subject-count.exactly-one")
    kind = SubjectKind.BACKEND if optimizer is None else SubjectKind.OPTIMIZER
    settings = Settings(
        (SubjectName.parse(backend or optimizer or "", kind),),
        data,
        Selection(case=(case,)),
        implements=tuple(implements),
        python=Path(which(python) or python).absolute() if python else None,
        limits=limits,
    )
    corpus = open_corpus(data or bundled_corpus_path())
    if run is not None and case not in corpus.cases:
        check_recorded_corpus(run, corpus)
    name = settings.subjects[0].text
    diagnoses = _diagnoses(run, name, case) if run is not None else ()
    files, verdict = failure_files(settings, corpus, find_case(corpus, case), diagnoses)
    return Reproduction(name, verdict, files)


def _failing_subject(run: Results, case: str) -> tuple[SubjectRecord, list[str]]:
    """Return the first subject of a results file that fails a case, and the passes of `--implements` in that run.

    Raises:
        ResultsError: no subject in the file fails the case.
    """
    for subject in run.header.subjects:
        row = run.rows.get((subject.id, case))
        if row is not None and row.verdict.is_defect:
            words = rerun_options(run.header, subject)
            return subject, [value for word, value in pairwise(words) if word == "--implements"]
    raise ResultsError("case-missing.failure", path=run.path, case=case)


def _diagnoses(run: Results, subject: str, case: str) -> Sequence[DiagnosisRecord]:
    """Return the diagnoses in a results file that explain a case: one mistake alone, or two of which both are needed.

    The result is empty if no mistake explains the case, or if another mistake can explain it as well.
    """
    found = [one for one in run.footer.diagnoses if one.subject == subject and case in one.cases]
    is_joint = [case in one.jointly_explained for one in found]
    is_certain = is_joint in ([False], [True, True]) and not any(one.indistinguishable for one in found)
    return found if is_certain else ()


def failure_files(
    settings: Settings, corpus: Corpus, case: CorpusCase, diagnoses: Sequence[DiagnosisRecord]
) -> tuple[dict[str, bytes], str]:
    """Run the case; return the contents of the reproduction folder's files by path, and the verdict.

    Raises:
        UsageError: the case passes, or does not apply to the subject.
    """
    (named,) = settings.subjects
    result, version = _execute(settings, corpus, case)
    judged = [] if result.level is Level.MUST else ["--fail-level", str(result.level)]
    options = replace(settings, python=None, data=None).options_of(named.kind)  # paths of this machine help no reader
    options += [] if settings.data is None else ["--data", settings.data.absolute().name]
    versions = {name: _without_folder(value) for name, value in describe_environment().items()}
    if named.release or named.python or named.is_command or settings.python is not None:
        versions = {name: value for name, value in versions.items() if name not in _OF_THIS_INTERPRETER}
    versions |= dependency_versions([named.text])
    command = rerun_command(SubjectRecord(named.text, named.kind, version), [*options, *judged], case.id)
    files = reproduction_files(corpus, case, named, version, result, versions, command, diagnoses)
    return files, str(result.verdict)


def _without_folder(value: str) -> str:
    """Return the file name in an absolute path, such as that of a compiler; return other text unchanged."""
    return Path(value).name if value.startswith("/") else value


def _execute(settings: Settings, corpus: Corpus, case: CorpusCase) -> tuple[Result, str]:
    """Run the case on the subject; return the result and the subject's version.

    Raises:
        UsageError: the case passes, or does not apply to the subject.
    """
    with started_subjects(
        settings.subjects, settings.limits, implements=settings.implements, python=settings.python
    ) as (subject,):
        judged = execute(subject, load_case(corpus, case))
    if not judged.verdict.is_defect:
        raise UsageError("nothing-to-reproduce", case=case.id, subject=subject.id, verdict=judged.verdict)
    level = effective_level(judged, case.level)
    return Result.assessed(judged, Assessment(level=level)), subject.version
