"""Which formats of reports there are, and which are asked for; light, since every verb's options come from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.files.regular import check_apart, check_target, is_standard_output

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class ReportFormat:
    """A format of reports: the module of that name in `report.formats` renders it.

    Attributes:
        help: what `--help` says of it.
        compares: whether it shows several runs of one subject, or of several corpora, beside one another.
    """

    help: str
    compares: bool = False


FORMATS: Mapping[str, ReportFormat] = {
    "html": ReportFormat("Write a report: one HTML file.", compares=True),
    "junit": ReportFormat("Write JUnit XML."),
    "ctrf": ReportFormat("Write CTRF JSON."),
    "markdown": ReportFormat("Write a summary for a job's page."),
    "annotations": ReportFormat("Write GitHub's annotations: a line for each cause, to be printed in a job."),
    "badge": ReportFormat("Write a badge: an SVG."),
    "json": ReportFormat("Write a summary for programs: counts, gate, failures."),
    "hazards": ReportFormat("Write what each subject does with hazards: a table."),
}
"""Every format by its name, which is also that of its option."""


@dataclass(frozen=True)
class Outputs:
    """The reports that are asked for: the file to write, by format."""

    paths: Mapping[str, Path] = field(default_factory=dict)

    @property
    def take_standard_output(self) -> bool:
        """Whether one of them goes to standard output, where nothing else may stand then."""
        return any(map(is_standard_output, self.paths.values()))

    def check(self, *others: Path) -> None:
        """Make sure that all can be written, each to a file of its own.

        Args:
            others: what the command writes besides.

        Raises:
            UsageError: one cannot, or two are one file.
        """
        for path in self.paths.values():
            check_target(path)
        check_apart([*others, *self.paths.values()])
