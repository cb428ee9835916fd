"""Measure the number of examples of `search` per second of processor time, and the parts of that time.

Filled is what the oracle says of a draw. A search asks the native reference first, and the oracle only where a subject
does not answer like it to the bit: the second rate is that of a subject which always does, the reference itself.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from conformance.run.judging.backend import judge_backend
from conformance.studies.search.search_cases import NoExpectedOutputsError, build_native_case, build_oracle_case
from conformance.studies.search.search_job import EXAMPLES_PER_CHUNK, OPERATORS
from conformance.studies.search.search_sampling import mix_examples
from conformance.subjects.adapters.reference import ReferenceBackend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from conformance.studies.search.example import Example

PIECES = 10
NATIVE, ORACLE = "native", "oracle"
SMALL = 13
"""Maximum number of elements of a small example, over all operands and runs."""


def search_rows(table: Table) -> None:
    """Add rows for small examples and for the examples of the search, each with the parts of its time."""
    spent: Counter[str] = Counter()
    with _timed(spent, "drawing"):
        drawn = [
            example
            for piece in range(1, PIECES + 1)
            for example in mix_examples(OPERATORS, 0, piece, EXAMPLES_PER_CHUNK)
        ]
    small = [example for example in drawn if _elements(example) <= SMALL]
    _row(table, f"small draws of {SMALL} elements at most", small, "at least 500/s", Counter())
    _row(table, "draws of search's own distribution", drawn, "at least 8/s", spent)


def _row(table: Table, what: str, drawn: Sequence[Example], wanted: str, spent: Counter[str]) -> None:
    for example in drawn:
        _measure(example, spent)
    for rate, left_out, aim in (("filled", NATIVE, wanted), ("as the native reference answers", ORACLE, "")):
        seconds = sum(each for part, each in spent.items() if not part.startswith(left_out))
        table.add_row(f"{what}, {rate}", f"{seconds:.2f}", f"{len(drawn)} draws", f"{len(drawn) / seconds:.0f}/s", aim)
    for part, seconds in spent.most_common():
        table.add_row(f"  {part}", f"{seconds:.2f}", "", f"{seconds / spent.total():.0%}", "")


def _measure(example: Example, spent: Counter[str]) -> None:
    with _timed(spent, "building models"):
        example.built  # noqa: B018 - it is kept
    try:
        with _timed(spent, f"{NATIVE}: its answers"):
            native = build_native_case(example)
        with _timed(spent, f"{NATIVE}: judging it"):
            judge_backend(ReferenceBackend, native)
        with _timed(spent, f"{ORACLE} on {example.operator}"):
            build_oracle_case(example)
    except NoExpectedOutputsError:
        return


@contextmanager
def _timed(spent: Counter[str], part: str) -> Iterator[None]:
    started = time.process_time()
    try:
        yield
    finally:
        spent[part] += time.process_time() - started


def _elements(example: Example) -> int:
    return sum(array.size for run in example.runs for array in run.values())
