"""Execution of a run: its cases as a job, on this process, worker processes or Dask workers."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from conformance.base.errors import OutputFault, UsageError
from conformance.base.files.atomic_write import install_signal_deferral
from conformance.base.jobs.job import run_job
from conformance.base.jobs.process_pool import CHUNK_ATTEMPTS, LossPolicy, create_workers
from conformance.base.serialization.terminal import print_notice, progress_counter
from conformance.run.corpus_run.corpus_job import RunJob, divide_into_chunks, subject_infos
from conformance.run.corpus_run.environment_versions import run_environment
from conformance.run.corpus_run.last_failed import item_id, select_last_failed, update_last_failed
from conformance.run.corpus_run.resume import partial_path
from conformance.run.corpus_run.run_session import RunSession
from conformance.run.corpus_run.terminal_report import OutputOptions, print_outcome

if TYPE_CHECKING:
    from conformance.run.corpus_run.corpus_job import Chunk
    from conformance.run.corpus_run.recorder import RunEnd
    from conformance.run.corpus_run.resume import InterruptedRun
    from conformance.run.corpus_run.settings import Settings
    from conformance.run.results.records import Result
    from conformance.subjects.isolation.start_subjects import StartingSubjects

DASK_CHUNK_WORKERS = 16
"""Number of workers for which the size of chunks is computed if Dask workers execute them; they come and go."""


@dataclass(frozen=True)
class RunRequest:
    """Settings of a run, and how the command executes it and prints its outcome.

    Attributes:
        settings: the subjects, the cases and the pass criterion.
        workers: number of worker processes, or None to run in this process.
        dask: address of the Dask scheduler whose workers run the cases, or None.
        exit_first: whether to stop at the first unexpected result.
        last_failed: whether to run only the cases that failed in the last run.
        interrupted_run: the run to continue, or None.
        output: how the outcome is printed.
        starting: the subjects, if the command starts them already; None for an interrupted run.
    """

    settings: Settings
    workers: int | None = None
    dask: str | None = None
    exit_first: bool = False
    last_failed: bool = False
    interrupted_run: InterruptedRun | None = None
    output: OutputOptions = field(default_factory=OutputOptions)
    starting: StartingSubjects | None = None


def run_corpus(request: RunRequest) -> RunEnd:
    """Run the corpus, write the results, and print the outcome.

    Raises:
        ConformanceError: the settings, the corpus, a subject, a worker or an expectations file is wrong.
        KeyboardInterrupt: the user interrupted the run before its first result, or interrupted its end.
    """
    with install_signal_deferral():
        more_options = {"--lf": "yes"} if request.last_failed else {}
        session = RunSession(request.settings, request.interrupted_run, more_options, request.starting)
        try:
            end = _execute(session, request)
        except BaseException as error:
            session.abandon(error)
            raise
    try:
        print_outcome(session, end.footer, request.output)
    except BrokenPipeError:
        _discard_output()
    except Exception as error:  # noqa: BLE001 - the results are written, and the reports still must be
        end = end._replace(fault=end.fault or OutputFault.caused_by(error, "the outcome was not printed"))
    return end


def _execute(session: RunSession, request: RunRequest) -> RunEnd:
    """Execute the cases of a session, and write the end of its results file."""
    is_interrupted = False
    session.continue_interrupted_run()
    if request.last_failed:
        by_id = {item_id(*item): item for item in session.items}
        session.restrict({by_id[id] for id in select_last_failed(by_id)})
    if not session.items:
        raise UsageError("no-case-selected")
    execution = _Execution(session, request)
    gc.freeze()  # what exists now lives until the end of the run
    gc.enable()
    try:
        execution.run()
    except KeyboardInterrupt:
        if not len(session.recorder.judged):
            print_notice("Interrupted before the first result: nothing is written.")
            raise
        is_interrupted = True
        print_notice(
            f"Interrupted after {len(session.recorder.judged)} of {len(session.items)} results: the subjects are ended,"
            " and the failures are explained. Ctrl-C again ends the command at once."
        )
        session.end_subjects()
    finally:
        update_last_failed({item_id(*item): has_failed for item, has_failed in execution.has_failed.items()})
    try:
        session.stop_subjects()
        return session.finish(
            execution.why_missing,
            is_interrupted=is_interrupted,
            is_stopped=execution.is_stopped,
            processes=request.workers or 1,
            hosts=execution.hosts,
        )
    except KeyboardInterrupt:
        print_notice(_last_words(session))
        raise


def _last_words(session: RunSession) -> str:
    """Return the line for an interruption at the end of a run: the partial results file, and how to continue."""
    target = session.settings.results
    if target is None:
        return "Interrupted: no results are written, because --results is not given."
    return (
        f"Interrupted: {partial_path(target)} has {len(session.recorder.judged)} results."
        f" Continue the run with the same options and --resume {target}"
    )


class _Execution:
    """The execution of the pending items of a session.

    Attributes:
        has_failed: whether an item had an unexpected result, by its subject and its case.
        is_stopped: whether `--exit-first` stopped the run.
        hosts: machines whose Dask workers executed cases.
    """

    def __init__(self, session: RunSession, request: RunRequest) -> None:
        self._session = session
        self._request = request
        self._losses: list[str] = []
        self._chunks: tuple[Chunk, ...] = ()
        self.has_failed: dict[tuple[str, str], bool] = {}
        self.is_stopped = False
        self.hosts: set[str] = set()

    def run(self) -> None:
        """Execute the items and record their results.

        A crash of a subject is a verdict. Only a chunk whose worker died is executed again; without isolation, a
        subject may have ended the worker, and the chunk is lost.

        Raises:
            ConformanceError: the corpus is altered, a file cannot be written, or the workers cannot do the job.
        """
        request = self._request
        session = self._session
        settings = request.settings
        is_local = request.workers is None and request.dask is None
        workers = create_workers(
            request.workers,
            request.dask,
            print_notice,
            LossPolicy(1 if settings.no_isolation else CHUNK_ATTEMPTS, self._lose),
        )
        divisor = None if is_local else request.workers or DASK_CHUNK_WORKERS
        self._chunks = divide_into_chunks(session.pending_items, divisor)
        job = RunJob(
            replace(settings, data=settings.data and settings.data.absolute(), results=None),
            session.corpus.digest,
            subject_infos(session.subjects),
            {} if request.dask is None else run_environment(session.subjects),
            self._chunks,
            local=(session.corpus, session.subjects) if is_local else None,
        )
        if not is_local:
            session.stop_subjects()
        with ExitStack() as stack:
            bar = progress_counter("running", len(session.pending_items))
            advance = stack.enter_context(bar) if sys.stderr.isatty() else None
            for chunk in stack.enter_context(closing(run_job(job, workers))):  # type: ignore[type-var]
                if request.dask is not None:
                    self.hosts.add(chunk.result.host)
                for result in chunk.result.results:
                    self._record(result)
                    if advance is not None:
                        advance(result.case)
                    if self.is_stopped:
                        return

    def _lose(self, number: int, how: str) -> None:
        """Report a chunk whose results are missing, because its workers died."""
        self._losses.append(how)
        chunk = self._chunks[number]
        cases = chunk.cases[0] if len(chunk.cases) == 1 else f"{len(chunk.cases)} cases from {chunk.cases[0]}"
        print_notice(f"A worker died ({how}): the results of {chunk.subject} on {cases} are missing.")

    def _record(self, result: Result) -> None:
        is_expected = self._session.add(result)
        self.has_failed[result.subject, result.case] = not is_expected
        self.is_stopped = self._request.exit_first and not is_expected

    @property
    def why_missing(self) -> str:
        """Why results are missing, as a clause, if any are."""
        if not self._losses:
            return "the run was stopped early"
        count = f"{len(self._losses)} worker process{'es' * (len(self._losses) > 1)} died"
        return f"{count} (the last {self._losses[-1]})"


def _discard_output() -> None:
    """Discard what is still printed, because nobody reads it any more. The reports are written nevertheless."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
