"""The declaration of sizes: lengths at and around the blocks in which kernels work, and ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.dimensions.factors import Declaration, Meeting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BLOCKS = (4, 8, 16, 32, 64, 256, 1024)
"""Elements of a vector register, of an unrolled loop over such, of a block of threads."""

LONG_BLOCKS = (4096, 65536)
"""Elements that a thread takes at once, and as many as 16 bits count."""

BEYOND = 2**20 + 1
"""More elements than a cache holds, and than a grid of 1024 blocks of 1024 threads."""

PERIOD = 61
"""After how many elements the data of a long tensor come again: no block's length is a multiple of it."""

RANKS: Sequence[tuple[int, ...]] = (
    (),
    (3,),
    (2, 2),
    (1, 3, 2),
    (2, 1, 1, 2),
    (1, 2, 1, 3, 1),
    (2, 1, 2, 1, 1, 2),
    (1, 2, 1, 1, 2, 1, 2),
    (2, 1, 1, 2, 1, 1, 1, 3),
)
"""A shape of every rank from 0 to 8."""

INDEX_LIMITS = (2**15, 2**16)
"""Indices from which on 16 bits do not hold them, with a sign and without."""


def around(block: int) -> tuple[int, ...]:
    """Lengths with a tail that is nearly full, without one, with a tail of one element, and of two full blocks."""
    return (block - 1, block, block + 1, 2 * block)


def of_long(block: int) -> tuple[int, ...]:
    """A length with a tail of one element, and one whose last block is full."""
    return (block + 1, 2 * block)


def borders(length: int, block: int) -> list[int]:
    """The named places of a long tensor: its first and last elements, and both sides of every border of blocks."""
    sides = {place for border in range(block, length, block) for place in (border - 1, border)}
    return sorted({0, length - 1} | sides)


def tied(length: int, block: int) -> Iterator[tuple[int, ...]]:
    """Places that hold the same maximum: one lane of two blocks, two lanes of one block, and the first and the last."""
    if length > block + 1:
        yield 1, 1 + block
    yield block - 2, block - 1
    yield 0, length - 1


def long_types() -> Declaration:
    """Long axes of ArgMax in the types that `float` and `int32` do not stand for; each has a loop of its own."""
    lengths = (LONG_BLOCKS[0] + 1, LONG_BLOCKS[1] + 1, BEYOND)
    return Declaration(
        {
            "type": (
                *("double", "float16", "bfloat16", "int8", "uint8"),
                *("int16", "uint16", "uint32", "int64", "uint64"),
            ),
            "length": tuple(map(str, lengths)),
            "select_last_index": ("0", "1"),
        },
        excluded=(
            Meeting(
                {"type": ("double", "float16", "bfloat16"), "length": (str(BEYOND),)},
                "Where rounding could decide, each element is enclosed, which takes seconds for as many.",
            ),
        ),
    )
