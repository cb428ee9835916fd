"""Sample random examples: combine a row of the declaration with random numbers.

A row (see `conformance.studies.search.random_rows`) fixes the structure of an example: operators, types, classes of
sizes, context. This module draws the numbers of these classes, and adds operand and attribute values. Everything is a
function of the seed, the chunk number and the operators.

Tensors have few distinct tuples of operands, because the oracle computes elements with equal operands once.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from conformance.corpus.factors.training_factors import TYPES, USUAL_ATTRIBUTES, tensor_names
from conformance.corpus.factors.wrapping import Context
from conformance.corpus.passes.eliminate_nop_monotone_argmax import ALONG_AXIS, PASS_NAME
from conformance.exact.models.arrays import Array, dtype_of, type_number
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.studies.search.distributions import (
    COUNT_CLASSES,
    LARGEST_SIZE,
    SIZE_CLASSES,
    SWEPT_TENSORS,
    element_count,
    other_length,
    other_shape,
    sample_attribute,
    sample_number,
    sample_shape,
    spread_indices,
    swept_length,
    swept_sizes,
)
from conformance.studies.search.example import ARGMAX, Example
from conformance.studies.search.program_example import SampledExample, draw_program_example
from conformance.studies.search.random_rows import (
    AFTER_EMPTY,
    LARGE_SIZES,
    SWEEP,
    SWEEP_INTERVAL,
    row_context,
    sample_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from conformance.corpus.factors.covering_array import Row


STATE_RANGES = ((1.0, 0.25), (1.0, 0.25), (2.0**-12, 0.0), (2.0**-40, 0.0), (0.0, 0.0))
"""Factor and summand of the values of H: ordinary values, values near 0, and zeros."""
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
LEARNING_RATES = (0.1, 0.5, 0.3, 1.0, 0.0, -0.1, 2.5, 1e-3, 1e-8)
"""Learning rates to choose R from; one quarter of the learning rates are other numbers."""
PLAIN_RATE = 0.5
"""R of an example of the sweep in place of 0."""
HALF = 0.5
"""Probability of each of two equally likely alternatives."""
POOL_SIZE = 40
"""Number of random operand values per example. Operands take values from this pool in turn."""


@dataclass(frozen=True)
class RandomNumbers:
    """The random numbers of one example.

    Attributes:
        values: the pool of operand values.
        rate: the learning rate R.
        runs: the number of runs.
        place: a random index: of the element that gets the special value, and for further random decisions.
        special: the special value, such as NaN, or None.
        is_special_throughout: whether all elements of the operand get the special value.
        state: factor and summand of the values of H, one of `STATE_RANGES`.
        more: the generator of the numbers whose count depends on the row.
    """

    values: Sequence[float]
    rate: float
    runs: int
    place: int
    special: float | None
    is_special_throughout: bool
    state: tuple[float, float]
    more: random.Random


def sample_numbers(chance: random.Random) -> RandomNumbers:
    """Sample the random numbers of one example."""
    return RandomNumbers(
        [_operand_value(chance) for _ in range(POOL_SIZE)],
        chance.choice(LEARNING_RATES) if chance.random() < 0.75 else chance.uniform(-2, 2),
        chance.choice((1, 1, 2, 3)),
        chance.randrange(2**20),
        chance.choice(SPECIAL_VALUES) if chance.random() < HALF else None,
        chance.random() < HALF / 2,
        chance.choice(STATE_RANGES),
        random.Random(chance.getrandbits(64)),  # noqa: S311 - nothing is to be kept secret
    )


def _operand_value(chance: random.Random) -> float:
    kind = chance.random()
    if kind < HALF:
        return chance.choice(PLAIN_VALUES)
    if kind < 0.9:
        return chance.uniform(-4, 4)
    return math.ldexp(chance.uniform(-1, 1), chance.randint(-12, 12))


CLOSE_STEPS: Mapping[str, float] = {"float": 2.0**-14, "double": 2.0**-34, "float16": 2.0**-6, "bfloat16": 2.0**-6}
"""Distance between "close" operand values of a chain, by element type. Close values are distinct in this type, but
equal in a type with less precision, if there is such a type.
"""

CHAIN_STEP = 2.0**-6
"""Minimum distance between operand values of a chain, so that rounding cannot change which value is the largest."""


SWEPT_LENGTHS_SHARE = 0.8
"""Share of the examples of ArgMax alone whose lengths visit all short lengths in turn."""


def argmax_example(turn: int, row: Row, numbers: RandomNumbers) -> Example:
    """Return the example for a row about ArgMax or the pass.

    Args:
        turn: the number of earlier examples about the operator.
    """
    chance = numbers.more
    chain = tuple(op_type for place in ("first", "second", "third") if (op_type := row[place]) != "none")
    length = sample_number(chance, SIZE_CLASSES[row["length"]])
    if not chain and "distractor" not in row and chance.random() < SWEPT_LENGTHS_SHARE:
        length = swept_length(turn)
    context = row_context(row, ["X"], ["index"])
    limit = LARGEST_SIZE if context.changed(imports="main_first") == Context() else MAX_ELEMENTS_OF_GRAPH
    outer = min(sample_number(chance, SIZE_CLASSES[row["outer"]]), max(limit // length, 1))
    around = list(sample_shape(chance, outer, int(row["rank"]) - 1)) if row["rank"] != "1" else []
    axis = chance.randint(0, len(around)) if row["axis"] != "default" else 0
    shape = (*around[:axis], length, *around[axis:])
    attributes: dict[str, Any] = {}
    if row["axis"] != "default":
        attributes["axis"] = axis - len(shape) if row["axis"] == "negative" else axis
    if row["keepdims"] != "default":
        attributes["keepdims"] = int(row["keepdims"])
    if row["last"] != "default":
        attributes["select_last_index"] = int(row["last"])
    listed = list(attributes.items())
    chance.shuffle(listed)
    runs = tuple(
        {"X": _argmax_operand(row, chain, numbers, run, *_shapes_of_run(row, [shape], run, chance))}
        for run in range(_run_count(row, prod(shape), numbers))
    )
    axis_relation = row["along"] if ALONG_AXIS & {*chain} else "same"
    distractor = "" if row.get("distractor", "none") == "none" else row["distractor"]
    return Example(
        ARGMAX,
        context,
        dict(listed),
        runs,
        chain,
        int(row["opset"]),
        axis_relation,
        distractor,
        names=row["names"],
    )


def _argmax_operand(row: Row, chain: Sequence[str], numbers: RandomNumbers, run: int, shape: Sequence[int]) -> Array:
    """Return the operand of the chain of operators before ArgMax, or of ArgMax if the chain is empty.

    Args:
        run: the index of the run; each run has other values.
    """
    dtype = dtype_of(type_number(row["type"]))
    size = prod(shape)
    places = np.arange(size) if size <= POOL_SIZE else spread_indices(size, POOL_SIZE, numbers.place)
    values = np.array(numbers.values)[(run * 7 + places) % POOL_SIZE]
    if dtype.kind in "iu":
        steps = np.rint(values * 4).astype(np.int64)
        return _integer_operand(steps, dtype, row["values"], numbers.place).reshape(shape)
    if chain:
        return _chain_operand(values, places, row).astype(dtype).reshape(shape)
    array = values.astype(dtype)
    limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    if row["values"] == "close":
        steps = np.rint(values * 2).astype(np.int64) % 32 + 8
        array = (1.0 + steps * 2.0**-limits.nmant).astype(dtype)
    if row["values"] == "odd" and size and numbers.special is not None:
        with np.errstate(all="ignore"):
            array[numbers.place % size] = np.array(numbers.special).astype(dtype)
    if row["values"] == "infinite":
        first, later = (-0.0, 0.0) if numbers.place % 2 else (-np.inf, limits.min)
        array[:] = first
        array[numbers.place % max(size, 1) :] = later
    return array.reshape(shape)


def _chain_operand(values: Array, places: Array, row: Row) -> Array:
    """Return operand values for which each chain operator has finite results.

    Args:
        places: for each element, the index of its value in the pool of values; elements at different places differ.
    """
    if row["values"] == "close":
        return 1.5 + places * CLOSE_STEPS[row["type"]]
    values = np.clip(values, -4, 4) / 4 + places * CHAIN_STEP
    return np.abs(values) + 0.25 if {"Log", "Sqrt"} & {row["first"], row["second"], row["third"]} else values


def _integer_operand(steps: Array, dtype: np.dtype[Any], values: str, place: int) -> Array:
    """Return integers near 0, near the limits of their type, or close together.

    Close integers become equal when they are converted to a floating-point type. Some operands have the least integers
    alone: the least one before `place`, and the next one after it.
    """
    limits = np.iinfo(dtype)
    if values == "infinite" and place % 2:
        return np.asarray((limits.min + (np.arange(steps.size) >= place % max(steps.size, 1))).astype(dtype))
    if values == "close":
        base = 2**53 if limits.max > 2**53 else 2**24 if limits.max > 2**24 else limits.max // 2
        return np.asarray((base + steps % 8).astype(dtype))
    if values in {"odd", "infinite"}:
        ends = np.array((limits.min, limits.max, limits.max - 1, limits.max // 2 + 1, 0), dtype)
        return np.asarray(ends[steps % 5])
    return np.asarray((steps % 100 if dtype.kind == "u" else np.clip(steps, -100, 100)).astype(dtype))


DISTINCT_TUPLES = range(3, 14)
"""Smallest and largest number of distinct tuples of operands of a tensor, if it has so many elements."""

DISTINCT_TUPLES_OF_EXAMPLE = 30
"""Number of distinct tuples of operands of all tensors in all runs, unless each tensor has the smallest number."""

DISTINCT_TUPLES_OF_SWEEP = 3
"""Number of distinct tuples of operands of the tensors of a sweep, which has several runs."""

SWEPT_COUNTS = range(13)
"""Values of T that every example of the sweep has, in a random order, after the first run."""

HUNDREDS_SHARE = 0.1
"""Share of the examples of many tensors that can have more than 40."""

MAX_ELEMENTS_RUN_AGAIN = 512
"""Maximum number of elements of an example with several runs. Small tensors suffice to detect state between runs."""

MAX_ELEMENTS_OF_GRAPH = 4096
"""Maximum number of elements of an example whose graph is not plain: the oracle computes each node of the graph."""


def optimizer_example(operator: str, turn: int, row: Row, numbers: RandomNumbers) -> Example:
    """Return the example for a row about a training optimizer.

    Args:
        turn: the number of earlier examples about the operator.
    """
    optimizer = TRAINING_OPTIMIZERS[operator]
    if row["size"] == SWEEP:  # which visits a size seldom, so R must not hide the results of its tensors
        numbers = replace(numbers, rate=numbers.rate or PLAIN_RATE, is_special_throughout=False)
    shapes = _shapes(turn, row, numbers.more)
    names = tensor_names(optimizer.operands, len(shapes))
    repeated = _repeated_operand(row, len(shapes))
    if len(row["repeated"]) == 1 and repeated:
        shapes[1] = shapes[0]
    count = _run_count(row, element_count(shapes), numbers)
    counts = _update_counts(row, numbers.more, count)
    own = TYPES[row["types"]]
    distinct = DISTINCT_TUPLES_OF_EXAMPLE // (len(shapes) * count)
    distinct = min(max(distinct, DISTINCT_TUPLES[0]), DISTINCT_TUPLES[-1])
    if row["size"] == SWEEP:
        distinct = DISTINCT_TUPLES_OF_SWEEP
    runs = tuple(
        _run(names, _shapes_of_run(row, shapes, run, numbers.more), own, numbers, run, T, repeated, distinct)
        for run, T in enumerate(counts)
    )
    context = row_context(row, ["R", "T", *names], tensor_names(optimizer.results, len(shapes)))
    return Example(
        operator,
        context.changed(shared=tuple(name for name in context.shared if name not in repeated)),
        _attributes(operator, row, numbers.more),
        runs,
        repeated=repeated,
        names=row["names"],
    )


def _repeated_operand(row: Row, tensors: int) -> dict[str, str]:
    """Return which operand takes the value of which other operand, by name; see `Example.repeated`.

    A level of two letters names two operands of the first tensor. A level of one letter names the operand that the
    first two tensors share.
    """
    level = row["repeated"]
    if level == "none" or (len(level) == 1 and tensors < 2):
        return {}
    if len(level) == 1:
        return {f"{level}2": f"{level}1"}
    replaced, taken = (f"{letter}1" if tensors > 1 else letter for letter in level)
    return {replaced: taken}


def _run_count(row: Row, elements: int, numbers: RandomNumbers) -> int:
    """Return the number of runs of an example with so many elements."""
    least = 2 if row["resized"] == "yes" else 1
    return max(numbers.runs, least) if elements <= MAX_ELEMENTS_RUN_AGAIN else 1


def _shapes_of_run(
    row: Row, shapes: Sequence[Sequence[int]], run: int, chance: random.Random
) -> Sequence[Sequence[int]]:
    """Return the shapes of the tensors of a run; runs after the first one have other shapes if the row requires it."""
    return [other_length(chance, shape) for shape in shapes] if run and row["resized"] == "yes" else shapes


def _shapes(turn: int, row: Row, chance: random.Random) -> list[Sequence[int]]:
    """Return the shapes of the optimized tensors.

    After the first tensor, one third of the tensors have its number of elements and another shape.
    """
    rank = int(row["rank"])
    if row["size"] == SWEEP:
        return [(size,) for size in swept_sizes(turn // SWEEP_INTERVAL)]
    size = sample_number(chance, SIZE_CLASSES[row["size"]])
    if not rank and row["size"] not in LARGE_SIZES and chance.random() < HALF:
        size = 1  # a scalar
    first = sample_shape(chance, size, max(rank, 1) if size != 1 else rank)
    if row["tensors"] == AFTER_EMPTY:
        return _with_rows(row, [*_shapes_after_empty(chance), first])
    counts = [int(count) for count in row["tensors"].split("-")]
    low = counts[0]
    high = counts[-1]
    shapes = [first]
    limit = LARGEST_SIZE if row["size"] in LARGE_SIZES else MAX_ELEMENTS_OF_GRAPH
    high = high if chance.random() < HUNDREDS_SHARE else min(high, 40)
    for _ in range(chance.randint(low, high) - 1):
        kind = chance.random()
        if kind < 1 / 3:
            shape = other_shape(chance, first)
        elif kind < HALF:
            shape = first
        else:
            own = sample_number(chance, range(1, max(min(2 * size, 512), 8)))
            shape = sample_shape(chance, own, chance.randint(1, max(rank, 1)))
        if element_count([*shapes, shape]) <= limit:
            shapes.append(shape)
    return _with_rows(row, shapes)


def _shapes_after_empty(chance: random.Random) -> list[Sequence[int]]:
    """Return shapes of one or more empty tensors, then of tensors whose size is at most their position, from 0."""
    empty = [sample_shape(chance, 0, chance.randint(1, 2)) for _ in range(chance.randint(1, 3))]
    return [*empty, *((chance.randint(1, place),) for place in range(len(empty), len(empty) + chance.randint(1, 4)))]


def _with_rows(row: Row, shapes: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return the shapes; for a Scan, each with two rows."""
    return [(2, *shape[1:]) if row["scope"] == "scan" else shape for shape in shapes]


