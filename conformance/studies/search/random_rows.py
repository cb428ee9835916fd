"""Rows for random examples: a row has one level of each factor and fixes the structure of an example.

`random_rows.toml` lists the factors with their levels. For each example, several random rows are generated, and the row
with the most combinations of levels that are not yet covered is used. Each row contains a starting point: a combination
of levels that must be tested.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeAlias

from conformance.base.serialization.decoding import read_own_toml
from conformance.corpus.factors.connections import CONSUMERS, PERMITTED_SOURCES, SOURCES
from conformance.corpus.factors.covering_array import Declaration, LevelCombination, Row, covered_interactions
from conformance.corpus.factors.name_factors import NAME_KINDS, PLAIN_NAMES
from conformance.corpus.factors.scopes import SEARCH_SCOPES
from conformance.corpus.factors.training_factors import READ_BY_ANOTHER, graph_declaration
from conformance.corpus.factors.wrapping import Context
from conformance.corpus.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, PASS_NAME
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.studies.search.distractors import NAMES, NAMES_WITHOUT_FUNCTIONS
from conformance.studies.search.distributions import ATTRIBUTE_CLASSES, COUNT_CLASSES, spread_choice
from conformance.studies.search.example import ARGMAX, AXIS_RELATIONS, CHAIN_OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Start: TypeAlias = tuple[tuple[Sequence[str], str], ...]
    """A starting point of rows: pairs of a group of factors and a level for one factor of the group."""


SHORT_LENGTHS = ("1", "2-7", "8-33", "34-72")
LARGE_SIZES = ("4097-65536", "65537-1048576")
"""Classes of sizes for which the graph around the node is plain, so that the oracle is fast."""
SWEEP = "sweep"
"""Level of the size of optimized tensors: `SWEPT_TENSORS` tensors of consecutive sizes of the sweep."""
SWEEP_INTERVAL = 12
"""Interval between the examples of the sweep among the examples of a training optimizer.

