"""The seven examples of the operators' pages, compared with the outputs that onnx publishes."""

from __future__ import annotations

import numpy as np
import pytest
from reference_models import error_in_bounds, oracle_answers

from conformance.verdicts import Level

ULPS = 4

R, T = 0.1, 0
PAIR = {"X": [1.2, 2.8], "G": [-0.94, -2.5], "V": [1.7, 3.6], "H": [0.1, 0.1]}
# name: operator, attributes, operands (all X, all G, ...), published outputs (all X_new, all V_new, ...)
EXAMPLES = {
    "test_adagrad": (
        "Adagrad",
        {"norm_coefficient": 0.001, "epsilon": 1e-5, "decay_factor": 0.1},
        [[1.0], [-1.0], [2.0]],
        [[1.0576962], [2.998001]],
    ),
    "test_adagrad_multiple": (
        "Adagrad",
        {"norm_coefficient": 0.001, "epsilon": 1e-5, "decay_factor": 0.1},
        [[1.0], [1.0, 2.0], [-1.0], [-1.0, -3.0], [2.0], [4.0, 1.0]],
        [[1.0576962], [1.0446854, 2.0948617], [2.998001], [4.998001, 9.988004]],
    ),
    "test_adam": (
        "Adam",
        {"norm_coefficient": 0.001, "alpha": 0.95, "beta": 0.1, "epsilon": 1e-7},
        [PAIR["X"], PAIR["G"], PAIR["V"], PAIR["H"]],
        [[1.0250363, 2.6610327], [1.56806, 3.2951398], [0.8032108, 5.622407]],
    ),
    "test_adam_multiple": (
        "Adam",
        {"norm_coefficient": 0.001, "alpha": 0.95, "beta": 0.85, "epsilon": 1e-2},
        [[1.0], [1.0, 2.0], [-1.0], [-1.0, -3.0], [2.0], [4.0, 1.0], [0.5], [1.0, 10.0]],
        [
            [0.75913626],
            [0.6286528, 1.9745853],
            [1.85005],
            [3.75005, 0.80009997],
            [0.5747002],
            [0.9997002, 9.848201],
        ],
    ),
    "test_momentum": (
        "Momentum",
        {"norm_coefficient": 0.001, "alpha": 0.95, "beta": 0.1, "mode": "standard"},
        [PAIR["X"], PAIR["G"], PAIR["V"]],
        [[1.13238, 2.70772], [0.67620003, 0.9227998]],
    ),
    "test_nesterov_momentum": (
        "Momentum",
        {"norm_coefficient": 0.01, "alpha": 0.95, "beta": 1.0, "mode": "nesterov"},
        [PAIR["X"], PAIR["G"], PAIR["V"]],
        [[1.227535, 2.95714], [0.68700004, 0.94799995]],
    ),
    "test_momentum_multiple": (
        "Momentum",
        {"norm_coefficient": 0.001, "alpha": 0.95, "beta": 0.85, "mode": "standard"},
        [[1.0], [1.0, 2.0], [-1.0], [-1.0, -3.0], [2.0], [4.0, 1.0]],
        [[0.9099], [0.7199, 2.2048], [0.90099996], [2.8009999, -2.0479999]],
    ),
}

every_example = pytest.mark.parametrize(
    ("op_type", "attributes", "operands", "outputs"), EXAMPLES.values(), ids=EXAMPLES.keys()
)


@every_example
def test_expected_values_equal_published_outputs_within_ulps(op_type, attributes, operands, outputs):
    answers = oracle_answers(op_type, R, T, *operands, **attributes)
    for answer, output in zip(answers, outputs, strict=True):
        np.testing.assert_array_max_ulp(answer.expected, np.array(output, dtype=np.float32), ULPS)


@every_example
def test_published_outputs_are_within_bounds(op_type, attributes, operands, outputs):
    answers = oracle_answers(op_type, R, T, *operands, level=Level.MUST, **attributes)
    assert all(
        error_in_bounds(answer, np.array(output, dtype=np.float32)) <= 1
        for answer, output in zip(answers, outputs, strict=True)
    )


def test_adam_multiple_requires_epsilon_in_model():
    op_type, attributes, operands, outputs = EXAMPLES["test_adam_multiple"]
    defaulted = {name: value for name, value in attributes.items() if name != "epsilon"}
    X1_new, *_ = oracle_answers(op_type, R, T, *operands, level=Level.MUST, **defaulted)
    assert error_in_bounds(X1_new, np.array(outputs[0], dtype=np.float32)) > 1000
