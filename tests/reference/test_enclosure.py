"""Every admissible evaluation lies within the bounds, ordinary bounds are narrow, and wrong readings lie outside."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from reference_evaluations import AT_MUST_ONLY, IN_ANY_PRECISION, Evaluation
from reference_models import OPERANDS, excess, float32, judged, optimizer_inputs, optimizer_model

from conformance.reference.numbers.enclosing import Enclosing
from conformance.reference.numbers.exact import exactly
from conformance.reference.oracle import answers
from conformance.verdicts import Level

SETTINGS = 150
ELEMENTS = 3
COUNTS = [-3, 0, 1, 2, 3, 10, 17, 100, 1000]
LARGE_COUNTS = [2**24 + 1, 2**32 + 1, 2**40]
TYPES = [np.float32, np.float64]

every_optimizer = pytest.mark.parametrize("op_type", OPERANDS)
both_types = pytest.mark.parametrize("dtype", TYPES)


@dataclass(frozen=True)
class Setting:
    """The inputs and attributes of one optimizer node."""

    op_type: str
    inputs: list[Any]
    attributes: dict[str, Any]

    def answers(self, level):
        return answers(optimizer_model(self.op_type, self.inputs, **self.attributes), self.inputs, level)


class Draw:
    """Random settings, the same on every run.

    Attributes:
        kind: of ordinary magnitudes, of all magnitudes, or small dyadic fractions, on which much is exact.
    """

    def __init__(self, seed, kind, dtype, R_dtype):
        self.random = random.Random(f"{seed} {kind}")
        self.kind, self.dtype, self.R_dtype = kind, dtype, R_dtype

    def number(self, *, positive=False):
        sign = 1 if positive else self.random.choice([1, -1])
        if self.random.random() < 0.05:
            return 0.0
        if self.kind == "dyadic":
            return sign * self.random.randint(1, 64) / 8
        reach = 3 if self.kind == "ordinary" else 21 if self.dtype == np.float32 else 160
        return sign * self.random.uniform(0.5, 2) * 10 ** self.random.uniform(-reach, reach)

    def share(self):
        if self.kind == "dyadic":
            return self.random.choice([0.0, 0.5, 0.75, 0.875, 0.25])
        near_one = 1 - 10 ** self.random.uniform(-6, -1)
        return float32(self.random.choice([0.0, 0.9, 0.999, 0.5, near_one, near_one, self.random.random()]))

    def coefficient(self):
        return float32(self.random.choice([0.0, 0.125 if self.kind == "dyadic" else self.random.uniform(0, 0.3)]))

    def epsilon(self):
        return float32(self.random.choice([0.125, 1.0] if self.kind == "dyadic" else [1e-8, 1e-6, 1e-2, 0.5]))

    def attributes(self, op_type):
        return {
            "Adam": lambda: {
                "alpha": self.share(),
                "beta": self.share(),
                "epsilon": self.epsilon(),
                "norm_coefficient": self.coefficient(),
                "norm_coefficient_post": self.coefficient(),
            },
            "Momentum": lambda: {
                "alpha": self.share(),
                "beta": self.share(),
                "norm_coefficient": self.coefficient(),
                "mode": self.random.choice(["standard", "nesterov"]),
            },
            "Adagrad": lambda: {
                "decay_factor": self.coefficient(),
                "epsilon": self.epsilon(),
                "norm_coefficient": self.coefficient(),
            },
        }[op_type]()

    def setting(self, op_type):
        T = self.random.choice([0, 1, 2, 3, 10] if self.kind == "dyadic" else COUNTS)
        if op_type == "Adagrad":
            T = self.random.choice([max(T, 0), *LARGE_COUNTS])
        operands = [[self.number(positive=name == "H") for _ in range(ELEMENTS)] for name in OPERANDS[op_type]]
        R = abs(self.number(positive=True))
        inputs = optimizer_inputs(R, T, *operands, dtype=self.dtype, R_dtype=self.R_dtype)
        return Setting(op_type, inputs, self.attributes(op_type))


def random_settings(op_type, kind, dtype, R_dtype=None, count=SETTINGS):
    return [Draw(seed, kind, dtype, R_dtype or dtype).setting(op_type) for seed in range(count)]


def largest_excess(settings, level, evaluations):
    """The largest error, in bounds, of these evaluations on these settings, and with which evaluation it is.

    Outputs that are in doubt count as within their bounds: no case of level `must` may rest on them.
    """
    worst, name_of_worst, judged_outputs, all_outputs = 0.0, "", 0, 0
    for setting in settings:
        told = setting.answers(level)
        all_outputs += len(told)
        judged_outputs += sum(answer.unsettled is None for answer in told)
        for name, evaluation in evaluations.items():
            outputs = evaluation.run(setting.op_type, setting.inputs, setting.attributes)
            for answer, output in zip(told, outputs, strict=True):
                ratio = excess(answer, output) if answer.unsettled is None else 0.0
                if ratio > worst:
                    worst, name_of_worst = ratio, f"{name}: {setting}"
    assert judged_outputs > 0.6 * all_outputs, "the settings are in doubt too often to show anything"
    return worst, name_of_worst


@pytest.mark.parametrize("kind", ["ordinary", "any magnitude", "dyadic"])
@both_types
@every_optimizer
def test_no_admissible_evaluation_leaves_the_must_bounds(op_type, dtype, kind):
    settings = random_settings(op_type, kind, dtype)
    worst, where = largest_excess(settings, Level.MUST, {**IN_ANY_PRECISION, **AT_MUST_ONLY})
    assert worst <= 1, where


@pytest.mark.parametrize("kind", ["ordinary", "any magnitude", "dyadic"])
@both_types
@every_optimizer
def test_no_evaluation_in_the_tensors_precision_leaves_the_should_bounds(op_type, dtype, kind):
    settings = random_settings(op_type, kind, dtype)
    worst, where = largest_excess(settings, Level.SHOULD, IN_ANY_PRECISION)
    assert worst <= 1, where


@pytest.mark.parametrize("op_type", ["Adam", "Adagrad"])
def test_the_factor_of_the_learning_rate_may_be_computed_in_float_for_double_tensors(op_type):
    # R * (Sqrt(1 - beta**T) / (1 - alpha**T)) and R * (1 / (1 + T * decay_factor)): attributes and T alone.
    evaluations = {"factor of R in float": Evaluation(float_attributes=True, factor_first=True)}
    worst, where = largest_excess(random_settings(op_type, "dyadic", np.float64), Level.MUST, evaluations)
    assert worst <= 1, where


@pytest.mark.parametrize("kind", ["ordinary", "dyadic"])
@pytest.mark.parametrize(("dtype", "R_dtype"), [(np.float32, np.float64), (np.float64, np.float32)])
@every_optimizer
def test_scalars_may_be_computed_in_the_narrower_of_two_types(op_type, dtype, R_dtype, kind):
    evaluations = {
        **IN_ANY_PRECISION,
        "scalars in float": Evaluation(narrow_rate=True, float_attributes=True),
        "scalars in float, by reciprocal": Evaluation(
            narrow_rate=True, float_attributes=True, reciprocal=True, step="R * (V / H)"
        ),
    }
    worst, where = largest_excess(random_settings(op_type, kind, dtype, R_dtype, count=80), Level.MUST, evaluations)
    assert worst <= 1, where


def product_of_count_and_attribute(T, decay_factor, level):
    """T * decay_factor as an expression of an optimizer's formula on float tensors."""
    system = Enclosing(strict=level is not Level.MUST)
    operands = (np.array(1, np.float32), np.array(T), np.ones((), np.float32))
    (product,) = system.optimizer(
        lambda R, T, X, decay_factor: (T * decay_factor,),
        *(system.entering(operand) for operand in operands[:2]),
        [system.entering(operands[2])],
        {"decay_factor": float(decay_factor)},
    )
    return product.elements.item()