An example of the sweep takes about five times as long as another example. With this interval, half of the time goes to
examples with at most 16,384 numbers.
"""
AFTER_EMPTY = "after_empty"
"""Level of the optimized tensors: empty tensors, then tensors whose size is at most their position, then another."""

_LISTS: Mapping[str, Sequence[str]] = {
    "chain_operators": CHAIN_OPERATORS,
    "along_axis": sorted(ALONG_AXIS),
    "axis_relations": AXIS_RELATIONS,
    "search_scopes": list(SEARCH_SCOPES),
    "name_kinds": list(NAME_KINDS),
    "count_classes": list(COUNT_CLASSES),
    "attribute_classes": ATTRIBUTE_CLASSES,
    "distractors": NAMES,
    "distractors_without_functions": NAMES_WITHOUT_FUNCTIONS,
}
"""Lists of levels that `random_rows.toml` names."""


@cache
def _tables(repeated: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """Return the content of `random_rows.toml` with the levels of all lists.

    Args:
        repeated: the levels of the list of this name.
    """
    tables = read_own_toml("conformance.studies.search", "random_rows.toml")
    lists = {**_LISTS, "repeated": repeated}
    for name, texts in tables["lists"].items():
        lists[name] = _resolve(texts, lists)
    return {name: _resolve(tables[name], lists) for name in ("argmax", "pass", "optimizer")}


def _resolve(value: Any, lists: Mapping[str, Sequence[str]]) -> Any:
    """Return a value with levels in place of `@name`, the name of a list, and of `level*3`, three times the level."""
    if isinstance(value, dict):
        return {name: _resolve(each, lists) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    if isinstance(value[0], dict):
        return [_resolve(each, lists) for each in value]
    levels: list[str] = []
    for text in value:
        level, _, count = text.partition("*")
        levels += lists[level[1:]] if level.startswith("@") else [level] * int(count or 1)
    return tuple(levels)


def _extended(declaration: Declaration, table: Mapping[str, Any]) -> Declaration:
    """Return a declaration with the factors and the forbidden combinations of a table."""
    rows = [({name: row[name] for name in row if name != "reason"}, row["reason"]) for row in table["forbidden"]]
    forbidden = [
        LevelCombination(dict(zip(names, levels.values(), strict=True)), reason)
        for levels, reason in rows
        for names in product(*(name.split("|") for name in levels))
    ]
    return replace(
        declaration,
        factors={**declaration.factors, **table["factors"]},
        forbidden=(*declaration.forbidden, *forbidden),
        three_way=declaration.three_way or table["three_way"],
    )


@cache
def declaration_for(operator: str) -> Declaration:
    """Return the factors of examples about an operator, or about the pass."""
    if operator == ARGMAX:
        return _extended(Declaration({}), _tables()["argmax"])
    if operator == PASS_NAME:
        return _extended(declaration_for(ARGMAX), _tables()["pass"])
    letters = TRAINING_OPTIMIZERS[operator].operands
    repeated = (*letters, *map("".join, combinations(letters, 2)))
    known = tuple(source for source in SOURCES if source not in PERMITTED_SOURCES)
    return _extended(graph_declaration(operator, known, tuple(CONSUMERS)), _tables(repeated)["optimizer"])


def starts_for(operator: str) -> list[Declaration]:
    """Return starting points of rows, in addition to the triples of the declaration."""
    name = {ARGMAX: "argmax", PASS_NAME: "pass"}.get(operator, "optimizer")
    return [Declaration(factors) for factors in _tables()[name].get("starts", ())]


SPREAD_FACTORS: Mapping[str, Sequence[str]] = {
    ARGMAX: ("length", "outer", "type", "axis", "keepdims", "rank"),
    PASS_NAME: ("distractor", "type", "axis"),
}
"""Factors whose combinations of levels consecutive rows spread over evenly."""

OPTIMIZER_SPREAD_FACTORS = ("size", "T", "attributes", "types", "tensors", "rank", "resized")


CANDIDATE_ROWS = 8
"""Number of random rows, of which the row that covers the most new combinations is used."""

CONSECUTIVE_EXAMPLES: Mapping[str, int] = {ARGMAX: 4}
"""Number of consecutive examples of an operator; 1 if not listed. ArgMax has more, because its examples also test the
monotone operators and are fast."""

PLAIN_ROWS_SHARE = 0.5
"""Share of the rows that take most operands from graph inputs."""

PLAIN_SOURCE_PROBABILITY = 0.8
"""Probability, in a plain row, that an operand is a graph input."""


def sample_rows(
    operators: Sequence[str], seed: int, chunk: int, count: int, chance: random.Random
) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield the rows of a chunk; the operators alternate.

    Each item is an operator, the number of earlier examples of this operator, and a row.

    Args:
        operators: op_types, or the name of the pass.
        chunk: the chunk number.
        count: the number of rows in a chunk.
        chance: the random number generator of the chunk.
    """
    cycle = [(name, share) for name in operators for share in range(CONSECUTIVE_EXAMPLES.get(name, 1))]
    seen: dict[str, set[Any]] = {name: set() for name in operators}
    for place in range(chunk * count, chunk * count + count):
        name, share = cycle[place % len(cycle)]
        turn = place // len(cycle) * CONSECUTIVE_EXAMPLES.get(name, 1) + share
        declaration = declaration_for(name)
        starts = _row_starts(name, seed)
        start = starts[turn % len(starts)]
        spread = _spread_levels(name, seed, turn)
        candidates = [_random_row(declaration, start, spread, chance) for _ in range(CANDIDATE_ROWS)]
        allowed = [row for row in candidates if not declaration.is_forbidden(row)]
        if not allowed:
            candidates = [_random_row(declaration, start, {}, chance) for _ in range(CANDIDATE_ROWS)]
            allowed = [row for row in candidates if not declaration.is_forbidden(row)]
        row = max(
            allowed or [{name: levels[0] for name, levels in declaration.factors.items()}],
            key=lambda one: len(set(covered_interactions(declaration, one)) - seen[name]),
        )
        seen[name].update(covered_interactions(declaration, row))
        yield name, turn, row


def _spread_levels(operator: str, seed: int, turn: int) -> dict[str, str]:
    """Return levels of the factors whose combinations consecutive examples of an operator spread over evenly."""
    factors = declaration_for(operator).factors
    names = SPREAD_FACTORS.get(operator, OPTIMIZER_SPREAD_FACTORS)
    offsets = _offsets(operator, seed)
    levels = {name: spread_choice(factors[name], turn, place, offsets[place]) for place, name in enumerate(names)}
    if operator in SPREAD_FACTORS:
        return levels
    if turn % SWEEP_INTERVAL == SWEEP_INTERVAL - 1:
        types = ("float", "float_r_double")
        return levels | {"size": SWEEP, "types": spread_choice(types, turn, names.index("types"), offsets[0])}
    return levels | {"size": spread_choice(factors["size"][:-1], turn, names.index("size"), offsets[0])}


