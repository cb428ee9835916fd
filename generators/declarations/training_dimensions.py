"""The case family `placed` of training optimizers: its factors, its models, and the values of their operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.factors.connections import CONSUMERS, PERMITTED_SOURCES, SOURCES, Fragment
from conformance.corpus.factors.covering_array import LevelCombination
from conformance.corpus.factors.training_factors import (
    READ_BY_ANOTHER,
    TYPES,
    USUAL_ATTRIBUTES,
    graph_declaration,
    has_state,
    tensor_names,
)
from conformance.corpus.factors.wrapping import Context, build_in_context
from conformance.exact.models.model_building import pseudo_random_array
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators.declarations.family import FamilyDeclaration, Omission
from generators.declarations.small_families import ADDED_SCOPES, SMALL_FAMILY_CONSUMERS, SMALL_FAMILY_SOURCES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from conformance.corpus.factors.covering_array import Row
    from conformance.corpus.factors.wrapping import BuiltModel
    from conformance.exact.models.arrays import Array


TENSOR_SHAPES: Mapping[str, Sequence[Sequence[int]]] = {
    "one": ((2, 3),),
    "0d": ((),),
    "two_alike": ((2, 2), (2, 2)),
    "around_empty": ((2, 2), (2, 0), (2,), (2, 1)),
    "one_twice": ((2, 3), (2, 3)),
    "g_as_state": ((2, 2), (2, 2)),
}
"""Shapes of the optimized tensors. Except in `0d`, all tensors have equally many rows, as Scan requires."""

NODE_LEVELS: Mapping[str, str] = {
    "one": "a node",
    "named": "a node with a name",
    "other_attributes": "two nodes; the second has different attributes and the same operands",
    "other_r": "two nodes; the second has a different R",
    "other_t": "two nodes; the second has a different T",
}
"""Number and kind of optimizer nodes by level, with a description."""

TWO_NODES = ("other_attributes", "other_r", "other_t")

FUNCTION_SCOPES = ("function", "function_twice", "function_in_function")

OTHER_ATTRIBUTES: Mapping[str, Mapping[str, float]] = {"Adagrad": {"decay_factor": 1.5}}
"""Attributes of a second node for tensors of double, if half of `USUAL_ATTRIBUTES` would make such a difference."""

OMISSIONS = (
    Omission(
        "an operand in external data",
        "A case is a single model file, and the oracle reads only that file.",
    ),
    Omission(
        "a result without a name",
        "The page lists all results, and variadic results of the schema are not optional. "
        "`test_*_last_output_left_out` and"
        " `test_*_result_without_a_name` test this at level silent.",
    ),
    Omission(
        "two nodes of one name",
        "ONNX's IR page requires unique names within a graph. `test_*_nodes_of_one_name` tests this at level silent.",
    ),
    Omission(
        "a sparse initializer",
        "ONNX's checker and this reference treat it as a tensor. ONNX's shape inference gives it a "
        "sparse type, which the"
        " operators do not accept. `test_*_sparse_initializer*` test this at level should.",
    ),
    Omission(
        "a fed value for an input with an initializer",
        "The specification permits it, and does not oblige a runtime to accept it. The family `fed_defaults` tests "
        "this at level should.",
    ),
    Omission(
        "a sparse Constant, an alias of every kind, and one value for two operands of a tensor",
        "The families `constants`, `aliases` and `shared` test these. ONNX's sparse format has neither scalars nor "
        "empty tensors.",
    ),
    Omission(
        "the training domain under another name",
        "ONNX's checker rejects every other name.",
    ),
    Omission(
        "the main domain as `ai.onnx`",
        "ONNX's checker treats it as the empty name, but ONNX's ReferenceEvaluator does not."
        " `test_*_main_domain_by_name` tests this at level should.",
    ),
)


def placed_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `placed`: those of the graph around an optimizer node, tensors and nodes."""
    omitted = (*PERMITTED_SOURCES, *SMALL_FAMILY_SOURCES)
    known = tuple(source for source in SOURCES if source not in omitted)
    uses = tuple(use for use in CONSUMERS if use not in SMALL_FAMILY_CONSUMERS)
    graph = graph_declaration(op_type, known, uses)
    own = {
        "tensors": tuple(level for level in TENSOR_SHAPES if level != "g_as_state" or has_state(op_type)),
        "nodes": tuple(NODE_LEVELS),
    }
    last = ("types", "imports", "stored", "training_info")
    first = {name: levels for name, levels in graph.factors.items() if name not in last}
    return FamilyDeclaration(
        factors={**first, **own, **{name: graph.factors[name] for name in last}},
        forbidden=(
            *graph.forbidden,
            LevelCombination(
                {"scope": ("scan",), "tensors": ("0d",)}, "Scan iterates over rows, and a scalar has no rows."
            ),
            LevelCombination(
                {"scope": ("loop",), "tensors": ("one_twice", "g_as_state")},
                "Two results cannot replace the same operand.",
            ),
            LevelCombination(
                {"scope": ("loop",), "nodes": TWO_NODES},
                "The second node's results have no operand to replace.",
            ),
            LevelCombination(
                {"scope": FUNCTION_SCOPES, "nodes": ("other_attributes",)},
                "A function has one attribute of each name. `function_twice` has calls with different attributes.",
            ),
        ),
        three_way=graph.three_way,
        omissions=OMISSIONS,
        added={"scope": ADDED_SCOPES},
    )


