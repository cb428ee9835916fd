"""A corpus on disk: a directory of cases, and a manifest with the level and the file hashes of each case.

A corpus can also be one archive (see `corpus.archive`), which is read in place. The wheel of the suite has an archive.

`open_corpus` checks the names of all files, and `check_files` those of some cases. `Corpus.read` checks the hash of a
file when it is read, and `Corpus.verify` checks all hashes. The digest identifies the content of the whole corpus.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from conformance.base.errors import CorpusError, UnknownName, nearest_name
from conformance.base.files.atomic_write import find_suite_path, read_regular
from conformance.base.serialization.decoding import (
    Count,
    MalformedError,
    StoredRecord,
    decode_json,
    encode_document,
    malformed_errors,
)
from conformance.base.verdicts import Level  # noqa: TC001 - msgspec reads the annotations
from conformance.corpus.cases import archive as archives
from conformance.corpus.cases.archive import CorpusArchive
from conformance.corpus.cases.case import CaseKind

T = TypeVar("T")

SHA256 = r"^[0-9a-f]{64}\Z"
CASE_FILE = (
    r"^(case\.json|companion\.json|model\.onnx"
    r"|test_data_set_(0|[1-9][0-9]{0,2})/(input|output|bound|accept)_(0|[1-9][0-9]{0,2})\.pb)\Z"
)
Sha256 = Annotated[str, Meta(pattern=SHA256)]
CasePath = Annotated[str, Meta(pattern=r"^(node|pass|invalid)/test_[A-Za-z0-9_]{1,120}\Z")]
SHA256_BYTES = 32
"""Size of a SHA-256 hash."""

REQUIRED_FILES = frozenset({"case.json", "model.onnx"})
"""Files of every case."""

HashByFile = Annotated[
    dict[
        Annotated[str, Meta(extra_json_schema={"pattern": CASE_FILE})],
        Annotated[str, Meta(extra_json_schema={"pattern": SHA256})],
    ],
    Meta(extra_json_schema={"required": sorted(REQUIRED_FILES)}),
]
"""The SHA-256 of each file of a case; `_wrong_files` checks all names and hashes at once, which is quicker."""


class ManifestDocument(StoredRecord, kw_only=True):
    """manifest.json: the level of each case, and the SHA-256 of each file of each case.

    `name` is the name of a corpus that is not the suite's, such as `onnx`. `code` is the SHA-256 of the code that
    computed its expected values, if `generate` wrote the corpus for a user. `nodes` is the number of nodes of the
    user's models, with and without a case.
    """

    format: Literal[1]
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}\Z")] = ""
    version: Annotated[str, Meta(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+\Z")]
    code: Sha256 | Literal[""] = ""
    nodes: Count = 0
    digest: Sha256
    levels: dict[str, Level]
    cases: Annotated[dict[CasePath, HashByFile], Meta(min_length=1)]

    def __post_init__(self) -> None:
        """Check that each case has a level and the required files."""
        if self.levels.keys() != self.cases.keys():
            raise ValueError("its levels and its cases have different keys")
        if not all(files.keys() >= REQUIRED_FILES for files in self.cases.values()):
            raise ValueError(f"a case lacks one of {', '.join(sorted(REQUIRED_FILES))}")


class FileHashes(Mapping[str, str]):
    """Mapping from the file paths of a case to their SHA-256 in hexadecimal, stored in binary to save memory.

    Args:
        names: paths relative to the case's directory; many cases share one tuple.
        hashes: hash of each file, in the same order.
    """

    __slots__ = ("_hashes", "_names")

    def __init__(self, names: tuple[str, ...], hashes: Iterable[str]) -> None:
        self._names = names
        self._hashes = bytes.fromhex("".join(hashes))

    def __getitem__(self, name: str) -> str:
        if name not in self._names:
            raise KeyError(name)
        start = SHA256_BYTES * self._names.index(name)
        return self._hashes[start : start + SHA256_BYTES].hex()

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


MANIFEST = archives.MANIFEST
RELEASED = archives.RELEASED
"""File next to the manifest that is not part of the corpus, see `corpus.cases.released`."""

ARCHIVE_NAME = "corpus.zip"
"""File name of the suite's corpus in the installed package."""

