"""What a campaign has done, on disk: a line of JSON for each piece, whole after each, held by one campaign at a time.

The first line says whose pieces they are. A last line without its end is a piece that was not done.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, cast

from conformance.boundary.decoding import Count, JsonDecoder, MalformedError, NonEmpty
from conformance.campaigns.job import Piece
from conformance.errors import CampaignError
from conformance.files.regular import real_path
from conformance.plugins import suite_version

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from conformance.campaigns.job import Job

FORMAT = 1
LARGEST = 2**30
"""Bytes of a file that is read."""


class _Header(TypedDict):
    """The first line."""

    record: Literal["campaign"]
    format: Count
    suite: NonEmpty
    job: dict[str, Any]


class State:
    """The file of a campaign.

    Args:
        path: the file; it is made if it is not there.
        job: whose pieces it has.

    Attributes:
        pieces: what it had when it was opened, each number once.

    Raises:
        CampaignError: it is another job's or another version's, is none, cannot be written, or is in use.
    """

    def __init__(self, path: Path, job: Job) -> None:
        self._path = path
        self._decoder = JsonDecoder(_line_of(job.result))
        self._descriptor = self._opened()
        try:
            header = {"record": "campaign", "format": FORMAT, "suite": suite_version(), "job": _plain(job.identity)}
            content = self._content()
            if content:
                self._check_header(content[0], header)
            self.pieces = self._read(content[1:])
            self._cut_off(sum(map(len, content)))
            if not content:
                self._append(header)
        except BaseException:
            os.close(self._descriptor)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def keep(self, piece: Piece) -> None:
        """Add a piece.

        Raises:
            CampaignError: it cannot be written.
        """
        self._append({"record": "piece", "number": piece.number, "result": piece.result})

    def _opened(self) -> int:
        real = real_path(self._path)
        try:
            real.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
            descriptor = os.open(real, flags, 0o644)
        except OSError as error:
            raise self._unwritten(error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise CampaignError(
                f"{self._path} is in use by another campaign.", "Wait until it has ended, or name another file."
            ) from None
        return descriptor

    def _content(self) -> list[bytes]:
        """The whole lines, with their ends."""
        try:
            status = os.fstat(self._descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise CampaignError(f"{self._path} is no regular file.", "Name a file for the campaign's state.")
            if status.st_size > LARGEST:
                raise CampaignError(f"{self._path} is larger than {LARGEST} bytes.", "Name the file of a campaign.")
            content = b"".join(iter(lambda: os.read(self._descriptor, 2**20), b""))
        except OSError as error:
            raise self._unwritten(error) from None
        whole = content.rfind(b"\n") + 1
        if content and not whole and not b'{"record": "campaign"'.startswith(content[:21]):
            raise self._foreign(1, "it is no line of JSON")
        return content[:whole].splitlines(keepends=True)

    def _cut_off(self, size: int) -> None:
        """Leave out what there is of a line that was not finished; only what is a campaign's own is ever altered."""
        try:
            os.ftruncate(self._descriptor, size)
        except OSError as error:
            raise self._unwritten(error) from None

    def _check_header(self, line: bytes, header: Mapping[str, Any]) -> None:
        try:
            found = JsonDecoder(_Header)(line)
        except MalformedError as error:
            raise self._foreign(1, str(error)) from None
        if (found["format"], found["suite"]) != (header["format"], header["suite"]):
            raise CampaignError(
                f"{self._path} is of onnx-conformance {found['suite']}, and this is {header['suite']}.",
                "Continue it with that version, or begin anew with another file.",
            )
        own, other = header["job"], found["job"]
        different = next((key for key in {**own, **other} if own.get(key) != other.get(key)), None)
        if different is not None:
            there, here = (json.dumps(job.get(different)) for job in (other, own))
            raise CampaignError(
                f"{self._path} is of another campaign: there, {different} is {there}, here {here}.",
                "Give the options that it began with, or name another file.",
            )

    def _read(self, lines: list[bytes]) -> tuple[Piece, ...]:
        pieces: dict[int, Piece] = {}
        for place, line in enumerate(lines, 2):
            try:
                found = self._decoder(line)
            except MalformedError as error:
                raise self._foreign(place, str(error)) from None
            pieces.setdefault(found["number"], Piece(found["number"], found["result"]))
        return tuple(pieces.values())

    def _append(self, record: Mapping[str, Any]) -> None:
        rest = memoryview(json.dumps(record).encode() + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            raise self._unwritten(error) from None

    def _foreign(self, line: int, reason: str) -> CampaignError:
        return CampaignError(
            f"{self._path} is not the state of a campaign: line {line}: {reason}.", "Name another file."
        )

    def _unwritten(self, error: OSError) -> CampaignError:
        return CampaignError(
            f"{self._path} cannot be read and written: {error.strerror}.", "Name another file, or make room."
        )


def _plain(identity: Mapping[str, Any]) -> dict[str, Any]:
    """An identity as it is read again."""
    return dict(json.loads(json.dumps(identity)))


def _line_of(result: Any) -> Any:
    """The typed dict of a piece's line."""
    fields = {"record": Literal["piece"], "number": Count, "result": result}
    return cast("Any", TypedDict)("PieceLine", fields)
