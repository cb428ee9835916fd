"""The corpus's version is semantic in what it judges.

A change that can fail a backend that passed before is never a patch: added cases are at least minor, and a case that
judges otherwise than before is major. Before 1.0.0 a minor version may do either.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING

from conformance.verdicts import Level

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.corpus.corpus import Corpus

    Hashes = Mapping[str, Mapping[str, str]]

_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})\.([0-9]{1,9})")


class VersionChange(IntEnum):
    """How much a corpus differs from the one before, by what it judges."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3


def change(old: Corpus, new: Hashes, levels: Mapping[str, str]) -> tuple[VersionChange, str]:
    """The weightiest difference between a corpus and the next, and a sentence naming the first case that makes it so.

    Args:
        new: the next one's files, as hashes by case.
        levels: the next one's level of each case.
    """
    before = {case.path: case for case in old.cases.values()}
    kept = [path for path in before if path in new]
    if otherwise := [path for path in kept if _judged(before[path].files) != _judged(new[path])]:
        return VersionChange.MAJOR, f"{otherwise[0]} judges otherwise than before"
    if stricter := [path for path in kept if _force(levels[path]) > _force(before[path].level)]:
        return VersionChange.MAJOR, f"{stricter[0]} is {levels[stricter[0]]} now"
    if appeared := [path for path in new if path not in before]:
        return VersionChange.MINOR, f"{appeared[0]} is new"
    if removed := [path for path in before if path not in new]:
        return VersionChange.MINOR, f"{removed[0]} is gone"
    described = [path for path in kept if before[path].files != new[path]]
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


def _judged(files: Mapping[str, str]) -> dict[str, str]:
    return {name: hash for name, hash in files.items() if name != "case.json"}


def _force(level: str) -> int:
    """How much a level asks of a backend: more for one that stands earlier among the levels."""
    return -list(Level).index(Level(level))
