"""Interpretations and misinterpretations of clauses, and known values."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import onnx
import pytest
from reference_models import error_in_bounds, float32, optimizer_inputs, optimizer_model, oracle_answers

from checks.mutation.variants import VARIANTS
from conformance.base.verdicts import Level
from conformance.exact.reference.interpretations import interpreted_nodes
from conformance.exact.reference.oracle import answers
from conformance.run.mutants import pseudocode_edits
from conformance.run.mutants.mutant import FormulaArithmetic, KernelPatch, MutantBackend

# Double outputs of an optimizer have to match one interpretation of the page, even if they are within their bounds.


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


# Values derived by hand, for settings in which an operator equals a well-known algorithm.


GRADIENTS = [3.0, -0.7, 1e-3, -250.0]


def within(answer, values):
    """Return whether exact values are within the bound of an answer."""
    return error_in_bounds(answer, np.array(values, dtype=np.float64)) <= 1


def test_momentum_with_alpha_0_is_gradient_descent():
    # V_new = 0 * V + 1 * G = 2 and X_new = 1.5 - 0.25 * 2 = 1.
    X_new, V_new = oracle_answers("Momentum", 0.25, 0, 1.5, 2.0, 7.0)
    assert (X_new.expected.item(), V_new.expected.item()) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("T", "expected"),
    [
        (0, 4.0),  # 0.5 * 4 + 1 * 2
        (-1, 4.0),
        (1, 2.5),  # 0.5 * 4 + 0.25 * 2
    ],
)
def test_momentum_weights_gradient_by_beta_at_positive_count_only(T, expected):
    _, V_new = oracle_answers("Momentum", 0.25, T, 1.5, 2.0, 4.0, alpha=0.5, beta=0.25)
    assert V_new.expected.item() == expected


@pytest.mark.parametrize(
    ("T", "V", "beta", "expected"),
    [
        (0, 0.0, 1.0, -0.5),  # V_new = G, so X_new = X - R * (G + alpha * G) = 1 - 0.5 * 1.5 * 2
        (1, 4.0, 0.25, -0.625),  # V_new = 0.5 * 4 + 0.25 * 2 = 2.5 and X_new = 1 - 0.5 * (2 + 0.5 * 2.5)
    ],
)
def test_nesterov_adds_velocity_to_gradient_that_beta_does_not_scale(T, V, beta, expected):
    X_new, _ = oracle_answers("Momentum", 0.5, T, 1.0, 2.0, V, alpha=0.5, beta=beta, mode="nesterov")
    assert X_new.expected.item() == expected


def test_momentum_with_constant_gradient_is_geometric_sum():
    # V_n = G * (1 + alpha + ... + alpha**(n - 1)) = G * (2 - 2**(1 - n)) for alpha = 1/2; all of it fits in a float.
    G, V, velocities = 3.0, 0.0, []
    for T in range(8):
        V = oracle_answers("Momentum", 1.0, T, 0.0, G, V, alpha=0.5)[1].expected.item()
        velocities.append(V)
    assert velocities == [G * (2 - 2.0 ** (1 - n)) for n in range(1, 9)]


def test_momentum_accumulates_regularized_gradient():
    # G_regularized = 0.5 * 3 + 2 = 3.5.
    assert oracle_answers("Momentum", 1.0, 0, 3.0, 2.0, 0.0, norm_coefficient=0.5)[1].expected.item() == 3.5


@pytest.mark.parametrize("G", GRADIENTS)
@pytest.mark.parametrize("T", [0, 1, 5])
def test_adagrad_first_step_equals_learning_rate(G, T):
    # H_new = G**2, so G / Sqrt(H_new) = sign(G).
    X_new, _ = oracle_answers("Adagrad", 0.125, T, 1.0, G, 0.0, epsilon=0.0)
    assert within(X_new, [1.0 - math.copysign(0.125, G)])


def test_adagrad_first_step_converges_as_epsilon_vanishes():
    # |G| / (|G| + epsilon) grows to 1.
    epsilons = [1.0, 0.1, 0.01, 1e-3, 1e-4]
    steps = [
        -oracle_answers("Adagrad", 0.125, 0, 0.0, 3.0, 0.0, epsilon=epsilon)[0].expected.item() for epsilon in epsilons
    ]
    assert all(shorter < longer for shorter, longer in pairwise([0.0, *steps, 0.125]))


def test_adagrad_steps_shrink_by_sqrt_of_count():
    # H_n = n * G**2, so step n is R / Sqrt(n).
    G = 2.0
    steps = [oracle_answers("Adagrad", 1.0, 0, 0.0, G, (n - 1) * G * G, epsilon=0.0)[0] for n in range(1, 10)]
    assert all(within(step, [-1 / math.sqrt(n)]) for n, step in enumerate(steps, start=1))


def test_adagrad_decay_divides_learning_rate():
    # r = 1 / (1 + 3 * 1) = 1/4 and G / Sqrt(H_new) = 1.
    assert oracle_answers("Adagrad", 1.0, 3, 0.0, 2.0, 0.0, epsilon=0.0, decay_factor=1.0)[0].expected.item() == -0.25


def test_adagrad_negative_count_raises_learning_rate():
    # r = 1 / (1 - 1 * 0.5) = 2.
    assert oracle_answers("Adagrad", 1.0, -1, 0.0, 2.0, 0.0, epsilon=0.0, decay_factor=0.5)[0].expected.item() == -2.0


def test_adagrad_adds_epsilon_after_sqrt():
    # Sqrt(4) + 2 = 4, where Sqrt(4 + 2) is 2.449...
    assert oracle_answers("Adagrad", 1.0, 0, 0.0, 2.0, 0.0, epsilon=2.0)[0].expected.item() == -0.5


@pytest.mark.parametrize("G", GRADIENTS)
@pytest.mark.parametrize(("alpha", "beta"), [(0.9, 0.999), (0.5, 0.75), (0.0, 0.0)])
def test_adam_first_corrected_step_equals_learning_rate(G, alpha, beta):
    # V_new = (1 - alpha) * G and Sqrt(H_new) = Sqrt(1 - beta) * |G|; both factors cancel against the correction's.
    X_new, _, _ = oracle_answers("Adam", 0.125, 1, 1.0, G, 0.0, 0.0, alpha=alpha, beta=beta, epsilon=0.0)
    assert within(X_new, [1.0 - math.copysign(0.125, G)])


@pytest.mark.parametrize("T", [1, 2, 10, 1000])
def test_adam_stationary_state_needs_no_correction(T):
    # With V = (1 - alpha**(T - 1)) * G and H likewise with beta, V_new and H_new cancel against the correction.
    alpha, beta, G = 0.5, 0.75, 2.0
    V, H = (1 - alpha ** (T - 1)) * G, (1 - beta ** (T - 1)) * G * G
    X_new, _, _ = oracle_answers("Adam", 0.125, T, 1.0, G, V, H, dtype=np.float64, alpha=alpha, beta=beta, epsilon=0.0)
    assert within(X_new, [0.875])


@pytest.mark.parametrize(
    ("R", "T", "X", "attributes", "expected"),
    [
        # V_new = G / 2, H_new = G**2 / 4: the step is R * sign(G), where the corrected one would differ for T = 1.
        *((0.25, T, 1.0, {"alpha": 0.5, "beta": 0.75, "epsilon": 0.0}, 0.75) for T in (0, -1, -1000)),
        # Sqrt(1 - 0.75) / (1 - 0.5) = 1; Sqrt(1 - 0.9375) / (1 - 0.5) = 1/2 and V_new / Sqrt(H_new) = 2 / 1 = 2.
        (1.0, 1, 0.0, {"alpha": 0.5, "beta": 0.9375, "epsilon": 0.0}, -1.0),
        # V_new = 2, Sqrt(H_new) = 2, so X_new = -1 * (Sqrt(1 - 0.75) / (1 - 0.5)) * 2 / (2 + 2).
        (1.0, 1, 0.0, {"alpha": 0.5, "beta": 0.75, "epsilon": 2.0}, -0.5),
        # X_new = 1 - 0.25 = 0.75, halved.
        (0.25, 0, 1.0, {"alpha": 0.0, "beta": 0.0, "epsilon": 0.0, "norm_coefficient_post": 0.5}, 0.375),
    ],
)
def test_adam_corrects_rate_adds_epsilon_to_uncorrected_root_and_scales_new_tensor(R, T, X, attributes, expected):
    answer = oracle_answers("Adam", R, T, X, 4.0, 0.0, 0.0, **attributes)[0]
    assert answer.expected.item() == expected


def test_adam_post_regularization_keeps_averages():
    plain = oracle_answers("Adam", 0.25, 3, 1.0, 4.0, 0.3, 0.2)
    scaled = oracle_answers("Adam", 0.25, 3, 1.0, 4.0, 0.3, 0.2, norm_coefficient_post=0.5)
    assert [answer.expected for answer in plain[1:]] == [answer.expected for answer in scaled[1:]]


def test_adam_cancelled_gradient_only_decays_averages():
    # G_regularized = 0.5 * 4 - 2 = 0.
    _, V_new, H_new = oracle_answers("Adam", 1.0, 1, 4.0, -2.0, 3.0, 5.0, alpha=0.5, beta=0.25, norm_coefficient=0.5)
    assert (V_new.expected.item(), H_new.expected.item()) == (1.5, 1.25)


def test_adam_default_epsilon_is_a_millionth():
    # V_new = (1 - alpha) * G and Sqrt(H_new) = 0 for beta = 1, so X_new = -(1 - alpha) * G / epsilon.
    answer = oracle_answers("Adam", 1.0, 0, 0.0, 1.0, 0.0, 0.0, alpha=0.0, beta=1.0, dtype=np.float64)[0]
    assert answer.expected.item() == pytest.approx(-1 / float32(1e-6), rel=1e-15)


def test_adagrad_default_epsilon_is_a_millionth():
    # Sqrt(H_new) = |G| = epsilon, so the step is half the learning rate.
    G = float32(1e-6)
    answer = oracle_answers("Adagrad", 1.0, 0, 0.0, G, 0.0, dtype=np.float64)[0]
    assert answer.expected.item() == pytest.approx(-0.5, rel=1e-15)