COUNT = 2
OTHER_COUNT = 0
"""Values of T."""

EXACT_COUNTS: Mapping[str, int] = {"Adam": 0}
"""Values of T for tensors of double, by operator, if `COUNT` would make R_adjusted differ between float and double.

The bound of level `must` holds for both, so it would hide most bits of X_new. Adagrad's r is exact for `COUNT`.
"""


def usual_count(op_type: str, dtype: Any) -> int:
    """Return T for tensors of an element type; in double, R_adjusted (r in Adagrad) is the same in float and double."""
    return EXACT_COUNTS.get(op_type, COUNT) if dtype == np.float64 else COUNT


def other_attributes(op_type: str, dtype: Any) -> dict[str, Any]:
    """Return attributes of a second node for tensors of an element type. All numbers differ from those of the first."""
    usual = USUAL_ATTRIBUTES[op_type].items()
    half = {name: value / 2 if isinstance(value, float) else value for name, value in usual}
    return {**half, **(OTHER_ATTRIBUTES.get(op_type, {}) if dtype == np.float64 else {})}


OPERAND_RANGES = {"X": (-2.0, 2.0), "G": (-2.0, 2.0), "V": (-1.0, 1.0), "H": (0.25, 4.25)}
"""Range of the values of each operand. The states are reachable by real training."""

RATE = 0.1
OTHER_RATE = 0.7
"""Values of R that use all bits of a type, so that a conversion to a narrower type changes them."""