def _update_counts(row: Row, chance: random.Random, runs: int) -> list[int]:
    """Return T of each run: an integer of the row's class, then the next integers, or those of a sweep."""
    first = sample_number(chance, COUNT_CLASSES[row["T"]])
    if row["size"] == SWEEP:
        return [first, *chance.sample(SWEPT_COUNTS, len(SWEPT_COUNTS))]
    return [first, *(min(first + run, 2**63 - 1) for run in range(1, runs))]


def _run(
    names: Sequence[str],
    shapes: Sequence[Sequence[int]],
    types: tuple[Any, Any],
    numbers: RandomNumbers,
    run: int,
    T: int,
    repeated: Mapping[str, str],
    distinct: int,
) -> dict[str, Array]:
    own, rate = types
    operands: dict[str, Array] = {"R": np.array(numbers.rate * (run + 1), rate), "T": np.array(T, np.int64)}
    pool = np.array(numbers.values).astype(own)
    is_sweep = len(shapes) == SWEPT_TENSORS
    for place, name in enumerate(names):
        shape = tuple(shapes[place % len(shapes)])
        size = prod(shape)
        kind = place // len(shapes)
        shift = run * 7 + kind * 11 + (0 if is_sweep else place % len(shapes))
        is_spread = size > distinct
        values = pool.take(np.arange(shift, shift + min(size, distinct)), mode="wrap")
        if name[0] == "H":
            factor, summand = map(own, numbers.state)
            values = np.abs(values) * factor + summand
        operands[name] = (values[spread_indices(size, distinct, numbers.place)] if is_spread else values).reshape(shape)
    if numbers.special is not None and (special := _special_operand(names, operands, numbers)):
        spot = slice(None) if numbers.is_special_throughout else numbers.place % operands[special].size
        operands[special].reshape(-1)[spot] = numbers.special
    return {name: operands[repeated.get(name, name)] for name in operands}


