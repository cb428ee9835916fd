"""`onnx-conformance search`: search for failing examples beyond the corpus by random testing."""

from __future__ import annotations

import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from conformance.base.errors import ConformanceError, ExitStatus, JobError, UsageError
from conformance.base.files.atomic_write import (
    check_results_target,
    check_target,
    supervised_temp_dir,
    write_json_atomically,
)
from conformance.base.serialization.decoding import MalformedError
from conformance.base.serialization.printable_text import one_line, print_line, print_notice, print_progress
from conformance.base.verdicts import Level
from conformance.commands.command_options import FailLevel, add_options, default_of
from conformance.run.report.report_files import ReportFiles, write_reports
from conformance.subjects.isolation.protocol import Limits

if TYPE_CHECKING:
    from conformance.base.jobs.job import JobState
    from conformance.run.corpus_run.terminal_report import OutputOptions
    from conformance.studies.search.failing_examples import FailingExamples
    from conformance.studies.search.search_job import FailingExample, SearchJob
    from conformance.subjects.calling.subject_names import SubjectKind

ALL_OPERATORS = "all"
"""The value of `--operator` for all operators."""


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
    from conformance.base.jobs.job import JobState, run_job
    from conformance.base.jobs.process_pool import create_workers
    from conformance.studies.search.failing_examples import FailingExamples
    from conformance.studies.search.search_job import SearchJob

    subjects = _subjects(backend, optimizer)
    if seconds is not None and examples is not None:
        raise UsageError("options-conflict.two", first="--seconds", second="--examples")
    _check_output(output, is_resumed=resume is not None and resume.exists())
    if results is not None:
        check_results_target(results)
    outputs.check()
    if coverage is not None:
        check_target(coverage)
    deadline = float("inf") if examples else time.time() + (seconds or default_of("search", "seconds"))
    job = SearchJob(
        tuple(subjects),
        _operators(operator, subjects, Limits(timeout), isolated=not no_isolation),
        seed,
        examples or 0,
        timeout,
        isolated=not no_isolation,
        claims=tuple(implements or ()),
        level=Level(fail_level),
        until=deadline,
    )
    found = FailingExamples(job)
    started = time.monotonic()
    status = ExitStatus.PASSES
    failure = None
    team = create_workers(workers, dask, print_notice)
    with ExitStack() as stack:
        state = None if resume is None else stack.enter_context(JobState(resume, job))
        if resume is not None and state is not None:
            job = _with_saved_versions(resume, found, state)
        try:
            for chunk in run_job(job, team, state):
                found.add(chunk)
                seconds_so_far = time.monotonic() - started
                print_progress(f"{found.examples} examples, {len(found)} failing, {seconds_so_far:.0f} s")
                if time.time() >= deadline:
                    if resume is not None and chunk.result.is_partial:
                        print_notice(f"{resume} does not have the last {chunk.result.examples} examples.")
                    break
        except KeyboardInterrupt:
            status = ExitStatus.INTERRUPTED
        except ConformanceError as error:
            if not found.examples:
                raise
            failure = error
    if status is ExitStatus.PASSES and (len(found) or found.unsupporting_subjects()):
        status = ExitStatus.FAILS
    _print_outcome(found, time.monotonic() - started, is_complete=failure is None)
    write_json_atomically(coverage, found.coverage)
    if len(found):
        wanted = failure is None and (results is not None or bool(outputs.paths))
        _keep_failing_examples(found, output, results, outputs if wanted else None)
    if failure is not None:
        raise failure
    raise typer.Exit(status)


def _keep_failing_examples(
    found: FailingExamples, output: Path | None, results: Path | None, outputs: ReportFiles | None
) -> None:
    """Write the failing examples as a corpus to `output`; run this corpus if `outputs` is not None."""
    from conformance.run.corpus_run.terminal_report import OutputOptions

    with supervised_temp_dir() as scratch:
        corpus = output or scratch / "failing"
        found.write_corpus(corpus)
        if output is not None:
            print_line(f"Wrote {output}. Run it with `onnx-conformance run --data {output}`.")
        if outputs is not None:
            printed = OutputOptions(
                results=results, data=output, to_stderr=outputs.take_standard_output, keeps_corpus=output is not None
            )
            _run_failing_examples(found.job, corpus, results or scratch / "results.jsonl", outputs, printed)


def _subjects(backends: list[str] | None, optimizers: list[str] | None) -> list[tuple[str, SubjectKind]]:
    """Return the names of the subjects, each with its kind.

    Raises:
        UsageError: no subject is named, or the Python of a subject does not exist.
    """
    from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
    from conformance.subjects.environments.registry import find_interpreter

    subjects = [(text, SubjectKind.BACKEND) for text in backends or ()]
    subjects += [(text, SubjectKind.OPTIMIZER) for text in optimizers or ()]
    if not subjects:
        raise UsageError("subject-missing.subject")
    for named in (SubjectName.parse(text, kind) for text, kind in subjects):
        if not named.is_command:
            find_interpreter(named)
    return subjects


def _with_saved_versions(path: Path, found: FailingExamples, state: JobState) -> SearchJob:
    """Return the job with the versions of the subjects in a state file, whose chunks are checked.

    Raises:
        JobError: a chunk is malformed.
    """
    from dataclasses import replace

    from conformance.studies.search.failing_examples import saved_versions

    try:
        return replace(found.job, versions=saved_versions(state.chunks()))
    except MalformedError as error:
        raise JobError("malformed-state.job", path=path, error=error) from None


