"""A case's files in a results file, so that who reads a report can take a failing case away and run it.

The archive of a case is a corpus of that one case: unpacked, it is what `--data` takes.
"""

from __future__ import annotations

import base64
import io
import zipfile
from typing import TYPE_CHECKING

from conformance.corpus.corpus import MANIFEST, manifest_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.corpus.corpus import Corpus, CorpusCase
    from conformance.results.records import ArchiveRecord

LARGEST = 64 * 1024
"""Bytes of one case's archive; a larger one is left out."""
BUDGET = 2 * 1024 * 1024
"""Bytes of all archives of a run."""

_EARLIEST = (1980, 1, 1, 0, 0, 0)
_REGULAR_FILE = 0o100644 << 16
_UNIX = 3


class Archives:
    """Decides which cases of a run are archived, within a budget: each that went wrong, once.

    What the gate holds against a subject may use all of the budget, what was expected to go wrong the half of it.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._settled: set[str] = set()
        self._room = {True: BUDGET, False: BUDGET // 2}

    def of(self, case: CorpusCase, *, surprise: bool) -> ArchiveRecord | None:
        """The record to write after a case's defect; None where it is written already, or has no room.

        The first that has no room is the last: packing is not free, and a subject may fail everything.

        Args:
            surprise: whether the gate holds the defect against the subject.
        """
        if case.id in self._settled or not self._room[surprise]:
            return None
        content = archive(self._corpus, case)
        if len(content) <= LARGEST and len(content) > self._room[surprise]:
            self._room[surprise] = 0
            return None
        self._settled.add(case.id)
        if len(content) > LARGEST:
            return None
        self._room = {kind: max(0, room - len(content)) for kind, room in self._room.items()}
        return {"record": "archive", "case": case.id, "zip": base64.b64encode(content).decode()}


def archive(corpus: Corpus, case: CorpusCase) -> bytes:
    """A zip of a corpus of one case, in a folder of the case's name.

    Raises:
        CorpusError: one of the case's files is not what the manifest says.
    """
    files = {f"{case.path}/{name}": corpus.read(case, name) for name in sorted(case.files)}
    files[MANIFEST] = manifest_bytes(corpus.version, {case.path: case.files}, {case.path: case.level})
    return _zipped({f"{case.id}/{name}": content for name, content in files.items()})


def _zipped(files: Mapping[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as bundle:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.create_system, entry.external_attr = _UNIX, _REGULAR_FILE
            entry.compress_type = zipfile.ZIP_DEFLATED
            bundle.writestr(entry, content)
    return target.getvalue()
