"""The page of the evidence: one HTML file without scripts, for a screen and for paper."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from conformance.evidence.traceability import REQUIREMENT_STATUS
from conformance.pages.environment import count_text
from conformance.pages.environment import render_page as render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.evidence.tables import Cell, Table
    from conformance.results.file import Results

MAX_ACCURACY_ROWS = 400
"""Number of rows of the table of accuracy that the page shows."""


def render_page(facts: Mapping[str, Any], tables: Mapping[str, Table], runs: Sequence[Results]) -> str:
    """Return the page.

    Args:
        facts: suite, corpus, map and restriction, as `tables.json` has them.
        tables: the tables of the evidence by name.
        runs: the results, which have the outcome.
    """
    rows = {name: [_named(table, row) for row in table.rows] for name, table in tables.items() if _is_shown(table)}
    requirements, counts = rows["requirements"], Counter(row["status"] for row in rows["requirements"])
    verdicts = _verdict_counts(tables)
    results = sum(count.total() for count in verdicts.values())
    cases = len(set(tables["results"].column("case")))
    tested = f"{count_text(cases, 'case')} on {count_text(len(verdicts), 'subject')}"
    return render(
        "evidence.html.j2",
        styles=["evidence.css"],
        facts=facts,
        tables=tables,
        rows=rows,
        passes=all(run.footer.outcome == "pass" for run in runs),
        judged=f"{count_text(results, 'result')} of {tested}",
        outcomes=[_outcome_text(run, verdicts) for run in runs],
        run_requirements=sum(bool(row["results"]) for row in requirements),
        run_cases=cases,
        statuses_text="; ".join(f"{counts[name]} {name}" for name in REQUIREMENT_STATUS),
        anchors={row["requirement"]: f"r{number}" for number, row in enumerate(requirements, 1)},
        clause_anchors={row["clause"]: f"c{number}" for number, row in enumerate(rows["clauses"], 1)},
        without=[row for row in requirements if not row["cases"]],
        tested=[row for row in requirements if row["cases"]],
        statuses=REQUIREMENT_STATUS,
        linked_clauses=[row for row in rows["clauses"] if row["requirements"]],
        accuracy=rows["accuracy"][:MAX_ACCURACY_ROWS],
        is_shortened=len(rows["accuracy"]) > MAX_ACCURACY_ROWS,
        failures=verdicts,
    )


def _outcome_text(run: Results, verdicts: Mapping[str, Counter[str]]) -> str:
    """Return the outcome of a run, and the verdicts of each of its subjects."""
    outcome = "passed" if run.footer.outcome == "pass" else "failed"
    subjects = [
        f"{subject.id}: "
        + (", ".join(f"{count:,} {name}" for name, count in sorted(verdicts[subject.id].items())) or "no result")
        for subject in run.header.subjects
    ]
    return f"{run.path.rpartition('/')[2]} {outcome}. {'; '.join(subjects)}"


def _is_shown(table: Table) -> bool:
    """Return whether the page shows rows of a table; the others are too long."""
    return table.name not in {"requirement_cases", "requirement_verdicts", "cases", "files", "results", "verdicts"}


def _named(table: Table, row: tuple[Cell, ...]) -> dict[str, Cell]:
    return {column.name: cell for column, cell in zip(table.columns, row, strict=True)}


def _verdict_counts(tables: Mapping[str, Table]) -> dict[str, Counter[str]]:
    """Return the number of results of each subject by verdict."""
    results = tables["results"]
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for subject, verdict in zip(results.column("subject"), results.column("verdict"), strict=True):
        found[subject][verdict] += 1
    return found