def _check_output(output: Path | None, *, is_resumed: bool) -> None:
    """Check that the folder for the failing examples is empty and can be created; None is accepted.

    A search that is continued replaces the examples that it wrote when it was interrupted.

    Raises:
        UsageError: the folder is not empty, or it cannot be created.
    """
    from conformance.studies.search.failing_examples import is_corpus_of_search

    if output is None or (is_resumed and is_corpus_of_search(output)):
        return
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError("output-not-empty", output=output)
    if not output.exists():
        check_target(output)


def _operators(
    operators: list[str] | None, subjects: list[tuple[str, SubjectKind]], limits: Limits, *, isolated: bool
) -> tuple[str, ...]:
    """Return the operators that examples test.

    Args:
        operators: the values of `--operator`; None for the operators that the backends support, and for the pass if
            there is a graph optimizer.
        subjects: the subjects, for the default.
        limits: the limits of each subject.
        isolated: whether each subject runs in a process of its own.

    Raises:
        UsageError: an operator has no declaration.
        ConformanceError: a subject cannot be started.
    """
    from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME
    from conformance.exact.declarations.declaration_tables import declarations_of
    from conformance.studies.search.search_job import OPERATORS, SAMPLED, operators_with_examples, supported_operators
    from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

    if not operators:
        backends = [SubjectName.parse(text, kind) for text, kind in subjects if kind is SubjectKind.BACKEND]
        supported = supported_operators(backends, limits, isolated=isolated) if backends else ()
        if backends:
            every = operators_with_examples()
            print_line(f"The backends support {len(supported)} of the {len(every)} operators with examples.")
        has_optimizer = len(backends) < len(subjects)
        return (*(supported or (OPERATORS if backends else ())), *([PASS_NAME] if has_optimizer else []))
    if ALL_OPERATORS in operators:
        return operators_with_examples()
    for operator in operators:
        if operator not in SAMPLED:
            declarations_of(operator)
    return tuple(dict.fromkeys(operators))


def _print_outcome(found: FailingExamples, seconds: float, *, is_complete: bool) -> None:
    from conformance.studies.search.distributions import Combination

    if sys.stderr.isatty():
        print_line("", err=True)
    outcome = "FAILED" if len(found) or found.unsupporting_subjects() else "PASSED"
    judged = found.examples - sum(found.without_outputs.values())
    rate = found.examples / max(seconds, 0.001)
    failures = f"{len(found)} distinct {'failure' if len(found) == 1 else 'failures'}"
    print_line(
        f"{outcome if is_complete else 'INCOMPLETE'}: {judged} of {found.examples} examples judged, {failures},"
        f" {seconds:.0f} s ({rate:.0f} examples per second)"
    )
    for example in found:
        _print_failing_example(example)
    for reason, number in found.without_outputs.most_common():
        print_line(f"  {number} not judged: {reason}")
    for subject, counts in found.verdicts.items():
        print_line(f"  {subject}: " + ", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items())))
        print_line(f"    {found.decided_natively[subject]} of them judged by the native reference, without the oracle")
    print_line("  scopes: " + ", ".join(f"{scope} {number}" for scope, number in found.scopes.most_common()))
    print_line(
        f"  {len(found.combinations)} combinations of operator, size class, type, place, class of T and attributes"
    )
    for tested, number in sorted(Counter(each.operator.split()[-1] for each in found.combinations).items()):
        own = [each[1:] for each in found.combinations if each.operator.split()[-1] == tested]
        levels = zip(Combination._fields[1:], map(set, zip(*own, strict=True)), strict=True)
        print_line(
            f"    {tested}: {number}, of " + ", ".join(f"{len(each)} {name}" for name, each in levels if each != {""})
        )
    for subject in found.unsupporting_subjects():
        print_line(f"{subject} supported no example, so nothing is known about it.")


def _print_failing_example(failing: FailingExample) -> None:
    from conformance.run.results.evidence import truncate_line
    from conformance.studies.search.failing_examples import describe
    from conformance.studies.search.named_mutants import mutants_sentence
    from conformance.studies.search.search_cases import case_id

    example = failing.read()
    print_line(f"{failing.subject}: {failing.verdict}: {one_line(truncate_line(failing.message))}")
    print_line(f"  {describe(example, failing.conditions)} ({case_id(example)})")
    if sentence := mutants_sentence(failing.mutants):
        print_line(f"  {sentence}")


def _run_failing_examples(
    job: SearchJob, corpus: Path, results: Path, outputs: ReportFiles, printed: OutputOptions
) -> None:
    """Run the failing examples as a corpus, and write the results file and the reports of that run."""
    from conformance.run.corpus_run.run_session import RunSession
    from conformance.run.corpus_run.runner import WorkerExecution
    from conformance.run.corpus_run.settings import Settings
    from conformance.run.corpus_run.terminal_report import judge_and_print
    from conformance.subjects.calling.subject_names import SubjectName

    settings = Settings(
        tuple(SubjectName.parse(text, kind) for text, kind in job.subjects),
        corpus,
        fail_level=Level(job.level),
        results=results,
        implements=job.claims,
        no_isolation=not job.isolated,
        limits=Limits(job.timeout),
    )
    outcome = judge_and_print(RunSession(settings), WorkerExecution(), printed)
    write_reports([results], outputs)
    if outcome.fault is not None:
        raise outcome.fault
