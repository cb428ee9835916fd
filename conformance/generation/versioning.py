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


class Change(IntEnum):
    """How much a corpus differs from the one before, by what it judges."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3


def change(old: Corpus, new: Hashes, levels: Mapping[str, str]) -> tuple[Change, str]:
    """The weightiest difference between a corpus and the next, and a sentence naming the first case that makes it so.

    Args:
        new: the next one's files, as hashes by case.
        levels: the next one's level of each case.
    """
    kept = [case for case in old.cases if case in new]
    if otherwise := [case for case in kept if _judged(old.cases[case]) != _judged(new[case])]:
        return Change.MAJOR, f"{otherwise[0]} judges otherwise than before"
    if stricter := [case for case in kept if _force(levels[case]) > _force(old.levels[case])]:
        return Change.MAJOR, f"{stricter[0]} is {levels[stricter[0]]} now"
    if appeared := [case for case in new if case not in old.cases]:
        return Change.MINOR, f"{appeared[0]} is new"
    if removed := [case for case in old.cases if case not in new]:
        return Change.MINOR, f"{removed[0]} is gone"
    described = [case for case in kept if old.cases[case] != new[case]]
    return (Change.PATCH, f"{described[0]} is described otherwise") if described else (Change.NONE, "nothing differs")


def least_version(old: str, change: Change) -> str:
    """The smallest version that a corpus may have after a change to one of version `old`."""
    major, minor, patch = parsed(old)
    if change is Change.MAJOR and major:
        return f"{major + 1}.0.0"
    if change >= Change.MINOR:
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}" if change is Change.PATCH else old


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
