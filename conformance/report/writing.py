"""From results files to report files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING

from conformance.files import check_target, write_whole
from conformance.results.file import read, read_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


COMPARING = {"html"}
"""The formats that show several runs of one subject, or of several corpora, beside one another."""


@dataclass(frozen=True)
class Outputs:
    """Where to write which report, or None; each format is a module of `report.formats` of that name."""

    html: Path | None = None
    junit: Path | None = None
    ctrf: Path | None = None
    markdown: Path | None = None
    badge: Path | None = None
    json: Path | None = None
    hazards: Path | None = None

    @property
    def wanted(self) -> dict[str, Path]:
        """The formats that are asked for."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: path for name, path in told.items() if path is not None}

    def check(self) -> None:
        """Make sure that all can be written.

        Raises:
            UsageError: one cannot.
        """
        for path in self.wanted.values():
            check_target(path)


def write_reports(paths: Sequence[Path], outputs: Outputs) -> None:
    """Write the reports of some results files.

    Raises:
        ResultsError: one cannot be trusted; or they are not of one corpus or have a subject in common, and a format is
            wanted that cannot compare.
    """
    wanted = set(outputs.wanted)
    runs = [read(path) for path in paths] if wanted <= COMPARING else read_all(paths)
    rendered = {
        path: import_module(f"conformance.report.formats.{name}").render(runs) for name, path in outputs.wanted.items()
    }
    for path, text in rendered.items():
        write_whole(path, text)
