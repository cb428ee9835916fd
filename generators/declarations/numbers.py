"""Families of training optimizer cases that vary numbers: R, T, attributes, shapes and data.

A family is a declaration of factors, with a builder of models and data for the rows of its covering array.

The values are chosen so that the update is a considerable part of X for all levels. Then a wrong interpretation exceeds
the bound. For this, R grows with 1 + T * decay_factor. An attribute near 1 is so near that its power T is about 1/2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from conformance.corpus.factors.connections import ALIAS_SIDES, ALIASES, Fragment
from conformance.corpus.factors.covering_array import LevelCombination
from conformance.corpus.factors.training_factors import (
    TYPES,
    USUAL_ATTRIBUTES,
    has_state,
    tensor_names,
)
from conformance.corpus.factors.wrapping import BuiltModel, Context, build_in_context
from conformance.exact.models.model_building import pseudo_random_array
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from generators.declarations.family import FamilyDeclaration, Omission
from generators.declarations.size_dimensions import PERIOD
from generators.declarations.training_dimensions import OPERAND_RANGES, OTHER_RATE, RATE, operand_shapes, usual_count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.corpus.factors.covering_array import Row
    from conformance.exact.models.arrays import Array


UPDATE_COUNTS: Mapping[str, Sequence[int]] = {
    "first": (0, 1),
    "bytes": (127, 128),
    "hundreds": (100, 255, 256),
    "thousands": (2000, 32767, 32768),
    "million": (10**6,),
    "wide": (2**31, 2**53 + 1, 2**63 - 1),
}
"""Values of T in the data sets by level: around the limits of narrower integers and of floats."""

LEARNING_RATES = {"usual": 0.1, "negative": -0.1, "above_one": 2.5, "huge": 2.0**60, "tiny": 1e-8}
"""Values of R by level. Except `huge`, they use all bits of a type, so a narrower copy of R differs."""

MINUS_ONE = "minus_one"
"""Level of each attribute: -1, which some programs use as a mark for an omitted attribute."""

ATTRIBUTE_LEVELS: Mapping[str, Sequence[str]] = {
    "alpha": ("usual", "near_one", "above_one", "negative", "written", MINUS_ONE),
    "beta": ("usual", "near_one", "as_alpha", "negative", "written", MINUS_ONE),
    "epsilon": ("usual", "above_one", "negative", "written", MINUS_ONE),
    "norm_coefficient": ("usual", "above_one", "negative", "written", MINUS_ONE),
    "norm_coefficient_post": ("usual", "above_one", "negative", "written", MINUS_ONE),
    "decay_factor": ("usual", "by_count", "above_one", "negative", "written", MINUS_ONE),
}
"""Levels of each attribute. `written`: the model states the default value explicitly."""

MOMENTUM_ATTRIBUTE_LEVELS: Mapping[str, Sequence[str]] = {
    "alpha": ("usual", "near_one", "above_one", "negative", MINUS_ONE),
    "beta": ("usual", "as_alpha", "above_one", "negative", MINUS_ONE),
    "mode": ("standard", "nesterov"),
    "norm_coefficient": ("usual", "above_one", "negative", MINUS_ONE),
}
"""Levels of Momentum's attributes, all of which are required."""

