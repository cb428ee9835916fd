"""Run the corpus on all releases that the store lacks, as a job: each chunk is one release.

In this process, a chunk continues an interrupted run, judges stored results again, and repeats the cases whose verdict
differs from that of a neighbouring release. A Dask worker runs a release, or one shard of a release of a slow subject,
in a temporary folder; a second job repeats the changed cases. The order of the releases starts with the newest and the
oldest and then halves the gaps, so an update that is interrupted shows most of the history. A release that does not
install or start is recorded with the reason.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import structs
from packaging.version import Version

from conformance.base.errors import HistoryError, ResultsError, SubjectError, UnknownName
from conformance.base.files.atomic_write import supervised_temp_dir
from conformance.base.jobs.job import require_number, run_job
from conformance.base.jobs.process_pool import ProcessWorkers
from conformance.base.plugins import registered_entry_points
from conformance.base.serialization.decoding import MalformedError
from conformance.base.verdicts import Verdict
from conformance.corpus.cases.corpus import bundled_corpus_path, open_corpus
from conformance.run.results.records import Header, Result  # noqa: TC001 - msgspec reads the annotations
from conformance.studies.history.release_ranges import (
    ReleaseRange,
    find_releases,
    full_disk_error,
    is_disk_error,
    is_network_error,
    is_timeout,
    middles_between,
    no_network_error,
)
from conformance.studies.history.release_run import SHARDS, ReleaseRun, ReleaseTask, without_paths, work_folder
from conformance.studies.history.store import HistoryStore
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.environments.requirements import released_package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Executor, Future

    from conformance.base.jobs.job import ChunkResult, Workers
    from conformance.corpus.cases.corpus import Corpus
    from conformance.studies.history.release_run import RunSettings
    from conformance.studies.history.store import StoredRelease
    from conformance.subjects.environments.registry import Environment


def order_by_gaps(releases: Sequence[str]) -> list[str]:
    """Return sorted releases in the order of an update: the newest, the oldest, then the middle of each gap."""
    last = len(releases) - 1
    order = dict.fromkeys([last, 0, *middles_between(0, last)])
    return [releases[number] for number in order] if releases else []


def missing_releases(
    store: HistoryStore, target: SubjectName, releases: Iterable[str], corpus: Corpus, *, retry: bool = False
) -> list[str]:
    """Return the releases that have no results of the corpus and are not recorded as unavailable.

    Args:
        retry: also return the releases that are recorded as unavailable.
    """
    present = {each.version for each in store.releases(target) if each.digest == corpus.digest}
    unavailable = set() if retry else set(map(Version, store.unavailable(target)))
    return [release for release in releases if Version(release) not in present | unavailable]


class ReleaseChunkResult(msgspec.Struct, forbid_unknown_fields=True):
    """Result of one chunk: the header and the results, or the code and the text of the error of the release.

    Attributes:
        header: the header; None after an error.
        results: the results.
        code: code of the error; empty without an error.
        reason: text of the error.
    """

    header: Header | None = None
    results: list[Result] = []
    code: str = ""
    reason: str = ""


@dataclass(frozen=True)
class ReleaseJob:
    """The job of an update.

    Attributes:
        tasks: the releases or their shards.
        settings: how they are run.
        digest: digest of the corpus, which every worker must have.
        local: the store and the corpus of this process, if it executes the job itself.
    """

    result_type: ClassVar[Any] = ReleaseChunkResult

    tasks: tuple[ReleaseTask, ...]
    settings: RunSettings
    digest: str
    local: tuple[HistoryStore, Corpus] | None = None

    def chunk_numbers(self) -> Iterable[int]:
        """See `conformance.base.jobs.job.Job`."""
        return range(len(self.tasks))

    def check_result(self, chunk: ChunkResult) -> None:
        """See `conformance.base.jobs.job.Job`."""
        require_number(chunk.number, len(self.tasks))
        task = self.tasks[chunk.number]
        header = chunk.result.header
        history = header.history if header is not None else None
        if chunk.result.code:
            return
        if history is None or (history.subject, history.release) != (task.target.text, task.release):
            raise MalformedError(f"it does not have results of {task.subject}")

    @contextmanager
    def open(self) -> Iterator[Callable[[int], ReleaseChunkResult]]:
        """See `conformance.base.jobs.job.Job`."""
        if self.local is not None:
            with ThreadPoolExecutor(1) as pool:
                yield self._run_with_preparation(pool, *self.local)
            return
        corpus = open_corpus(self.settings.data or bundled_corpus_path())
        if corpus.digest != self.digest:
            raise SubjectError("other-corpus", own_digest=corpus.digest[:16], digest=self.digest[:16])
        yield lambda number: self._run_on_worker(corpus, self.tasks[number])

    def _run_with_preparation(
        self, pool: Executor, store: HistoryStore, corpus: Corpus
    ) -> Callable[[int], ReleaseChunkResult]:
        """Return the function that executes a chunk while the environment of the next release is created.

        An installation waits for the network most of its time: 14 of 16 seconds, beside a run of 22 seconds.
        """

        @lru_cache(maxsize=2)
        def prepare(number: int) -> tuple[ReleaseRun, Future[Environment | None]]:
            run = ReleaseRun(store, corpus, self.tasks[number], self.settings)
            return run, pool.submit(run.prepare)

        def run_chunk(number: int) -> ReleaseChunkResult:
            run, environment = prepare(number)
            if number + 1 < len(self.tasks):
                prepare(number + 1)
            return _chunk_result(run, environment.result)

        return run_chunk

    def _run_on_worker(self, corpus: Corpus, task: ReleaseTask) -> ReleaseChunkResult:
        with supervised_temp_dir() as scratch:
            run = ReleaseRun(HistoryStore(scratch), corpus, task, self.settings)
            try:
                return _chunk_result(run, run.prepare)
            finally:
                run.give_back()


def _chunk_result(run: ReleaseRun, prepare: Callable[[], Environment | None]) -> ReleaseChunkResult:
    """Return the records of a run, or its error; the environment of a run that ends early can be used again."""
    try:
        header, results = run.collect(prepare())
    except (SubjectError, ResultsError) as error:
        return ReleaseChunkResult(code=error.code, reason=error.problem)
    run.give_back()
    return ReleaseChunkResult(header, results)


@dataclass
class UpdateCounts:
    """Number of releases that an update ran, recorded as unavailable, and could not run."""

    done: int = 0
    unavailable: int = 0
    failed: int = 0


def update_history(
    store: HistoryStore,
    targets: Sequence[tuple[SubjectName, str]],
    settings: RunSettings,
    *,
    only_new: bool,
    retry: bool,
    team: Workers | None,
    show: Callable[[str], None],
    warn: Callable[[str], None],
) -> UpdateCounts:
    """Run the releases that a history lacks; see `find_tasks` and `update_store`, whose arguments these are."""
    corpus = open_corpus(settings.data or bundled_corpus_path())
    with store.lock():
        if any(each.digest == corpus.digest for each in store.releases()):
            store.add_cases(corpus)  # a removed file with the cases of this corpus is written again
        tasks = find_tasks(store, corpus, targets, settings, only_new=only_new, retry=retry, show=show, warn=warn)
        return update_store(store, corpus, tasks, settings, show, team)


def update_store(
    store: HistoryStore,
    corpus: Corpus,
    tasks: Sequence[ReleaseTask],
    settings: RunSettings,
    report: Callable[[str], None],
    workers: Workers | None = None,
) -> UpdateCounts:
    """Run the tasks and add their results to the store. The caller holds the lock of the store.

    Args:
        report: function that prints a line on the progress.
        workers: Dask workers; None to run the tasks in this process, in their order.

    Raises:
        HistoryError: the package index cannot be reached, or the disk is full. The results so far are in the store.
        ConformanceError: the workers cannot run the job, or the store cannot be written.
        KeyboardInterrupt: the user interrupted the update; the run in progress can be continued.
    """
    counts = UpdateCounts()
    if workers is None:
        job = ReleaseJob(tuple(tasks), settings, corpus.digest, (store, corpus))
        list(_run_tasks(store, corpus, job, ProcessWorkers(1, report), report, counts))
        return counts
    job = ReleaseJob(_with_shards(tasks), settings, corpus.digest)
    repeated = []
    for each in [*_run_tasks(store, corpus, job, workers, report, counts)]:
        task = ReleaseTask(each.target, each.release)
        verdicts = {case: row.verdict for (_, case), row in each.read().rows.items()}
        if changed := ReleaseRun(store, corpus, task, settings).changed_cases(verdicts):
            repeated.append(replace(task, cases=tuple(changed)))
    if repeated:
        report(f"Releases with changed verdicts, whose cases are repeated: {len(repeated)}")
        counted = UpdateCounts()
        list(_run_tasks(store, corpus, replace(job, tasks=tuple(repeated)), workers, report, counted))
        counts.failed += counted.failed
    return counts


def _with_shards(tasks: Iterable[ReleaseTask]) -> tuple[ReleaseTask, ...]:
    """Return the tasks, those of slow subjects divided into shards."""
    found = []
    for task in tasks:
        count = SHARDS.get(task.target.name, 1)
        found += [replace(task, shard=f"{number}/{count}") for number in range(1, count + 1)] if count > 1 else [task]
    return tuple(found)


def _run_tasks(
    store: HistoryStore,
    corpus: Corpus,
    job: ReleaseJob,
    workers: Workers,
    report: Callable[[str], None],
    counts: UpdateCounts,
) -> Iterator[StoredRelease]:
    """Run the tasks of a job, and yield each release when all its shards are in the store."""
    parts: dict[tuple[SubjectName, str], list[ReleaseChunkResult]] = defaultdict(list)
    missing = Counter((task.target, task.release) for task in job.tasks)
    began = last = time.monotonic()
    for number, chunk in enumerate(run_job(job, workers), 1):
        task = job.tasks[chunk.number]
        result = chunk.result
        release = task.target, task.release
        if result.code:
            line = _record_error(store, task, result, counts)
        else:
            parts[release].append(result)
            missing[release] -= 1
            line = _summary(result.results)
        if not missing[release]:
            yield _add_parts(store, corpus, task, parts.pop(release))
            counts.done += 1
        now = time.monotonic()
        seconds = now - last
        left = (now - began) / number * (len(job.tasks) - number)
        last = now
        subject = f"{task.subject}{f' shard {task.shard}' if task.shard else ''}"
        report(f"[{number}/{len(job.tasks)}] {subject}: {line}; {seconds:.0f} s, about {_duration(left)} left")


def _summary(results: Iterable[Result]) -> str:
    counts = Counter(result.verdict for result in results)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def _record_error(store: HistoryStore, task: ReleaseTask, result: ReleaseChunkResult, counts: UpdateCounts) -> str:
    """Record that a release is unavailable, unless the cause is a slow machine; return a line on the error.

    Raises:
        HistoryError: the package index cannot be reached, or the disk is full.
    """
    problem = without_paths(result.reason)
    is_of_subject = result.code.partition(".")[0] == SubjectError.area
    if not is_of_subject or task.cases or is_timeout(problem):  # a release whose cases are repeated has results
        counts.failed += 1
        return f"not run: {problem}"
    if is_network_error(problem):
        raise no_network_error(task.subject, problem)
    if is_disk_error(problem):
        raise full_disk_error(f"{task.subject} cannot be installed: {problem}")
    store.record_unavailable(task.target, task.release, result.code, problem)
    counts.unavailable += 1
    return f"unavailable: {problem}"


def _add_parts(
    store: HistoryStore, corpus: Corpus, task: ReleaseTask, parts: Sequence[ReleaseChunkResult]
) -> StoredRelease:
    """Add the results of the shards of a release to the store, or replace the results of repeated cases.

    Results of another corpus are replaced, and the results files of the run are removed.
    """
    header = parts[0].header
    assert header is not None, "a part without an error has a header"
    results = {result.case: result for part in parts for result in part.results}
    stored = [each for each in store.releases(task.target) if each.release == task.release]
    if task.cases:
        earlier = next(each for each in stored if each.digest == corpus.digest)
        header = earlier.header  # another header would name another file
        values = store.values(task.target)
        for record in earlier.read().results.values():
            values_of = values.get(str(record.returned), record.returned)
            results.setdefault(record.case, structs.replace(record, returned=values_of))
    number = len(results)
    header = structs.replace(
        header,
        corpus=structs.replace(header.corpus, selected=number),
        criterion=structs.replace(header.criterion, expected_results=number),
    )
    added = store.add(header, results.values(), corpus)
    replaced = max(stored, key=lambda each: each.header.started, default=added)
    if replaced.path != added.path:
        replaced.path.unlink(missing_ok=True)  # its values remain
    shutil.rmtree(work_folder(store, corpus, task), ignore_errors=True)
    return added


def find_tasks(
    store: HistoryStore,
    corpus: Corpus,
    named: Iterable[tuple[SubjectName, str]],
    settings: RunSettings,
    *,
    only_new: bool,
    retry: bool,
    show: Callable[[str], None],
    warn: Callable[[str], None],
) -> list[ReleaseTask]:
    """Return the releases that an update runs.

    Args:
        store: the history.
        corpus: the corpus.
        named: the subjects, each with a range of releases.
        settings: whether an index of packages is read, and for which Python.
        only_new: whether only releases after the newest one of the history are run.
        retry: whether releases that are recorded as unavailable are tried again.
        show: is called with the number of releases of each subject.
        warn: is called with the end of a range that cannot be installed.

    Raises:
        HistoryError: a range has no release.
    """
    tasks: list[ReleaseTask] = []
    for target, text in named:
        if settings.offline:
            releases = _stored_releases(store, target, text)
        else:
            releases = _find_releases(store, target, text, settings.sources.python, warn, only_new=only_new)
        missing = missing_releases(store, target, releases, corpus, retry=retry)
        show(f"{target.text}: {len(releases)} release{'s' * (len(releases) != 1)}, {len(missing)} to run")
        tasks += [ReleaseTask(target, release, known=tuple(releases)) for release in order_by_gaps(missing)]
    return tasks


def _stored_releases(store: HistoryStore, target: SubjectName, text: str) -> list[str]:
    """Return the releases of a subject in a range that the history has.

    Raises:
        HistoryError: there is none.
    """
    range = ReleaseRange.parse(text)
    stored = [each for each in store.releases(target) if range.has(each.version)]
    if not stored:
        raise HistoryError("no-result.range", subject=target.text)
    return list(dict.fromkeys(each.release for each in stored))


def parse_range(text: str, *, is_optimizer: bool) -> tuple[SubjectName, str]:
    """Return the subject without its release, and its range of releases as text.

    Args:
        text: the name with the range.
        is_optimizer: whether it is a graph optimizer, although a backend may have the same name.

    Raises:
        UnknownName: there is no such subject.
    """
    kinds = [SubjectKind.OPTIMIZER] if is_optimizer else [SubjectKind.BACKEND, SubjectKind.OPTIMIZER]
    for kind in kinds:
        named = SubjectName.parse(text, kind)
        if named.name in registered_entry_points(kind.group):
            return named.without_release, named.release
    known = [name for kind in kinds for name in registered_entry_points(kind.group)]
    raise UnknownName("unknown-subject", name=SubjectName.parse(text, kinds[0]).name, text=text, known=known)


def _find_releases(
    store: HistoryStore,
    target: SubjectName,
    text: str,
    python: str,
    warn: Callable[[str], None],
    *,
    only_new: bool,
) -> list[str]:
    """Return the releases of a subject in a range, the oldest first."""
    range = ReleaseRange.parse(text)
    package = released_package(target)
    stored = [each.version for each in store.releases(target)]
    if not only_new or not stored:
        found = find_releases(package, range, python)
        for end in range.missing_ends(found):
            warn(f"warning: {package} {end} has no wheel for this Python")
        return found
    try:
        newest = find_releases(package, ReleaseRange(max(stored)), python)
    except HistoryError as error:
        if error.code != "history.no-release":
            raise
        return []
    return [release for release in newest if range.has(Version(release))]
