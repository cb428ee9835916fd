"""What is installed for a release of a runtime: the pins of `backends/runtimes.toml`, with that release among them."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from conformance.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.subjects.naming import SubjectName


@dataclass(frozen=True)
class Requirements:
    """What an environment has.

    Attributes:
        name: the runtime's name, which is its adapter's.
        release: the release, as in `1.20.1`.
        packages: what is installed, with its dependencies.
        bare: what is installed without its dependencies.
    """

    name: str
    release: str
    packages: tuple[str, ...]
    bare: tuple[str, ...]

    @property
    def subject(self) -> str:
        """How a command line names it."""
        return f"{self.name}@{self.release}"

    @property
    def key(self) -> str:
        """What tells it from every other environment: its name, and a hash of exactly what it has."""
        content = json.dumps([self.packages, self.bare]).encode()
        return f"{self.name}-{self.release}-{hashlib.sha256(content).hexdigest()[:12]}"


def has_adapter(name: str) -> bool:
    """Whether a name is that of a runtime whose adapter needs nothing else of this suite."""
    return any(runtime["subject"] == name for runtime in _pinned()["runtimes"].values())


def requirements_of(named: SubjectName) -> Requirements:
    """What the release needs that a subject names, or the pinned one where it names none.

    Raises:
        UnknownName: it has no pins, or the release is none.
    """
    runtime = _runtime(named)
    pinned = [Requirement(text) for text in (*runtime["requirements"], *runtime.get("bare", ()))]
    released = runtime.get("released", [pinned[0].name])
    release = named.release or next(_version(each) for each in pinned if each.name in released)
    try:
        version = Version(release)
    except InvalidVersion:
        raise UnknownName(f"{release} is no release of {named.name}.", "Write it as in onnxruntime@1.20.1.") from None
    packages, bare = (
        tuple(_at(text, released, release) for text in runtime.get(kind, ())) for kind in ("requirements", "bare")
    )
    return Requirements(named.name, release, (*packages, *_beside(named.name, version, packages)), bare)


def _runtime(named: SubjectName) -> Mapping[str, Any]:
    known: dict[str, Mapping[str, Any]] = {
        told["subject"]: told for told in _pinned()["runtimes"].values() if told.get("requirements")
    }
    if named.is_command or named.name not in known:
        names = ", ".join(sorted(name for name in known if "[" not in name))
        raise UnknownName(f"There are no releases of {named.name} to be had.", f"Name one of {names}.")
    return known[named.name]


def _at(text: str, released: Iterable[str], release: str) -> str:
    """A pin, at the release that is asked for if it is of the runtime itself."""
    name = Requirement(text).name
    return f"{name}=={release}" if name in released else text


def _beside(name: str, version: Version, packages: Iterable[str]) -> list[str]:
    """What adapters need besides what is pinned."""
    environments = _pinned()["environments"]
    earlier = [
        text
        for told in environments["earlier"]
        if told["subject"] == name and version < Version(told["before"])
        for text in told["requirements"]
    ]
    there = {Requirement(text).name for text in (*packages, *earlier)}
    return [*earlier, *(text for text in environments["beside"] if Requirement(text).name not in there)]


def _version(requirement: Requirement) -> str:
    return next(iter(requirement.specifier)).version


@cache
def _pinned() -> Mapping[str, Any]:
    text = resources.files("conformance.backends").joinpath("runtimes.toml").read_text(encoding="utf-8")
    pinned: Mapping[str, Any] = tomllib.loads(text)
    return pinned
