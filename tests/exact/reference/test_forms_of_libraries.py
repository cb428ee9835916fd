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

from conformance import hard_inputs, judge

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
    size = arrays[0].shape[-1]
    exact = [np.rint(arrays[0]), np.where(np.arange(size) % 7, 0, 1 + np.abs(arrays[0])), np.resize([1, -1], size)]
    every = [arrays, *([np.broadcast_to(each, arrays[0].shape).astype(np.float32), *arrays[1:]] for each in exact)]
    with np.errstate(all="ignore"):
        for each in every:
            assert outside(operator, domain, opset, each, attributes, form(*each)) == []


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


def streamed_statistics(x: Any) -> tuple[Any, Any]:
    """Return the mean and the variance of Welford's algorithm: one element after the other, in float."""
    mean, squares = np.zeros_like(x[..., 0]), np.zeros_like(x[..., 0])
    for place in range(x.shape[-1]):
        distance = x[..., place] - mean
        mean = mean + distance / F(place + 1)
        squares = squares + distance * (x[..., place] - mean)
    return mean[..., None], (squares / F(x.shape[-1]))[..., None]


def moments_of_one_pass(x: Any) -> tuple[Any, Any]:
    """Return the mean and the variance of one pass: the mean of squares minus the square of the mean, in float."""
    total, squares = np.zeros_like(x[..., 0]), np.zeros_like(x[..., 0])
    for place in range(x.shape[-1]):
        total = total + x[..., place]
        squares = fma(x[..., place], x[..., place], squares)
    mean = total * F(1 / x.shape[-1])
    return mean[..., None], np.maximum(fma(-mean, mean, squares * F(1 / x.shape[-1])), 0)[..., None]


@pytest.mark.parametrize("dtype", [F, np.float16])
@pytest.mark.parametrize("compute", [streamed_statistics, moments_of_one_pass])
@pytest.mark.parametrize("operator", ["LayerNormalization", "InstanceNormalization", "GroupNormalization"])
def test_a_normalization_by_statistics_of_one_pass_is_within_the_bounds(
    operator: str, compute: Form, dtype: Any
) -> None:
    x, scale, bias = (each.astype(dtype) for each in rows())
    given = [scale, bias] if operator == "LayerNormalization" else [scale[:4], bias[:4]]
    shape = (16,) if operator == "LayerNormalization" else (4, 1)
    a, b = (each.astype(F).reshape(shape) for each in given)
    mean, variance = compute(x.astype(F))
    factor = 1 / sqrt(variance + F(1e-5)) * a
    attributes: dict[str, Any] = {"num_groups": 4} if operator == "GroupNormalization" else {}
    opset = {"LayerNormalization": 17, "InstanceNormalization": 6, "GroupNormalization": 21}[operator]
    actual = fma(x.astype(F) - mean, factor, b).astype(dtype)
    assert not judge(operator, [x, *given], [actual], opset=opset, **attributes).is_wrong


# Attention: queries, keys and values, of which the scores are sharp, the values have a large mean, or many magnitudes


def matrix_product(A: Any, B: Any) -> Any:
    """Return a product of matrices whose terms are added one after the other with fused multiply-add."""
    total = np.zeros((*A.shape[:-1], B.shape[-1]), F)
    for place in range(A.shape[-1]):
        total = fma(A[..., place, None], B[..., place, None, :], total)
    return total


def transposed(K: Any) -> Any:
    return np.swapaxes(K, -1, -2)


def weights_of(scores: Any) -> Any:
    e = exp(below_largest(scores))
    return e / reduced(e)


