"""Count the failures of level must by subject and check, with a column for each results file.

python checks/measurements/must_failures.py BEFORE.jsonl AFTER.jsonl

A failing case counts once for each violated check: `bound`, `index` or `exact` for outputs of a backend, and the checks
of a graph optimizer. A case without compared outputs counts under its verdict and phase. The row `cases` counts every
failing case once. Verdicts `unsupported` and `skipped` are not failures. A dash means that the subject was not run.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.base.errors import ConformanceError
from conformance.base.verdicts import Level, Verdict
from conformance.run.results.results_file import read_results

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.run.results.records import Result
    from conformance.run.results.results_file import Results

CASES = "cases"

NOT_FAILURES = {Verdict.PASS, Verdict.UNSUPPORTED, Verdict.SKIPPED}


def must_failures(run: Results) -> Counter[tuple[str, str]]:
    """Return the number of failing must cases, by subject and check."""
    counts: Counter[tuple[str, str]] = Counter()
    for (subject, case), row in run.rows.items():
        if row.level == Level.MUST and row.verdict not in NOT_FAILURES:
            counts.update((subject, check) for check in {CASES, *_checks(run.results[subject, case])})
    return counts


def _checks(result: Result) -> Iterator[str]:
    violations = [check for check in result.checks if check.violation is not None]
    wrong = [output for output in result.outputs if output.violation is not None]
    yield from (check.name for check in violations if check.level == Level.MUST)
    yield from (output.check for output in wrong)
    if not violations and not wrong:
        yield f"{result.verdict} at {result.phase}"


def table(runs: Sequence[Results], names: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the table; the row `cases` comes first for each subject."""
    columns = [must_failures(run) for run in runs]
    ran = [{subject.id for subject in run.header.subjects} for run in runs]
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
    """Print the table of the given results files; return the exit status."""
    if len(sys.argv) < 2:
        sys.stderr.write(f"{__doc__}\nGive one or more results files.\n")
        return 2
    paths = list(map(Path, sys.argv[1:]))
    try:
        runs = [read_results(path) for path in paths]
    except ConformanceError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for line in table(runs, [path.name for path in paths]):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
