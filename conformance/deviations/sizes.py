"""Deviations that only tensors and axes of some sizes show: blocks and their tails, narrow counts, ranks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from conformance.deviations.deviation import Deviation
from conformance.deviations.searching import along, looking_at, preferring, reduced
from conformance.deviations.twists import answering, by_tensor, each_output, first_elements, grouped, refusing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.deviations.deviation import Kernel, Twist
    from conformance.models.arrays import Array
    from conformance.reference.nodes import Node

BLOCKS = (8, 16, 32, 64, 256, 1024, 4096, 65536)


def _without_tail(block: int, size: int) -> int:
    return size // block * block if size > block else size


def _without_last_full(block: int, size: int) -> int:
    return size if size % block or size == block else size - block


def _overlapping(block: int) -> Twist:
    """The last vector overlaps the one before it, and what both hold is updated twice."""

    def twist(kernel: Kernel) -> Kernel:
        def run(node: Node, inputs: list[Array]) -> list[Array]:
            outputs = kernel(node, inputs)
            tensors, count = by_tensor(node, inputs), len(by_tensor(node, inputs))
            results = [outputs[number::count] for number in range(count)]
            again = [[X, old[1], *state] for old, (X, *state) in zip(tensors, results, strict=True)]
            twice = kernel(node, [*inputs[:2], *grouped(again)])
            return [_overlapped(block, *pair) for pair in zip(outputs, twice, strict=True)]

        return run

    return twist


def _overlapped(block: int, once: Array, twice: Array) -> Array:
    size, place = once.size, np.arange(once.size).reshape(once.shape)
    both = (place >= size - block) & (place < size // block * block) & bool(size > block)
    return np.where(both, twice, once)


def _wrapped(limit: int, array: Array) -> Array:
    """Elements from a limit on are those of the start."""
    return array.ravel()[np.arange(array.size) % limit].reshape(array.shape)


def _is_above(rank: int, array: Array) -> bool:
    return array.ndim > rank


def _of_elements() -> Iterator[Deviation]:
    for block in BLOCKS[1:]:
        if block != 1024:
            yield Deviation(
                f"tail_of_{block}_skipped",
                f"leaves what is over after whole blocks of {block} elements",
                "elementwise",
                twists=(first_elements(partial(_without_tail, block)),),
            )
    for block in BLOCKS:
        yield Deviation(
            f"last_full_block_of_{block}_skipped",
            f"leaves the last block of {block} elements where nothing is over after it",
            "elementwise",
            twists=(first_elements(partial(_without_last_full, block)),),
        )
    for block in BLOCKS[:4]:
        yield Deviation(
            f"overlap_of_{block}_updated_twice",
            f"goes back for a last full vector of {block} elements, and updates some of them twice",
            "elementwise",
            twists=(_overlapping(block),),
        )
    for most in (4096, 32768, 65535, 65536, 2**20):
        yield Deviation(
            f"{most}_elements_at_most",
            f"updates at most {most} elements",
            "elementwise",
            twists=(first_elements(partial(min, most)),),
        )
    yield Deviation(
        "places_of_16_bits",
        "counts elements in 16 bits, and gives those of the start from element 65536 on",
        "elementwise",
        twists=(each_output(partial(_wrapped, 65536)),),
    )
    for rank in (4, 5, 6, 7):
        yield Deviation(
            f"rank_{rank + 1}_refused",
            f"raises an error for a tensor of more than {rank} dimensions",
            "elementwise",
            twists=(refusing(partial(_is_above, rank), f"a tensor has more than {rank} dimensions"),),
        )


def _first_rows(most: int) -> Twist:
    """Slices from one on have the index 0."""

    def answer(node: Node, inputs: list[Array], outputs: list[Array]) -> list[Array]:
        slices, axis = along(node, inputs[0])
        index = outputs[0].reshape(slices.shape[:-1])
        row = np.arange(index.size).reshape(index.shape)
        return [reduced(node, np.where(row < most, index, 0), axis)]

    return answering(answer)


def _seen(most: Callable[[int], int], place: Array) -> Array:
    return np.asarray(place < most(place.size))


def _lowest_lane(lanes: int, place: Array) -> Array:
    return place % lanes * place.size + place


def _last_in_lane(lanes: int, place: Array) -> Array:
    """Each lane keeps the last of its maxima; between lanes the lower lane counts."""
    return np.asarray(place % lanes * place.size + place.size - place // lanes)


def _tail_first(block: int, place: Array) -> Array:
    whole = place.size // block * block
    return np.where(place < whole, place + place.size, place)


def _through(narrow: str, array: Array) -> Array:
    return array.astype(narrow).astype(array.dtype)


def _along_axes() -> Iterator[Deviation]:
    for block in BLOCKS[:-2]:
        yield Deviation(
            f"lowest_of_{block}_lanes",
            f"gives of equal maxima the one in the lowest of {block} lanes",
            "first_index",
            twists=(preferring(partial(_lowest_lane, block)),),
        )
        yield Deviation(
            f"last_in_one_of_{block}_lanes",
            f"gives of equal maxima the last in the lowest of {block} lanes",
            "first_index",
            twists=(preferring(partial(_last_in_lane, block)),),
        )
        yield Deviation(
            f"tail_after_{block}_first",
            f"gives of equal maxima the one that is over after whole blocks of {block} elements",
            "first_index",
            twists=(preferring(partial(_tail_first, block)),),
        )
    for block in BLOCKS:
        yield Deviation(
            f"tail_of_{block}_skipped",
            f"looks at whole blocks of {block} elements only, where there is one",
            "index",
            twists=(looking_at(partial(_seen, partial(_without_tail, block))),),
        )
        yield Deviation(
            f"last_full_block_of_{block}_skipped",
            f"does not look at the last block of {block} elements where nothing is over after it",
            "index",
            twists=(looking_at(partial(_seen, partial(_without_last_full, block))),),
        )
    for most in (4096, 32768, 65535, 65536, 2**20):
        yield Deviation(
            f"{most}_elements_at_most",
            f"looks at no more than {most} elements",
            "index",
            twists=(looking_at(partial(_seen, partial(min, most))),),
        )
    for name, narrow in (("int16", "i2"), ("uint16", "u2"), ("float16", "f2"), ("bytes", "u1")):
        yield Deviation(
            f"indices_through_{name}",
            f"keeps indices in {name} before it gives them",
            "index",
            twists=(each_output(partial(_through, narrow)),),
        )
    yield Deviation(
        "65535_rows_at_most",
        "searches at most 65535 slices, a grid's second dimension",
        "index",
        twists=(_first_rows(65535),),
    )
    for rank in (4, 5, 6, 7):
        yield Deviation(
            f"rank_{rank + 1}_refused",
            f"raises an error for a tensor of more than {rank} dimensions",
            "axis",
            twists=(refusing(partial(_is_above, rank), f"a tensor has more than {rank} dimensions"),),
        )


OF_TENSORS = tuple(_of_elements())
"""Those of any optimizer."""

OF_AXES = tuple(_along_axes())
"""Those of ArgMax."""
