"""`onnx-conformance run`: test backends and graph optimizers with the corpus."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.errors import ExitStatus, UsageError
from conformance.base.files.atomic_write import check_distinct_targets
from conformance.base.processes.start import ChildDied, run_in_child
from conformance.base.serialization.printable_text import print_line, resume_option
from conformance.commands.command_options import add_options, print_written_reports
from conformance.run.report.report_files import ReportFiles, write_reports

if TYPE_CHECKING:
    from conformance.run.corpus_run.settings import Settings


@add_options
def run(
    settings: Settings,
    last_failed: bool = False,
    workers: int | None = None,
    dask: str | None = None,
    exit_first: bool = False,
    resume: Path | None = None,
    *,
    outputs: ReportFiles,
    verbose: bool = False,
    quiet: bool = False,
) -> None:
    """Test backends and graph optimizers with the corpus.

    Exit status: 0 if the run passes, 1 if it fails, 2 if the command line, the corpus or a file is wrong, 3 after an
    internal error of the suite, 130 after an interruption.
    """
    gc.disable()  # what starts a run lives until its end; garbage collection begins before the first case
    results = settings.results
    if settings.no_isolation:
        _continue_in_child(results or resume)

    if dask is not None and workers is not None:
        raise UsageError("workers-and-dask")
    if dask is not None and settings.no_isolation:
        raise UsageError("options-conflict.dask")
    if verbose and quiet:
        raise UsageError("options-conflict.quiet")
    interrupted = None
    if resume is not None:
        from conformance.run.corpus_run.resume import read_interrupted_run

        interrupted = read_interrupted_run(resume)
        if interrupted.is_complete:
            print_line(f"{interrupted.source} is complete: no case is executed again.", err=True)
        settings = interrupted.settings_of(settings)
    if not settings.subjects:
        raise UsageError("subject-missing.subject")
    check_distinct_targets([*([settings.results] if settings.results else []), *outputs.paths.values()])
    # The subjects import their runtimes while this process imports the modules of a run.
    starting = None if interrupted or settings.relative_to else settings.start_subjects()
    from conformance.run.corpus_run.run_session import RunSession
    from conformance.run.corpus_run.runner import WorkerExecution
    from conformance.run.corpus_run.terminal_report import (
        Detail,
        OutputOptions,
        judge_and_print,
        with_base_results,
        with_results_file,
    )

    execution = WorkerExecution(workers, dask, exit_first)
    detail = Detail.CASES if verbose else Detail.OUTCOME if quiet else Detail.FAILURES
    output_options = OutputOptions(detail, settings.results, settings.data, outputs.take_standard_output)
    with with_results_file(settings, outputs) as settings, with_base_results(settings, execution) as settings:
        session = RunSession(settings, interrupted, starting=starting, last_failed=last_failed)
        if session.has_no_last_failed:
            print_line("No case failed in an earlier run in this folder, so --lf runs all cases.", err=True)
        outcome = judge_and_print(session, execution, output_options)
        if settings.results is not None:
            write_reports([settings.results], outputs)
            print_written_reports(outputs)
    if outcome.fault is not None:
        raise outcome.fault
    if outcome.footer.interrupted and settings.results is not None and (results or interrupted):
        print_line(f"Continue the run with the same options and {resume_option(settings.results)}", err=True)
    raise typer.Exit(outcome.status)


def _continue_in_child(results: Path | None) -> None:
    """Continue the run in a child process, and end this process with the exit status of the child.

    Without isolation a subject can end the process in which it runs; see `base.processes.start.run_in_child`.

    If the child ends without reporting an exit status, this process ends with `ExitStatus.FAILS`.

    Args:
        results: the results file of the run, or None.
    """
    try:
        status = run_in_child()
    except ChildDied as death:
        from conformance.run.corpus_run.resume import partial_path

        state = results if results is not None and partial_path(results).is_file() else None
        print_line("FAILED", err=True)
        print_line(f"  The process {death} before the run was complete; a subject in the process ended it.", err=True)
        print_line("  Without --no-isolation the run would continue, and the case would get a verdict.", err=True)
        if state is not None:
            print_line(f"  Continue the run with the same options and {resume_option(state)}", err=True)
        raise typer.Exit(ExitStatus.FAILS) from None
    if status is not None:
        raise typer.Exit(status)
