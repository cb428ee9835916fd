"""`judge_corpus` runs a corpus: the command line, pytest and the Python interface call it and print its `Outcome`.

The cases of a session are executed by an `Execution`: `WorkerExecution` gives them to this process, to worker processes
or to Dask workers, and the pytest plugin gives them to pytest.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from conformance.base.errors import ExitStatus
from conformance.base.files.atomic_write import install_signal_deferral
from conformance.base.jobs.job import run_job
from conformance.base.jobs.process_pool import CHUNK_ATTEMPTS, LossPolicy, create_workers
from conformance.run.corpus_run.corpus_job import RunJob, divide_into_chunks, subject_infos
from conformance.run.corpus_run.environment_versions import run_environment
from conformance.run.expectations.criterion import MissingCause
from conformance.run.results.outcome_counts import OutcomeCounts

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Collection, Mapping, Sequence

    from conformance.base.errors import OutputFault
    from conformance.base.verdicts import Level, Verdict
    from conformance.run.corpus_run.corpus_job import Chunk
    from conformance.run.corpus_run.run_session import RunSession
    from conformance.run.corpus_run.settings import Settings
    from conformance.run.expectations.criterion import PassCriterion
    from conformance.run.results.failure_groups import FailureGroup
    from conformance.run.results.outcome_counts import NodeShare
    from conformance.run.results.records import Footer, Header, Judged

DASK_CHUNK_WORKERS = 16
"""Number of workers for which the size of chunks is computed if Dask workers execute them; they come and go."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run whose results are written. It is true if the run passes.

    Attributes:
        settings: the settings of the run.
        header: the header of the results file, with the corpus, the subjects and the selection.
        footer: the footer of the results file, with the counts of verdicts, the reasons and the diagnoses.
        criterion: the pass criterion, with the numbers of verdicts and of known failures.
        groups: the groups of unexpected failures.
        failing_cases: the ids of all failing cases by subject, of every level, also of known failures.
        node_shares: the share of the nodes of a user's models that each subject computes correctly.
        fault: an internal error after the verdicts, or None.
        is_interrupted: whether the user interrupted the run.
        missing_operators: a sentence for each subject that ends in an error where it seems to lack operators.
        other_operators: a sentence for each backend of a first run on operators without cases of their own.
    """

    settings: Settings
    header: Header
    footer: Footer
    criterion: PassCriterion
    groups: Sequence[FailureGroup]
    failing_cases: Mapping[str, Sequence[str]]
    node_shares: Sequence[NodeShare]
    fault: OutputFault | None = None
    is_interrupted: bool = False
    missing_operators: Sequence[str] = ()
    other_operators: Sequence[str] = ()

    def __bool__(self) -> bool:
        return self.passes

    @property
    def passes(self) -> bool:
        """Whether the run passes."""
        return not self.footer.reasons

    @property
    def reasons(self) -> list[str]:
        """The reasons for which the run fails, one sentence each; empty if it passes."""
        return self.footer.reasons

    @property
    def verdicts(self) -> Mapping[str, Mapping[Level, Counter[Verdict]]]:
        """The number of each verdict by subject and level."""
        return self.criterion.verdicts

    @property
    def counts(self) -> OutcomeCounts:
        """The numbers of judged results, unsupported cases and known failures."""
        known = self.criterion.known_failures.total()
        return OutcomeCounts.count(self.criterion.verdicts.values(), known, self.criterion.settings.level)

    @property
    def status(self) -> ExitStatus:
        """The exit status of the command, if there is no fault."""
        ended = ExitStatus.PASSES if self.passes else ExitStatus.FAILS
        return ExitStatus.INTERRUPTED if self.is_interrupted else ended


class RunObserver:
    """Receives what happens in a run; the methods of this class do nothing."""

    def execution_begun(self, pending: int) -> None:
        """Note that so many cases are executed now."""

    def result_recorded(self, judged: Judged, *, is_expected: bool) -> None:
        """Note a result, and whether it is as expected."""

    def execution_ended(self) -> None:
        """Note that no further result follows."""

    def run_interrupted(self, recorded: int, expected: int) -> None:
        """Note that the user interrupted the run after so many of its results; the failures are explained next."""

    def worker_died(self, chunk: Chunk, how: str) -> None:
        """Note that the results of a chunk are missing, and how the last worker that executed it ended."""

    def notice(self, sentence: str) -> None:
        """Note a remark of the workers, for the user."""


SILENT = RunObserver()
"""The observer of a run that nobody watches."""


class Execution(Protocol):
    """A way to execute the pending items of a session.

    Attributes:
        processes: number of processes that search for explanations of failures.
        hosts: machines whose Dask workers executed cases.
        is_stopped: whether the run was stopped on purpose, so that it cannot be continued.
        missing_cause: why results are missing, if any are.
        deaths: how each worker that died ended.
    """

    @property
    def processes(self) -> int: ...

    @property
    def hosts(self) -> Collection[str]: ...

    @property
    def deaths(self) -> Sequence[str]: ...

    @property
    def is_stopped(self) -> bool: ...

    @property
    def missing_cause(self) -> MissingCause: ...

    def run(self, session: RunSession, record: Callable[[Judged], bool], observer: RunObserver, /) -> None:
        """Execute the pending items, and call `record` with each result; it returns whether the result is as expected.

        Raises:
            ConformanceError: the corpus is altered, a file cannot be written, or the workers cannot do the job.
            KeyboardInterrupt: the user interrupted the run.
        """


def judge_corpus(session: RunSession, execution: Execution, observer: RunObserver = SILENT) -> Outcome:
    """Run the cases of a session on its subjects, judge the results, and write the results file.

    Nothing is printed, and no report is written. After an error, valid results are kept for `--resume`.

    Args:
        session: the cases, the subjects and the pass criterion.
        execution: what executes the cases.
        observer: receives what happens meanwhile.

    Raises:
        ConformanceError: no case is selected, or the corpus, a subject, a worker or an expectations file is wrong.
        KeyboardInterrupt: the user interrupted the run before its first result, or interrupted its end.
    """
    with install_signal_deferral():
        try:
            session.continue_interrupted_run()
            session.require_items()
            is_interrupted = _execute(session, execution, observer)
            session.stop_subjects()
            return _finish(session, execution, is_interrupted=is_interrupted)
        except BaseException as error:
            session.abandon(error)
            raise


def _execute(session: RunSession, execution: Execution, observer: RunObserver) -> bool:
    """Execute the pending items of a session, and return whether the user interrupted the execution."""

    def record(judged: Judged) -> bool:
        is_expected = session.add(judged)
        observer.result_recorded(judged, is_expected=is_expected)
        return is_expected

    is_interrupted = False
    observer.execution_begun(len(session.pending_items))
    try:
        execution.run(session, record, observer)
    except KeyboardInterrupt:
        if not len(session.recorder.judged):
            raise
        is_interrupted = True
    finally:
        observer.execution_ended()
    if is_interrupted:
        observer.run_interrupted(len(session.recorder.judged), len(session.items))
        session.end_subjects()
    return is_interrupted


def _finish(session: RunSession, execution: Execution, *, is_interrupted: bool) -> Outcome:
    """Decide whether the run passes, explain its failures, and write the end of the results file."""
    cause = MissingCause.INTERRUPTED if is_interrupted else execution.missing_cause
    completeness = session.completeness(cause, execution.deaths)
    footer, fault = session.finish(
        completeness,
        is_resumable=is_interrupted or (completeness.missing > 0 and not execution.is_stopped),
        processes=execution.processes,
        hosts=execution.hosts,
    )
    judged = session.recorder.judged
    assert session.recorder.header is not None
    return Outcome(
        session.settings,
        session.recorder.header,
        footer,
        judged.criterion,
        judged.failure_groups(footer.diagnoses),
        judged.failing_cases(),
        judged.node_shares(),
        fault,
        is_interrupted,
        judged.missing_operators(),
        judged.other_operators(session.first_backends) if not is_interrupted else [],
    )


@dataclass
class WorkerExecution:
    """Executes cases in this process, in worker processes or on Dask workers; see `Execution`.

    Args:
        workers: number of worker processes, or None to run in this process.
        dask: address of the Dask scheduler whose workers run the cases, or None.
        exit_first: whether to stop at the first unexpected result.
    """

    workers: int | None = None
    dask: str | None = None
    exit_first: bool = False
    is_stopped: bool = field(default=False, init=False)
    hosts: set[str] = field(default_factory=set, init=False)
    deaths: list[str] = field(default_factory=list, init=False)

    @property
    def processes(self) -> int:
        """See `Execution`."""
        return self.workers or 1

    @property
    def missing_cause(self) -> MissingCause:
        """See `Execution`."""
        return MissingCause.WORKERS_DIED if self.deaths else MissingCause.STOPPED

    def run(self, session: RunSession, record: Callable[[Judged], bool], observer: RunObserver) -> None:
        """See `Execution`.

        A crash of a subject is a verdict. Only a chunk whose worker died is executed again; without isolation, a
        subject may have ended the worker, and the chunk is lost.
        """
        settings = session.settings
        is_local = self.workers is None and self.dask is None
        divisor = None if is_local else self.workers or DASK_CHUNK_WORKERS
        chunks = divide_into_chunks(session.pending_items, divisor)

        def lose(number: int, how: str) -> None:
            self.deaths.append(how)
            observer.worker_died(chunks[number], how)

        policy = LossPolicy(1 if settings.no_isolation else CHUNK_ATTEMPTS, lose)
        workers = create_workers(self.workers, self.dask, observer.notice, policy)
        job = RunJob(
            replace(settings, data=settings.data and settings.data.absolute(), results=None),
            session.corpus.digest,
            subject_infos(session.subjects),
            {} if self.dask is None else run_environment(session.subjects),
            chunks,
            local=(session.corpus, session.subjects) if is_local else None,
        )
        if not is_local:
            session.stop_subjects()
        with closing(run_job(job, workers)) as results:  # type: ignore[type-var]
            for chunk in results:
                if self.dask is not None:
                    self.hosts.add(chunk.result.host)
                for result in chunk.result.results:
                    self.is_stopped = not record(result) and self.exit_first
                    if self.is_stopped:
                        return
