"""The partial results file of a run in progress, and resuming of an interrupted run.

A run writes its results to `NAME.partial` and renames this file after the last record. The file is locked against other
runs. A killed run can be resumed, because each record in the file is complete.
"""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from conformance.base.errors import ResultsError, UsageError
from conformance.base.files.atomic_write import real_path
from conformance.base.files.journal import Journal, UnsafeState, first_difference, open_state, state_errors
from conformance.base.verdicts import Level
from conformance.run.results.recorded_environment import without_data
from conformance.run.results.records import Selection
from conformance.run.results.results_file import IndexedLines, LazyRecords, record_kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from conformance.run.corpus_run.settings import Settings
    from conformance.run.results.records import ArchiveRecord, CaseRecord, Header, Result
    from conformance.run.results.results_file import Key


PARTIAL_SUFFIX = ".partial"
"""Suffix of a results file until its footer is written."""


def partial_path(target: Path) -> Path:
    """Return the path of the partial results file: `NAME.partial` for the results file `NAME`."""
    return target.with_name(target.name + PARTIAL_SUFFIX)


class PartialResults:
    """The results file of a run in progress, locked against other runs.

    Args:
        target: the final path of the results file. If it is a symbolic link, the file that it names is replaced.

    Raises:
        UsageError: another run is writing the file, or the file cannot be written.
        JobError: the file is a link, a pipe or a device.
    """

    def __init__(self, target: Path) -> None:
        self._target = real_path(target)
        self._path = partial_path(self._target)
        with self._as_usage_error():
            self._journal = Journal(self._path)
        self._records = 0
        self._is_kept = self._journal.size > 0
        """Whether the file has records of an earlier run, which may still be resumed."""

    def begin(self) -> None:
        """Empty the file; it may contain the records of an earlier, interrupted run."""
        self._journal.cut(0)
        self._is_kept = False

    def continue_from(self, source: Path, size: int) -> None:
        """Set the content to the first `size` bytes of `source`, which may be this file itself."""
        with self._as_usage_error(), os.fdopen(open_state(source), "rb") as stream:
            if not os.path.samestat(os.fstat(stream.fileno()), os.fstat(self._journal.descriptor)):
                self._journal.cut(0)
                while block := stream.read(2**20):
                    self._journal.append(block)
            self._journal.cut(size)
        self._is_kept = True

    def write(self, line: bytes) -> None:
        """Append a record, encoded by `encode_record`. If the disk is full, the records before it can be resumed."""
        try:
            with self._as_usage_error():
                self._journal.append(line)
        except UsageError:
            self.keep()
            raise
        self._records += 1

    def keep(self) -> None:
        """Keep the file when the run is abandoned, if it has results: the run can be resumed."""
        self._is_kept = self._is_kept or self._records > 1

    def finish(self) -> None:
        """Rename the file to its final path."""
        with self._as_usage_error():
            self._path.replace(self._target)
        self._journal.close()

    def abandon(self) -> None:
        """Remove the file, unless it has results that can be resumed: see `keep`, or those of an earlier run."""
        if self._journal.descriptor >= 0:
            if not self._is_kept:
                self._path.unlink(missing_ok=True)
            self._journal.close()

    @contextmanager
    def _as_usage_error(self) -> Iterator[None]:
        """Raise a `UsageError` for an error of the operating system, and a `JobError` for a file that is no state."""
        try:
            yield
        except UnsafeState as error:
            if error.name != "in-use":
                with state_errors(self._path):
                    raise
            raise UsageError("results-locked", path=self._target) from None
        except OSError as error:
            raise UsageError("cannot-write.results", path=self._target, reason=error.strerror) from None


_EQUAL_KEYS = ("format", "suite", "subjects", "environment", "selections", "clauses")
"""Keys of the header whose values must be equal in an interrupted run and the run that continues it."""


@dataclass(frozen=True)
class InterruptedRun:
    """The records of an interrupted run.

    Attributes:
        target: the final path of the results file.
        source: the file that contains the records.
        size: size of the complete records in bytes, without a footer.
        header: the header record.
        results: the result records by subject and case; each is read from the file on access.
        cases: the case records by id of the case; each is read from the file on access.
        archives: the archive records by id of the case; each is read from the file on access.
        is_complete: whether the run had ended with all results; continuing it executes no case.
    """

    target: Path
    source: Path
    size: int
    header: Header
    results: Mapping[Key, Result]
    cases: Mapping[str, CaseRecord]
    archives: Mapping[str, ArchiveRecord]
    is_complete: bool = False

    @property
    def completed(self) -> frozenset[Key]:
        """The pairs of subject and case that have a result."""
        return frozenset(self.results)

    def settings_of(self, settings: Settings) -> Settings:
        """Return settings with the results file of this run, and with its selection and level if none is given.

        Everything else comes from the caller: nobody else may choose what it executes, reads and writes.

        Raises:
            UsageError: the settings name another results file, or no subject.
        """
        if not settings.subjects:
            named = [word for each in self.header.subjects for word in (each.kind.flag, each.id)]
            raise UsageError("subject-missing.resumed", words=shlex.join(named))
        if settings.results is not None and settings.results.absolute() != self.target.absolute():
            raise UsageError("options-conflict.results")
        recorded = recorded_selection(self.header)
        shard = settings.selection.shard
        selection = structs.replace(settings.selection, shard=None)
        if not selection.options:
            selection = recorded
        selection = structs.replace(selection, shard=shard or recorded.shard)
        level = Level(self.header.criterion.level) if settings.fail_level is Level.MUST else settings.fail_level
        return replace(settings, selection=selection, results=self.target, fail_level=level)


