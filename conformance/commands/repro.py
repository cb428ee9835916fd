"""`onnx-conformance repro`: write a folder with a script that reproduces a failing case without this suite."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.base.errors import ResultsError, UsageError
from conformance.base.files.atomic_write import check_empty, write_folder
from conformance.base.serialization.printable_text import print_line
from conformance.base.verdicts import Level
from conformance.commands.command_options import add_options
from conformance.subjects.isolation.protocol import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.run.corpus_run.settings import Settings
    from conformance.run.results.records import DiagnosisRecord, Result, SubjectRecord
    from conformance.run.results.results_file import Results


_OF_THIS_INTERPRETER = {"python", "onnx", "numpy"}
"""Versions in the environment that say nothing about a subject that another interpreter or program ran."""


@add_options
def repro(
    case: str,
    output: Path,
    backend: str | None = None,
    optimizer: str | None = None,
    implements: list[str] | None = None,
    from_results: Path | None = None,
    data: Path | None = None,
    python: Path | None = None,
    timeout: float = 60,
) -> None:
    """Write a folder that reproduces a failing case: model, data, a script that needs only the runtime, an issue text.

    Without -b and -o, the subject is the first subject in the results file of -r that fails the case. It must have a
    registered name, because a file must not choose a program. The issue text names the mistake that the diagnosis in
    this file found for the case.

    Exit status: 0 if the folder is written, 2 if the case passes, a name is wrong, or the folder is not empty.
    """
    from shutil import which

    from conformance.commands.explain import check_recorded_corpus
    from conformance.corpus.cases.corpus import bundled_corpus_path, find_case, open_corpus
    from conformance.run.corpus_run.settings import Selection, Settings
    from conformance.run.results.results_file import read_results
    from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

    run = read_results(from_results) if from_results is not None else None
    if run is not None and backend is None and optimizer is None:
        subject, words = _failing_subject(run, case)
        SubjectName.parse(subject.id, subject.kind).check_from_file(Path(run.path))
        backend, optimizer = (subject.id if subject.kind == kind else None for kind in SubjectKind)
        implements = implements or words
    if (backend is None) == (optimizer is None):
        raise UsageError("subject-count.exactly-one")
    check_empty(output)
    kind = SubjectKind.BACKEND if optimizer is None else SubjectKind.OPTIMIZER
    settings = Settings(
        (SubjectName.parse(backend or optimizer or "", kind),),
        data,
        Selection(case=(case,)),
        implements=tuple(implements or ()),
        python=Path(which(python) or python).absolute() if python else None,
        limits=Limits(timeout),
    )
    corpus = open_corpus(data or bundled_corpus_path())
    if run is not None and case not in corpus.cases:
        check_recorded_corpus(run, corpus)
    diagnoses = _diagnoses(run, settings.subjects[0].text, case) if run is not None else ()
    files, verdict = failure_files(settings, corpus, find_case(corpus, case), diagnoses)
    write_folder(output, files)
    print_line(f"Wrote {output}. The verdict of {case} on {settings.subjects[0].text} is {verdict}.")
    print_line(f"Run {output / 'reproduce.py'}.")


def _failing_subject(run: Results, case: str) -> tuple[SubjectRecord, list[str]]:
    """Return the first subject of a results file that fails a case, and the passes of `--implements` in that run.

    Raises:
        ResultsError: no subject in the file fails the case.
    """
    from conformance.run.results.recorded_environment import rerun_options

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
    from conformance.run.corpus_run.environment_versions import dependency_versions
    from conformance.run.diagnosis.reproduction.reproduction_folder import reproduction_files
    from conformance.run.results.recorded_environment import describe_environment, rerun_command
    from conformance.run.results.records import SubjectRecord

    (named,) = settings.subjects
    result, version = _execute(settings, corpus, case)
    judged = [] if result.level is Level.MUST else ["--fail-level", str(result.level)]
    options = replace(settings, python=None).options_of(named.kind)  # a path of this machine helps no other reader
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
    from conformance.corpus.cases.case_loading import load_case
    from conformance.run.judging.execute import execute
    from conformance.run.results.records import Assessment, Result, effective_level
    from conformance.subjects.isolation.start_subjects import started_subjects

    with started_subjects(
        settings.subjects, settings.limits, implements=settings.implements, python=settings.python
    ) as (subject,):
        judged = execute(subject, load_case(corpus, case))
    if not judged.verdict.is_defect:
        raise UsageError("nothing-to-reproduce", case=case.id, subject=subject.id, verdict=judged.verdict)
    level = effective_level(judged, case.level)
    return Result.assessed(judged, Assessment(level=level)), subject.version