def _special_operand(names: Sequence[str], operands: Mapping[str, Array], numbers: RandomNumbers) -> str | None:
    """Return the name of the operand that gets the special value, or None.

    If all elements get the special value, the operand is a gradient. H never gets it, because H is a sum of squares.
    """
    name = names[numbers.place % len(names)]
    if numbers.is_special_throughout:
        name = next(one for one in names if one[0] == "G")
    return None if name[0] == "H" or not operands[name].size else name


def _attributes(operator: str, row: Row, chance: random.Random) -> dict[str, Any]:
    """Return the attributes of a training optimizer in a random order.

    At least one attribute has the row's class; the others are usual or absent, or of the same class.
    """
    kind = row["attributes"]
    names = [name for name in USUAL_ATTRIBUTES[operator] if name != "mode"]
    unusual = chance.choice(names) if names else ""
    found: dict[str, Any] = {}
    for name, usual in USUAL_ATTRIBUTES[operator].items():
        own = kind if name == unusual else chance.choice(("usual", "usual", "absent", kind))
        if name == "mode":
            found[name] = chance.choice(("standard", "nesterov"))
        elif own == "absent":  # Momentum has no defaults
            found |= {name: usual} if operator == "Momentum" else {}
        else:
            value = sample_attribute(chance, own)
            if name == "epsilon" and chance.random() < 0.75:
                value = abs(value) or 1e-6
            if operator == "Adam" and name in {"alpha", "beta"}:
                value = min(value, 1.0)  # above 1, the square root of 1 - beta**T is not real
            found[name] = float(np.float32(value))
    listed = list(found.items())
    if row["order"] == "shuffled":
        chance.shuffle(listed)
    return dict(listed[::-1] if row["order"] == "reversed" else listed)


def mix_examples(operators: Sequence[str], seed: int, chunk: int, count: int) -> Iterator[SampledExample]:
    """Yield the examples of a chunk: those of `sample_examples`, and as many random programs, in turn.

    The arguments are those of `sample_examples`.
    """
    programs = count // 2
    sampled = sample_examples(operators, seed, chunk, count - programs)
    for place, example in enumerate(sampled):
        yield example
        if place < programs:
            number = chunk * programs + place
            yield draw_program_example(operators[number % len(operators)], f"{seed}/{number}")


def sample_examples(operators: Sequence[str], seed: int, chunk: int, count: int) -> list[Example]:
    """Return the examples of a chunk. Equal arguments give equal examples.

    Args:
        operators: op_types, or the name of the pass; examples of the operators alternate.
        seed: the random seed.
        chunk: the chunk number.
        count: the number of examples in a chunk.
    """
    chance = random.Random(f"{seed}/{chunk}")  # noqa: S311 - nothing is to be kept secret
    return [
        argmax_example(turn, row, sample_numbers(chance))
        if operator in {ARGMAX, PASS_NAME}
        else optimizer_example(operator, turn, row, sample_numbers(chance))
        for operator, turn, row in sample_rows(operators, seed, chunk, count, chance)
    ]
