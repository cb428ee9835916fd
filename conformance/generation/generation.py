"""Writes a corpus from generators: all of it beside the old one first, then in its place in one step."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.corpus.corpus import MANIFEST, RELEASED, Corpus, manifest_bytes, odds, open_corpus, read_manifest
from conformance.corpus.released import as_released, fingerprints, read_released, released_bytes
from conformance.errors import CorpusError, UsageError
from conformance.files.regular import write_whole_bytes
from conformance.files.scratch import OLD, scratch_folder
from conformance.generation.filling import filled
from conformance.generation.versioning import change, least_version, parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from conformance.corpus.case import Case
    from conformance.corpus.released import Fingerprint, Released

FIRST_VERSION = "1.0.0"


@dataclass(frozen=True)
class Written:
    """What a generation came to."""

    version: str
    cases: int
    files: int
    bytes: int


def fill(
    cases: Sequence[tuple[str, Case]], write: Callable[[str, bytes], None], progress: Callable[[str], None]
) -> dict[str, dict[str, str]]:
    """Compute every case's files, hand each to `write` with its path in the corpus, and return their hashes."""
    hashes: dict[str, dict[str, str]] = {}
    for case, files in filled(cases):
        for name, content in files.items():
            write(f"{case.path}/{name}", content)
        hashes[case.path] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        progress(case.id)
    return hashes


def generate(
    directory: Path, cases: Sequence[tuple[str, Case]], version: str | None, progress: Callable[[str], None]
) -> Written:
    """Write the corpus of these cases into a directory, replacing the corpus that is there.

    An interruption at any point leaves the old corpus whole. `released.json` stays as it is.

    Args:
        directory: where to; absent, empty, or a corpus.
        version: the new corpus's version. By default that of the old one, or 1.0.0; where the directory says what was
            released last, the least that what changed since then allows, if that is higher.
        progress: called with each case's id when it is done.

    Raises:
        CorpusError: the directory holds something else than a corpus, or besides one.
        UsageError: the version is too low for what changed.
        CaseError: a case cannot be filled.
    """
    old, directory = _old_corpus(directory), directory.resolve()
    released = read_released(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(directory.parent, f".{directory.name}-", directory) as scratch:
        staging = scratch / "new"
        staging.mkdir()
        hashes = fill(cases, _writer(staging), progress)
        chosen = _version(old, released, fingerprints(hashes, _levels(cases)), version)
        (staging / MANIFEST).write_bytes(manifest_bytes(chosen, hashes, _levels(cases)))
        if released is not None:
            (staging / RELEASED).write_bytes(released_bytes(released))
        written = _measure(staging, chosen, len(hashes))
        _replace(directory, staging)
    return written


def release(directory: Path) -> Released:
    """Have a directory say that its corpus, as it is now, is the released one, and return what it says.

    Raises:
        CorpusError: it is not a corpus, or not whole.
    """
    corpus = open_corpus(directory)
    corpus.verify()
    released = as_released(corpus)
    write_whole_bytes(directory / RELEASED, released_bytes(released))
    return released


def differences(directory: Path, cases: Sequence[tuple[str, Case]], progress: Callable[[str], None]) -> list[str]:
    """How the corpus in a directory differs from what these cases give, a sentence per file; nothing is written.

    Raises:
        CorpusError: the directory is not a corpus.
    """
    old = read_manifest(directory)
    complaints: list[str] = []
    seen: set[str] = set()

    def compare(path: str, content: bytes) -> None:
        seen.add(path)
        file = directory / path
        if not file.is_file():
            complaints.append(f"{path} is missing")
        elif file.read_bytes() != content:
            complaints.append(f"{path} differs")

    hashes = fill(cases, compare, progress)
    compare(MANIFEST, manifest_bytes(old.version, hashes, _levels(cases)))
    if released := read_released(directory):
        compare(RELEASED, released_bytes(released))
        least, why = _least(released, fingerprints(hashes, _levels(cases)))
        if parsed(old.version) < parsed(least):
            complaints.append(f"{MANIFEST} has version {old.version}, and needs {least}: {why}")
    extra = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir()} - seen
    return sorted([*complaints, *(f"{path} is extra" for path in extra)])


def _old_corpus(directory: Path) -> Corpus | None:
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return None
    if not (directory / MANIFEST).is_file():
        raise CorpusError(f"{directory} holds something that is not a corpus.", "Name an empty directory or a corpus.")
    corpus = read_manifest(directory)
    _, extra = odds(corpus)
    if extra:
        raise CorpusError(
            f"{directory} holds {extra[0]}, which is not of its corpus and would be lost.", "Move it elsewhere."
        )
    return corpus


def _version(old: Corpus | None, released: Released | None, new: Mapping[str, Fingerprint], version: str | None) -> str:
    if version is not None:
        try:
            parsed(version)
        except ValueError:
            raise UsageError(f"{version!r} is not a version.", "Give three numbers, as in 1.2.0.") from None
    if old is None:
        return version or FIRST_VERSION
    least, why = _least(released or as_released(old), new)
    chosen = version or (max(old.version, least, key=parsed) if released else old.version)
    if parsed(chosen) < parsed(least):
        raise UsageError(f"This corpus cannot be version {chosen}: {why}.", f"Add --corpus-version {least}.")
    return chosen


def _least(old: Released, new: Mapping[str, Fingerprint]) -> tuple[str, str]:
    """The least version that a corpus may have after another, and why."""
    size, why = change(old.cases, new)
    return least_version(old.version, size), f"{why}, a {size.name.lower()} change to {old.version}"


def _levels(cases: Iterable[tuple[str, Case]]) -> dict[str, str]:
    return {case.path: str(case.level) for _, case in cases}


def _writer(root: Path) -> Callable[[str, bytes], None]:
    def write(path: str, content: bytes) -> None:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    return write


def _replace(directory: Path, staging: Path) -> None:
    """Put the staged corpus in the directory's place; where that is broken off, the old one is put back."""
    if directory.exists():
        directory.rename(staging.with_name(OLD))
    staging.rename(directory)


def _measure(root: Path, version: str, cases: int) -> Written:
    sizes = [path.stat().st_size for path in root.rglob("*") if path.is_file()]
    return Written(version, cases, len(sizes), sum(sizes))
