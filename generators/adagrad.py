"""Cases of Adagrad."""

from __future__ import annotations

from functools import partial
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
    SQUARE_OVERFLOWS,
    UNREGULARIZED,
    attribute_cases,
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

USUAL = {"decay_factor": 0.5, "epsilon": 0.0625, "norm_coefficient": 0.25}

OPERATOR = Operator(
    "Adagrad",
    usual=USUAL,
    step="x_new",
    state=("x_new", "h_new"),
    lookalikes=("Adadelta", "initial_accumulator_value"),
    functions=(
        FunctionCase("defaults", "no attribute", ("decay_factor_default", "epsilon_default"), {}),
        FunctionCase("one_attribute", "decay_factor only", ("r", "epsilon_default"), {"decay_factor": 0.25}),
        FunctionCase("attributes", "all attributes", ("r", "g_regularized", "h_adaptive"), USUAL),
        FunctionCase("two_tensors", "two tensors", ("several_tensors", "operands", "results"), USUAL, ((2,), (2, 2))),
    ),
    runs=(
        TrainingRun(
            "adagrad", {"decay_factor": 0.0078125, "epsilon": 0.0625}, 0.25, ("x_new", "h_new", "r", "results")
        ),
    ),
)

ALONE = {
    "epsilon": (0.25, "h_adaptive"),
    "norm_coefficient": (0.5, "g_regularized"),
}
"""Value and main clause for cases in which a single attribute is set. Other cases test decay_factor."""

DECIMALS = {"decay_factor": 0.1, "epsilon": 1e-3, "norm_coefficient": 0.01}
"""Typical attributes, which float32 cannot represent exactly."""

MATRIX = PairwiseFamily(OPERATOR, ("x_new", "r", "h_new", "h_adaptive"))


def cases() -> Iterator[Case]:
    """Yield all cases of Adagrad."""
    yield from _upstream_cases()
    yield from shared_cases(OPERATOR, {True: ("r", "x_new"), False: ("r", "x_new")})
    yield from graph_cases(OPERATOR)
    yield from preparation_cases(OPERATOR)
    yield from size_cases(OPERATOR)
    yield from MATRIX.cases()
    yield from attribute_cases(OPERATOR, ALONE, DECIMALS, "r", 0)
    yield from _many_bits_of_t()
    yield _below_0()
    yield from _special_values()


def _upstream_cases() -> Iterator[Case]:
    attributes = {"decay_factor": 0.1, "epsilon": 1e-5, "norm_coefficient": 0.001}
    yield upstream_case(
        OPERATOR,
        "test_adagrad",
        "Adagrad computes the example of its page",
        ("x_new", "h_new"),
        attributes,
        {"X": [[1.0]], "G": [[-1.0]], "H": [[2.0]]},
    )
    yield upstream_case(
        OPERATOR,
        "test_adagrad_multiple",
        "Adagrad computes the two-tensor example of its page",
        ("several_tensors", "operands", "results"),
        attributes,
        {"X": [[1.0], [1.0, 2.0]], "G": [[-1.0], [-1.0, -3.0]], "H": [[2.0], [4.0, 1.0]]},
    )


def _many_bits_of_t() -> Iterator[Case]:
    """Yield cases with a large T, which a conversion to a narrower type changes, and so the learning rate r."""
    for dtype in FLOATS:
        yield optimizer_case(
            OPERATOR,
            f"t_many_bits_{FLOAT_TYPE_NAMES[dtype]}",
            f"Adagrad in {FLOAT_TYPE_NAMES[dtype]} divides R by 1 + T * decay_factor with all bits of T = "
            f"{0b101010111001101}",
            ("r", "update_count_type"),
            {**OPERATOR.usual, "decay_factor": 2.0**-12},
            OperatorSetting(dtype, counts=(0b101010111001101,)),
            tags=("update_count",),
        )


def _below_0() -> Case:
    """Define a case with negative T, for which the formula gives a negative r."""
    return optimizer_case(
        OPERATOR,
        "t_negative_double",
        "Adagrad divides R by 1 + T * decay_factor for a negative T too",
        ("r", "update_count_type"),
        {**OPERATOR.usual, "decay_factor": 1.0},
        OperatorSetting(np.float64, counts=(-3,)),
        tags=("update_count",),
    )


def _special_values() -> Iterator[Case]:
    """Yield cases with a division by zero, the root of a negative number, a NaN times 0, or an overflow."""
    for dtype, large in SQUARE_OVERFLOWS:
        case = partial(special_value_case, OPERATOR, dtype)
        effect = "divides 0 by a zero H_adaptive and gets NaN"
        changed = {**UNREGULARIZED, "epsilon": 0.0}
        yield case("h_zero_epsilon_zero", effect, "h_adaptive", changed, G=[0.0, 1.0, 0.0, 2.0], H=0.0)
        yield case("decay_cancels", "divides by 1 + T * decay_factor = 0 as IEEE 754 does", "r", {}, count=-2)
        effect = "gives NaN in X_new where H_new is negative"
        yield case("negative_h", effect, "h_adaptive", {}, H=[-40.0, 1.0, -100.0, 2.0])
        effect = "multiplies a NaN in X by norm_coefficient = 0 and gets NaN"
        yield case("nan_in_x_unregularized", effect, "g_regularized", UNREGULARIZED, X=[0.5, np.nan, 1.0, np.inf])
        effect = "gives infinite H_new where the squared gradient overflows, and no NaN in X_new"
        yield case("squared_gradient_overflows", effect, "h_new", UNREGULARIZED, G=[large, 1.0, -large, 2.0])
