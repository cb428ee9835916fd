"""From results files to report files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import ResultsError
from conformance.report.html import render
from conformance.results import Results, read

if TYPE_CHECKING:
    from collections.abc import Sequence


def write_html(paths: Sequence[Path], target: Path) -> None:
    """Write the HTML report of some results files.

    Raises:
        ResultsError: one cannot be trusted, or they are not of one corpus.
    """
    write_whole(target, render(read_all(paths)))


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


def write_whole(target: Path, text: str) -> None:
    """Write a file in one step: it is there whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, scratch = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(scratch).chmod(0o644)
        Path(scratch).replace(target)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
