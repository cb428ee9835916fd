"""Correct variants stay within the bounds on random inputs."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import no_progress

from conformance.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from mutation.variant_sweep import NUMBER_OF_SWEEPS, RandomSetting, outputs_of, running_bounds, sweep
from mutation.variants import VARIANTS

ELEMENTS = 10_000


@pytest.fixture(scope="module")
def swept():
    return sweep(ELEMENTS, no_progress)


def setting(operator, dtype, **attributes):
    tensors = [np.linspace(0.5, 2, 7, dtype=dtype) for _ in TRAINING_OPTIMIZERS[operator].operands]
    given = {**TRAINING_OPTIMIZERS[operator].defaults, **attributes}
    given = {name: float(np.float32(value)) if isinstance(value, float) else value for name, value in given.items()}
    return RandomSetting(operator, np.array(0.3, dtype), np.array(5), tensors, given)


SETTINGS = {
    "Adam": {"norm_coefficient": 0.1, "norm_coefficient_post": 0.2},
    "Momentum": {"alpha": 0.9, "beta": 0.7, "mode": "nesterov", "norm_coefficient": 0.1},
    "Adagrad": {"decay_factor": 0.3, "norm_coefficient": 0.1},
}


def test_operators_all_have_correct_variants():
    assert len(VARIANTS) >= 12
    assert len({variant.id for variant in VARIANTS}) == len(VARIANTS)
    for operator in (*TRAINING_OPTIMIZERS, "Log", "Softmax"):
        assert any(operator in variant.patches for variant in VARIANTS)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.id)
def test_variant_has_the_types_and_values_of_the_plain_one(variant):
    for operator in TRAINING_OPTIMIZERS.keys() & variant.patches.keys():
        for dtype in (np.float32, np.float64):
            case = setting(operator, dtype, **SETTINGS[operator])
            plain, other = outputs_of(VARIANTS[0], case), outputs_of(variant, case)
            for a, b in zip(plain, other, strict=True):
                assert a.dtype == b.dtype == dtype
                np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("operator", TRAINING_OPTIMIZERS)
def test_running_bounds_have_the_values_of_the_formula(operator):
    case = setting(operator, np.float64, **SETTINGS[operator])
    bounds = running_bounds(TRAINING_OPTIMIZERS[operator].formula, case.R, case.T, case.tensors, case.attributes)
    for (value, bound), plain in zip(bounds, outputs_of(VARIANTS[0], case), strict=True):
        np.testing.assert_allclose(value.astype(np.float64), plain, rtol=1e-14)
        assert (bound > 0).all()


def test_sweep_finds_all_variants_within_the_bounds(swept):
    assert len(swept) == NUMBER_OF_SWEEPS == 6
    assert all(one.passes for one in swept), swept
    assert all(one.screened <= 1 for one in swept), swept
    assert all(one.elements >= ELEMENTS for one in swept)
    assert all(one.checked > one.unsettled for one in swept)


def test_sweep_finds_the_bounds_tight(swept):
    for one in swept:
        roundoff = 2.0**-24 if one.type == "float" else 2.0**-53
        assert one.largest > 0.25, f"{one.operator} in {one.type}: nothing comes near the bound"
        assert one.width < 20 * roundoff, f"{one.operator} in {one.type}: the bound is wide"
