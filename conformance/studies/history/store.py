"""The store of a history: a folder with one packed results file for each release of each subject.

    store.json                                          the format of the store
    cases/CORPUS.jsonl.gz                               case records of a corpus, by the start of its digest
    cases/CORPUS.hashes.json.gz                         hashes of each case of that corpus
    backends/NAME/RELEASE-KEY.jsonl.gz                  results file of a release; `optimizers/` has graph optimizers
    backends/NAME/RELEASE-KEY.values.xz                 values that no earlier file of NAME has, by their digest
    backends/NAME/RELEASE-VARIANT.unavailable.json      why a release has no results

KEY is a hash of everything on which the results depend: subject, options, environment, adapter, processor and corpus. A
results file is written once, after its values, and never changed. Its presence means that the release is complete.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import lzma
import os
import re
import zlib
from collections import Counter, defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins
from msgspec.structs import replace
from packaging.version import Version

from conformance.base.errors import HistoryError, ResultsError, UnknownName, UsageError
from conformance.base.files.atomic_write import unpack_gzip, write_bytes_atomically
from conformance.base.files.journal import (
    UnsafeState,
    lock_state,
    open_state,
    read_state,
    require_state_folder,
    state_errors,
)
from conformance.base.serialization.decoding import Count, JsonReader, MalformedError, NonEmpty, StoredRecord
from conformance.corpus.cases.case_loading import COMPANION_FILE, find_companion
from conformance.run.results.records import CaseRecord, Footer, Header, Result, ReturnedValues, case_record
from conformance.run.results.results_file import STORE_DOCUMENT, encode_record, history_cases_path, read_results
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from conformance.base.verdicts import Level, Verdict
    from conformance.corpus.cases.corpus import Corpus, CorpusCase
    from conformance.run.results.records import HistoryRecord
    from conformance.run.results.results_file import Results

FORMAT = 1
"""Format of the store."""

LOCK_FILE = "update.lock"
INDEX_FILE = "index.sqlite"
WORK_FOLDER = ".work"

_RESULTS_SUFFIX = ".jsonl.gz"
_HASHES_SUFFIX = ".hashes.json.gz"
_VALUES_SUFFIX = ".values.xz"
_UNAVAILABLE_SUFFIX = ".unavailable.json"
_MAX_PACKED_BYTES = 2**26
_MAX_UNPACKED_BYTES = 2**28
DIGEST_LENGTH = 16
"""Hexadecimal digits of the digests of values and cases."""


class StoreDocument(StoredRecord):
    """The file `store.json`."""

    format: Count


class UnavailableDocument(StoredRecord):
    """A release that has no results, with the code and the text of the error."""

    subject: NonEmpty
    release: NonEmpty
    code: NonEmpty
    reason: NonEmpty


class ValuesRecord(StoredRecord):
    """One line of a file of values."""

    digest: NonEmpty
    values: ReturnedValues


class CaseHashes(StoredRecord):
    """Hashes of a case: of its model and inputs, of its expected outputs without their bounds, and of all files."""

    question: NonEmpty
    expected: NonEmpty
    whole: NonEmpty


class HashesDocument(StoredRecord):
    """The hashes of all cases of a corpus."""

    cases: dict[str, CaseHashes]


_decode_hashes = JsonReader(HashesDocument)
_decode_store = JsonReader(StoreDocument)
_decode_unavailable = JsonReader(UnavailableDocument)
_decode_values = JsonReader(ValuesRecord)


@dataclass(frozen=True)
class StoredRelease:
    """A release with results in the store.

    Attributes:
        path: its results file.
        header: the header of the file.
    """

    path: Path
    header: Header

    @property
    def history(self) -> HistoryRecord:
        """The part of the header that names the release."""
        return history_of(self.header)

    @cached_property
    def target(self) -> SubjectName:
        """The subject without its release."""
        return SubjectName.parse(self.history.subject, self.header.subjects[0].kind).without_release

    @property
    def release(self) -> str:
        """The release."""
        return self.history.release

    @property
    def digest(self) -> str:
        """Digest of the corpus of the results."""
        return self.header.corpus.digest

    @cached_property
    def version(self) -> Version:
        """The release as a version, for sorting."""
        return Version(self.release)

    def read(self) -> Results:
        """Return the results.

        Raises:
            ResultsError: the file is damaged.
        """
        return read_results(self.path)


class HistoryStore:
    """A store at a folder.

    Args:
        folder: the folder.

    Raises:
        HistoryError: the folder is the store of another version of the suite, or not a store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._headers: dict[tuple[Path, int, int], Header] = {}
        """The headers that have been read, by the path, the size and the time of the file."""
        self.lock_descriptor: int | None = None
        """File descriptor of the lock while this object holds it; a process that inherits it holds the lock too."""
        if any(each.exists() and not each.is_dir() for each in (folder, *folder.parents)):
            raise HistoryError("not-a-store.file", folder=folder)
        self.plain_folder()
        self._check_format()

    def _check_format(self) -> None:
        path = self.folder / STORE_DOCUMENT
        if not os.path.lexists(path):
            if any((self.folder / kind.group).exists() for kind in SubjectKind):
                raise _damaged_error(path, "the file is missing")
            return
        with store_errors(path):
            found = _decode_store(read_state(path, 2**16)).format
        if found != FORMAT:
            raise HistoryError("other-format", folder=self.folder, found=found, own_format=FORMAT)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Create the store if it does not exist, and lock it against other updates.

        Raises:
            HistoryError: another update is running, or the folder has other files.
            UsageError: the store cannot be written.
        """
        is_new = not (self.folder / STORE_DOCUMENT).exists()
        if is_new and self.folder.exists() and {each.name for each in self.folder.iterdir()} - {LOCK_FILE}:
            raise HistoryError("not-a-store.other-files", folder=self.folder)
        try:
            descriptor = open_state(self.folder / LOCK_FILE, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise _unwritable_error(self.folder / LOCK_FILE, error) from None
        try:
            try:
                lock_state(descriptor)
            except UnsafeState:
                raise HistoryError("locked", folder=self.folder) from None
            if not (self.folder / STORE_DOCUMENT).exists():
                self._write(self.folder / STORE_DOCUMENT, encode_record(StoreDocument(FORMAT)))
            self.lock_descriptor = descriptor
            yield
        finally:
            self.lock_descriptor = None
            os.close(descriptor)

    def plain_folder(self, *parts: str) -> Path:
        """Return a folder of the store, which may not exist yet.

        Raises:
            JobError: the folder, or a folder that has it, is a link or not a folder.
        """
        with state_errors(self.folder):
            return require_state_folder(self.folder, *parts)

    def subject_folder(self, target: SubjectName) -> Path:
        """Return the folder of all results of a subject, with any options.

        Raises:
            JobError: the folder is a link.
        """
        return self.plain_folder(target.kind.group, re.sub(r"[^\w.-]", "_", target.name))

    def releases(self, target: SubjectName | None = None) -> list[StoredRelease]:
        """Return the releases with results, the oldest first; of all subjects, or of one.

        A file that another process removes meanwhile is left out.

        Raises:
            ResultsError: a file is damaged.
        """
        kinds = [kind.group for kind in SubjectKind]
        named = [(kind, path.name) for kind in kinds for path in sorted(self.plain_folder(kind).glob("*"))]
        folders = [self.subject_folder(target)] if target else [self.plain_folder(*each) for each in named]
        paths = [path for folder in folders for path in sorted(folder.glob(f"*{_RESULTS_SUFFIX}"))]
        found = []
        for path in paths:
            with suppress(FileNotFoundError):
                status = path.lstat()
                key = path, status.st_size, status.st_mtime_ns
                if key not in self._headers:
                    self._headers[key] = _read_header(path)
                found.append(StoredRelease(path, self._headers[key]))
        return sorted(
            (each for each in found if target is None or each.target == target),
            key=lambda each: (each.target.kind, each.target.text, each.version, each.path.name),
        )

    def unavailable(self, target: SubjectName) -> dict[str, UnavailableDocument]:
        """Return the releases of a subject that cannot be run, by release.

        Raises:
            HistoryError: a file is damaged.
        """
        found = {}
        for path in sorted(self.subject_folder(target).glob(f"*{_UNAVAILABLE_SUFFIX}")):
            with store_errors(path):
                document = _decode_unavailable(read_state(path, 2**16))
            if not _is_version(document.release):
                raise _damaged_error(path, f"{document.release} is not a release")
            if document.subject == target.text:
                found[document.release] = document
        return found

    def record_unavailable(self, target: SubjectName, release: str, code: str, reason: str) -> None:
        """Record why a release cannot be run."""
        document = UnavailableDocument(target.text, release, code, reason)
        self._write(self._unavailable_path(target, release), encode_record(document))

    def _unavailable_path(self, target: SubjectName, release: str) -> Path:
        variant = hashlib.sha256(target.text.encode()).hexdigest()[:8]
        return self.subject_folder(target) / f"{release}-{variant}{_UNAVAILABLE_SUFFIX}"

    def add(self, header: Header, results: Iterable[Result], corpus: Corpus) -> StoredRelease:
        """Write the results of a release: first the values that are new, then the results file.

        Args:
            header: the header, with the key `history`.
            results: the result records; the values in them are replaced by digests.
            corpus: the corpus of the results.

        Raises:
            HistoryError: the disk is full.
            UsageError: the store cannot be written.
        """
        self.add_cases(corpus)
        history = history_of(header)
        target = SubjectName.parse(history.subject, header.subjects[0].kind).without_release
        stem = self.subject_folder(target) / f"{history.release}-{result_key(header)}"
        known = set(self.values(target))
        new = dict[str, Any]()
        lines = list[bytes]()
        counts: dict[Level, Counter[Verdict]] = defaultdict(Counter)
        for result in results:
            record, values = _replace_values(result)
            if values is not None and record.returned not in known:
                new[str(record.returned)] = to_builtins(values)
            lines.append(encode_record(record))
            counts[record.level][record.verdict] += 1
        content = b"".join([encode_record(header), *lines, encode_record(_footer(header, counts, len(lines)))])
        if new:
            text = b"".join(encode_record(ValuesRecord(digest, new[digest])) for digest in sorted(new))
            self._write(Path(f"{stem}{_VALUES_SUFFIX}"), lzma.compress(text, preset=9))
        path = Path(f"{stem}{_RESULTS_SUFFIX}")
        self._write(path, gzip.compress(content, mtime=0))
        self._unavailable_path(target, history.release).unlink(missing_ok=True)
        return StoredRelease(path, header)

    def values(self, target: SubjectName) -> dict[str, ReturnedValues]:
        """Return all values of a subject by their digests.

        Raises:
            HistoryError: a file is damaged.
        """
        found: dict[str, ReturnedValues] = {}
        for path in sorted(self.subject_folder(target).glob(f"*{_VALUES_SUFFIX}")):
            with store_errors(path):
                records = map(_decode_values, read_lines(path, lzma.open))
                found.update((record.digest, record.values) for record in records)
        return found

    def add_cases(self, corpus: Corpus) -> None:
        """Write the case records and the hashes of a corpus, if the store does not have them."""
        path = self._cases_path(corpus.digest)
        hashes = self._cases_path(corpus.digest, _HASHES_SUFFIX)
        if path.exists() and hashes.exists():
            return
        self._write(hashes, gzip.compress(encode_record(HashesDocument(case_hashes(corpus))), mtime=0))
        records = b"".join(encode_record(case_record(corpus, case)) for case in corpus.cases.values())
        self._write(path, gzip.compress(records, mtime=0))

    def _cases_path(self, digest: str, suffix: str = _RESULTS_SUFFIX) -> Path:
        return self.plain_folder("cases") / f"{digest[:16]}{suffix}"

    def hashes(self, digest: str) -> dict[str, CaseHashes]:
        """Return the hashes of the cases of a corpus by case; nothing if the file with the hashes is missing.

        Raises:
            HistoryError: the file is damaged.
        """
        path = self._cases_path(digest, _HASHES_SUFFIX)
        if not path.exists():
            return {}
        with store_errors(path):
            return _decode_hashes(_unpack(path, unpack_gzip, _damaged_error)).cases

    def _write(self, path: Path, content: bytes) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes_atomically(path, content)
        except OSError as error:
            raise _unwritable_error(path, error) from None
        except UsageError as error:
            if isinstance(error.__context__, OSError):
                raise _unwritable_error(path, error.__context__) from None
            raise


def case_hashes(corpus: Corpus) -> dict[str, CaseHashes]:
    """Return the hashes of each case of a corpus."""
    return {
        id: CaseHashes(
            question=question_hash(corpus, case),
            expected=_short_hash(_hashes(case, (), "/output_")),
            whole=_short_hash([str(case.level), *sorted(case.files.items())]),
        )
        for id, case in corpus.cases.items()
    }


def question_hash(corpus: Corpus, case: CorpusCase) -> str:
    """Return a hash of all that a subject receives in a case: the model, the inputs and the companion."""
    parts = _hashes(case, ("model.onnx",), "/input_")
    if (other := find_companion(corpus, case)) is not None:
        parts += [("companion", case.files[COMPANION_FILE]), *_hashes(other, ("model.onnx",), "/input_")]
    return _short_hash(parts)


def _hashes(case: CorpusCase, names: tuple[str, ...], part: str) -> list[tuple[str, str]]:
    return sorted((name, hash) for name, hash in case.files.items() if name in names or part in name)


def _short_hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:DIGEST_LENGTH]


def history_of(header: Header) -> HistoryRecord:
    """Return the release and the environment of a header in a history."""
    assert header.history is not None, "the header of a history has this part"
    return header.history


def result_key(header: Header) -> str:
    """Return a hash of everything on which the results of a file depend."""
    history = history_of(header)
    options = header.options.get(header.subjects[0].id, [])
    identity = [history.subject, history.release, history.python, history.packages, history.adapter]
    cpu = header.environment.get("cpu features", "")
    return _short_hash([identity, options, cpu, header.corpus.digest])[:8]


def _replace_values(result: Result) -> tuple[Result, ReturnedValues | None]:
    """Return a result with the digest of its values in their place, and the values."""
    values = result.returned
    if values is None or isinstance(values, str):
        return result, None
    digest = hashlib.sha256(json.dumps(to_builtins(values), sort_keys=True).encode()).hexdigest()[:DIGEST_LENGTH]
    return replace(result, returned=digest), values


def _footer(header: Header, counts: Mapping[Level, Mapping[Verdict, int]], number: int) -> Footer:
    defects = sum(n for level in counts.values() for verdict, n in level.items() if verdict.is_defect)
    return Footer(
        results=number,
        verdicts={header.subjects[0].id: counts},
        outcome="fail" if defects else "pass",
        reasons=[f"{defects} results are failures"] if defects else [],
        seconds=0,
        diagnoses=[],
        unexplained=[],
    )


_UNPACKING_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""Errors of a packed file that cannot be read or is damaged."""


