"""Settings in which admissible evaluations differ by more than rounding, and settings in which they agree."""

from __future__ import annotations

import numpy as np
import pytest
from reference_models import OPERANDS, error_in_bounds, float32, optimizer_model, oracle_answer, oracle_answers

from conformance.base.verdicts import Level
from conformance.exact.reference.oracle import answers

INF, NAN = np.inf, np.nan
HUGE = 3e38

# name: operator, R, T, operands, attributes
DOUBTFUL = {
    "an intermediate overflows": ("Adagrad", 1.0, 0, [1.0, 1e30, 0.0], {}),
    "a gradient's square overflows": ("Adam", 1.0, 0, [1.0, 1e20, 0.0, 0.0], {}),
    "H_new and epsilon are zero": ("Adagrad", 1.0, 0, [1.0, 0.0, 0.0], {"epsilon": 0.0}),
    "H_new and epsilon are zero where V is not": ("Adam", 1.0, 0, [1.0, 0.0, 1.0, 0.0], {"epsilon": 0.0}),
    "alpha is 1 and the bias is corrected": ("Adam", 1.0, 1, [1.0, 1.0, 1.0, 1.0], {"alpha": 1.0}),
    "the decayed learning rate divides by zero": ("Adagrad", 1.0, 2, [1.0, 1.0, 1.0], {"decay_factor": -0.5}),
    "Adam's H_new is negative": ("Adam", 1.0, 0, [1.0, 0.0, 1.0, -4.0], {}),
    "Adagrad's H_new is negative": ("Adagrad", 1.0, 0, [1.0, 1.0, -4.0], {}),
    "a zero coefficient meets an infinite X": ("Momentum", 1.0, 0, [INF, 1.0, 1.0], {"alpha": 0.5}),
    "a zero coefficient meets a NaN X": ("Momentum", 1.0, 0, [NAN, 1.0, 1.0], {"alpha": 0.5}),
    "a zero alpha meets an infinite V": ("Momentum", 1.0, 0, [1.0, 1.0, INF], {"norm_coefficient": 0.5}),
    "R times V overflows before H divides it": ("Adam", 1e30, 0, [0.0, 0.0, 1e20, 1e36], {}),
    "R over H underflows before V multiplies it": ("Adam", 1e-20, 0, [0.0, 0.0, 1e10, 1e38], {"beta": 1.0}),
    "a share of 0 meets a square that overflows": ("Adam", 1.0, 0, [1.0, 1e30, 0.0, 1.0], {"beta": 1.0}),
    "a learning rate of 0 meets a quotient that overflows": (
        "Adam",
        0.0,
        0,
        [1.0, 0.0, 1e30, 1e-30],
        {"alpha": 1.0, "epsilon": 0.0},
    ),
    "no double is an odd T, and beta is negative": ("Adam", 1.0, 2**53 + 1, [1.0, 1.0, 1.0, 1.0], {"beta": -2.0}),
    "an average is infinite": ("Adam", 1.0, 0, [1.0, 1.0, INF, 1.0], {}),
    "the new X is at the edge of the range": ("Momentum", 1.0, 0, [float(np.finfo(np.float32).max), -1e31, 0.0], {}),
}
every_doubt = pytest.mark.parametrize(
    ("op_type", "R", "T", "operands", "attributes"), DOUBTFUL.values(), ids=DOUBTFUL.keys()
)


@every_doubt
def test_disputed_setting_is_indeterminate_at_must(op_type, R, T, operands, attributes):
    answers = oracle_answers(op_type, R, T, *operands, level=Level.MUST, **attributes)
    assert any(answer.indeterminacy is not None for answer in answers)


@pytest.mark.parametrize(
    ("T", "beta", "is_determinate"),
    [(2**62 + 1, -3.0, False), (2**62 + 1, -0.5, True), (2**62 + 1, 0.5, True), (2**62, -0.5, True)],
)
def test_power_is_determinate_if_a_double_gives_its_sign(T, beta, is_determinate):
    X_new, _, _ = oracle_answers("Adam", 1.0, T, 1.0, 8.0, 1.0, 1.0, level=Level.MUST, alpha=0.5, beta=beta)
    assert (X_new.indeterminacy is None) is is_determinate


