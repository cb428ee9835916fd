"""The declaration for the training optimizers: what surrounds a node of one, as factors with their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.dimensions.contexts import IMPORTS
from conformance.dimensions.factors import Declaration, LeftOut, Meeting
from conformance.dimensions.origins import ORIGINS, STORED
from conformance.dimensions.places import PLACES
from conformance.dimensions.uses import USES
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TYPES: Mapping[str, tuple[Any, Any]] = {
    "float": (np.float32, np.float32),
    "double": (np.float64, np.float64),
    "float_r_double": (np.float32, np.float64),
    "double_r_float": (np.float64, np.float32),
}
"""The tensors' type and that of R: one factor, because it is the mixture that kernels treat apart."""

TENSORS: Mapping[str, Sequence[Sequence[int]]] = {
    "one": ((2, 3),),
    "0d": ((),),
    "two_alike": ((2, 2), (2, 2)),
    "around_empty": ((2, 2), (2, 0), (2,), (2, 1)),
    "one_twice": ((2, 3), (2, 3)),
    "g_as_state": ((2, 2), (2, 2)),
}
"""The tensors' shapes. In all but `0d` they are as many rows, so that one Scan can go over them."""

NODES: Mapping[str, str] = {
    "one": "a node",
    "named": "a node with a name",
    "other_attributes": "two nodes of which the second has other attributes for the same operands",
    "other_r": "two nodes of which the second has another R for the same other operands",
    "other_t": "two nodes of which the second has another T for the same other operands",
}

READ_BY_ANOTHER: Mapping[str, str] = {"none": "", "scalars": "RT", "X": "X", "G": "G", "state": "VH"}
"""Operands that another node reads as well, by their letters."""

TWO_NODES = ("other_attributes", "other_r", "other_t")
FUNCTIONS = ("function", "function_twice", "function_in_function")

USUAL: Mapping[str, Mapping[str, Any]] = {
    "Adam": {"alpha": 0.75, "beta": 0.5, "epsilon": 0.0625, "norm_coefficient": 0.25, "norm_coefficient_post": 0.125},
    "Momentum": {"alpha": 0.75, "beta": 0.5, "mode": "nesterov", "norm_coefficient": 0.25},
    "Adagrad": {"decay_factor": 0.5, "epsilon": 0.0625, "norm_coefficient": 0.25},
}
"""Attributes that all matter and are exact in float32, and so keep bounds sharp in double."""

LEFT_OUT = (
    LeftOut(
        "an operand in external data",
        "A case is one message, and the oracle is asked for what it says; a file beside it is not of it.",
    ),
    LeftOut(
        "a result without a name",
        "The page lists all results and the schema's variadic ones are not optional: `test_*_last_output_left_out` and"
        " `test_*_result_without_a_name` ask at level silent.",
    ),
    LeftOut(
        "two nodes of one name",
        "ONNX's IR page asks for names that differ within a graph; `test_*_nodes_of_one_name` asks at level silent.",
    ),
    LeftOut(
        "a sparse initializer",
        "ONNX's checker and this reference take one for a tensor; ONNX's shape inference gives it a sparse type, which"
        " the operators do not take. `test_*_sparse_initializer` asks at level silent.",
    ),
    LeftOut(
        "the training domain under another name",
        "ONNX's checker refuses every other spelling.",
    ),
    LeftOut(
        "the main domain as `ai.onnx`",
        "ONNX's checker takes it for the empty name, and its ReferenceEvaluator does not:"
        " `test_*_main_domain_by_name` asks at level should.",
    ),
)


def structure(op_type: str) -> Declaration:
    """What surrounds the node of an optimizer: where it stands, where operands come from, what becomes of results."""
    optimizer = TRAINING_OPTIMIZERS[op_type]
    origins = {f"origin_{name}": tuple(ORIGINS) for name in ("R", "T", *optimizer.operands)}
    uses = {f"use_{name}": tuple(USES) for name in optimizer.results}
    return Declaration(
        factors={
            "place": tuple(PLACES),
            **origins,
            **uses,
            "read_by_another": tuple(READ_BY_ANOTHER),
            "tensors": tuple(TENSORS),
            "nodes": tuple(NODES),
            "types": tuple(TYPES),
            "imports": tuple(spelling for spelling in IMPORTS if spelling != "main_by_name"),
            "stored": tuple(STORED),
            "training_info": ("absent", "present"),
        },
        excluded=(
            Meeting(dict.fromkeys(uses, ("unused",)), "A graph of which nothing comes out shows nothing."),
            Meeting({"place": ("scan",), "tensors": ("0d",)}, "Scan takes rows, which a scalar has not."),
            Meeting(
                {"place": ("loop",), "tensors": ("one_twice", "g_as_state")},
                "Two results cannot take the place of one operand.",
            ),
            Meeting(
                {"place": ("loop",), "nodes": TWO_NODES},
                "The second node's results have no operand whose place they could take.",
            ),
            Meeting(
                {"place": FUNCTIONS, "nodes": ("other_attributes",)},
                "A function hands on one attribute of a name; `function_twice` has calls with their own.",
            ),
        ),
        structural={"place": ("place",), "origin": tuple(origins), "use": tuple(uses)},
        left_out=LEFT_OUT,
    )
