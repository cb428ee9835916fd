"""Rows at random, of which each shows a structural triple that none before it was made for, and as much else as can be.

The triples of a declaration come in an order of the seed's, each once before any comes again, so that the first minute
is worth most; the rest of a row is the one of some at random that shows most of what no row of the piece has shown.
"""

from __future__ import annotations

import random
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from conformance.dimensions.contexts import Context
from conformance.dimensions.covering import shown
from conformance.dimensions.training import READ_BY_ANOTHER, structure
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.search.argmax_rows import ARGMAX_STARTS, PASS_STARTS, argmax_declaration, pass_declaration
from conformance.search.choice import ARGMAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.dimensions.factors import Declaration, Row

    Start: TypeAlias = tuple[tuple[Sequence[str], str], ...]
    """Values, each for one of some factors."""

CANDIDATES = 8
"""Of so many rows at random the one is taken that shows the most that none before it did."""

SHARES: Mapping[str, int] = {ARGMAX: 3}
"""How many draws are about an operator before the next one's turn; ArgMax stands for six, and its draws cost least."""

HALF, MOST = 0.5, 0.8


def rows(
    operators: Sequence[str], seed: int, piece: int, count: int, chance: random.Random
) -> Iterator[tuple[str, int, dict[str, str]]]:
    """The rows of a piece, by operator in turn: the operator, how many draws were about it before, and the row.

    Args:
        count: how many there are in a piece.
    """
    cycle = [(name, share) for name in operators for share in range(SHARES.get(name, 1))]
    seen: dict[str, set[Any]] = {name: set() for name in operators}
    for place in range(piece * count, piece * count + count):
        name, share = cycle[place % len(cycle)]
        turn = place // len(cycle) * SHARES.get(name, 1) + share
        declaration, starts = declaration_of(name), _starts(name, seed)
        candidates = [_row(declaration, starts[turn % len(starts)], chance) for _ in range(CANDIDATES)]
        allowed = [row for row in candidates if not declaration.is_excluded(row)] or [_plainest(declaration.factors)]
        row = max(allowed, key=lambda one: len(set(shown(declaration, one)) - seen[name]))
        seen[name].update(shown(declaration, row))
        yield name, turn, row


@cache
def declaration_of(operator: str) -> Declaration:
    """What varies in draws about an operator."""
    if operator == PASS_NAME:
        return pass_declaration()
    return argmax_declaration() if operator == ARGMAX else structure(operator)


@cache
def _starts(operator: str, seed: int) -> Sequence[Start]:
    """What rows are made for, in the seed's order: structural triples, in turn with what else matters by itself."""
    chance = random.Random(f"{seed}/{operator}")  # noqa: S311 - nothing is to be kept secret
    more = {ARGMAX: ARGMAX_STARTS, PASS_NAME: PASS_STARTS}.get(operator, ())
    lists = [
        _meeting(declaration_of(operator), (declaration_of(operator).structural or {}).values()),
        *(_meeting(declaration, [(factor,) for factor in declaration.factors]) for declaration in more),
    ]
    for each in lists:
        chance.shuffle(each)
    turns = max(map(len, lists))
    return [each[turn % len(each)] for turn in range(turns) for each in lists]


def _meeting(declaration: Declaration, dimensions: Iterable[Sequence[str]]) -> list[Start]:
    """The values of dimensions, of several factors each, that can meet."""
    every = list(dimensions)
    return [
        tuple(zip(every, values, strict=True))
        for values in product(*(dict.fromkeys(declaration.factors[factors[0]]) for factors in every))
        if not declaration.is_excluded({factors[0]: value for factors, value in zip(every, values, strict=True)})
    ]


def _row(declaration: Declaration, start: Start, chance: random.Random) -> dict[str, str]:
    """A row that is made for something.

    Half of the rows have most of their operands from inputs, so that what is special about one of them is seen.
    """
    row = {name: chance.choice(values) for name, values in declaration.factors.items()}
    plain = chance.random() < HALF
    row |= {name: "input" for name in row if plain and name.startswith("origin_") and chance.random() < MOST}
    return row | {chance.choice(factors): value for factors, value in start}


def _plainest(factors: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: values[0] for name, values in factors.items()}


def context_of(row: Row, operands: Sequence[str], results: Sequence[str]) -> Context:
    """What a row says of the surroundings."""
    shared = READ_BY_ANOTHER[row["read_by_another"]]
    return Context(
        place=row["place"],
        origins={name: word for name in operands if (word := row[f"origin_{_slot(name)}"]) != "input"},
        uses={name: word for name in results if (word := row[f"use_{_slot(name)}"]) != "output"},
        shared=tuple(name for name in operands if name[0] in shared),
        stored=row["stored"],
        imports=row["imports"],
        trains=row["training_info"] == "present",
    )


def _slot(name: str) -> str:
    return name[0] + name[1:].lstrip("0123456789") if name != "index" else name