def online_attention(Q: Any, K: Any, V: Any, block: int, function: Form = exp, factor: float = 1.0) -> Any:
    """Return attention block by block, with the largest score so far (FlashAttention)."""
    top = np.full((*Q.shape[:-1], 1), -np.inf, F)
    total, values = np.zeros_like(top), np.zeros((*Q.shape[:-1], V.shape[-1]), F)
    for start in range(0, K.shape[-2], block):
        scores = matrix_product(Q, transposed(K[..., start : start + block, :])) * F(SCALE * factor)
        new = np.maximum(top, scores.max(-1, keepdims=True))
        shares, kept = function(scores - new), function(top - new)
        total = fma(total, kept, reduced(shares))
        values = values * kept + matrix_product(shares, V[..., start : start + block, :])
        top = new
    return values * (1 / total)


def half(x: Any) -> Any:
    """Return numbers that are rounded to float16 between two steps."""
    return np.asarray(x).astype(np.float16).astype(F)


SCALE = 1 / math.sqrt(8)
ROOT_OF_SCALE = F(math.sqrt(SCALE))
ATTENTIONS: dict[str, Form] = {
    "page": lambda Q, K, V: matrix_product(
        weights_of(matrix_product(Q * ROOT_OF_SCALE, transposed(K * ROOT_OF_SCALE))), V
    ),
    "scale after the product": lambda Q, K, V: matrix_product(
        weights_of(matrix_product(Q, transposed(K)) * F(SCALE)), V
    ),
    "scaled queries (PyTorch)": lambda Q, K, V: matrix_product(
        weights_of(matrix_product(Q * F(SCALE), transposed(K))), V
    ),
    "quotient last": lambda Q, K, V: (
        matrix_product(exp(below_largest(matrix_product(Q, transposed(K)) * F(SCALE))), V)
        / reduced(exp(below_largest(matrix_product(Q, transposed(K)) * F(SCALE))))
    ),
    "blocks (FlashAttention)": lambda Q, K, V: online_attention(Q, K, V, 4),
    "blocks in base 2": lambda Q, K, V: online_attention(Q, K, V, 8, exp2, math.log2(math.e)),
}
ATTENTIONS_OF_HALF: dict[str, Form] = {
    **ATTENTIONS,
    "scores and weights in float16": lambda Q, K, V: matrix_product(
        half(weights_of(half(half(matrix_product(Q, transposed(K))) * F(np.float16(SCALE))))), V
    ),
    "page in float16": lambda Q, K, V: matrix_product(
        half(
            weights_of(half(matrix_product(half(Q * half(ROOT_OF_SCALE)), transposed(half(K * half(ROOT_OF_SCALE))))))
        ),
        V,
    ),
}


@pytest.mark.parametrize("kind", ["sharp", "large mean", "many magnitudes"])
@pytest.mark.parametrize(
    ("dtype", "form"),
    [
        pytest.param(dtype, form, id=f"{np.dtype(dtype)}: {name}")
        for dtype, forms in ((F, ATTENTIONS), (np.float16, ATTENTIONS_OF_HALF))
        for name, form in forms.items()
    ],
)
def test_a_form_of_attention_is_within_the_bounds(dtype: Any, form: Form, kind: str) -> None:
    random = np.random.default_rng(5)
    Q, K, V = (random.standard_normal(shape) for shape in ((1, 2, 5, 8), (1, 2, 17, 8), (1, 2, 17, 8)))
    if kind == "sharp":
        Q, K = 8 * Q, 3 * K
    V = V + 50 if kind == "large mean" else V * 10.0 ** random.uniform(-4, 3, V.shape) if kind != "sharp" else V
    given = [each.astype(dtype) for each in (Q, K, V)]
    actual = form(*(each.astype(F) for each in given)).astype(dtype)
    judgement = judge("Attention", given, [actual], opset=23)
    assert judgement.judged > 0
    assert not judgement.is_wrong, str(judgement)


