"""Cases of Adam."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.generation.models import FLOAT_TYPE_NAMES
from conformance.verdicts import Level
from generators.training_optimizers.families import FLOATS, shared_cases
from generators.training_optimizers.graphs import graph_cases
from generators.training_optimizers.operator import (
    FunctionCase,
    Operator,
    OperatorSetting,
    TrainingRun,
    optimizer_case,
    upstream_case,
)
from generators.training_optimizers.pairwise import PairwiseFamily
from generators.training_optimizers.preparation import preparation_cases
from generators.training_optimizers.sizes import size_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.corpus.case import Case

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
    "alpha": (0.625, "v_new", 2),
    "beta": (0.625, "h_new", 2),
    "epsilon": (0.25, "h_sqrt", 2),
    "norm_coefficient": (0.5, "g_regularized", 2),
    "norm_coefficient_post": (0.25, "x_final", 2),
}
"""Value, main clause and T for cases in which a single attribute is set."""

MATRIX = PairwiseFamily(OPERATOR, ("x_final", "r_adjusted", "v_new", "h_new"))


def cases() -> Iterator[Case]:
    """Yield all cases of Adam."""
    yield from _upstream_cases()
    yield from shared_cases(OPERATOR, {True: ("r_adjusted", "x_new"), False: ("t_switch", "x_new")})
    yield from graph_cases(OPERATOR)
    yield from preparation_cases(OPERATOR)
    yield from size_cases(OPERATOR)
    yield from MATRIX.cases()
    yield from _attributes()
    yield from _natural_attributes()
    yield _inexact_weights()
    yield from _division_by_zero()
    yield from _overflow()


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


def _attributes() -> Iterator[Case]:
    """Yield a case without attributes, and cases with a single attribute."""
    defaults = [f"{name}_default" for name in OPERATOR.signature.defaults]
    yield optimizer_case(
        OPERATOR,
        "defaults_double",
        "Adam without attributes uses the schema's defaults at T = 0 and T = 2",
        (*defaults, "attribute_type"),
        {},
        OperatorSetting(np.float64, counts=(0, 2), operands={"H": [0.0, 1.0, 0.0, 2.0], "G": [1e-4, 1.0, -1e-5, 2.0]}),
        tags=("attributes", "defaults"),
    )
    for name, (value, clause, T) in ALONE.items():
        others = [default for default in defaults if not default.startswith(f"{name}_d")]
        yield optimizer_case(
            OPERATOR,
            f"only_{name}_float",
            f"Adam with only {name} set uses the defaults of the others",
            (clause, *others),
            {name: value},
            OperatorSetting(counts=(T,)),
            tags=("attributes",),
        )


def _natural_attributes() -> Iterator[Case]:
    """Yield cases with typical decimal attributes, which float32 cannot represent exactly."""
    natural = {"alpha": 0.9, "beta": 0.999, "epsilon": 1e-3, "norm_coefficient": 0.01, "norm_coefficient_post": 0.1}
    for dtype, level in ((np.float32, Level.MUST), (np.float64, Level.SHOULD)):
        yield optimizer_case(
            OPERATOR,
            f"float32_attributes_{level}_{FLOAT_TYPE_NAMES[dtype]}",
            f"Adam in {FLOAT_TYPE_NAMES[dtype]} computes with the float32 values of its attributes",
            ("attribute_type", "r_adjusted"),
            natural,
            OperatorSetting(dtype, counts=(1, 7)),
            level,
            ("attributes",),
        )
    yield optimizer_case(
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


def _division_by_zero() -> Iterator[Case]:
    """Yield cases with division by zero or the root of a negative number, where IEEE 754 defines the result."""
    zero_h = {"X": [1.0, 1.0, 1.0, 1.0], "G": 0.0, "V": [1.0, -1.0, 0.0, 2.0], "H": 0.0}
    for dtype in FLOATS:
        type = FLOAT_TYPE_NAMES[dtype]
        yield optimizer_case(
            OPERATOR,
            f"h_zero_epsilon_zero_{type}",
            "Adam divides by a zero H_sqrt as IEEE 754 does",
            ("ieee", "h_sqrt"),
            {**OPERATOR.usual, "epsilon": 0.0, "norm_coefficient": 0.0},
            OperatorSetting(dtype, counts=(0,), operands=zero_h),
            Level.SHOULD,
            ("special_values",),
        )
        yield optimizer_case(
            OPERATOR,
            f"alpha_one_t2_{type}",
            "Adam divides by 1 - alpha**T = 0 as IEEE 754 does",
            ("ieee", "r_adjusted"),
            {**OPERATOR.usual, "alpha": 1.0},
            OperatorSetting(dtype),
            Level.SHOULD,
            ("special_values",),
        )
        yield optimizer_case(
            OPERATOR,
            f"negative_h_{type}",
            "Adam gives NaN in X_new where H_new is negative",
            ("ieee", "h_sqrt"),
            OPERATOR.usual,
            OperatorSetting(dtype, operands={"H": [-40.0, 1.0, -100.0, 2.0]}),
            Level.SHOULD,
            ("special_values", "nan"),
        )
        yield optimizer_case(
            OPERATOR,
            f"nan_in_x_unregularized_{type}",
            "Adam multiplies a NaN in X by norm_coefficient = 0 and gets NaN",
            ("ieee", "g_regularized"),
            {**OPERATOR.usual, "norm_coefficient": 0.0},
            OperatorSetting(dtype, operands={"X": [0.5, np.nan, 1.0, np.inf]}),
            Level.SHOULD,
            ("special_values", "nan"),
        )


def _overflow() -> Iterator[Case]:
    for dtype, large in ((np.float32, 1e25), (np.float64, 1e200)):
        yield optimizer_case(
            OPERATOR,
            f"squared_gradient_overflows_{FLOAT_TYPE_NAMES[dtype]}",
            "Adam gives infinite H_new where the squared gradient overflows, and no NaN in X_new",
            ("ieee", "h_new"),
            {**OPERATOR.usual, "norm_coefficient": 0.0},
            OperatorSetting(dtype, operands={"G": [large, 1.0, -large, 2.0]}),
            Level.SHOULD,
            ("special_values", "overflow"),
        )
