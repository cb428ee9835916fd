"""`onnx-conformance blame`: find out who is wrong when two ways to compute one model differ."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.errors import ExitStatus, SubjectError
from conformance.base.files.atomic_write import check_empty
from conformance.base.serialization.printable_text import print_line, print_progress
from conformance.base.verdicts import Level
from conformance.commands.command_options import FailLevel, add_options, print_written_reports
from conformance.run.report.report_files import ReportFiles
from conformance.subjects.isolation.protocol import Limits

if TYPE_CHECKING:
    from conformance.own.blame.blame_session import Request, Session
    from conformance.own.blame.verdict import BlameVerdict


@add_options
def blame(
    model: Path,
    second_model: Path | None = None,
    backend: list[str] | None = None,
    optimizer: str | None = None,
    inputs: Path | None = None,
    shape: list[str] | None = None,
    input_value: list[str] | None = None,
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
    from conformance.own.blame.blame_report import judged_text, step_lines, write_reports, write_reproduction
    from conformance.own.blame.blame_session import Session, compared_subjects, prepared_request
    from conformance.own.blame.document import read_document
    from conformance.own.blame.model_comparison import OpenSubjects
    from conformance.studies.history.first_bad_release import releases_worth_comparing
    from conformance.studies.history.release_blame import ReleaseOptions, blame_case, blame_model

    first, second, rewriter = compared_subjects(
        backend or [], optimizer, has_second_model=second_model is not None, has_releases=bool(releases)
    )
    reports = ReportFiles.of(json=json, html=html)
    if output is not None:
        check_empty(output)
    limits = Limits.for_large_outputs(timeout)
    opened = OpenSubjects(limits, in_process=no_isolation)
    takes_output = reports.take_standard_output
    searched = ReleaseOptions(releases, install, store, opened, limits, takes_output)
    if releases and not model.exists():
        has_fault = blame_case(str(model), rewriter or second, searched, data, json, output)
        raise typer.Exit(ExitStatus.FAILS if has_fault else ExitStatus.PASSES)
    known = None if resume is None or (resume == json and not resume.exists()) else read_document(resume)
    ways = (first, second, rewriter)
    values = input_value or ()
    with prepared_request(
        (model, second_model), ways, opened, seconds, inputs=inputs, shapes=shape or (), values=values, seed=seed
    ) as prepared:
        _print_inputs(prepared.given or prepared, takes_output)
        request = prepared
        if releases:
            has_fault, at_release = blame_model(prepared, searched)
            if at_release is None:
                raise typer.Exit(ExitStatus.FAILS if has_fault else ExitStatus.PASSES)
            request = at_release

        def show(name: str) -> None:
            print_progress("")
            for line in step_lines(name, session.document):
                print_line(line, err=takes_output)

        session = Session(request, opened, show, print_progress, known, partial(releases_worth_comparing, store))
        fails = _run(session, json, html).fails(Level(fail_level))
        write_reports(session, json, html, passes=not fails, folder=output if session.reduced else None)
        print_written_reports(reports)
        if output is not None and session.reduced is not None:
            write_reproduction(output, session)
            print_line(f"Wrote {output}.", err=takes_output)
        outcome = [each for each in ("FAILED" if fails else "PASSED", judged_text(session.document.steps)) if each]
        print_line(": ".join(outcome), err=takes_output)
        if fails:
            raise typer.Exit(ExitStatus.FAILS)


def _print_inputs(request: Request, takes_output: bool) -> None:
    """Print the outputs of two models that have no counterpart, and the inputs that are rounded or chosen."""
    from conformance.own.graphs.model_inputs import chosen_text

    if request.models is not None and request.models.unmatched:
        print_line(f"Outputs without counterpart: {', '.join(request.models.unmatched)}", err=takes_output)
    if request.models is not None and request.models.rounded:
        print_line(f"Inputs of another type, rounded for both: {', '.join(request.models.rounded)}", err=takes_output)
    if request.data_sets[0].chosen:
        print_line(chosen_text(request.data_sets[0].chosen), err=takes_output)


def _run(session: Session, json: Path | None, html: Path | None) -> BlameVerdict:
    """Run a session; if it is interrupted, write the steps that ended."""
    from conformance.own.blame.blame_report import write_reports

    try:
        return session.run()
    except (KeyboardInterrupt, SubjectError) as error:
        print_progress("")
        if session.has_news:
            write_reports(session, json, html, passes=False)
            if json is not None and isinstance(error, SubjectError):
                print_line(f"Continue with the same options and --resume {json}", err=True)
        raise
