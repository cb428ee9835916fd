"""Write a corpus to a directory, and choose its version.

The version follows semantic versioning. A backend that passes a corpus also passes its later patch versions:

- Added or removed cases need a new minor version.
- A changed model, input or expected output, or a stronger level, of a case needs a new major version (before 1.0.0: a
  minor version).
- Other changes, such as a new title, need a new patch version.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from conformance.base.errors import CaseError, CorpusError, UsageError
from conformance.base.files.atomic_write import (
    check_writable,
    named_errors,
    read_input,
    real_path,
    supervised_temp_dir,
    write_bytes_atomically,
)
from conformance.base.processes.helper import REPLACED_NAME
from conformance.base.serialization.decoding import encode_document
from conformance.corpus.cases.corpus import (
    MANIFEST,
    RELEASED,
    Corpus,
    manifest_bytes,
    missing_and_unexpected_files,
    open_corpus,
    read_manifest,
)
from conformance.corpus.cases.released import Fingerprint, ReleasedDocument, fingerprints, read_released, release_of
from conformance.corpus.generation.expected_outputs import compute_case_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from conformance.base.verdicts import Level
    from conformance.corpus.cases.case import Case

    Cases = Mapping[str, Fingerprint]


_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


class VersionChange(IntEnum):
    """The difference of two corpora, as the part of the version that must increase."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3


def classify_change(old: Cases, new: Cases) -> tuple[VersionChange, str]:
    """Return which part of the version must increase after a change of the corpus, and the first case that requires it.

    Args:
        old: fingerprints of the older corpus by case path.
        new: fingerprints of the newer corpus by case path.
    """
    kept = [path for path in old if path in new]
    if otherwise := [path for path in kept if old[path].judged != new[path].judged]:
        return VersionChange.MAJOR, f"{otherwise[0]} judges differently"
    if stricter := [path for path in kept if new[path].level.is_stronger_than(old[path].level)]:
        return VersionChange.MAJOR, f"{stricter[0]} has the stronger level {new[stricter[0]].level}"
    if appeared := [path for path in new if path not in old]:
        return VersionChange.MINOR, f"{appeared[0]} is new"
    if removed := [path for path in old if path not in new]:
        return VersionChange.MINOR, f"{removed[0]} was removed"
    described = [path for path in kept if old[path] != new[path]]
    return (
        (VersionChange.PATCH, f"{described[0]} has a different description")
        if described
        else (VersionChange.NONE, "nothing differs")
    )


def minimum_version(old: str, change: VersionChange) -> str:
    """Return the smallest version that is allowed for a corpus that differs by `change` from version `old`."""
    major, minor, patch = parse_version(old)
    if change is VersionChange.MAJOR and major:
        return f"{major + 1}.0.0"
    if change >= VersionChange.MINOR:
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}" if change is VersionChange.PATCH else old


def parse_version(version: str) -> tuple[int, int, int]:
    """Return the three numbers of a version.

    Raises:
        ValueError: the text is not three numbers separated by dots.
    """
    if not (match := _VERSION.fullmatch(version)):
        raise ValueError(version)
    return int(match[1]), int(match[2]), int(match[3])


FIRST_VERSION = "1.0.0"
"""Default version of a new corpus."""


@dataclass(frozen=True)
class CorpusSize:
    """Version and size of a written corpus."""

    version: str
    cases: int
    files: int
    bytes: int


def compute_hashes(
    cases: Sequence[tuple[str, Case]], write: Callable[[str, bytes], None], progress: Callable[[str], None]
) -> dict[str, dict[str, str]]:
    """Compute the files of all cases, call `write(path, content)` for each file, and return the hashes.

    The result maps a case's path to the SHA-256 of each of its files.

    Raises:
        CaseError: two cases have the same id, or the files of a case cannot be computed.
    """
    seen: set[str] = set()
    for _, case in cases:
        if case.id in seen:
            raise CaseError("id-duplicate", case=case.id)
        seen.add(case.id)
    hashes: dict[str, dict[str, str]] = {}
    for case, files in compute_case_files(cases):
        for name, content in files.items():
            write(f"{case.path}/{name}", content)
        hashes[case.path] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        progress(case.id)
    return hashes