def test_indeterminacy_names_first_element():
    X_new, _ = oracle_answers(
        "Adagrad", 1.0, 0, [1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0] * 3, level=Level.MUST, epsilon=0.0
    )
    assert X_new.indeterminacy.startswith("element [1] is ")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_overflowing_association_is_indeterminate_in_float_only(dtype):
    # R * V = 1e20 and 1e20 / 1e19 = 10, but R / H underflows in float: 1e-25 / 1e19.
    values = (1e-25, 0, 0.0, 0.0, 1e38, 1e38)
    X_new, _, _ = oracle_answers("Adam", *values, level=Level.MUST, dtype=dtype, alpha=1.0, beta=1.0)
    assert (X_new.indeterminacy is None) is (dtype == np.float64)


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
def test_underflowing_association_is_indeterminate_or_accepted(level):
    # R * V = 1e-20 and 1e-20 / 1e19 = 1e-39, but R / H = 1e-49 rounds to 0.
    X_new, _, _ = oracle_answers("Adam", 1e-30, 0, 0.0, 0.0, 1e10, 1e38, level=level, alpha=1.0, beta=1.0, epsilon=0.0)
    assert X_new.indeterminacy is not None or error_in_bounds(X_new, np.zeros(1, np.float32)) <= 1


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
def test_ordinary_settings_are_determinate(level):
    answers = [
        *oracle_answers(
            "Adam", 0.1, 10, [1.0, -2.0], [0.5, 3.0], [0.1, 0.2], [0.3, 4.0], level=level, norm_coefficient=0.01
        ),
        *oracle_answers("Adagrad", 0.1, 10, [1.0, -2.0], [0.5, 3.0], [0.3, 4.0], level=level, decay_factor=0.1),
        *oracle_answers(
            "Momentum", 0.1, 10, [1.0, -2.0], [0.5, 3.0], [0.1, 0.2], level=level, alpha=0.9, mode="nesterov"
        ),
    ]
    assert [answer.indeterminacy for answer in answers] == [None] * len(answers)


def exactly(answer):
    """Return the expected element, the bound and the indeterminacy of an answer; a NaN as the text "NaN"."""
    expected = answer.expected.item()
    return "NaN" if np.isnan(expected) else expected, answer.bound.item(), answer.indeterminacy


def test_zero_times_infinity_at_should_is_nan():
    assert [exactly(answer) for answer in oracle_answers("Momentum", 1.0, 0, INF, 1.0, 1.0)] == [("NaN", 0.0, None)] * 2


def test_zero_over_zero_at_should_is_nan():
    assert exactly(oracle_answers("Adam", 1.0, 0, 1.0, 0.0, 0.0, 0.0, epsilon=0.0)[0]) == ("NaN", 0.0, None)


def test_number_over_zero_at_should_is_infinite():
    assert exactly(oracle_answers("Adam", 1.0, 0, 1.0, 0.0, 1.0, 0.0, epsilon=0.0)[0]) == (-INF, 0.0, None)


def test_bias_correction_by_zero_at_should_is_infinite():
    assert exactly(oracle_answers("Adam", 1.0, 1, 1.0, 1.0, -1.0, 1.0, alpha=1.0)[0]) == (INF, 0.0, None)


def test_decay_dividing_by_zero_at_should_is_infinite():
    assert exactly(oracle_answers("Adagrad", 1.0, 2, 1.0, 1.0, 1.0, decay_factor=-0.5)[0]) == (-INF, 0.0, None)


@pytest.mark.parametrize("op_type", ["Adam", "Adagrad"])
def test_root_of_negative_h_at_should_is_nan(op_type):
    operands = [1.0, 0.0, *([1.0] if op_type == "Adam" else []), -4.0]
    assert exactly(oracle_answers(op_type, 1.0, 0, *operands)[0]) == ("NaN", 0.0, None)


def test_cancelled_sum_over_zero_is_indeterminate():
    # V_new is only a rounding error of alpha * V. In some evaluations it is 0, and 0 / 0 is NaN, not infinite.
    alpha = float32(0.9)
    G = -alpha / float(np.float32(1) - np.float32(alpha))
    X_new, _, _ = oracle_answers("Adam", 1.0, 0, 1.0, G, 1.0, 0.0, alpha=alpha, beta=1.0, epsilon=0.0)
    assert X_new.indeterminacy is not None


