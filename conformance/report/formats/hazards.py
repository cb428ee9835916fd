"""The hazards report: on the smallest input of each class and operator, what every subject answered, in Markdown.

Of a backend it shows the index that it gave for the unoptimized graph; of a graph optimizer, the exact answers before
and after its rewrite.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import PurePath
from typing import TYPE_CHECKING

from conformance.passes.hazards import hazards

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.corpus.document import DataSetPreview
    from conformance.results.file import Results
    from conformance.results.records import CaseRecord, ResultRecord

_HEADS = {"backend": "what backends give", "optimizer": "what graph optimizers make of the exact answer"}
OPERATORS = ("Log", "Exp", "Sqrt", "Softmax", "LogSoftmax")
_ESCAPED = str.maketrans({"|": "\\|", "<": "&lt;", ">": "&gt;", "&": "&amp;", "`": "'", "\n": " "})


@dataclass(frozen=True)
class Sample:
    """A hazard data set: the smallest of its class and operator.

    Attributes:
        hazard: the class.
        operator: what stands before ArgMax.
        number: the data set's number in its case.
    """

    hazard: str
    operator: str
    case: CaseRecord
    number: int

    @property
    def data_set(self) -> DataSetPreview:
        """What is shown of it."""
        return self.case["data_sets"][self.number]

    @property
    def input(self) -> str:
        """Its first input in words."""
        X = self.data_set["inputs"][0]
        return f"{X['type']}{X['shape']} {', '.join(X['values'])}{', …' if X['elided'] else ''}"


def render(runs: Sequence[Results]) -> Iterator[str]:
    """A table per kind of subject, with a row for each class and operator and the subjects by what they answer."""
    found = samples(runs)
    if not found:
        yield "No case of these results has a hazard.\n"
        return
    kinds: dict[str, list[str]] = {}
    for subject in (subject for run in runs for subject in run.header["subjects"]):
        kinds.setdefault(subject["kind"], []).append(subject["id"])
    for number, (kind, subjects) in enumerate(sorted(kinds.items())):
        yield "\n" if number else ""
        yield _table(
            ["class", "operator", "input", _HEADS[kind]],
            [[one.hazard, one.operator, one.input, _told(one, subjects, runs)] for one in found],
        )


def _told(sample: Sample, subjects: Sequence[str], runs: Sequence[Results]) -> str:
    """The subjects by what they made of a sample, the most frequent first."""
    by_answer: dict[str, list[str]] = {}
    for subject in subjects:
        key = subject, sample.case["case"]
        result = next((run.results[key] for run in reversed(runs) if key in run.rows), None)
        by_answer.setdefault(answer(sample, result), []).append(_short(subject))
    rows = sorted(by_answer.items(), key=lambda row: (-len(row[1]), row[0]))
    return "; ".join(f"{told}: {', '.join(names)}" for told, names in rows)


def _short(subject: str) -> str:
    """A subject as a table names it: of a command, its last word."""
    return PurePath(subject.rsplit(maxsplit=1)[-1]).name if subject.startswith("exec:") else subject


def classes() -> str:
    """A table of the classes: what happens, on which input, and when in practice."""
    rows = [
        [
            one.id,
            ", ".join(one.operators) + (f" below opset {one.opset_below}" if one.opset_below else ""),
            one.text,
            "; ".join(map(str, one.examples)),
            one.practice,
        ]
        for one in hazards().values()
    ]
    return _table(["class", "operators", "what happens", "smallest input, in float", "in practice"], rows)


def samples(runs: Sequence[Results]) -> list[Sample]:
    """The smallest data set of each class and operator, in order of both; of equals that of float, and the first."""
    smallest: dict[tuple[str, str], Sample] = {}
    for sample in sorted(_samples(runs), key=_size):
        smallest.setdefault((sample.hazard, sample.operator), sample)
    return [smallest[key] for key in sorted(smallest)]


def answer(sample: Sample, result: ResultRecord | None) -> str:
    """What a subject made of a sample."""
    if result is None:
        return "-"
    for change in result.get("hazards", []):
        if change["data_set"] == sample.number:
            return f"{', '.join(change['before'])} → {', '.join(change['after'])}"
    if "checks" in result:
        return "unchanged" if result["verdict"] == "pass" else result["verdict"]
    for output in result["outputs"]:
        if output["data_set"] == sample.number:
            came = output.get("actual")
            if came is None and "complaint" not in output:
                came = next(o for o in sample.data_set["outputs"] if o["name"] == output["name"])
            return ", ".join(came["values"]) if came else result["verdict"]
    return result["verdict"]


def _samples(runs: Sequence[Results]) -> Iterator[Sample]:
    last = {id: run for run in runs for id in run.cases}
    for case in (run.cases[id] for id, run in last.items()):
        operators = [node["op_type"] for node in case["model"]["nodes"] if node["op_type"] in OPERATORS]
        for number, data_set in enumerate(case["data_sets"]):
            if "hazard" in data_set and len(operators) == 1:
                yield Sample(data_set["hazard"], operators[0], case, number)


def _size(sample: Sample) -> tuple[int, bool, str, int]:
    given = sample.data_set["inputs"][0]  # float where sizes are equal: every subject has it
    return prod(given["shape"]), given["type"] != "float", sample.case["case"], sample.number


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.translate(_ESCAPED) for cell in line)} |\n" for line in lines)
