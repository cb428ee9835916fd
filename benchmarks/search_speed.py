"""How many draws of `search` a second of processor time fills, and where that time goes.

Filled is what the oracle says of a draw. A search asks the native reference first, and the oracle only where a subject
does not answer like it to the bit: the second rate is that of a subject which always does, the reference itself.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

from conformance.backends.reference import ReferenceBackend
from conformance.judging.backend import judge_backend
from conformance.search.drawing import choices
from conformance.search.filled import NoAnswerError, filled, natively_filled
from conformance.search.job import OPERATORS, PIECE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table

    from conformance.search.choice import Choice

PIECES = 10
NATIVE, ORACLE = "native", "oracle"
SMALL = 13
"""Elements of a small draw, all operands and runs counted, at most."""


def search_rows(table: Table) -> None:
    """Small draws, then the search's own, each with its parts."""
    spent: Counter[str] = Counter()
    with _timed(spent, "drawing"):
        drawn = [choice for piece in range(1, PIECES + 1) for choice in choices(OPERATORS, 0, piece, PIECE)]
    small = [choice for choice in drawn if _elements(choice) <= SMALL]
    _row(table, f"small draws of {SMALL} elements at most", small, "at least 500/s", Counter())
    _row(table, "draws of search's own distribution", drawn, "at least 90/s", spent)


def _row(table: Table, what: str, drawn: Sequence[Choice], wanted: str, spent: Counter[str]) -> None:
    for choice in drawn:
        _measure(choice, spent)
    for rate, left_out, aim in (("filled", NATIVE, wanted), ("as the native reference answers", ORACLE, "")):
        seconds = sum(each for part, each in spent.items() if not part.startswith(left_out))
        table.add_row(f"{what}, {rate}", f"{seconds:.2f}", f"{len(drawn)} draws", f"{len(drawn) / seconds:.0f}/s", aim)
    for part, seconds in spent.most_common():
        table.add_row(f"  {part}", f"{seconds:.2f}", "", f"{seconds / spent.total():.0%}", "")


def _measure(choice: Choice, spent: Counter[str]) -> None:
    with _timed(spent, "building models"):
        choice.made  # noqa: B018 - it is kept
    try:
        with _timed(spent, f"{NATIVE}: its answers"):
            native = natively_filled(choice)
        with _timed(spent, f"{NATIVE}: judging it"):
            judge_backend(ReferenceBackend, native)
        with _timed(spent, f"{ORACLE} on {choice.operator}"):
            filled(choice)
    except NoAnswerError:
        return


@contextmanager
def _timed(spent: Counter[str], part: str) -> Iterator[None]:
    started = time.process_time()
    try:
        yield
    finally:
        spent[part] += time.process_time() - started


def _elements(choice: Choice) -> int:
    return sum(array.size for run in choice.runs for array in run.values())
