"""What a census found, cell by cell: the figures as a reader wants them, and witnesses that can be tried by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.census.tally import merged, total
from conformance.census.truth import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from conformance.census.cell import Cell
    from conformance.census.job import Census, PieceResult
    from conformance.census.tally import Row

MOST_WITNESSES = 16


@dataclass(frozen=True)
class CellFindings:
    """What was found of one operator of one type on one subject.

    Attributes:
        cell: which one.
        version: the subject's.
        rows: what was counted, by binade of the arguments; 0 is of all of them together.
        failure: why pieces have no answer; empty if all have.
        refused: whether the subject says that it has no such operator or type.
        symmetric: whether rows [a, b] are ordered as [0, b - a].
        elsewhere: what of the environment is another than that of the census or table which the cell is in.
    """

    cell: Cell
    version: str
    rows: Mapping[int, Row]
    failure: str = ""
    refused: bool = False
    symmetric: bool = True
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> Row:
        """All binades together."""
        return total(self.rows)

    @property
    def sampled(self) -> bool:
        """Whether not all values were tried, so that nothing may be said of all."""
        return self.cell.plan.sample > 0 or not self.symmetric

    def number(self, kind: str) -> int:
        """How many of a kind."""
        return self.whole["counts"].get(kind, 0)

    def share(self, kind: str, of: str) -> float:
        """The part of one kind in another."""
        return self.number(kind) / (self.number(of) or 1)

    @property
    def has_order(self) -> bool:
        """Whether neighbours were compared."""
        return self.cell.operator != "ArgMax"

    @property
    def has_values(self) -> bool:
        """Whether each value is one that a function of one argument gives."""
        return self.cell.operator in FUNCTIONS

    @property
    def has_errors(self) -> bool:
        """Whether values were compared with correctly rounded ones."""
        return self.number("values") > 0

    @property
    def largest_error(self) -> float | None:
        """In ULP; at most one half where every value is correctly rounded. None where none was compared."""
        extreme = self.whole["extremes"].get("error")
        return extreme["value"] if extreme is not None else 0.5 if self.has_errors else None

    def value(self, place: int) -> float:
        """The value at a place."""
        return float(self.cell.scale.values(place, 1)[0])

    @property
    def witnesses(self) -> Sequence[tuple[float, float]]:
        """Neighbours that are out of order, the first ones: the operator's value is larger at the first of both."""
        places = self.whole["places"].get("out_of_order", [])[:MOST_WITNESSES]
        if self.cell.operator in {"Softmax", "LogSoftmax"}:
            return [(0.0, self.value(place)) for place in places]
        return [(self.value(place), self.value(place + 1)) for place in places]


def findings(census: Census, results: Iterable[PieceResult]) -> list[CellFindings]:
    """What was found, in the order of the cells."""
    by_cell: dict[int, list[PieceResult]] = {}
    for result in results:
        by_cell.setdefault(result["cell"], []).append(result)
    return [_of_cell(census, i, by_cell.get(i, [])) for i in range(len(census.cells))]


def _of_cell(census: Census, index: int, results: Sequence[PieceResult]) -> CellFindings:
    cell = census.cells[index]
    failures = sorted((result["failure"], result["refused"]) for result in results if result["failure"])
    failure, refused = failures[0] if failures else ("", False)
    return CellFindings(
        cell,
        census.versions[cell.subject],
        merged(row for result in results for row in result["rows"]),
        failure,
        refused,
        all(result["symmetric"] for result in results),
    )


COLUMNS = (
    *("subject", "operator", "type", "pairs"),
    *("out of order", "widest", "merged", "not rounded right", "worst ULP", "at"),
)


def line(found: CellFindings) -> tuple[str, ...]:
    """A cell in a table, under `COLUMNS`."""
    cell, pairs = found.cell, found.number("pairs")
    names = (f"{cell.subject} {found.version}", cell.operator, cell.type)
    if not pairs:
        return (*names, "unsupported" if found.refused else "no answer", *[""] * 6)
    tried = f"{pairs:,}{' sampled' if found.sampled else ''}{' incomplete' if found.failure else ''}"
    if not found.has_order:
        return (*names, tried, *[""] * 3, f"{found.number('wrong'):,}", "", "")
    drop = found.whole["extremes"].get("drop")
    widest = f"{drop['value']:.0f} ULP" if drop is not None else ""
    order = (f"{found.number('out_of_order'):,}", widest, percent(found.share("merged", "pairs")))
    return (*names, tried, *order, *_errors(found))


def _errors(found: CellFindings) -> tuple[str, str, str]:
    """The share of values that are not correctly rounded, the largest error, and its argument."""
    if not found.has_errors or found.largest_error is None:
        return "", "", ""
    share, extreme = percent(found.share("wrong", "values")), found.whole["extremes"].get("error")
    if not found.number("wrong"):
        return share, "½", ""
    if extreme is None:
        return share, "not finite", ""
    return share, f"{found.largest_error:.5f}", repr(found.value(extreme["at"]))


def percent(share: float) -> str:
    """A share, with a digit behind the point, and never as none or all where it is not."""
    if share == 0:
        return "0"
    return f"{100 * share:.1f} %" if share >= 0.001 else f"{100 * share:.1e} %"


def effect(found: CellFindings) -> dict[str, int]:
    """In how many pairs the pass changes the answer, by class: of all pairs of a 16-bit type, else of neighbours."""
    if found.number("pass_pairs"):
        kinds = ("rounding_tie", "overflow", "underflow", "negative", "not_monotone")
        return {"pairs": found.number("pass_pairs"), **{kind: found.number(f"pass_{kind}") for kind in kinds}}
    classes = ("rounding_tie", "overflow", "underflow", "softmax_infinity")
    changed = {kind: found.number(kind) for kind in classes} | {"not_monotone": found.number("out_of_order")}
    return {"pairs": found.number("pairs"), **changed}


def document(found: CellFindings) -> dict[str, Any]:
    """A cell as a record of the results."""
    cell = found.cell
    return {
        "record": "cell",
        "subject": cell.subject,
        "version": found.version,
        "operator": cell.operator,
        "type": cell.type,
        "sampled": found.sampled,
        "failure": found.failure,
        "unsupported": found.refused,
        "shift_symmetric": found.symmetric,
        **({"environment": dict(found.elsewhere)} if found.elsewhere else {}),
        "largest_error": found.largest_error,
        "pass": effect(found) if found.has_order else {},
        "witnesses": [list(map(float.hex, pair)) for pair in found.witnesses],
        "total": {"counts": found.whole["counts"], "extremes": found.whole["extremes"]},
        "binades": list(found.rows.values()),
    }
