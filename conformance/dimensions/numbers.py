"""The declaration for the training optimizers' numbers: R, T, attributes and data, on a node whose operands are inputs.

Values are such that a step is a fair part of X whatever the factors are, so that a wrong reading shows beside the
bound: R grows with 1 + T * decay_factor, and an attribute that is near one is so near that its power T is near a half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.dimensions.factors import Declaration, LeftOut, Meeting
from conformance.dimensions.training import TYPES, USUAL
from conformance.reference.operators.training import TRAINING_OPTIMIZERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.dimensions.factors import Row

COUNTS: Mapping[str, Sequence[int]] = {
    "first": (0, 1),
    "bytes": (127, 128),
    "hundreds": (100, 255, 256),
    "thousands": (2000, 32767, 32768),
    "million": (10**6,),
    "wide": (2**31, 2**53 + 1, 2**63 - 1),
}
"""T of each data set: the last that a narrower integer or a float holds, and the first that it does not."""

RATES = {"usual": 0.1, "negative": -0.1, "above_one": 2.5, "huge": 2.0**60}
"""R with all the bits of its type, which a narrower copy of it lacks, but for the huge one."""

WORDS: Mapping[str, Sequence[str]] = {
    "alpha": ("usual", "near_one", "above_one", "negative", "written"),
    "beta": ("usual", "near_one", "as_alpha", "negative", "written"),
    "epsilon": ("usual", "above_one", "negative", "written"),
    "norm_coefficient": ("usual", "above_one", "negative", "written"),
    "norm_coefficient_post": ("usual", "above_one", "negative", "written"),
    "decay_factor": ("usual", "by_count", "above_one", "negative", "written"),
}
"""What optional attributes are; `written` is the default, which the model then names."""

MOMENTUM_WORDS: Mapping[str, Sequence[str]] = {
    "alpha": ("usual", "near_one", "above_one", "negative"),
    "beta": ("usual", "as_alpha", "above_one", "negative"),
    "mode": ("standard", "nesterov"),
    "norm_coefficient": ("usual", "above_one", "negative"),
}

VALUES: Mapping[tuple[str, str], float] = {
    ("beta", "negative"): -0.125,
    ("beta", "above_one"): 1.5,
    ("epsilon", "above_one"): 2.5,
    ("epsilon", "negative"): -0.0625,
    ("norm_coefficient", "above_one"): 1.5,
    ("norm_coefficient", "negative"): -0.5,
    ("norm_coefficient_post", "above_one"): 1.5,
    ("norm_coefficient_post", "negative"): -0.5,
    ("decay_factor", "above_one"): 1.5,
}
"""Attributes by name and word, where these alone decide."""

BY_COUNT: Mapping[tuple[str, str], Callable[[float], float]] = {
    ("alpha", "near_one"): lambda near: 1 - near,
    ("alpha", "above_one"): lambda near: 1 + 2 * near,
    ("alpha", "negative"): lambda near: near - 1,
    ("beta", "near_one"): lambda near: 1 - near,
    ("decay_factor", "by_count"): lambda near: near,
    ("decay_factor", "negative"): lambda near: -3 * near,
}
"""Attributes whose power T, or product with T, would not show if they were the same for every T.

They are made of a power of two that is just below 1 / T, or of the last that float32 has beside 1.
"""

LAST_DIGIT = 24
"""Binary digits after the point of the float32 below 1 that is nearest to it."""

ORDERS = ("listed", "reversed", "rotated")
"""Of the attributes in the model; listed as the page lists them."""

SIGNS: Mapping[str, Mapping[str, Sequence[float]]] = {
    "mixed": {"X": (1, -1, 1, -1), "G": (1, 1, -1, -1), "V": (1, -1, -1, 1)},
    "same": {},
    "opposed": {"G": (-1,), "V": (-1,)},
    "flat": {"G": (0,)},
    "fresh": {"G": (0,), "V": (0,), "H": (0,)},
}
"""What the magnitudes of an operand are multiplied by, element by element in turn; by 1 where nothing is said."""

NO_DIGIT_LEFT = "A power T of a number that is near one, computed in a loop, has no digit left that is certain."

NEAR_A_POLE = Meeting({"epsilon": ("negative",), "signs": ("fresh",)}, "What the step is divided by may be near zero.")

EXCLUDED: Mapping[str, Sequence[Meeting]] = {
    "Adam": (
        NEAR_A_POLE,
        Meeting({"T": ("wide",), "alpha": ("near_one", "above_one", "negative")}, NO_DIGIT_LEFT),
        Meeting({"T": ("wide",), "beta": ("near_one",)}, NO_DIGIT_LEFT),
        Meeting({"alpha": ("above_one",), "beta": ("as_alpha",)}, "1 - beta**T is negative, and its root a NaN."),
        Meeting({"alpha": ("negative",), "beta": ("as_alpha",)}, "H_new is negative, and its root a NaN."),
        Meeting({"beta": ("negative",), "signs": ("flat",)}, "H_new may be negative, and its root a NaN."),
    ),
    "Adagrad": (NEAR_A_POLE,),
}
"""What no `must` case can rest on; the families of special values have it at level should."""

HIDING: Mapping[str, Sequence[Meeting]] = {
    "Adam": (Meeting({"norm_coefficient": ("written",), "signs": ("fresh",)}, "There is no step."),),
    "Adagrad": (Meeting({"norm_coefficient": ("written",), "signs": ("flat", "fresh")}, "There is no step."),),
}

LEFT_OUT = (
    LeftOut("an attribute that the model leaves out", "`pairwise` has it, where the page gives a default."),
    LeftOut("T below 0", "`pairwise` has it; Adagrad's formula has a pole there."),
    LeftOut(
        "R and attributes of 0, -0, a subnormal or a huge value", "`extremes` has each by itself: they hide the rest."
    ),
    LeftOut("beta of Adam above 1", "1 - beta**T is negative for every T above 0, and its root a NaN."),
)


def numbers(op_type: str) -> Declaration:
    """What the numbers of an optimizer may be."""
    return Declaration(
        factors={
            "T": tuple(COUNTS),
            "R": tuple(RATES),
            **words_of(op_type),
            "signs": tuple(SIGNS),
            "types": tuple(TYPES),
            "order": ORDERS,
        },
        excluded=EXCLUDED.get(op_type, ()),
        hiding=HIDING.get(op_type, ()),
        left_out=LEFT_OUT,
    )


def words_of(op_type: str) -> Mapping[str, Sequence[str]]:
    """The words for each attribute of an optimizer, in the page's order."""
    return MOMENTUM_WORDS if op_type == "Momentum" else {name: WORDS[name] for name in USUAL[op_type]}


def attributes(op_type: str, row: Row) -> dict[str, Any]:
    """What the node of a row carries, in the row's order."""
    digits = min(max(max(COUNTS[row["T"]]).bit_length(), 3), LAST_DIGIT)
    values = {name: _attribute(op_type, name, row, 2.0**-digits) for name in words_of(op_type)}
    given = list(values.items())
    if row["order"] == "rotated":
        return dict(given[1:] + given[:1])
    return dict(given[::-1] if row["order"] == "reversed" else given)


def _attribute(op_type: str, name: str, row: Row, near: float) -> Any:
    word = row[name]
    if word == "as_alpha":
        return _attribute(op_type, "alpha", row, near)
    if word == "written":
        return TRAINING_OPTIMIZERS[op_type].defaults[name]
    if name == "mode":
        return word
    if (name, word) in BY_COUNT:
        return BY_COUNT[name, word](near)
    return USUAL[op_type][name] if word == "usual" else VALUES[name, word]