def read_interrupted_run(path: Path) -> InterruptedRun:
    """Read the records of an interrupted run, or of a run that has all its results.

    Args:
        path: the path that its results file would have had, or the path of the partial file.

    Raises:
        ResultsError: the file is missing or malformed, or the run was stopped on purpose.
        JobError: the file is a link, a pipe, a device or a folder, or is too large.
    """
    name = path.name.removesuffix(PARTIAL_SUFFIX)
    target = path.with_name(name) if name else path  # a folder such as `.`, or a file `.partial`
    is_partial = bool(target.name) and os.path.lexists(partial_path(target))
    source = partial_path(target) if is_partial else target
    if os.path.lexists(source):
        with state_errors(source):
            os.close(open_state(source))
    lines = IndexedLines(source)
    size = 0
    is_complete = False
    header: Header | None = None
    found: dict[str, dict[Any, int]] = {"result": {}, "case": {}, "archive": {}}
    for number, line in enumerate(lines):
        if not line.endswith(b"\n"):
            break
        record = lines.decode(number, line)
        kind = record_kind(record)
        if (kind == "header") != (number == 0):
            raise ResultsError(
                "malformed.interrupted", source=source, problem="has a header in the middle, or none at the beginning"
            )
        if kind == "footer":
            is_complete = header is not None and len(found["result"]) == header.criterion.expected_results
            if not record.interrupted and not is_complete:
                raise ResultsError("not-interrupted", source=source)
            break
        header, size = header or record, size + len(line)
        if kind != "header":
            key = (record.subject, record.case) if kind == "result" else record.case
            if key in found[kind]:
                raise ResultsError(
                    "malformed.interrupted", source=source, problem=f"has two {kind} records of one case"
                )
            found[kind][key] = number
    if header is None:
        raise ResultsError("malformed.interrupted", source=source, problem="has no header")
    results, cases, archives = (LazyRecords(lines.record, found[kind]) for kind in ("result", "case", "archive"))
    return InterruptedRun(target, source, size, header, results, cases, archives, is_complete)


def check_before_start(before: InterruptedRun, digest: str, settings: Settings, keys: Collection[Key]) -> None:
    """Check what can be checked before a subject is started: nothing must start for a file of another run.

    `check_can_resume` checks the remaining properties, such as the versions of the subjects.

    Args:
        before: the interrupted run.
        digest: digest of the corpus.
        settings: the settings of the new run.
        keys: the pairs of subject and case that the new run would execute.

    Raises:
        UsageError: a property differs.
        ResultsError: the file has a result that the run cannot have.
    """
    header = before.header
    _require_equal(
        before,
        ("corpus", header.corpus.digest, digest),
        ("subjects", [[each.kind, each.id] for each in header.subjects], settings.subject_keys),
        ("selection", recorded_selection(header), settings.selection),
        ("level", header.criterion.level, str(settings.fail_level)),
        ("require", sorted(header.criterion.require), sorted(settings.require)),
        ("options", without_data(header.options), without_data(settings.options_by_subject)),
    )
    for subject, case in before.results:
        if (subject, case) not in keys:
            problem = f"has a result of {case} on {subject}, which the run does not select"
            raise ResultsError("malformed.interrupted", source=before.source, problem=problem)


def recorded_selection(header: Header) -> Selection:
    """Return the selection of a run without pytest's own options, which pytest knows only when it starts."""
    selection = header.selections[0] if header.selections else Selection()
    return structs.replace(selection, other_options={})


def check_can_resume(before: InterruptedRun, header: Header) -> None:
    """Check that a run can continue an interrupted run: corpus, subjects, environment, selection, criterion are equal.

    Args:
        before: the interrupted run.
        header: the header that the new run would write.

    Raises:
        UsageError: one of these properties differs.
    """
    recorded = before.header
    _require_equal(
        before,
        ("corpus", recorded.corpus.digest, header.corpus.digest),
        ("profile", recorded.criterion.profile, header.criterion.profile),
        *((name, getattr(recorded, name), getattr(header, name)) for name in _EQUAL_KEYS),
        *(
            (name, getattr(recorded.criterion, name), getattr(header.criterion, name))
            for name in ("level", "require", "baseline")
        ),
    )


def _require_equal(before: InterruptedRun, *properties: tuple[str, object, object]) -> None:
    """Check properties: each is a name, the value of the interrupted run, and that of the new run."""
    found, own = ({each[0]: each[place] for each in properties} for place in (1, 2))
    if difference := first_difference(found, own):
        raise different_run_error(before, difference)


def different_run_error(before: InterruptedRun, difference: str) -> UsageError:
    """Return the error for a run that cannot continue the run `before`.

    Args:
        difference: what differs between the runs, for the message.
    """
    return UsageError("resume-other-run", path=before.target, difference=difference)
