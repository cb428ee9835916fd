"""The corpus's version is semantic in what it judges.

A change that can fail a backend that passed before is never a patch: added cases are at least minor, and a case that
judges otherwise than before is major. Before 1.0.0 a minor version may do either.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.corpus.released import Fingerprint

    Cases = Mapping[str, Fingerprint]

_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


class VersionChange(IntEnum):
    """How much a corpus differs from the one before, by what it judges."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3


def change(old: Cases, new: Cases) -> tuple[VersionChange, str]:
    """The weightiest difference between a corpus and the next, and a sentence naming the first case that makes it so.

    Args:
        old: the fingerprints of its cases by their paths.
        new: those of the next one's.
    """
    kept = [path for path in old if path in new]
    if otherwise := [path for path in kept if old[path].judged != new[path].judged]:
        return VersionChange.MAJOR, f"{otherwise[0]} judges otherwise than before"
    if stricter := [path for path in kept if new[path].level.is_stronger_than(old[path].level)]:
        return VersionChange.MAJOR, f"{stricter[0]} is {new[stricter[0]].level} now"
    if appeared := [path for path in new if path not in old]:
        return VersionChange.MINOR, f"{appeared[0]} is new"
    if removed := [path for path in old if path not in new]:
        return VersionChange.MINOR, f"{removed[0]} is gone"
    described = [path for path in kept if old[path] != new[path]]
    return (
        (VersionChange.PATCH, f"{described[0]} is described otherwise")
        if described
        else (VersionChange.NONE, "nothing differs")
    )


def least_version(old: str, change: VersionChange) -> str:
    """The smallest version that a corpus may have after a change to one of version `old`."""
    major, minor, patch = parsed(old)
    if change is VersionChange.MAJOR and major:
        return f"{major + 1}.0.0"
    if change >= VersionChange.MINOR:
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}" if change is VersionChange.PATCH else old


def parsed(version: str) -> tuple[int, int, int]:
    """A version's three numbers.

    Raises:
        ValueError: it is not three numbers with dots.
    """
    if not (match := _VERSION.fullmatch(version)):
        raise ValueError(version)
    return int(match[1]), int(match[2]), int(match[3])
