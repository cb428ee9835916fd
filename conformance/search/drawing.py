"""Choices at random: rows of the declaration that show what no earlier row did, with numbers for them.

Python's own generator draws, and not Hypothesis: what that draws depends on which modules are imported, since it takes
constants from their source, so that two workers would not agree; and it takes several times as long as the oracle.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.dimensions.building import numbered
from conformance.dimensions.contexts import IMPORTS, Context
from conformance.dimensions.covering import shown
from conformance.dimensions.origins import ORIGINS, STORED
from conformance.dimensions.places import PLACES
from conformance.dimensions.training import READ_BY_ANOTHER, TYPES, USUAL, structure
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.search.choice import ARGMAX, CHAINED, Choice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.dimensions.factors import Row
    from conformance.models.arrays import Array

CANDIDATES = 8
"""Of so many rows at random the one is taken that shows the most that none before it did."""

COUNTS = (0, 1, 2, 3, 7, -1, -3, 10, 100, 127, 128, 255, 256, 1000, 32768, 2**24 + 1, 2**31, 2**32 + 1, 2**53 + 1)
SHAPES: Sequence[Sequence[Sequence[int]]] = (
    ((3,),), ((1,),), ((),), ((2, 3),), ((2,), (2,)), ((0,), (2,)), ((1, 2), (1, 1), (1, 3)), ((2, 1, 2),),
    ((9,),), ((5,), (5,)), ((2,),) * 5, ((17,),), ((1, 2, 1, 2),), ((2, 0, 3),), ((1,),) * 9, ((33,),), ((65,),),
    ((3,),), ((2, 2),), ((2,),),
)  # fmt: skip
LONG = (((257,),), ((1030,),), ((300,), (2,)))
"""Shapes beyond what a block of a loop holds, of which few are drawn."""

PLAIN = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 0.25, 0.1, -0.1, 0.75, 1.5, -1.25, 3.0)
ODD = (0.0, -0.0, 1e-3, -1e-3, 1e-30, 1e30, -1e30, 2.0**-140, 100.0, float("nan"), float("inf"), -float("inf"))
TYPES_BY_NAME: Mapping[str, Any] = {
    "float": np.float32, "double": np.float64, "float16": np.float16,
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
}  # fmt: skip
FLOATS = ("float", "float", "double", "float16")
ARGMAX_TYPES = ("float", "float", "double", "double", *TYPES_BY_NAME)
ARGMAX_SHAPES = (
    "3", "2,3", "3,2", "2,3,2", "1,4", "7", "9", "17", "4,5", "1", "1,1", "2,2,2,2", "5,1,2", "0,3", "2,0,3", "33",
    "2,70", "1100",
)  # fmt: skip
ARGMAX_VALUES = ("plain", "plain", "close", "odd", "infinite")
PRODUCERS = (*CHAINED, "Relu")
HALF, MOST = 0.5, 0.8
RATES = (0.1, 0.5, 0.125, 1.0, 0.0, -0.1, 2.5, 1e-3)
ATTRIBUTES = (0.5, 0.75, 0.25, 0.0, 1.0, 0.1, 0.3, 0.95, -0.5, 1.5)
SELDOM = 0.03
POOL = 40
"""How many numbers are drawn for a choice, which takes them in turn."""


def choices(operators: Sequence[str], seed: int, piece: int, count: int) -> list[Choice]:
    """The choices of a piece: a function of these four.

    Args:
        operators: op_types; a choice is about one of them.
        count: how many there are in a piece.
    """
    chance = random.Random(f"{seed}/{piece}")  # noqa: S311 - nothing is to be kept secret
    return [_choice(row, _numbers(chance)) for row in islice(_rows(operators, chance), count)]


@dataclass(frozen=True)
class Numbers:
    """What is drawn for any choice.

    Attributes:
        values: elements of operands, taken in turn.
        attributes: values of optional attributes, in turn; None leaves one out.
        count: T.
        rate: R.
        runs: how many runs there are.
        place: of one element, and what else is chosen by a number.
        odd: what stands there, if anything special does.
        is_long: whether the tensors have more elements than a block of a loop.
    """

    values: Sequence[float]
    attributes: Sequence[float | None]
    count: int
    rate: float
    runs: int
    place: int
    odd: float | None
    is_long: bool


def _numbers(chance: random.Random) -> Numbers:
    return Numbers(
        [chance.choice(PLAIN) if chance.random() < HALF else chance.uniform(-4, 4) for _ in range(POOL)],
        [None if chance.random() < HALF else chance.choice(ATTRIBUTES) for _ in range(6)],
        chance.choice(COUNTS),
        chance.choice(RATES),
        chance.choice((1, 1, 2, 3)),
        chance.randrange(POOL),
        chance.choice(ODD) if chance.random() < HALF else None,
        chance.random() < SELDOM,
    )


def _rows(operators: Sequence[str], chance: random.Random) -> Iterator[tuple[str, Row]]:
    """Rows by operator in turn; each shows as much as can be had that no row of the piece before it showed."""
    declarations = {name: structure(name) for name in operators if name != ARGMAX}
    seen: dict[str, set[Any]] = {name: set() for name in operators}
    while True:
        for name in operators:
            if name == ARGMAX:
                yield name, _argmax_row(chance)
                continue
            declaration = declarations[name]
            rows = [_row(declaration.factors, chance) for _ in range(CANDIDATES)]
            allowed = [row for row in rows if not declaration.is_excluded(row)] or [_plainest(declaration.factors)]
            row = max(allowed, key=lambda one: len(set(shown(declaration, one)) - seen[name]))
            seen[name].update(shown(declaration, row))
            yield name, row


def _row(factors: Mapping[str, Sequence[str]], chance: random.Random) -> dict[str, str]:
    """Half of the rows have most of their operands from inputs, so that what is special about one of them is seen."""
    row = {name: chance.choice(values) for name, values in factors.items()}
    plain = chance.random() < HALF
    return {
        name: "input" if plain and name.startswith("origin_") and chance.random() < MOST else value
        for name, value in row.items()
    }


def _plainest(factors: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: values[0] for name, values in factors.items()}


def _argmax_row(chance: random.Random) -> dict[str, str]:
    places = [place for place in PLACES if place not in {"loop", "scan", "function_twice"}]
    chain = [chance.choice(PRODUCERS) for _ in range(chance.choice((0, 0, 1, 1, 1, 2, 3)))]
    types = FLOATS if chain else ARGMAX_TYPES
    unsigned = types[chance.randrange(len(types))]
    return {
        "place": chance.choice(["main", "main", *places]),
        "origin_X": chance.choice([one for one in ORIGINS if one != "part" or not unsigned.startswith("u")]),
        "use_index": chance.choice(("output", "output", "read_too", "captured", "identity", "sequence")),
        "stored": chance.choice(tuple(STORED)),
        "imports": chance.choice(IMPORTS),
        "training_info": "absent",
        "read_by_another": chance.choice(("none", "none", "X")) if unsigned[0] != "u" else "none",
        "chain": ",".join(chain),
        "along": chance.choice(("same", "same", "default")),
        "opset": chance.choice(("13", "13", "11" if unsigned != "bfloat16" else "13", "12")),
        "type": unsigned,
        "shape": chance.choice(ARGMAX_SHAPES),
        "axis": chance.choice(("default", *map(str, range(8)))),
        "keepdims": chance.choice(("default", "0", "1")),
        "last": chance.choice(("default", "default", "1")),
        "values": chance.choice(ARGMAX_VALUES),
    }


def _choice(drawn_row: tuple[str, Row], numbers: Numbers) -> Choice:
    operator, row = drawn_row
    return _argmax_choice(row, numbers) if operator == ARGMAX else _optimizer_choice(operator, row, numbers)


def _context(row: Row, operands: Sequence[str], results: Sequence[str]) -> Context:
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


def _optimizer_choice(operator: str, row: Row, numbers: Numbers) -> Choice:
    optimizer = TRAINING_OPTIMIZERS[operator]
    own, rate = TYPES[row["types"]]
    place = numbers.place
    shapes = LONG[place % len(LONG)] if numbers.is_long else SHAPES[place % len(SHAPES)]
    if row["place"] == "scan":
        shapes = ((2, 2), (2,)) if place % 2 else ((2, 3),)
    elif row["tensors"] == "0d":
        shapes = ((),)
    names = numbered(optimizer.operands, len(shapes))
    runs = tuple(_run(names, shapes, (own, rate), numbers, number) for number in range(numbers.runs))
    return Choice(
        operator,
        _context(row, ["R", "T", *names], numbered(optimizer.results, len(shapes))),
        _attributes(operator, numbers.attributes),
        runs,
    )


def _run(
    names: Sequence[str], shapes: Sequence[Sequence[int]], types: tuple[Any, Any], numbers: Numbers, run: int
) -> dict[str, Array]:
    own, rate = types
    T = numbers.count if run == 0 else (numbers.count + run if abs(numbers.count) < 2**53 else run)
    operands: dict[str, Array] = {"R": np.array(numbers.rate * (run + 1), rate), "T": np.array(T, np.int64)}
    taken = run * 7
    for place, name in enumerate(names):
        shape = tuple(shapes[place % len(shapes)])
        size = int(np.prod(shape))
        values = [numbers.values[(taken + element) % POOL] for element in range(size)]
        taken += size
        array = np.array(values, own).reshape(shape)
        operands[name] = np.abs(array) + own(0.25) if name[0] == "H" else array
    where, odd = numbers.place, numbers.odd
    if odd is not None and names:
        array = operands[names[where % len(names)]]
        if array.size and not names[where % len(names)].startswith("H"):
            array.reshape(-1)[where % array.size] = odd
    return operands


def _attributes(operator: str, values: Sequence[float | None]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for value, (name, usual) in zip(values, USUAL[operator].items(), strict=False):
        if name == "mode":
            found[name] = "standard" if value is None else "nesterov"
        elif operator == "Momentum":  # has no defaults
            found[name] = usual if value is None else value
        elif value is not None:
            found[name] = abs(value) + 0.0625 if name == "epsilon" else value
    order = sum(value is None for value in values) % 3
    listed = list(found.items())
    return dict(listed[::-1] if order == 1 else listed[1:] + listed[:1] if order == 2 else listed)


def _argmax_choice(row: Row, numbers: Numbers) -> Choice:
    shape = tuple(int(size) for size in row["shape"].split(","))
    chain = tuple(filter(None, row["chain"].split(",")))
    attributes: dict[str, Any] = {}
    if row["axis"] != "default":
        attributes["axis"] = int(row["axis"]) % (2 * len(shape)) - len(shape)
    if row["keepdims"] != "default":
        attributes["keepdims"] = int(row["keepdims"])
    if row["last"] != "default" and row["opset"] != "11":
        attributes["select_last_index"] = 1
    runs = tuple({"X": _row_of(row, chain, numbers, run, shape)} for run in range(numbers.runs))
    context = _context(row, ["X"], ["index"])
    return Choice(ARGMAX, context, attributes, runs, chain, int(row["opset"]), row["along"] == "default")


def _row_of(row: Row, chain: Sequence[str], numbers: Numbers, run: int, shape: Sequence[int]) -> Array:
    """What an ArgMax or the chain before it is given."""
    dtype = np.dtype(TYPES_BY_NAME[row["type"]])
    size = int(np.prod(shape))
    values = np.array([numbers.values[(run * 7 + element) % POOL] for element in range(size)])
    if {"Log", "Sqrt"} & {*chain}:
        values = np.abs(values) + 0.25
    if dtype.kind in "iu":
        return _integers(np.rint(values * 4).astype(np.int64), dtype, row["values"]).reshape(shape)
    array = values.astype(dtype)
    if row["values"] == "close" and not chain:
        steps = np.rint(values * 2).astype(np.int64) + 8
        array = (1.0 + steps * 2.0 ** -(np.finfo(dtype).nmant)).astype(dtype)
    if row["values"] == "odd" and size and not chain and numbers.odd is not None:
        with np.errstate(all="ignore"):
            array[numbers.place % size] = numbers.odd
    if row["values"] == "infinite" and not chain:
        array[:] = -np.inf
        array[numbers.place % max(size, 1) :] = np.finfo(dtype).min
    return array.reshape(shape)


def _integers(steps: Array, dtype: np.dtype[Any], values: str) -> Array:
    """Integers near 0, near the ends of their type, or next to each other where a float has one value for several."""
    limits = np.iinfo(dtype)
    if values == "close":
        base = 2**53 if limits.max > 2**53 else 2**24 if limits.max > 2**24 else limits.max // 2
        return np.array([base + int(step) % 8 for step in steps], dtype)
    if values in {"odd", "infinite"}:
        ends = (limits.min, limits.max, limits.max - 1, limits.max // 2 + 1, 0)
        return np.array([ends[int(step) % 5] for step in steps], dtype)
    return np.array([int(step) % 100 if dtype.kind == "u" else int(step) for step in steps], dtype)
