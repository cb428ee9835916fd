"""What rows show, by the rule as the declaration states it and not as the search computes it."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.dimensions.factors import Declaration, Row


def shown_by(declaration: Declaration, rows: Iterable[Row]) -> set[frozenset[tuple[str, str]]]:
    """The pairs that some rows show."""
    return {
        frozenset(pair)
        for row in rows
        for pair in combinations(row.items(), 2)
        if all(set(meeting.values) <= set(dict(pair)) for meeting in declaration.hiding if meeting.is_in(row))
    }


def triples_shown_by(declaration: Declaration, rows: Iterable[Row]) -> set[tuple[str, ...]]:
    """The structural triples that some rows show."""
    groups = list((declaration.structural or {}).values())
    return {tuple(row[factor] for factor in factors) for row in rows for factors in product(*groups)}


def admissible(declaration: Declaration) -> list[dict[str, str]]:
    """All rows that a small declaration allows."""
    every = product(*declaration.factors.values())
    rows = (dict(zip(declaration.factors, values, strict=True)) for values in every)
    return [row for row in rows if not any(meeting.is_in(row) for meeting in declaration.excluded)]
