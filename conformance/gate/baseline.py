"""An earlier run that a gate takes as it is: only what has become worse since then shuts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.errors import ResultsError
from conformance.results.file import read
from conformance.results.levels import weaker_level
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from conformance.results.records import BaselineRecord, CaseRow, ResultRow


@dataclass(frozen=True)
class Baseline:
    """An earlier run.

    Attributes:
        record: which it was.
        standings: by subject and case, what a result's record says of it: the verdict, and its level where that was
            weaker than the case's.
    """

    record: BaselineRecord
    standings: Mapping[tuple[str, str], Mapping[str, str]]


def read_baseline(path: Path, subjects: Sequence[str]) -> Baseline:
    """Read an earlier run's results file.

    Raises:
        ResultsError: it cannot be trusted, or has none of the subjects.
    """
    run = read(path)
    standings = {key: _standing(row, run.described[key[1]]) for key, row in run.rows.items()}
    if not {subject for subject, _ in standings} & set(subjects):
        raise ResultsError(
            f"{path} has no result of {', '.join(subjects)}.", "Give the results of an earlier run of the same subject."
        )
    corpus = run.header["corpus"]
    return Baseline({"file": str(path), "version": corpus["version"], "digest": corpus["digest"]}, standings)


def _standing(result: ResultRow, case: CaseRow) -> Mapping[str, str]:
    level = weaker_level(result, Level(case["level"]))
    return {"baseline": result["verdict"]} | ({"baseline_level": str(level)} if level else {})


def is_worse_than_baseline(result: Mapping[str, Any]) -> bool:
    """Whether a verdict is worse than that of its baseline, or a defect at a stronger level than the failure was."""
    verdict, was = Verdict(result["verdict"]), Verdict(result["baseline"])
    weaker = Level(result.get("baseline_level", Level.MUST))
    return verdict.is_worse_than(was) or (verdict.is_defect and Level(result["level"]).is_stronger_than(weaker))