NOTICE = "NOTICE"
"""File of a corpus whose models come from elsewhere: their origin, licence and the cases that are left out."""

ADDED_FILES = frozenset(
    {"README.md", "LICENSE", NOTICE, "SHA256SUMS", "index.csv", "judge/judge.c", "judge/CMakeLists.txt"}
)
"""Files beside the cases that are not part of the corpus: `export` adds them, and `generate --onnx` the licence."""

MAX_FILE_BYTES = 2**28
"""Largest size of a file of a case."""

MAX_MANIFEST_BYTES = 2**26
"""Largest size of the manifest."""

LAYOUT_CACHE_SIZE = 512
"""Number of cached lists of file names; most cases have the same file names as another case."""


@dataclass(frozen=True, slots=True)
class CorpusCase:
    """The entry of a case in the manifest.

    Attributes:
        files: SHA-256 of each file, by its path relative to the case's directory.
    """

    id: str
    kind: CaseKind
    level: Level
    files: Mapping[str, str]

    @property
    def path(self) -> str:
        """Directory of the case in the corpus: `node/test_…`."""
        return f"{self.kind}/{self.id}"

    @property
    def is_invalid(self) -> bool:
        """Whether the model is invalid: a subject must reject it, and there are no expected outputs."""
        return self.kind is CaseKind.INVALID

    @property
    def is_structural(self) -> bool:
        """Whether the case has no data set, so that it only tests how a graph optimizer rewrites the graph."""
        return self.kind is CaseKind.PASS and not any(file.startswith("test_data_set_") for file in self.files)


