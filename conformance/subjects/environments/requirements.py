"""Packages to install for one release of a runtime or graph optimizer.

They are the pinned packages of `adapters/runtimes.toml`, but the runtime or optimizer has the requested release. A
package that is both a runtime and a graph optimizer, such as onnxruntime, has one environment for both.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from conformance.base.errors import UnknownName
from conformance.base.serialization.decoding import read_own_toml
from conformance.subjects.calling.subject_names import WITH_OPTION, SubjectKind, SubjectName, format_subject

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class Requirements:
    """The packages of an environment.

    Attributes:
        name: name of the runtime, or of the package of the graph optimizer.
        release: the release, as in `1.20.1`.
        packages: requirements (as for pip) that are installed with their dependencies.
        bare: requirements that are installed without their dependencies.
        chosen: requirements that the user chose (option `with`); they are also in `packages`.
    """

    name: str
    release: str
    packages: tuple[str, ...]
    bare: tuple[str, ...]
    chosen: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The name of the environment on the command line, as in `onnx-reference@1.14.1[with=numpy>=2]`."""
        return format_subject(self.name, self.release, f"{WITH_OPTION}={'+'.join(self.chosen)}" if self.chosen else "")

    @property
    def key(self) -> str:
        """The name of the environment's folder: runtime, release, and a hash of all requirements."""
        content = json.dumps([self.packages, self.bare]).encode()
        return f"{self.name}-{self.release}-{hashlib.sha256(content).hexdigest()[:12]}"


@dataclass(frozen=True)
class _Package:
    """A runtime, a graph optimizer, or a package that is both.

    Attributes:
        name: name of its environments.
        requirements: pinned packages that are installed with their dependencies.
        bare: pinned packages that are installed without their dependencies.
        released: packages whose version is the release.
        backend: name of its backend; None if it is only a graph optimizer.
        optimizers: names of its graph optimizers.
    """

    name: str
    requirements: tuple[str, ...]
    bare: tuple[str, ...]
    released: tuple[str, ...]
    backend: str | None
    optimizers: tuple[str, ...]

    @property
    def pinned_release(self) -> str:
        """The release that the suite pins."""
        pins = [Requirement(text) for text in (*self.requirements, *self.bare)]
        return next(next(iter(each.specifier)).version for each in pins if each.name in self.released)


def has_adapter(named: SubjectName) -> bool:
    """Return whether a subject has an adapter that can run where this suite is not installed."""
    if named.kind is SubjectKind.OPTIMIZER:
        return any(named.name in package.optimizers for package in _packages())
    return any(runtime["subject"] == named.name for runtime in _read_runtimes()["runtimes"].values())


def find_requirements(named: SubjectName) -> Requirements:
    """Return the packages for the release in the name of a subject; without a release, for the pinned release.

    Raises:
        UnknownName: the subject has no pins, the release is not a version number, or a chosen package is malformed.
    """
    package = _find_package(named)
    release = named.release or package.pinned_release
    try:
        version = Version(release)
    except ValueError:  # also a number with too many digits
        raise UnknownName("malformed-release.version", release=release, name=named.name) from None
    pinned, bare = (
        tuple(_pin_release(text, package.released, release) for text in kind)
        for kind in (package.requirements, package.bare)
    )
    chosen = _chosen_packages(named)
    undeclared = _undeclared_requirements(package.name, version)
    packages = _first_of_each_package([*chosen, *pinned, *undeclared, *_read_runtimes()["environments"]["adapter"]])
    return Requirements(package.name, release, packages, bare, chosen)


def released_packages(named: SubjectName) -> tuple[str, ...]:
    """Return the packages whose version is the release of a subject; none for a subject without environments."""
    try:
        return tuple(_find_package(named).released)
    except UnknownName:
        return ()


def released_package(named: SubjectName) -> str:
    """Return the package whose version is the release of a subject."""
    return _find_package(named).released[0]


def smoke_test_subject(requirements: Requirements) -> SubjectName:
    """Return the name of the subject with which a new environment is tested: the backend, otherwise an optimizer."""
    package = next(each for each in _packages() if each.name == requirements.name)
    if package.backend is not None:
        return SubjectName.parse(package.backend, SubjectKind.BACKEND)
    return SubjectName.parse(package.optimizers[0], SubjectKind.OPTIMIZER)


def _find_package(named: SubjectName) -> _Package:
    """Return the package of a subject, or of the environments that have its name."""
    for package in _packages():
        if named.name in (package.name, package.backend, *package.optimizers) and not named.is_command:
            return package
    names = ", ".join(sorted(package.name for package in _packages()))
    raise UnknownName("no-releases", name=named.name, names=names)


@cache
def _packages() -> tuple[_Package, ...]:
    """Return the packages with releases: runtimes without options in their names, and graph optimizers."""
    read = _read_runtimes()
    found: dict[str, _Package] = {}
    for runtime in read["runtimes"].values():
        name = runtime["subject"]
        requirements = runtime.get("requirements", ())
        bare = runtime.get("bare", ())
        if requirements and "[" not in name:
            released = runtime.get("released", [Requirement(requirements[0]).name])
            found[name] = _Package(name, tuple(requirements), tuple(bare), tuple(released), name, ())
    for name, optimizer in read["optimizers"].items():
        requirements = tuple(optimizer["requirements"])
        names = tuple(dict.fromkeys(subject.partition("[")[0] for subject in optimizer["subjects"]))
        runtime = found.get(name) or _Package(name, (), (), (Requirement(requirements[0]).name,), None, ())
        found[name] = replace(
            runtime, requirements=_first_of_each_package([*runtime.requirements, *requirements]), optimizers=names
        )
    return tuple(found.values())


def _chosen_packages(named: SubjectName) -> tuple[str, ...]:
    chosen = tuple(text.strip() for text in named.packages)
    for text in chosen:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            requirement = None
        if requirement is None or requirement.url or requirement.marker:
            raise UnknownName("malformed-requirement", subject=named.text, text=text)
    return chosen


def _undeclared_requirements(name: str, version: Version) -> list[str]:
    """Return the requirements that the metadata of a release lack."""
    return [
        text
        for rule in _read_runtimes()["environments"]["undeclared"]
        if rule["name"] == name and ("before" not in rule or version < Version(rule["before"]))
        for text in rule["requirements"]
    ]


def _first_of_each_package(requirements: Iterable[str]) -> tuple[str, ...]:
    """Return the requirements without those of a package that an earlier requirement names."""
    found: dict[str, str] = {}
    for text in requirements:
        found.setdefault(canonicalize_name(Requirement(text).name), text)
    return tuple(found.values())


def _pin_release(text: str, released: Iterable[str], release: str) -> str:
    """Return the requirement `text`, pinned to `release` if its package is one of `released`.

    Args:
        released: the packages of the runtime whose version is the release.
    """
    name = Requirement(text).name
    return f"{name}=={release}" if name in released else text


def _read_runtimes() -> Mapping[str, Any]:
    return read_own_toml("conformance.subjects.adapters", "runtimes.toml")
