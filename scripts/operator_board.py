"""Write the board over all operators: operators.md with the cases of each operator on each runtime, and operators.svg.

python scripts/operator_board.py CORPUS FOLDER RESULTS.jsonl...

Each results file has one subject, of a run of CORPUS, which `generate --onnx` wrote. Models of opsets before 7 do not
count, because several runtimes state that they do not support them. An operator is wrong on a subject if the
subject has a wrong output in a case of level `must`. Otherwise it is an error if a case ends in an error, a crash or a
timeout; right if the subject computes a case; and else unsupported.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from board_map import operator_bars

from conformance.base.verdicts import Level, Verdict
from conformance.corpus.cases.case import VALUE_TAG
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import open_corpus
from conformance.own.model_cases.drawn_cases import LEAST_OPSET
from conformance.own.model_cases.onnx_cases import DRAWN_TAG
from conformance.run.results.results_file import read_results

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from conformance.corpus.cases.corpus import Corpus
    from conformance.run.results.results_file import Results

KINDS = {
    Verdict.PASS: "right",
    Verdict.FAIL: "wrong",
    Verdict.UNSUPPORTED: "unsupported",
    Verdict.SKIPPED: "unsupported",
}
"""The state of an operator that each verdict gives; all other verdicts give the state error."""

ORDER = ("wrong", "error", "right", "unsupported")
"""The states of an operator: the first that one of its cases has."""

HEADING = """# The board over all operators

![Operators of ONNX that are right, wrong, an error or unsupported, by runtime](operators.svg)

{outcome}

The cases are those of [`generate --onnx`](../../docs/how-to/test-all-of-onnx.md) that the reference judges at level
`must`, in models of opset 7 or newer: corpus of onnx {version}, {cases} cases. An operator counts as *wrong* if one
output is wrong. Otherwise it is an *error* if a case ends in an error that does not state that the operator or the type
is not supported. It is *right* if the runtime computes a case, and else *unsupported*. The [faults by
cause](../onnx-cases/README.md#faults-by-cause) have messages, and the other runtimes that are right.
`nox -s onnx-corpus` writes this page.

A cell has the right cases of the computed ones. Errors and unsupported cases follow.

"""


def old_cases(corpus: Corpus, drawn: Iterable[str]) -> set[str]:
    """Return the cases of drawn nodes whose models have an opset before `LEAST_OPSET`."""
    models = ((id, load_case(corpus, corpus.cases[id]).model) for id in drawn)
    return {
        id for id, model in models if any(not each.domain and each.version < LEAST_OPSET for each in model.opset_import)
    }


def states(run: Results, left_out: Collection[str]) -> dict[str, Counter[str]]:
    """Return, by operator, the number of judged cases of level must in each state, without those that are left out."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in run.rows.values():
        case = run.case_rows[row.case]
        if case.level == Level.MUST and VALUE_TAG not in case.tags and row.case not in left_out:
            found[str(case.tags[0])][KINDS.get(row.verdict, "error")] += 1
    return dict(found)


def state(counts: Mapping[str, int]) -> str:
    """Return the state of an operator."""
    return next((each for each in ORDER if counts.get(each)), "unsupported")


def cell(counts: Mapping[str, int]) -> str:
    """Return the numbers of cases as text: right and computed ones, errors, and unsupported ones."""
    right = counts.get("right", 0)
    computed = right + counts.get("wrong", 0)
    shown = [f"{right}/{computed}" if right == computed else f"**{right}/{computed}**"] if computed else []
    if number := counts.get("error"):
        shown.append(f"{number} {'error' if number == 1 else 'errors'}")
    if number := counts.get("unsupported"):
        shown.append(f"{number} unsupported")
    return ", ".join(shown) or "-"


def page(runs: Mapping[str, Mapping[str, Counter[str]]], version: str) -> str:
    """Return the page with the cases of each operator on each subject."""
    operators = sorted(set().union(*runs.values()))
    cases = max(sum(counts.total() for counts in found.values()) for found in runs.values())
    sums = {name: Counter(state(counts) for counts in found.values()) for name, found in runs.items()}
    outcome = "\n".join(
        f"- {name}: {counts['right']} operators right, {counts['wrong']} wrong, {counts['error']} with errors,"
        f" {counts['unsupported']} unsupported"
        for name, counts in sums.items()
    )
    lines = [f"| operator | {' | '.join(runs)} |", f"| --- |{' --- |' * len(runs)}"]
    lines += [
        f"| {operator} | {' | '.join(cell(found.get(operator, {})) for found in runs.values())} |"
        for operator in operators
    ]
    return HEADING.format(outcome=outcome, version=version, cases=cases) + "\n".join(lines) + "\n"


def named_states(found: Mapping[str, Counter[str]]) -> dict[str, list[str]]:
    """Return the operators in each state."""
    return {each: sorted(name for name, counts in found.items() if state(counts) == each) for each in ORDER}


def read_subjects(paths: Sequence[str]) -> Iterator[tuple[str, Results]]:
    """Yield the name of each subject with its results."""
    for path in paths:
        run = read_results(Path(path))
        (info,) = run.header.subjects
        yield f"{info.id} {info.version}", run


def main() -> None:
    """Write the page and the picture."""
    directory, folder, *files = sys.argv[1:]
    corpus = open_corpus(Path(directory))
    read = dict(read_subjects(files))
    rows = next(iter(read.values())).case_rows
    old = old_cases(corpus, (id for id, row in rows.items() if DRAWN_TAG in row.tags))
    runs = {name: states(run, old) for name, run in read.items()}
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / "operators.md").write_text(page(runs, corpus.version), encoding="utf-8")
    picture = operator_bars({name: named_states(found) for name, found in runs.items()})
    (Path(folder) / "operators.svg").write_bytes(picture)


if __name__ == "__main__":
    main()