@dataclass(frozen=True)
class Corpus:
    """Cases with their manifest.

    Attributes:
        path: the directory, or the archive.
        version: semantic version. A patch release never fails a backend that passed before.
        digest: SHA-256 of the version, levels, file names and file hashes.
        cases: the cases by id, in the manifest's order.
        name: the name; empty for the corpus of the suite.
        code: SHA-256 of the code that computed the expected values; empty if it is not known.
        nodes: the number of nodes of the user's models that the cases were made of; 0 for another corpus.
    """

    path: Path
    version: str
    digest: str
    cases: Mapping[str, CorpusCase]
    name: str = ""
    code: str = ""
    nodes: int = 0

    def read(self, case: CorpusCase, file: str) -> bytes:
        """Return the content of a file of a case.

        Args:
            file: path relative to the case's directory.

        Raises:
            CorpusError: the file is missing, not a regular file, too large, its hash is not that of the manifest, or
                it would take much memory if it were decoded.
        """
        name = f"{case.path}/{file}"
        try:
            archive = _archive_at(self.path)
            if archive is None:
                content = read_regular(f"{self.path}/{name}", MAX_FILE_BYTES)
            else:
                content = archive.read_case(case.path)[file]
        except (OSError, ValueError, KeyError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise damaged_corpus_error("file-unreadable", self.path, f"{name} cannot be read ({reason})") from None
        if hashlib.sha256(content).hexdigest() != case.files[file]:
            raise damaged_corpus_error(
                "file-altered", self.path, f"{name} is altered or truncated: its hash is not that in {MANIFEST}"
            )
        if len(content) > UNEXAMINED_BYTES and _is_large_message(file, content):
            raise damaged_corpus_error("file-unreadable", self.path, f"{name} would take much memory if decoded")
        return content

    @property
    def label(self) -> str:
        """The name, if the corpus is not that of the suite, and the version."""
        return corpus_label(self.name, self.version)

    @property
    def file(self) -> Path:
        """The file that identifies the corpus: its manifest, or the archive."""
        return self.path / MANIFEST if _archive_at(self.path) is None else self.path

    def place_of(self, case: CorpusCase) -> str:
        """Return where the files of a case are, for the user."""
        if _archive_at(self.path) is None:
            return f"{self.path / case.path}"
        return f"{case.path} in {self.path} (`onnx-conformance export` writes a folder)"

    def verify(self) -> int:
        """Check the hash of every file, and return the number of files.

        Raises:
            CorpusError: a file is missing, truncated or altered.
        """
        return sum(len(self.read(case, file)) >= 0 for case in self.cases.values() for file in case.files)


UNEXAMINED_BYTES = 2**21
"""Size of a file up to which a decoded message takes little memory."""


def _is_large_message(file: str, content: bytes) -> bool:
    """Return whether a model or a tensor would take much memory if it were decoded."""
    import onnx  # few corpora have such a file

    from conformance.exact.models.encoded_messages import MAX_FIELDS, MAX_TEXTS, is_large_message

    if file == "model.onnx":
        return is_large_message(content, MAX_FIELDS)
    return file.endswith(".pb") and is_large_message(content, MAX_TEXTS, onnx.TensorProto)


def corpus_label(name: str, version: str) -> str:
    """Return the name of a corpus, which is empty for the corpus of the suite, and its version."""
    return f"{name} {version}" if name else version


def bundled_corpus_path() -> Path:
    """Return the path of the suite's corpus: the archive in the installed package, or the folder in the checkout."""
    return find_suite_path(ARCHIVE_NAME, "data")


@lru_cache(maxsize=4)
def _archive_at(path: Path) -> CorpusArchive | None:
    """Return the archive of the corpus at a path; None if the corpus is a directory.

    Raises:
        CorpusError: the file is not an archive.
    """
    if not path.is_file():
        return None
    try:
        return CorpusArchive(path)
    except (OSError, ValueError) as error:
        raise CorpusError("archive-unreadable", path=path, error=error) from None


def open_corpus(path: Path) -> Corpus:
    """Open a corpus, and check that its files are exactly those in its manifest, by name.

    Hashes are checked when files are read.

    Raises:
        CorpusError: the directory is not a corpus, or files are missing or unexpected.
    """
    corpus = read_manifest(path)
    check_files(corpus)
    return corpus


def check_files(corpus: Corpus, selected: Collection[CorpusCase] | None = None) -> None:
    """Check by name that the files of cases are exactly those in the manifest.

    Args:
        corpus: the corpus.
        selected: the cases whose files are checked; of other cases, only the directory. None for all cases.

    Raises:
        CorpusError: files are missing or unexpected.
    """
    missing, unexpected = missing_and_unexpected_files(corpus, selected)
    if missing:
        raise damaged_corpus_error("file-missing", corpus.path, f"{missing[0]} is missing{_and_others(missing)}")
    if unexpected:
        raise damaged_corpus_error(
            "unexpected-file", corpus.path, f"{unexpected[0]} is not in {MANIFEST}{_and_others(unexpected)}"
        )


def missing_and_unexpected_files(
    corpus: Corpus, selected: Collection[CorpusCase] | None = None
) -> tuple[list[str], list[str]]:
    """Return the files that are only in the manifest, and the files that are only in the corpus; both sorted.

    In an archive, a case counts as one file: reading the case checks the files in it. The arguments are those of
    `check_files`.
    """
    archive = _archive_at(corpus.path)
    if archive is not None:
        listed = {case.path for case in corpus.cases.values()}
        return sorted(listed - archive.names), sorted(archive.names - listed - {MANIFEST, RELEASED})
    root = str(corpus.path)
    cases = {case.path: tuple(case.files) for case in corpus.cases.values()}
    compared = cases.keys() if selected is None else {case.path for case in selected}
    whole = {path for path in compared if _has_expected_files(f"{root}/{path}", _names_by_folder(cases[path]))}
    whole |= (cases.keys() - compared) & _case_folders(root)
    present = set(_iter_files(root, whole))
    others = cases.keys() - (whole - present)  # a case that is listed as a file is a symbolic link
    listed = {f"{path}/{name}" for path in others for name in cases[path]}
    return sorted(listed - present), sorted(present - listed - ADDED_FILES - {MANIFEST, RELEASED})


def _case_folders(root: str) -> set[str]:
    """Return the directories in the folders of all kinds of cases, relative to the corpus, without symbolic links."""
    found: set[str] = set()
    for kind in CaseKind:
        with suppress(OSError), os.scandir(f"{root}/{kind}") as entries:
            found |= {f"{kind}/{entry.name}" for entry in entries if entry.is_dir(follow_symlinks=False)}
    return found


@lru_cache(maxsize=LAYOUT_CACHE_SIZE)
def _names_by_folder(files: tuple[str, ...]) -> dict[str, set[str]]:
    """Return the file names of a case by folder; the key of the case's own directory is an empty text."""
    folders: dict[str, set[str]] = {"": set()}
    for file in files:
        folder, _, name = file.rpartition("/")
        folders.setdefault(folder, set()).add(name)
    return folders


def _has_expected_files(case: str, folders: Mapping[str, set[str]]) -> bool:
    """Return whether a case's directory has exactly the files in `folders`; symbolic links are not followed."""
    try:
        with os.scandir(case) as entries:
            found = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        is_folder = dict.fromkeys(folders[""], False) | dict.fromkeys(folders.keys() - {""}, True)
        inner = ((files, os.listdir(f"{case}/{name}")) for name, files in folders.items() if name)  # noqa: PTH208 - fast
        return found == is_folder and all(files == set(there) for files, there in inner)
    except OSError:
        return False


def read_document(corpus: Path, name: str, largest: int, type: type[T]) -> T:
    """Return a JSON document of a corpus in a directory or an archive.

    Args:
        name: `manifest.json` or `released.json`.
        largest: maximum size in bytes.
        type: the type of the document.

    Raises:
        CorpusError: the file cannot be read, or is malformed.
    """
    archive = _archive_at(corpus)
    try:
        content = archive.read_member(name, largest) if archive else read_regular(corpus / name, largest)
        document = decode_json(content)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise damaged_corpus_error("file-unreadable", corpus, f"{name} cannot be read ({reason})") from None
    try:
        with malformed_errors():
            return msgspec.convert(document, type)
    except MalformedError as error:
        from conformance.base.serialization.decoding import schema_violation  # the import takes time

        problem = schema_violation(Path(name).stem, document) or error  # the schema names a wrong key
        raise damaged_corpus_error("malformed", corpus, f"{name} is malformed: {problem}") from None


def has_file(corpus: Path, name: str) -> bool:
    """Return whether a corpus has a file of its own with this name, such as the manifest."""
    archive = _archive_at(corpus)
    return (corpus / name).is_file() if archive is None else name in archive.names


def read_manifest(path: Path) -> Corpus:
    """Return the corpus that the manifest in a directory or an archive describes; the cases' files are not checked.

    Raises:
        CorpusError: there is no manifest, or it is malformed or altered.
    """
    if not path.exists():
        raise CorpusError("folder-missing", path=path)
    if not has_file(path, MANIFEST):
        raise CorpusError("manifest-missing", path=path, file=MANIFEST)
    document = read_document(path, MANIFEST, MAX_MANIFEST_BYTES, ManifestDocument)
    if problem := _wrong_files(document):
        raise damaged_corpus_error("malformed", path, f"{MANIFEST} is malformed: {problem}")
    if document.digest != _content_digest(document):
        raise damaged_corpus_error(
            "file-altered", path, f"{MANIFEST} is altered: its digest is not that of its content"
        )
    cases = _cases_of_manifest(path, document)
    return Corpus(path, document.version, document.digest, cases, document.name, document.code, document.nodes)


def _wrong_files(document: ManifestDocument) -> str | None:
    """Return a clause on a file with a wrong name or hash; None if all files have right ones."""
    wrong = [name for name in set().union(*document.cases.values()) if not re.match(CASE_FILE, name)]
    if wrong:
        return f"no case has a file {min(wrong)!r}"
    hashes = [hash for files in document.cases.values() for hash in files.values()]
    joined = "".join(hashes)
    with suppress(ValueError):
        if bytes.fromhex(joined).hex() == joined and set(map(len, hashes)) == {2 * SHA256_BYTES}:
            return None
    return "a hash is no SHA-256 in hexadecimal"


def _cases_of_manifest(corpus: Path, document: ManifestDocument) -> dict[str, CorpusCase]:
    """Return the cases of a manifest by id.

    Raises:
        CorpusError: two cases have the same id.
    """
    cases: dict[str, CorpusCase] = {}
    shared_names: dict[tuple[str, ...], tuple[str, ...]] = {}
    for path, hashes in document.cases.items():
        kind, _, id = path.partition("/")
        if id in cases:
            raise damaged_corpus_error("duplicate-case", corpus, f"{cases[id].path} and {path} have the same id")
        names = tuple(hashes)
        names = shared_names.setdefault(names, names)
        cases[id] = CorpusCase(id, CaseKind(kind), document.levels[path], FileHashes(names, hashes.values()))
    return cases


def manifest_bytes(
    version: str,
    cases: Mapping[str, Mapping[str, str]],
    levels: Mapping[str, Level],
    name: str = "",
    code: str = "",
    nodes: int = 0,
) -> bytes:
    """Return the content of the manifest of a corpus.

    Args:
        version: the version of the corpus.
        cases: for each case path, the SHA-256 of each of its files.
        levels: for each case path, the level of the case.
        name: the name of the corpus; empty for the corpus of the suite.
        code: the SHA-256 of the code that computed the expected values, or an empty text.
        nodes: the number of nodes of the user's models; 0 for another corpus.
    """
    files = {case: dict(sorted(cases[case].items())) for case in sorted(cases)}
    document = ManifestDocument(
        format=1,
        name=name,
        version=version,
        code=code,
        nodes=nodes,
        digest="",
        levels=dict(sorted(levels.items())),
        cases=files,
    )
    document.digest = _content_digest(document)
    return encode_document(document)


def _content_digest(document: ManifestDocument) -> str:
    """Return the digest of a corpus: the SHA-256 of [version, levels, cases] as JSON with sorted keys.

    If the corpus has a name, the list has it as fourth element.
    """
    content = document.version, document.levels, document.cases, document.name
    return hashlib.sha256(_encode_canonical(content if document.name else content[:3])).hexdigest()


_encode_canonical = msgspec.json.Encoder(order="sorted").encode
"""Encode ASCII data as JSON with sorted keys and without blanks."""


def find_case(corpus: Corpus, id: str) -> CorpusCase:
    """Return the case with this id.

    Raises:
        UnknownName: the corpus does not have such a case.
    """
    if id in corpus.cases:
        return corpus.cases[id]
    close = nearest_name(id.removeprefix("test_"), (name.removeprefix("test_") for name in corpus.cases))
    hint = f"Did you mean test_{close}?" if close else "See `onnx-conformance list`."
    hint += " If the case is in another corpus, give its folder by --data."
    raise UnknownName("case-not-found", id=id, corpus=corpus.path, hint=hint)


def _iter_files(root: str, but: Container[str]) -> Iterator[str]:
    """Yield the relative path of every file below a directory; symbolic links are yielded, not followed.

    Args:
        but: relative paths of folders whose files are left out.
    """
    folders = [""]
    while folders:
        prefix = folders.pop()
        with os.scandir(f"{root}/{prefix}") as entries:
            for entry in entries:
                path = prefix + entry.name
                if not entry.is_dir(follow_symlinks=False):
                    yield path
                elif path not in but:
                    folders.append(f"{path}/")


def _and_others(names: list[str]) -> str:
    return f", and {len(names) - 1} more" if len(names) > 1 else ""


def damaged_corpus_error(name: str, path: Path, what: str) -> CorpusError:
    """Return the error for a corpus that differs from what `generate` wrote.

    Args:
        name: name of the error code: `file-missing`, `file-altered`, `malformed` …
        path: directory of the corpus.
        what: what is wrong, as a clause.
    """
    return CorpusError(
        name,
        f"The corpus in {path} is damaged: {what}.",
        "Restore it (from git, or by reinstalling), or write it again with `onnx-conformance generate`.",
    )