def build_placed(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `placed_declaration`.

    Args:
        op_type: type of the optimizer.
        name: name of the graph and seed of the data.
        row: the level of each factor.
    """
    fragment = _fragment(op_type, name, row)
    shared = READ_BY_ANOTHER[row["read_by_another"]]
    context = Context(
        scope=row["scope"],
        sources={name: row[f"source_{_slot(name)}"] for name in fragment.operands},
        consumers={name: row[f"consumer_{_slot(name)}"] for name in fragment.results},
        shared=tuple(name for name in fragment.operands if name[0] in shared and not name.endswith(TWIN_SUFFIX)),
        stored=row["stored"],
        imports=row["imports"],
        trains=row["training_info"] == "present",
    )
    return build_in_context(name, fragment, context)


TWIN_SUFFIX = "_twin"
"""Suffix of the names of the second node's own operands and results."""


def _slot(name: str) -> str:
    """Return the name without tensor number and twin suffix, as in the operator's signature: X_new for X2_new_twin.

    >>> _slot("X2_new_twin")
    'X_new'
    """
    bare = name.removesuffix(TWIN_SUFFIX)
    return bare[0] + bare[1:].lstrip("0123456789")


def _fragment(op_type: str, name: str, row: Row) -> Fragment:
    optimizer = TRAINING_OPTIMIZERS[op_type]
    shapes = TENSOR_SHAPES[row["tensors"]]
    own, rate = TYPES[row["types"]]
    operands = {"R": np.array(RATE, dtype=rate), "T": np.array(usual_count(op_type, own), dtype=np.int64)}
    operands |= {
        operand: pseudo_random_array(f"{name}/{operand}", shape, own, *OPERAND_RANGES[operand[0]])
        for operand, shape in operand_shapes(optimizer.operands, shapes).items()
    }
    taken, operands = _shared_inputs(op_type, name, row["tensors"], operands)
    results = {name: np.zeros(shape, dtype=own) for name, shape in operand_shapes(optimizer.results, shapes).items()}
    attributes = USUAL_ATTRIBUTES[op_type]
    others = other_attributes(op_type, own)
    nodes = [helper.make_node(op_type, taken, list(results), domain=optimizer.domain, **attributes)]
    again = [helper.make_node(op_type, taken, list(results), domain=optimizer.domain, **others)]
    carried = {result: operand for result in results if (operand := result.removesuffix("_new")) in operands}
    if row["nodes"] == "named":
        nodes[0].name = again[0].name = f"{op_type}_step"
    if row["nodes"] in TWO_NODES:
        twin = _twin(row["nodes"], nodes[0], again[0], operands)
        nodes.append(twin)
        again.append(twin)
        results |= {f"{result}{TWIN_SUFFIX}": array for result, array in results.items()}
    opsets = {optimizer.domain: optimizer.version}
    return Fragment(tuple(nodes), operands, results, opsets, carried, tuple(again))


def _shared_inputs(
    op_type: str, name: str, tensors: str, operands: Mapping[str, Array]
) -> tuple[list[str], dict[str, Array]]:
    """Return the names of the node's inputs, and the operands by name.

    If the level `tensors` requires it, one value is passed for two inputs, and the operand that it replaces is omitted.
    """
    state = TRAINING_OPTIMIZERS[op_type].operands[2:]
    replaced = {"one_twice": {"X2": "X1"}, "g_as_state": {f"{letter}2": "G1" for letter in state[:1]}}.get(tensors, {})
    remaining = {operand: array for operand, array in operands.items() if operand not in replaced}
    for operand, passed in replaced.items():  # use the range of a reachable state
        remaining[passed] = pseudo_random_array(
            f"{name}/{passed}", remaining[passed].shape, remaining[passed].dtype, *OPERAND_RANGES[operand[0]]
        )
    return [replaced.get(operand, operand) for operand in operands], remaining


def _twin(nodes: str, node: onnx.NodeProto, other: onnx.NodeProto, operands: dict[str, Array]) -> onnx.NodeProto:
    """Return a second node that differs from `node` as the level `nodes` requires: other attributes, R or T.

    A different R or T is added to `operands`. `other` is the node with other attributes.
    """
    twin = type(node)()
    twin.CopyFrom(other if nodes == "other_attributes" else node)
    twin.output[:] = [f"{name}{TWIN_SUFFIX}" for name in node.output]
    own = {"other_r": ("R", OTHER_RATE), "other_t": ("T", OTHER_COUNT)}.get(nodes)
    if own is not None:
        name, value = own
        operands[f"{name}{TWIN_SUFFIX}"] = np.array(value, dtype=operands[name].dtype)
        twin.input[:] = [f"{taken}{TWIN_SUFFIX}" if taken == name else taken for taken in twin.input]
    return twin


def operand_shapes(names: Sequence[str], shapes: Sequence[Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each operand or result by its numbered name (`tensor_names`), for tensors of these shapes."""
    count = len(shapes)
    return {name: tuple(shapes[place % count]) for place, name in enumerate(tensor_names(names, count))}
