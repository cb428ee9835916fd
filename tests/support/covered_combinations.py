"""Combinations that rows cover, computed from the rule of the declaration and not by the search."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.corpus.factors.covering_array import Declaration, Row


def covered_pairs(declaration: Declaration, rows: Iterable[Row]) -> set[frozenset[tuple[str, str]]]:
    """Return the pairs that some rows cover."""
    return {
        frozenset(pair)
        for row in rows
        for pair in combinations(row.items(), 2)
        if all(
            set(combination.levels) <= set(dict(pair)) for combination in declaration.masking if combination.is_in(row)
        )
    }


def covered_triples(declaration: Declaration, rows: Iterable[Row]) -> set[tuple[str, ...]]:
    """Return the structural triples that some rows cover."""
    groups = list((declaration.three_way or {}).values())
    return {tuple(row[factor] for factor in factors) for row in rows for factors in product(*groups)}


def admissible_rows(declaration: Declaration) -> list[dict[str, str]]:
    """Return all rows that a small declaration allows."""
    every = product(*declaration.factors.values())
    rows = (dict(zip(declaration.factors, values, strict=True)) for values in every)
    return [row for row in rows if not any(combination.is_in(row) for combination in declaration.forbidden)]
