"""From a row of what surrounds a training optimizer to a model and its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.dimensions.contexts import Context, in_context
from conformance.dimensions.fragments import Fragment
from conformance.dimensions.training import READ_BY_ANOTHER, TENSORS, TWO_NODES, TYPES, USUAL
from conformance.generation.values import scattered
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.dimensions.contexts import Built
    from conformance.dimensions.factors import Row
    from conformance.models.arrays import Array

RANGES = {"X": (-2.0, 2.0), "G": (-2.0, 2.0), "V": (-1.0, 1.0), "H": (0.25, 4.25)}
"""Where an operand's values lie: state that a run could have reached."""

RATE, OTHER_RATE = 0.1, 0.7
"""R with all the bits of its type, which a narrower copy of it lacks."""

COUNT, OTHER_COUNT = 2, 0


def built_structure(op_type: str, name: str, row: Row) -> Built:
    """The model and data of a row of `training.structure`.

    Args:
        op_type: the optimizer.
        name: of the graph; the data are others for every name.
    """
    fragment = _fragment(op_type, name, row)
    shared = READ_BY_ANOTHER[row["read_by_another"]]
    context = Context(
        place=row["place"],
        origins={name: row[f"origin_{_slot(name)}"] for name in fragment.operands},
        uses={name: row[f"use_{_slot(name)}"] for name in fragment.results},
        shared=tuple(name for name in fragment.operands if name[0] in shared and not name.endswith(TWIN)),
        stored=row["stored"],
        imports=row["imports"],
        trains=row["training_info"] == "present",
    )
    return in_context(name, fragment, context)


TWIN = "_twin"
"""How names of the second node's own operands and results end."""


def _slot(name: str) -> str:
    """The operand or result of the signature that a value's name stands for: X_new for X2_new and X2_new_twin.

    >>> _slot("X2_new_twin")
    'X_new'
    """
    bare = name.removesuffix(TWIN)
    return bare[0] + bare[1:].lstrip("0123456789")


def _fragment(op_type: str, name: str, row: Row) -> Fragment:
    optimizer = TRAINING_OPTIMIZERS[op_type]
    shapes = TENSORS[row["tensors"]]
    own, rate = TYPES[row["types"]]
    operands = {"R": np.array(RATE, dtype=rate), "T": np.array(COUNT, dtype=np.int64)}
    operands |= {
        operand: scattered(f"{name}/{operand}", shape, own, *RANGES[operand[0]])
        for operand, shape in shaped(optimizer.operands, shapes).items()
    }
    taken, operands = _passed(op_type, name, row["tensors"], operands)
    results = {name: np.zeros(shape, dtype=own) for name, shape in shaped(optimizer.results, shapes).items()}
    attributes = USUAL[op_type]
    others: dict[str, Any] = {
        key: value / 2 if isinstance(value, float) else value for key, value in attributes.items()
    }
    nodes = [helper.make_node(op_type, taken, list(results), domain=optimizer.domain, **attributes)]
    again = [helper.make_node(op_type, taken, list(results), domain=optimizer.domain, **others)]
    carried = {result: operand for result in results if (operand := result.removesuffix("_new")) in operands}
    if row["nodes"] == "named":
        nodes[0].name = again[0].name = f"{op_type}_step"
    if row["nodes"] in TWO_NODES:
        twin = _twin(row["nodes"], nodes[0], again[0], operands)
        nodes.append(twin)
        again.append(twin)
        results |= {f"{result}{TWIN}": array for result, array in results.items()}
    opsets = {optimizer.domain: optimizer.version}
    return Fragment(tuple(nodes), operands, results, opsets, carried, tuple(again))


def _passed(op_type: str, name: str, tensors: str, operands: Mapping[str, Array]) -> tuple[list[str], dict[str, Array]]:
    """The node's inputs, and what of the operands is left where one value is passed twice."""
    state = TRAINING_OPTIMIZERS[op_type].operands[2]
    for_another = {"one_twice": {"X2": "X1"}, "g_as_state": {f"{state}2": "G1"}}.get(tensors, {})
    left = {operand: array for operand, array in operands.items() if operand not in for_another}
    for operand, passed in for_another.items():  # a state that a run could have reached
        left[passed] = scattered(f"{name}/{passed}", left[passed].shape, left[passed].dtype, *RANGES[operand[0]])
    return [for_another.get(operand, operand) for operand in operands], left


def _twin(nodes: str, node: onnx.NodeProto, other: onnx.NodeProto, operands: dict[str, Array]) -> onnx.NodeProto:
    """A second node for the same operands, but for what it has of its own."""
    twin = type(node)()
    twin.CopyFrom(other if nodes == "other_attributes" else node)
    twin.output[:] = [f"{name}{TWIN}" for name in node.output]
    own = {"other_r": ("R", OTHER_RATE), "other_t": ("T", OTHER_COUNT)}.get(nodes)
    if own is not None:
        name, value = own
        operands[f"{name}{TWIN}"] = np.array(value, dtype=operands[name].dtype)
        twin.input[:] = [f"{taken}{TWIN}" if taken == name else taken for taken in twin.input]
    return twin


def shaped(names: Sequence[str], shapes: Sequence[Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """The grouped operands or results of tensors of these shapes, with the shape of each."""
    count = len(shapes)
    return {name: tuple(shapes[place % count]) for place, name in enumerate(numbered(names, count))}


def numbered(names: Sequence[str], count: int) -> list[str]:
    """Names of the grouped operands or results: X1, X2, G1, … or, for one tensor, X, G, …; X1_new, ….

    >>> numbered(["X_new", "V_new"], 2)
    ['X1_new', 'X2_new', 'V1_new', 'V2_new']
    """
    if count == 1:
        return list(names)
    return [f"{name[0]}{number}{name[1:]}" for name in names for number in range(1, count + 1)]
