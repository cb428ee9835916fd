"""The declarations for the training optimizers that vary little at a time.

Scalars at the ends of what floats hold, many tensors and long ones in one node, operands that are constants, and
operands that another node reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.dimensions.factors import Declaration, LeftOut
from conformance.dimensions.training import READ_BY_ANOTHER, USUAL
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXTREMES: Mapping[str, float] = {"zero": 0.0, "minus_zero": -0.0, "subnormal": 2.0**-140, "huge": 2.0**100}
"""Values of float32: attributes are of that type whatever the tensors are."""

COUNTS = {"0": 0, "2": 2}

NUMBERS: Mapping[str, int] = {"9": 9, "17": 17, "40": 40}
"""How many tensors: one more than what an array of fixed length, or a byte's bits, may hold."""

SHAPES: Mapping[str, Sequence[Sequence[int]]] = {"alike": ((2,),), "varied": ((2,), (0,), (), (1, 2), (2,))}
"""The tensors' shapes, in turn."""

LONG = 2049
"""Elements of a tensor that several threads may share; no block's length divides it."""

LENGTHS: Mapping[str, Sequence[Sequence[int]]] = {
    "long_first": ((LONG,), (3,)),
    "long_last": ((3,), (LONG,)),
    "long_between": ((2, 2), (3, 700), ()),
    "long_around": ((LONG,), (1, 3), (0,), (700, 3)),
    "long_alike": ((LONG,), (LONG,)),
    "sixteen": (*((2,), (LONG,), (), (5,)) * 2, *((3,), (1,), (2, 2), (33,)) * 2),
}
"""Tensors of some elements and of thousands in one node."""

CONSTANT_VALUES = ("varied", "equal", "zeros")
CONSTANT_SHAPES: Mapping[str, Sequence[int]] = {"2x2": (2, 2), "row": (1, 3), "one": (1,), "0d": ()}


def extremes(op_type: str) -> Declaration:
    """R and each attribute by itself at 0, -0, a subnormal and a huge value, the others as usual."""
    scalars = ("R", *(name for name, value in USUAL[op_type].items() if isinstance(value, float)))
    return Declaration(
        {"scalar": scalars, "extreme": tuple(EXTREMES), "T": tuple(COUNTS), "types": ("float", "double")},
        left_out=(LeftOut("a NaN or an infinity as an attribute", "The page speaks of no such coefficients."),),
    )


def many_tensors(op_type: str) -> Declaration:
    """One node for many tensors."""
    del op_type  # all optimizers take as many
    return Declaration({"tensors": tuple(NUMBERS), "shapes": tuple(SHAPES), "types": ("float", "double")})


def lengths(op_type: str) -> Declaration:
    """One node for tensors that need one block of a loop and for tensors that need many."""
    del op_type  # all optimizers take such
    return Declaration({"lengths": tuple(LENGTHS), "types": ("float", "double")})


def constant_sets(op_type: str) -> Mapping[str, Sequence[str]]:
    """Which operands are constants, by word: each by itself, and several."""
    operands = TRAINING_OPTIMIZERS[op_type].operands
    several = {"X_and_state": [name for name in operands if name != "G"], "all_but_G": ["R", "T", *operands]}
    several["all_but_G"].remove("G")
    return {**{name: [name] for name in ("R", "T", *operands)}, **several}


def constants(op_type: str) -> Declaration:
    """Operands that are constants, which a runtime may compute with before it runs."""
    return Declaration(
        {
            "constant": tuple(constant_sets(op_type)),
            "origin": ("initializer", "constant", "overridable"),
            "values": CONSTANT_VALUES,
            "shape": tuple(CONSTANT_SHAPES),
            "types": ("float", "double"),
        },
        left_out=(LeftOut("all operands", "An optimizer without a gradient that is fed has nothing to do."),),
    )


def readers(op_type: str) -> Declaration:
    """Operands that another node reads, and nothing else besides: who writes into an operand is noticed."""
    del op_type  # all optimizers have such
    read = tuple(word for word in READ_BY_ANOTHER if word != "none")
    return Declaration({"read_by_another": read, "types": ("float", "double")})
