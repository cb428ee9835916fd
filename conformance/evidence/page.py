"""The page of the evidence: one HTML file without scripts, for a screen and for paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from conformance.evidence.suite_facts import NOT_RECORDED
from conformance.evidence.traceability import REQUIREMENT_STATUS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.evidence.tables import Cell, Table

MAX_ACCURACY_ROWS = 400
"""Number of rows of the table of accuracy that the page shows."""


def render_page(facts: Mapping[str, Any], tables: Mapping[str, Table]) -> str:
    """Return the page.

    Args:
        facts: suite, corpus, map and restriction, as `tables.json` has them.
        tables: the tables of the evidence by name.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("conformance.evidence", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = _number
    environment.filters["breakable"] = _breakable
    rows = {name: [_named(table, row) for row in table.rows] for name, table in tables.items() if _is_shown(table)}
    requirements = rows["requirements"]
    anchors = {row["requirement"]: f"r{number}" for number, row in enumerate(requirements, 1)}
    clause_anchors = {row["clause"]: f"c{number}" for number, row in enumerate(rows["clauses"], 1)}
    return environment.get_template("index.html.j2").render(
        facts=facts,
        tables=tables,
        rows=rows,
        anchors=anchors,
        clause_anchors=clause_anchors,
        without=[row for row in requirements if not row["cases"]],
        tested=[row for row in requirements if row["cases"]],
        statuses=REQUIREMENT_STATUS,
        counts={name: sum(row["status"] == name for row in requirements) for name in REQUIREMENT_STATUS},
        linked_clauses=[row for row in rows["clauses"] if row["requirements"]],
        accuracy=rows["accuracy"][:MAX_ACCURACY_ROWS],
        is_shortened=len(rows["accuracy"]) > MAX_ACCURACY_ROWS,
        failures=_failures(tables),
        not_recorded=NOT_RECORDED,
    )


def _is_shown(table: Table) -> bool:
    """Return whether the page shows rows of a table; the others are too long."""
    return table.name not in {"requirement_cases", "requirement_verdicts", "cases", "files", "results", "verdicts"}


def _named(table: Table, row: tuple[Cell, ...]) -> dict[str, Cell]:
    return {column.name: cell for column, cell in zip(table.columns, row, strict=True)}


def _failures(tables: Mapping[str, Table]) -> dict[str, dict[str, int]]:
    """Return the number of results of each subject by verdict."""
    results = tables["results"]
    found: dict[str, dict[str, int]] = {}
    for subject, verdict in zip(results.column("subject"), results.column("verdict"), strict=True):
        counts = found.setdefault(subject, {})
        counts[verdict] = counts.get(verdict, 0) + 1
    return found


def _breakable(id: str) -> Markup:
    """Return an id with places at which a line can break."""
    return Markup("/<wbr>").join(id.split("/"))


def _number(cell: Cell) -> str:
    """Return a number with separators, at most 5 significant digits of a fraction; empty for an empty cell."""
    if cell is None:
        return ""
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.5g}" if isinstance(cell, float) else str(cell)
