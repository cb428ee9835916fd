"""From a row and numbers to a choice of an ArgMax and the chain before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import dtype_of, type_number
from conformance.passes.eliminate_nop_monotone_argmax import ALONG_AXIS
from conformance.search.choice import ARGMAX, Choice
from conformance.search.numbers import POOL
from conformance.search.rows import context_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.dimensions.factors import Row
    from conformance.models.arrays import Array
    from conformance.search.numbers import Numbers

STEPS: Mapping[str, float] = {"float": 2.0**-14, "double": 2.0**-34, "float16": 2.0**-6}
"""How close values lie before a chain: what a narrower type takes for equal, and the type itself tells apart."""

APART = 2.0**-6
"""What keeps values of a chain from being equal, so that rounding decides nothing."""


def argmax_choice(row: Row, numbers: Numbers) -> Choice:
    """The choice of a row."""
    shape = tuple(int(size) for size in row["shape"].split(","))
    chain = tuple(op_type for place in ("first", "second", "third") if (op_type := row[place]) != "none")
    attributes: dict[str, Any] = {}
    if row["axis"] != "default":
        attributes["axis"] = int(row["axis"]) % (2 * len(shape)) - len(shape)
    if row["keepdims"] != "default":
        attributes["keepdims"] = int(row["keepdims"])
    if row["last"] != "default":
        attributes["select_last_index"] = 1
    runs = tuple({"X": _data(row, chain, numbers, run, shape)} for run in range(numbers.runs))
    along = row["along"] if ALONG_AXIS & {*chain} else "same"
    beside = "" if row.get("beside", "none") == "none" else row["beside"]
    return Choice(ARGMAX, context_of(row, ["X"], ["index"]), attributes, runs, chain, int(row["opset"]), along, beside)


def _data(row: Row, chain: Sequence[str], numbers: Numbers, run: int, shape: Sequence[int]) -> Array:
    """What an ArgMax or the chain before it is given."""
    dtype = dtype_of(type_number(row["type"]))
    size = int(np.prod(shape))
    values = np.array([numbers.values[(run * 7 + element) % POOL] for element in range(size)])
    if dtype.kind in "iu":
        return _integers(np.rint(values * 4).astype(np.int64), dtype, row["values"]).reshape(shape)
    if chain:
        return _chained(values, row).astype(dtype).reshape(shape)
    array = values.astype(dtype)
    if row["values"] == "close":
        steps = np.rint(values * 2).astype(np.int64) + 8
        array = (1.0 + steps * 2.0 ** -(np.finfo(dtype).nmant)).astype(dtype)
    if row["values"] == "odd" and size and numbers.odd is not None:
        with np.errstate(all="ignore"):
            array[numbers.place % size] = numbers.odd
    if row["values"] == "infinite":
        array[:] = -np.inf
        array[numbers.place % max(size, 1) :] = np.finfo(dtype).min
    return array.reshape(shape)


def _chained(values: Array, row: Row) -> Array:
    """Values of which every operator's result is finite, and no two are equal before a number of them has come."""
    places = np.arange(values.size) % POOL
    if row["values"] == "close":
        order = np.argsort(np.argsort(values[:POOL], kind="stable"))
        return 1.5 + (order[places] if values.size else places) * STEPS[row["type"]]
    values = values / 4 + places * APART
    return np.abs(values) + 0.25 if {"Log", "Sqrt"} & {row["first"], row["second"], row["third"]} else values


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
