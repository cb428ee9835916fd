"""`onnx-conformance search`: search for failing examples beyond the corpus by random testing."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import typer

from conformance.base.errors import UsageError
from conformance.base.files.atomic_write import (
    check_results_target,
    write_json_atomically,
)
from conformance.base.serialization.printable_text import print_line, print_notice, print_progress
from conformance.base.verdicts import Level
from conformance.commands.command_options import FailLevel, add_options, default_of
from conformance.run.report.report_files import ReportFiles
from conformance.subjects.isolation.protocol import Limits


@add_options
def search(
    backend: list[str] | None = None,
    optimizer: list[str] | None = None,
    implements: list[str] | None = None,
    operator: list[str] | None = None,
    seconds: float | None = None,
    examples: int | None = None,
    seed: int = 0,
    fail_level: FailLevel = FailLevel.MUST,
    output: Path | None = None,
    results: Path | None = None,
    coverage: Path | None = None,
    *,
    outputs: ReportFiles,
    workers: int | None = None,
    dask: str | None = None,
    resume: Path | None = None,
    no_isolation: bool = False,
    timeout: float = 10.0,
) -> None:
    """Search for models and inputs beyond the corpus on which a subject fails, and shrink them.

    Random examples vary the same properties as the cases of the corpus, and are judged in the same way. Failing
    examples with the same failure are reported once. At the end the failing examples are run as a corpus; reports and
    results files describe that run.

    Exit status: 0 if no example fails, 1 if an example fails or a subject supports no example, 2 if the command line is
    wrong or the search cannot continue, 130 after an interruption. If the search ends early, the failing examples found
    so far are printed and written.
    """
    from conformance.base.jobs.job import check_state_file
    from conformance.base.jobs.process_pool import create_workers
    from conformance.studies.search.search_job import SearchJob
    from conformance.studies.search.search_run import (
        check_output,
        run_search,
        searched_operators,
        searched_subjects,
        write_failing_examples,
    )

    subjects = searched_subjects(backend, optimizer)
    if seconds is not None and examples is not None:
        raise UsageError("options-conflict.two", first="--seconds", second="--examples")
    check_output(output, is_resumed=resume is not None and resume.exists())
    if results is not None:
        check_results_target(results)
    if resume is not None:
        check_state_file(resume)
    executors = create_workers(workers, dask, print_notice)
    deadline = float("inf") if examples else time.time() + (seconds or default_of("search", "seconds"))
    job = SearchJob(
        tuple(subjects),
        searched_operators(operator, subjects, Limits(timeout), isolated=not no_isolation, show=print_line),
        seed,
        examples or 0,
        timeout,
        isolated=not no_isolation,
        claims=tuple(implements or ()),
        level=Level(fail_level),
        until=deadline,
    )
    outcome = run_search(job, executors, resume, deadline, print_progress)
    if outcome.unsaved:
        print_notice(f"{resume} does not have the last {outcome.unsaved} examples.")
    if sys.stderr.isatty():
        print_line("", err=True)
    for line in outcome.lines():
        print_line(line)
    write_json_atomically(coverage, outcome.found.coverage)
    if len(outcome.found):
        write_failing_examples(outcome, output, results, outputs, print_line)
    if outcome.failure is not None:
        raise outcome.failure
    if outcome.is_interrupted:
        raise KeyboardInterrupt
    raise typer.Exit(outcome.status)
