"""Cases of Adam."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.verdicts import Level
from generators.training_optimizers.operator import (
    FunctionCase,
    Operator,
    OperatorSetting,
    TrainingRun,
    optimizer_case,
    upstream_case,
)
from generators.training_optimizers.optimizer_families import (
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

USUAL = {"alpha": 0.75, "beta": 0.5, "epsilon": 0.0625, "norm_coefficient": 0.25, "norm_coefficient_post": 0.125}

OPERATOR = Operator(
    "Adam",
    usual=USUAL,
    step="x_new",
    state=("x_new", "v_new", "h_new"),
    lookalikes=("AdamW", "amsgrad"),
    averages=("V", "H"),
    functions=(
        FunctionCase("defaults", "no attribute", ("alpha_default", "beta_default", "epsilon_default"), {}),
        FunctionCase("one_attribute", "beta only", ("h_new", "alpha_default", "epsilon_default"), {"beta": 0.5}),
        FunctionCase("attributes", "all attributes", ("x_final", "g_regularized"), USUAL),
        FunctionCase("two_tensors", "two tensors", ("several_tensors", "operands", "results"), USUAL, ((2,), (2, 2))),
    ),
    runs=(
        TrainingRun(
            "adam",
            {"alpha": 0.5, "beta": 0.75, "epsilon": 1.0},
            0.0625,
            ("x_new", "v_new", "h_new", "r_adjusted", "results"),
        ),
    ),
)

TWO_TENSORS = {
    "X": [[1.0], [1.0, 2.0]],
    "G": [[-1.0], [-1.0, -3.0]],
    "V": [[2.0], [4.0, 1.0]],
    "H": [[0.5], [1.0, 10.0]],
}
"""Operands of the second example of the specification. Its text defines epsilon but its node omits epsilon."""

ALONE = {
    "alpha": (0.625, "v_new"),
    "beta": (0.625, "h_new"),
    "epsilon": (0.25, "h_sqrt"),
    "norm_coefficient": (0.5, "g_regularized"),
    "norm_coefficient_post": (0.25, "x_final"),
}
"""Value and main clause for cases in which a single attribute is set."""

DECIMALS = {"alpha": 0.9, "beta": 0.999, "epsilon": 1e-3, "norm_coefficient": 0.01, "norm_coefficient_post": 0.1}
"""Typical attributes, which float32 cannot represent exactly."""

MATRIX = PairwiseFamily(OPERATOR, ("x_final", "r_adjusted", "v_new", "h_new"))


def cases() -> Iterator[Case]:
    """Yield all cases of Adam."""
    yield from _upstream_cases()
    yield from shared_cases(OPERATOR, {True: ("r_adjusted", "x_new"), False: ("t_switch", "x_new")})
    yield from graph_cases(OPERATOR)
    yield from preparation_cases(OPERATOR)
    yield from size_cases(OPERATOR)
    yield from MATRIX.cases()
    yield from attribute_cases(OPERATOR, ALONE, DECIMALS, "r_adjusted", 1)
    yield _exact_complements()
    yield _inexact_weights()
    yield from _special_values()


def _upstream_cases() -> Iterator[Case]:
    yield upstream_case(
        OPERATOR,
        "test_adam",
        "Adam computes the example of its page",
        ("x_new", "v_new", "h_new"),
        {"alpha": 0.95, "beta": 0.1, "epsilon": 1e-7, "norm_coefficient": 0.001},
        {"X": [[1.2, 2.8]], "G": [[-0.94, -2.5]], "V": [[1.7, 3.6]], "H": [[0.1, 0.1]]},
    )
    yield upstream_case(
        OPERATOR,
        "test_adam_multiple",
        "Adam computes the two-tensor example of its page with the epsilon that the example defines",
        ("several_tensors", "h_sqrt", "operands", "results"),
        {"alpha": 0.95, "beta": 0.85, "epsilon": 1e-2, "norm_coefficient": 0.001},
        TWO_TENSORS,
    )
    yield upstream_case(
        OPERATOR,
        "test_adam_multiple_as_printed",
        "Adam computes the two-tensor example of its page as printed: without epsilon, so the default applies",
        ("epsilon_default", "several_tensors", "operands", "results"),
        {"alpha": 0.95, "beta": 0.85, "norm_coefficient": 0.001},
        TWO_TENSORS,
    )


def _exact_complements() -> Case:
    return optimizer_case(
        OPERATOR,
        "float32_attributes_exact_double",
        "Adam in double computes with the float32 values of its attributes if their complements are exact in float32",
        ("attribute_type", "x_final"),
        {"alpha": 0.7, "beta": 0.6, "epsilon": 0.3, "norm_coefficient": 0.3, "norm_coefficient_post": 0.7},
        OperatorSetting(np.float64, counts=(0,)),
        tags=("attributes",),
    )


def _inexact_weights() -> Case:
    """Define a case in which computing 1 - alpha and 1 - beta in float32 changes the result."""
    return optimizer_case(
        OPERATOR,
        "inexact_weights_double",
        "Adam computes 1 - alpha and 1 - beta in the precision of double tensors",
        ("attribute_type", "v_new", "h_new"),
        {**OPERATOR.usual, "alpha": 0.3, "beta": 0.1},
        OperatorSetting(np.float64, counts=(0, 2)),
        Level.SHOULD,
        ("attributes",),
    )


def _special_values() -> Iterator[Case]:
    """Yield cases with a division by zero, the root of a negative number, a NaN times 0, or an overflow."""
    zero_h = {"X": [1.0, 1.0, 1.0, 1.0], "G": 0.0, "V": [1.0, -1.0, 0.0, 2.0], "H": 0.0}
    for dtype, large in SQUARE_OVERFLOWS:
        case = partial(special_value_case, OPERATOR, dtype)
        effect = "divides by a zero H_sqrt as IEEE 754 does"
        yield case("h_zero_epsilon_zero", effect, "h_sqrt", {**UNREGULARIZED, "epsilon": 0.0}, count=0, **zero_h)
        yield case("alpha_one_t2", "divides by 1 - alpha**T = 0 as IEEE 754 does", "r_adjusted", {"alpha": 1.0})
        effect = "gives NaN in X_new where H_new is negative"
        yield case("negative_h", effect, "h_sqrt", {}, "nan", H=[-40.0, 1.0, -100.0, 2.0])
        effect = "multiplies a NaN in X by norm_coefficient = 0 and gets NaN"
        X = [0.5, np.nan, 1.0, np.inf]
        yield case("nan_in_x_unregularized", effect, "g_regularized", UNREGULARIZED, "nan", X=X)
        effect = "gives infinite H_new where the squared gradient overflows, and no NaN in X_new"
        G = [large, 1.0, -large, 2.0]
        yield case("squared_gradient_overflows", effect, "h_new", UNREGULARIZED, "overflow", G=G)
