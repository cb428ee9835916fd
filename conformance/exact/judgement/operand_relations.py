"""Inputs of an operator whose operands have a special relation: to each other, or to its own rows and columns.

A kernel can be right for each operand alone, and wrong for a row against a column of equal length. It can be wrong for
a symmetric matrix, for a NaN in one operand only, or where all operands but one are 1 or 0. Random elements and sizes
have these by chance only. Each function takes a drawn shape and a text that chooses the elements.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from conformance.exact.declarations.exact_sums import PRODUCTS
from conformance.exact.declarations.hard_values import (
    INTEGER_MODES,
    MODES,
    NUMBER_KINDS,
    element_bits,
    elements,
    free_operands,
)
from conformance.exact.judgement.hard_inputs import has_free_numbers, with_numbers
from conformance.exact.models.arrays import is_floating
from conformance.exact.models.graphs import is_operator, main_opset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.exact.judgement.hard_inputs import DrawnShape
    from conformance.exact.judgement.operator_call import OperatorCall
    from conformance.exact.models.arrays import Array

    Inputs = list[Array | None]

EQUAL_SIZE = 5
"""The size of all axes of squares."""

MAX_SQUARE_ELEMENTS = 2**12
"""Largest number of elements of all inputs with equal sizes."""

MAX_OPERANDS = 3
"""Largest number of operands of which each combination of forms or of neutral numbers is drawn."""

MAX_PLACES = 8
"""Number of the first operands that alone have special or neutral numbers; the elements of others stay ordinary."""

BROADCAST = "dimensions left out of "
"""Begin of the name of a choice for an operand that is broadcast."""

FORMS: Mapping[str, Callable[[Array], Array]] = {
    "square": lambda square: square,
    "vector": lambda square: square[0],
    "row": lambda square: square[:1],
    "column": lambda square: square[:, :1],
}
"""The forms of an operand that is broadcast to a square."""


def broadcast_squares(drawn: DrawnShape, salt: str) -> Iterator[Inputs]:
    """Yield operands that are broadcast to a square: rows, columns, vectors and squares of equal length, in all orders.

    A transposed result has the shape of the right one. There are none for operators that broadcast no operands.
    """
    counts = range(2, MAX_OPERANDS + 1) if "size count" in drawn.node.choices else (1,)
    for count in counts:
        square = _square(drawn, 2, count)
        if square is None:
            continue
        names = list(square.node.proto.input)
        places = [
            place
            for place, array in enumerate(square.inputs)
            if array is not None
            and array.shape == (EQUAL_SIZE, EQUAL_SIZE)
            and f"{BROADCAST}{names[place]}" in square.node.choices
        ][:MAX_OPERANDS]
        call = square.call(square.inputs)
        for forms in product(FORMS, repeat=len(places)):
            is_square = len(places) == 1 or "square" in forms or ("column" in forms and {*forms} != {"column"})
            if not is_square or {*forms} == {"square"}:
                continue
            own = with_numbers(call, f"{salt}/{count}", _ordinary)
            for place, form in zip(places, forms, strict=True):
                array = own[place]
                assert array is not None
                own[place] = np.ascontiguousarray(FORMS[form](array))
            yield own


def _square(drawn: DrawnShape, rank: int, count: int) -> DrawnShape | None:
    """Return a drawn shape of equal sizes whose broadcast operands have all axes; None if it is not valid."""

    def size_of(name: str, _: int) -> int:
        return rank if name == "r" else count if name == "count" else EQUAL_SIZE

    return drawn.redrawn(size_of, MAX_SQUARE_ELEMENTS, _without_broadcast(drawn, count))


def _without_broadcast(drawn: DrawnShape, count: int) -> dict[str, int]:
    names = [operand.name for operand in drawn.declaration.operands()]
    every = [*names, *(f"{name}{number + 1}" for name in names for number in range(count))]
    return {f"{begin}{name}": 0 for name in every for begin in (BROADCAST, "dimensions of 1 in ")}


def _matrix_of(structure: Callable[[Array], Array], array: Array) -> Array:
    return np.ascontiguousarray(structure(array)).astype(array.dtype)


def _identity(matrix: Array) -> Array:
    return np.broadcast_to(np.eye(matrix.shape[-1]), matrix.shape)


def _without_first_row(matrix: Array) -> Array:
    return np.where(np.arange(matrix.shape[-2])[:, None] == 0, 0, matrix)


def _without_first_column(matrix: Array) -> Array:
    return np.where(np.arange(matrix.shape[-1]) == 0, 0, matrix)


def _cyclic(matrix: Array) -> Array:
    return np.roll(_identity(matrix), 1, axis=-1)


STRUCTURES: Sequence[Callable[[Array], Array]] = (
    lambda matrix: np.tril(matrix) + np.swapaxes(np.tril(matrix, -1), -1, -2),
    np.tril,
    np.triu,
    lambda matrix: matrix * np.eye(matrix.shape[-1], dtype=matrix.dtype),
    _identity,
    _cyclic,
    _without_first_row,
    _without_first_column,
)
"""Functions that return a structured matrix: symmetric, triangular, diagonal, the identity, a cyclic permutation, and
those whose first row or column is 0."""


def structured_matrices(drawn: DrawnShape, salt: str) -> Iterator[Inputs]:
    """Yield structured square matrices in each operand of a product of matrices or a convolution, also with a batch."""
    if not is_operator(drawn.node.proto, *PRODUCTS):
        return
    shapes = set()
    for rank in sorted({*drawn.declaration.ranks})[:2]:
        square = _square(drawn, rank, 1)
        if square is None:
            continue
        own = with_numbers(square.call(square.inputs), f"{salt}/{rank}", _ordinary)
        found = tuple(None if each is None else each.shape for each in own)
        if found in shapes:
            continue
        shapes.add(found)
        for place, array in enumerate(own):
            if array is None or array.ndim < 2 or array.shape[-1] != array.shape[-2] or not _is_number(array):
                continue
            for structure in STRUCTURES:
                yield [*own[:place], _matrix_of(structure, array), *own[place + 1 :]]


def _is_number(array: Array) -> bool:
    return array.dtype.kind in "iu" or is_floating(array.dtype)


SPECIAL = ((np.nan,), (np.inf, -np.inf))
"""The special numbers of one operand, by call."""

SPECIAL_PERIOD = 4
"""One element of an operand in so many is a special number, and at least one."""


def special_operand(drawn: DrawnShape, salt: str) -> Iterator[Inputs]:
    """Yield inputs of which one operand alone has NaN, or infinities; there are none for operators of one operand."""
    if sum(array is not None for array in drawn.inputs) < 2:
        return
    call = drawn.call(drawn.inputs)
    own = with_numbers(call, salt, _ordinary)
    kinds = _kinds_by_place(call)
    places = [place for place, kind in kinds.items() if _is_filled(own[place]) and kind in NUMBER_KINDS][:MAX_PLACES]
    for place, numbers in product(places, SPECIAL):
        array = own[place]
        if array is not None and is_floating(array.dtype):
            special = _with_special(f"{salt}/{place}", array, kinds[place], numbers)
            yield [*own[:place], special, *own[place + 1 :]]


def _with_special(text: str, array: Array, kind: str, numbers: Sequence[float]) -> Array:
    bits = element_bits(text, array.shape)
    chosen = (bits % np.uint64(SPECIAL_PERIOD) == 0) | (bits == bits.min())
    special = np.asarray(numbers)[((bits >> np.uint64(8)) % np.uint64(len(numbers))).astype(np.intp)]
    drawn = np.where(chosen, np.abs(special) if kind == "positive" else special, array.astype(np.float64))
    return np.asarray(drawn.astype(array.dtype))


NEUTRAL = (1, 0)
"""The numbers that are neutral in a product and in a sum."""

MAX_NEUTRAL_SETS = 16
"""Largest number of sets of neutral operands in which the first operand alone has other numbers."""


def neutral_operands(drawn: DrawnShape, salt: str) -> Iterator[Inputs]:
    """Yield inputs of which some operands are 1 or 0 in each element, such as a scale and a bias that change nothing.

    The others have ordinary numbers. Each operand alone is neutral, and all but the first one are, in each combination.
    """
    call = drawn.call(drawn.inputs)
    own = with_numbers(call, salt, _ordinary)
    kinds = _kinds_by_place(call)
    places = [place for place in kinds if _is_filled(own[place])][:MAX_PLACES]
    if len(places) < 2:
        return
    sets: dict[tuple[int | None, ...], None] = {}
    for place in range(len(places)):
        for number in NEUTRAL:
            sets[tuple(number if each == place else None for each in range(len(places)))] = None
    if len(NEUTRAL) ** (len(places) - 1) <= MAX_NEUTRAL_SETS:
        sets.update(dict.fromkeys((None, *others) for others in product(NEUTRAL, repeat=len(places) - 1)))
    for numbers in sets:
        chosen = {place: number for place, number in zip(places, numbers, strict=True) if number is not None}
        if any(number == 0 and kinds[place] == "divisor" for place, number in chosen.items()):
            continue
        yield [
            np.full(array.shape, chosen[place]).astype(array.dtype) if array is not None and place in chosen else array
            for place, array in enumerate(own)
        ]


def _is_filled(array: Array | None) -> bool:
    return array is not None and array.size > 0 and _is_number(array)


def _kinds_by_place(call: OperatorCall) -> dict[int, str]:
    """Return the kind of the elements of each operand that has numbers of any size, by its place."""
    node = call.model.graph.node[0]
    kinds = free_operands(node, main_opset(call.model), call.values, ())
    found = ((place, name, kinds.get(name)) for place, name in enumerate(node.input))
    return {
        place: kind
        for place, name, kind in found
        if isinstance(kind, str) and has_free_numbers(np.asarray(call.values[name]), kind)
    }


def _ordinary(text: str, array: Array, kind: str) -> Array:
    """Return other elements, of which few are equal and none is special; those that are not free stay."""
    if not has_free_numbers(array, kind):
        return array
    mode = INTEGER_MODES.index("up to 100") if array.dtype.kind in "iu" else MODES.index("near 1")
    return elements(text, array.dtype, array.shape, kind, mode, ())
