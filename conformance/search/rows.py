"""Rows for random examples: a row has one level of each factor and fixes the structure of an example.

A `Declaration` lists the factors with their levels. For each example, several random rows are generated, and the row
with the most combinations of levels that are not yet covered is used. Each row contains a starting point: a combination
of levels that must be tested.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from conformance.dimensions.connections import CONSUMERS, PERMITTED_SOURCES, SOURCES, TENSOR_ENCODINGS
from conformance.dimensions.covering_array import Declaration, LevelCombination, covered_interactions
from conformance.dimensions.scopes import SCOPES
from conformance.dimensions.training import READ_BY_ANOTHER, placed_declaration
from conformance.dimensions.wrapping import IMPORT_LEVELS, Context
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, PASS_NAME
from conformance.search.distractors import NAMES, NAMES_WITHOUT_FUNCTIONS
from conformance.search.example import ARGMAX, AXIS_RELATIONS, CHAIN_OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.dimensions.covering_array import Row

    Start: TypeAlias = tuple[tuple[Sequence[str], str], ...]
    """A starting point of rows: pairs of a group of factors and a level for one factor of the group."""


PRODUCERS = (*CHAIN_OPERATORS, "Relu")
FLOATS = ("float", "double", "float16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SIGNED = tuple(name for name in INTEGERS if name.startswith("int"))
UNSIGNED = tuple(name for name in INTEGERS if name.startswith("u"))

SHORT_SHAPES = (
    "3", "2,3", "3,2", "2,3,2", "1,4", "7", "9", "15", "17", "4,5", "1", "1,1", "2,2,2,2", "5,1,2", "0,3", "2,0,3",
    "16", "32", "2,3", "3,3", "2,2,3", "2,1,1,1,1,1,1,2",
)  # fmt: skip
"""Shapes of ArgMax's operand, dimensions separated by commas."""
LONG_SHAPES = ("31", "63", "64", "2,70", "100", "128", "300", "512", "1100", "2048")
"""Shapes with more elements than one block of a vectorised loop."""

STATELESS_SCOPES = tuple(place for place in SCOPES if place not in {"loop", "scan", "function_twice"})
"""Scopes whose builders need no loop state and no rows of a Scan."""

FUNCTION_SCOPES = tuple(place for place in SCOPES if place.startswith("function"))
"""Scopes inside a model-local function."""


EMPTY_AXIS_REASON = "ArgMax along an axis without elements is undefined."


def argmax_declaration() -> Declaration:
    """Return the factors of examples about ArgMax: context, chain of operators before it, and operand.

    Rows cover all triples of levels of the operators, the element type and the distribution of values. This is
    necessary because a kernel that rounds too much is detected only if values are so close that its results are equal.
    """
    chain = ("none", *PRODUCERS)
    return Declaration(
        factors={
            "first": chain,
            "second": ("none",) * 9 + PRODUCERS,
            "third": ("none",) * 18 + PRODUCERS,
            "type": (*FLOATS, *INTEGERS),
            "values": ("close", "plain", "odd", "infinite"),
            "shape": (*SHORT_SHAPES, *LONG_SHAPES),
            "axis": ("default", *map(str, range(8))),
            "along": AXIS_RELATIONS,
            "opset": ("13", "13", "11", "12"),
            "keepdims": ("default", "0", "1"),
            "last": ("default", "default", "1"),
            "scope": ("main", "main", "main", *STATELESS_SCOPES),
            "source_X": tuple(source for source in SOURCES if source not in PERMITTED_SOURCES),
            "consumer_index": ("output", "output", *(use for use in CONSUMERS if use != "unused")),
            "read_by_another": ("none", "none", "X"),
            "stored": tuple(TENSOR_ENCODINGS),
            "imports": tuple(spelling for spelling in IMPORT_LEVELS if spelling != "main_by_name"),
            "training_info": ("absent", "absent", "present"),
        },
        forbidden=(
            *(
                LevelCombination({place: PRODUCERS, "type": INTEGERS}, "The operators take no integers.")
                for place in ("first", "second", "third")
            ),
            *(
                LevelCombination({place: PRODUCERS, "values": ("odd", "infinite")}, "Rounding would decide the result.")
                for place in ("first", "second", "third")
            ),
            *(
                LevelCombination(
                    {place: tuple(ALONG_AXIS), "shape": LONG_SHAPES},
                    "The rounding of long sums makes many indices acceptable.",
                )
                for place in ("first", "second", "third")
            ),
            LevelCombination({"shape": ("0,3",), "axis": ("default", "0", "2", "4", "6")}, EMPTY_AXIS_REASON),
            LevelCombination({"shape": ("2,0,3",), "axis": ("1", "4", "7")}, EMPTY_AXIS_REASON),
            LevelCombination({"type": UNSIGNED, "source_X": ("part",)}, "The values around a part have both signs."),
            LevelCombination({"type": UNSIGNED, "source_X": ("alias", "aliased")}, "Neg takes no unsigned integers."),
            LevelCombination(
                {"type": SIGNED, "values": ("odd", "infinite"), "source_X": ("alias", "aliased")},
                "The specification does not define the negative of the least integer.",
            ),
            LevelCombination(
                {"source_X": ("sparse_constant",), "shape": ("0,3", "2,0,3")},
                "ONNX's sparse format has no empty tensors.",
            ),
            LevelCombination({"type": UNSIGNED, "read_by_another": ("X",)}, "Neg takes no unsigned integers."),
            LevelCombination(
                {"type": SIGNED, "values": ("odd", "infinite"), "read_by_another": ("X",)},
                "The specification does not define the negative of the least integer.",
            ),
            LevelCombination({"opset": ("11",), "last": ("1",)}, "select_last_index came with opset 12."),
            LevelCombination(
                {"scope": FUNCTION_SCOPES, "along": ("next",)},
                "A function passes on one attribute per name.",
            ),
        ),
        three_way={"operators": ("first", "second", "third"), "type": ("type",), "values": ("values",)},
    )


