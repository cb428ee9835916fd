"""Write the page about onnx's node cases on released runtimes, reports/onnx-cases/README.md.

python scripts/onnx_cases_page.py CORPUS FOLDER RESULTS.jsonl...

CORPUS is a folder that `generate --onnx` wrote with the installed onnx. Each results file has one subject, of a run
with `--record-outputs --fail-level should`. Each output is also compared with onnx's own output by the tolerance of
onnx's runner. A wrong output that this comparison refuses too is confirmed without the reference of the suite.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import VALUE_TAG
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.corpus.cases.corpus import Corpus, find_case, open_corpus
from conformance.exact.models.arrays import is_floating
from conformance.own.model_cases.onnx_cases import HARD_TAG, array_of_value, node_cases
from conformance.run.judging.returned import ReplayedBackend, UnusableValues
from conformance.run.results.failure_groups import group_failures
from conformance.run.results.results_file import read_results

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.run.results.failure_groups import FailureGroup
    from conformance.run.results.results_file import Results

COLUMNS = (
    *("right", "wrong", "hard: right", "hard: wrong", "wrong at should"),
    *("error", "unsupported", "refused by onnx", "of these right"),
)

HEADING = """# onnx's node cases on released runtimes

{outcome}

{table}

*Right* and *wrong* count cases of level `must` with expected values and bounds of the suite's reference: first on
onnx's data, then on [hard data](../../docs/how-to/test-all-of-onnx.md#hard-values) for the same models. A case of
[level](../../docs/explanation/levels.md) `should` fails where ONNX's text leaves the answer open, and IEEE 754 or good
engineering does not: for example, where a runtime flushes subnormal operands to zero. An *error* is a case on which the
runtime ends with an error that does not say that it lacks the operator or type. *Refused by onnx* counts cases with an
output outside of the tolerance of onnx's runner around onnx's own output.

A fault is confirmed in two ways that use nothing of the reference. *Refused by onnx* counts its cases that onnx's own
comparison refuses too; hard data have no output of onnx. *Right on* names the other runtimes that are right on its
first case.

Corpus of onnx {version}: {cases} cases ({digest}). `nox -s onnx-corpus` generates it with
`onnx-conformance generate --onnx`, runs the pinned runtimes and calls `scripts/onnx_cases_page.py`. To see one failure
with its inputs, and to write a folder that shows it without the suite:

```sh
onnx-conformance generate --onnx --output onnx-cases
onnx-conformance run --data onnx-cases -b onnxruntime --tag MaxPool --results results.jsonl
onnx-conformance explain test_maxpool_1d_default_hard --data onnx-cases -r results.jsonl
onnx-conformance repro test_maxpool_1d_default_hard --data onnx-cases -b onnxruntime --output repro
```
"""


@dataclass
class Subject:
    """The results of one subject.

    Attributes:
        name: name with version.
        run: the results.
        refused: whether onnx's tolerance refuses the outputs, by case; cases without outputs are absent.
    """

    name: str
    run: Results
    refused: dict[str, bool] = field(default_factory=dict)

    def cases(self, verdict: Verdict, *, is_hard: bool | None = None, level: Level = Level.MUST) -> set[str]:
        """Return the cases of the reference with a verdict and a level: on hard data, on onnx's data, or on both."""
        found = {row.case for row in self.run.rows.values() if row.verdict == verdict and self.is_judged(row.case)}
        found = {case for case in found if self.run.case_rows[case].level == level}
        return {case for case in found if is_hard is None or is_hard == (HARD_TAG in self.run.case_rows[case].tags)}

    @property
    def product(self) -> str:
        """The name of the runtime without options."""
        return self.name.partition(" ")[0].partition("[")[0]

    def is_judged(self, case: str) -> bool:
        """Return whether the reference has the expected values of a case."""
        return VALUE_TAG not in self.run.case_rows[case].tags

    def operator(self, case: str) -> str:
        """Return the operator of a case."""
        return str(self.run.case_rows[case].tags[0])


def is_refused(given: Any, outputs: Sequence[Sequence[Any]]) -> bool:
    """Return whether onnx's runner refuses outputs: another type or shape, or an element outside of the tolerance."""
    for (_, wanted), actual in zip(given.data_sets, outputs, strict=True):
        for each, array in zip(map(array_of_value, wanted), actual, strict=True):
            if array.dtype != each.dtype or array.shape != each.shape:
                return True
            if each.dtype == object:
                if not np.array_equal(array, each):
                    return True
                continue
            numbers = [one.astype(np.float64) if is_floating(one.dtype) else one for one in (array, each)]
            tolerance = {"rtol": given.rtol, "atol": given.atol} if is_floating(each.dtype) else {"rtol": 0, "atol": 0}
            if not np.allclose(*numbers, **tolerance, equal_nan=True):
                return True
    return False


