"""Every admissible evaluation lies within the bounds, ordinary bounds are narrow, and wrong readings lie outside."""

from __future__ import annotations

import random
from decimal import Decimal

import numpy as np
import pytest
from random_settings import (
    COUNTS,
    ELEMENTS,
    SETTINGS,
    Setting,
    both_types,
    every_optimizer,
    largest_excess,
    random_settings,
)
from reference_evaluations import AT_MUST_ONLY, IN_ANY_PRECISION, Evaluation
from reference_models import OPERANDS, float32, optimizer_inputs

from conformance.reference.numbers.enclosing import Enclosing
from conformance.reference.numbers.exact import exactly
from conformance.verdicts import Level


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
        [lambda R, T, X, decay_factor: (T * decay_factor,)],
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
