"""What a case is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.clauses import families

if TYPE_CHECKING:
    from conformance.results.records import CaseRow


def family(case: CaseRow) -> str:
    """The operator or pass that a case is about, by its first clause."""
    named = case["clauses"][0].partition(".")[0] if case["clauses"] else case["kind"]
    return families().get(named, named)
