"""An earlier run that a gate takes as it is: only what has become worse since then shuts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.errors import ResultsError
from conformance.results.file import read
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from conformance.results.records import BaselineRecord


@dataclass(frozen=True)
class Baseline:
    """The verdicts of an earlier run, by subject and case, and which run it was."""

    record: BaselineRecord
    verdicts: Mapping[tuple[str, str], Verdict]


def read_baseline(path: Path, subjects: Sequence[str]) -> Baseline:
    """Read an earlier run's results file.

    Raises:
        ResultsError: it cannot be trusted, or has none of the subjects.
    """
    run = read(path)
    verdicts = {(result["subject"], result["case"]): Verdict(result["verdict"]) for result in run.results}
    if not {subject for subject, _ in verdicts} & set(subjects):
        raise ResultsError(
            f"{path} has no result of {', '.join(subjects)}.", "Give the results of an earlier run of the same subject."
        )
    corpus = run.header["corpus"]
    return Baseline({"file": str(path), "version": corpus["version"], "digest": corpus["digest"]}, verdicts)
