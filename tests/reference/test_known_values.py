"""Values derived by hand, where an operator's definition coincides with a well-known one."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from reference_models import excess, float32, judged

GRADIENTS = [3.0, -0.7, 1e-3, -250.0]


def within(answer, values):
    """Whether exact values lie within the bound of an answer."""
    return excess(answer, np.array(values, dtype=np.float64)) <= 1


def test_momentum_without_memory_is_gradient_descent():
    # V_new = 0 * V + 1 * G = 2 and X_new = 1.5 - 0.25 * 2 = 1.
    X_new, V_new = judged("Momentum", 0.25, 0, 1.5, 2.0, 7.0)
    assert (X_new.expected.item(), V_new.expected.item()) == (1.0, 2.0)


def test_momentum_ignores_beta_where_the_count_is_zero():
    # V_new = 0.5 * 4 + 1 * 2 = 4.
    assert judged("Momentum", 0.25, 0, 1.5, 2.0, 4.0, alpha=0.5, beta=0.25)[1].expected.item() == 4.0


def test_momentum_ignores_beta_where_the_count_is_negative():
    assert judged("Momentum", 0.25, -1, 1.5, 2.0, 4.0, alpha=0.5, beta=0.25)[1].expected.item() == 4.0


def test_momentum_weighs_the_gradient_by_beta_where_the_count_is_positive():
    # V_new = 0.5 * 4 + 0.25 * 2 = 2.5.
    assert judged("Momentum", 0.25, 1, 1.5, 2.0, 4.0, alpha=0.5, beta=0.25)[1].expected.item() == 2.5


def test_the_first_nesterov_step_is_one_plus_alpha_gradients_long():
    # V_new = G, so that X_new = X - R * (G + alpha * G) = 1 - 0.5 * 1.5 * 2 = -0.5.
    X_new, _ = judged("Momentum", 0.5, 0, 1.0, 2.0, 0.0, alpha=0.5, mode="nesterov")
    assert X_new.expected.item() == -0.5


def test_beta_does_not_scale_the_gradient_that_nesterov_looks_ahead_with():
    # V_new = 0.5 * 4 + 0.25 * 2 = 2.5 and X_new = 1 - 0.5 * (2 + 0.5 * 2.5) = -0.625.
    X_new, _ = judged("Momentum", 0.5, 1, 1.0, 2.0, 4.0, alpha=0.5, beta=0.25, mode="nesterov")
    assert X_new.expected.item() == -0.625


def test_heavy_ball_under_a_constant_gradient_is_a_geometric_sum():
    # V_n = G * (1 + alpha + ... + alpha**(n - 1)) = G * (2 - 2**(1 - n)) for alpha = 1/2; all of it fits in a float.
    G, V, velocities = 3.0, 0.0, []
    for T in range(8):
        V = judged("Momentum", 1.0, T, 0.0, G, V, alpha=0.5)[1].expected.item()
        velocities.append(V)
    assert velocities == [G * (2 - 2.0 ** (1 - n)) for n in range(1, 9)]


def test_the_regularised_gradient_enters_the_momentum():
    # G_regularized = 0.5 * 3 + 2 = 3.5.
    assert judged("Momentum", 1.0, 0, 3.0, 2.0, 0.0, norm_coefficient=0.5)[1].expected.item() == 3.5


@pytest.mark.parametrize("G", GRADIENTS)
@pytest.mark.parametrize("T", [0, 1, 5])
def test_the_first_adagrad_step_without_epsilon_is_the_learning_rate_long(G, T):
    # H_new = G**2, so that G / Sqrt(H_new) = sign(G).
    X_new, _ = judged("Adagrad", 0.125, T, 1.0, G, 0.0, epsilon=0.0)
    assert within(X_new, [1.0 - math.copysign(0.125, G)])


def test_the_first_adagrad_step_tends_to_the_learning_rate_as_epsilon_vanishes():
    # |G| / (|G| + epsilon) grows to 1.
    epsilons = [1.0, 0.1, 0.01, 1e-3, 1e-4]
    steps = [-judged("Adagrad", 0.125, 0, 0.0, 3.0, 0.0, epsilon=epsilon)[0].expected.item() for epsilon in epsilons]
    assert all(shorter < longer for shorter, longer in pairwise([0.0, *steps, 0.125]))


def test_adagrad_under_a_constant_gradient_takes_steps_that_shrink_by_the_square_root_of_their_number():
    # H_n = n * G**2, so that step n is R / Sqrt(n).
    G = 2.0
    steps = [judged("Adagrad", 1.0, 0, 0.0, G, (n - 1) * G * G, epsilon=0.0)[0] for n in range(1, 10)]
    assert all(within(step, [-1 / math.sqrt(n)]) for n, step in enumerate(steps, start=1))


def test_adagrad_divides_the_learning_rate_by_one_plus_the_decays():
    # r = 1 / (1 + 3 * 1) = 1/4 and G / Sqrt(H_new) = 1.
    assert judged("Adagrad", 1.0, 3, 0.0, 2.0, 0.0, epsilon=0.0, decay_factor=1.0)[0].expected.item() == -0.25


def test_adagrad_raises_the_learning_rate_where_the_count_is_negative():
    # r = 1 / (1 - 1 * 0.5) = 2.
    assert judged("Adagrad", 1.0, -1, 0.0, 2.0, 0.0, epsilon=0.0, decay_factor=0.5)[0].expected.item() == -2.0


def test_adagrad_adds_epsilon_outside_of_the_square_root():
    # Sqrt(4) + 2 = 4, where Sqrt(4 + 2) is 2.449...
    assert judged("Adagrad", 1.0, 0, 0.0, 2.0, 0.0, epsilon=2.0)[0].expected.item() == -0.5


@pytest.mark.parametrize("G", GRADIENTS)
@pytest.mark.parametrize(("alpha", "beta"), [(0.9, 0.999), (0.5, 0.75), (0.0, 0.0)])
def test_the_first_bias_corrected_adam_step_without_epsilon_is_the_learning_rate_long(G, alpha, beta):
    # V_new = (1 - alpha) * G and Sqrt(H_new) = Sqrt(1 - beta) * |G|; both factors cancel against the correction's.
    X_new, _, _ = judged("Adam", 0.125, 1, 1.0, G, 0.0, 0.0, alpha=alpha, beta=beta, epsilon=0.0)
    assert within(X_new, [1.0 - math.copysign(0.125, G)])


@pytest.mark.parametrize("T", [1, 2, 10, 1000])
def test_adam_in_its_stationary_state_under_a_constant_gradient_needs_no_correction(T):
    # With V = (1 - alpha**(T - 1)) * G and H likewise with beta, V_new and H_new cancel against the correction.
    alpha, beta, G = 0.5, 0.75, 2.0
    V, H = (1 - alpha ** (T - 1)) * G, (1 - beta ** (T - 1)) * G * G
    X_new, _, _ = judged("Adam", 0.125, T, 1.0, G, V, H, dtype=np.float64, alpha=alpha, beta=beta, epsilon=0.0)
    assert within(X_new, [0.875])


@pytest.mark.parametrize("T", [0, -1, -1000])
def test_adam_does_not_correct_the_bias_where_the_count_is_not_positive(T):
    # V_new = G / 2, H_new = G**2 / 4: the step is R * sign(G), where the corrected one would differ for T = 1.
    assert judged("Adam", 0.25, T, 1.0, 4.0, 0.0, 0.0, alpha=0.5, beta=0.75, epsilon=0.0)[0].expected.item() == 0.75


def test_adam_scales_the_learning_rate_by_the_two_corrections():
    # Sqrt(1 - 0.75) / (1 - 0.5) = 1; Sqrt(1 - 0.9375) / (1 - 0.5) = 1/2 and V_new / Sqrt(H_new) = 2 / 1 = 2.
    answer = judged("Adam", 1.0, 1, 0.0, 4.0, 0.0, 0.0, alpha=0.5, beta=0.9375, epsilon=0.0)[0]
    assert answer.expected.item() == -1.0


def test_adam_adds_epsilon_to_the_uncorrected_root():
    # V_new = 2, Sqrt(H_new) = 2, so that X_new = -1 * (Sqrt(1 - 0.75) / (1 - 0.5)) * 2 / (2 + 2).
    answer = judged("Adam", 1.0, 1, 0.0, 4.0, 0.0, 0.0, alpha=0.5, beta=0.75, epsilon=2.0)[0]
    assert answer.expected.item() == -0.5


def test_the_post_regularization_scales_the_new_tensor_after_the_step():
    # X_new = 1 - 0.25 = 0.75, halved.
    answer = judged("Adam", 0.25, 0, 1.0, 4.0, 0.0, 0.0, alpha=0.0, beta=0.0, epsilon=0.0, norm_coefficient_post=0.5)[0]
    assert answer.expected.item() == 0.375


def test_the_post_regularization_leaves_the_averages_alone():
    plain = judged("Adam", 0.25, 3, 1.0, 4.0, 0.3, 0.2)
    scaled = judged("Adam", 0.25, 3, 1.0, 4.0, 0.3, 0.2, norm_coefficient_post=0.5)
    assert [answer.expected for answer in plain[1:]] == [answer.expected for answer in scaled[1:]]


def test_a_gradient_that_the_regularization_cancels_only_decays_the_averages():
    # G_regularized = 0.5 * 4 - 2 = 0.
    _, V_new, H_new = judged("Adam", 1.0, 1, 4.0, -2.0, 3.0, 5.0, alpha=0.5, beta=0.25, norm_coefficient=0.5)
    assert (V_new.expected.item(), H_new.expected.item()) == (1.5, 1.25)


def test_the_default_epsilon_of_adam_is_a_millionth():
    # V_new = (1 - alpha) * G and Sqrt(H_new) = 0 for beta = 1, so that X_new = -(1 - alpha) * G / epsilon.
    answer = judged("Adam", 1.0, 0, 0.0, 1.0, 0.0, 0.0, alpha=0.0, beta=1.0, dtype=np.float64)[0]
    assert answer.expected.item() == pytest.approx(-1 / float32(1e-6), rel=1e-15)


def test_the_default_epsilon_of_adagrad_is_a_millionth():
    # Sqrt(H_new) = |G| = epsilon, so that the step is half the learning rate.
    G = float32(1e-6)
    answer = judged("Adagrad", 1.0, 0, 0.0, G, 0.0, dtype=np.float64)[0]
    assert answer.expected.item() == pytest.approx(-0.5, rel=1e-15)
