"""`onnx-conformance blame`: find out who is wrong when two ways to compute one model differ."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.errors import ExitStatus
from conformance.base.serialization.printable_text import print_line, print_progress, resume_option
from conformance.base.verdicts import Level
from conformance.commands.command_options import FailLevel, add_options, print_written_reports
from conformance.run.report.report_files import ReportFiles
from conformance.subjects.isolation.protocol import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.own.blame.model_blame import BlameObserver


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
    from conformance.own.blame.blame_session import compared_subjects
    from conformance.own.blame.model_blame import BlameRequest, blame_models
    from conformance.own.blame.model_comparison import OpenSubjects
    from conformance.studies.history.first_bad_release import releases_worth_comparing
    from conformance.studies.history.release_blame import ReleaseOptions, blame_case, blame_model

    ways = compared_subjects(
        backend or [], optimizer, has_second_model=second_model is not None, has_releases=bool(releases)
    )
    reports = ReportFiles.of(json=json, html=html)
    limits = Limits.for_large_outputs(timeout)
    opened = OpenSubjects(limits, in_process=no_isolation)
    show = partial(print_line, err=reports.take_standard_output)
    searched = ReleaseOptions(releases, install, store, opened, limits, reports.take_standard_output)
    if releases and not model.exists():
        has_fault = blame_case(str(model), ways[2] or ways[1], searched, data, json, output)
        raise typer.Exit(ExitStatus.FAILS if has_fault else ExitStatus.PASSES)
    request = BlameRequest(
        model,
        ways,
        opened,
        second_model,
        inputs,
        shape or (),
        input_value or (),
        seed,
        Level(fail_level),
        json,
        html,
        output,
        resume,
        seconds,
        partial(blame_model, options=searched) if releases else None,
        partial(releases_worth_comparing, store),
    )
    result = blame_models(request, _observer(show))
    if result.verdict is not None:
        print_written_reports(reports)
        if result.reproduction is not None:
            show(f"Wrote {result.reproduction}.")
        show(": ".join(filter(None, ("FAILED" if result.fails else "PASSED", result.judged))))
    if result.fails:
        raise typer.Exit(ExitStatus.FAILS)


def _observer(show: Callable[[str], None]) -> BlameObserver:
    from conformance.own.blame.model_blame import BlameObserver

    class Observer(BlameObserver):
        """Shows the progress and the results in the terminal."""

        def progress(self, text: str) -> None:
            print_progress(text)

        def inputs_chosen(self, lines: Sequence[str]) -> None:
            for line in lines:
                show(line)

        def step_ended(self, lines: Sequence[str]) -> None:
            for line in lines:
                show(line)

        def interrupted(self, document: Path | None) -> None:
            if document is not None:
                print_line(f"Continue with the same options and {resume_option(document)}", err=True)

    return Observer()
