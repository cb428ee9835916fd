"""Cases of Adam."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.verdicts import Level
from generators.families import FLOATS, shared
from generators.models import TYPES
from generators.optimizers import Operator, Setting, optimizer_case
from generators.structures import structures
from generators.upstream import upstream_case

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.case import Case

ADAM = Operator(
    "Adam",
    usual={"alpha": 0.75, "beta": 0.5, "epsilon": 0.0625, "norm_coefficient": 0.25, "norm_coefficient_post": 0.125},
)

ALONE = {
    "alpha": (0.625, "v_new", 2),
    "beta": (0.625, "h_new", 2),
    "epsilon": (0.25, "h_sqrt", 2),
    "norm_coefficient": (0.5, "g_regularized", 2),
    "norm_coefficient_post": (0.25, "x_final", 2),
}
"""Each attribute set alone: its value, the chief clause it bears on, and T."""

EXTREMES = {
    "alpha": (0.0, 0.25, 0.984375),
    "beta": (0.0, 0.25, 0.9998779296875),
    "epsilon": (0.0, 1.0, 1e-30),
    "norm_coefficient": (0.0, 1.0, -0.5),
    "norm_coefficient_post": (0.0, 1.0, -0.5),
}


def cases() -> Iterator[Case]:
    """All cases of Adam."""
    yield from _upstream()
    yield from shared(ADAM, {True: ("r_adjusted", "x_new"), False: ("t_switch", "x_new")})
    yield from structures(ADAM)
    yield from _attributes()
    yield from _natural_attributes()
    yield from _alpha_one_below_t_0()
    yield _inexact_weights()
    yield from _division_by_zero()
    yield from _overflow()


def _upstream() -> Iterator[Case]:
    yield upstream_case(
        ADAM,
        "test_adam",
        "Adam computes the example of its page",
        ("x_new", "v_new", "h_new"),
        {"alpha": 0.95, "beta": 0.1, "epsilon": 1e-7, "norm_coefficient": 0.001},
        {"X": [[1.2, 2.8]], "G": [[-0.94, -2.5]], "V": [[1.7, 3.6]], "H": [[0.1, 0.1]]},
    )
    yield upstream_case(
        ADAM,
        "test_adam_multiple",
        "Adam computes the two-tensor example of its page, with the epsilon that the example names",
        ("several_tensors", "h_sqrt", "operands", "results"),
        {"alpha": 0.95, "beta": 0.85, "epsilon": 1e-2, "norm_coefficient": 0.001},
        {
            "X": [[1.0], [1.0, 2.0]],
            "G": [[-1.0], [-1.0, -3.0]],
            "V": [[2.0], [4.0, 1.0]],
            "H": [[0.5], [1.0, 10.0]],
        },
    )


def _attributes() -> Iterator[Case]:
    """Each attribute alone, each at its extremes beside the others, and all defaulted."""
    defaults = [f"{name}_default" for name in ALONE]
    for dtype in FLOATS:
        type = TYPES[dtype]
        for T in (0, 2):
            yield optimizer_case(
                ADAM,
                f"defaults_t{T}_{type}",
                f"Adam without attributes uses the schema's defaults in {type} at T = {T}",
                (*defaults, "attribute_type"),
                {},
                Setting(dtype, counts=(T,), operands={"H": [0.0, 1.0, 0.0, 2.0], "G": [1e-4, 1.0, -1e-5, 2.0]}),
                tags=("attributes", "defaults"),
            )
        for name, (value, clause, T) in ALONE.items():
            others = [default for default in defaults if not default.startswith(f"{name}_d")]
            yield optimizer_case(
                ADAM,
                f"only_{name}_{type}",
                f"Adam with only {name} set uses the defaults of the others in {type}",
                (clause, *others),
                {name: value},
                Setting(dtype, counts=(T,)),
                tags=("attributes",),
            )
            for place, extreme in zip(("zero", "one", "extreme"), EXTREMES[name], strict=True):
                yield optimizer_case(
                    ADAM,
                    f"{name}_{place}_{type}",
                    f"Adam computes with {name} = {extreme} in {type}",
                    (clause,),
                    {**ADAM.usual, name: extreme},
                    Setting(dtype),
                    tags=("attributes",),
                )


def _natural_attributes() -> Iterator[Case]:
    """Attributes as people set them: no float32 value of them is the decimal."""
    natural = {"alpha": 0.9, "beta": 0.999, "epsilon": 1e-3, "norm_coefficient": 0.01, "norm_coefficient_post": 0.1}
    for dtype in FLOATS:
        for level in (Level.MUST, Level.SHOULD) if dtype is np.float64 else (Level.MUST,):
            yield optimizer_case(
                ADAM,
                f"float32_attributes_{level}_{TYPES[dtype]}",
                f"Adam in {TYPES[dtype]} computes with the float32 values of its attributes",
                ("attribute_type", "r_adjusted"),
                natural,
                Setting(dtype, counts=(1, 7)),
                level,
                ("attributes",),
            )


def _alpha_one_below_t_0() -> Iterator[Case]:
    """1 - alpha**T is 0 for every T, and is not divided by where T is negative: a T read as unsigned would do so."""
    for dtype in FLOATS:
        yield optimizer_case(
            ADAM,
            f"alpha_one_t_negative_{TYPES[dtype]}",
            "Adam does not correct for bias where T is negative, so alpha = 1 divides nothing by zero",
            ("t_switch", "update_count_type"),
            {**ADAM.usual, "alpha": 1.0},
            Setting(dtype, counts=(-3,)),
            tags=("update_count",),
        )


def _inexact_weights() -> Case:
    """Neither 1 - alpha nor 1 - beta is a float32 value, so computing them in float shows in double."""
    return optimizer_case(
        ADAM,
        "inexact_weights_double",
        "Adam computes 1 - alpha and 1 - beta in the precision of double tensors",
        ("attribute_type", "v_new", "h_new"),
        {**ADAM.usual, "alpha": 0.3, "beta": 0.1},
        Setting(np.float64, counts=(0, 2)),
        Level.SHOULD,
        ("attributes",),
    )


def _division_by_zero() -> Iterator[Case]:
    """Where the pseudo-code divides by zero, or takes the root of a negative number, IEEE 754 says what comes out."""
    zero_h = {"X": [1.0, 1.0, 1.0, 1.0], "G": 0.0, "V": [1.0, -1.0, 0.0, 2.0], "H": 0.0}
    for dtype in FLOATS:
        type = TYPES[dtype]
        yield optimizer_case(
            ADAM,
            f"h_zero_epsilon_zero_{type}",
            "Adam divides by a zero H_sqrt as IEEE 754 does",
            ("ieee", "h_sqrt"),
            {**ADAM.usual, "epsilon": 0.0, "norm_coefficient": 0.0},
            Setting(dtype, counts=(0,), operands=zero_h),
            Level.SHOULD,
            ("special_values",),
        )
        yield optimizer_case(
            ADAM,
            f"alpha_one_t2_{type}",
            "Adam divides by 1 - alpha**T = 0 as IEEE 754 does",
            ("ieee", "r_adjusted"),
            {**ADAM.usual, "alpha": 1.0},
            Setting(dtype),
            Level.SHOULD,
            ("special_values",),
        )
        yield optimizer_case(
            ADAM,
            f"negative_h_{type}",
            "Adam gives NaN in X_new where H_new is negative",
            ("ieee", "h_sqrt"),
            ADAM.usual,
            Setting(dtype, operands={"H": [-40.0, 1.0, -100.0, 2.0]}),
            Level.SHOULD,
            ("special_values", "nan"),
        )
        yield optimizer_case(
            ADAM,
            f"nan_in_x_unregularized_{type}",
            "Adam multiplies a NaN in X by norm_coefficient = 0 and gets NaN",
            ("ieee", "g_regularized"),
            {**ADAM.usual, "norm_coefficient": 0.0},
            Setting(dtype, operands={"X": [0.5, np.nan, 1.0, np.inf]}),
            Level.SHOULD,
            ("special_values", "nan"),
        )


def _overflow() -> Iterator[Case]:
    for dtype, large in ((np.float32, 1e25), (np.float64, 1e200)):
        yield optimizer_case(
            ADAM,
            f"squared_gradient_overflows_{TYPES[dtype]}",
            "Adam gives infinite H_new where the squared gradient overflows, and no NaN in X_new",
            ("ieee", "h_new"),
            {**ADAM.usual, "norm_coefficient": 0.0},
            Setting(dtype, operands={"G": [large, 1.0, -large, 2.0]}),
            Level.SHOULD,
            ("special_values", "overflow"),
        )
