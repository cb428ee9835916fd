"""Distributions without gaps: sizes, shapes, update counts and attribute values of random examples.

Every size from 0 to `LARGEST_SIZE` can occur, every T of an int64, and every finite attribute value. Numbers near
powers of two and near multiples of block sizes occur more often, because mistakes of kernels are frequent there. All
computations are exact, so each machine draws the same numbers.

A *class* is an interval of a distribution, such as the sizes from 8 to 33. The search counts the combinations of
classes that its examples have, and prefers new combinations.
"""

from __future__ import annotations

import math
from functools import lru_cache
from math import isqrt, prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conformance.exact.models.model_building import pseudo_random_array

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array


LARGEST_SIZE = 2**20
"""Largest number of elements of a tensor."""

SIZE_CLASSES: Mapping[str, range] = {
    "0": range(1),
    "1": range(1, 2),
    "2-7": range(2, 8),
    "8-33": range(8, 34),
    "34-72": range(34, 73),
    "73-511": range(73, 512),
    "512-4096": range(512, 4097),
    "4097-65536": range(4097, 2**16 + 1),
    "65537-1048576": range(2**16 + 1, LARGEST_SIZE + 1),
}
"""The classes of sizes. They have no gaps. The fourth and the fifth contain the loop tails of vectorised kernels."""

BLOCK_SIZES = (4, 8, 16, 32, 64, 100, 128, 256, 512, 1000, 1024, 4096, 16384, 65536)
"""Typical sizes of vectors and of blocks."""

COUNT_CLASSES: Mapping[str, range] = {
    "0": range(1),
    "1": range(1, 2),
    "2-9": range(2, 10),
    "10-255": range(10, 256),
    "256-2^31": range(256, 2**31 + 1),
    "2^31-2^53": range(2**31 + 1, 2**53 + 1),
    "2^53-2^63": range(2**53 + 1, 2**63),
    "negative": range(-(2**63), 0),
}
"""The classes of the update count T."""

ATTRIBUTE_CLASSES = ("usual", "absent", "zero", "one", "negative", "above 1", "tiny")
"""The classes of attribute values. The class of a node is that of its most unusual attribute."""

TINY = 2.0**-10
"""Positive attribute values below this number are in the class `tiny`."""

MAX_RANK = 8
"""Highest rank of a tensor."""


class Combination(NamedTuple):
    """The combination of classes that an example has.

    Attributes:
        operator: the tested operators.
        size: the class of the size of the largest tensor.
        type: the element type.
        place: the enclosing scope and the distractor.
        T: the class of T.
        attributes: the class of the attributes.
    """

    operator: str
    size: str
    type: str
    place: str
    T: str
    attributes: str


def class_of(number: int, classes: Mapping[str, range]) -> str:
    """Return the name of the class that contains a number; the last class if none does."""
    return next((name for name, numbers in classes.items() if number in numbers), list(classes)[-1])


def sample_log_uniform(chance: random.Random, numbers: range) -> int:
    """Return a random integer of a range of integers above 0; all binades have the same probability."""
    bits = chance.randint(numbers[0].bit_length(), numbers[-1].bit_length())
    return chance.randint(max(numbers[0], 2 ** (bits - 1)), min(numbers[-1], 2**bits - 1))


