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
from conformance.base.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ITEM_PREFIX = "onnx-conformance::"
MAX_CACHE_BYTES = 2**26


def item_id(subject: str, case: str) -> str:
    """Return the id of a case on a subject: the id of the pytest item, which pytest also accepts as an argument."""
    return f"{ITEM_PREFIX}{case}[{subject}]"


def read_last_failed(level: Level) -> set[str]:
    """Return the ids of the items that failed when they were last run; empty without a readable cache.

    Args:
        level: weakest level of failures. Those of level `should` are stored also if they did not fail the run.
    """
    weakest = {True, *([Level.SHOULD] if level is Level.SHOULD else [])}
    return {id for id, stored in _read_cache().items() if stored in weakest}


def select_last_failed(ids: Iterable[str], level: Level) -> list[str]:
    """Return those of the ids that failed when they were last run; all ids if none failed."""
    every = list(ids)
    failed = read_last_failed(level)
    return [id for id in every if id in failed] or every


def update_last_failed(has_failed: Mapping[str, bool], weaker: Iterable[str] = ()) -> None:
    """Store whether items failed; the stored state of other items does not change.

    Args:
        has_failed: whether an item failed the run, by its id.
        weaker: the ids of the items that would fail a run with the level `should`.
    """
    before = _read_cache()
    after: dict[str, bool | str] = {id: stored for id, stored in before.items() if id not in has_failed}
    after |= dict.fromkeys(weaker, str(Level.SHOULD))
    after |= {id: True for id, failed in has_failed.items() if failed}
    if after == before:
        return
    try:
        _cache_file().parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(_cache_file(), json.dumps(after, indent=2, sort_keys=True))
    except OSError:  # a cache that cannot be written must not fail the run
        return


def _read_cache() -> dict[str, bool | str]:
    """Return what is stored of each item: true if it failed, or `should` if it fails a run of this level alone."""
    try:
        stored = decode_json(read_regular(_cache_file(), MAX_CACHE_BYTES))
    except (OSError, MalformedError):
        return {}
    items = stored.items() if isinstance(stored, dict) else ()
    return {id: value for id, value in items if isinstance(id, str) and isinstance(value, bool | str)}


def _cache_file() -> Path:
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # no home directory is known
        caches = Path(gettempdir())
    here = hashlib.sha256(os.fsencode(Path.cwd())).hexdigest()[:16]
    return caches / "onnx-conformance" / here / "v" / "cache" / "lastfailed"
