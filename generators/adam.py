"""Cases of Adam."""

from __future__ import annotations

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
"""The operands of the page's second example, which names an epsilon and makes a node without it."""

ALONE = {
    "alpha": (0.625, "v_new", 2),
    "beta": (0.625, "h_new", 2),
    "epsilon": (0.25, "h_sqrt", 2),
    "norm_coefficient": (0.5, "g_regularized", 2),
    "norm_coefficient_post": (0.25, "x_final", 2),
}
"""Each attribute set alone: its value, the chief clause it bears on, and T."""

MATRIX = Matrix(OPERATOR, ("x_final", "r_adjusted", "v_new", "h_new"))


def cases() -> Iterator[Case]:
    """All cases of Adam."""
    yield from _upstream()
    yield from shared(OPERATOR, {True: ("r_adjusted", "x_new"), False: ("t_switch", "x_new")})
    yield from structures(OPERATOR)
    yield from preparations(OPERATOR)
    yield from sizes(OPERATOR)
    yield from MATRIX.cases()
    yield from _attributes()
    yield from _natural_attributes()
    yield _inexact_weights()
    yield from _division_by_zero()
    yield from _overflow()


def _upstream() -> Iterator[Case]:
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
        "Adam computes the two-tensor example of its page, with the epsilon that the example names",
        ("several_tensors", "h_sqrt", "operands", "results"),
        {"alpha": 0.95, "beta": 0.85, "epsilon": 1e-2, "norm_coefficient": 0.001},
        TWO_TENSORS,
    )
    yield upstream_case(
        OPERATOR,
        "test_adam_multiple_as_printed",
        "Adam computes the two-tensor example of its page as printed, without an epsilon, so that the default counts",
        ("epsilon_default", "several_tensors", "operands", "results"),
        {"alpha": 0.95, "beta": 0.85, "norm_coefficient": 0.001},
        TWO_TENSORS,
    )


def _attributes() -> Iterator[Case]:
    """All attributes defaulted, and each set alone."""
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
    """Attributes as people set them: no float32 value of them is the decimal."""
    natural = {"alpha": 0.9, "beta": 0.999, "epsilon": 1e-3, "norm_coefficient": 0.01, "norm_coefficient_post": 0.1}
    for dtype, level in ((np.float32, Level.MUST), (np.float64, Level.SHOULD)):
        yield optimizer_case(
            OPERATOR,
            f"float32_attributes_{level}_{TYPES[dtype]}",
            f"Adam in {TYPES[dtype]} computes with the float32 values of its attributes",
            ("attribute_type", "r_adjusted"),
            natural,
            OperatorSetting(dtype, counts=(1, 7)),
            level,
            ("attributes",),
        )


def _inexact_weights() -> Case:
    """Neither 1 - alpha nor 1 - beta is a float32 value, so computing them in float shows in double."""
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
    """Where the pseudo-code divides by zero, or takes the root of a negative number, IEEE 754 says what comes out."""
    zero_h = {"X": [1.0, 1.0, 1.0, 1.0], "G": 0.0, "V": [1.0, -1.0, 0.0, 2.0], "H": 0.0}
    for dtype in FLOATS:
        type = TYPES[dtype]
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
            f"squared_gradient_overflows_{TYPES[dtype]}",
            "Adam gives infinite H_new where the squared gradient overflows, and no NaN in X_new",
            ("ieee", "h_new"),
            {**OPERATOR.usual, "norm_coefficient": 0.0},
            OperatorSetting(dtype, operands={"G": [large, 1.0, -large, 2.0]}),
            Level.SHOULD,
            ("special_values", "overflow"),
        )
