"""Forms of composed operators that libraries compute, in correctly rounded steps of float: none is outside of a bound.

Each form is an algebraic rewrite of the formula on the operator's page that kernels and compilers use. `fma` rounds a
product and a sum once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from enclosed_nodes import declared_hard_numbers, enclosed, is_admissible

F = np.float32
D = np.float64
Form = Callable[..., Any]


def rounded(function: Callable[[Any], Any]) -> Form:
    """Return a function of floats with results that are rounded once."""
    return lambda x: np.asarray(function(np.asarray(x, D))).astype(F)


exp, log, tanh, expm1, log1p, exp2, sqrt = map(rounded, (np.exp, np.log, np.tanh, np.expm1, np.log1p, np.exp2, np.sqrt))
erf, erfc = (rounded(np.frompyfunc(function, 1, 1)) for function in (math.erf, math.erfc))


def fma(a: Any, b: Any, c: Any) -> Any:
    return (np.asarray(a, D) * np.asarray(b, D) + np.asarray(c, D)).astype(F)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + exp(-x))


def stable_sigmoid(x: Any) -> Any:
    e = exp(-np.abs(x))
    return np.where(x < 0, e / (1 + e), 1 / (1 + e))


def sigmoid_by_tanh(x: Any) -> Any:
    return fma(F(0.5), tanh(F(0.5) * x), F(0.5))


ROOT, CUBIC, FOLDED = F(0.7978845608), F(0.044715), F(0.035677408)


def cube(x: Any) -> Any:
    return ROOT * (x + CUBIC * x * x * x)


def horner(x: Any) -> Any:
    return x * fma(FOLDED, x * x, ROOT)


GELUS_BY_TANH: dict[str, Form] = {
    "page": lambda x: F(0.5) * x * (1 + tanh(cube(x))),
    "folded polynomial (ONNX Runtime)": lambda x: x * fma(F(0.5), tanh(horner(x)), F(0.5)),
    "x / (1 + exp(-2u))": lambda x: x / (1 + exp(-2 * cube(x))),
    "x / (1 + exp(-2u)), Horner": lambda x: x / (1 + exp(-2 * horner(x))),
    "x sigmoid(2u)": lambda x: x * sigmoid(2 * cube(x)),
    "x sigmoid(2u), stable": lambda x: x * stable_sigmoid(2 * cube(x)),
    "x sigmoid(2u), reciprocal": lambda x: x * (1 / (1 + exp(-2 * horner(x)))),
    "half product first": lambda x: fma(F(0.5) * x, tanh(cube(x)), F(0.5) * x),
}
GELUS: dict[str, Form] = {
    "page": lambda x: F(0.5) * x * (1 + erf(x * F(math.sqrt(0.5)))),
    "quotient by root 2": lambda x: F(0.5) * (x * (1 + erf(x / F(math.sqrt(2))))),
    "fma": lambda x: fma(F(0.5) * x, erf(x * F(math.sqrt(0.5))), F(0.5) * x),
    "erfc": lambda x: F(0.5) * x * erfc(-x * F(math.sqrt(0.5))),
    "cdf": lambda x: x * fma(F(0.5), erf(x * F(math.sqrt(0.5))), F(0.5)),
}


def mish_by_square(x: Any) -> Any:
    e = exp(np.minimum(x, F(20)))
    n = e * (e + 2)
    return x * (n / (n + 2))


def mish_by_product(x: Any) -> Any:
    e = exp(np.minimum(x, F(20)))
    n = fma(e, e, 2 * e)
    return (x * n) / (n + 2)


def tanh_by_expm1(x: Any) -> Any:
    m = expm1(np.minimum(2 * np.abs(x), F(60)))
    return np.sign(x) * m / (m + 2)


def clipped(x: Any) -> Any:
    return np.clip(x + 3, F(0), F(6))


def elus(alpha: Any) -> dict[str, Form]:
    def below(form: Form) -> Form:
        return lambda x: np.where(x > 0, x, form(np.minimum(x, F(0))))

    return {
        "page": below(lambda x: alpha * (exp(x) - 1)),
        "expm1": below(lambda x: alpha * expm1(x)),
        "fma": below(lambda x: fma(alpha, exp(x), -alpha)),
        "product first": below(lambda x: alpha * exp(x) - alpha),
    }


A, G = F(1.67326319217681884765625), F(1.05070102214813232421875)
ELEMENTWISE: list[tuple[str, str, int, dict[str, Any], dict[str, Form]]] = [
    ("Gelu", "", 20, {"approximate": "tanh"}, GELUS_BY_TANH),
    ("Gelu", "", 20, {}, GELUS),
    ("Gelu", "com.microsoft", 1, {}, GELUS),
    ("FastGelu", "com.microsoft", 1, {}, GELUS_BY_TANH),
    (
        "QuickGelu",
        "com.microsoft",
        1,
        {},
        {
            "page": lambda x: x * sigmoid(F(1.702) * x),
            "quotient": lambda x: x / (1 + exp(F(-1.702) * x)),
            "stable (ONNX Runtime)": lambda x: x * stable_sigmoid(F(1.702) * x),
            "tanh": lambda x: x * sigmoid_by_tanh(F(1.702) * x),
        },
    ),
    (
        "HardSwish",
        "",
        14,
        {},
        {
            "page": lambda x: x * np.clip(x / 6 + F(0.5), F(0), F(1)),
            "fma": lambda x: x * np.clip(fma(x, F(1 / 6), F(0.5)), F(0), F(1)),
            "ReLU6": lambda x: x * clipped(x) / 6,
            "reciprocal last (TensorFlow Lite)": lambda x: x * clipped(x) * F(1 / 6),
            "reciprocal first": lambda x: (x * F(1 / 6)) * clipped(x),
            "reciprocal of the limit": lambda x: x * (clipped(x) * F(1 / 6)),
            "quotient of the limit": lambda x: x * (clipped(x) / 6),
            "quotient first": lambda x: (x / 6) * clipped(x),
        },
    ),
    (
        "Mish",
        "",
        18,
        {},
        {
            "page": lambda x: x * tanh(np.maximum(x, 0) + log1p(exp(-np.abs(x)))),
            "log1p": lambda x: x * tanh(np.where(x > 20, x, log1p(exp(np.minimum(x, F(20)))))),
            "squares": mish_by_square,
            "product first (ncnn)": mish_by_product,
        },
    ),
    (
        "Swish",
        "",
        24,
        {},
        {
            "page": lambda x: x * sigmoid(x),
            "quotient": lambda x: x / (1 + exp(-x)),
            "stable": lambda x: x * stable_sigmoid(x),
            "tanh": lambda x: x * sigmoid_by_tanh(x),
        },
    ),
    (
        "Sigmoid",
        "",
        13,
        {},
        {
            "page": sigmoid,
            "stable (ONNX Runtime)": stable_sigmoid,
            "tanh": sigmoid_by_tanh,
            "complement": lambda x: np.where(x < 0, exp(x) / (1 + exp(x)), 1 - exp(-np.abs(x)) / (1 + exp(-np.abs(x)))),
        },
    ),
    (
        "Tanh",
        "",
        13,
        {},
        {"expm1": tanh_by_expm1},
    ),
    (
        "Softplus",
        "",
        1,
        {},
        {
            "page": lambda x: np.where(x > 88, x, log(1 + exp(np.minimum(x, F(88))))),
            "log1p": lambda x: np.where(x > 88, x, log1p(exp(np.minimum(x, F(88))))),
            "shifted": lambda x: np.maximum(x, 0) + log1p(exp(-np.abs(x))),
            "two branches (ONNX Runtime)": lambda x: np.where(
                x > 0, x + log(1 + exp(-np.abs(x))), log(1 + exp(np.minimum(x, F(0))))
            ),
            "threshold": lambda x: np.where(x > 20, x, log1p(exp(np.minimum(x, F(20))))),
        },
    ),
    (
        "Softsign",
        "",
        1,
        {},
        {"page": lambda x: x / (1 + np.abs(x)), "reciprocal": lambda x: x * (1 / (1 + np.abs(x)))},
    ),
    ("Elu", "", 6, {"alpha": 1.7}, elus(F(1.7))),
    (
        "Celu",
        "",
        12,
        {"alpha": 1.7},
        {
            "page": lambda x: np.maximum(x, 0) + np.minimum(0, F(1.7) * (exp(np.minimum(x, F(0)) / F(1.7)) - 1)),
            "expm1": lambda x: np.where(x > 0, x, F(1.7) * expm1(np.minimum(x, F(0)) * (1 / F(1.7)))),
            "fma": lambda x: np.where(x > 0, x, fma(F(1.7), exp(np.minimum(x, F(0)) / F(1.7)), F(-1.7))),
        },
    ),
    (
        "Selu",
        "",
        6,
        {},
        {
            "page": lambda x: np.where(x > 0, G * x, G * (A * exp(np.minimum(x, F(0))) - A)),
            "folded": lambda x: np.where(x > 0, G * x, (G * A) * (exp(np.minimum(x, F(0))) - 1)),
            "expm1": lambda x: np.where(x > 0, G * x, expm1(np.minimum(x, F(0))) * (G * A)),
            "fma": lambda x: np.where(x > 0, G * x, fma(G * A, exp(np.minimum(x, F(0))), -(G * A))),
            "product last": lambda x: G * np.where(x > 0, x, A * (exp(np.minimum(x, F(0))) - 1)),
        },
    ),
]


def outside(
    operator: str, domain: str, opset: int, arrays: list[Any], attributes: dict[str, Any], actual: Any
) -> list[str]:
    """Return the operands and results of the elements that are outside of their bounds."""
    expected = enclosed(operator, opset, arrays, domain=domain, **attributes)
    assert np.isfinite(expected.error).mean() > 0.5
    places = np.argwhere(~is_admissible(actual, expected))[:3]
    return [
        f"{arrays[0][place]!r} gives {actual[place]!r}, not {expected.value[place]!r} ± {expected.error[place]:.3g}"
        for place in map(tuple, places)
    ]


def hard_data(operator: str, count: int = 3000) -> Any:
    """Return the numbers that are hard for an operator, and numbers of all magnitudes and both signs."""
    own = declared_hard_numbers(operator)
    random = np.random.default_rng(7)
    sizes = np.concatenate([random.uniform(-12, 2.2, count), random.uniform(-1.5, 1.5, count)])
    values = np.concatenate([own, random.choice([-1, 1], 2 * count) * 10**sizes]).astype(F)
    return values[np.isfinite(values)]


@pytest.mark.parametrize(
    ("operator", "domain", "opset", "attributes", "form"),
    [
        pytest.param(operator, domain, opset, attributes, form, id=f"{domain}{operator}: {name}")
        for operator, domain, opset, attributes, forms in ELEMENTWISE
        for name, form in forms.items()
    ],
)
def test_a_form_of_a_library_is_within_the_bounds(
    operator: str, domain: str, opset: int, attributes: dict[str, Any], form: Form
) -> None:
    x = hard_data("Gelu" if operator.endswith("Gelu") else operator)
    with np.errstate(all="ignore"):
        assert outside(operator, domain, opset, [x], attributes, form(x)) == []


# Operators along axes: (x, scale, bias) with rows that are hard to normalize


def rows() -> list[Any]:
    """Return rows: of both signs, with a large mean, nearly equal, and of many magnitudes; with scales and biases."""
    random = np.random.default_rng(11)
    x = random.standard_normal((6, 4, 16))
    x[1] += 50
    x[2] = 3 + x[2] * 1e-3
    x[3] *= 10 ** random.uniform(-6, 2, x[3].shape)
    x[4] *= 30
    return [x.astype(F), random.standard_normal(16).astype(F), (40 * random.standard_normal(16)).astype(F)]


def statistics(x: Any, axes: Any, epsilon: float) -> tuple[Any, Any]:
    """Return the mean and the reciprocal of the root, each rounded once to float."""
    wide = x.astype(D)
    variance = wide.var(axes, keepdims=True).astype(F)
    return wide.mean(axes, keepdims=True).astype(F), 1 / sqrt(variance + F(epsilon))


def normalizations(axes: Any, epsilon: float) -> dict[str, Form]:
    def form(compute: Form) -> Form:
        return lambda x, scale, bias: compute(x, *statistics(x, axes, epsilon), scale, bias)

    return {
        "page": form(lambda x, m, r, a, b: (x - m) * r * a + b),
        "folded": form(lambda x, m, r, a, b: x * (r * a) + (b - m * (r * a))),
        "folded with fma": form(lambda x, m, r, a, b: fma(x, r * a, fma(-m, r * a, b))),
        "centred with fma": form(lambda x, m, r, a, b: fma(x - m, r * a, b)),
        "product of the mean": form(lambda x, m, r, a, b: fma(fma(x, r, -m * r), a, b)),
    }


def softmaxes() -> dict[str, Form]:
    def shifted(compute: Form) -> Form:
        return lambda x: compute(x - x.max(-1, keepdims=True))

    def total(e: Any) -> Any:
        return e.sum(-1, keepdims=True, dtype=F)

    def online(x: Any) -> Any:
        largest, sums = x[..., :1], np.ones_like(x[..., :1])
        for place in range(1, x.shape[-1]):
            new = np.maximum(largest, x[..., place : place + 1])
            sums = fma(sums, exp(largest - new), exp(x[..., place : place + 1] - new))
            largest = new
        return exp(x - largest) * (1 / sums)

    def base_2(x: Any) -> Any:
        e = exp2(fma(x, F(1.442695), -x.max(-1, keepdims=True) * F(1.442695)))
        return e / total(e)

    return {
        "page": shifted(lambda s: exp(s) / total(exp(s))),
        "reciprocal (ONNX Runtime)": shifted(lambda s: exp(s) * (1 / total(exp(s)))),
        "online (Milakov and Gimelshein)": online,
        "exponential of the logarithm": shifted(lambda s: exp(s - log(total(exp(s))))),
        "base 2": base_2,
    }


def reduced(x: Any) -> Any:
    return x.sum(-1, keepdims=True, dtype=F)


def below_largest(x: Any) -> Any:
    return x - x.max(-1, keepdims=True)


def largest(x: Any) -> Any:
    return np.abs(x).max(-1, keepdims=True)


ALONG_AXES: list[tuple[str, str, int, int, dict[str, Any], dict[str, Form]]] = [
    ("Softmax", "", 13, 1, {}, softmaxes()),
    (
        "LogSoftmax",
        "",
        13,
        1,
        {},
        {
            "shifted": lambda x: below_largest(x) - log(reduced(exp(below_largest(x)))),
            "collected": lambda x: x - (log(reduced(exp(x - x.max(-1, keepdims=True)))) + x.max(-1, keepdims=True)),
        },
    ),
    ("LayerNormalization", "", 17, 3, {}, normalizations(-1, 1e-5)),
    (
        "RMSNormalization",
        "",
        23,
        2,
        {},
        {
            "page": lambda x, a: x / sqrt((x * x).astype(D).mean(-1, keepdims=True).astype(F) + F(1e-5)) * a,
            "reciprocal": lambda x, a: (
                x * (1 / sqrt((x * x).astype(D).mean(-1, keepdims=True).astype(F) + F(1e-5))) * a
            ),
            "scale first": lambda x, a: (
                x * ((1 / sqrt((x * x).astype(D).mean(-1, keepdims=True).astype(F) + F(1e-5))) * a)
            ),
        },
    ),
    (
        "LpNormalization",
        "",
        1,
        1,
        {"p": 2},
        {
            "page": lambda x: x / sqrt(reduced(x * x)),
            "reciprocal": lambda x: x * (1 / sqrt(reduced(x * x))),
            "scaled": lambda x: x / (largest(x) * sqrt(reduced((x / largest(x)) ** 2))),
        },
    ),
    (
        "ReduceL2",
        "",
        13,
        1,
        {"axes": [-1]},
        {
            "page": lambda x: sqrt(reduced(x * x)),
            "scaled": lambda x: largest(x) * sqrt(reduced((x / largest(x)) ** 2)),
        },
    ),
    (
        "ReduceLogSumExp",
        "",
        13,
        1,
        {"axes": [-1]},
        {
            "shifted": lambda x: x.max(-1, keepdims=True) + log(reduced(exp(below_largest(x)))),
            "page": lambda x: log(reduced(exp(x))),
        },
    ),
]


@pytest.mark.parametrize(
    ("operator", "domain", "opset", "count", "attributes", "form"),
    [
        pytest.param(operator, domain, opset, count, attributes, form, id=f"{operator}: {name}")
        for operator, domain, opset, count, attributes, forms in ALONG_AXES
        for name, form in forms.items()
    ],
)
def test_a_form_along_an_axis_is_within_the_bounds(
    operator: str, domain: str, opset: int, count: int, attributes: dict[str, Any], form: Form
) -> None:
    arrays = rows()[:count]
    if operator == "ReduceLogSumExp":
        arrays[0] = np.clip(arrays[0], -80, 80)
    with np.errstate(all="ignore"):
        assert outside(operator, domain, opset, arrays, attributes, form(*arrays)) == []


@pytest.mark.parametrize("name", normalizations(-1, 1e-5))
@pytest.mark.parametrize("operator", ["InstanceNormalization", "GroupNormalization", "BatchNormalization"])
def test_a_form_of_a_normalization_of_channels_is_within_the_bounds(operator: str, name: str) -> None:
    x, scale, bias = rows()
    channel = [scale[:4], bias[:4]]
    axes = (0, 2) if operator == "BatchNormalization" else -1
    wide = [each.reshape(1, 4, 1) for each in channel]
    attributes: dict[str, Any] = {"num_groups": 4} if operator == "GroupNormalization" else {}
    extra = []
    if operator == "BatchNormalization":
        extra = [x.astype(D).mean(axes).astype(F), x.astype(D).var(axes).astype(F)]
    opset = {"InstanceNormalization": 6, "GroupNormalization": 21, "BatchNormalization": 15}[operator]
    actual = normalizations(axes, 1e-5)[name](x, *wide)
    assert outside(operator, "", opset, [x, *channel, *extra], attributes, actual) == []
