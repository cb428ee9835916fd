"""A run as a job: chunks of cases, which this process, worker processes or Dask workers execute."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from conformance.base.errors import JobError
from conformance.base.files.atomic_write import real_path
from conformance.base.jobs.job import require_number
from conformance.base.processes.helper import adopt_orphans
from conformance.base.serialization.decoding import MalformedError
from conformance.base.serialization.printable_text import one_line
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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.base.jobs.job import ChunkResult
    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.run.corpus_run.settings import Settings
    from conformance.run.results.records import RecordedOutputs
    from conformance.subjects.calling.subject_loading import Subject
    from conformance.subjects.isolation.protocol import SubjectInfo

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
                raise JobError("other-environment", name=name, there=_shorten(there), here=_shorten(here))

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


def _shorten(value: object) -> str:
    return one_line(str(value))[:200]


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
    from conformance.run.diagnosis.recorded_outputs import record_outputs

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
