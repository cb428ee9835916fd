"""Plugins: adapters and generators that installed packages register as entry points."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points, metadata, version
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

DISTRIBUTION = "onnx-conformance"

_OWN_CODE = "conformance."


def suite_version() -> str:
    """Return the version of the installed suite."""
    return version(DISTRIBUTION)


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


def _is_own(point: EntryPoint) -> bool:
    """Return whether an entry point names code of this suite; reading its distribution's name takes far longer."""
    return point.value.startswith(_OWN_CODE)