def test_overflow_after_uncertain_root_is_indeterminate():
    # H_new is 0 except for rounding, so its root may be NaN. Otherwise X_new is 4 * 3e38 in every evaluation.
    third = float32(1 / 3)
    H = -float(np.float32((1 - third) / third))
    X_new, _, _ = oracle_answers(
        "Adam", 1e-30, 0, HUGE, 1.0, 0.0, H, level=Level.MUST, beta=third, epsilon=1.0, norm_coefficient_post=-3.0
    )
    assert X_new.indeterminacy is not None


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
@pytest.mark.parametrize("sign", [1, -1])
def test_certain_overflow_is_infinite_and_determinate(level, sign):
    X_new, _ = oracle_answers("Momentum", 10.0, 0, sign * HUGE, -sign * HUGE, 0.0, level=level)
    assert exactly(X_new) == (sign * INF, 0.0, None)


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
def test_infinite_gradient_is_determinate(level):
    X_new, V_new = oracle_answers("Momentum", 1.0, 0, 1.0, INF, 1.0, level=level, alpha=0.5)
    assert (exactly(X_new), exactly(V_new)) == ((-INF, 0.0, None), (INF, 0.0, None))


@pytest.mark.parametrize("value", [89.0, 100.0, 700.0, 710.0, 1000.0, 1e30])
@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
def test_exp_overflow_is_infinite_and_determinate(value, level):
    assert exactly(oracle_answer("Exp", np.array([value], np.float32), level=level)) == (INF, 0.0, None)


def test_exp_underflow_accepts_zero_and_subnormal():
    answer = oracle_answer("Exp", np.array([-1000.0], np.float32))
    assert answer.expected.item() == 0.0
    assert 0 <= answer.bound.item() <= 2.0**-147


@pytest.mark.parametrize(("level", "settled"), [(Level.MUST, False), (Level.SHOULD, True)])
def test_log_of_subnormal_is_determinate_at_should_only(level, settled):
    assert (oracle_answer("Log", np.array([1e-40], np.float32), level=level).indeterminacy is None) is settled


NAN_REACHES = {
    ("Adam", "X"): [True, True, True],
    ("Adam", "G"): [True, True, True],
    ("Adam", "V"): [True, True, False],
    ("Adam", "H"): [True, False, True],
    ("Momentum", "X"): [True, True],
    ("Momentum", "G"): [True, True],
    ("Momentum", "V"): [True, True],
    ("Adagrad", "X"): [True, True],
    ("Adagrad", "G"): [True, True],
    ("Adagrad", "H"): [True, True],
}
ATTRIBUTES = {
    "Adam": {"norm_coefficient": 0.1},
    "Momentum": {"alpha": 0.9, "norm_coefficient": 0.1},
    "Adagrad": {"norm_coefficient": 0.1},
}


def with_nan(op_type, name, level):
    tensors = [[1.0, NAN if operand == name else 1.5, 2.0] for operand in OPERANDS[op_type]]
    return oracle_answers(op_type, 0.1, 3, *tensors, level=level, **ATTRIBUTES[op_type])


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
@pytest.mark.parametrize(("op_type", "name"), NAN_REACHES)
def test_nan_reaches_dependent_elements_only(op_type, name, level):
    places = [np.isnan(answer.expected).tolist() for answer in with_nan(op_type, name, level)]
    assert places == [[False, reached, False] for reached in NAN_REACHES[op_type, name]]


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
@pytest.mark.parametrize(("op_type", "name"), NAN_REACHES)
def test_nan_is_determinate(op_type, name, level):
    assert all(answer.indeterminacy is None for answer in with_nan(op_type, name, level))


@pytest.mark.parametrize(("op_type", "name"), NAN_REACHES)
def test_nan_has_bound_zero(op_type, name):
    answers = with_nan(op_type, name, Level.MUST)
    assert all(not answer.bound[np.isnan(answer.expected)].any() for answer in answers)


EXACT = {
    "all zeros": ("Adam", 0.5, 3, [0.0, 0.0, 0.0, 0.0], {}),
    "no learning rate": ("Momentum", 0.0, 1, [0.3, 0.0, 0.0], {}),
    "Momentum of small integers": ("Momentum", 0.25, 5, [3.0, 7.0, -5.0], {"alpha": 0.5, "beta": 0.25}),
    "Nesterov of small integers": ("Momentum", 0.25, 5, [3.0, 7.0, -5.0], {"alpha": 0.5, "mode": "nesterov"}),
}


