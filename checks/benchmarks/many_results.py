"""Write large results files: the results of the board, with several copies of every case under other names."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from conformance.base.verdicts import Verdict
from conformance.run.results.records import Header, Result
from conformance.run.results.results_file import encode_record, read_results

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.run.results.results_file import Results

BOARD = Path(__file__).resolve().parents[2] / "reports" / "scoreboard" / "results.jsonl.gz"
RESULTS = 100_000
"""Minimum number of results in the file `all`; the limits of the bench are for this number."""

ALTERED = 50
"""In the file `worse`, one of this number of passes is replaced by a failure."""


def results_files(folder: Path) -> dict[str, Path]:
    """Write files with all results, with some worse results, and with each half of the subjects; return their paths."""
    board = read_results(BOARD)
    subjects = [subject.id for subject in board.header.subjects]
    return {
        "all": _written(folder / "all.jsonl", board, set(subjects)),
        "worse": _written(folder / "worse.jsonl", board, set(subjects), _worse()),
        "one half": _written(folder / "one_half.jsonl", board, set(subjects[::2])),
        "other half": _written(folder / "other_half.jsonl", board, set(subjects[1::2])),
    }


def count(path: Path) -> int:
    """Return the number of results of a file."""
    with path.open("rb") as file:
        return json.loads(file.readline())["criterion"]["expected_results"]


def _written(path: Path, board: Results, subjects: set[str], change: Callable[[Any], Any] = lambda one: one) -> Path:
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    copies = math.ceil(RESULTS / len(board.results))
    keys = [key for key in board.results if key[0] in subjects]
    with path.open("wb") as file:
        file.write(encode_record(_header(board, subjects, copies, len(keys))))
        for copy in range(copies):
            for case in board.cases.values():
                file.write(encode_record(_copied(case, copy)))
            for key in keys:
                result = change(_copied(board.results[key], copy))
                counts[result.subject][result.level][result.verdict] += 1
                file.write(encode_record(result))
        diagnoses = [one for one in board.footer.diagnoses if one.subject in subjects]
        total = sum(counter.total() for levels in counts.values() for counter in levels.values())
        file.write(encode_record(replace(board.footer, results=total, verdicts=counts, diagnoses=diagnoses)))
    return path


def _header(board: Results, subjects: set[str], copies: int, results: int) -> Header:
    header = board.header
    cases = copies * header.corpus.cases
    expectations = [entry for entry in header.criterion.expectations if entry.subject in subjects]
    return replace(
        header,
        corpus=replace(header.corpus, cases=cases, digest="0" * 64, selected=cases),
        subjects=[subject for subject in header.subjects if subject.id in subjects],
        criterion=replace(header.criterion, expected_results=copies * results, expectations=expectations),
    )


def _copied(record: Any, copy: int) -> Any:
    if isinstance(record, Result):
        return replace(record, case=f"{record.case}_copy_{copy}")
    return {**record, "case": f"{record['case']}_copy_{copy}"}


def _worse() -> Callable[[Result], Result]:
    passes = 0

    def change(result: Result) -> Result:
        nonlocal passes
        is_pass = result.verdict is Verdict.PASS
        passes += is_pass
        is_altered = is_pass and passes % ALTERED == 0
        return replace(result, verdict=Verdict.FAIL, phase="compare", message="wrong") if is_altered else result

    return change
