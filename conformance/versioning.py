"""The corpus's version is semantic in what it judges.

A change that can fail a backend that passed before is never a patch: added cases are at least minor, and a case that
judges otherwise than before is major. Before 1.0.0 a minor version may do either.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Hashes = Mapping[str, Mapping[str, str]]


class Change(IntEnum):
    """How much a corpus differs from the one before, by what it judges."""

    NONE = 0
    PATCH = 1
    MINOR = 2
    MAJOR = 3


def change(old: Hashes, new: Hashes) -> tuple[Change, str]:
    """The weightiest difference between two corpora, and a sentence naming the first case that makes it so."""
    judged_otherwise = [case for case in old if case in new and _judged(old[case]) != _judged(new[case])]
    if judged_otherwise:
        return Change.MAJOR, f"{judged_otherwise[0]} judges otherwise than before"
    if appeared := [case for case in new if case not in old]:
        return Change.MINOR, f"{appeared[0]} is new"
    if removed := [case for case in old if case not in new]:
        return Change.MINOR, f"{removed[0]} is gone"
    described = [case for case in old if old[case] != new[case]]
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
    major, minor, patch = (int(part) for part in version.split("."))
    return major, minor, patch


def _judged(files: Mapping[str, str]) -> dict[str, str]:
    return {name: hash for name, hash in files.items() if name != "case.json"}