ATTRIBUTE_VALUES: Mapping[tuple[str, str], float] = {
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
"""Attribute values by name and level that do not depend on T."""

COUNT_DEPENDENT_VALUES: Mapping[tuple[str, str], Callable[[float], float]] = {
    ("alpha", "near_one"): lambda near: 1 - near,
    ("alpha", "above_one"): lambda near: 1 + 2 * near,
    ("alpha", "negative"): lambda near: near - 1,
    ("beta", "near_one"): lambda near: 1 - near,
    ("decay_factor", "by_count"): lambda near: near,
    ("decay_factor", "negative"): lambda near: -3 * near,
}
"""Functions that compute attribute values by name and level from a number near 1 / T.

The number is the largest power of two below 1 / T, but at least the float32 spacing below 1. With a fixed value
instead, the power T of the attribute, or its product with T, would not affect the result measurably.
"""

FLOAT32_PRECISION = 24
"""Number of significant bits of float32: 1 - 2**-24 is the largest float32 below 1."""

ATTRIBUTE_ORDERS = ("listed", "reversed", "rotated")
"""Orders of the attributes in the model. `listed` is the order of the specification."""

SIGNS: Mapping[str, Mapping[str, Sequence[float]]] = {
    "mixed": {"X": (1, -1, 1, -1), "G": (1, 1, -1, -1), "V": (1, -1, -1, 1)},
    "same": {},
    "opposed": {"G": (-1,), "V": (-1,)},
    "flat": {"G": (0,)},
    "fresh": {"G": (0,), "V": (0,), "H": (0,)},
}
"""Signs of each operand by level, applied to the magnitudes cyclically. The default is 1."""

CANCELLATION_REASON = "A power T of a number near 1, computed in a loop, has no correct digit."

NEAR_A_POLE = LevelCombination(
    {"epsilon": ("negative", MINUS_ONE), "signs": ("fresh",)}, "The divisor of the update may be near 0."
)

EVEN_COUNTS = ("bytes", "hundreds", "thousands", "million", "wide")
"""Levels of T with an even number above 0, of which -1 has the power 1."""

FORBIDDEN: Mapping[str, Sequence[LevelCombination]] = {
    "Adam": (
        NEAR_A_POLE,
        LevelCombination({"T": ("wide",), "alpha": ("near_one", "above_one", "negative")}, CANCELLATION_REASON),
        LevelCombination({"T": ("wide",), "beta": ("near_one",)}, CANCELLATION_REASON),
        LevelCombination(
            {"alpha": ("above_one",), "beta": ("as_alpha",)}, "1 - beta**T is negative, so its square root is NaN."
        ),
        LevelCombination(
            {"alpha": ("negative", MINUS_ONE), "beta": ("as_alpha",)}, "H_new is negative, so its square root is NaN."
        ),
        LevelCombination(
            {"beta": ("negative", MINUS_ONE), "signs": ("flat",)}, "H_new may be negative, so its square root is NaN."
        ),
        LevelCombination({"beta": (MINUS_ONE,), "epsilon": (MINUS_ONE,)}, "The divisor of the update may be near 0."),
        LevelCombination({"alpha": (MINUS_ONE,), "T": EVEN_COUNTS}, "1 - alpha**T is 0, and V_new is divided by it."),
        LevelCombination(
            {"beta": (MINUS_ONE,), "T": EVEN_COUNTS}, "1 - beta**T is 0, and rounding decides whether its root is NaN."
        ),
    ),
    "Adagrad": (
        NEAR_A_POLE,
        LevelCombination({"decay_factor": (MINUS_ONE,), "T": ("first",)}, "1 + T * decay_factor is 0 for T = 1."),
    ),
}
"""Combinations for which no `must` result exists. Cases with special values test them at level `should`."""

MASKING: Mapping[str, Sequence[LevelCombination]] = {
    "Adam": (LevelCombination({"norm_coefficient": ("written",), "signs": ("fresh",)}, "The update of X is 0."),),
    "Adagrad": (
        LevelCombination({"norm_coefficient": ("written",), "signs": ("flat", "fresh")}, "The update of X is 0."),
    ),
}

TINY_X = 2.0**-26
"""Factor of X if R is tiny, so that the update is a considerable part of X."""

OMISSIONS = (
    Omission("an attribute that the model omits", "`pairwise` tests this for attributes with a default."),
    Omission("T below 0", "`pairwise` tests this; Adagrad's formula has a pole there."),
    Omission(
        "R and attributes of 0, -0, a subnormal or a huge value",
        "`extremes_declaration` has each by itself: they hide the rest.",
    ),
    Omission("beta of Adam above 1", "1 - beta**T is negative for every T above 0, so its square root is NaN."),
)


def numbers_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `numbers`: R, T, attributes and signs of the operands."""
    return FamilyDeclaration(
        factors={
            "T": tuple(UPDATE_COUNTS),
            "R": tuple(LEARNING_RATES),
            **attribute_levels(op_type),
            "signs": tuple(SIGNS),
            "types": tuple(TYPES),
            "order": ATTRIBUTE_ORDERS,
        },
        forbidden=FORBIDDEN.get(op_type, ()),
        masking=MASKING.get(op_type, ()),
        omissions=OMISSIONS,
        added={
            "R": ("tiny",),
            **{name: (MINUS_ONE,) for name, levels in attribute_levels(op_type).items() if MINUS_ONE in levels},
        },
    )


def attribute_levels(op_type: str) -> Mapping[str, Sequence[str]]:
    """Return the levels of each attribute (a factor) of an optimizer, in the order of the specification."""
    return (
        MOMENTUM_ATTRIBUTE_LEVELS
        if op_type == "Momentum"
        else {name: ATTRIBUTE_LEVELS[name] for name in USUAL_ATTRIBUTES[op_type]}
    )


def row_attributes(op_type: str, row: Row) -> dict[str, Any]:
    """Return the attributes of the node for a row, in the order that the row's levels define."""
    digits = min(max(max(UPDATE_COUNTS[row["T"]]).bit_length(), 3), FLOAT32_PRECISION)
    values = {name: _attribute(op_type, name, row, 2.0**-digits) for name in attribute_levels(op_type)}
    given = list(values.items())
    if row["order"] == "rotated":
        return dict(given[1:] + given[:1])
    return dict(given[::-1] if row["order"] == "reversed" else given)


def _attribute(op_type: str, name: str, row: Row, near: float) -> Any:
    level = row[name]
    if level == "as_alpha":
        return _attribute(op_type, "alpha", row, near)
    if level == MINUS_ONE:
        return -1.0
    if level == "written":
        return TRAINING_OPTIMIZERS[op_type].defaults[name]
    if name == "mode":
        return level
    if (name, level) in COUNT_DEPENDENT_VALUES:
        return COUNT_DEPENDENT_VALUES[name, level](near)
    return USUAL_ATTRIBUTES[op_type][name] if level == "usual" else ATTRIBUTE_VALUES[name, level]


EXTREME_VALUES: Mapping[str, float] = {"zero": 0.0, "minus_zero": -0.0, "subnormal": 2.0**-140, "huge": 2.0**100}
"""Extreme float32 values by level. Attributes are float32 for every tensor type."""

EXTREME_COUNTS = {"0": 0, "2": 2}

TENSOR_COUNTS: Mapping[str, int] = {"9": 9, "17": 17, "40": 40}
"""Numbers of tensors by level: just above typical fixed array lengths and the bits of a mask."""

TENSOR_SHAPES: Mapping[str, Sequence[Sequence[int]]] = {"alike": ((2,),), "varied": ((2,), (0,), (), (1, 2), (2,))}
"""Shapes of the tensors by level, used cyclically."""

LONG_SIZE = 2049
"""Number of elements of a tensor that several threads may share. No block size divides it."""

TENSOR_LENGTHS: Mapping[str, Sequence[Sequence[int]]] = {
    "long_first": ((LONG_SIZE,), (3,)),
    "long_last": ((3,), (LONG_SIZE,)),
    "long_between": ((2, 2), (3, 700), ()),
    "long_around": ((LONG_SIZE,), (1, 3), (0,), (700, 3)),
    "long_alike": ((LONG_SIZE,), (LONG_SIZE,)),
    "sixteen": (*((2,), (LONG_SIZE,), (), (5,)) * 2, *((3,), (1,), (2, 2), (33,)) * 2),
}
"""Shapes of tensors with few and with thousands of elements in one node, by level."""

SPARSE_SOURCES = ("sparse_constant", "sparse_coordinates")
"""Constants with a sparse value: with positions as indices, and with coordinates. Every second element is 0."""

CONSTANT_VALUES = ("varied", "equal", "zeros")
CONSTANT_SHAPES: Mapping[str, Sequence[int]] = {"2x2": (2, 2), "row": (1, 3), "one": (1,), "0d": ()}


def extremes_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `extreme`: R or one attribute is 0, -0, subnormal or huge; others are usual."""
    scalars = ("R", *(name for name, value in USUAL_ATTRIBUTES[op_type].items() if isinstance(value, float)))
    return FamilyDeclaration(
        {"scalar": scalars, "extreme": tuple(EXTREME_VALUES), "T": tuple(EXTREME_COUNTS), "types": ("float", "double")},
        omissions=(
            Omission("a NaN or an infinity as an attribute", "The specification does not mention such coefficients."),
        ),
    )


def many_tensors_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `many_tensors`: one node that optimizes many tensors."""
    del op_type
    return FamilyDeclaration(
        {"tensors": tuple(TENSOR_COUNTS), "shapes": tuple(TENSOR_SHAPES), "types": ("float", "double")}
    )


def lengths_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `lengths`: one node with short and long tensors."""
    del op_type
    return FamilyDeclaration({"lengths": tuple(TENSOR_LENGTHS), "types": ("float", "double")})


def constant_sets(op_type: str) -> Mapping[str, Sequence[str]]:
    """Return the operands that are constants, by level of the factor: each operand alone, and several together."""
    operands = TRAINING_OPTIMIZERS[op_type].operands
    several = {"X_and_state": [name for name in operands if name != "G"], "all_but_G": ["R", "T", *operands]}
    several["all_but_G"].remove("G")
    if not has_state(op_type):
        del several["X_and_state"]
    return {**{name: [name] for name in ("R", "T", *operands)}, **several}


def constants_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `constants`: constant operands, which a runtime may fold at load time."""
    return FamilyDeclaration(
        {
            "constant": tuple(constant_sets(op_type)),
            "source": ("initializer", "constant", "overridable", "sparse_constant", "sparse_coordinates"),
            "values": CONSTANT_VALUES,
            "shape": tuple(CONSTANT_SHAPES),
            "types": ("float", "double"),
        },
        forbidden=(
            LevelCombination(
                {"source": SPARSE_SOURCES, "constant": ("R", "T", "all_but_G")}, "ONNX's sparse format has no scalars."
            ),
            LevelCombination({"source": SPARSE_SOURCES, "shape": ("0d",)}, "ONNX's sparse format has no scalars."),
        ),
        added={"source": SPARSE_SOURCES},
        omissions=(Omission("all operands", "Without an input, the result is a constant."),),
    )


def aliases_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `aliases`: an operand has a second name, and its memory may be shared.

    Another node reads the other name after the optimizer. A runtime that writes a result into the memory of an operand
    without further readers must look for other names of that memory.
    """
    return FamilyDeclaration(
        {
            "operand": ("R", "T", *TRAINING_OPTIMIZERS[op_type].operands),
            "alias": tuple(ALIASES),
            "side": ALIAS_SIDES,
            "types": ("float", "double"),
        },
        forbidden=(LevelCombination({"operand": ("T",), "alias": ("dropout",)}, "Dropout does not accept integers."),),
    )


def fed_defaults_declaration(op_type: str) -> FamilyDeclaration:
    """Return the factors of the family `fed_defaults`: the caller feeds operands that have an initializer."""
    return FamilyDeclaration({"fed": tuple(constant_sets(op_type)), "types": ("float",)})


MAGNITUDES: Mapping[str, tuple[float, float]] = {
    "X": (0.125, 0.375),
    "G": (1.0, 2.0),
    "V": (0.25, 0.75),
    "H": (0.25, 0.5),
}
"""Ranges of the magnitudes in the family `numbers`. G outweighs its regularisation and the subtracted state."""

ELEMENT_COUNT = 4


def build_numbers(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model for a row of the covering array of `numbers_declaration`, with a data set for each T."""
    own, rate = TYPES[row["types"]]
    attributes = row_attributes(op_type, row)
    signs = SIGNS[row["signs"]]
    operands = [
        {
            "R": np.array(LEARNING_RATES[row["R"]] * _rate_factor(attributes, T), dtype=rate),
            "T": np.array(T, dtype=np.int64),
            **{
                operand: _signed_magnitudes(
                    f"{name}/{T}/{operand}", own, *MAGNITUDES[operand], signs.get(operand, (1,))
                )
                * own(TINY_X if operand == "X" and row["R"] == "tiny" else 1)
                for operand in TRAINING_OPTIMIZERS[op_type].operands
            },
        }
        for T in UPDATE_COUNTS[row["T"]]
    ]
    return build_node(op_type, name, attributes, operands)


def build_extreme(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `extremes_declaration`."""
    own, _ = TYPES[row["types"]]
    extreme = EXTREME_VALUES[row["extreme"]]
    scalar = row["scalar"]
    attributes = {**USUAL_ATTRIBUTES[op_type], **({scalar: extreme} if scalar != "R" else {})}
    scalars = scalar_operands(extreme if scalar == "R" else RATE, EXTREME_COUNTS[row["T"]], own)
    return build_node(
        op_type, name, attributes, [{**scalars, **tensor_operands(op_type, name, own, [(ELEMENT_COUNT,)])}]
    )


def build_many_tensors(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `many_tensors_declaration`."""
    own, _ = TYPES[row["types"]]
    shapes = TENSOR_SHAPES[row["shapes"]]
    chosen = [shapes[place % len(shapes)] for place in range(TENSOR_COUNTS[row["tensors"]])]
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensor_operands(op_type, name, own, chosen)}
    return build_node(op_type, name, USUAL_ATTRIBUTES[op_type], [operands])


def build_lengths(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `lengths_declaration`.

    Long tensors repeat their first `PERIOD` elements.
    """
    own, _ = TYPES[row["types"]]
    tensors = {
        operand: np.resize(array.reshape(-1)[:PERIOD], array.shape) if array.size else array
        for operand, array in tensor_operands(op_type, name, own, TENSOR_LENGTHS[row["lengths"]]).items()
    }
    return build_node(
        op_type, name, USUAL_ATTRIBUTES[op_type], [{**scalar_operands(RATE, usual_count(op_type, own), own), **tensors}]
    )


def build_constants(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `constants_declaration`."""
    own, _ = TYPES[row["types"]]
    shape = CONSTANT_SHAPES[row["shape"]]
    operands = {**scalar_operands(RATE, usual_count(op_type, own), own), **tensor_operands(op_type, name, own, [shape])}
    constant = constant_sets(op_type)[row["constant"]]
    value = {"equal": 0.5, "zeros": 0.0}.get(row["values"])
    for operand in constant:
        if value is not None and operand not in {"R", "T"}:
            operands[operand] = np.full(shape, value, dtype=own)
        if row["source"] in SPARSE_SOURCES:
            operands[operand].reshape(-1)[1::2] = 0
    source = "sparse_constant" if row["source"] in SPARSE_SOURCES else row["source"]
    stored = "typed" if row["source"] == "sparse_coordinates" else "raw"
    context = Context(sources=dict.fromkeys(constant, source), stored=stored)
    return build_node(op_type, name, USUAL_ATTRIBUTES[op_type], [operands], context)


def build_aliases(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `aliases_declaration`."""
    own, _ = TYPES[row["types"]]
    operands = {
        **scalar_operands(RATE, usual_count(op_type, own), own),
        **tensor_operands(op_type, name, own, [(2, 2)]),
    }
    context = Context(sources={row["operand"]: f"{row['alias']}_{row['side']}"})
    return build_node(op_type, name, USUAL_ATTRIBUTES[op_type], [operands], context)


def build_fed_defaults(op_type: str, name: str, row: Row) -> BuiltModel:
    """Build the model and data for a row of the covering array of `fed_defaults_declaration`, with two runs."""
    own, _ = TYPES[row["types"]]
    runs = [
        {**scalar_operands(rate, count, own), **tensor_operands(op_type, f"{name}/{count}", own, [(2, 2)])}
        for rate, count in ((RATE, 2), (OTHER_RATE, 3))
    ]
    context = Context(sources=dict.fromkeys(constant_sets(op_type)[row["fed"]], "overridden"))
    return build_node(op_type, name, USUAL_ATTRIBUTES[op_type], runs, context)


def scalar_operands(R: float, T: int, dtype: Any) -> dict[str, Array]:
    """Return the operands R and T of a node."""
    return {"R": np.array(R, dtype=dtype), "T": np.array(T, dtype=np.int64)}


def tensor_operands(op_type: str, name: str, dtype: Any, shapes: Sequence[Sequence[int]]) -> dict[str, Array]:
    """Return pseudo-random operands of tensors of these shapes, in their usual ranges."""
    return {
        operand: pseudo_random_array(f"{name}/{operand}", shape, dtype, *OPERAND_RANGES[operand[0]])
        for operand, shape in operand_shapes(TRAINING_OPTIMIZERS[op_type].operands, shapes).items()
    }


def _signed_magnitudes(seed: str, dtype: Any, low: float, high: float, signs: Sequence[float]) -> Array:
    return np.asarray(
        pseudo_random_array(seed, (ELEMENT_COUNT,), dtype, low, high)
        * np.resize(np.array(signs, dtype=dtype), ELEMENT_COUNT)
    )


def _rate_factor(attributes: Mapping[str, Any], T: int) -> float:
    """Return the number by which R is multiplied, so that the update is a considerable part of X."""
    return max(1.0, abs(1 + T * float(attributes.get("decay_factor", 0.0))))


def build_node(
    op_type: str,
    name: str,
    attributes: Mapping[str, Any],
    data_sets: Sequence[Mapping[str, Array]],
    context: Context | None = None,
) -> BuiltModel:
    """Build a model with one optimizer node, and its data.

    Args:
        op_type: type of the optimizer.
        name: name of the graph.
        attributes: attributes of the node.
        data_sets: operands of each run.
        context: the graph around the node.
    """
    optimizer = TRAINING_OPTIMIZERS[op_type]
    operands = dict(data_sets[0])
    tensors = list(operands.values())[2:]
    count = len(tensors) // len(optimizer.operands)
    results = {result: tensors[place % count] for place, result in enumerate(tensor_names(optimizer.results, count))}
    node = helper.make_node(op_type, list(operands), list(results), domain=optimizer.domain)
    node.attribute.extend(helper.make_attribute(*attribute) for attribute in attributes.items())
    fragment = Fragment((node,), operands, results, {optimizer.domain: optimizer.version})
    if context is not None:
        return build_in_context(name, fragment, context, data_sets[1:])
    return BuiltModel(
        build_in_context(name, fragment, Context()).model, tuple(tuple(each.values()) for each in data_sets)
    )
