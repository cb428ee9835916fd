"""The subjects that a report shows side by side, and how each of their verdicts stands to what was expected."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from conformance.results.reread import Reread
from conformance.results.rerun import rerun_command, script_options
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.results.file import Key, Results
    from conformance.results.records import ResultRecord, ResultRow, SubjectRecord


class Mark(StrEnum):
    """How a verdict stands to what the subject's owner expects."""

    PLAIN = " "
    KNOWN = "k"
    UNEXPECTED = "u"


@dataclass(frozen=True)
class Column:
    """One subject of one run; runs are numbered from 0.

    Attributes:
        rows: what is kept of its results, by case.
        results: the results themselves, read again when they are asked for.
        command: the beginning of the command that runs a case on this subject again.
        options: what a script is to hand to `rerun` besides, as a Python literal.
    """

    label: str
    run: int
    subject: SubjectRecord
    rows: Mapping[str, ResultRow]
    results: Mapping[str, ResultRecord]
    command: str = ""
    options: str = "{}"

    @property
    def link(self) -> str:
        """The address of its own page."""
        return "#" + urlencode({"view": "subject", "subject": self.label}, quote_via=quote)


def columns(runs: Sequence[Results]) -> list[Column]:
    """One column per run and subject, in the order given; those of one name are told apart by their runs."""
    found = [(number, subject) for number, run in enumerate(runs) for subject in run.header["subjects"]]
    occurrences = Counter(subject["id"] for _, subject in found)
    by_run = [_by_subject(run) for run in runs]
    return [
        Column(
            subject["id"] if occurrences[subject["id"]] == 1 else f"{subject['id']} ({run_name(runs, number)})",
            number,
            subject,
            {case: runs[number].rows[key] for case, key in by_run[number][subject["id"]].items()},
            Reread(runs[number].results.__getitem__, by_run[number][subject["id"]]),
            rerun_command(runs[number].header, subject),
            repr(script_options(runs[number].header, subject)),
        )
        for number, subject in found
    ]


def run_name(runs: Sequence[Results], number: int) -> str:
    """A run as people call it: its number from 1 and its file's name, without where that lies."""
    return f"run {number + 1}: {PurePath(runs[number].path).name}"


def mark(result: ResultRow) -> Mark:
    """Whether a verdict is a known one, one that the gate holds against the subject, or nothing to remark on."""
    if result["surprise"]:
        return Mark.UNEXPECTED
    known = result["expected"] is not None and result["expected"]["verdict"] == result["verdict"]
    return Mark.KNOWN if known and result["verdict"] != Verdict.PASS else Mark.PLAIN


def _by_subject(run: Results) -> dict[str, dict[str, Key]]:
    """The keys of each subject's results, by case."""
    keys: dict[str, dict[str, Key]] = {subject["id"]: {} for subject in run.header["subjects"]}
    for key in run.rows:
        subject, case = key
        keys[subject][case] = key
    return keys
