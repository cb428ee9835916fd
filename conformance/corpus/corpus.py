"""The frozen corpus on disk: opened only when whole, read only as hashed."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.errors import CorpusError, UnknownName
from conformance.schemas import complaint

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1
MANIFEST = "manifest.json"
LARGEST_FILE = 2**28

Hashes = "Mapping[str, Mapping[str, str]]"


@dataclass(frozen=True)
class Corpus:
    """A directory of cases and its manifest.

    Attributes:
        path: the directory.
        version: semantic in what it judges: only a change that can fail no backend that passed is a patch.
        digest: SHA-256 over version, levels, names and hashes of all files.
        cases: per case (`node/test_…`) the SHA-256 of each of its files.
        levels: each case's level.
    """

    path: Path
    version: str
    digest: str
    cases: Mapping[str, Mapping[str, str]]
    levels: Mapping[str, str]

    def paths(self) -> Mapping[str, str]:
        """Each case's directory by its id."""
        return {path.rsplit("/", 1)[1]: path for path in self.cases}

    def read(self, case: str, file: str) -> bytes:
        """A file of a case.

        Args:
            case: the case's directory, as in `cases`.
            file: its path therein.

        Raises:
            CorpusError: it is missing, too large or not what the manifest says.
        """
        try:
            with open(f"{self.path}/{case}/{file}", "rb", buffering=0) as stream:  # noqa: PTH123 - thousands of them
                if os.fstat(stream.fileno()).st_size > LARGEST_FILE:
                    raise _unfit(self.path, f"{case}/{file} is larger than {LARGEST_FILE} bytes")
                content = stream.read()
        except OSError as error:
            raise _unfit(self.path, f"{case}/{file} cannot be read ({error.strerror})") from None
        if hashlib.sha256(content).hexdigest() != self.cases[case][file]:
            raise _unfit(self.path, f"{case}/{file} is altered or truncated: it is not what {MANIFEST} hashes")
        return content

    def verify(self) -> int:
        """Read and hash every file, and return how many there are.

        Raises:
            CorpusError: one is missing, extra, truncated or altered.
        """
        return sum(len(self.read(case, file)) >= 0 for case, files in self.cases.items() for file in files)


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
        raise _unfit(path, f"{missing[0]} is missing{_and_others(missing)}")
    if extra:
        raise _unfit(path, f"{extra[0]} is not in {MANIFEST}{_and_others(extra)}")
    return corpus


def odds(corpus: Corpus) -> tuple[list[str], list[str]]:
    """The files that the manifest names and the directory lacks, and the reverse."""
    listed = {f"{case}/{file}" for case, files in corpus.cases.items() for file in files}
    present = _files(str(corpus.path)) - {MANIFEST}
    return sorted(listed - present), sorted(present - listed)


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
    try:
        document = json.loads(manifest.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise _unfit(path, f"{MANIFEST} cannot be read ({error})") from None
    if problem := complaint("manifest", document):
        raise _unfit(path, f"{MANIFEST} is malformed: {problem}")
    if document["levels"].keys() != document["cases"].keys():
        raise _unfit(path, f"{MANIFEST} is malformed: its levels are not of its cases")
    if document["digest"] != digest(document["version"], document["levels"], document["cases"]):
        raise _unfit(path, f"{MANIFEST} is altered: its digest is not that of its content")
    return Corpus(path, document["version"], document["digest"], document["cases"], document["levels"])


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
    """One hash for a whole corpus."""
    canonical = json.dumps([version, levels, cases], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def find_case(corpus: Corpus, id: str) -> str:
    """The directory of a case.

    Raises:
        UnknownName: the corpus has no such case.
    """
    from difflib import get_close_matches

    paths = corpus.paths()
    if id in paths:
        return paths[id]
    close = get_close_matches(id, paths, n=1)
    hint = f"Did you mean {close[0]}?" if close else "See `onnx-conformance list`."
    raise UnknownName(f"There is no case {id} in {corpus.path}.", hint)


def case_json(corpus: Corpus, case: str) -> dict[str, Any]:
    """A case's case.json.

    Raises:
        CorpusError: it is not what its schema says.
    """
    try:
        document = json.loads(corpus.read(case, "case.json"))
    except (ValueError, RecursionError) as error:
        raise _unfit(corpus.path, f"{case}/case.json is not JSON ({error})") from None
    if problem := complaint("case", document):
        raise _unfit(corpus.path, f"{case}/case.json is malformed: {problem}")
    return dict(document)


def _files(root: str) -> set[str]:
    """Every file below a directory by its path from there; links are listed and never followed."""
    files: set[str] = set()
    folders = [""]
    while folders:
        prefix = folders.pop()
        with os.scandir(f"{root}/{prefix}") as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{prefix}{entry.name}/")
                else:
                    files.add(prefix + entry.name)
    return files


def _and_others(names: list[str]) -> str:
    return f", and {len(names) - 1} more" if len(names) > 1 else ""


def _unfit(path: Path, what: str) -> CorpusError:
    return CorpusError(
        f"The corpus in {path} is not whole: {what}.",
        "Restore it (from git, or by reinstalling), or write it anew with `onnx-conformance generate`.",
    )
