"""Rows for random examples: a row has one level of each factor and fixes the structure of an example.

A `Declaration` lists the factors with their levels. For each example, several random rows are generated, and the row
with the most combinations of levels that are not yet covered is used. Each row contains a starting point: a combination
of levels that must be tested.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, TypeAlias

from conformance.factors.connections import CONSUMERS, PERMITTED_SOURCES, SOURCES, TENSOR_ENCODINGS
from conformance.factors.covering_array import Declaration, LevelCombination, covered_interactions
from conformance.factors.names import NAME_KINDS, PLAIN_NAMES
from conformance.factors.scopes import SCOPES, SEARCH_SCOPES
from conformance.factors.training import READ_BY_ANOTHER, graph_declaration
from conformance.factors.wrapping import IMPORT_LEVELS, Context
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, PASS_NAME
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.search.distractors import NAMES, NAMES_WITHOUT_FUNCTIONS
from conformance.search.distributions import ATTRIBUTE_CLASSES, COUNT_CLASSES, MAX_RANK, SIZE_CLASSES, spread_choice
from conformance.search.example import ARGMAX, AXIS_RELATIONS, CHAIN_OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from conformance.factors.covering_array import Row

    Start: TypeAlias = tuple[tuple[Sequence[str], str], ...]
    """A starting point of rows: pairs of a group of factors and a level for one factor of the group."""


PRODUCERS = (*CHAIN_OPERATORS, "Relu")
FLOATS = ("float", "double", "float16", "bfloat16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SIGNED = tuple(name for name in INTEGERS if name.startswith("int"))
UNSIGNED = tuple(name for name in INTEGERS if name.startswith("u"))

SIZES = (*SIZE_CLASSES, "2-7", "8-33", "34-72", "73-511")
"""Levels of sizes. The classes that are listed twice occur twice as often."""
LENGTHS = tuple(size for size in SIZES if size != "0")
"""Classes of the length of the axis of ArgMax."""
SHORT_LENGTHS = ("1", "2-7", "8-33", "34-72")
SHORT_OUTER = ("0", "1", "2-7", "8-33")
LONG_LENGTHS = tuple(size for size in SIZE_CLASSES if size not in {"0", *SHORT_LENGTHS})
MANY_OUTER = tuple(size for size in SIZE_CLASSES if size not in SHORT_OUTER)
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
NAME_LEVELS = (PLAIN_NAMES,) * len(NAME_KINDS) + tuple(NAME_KINDS)
RESIZED_LEVELS = ("no",) * 4 + ("yes",)
"""Whether the runs of an example have different shapes."""
RANKS = tuple(map(str, range(MAX_RANK + 1)))

_REQUIRED_SOURCES = tuple(source for source in SOURCES if source not in PERMITTED_SOURCES)

STATELESS_SCOPES = tuple(place for place in SCOPES if place not in {"loop", "scan", "function_twice"})
"""Scopes whose builders need no loop state and no rows of a Scan."""

FUNCTION_SCOPES = tuple(place for place in SCOPES if place.startswith("function"))
"""Scopes inside a model-local function."""

NEW_OPSETS = ("14", "18", "21", "23")
"""Opsets of the default domain after the one that the other examples have."""

SCOPES_AROUND_SOURCES = ("if_then", "if_in_loop")
"""Scopes whose subgraph also contains the nodes and initializers that provide the operands, and their other readers."""

OPSETS_BEFORE_16 = ("11", "12", "13", "14")
"""Opsets in which an If has no outputs of type bfloat16."""


_FORBIDDEN_AFTER_OPERATORS: Sequence[tuple[Sequence[str], Mapping[str, Sequence[str]], str]] = (
    (PRODUCERS, {"type": INTEGERS}, "The operators take no integers."),
    (PRODUCERS, {"values": ("odd", "infinite")}, "Rounding would decide the result."),
    (PRODUCERS, {"length": LARGE_SIZES}, "The oracle would take too long."),
    (PRODUCERS, {"outer": MANY_OUTER}, "The oracle would take too long."),
    (
        tuple(ALONG_AXIS),
        {"length": ("34-72", *LONG_LENGTHS)},
        "The rounding of long sums makes many indices acceptable.",
    ),
    (
        tuple(ALONG_AXIS),
        {"along": ("default",), "opset": ("11", "12"), "rank": ("1",)},
        "The default axis is 1 before opset 13, and a vector has only axis 0.",
    ),
)
"""Levels that are forbidden if an operator before ArgMax is one of some operators, and the reason."""


def argmax_declaration() -> Declaration:
    """Return the factors of examples about ArgMax: context, chain of operators before it, and operand.

    Rows cover all triples of levels of the operators, the element type and the distribution of values. This is
    necessary because a kernel that rounds too much is detected only if values are so close that its results are equal.
    """
    chain = ("none", *PRODUCERS)
    places = ("first", "second", "third")
    return Declaration(
        factors={
            "first": chain,
            "second": ("none",) * 9 + PRODUCERS,
            "third": ("none",) * 18 + PRODUCERS,
            "type": (*FLOATS, *INTEGERS),
            "values": ("close", "plain", "odd", "infinite"),
            "length": LENGTHS,
            "outer": ("0", "1", "1", *tuple(SIZE_CLASSES)[2:], "2-7", "8-33"),
            "rank": RANKS[1:],
            "axis": ("default", "positive", "negative", "negative"),
            "along": AXIS_RELATIONS,
            "opset": ("13",) * 6 + ("11", "12", *NEW_OPSETS),
            "keepdims": ("default", "0", "1"),
            "last": ("default", "default", "0", "1"),
            "scope": ("main", "main", "main", *STATELESS_SCOPES),
            "source_X": _REQUIRED_SOURCES,
            "consumer_index": ("output", "output", *(use for use in CONSUMERS if use != "unused")),
            "read_by_another": ("none", "none", "X"),
            "stored": tuple(TENSOR_ENCODINGS),
            "imports": tuple(spelling for spelling in IMPORT_LEVELS if spelling != "main_by_name"),
            "training_info": ("absent", "absent", "present"),
            "names": NAME_LEVELS,
            "resized": RESIZED_LEVELS,
        },
        forbidden=(
            *(
                LevelCombination({place: operators, **levels}, reason)
                for place in places
                for operators, levels, reason in _FORBIDDEN_AFTER_OPERATORS
            ),
            LevelCombination({"rank": ("1",), "outer": tuple(SIZE_CLASSES)[2:]}, "A vector has one row."),
            LevelCombination({"rank": ("1",), "outer": ("0",)}, "ArgMax along an axis without elements is undefined."),
            LevelCombination({"type": ("bfloat16",), "opset": ("11", "12")}, "bfloat16 came with opset 13."),
            LevelCombination({"type": UNSIGNED, "source_X": ("part",)}, "The values around a part have both signs."),
            LevelCombination({"type": UNSIGNED, "source_X": ("alias", "aliased")}, "Neg takes no unsigned integers."),
            LevelCombination(
                {"type": SIGNED, "values": ("odd", "infinite"), "source_X": ("alias", "aliased")},
                "The specification does not define the negative of the least integer.",
            ),
            *(
                LevelCombination(
                    {"type": ("bfloat16",), "opset": OPSETS_BEFORE_16, **returned}, "If takes bfloat16 from opset 16."
                )
                for returned in (
                    {"source_X": ("alias", "aliased")},
                    {"scope": SCOPES_AROUND_SOURCES, "read_by_another": ("X",)},
                )
            ),
            LevelCombination({"type": UNSIGNED, "read_by_another": ("X",)}, "Neg takes no unsigned integers."),
            LevelCombination(
                {"type": SIGNED, "values": ("odd", "infinite"), "read_by_another": ("X",)},
                "The specification does not define the negative of the least integer.",
            ),
            LevelCombination({"opset": ("11",), "last": ("0", "1")}, "select_last_index came with opset 12."),
            LevelCombination(
                {"scope": FUNCTION_SCOPES, "along": ("next",)},
                "A function passes on one attribute per name.",
            ),
        ),
        three_way={"operators": places, "type": ("type",), "values": ("values",)},
    )


def pass_declaration() -> Declaration:
    """Return the factors of examples about the pass: the factors of ArgMax, and the distractor."""
    declaration = argmax_declaration()
    return replace(
        declaration,
        factors={
            **declaration.factors,
            "length": ("1", "2-7", "2-7", "8-33"),
            "outer": ("0", "1", "2-7", "2-7", "8-33"),
            "distractor": ("none", *NAMES),
        },
        forbidden=(
            *declaration.forbidden,
            LevelCombination({"distractor": NAMES, "opset": ("11", "12", *NEW_OPSETS)}, "Distractors use opset 13."),
            LevelCombination(
                {"distractor": NAMES_WITHOUT_FUNCTIONS, "scope": FUNCTION_SCOPES},
                "These IR versions have no functions.",
            ),
            LevelCombination(
                {"distractor": ("ir_3",), "scope": SCOPES_AROUND_SOURCES, "source_X": ("initializer", "part")},
                "In this IR version, a subgraph has no initializers besides its inputs.",
            ),
            *(
                LevelCombination({"distractor": ("opset_6",), factor: values}, "Opset 6 lacks the operators for it.")
                for factor, values in (
                    ("scope", tuple(SCOPES)[1:]),
                    ("source_X", tuple(SOURCES)[1:]),
                    ("consumer_index", tuple(CONSUMERS)[1:]),
                    ("last", ("0", "1")),
                    ("type", ("bfloat16",)),
                )
            ),
        ),
    )


def optimizer_declaration(operator: str) -> Declaration:
    """Return the factors of examples about a training optimizer: those of the corpus, and classes of the numbers."""
    known, letters = _REQUIRED_SOURCES, TRAINING_OPTIMIZERS[operator].operands
    declaration = graph_declaration(operator, known, tuple(CONSUMERS))
    repeated = (*letters, *map("".join, combinations(letters, 2)))
    return replace(
        declaration,
        factors={
            **declaration.factors,
            "scope": (*declaration.factors["scope"], *SEARCH_SCOPES),
            "size": (*SIZES, SWEEP),
            "tensors": ("1", "1", "1", "2", "3-9", "10-300", AFTER_EMPTY),
            "repeated": ("none",) * 8 + repeated,
            "names": NAME_LEVELS,
            "resized": RESIZED_LEVELS,
            "rank": RANKS,
            "T": tuple(COUNT_CLASSES),
            "attributes": ATTRIBUTE_CLASSES,
            "order": ("listed", "reversed", "shuffled"),
        },
        forbidden=(
            *declaration.forbidden,
            LevelCombination(
                {"scope": ("scan",), "rank": ("0",)}, "Scan iterates over rows, and a scalar has no rows."
            ),
            LevelCombination(
                {"scope": ("loop", *SEARCH_SCOPES), "repeated": repeated},
                "Two results cannot replace the same operand.",
            ),
            LevelCombination(
                {"scope": ("loop_doubling_t",), "T": ("2^53-2^63", "negative")},
                "The specification does not define an overflow of T.",
            ),
            *(
                LevelCombination(
                    {"scope": (*tuple(SCOPES)[1:], *SEARCH_SCOPES), "size": (size,)},
                    "Large examples have a plain graph.",
                )
                for size in (SWEEP, *LARGE_SIZES)
            ),
            LevelCombination(
                {"size": (SWEEP,), "types": ("double", "double_r_float")},
                "Each output of doubles is compared with every interpretation, which takes too long for many tensors.",
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
            "rank": ("2", "3"),
            "length": ("2-7",),
            "outer": ("2-7",),
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
            "length": ("8-33",),
            "outer": ("1", "2-7"),
        }
    ),
    # ArgMax alone: each type with each class of lengths and of the number of slices
    *[
        Declaration(
            {
                "first": ("none",),
                "second": ("none",),
                "third": ("none",),
                "type": (*FLOATS, *INTEGERS),
                "length": tuple(dict.fromkeys(LENGTHS)),
                "outer": ("1", "2-7", "8-33"),
            }
        )
    ]
    * 2,
)
"""Starting points of rows about ArgMax, in addition to the triples of `argmax_declaration`."""

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
        declaration, starts = declaration_for(name), _row_starts(name, seed)
        start, spread = starts[turn % len(starts)], _spread_levels(name, seed, turn)
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


@cache
def declaration_for(operator: str) -> Declaration:
    """Return the factors of examples about an operator, or about the pass."""
    if operator == PASS_NAME:
        return pass_declaration()
    return argmax_declaration() if operator == ARGMAX else optimizer_declaration(operator)


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
    return levels | {"size": spread_choice(SIZES, turn, names.index("size"), offsets[0])}


@cache
def _offsets(operator: str, seed: int) -> Sequence[int]:
    chance = random.Random(f"{seed}/{operator}/offsets")  # noqa: S311 - nothing is to be kept secret
    return [chance.randrange(2**32) for _ in range(10)]


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
