"""The cache of failed cases for `--last-failed`, which `run` and the pytest plugin share.

The cache belongs to the current directory. It has the file name and the form of pytest's own cache.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

from conformance.base.files.atomic_write import read_regular, write_text_atomically
from conformance.base.serialization.decoding import MalformedError, decode_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ITEM_PREFIX = "onnx-conformance::"
MAX_CACHE_BYTES = 2**26


def item_id(subject: str, case: str) -> str:
    """Return the id of a case on a subject: the id of the pytest item, which pytest also accepts as an argument."""
    return f"{ITEM_PREFIX}{case}[{subject}]"


def read_last_failed() -> set[str]:
    """Return the ids of the items that failed when they were last run; empty without a readable cache."""
    try:
        stored = decode_json(read_regular(_cache_file(), MAX_CACHE_BYTES))
    except (OSError, MalformedError):
        return set()
    return {id for id in stored if isinstance(id, str)} if isinstance(stored, dict) else set()


def select_last_failed(ids: Iterable[str]) -> list[str]:
    """Return those of the ids that failed when they were last run; all ids if none failed."""
    every = list(ids)
    failed = read_last_failed()
    return [id for id in every if id in failed] or every


def update_last_failed(has_failed: Mapping[str, bool]) -> None:
    """Store whether items failed; the stored state of other items does not change.

    Args:
        has_failed: whether an item failed, by its id.
    """
    before = read_last_failed()
    after = {id for id in before | has_failed.keys() if has_failed.get(id, True)}
    if after == before:
        return
    try:
        _cache_file().parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(_cache_file(), json.dumps(dict.fromkeys(sorted(after), True), indent=2))
    except OSError:  # a cache that cannot be written must not fail the run
        return


def _cache_file() -> Path:
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home directory is known
        caches = Path(gettempdir())
    here = hashlib.sha256(os.fsencode(Path.cwd())).hexdigest()[:16]
    return caches / "onnx-conformance" / here / "v" / "cache" / "lastfailed"