@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("op_type", "R", "T", "operands", "attributes"), EXACT.values(), ids=EXACT.keys())
def test_exact_result_has_bound_zero(op_type, R, T, operands, attributes, dtype, level):
    answers = oracle_answers(op_type, R, T, *operands, level=level, dtype=dtype, **attributes)
    assert [answer.bound.item() for answer in answers] == [0.0] * len(answers)


SCALED = {
    "Adam of powers of two": ("Adam", 0.5, 0, [1.0, 2.0, 4.0, 4.0], {"alpha": 0.5, "beta": 1.0, "epsilon": 0.0}),
    "Adagrad of powers of two": ("Adagrad", 0.5, 1, [2.0, 4.0, 0.0], {"decay_factor": 1.0, "epsilon": 0.0}),
}
every_scaled = pytest.mark.parametrize(("op_type", "R", "T", "operands", "attributes"), SCALED.values(), ids=SCALED)


@every_scaled
@pytest.mark.parametrize(
    ("dtype", "level"), [(np.float64, Level.MUST), (np.float64, Level.SHOULD), (np.float32, Level.SHOULD)]
)
def test_root_and_quotient_of_powers_of_two_have_bound_zero(op_type, R, T, operands, attributes, dtype, level):
    answers = oracle_answers(op_type, R, T, *operands, level=level, dtype=dtype, **attributes)
    assert [answer.bound.item() for answer in answers] == [0.0] * len(answers)


@every_scaled
def test_float_root_and_quotient_at_must_can_be_approximate(op_type, R, T, operands, attributes):
    X_new, *state = oracle_answers(op_type, R, T, *operands, level=Level.MUST, **attributes)
    assert 0 < X_new.bound.item() < 2e-6
    assert not any(answer.bound.item() for answer in state)


@pytest.mark.parametrize("X", [2.0**-300, 2.0**500, 2.0**-1000 + 2.0**-1050, float(np.finfo(np.float64).max)])
def test_unchanged_double_has_bound_zero(X):
    X_new, _ = oracle_answers("Momentum", 0.0, 0, X, 0.0, 0.0, dtype=np.float64)
    assert exactly(X_new) == (X, 0.0, None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_default_one_minus_alpha_is_exact_in_float(dtype):
    # For alpha in [0.5, 1], 1 - alpha needs no more digits than alpha. `must` then admits no float error for double.
    _, V_new, _ = oracle_answers("Adam", 1.0, 0, 0.0, 1.0, 0.0, 1.0, level=Level.MUST, dtype=dtype)
    assert V_new.bound.item() == 0.0


@pytest.mark.parametrize(("level", "admitted"), [(Level.MUST, True), (Level.SHOULD, False)])
def test_attribute_expression_in_float_is_accepted_at_must_only(level, admitted):
    alpha = np.float32(0.1)
    _, V_new, _ = oracle_answers("Adam", 1.0, 0, 0.0, 1.0, 0.0, 1.0, level=level, dtype=np.float64, alpha=float(alpha))
    error = abs(float(np.float32(1) - alpha) - (1 - float(alpha)))
    assert (error <= V_new.bound.item()) is admitted


@pytest.mark.parametrize(("level", "admitted"), [(Level.MUST, True), (Level.SHOULD, False)])
def test_flushed_subnormal_is_accepted_at_must_only(level, admitted):
    G = 1e-40
    _, V_new = oracle_answers("Momentum", 1.0, 0, 0.0, G, 0.0, level=level)
    assert (V_new.bound.item() >= float32(G)) is admitted


def test_double_learning_rate_can_be_narrowed_to_float():
    X_new, _ = oracle_answers("Momentum", 0.1, 0, 0.0, 1.0, 0.0, R_dtype=np.float64, level=Level.MUST)
    assert X_new.expected.item() - X_new.bound.item() <= -float32(0.1) <= X_new.expected.item() + X_new.bound.item()


@pytest.mark.parametrize("op_type", ["Adam", "Momentum", "Adagrad"])
@pytest.mark.parametrize("shape", [(0,), (2, 0), (), (1, 2, 1, 3)])
def test_expected_and_bound_have_shape_of_tensor(op_type, shape):
    tensors = [np.ones(shape, np.float32) for _ in OPERANDS[op_type]]
    inputs = [np.array(0.1, np.float32), np.array(1), *tensors]
    for answer in answers(optimizer_model(op_type, inputs), inputs, Level.MUST):
        assert (answer.expected.shape, answer.bound.shape) == (shape, shape)