_decode_header = JsonReader(Header)
_decode_case = JsonReader(CaseRecord)


def _read_header(path: Path) -> Header:
    """Return the header of a results file.

    Raises:
        ResultsError: the file is damaged, or its header does not name a release.
        FileNotFoundError: the file does not exist.
    """
    try:
        with unpack_gzip(io.BytesIO(read_state(path, _MAX_PACKED_BYTES))) as stream:
            header = _decode_header(stream.readline(_MAX_PACKED_BYTES))
    except FileNotFoundError:
        raise
    except (*_UNPACKING_ERRORS, MalformedError) as error:
        raise malformed_release_error(path, error_text(error)) from None
    if header.history is None or len(header.subjects) != 1:
        raise malformed_release_error(path, "it does not name one release")
    if not _is_version(header.history.release):
        raise malformed_release_error(path, f"{header.history.release} is not a release")
    if not _DIGEST_PATTERN.fullmatch(header.corpus.digest):
        raise malformed_release_error(path, "the digest of its corpus is not hexadecimal")
    try:
        StoredRelease(path, header).target.at_release(header.history.release)
    except UnknownName as error:
        raise malformed_release_error(path, error.problem.removesuffix(".")) from None
    return header


_DIGEST_PATTERN = re.compile("[0-9a-f]{64}")


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except ValueError:  # also a number with too many digits
        return False
    return True


