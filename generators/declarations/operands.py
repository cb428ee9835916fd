"""Families of training optimizer cases that vary the operands of a node: small tensors, shared values, and names.

A family is a declaration of factors, with a builder of models and data for the rows of its covering array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.factors.covering_array import Declaration, Omission
from conformance.factors.names import NAME_KINDS, PLAIN_NAMES, rename_values_of
from conformance.factors.training import TYPES, USUAL_ATTRIBUTES
from conformance.factors.wrapping import Context
from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators.declarations.numbers import build_node, scalar_operands, tensor_operands
from generators.declarations.training import RATE, usual_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.factors.covering_array import Row
    from conformance.factors.wrapping import BuiltModel

SHAPES_AFTER_EMPTY: Mapping[str, Sequence[Sequence[int]]] = {
    "0_1_5": ((0,), (1,), (5,)),
    "0_0_2_1_5": ((0,), (0,), (2,), (1,), (5,)),
    "0_1_2_3_9": ((0,), (1,), (2,), (3,), (9,)),
    "0_5": ((0,), (5,)),
    "matrices": ((0, 3), (1, 1), (2, 0), (1, 3), (2, 2)),
    "scalars": ((0,), (), (), (3,)),
}
"""Shapes by level: empty tensors first, then tensors whose size is at most their own position, then longer ones."""

SHARING_TENSORS: Mapping[str, tuple[int, int]] = {"second": (2, 2), "last": (3, 3)}
"""Number of tensors, and number of the tensor that shares operands with the first tensor, by level."""

TRAILING_EMPTY = "trailing_empty"
"""Level of `names`: plain names, and operands from nodes whose last inputs and outputs have empty names."""

NAME_LEVELS = (*NAME_KINDS, TRAILING_EMPTY)
"""Kinds of names of values."""

NAMED_TENSORS: Mapping[str, Sequence[Sequence[int]]] = {"one": ((2, 2),), "two": ((2, 2), (2, 2))}
"""Shapes of the tensors of cases about names, by level. All have the same shape, so that a confusion is no error."""

TRAILING_OMISSION = Omission(
    "an empty name after the operands of the tested node",
    "Its operands are not optional. ONNX's shape inference counts the name as an operand and refuses the model.",
)


def after_empty_declaration(op_type: str) -> Declaration:
    """Return the factors of the family `after_empty`: one node with empty tensors first, and small ones after them."""
    del op_type
    return Declaration({"tensors": tuple(SHAPES_AFTER_EMPTY), "types": ("float", "double")})


def repeated_sets(op_type: str) -> Mapping[str, Sequence[str]]:
    """Return the operands that two tensors share, by level: each operand alone, the whole state, and all operands."""
    operands = TRAINING_OPTIMIZERS[op_type].operands
    state = operands[2:]
    several = {"state": state} if len(state) > 1 else {}
    return {**{name: (name,) for name in operands}, **several, "all": operands}


def repeated_declaration(op_type: str) -> Declaration:
    """Return the factors of the family `repeated`: one value is passed for the same operand of two tensors."""
    return Declaration(
        {"operand": tuple(repeated_sets(op_type)), "tensor": tuple(SHARING_TENSORS), "types": ("float", "double")}
    )


def names_declaration(op_type: str) -> Declaration:
    """Return the factors of the family `names`: names of values that a runtime may cut or confuse."""
    del op_type
    return Declaration(
        {
            "names": NAME_LEVELS,
            "tensors": tuple(NAMED_TENSORS),
            "scope": ("main", "if_then"),
            "types": tuple(TYPES)[:2],
        },
        omissions=(TRAILING_OMISSION,),
    )


def build_after_empty(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `after_empty_declaration`."""
    own, _ = TYPES[row["types"]]
    tensors = tensor_operands(op_type, name, own, SHAPES_AFTER_EMPTY[row["tensors"]])
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensors}
    return build_node(op_type, name, USUAL_ATTRIBUTES[op_type], [operands])


def build_repeated(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `repeated_declaration`."""
    own, _ = TYPES[row["types"]]
    count, sharing = SHARING_TENSORS[row["tensor"]]
    tensors = tensor_operands(op_type, name, own, [(2, 2)] * count)
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensors}
    shared = {f"{letter}{sharing}": f"{letter}1" for letter in repeated_sets(op_type)[row["operand"]]}
    return build_node(op_type, name, USUAL_ATTRIBUTES[op_type], [operands], shared=shared)


def build_names(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `names_declaration`."""
    own, _ = TYPES[row["types"]]
    tensors = tensor_operands(op_type, name, own, NAMED_TENSORS[row["tensors"]])
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensors}
    context = names_context(row, list(tensors))
    built = build_node(op_type, name, USUAL_ATTRIBUTES[op_type], [operands], context)
    return rename_values_of(built, name_kind(row))


def names_context(row: Row, operands: Sequence[str]) -> Context:
    """Return the graph around a node for a row of a family about names.

    Args:
        row: the levels of all factors, with `names` and `scope`.
        operands: names of the operands that can come from a node with empty names.
    """
    sources = dict.fromkeys(operands, TRAILING_EMPTY) if row["names"] == TRAILING_EMPTY else {}
    return Context(scope=row["scope"], sources=sources)


def name_kind(row: Row) -> str:
    """Return the kind of names of a row of a family about names."""
    return PLAIN_NAMES if row["names"] == TRAILING_EMPTY else row["names"]