@cache
def _offsets(operator: str, seed: int) -> Sequence[int]:
    chance = random.Random(f"{seed}/{operator}/offsets")  # noqa: S311 - nothing is to be kept secret
    return [chance.randrange(2**32) for _ in range(10)]


@cache
def _row_starts(operator: str, seed: int) -> Sequence[Start]:
    """Return the starting points of rows, shuffled by the seed.

    Triples of levels from the declaration alternate with the combinations of `starts_for`.
    """
    chance = random.Random(f"{seed}/{operator}")  # noqa: S311 - nothing is to be kept secret
    declaration = declaration_for(operator)
    lists = [
        _allowed_combinations(declaration, (declaration.three_way or {}).values()),
        *(_allowed_combinations(start, [(factor,) for factor in start.factors]) for start in starts_for(operator)),
    ]
    for each in lists:
        chance.shuffle(each)
    turns = max(map(len, lists))
    return [each[turn % len(each)] for turn in range(turns) for each in lists]


def _allowed_combinations(declaration: Declaration, dimensions: Iterable[Sequence[str]]) -> list[Start]:
    """Return all combinations of one level per dimension that are not forbidden.

    Args:
        dimensions: groups of factors; the factors in a group have the same levels.
    """
    every = list(dimensions)
    return [
        tuple(zip(every, values, strict=True))
        for values in product(*(dict.fromkeys(declaration.factors[factors[0]]) for factors in every))
        if not declaration.is_forbidden({factors[0]: value for factors, value in zip(every, values, strict=True)})
    ]


def _random_row(
    declaration: Declaration, start: Start, spread: Mapping[str, str], chance: random.Random
) -> dict[str, str]:
    """Return a random row that contains the levels of a starting point, and otherwise the levels in `spread`.

    In half of the rows most operands are graph inputs, so that faults in other operand sources do not mask each other.
    Rows of large examples have a plain graph.
    """
    row = {name: chance.choice(values) for name, values in declaration.factors.items()} | dict(spread)
    plain = chance.random() < PLAIN_ROWS_SHARE
    row |= {
        name: "input"
        for name in row
        if plain and name.startswith("source_") and chance.random() < PLAIN_SOURCE_PROBABILITY
    }
    row |= {chance.choice(factors): value for factors, value in start}
    is_large = {row.get(name) for name in ("size", "length", "outer")} & {SWEEP, *LARGE_SIZES}
    if is_large:
        return _with_plain_graph(row)
    return _with_open_sizes(row) if row["resized"] == "yes" else row


def _with_open_sizes(row: Mapping[str, str]) -> dict[str, str]:
    """Return the row with a graph that fixes no size of a tensor, and with tensors that are small enough for runs."""
    fixed = {name for name in row if name.startswith("source_") and name not in {"source_R", "source_T"}}
    fixed_uses = {name for name, level in row.items() if name.startswith("consumer_") and level == "captured"}
    plain = {"scope": "main", **({"repeated": "none"} if "repeated" in row else {})}
    plain |= {"size": "8-33"} if row.get("size", "1") not in SHORT_LENGTHS else {}
    return {**row, **plain, **dict.fromkeys(fixed, "input"), **dict.fromkeys(fixed_uses, "output")}


def _with_plain_graph(row: Mapping[str, str]) -> dict[str, str]:
    plain = {"scope": "main", "read_by_another": "none", "stored": "raw", "training_info": "absent", "resized": "no"}
    plain |= {"names": PLAIN_NAMES, **({"repeated": "none"} if "repeated" in row else {})}
    plain |= {name: "input" for name in row if name.startswith("source_")}
    return {**row, **plain, **{name: "output" for name in row if name.startswith("consumer_")}}


def row_context(row: Row, operands: Sequence[str], results: Sequence[str]) -> Context:
    """Return the context (scope, operand sources, result consumers) that a row describes."""
    shared = READ_BY_ANOTHER[row["read_by_another"]]
    return Context(
        scope=row["scope"],
        sources={name: word for name in operands if (word := row[f"source_{_factor_suffix(name)}"]) != "input"},
        consumers={name: word for name in results if (word := row[f"consumer_{_factor_suffix(name)}"]) != "output"},
        shared=tuple(name for name in operands if name[0] in shared),
        stored=row["stored"],
        imports=row["imports"],
        trains=row["training_info"] == "present",
    )


def _factor_suffix(name: str) -> str:
    return name[0] + name[1:].lstrip("0123456789") if name != "index" else name
