"""`judge_corpus` runs a corpus: the command line, pytest and the Python interface call it and print its `Outcome`.

The cases of a session are executed by an `Execution`: `WorkerExecution` gives them to this process, to worker processes
or to Dask workers, and the pytest plugin gives them to pytest. A `RunJob` divides the cases into chunks for the
workers; in each process, an `Executor` executes them.
"""

from __future__ import annotations

import os
import socket
import sys
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec

from conformance.base.errors import ExitStatus, JobError
from conformance.base.files.atomic_write import install_signal_deferral, real_path
from conformance.base.jobs.job import require_number, run_job
from conformance.base.jobs.process_pool import CHUNK_ATTEMPTS, LossPolicy, create_workers
from conformance.base.processes.helper import adopt_orphans
from conformance.base.serialization.decoding import MalformedError
from conformance.base.serialization.printable_text import one_line, shorten_end
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import bundled_corpus_path, open_corpus, read_manifest
from conformance.run.corpus_run.environment_versions import run_environment
from conformance.run.judging.execute import execute
from conformance.run.judging.judging_options import ExecutionOptions
from conformance.run.judging.profile_rules import load_profile
from conformance.run.results.recorded_environment import LIBRARY_VARIABLES
from conformance.run.results.records import Judged  # noqa: TC001 - msgspec reads the annotation
from conformance.subjects.isolation.start_subjects import clients_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from conformance.base.jobs.job import ChunkResult
    from conformance.base.verdicts import Level, Verdict
    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.run.corpus_run.run_session import RunSession
    from conformance.run.corpus_run.settings import Settings
    from conformance.run.expectations.criterion import MissingCause, PassCriterion
    from conformance.run.results.failure_groups import FailureGroup
    from conformance.run.results.missing_operators import UnsupportedReason
    from conformance.run.results.outcome_counts import NodeShare, OutcomeCounts
    from conformance.run.results.records import Footer, Header, RecordedOutputs
    from conformance.subjects.calling.subject_names import Subject
    from conformance.subjects.isolation.protocol import SubjectInfo

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
        fault: an error after the verdicts, internal or of the system's files; None if there was none.
        is_interrupted: whether the user interrupted the run.
        missing_operators: a sentence for each subject that ends in an error where it seems to lack operators, or fails
            in older versions of an operator only.
        other_operators: lines for each backend of a first run on operators without cases of their own.
        unsupported_reasons: by subject, the reasons of unsupported cases of the levels that can fail the run.
        known_failures: a sentence for each known failure, if the options name the cases of the run.
    """

    settings: Settings
    header: Header
    footer: Footer
    criterion: PassCriterion
    groups: Sequence[FailureGroup]
    failing_cases: Mapping[str, Sequence[str]]
    node_shares: Sequence[NodeShare]
    fault: Exception | None = None
    is_interrupted: bool = False
    missing_operators: Sequence[str] = ()
    other_operators: Sequence[str] = ()
    unsupported_reasons: Mapping[str, Sequence[UnsupportedReason]] = field(default_factory=dict)
    known_failures: Sequence[str] = ()

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
        from conformance.run.results.outcome_counts import OutcomeCounts  # late: see `_finish`

        criterion = self.criterion
        known = criterion.known_failures.total()
        loose = criterion.loose_failures.total()
        shrunk = criterion.shrunk_failures.total()
        level = criterion.settings.level
        not_judged = criterion.open_elements
        return OutcomeCounts.count(criterion.verdicts.values(), known, level, loose, shrunk, not_judged)

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
        """Note that the user interrupted the run after so many of its results, which are written next."""

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
        if not len(session.recorder.assessed):
            raise
        is_interrupted = True
    finally:
        observer.execution_ended()
    if is_interrupted:
        observer.run_interrupted(len(session.recorder.assessed), len(session.items))
        session.end_subjects()
    return is_interrupted


def _finish(session: RunSession, execution: Execution, *, is_interrupted: bool) -> Outcome:
    """Decide whether the run passes, explain its failures unless it is interrupted, and end the results file."""
    from conformance.run.expectations.criterion import MissingCause  # late: workers need no criterion to start

    cause = MissingCause.INTERRUPTED if is_interrupted else execution.missing_cause
    completeness = session.completeness(cause, execution.deaths)
    footer, fault = session.finish(
        completeness,
        is_resumable=is_interrupted or (completeness.missing > 0 and not execution.is_stopped),
        processes=execution.processes,
        hosts=execution.hosts,
    )
    judged = session.recorder.assessed
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
        [*judged.missing_operators(), *judged.older_versions()],
        judged.other_operators(session.first_backends, session.settings.selection.operator)
        if not is_interrupted
        else [],
        judged.unsupported_reasons(),
        judged.known_failures() if session.settings.selection.case else [],
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
        from conformance.run.expectations.criterion import MissingCause  # late: see `_finish`

        return MissingCause.WORKERS_DIED if self.deaths else MissingCause.STOPPED

    def run(self, session: RunSession, record: Callable[[Judged], bool], observer: RunObserver) -> None:
        """See `Execution`.

        A crash of a subject is a verdict. Only a chunk whose worker died is executed again. It is lost after three dead
        workers, or without isolation after the first: a subject may have ended the worker.
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


