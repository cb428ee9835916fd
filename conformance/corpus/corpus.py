"""The frozen corpus on disk: opened only when whole, read only as hashed."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from conformance.boundary.decoding import MalformedError, parsed
from conformance.corpus.case import CaseKind
from conformance.corpus.file_hashes import FileHashes
from conformance.errors import CorpusError, UnknownName, did_you_mean
from conformance.files.regular import read_regular
from conformance.schemas import complaint
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

FORMAT = 1
MANIFEST = "manifest.json"
RELEASED = "released.json"
"""What may lie beside the manifest and is no part of the corpus, see `released`."""

LARGEST_FILE = 2**28
LARGEST_MANIFEST = 2**26
MOST_LAYOUTS = 512
"""Of how many cases the folders are known; most cases have the files of another, by name."""


@dataclass(frozen=True, slots=True)
class CorpusCase:
    """A case as the manifest has it.

    Attributes:
        files: the SHA-256 of each of its files, by the file's path in the case's directory.
    """

    id: str
    kind: CaseKind
    level: Level
    files: Mapping[str, str]

    @property
    def path(self) -> str:
        """Its directory in the corpus: `node/test_…`."""
        return f"{self.kind}/{self.id}"

    @property
    def is_invalid(self) -> bool:
        """Whether its model must be rejected, so that no output is expected."""
        return self.kind is CaseKind.INVALID

    @property
    def is_structural(self) -> bool:
        """Whether it has no data set, since it is about what a graph optimizer does with its graph and no more."""
        return self.kind is CaseKind.PASS and not any(file.startswith("test_data_set_") for file in self.files)


@dataclass(frozen=True)
class Corpus:
    """A directory of cases and its manifest.

    Attributes:
        path: the directory.
        version: semantic in what it judges: only a change that can fail no backend that passed is a patch.
        digest: SHA-256 over version, levels, names and hashes of all files.
        cases: by their ids, in the manifest's order.
    """

    path: Path
    version: str
    digest: str
    cases: Mapping[str, CorpusCase]

    def read(self, case: CorpusCase, file: str) -> bytes:
        """A file of a case, by its path therein.

        Raises:
            CorpusError: it is missing, no regular file, too large or not what the manifest says.
        """
        name = f"{case.path}/{file}"
        try:
            content = read_regular(f"{self.path}/{name}", LARGEST_FILE)
        except OSError as error:
            raise unfit(self.path, f"{name} cannot be read ({error.strerror})") from None
        if hashlib.sha256(content).hexdigest() != case.files[file]:
            raise unfit(self.path, f"{name} is altered or truncated: it is not what {MANIFEST} hashes")
        return content

    def verify(self) -> int:
        """Read and hash every file, and return how many there are.

        Raises:
            CorpusError: one is missing, extra, truncated or altered.
        """
        return sum(len(self.read(case, file)) >= 0 for case in self.cases.values() for file in case.files)


def bundled() -> Path:
    """The corpus that comes with the suite: within the installed package, or beside it in a checkout."""
    package = Path(__file__).parent.parent
    installed = package / "data"
    return installed if installed.is_dir() else package.parent / "data"


def open_corpus(path: Path) -> Corpus:
    """Open a corpus after making sure that its files are those of its manifest, by name.

    Their content is held against its hash when it is read.

    Raises:
        CorpusError: the directory is no corpus, or files are missing or extra.
    """
    corpus = read_manifest(path)
    missing, extra = odds(corpus)
    if missing:
        raise unfit(path, f"{missing[0]} is missing{_and_others(missing)}")
    if extra:
        raise unfit(path, f"{extra[0]} is not in {MANIFEST}{_and_others(extra)}")
    return corpus


def odds(corpus: Corpus) -> tuple[list[str], list[str]]:
    """The files that the manifest names and the directory lacks, and the reverse."""
    root, cases = str(corpus.path), {case.path: tuple(case.files) for case in corpus.cases.values()}
    whole = {path for path, files in cases.items() if _is_whole(f"{root}/{path}", _folders(files))}
    present = set(_files(root, whole))
    others = cases.keys() - (whole - present)  # what is present as a file is a link to a case
    listed = {f"{path}/{name}" for path in others for name in cases[path]}
    return sorted(listed - present), sorted(present - listed - {MANIFEST, RELEASED})


@lru_cache(maxsize=MOST_LAYOUTS)
def _folders(files: tuple[str, ...]) -> dict[str, set[str]]:
    """What each folder of a case has, by the folder's name; files beside the model are in the one without."""
    folders: dict[str, set[str]] = {"": set()}
    for file in files:
        folder, _, name = file.rpartition("/")
        folders.setdefault(folder, set()).add(name)
    return folders