def read_subject(path: str, corpus: Corpus, given: Mapping[str, Any]) -> Subject:
    """Return the results of a file, compared with onnx's outputs."""
    run = read_results(Path(path))
    (info,) = run.header.subjects
    subject = Subject(f"{info.id} {info.version}", run)
    for key, result in run.results.items():
        if result.returned is None or key[1] not in given or result.verdict not in {Verdict.PASS, Verdict.FAIL}:
            continue
        case = load_case_in_memory(corpus, find_case(corpus, key[1]))
        try:
            backend = ReplayedBackend(case, result.returned).prepare(case.model)
        except UnusableValues:
            continue
        outputs = [backend.run(data_set.inputs) for data_set in case.data_sets()]
        subject.refused[key[1]] = is_refused(given[key[1]], outputs)
    return subject


def summary_lines(subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield the table of all subjects."""
    yield f"| subject | {' | '.join(COLUMNS)} |"
    yield f"| --- |{' ---: |' * len(COLUMNS)}"
    for subject in subjects:
        own, hard = ([subject.cases(each, is_hard=is_hard) for each in ANSWERS] for is_hard in (False, True))
        refused = {case for case, is_refused in subject.refused.items() if is_refused and subject.is_judged(case)}
        errors = sum(len(subject.cases(verdict)) for verdict in (Verdict.ERROR, Verdict.CRASH, Verdict.TIMEOUT))
        counts = [
            *map(len, (*own, *hard, subject.cases(Verdict.FAIL, level=Level.SHOULD))),
            errors,
            len(subject.cases(Verdict.UNSUPPORTED)),
            len(refused),
        ]
        yield f"| {subject.name} | {' | '.join(map(str, (*counts, len(refused & own[0]))))} |"


ANSWERS = (Verdict.PASS, Verdict.FAIL)


def outcome(subjects: Sequence[Subject]) -> str:
    """Return the sentences with which the page begins."""
    hidden: dict[str, set[str]] = defaultdict(set)
    for subject in subjects:
        wrong = [set(map(subject.operator, subject.cases(Verdict.FAIL, is_hard=is_hard))) for is_hard in (False, True)]
        hidden[subject.product] |= wrong[1] - wrong[0]
    counts = ", ".join(f"{len(names)} on {product}" for product, names in hidden.items() if names)
    right = [subject.name for subject in subjects if not subject.cases(Verdict.FAIL)]
    return (
        f"{len(subjects) - len(right)} of {len(subjects)} subjects return wrong outputs. "
        f"Operators that are wrong on hard data only: {counts or 'none'}."
    )


def operator_lines(subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield the table of the operators that a subject computes wrongly."""
    counts: dict[str, list[str]] = defaultdict(list)
    wrong_of = [Counter(map(subject.operator, subject.cases(Verdict.FAIL))) for subject in subjects]
    right_of = [Counter(map(subject.operator, subject.cases(Verdict.PASS))) for subject in subjects]
    for operator in sorted(set().union(*wrong_of)):
        for wrong, right in zip(wrong_of, right_of, strict=True):
            judged = wrong[operator] + right[operator]
            counts[operator].append(f"**{wrong[operator]}** of {judged}" if wrong[operator] else str(judged or ""))
    yield f"| operator | {' | '.join(subject.name for subject in subjects)} |"
    yield f"| --- |{' ---: |' * len(subjects)}"
    yield from (f"| {operator} | {' | '.join(cells)} |" for operator, cells in counts.items())


def cause_lines(subject: Subject, subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield the failures of a subject by cause and operator, wrong outputs first."""
    found: list[tuple[FailureGroup, tuple[str, str], list[str]]] = []
    for group in group_failures(subject.run):
        cases: dict[tuple[str, str], list[str]] = defaultdict(list)
        for case in filter(subject.is_judged, group.cases):
            cases[subject.operator(case), str(subject.run.case_rows[case].level)].append(case)
        found += [(group, key, names) for key, names in cases.items()]
    wrong = [each for each in found if each[0].verdict == Verdict.FAIL]
    if wrong:
        yield from (
            "| operator | level | cases | refused by onnx | right on | first case |",
            "| --- | --- | ---: | ---: | --- | --- |",
        )
    for _, (operator, level), names in sorted(wrong, key=lambda each: (each[1][1], each[1][0])):
        compared = [subject.refused[case] for case in names if case in subject.refused]
        refused = f"{sum(compared)} of {len(compared)}" if compared else ""
        passed = {each.product for each in subjects if names[0] in each.cases(Verdict.PASS, level=Level(level))}
        text = _cell(subject.run.results[subject.run.header.subjects[0].id, names[0]].message or "")
        right = ", ".join(sorted(passed - {subject.product}))
        yield f"| {operator} | {level} | {len(names)} | {refused} | {right} | `{names[0]}`: {text} |"
    failed: dict[str, Counter[str]] = defaultdict(Counter)
    for group, (operator, _), names in found:
        if group.verdict != Verdict.FAIL:
            failed[_cell(group.sentence)][operator] += len(names)
    if failed:
        yield from ("", "Errors:", "", "| cases | operators | message |", "| ---: | --- | --- |")
    for text, counts in sorted(failed.items(), key=lambda each: -each[1].total()):
        operators = ", ".join(f"{operator} ({count})" for operator, count in sorted(counts.items()))
        yield f"| {counts.total()} | {operators} | {text} |"


def _cell(text: str) -> str:
    """Return a message in one line, without characters that end the cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")[:MAX_TEXT]


MAX_TEXT = 220
"""Characters of a message on the page."""


def _reason_of_wrong(subject: Subject, cases: Sequence[str]) -> str:
    """Return how large the errors are that onnx's tolerance admits."""
    results = [subject.run.results[subject.run.header.subjects[0].id, case] for case in cases]
    factors = [each.error_over_bound for result in results for each in result.outputs or () if each.error_over_bound]
    largest = f", at most {max(factors):,.3g} times the bound" if factors else ""
    return f"the errors are below 0.1 % or 1e-7{largest}"


def _reason_of_right(subject: Subject, case: str) -> str:
    """Return why onnx's tolerance refuses a right output."""
    tags = set(subject.run.case_rows[case].tags)
    if tags & {"uint8", "int8"}:
        return "an admissible rounding before a tie of quantization moves the integer"
    if subject.operator(case) == "RoiAlign":
        return "the page has two readings of the largest sample"
    if tags & NARROW_TYPES:
        return "one ULP of the type is near 0.1 % or more"
    return "numbers cancel, so an admissible rounding exceeds 0.1 % of the small result"


NARROW_TYPES = frozenset(("bfloat16", "float16", "float4e2m1", "float8e4m3fn", "float8e5m2"))
"""Types whose ULP is near the tolerance of onnx, or larger."""


def difference_lines(subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield the cases on which the bounds and onnx's tolerance disagree, with the reason."""
    for title, verdict, refused in (
        ("Wrong by the bound, and admitted by the tolerance of onnx:", Verdict.FAIL, False),
        ("Right by the bound, and refused by the tolerance of onnx:", Verdict.PASS, True),
    ):
        yield from (title, "", "| operator | subject | cases | why |", "| --- | --- | ---: | --- |")
        for subject in subjects:
            names: dict[tuple[str, str], list[str]] = defaultdict(list)
            for case in sorted(subject.cases(verdict)):
                if subject.refused.get(case) is refused:
                    names[subject.operator(case), _reason_of_right(subject, case) if refused else ""].append(case)
            for (operator, reason), cases in sorted(names.items()):
                text = reason or _reason_of_wrong(subject, cases)
                yield f"| {operator} | {subject.name} | {len(cases)}, first `{cases[0]}` | {text} |"
        yield ""


def main() -> None:
    """Write the page."""
    directory, folder, *files = sys.argv[1:]
    corpus = open_corpus(Path(directory))
    given = {case.name: case for case in node_cases()}
    subjects = [read_subject(file, corpus, given) for file in files]
    table, known = "\n".join(summary_lines(subjects)), {"version": corpus.version, "digest": corpus.digest[:12]}
    heading = HEADING.format(outcome=outcome(subjects), table=table, cases=len(corpus.cases), **known)
    lines = [heading, "## Faults by cause", ""]
    shown: dict[tuple[str, ...], str] = {}
    for subject in subjects:
        causes = tuple(cause_lines(subject, subjects)) or ("No fault.",)
        same = shown.setdefault(causes, subject.name)
        lines += [f"### {subject.name}", "", *(causes if same == subject.name else (f"The faults of {same}.",)), ""]
    lines += ["## Operators with a wrong case", "", *operator_lines(subjects), ""]
    lines += ["## Where the bounds and the tolerance of onnx disagree", "", *difference_lines(subjects)]
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / "README.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
