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

from conformance.corpus.corpus import Corpus, find_case, open_corpus
from conformance.corpus.loading import load_case_in_memory
from conformance.judging.returned import ReplayedBackend, UnusableValues
from conformance.model_cases.onnx_cases import VALUE_TAG, array_of_value, node_cases
from conformance.models.arrays import is_floating
from conformance.results.failure_groups import count_cases, group_failures
from conformance.results.file import read_results
from conformance.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.results.failure_groups import FailureGroup
    from conformance.results.file import Results

HEADING = """# onnx's node cases on released runtimes

Corpus of onnx {version}: {cases} cases ({digest}). Written by `nox -s onnx-corpus`, which generates the corpus with
`onnx-conformance generate --onnx`, runs the pinned runtimes and calls `scripts/onnx_cases_page.py`. The page
[test all operators of ONNX](../../docs/how-to/test-all-of-onnx.md) describes the corpus.

*Right* and *wrong* count cases with expected values and bounds of the suite's reference. An *error* is a case on which
the runtime ends with an error that does not say that it lacks the operator or type. *Refused by onnx* counts cases with
an output outside of the tolerance of onnx's runner around onnx's own output. This comparison uses nothing of the suite.

A wrong case that onnx's tolerance refuses too is *confirmed*. The others have an error that onnx's tolerance admits.
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

    def cases(self, verdict: Verdict) -> set[str]:
        """Return the cases of the reference with a verdict."""
        return {row.case for row in self.run.rows.values() if row.verdict == verdict and self.is_judged(row.case)}

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
    yield "| subject | right | wrong | confirmed | error | unsupported | refused by onnx | of these right |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    for subject in subjects:
        right, wrong = subject.cases(Verdict.PASS), subject.cases(Verdict.FAIL)
        refused = {case for case, is_refused in subject.refused.items() if is_refused and subject.is_judged(case)}
        errors = sum(len(subject.cases(verdict)) for verdict in (Verdict.ERROR, Verdict.CRASH, Verdict.TIMEOUT))
        counts = (len(right), len(wrong), len(wrong & refused), errors, len(subject.cases(Verdict.UNSUPPORTED)))
        yield f"| {subject.name} | {' | '.join(map(str, (*counts, len(refused), len(refused & right))))} |"


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


def cause_lines(subject: Subject) -> Iterator[str]:
    """Yield the failures of a subject by cause and operator, wrong outputs first."""
    found: list[tuple[FailureGroup, str, list[str]]] = []
    for group in group_failures(subject.run):
        cases: dict[str, list[str]] = defaultdict(list)
        for case in filter(subject.is_judged, group.cases):
            cases[subject.operator(case)].append(case)
        found += [(group, operator, names) for operator, names in cases.items()]
    for group, operator, names in sorted(found, key=lambda each: (each[0].verdict != Verdict.FAIL, each[1])):
        confirmed = sum(subject.refused.get(case, False) for case in names)
        known = f", {confirmed} confirmed" if group.verdict == Verdict.FAIL else ""
        text = " ".join(group.sentence.split()).replace("|", "\\|").replace("<", "&lt;")[:MAX_TEXT]
        yield f"- **{operator}** ({count_cases(len(names))}{known}; first `{names[0]}`): {text}"


MAX_TEXT = 220
"""Characters of a message on the page."""


def difference_lines(subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield the cases on which the bounds and onnx's tolerance disagree."""
    for title, verdict, refused in (
        ("Wrong by the bound, and admitted by the tolerance of onnx:", Verdict.FAIL, False),
        ("Right by the bound, and refused by the tolerance of onnx:", Verdict.PASS, True),
    ):
        yield from (title, "")
        names: dict[str, list[str]] = defaultdict(list)
        for subject in subjects:
            for case in sorted(subject.cases(verdict)):
                if subject.refused.get(case) is refused:
                    names[case].append(subject.name)
        yield from (f"- `{case}`: {', '.join(found)}" for case, found in sorted(names.items()))
        yield from (() if names else ("- none",))
        yield ""


def main() -> None:
    """Write the page."""
    directory, folder, *files = sys.argv[1:]
    corpus = open_corpus(Path(directory))
    given = {case.name: case for case in node_cases()}
    subjects = [read_subject(file, corpus, given) for file in files]
    heading = HEADING.format(version=corpus.version, cases=len(corpus.cases), digest=corpus.digest[:12])
    lines = [heading, *summary_lines(subjects), "", "## Operators with a wrong case", "", *operator_lines(subjects)]
    lines += ["", "## Causes", ""]
    for subject in subjects:
        lines += [f"### {subject.name}", "", *(list(cause_lines(subject)) or ["- none"]), ""]
    lines += ["## Where the bounds and the tolerance of onnx disagree", "", *difference_lines(subjects)]
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / "README.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
