"""An update as a distributed job: each chunk is one release, or one shard of a release of a slow subject.

A worker creates the environment, runs the cases in a temporary folder, removes the environment and returns the packed
records. The calling process adds complete releases to the store. A second job repeats the cases whose verdicts changed.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from msgspec import structs

from conformance.corpus.corpus import bundled_corpus_path, open_corpus
from conformance.errors import ResultsError, SubjectError
from conformance.files.temp_dir import supervised_temp_dir
from conformance.history.store import HistoryStore
from conformance.history.update import SHARDS, ReleaseRun, ReleaseTask, UpdateCounts, record_error
from conformance.jobs.job import require_number, run_job
from conformance.results.file import decode_record, encode_record
from conformance.results.records import Header, Result
from conformance.serialization.decoding import MalformedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.corpus import Corpus
    from conformance.history.store import StoredRelease, Target
    from conformance.history.update import RunSettings
    from conformance.jobs.job import ChunkResult, Workers


class ReleaseChunkResult(msgspec.Struct, forbid_unknown_fields=True):
    """Result of one chunk: the packed records, or the code and the text of the error of the release.

    Attributes:
        records: the header and the results, packed by gzip; empty after an error.
        code: code of the error; empty without an error.
        reason: text of the error.
    """

    records: bytes = b""
    code: str = ""
    reason: str = ""


@dataclass(frozen=True)
class ReleaseJob:
    """The job of an update.

    Attributes:
        tasks: the releases or their shards.
        settings: how they are run.
        digest: digest of the corpus, which every worker must have.
    """

    result_type: ClassVar[Any] = ReleaseChunkResult

    tasks: tuple[ReleaseTask, ...]
    settings: RunSettings
    digest: str

    @property
    def identity(self) -> Mapping[str, Any]:
        """See `conformance.jobs.job.Job`."""
        tasks = [[str(task.target.kind), task.subject, task.shard, *task.cases] for task in self.tasks]
        return {"history": tasks, "corpus": self.digest}

    def chunk_numbers(self) -> Iterable[int]:
        """See `conformance.jobs.job.Job`."""
        return range(len(self.tasks))

    def check_result(self, chunk: ChunkResult) -> None:
        """See `conformance.jobs.job.Job`."""
        require_number(chunk.number, len(self.tasks))
        if chunk.result.code:
            return
        task, (header, *_) = self.tasks[chunk.number], _unpack_records(chunk.result.records)
        found = header.history.subject, header.history.release
        if found != (task.target.text, task.release):
            raise MalformedError(f"it has results of {'@'.join(found)}, not of {task.subject}")

    @contextmanager
    def open(self) -> Iterator[Callable[[int], ReleaseChunkResult]]:
        """See `conformance.jobs.job.Job`."""
        corpus = open_corpus(self.settings.data or bundled_corpus_path())
        if corpus.digest != self.digest:
            raise SubjectError(
                "other-corpus",
                f"A worker has another corpus (digest {corpus.digest[:16]}) than this update ({self.digest[:16]}).",
                "Install the same version of the suite on all workers.",
            )
        yield lambda number: self._run_chunk(corpus, self.tasks[number])

    def _run_chunk(self, corpus: Corpus, task: ReleaseTask) -> ReleaseChunkResult:
        with supervised_temp_dir(Path(gettempdir()), "onnx-conformance-") as scratch:
            run = ReleaseRun(HistoryStore(scratch), corpus, task, self.settings)
            try:
                environment = run.prepare()
                try:
                    header, records = run.collect(environment)
                finally:
                    run.clean()
            except (SubjectError, ResultsError) as error:
                return ReleaseChunkResult(code=error.code, reason=error.problem)
        packed = gzip.compress(b"".join(map(encode_record, [header, *records])), mtime=0)
        return ReleaseChunkResult(packed)


def update_store_on_workers(
    store: HistoryStore,
    corpus: Corpus,
    tasks: Sequence[ReleaseTask],
    settings: RunSettings,
    workers: Workers,
    report: Callable[[str], None],
) -> UpdateCounts:
    """Run the tasks on workers and add their results to the store. The caller holds the lock of the store.

    Args:
        report: function that prints a line on the progress.

    Raises:
        ConformanceError: the workers cannot run the job, or the store cannot be written.
    """
    counts = UpdateCounts()
    stored = [*_run_tasks(store, corpus, _with_shards(tasks), settings, workers, report, counts)]
    repeated = []
    for each in stored:
        task = ReleaseTask(each.target, each.release)
        verdicts = {case: row.verdict for (_, case), row in each.read().rows.items()}
        if changed := ReleaseRun(store, corpus, task, settings).changed_cases(verdicts):
            repeated.append(replace(task, cases=tuple(changed)))
    if repeated:
        report(f"Releases with changed verdicts, whose cases are repeated: {len(repeated)}")
        counted = UpdateCounts()
        list(_run_tasks(store, corpus, repeated, settings, workers, report, counted))
        counts.failed += counted.failed
    return counts


def _with_shards(tasks: Iterable[ReleaseTask]) -> list[ReleaseTask]:
    """Return the tasks, those of slow subjects divided into shards."""
    found = []
    for task in tasks:
        count = SHARDS.get(task.target.name, 1)
        found += [replace(task, shard=f"{number}/{count}") for number in range(1, count + 1)] if count > 1 else [task]
    return found


def _run_tasks(
    store: HistoryStore,
    corpus: Corpus,
    tasks: Sequence[ReleaseTask],
    settings: RunSettings,
    workers: Workers,
    report: Callable[[str], None],
    counts: UpdateCounts,
) -> Iterator[StoredRelease]:
    """Run tasks on workers, and yield each release when all its shards are in the store."""
    parts: dict[tuple[Target, str], list[list[Any]]] = defaultdict(list)
    missing = Counter((task.target, task.release) for task in tasks)
    for number, chunk in enumerate(run_job(ReleaseJob(tuple(tasks), settings, corpus.digest), workers), 1):
        task, result = tasks[chunk.number], chunk.result
        release = task.target, task.release
        line = f"[{number}/{len(tasks)}] {task.subject}{f' shard {task.shard}' if task.shard else ''}"
        if result.code:
            _record_error(store, task, result, counts)
            report(f"{line}: {result.reason}")
            continue
        records = _unpack_records(result.records)
        parts[release].append(records)
        report(f"{line}: {len(records) - 1} results")
        missing[release] -= 1
        if not missing[release]:
            yield _add_parts(store, corpus, task, parts.pop(release))
            counts.done += 1


def _record_error(store: HistoryStore, task: ReleaseTask, result: ReleaseChunkResult, counts: UpdateCounts) -> None:
    area, _, name = result.code.partition(".")
    if area == SubjectError.area and not task.cases:  # a release whose cases are repeated has results
        record_error(store, task, SubjectError(name, result.reason, ""), counts)
    else:
        counts.failed += 1


def _add_parts(store: HistoryStore, corpus: Corpus, task: ReleaseTask, parts: Sequence[list[Any]]) -> StoredRelease:
    """Add the results of the shards of a release to the store, or replace the results of repeated cases."""
    header = parts[0][0]
    results: dict[str, Result] = {record.case: record for _, *records in parts for record in records}
    if task.cases:
        stored = [each for each in store.releases(task.target) if each.release == task.release]
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
    return store.add(header, results.values(), corpus)


_MAX_UNPACKED_BYTES = 2**28


def _unpack_records(packed: bytes) -> list[Any]:
    """Return the header and the result records of a chunk.

    Raises:
        MalformedError: the worker returned something else.
    """
    try:
        content = zlib.decompressobj(31).decompress(packed, _MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise MalformedError(f"it is not packed records ({error})") from None
    records: list[Any] = [decode_record(line) for line in content.splitlines(keepends=True)]
    header, *results = records or [None]
    if (
        not isinstance(header, Header)
        or header.history is None
        or not all(isinstance(each, Result) for each in results)
    ):
        raise MalformedError("it is not a header and results")
    return records