def pass_declaration() -> Declaration:
    """Return the factors of examples about the pass: the factors of ArgMax, and the distractor."""
    declaration = argmax_declaration()
    return replace(
        declaration,
        factors={
            **declaration.factors,
            "shape": SHORT_SHAPES,
            "distractor": ("none", *NAMES),
        },
        forbidden=(
            *declaration.forbidden,
            LevelCombination({"distractor": NAMES, "opset": ("11", "12")}, "Distractors use opset 13."),
            LevelCombination(
                {"distractor": NAMES_WITHOUT_FUNCTIONS, "scope": FUNCTION_SCOPES},
                "These IR versions have no functions.",
            ),
            *(
                LevelCombination({"distractor": ("opset_6",), factor: values}, "Opset 6 lacks the operators for it.")
                for factor, values in (
                    ("scope", tuple(SCOPES)[1:]),
                    ("source_X", tuple(SOURCES)[1:]),
                    ("consumer_index", tuple(CONSUMERS)[1:]),
                    ("last", ("1",)),
                )
            ),
        ),
    )


PASS_STARTS: Sequence[Declaration] = (
    Declaration({"distractor": NAMES, "first": PRODUCERS, "opset": ("13",), "type": ("float",), "values": ("plain",)}),
)
"""Starting points of rows about the pass: each distractor once with each chain operator."""

ARGMAX_STARTS: Sequence[Declaration] = (
    # the axis of Softmax and LogSoftmax relative to ArgMax's, by opset and rank
    Declaration(
        {
            "first": tuple(sorted(ALONG_AXIS)),
            "second": ("none",),
            "along": AXIS_RELATIONS,
            "opset": ("13", "11"),
            "shape": ("2,3", "3,3", "2,3,2"),
            "type": ("double",),
            "values": ("plain",),
        }
    ),
    # values that are equal in a narrower type, in slices so long that the first element is rarely the largest
    Declaration(
        {
            "first": CHAIN_OPERATORS,
            "second": ("none",),
            "third": ("none",),
            "type": ("float", "double"),
            "values": ("close",),
            "shape": ("7", "9"),
        }
    ),
    # sizes around those of blocks and vector lanes
    Declaration(
        {
            "first": ("none",),
            "second": ("none",),
            "third": ("none",),
            "values": ("plain",),
            "shape": tuple(dict.fromkeys((*SHORT_SHAPES, *LONG_SHAPES))),
        }
    ),
)
"""Starting points of rows about ArgMax, in addition to the triples of `argmax_declaration`."""


CANDIDATE_ROWS = 8
"""Number of random rows, of which the row that covers the most new combinations is used."""

CONSECUTIVE_EXAMPLES: Mapping[str, int] = {ARGMAX: 3}
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
        declaration, starts = declaration_for(name), _row_starts(name, seed)
        candidates = [_random_row(declaration, starts[turn % len(starts)], chance) for _ in range(CANDIDATE_ROWS)]
        allowed = [row for row in candidates if not declaration.is_forbidden(row)] or [
            _first_levels(declaration.factors)
        ]
        row = max(allowed, key=lambda one: len(set(covered_interactions(declaration, one)) - seen[name]))
        seen[name].update(covered_interactions(declaration, row))
        yield name, turn, row


@cache
def declaration_for(operator: str) -> Declaration:
    """Return the factors of examples about an operator, or about the pass."""
    if operator == PASS_NAME:
        return pass_declaration()
    return argmax_declaration() if operator == ARGMAX else placed_declaration(operator, is_for_search=True)


@cache
def _row_starts(operator: str, seed: int) -> Sequence[Start]:
    """Return the starting points of rows, shuffled by the seed.

    Triples of levels from the declaration alternate with the combinations in `ARGMAX_STARTS` or `PASS_STARTS`.
    """
    chance = random.Random(f"{seed}/{operator}")  # noqa: S311 - nothing is to be kept secret
    more = {ARGMAX: ARGMAX_STARTS, PASS_NAME: PASS_STARTS}.get(operator, ())
    lists = [
        _allowed_combinations(declaration_for(operator), (declaration_for(operator).three_way or {}).values()),
        *(_allowed_combinations(declaration, [(factor,) for factor in declaration.factors]) for declaration in more),
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


def _random_row(declaration: Declaration, start: Start, chance: random.Random) -> dict[str, str]:
    """Return a random row that contains the levels of a starting point.

    In half of the rows most operands are graph inputs, so that faults in other operand sources do not mask each other.
    """
    row = {name: chance.choice(values) for name, values in declaration.factors.items()}
    plain = chance.random() < PLAIN_ROWS_SHARE
    row |= {
        name: "input"
        for name in row
        if plain and name.startswith("source_") and chance.random() < PLAIN_SOURCE_PROBABILITY
    }
    return row | {chance.choice(factors): value for factors, value in start}


def _first_levels(factors: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: values[0] for name, values in factors.items()}


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
