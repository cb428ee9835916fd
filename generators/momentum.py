"""Cases of Momentum, in both its modes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from conformance.generation.models import TYPES
from conformance.verdicts import Level
from generators.training_optimizers.families import FLOATS, shared
from generators.training_optimizers.graphs import structures
from generators.training_optimizers.matrix import Matrix
from generators.training_optimizers.operator import FunctionCase, Operator, OperatorSetting, TrainingRun, optimizer_case
from generators.training_optimizers.page_examples import upstream_case
from generators.training_optimizers.preparing import preparations
from generators.training_optimizers.sizes import sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.case import Case

USUAL = {"alpha": 0.75, "beta": 0.5, "mode": "standard", "norm_coefficient": 0.25}
NESTEROV = {**USUAL, "mode": "nesterov"}

RUN = {"alpha": 0.5, "beta": 0.75, "norm_coefficient": 0.0}
"""The attributes of training runs, but for the mode."""

OPERATOR = Operator(
    "Momentum",
    usual=USUAL,
    step="x_new_standard",
    state=("x_new_standard", "v_new"),
    lookalikes=("NesterovMomentum", "dampening"),
    functions=(
        FunctionCase("standard", "mode standard", ("x_new_standard", "mode"), USUAL),
        FunctionCase("nesterov", "mode nesterov", ("x_new_nesterov", "mode"), NESTEROV),
        FunctionCase(
            "two_tensors", "two tensors", ("several_tensors", "operands", "results"), NESTEROV, ((2,), (2, 2))
        ),
    ),
    runs=(
        TrainingRun(
            "momentum",
            {**RUN, "mode": "standard"},
            0.03125,
            ("x_new_standard", "v_new", "beta_adjusted", "results"),
        ),
        TrainingRun(
            "momentum_nesterov",
            {**RUN, "mode": "nesterov"},
            0.03125,
            ("x_new_nesterov", "v_new", "beta_adjusted", "results"),
        ),
    ),
)

MODES = {"standard": "x_new_standard", "nesterov": "x_new_nesterov"}

NEUTRAL = {"alpha": 0.0, "beta": 1.0, "norm_coefficient": 0.0}

ALONE = {"alpha": (0.625, "v_new"), "norm_coefficient": (0.5, "g_regularized")}
"""Attributes away from neutral alone: the value and the chief clause; that of beta is the update counts' own."""

MATRIX = Matrix(OPERATOR, ("v_new", "beta_adjusted", "g_regularized", "mode"))


def cases() -> Iterator[Case]:
    """All cases of Momentum."""
    yield from _upstream()
    yield from shared(OPERATOR, {True: ("beta_adjusted", "v_new"), False: ("t_switch", "v_new")})
    yield from structures(OPERATOR)
    yield from preparations(OPERATOR)
    yield from sizes(OPERATOR)
    yield from MATRIX.cases()
    yield from _attributes()
    yield from _special_values()


def _upstream() -> Iterator[Case]:
    one = {"X": [[1.2, 2.8]], "G": [[-0.94, -2.5]], "V": [[1.7, 3.6]]}
    two = {"X": [[1.0], [1.0, 2.0]], "G": [[-1.0], [-1.0, -3.0]], "V": [[2.0], [4.0, 1.0]]}
    yield upstream_case(
        OPERATOR,
        "test_momentum",
        "Momentum computes the standard example of its page",
        ("x_new_standard", "v_new", "mode"),
        {"alpha": 0.95, "beta": 0.1, "mode": "standard", "norm_coefficient": 0.001},
        one,
    )
    yield upstream_case(
        OPERATOR,
        "test_nesterov_momentum",
        "Momentum computes the Nesterov example of its page",
        ("x_new_nesterov", "v_new", "mode"),
        {"alpha": 0.95, "beta": 1.0, "mode": "nesterov", "norm_coefficient": 0.01},
        one,
    )
    yield upstream_case(
        OPERATOR,
        "test_momentum_multiple",
        "Momentum computes the two-tensor example of its page",
        ("several_tensors", "operands", "results"),
        {"alpha": 0.95, "beta": 0.85, "mode": "standard", "norm_coefficient": 0.001},
        two,
    )


def _attributes() -> Iterator[Case]:
    """One attribute away from its neutral value, and all as people set them."""
    for name, (value, clause) in ALONE.items():
        yield optimizer_case(
            OPERATOR,
            f"only_{name}_float",
            f"Momentum computes with {name} = {value} and the other attributes neutral",
            (clause, "x_new_nesterov"),
            {**NEUTRAL, "mode": "nesterov", name: value},
            OperatorSetting(),
            tags=("attributes", "mode"),
        )
    for dtype, (mode, step) in zip(FLOATS, MODES.items(), strict=True):
        yield optimizer_case(
            OPERATOR,
            f"float32_attributes_{mode}_{TYPES[dtype]}",
            f"Momentum in mode {mode} computes with the float32 values of its attributes in {TYPES[dtype]}",
            ("attribute_type", "v_new", step),
            {"alpha": 0.9, "beta": 0.7, "mode": mode, "norm_coefficient": 0.01},
            OperatorSetting(dtype, counts=(0, 7)),
            tags=("attributes", "mode"),
        )


def _special_values() -> Iterator[Case]:
    """What IEEE 754 decides: a zero coefficient of a NaN, and subnormal state."""
    unregularized = {**OPERATOR.usual, "norm_coefficient": 0.0}
    for dtype in FLOATS:
        least = float(np.finfo(dtype).smallest_subnormal)
        yield optimizer_case(
            OPERATOR,
            f"nan_in_x_unregularized_{TYPES[dtype]}",
            "Momentum multiplies a NaN in X by norm_coefficient = 0 and gets NaN",
            ("ieee", "g_regularized"),
            unregularized,
            OperatorSetting(dtype, operands={"X": [0.5, np.nan, 1.0, np.inf]}),
            Level.SHOULD,
            ("special_values", "nan"),
        )
        yield optimizer_case(
            replace(OPERATOR, rate=1.0),
            f"subnormal_v_{TYPES[dtype]}",
            f"Momentum keeps subnormals of V in {TYPES[dtype]}",
            ("ieee", "v_new"),
            {**unregularized, "alpha": 0.5},
            OperatorSetting(
                dtype, counts=(0,), operands={"X": 0.0, "G": 0.0, "V": [2 * least, -4 * least, 512 * least, 0.0]}
            ),
            Level.SHOULD,
            ("special_values", "subnormal"),
        )
