"""The last released corpus, recorded in `released.json` next to the manifest.

`generate` compares the new corpus with the released corpus to determine the new version. The file has the level and two
hashes of each case. It is not part of the corpus: the manifest does not list it, and runs do not read it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.corpus.corpus import RELEASED, damaged_corpus_error, has_file, read_document
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from conformance.corpus.corpus import Corpus


FORMAT = 1
MAX_RELEASED_BYTES = 2**24
"""Largest size of released.json."""

CASE_JSON = "case.json"

HASH_DIGITS = 32
"""Hexadecimal digits of a hash: 128 bits distinguish cases; protection against forgery is not a goal."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Level and hashes of a case, from which `generate` finds out whether the case changed.

    Attributes:
        judged: hash of the files that affect verdicts, which are all files except `case.json`.
        described: hash of `case.json`, the description for readers.
    """

    level: Level
    judged: str
    described: str


@dataclass(frozen=True)
class Released:
    """The record of a released corpus.

    Attributes:
        cases: fingerprints by the path of the case in the corpus.
    """

    version: str
    cases: Mapping[str, Fingerprint]


def fingerprints(files: Mapping[str, Mapping[str, str]], levels: Mapping[str, str]) -> dict[str, Fingerprint]:
    """Return the fingerprints of cases by path.

    Args:
        files: for each case path, the SHA-256 of each of its files.
        levels: for each case path, the level of the case.
    """
    return {
        path: Fingerprint(Level(levels[path]), _judged_hash(own), own[CASE_JSON][:HASH_DIGITS])
        for path, own in files.items()
    }


def release_of(corpus: Corpus) -> Released:
    """Return the record that declares `corpus` as released."""
    cases = corpus.cases.values()
    files, levels = {case.path: case.files for case in cases}, {case.path: case.level for case in cases}
    return Released(corpus.version, fingerprints(files, levels))


def read_released(corpus: Path) -> Released | None:
    """Return the content of `released.json` of a corpus; None if there is no such file.

    Raises:
        CorpusError: the file is malformed or altered.
    """
    if not has_file(corpus, RELEASED):
        return None
    document = read_document(corpus, RELEASED, MAX_RELEASED_BYTES)
    if document["digest"] != _released_digest(document["version"], document["cases"]):
        raise damaged_corpus_error(
            "file-altered", corpus, f"{RELEASED} is altered: its digest is not that of its content"
        )
    rows = {path: row.split(" ") for path, row in document["cases"].items()}
    return Released(document["version"], {path: Fingerprint(Level(row[0]), *row[1:]) for path, row in rows.items()})


def released_bytes(released: Released) -> bytes:
    """Return the content of `released.json`, with one line per case."""
    cases = {path: f"{one.level} {one.judged} {one.described}" for path, one in sorted(released.cases.items())}
    digest = _released_digest(released.version, cases)
    document = {"format": FORMAT, "version": released.version, "digest": digest, "cases": cases}
    return (json.dumps(document, indent=1) + "\n").encode()


def _judged_hash(files: Mapping[str, str]) -> str:
    return _json_hash(sorted((name, hash) for name, hash in files.items() if name != CASE_JSON))[:HASH_DIGITS]


def _released_digest(version: str, cases: Mapping[str, str]) -> str:
    return _json_hash([version, cases])


def _json_hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
