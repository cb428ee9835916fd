"""From rows of numbers to models and data: one node of a training optimizer, whose operands are inputs of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.dimensions import extremes, numbers
from conformance.dimensions.building import RANGES, RATE, built_structure, numbered, shaped
from conformance.dimensions.contexts import Built, Context, in_context
from conformance.dimensions.fragments import Fragment
from conformance.dimensions.sizes import PERIOD
from conformance.dimensions.training import TYPES, USUAL, structure
from conformance.generation.values import scattered
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.dimensions.factors import Row
    from conformance.models.arrays import Array

MAGNITUDES: Mapping[str, tuple[float, float]] = {
    "X": (0.125, 0.375),
    "G": (1.0, 2.0),
    "V": (0.25, 0.75),
    "H": (0.25, 0.5),
}
"""Where magnitudes lie where signs vary: a gradient outweighs its regularization, and a state that is taken away."""

ELEMENTS = 4


def built_numbers(op_type: str, name: str, row: Row) -> Built:
    """The model and data of a row of `numbers.numbers`, a data set for each T."""
    own, rate = TYPES[row["types"]]
    attributes = numbers.attributes(op_type, row)
    signs = numbers.SIGNS[row["signs"]]
    operands = [
        {
            "R": np.array(numbers.RATES[row["R"]] * _reach(attributes, T), dtype=rate),
            "T": np.array(T, dtype=np.int64),
            **{
                operand: _signed(f"{name}/{T}/{operand}", own, *MAGNITUDES[operand], signs.get(operand, (1,)))
                for operand in TRAINING_OPTIMIZERS[op_type].operands
            },
        }
        for T in numbers.COUNTS[row["T"]]
    ]
    return _built(op_type, name, attributes, operands)


def built_extreme(op_type: str, name: str, row: Row) -> Built:
    """The model and data of a row of `extremes.extremes`."""
    own, _ = TYPES[row["types"]]
    extreme, scalar = extremes.EXTREMES[row["extreme"]], row["scalar"]
    attributes = {**USUAL[op_type], **({scalar: extreme} if scalar != "R" else {})}
    scalars = _scalars(extreme if scalar == "R" else RATE, extremes.COUNTS[row["T"]], own)
    return _built(op_type, name, attributes, [{**scalars, **_tensors(op_type, name, own, [(ELEMENTS,)])}])


def built_many_tensors(op_type: str, name: str, row: Row) -> Built:
    """The model and data of a row of `extremes.many_tensors`."""
    own, _ = TYPES[row["types"]]
    shapes = extremes.SHAPES[row["shapes"]]
    chosen = [shapes[place % len(shapes)] for place in range(extremes.NUMBERS[row["tensors"]])]
    operands = {**_scalars(RATE, 2, own), **_tensors(op_type, name, own, chosen)}
    return _built(op_type, name, USUAL[op_type], [operands])


def built_lengths(op_type: str, name: str, row: Row) -> Built:
    """The model and data of a row of `extremes.lengths`; the elements of long tensors come again after `PERIOD`."""
    own, _ = TYPES[row["types"]]
    tensors = {
        operand: np.resize(array.reshape(-1)[:PERIOD], array.shape) if array.size else array
        for operand, array in _tensors(op_type, name, own, extremes.LENGTHS[row["lengths"]]).items()
    }
    return _built(op_type, name, USUAL[op_type], [{**_scalars(RATE, 2, own), **tensors}])


def built_constants(op_type: str, name: str, row: Row) -> Built:
    """The model and data of a row of `extremes.constants`; what is fed differs from what is constant."""
    own, _ = TYPES[row["types"]]
    shape = extremes.CONSTANT_SHAPES[row["shape"]]
    operands = {**_scalars(RATE, 2, own), **_tensors(op_type, name, own, [shape])}
    constant = extremes.constant_sets(op_type)[row["constant"]]
    value = {"equal": 0.5, "zeros": 0.0}.get(row["values"])
    for operand in constant:
        if value is not None and operand not in {"R", "T"}:
            operands[operand] = np.full(shape, value, dtype=own)
    return _built(op_type, name, USUAL[op_type], [operands], Context(origins=dict.fromkeys(constant, row["origin"])))


def built_readers(op_type: str, name: str, row: Row) -> Built:
    """The model and data of a row of `extremes.readers`, of which all else is plain."""
    factors = structure(op_type).factors
    return built_structure(op_type, name, {**{factor: values[0] for factor, values in factors.items()}, **row})


def _scalars(R: float, T: int, dtype: Any) -> dict[str, Array]:
    return {"R": np.array(R, dtype=dtype), "T": np.array(T, dtype=np.int64)}


def _tensors(op_type: str, name: str, dtype: Any, shapes: Sequence[Sequence[int]]) -> dict[str, Array]:
    return {
        operand: scattered(f"{name}/{operand}", shape, dtype, *RANGES[operand[0]])
        for operand, shape in shaped(TRAINING_OPTIMIZERS[op_type].operands, shapes).items()
    }


def _signed(seed: str, dtype: Any, low: float, high: float, signs: Sequence[float]) -> Array:
    return np.asarray(
        scattered(seed, (ELEMENTS,), dtype, low, high) * np.resize(np.array(signs, dtype=dtype), ELEMENTS)
    )


def _reach(attributes: Mapping[str, Any], T: int) -> float:
    """What R is multiplied by for a step to be a fair part of X."""
    return max(1.0, abs(1 + T * float(attributes.get("decay_factor", 0.0))))


def _built(
    op_type: str,
    name: str,
    attributes: Mapping[str, Any],
    data_sets: Sequence[Mapping[str, Array]],
    context: Context | None = None,
) -> Built:
    """A model of one node, and what it is fed, run after run; a context that is not plain has one run."""
    optimizer, operands = TRAINING_OPTIMIZERS[op_type], data_sets[0]
    tensors = list(operands.values())[2:]
    count = len(tensors) // len(optimizer.operands)
    results = {result: tensors[place % count] for place, result in enumerate(numbered(optimizer.results, count))}
    node = helper.make_node(op_type, list(operands), list(results), domain=optimizer.domain)
    node.attribute.extend(helper.make_attribute(*attribute) for attribute in attributes.items())
    fragment = Fragment((node,), operands, results, {optimizer.domain: optimizer.version})
    if context is not None:
        return in_context(name, fragment, context)
    return Built(in_context(name, fragment, Context()).model, tuple(tuple(each.values()) for each in data_sets))
