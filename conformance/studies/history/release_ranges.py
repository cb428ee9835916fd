"""The releases of a package that can be installed, found by uv or pip with the package index that they are set up for.

`ReleaseRange` is a range of releases on the command line: `1.20..1.32`, `1.20..`, or one release.
"""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.version import Version

from conformance.base.errors import HistoryError, UnknownName
from conformance.base.processes.start import run_program
from conformance.subjects.environments.create import last_error_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from subprocess import CompletedProcess


@dataclass(frozen=True)
class ReleaseRange:
    """A range of releases; both ends belong to it.

    Attributes:
        first: the oldest release, or None.
        last: the newest release, or None. All releases that begin with it belong to the range: `1.32` has 1.32.1.
    """

    first: Version | None = None
    last: Version | None = None

    @classmethod
    def parse(cls, text: str) -> ReleaseRange:
        """Return the range of `A..B`, `A..`, `..B`, one release, or an empty text, which means all releases.

        Raises:
            UnknownName: a release is not a version number, or the range is empty.
        """
        if not text:
            return cls()
        first, dots, last = text.partition("..")
        try:
            found = cls(Version(first) if first else None, Version(last) if last else None)
        except ValueError:  # also a number with too many digits
            raise UnknownName("malformed-release.range", text=text) from None
        if not dots:
            return cls(found.first, found.first)
        if found.first and found.last and not found.has(found.first):
            raise UnknownName("empty-range", text=text)
        return found

    def missing_ends(self, releases: Iterable[str]) -> list[Version]:
        """Return the ends of the range that are neither a release nor the beginning of one: 1.32 begins 1.32.1."""
        found = [Version(text).release for text in releases]
        ends = dict.fromkeys(end for end in (self.first, self.last) if end is not None)
        return [end for end in ends if not any(release[: len(end.release)] == end.release for release in found)]

    def has(self, release: Version) -> bool:
        """Return whether a release belongs to the range."""
        if self.first is not None and release < self.first:
            return False
        return (
            self.last is None or release <= self.last or release.release[: len(self.last.release)] == self.last.release
        )


def middles_between(first: int, last: int) -> Iterator[int]:
    """Yield the numbers between two numbers: the middle, then the middles of ever smaller ranges."""
    ranges = [(first, last)]
    for low, high in ranges:
        middle = (low + high) // 2
        if low < middle < high:
            yield middle
            ranges += [(low, middle), (middle, high)]


def find_releases(package: str, range: ReleaseRange, python: str = sys.executable) -> list[str]:
    """Return the releases of a package in a range that have a wheel for a Python, the oldest first.

    Args:
        package: name of the package.
        range: the releases to find.
        python: the interpreter for which the wheels must be.

    Raises:
        HistoryError: the package does not exist, the range has no release, or the releases cannot be listed.
    """
    found = _list_by_uv(package, range, python) if shutil.which("uv") else _list_by_pip(package, python)
    versions = sorted({version for version in map(Version, found) if range.has(version) and not version.is_prerelease})
    if not versions:
        raise HistoryError("no-release", package=package)
    by_version = {Version(text): text for text in found}
    return [by_version[version] for version in versions]


def _list_by_uv(package: str, range: ReleaseRange, python: str) -> list[str]:
    """Return the releases of a package: ask uv for the newest release, then repeatedly for the next older one."""
    found: list[str] = []
    lowest = f">={range.first}" if range.first else ""
    while True:
        below = f"{',' if lowest else ''}<{found[-1]}" if found else ""
        options = ["--quiet", "--no-deps", "--no-header", "--no-annotate", "--only-binary", ":all:", "--python", python]
        requirement = f"{package}{lowest}{below}"
        done = _run(["uv", "pip", "compile", *options, "-"], requirement)
        if done.returncode:
            _check_error(package, done.stderr.decode(errors="replace"))
            return found
        match = re.search(r"==([^\s;]+)", done.stdout.decode(errors="replace"))
        if match is None or (found and Version(match[1]) >= Version(found[-1])):
            return found
        found.append(match[1])


def _list_by_pip(package: str, python: str) -> list[str]:
    command = [python, "-m", "pip", "index", "versions", "--disable-pip-version-check", "--only-binary=:all:", package]
    done = _run(command)
    if done.returncode:
        _check_error(package, done.stderr.decode(errors="replace"))
        return []
    match = re.search(r"^Available versions: (.*)$", done.stdout.decode(errors="replace"), re.MULTILINE)
    return [text.strip() for text in match[1].split(",")] if match else []


def _run(command: Sequence[str], text: str = "") -> CompletedProcess[bytes]:
    try:
        return run_program(command, input=text.encode())
    except OSError as error:
        raise HistoryError("no-installer", program=command[0], reason=error.strerror) from None


_NETWORK_PATTERN = re.compile(
    "error sending request|dns error|tcp connect|connection (?:refused|reset)|timed out|network was disabled"
    "|NewConnectionError|Max retries|Temporary failure in name resolution|Failed to fetch|Could not connect"
    "|Network is unreachable|error trying to connect|HTTP status server error|Too Many Requests|ReadTimeoutError"
    "|ProtocolError|error decoding response body|connection closed",
    re.IGNORECASE,
)
"""Errors of uv and pip without access to the package index."""

_UNKNOWN_PATTERN = re.compile("was not found in the package registry|No matching distribution found for [^<>=!~ ]+$")

_NO_RELEASE_PATTERN = re.compile("No solution found when resolving|No matching distribution found")
"""Errors of uv and pip if no release fits."""


def is_network_error(text: str) -> bool:
    """Return whether an error of uv or pip means that the package index cannot be reached."""
    return _NETWORK_PATTERN.search(text) is not None


def is_disk_error(text: str) -> bool:
    """Return whether an error means that the disk is full."""
    return re.search("No space left on device|Disk quota exceeded|os error 28", text) is not None


def full_disk_error(problem: str) -> HistoryError:
    """Return the error for a full disk."""
    return HistoryError("disk-full.environment", problem=problem)


def is_timeout(text: str) -> bool:
    """Return whether an error means that a subject did not start in time, perhaps because the machine is busy."""
    return re.search(r"no answer within [\d.]+ s", text) is not None


def no_network_error(package: str, text: str) -> HistoryError:
    """Return the error for a package index that cannot be reached."""
    return HistoryError("no-network", package=package, reason=last_error_line(text.encode()))


def _check_error(package: str, text: str) -> None:
    """Raise an error unless the text means that no further release exists.

    Raises:
        HistoryError: the package does not exist, the package index cannot be reached, or the installer does not work.
    """
    if is_network_error(text):
        raise no_network_error(package, text)
    if is_disk_error(text):
        raise full_disk_error(f"The releases of {package} cannot be listed: {last_error_line(text.encode())}")
    if _UNKNOWN_PATTERN.search(text):
        raise HistoryError("no-such-package", package=package)
    if not _NO_RELEASE_PATTERN.search(text):
        raise HistoryError("not-listed", package=package, reason=last_error_line(text.encode()))
