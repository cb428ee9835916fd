"""The declaration of the family `pairwise`: T, types, tensors and attributes, the usual and the neutral, of one node.

Here are the words and what they may not meet; `generators/training_optimizers/matrix.py` makes cases of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.dimensions.factors import Declaration, LeftOut, Meeting
from conformance.dimensions.training import TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COUNTS = {"negative": -3, "0": 0, "1": 1, "2": 2, "1000": 1000, "2p32_plus_1": 2**32 + 1}

ABOVE_0 = ("1", "2", "1000", "2p32_plus_1")

TENSORS: Mapping[str, Sequence[Sequence[int]]] = {
    "0d": ((),),
    "vector": ((7,),),
    "matrix": ((2, 3),),
    "two": ((3,), (2, 2)),
    "three": ((2,), (0, 2), (1, 3)),
    "eight": ((1,), (2,), (3,), (2, 2), (5,), (1, 2, 3), (), (7,)),
}

ORDINARY: Sequence[float] = (1.0,)

SCALES: Mapping[str, Sequence[float]] = {
    "ordinary": ORDINARY,
    "zeros": ORDINARY,
    "large": (2.0**20,),
    "small": (2.0**-20,),
    "mixed": (2.0**-8, 1.0, 2.0**8, 2.0**-4, 2.0**4),
}
"""What the usual values are multiplied by, element by element in turn: X, G and V by it, H by its square."""

DATA_SETS = {"one": (1.0,), "three": (1.0, 2.0, 0.5)}
"""What R is multiplied by in each data set; the second has the T before, so that a kept one shows."""

ATTRIBUTES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "Adam": {
        "alpha": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.75, "extreme": 0.984375},
        "beta": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.5, "extreme": 0.9998779296875},
        "epsilon": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.0625, "extreme": 1e-30},
        "norm_coefficient": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.25, "extreme": -0.5},
        "norm_coefficient_post": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.125, "extreme": -0.5},
    },
    "Momentum": {
        "alpha": {"zero": 0.0, "one": 1.0, "usual": 0.75, "extreme": 1.5},
        "beta": {"zero": 0.0, "one": 1.0, "usual": 0.5, "extreme": -2.0},
        "norm_coefficient": {"zero": 0.0, "one": 1.0, "usual": 0.25, "extreme": -0.5},
        "mode": {"standard": "standard", "nesterov": "nesterov"},
    },
    "Adagrad": {
        "decay_factor": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.5, "extreme": 2.0**-20},
        "epsilon": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.0625, "extreme": 1e-30},
        "norm_coefficient": {"default": None, "zero": 0.0, "one": 1.0, "usual": 0.25, "extreme": -0.5},
    },
}
"""The values of each attribute by their word; None where the model leaves it out."""

WITHOUT_ROOT = Meeting({"epsilon": ("zero",), "values": ("zeros",)}, "H_new may be 0, and the step is divided by it.")

EXCLUDED: Mapping[str, Sequence[Meeting]] = {
    "Adam": (
        Meeting({"alpha": ("one",), "T": ABOVE_0}, "1 - alpha**T is 0, and V_new is divided by it."),
        WITHOUT_ROOT,
    ),
    "Adagrad": (WITHOUT_ROOT,),
}
"""What no `must` case can rest on; the families of special values have it at level should."""

HIDING: Mapping[str, Sequence[Meeting]] = {
    "Adam": (
        Meeting({"norm_coefficient_post": ("one",)}, "X_new is 0."),
        Meeting({"beta": ("one",), "T": ABOVE_0}, "Sqrt(1 - beta**T) is 0, so X_new has no step."),
    ),
    "Momentum": (Meeting({"alpha": ("zero",), "beta": ("zero",), "mode": ("standard",), "T": ABOVE_0}, "V_new is 0."),),
}

LEFT_OUT: Mapping[str, Sequence[LeftOut]] = {
    "Momentum": (LeftOut("an attribute that the model leaves out", "All four are required."),),
    "Adagrad": (
        LeftOut(
            "T below 0",
            "1 + T * decay_factor may be 0: `test_adagrad_t_negative_double` and `test_adagrad_t_least_*` have it.",
        ),
    ),
}


def pairwise(op_type: str) -> Declaration:
    """What one node's types, T, tensors, attributes and data may be."""
    return Declaration(
        factors={
            "types": tuple(TYPES),
            "T": tuple(count for count in COUNTS if op_type != "Adagrad" or COUNTS[count] >= 0),
            "tensors": tuple(TENSORS),
            **{name: tuple(values) for name, values in ATTRIBUTES[op_type].items()},
            "values": tuple(SCALES),
            "data_sets": tuple(DATA_SETS),
        },
        excluded=EXCLUDED.get(op_type, ()),
        hiding=HIDING.get(op_type, ()),
        left_out=LEFT_OUT.get(op_type, ()),
    )
