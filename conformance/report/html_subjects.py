"""The subjects that a report shows side by side, and how each of their verdicts stands to what was expected."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.records import ResultRecord, SubjectRecord
    from conformance.results import Results


class Mark(StrEnum):
    """How a verdict stands to what the subject's owner expects."""

    PLAIN = " "
    KNOWN = "k"
    UNEXPECTED = "u"


@dataclass(frozen=True)
class Column:
    """One subject of one run, with its results by case."""

    label: str
    subject: SubjectRecord
    results: Mapping[str, ResultRecord]

    @property
    def command(self) -> str:
        """The beginning of the command that runs this subject again."""
        option = "-o" if self.subject["kind"] == "optimizer" else "-b"
        return f"onnx-conformance run {option} {shlex.quote(self.subject['id'])}"


def columns(runs: Sequence[Results]) -> list[Column]:
    """One column per run and subject, in the order given, no two under the same label."""
    found = [(number, run, subject) for number, run in enumerate(runs, 1) for subject in run.header["subjects"]]
    labels = _distinct(
        [subject["id"] for _, _, subject in found],
        [f"{subject['id']} {subject['version']}" for _, _, subject in found],
        [f"{subject['id']} {subject['version']} (run {number})" for number, _, subject in found],
    )
    by_run = [_by_subject(run) for run in runs]
    return [
        Column(label, subject, by_run[number - 1].get(subject["id"], {}))
        for label, (number, _, subject) in zip(labels, found, strict=True)
    ]


def mark(result: ResultRecord) -> Mark:
    """Whether a verdict is a known one, one that the gate holds against the subject, or nothing to remark on."""
    if result["surprise"]:
        return Mark.UNEXPECTED
    known = result["expected"] is not None and result["expected"]["verdict"] == result["verdict"]
    return Mark.KNOWN if known and result["verdict"] != Verdict.PASS else Mark.PLAIN


def _distinct(*candidates: list[str]) -> list[str]:
    """The first list of labels that names no two things alike, or else the last."""
    return next((labels for labels in candidates if len(set(labels)) == len(labels)), candidates[-1])


def _by_subject(run: Results) -> dict[str, dict[str, ResultRecord]]:
    results: dict[str, dict[str, ResultRecord]] = {}
    for result in run.results:
        results.setdefault(result["subject"], {})[result["case"]] = result
    return results
