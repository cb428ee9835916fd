"""The table of report formats, and the writing of the report files that a command requests.

This module imports a format only when a report is written, because most verbs import this module for their options.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Self

from conformance.base.errors import ConformanceError, OutputFault
from conformance.base.files.atomic_write import is_standard_output, write_chunks_atomically

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


FORMATS = ("html", "junit", "ctrf", "markdown", "annotations", "badge", "json", "hazard_table")
"""Every report format, by the name of its option; the module of the same name in `report.formats` renders it."""

COMPARING_FORMATS = {"html"}
"""The formats that can show several runs of one subject, or runs of several corpora."""


@dataclass(frozen=True)
class ReportFiles:
    """The report files that a command writes: a path for each format."""

    paths: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def of(cls, **paths: Path | None) -> Self:
        """Return the report files of which a path is given."""
        return cls({name: path for name, path in paths.items() if path is not None})

    @property
    def take_standard_output(self) -> bool:
        """Whether a report is written to standard output; the command then prints no other output there."""
        return any(map(is_standard_output, self.paths.values()))


def write_reports(paths: Sequence[Path], outputs: ReportFiles) -> None:
    """Write the reports of one or more results files. A report that fails does not stop the others.

    Raises:
        OutputFault: a report could not be made because of an internal error.
        UsageError: a report could not be written.
        ResultsError: a file is malformed or given twice, or a requested format cannot compare runs although the files
            belong to several corpora or have a subject in common.
    """
    from conformance.run.results.results_file import read_results, read_results_of_one_corpus, require_distinct_files

    require_distinct_files(paths)
    compares = COMPARING_FORMATS.issuperset(outputs.paths)
    runs = [read_results(path) for path in paths] if compares else read_results_of_one_corpus(paths)
    modules = {name: import_module(f"conformance.run.report.formats.{name}") for name in outputs.paths}
    refusal: ConformanceError | None = None
    fault: OutputFault | None = None
    for name, path in outputs.paths.items():
        try:
            # A subject may print a lone surrogate, which UTF-8 cannot encode; the report is written nevertheless.
            write_chunks_atomically(
                path, (piece.encode("utf-8", "backslashreplace") for piece in modules[name].render(runs))
            )
        except ConformanceError as error:
            refusal = refusal or error
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever fails, the other reports are written
            what = f"the report --{name.replace('_', '-')} was not written"
            fault = fault or OutputFault.caused_by(error, what)
    if fault is not None:
        raise fault
    if refusal is not None:
        raise refusal