@pytest.mark.parametrize("dtype", [F, np.float16])
@pytest.mark.parametrize(
    "form",
    [
        lambda a, b, c, s: (a * c - b * s, a * s + b * c),
        lambda a, b, c, s: (fma(a, c, -(b * s)), fma(a, s, b * c)),
        lambda a, b, c, s: (fma(-b, s, a * c), fma(b, c, a * s)),
    ],
)
@pytest.mark.parametrize("is_wide", [True, False])
def test_a_form_of_a_rotary_embedding_is_within_the_bounds(form: Form, dtype: Any, is_wide: bool) -> None:
    random = np.random.default_rng(6)
    x = (random.standard_normal((2, 3, 5, 8)) * 10.0 ** random.uniform(-3, 3, (2, 3, 5, 8))).astype(dtype)
    angles = random.uniform(-9, 9, (2, 5, 4))
    given = [x, np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)]
    a, b, c, s = (
        each.astype(F) if is_wide else each for each in (x[..., :4], x[..., 4:], given[1][:, None], given[2][:, None])
    )
    actual = np.concatenate(form(a, b, c, s), -1).astype(dtype)
    assert not judge("RotaryEmbedding", given, [actual], opset=23).is_wrong


# Recurrent operators


def tanh_of_page(x: Any) -> Any:
    e = exp(-2 * np.abs(x))
    return np.sign(x) * ((1 - e) / (1 + e))


TANHS = {"function": tanh, "page": tanh_of_page, "sigmoid": lambda x: fma(F(2), sigmoid(2 * x), F(-1))}
SIGMOIDS = {"page": sigmoid, "stable": stable_sigmoid, "tanh": sigmoid_by_tanh}
NEW_CELLS: dict[str, Form] = {
    "page": lambda f, c, i, z: f * c + i * z,
    "fma": lambda f, c, i, z: fma(f, c, i * z),
    "other fma": lambda f, c, i, z: fma(i, z, f * c),
}
NEW_STATES: dict[str, Form] = {
    "page": lambda z, n, h: (1 - z) * n + z * h,
    "difference (PyTorch)": lambda z, n, h: fma(z, h - n, n),
    "expanded": lambda z, n, h: n - z * n + z * h,
}
SUMS_OF_GATES: dict[str, Form] = {
    "page": lambda x, h, W, R, b, c: matrix_product(x, W.T) + matrix_product(h, R.T) + b + c,
    "sum of the biases": lambda x, h, W, R, b, c: matrix_product(x, W.T) + (b + c) + matrix_product(h, R.T),
    "one product": lambda x, h, W, R, b, c: matrix_product(
        np.concatenate([x, h, np.ones_like(x[:, :1])], 1), np.concatenate([W, R, (b + c)[:, None]], 1).T
    ),
}


@pytest.mark.parametrize(("sums", "function"), list(zip(SUMS_OF_GATES, TANHS, strict=True)))
@pytest.mark.parametrize(("operator", "place"), [("LSTM", 0), ("LSTM", 1), ("GRU", 0), ("GRU", 1), ("RNN", 0)])
def test_a_form_of_a_recurrent_operator_is_within_the_bounds(
    operator: str, place: int, function: str, sums: str
) -> None:
    random = np.random.default_rng(8)
    count = {"LSTM": 4, "GRU": 3, "RNN": 1}[operator]
    x = (random.standard_normal((5, 2, 3)) * [[[1e-3]], [[1]], [[6]], [[1]], [[0.1]]]).astype(F)
    W, R = (random.uniform(-1, 1, (1, 4 * count, width)).astype(F) for width in (3, 4))
    B = random.uniform(-0.3, 0.3, (1, 8 * count)).astype(F)
    b, c = B[0, : 4 * count], B[0, 4 * count :]
    names = list(SIGMOIDS)
    g, f = TANHS[function], SIGMOIDS[names[(list(TANHS).index(function) + place) % len(names)]]
    add = SUMS_OF_GATES[sums]
    h, cell = np.zeros((2, 4), F), np.zeros((2, 4), F)
    states = []
    for each in x:
        if operator == "LSTM":
            i, o, forget, z = np.split(add(each, h, W[0], R[0], b, c), 4, 1)
            cell = list(NEW_CELLS.values())[place](f(forget), cell, f(i), g(z))
            h = f(o) * g(cell)
        elif operator == "GRU":
            z, r = np.split(f(add(each, h, W[0, :8], R[0, :8], b[:8], c[:8])), 2, 1)
            n = g(add(each, r * h, W[0, 8:], R[0, 8:], b[8:], c[8:]))
            h = list(NEW_STATES.values())[place + 1](z, n, h)
        else:
            h = g(add(each, h, W[0], R[0], b, c))
        states.append(h)
    results = [np.stack(states)[:, None], h[None], *([cell[None]] if operator == "LSTM" else [])]
    judgement = judge(operator, [x, W, R, B], results, opset=14, hidden_size=4)
    assert not judgement.is_wrong, str(judgement)


