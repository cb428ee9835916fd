"""Identities of subjects in results: digest, differences, and the identity of several runs of one subject."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from conformance.run.results.records import SubjectIdentity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

DIGEST_LENGTH = 8
"""Hexadecimal digits of the digest of an identity, which reports show beside every verdict."""

_SEPARATOR = " | "
"""Separator of the values of several runs."""


def subject_identity(
    processor: str, python: str = "", packages: Sequence[str] = (), adapter: str | None = None
) -> SubjectIdentity:
    """Return an identity with its digest.

    Args:
        processor: machine and instruction sets.
        python: version of the Python that runs the subject; empty if the subject is not written in Python.
        packages: packages of this Python, as `name==version`.
        adapter: digest of the adapter's files; None if the subject has no adapter of this suite.
    """
    content = json.dumps([processor, python, sorted(packages), adapter])
    digest = hashlib.sha256(content.encode()).hexdigest()[:DIGEST_LENGTH]
    return SubjectIdentity(digest, processor, python, sorted(packages) if python else [], adapter or "")


def join_identities(identities: Iterable[SubjectIdentity]) -> SubjectIdentity:
    """Return the identity of results from several runs of one subject; different values are joined by ` | `."""
    own = list(identities)
    if all(each == own[0] for each in own):
        return own[0]
    values = [{getattr(each, key) for each in own} - {""} for key in ("processor", "python", "adapter")]
    processor, python, adapter = (_SEPARATOR.join(sorted(map(str, found))) for found in values)
    packages = {package for each in own for package in each.packages}
    return subject_identity(processor, python, sorted(packages), adapter or None)


def identity_changes(before: SubjectIdentity, after: SubjectIdentity) -> Iterator[str]:
    """Yield a line for each difference of two identities: "numpy 1.26.4 before, 2.4.6 now"."""
    yield from package_changes(before.packages, after.packages)
    for name, key in (("Python", "python"), ("processor", "processor"), ("adapter", "adapter")):
        old = getattr(before, key) or "none"
        new = getattr(after, key) or "none"
        if old != new:
            yield f"{name} {old} before, {new} now"


def package_changes(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Yield a line for each package whose version differs, or that only one of two environments has."""
    old, new = (dict(_name_and_version(each) for each in packages) for packages in (before, after))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            yield f"{name} {old.get(name, 'absent')} before, {new.get(name, 'absent')} now"


def _name_and_version(package: str) -> tuple[str, str]:
    name, _, version = package.partition("==")
    return name.lower().replace("_", "-"), version
