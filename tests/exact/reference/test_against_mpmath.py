"""Expected values equal a second implementation of the pages' formulas, in mpmath and in fractions."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf
from reference_models import float32, nearest, oracle_answer, oracle_answers

BITS = 600
COUNTS = [-3, 0, 1, 2, 10, 1000]

both_types = pytest.mark.parametrize("dtype", [np.float32, np.float64])
both_modes = pytest.mark.parametrize("mode", ["standard", "nesterov"])


def fraction(value: mpf) -> Fraction:
    """Return the exact value of an mpmath number."""
    sign, significand, exponent, _ = value._mpf_
    return Fraction((-1) ** sign * int(significand)) * Fraction(2) ** exponent


def rounded(value: Any, dtype: Any) -> Any:
    """Return the exact value of a formula, correctly rounded."""
    return nearest(value if isinstance(value, Fraction) else fraction(value), dtype)


def adam(R, T, X, G, V, H, *, alpha, beta, epsilon, norm_coefficient, norm_coefficient_post):
    gradient = G + norm_coefficient * X
    average = V * alpha + gradient * (1 - alpha)
    square = H * beta + gradient**2 * (1 - beta)
    rate = R
    if T >= 1:
        rate = R * mpmath.sqrt(1 - beta**T) / (1 - alpha**T)
    stepped = X - rate * average / (epsilon + mpmath.sqrt(square))
    return stepped - norm_coefficient_post * stepped, average, square


def momentum(R, T, X, G, V, *, alpha, beta, mode, norm_coefficient):
    gradient = G + norm_coefficient * X
    average = V * alpha + (gradient * beta if T >= 1 else gradient)
    return X - R * {"standard": average, "nesterov": average * alpha + gradient}[mode], average


def adagrad(R, T, X, G, H, *, decay_factor, epsilon, norm_coefficient):
    gradient = G + norm_coefficient * X
    square = gradient**2 + H
    return X - (R * gradient) / ((decay_factor * T + 1) * (epsilon + mpmath.sqrt(square))), square


def numbers(dtype: Any, least: float = -1000.0) -> st.SearchStrategy[float]:
    """Return a strategy for values of a type: zero, or a magnitude from 1e-6 to 1000."""
    width = np.dtype(dtype).itemsize * 8
    tiny = float32(1e-6)
    positive = st.floats(tiny, 1000, width=width)
    return st.one_of(st.just(0.0), positive, *([positive.map(lambda value: -value)] if least < 0 else []))


def coefficients(first: float, last: float) -> st.SearchStrategy[float]:
    """Return a strategy for values of an attribute."""
    return st.floats(float32(first), float32(last), width=32)


@dataclass(frozen=True)
class Setting:
    """One iteration of an optimizer on one element."""

    R: float
    T: int
    operands: list[float]
    attributes: dict[str, Any] = field(default_factory=dict)

    def expected(self, op_type: str, dtype: Any) -> list[Any]:
        answers = oracle_answers(op_type, self.R, self.T, *self.operands, dtype=dtype, **self.attributes)
        return [answer.expected.item() for answer in answers]

    def by(self, formula: Any, number: Any) -> Any:
        attributes = {name: value if name == "mode" else number(value) for name, value in self.attributes.items()}
        return formula(number(self.R), self.T, *(number(operand) for operand in self.operands), **attributes)


@st.composite
def settings_of(draw: st.DrawFn, op_type: str, dtype: Any, mode: str | None = None) -> Setting:
    signed, positive = numbers(dtype), numbers(dtype, 0.0)
    share, norm = coefficients(0, 0.9999), coefficients(0, 2)
    epsilon = coefficients(1e-8, 1)
    attributes = {
        "Adam": {
            "alpha": share,
            "beta": share,
            "epsilon": epsilon,
            "norm_coefficient": norm,
            "norm_coefficient_post": norm,
        },
        "Momentum": {"alpha": norm, "beta": norm, "norm_coefficient": norm, "mode": st.just(mode)},
        "Adagrad": {"decay_factor": coefficients(0, 0.25), "epsilon": epsilon, "norm_coefficient": norm},
    }[op_type]
    operands = {
        "Adam": [signed, signed, signed, positive],
        "Momentum": [signed, signed, signed],
        "Adagrad": [signed, signed, positive],
    }[op_type]
    return Setting(
        draw(positive),
        draw(st.sampled_from(COUNTS)),
        [draw(operand) for operand in operands],
        {name: draw(values) for name, values in attributes.items()},
    )


@pytest.mark.parametrize(("operator", "formula"), [("Adam", adam), ("Adagrad", adagrad)])
@both_types
@given(data=st.data())
def test_optimizer_equals_correctly_rounded_formula(operator, formula, dtype, data):
    setting = data.draw(settings_of(operator, dtype))
    with mpmath.workprec(BITS):
        assert setting.expected(operator, dtype) == [rounded(value, dtype) for value in setting.by(formula, mpf)]


@both_types
@given(data=st.data())
def test_adam_averages_equal_fractions_rounded_once(dtype, data):
    setting = data.draw(settings_of("Adam", dtype))
    operands = [Fraction(operand) for operand in setting.operands]
    X, G, V, H = operands
    alpha, beta, norm = (Fraction(setting.attributes[name]) for name in ("alpha", "beta", "norm_coefficient"))
    V_new = alpha * V + (1 - alpha) * (norm * X + G)
    H_new = beta * H + (1 - beta) * (norm * X + G) ** 2
    assert setting.expected("Adam", dtype)[1:] == [rounded(V_new, dtype), rounded(H_new, dtype)]


@both_modes
@both_types
@given(data=st.data())
def test_momentum_equals_fraction_rounded_once(dtype, mode, data):
    setting = data.draw(settings_of("Momentum", dtype, mode))
    expected = [rounded(value, dtype) for value in setting.by(momentum, Fraction)]
    assert setting.expected("Momentum", dtype) == expected


@both_modes
@given(data=st.data())
def test_momentum_equals_correctly_rounded_formula(mode, data):
    setting = data.draw(settings_of("Momentum", np.float32, mode))
    with mpmath.workprec(BITS):
        expected = [rounded(value, np.float32) for value in setting.by(momentum, mpf)]
    assert setting.expected("Momentum", np.float32) == expected


@both_types
@given(data=st.data())
def test_adagrad_h_new_equals_fraction_rounded_once(dtype, data):
    setting = data.draw(settings_of("Adagrad", dtype))
    X, G, H = (Fraction(operand) for operand in setting.operands)
    H_new = H + (Fraction(setting.attributes["norm_coefficient"]) * X + G) ** 2
    assert setting.expected("Adagrad", dtype)[1] == rounded(H_new, dtype)


@pytest.mark.parametrize("T", [2**24 + 1, 2**32 + 1, 2**40, 2**62])
def test_adagrad_uses_every_digit_of_large_count(T):
    decay_factor = float32(1e-7)
    X_new, _ = oracle_answers(
        "Adagrad", 1.0, T, 0.0, 1.0, 0.0, dtype=np.float64, decay_factor=decay_factor, epsilon=0.0
    )
    assert X_new.expected.item() == rounded(-1 / (1 + T * Fraction(decay_factor)), np.float64)


@pytest.mark.parametrize("T", [2**24 + 1, 2**32 + 1])
def test_adam_bias_correction_with_large_count_is_exact(T):
    share = float(1 - np.float32(2.0**-24))
    attributes = {"alpha": share, "beta": share, "epsilon": 1e-8, "norm_coefficient": 0.1, "norm_coefficient_post": 0.1}
    attributes = {name: float32(value) for name, value in attributes.items()}
    setting = Setting(0.25, T, [1.5, 0.75, 0.5, 0.125], attributes)
    with mpmath.workprec(BITS):
        assert setting.expected("Adam", np.float64) == [rounded(value, np.float64) for value in setting.by(adam, mpf)]


ELEMENTWISE = {
    ("Exp", np.float32): (mpmath.exp, -110.0, 88.0),
    ("Exp", np.float64): (mpmath.exp, -740.0, 709.0),
    ("Log", np.float32): (mpmath.log, 2.0**-149, 2.0**127),
    ("Log", np.float64): (mpmath.log, 5e-324, 2.0**1023),
    ("Sqrt", np.float32): (mpmath.sqrt, 0.0, 2.0**127),
    ("Sqrt", np.float64): (mpmath.sqrt, 0.0, 2.0**1023),
}


@pytest.mark.parametrize(("op_type", "dtype"), ELEMENTWISE)
@given(data=st.data())
def test_elementwise_function_is_correctly_rounded(op_type, dtype, data):
    function, first, last = ELEMENTWISE[op_type, dtype]
    value = data.draw(st.floats(first, last, width=np.dtype(dtype).itemsize * 8))
    with mpmath.workprec(BITS):
        expected = rounded(function(mpf(value)), dtype)
    assert oracle_answer(op_type, np.array([value], dtype)).expected.item() == expected


def rows(dtype: Any, spread: float) -> st.SearchStrategy[list[float]]:
    return st.lists(st.floats(-spread, spread, width=np.dtype(dtype).itemsize * 8), min_size=1, max_size=6)


@both_types
@given(data=st.data())
def test_softmax_is_correctly_rounded(dtype, data):
    row = data.draw(rows(dtype, 100.0))
    with mpmath.workprec(BITS):
        powers = [mpmath.exp(mpf(element)) for element in row]
        expected = [rounded(power / mpmath.fsum(powers), dtype) for power in powers]
    assert oracle_answer("Softmax", np.array(row, dtype)).expected.tolist() == expected


@both_types
@given(data=st.data())
def test_log_softmax_is_correctly_rounded(dtype, data):
    row = data.draw(rows(dtype, 50.0))
    with mpmath.workprec(BITS):
        ratios = [mpmath.fsum(mpmath.exp(mpf(other) - mpf(element)) for other in row) for element in row]
        expected = [rounded(-mpmath.log(ratio), dtype) for ratio in ratios]
    assert oracle_answer("LogSoftmax", np.array(row, dtype)).expected.tolist() == expected


def test_log_softmax_in_double_keeps_small_logarithm():
    # log(1 / (1 + exp(-400))) = -exp(-400) but for a relative error of exp(-400).
    with mpmath.workprec(4 * BITS):
        expected = rounded(-mpmath.log1p(mpmath.exp(-400)), np.float64)
    assert oracle_answer("LogSoftmax", np.array([0.0, -400.0])).expected[0] == expected


def test_sum_of_distant_doubles_is_exact():
    # G_regularized = 1e300 + 1 and V_new = -1e300 + G_regularized = 1.
    _, V_new = oracle_answers(
        "Momentum", 1.0, 0, 1e300, 1.0, -1e300, dtype=np.float64, alpha=1.0, beta=1.0, norm_coefficient=1.0
    )
    assert V_new.expected.item() == 1.0
