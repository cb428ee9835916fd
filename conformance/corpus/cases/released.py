"""The last released corpus, recorded in `released.json` next to the manifest.

`generate` compares the new corpus with the released corpus to determine the new version. The file has the level and two
hashes of each case. It is not part of the corpus: the manifest does not list it, and runs do not read it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, structs

from conformance.base.serialization.decoding import StoredRecord
from conformance.base.verdicts import Level
from conformance.corpus.cases.corpus import (
    RELEASED,
    CasePath,
    Corpus,
    Sha256,
    damaged_corpus_error,
    has_file,
    read_document,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


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


FingerprintText = Annotated[str, Meta(pattern=r"^(must|should|silent) [0-9a-f]{32} [0-9a-f]{32}\Z")]
"""Level and hashes of a case, see `Fingerprint`."""


class ReleasedDocument(StoredRecord):
    """released.json: the level and two hashes of each case in the last released corpus."""

    format: Literal[1]
    version: Annotated[str, Meta(pattern=r"^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}\Z")]
    digest: Sha256
    cases: Annotated[dict[CasePath, FingerprintText], Meta(min_length=1)]

    @property
    def fingerprints(self) -> dict[str, Fingerprint]:
        """The fingerprints of the cases by path."""
        rows = {path: row.split(" ") for path, row in self.cases.items()}
        return {path: Fingerprint(Level(row[0]), *row[1:]) for path, row in rows.items()}


def fingerprints(files: Mapping[str, Mapping[str, str]], levels: Mapping[str, Level]) -> dict[str, Fingerprint]:
    """Return the fingerprints of cases by path.

    Args:
        files: for each case path, the SHA-256 of each of its files.
        levels: for each case path, the level of the case.
    """
    return {
        path: Fingerprint(levels[path], _judged_hash(own), own[CASE_JSON][:HASH_DIGITS]) for path, own in files.items()
    }


def release_of(corpus: Corpus) -> ReleasedDocument:
    """Return the record that declares `corpus` as released, with the cases sorted by path."""
    cases = corpus.cases.values()
    files = {case.path: case.files for case in cases}
    levels = {case.path: case.level for case in cases}
    found = sorted(fingerprints(files, levels).items())
    rows = {path: f"{one.level} {one.judged} {one.described}" for path, one in found}
    return ReleasedDocument(1, corpus.version, _released_digest(corpus.version, rows), rows)


def read_released(corpus: Path) -> ReleasedDocument | None:
    """Return the content of `released.json` of a corpus; None if there is no such file.

    Raises:
        CorpusError: the file is malformed or altered.
    """
    if not has_file(corpus, RELEASED):
        return None
    document = read_document(corpus, RELEASED, MAX_RELEASED_BYTES, ReleasedDocument)
    if document.digest != _released_digest(document.version, document.cases):
        raise damaged_corpus_error(
            "file-altered", corpus, f"{RELEASED} is altered: its digest is not that of its content"
        )
    return structs.replace(document, cases=dict(sorted(document.cases.items())))


def _judged_hash(files: Mapping[str, str]) -> str:
    return _json_hash(sorted((name, hash) for name, hash in files.items() if name != CASE_JSON))[:HASH_DIGITS]


def _released_digest(version: str, cases: Mapping[str, str]) -> str:
    return _json_hash([version, cases])


def _json_hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
