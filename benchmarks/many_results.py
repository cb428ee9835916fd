"""Results files of a hundred thousand results and a few more: the board's, every case several times, by other names."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.results.file import line_of, read

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.results.file import Results

BOARD = Path(__file__).parent.parent / "reports" / "scoreboard" / "results.jsonl.gz"
RESULTS = 100_000
"""So many results the file of all has at least; the bars are for these."""

ALTERED = 50
"""One pass in so many is a failure in a file that is to differ."""


def results_files(folder: Path) -> dict[str, Path]:
    """Files with all results, with them and some worse, and with each half of the subjects, by these names."""
    board = read(BOARD)
    subjects = [subject["id"] for subject in board.header["subjects"]]
    return {
        "all": _written(folder / "all.jsonl", board, set(subjects)),
        "worse": _written(folder / "worse.jsonl", board, set(subjects), _worse()),
        "one half": _written(folder / "one_half.jsonl", board, set(subjects[::2])),
        "other half": _written(folder / "other_half.jsonl", board, set(subjects[1::2])),
    }


def count(path: Path) -> int:
    """How many results a file has, by its header."""
    with path.open("rb") as file:
        return json.loads(file.readline())["rules"]["due"]


def _written(path: Path, board: Results, subjects: set[str], change: Callable[[Any], Any] = lambda one: one) -> Path:
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    copies = math.ceil(RESULTS / len(board.results))
    keys = [key for key in board.results if key[0] in subjects]
    with path.open("wb") as file:
        file.write(line_of(_header(board, subjects, copies, len(keys))))
        for copy in range(copies):
            for case in board.cases.values():
                file.write(line_of(_copied(case, copy)))
            for key in keys:
                result = change(_copied(board.results[key], copy))
                counts[result["subject"]][result["level"]][result["verdict"]] += 1
                file.write(line_of(result))
        diagnoses = [one for one in board.footer.get("diagnoses", []) if one["subject"] in subjects]
        total = sum(counter.total() for levels in counts.values() for counter in levels.values())
        file.write(line_of({**board.footer, "results": total, "verdicts": counts, "diagnoses": diagnoses}))
    return path


def _header(board: Results, subjects: set[str], copies: int, results: int) -> dict[str, Any]:
    header: dict[str, Any] = {**board.header}
    corpus = {**header["corpus"], "cases": copies * header["corpus"]["cases"], "digest": "0" * 64}
    expectations = [entry for entry in header["rules"]["expectations"] if entry["subject"] in subjects]
    return {
        **header,
        "corpus": {**corpus, "selected": corpus["cases"]},
        "subjects": [subject for subject in header["subjects"] if subject["id"] in subjects],
        "rules": {**header["rules"], "due": copies * results, "expectations": expectations},
    }


def _copied(record: Any, copy: int) -> dict[str, Any]:
    return {**record, "case": f"{record['case']}_copy_{copy}"}


def _worse() -> Callable[[Any], Any]:
    passes = 0

    def change(result: Any) -> Any:
        nonlocal passes
        passes += result["verdict"] == "pass"
        is_altered = result["verdict"] == "pass" and passes % ALTERED == 0
        return {**result, "verdict": "fail", "phase": "compare", "message": "wrong"} if is_altered else result

    return change
