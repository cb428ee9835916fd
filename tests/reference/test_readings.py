"""A double optimizer's answer fits one reading of the page throughout, or is none, though all its bounds hold."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from reference_models import excess, optimizer_inputs, optimizer_model

from conformance.deviations import adagrad, adam
from conformance.deviations.deviation import Alteration, AlteredBackend, Arithmetic
from conformance.reference.oracle import answers
from conformance.reference.readings import has_readings, readings
from conformance.strength.variants import VARIANTS
from conformance.verdicts import Level

ADAM = {"alpha": 0.1, "beta": 0.2, "epsilon": 0.01, "norm_coefficient": 0.1, "norm_coefficient_post": 0.05}
ADAGRAD = {"decay_factor": 0.1, "epsilon": 0.01, "norm_coefficient": 0.1}
ATTRIBUTES = {"Adam": ADAM, "Adagrad": ADAGRAD}


def case(op_type, T=3, dtype=np.float64):
    """A model of one node of five elements, with its inputs."""
    operands = [np.linspace(0.3, 1.9, 5) * sign for sign in ((1, -1, 1) if op_type == "Adagrad" else (1, -1, 1, 1))]
    inputs = optimizer_inputs(0.1, T, *operands, dtype=dtype)
    return optimizer_model(op_type, inputs, **ATTRIBUTES[op_type]), inputs


def outputs(op_type, edits, T=3):
    """What a kernel whose pseudo-code is edited makes of it."""
    model, inputs = case(op_type, T)
    backend = AlteredBackend({op_type: Alteration(arithmetic=Arithmetic(edits))})
    return backend.prepare(onnx.load_model_from_string(model)).run(inputs)


def fits(op_type, edits, T=3):
    (node,) = readings(*case(op_type, T))
    return node.fits(outputs(op_type, edits, T))


def is_within_its_bounds(op_type, edits, T=3):
    model, inputs = case(op_type, T)
    told = answers(model, inputs, Level.MUST)
    return all(excess(*pair) <= 1 for pair in zip(told, outputs(op_type, edits, T), strict=True))


RIGHT = {
    "as written": ("Adam", {}),
    "1 - alpha in float": ("Adam", {adam.V_NEW: "alpha * V + single(1 - single(alpha)) * G_regularized"}),
    "1 - beta in float": ("Adam", {adam.H_NEW: "beta * H + single(1 - single(beta)) * G_regularized**2"}),
    "1 - norm_coefficient_post in float": ("Adam", {adam.X_FINAL: "single(1 - norm_coefficient_post) * X_new"}),
    "R_adjusted in float": ("Adam", {adam.R_ADJUSTED: f"R * single({adam.R_ADJUSTED.removeprefix('R * ')})"}),
    "r's divisor in float": ("Adagrad", {adagrad.RATE: "R / single(1 + single(single(T) * decay_factor))"}),
    "Adagrad as written": ("Adagrad", {}),
}

WRONG = {
    "a root in float": ("Adam", {adam.H_SQRT: "single(np.sqrt(H_new)) + epsilon"}),
    "a quotient in float": ("Adam", {adam.STEP: "X - single(R_adjusted * V_new / H_sqrt)"}),
    "Adagrad's root in float": ("Adagrad", {adagrad.H_ADAPTIVE: "single(np.sqrt(H_new)) + epsilon"}),
}


@pytest.mark.parametrize(("op_type", "edits"), RIGHT.values(), ids=RIGHT)
def test_scalars_may_be_computed_in_float_once(op_type, edits):
    assert fits(op_type, edits)


@pytest.mark.parametrize(("op_type", "edits"), WRONG.values(), ids=WRONG)
def test_what_a_tensor_is_in_may_not_though_each_element_is_within_its_bound(op_type, edits):
    assert is_within_its_bounds(op_type, edits)
    assert not fits(op_type, edits)


def test_1_minus_alpha_is_the_same_for_all_elements():
    mixed = "alpha * V + np.where(X > 1, 1 - alpha, single(1 - single(alpha))) * G_regularized"
    assert is_within_its_bounds("Adam", {adam.V_NEW: mixed})
    assert not fits("Adam", {adam.V_NEW: mixed})


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.id)
@pytest.mark.parametrize("op_type", ATTRIBUTES)
def test_every_correct_variant_fits(variant, op_type):
    arithmetic = variant.alterations.get(op_type, Alteration()).arithmetic
    model, inputs = case(op_type)
    backend = AlteredBackend({op_type: Alteration(arithmetic=arithmetic)})
    (node,) = readings(model, inputs)
    assert node.fits(backend.prepare(onnx.load_model_from_string(model)).run(inputs))


def test_float_tensors_have_no_readings_of_their_own():
    model, inputs = case("Adam", dtype=np.float32)
    assert not has_readings(onnx.load_model_from_string(model))
    assert readings(model, inputs) == []


def test_a_node_whose_state_is_not_shown_is_left_to_its_bounds():
    model, inputs = case("Adam")
    proto = onnx.load_model_from_string(model)
    del proto.graph.output[1:]
    assert readings(proto.SerializeToString(), inputs) == []


def test_what_is_no_number_is_left_to_its_bounds():
    model, inputs = case("Adam")
    inputs[2][0] = np.nan
    (node,) = readings(model, inputs)
    right = AlteredBackend({}).prepare(onnx.load_model_from_string(model)).run(inputs)
    assert node.fits(right)
