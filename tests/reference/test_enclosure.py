"""Bounds contain every admissible evaluation, and they are narrow for ordinary settings."""

from __future__ import annotations

import random
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest
from random_optimizer_inputs import (
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

from conformance.reference.numbers.decimals import exact_context
from conformance.reference.numbers.interval_system import IntervalSystem
from conformance.verdicts import Level


@pytest.mark.parametrize("kind", ["ordinary", "any magnitude", "dyadic"])
@both_types
@every_optimizer
def test_admissible_evaluations_are_within_must_bounds(op_type, dtype, kind):
    settings = random_settings(op_type, kind, dtype)
    worst, where = largest_excess(settings, Level.MUST, {**IN_ANY_PRECISION, **AT_MUST_ONLY})
    assert worst <= 1, where


@pytest.mark.parametrize("kind", ["ordinary", "any magnitude", "dyadic"])
@both_types
@every_optimizer
def test_evaluations_in_tensor_precision_are_within_should_bounds(op_type, dtype, kind):
    settings = random_settings(op_type, kind, dtype)
    worst, where = largest_excess(settings, Level.SHOULD, IN_ANY_PRECISION)
    assert worst <= 1, where


@pytest.mark.parametrize("op_type", ["Adam", "Adagrad"])
def test_learning_rate_factor_can_be_float_for_doubles(op_type):
    # R * (Sqrt(1 - beta**T) / (1 - alpha**T)) and R * (1 / (1 + T * decay_factor)): the factors contain no tensor.
    evaluations = {"factor of R in float": Evaluation(float_attributes=True, factor_first=True)}
    worst, where = largest_excess(random_settings(op_type, "dyadic", np.float64), Level.MUST, evaluations)
    assert worst <= 1, where


@pytest.mark.parametrize("kind", ["ordinary", "dyadic"])
@pytest.mark.parametrize(("dtype", "R_dtype"), [(np.float32, np.float64), (np.float64, np.float32)])
@every_optimizer
def test_scalars_can_be_computed_in_narrower_type(op_type, dtype, R_dtype, kind):
    evaluations = {
        **IN_ANY_PRECISION,
        "scalars in float": Evaluation(narrow_rate=True, float_attributes=True),
        "scalars in float, by reciprocal": Evaluation(
            narrow_rate=True, float_attributes=True, reciprocal=True, step="R * (V / H)"
        ),
    }
    worst, where = largest_excess(random_settings(op_type, kind, dtype, R_dtype), Level.MUST, evaluations)
    assert worst <= 1, where


def product_of_count_and_attribute(T, decay_factor, level):
    """Return T * decay_factor, computed as part of an optimizer's formula on float tensors."""
    system = IntervalSystem(strict=level is not Level.MUST)
    operands = (np.array(1, np.float32), np.array(T), np.ones((), np.float32))
    (product,) = system.apply_optimizer(
        SimpleNamespace(formula_in_all_forms=lambda _, R, T, X, decay_factor: (T * decay_factor,)),
        *(system.from_array(operand) for operand in operands[:2]),
        [system.from_array(operands[2])],
        {"decay_factor": float(decay_factor)},
    )
    return product.elements.item()


@pytest.mark.parametrize("T", [2**24 + 1, 2**25 + 3, 2**32 + 2**8 + 1])
@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
def test_update_count_can_be_rounded_before_product(T, level):
    with exact_context():
        for decay_factor in np.linspace(1, 2, 100, dtype=np.float32):
            number = product_of_count_and_attribute(T, decay_factor, level)
            assert number.low <= Decimal(float(np.float32(T) * decay_factor)) <= number.high


def training_settings(op_type, dtype):
    """Return typical training settings: default coefficients, learning rates up to 0.1, tensors around 1."""
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
def test_ordinary_float_bound_is_a_few_ulps(op_type):
    assert np.median(relative_widths(op_type, np.float32, Level.MUST)) < 5e-7


@every_optimizer
def test_ordinary_double_bound_is_a_few_ulps(op_type):
    assert np.median(relative_widths(op_type, np.float64, Level.SHOULD)) < 1e-15


@both_types
@every_optimizer
def test_should_bounds_are_within_must_bounds(op_type, dtype):
    for setting in random_settings(op_type, "ordinary", dtype):
        for must, should in zip(setting.answers(Level.MUST), setting.answers(Level.SHOULD), strict=True):
            assert (should.bound <= must.bound).all()
