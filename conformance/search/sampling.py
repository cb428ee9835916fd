"""Sample random examples: combine a row of the declaration with random numbers.

A row (see `conformance.search.rows`) fixes the structure of an example: operators, types, shapes and context. This
module adds operand and attribute values. Everything is a function of the seed, the chunk number and the operators.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.dimensions.training import TYPES, USUAL_ATTRIBUTES, tensor_names
from conformance.models.arrays import dtype_of, type_number
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, PASS_NAME
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.search.example import ARGMAX, Example
from conformance.search.rows import row_context, sample_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.dimensions.covering_array import Row
    from conformance.models.arrays import Array


UPDATE_COUNTS = (
    0, 0, 0, 1, 2, 3, 7, -1, -3, 10, 100, 127, 128, 255, 256, 1000, 32768, 54321, 1234567, 2**24 + 1, 2**31,
    2**32 + 1, 2**53 + 1,
)  # fmt: skip
"""Update counts to choose T from. Zero is the most frequent; the others lie near the limits of integer types."""
PLAIN_VALUES = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 0.25, 0.1, -0.1, 0.75, 1.5, -1.25, 3.0)
"""Ordinary operand values."""
SPECIAL_VALUES = (
    0.0,
    0.0,
    -0.0,
    1e-3,
    -1e-3,
    1e-30,
    1e30,
    -1e30,
    2.0**-140,
    100.0,
    float("inf"),
    -float("inf"),
    *[float("nan")] * 3,
)
"""Special operand values: zeros of both signs, very large and very small numbers, infinities and NaN."""
LEARNING_RATES = (0.1, 0.5, 0.3, 1.0, 0.0, -0.1, 2.5, 1e-3)
"""Learning rates to choose R from."""
ATTRIBUTE_VALUES = (0.5, 0.75, 0.25, 0.0, 1.0, 0.1, 0.3, 0.95, -0.5, 1.5)
"""Values of optional attributes."""
HALF = 0.5
"""Probability of each of two equally likely alternatives."""
POOL_SIZE = 40
"""Number of random operand values per example. Operands take values from this pool in turn."""


@dataclass(frozen=True)
class RandomNumbers:
    """The random numbers of one example.

    Attributes:
        values: the pool of operand values.
        attributes: values of the optional attributes, in order; None omits an attribute.
        count: the update count T.
        rate: the learning rate R.
        runs: the number of runs.
        place: a random index: of the element that gets the special value, and for further random decisions.
        special: the special value, such as NaN, or None.
        is_special_throughout: whether all elements of the operand get the special value.
    """

    values: Sequence[float]
    attributes: Sequence[float | None]
    count: int
    rate: float
    runs: int
    place: int
    special: float | None
    is_special_throughout: bool


def sample_numbers(chance: random.Random) -> RandomNumbers:
    """Sample the random numbers of one example."""
    return RandomNumbers(
        [chance.choice(PLAIN_VALUES) if chance.random() < HALF else chance.uniform(-4, 4) for _ in range(POOL_SIZE)],
        [None if chance.random() < HALF else chance.choice(ATTRIBUTE_VALUES) for _ in range(6)],
        chance.choice(UPDATE_COUNTS),
        chance.choice(LEARNING_RATES),
        chance.choice((1, 1, 2, 3)),
        chance.randrange(POOL_SIZE),
        chance.choice(SPECIAL_VALUES) if chance.random() < HALF else None,
        chance.random() < HALF / 2,
    )


CLOSE_STEPS: Mapping[str, float] = {"float": 2.0**-14, "double": 2.0**-34, "float16": 2.0**-6}
"""Distance between "close" operand values of a chain, by element type. Close values are distinct in this type, but
equal in a type with less precision.
"""

CHAIN_STEP = 2.0**-6
"""Minimum distance between operand values of a chain, so that rounding cannot change which value is the largest."""


def argmax_example(row: Row, numbers: RandomNumbers) -> Example:
    """Return the example for a row about ArgMax or the pass."""
    shape = tuple(int(size) for size in row["shape"].split(","))
    chain = tuple(op_type for place in ("first", "second", "third") if (op_type := row[place]) != "none")
    attributes: dict[str, Any] = {}
    if row["axis"] != "default":
        attributes["axis"] = int(row["axis"]) % (2 * len(shape)) - len(shape)
    if row["keepdims"] != "default":
        attributes["keepdims"] = int(row["keepdims"])
    if row["last"] != "default":
        attributes["select_last_index"] = 1
    runs = tuple({"X": _argmax_operand(row, chain, numbers, run, shape)} for run in range(numbers.runs))
    axis_relation = row["along"] if ALONG_AXIS & {*chain} else "same"
    distractor = "" if row.get("distractor", "none") == "none" else row["distractor"]
    return Example(
        ARGMAX,
        row_context(row, ["X"], ["index"]),
        attributes,
        runs,
        chain,
        int(row["opset"]),
        axis_relation,
        distractor,
    )


def _argmax_operand(row: Row, chain: Sequence[str], numbers: RandomNumbers, run: int, shape: Sequence[int]) -> Array:
    """Return the operand of the chain of operators before ArgMax, or of ArgMax if the chain is empty.

    Args:
        run: the index of the run; each run has other values.
    """
    dtype = dtype_of(type_number(row["type"]))
    size = int(np.prod(shape))
    values = np.array([numbers.values[(run * 7 + element) % POOL_SIZE] for element in range(size)])
    if dtype.kind in "iu":
        return _integer_operand(np.rint(values * 4).astype(np.int64), dtype, row["values"]).reshape(shape)
    if chain:
        return _chain_operand(values, row).astype(dtype).reshape(shape)
    array = values.astype(dtype)
    if row["values"] == "close":
        steps = np.rint(values * 2).astype(np.int64) + 8
        array = (1.0 + steps * 2.0 ** -(np.finfo(dtype).nmant)).astype(dtype)
    if row["values"] == "odd" and size and numbers.special is not None:
        with np.errstate(all="ignore"):
            array[numbers.place % size] = numbers.special
    if row["values"] == "infinite":
        array[:] = -np.inf
        array[numbers.place % max(size, 1) :] = np.finfo(dtype).min
    return array.reshape(shape)


def _chain_operand(values: Array, row: Row) -> Array:
    """Return operand values for which each chain operator has finite results.

    After `POOL_SIZE` elements the values repeat; before that they differ.
    """
    places = np.arange(values.size) % POOL_SIZE
    if row["values"] == "close":
        order = np.argsort(np.argsort(values[:POOL_SIZE], kind="stable"))
        return 1.5 + (order[places] if values.size else places) * CLOSE_STEPS[row["type"]]
    values = values / 4 + places * CHAIN_STEP
    return np.abs(values) + 0.25 if {"Log", "Sqrt"} & {row["first"], row["second"], row["third"]} else values


def _integer_operand(steps: Array, dtype: np.dtype[Any], values: str) -> Array:
    """Return integers near 0, near the limits of their type, or close together.

    Close integers become equal when they are converted to a floating-point type.
    """
    limits = np.iinfo(dtype)
    if values == "close":
        base = 2**53 if limits.max > 2**53 else 2**24 if limits.max > 2**24 else limits.max // 2
        return np.array([base + int(step) % 8 for step in steps], dtype)
    if values in {"odd", "infinite"}:
        ends = (limits.min, limits.max, limits.max - 1, limits.max // 2 + 1, 0)
        return np.array([ends[int(step) % 5] for step in steps], dtype)
    return np.array([int(step) % 100 if dtype.kind == "u" else int(step) for step in steps], dtype)


SMALL_SHAPES: Sequence[Sequence[Sequence[int]]] = (
    ((3,),), ((1,),), ((),), ((2, 3),), ((2,), (2,)), ((0,), (2,)), ((1, 2), (1, 1), (1, 3)), ((16,),),
    ((9,),), ((5,), (5,)), ((2,),) * 5, ((17,),), ((1, 2, 1, 2),), ((2, 0, 3),), ((1,),) * 9, ((33,),),
    ((2, 2),), ((32,),), ((2, 1, 1, 1, 1, 1, 1, 1),), ((2, 1, 2),), ((1,),) * 33, ((2,),), ((2,), (3,)), ((4,),),
    ((64,),), ((65,),), ((7,),), ((8,),), ((1, 5),),
)  # fmt: skip
"""Tensor shapes of training optimizers, used in rotation. Their number is prime, so all rows occur with all shapes."""

LARGE_SHAPES: Sequence[Sequence[Sequence[int]]] = (((512,),), ((1030,),), ((300,), (2,)), ((2048,),), ((128,),))
"""Shapes with more elements than one block of a vectorised loop."""

LARGE_EVERY = 11
"""Interval between examples with large tensors: one such example takes as long as all others in the interval."""

VALUE_PERIOD = 13
"""Number of elements after which operand values repeat. It is not a typical vector or block size."""

MAX_ELEMENTS_RUN_AGAIN = 64
"""Maximum number of elements of an example with several runs. Small tensors suffice to detect state between runs."""


def optimizer_example(operator: str, turn: int, row: Row, numbers: RandomNumbers) -> Example:
    """Return the example for a row about a training optimizer.

    Args:
        turn: the number of earlier examples about the operator; it selects the shapes.
    """
    optimizer = TRAINING_OPTIMIZERS[operator]
    own, rate = TYPES[row["types"]]
    shapes = _shapes(turn)
    if row["scope"] == "scan":
        shapes = ((2, 2), (2,)) if turn % 2 else ((2, 3),)
    elif row["tensors"] == "0d":
        shapes = ((),)
    names = tensor_names(optimizer.operands, len(shapes))
    count = numbers.runs if sum(map(prod, shapes)) <= MAX_ELEMENTS_RUN_AGAIN else 1
    runs = tuple(_run(names, shapes, (own, rate), numbers, number) for number in range(count))
    return Example(
        operator,
        row_context(row, ["R", "T", *names], tensor_names(optimizer.results, len(shapes))),
        _attributes(operator, numbers.attributes),
        runs,
    )


def _shapes(turn: int) -> Sequence[Sequence[int]]:
    large, place = divmod(turn, LARGE_EVERY)
    return SMALL_SHAPES[(turn - large) % len(SMALL_SHAPES)] if place else LARGE_SHAPES[large % len(LARGE_SHAPES)]


def _run(
    names: Sequence[str], shapes: Sequence[Sequence[int]], types: tuple[Any, Any], numbers: RandomNumbers, run: int
) -> dict[str, Array]:
    own, rate = types
    T = numbers.count if run == 0 else (numbers.count + run if abs(numbers.count) < 2**53 else run)
    operands: dict[str, Array] = {"R": np.array(numbers.rate * (run + 1), rate), "T": np.array(T, np.int64)}
    taken = run * 7
    for place, name in enumerate(names):
        shape = tuple(shapes[place % len(shapes)])
        size = int(np.prod(shape))
        values = [numbers.values[(taken + element % VALUE_PERIOD) % POOL_SIZE] for element in range(size)]
        taken += size
        array = np.array(values, own).reshape(shape)
        operands[name] = np.abs(array) + own(0.25) if name[0] == "H" else array
    if numbers.special is not None and (special := _special_operand(names, operands, numbers)):
        spot = slice(None) if numbers.is_special_throughout else numbers.place % operands[special].size
        operands[special].reshape(-1)[spot] = numbers.special
    return operands


def _attribute_limit(operator: str, name: str) -> float:
    """Return the largest value of an attribute in random examples.

    It is 1 for alpha and beta of Adam: above 1, the square root of 1 - beta**T is not real.
    """
    return 1.0 if operator == "Adam" and name in {"alpha", "beta"} else float("inf")


def _special_operand(names: Sequence[str], operands: Mapping[str, Array], numbers: RandomNumbers) -> str | None:
    """Return the name of the operand that gets the special value, or None.

    If all elements get the special value, the operand is a gradient. H never gets it, because H is a sum of squares.
    """
    name = names[numbers.place % len(names)]
    if numbers.is_special_throughout:
        name = next(one for one in names if one[0] == "G")
    return None if name[0] == "H" or not operands[name].size else name


def _attributes(operator: str, values: Sequence[float | None]) -> dict[str, Any]:
    """Return the attributes of a training optimizer; their order in the model is one of three orders."""
    found: dict[str, Any] = {}
    for value, (name, usual) in zip(values, USUAL_ATTRIBUTES[operator].items(), strict=False):
        if name == "mode":
            found[name] = "standard" if value is None else "nesterov"
        elif operator == "Momentum":  # has no defaults
            found[name] = usual if value is None else value
        elif value is not None:
            found[name] = abs(value) + 0.0625 if name == "epsilon" else min(value, _attribute_limit(operator, name))
    order = sum(value is None for value in values) % 3
    listed = list(found.items())
    return dict(listed[::-1] if order == 1 else listed[1:] + listed[:1] if order == 2 else listed)


def sample_examples(operators: Sequence[str], seed: int, chunk: int, count: int) -> list[Example]:
    """Return the examples of a chunk. Equal arguments give equal examples.

    Args:
        operators: op_types, or the name of the pass; examples of the operators alternate.
        seed: the random seed.
        chunk: the chunk number.
        count: the number of examples in a chunk.
    """
    chance = random.Random(f"{seed}/{chunk}")  # noqa: S311 - nothing is to be kept secret
    examples = []
    for operator, turn, row in sample_rows(operators, seed, chunk, count, chance):
        given = sample_numbers(chance)
        if operator in {ARGMAX, PASS_NAME}:
            examples.append(argmax_example(row, given))
        else:
            examples.append(optimizer_example(operator, turn, row, given))
    return examples
