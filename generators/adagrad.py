"""Cases of Adagrad."""

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
"""Attributes set alone: the value and the chief clause it bears on; decay_factor's is that of the update counts."""

MATRIX = Matrix(OPERATOR, ("x_new", "r", "h_new", "h_adaptive"))


def cases() -> Iterator[Case]:
    """All cases of Adagrad."""
    yield from _upstream()
    yield from shared(OPERATOR, {True: ("r", "x_new"), False: ("r", "x_new")})
    yield from structures(OPERATOR)
    yield from preparations(OPERATOR)
    yield from sizes(OPERATOR)
    yield from MATRIX.cases()
    yield from _attributes()
    yield from _natural_attributes()
    yield from _many_bits_of_t()
    yield _below_0()
    yield from _special_values()


def _upstream() -> Iterator[Case]:
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


def _attributes() -> Iterator[Case]:
    """All attributes defaulted, and each set alone."""
    defaults = [f"{name}_default" for name in OPERATOR.signature.defaults]
    yield optimizer_case(
        OPERATOR,
        "defaults_double",
        "Adagrad without attributes uses the schema's defaults at T = 0 and T = 2",
        (*defaults, "attribute_type"),
        {},
        OperatorSetting(np.float64, counts=(0, 2), operands={"H": [0.0, 1.0, 0.0, 2.0], "G": [1e-4, 1.0, -1e-5, 2.0]}),
        tags=("attributes", "defaults"),
    )
    for name, (value, clause) in ALONE.items():
        yield optimizer_case(
            OPERATOR,
            f"only_{name}_float",
            f"Adagrad with only {name} set uses the defaults of the others",
            (clause, *(default for default in defaults if not default.startswith(name))),
            {name: value},
            OperatorSetting(),
            tags=("attributes",),
        )


def _natural_attributes() -> Iterator[Case]:
    """Attributes as people set them: no float32 value of them is the decimal."""
    natural = {"decay_factor": 0.1, "epsilon": 1e-3, "norm_coefficient": 0.01}
    for dtype, level in ((np.float32, Level.MUST), (np.float64, Level.SHOULD)):
        yield optimizer_case(
            OPERATOR,
            f"float32_attributes_{level}_{TYPES[dtype]}",
            f"Adagrad in {TYPES[dtype]} computes with the float32 values of its attributes",
            ("attribute_type", "r"),
            natural,
            OperatorSetting(dtype, counts=(0, 7)),
            level,
            ("attributes",),
        )


def _many_bits_of_t() -> Iterator[Case]:
    """A T whose bits spread over a float's precision, so that a narrower copy of it shows in r."""
    for dtype in FLOATS:
        yield optimizer_case(
            OPERATOR,
            f"t_many_bits_{TYPES[dtype]}",
            f"Adagrad in {TYPES[dtype]} divides R by 1 + T * decay_factor with all bits of T = {0b101010111001101}",
            ("r", "update_count_type"),
            {**OPERATOR.usual, "decay_factor": 2.0**-12},
            OperatorSetting(dtype, counts=(0b101010111001101,)),
            tags=("update_count",),
        )


def _below_0() -> Case:
    """The formula as it stands, which is linear below 0 too, and here makes r negative."""
    return optimizer_case(
        OPERATOR,
        "t_negative_double",
        "Adagrad divides R by 1 + T * decay_factor for a negative T as for any other",
        ("r", "update_count_type"),
        {**OPERATOR.usual, "decay_factor": 1.0},
        OperatorSetting(np.float64, counts=(-3,)),
        tags=("update_count",),
    )


def _special_values() -> Iterator[Case]:
    """Where the pseudo-code divides by zero, overflows or takes the root of a negative number."""
    for dtype, large in ((np.float32, 1e25), (np.float64, 1e200)):
        type = TYPES[dtype]
        unregularized = {**OPERATOR.usual, "norm_coefficient": 0.0}
        for name, title, clauses, attributes, setting in (
            (
                "h_zero_epsilon_zero",
                "Adagrad divides 0 by a zero H_adaptive and gets NaN",
                ("ieee", "h_adaptive"),
                {**unregularized, "epsilon": 0.0},
                OperatorSetting(dtype, operands={"G": [0.0, 1.0, 0.0, 2.0], "H": 0.0}),
            ),
            (
                "decay_cancels",
                "Adagrad divides by 1 + T * decay_factor = 0 as IEEE 754 does",
                ("ieee", "r"),
                OPERATOR.usual,
                OperatorSetting(dtype, counts=(-2,)),
            ),
            (
                "negative_h",
                "Adagrad gives NaN in X_new where H_new is negative",
                ("ieee", "h_adaptive"),
                OPERATOR.usual,
                OperatorSetting(dtype, operands={"H": [-40.0, 1.0, -100.0, 2.0]}),
            ),
            (
                "nan_in_x_unregularized",
                "Adagrad multiplies a NaN in X by norm_coefficient = 0 and gets NaN",
                ("ieee", "g_regularized"),
                unregularized,
                OperatorSetting(dtype, operands={"X": [0.5, np.nan, 1.0, np.inf]}),
            ),
            (
                "squared_gradient_overflows",
                "Adagrad gives infinite H_new where the squared gradient overflows, and no NaN in X_new",
                ("ieee", "h_new"),
                unregularized,
                OperatorSetting(dtype, operands={"G": [large, 1.0, -large, 2.0]}),
            ),
        ):
            yield optimizer_case(
                OPERATOR,
                f"{name}_{type}",
                title,
                clauses,
                attributes,
                setting,
                Level.SHOULD,
                ("special_values",),
            )
