"""The last released corpus, as `released.json` beside the manifest has it: what the next one's version is measured by.

It has a level and two hashes for each case, so that any number of changes go into one version until that is released.
It is no part of the corpus: neither manifest nor digest count it, and no run reads it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.corpus.corpus import RELEASED, read_document, unfit
from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from conformance.corpus.corpus import Corpus

FORMAT = 1
LARGEST = 2**24
CASE_JSON = "case.json"

_DIGITS = 32
"""Hexadecimal digits of a hash: 128 bits tell a corpus's cases apart, and nobody is to be kept from forging one."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells whether a case is as it was.

    Attributes:
        judged: a hash of what a subject is given and held to: all of its files but `case.json`.
        described: a hash of `case.json`, which says of it what people read.
    """

    level: Level
    judged: str
    described: str


@dataclass(frozen=True)
class Released:
    """A corpus as it was released.

    Attributes:
        cases: by their paths in it.
    """

    version: str
    cases: Mapping[str, Fingerprint]


def fingerprints(files: Mapping[str, Mapping[str, str]], levels: Mapping[str, str]) -> dict[str, Fingerprint]:
    """The fingerprints of cases by their paths.

    Args:
        files: the SHA-256 of each of a case's files, by the case's path.
        levels: likewise its level.
    """
    return {
        path: Fingerprint(Level(levels[path]), _judged(own), own[CASE_JSON][:_DIGITS]) for path, own in files.items()
    }


def as_released(corpus: Corpus) -> Released:
    """A corpus as it would be if it were released now."""
    cases = corpus.cases.values()
    files, levels = {case.path: case.files for case in cases}, {case.path: case.level for case in cases}
    return Released(corpus.version, fingerprints(files, levels))


def read_released(corpus: Path) -> Released | None:
    """What `released.json` in a corpus's directory says; None where there is none.

    Raises:
        CorpusError: it is malformed or altered.
    """
    if not (corpus / RELEASED).is_file():
        return None
    document = read_document(corpus, RELEASED, LARGEST)
    if document["digest"] != _digest(document["version"], document["cases"]):
        raise unfit(corpus, f"{RELEASED} is altered: its digest is not that of its content")
    rows = {path: row.split(" ") for path, row in document["cases"].items()}
    return Released(document["version"], {path: Fingerprint(Level(row[0]), *row[1:]) for path, row in rows.items()})


def released_bytes(released: Released) -> bytes:
    """The content of `released.json`: a line for each case."""
    cases = {path: f"{one.level} {one.judged} {one.described}" for path, one in sorted(released.cases.items())}
    digest = _digest(released.version, cases)
    document = {"format": FORMAT, "version": released.version, "digest": digest, "cases": cases}
    return (json.dumps(document, indent=1) + "\n").encode()


def _judged(files: Mapping[str, str]) -> str:
    return _hash(sorted((name, hash) for name, hash in files.items() if name != CASE_JSON))[:_DIGITS]


def _digest(version: str, cases: Mapping[str, str]) -> str:
    return _hash([version, cases])


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