def _is_whole(case: str, folders: Mapping[str, set[str]]) -> bool:
    """Whether a case's directory has what it should by name; no link is followed."""
    try:
        with os.scandir(case) as entries:
            found = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        is_folder = dict.fromkeys(folders[""], False) | dict.fromkeys(folders.keys() - {""}, True)
        inner = ((files, os.listdir(f"{case}/{name}")) for name, files in folders.items() if name)  # noqa: PTH208 - fast
        return found == is_folder and all(files == set(there) for files, there in inner)
    except OSError:
        return False


def read_document(corpus: Path, name: str, largest: int) -> Any:
    """A JSON document in a corpus's directory, which satisfies the schema of its name.

    Args:
        largest: how many bytes it may have.

    Raises:
        CorpusError: it cannot be read, or is malformed.
    """
    try:
        document = parsed(read_regular(corpus / name, largest))
    except OSError as error:
        raise unfit(corpus, f"{name} cannot be read ({error.strerror})") from None
    except MalformedError as error:
        raise unfit(corpus, f"{name} cannot be read ({error})") from None
    if problem := complaint(Path(name).stem, document):
        raise unfit(corpus, f"{name} is malformed: {problem}")
    return document


def read_manifest(path: Path) -> Corpus:
    """The corpus as its manifest describes it, whether or not the files are there.

    Raises:
        CorpusError: there is no manifest, or it is malformed.
    """
    manifest = path / MANIFEST
    if not manifest.is_file():
        raise CorpusError(
            f"{path} is not a corpus: it has no {MANIFEST}.", "Name a directory that `onnx-conformance generate` wrote."
        )
    document = read_document(path, MANIFEST, LARGEST_MANIFEST)
    if document["levels"].keys() != document["cases"].keys():
        raise unfit(path, f"{MANIFEST} is malformed: its levels are not of its cases")
    if document["digest"] != digest(document["version"], document["levels"], document["cases"]):
        raise unfit(path, f"{MANIFEST} is altered: its digest is not that of its content")
    return Corpus(path, document["version"], document["digest"], _cases(path, document["cases"], document["levels"]))


def _cases(corpus: Path, files: Mapping[str, Mapping[str, str]], levels: Mapping[str, str]) -> dict[str, CorpusCase]:
    """The cases of a manifest by their ids.

    Raises:
        CorpusError: two have one id.
    """
    cases: dict[str, CorpusCase] = {}
    names_in_common: dict[tuple[str, ...], tuple[str, ...]] = {}
    for path, hashes in files.items():
        kind, _, id = path.partition("/")
        if id in cases:
            raise unfit(corpus, f"{cases[id].path} and {path} are two cases of one name")
        names = tuple(hashes)
        names = names_in_common.setdefault(names, names)
        cases[id] = CorpusCase(id, CaseKind(kind), Level(levels[path]), FileHashes(names, hashes.values()))
    return cases


def manifest_bytes(version: str, cases: Mapping[str, Mapping[str, str]], levels: Mapping[str, str]) -> bytes:
    """The manifest of a corpus with these hashes and levels."""
    document = {
        "format": FORMAT,
        "version": version,
        "digest": digest(version, levels, cases),
        "levels": dict(sorted(levels.items())),
        "cases": {case: dict(sorted(cases[case].items())) for case in sorted(cases)},
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def digest(version: str, levels: Mapping[str, str], cases: Mapping[str, Mapping[str, str]]) -> str:
    """One hash for a whole corpus: of [version, levels, cases] as JSON with sorted keys, which is never held whole."""
    hashed = hashlib.sha256(b"[%b,%b,{" % (_canonical(version), _canonical(levels)))
    for number, case in enumerate(sorted(cases)):
        hashed.update(b"%b%b:%b" % (b"," if number else b"", _canonical(case), _canonical(dict(cases[case]))))
    hashed.update(b"}]")
    return hashed.hexdigest()


_canonical = msgspec.json.Encoder(order="sorted").encode
"""JSON with sorted keys and without blanks, of what is ASCII throughout."""


def find_case(corpus: Corpus, id: str) -> CorpusCase:
    """The case of that name.

    Raises:
        UnknownName: the corpus has no such case.
    """
    if id in corpus.cases:
        return corpus.cases[id]
    hint = did_you_mean(id, corpus.cases, "See `onnx-conformance list`.")
    raise UnknownName(f"There is no case {id} in {corpus.path}.", hint)


def _files(root: str, but: Container[str]) -> Iterator[str]:
    """Every file below a directory by its path from there, save what is in some folders; no link is followed."""
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


def unfit(path: Path, what: str) -> CorpusError:
    """The error where a corpus is not as it was written."""
    return CorpusError(
        f"The corpus in {path} is not whole: {what}.",
        "Restore it (from git, or by reinstalling), or write it anew with `onnx-conformance generate`.",
    )
