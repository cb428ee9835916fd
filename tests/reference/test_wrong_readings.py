"""Wrong readings of the operators' pages lie outside of the bounds."""

from __future__ import annotations

import numpy as np
import pytest
from random_settings import both_types
from reference_models import excess, float32, judged

from conformance.verdicts import Level

# One discriminating input per wrong reading: R, T, operands, attributes, and the X_new that the reading gives.
ALPHA, BETA = float32(0.9), float32(0.999)


def adam_read_as(R, T, X, G, V, H, *, alpha=ALPHA, beta=BETA, epsilon, reading, norm=0.0, post=0.0):
    """Adam in double under a wrong reading."""
    if reading == "alpha and beta swapped":
        alpha, beta = beta, alpha
    gradient = G if reading == "decoupled decay" else norm * X + G
    V_new = alpha * V + (1 - alpha) * gradient
    H_new = beta * H + (1 - beta) * gradient * gradient
    corrections = (1 - beta**T) ** 0.5, 1 - alpha**T
    H_sqrt = H_new**0.5 + epsilon
    rate = R * corrections[0] / corrections[1]
    if reading == "epsilon inside of the square root":
        H_sqrt = (H_new + epsilon) ** 0.5
    elif reading == "epsilon added to the corrected root":
        H_sqrt = H_new**0.5 + epsilon * corrections[0]
    elif reading == "no bias correction":
        rate = R
    elif reading == "no correction of H":
        rate = R / corrections[1]
    elif reading == "the count starts at zero":
        rate = R * (1 - beta ** (T + 1)) ** 0.5 / (1 - alpha ** (T + 1))
    X_new = X - rate * V_new / H_sqrt
    if reading == "decoupled decay":
        X_new -= R * norm * X
    if reading == "post regularization of the old tensor":
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
@pytest.mark.parametrize("reading", READINGS)
def test_a_wrong_reading_of_adam_is_outside_of_the_bound(reading, dtype):
    X_new = judged("Adam", 0.25, 3, 1.5, -0.75, 0.5, 0.125, level=Level.MUST, dtype=dtype, **ADAM)[0]
    wrong = adam_read_as(
        0.25, 3, 1.5, -0.75, 0.5, 0.125, epsilon=ADAM["epsilon"], reading=reading, norm=0.125, post=0.25
    )
    assert excess(X_new, np.array([wrong], dtype)) > 10


@both_types
def test_the_right_reading_of_adam_is_inside_of_the_bound(dtype):
    X_new = judged("Adam", 0.25, 3, 1.5, -0.75, 0.5, 0.125, level=Level.MUST, dtype=dtype, **ADAM)[0]
    right = adam_read_as(0.25, 3, 1.5, -0.75, 0.5, 0.125, epsilon=ADAM["epsilon"], reading="", norm=0.125, post=0.25)
    assert excess(X_new, np.array([right], dtype)) <= 1


# R = 0.25, T = 3, X = 1.5, G = -0.75, H = 0.125, V = 0.5; all in doubles, in which they are exact.
GRADIENT = 0.125 * 1.5 - 0.75


OTHER_READINGS = {
    "Adagrad counts from one": ("Adagrad", 0.25 / (1 + 2 * 0.5), GRADIENT, GRADIENT**2 + 0.125),
    "Adagrad ignores the count": ("Adagrad", 0.25, GRADIENT, GRADIENT**2 + 0.125),
    "Adagrad forgets the norm": ("Adagrad", 0.25 / (1 + 3 * 0.5), -0.75, 0.75**2 + 0.125),
    "Adagrad takes the old H": ("Adagrad", 0.25 / (1 + 3 * 0.5), GRADIENT, 0.125),
}


@both_types
@pytest.mark.parametrize(("op_type", "r", "gradient", "H_new"), OTHER_READINGS.values(), ids=OTHER_READINGS.keys())
def test_a_wrong_reading_of_adagrad_is_outside_of_the_bound(op_type, r, gradient, H_new, dtype):
    attributes = {"decay_factor": 0.5, "norm_coefficient": 0.125, "epsilon": 0.0625}
    X_new = judged(op_type, 0.25, 3, 1.5, -0.75, 0.125, level=Level.MUST, dtype=dtype, **attributes)[0]
    assert excess(X_new, np.array([1.5 - r * gradient / (H_new**0.5 + 0.0625)], dtype)) > 10


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
def test_a_wrong_reading_of_momentum_is_outside_of_the_bound(mode, X_new, dtype):
    attributes = {"alpha": 0.75, "beta": 0.5, "norm_coefficient": 0.125, "mode": mode}
    answer = judged("Momentum", 0.25, 3, 1.5, -0.75, 0.5, level=Level.MUST, dtype=dtype, **attributes)[0]
    assert excess(answer, np.array([X_new], dtype)) > 10
