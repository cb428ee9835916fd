"""A Markdown table of hazards: the output of every subject on the smallest input of each hazard class and operator.

A hazard is an input for which the pass changes the index although it is applied as documented. For a backend the table
contains the index that the backend computed for the unoptimized graph. For a graph optimizer the table contains the
exact indices before and after the rewrite.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.cases.case_loading import DataSetPreview
    from conformance.run.results.records import CaseRecord, Result
    from conformance.run.results.results_file import Results


_HEADS = {"backend": "index from backends", "optimizer": "exact index before → after graph optimizers"}
OPERATORS = ("Log", "Exp", "Sqrt", "Softmax", "LogSoftmax")
_ESCAPED = str.maketrans({"|": "\\|", "<": "&lt;", ">": "&gt;", "&": "&amp;", "`": "'", "\n": " "})


@dataclass(frozen=True)
class HazardSample:
    """A data set for which the pass changes the index: one example of a hazard class.


    Attributes:
        hazard: the hazard class.
        operator: the operator before ArgMax.
        case: the record of the case.
        number: the number of the data set in its case.
    """

    hazard: str
    operator: str
    case: CaseRecord
    number: int

    @property
    def data_set(self) -> DataSetPreview:
        """The preview of the data set."""
        return self.case.data_sets[self.number]

    @property
    def input(self) -> str:
        """Type, shape and elements of the first input as text."""
        X = self.data_set.inputs[0]
        return f"{X.type}{X.shape} {', '.join(X.values)}{', …' if X.elided else ''}"


def render(runs: Sequence[Results]) -> Iterator[str]:
    """Yield a table for each kind of subject, with a row for each hazard class and operator."""
    found = smallest_samples(runs)
    if not found:
        yield "These results have no case with a hazard.\n"
        return
    kinds: dict[str, list[str]] = {}
    for subject in (subject for run in runs for subject in run.header.subjects):
        kinds.setdefault(subject.kind, []).append(subject.id)
    for number, (kind, subjects) in enumerate(sorted(kinds.items())):
        yield "\n" if number else ""
        yield markdown_table(
            ["class", "operator", "input", _HEADS[kind]],
            [[one.hazard, one.operator, one.input, _answers_by_frequency(one, subjects, runs)] for one in found],
        )


def _answers_by_frequency(sample: HazardSample, subjects: Sequence[str], runs: Sequence[Results]) -> str:
    """Return the outputs for a hazard sample as text, each with its subjects; the most frequent output comes first."""
    by_answer: dict[str, list[str]] = {}
    for subject in subjects:
        key = subject, sample.case.case
        result = next((run.results[key] for run in reversed(runs) if key in run.rows), None)
        by_answer.setdefault(subject_answer(sample, result), []).append(_short_name(subject))
    rows = sorted(by_answer.items(), key=lambda row: (-len(row[1]), row[0]))
    return "; ".join(f"{output}: {', '.join(names)}" for output, names in rows)


def _short_name(subject: str) -> str:
    """Return a short name of a subject: for a harness command, the file name in its last word."""
    return PurePath(subject.rsplit(maxsplit=1)[-1]).name if subject.startswith("exec:") else subject


def smallest_samples(runs: Sequence[Results]) -> list[HazardSample]:
    """Return the smallest data set of each hazard class and operator, sorted by both.

    Of equally small data sets, the first with element type float is used.
    """
    smallest: dict[tuple[str, str], HazardSample] = {}
    for sample in sorted(_hazard_samples(runs), key=_size):
        smallest.setdefault((sample.hazard, sample.operator), sample)
    return [smallest[key] for key in sorted(smallest)]


def subject_answer(sample: HazardSample, result: Result | None) -> str:
    """Return the output of a subject for a hazard sample as text, or its verdict if there is no output."""
    if result is None:
        return "-"
    for change in result.hazards:
        if change.data_set == sample.number:
            return f"{', '.join(change.before)} → {', '.join(change.after)}"
    if result.checks:
        if any(check.name == "hazards" and check.not_judged is not None for check in result.checks):
            return "not judged"
        return "unchanged" if result.verdict == "pass" else result.verdict
    for output in result.outputs:
        if output.data_set == sample.number:
            came = output.actual
            if came is None and output.violation is None:
                came = next(o for o in sample.data_set.outputs if o.name == output.name)
            return ", ".join(came.values) if came else result.verdict
    return result.verdict


def _hazard_samples(runs: Sequence[Results]) -> Iterator[HazardSample]:
    last = {id: run for run in runs for id in run.cases}
    for case in (run.cases[id] for id, run in last.items()):
        operators = [node.op_type for node in case.model.nodes if node.op_type in OPERATORS]
        for number, data_set in enumerate(case.data_sets):
            if data_set.hazard and len(operators) == 1:
                yield HazardSample(data_set.hazard, operators[0], case, number)


def _size(sample: HazardSample) -> tuple[int, bool, str, int]:
    given = sample.data_set.inputs[0]  # if sizes are equal, float is preferred, because every subject supports it
    return prod(given.shape), given.type != "float", sample.case.case, sample.number


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.translate(_ESCAPED) for cell in line)} |\n" for line in lines)
