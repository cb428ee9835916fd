"""Installed packages: those that the suite requires, and the adapters and generators that packages register."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import (
    EntryPoint,
    PackageNotFoundError,
    entry_points,
    metadata,
    packages_distributions,
    requires,
    version,
)
from types import MappingProxyType
from typing import TYPE_CHECKING

from conformance.base.errors import DependencyError

if TYPE_CHECKING:
    from collections.abc import Mapping

DISTRIBUTION = "onnx-conformance"

_OWN_CODE = "conformance."

_REQUIREMENT = re.compile(r"([\w.-]+)\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*(;.*)?")
_BOUND = re.compile(r"\s*(>=|<)\s*([\d.]+)")


def suite_version() -> str:
    """Return the version of the installed suite."""
    return version(DISTRIBUTION)


def version_of(package: str) -> str:
    """Return the version of a package under the name of `installed_name`.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return version(installed_name(package))


def installed_name(package: str) -> str:
    """Return the name under which a package is installed: its own, or that of a package with its module.

    onnx-weekly, of which each week has a release, installs the module of onnx.
    """
    try:
        version(package)
    except PackageNotFoundError:
        module = package.replace("-", "_")
        others = (name for name in packages_distributions().get(module, ()) if name.replace("-", "_") != module)
        return next(others, package)
    return package


@cache
def registered_entry_points(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of `onnx_conformance.{group}`, sorted by name; the suite's own take precedence."""
    points = sorted(entry_points(group=f"onnx_conformance.{group}"), key=lambda point: (point.name, _is_own(point)))
    return MappingProxyType({point.name: point for point in points})


def extra_for_adapter(group: str, name: str) -> str | None:
    """Return the extra of this suite that installs the packages of an adapter, or None."""
    point = registered_entry_points(group).get(name)
    if point is None or not _is_own(point):
        return None
    extras = metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    return next((extra for extra in extras if name == extra or name.startswith(f"{extra}-")), None)


def packages_of_extra(extra: str) -> list[str]:
    """Return the names of the packages that an extra of this suite installs; the suite itself may have no release."""
    marked = re.compile(rf"""extra == ['"]{re.escape(extra)}['"]""")
    texts = [text for text in requires(DISTRIBUTION) or () if marked.search(text)]
    return [match[1] for text in texts if (match := _REQUIREMENT.fullmatch(text))]


def _is_own(point: EntryPoint) -> bool:
    """Return whether an entry point names code of this suite; reading its distribution's name takes far longer."""
    return point.value.startswith(_OWN_CODE)


def check_dependencies() -> None:
    """Check that every package which the suite needs is installed in a version that its requirements allow.

    This is done after an exception and before a run, because another version fails with an error that does not name it.
    The check uses the standard library alone, because every other package may be the wrong one.

    Raises:
        DependencyError: a package is missing, too old or too new.
    """
    for name, bounds in _requirements():
        needed = ",".join(f"{operator}{bound}" for operator, bound in bounds)
        try:
            installed = version_of(name)
        except PackageNotFoundError:
            raise DependencyError("missing", name=name, needed=needed, python=sys.executable) from None
        for operator, bound in bounds:
            is_older = _release(installed) < _release(bound)
            values = (name, installed, bound, needed)
            if is_older and operator == ">=":
                raise _too_old(*values)
            if not is_older and operator == "<":
                raise _too_new(*values)


def _too_old(name: str, version: str, bound: str, needed: str) -> DependencyError:
    return DependencyError("too-old", name=name, version=version, bound=bound, needed=needed, python=sys.executable)


def _too_new(name: str, version: str, bound: str, needed: str) -> DependencyError:
    return DependencyError("too-new", name=name, version=version, bound=bound, needed=needed, python=sys.executable)


def wrong_dependency() -> DependencyError | None:
    """Return the error of `check_dependencies`, or None; for an exception whose cause may be a wrong version."""
    try:
        check_dependencies()
    except DependencyError as error:
        return error
    return None


def _requirements() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return each package that the suite or onnx requires with its bounds, the lower bound first, without extras.

    onnx fails with an older protobuf in an import, before it can name the version.
    """
    texts: list[str] = []
    for package in (DISTRIBUTION, "onnx"):
        with suppress(PackageNotFoundError):  # the suite is imported from a folder, or the first loop names onnx
            texts += requires(installed_name(package)) or []
    matches = [match for text in texts if (match := _REQUIREMENT.fullmatch(text)) and not match[3]]
    return [(match[1], sorted(_BOUND.findall(match[2]), reverse=True)) for match in matches]


def _release(text: str) -> tuple[int, ...]:
    """Return the numbers of a version without zeros at the end; a release candidate has those of its release."""
    numbers = [int(number) for number in re.match(r"[\d.]*", text)[0].split(".") if number]  # type: ignore[index]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
