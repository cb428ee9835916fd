"""A corpus as one zip file, which is read in place: one member for each case, and the files of the corpus itself.

The member of a case begins with a line of JSON: the size of each file by its path in the case. The contents of the
files follow in this order. One member per case instead of one per file makes opening an archive 20 times faster.

This module imports only the standard library when it is loaded, because the build of the wheel runs it before anything
is installed.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from typing import TYPE_CHECKING
from weakref import finalize

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"
RELEASED = "released.json"

MAX_CASE_BYTES = 2**29
"""Largest size of all files of a case together."""

_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}

_TIME = (1980, 1, 1, 0, 0, 0)
"""Time of every member, so that the same corpus gives the same archive."""

_KEPT_CASES = 2
"""Number of unpacked cases that are kept: the case that runs, and the next case, which is read in advance."""


def write_archive(corpus: Path, target: Path) -> None:
    """Write the corpus in a folder as an archive. Files that the manifest does not list are left out.

    Raises:
        OSError: a file cannot be read or written.
    """
    cases: dict[str, dict[str, str]] = json.loads((corpus / MANIFEST).read_bytes())["cases"]
    with zipfile.ZipFile(target, "w") as archive:
        for name in (MANIFEST, RELEASED):
            if (corpus / name).is_file():
                _add(archive, name, (corpus / name).read_bytes())
        for case, files in cases.items():
            contents = [(corpus / case / file).read_bytes() for file in files]
            sizes = json.dumps(dict(zip(files, map(len, contents), strict=True))).encode()
            _add(archive, case, b"\n".join((sizes, b"".join(contents))))


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name, _TIME)
    member.create_system = 3  # the same on every system
    archive.writestr(member, content, zipfile.ZIP_DEFLATED, 9)


class CorpusArchive:
    """An open archive of a corpus.

    Args:
        path: path of the archive.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a zip file, or has too many members.
    """

    def __init__(self, path: Path) -> None:
        from conformance.base.files.atomic_write import open_input, open_zip

        with open_input(path) as stream:
            descriptor = os.dup(stream.fileno())
        finalize(self, os.close, descriptor)  # `zipfile` does not close what it has not opened
        self._zip = open_zip(os.fdopen(descriptor, "rb", closefd=False))
        self._cases: dict[str, dict[str, bytes]] = {}

    @property
    def names(self) -> set[str]:
        """The names of the members: paths of cases, and the files of the corpus itself."""
        return set(self._zip.namelist())

    def read_member(self, name: str, limit: int) -> bytes:
        """Return the content of a member.

        Raises:
            ValueError: the member is missing, damaged, or larger than `limit` bytes.
        """
        try:
            member = self._zip.getinfo(name)
            if member.file_size > limit:
                raise ValueError(f"it has more than {limit} bytes")
            if member.compress_type not in _METHODS:  # a decompressor of LZMA reserves as much memory as a member names
                raise ValueError("it is packed by another method than deflate")
            return self._zip.read(member)
        except KeyError:
            raise ValueError("it is missing") from None
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
            raise ValueError(str(error)) from None

    def read_case(self, case: str) -> dict[str, bytes]:
        """Return the contents of a case's files by their paths in the case.

        Args:
            case: path of the case: `node/test_…`.

        Raises:
            ValueError: the member is missing, damaged or larger than `MAX_CASE_BYTES`.
        """
        if case not in self._cases:
            self._cases[case] = _split(self.read_member(case, MAX_CASE_BYTES))
            for oldest in list(self._cases)[:-_KEPT_CASES]:
                self._cases.pop(oldest, None)
        return self._cases[case]


def _split(content: bytes) -> dict[str, bytes]:
    """Return the files in the member of a case.

    Raises:
        ValueError: the sizes in the first line are not those of the contents.
    """
    from conformance.base.serialization.decoding import decode_json

    line, _, contents = content.partition(b"\n")
    sizes = decode_json(line)
    if not isinstance(sizes, dict) or not all(type(size) is int and size >= 0 for size in sizes.values()):
        raise ValueError("its first line does not have the sizes of its files")
    if sum(sizes.values()) != len(contents):
        raise ValueError("the sizes of its files are wrong")
    files = {}
    start = 0
    for name, size in sizes.items():
        files[name] = contents[start : start + size]
        start += size
    return files
