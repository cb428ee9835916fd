"""Failures of level must by subject and check, a column for each results file: before and after, say.

python scripts/must_failures.py BEFORE.jsonl AFTER.jsonl

What complains of a case is counted once for each check: `bound`, `index` or `exact` of a backend's outputs, the checks
of a graph optimizer, and where nothing was compared how and when it ended. So a case may count in several rows; the
row `cases` has each once. An answer that is `unsupported` or `skipped` is no failure. A dash stands where a subject was
not run.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.errors import ConformanceError
from conformance.results.file import read
from conformance.verdicts import Level, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.results.file import Results
    from conformance.results.records import ResultRecord

CASES = "cases"

NO_FAILURES = {Verdict.PASS, Verdict.UNSUPPORTED, Verdict.SKIPPED}


def must_failures(run: Results) -> Counter[tuple[str, str]]:
    """How many cases fail at must, by subject and check."""
    counts: Counter[tuple[str, str]] = Counter()
    for (subject, case), row in run.rows.items():
        if row["level"] == Level.MUST and row["verdict"] not in NO_FAILURES:
            counts.update((subject, check) for check in {CASES, *_checks(run.results[subject, case])})
    return counts


def _checks(result: ResultRecord) -> Iterator[str]:
    complaints = [check for check in result.get("checks", ()) if "complaint" in check]
    wrong = [output for output in result["outputs"] if "complaint" in output]
    yield from (check["name"] for check in complaints if check.get("level", Level.MUST) == Level.MUST)
    yield from (output["check"] for output in wrong)
    if not complaints and not wrong:
        yield f"{result['verdict']} at {result['phase']}"


def table(runs: Sequence[Results], names: Sequence[str]) -> Iterator[str]:
    """The lines of the table: of each subject the cases first, then each check with what it complains of."""
    columns = [must_failures(run) for run in runs]
    ran = [{subject["id"] for subject in run.header["subjects"]} for run in runs]
    rows = sorted({row for column in columns for row in column}, key=lambda row: (row[0], row[1] != CASES, row[1]))
    subjects, checks = (max(map(len, column)) for column in zip(("subject", "check"), *rows, strict=True))
    yield f"{'subject':<{subjects}}  {'check':<{checks}}" + "".join(f"  {name}" for name in names)
    for subject, check in rows:
        cells = (
            column[subject, check] if subject in there else "-" for column, there in zip(columns, ran, strict=True)
        )
        numbers = (f"  {cell:>{len(name)}}" for cell, name in zip(cells, names, strict=True))
        yield f"{subject:<{subjects}}  {check:<{checks}}" + "".join(numbers)


def main() -> int:
    """Print the table of the results files that are named; gives the exit status."""
    if len(sys.argv) < 2:
        sys.stderr.write(f"{__doc__}\nName one results file or more.\n")
        return 2
    paths = list(map(Path, sys.argv[1:]))
    try:
        runs = [read(path) for path in paths]
    except ConformanceError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for line in table(runs, [path.name for path in paths]):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