def generate(
    directory: Path,
    cases: Sequence[tuple[str, Case]],
    version: str | None,
    progress: Callable[[str], None],
    name: str = "",
    *,
    is_versioned: bool = True,
    added: Mapping[str, bytes] = {},
    code: str = "",
    nodes: int = 0,
) -> CorpusSize:
    """Write the corpus of these cases to a directory, replacing an existing corpus.

    An interruption at any point leaves the old corpus complete. `released.json` is kept.

    Args:
        directory: target directory. It must be missing, empty or a corpus.
        cases: each case, with the name of its generator.
        version: version of the new corpus. The default is the version of the existing corpus, or 1.0.0. If
            `released.json` exists, the default is at least the smallest version that the changes since then allow.
        progress: function that is called with the id of each completed case.
        name: name of the corpus; empty for the corpus of the suite.
        is_versioned: whether the version must be allowed after the version of the existing corpus.
        added: content of files that are not part of the corpus, by path.
        code: SHA-256 of the code that computed the expected values; empty if nothing is reused by it.
        nodes: number of nodes of the user's models that the cases were made of; 0 for other cases.

    Raises:
        CorpusError: the directory has files that do not belong to a corpus.
        UsageError: the version is malformed, or too low for the changes.
        CaseError: two cases have the same id, or the files of a case cannot be computed.
    """
    if version is not None:
        try:
            parse_version(version)
        except ValueError:
            raise UsageError("bad-version", version=version) from None
    old, directory = _old_corpus(directory), real_path(directory)
    released = read_released(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with supervised_temp_dir(directory.parent, f".{directory.name}-", directory) as scratch:
        staging = scratch / "new"
        staging.mkdir()
        hashes = compute_hashes(cases, _writer(staging, directory), progress)
        chosen = _version(old if is_versioned else None, released, fingerprints(hashes, _levels(cases)), version)
        with named_errors(directory):
            (staging / MANIFEST).write_bytes(manifest_bytes(chosen, hashes, _levels(cases), name, code, nodes))
            if released is not None:
                (staging / RELEASED).write_bytes(encode_document(released))
            for path, content in added.items():
                (staging / path).write_bytes(content)
            written = _measure(staging, chosen, len(hashes))
            _replace(directory, staging)
    return written


def mark_released(directory: Path) -> ReleasedDocument:
    """Record the current corpus as released in `released.json`, and return the record.

    Raises:
        CorpusError: the directory is not a complete corpus.
    """
    corpus = open_corpus(directory)
    corpus.verify()
    released = release_of(corpus)
    write_bytes_atomically(directory / RELEASED, encode_document(released))
    return released


def corpus_differences(
    directory: Path, cases: Sequence[tuple[str, Case]], progress: Callable[[str], None], added: Mapping[str, bytes] = {}
) -> list[str]:
    """Compare the corpus in a directory with these cases and return one sentence per file that differs.

    The arguments are those of `generate`.

    Raises:
        CorpusError: the directory is not a corpus.
    """
    old = read_manifest(directory)
    violations: list[str] = []
    seen: set[str] = set()

    def compare(path: str, content: bytes) -> None:
        seen.add(path)
        try:
            if read_input(directory / path, len(content), directory) != content:
                violations.append(f"{path} differs")
        except FileNotFoundError:
            violations.append(f"{path} is missing")
        except OSError:  # it is larger, or is a link
            violations.append(f"{path} differs")

    hashes = compute_hashes(cases, compare, progress)
    for name, content in added.items():
        compare(name, content)
    compare(MANIFEST, manifest_bytes(old.version, hashes, _levels(cases), old.name, old.code, old.nodes))
    if released := read_released(directory):
        compare(RELEASED, encode_document(released))
        least, why = _minimum_version_and_reason(released, fingerprints(hashes, _levels(cases)))
        if parse_version(old.version) < parse_version(least):
            violations.append(f"{MANIFEST} has version {old.version} but needs {least}: {why}")
    extra = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir()} - seen
    return sorted([*violations, *(f"{path} is extra" for path in extra)])


def check_no_corpus(directory: Path, *, replaces: bool = False) -> None:
    """Check that a new corpus in a directory replaces nothing, or only a corpus.

    Raises:
        CorpusError: the directory has a corpus that is not replaced, or other files.
        UsageError: the folder of the directory is read-only.
    """
    check_writable(directory, is_folder=True)
    if (old := _old_corpus(directory)) is not None and not replaces:
        raise CorpusError("exists.other", directory=directory, count=len(old.cases))


def _old_corpus(directory: Path) -> Corpus | None:
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return None
    if not (directory / MANIFEST).is_file():
        raise CorpusError("not-a-corpus", directory=directory)
    corpus = read_manifest(directory)
    _, extra = missing_and_unexpected_files(corpus)
    if extra:
        raise CorpusError("extra-file", directory=directory, file=extra[0])
    return corpus


def _version(
    old: Corpus | None, released: ReleasedDocument | None, new: Mapping[str, Fingerprint], version: str | None
) -> str:
    if old is None:
        return version or FIRST_VERSION
    least, why = _minimum_version_and_reason(released or release_of(old), new)
    chosen = version or (max(old.version, least, key=parse_version) if released else old.version)
    if parse_version(chosen) < parse_version(least):
        raise UsageError("version-too-low", chosen=chosen, why=why, least=least)
    return chosen


def _minimum_version_and_reason(old: ReleasedDocument, new: Mapping[str, Fingerprint]) -> tuple[str, str]:
    """Return the smallest version that the new corpus may have, and the reason.

    Args:
        old: the record of the last released corpus.
        new: fingerprints of the cases of the new corpus, by path.
    """
    size, why = classify_change(old.fingerprints, new)
    return minimum_version(old.version, size), f"{why}, a {size.name.lower()} change to {old.version}"


def _levels(cases: Iterable[tuple[str, Case]]) -> dict[str, Level]:
    return {case.path: case.level for _, case in cases}


def _writer(root: Path, directory: Path) -> Callable[[str, bytes], None]:
    def write(path: str, content: bytes) -> None:
        file = root / path
        with named_errors(directory):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    return write


def _replace(directory: Path, staging: Path) -> None:
    """Replace the corpus in `directory` by the corpus in `staging`.

    After an interruption, `scratch_folder` restores the old corpus.
    """
    if directory.exists():
        directory.rename(staging.with_name(REPLACED_NAME))
    staging.rename(directory)


def _measure(root: Path, version: str, cases: int) -> CorpusSize:
    sizes = [path.stat().st_size for path in root.rglob("*") if path.is_file()]
    return CorpusSize(version, cases, len(sizes), sum(sizes))