@pytest.mark.parametrize("dtype", [F, np.float16, D])
@pytest.mark.parametrize("fmod", [0, 1])
def test_mod_by_the_formula_of_the_page_is_within_the_bounds(fmod: int, dtype: Any) -> None:
    like = [np.zeros(200, dtype)] * 2
    with np.errstate(all="ignore"):
        for A, B in hard_inputs("Mod", like=like, count=6, opset=28, fmod=fmod):
            usual = np.isfinite(A) & np.isfinite(B) & (B != 0)
            a, b = A[usual], B[usual]
            by_formula = (a - (np.trunc if fmod else np.floor)(a / b) * b).astype(dtype)
            for actual in (by_formula, (np.fmod if fmod else np.mod)(a, b)):
                judgement = judge("Mod", [a, b], [actual], opset=28, fmod=fmod)
                assert not judgement.is_wrong, str(judgement)
    assert judge("Mod", [dtype([7.5]), dtype([2])], [dtype([1.25])], opset=28, fmod=fmod).is_wrong


@pytest.mark.parametrize("is_fused", [False, True])
def test_a_folded_dequantization_is_within_the_bounds(is_fused: bool) -> None:
    X, scale, zero = np.arange(-128, 128).astype(np.int8), F(0.03), np.int8(36)
    summand = -F(zero) * scale
    Y = fma(X, scale, summand) if is_fused else X.astype(F) * scale + summand
    judgement = judge("DequantizeLinear", [X, np.array(scale), np.array(zero)], [Y], opset=13)
    assert judgement.judged == 255  # the result for the zero point is the error of the form
    assert not judgement.is_wrong
    assert judge("DequantizeLinear", [X, np.array(scale), np.array(zero)], [Y], opset=13, level="should").is_wrong
    assert judge("DequantizeLinear", [X, np.array(scale), np.array(zero)], [Y * F(1 + 1e-5)], opset=13).is_wrong


def test_a_product_of_dequantized_operands_is_within_the_bounds() -> None:
    random = np.random.default_rng(3)
    A, B = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((4, 300), (300, 5)))
    scales = [np.array(0.03, F), np.array(0.1, F)]
    Y = matrix_product(A.astype(F) * scales[0], B.astype(F) * scales[1])
    assert not judge("com.microsoft.MatMulIntegerToFloat", [A, B, *scales], [Y]).is_wrong
    assert judge("com.microsoft.MatMulIntegerToFloat", [A, B, *scales], [Y * F(1 + 1e-3)]).is_wrong


def test_attention_whose_undivided_sums_overflow_is_not_judged() -> None:
    Q, K = (np.zeros((1, 1, count, 8), F) for count in (1, 3))
    V = np.full((1, 1, 3, 8), 2e38, F)
    with np.errstate(over="ignore"):
        Y = matrix_product(np.ones((1, 1, 1, 3), F), V) / F(3)
    assert np.isinf(Y).all()
    assert not judge("Attention", [Q, K, V], [Y], opset=23).is_wrong
    assert judge("Attention", [Q, K, V], [Y], opset=23, level="should").is_wrong
