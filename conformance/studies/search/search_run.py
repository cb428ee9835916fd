"""A search as the command `search` runs it: chunks of examples until a deadline, and the lines that show the result."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance.base.errors import ConformanceError, ExitStatus, JobError, UsageError
from conformance.base.files.atomic_write import supervised_temp_dir
from conformance.base.jobs.job import JobState, run_job
from conformance.base.serialization.decoding import MalformedError
from conformance.base.serialization.printable_text import one_line
from conformance.base.verdicts import Level
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.exact.declarations.declaration_tables import declarations_of
from conformance.run.corpus_run.run_session import RunSession
from conformance.run.corpus_run.runner import WorkerExecution
from conformance.run.corpus_run.settings import Settings
from conformance.run.corpus_run.terminal_report import OutputOptions, judge_and_print
from conformance.run.report.report_files import write_reports
from conformance.run.results.evidence import truncate_line
from conformance.studies.search.distributions import Combination
from conformance.studies.search.failing_examples import (
    FailingExamples,
    describe,
    is_corpus_of_search,
    saved_versions,
)
from conformance.studies.search.named_mutants import mutants_sentence
from conformance.studies.search.search_cases import case_id
from conformance.studies.search.search_job import OPERATORS, SAMPLED, operators_with_examples, supported_operators
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.environments.registry import find_interpreter
from conformance.subjects.isolation.protocol import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from conformance.base.jobs.job import Workers
    from conformance.run.report.report_files import ReportFiles
    from conformance.studies.search.search_job import FailingExample, SearchJob

ALL_OPERATORS = "all"
"""The name for all operators."""


@dataclass(frozen=True)
class SearchOutcome:
    """The result of a search.

    Attributes:
        found: the failing examples, and the counters.
        seconds: the duration.
        is_interrupted: whether the user interrupted the search.
        failure: the error that ended the search early; None if there is none.
        unsaved: the number of examples that the state file does not have, because their chunk is incomplete.
    """

    found: FailingExamples
    seconds: float
    is_interrupted: bool = False
    failure: ConformanceError | None = None
    unsaved: int = 0

    @property
    def fails(self) -> bool:
        """Whether an example fails, or a subject supports no example."""
        return len(self.found) > 0 or bool(self.found.unsupporting_subjects())

    @property
    def status(self) -> ExitStatus:
        """The exit status of the command."""
        if self.is_interrupted:
            return ExitStatus.INTERRUPTED
        return ExitStatus.FAILS if self.fails else ExitStatus.PASSES

    def lines(self) -> Iterator[str]:
        """Yield the lines that show the outcome."""
        found = self.found
        outcome = "INCOMPLETE" if self.failure is not None else "FAILED" if self.fails else "PASSED"
        judged = found.examples - sum(found.without_outputs.values())
        rate = found.examples / max(self.seconds, 0.001)
        failures = f"{len(found)} distinct {'failure' if len(found) == 1 else 'failures'}"
        yield (
            f"{outcome}: {judged} of {found.examples} examples judged, {failures},"
            f" {self.seconds:.0f} s ({rate:.0f} examples per second)"
        )
        for example in found:
            yield from _lines_of(example)
        for reason, number in found.without_outputs.most_common():
            yield f"  {number} not judged: {reason}"
        for subject, counts in found.verdicts.items():
            verdicts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(counts.items()))
            yield f"  {subject}: {verdicts}"
            yield f"    {found.decided_natively[subject]} of them judged by the native reference, without the oracle"
        scopes = ", ".join(f"{scope} {number}" for scope, number in found.scopes.most_common())
        yield f"  scopes: {scopes}"
        count = len(found.combinations)
        yield f"  {count} combinations of operator, size class, type, place, class of T and attributes"
        for tested, number in sorted(Counter(each.operator.split()[-1] for each in found.combinations).items()):
            own = [each[1:] for each in found.combinations if each.operator.split()[-1] == tested]
            levels = zip(Combination._fields[1:], map(set, zip(*own, strict=True)), strict=True)
            counted = ", ".join(f"{len(each)} {name}" for name, each in levels if each != {""})
            yield f"    {tested}: {number}, of {counted}"
        for subject in found.unsupporting_subjects():
            yield f"{subject} supported no example, so nothing is known about it."


def run_search(
    job: SearchJob, team: Workers, resume: Path | None, deadline: float, progress: Callable[[str], None]
) -> SearchOutcome:
    """Run examples until a deadline, and collect those that fail.

    Args:
        job: the subjects, operators and limits.
        team: the workers.
        resume: the state file of a search that can be continued; None for none.
        deadline: the time, in seconds since the epoch, after which no more chunks are run.
        progress: is called with a text for the user.

    Raises:
        ConformanceError: the search cannot continue, and no example was run.
    """
    found = FailingExamples(job)
    started = time.monotonic()
    is_interrupted = False
    failure = None
    unsaved = 0
    with ExitStack() as stack:
        state = None if resume is None else stack.enter_context(JobState(resume, job))
        if resume is not None and state is not None:
            job = _with_saved_versions(resume, found, state)
        try:
            for chunk in run_job(job, team, state):
                found.add(chunk)
                seconds = time.monotonic() - started
                progress(f"{found.examples} examples, {len(found)} failing, {seconds:.0f} s")
                if time.time() >= deadline:
                    unsaved = chunk.result.examples if resume is not None and chunk.result.is_partial else 0
                    break
        except KeyboardInterrupt:
            is_interrupted = True
        except ConformanceError as error:
            if not found.examples:
                raise
            failure = error
    return SearchOutcome(found, time.monotonic() - started, is_interrupted, failure, unsaved)


def _with_saved_versions(path: Path, found: FailingExamples, state: JobState) -> SearchJob:
    """Return the job with the versions of the subjects in a state file, whose chunks are checked.

    Raises:
        JobError: a chunk is malformed.
    """
    try:
        return replace(found.job, versions=saved_versions(state.chunks()))
    except MalformedError as error:
        raise JobError("malformed-state.job", path=path, error=error) from None


def _lines_of(failing: FailingExample) -> Iterator[str]:
    example = failing.read()
    yield f"{failing.subject}: {failing.verdict}: {one_line(truncate_line(failing.message))}"
    yield f"  {describe(example, failing.conditions)} ({case_id(example)})"
    if sentence := mutants_sentence(failing.mutants):
        yield f"  {sentence}"


def searched_subjects(
    backends: Sequence[str] | None, optimizers: Sequence[str] | None
) -> list[tuple[str, SubjectKind]]:
    """Return the names of the subjects, each with its kind.

    Raises:
        UsageError: no subject is named, or the Python of a subject does not exist.
    """
    subjects = [(text, SubjectKind.BACKEND) for text in backends or ()]
    subjects += [(text, SubjectKind.OPTIMIZER) for text in optimizers or ()]
    if not subjects:
        raise UsageError("subject-missing.subject")
    for named in (SubjectName.parse(text, kind) for text, kind in subjects):
        if not named.is_command:
            find_interpreter(named)
    return subjects


def check_output(output: Path | None, *, is_resumed: bool) -> None:
    """Check that the folder for the failing examples is empty and can be created; None is accepted.

    A search that is continued replaces the examples that it wrote when it was interrupted.

    Raises:
        UsageError: the folder is not empty, or it cannot be created.
    """
    if output is None or (is_resumed and is_corpus_of_search(output)):
        return
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError("output-not-empty", output=output)


def searched_operators(
    operators: Sequence[str] | None,
    subjects: Sequence[tuple[str, SubjectKind]],
    limits: Limits,
    *,
    isolated: bool,
    show: Callable[[str], None],
) -> tuple[str, ...]:
    """Return the operators that examples test.

    Args:
        operators: the names of operators, or `all`; None for the operators that the backends support, and for the pass
            if there is a graph optimizer.
        subjects: the subjects, for the default.
        limits: the limits of each subject.
        isolated: whether each subject runs in a process of its own.
        show: is called with the number of supported operators, for the default.

    Raises:
        UsageError: an operator has no declaration.
        ConformanceError: a subject cannot be started.
    """
    if not operators:
        backends = [SubjectName.parse(text, kind) for text, kind in subjects if kind is SubjectKind.BACKEND]
        supported = supported_operators(backends, limits, isolated=isolated) if backends else ()
        if backends:
            every = operators_with_examples()
            show(f"The backends support {len(supported)} of the {len(every)} operators with examples.")
        has_optimizer = len(backends) < len(subjects)
        return (*(supported or (OPERATORS if backends else ())), *([PASS_NAME] if has_optimizer else []))
    if ALL_OPERATORS in operators:
        return operators_with_examples()
    for operator in operators:
        if operator not in SAMPLED:
            declarations_of(operator)
    return tuple(dict.fromkeys(operators))


def write_failing_examples(
    outcome: SearchOutcome,
    output: Path | None,
    results: Path | None,
    outputs: ReportFiles,
    show: Callable[[str], None],
) -> None:
    """Write the failing examples as a corpus, and run it if a results file or a report of the run is requested.

    The examples of a search that failed are not run.

    Args:
        outcome: the result of the search.
        output: the folder of the corpus; None for a temporary one.
        results: the results file of the run; None for a temporary one.
        outputs: the reports of the run.
        show: is called with a line after the corpus is written.

    Raises:
        ConformanceError: a file cannot be written, or the run cannot start.
        Exception: the fault of the run, such as `OutputFault`; its results file and reports are written.
    """
    with supervised_temp_dir() as scratch:
        corpus = output or scratch / "failing"
        outcome.found.write_corpus(corpus)
        if output is not None:
            command = shlex.join(["onnx-conformance", "run", "--data", str(output)])
            show(f"Wrote {output}. Run it with `{command}`.")
        if outcome.failure is not None or (results is None and not outputs.paths):
            return
        printed = OutputOptions(
            results=results, data=output, to_stderr=outputs.take_standard_output, keeps_corpus=output is not None
        )
        written = results or scratch / "results.jsonl"
        settings = settings_of_examples(outcome.found.job, corpus, written)
        judged = judge_and_print(RunSession(settings), WorkerExecution(), printed)
        write_reports([written], outputs)
        if judged.fault is not None:
            raise judged.fault


def settings_of_examples(job: SearchJob, corpus: Path, results: Path) -> Settings:
    """Return the settings of a run of failing examples.

    Args:
        job: the search.
        corpus: the folder of the failing examples.
        results: the results file of the run.
    """
    return Settings(
        tuple(SubjectName.parse(text, kind) for text, kind in job.subjects),
        corpus,
        fail_level=Level(job.level),
        results=results,
        implements=job.claims,
        no_isolation=not job.isolated,
        limits=Limits(job.timeout),
    )
