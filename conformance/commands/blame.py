"""`onnx-conformance blame`: find out who is wrong when two ways to compute one model differ."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import typer

from conformance.base.errors import ExitStatus, JobError, SubjectError, UsageError
from conformance.base.files.atomic_write import check_empty, write_json_atomically, write_text_atomically
from conformance.base.files.journal import read_state, state_errors
from conformance.base.serialization.decoding import MalformedError
from conformance.base.serialization.printable_text import print_line, print_progress
from conformance.base.verdicts import Level
from conformance.commands.command_options import FailLevel, add_options, print_written_reports
from conformance.run.report.report_files import ReportFiles
from conformance.subjects.isolation.protocol import Limits

if TYPE_CHECKING:
    from conformance.own.blame.blame_session import Session
    from conformance.own.blame.document import BlameDocument
    from conformance.own.blame.given_rewrite import MatchedModels
    from conformance.own.blame.model_comparison import OpenSubjects
    from conformance.own.blame.verdict import BlameVerdict
    from conformance.own.graphs.reading import LoadedModel
    from conformance.subjects.calling.subject_names import SubjectName


@add_options
def blame(
    model: Path,
    second_model: Path | None = None,
    backend: list[str] | None = None,
    optimizer: str | None = None,
    inputs: Path | None = None,
    shape: list[str] | None = None,
    seed: int = 0,
    fail_level: FailLevel = FailLevel.MUST,
    json: Path | None = None,
    html: Path | None = None,
    output: Path | None = None,
    resume: Path | None = None,
    seconds: float = 600.0,
    releases: str = "",
    install: bool = False,
    store: Path = Path("reports/history"),
    data: Path | None = None,
    timeout: float = 60.0,
    no_isolation: bool = False,
) -> None:
    """Find out which pass, which nodes and who is wrong, when two ways to compute a model differ.

    With `-o OPTIMIZER -b SUBJECT` the model and its rewrite run on the subject. With `-b A -b B` the model runs on both
    subjects. With two models and `-b SUBJECT` both models run on the subject. The model is reduced as long as the
    difference stays, and the oracle judges the reduced model.

    With `--releases A..B` one subject is enough. The history answers for a case on a release without an environment.

    Exit status: 0 if there is no difference or both are admissible, 1 for every other answer, 2 if the command line or
    a file is wrong.
    """
    from conformance.own.blame.blame_report import judged_text, step_lines, write_reproduction
    from conformance.own.blame.blame_session import Request, Session
    from conformance.own.blame.model_comparison import OpenSubjects
    from conformance.own.graphs.model_inputs import choose_inputs, chosen_text
    from conformance.own.graphs.reading import shared_weights
    from conformance.studies.history.first_bad_release import releases_worth_comparing
    from conformance.studies.history.release_blame import ReleaseOptions, blame_case, blame_model

    if second_model and releases:
        raise UsageError("options-conflict.two", first="--releases", second="a second model")
    if second_model and (optimizer or len(backend or []) != 1):
        raise UsageError("subject-count.two-models")
    first, second, rewriter = _subjects(backend or [], optimizer, is_one_enough=bool(releases or second_model))
    reports = ReportFiles.of(json=json, html=html)
    reports.check()
    if output is not None:
        check_empty(output)
    limits = Limits.for_large_outputs(timeout)
    opened = OpenSubjects(limits, in_process=no_isolation)
    takes_output = reports.take_standard_output
    searched = ReleaseOptions(releases, install, store, opened, limits, takes_output)
    if releases and not model.exists():
        has_fault = blame_case(str(model), rewriter or second, searched, data, json, output)
        raise typer.Exit(ExitStatus.FAILS if has_fault else ExitStatus.PASSES)
    known = None if resume is None else _read_document(resume)
    with shared_weights([model, second_model or model], [first, second]) as scratch:
        audited, models = _read_models(model, second_model, scratch, opened, takes_output)
        data_sets = choose_inputs(audited.original, inputs, shape or (), seed)
        if data_sets[0].chosen:
            print_line(chosen_text(data_sets[0].chosen), err=takes_output)
        request = Request(
            audited, data_sets, first, second, rewriter, None if inputs else seed, seconds, models
        ).with_tensor_inputs()
        if releases:
            has_fault, at_release = blame_model(request, searched)
            if at_release is None:
                raise typer.Exit(ExitStatus.FAILS if has_fault else ExitStatus.PASSES)
            request = at_release

        def show(name: str) -> None:
            print_progress("")
            for line in step_lines(name, session.document):
                print_line(line, err=takes_output)

        session = Session(request, opened, show, print_progress, known, partial(releases_worth_comparing, store))
        fails = _run(session, json, html).fails(Level(fail_level))
        _write_reports(session, json, html, passes=not fails, folder=output if session.reduced else None)
        print_written_reports(reports)
        if output is not None and session.reduced is not None:
            write_reproduction(output, session)
            print_line(f"Wrote {output}.", err=takes_output)
        outcome = [each for each in ("FAILED" if fails else "PASSED", judged_text(session.document.steps)) if each]
        print_line(": ".join(outcome), err=takes_output)
        if fails:
            raise typer.Exit(ExitStatus.FAILS)


def _run(session: Session, json: Path | None, html: Path | None) -> BlameVerdict:
    """Run a session; if it is interrupted, write the steps that ended."""
    try:
        return session.run()
    except (KeyboardInterrupt, SubjectError):
        print_progress("")
        if session.has_news:
            _write_reports(session, json, html, passes=False)
            if json is not None:
                print_line(f"Continue with the same options and --resume {json}", err=True)
        raise


def _read_models(
    model: Path,
    second_model: Path | None,
    scratch: Path | None,
    subjects: OpenSubjects,
    takes_output: bool,
) -> tuple[LoadedModel, MatchedModels | None]:
    """Read the model; match it with the second model, if there is one, and print the outputs without counterpart.

    The subjects get the folder of the external data. For the other arguments see `LoadedModel.read`.
    """
    from conformance.own.blame.given_rewrite import match_models
    from conformance.own.graphs.reading import LoadedModel

    audited = LoadedModel.read(model, scratch=scratch)
    subjects.data_folder = audited.data_folder
    if second_model is None:
        return audited, None
    models = match_models(audited, LoadedModel.read(second_model, scratch=scratch))
    subjects.data_folder = models.first.data_folder
    if models.unmatched:
        print_line(f"Outputs without counterpart: {', '.join(models.unmatched)}", err=takes_output)
    return models.first, models


def _subjects(
    backends: list[str], optimizer: str | None, *, is_one_enough: bool = False
) -> tuple[SubjectName, SubjectName, SubjectName | None]:
    """Return both subjects and the graph optimizer; one subject is returned twice.

    Args:
        backends: the subjects of -b.
        optimizer: the graph optimizer of -o, or None.
        is_one_enough: whether one subject, or a graph optimizer alone, is accepted.

    Raises:
        UsageError: these are not two ways to compute a model.
    """
    from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

    named = [SubjectName.parse(text, SubjectKind.BACKEND) for text in backends]
    rewriter = SubjectName.parse(optimizer, SubjectKind.OPTIMIZER) if optimizer else None
    if is_one_enough and len(named) + bool(optimizer) == 1:
        alone = rewriter or named[0]
        return alone, alone, rewriter
    if len(named) != (1 if optimizer else 2):
        raise UsageError("subject-count.two-ways")
    return named[0], named[-1], rewriter


def _write_reports(
    session: Session, json: Path | None, html: Path | None, *, passes: bool, folder: Path | None = None
) -> None:
    """Write the document of a session and its page, which has a link to the reproduction folder if there is one."""
    from conformance.own.blame.blame_report import render_page

    write_json_atomically(json, session.document)
    if html is not None:
        address = "" if folder is None else quote(os.path.relpath(folder, html.parent))
        page = render_page(session.document, passes=passes, folder=address, whole=session.request.model.prepared)
        write_text_atomically(html, page)


def _read_document(path: Path) -> BlameDocument:
    """Return the document of an earlier session.

    Raises:
        JobError: the file cannot be read, is a link, a pipe or a device, or is not such a document.
    """
    from conformance.own.blame.document import decode_document

    try:
        with state_errors(path):
            return decode_document(read_state(path))
    except MalformedError as error:
        raise JobError("malformed-state.blame", path=path, error=error) from None
