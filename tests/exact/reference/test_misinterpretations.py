"""Results of misinterpretations of the operators' pages are outside the bounds."""

from __future__ import annotations

import numpy as np
import pytest
from random_optimizer_inputs import both_types
from reference_models import error_in_bounds, float32, oracle_answers

from conformance.base.verdicts import Level

# misinterpretation: an input that reveals it (R, T, operands, attributes), and the X_new that it gives
ALPHA, BETA = float32(0.9), float32(0.999)


def misinterpreted_adam(R, T, X, G, V, H, *, alpha=ALPHA, beta=BETA, epsilon, misinterpretation, norm=0.0, post=0.0):
    """Compute Adam in double with a misinterpretation."""
    if misinterpretation == "alpha and beta swapped":
        alpha, beta = beta, alpha
    gradient = G if misinterpretation == "decoupled decay" else norm * X + G
    V_new = alpha * V + (1 - alpha) * gradient
    H_new = beta * H + (1 - beta) * gradient * gradient
    corrections = (1 - beta**T) ** 0.5, 1 - alpha**T
    H_sqrt = H_new**0.5 + epsilon
    rate = R * corrections[0] / corrections[1]
    if misinterpretation == "epsilon inside of the square root":
        H_sqrt = (H_new + epsilon) ** 0.5
    elif misinterpretation == "epsilon added to the corrected root":
        H_sqrt = H_new**0.5 + epsilon * corrections[0]
    elif misinterpretation == "no bias correction":
        rate = R
    elif misinterpretation == "no correction of H":
        rate = R / corrections[1]
    elif misinterpretation == "the count starts at zero":
        rate = R * (1 - beta ** (T + 1)) ** 0.5 / (1 - alpha ** (T + 1))
    X_new = X - rate * V_new / H_sqrt
    if misinterpretation == "decoupled decay":
        X_new -= R * norm * X
    if misinterpretation == "post regularization of the old tensor":
        return X_new - post * X
    return (1 - post) * X_new


READINGS = [
    "epsilon inside of the square root",
    "epsilon added to the corrected root",
    "alpha and beta swapped",
    "no bias correction",
    "no correction of H",
    "the count starts at zero",
    "decoupled decay",
    "post regularization of the old tensor",
]


ADAM = {"epsilon": float32(1e-2), "norm_coefficient": 0.125, "norm_coefficient_post": 0.25}


@both_types
@pytest.mark.parametrize("misinterpretation", [*READINGS, ""])
def test_adam_misinterpretation_is_outside_bound_and_right_one_inside(misinterpretation, dtype):
    operands = (0.25, 3, 1.5, -0.75, 0.5, 0.125)
    X_new = oracle_answers("Adam", *operands, level=Level.MUST, dtype=dtype, **ADAM)[0]
    computed = misinterpreted_adam(
        *operands, epsilon=ADAM["epsilon"], misinterpretation=misinterpretation, norm=0.125, post=0.25
    )
    error = error_in_bounds(X_new, np.array([computed], dtype))
    assert error > 10 if misinterpretation else error <= 1


# R = 0.25, T = 3, X = 1.5, G = -0.75, H = 0.125, V = 0.5; all are exact in double.
GRADIENT = 0.125 * 1.5 - 0.75


OTHER_READINGS = {
    "Adagrad counts from one": ("Adagrad", 0.25 / (1 + 2 * 0.5), GRADIENT, GRADIENT**2 + 0.125),
    "Adagrad ignores the count": ("Adagrad", 0.25, GRADIENT, GRADIENT**2 + 0.125),
    "Adagrad forgets the norm": ("Adagrad", 0.25 / (1 + 3 * 0.5), -0.75, 0.75**2 + 0.125),
    "Adagrad takes the old H": ("Adagrad", 0.25 / (1 + 3 * 0.5), GRADIENT, 0.125),
}


@both_types
@pytest.mark.parametrize(("op_type", "r", "gradient", "H_new"), OTHER_READINGS.values(), ids=OTHER_READINGS.keys())
def test_adagrad_misinterpretation_is_outside_bound(op_type, r, gradient, H_new, dtype):
    attributes = {"decay_factor": 0.5, "norm_coefficient": 0.125, "epsilon": 0.0625}
    X_new = oracle_answers(op_type, 0.25, 3, 1.5, -0.75, 0.125, level=Level.MUST, dtype=dtype, **attributes)[0]
    assert error_in_bounds(X_new, np.array([1.5 - r * gradient / (H_new**0.5 + 0.0625)], dtype)) > 10


MOMENTUM_READINGS = {
    "the first step forgets V": ("standard", 1.5 - 0.25 * 0.5 * GRADIENT),
    "beta is one minus alpha": ("standard", 1.5 - 0.25 * (0.75 * 0.5 + 0.25 * GRADIENT)),
    "beta is ignored": ("standard", 1.5 - 0.25 * (0.75 * 0.5 + GRADIENT)),
    "the norm is forgotten": ("standard", 1.5 - 0.25 * (0.75 * 0.5 + 0.5 * -0.75)),
    "Nesterov is standard": ("nesterov", 1.5 - 0.25 * (0.75 * 0.5 + 0.5 * GRADIENT)),
    "Nesterov scales the gradient by beta": (
        "nesterov",
        1.5 - 0.25 * (0.5 * GRADIENT + 0.75 * (0.75 * 0.5 + 0.5 * GRADIENT)),
    ),
    "Nesterov looks ahead with the old V": ("nesterov", 1.5 - 0.25 * (GRADIENT + 0.75 * 0.5)),
}


@both_types
@pytest.mark.parametrize(("mode", "X_new"), MOMENTUM_READINGS.values(), ids=MOMENTUM_READINGS.keys())
def test_momentum_misinterpretation_is_outside_bound(mode, X_new, dtype):
    attributes = {"alpha": 0.75, "beta": 0.5, "norm_coefficient": 0.125, "mode": mode}
    answer = oracle_answers("Momentum", 0.25, 3, 1.5, -0.75, 0.5, level=Level.MUST, dtype=dtype, **attributes)[0]
    assert error_in_bounds(answer, np.array([X_new], dtype)) > 10