MAX_CHUNK_CASES = 64
MIN_CHUNKS_PER_WORKER = 6


class CaseResults(msgspec.Struct):
    """Result of a chunk: the results of its cases, and the host that executed them."""

    host: str
    results: list[Judged]


@dataclass(frozen=True)
class Chunk:
    """Cases that one worker runs on one subject, one after the other.

    Attributes:
        subject: name of the subject.
        cases: ids of the cases.
    """

    subject: str
    cases: tuple[str, ...]


def divide_into_chunks(items: Sequence[tuple[str, str]], workers: int | None) -> tuple[Chunk, ...]:
    """Divide pairs of subject and case into chunks of one subject.

    The chunks of several workers are small, so that no worker waits long for another one at the end.

    Args:
        items: the pairs, subject by subject.
        workers: number of workers; None for this process, whose chunks have one case.
    """
    size = 1 if workers is None else max(1, min(MAX_CHUNK_CASES, len(items) // (workers * MIN_CHUNKS_PER_WORKER)))
    cases: dict[str, list[str]] = {}
    for subject, case in items:
        cases.setdefault(subject, []).append(case)
    return tuple(
        Chunk(subject, tuple(ids[start : start + size]))
        for subject, ids in cases.items()
        for start in range(0, len(ids), size)
    )


@dataclass(frozen=True)
class RunJob:
    """The cases of a run as a job; see `conformance.base.jobs.job.Job`.

    Attributes:
        settings: the settings of the run.
        digest: digest of the corpus.
        infos: the properties of the isolated subjects, which this process has started, by name.
        environment: the environment of this process, which Dask workers must have too; empty for workers on this
            machine.
        chunks: the chunks.
        local: the corpus and the subjects of this process, if it executes the job itself; workers do not receive them.
    """

    result_type: ClassVar[Any] = CaseResults

    settings: Settings
    digest: str
    infos: Mapping[str, SubjectInfo]
    environment: Mapping[str, str]
    chunks: tuple[Chunk, ...]
    local: tuple[Corpus, Sequence[Subject]] | None = None

    @property
    def is_remote(self) -> bool:
        """Whether Dask workers execute the job; each then checks that it computes what this process would compute."""
        return bool(self.environment)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that workers receive."""
        return {**self.__dict__, "local": None}

    def chunk_numbers(self) -> range:
        """See `conformance.base.jobs.job.Job`."""
        return range(len(self.chunks))

    def check_result(self, chunk: ChunkResult) -> None:
        """See `conformance.base.jobs.job.Job`."""
        require_number(chunk.number, len(self.chunks))
        expected = self.chunks[chunk.number]
        keys = [(result.subject, result.case) for result in chunk.result.results]
        if keys != [(expected.subject, case) for case in expected.cases]:
            raise MalformedError("the results are of other cases")

    @contextmanager
    def open(self) -> Iterator[Callable[[int], CaseResults]]:
        """See `conformance.base.jobs.job.Job`."""
        if self.local is None and not self.is_remote:
            adopt_orphans()
        executor = Executor(*(self.local or self.prepare_worker()), self.settings)
        try:
            yield partial(self._run_chunk, executor)
        except BaseException:
            executor.end()
            raise
        executor.stop()

    def prepare_worker(self) -> tuple[Corpus, Sequence[Subject]]:
        """Open the corpus and start the subjects in a worker.

        Raises:
            ConformanceError: the worker lacks the corpus or a subject, or has another one.
        """
        settings = self.settings
        path = real_path(self.settings.data or bundled_corpus_path())
        if self.is_remote:
            for name in LIBRARY_VARIABLES:  # a Dask worker has values of its own, such as OMP_NUM_THREADS=1
                os.environ.pop(name, None)
            os.environ.update({name: self.environment[name] for name in LIBRARY_VARIABLES if name in self.environment})
            corpus = open_corpus(path)
        else:
            corpus = read_manifest(path)  # this process has checked that every file exists
        if corpus.digest != self.digest:
            raise JobError("other-corpus", path=path)
        starting = settings.start_subjects({} if self.is_remote else self.infos)
        subjects = starting.subjects()
        if self.is_remote:
            try:
                self._check_same_results(subjects)
            except JobError:
                starting.end()
                raise
        return corpus, subjects

    def _check_same_results(self, subjects: Sequence[Subject]) -> None:
        """Check that a worker on another machine computes what this process would compute.

        Raises:
            JobError: a subject or the environment differs.
        """
        infos = subject_infos(subjects)
        environment = run_environment(subjects)
        pairs: list[tuple[str, object, object]] = [(name, info, infos[name]) for name, info in self.infos.items()]
        keys = sorted({*self.environment, *environment})
        pairs += [(name, self.environment.get(name, "none"), environment.get(name, "none")) for name in keys]
        for name, here, there in pairs:
            if here != there:
                raise JobError("other-environment", name=name, there=_shown(there), here=_shown(here))

    def _run_chunk(self, executor: Executor, number: int) -> CaseResults:
        chunk = self.chunks[number]
        return CaseResults(socket.gethostname(), [executor.run(chunk.subject, case) for case in chunk.cases])


class Executor:
    """Executes cases in one process, and stops the process of a subject when another subject follows."""

    def __init__(self, corpus: Corpus, subjects: Sequence[Subject], settings: Settings) -> None:
        self._corpus = corpus
        self._subjects = {subject.id: subject for subject in subjects}
        self._options = execution_options(settings)
        self._clients = clients_of(subjects)
        self._current: Subject | None = None

    def stop(self) -> None:
        """Stop the processes of the subjects."""
        for client in self._clients.values():
            client.stop()

    def end(self) -> None:
        """Kill the processes of the subjects."""
        for client in self._clients.values():
            client.end()

    def run(self, id: str, case: str) -> Judged:
        """Run a case on a subject and return the result."""
        subject = self._subjects[id]
        self._switch_to(subject)
        with discarded_output(is_needed=id not in self._clients):
            return execute(subject, load_case(self._corpus, self._corpus.cases[case]), self._options)

    def _switch_to(self, subject: Subject) -> None:
        """Make `subject` the current subject, and stop the process of a different previous subject."""
        if self._current is not None and self._current is not subject and self._current.id in self._clients:
            self._clients[self._current.id].stop()
        self._current = subject


def _shown(value: object) -> str:
    return shorten_end(one_line(str(value)), 200)


def execution_options(settings: Settings) -> ExecutionOptions:
    """Return the options with which each case of a run is executed."""
    counter = None
    if settings.accuracy:
        from conformance.run.judging.accuracy import AccuracyCounter

        counter = AccuracyCounter()
    profile = load_profile(settings.profile) if settings.profile is not None else None
    record_failure = _record_failure if settings.diagnosis else None
    return ExecutionOptions(
        settings.repeat, profile, counter, is_recording=settings.record_outputs, record_failure=record_failure
    )


def _record_failure(subject: Subject, corpus: Corpus, entry: CorpusCase) -> RecordedOutputs | None:
    from conformance.run.diagnosis.failure_evidence import record_outputs

    return record_outputs(subject, corpus, entry)


def subject_infos(subjects: Sequence[Subject]) -> dict[str, SubjectInfo]:
    """Return the properties of the isolated subjects by name."""
    return {id: client.info() for id, client in clients_of(subjects).items()}


@contextmanager
def discarded_output(*, is_needed: bool) -> Iterator[None]:
    """Discard what a subject in this process prints in the block, because reports may go to standard output.

    Args:
        is_needed: whether a subject runs in this process; the output of an isolated subject does not come here.
    """
    if not is_needed:
        yield
        return
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(descriptor) for descriptor in (1, 2)]
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        try:
            for descriptor in (1, 2):
                os.dup2(nowhere.fileno(), descriptor)
            yield
        finally:
            for descriptor, original in zip((1, 2), kept, strict=True):
                os.dup2(original, descriptor)
                os.close(original)
