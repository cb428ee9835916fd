"""From results files to report files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.errors import ResultsError
from conformance.files import write_whole
from conformance.report.html import render
from conformance.results import Results, read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def write_html(paths: Sequence[Path], target: Path) -> None:
    """Write the HTML report of some results files; runs of one subject, or of two corpora, are compared in it.

    Raises:
        ResultsError: one cannot be trusted.
    """
    write_whole(target, render([read(path) for path in paths]))


def read_all(paths: Sequence[Path]) -> list[Results]:
    """Read results files that are to be shown together.

    Raises:
        ResultsError: one cannot be trusted, they are not of one corpus, or they have a subject in common.
    """
    runs = [read(path) for path in paths]
    seen: dict[str, str] = {}
    for run in runs:
        if run.header["corpus"]["digest"] != runs[0].header["corpus"]["digest"]:
            raise ResultsError(f"{run.path} is of another corpus than {runs[0].path}.", "Report them one by one.")
        for subject in run.header["subjects"]:
            if subject["id"] in seen:
                raise ResultsError(
                    f"{run.path} and {seen[subject['id']]} both have results of {subject['id']}.", "Leave one out."
                )
            seen[subject["id"]] = run.path
    return runs
