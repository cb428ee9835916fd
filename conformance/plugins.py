"""What others add without touching this suite: backends and generators, found by their entry points."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points, version

DISTRIBUTION = "onnx-conformance"


def suite_version() -> str:
    """The installed suite's own version."""
    return version(DISTRIBUTION)


def registered(group: str) -> dict[str, EntryPoint]:
    """The entry points of `onnx_conformance.{group}` by name, in order of name; the suite's own win over others'."""
    points = sorted(entry_points(group=f"onnx_conformance.{group}"), key=lambda point: (point.name, _is_own(point)))
    return {point.name: point for point in points}


def _is_own(point: EntryPoint) -> bool:
    return point.dist is not None and point.dist.name == DISTRIBUTION