def malformed_release_error(path: Path, reason: str) -> ResultsError:
    """Return the error for a damaged results file of a release."""
    return ResultsError("malformed.stored", path=path, reason=reason)


def error_text(error: Exception) -> str:
    """Return the text of an error, without the path in errors of the file system."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _damaged_error(path: Path, reason: str) -> HistoryError:
    return HistoryError("damaged", path=path, reason=reason)


@contextmanager
def store_errors(path: Path, make_error: Callable[[Path, str], Exception] = _damaged_error) -> Iterator[None]:
    """Replace an error of a file of a store that cannot be read or is damaged; `make_error` returns the other error."""
    try:
        yield
    except (*_UNPACKING_ERRORS, MalformedError) as error:
        raise make_error(path, error_text(error)) from None


def read_lines(
    path: Path, open_packed: Any, make_error: Callable[[Path, str], Exception] = _damaged_error
) -> Iterator[bytes]:
    """Yield the lines of a packed file of a store; `make_error` returns the error for a damaged file."""
    yield from io.BytesIO(_unpack(path, open_packed, make_error))  # a list of short lines would take much memory


def history_cases(path: Path, digest: str) -> Iterator[CaseRecord]:
    """Yield the case records for a results file of a store.

    Raises:
        HistoryError: the file with the records is damaged.
    """
    source = history_cases_path(path, digest)
    with store_errors(source):
        yield from map(_decode_case, read_lines(source, unpack_gzip))


def _unpack(path: Path, open_packed: Any, make_error: Callable[[Path, str], Exception]) -> bytes:
    with store_errors(path, make_error):
        packed = read_state(path, _MAX_PACKED_BYTES)
        with open_packed(io.BytesIO(packed)) as stream:
            content: bytes = stream.read(_MAX_UNPACKED_BYTES + 1)
    if not packed:
        raise make_error(path, "it is empty")
    if len(content) > _MAX_UNPACKED_BYTES:
        raise make_error(path, "it is too large")
    return content


def _unwritable_error(path: Path, error: OSError) -> HistoryError:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return HistoryError("disk-full.store", path=path, reason=error.strerror)
    return HistoryError("not-writable.store", path=path, reason=error.strerror)