def sample_number(chance: random.Random, numbers: range) -> int:
    """Return a random integer of a range of integers; each integer of the range can occur.

    One half is log-uniform, a fifth is uniform, and the rest are powers of two ± 1 and block sizes with a tail.
    """
    if numbers[0] < 1:
        return -sample_number(chance, range(1, -numbers[0] + 1)) if numbers[0] < 0 else 0
    kind = chance.random()
    if kind < 0.5:
        return sample_log_uniform(chance, numbers)
    if kind < 0.7:
        return chance.randint(numbers[0], numbers[-1])
    if kind < 0.85:
        near = 2 ** chance.randint(numbers[0].bit_length() - 1, numbers[-1].bit_length()) + chance.choice((-1, 0, 1))
    else:
        block = chance.choice(BLOCK_SIZES)
        near = block * sample_log_uniform(chance, range(1, max(numbers[-1] // block, 1) + 1))
        near += chance.choice((0, 1, chance.randrange(block)))
    return near if near in numbers else sample_log_uniform(chance, numbers)


def sample_shape(chance: random.Random, size: int, rank: int) -> tuple[int, ...]:
    """Return a random shape of a rank, with `size` elements or somewhat fewer. Rank 0 is for size 1 only.

    Half of the shapes have exactly `size` elements. The other shapes have dimensions that need not divide `size`.
    """
    if not size:
        dimensions = [chance.randint(1, 4) for _ in range(max(rank, 1))]
        dimensions[chance.randrange(len(dimensions))] = 0
        return tuple(dimensions)
    if rank == 0 and size == 1:
        return ()
    dimensions = []
    left = size
    is_exact = chance.random() < 0.5
    for behind in range(rank - 1, 0, -1):
        dimension = 1
        if left > 1 and chance.random() < 0.75:
            # about the same binades for each of the remaining dimensions
            largest = max(2, min(left, 2 ** (2 * left.bit_length() // (behind + 1))))
            dimension = sample_log_uniform(chance, range(2, largest + 1))
        if is_exact:
            dimension = math.gcd(dimension, left)
        dimensions.append(dimension)
        left //= dimension
    dimensions.append(left)
    chance.shuffle(dimensions)
    return tuple(dimensions)


def other_shape(chance: random.Random, shape: Sequence[int]) -> tuple[int, ...]:
    """Return another random shape with the same number of elements; the dimensions can have another order."""
    dimensions = list(shape)
    chance.shuffle(dimensions)
    if chance.random() < 0.5 and len(dimensions) < MAX_RANK:
        dimensions.insert(chance.randint(0, len(dimensions)), 1)
    elif len(dimensions) > 1:
        dimensions = [dimensions[0] * dimensions[1], *dimensions[2:]]
    return tuple(dimensions)


def sample_attribute(chance: random.Random, kind: str) -> float:
    """Return a random value of a float attribute in one of the `ATTRIBUTE_CLASSES`, except `absent`.

    Half of the usual values have few bits, so that they are exact in every type.
    """
    fixed = {"zero": 0.0, "one": 1.0}
    if kind in fixed:
        return fixed[kind]
    share = chance.choice((0.5, 0.75, 0.25, 0.9, 0.1, 0.3, 0.95, 0.999))
    if chance.random() < 0.5:
        share = chance.randrange(1, 2**24) / 2.0**24
    if kind == "negative":
        return -1.0 if chance.random() < 0.25 else -share * chance.choice((1, 1, 4))
    if kind == "above 1":
        return 1 + share * chance.choice((1, 1, 8, 1000))
    return math.ldexp(0.5 + share / 2, chance.randint(-40, -10)) if kind == "tiny" else share


def attribute_class(values: Sequence[float | None]) -> str:
    """Return the class of the most unusual of the float attributes of a node; None is an absent attribute."""
    found = {_class_of_value(value) for value in values}
    order = ("negative", "above 1", "zero", "one", "tiny", "absent")
    return next((name for name in order if name in found), "usual")


def _class_of_value(value: float | None) -> str:
    if value is None:
        return "absent"
    if value < 0:
        return "negative"
    if value > 1:
        return "above 1"
    return "zero" if value == 0 else "one" if value == 1 else "tiny" if value < TINY else "usual"


_MULTIPLIERS = tuple(isqrt(prime << 64) & (2**32 - 1) | 1 for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29))
"""Fractional parts of square roots of primes, times 2^32. They are rationally independent."""


def spread_choice(levels: Sequence[Any], turn: int, dimension: int, offset: int) -> Any:
    """Return one of some levels, so that consecutive turns spread evenly over all combinations of the dimensions.

    The turns are a Kronecker sequence: a sequence of low discrepancy in as many dimensions as there are multipliers.

    Args:
        levels: the levels of one dimension.
        turn: the number of earlier choices.
        dimension: the number of the dimension.
        offset: the start of the sequence, less than 2^32.
    """
    place = (turn * _MULTIPLIERS[dimension % len(_MULTIPLIERS)] + offset) % 2**32
    return levels[place * len(levels) >> 32]


@lru_cache(maxsize=256)
def spread_indices(size: int, count: int, seed: int) -> Array:
    """Return pseudo-random indices below `count`, one for each of `size` elements; they depend only on the seed.

    The array is cached and must not be changed.
    """
    shares = pseudo_random_array(f"search/{seed}", (size,), np.float64, 0.0, 1.0)
    return np.asarray((shares * count).astype(np.intp))


SWEPT_SIZES = 4096
"""The sizes that the sweep visits in turn: those from 1 to this number."""

SWEPT_TENSORS = 44
"""Number of tensors of an example of the sweep, each with another size."""


def swept_sizes(sweep: int) -> list[int]:
    """Return the sizes of the tensors of one example of the sweep.

    Consecutive examples visit every size from 1 to `SWEPT_SIZES` once before they repeat one.

    Args:
        sweep: the number of earlier examples of the sweep.
    """
    places = range(sweep * SWEPT_TENSORS, (sweep + 1) * SWEPT_TENSORS)
    return [1 + place * 1741 % SWEPT_SIZES for place in places]


SWEPT_LENGTHS = 72
"""The lengths of the axis of ArgMax that examples visit in turn: those from 1 to this number."""


def swept_length(turn: int) -> int:
    """Return a length from 1 to `SWEPT_LENGTHS`. That many consecutive turns visit every length once."""
    return 1 + turn * 29 % SWEPT_LENGTHS


def other_length(chance: random.Random, shape: Sequence[int]) -> tuple[int, ...]:
    """Return a random shape of the same rank, in which one dimension that is not 0 has another length."""
    places = [place for place, length in enumerate(shape) if length]
    if not places:
        return tuple(shape)
    changed = list(shape)
    place = chance.choice(places)
    changed[place] = chance.choice((1, changed[place] + 1, 2 * changed[place], max(changed[place] // 2, 1)))
    return tuple(changed)


def element_count(shapes: Sequence[Sequence[int]]) -> int:
    """Return the number of elements of all tensors with these shapes."""
    return sum(map(prod, shapes))
