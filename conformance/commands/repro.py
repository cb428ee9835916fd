"""`onnx-conformance repro CASE -b X -o DIR`: a failing case to take away, without this suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conformance.commands.completion import backend_names, optimizer_names, pass_names
from conformance.commands.options import CaseId, Data
from conformance.commands.terminal import say

if TYPE_CHECKING:
    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.judging.outcome import Outcome
    from conformance.run.settings import Settings


def repro(
    case: CaseId,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to write; new or empty.")],
    backend: Annotated[
        str | None,
        typer.Option("-b", "--backend", metavar="NAME", help="The backend.", autocompletion=backend_names),
    ] = None,
    optimizer: Annotated[
        str | None,
        typer.Option("--optimizer", metavar="NAME", help="The graph optimizer.", autocompletion=optimizer_names),
    ] = None,
    claims: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PASS", help="A pass that it implements and does not say so itself.", autocompletion=pass_names
        ),
    ] = None,
    data: Data = None,
    python: Annotated[
        Path | None, typer.Option(metavar="PROGRAM", help="The Python that it runs in, with what is installed there.")
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="S", help="Seconds for it to start, and for the case.")] = 60,
) -> None:
    """Write a failing case as a folder: model, data, a script that needs only the runtime, and an issue's text.

    Exit status: 0 where the folder is written, 2 where the case passes, a name is wrong, or the folder is not empty.
    """
    from shutil import which

    from conformance.corpus.corpus import bundled, find_case, open_corpus
    from conformance.diagnosis.reproduction.folder import check_empty, write_folder
    from conformance.errors import UsageError
    from conformance.isolation.limits import Limits
    from conformance.run.selection import Selection
    from conformance.run.settings import Settings
    from conformance.subjects.naming import SubjectKind, SubjectName

    if (backend is None) == (optimizer is None):
        raise UsageError(
            "One subject is to be named.", "Name a backend with -b, or a graph optimizer with --optimizer."
        )
    check_empty(output)
    kind = SubjectKind.BACKEND if optimizer is None else SubjectKind.OPTIMIZER
    settings = Settings(
        (SubjectName.of(backend or optimizer or "", kind),),
        data,
        Selection(cases=(case,)),
        claims=tuple(claims or ()),
        python=Path(which(python) or python).absolute() if python else None,
        limits=Limits(timeout),
    )
    corpus = open_corpus(data or bundled())
    files, verdict = _files(settings, corpus, find_case(corpus, case))
    write_folder(output, files)
    say(f"Wrote {output}: {case} on {settings.subjects[0].text} is {verdict}; run {output / 'reproduce.py'}.")


def _files(settings: Settings, corpus: Corpus, case: CorpusCase) -> tuple[dict[str, bytes], str]:
    """The folder's files by their paths, and the verdict.

    Raises:
        UsageError: the case passes, or is not asked.
    """
    from conformance.diagnosis.reproduction.contents import contents, level_of
    from conformance.results.environment import environment
    from conformance.results.rerun import rerun_command
    from conformance.run.dependencies import dependencies
    from conformance.verdicts import Level

    (named,) = settings.subjects
    outcome, version, stderr = _outcome(settings, corpus, case)
    subject: Any = {"id": named.text, "kind": str(named.kind), "version": version}
    level = level_of(case, outcome)
    judged = [] if level is Level.MUST else ["--level", str(level)]
    header: Any = {"options": {named.text: [*settings.options_of(named.kind), *judged]}}
    versions = environment() | dependencies([named.text])
    command = rerun_command(header, subject, case.id)
    return contents(corpus, case, named, version, outcome, versions, command, stderr), str(outcome.verdict)


def _outcome(settings: Settings, corpus: Corpus, case: CorpusCase) -> tuple[Outcome, str, str]:
    """What the subject makes of the case, its version, and what it wrote to standard error.

    Raises:
        UsageError: the case passes, or is not asked.
    """
    from conformance.corpus.loading import load_case
    from conformance.environments.interpreters import interpreters_of
    from conformance.errors import UsageError
    from conformance.isolation.starting import StartingSubjects, host_of
    from conformance.judging.backend import judge_backend
    from conformance.judging.optimizer import judge_optimizer
    from conformance.subjects.naming import SubjectKind

    interpreters = interpreters_of(settings.subjects, settings.python)
    starting = StartingSubjects(
        settings.subjects, settings.limits, {}, claims=settings.claims, interpreters=interpreters
    )
    (subject,) = starting.subjects()
    try:
        loaded = load_case(corpus, case)
        is_backend = subject.kind is SubjectKind.BACKEND
        outcome = judge_backend(subject.target, loaded) if is_backend else judge_optimizer(subject, loaded)
        host = host_of(subject)
        said = host.said() if host is not None else ""
    finally:
        starting.end()
    if not outcome.verdict.is_defect:
        raise UsageError(
            f"{case.id} on {subject.id} is {outcome.verdict}: there is nothing to reproduce.", "Name another case."
        )
    return outcome, subject.version, said
