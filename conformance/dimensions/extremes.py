"""The declarations for the training optimizers' scalars at the ends of what floats hold, and for many tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.dimensions.factors import Declaration, LeftOut
from conformance.dimensions.training import USUAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXTREMES: Mapping[str, float] = {"zero": 0.0, "minus_zero": -0.0, "subnormal": 2.0**-140, "huge": 2.0**100}
"""Values of float32: attributes are of that type whatever the tensors are."""

COUNTS = {"0": 0, "2": 2}

NUMBERS: Mapping[str, int] = {"9": 9, "17": 17, "40": 40}
"""How many tensors: one more than what an array of fixed length, or a byte's bits, may hold."""

SHAPES: Mapping[str, Sequence[Sequence[int]]] = {"alike": ((2,),), "varied": ((2,), (0,), (), (1, 2), (2,))}
"""The tensors' shapes, in turn."""


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
