"""Results of a census for each cell: figures for tables, and counterexamples."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from conformance.base.jobs.job import JobState, run_job
from conformance.base.serialization.printable_text import progress_counter
from conformance.studies.census.correct_rounding import FUNCTIONS
from conformance.studies.census.counters import merge_by_binade, sum_counters

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from conformance.base.jobs.job import Workers
    from conformance.studies.census.census_job import CellChunkResult, CensusJob
    from conformance.studies.census.chunks import Cell
    from conformance.studies.census.counters import BinadeCounters


MAX_COUNTEREXAMPLES = 16


@dataclass(frozen=True)
class CellResult:
    """Result of one cell: one operator and element type on one subject.

    Attributes:
        cell: the cell.
        version: version of the subject.
        rows: counters by binade of the arguments; key 0 has the counters of values without a binade.
        failure: first failure of the subject in a chunk; empty if all chunks have a result.
        refused: whether the subject reports that it does not support the operator or type.
        symmetric: whether the order of a row [a, b] is that of [0, b - a], for Softmax and LogSoftmax.
        elsewhere: entries of the environment that differ from the environment of the table that contains the cell.
    """

    cell: Cell
    version: str
    rows: Mapping[int, BinadeCounters]
    failure: str = ""
    refused: bool = False
    symmetric: bool = True
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> BinadeCounters:
        """The counters of all binades together."""
        return sum_counters(self.rows)

    @property
    def sampled(self) -> bool:
        """Whether only a sample of the values was tested, so that the figures do not hold for all values."""
        return self.cell.plan.sample > 0 or not self.symmetric

    def number(self, kind: str) -> int:
        """Return the count of `kind` over all binades; 0 if there is none."""
        return self.whole.counts.get(kind, 0)

    def share(self, kind: str, of: str) -> float:
        """Return the count of one kind divided by the count of another."""
        return self.number(kind) / (self.number(of) or 1)

    @property
    def has_order(self) -> bool:
        """Whether values of neighbouring arguments were compared."""
        return self.cell.operator != "ArgMax"

    @property
    def has_values(self) -> bool:
        """Whether the operator is a function of one argument with known correctly rounded values."""
        return self.cell.operator in FUNCTIONS

    @property
    def has_errors(self) -> bool:
        """Whether values were compared with correctly rounded values."""
        return self.number("values") > 0

    @property
    def largest_error(self) -> float | None:
        """Largest error in ULP; 0.5 if all values are correctly rounded, None if none was compared."""
        extreme = self.whole.extremes.get("error")
        return extreme.value if extreme is not None else 0.5 if self.has_errors else None

    def value(self, ordinal: int) -> float:
        """Return the value of the element type with this ordinal."""
        return float(self.cell.float_type.consecutive_values(ordinal, 1)[0])

    @property
    def counterexamples(self) -> Sequence[tuple[float, float]]:
        """The first pairs of neighbouring arguments for which the operator's value decreases."""
        ordinals = self.whole.ordinals.get("out_of_order", [])[:MAX_COUNTEREXAMPLES]
        if self.cell.operator in {"Softmax", "LogSoftmax"}:
            return [(0.0, self.value(ordinal)) for ordinal in ordinals]
        return [(self.value(ordinal), self.value(ordinal + 1)) for ordinal in ordinals]


def run_census(census: CensusJob, team: Workers, resume: Path | None = None) -> list[CellResult]:
    """Run a census, show its progress, and return the results of all cells.

    Args:
        census: the job.
        team: the workers.
        resume: the state file of a census that can be continued; None for none.

    Raises:
        ConformanceError: the state file cannot be used.
    """
    with ExitStack() as stack:
        state = None if resume is None else stack.enter_context(JobState(resume, census))
        advance = stack.enter_context(progress_counter("counting", len(census.chunk_numbers())))

        def chunk_results() -> Iterator[CellChunkResult]:
            for chunk in run_job(census, team, state):
                yield chunk.result
                advance("")

        return collect_cells(census, chunk_results())


def collect_cells(census: CensusJob, results: Iterable[CellChunkResult]) -> list[CellResult]:
    """Return the results of all cells, in the order of the cells, from the results of the chunks in any order."""
    found = [CellResult(cell, census.versions[cell.subject], {}) for cell in census.cells]
    for result in results:
        found[result.cell] = _add_chunk(found[result.cell], result)
    return found


def _add_chunk(known: CellResult, result: CellChunkResult) -> CellResult:
    failures = [each for each in ((known.failure, known.refused), (result.failure, result.refused)) if each[0]]
    failure, refused = min(failures, default=("", False))
    return replace(
        known,
        rows=merge_by_binade([*known.rows.values(), *result.rows]),
        failure=failure,
        refused=refused,
        symmetric=known.symmetric and result.symmetric,
    )


TABLE_COLUMNS = (
    "subject",
    "operator",
    "type",
    "pairs",
    "out of order",
    "widest",
    "merged",
    "not rounded right",
    "worst ULP",
    "at",
)

TEXT_COLUMN_COUNT = 3
"""Number of the first columns, which have texts; the others have numbers."""


def table_row(found: CellResult) -> tuple[str, ...]:
    """Return the table row for a census cell; its columns are `TABLE_COLUMNS`."""
    cell = found.cell
    pairs = found.number("pairs")
    names = (f"{cell.subject} {found.version}", cell.operator, cell.type)
    if not pairs:
        return (*names, "unsupported" if found.refused else "no answer", *[""] * 6)
    tried = f"{pairs:,}{' sampled' if found.sampled else ''}{' incomplete' if found.failure else ''}"
    if not found.has_order:
        return (*names, tried, *[""] * 3, f"{found.number('wrong'):,}", "", "")
    drop = found.whole.extremes.get("drop")
    widest = f"{drop.value:.0f} ULP" if drop is not None else ""
    order = (f"{found.number('out_of_order'):,}", widest, format_percent(found.share("merged", "pairs")))
    return (*names, tried, *order, *_error_columns(found))


def _error_columns(found: CellResult) -> tuple[str, str, str]:
    """Return three texts: the share of wrongly rounded results, the largest error in ULP, and its argument."""
    if not found.has_errors or found.largest_error is None:
        return "", "", ""
    share = format_percent(found.share("wrong", "values"))
    extreme = found.whole.extremes.get("error")
    if not found.number("wrong"):
        return share, "½", ""
    if extreme is None:
        return share, "not finite", ""
    return share, f"{found.largest_error:.5f}", repr(found.value(extreme.at))


def format_percent(share: float) -> str:
    """Return a share as text in percent; the text is 0 only if the share is exactly 0."""
    if share == 0:
        return "0"
    return f"{100 * share:.1f} %" if share >= 0.001 else f"{100 * share:.1e} %"


def pass_impact(found: CellResult) -> dict[str, int]:
    """Return the number of pairs of values for which the pass changes the result of ArgMax, by hazard class.

    For a 16-bit type all pairs of different values are counted, for other types all tested pairs of neighbours. The key
    `pairs` is the number of counted pairs.
    """
    if found.number("pass_pairs"):
        kinds = ("rounding_tie", "overflow", "underflow", "negative", "not_monotone")
        return {"pairs": found.number("pass_pairs"), **{kind: found.number(f"pass_{kind}") for kind in kinds}}
    classes = ("rounding_tie", "overflow", "underflow", "softmax_infinity")
    changed = {kind: found.number(kind) for kind in classes} | {"not_monotone": found.number("out_of_order")}
    return {"pairs": found.number("pairs"), **changed}
