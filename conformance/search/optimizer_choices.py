"""From a row and numbers to a choice of a training optimizer."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.dimensions.building import numbered
from conformance.dimensions.training import TYPES, USUAL
from conformance.reference.operators.training import TRAINING_OPTIMIZERS
from conformance.search.choice import Choice
from conformance.search.numbers import POOL
from conformance.search.rows import context_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.dimensions.factors import Row
    from conformance.models.arrays import Array
    from conformance.search.numbers import Numbers

SMALL: Sequence[Sequence[Sequence[int]]] = (
    ((3,),), ((1,),), ((),), ((2, 3),), ((2,), (2,)), ((0,), (2,)), ((1, 2), (1, 1), (1, 3)), ((16,),),
    ((9,),), ((5,), (5,)), ((2,),) * 5, ((17,),), ((1, 2, 1, 2),), ((2, 0, 3),), ((1,),) * 9, ((33,),),
    ((2, 2),), ((32,),), ((2, 1, 1, 1, 1, 1, 1, 1),), ((2, 1, 2),), ((1,),) * 33, ((2,),), ((2,), (3,)), ((4,),),
    ((64,),), ((65,),), ((7,),), ((8,),), ((1, 5),),
)  # fmt: skip
"""The shapes of an optimizer's tensors, in turn. Their number is a prime, so that all meet all rows."""

LARGE: Sequence[Sequence[Sequence[int]]] = (((512,),), ((1030,),), ((300,), (2,)), ((2048,),), ((128,),))
"""Shapes with more elements than a block of a loop holds."""

LARGE_EVERY = 11
"""One draw in so many has large tensors: it costs as much as the others together."""

PERIOD = 13
"""Elements repeat after so many, which is no size of a lane or a block: what is equal is filled once."""

MOST_RUN_AGAIN = 64
"""Of an operand with more elements there is one run: what a prepared model keeps shows in small ones."""


def optimizer_choice(operator: str, turn: int, row: Row, numbers: Numbers) -> Choice:
    """The choice of a row.

    Args:
        turn: how many draws were about the operator before; it chooses shapes.
    """
    optimizer = TRAINING_OPTIMIZERS[operator]
    own, rate = TYPES[row["types"]]
    shapes = _shapes(turn)
    if row["place"] == "scan":
        shapes = ((2, 2), (2,)) if turn % 2 else ((2, 3),)
    elif row["tensors"] == "0d":
        shapes = ((),)
    names = numbered(optimizer.operands, len(shapes))
    count = numbers.runs if sum(map(prod, shapes)) <= MOST_RUN_AGAIN else 1
    runs = tuple(_run(names, shapes, (own, rate), numbers, number) for number in range(count))
    return Choice(
        operator,
        context_of(row, ["R", "T", *names], numbered(optimizer.results, len(shapes))),
        _attributes(operator, numbers.attributes),
        runs,
    )


def _shapes(turn: int) -> Sequence[Sequence[int]]:
    large, place = divmod(turn, LARGE_EVERY)
    return SMALL[(turn - large) % len(SMALL)] if place else LARGE[large % len(LARGE)]


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
        values = [numbers.values[(taken + element % PERIOD) % POOL] for element in range(size)]
        taken += size
        array = np.array(values, own).reshape(shape)
        operands[name] = np.abs(array) + own(0.25) if name[0] == "H" else array
    if numbers.odd is not None and (odd := _odd_operand(names, operands, numbers)):
        spot = slice(None) if numbers.is_odd_throughout else numbers.place % operands[odd].size
        operands[odd].reshape(-1)[spot] = numbers.odd
    return operands


def _most(operator: str, name: str) -> float:
    """Adam's shares are at most 1: above it 1 - beta**T has no root, and averages computed as in PyTorch cancel."""
    return 1.0 if operator == "Adam" and name in {"alpha", "beta"} else float("inf")


def _odd_operand(names: Sequence[str], operands: Mapping[str, Array], numbers: Numbers) -> str | None:
    """Which operand has what is odd: a gradient where it is odd throughout, and H never, which is no square then."""
    name = names[numbers.place % len(names)]
    if numbers.is_odd_throughout:
        name = next(one for one in names if one[0] == "G")
    return None if name[0] == "H" or not operands[name].size else name


def _attributes(operator: str, values: Sequence[float | None]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for value, (name, usual) in zip(values, USUAL[operator].items(), strict=False):
        if name == "mode":
            found[name] = "standard" if value is None else "nesterov"
        elif operator == "Momentum":  # has no defaults
            found[name] = usual if value is None else value
        elif value is not None:
            found[name] = abs(value) + 0.0625 if name == "epsilon" else min(value, _most(operator, name))
    order = sum(value is None for value in values) % 3
    listed = list(found.items())
    return dict(listed[::-1] if order == 1 else listed[1:] + listed[:1] if order == 2 else listed)