@pytest.mark.parametrize("T", [2**24 + 1, 2**25 + 3, 2**32 + 2**8 + 1])
@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
def test_the_count_may_be_rounded_to_float_before_it_is_multiplied(T, level):
    with exactly():
        for decay_factor in np.linspace(1, 2, 100, dtype=np.float32):
            number = product_of_count_and_attribute(T, decay_factor, level)
            assert number.low <= Decimal(float(np.float32(T) * decay_factor)) <= number.high


def training_settings(op_type, dtype):
    """Settings as they occur in training: default coefficients, learning rates up to 0.1, tensors around 1."""
    attributes = {"alpha": float32(0.9), "norm_coefficient": float32(1e-3)} if op_type == "Momentum" else {}
    for seed in range(SETTINGS):
        source = random.Random(seed)
        operands = [
            [source.uniform(0.1, 3) * (1 if name == "H" else source.choice([1, -1])) for _ in range(ELEMENTS)]
            for name in OPERANDS[op_type]
        ]
        inputs = optimizer_inputs(10 ** source.uniform(-4, -1), source.choice(COUNTS), *operands, dtype=dtype)
        yield Setting(op_type, inputs, attributes)


def relative_widths(op_type, dtype, level):
    widths = []
    for setting in training_settings(op_type, dtype):
        X_new = setting.answers(level)[0]
        widths += (X_new.bound / np.abs(X_new.expected)).tolist()
    return widths


@every_optimizer
def test_the_bound_of_the_new_tensor_is_some_ulps_of_float_at_ordinary_magnitudes(op_type):
    assert np.median(relative_widths(op_type, np.float32, Level.MUST)) < 5e-7


@every_optimizer
def test_the_bound_of_the_new_tensor_is_some_ulps_of_double_at_ordinary_magnitudes(op_type):
    assert np.median(relative_widths(op_type, np.float64, Level.SHOULD)) < 1e-15


@both_types
@every_optimizer
def test_the_should_bounds_are_within_the_must_bounds(op_type, dtype):
    for setting in random_settings(op_type, "ordinary", dtype, count=40):
        for must, should in zip(setting.answers(Level.MUST), setting.answers(Level.SHOULD), strict=True):
            assert (should.bound <= must.bound).all()


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
