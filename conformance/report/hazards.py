"""The hazards report: on the smallest input of each class and operator, what every subject answered, in Markdown.

Of a backend it shows the index that it gave for the unoptimized graph; of a graph optimizer, the exact answers before
and after its rewrite.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from conformance.rewriting.hazards import hazards

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.records import CaseRecord, DataSetPreview, ResultRecord
    from conformance.results import Results

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


def render(runs: Sequence[Results]) -> str:
    """A table with a row for each class and operator and a column for each subject; a sentence where there is none."""
    found = samples(runs)
    subjects = [subject["id"] for run in runs for subject in run.header["subjects"]]
    results = {(result["subject"], result["case"]): result for run in runs for result in run.results}
    if not found:
        return "No case of these results has a hazard.\n"
    head = ["class", "operator", "input", *subjects]
    rows = [
        [
            sample.hazard,
            sample.operator,
            sample.input,
            *(answer(sample, results.get((id, sample.case["case"]))) for id in subjects),
        ]
        for sample in found
    ]
    return _table(head, rows)


def classes() -> str:
    """A table of the classes: what happens, on which input, and when in practice."""
    rows = [
        [
            one.id,
            ", ".join(one.operators) + (f" below opset {one.opset_below}" if one.opset_below else ""),
            one.text,
            "; ".join(f"{e.operator} of {e.input}: {e.before} → {e.after}" for e in one.examples),
            one.practice,
        ]
        for one in hazards().values()
    ]
    return _table(["class", "operators", "what happens", "smallest input, in float", "in practice"], rows)


def samples(runs: Sequence[Results]) -> list[Sample]:
    """The smallest data set of each class and operator, in order of both; of equals the first by name."""
    smallest: dict[tuple[str, str], Sample] = {}
    for sample in sorted(_samples(_cases(runs)), key=_size):
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


def _cases(runs: Sequence[Results]) -> Mapping[str, CaseRecord]:
    return {name: case for run in runs for name, case in run.cases.items()}


def _samples(cases: Mapping[str, CaseRecord]) -> Iterator[Sample]:
    for case in cases.values():
        operators = [node["op_type"] for node in case["model"]["nodes"] if node["op_type"] in OPERATORS]
        for number, data_set in enumerate(case["data_sets"]):
            if "hazard" in data_set and len(operators) == 1:
                yield Sample(data_set["hazard"], operators[0], case, number)


def _size(sample: Sample) -> tuple[int, str, int]:
    return prod(sample.data_set["inputs"][0]["shape"]), sample.case["case"], sample.number


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cell.translate(_ESCAPED) for cell in line)} |\n" for line in lines)
