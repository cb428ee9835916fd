"""From results files to report files."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from conformance.errors import ResultsError
from conformance.files.regular import write_pieces
from conformance.report.outputs import FORMATS, Outputs
from conformance.results.file import read, read_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def write_reports(paths: Sequence[Path], outputs: Outputs) -> None:
    """Write the reports of some results files.

    Raises:
        ResultsError: one cannot be trusted or is given twice; or they are not of one corpus, or have a subject in
            common, and a format is wanted that cannot compare.
    """
    for place, path in enumerate(paths):
        if any(path.resolve() == other.resolve() for other in paths[:place]):
            raise ResultsError(f"{path} is given twice.", "Give each results file once.")
    compares = all(FORMATS[name].compares for name in outputs.paths)
    runs = [read(path) for path in paths] if compares else read_all(paths)
    modules = {name: import_module(f"conformance.report.formats.{name}") for name in outputs.paths}
    for name, path in outputs.paths.items():
        # A lone surrogate, which UTF-8 cannot carry, must not keep a report from being written.
        write_pieces(path, (piece.encode("utf-8", "backslashreplace") for piece in modules[name].render(runs)))
