"""Double outputs of an optimizer have to match one interpretation of the page, even if they are within their bounds."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from reference_models import error_in_bounds, optimizer_inputs, optimizer_model

from conformance.mutants.mutant import FormulaArithmetic, KernelPatch, MutantBackend
from conformance.mutants.tables import pseudocode_edits
from conformance.reference.interpretations import interpreted_nodes
from conformance.reference.oracle import answers
from conformance.verdicts import Level
from mutation.variants import VARIANTS

ADAM = {"alpha": 0.1, "beta": 0.2, "epsilon": 0.01, "norm_coefficient": 0.1, "norm_coefficient_post": 0.05}
ADAGRAD = {"decay_factor": 0.1, "epsilon": 0.01, "norm_coefficient": 0.1}
ATTRIBUTES = {"Adam": ADAM, "Adagrad": ADAGRAD}


def case(op_type, T=3, dtype=np.float64):
    """Return a model of one node with five elements, and its inputs."""
    operands = [np.linspace(0.3, 1.9, 5) * sign for sign in ((1, -1, 1) if op_type == "Adagrad" else (1, -1, 1, 1))]
    inputs = optimizer_inputs(0.1, T, *operands, dtype=dtype)
    return optimizer_model(op_type, inputs, **ATTRIBUTES[op_type]), inputs


def outputs(op_type, edits, T=3):
    """Return the outputs of a kernel with edited pseudo-code."""
    model, inputs = case(op_type, T)
    backend = MutantBackend({op_type: KernelPatch(arithmetic=FormulaArithmetic(pseudocode_edits(op_type, edits)))})
    return backend.prepare(onnx.load_model_from_string(model)).run(inputs)


def has_match(op_type, edits, T=3):
    (node,) = interpreted_nodes(*case(op_type, T))
    return node.has_match(outputs(op_type, edits, T))


def is_within_its_bounds(op_type, edits, T=3):
    model, inputs = case(op_type, T)
    told = answers(model, inputs, Level.MUST)
    return all(error_in_bounds(*pair) <= 1 for pair in zip(told, outputs(op_type, edits, T), strict=True))


RIGHT = {
    "as written": ("Adam", {}),
    "1 - alpha in float": ("Adam", {"V_new": "alpha * V + single(1 - single(alpha)) * G_regularized"}),
    "1 - beta in float": ("Adam", {"H_new": "beta * H + single(1 - single(beta)) * G_regularized**2"}),
    "1 - norm_coefficient_post in float": ("Adam", {"X_final": "single(1 - norm_coefficient_post) * X_new"}),
    "R_adjusted in float": ("Adam", {"R_adjusted": "R * single(np.sqrt(1 - beta**T) / (1 - alpha**T))"}),
    "r's divisor in float": ("Adagrad", {"r": "R / single(1 + single(single(T) * decay_factor))"}),
    "Adagrad as written": ("Adagrad", {}),
}

WRONG = {
    "a root in float": ("Adam", {"H_sqrt": "single(np.sqrt(H_new)) + epsilon"}),
    "a quotient in float": ("Adam", {"X_new": "X - single(R_adjusted * V_new / H_sqrt)"}),
    "Adagrad's root in float": ("Adagrad", {"H_adaptive": "single(np.sqrt(H_new)) + epsilon"}),
}


@pytest.mark.parametrize(("op_type", "edits"), RIGHT.values(), ids=RIGHT)
def test_scalars_computed_once_in_float_match(op_type, edits):
    assert has_match(op_type, edits)


@pytest.mark.parametrize(("op_type", "edits"), WRONG.values(), ids=WRONG)
def test_tensor_expression_in_float_does_not_match(op_type, edits):
    assert is_within_its_bounds(op_type, edits)
    assert not has_match(op_type, edits)


def test_interpretation_mixed_across_elements_has_no_match():
    mixed = "alpha * V + np.where(X > 1, 1 - alpha, single(1 - single(alpha))) * G_regularized"
    assert is_within_its_bounds("Adam", {"V_new": mixed})
    assert not has_match("Adam", {"V_new": mixed})


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.id)
@pytest.mark.parametrize("op_type", ATTRIBUTES)
def test_correct_variant_matches(variant, op_type):
    arithmetic = variant.patches.get(op_type, KernelPatch()).arithmetic
    model, inputs = case(op_type)
    backend = MutantBackend({op_type: KernelPatch(arithmetic=arithmetic)})
    (node,) = interpreted_nodes(model, inputs)
    assert node.has_match(backend.prepare(onnx.load_model_from_string(model)).run(inputs))


def test_float_tensors_have_no_interpretations():
    model, inputs = case("Adam", dtype=np.float32)
    assert interpreted_nodes(model, inputs) == []


def test_momentum_has_no_number_in_common_and_no_interpretations():
    inputs = optimizer_inputs(0.1, 3, *[np.linspace(0.3, 1.9, 5)] * 3, dtype=np.float64)
    attributes = {"alpha": 0.1, "beta": 0.2, "mode": "nesterov", "norm_coefficient": 0.1}
    model = optimizer_model("Momentum", inputs, **attributes)
    assert interpreted_nodes(model, inputs) == []


def test_node_with_hidden_state_has_no_interpretations():
    model, inputs = case("Adam")
    proto = onnx.load_model_from_string(model)
    del proto.graph.output[1:]
    assert interpreted_nodes(proto.SerializeToString(), inputs) == []


def test_nan_outputs_match():
    model, inputs = case("Adam")
    inputs[2][0] = np.nan
    (node,) = interpreted_nodes(model, inputs)
    right = MutantBackend({}).prepare(onnx.load_model_from_string(model)).run(inputs)
    assert node.has_match(right)
