"""Packages to install for one release of a runtime.

They are the pinned packages of `adapters/runtimes.toml`, but the runtime itself has the requested release.
"""

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
    """The packages of an environment.

    Attributes:
        name: name of the runtime, which is also the name of its adapter.
        release: the release, as in `1.20.1`.
        packages: requirements (as for pip) that are installed with their dependencies.
        bare: requirements that are installed without their dependencies.
    """

    name: str
    release: str
    packages: tuple[str, ...]
    bare: tuple[str, ...]

    @property
    def subject(self) -> str:
        """The name of the subject on the command line."""
        return f"{self.name}@{self.release}"

    @property
    def key(self) -> str:
        """The name of the environment's folder: runtime, release, and a hash of all requirements."""
        content = json.dumps([self.packages, self.bare]).encode()
        return f"{self.name}-{self.release}-{hashlib.sha256(content).hexdigest()[:12]}"


def has_adapter(name: str) -> bool:
    """Return whether `name` is a runtime with an adapter that can run where this suite is not installed."""
    return any(runtime["subject"] == name for runtime in _read_runtimes()["runtimes"].values())


def find_requirements(named: SubjectName) -> Requirements:
    """Return the packages for the release in the name of a subject; without a release, for the pinned release.

    Raises:
        UnknownName: the runtime has no pins, or the release is not a version number.
    """
    runtime = _find_runtime(named)
    pinned = [Requirement(text) for text in (*runtime["requirements"], *runtime.get("bare", ()))]
    released = runtime.get("released", [pinned[0].name])
    release = named.release or next(_pinned_version(each) for each in pinned if each.name in released)
    try:
        version = Version(release)
    except InvalidVersion:
        raise UnknownName(
            "malformed-release",
            f"{release} is not a version number of {named.name}.",
            "Write the release as in onnxruntime@1.20.1.",
        ) from None
    packages, bare = (
        tuple(_pin_release(text, released, release) for text in runtime.get(kind, ()))
        for kind in ("requirements", "bare")
    )
    return Requirements(named.name, release, (*packages, *_adapter_requirements(named.name, version, packages)), bare)


def _find_runtime(named: SubjectName) -> Mapping[str, Any]:
    known: dict[str, Mapping[str, Any]] = {
        runtime["subject"]: runtime for runtime in _read_runtimes()["runtimes"].values() if runtime.get("requirements")
    }
    if named.is_command or named.name not in known:
        names = ", ".join(sorted(name for name in known if "[" not in name))
        raise UnknownName(
            "no-releases", f"{named.name} has no releases that can be installed.", f"Name one of {names}."
        )
    return known[named.name]


def _pin_release(text: str, released: Iterable[str], release: str) -> str:
    """Return the requirement `text`, pinned to `release` if its package is one of `released`.

    Args:
        released: the packages of the runtime whose version is the release.
    """
    name = Requirement(text).name
    return f"{name}=={release}" if name in released else text


def _adapter_requirements(name: str, version: Version, packages: Iterable[str]) -> list[str]:
    """Return the requirements of an adapter, without packages that are already in `packages`.

    Args:
        name: name of the runtime.
        version: release of the runtime; old releases have additional requirements.
    """
    environments = _read_runtimes()["environments"]
    earlier = [
        text
        for rule in environments["earlier"]
        if rule["subject"] == name and version < Version(rule["before"])
        for text in rule["requirements"]
    ]
    present = {Requirement(text).name for text in (*packages, *earlier)}
    return [*earlier, *(text for text in environments["adapter"] if Requirement(text).name not in present)]


def _pinned_version(requirement: Requirement) -> str:
    return next(iter(requirement.specifier)).version


@cache
def _read_runtimes() -> Mapping[str, Any]:
    text = resources.files("conformance.adapters").joinpath("runtimes.toml").read_text(encoding="utf-8")
    pinned: Mapping[str, Any] = tomllib.loads(text)
    return pinned
