"""Cases of Momentum in both modes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from generators.generated_values import FLOAT_TYPE_NAMES
from generators.training_optimizers.operator import (
    FunctionCase,
    Operator,
    OperatorSetting,
    TrainingRun,
    optimizer_case,
    upstream_case,
)
from generators.training_optimizers.optimizer_families import (
    FLOATS,
    UNREGULARIZED,
    shared_cases,
    special_value_case,
)
from generators.training_optimizers.optimizer_graphs import graph_cases
from generators.training_optimizers.optimizer_preparation import preparation_cases
from generators.training_optimizers.optimizer_sizes import size_cases
from generators.training_optimizers.pairwise import PairwiseFamily

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.cases.case import Case

USUAL = {"alpha": 0.75, "beta": 0.5, "mode": "standard", "norm_coefficient": 0.25}
NESTEROV = {**USUAL, "mode": "nesterov"}

RUN = {"alpha": 0.5, "beta": 0.75, "norm_coefficient": 0.0}
"""Attributes of training runs, without the mode."""

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
"""Main clause of each mode."""

NEUTRAL = {"alpha": 0.0, "beta": 1.0, "norm_coefficient": 0.0}
"""Attribute values that have no effect."""

ALONE = {"alpha": (0.625, "v_new"), "norm_coefficient": (0.5, "g_regularized")}
"""Value and main clause for cases in which a single attribute is not neutral. Other cases test beta."""

MATRIX = PairwiseFamily(OPERATOR, ("v_new", "beta_adjusted", "g_regularized", "mode"))


def cases() -> Iterator[Case]:
    """Yield all cases of Momentum."""
    yield from _upstream_cases()
    yield from shared_cases(OPERATOR, {True: ("beta_adjusted", "v_new"), False: ("t_switch", "v_new")})
    yield from graph_cases(OPERATOR)
    yield from preparation_cases(OPERATOR)
    yield from size_cases(OPERATOR)
    yield from MATRIX.cases()
    yield from _attributes()
    yield from _special_values()


def _upstream_cases() -> Iterator[Case]:
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
    """Yield cases in which only one attribute affects the result, and cases with typical decimal attributes."""
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
            f"float32_attributes_{mode}_{FLOAT_TYPE_NAMES[dtype]}",
            f"Momentum in mode {mode} computes with the float32 values of its attributes in {FLOAT_TYPE_NAMES[dtype]}",
            ("attribute_type", "v_new", step),
            {"alpha": 0.9, "beta": 0.7, "mode": mode, "norm_coefficient": 0.01},
            OperatorSetting(dtype, counts=(0, 7)),
            tags=("attributes", "mode"),
        )


def _special_values() -> Iterator[Case]:
    """Yield cases whose result IEEE 754 defines: NaN multiplied by 0, and subnormal numbers in the state."""
    for dtype in FLOATS:
        effect = "multiplies a NaN in X by norm_coefficient = 0 and gets NaN"
        X = [0.5, np.nan, 1.0, np.inf]
        name = "nan_in_x_unregularized"
        yield special_value_case(OPERATOR, dtype, name, effect, "g_regularized", UNREGULARIZED, "nan", X=X)
        least = float(np.finfo(dtype).smallest_subnormal)
        yield special_value_case(
            replace(OPERATOR, rate=1.0),
            dtype,
            "subnormal_v",
            f"keeps subnormals of V in {FLOAT_TYPE_NAMES[dtype]}",
            "v_new",
            {**UNREGULARIZED, "alpha": 0.5},
            "subnormal",
            count=0,
            X=0.0,
            G=0.0,
            V=[2 * least, -4 * least, 512 * least, 0.0],
        )
