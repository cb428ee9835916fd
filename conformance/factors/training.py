"""The case family `placed` of training optimizers: factors of the graph around the node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.factors.connections import (
    CONSUMERS,
    PERMITTED_SOURCES,
    SMALL_FAMILY_CONSUMERS,
    SMALL_FAMILY_SOURCES,
    SOURCES,
    TENSOR_ENCODINGS,
)
from conformance.factors.covering_array import Declaration, LevelCombination, Omission
from conformance.factors.scopes import ADDED_SCOPES, SCOPES
from conformance.factors.wrapping import IMPORT_LEVELS
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


TYPES: Mapping[str, tuple[Any, Any]] = {
    "float": (np.float32, np.float32),
    "double": (np.float64, np.float64),
    "float_r_double": (np.float32, np.float64),
    "double_r_float": (np.float64, np.float32),
}
"""Element types of the tensors and of R. They form one factor, because kernels treat mixed types separately."""

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

READ_BY_ANOTHER: Mapping[str, str] = {"none": "", "scalars": "RT", "X": "X", "G": "G", "state": "VH"}
"""First letters of the operands that another node also reads, by level."""

TWO_NODES = ("other_attributes", "other_r", "other_t")

FUNCTION_SCOPES = ("function", "function_twice", "function_in_function")

USUAL_ATTRIBUTES: Mapping[str, Mapping[str, Any]] = {
    "Adam": {"alpha": 0.75, "beta": 0.5, "epsilon": 0.0625, "norm_coefficient": 0.25, "norm_coefficient_post": 0.125},
    "Momentum": {"alpha": 0.75, "beta": 0.5, "mode": "nesterov", "norm_coefficient": 0.25},
    "Adagrad": {"decay_factor": 0.5, "epsilon": 0.0625, "norm_coefficient": 0.25},
}
"""Attributes that all affect the result. They are exact in float32, which keeps the bounds in double small."""

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


def has_state(op_type: str) -> bool:
    """Return whether a training optimizer has state: tensor operands besides X and G."""
    return len(TRAINING_OPTIMIZERS[op_type].operands) > len("XG")


def placed_declaration(op_type: str, *, is_for_search: bool = False) -> Declaration:
    """Return the factors of the graph around an optimizer node: enclosing scope, operand sources and more.

    Args:
        op_type: type of the optimizer.
        is_for_search: whether the sources and consumers of small families are levels too.
    """
    omitted = PERMITTED_SOURCES if is_for_search else (*PERMITTED_SOURCES, *SMALL_FAMILY_SOURCES)
    uses = tuple(use for use in CONSUMERS if is_for_search or use not in SMALL_FAMILY_CONSUMERS)
    optimizer = TRAINING_OPTIMIZERS[op_type]
    known = tuple(source for source in SOURCES if source not in omitted)
    scalar = tuple(source for source in known if source != "sparse_constant")
    sources = {
        **{f"source_{name}": scalar for name in ("R", "T")},
        **{f"source_{name}": known for name in optimizer.operands},
    }
    consumers = dict.fromkeys((f"consumer_{name}" for name in optimizer.results), uses)
    return Declaration(
        factors={
            "scope": tuple(SCOPES),
            **sources,
            **consumers,
            "read_by_another": tuple(level for level in READ_BY_ANOTHER if level != "state" or has_state(op_type)),
            "tensors": tuple(level for level in TENSOR_SHAPES if level != "g_as_state" or has_state(op_type)),
            "nodes": tuple(NODE_LEVELS),
            "types": tuple(TYPES),
            "imports": tuple(spelling for spelling in IMPORT_LEVELS if spelling != "main_by_name"),
            "stored": tuple(TENSOR_ENCODINGS),
            "training_info": ("absent", "present"),
        },
        forbidden=(
            LevelCombination(dict.fromkeys(consumers, ("unused",)), "A graph without outputs shows nothing."),
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
        three_way={"scope": ("scope",), "source": tuple(sources), "consumer": tuple(consumers)},
        omissions=OMISSIONS,
        added={"scope": ADDED_SCOPES},
    )


def tensor_names(names: Sequence[str], count: int) -> list[str]:
    """Return numbered names for several tensors: X1, X2, G1, … or X1_new, …. For one tensor return `names`.

    >>> tensor_names(["X_new", "V_new"], 2)
    ['X1_new', 'X2_new', 'V1_new', 'V2_new']
    """
    if count == 1:
        return list(names)
    return [f"{name[0]}{number}{name[1:]}" for name in names for number in range(1, count + 1)]
