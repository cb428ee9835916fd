"""What others add without touching this suite: backends and generators, found by their entry points."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points, metadata, version

DISTRIBUTION = "onnx-conformance"


def suite_version() -> str:
    """The installed suite's own version."""
    return version(DISTRIBUTION)


def registered(group: str) -> dict[str, EntryPoint]:
    """The entry points of `onnx_conformance.{group}` by name, in order of name; the suite's own win over others'."""
    points = sorted(entry_points(group=f"onnx_conformance.{group}"), key=lambda point: (point.name, _is_own(point)))
    return {point.name: point for point in points}


def extra_of(group: str, name: str) -> str | None:
    """The extra of this suite that brings what an adapter of its own needs, if there is one."""
    point = registered(group).get(name)
    if point is None or not _is_own(point):
        return None
    extras = metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    return next((extra for extra in extras if name == extra or name.startswith(f"{extra}-")), None)


def _is_own(point: EntryPoint) -> bool:
    return point.dist is not None and point.dist.name == DISTRIBUTION
