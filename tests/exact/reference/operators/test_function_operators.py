"""Operators that the function bodies of their schemas define agree with the formulas of their pages in double."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import onnx
import pytest

from conformance.base.verdicts import Unsupported
from conformance.exact.reference.node_enclosures import NodeScope, enclose, enclose_by_any_text
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask


def enclose_operator(op_type: str, *inputs: Any, opset: int = 24, outputs: int = 1, **attributes: Any) -> list[Any]:
    names = ["" if array is None else f"i{number}" for number, array in enumerate(inputs)]
    proto = onnx.helper.make_node(op_type, names, [f"o{number}" for number in range(outputs)], **attributes)
    scope = NodeScope({"": opset, "ai.onnx.preview": 1}, onnx.ModelProto())
    with np.errstate(all="ignore"):
        return enclose(scope, proto, dict(zip(names, inputs, strict=True)))


def assert_close(tensor: Any, wanted: Any) -> None:
    """Assert that a tensor contains numbers in double, and none of them times 1.01."""
    dtype = tensor.dtype
    assert tensor.shape == wanted.shape
    assert admissible_mask(wanted.astype(dtype), tensor.should or tensor).all()
    visible = np.abs(wanted) > 0.02 * np.abs(wanted).max()
    assert not admissible_mask((wanted * 1.01).astype(dtype), tensor)[visible].any()
    assert not admissible_mask(np.zeros(wanted.shape, dtype), tensor)[visible].any()


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(8)


def attend(Q: Any, K: Any, V: Any, is_allowed: Any, scale: float) -> Any:
    """Return attention in double, head by head and query by query."""
    Y = np.zeros((*Q.shape[:3], V.shape[3]))
    for batch, head, query in np.ndindex(Q.shape[:3]):
        group = head // (Q.shape[1] // K.shape[1])
        keys = [key for key in range(K.shape[2]) if is_allowed(query, key)]
        scores = np.array([scale * Q[batch, head, query].astype(float) @ K[batch, group, key] for key in keys])
        weights = np.exp(scores - scores.max()) if keys else scores
        for key, weight in zip(keys, weights / weights.sum(), strict=True):
            Y[batch, head, query] += weight * V[batch, group, key].astype(float)
    return Y


@pytest.mark.parametrize("past", [0, 3])
def test_attention_is_causal_after_the_past_keys(past: int, random: np.random.Generator) -> None:
    Q = random.standard_normal((2, 4, 3, 8)).astype(np.float32)
    K, V = (random.standard_normal((2, 2, 5, 8)).astype(np.float32) for _ in range(2))
    caches = [random.standard_normal((2, 2, past, 8)).astype(np.float32) for _ in range(2)] if past else []
    results = enclose_operator("Attention", Q, K, V, None, *caches, outputs=3, is_causal=1)
    if past:
        K, V = (np.concatenate(pair, 2) for pair in zip(caches, (K, V), strict=True))
    assert_close(results[0], attend(Q, K, V, lambda query, key: key <= query + past, 8**-0.5))
    np.testing.assert_array_equal(getattr(results[1], "value", results[1]), K)


def test_attention_without_keys_for_a_query_returns_zeros(random: np.random.Generator) -> None:
    Q, K, V = (random.standard_normal((1, 1, 2, 4)).astype(np.float32) for _ in range(3))
    (Y,) = enclose_operator("Attention", Q, K, V, np.array([[False, False], [True, True]]))
    assert_close(Y, attend(Q, K, V, lambda query, _: query == 1, 0.5))


def test_enclosure_for_any_text_is_open_where_the_texts_differ_and_nowhere_else() -> None:
    X = np.array([[0, 0], [3, 4]], np.float32)
    proto = onnx.helper.make_node("LpNormalization", ["X"], ["Y"], axis=1)
    scope = NodeScope({"": 17}, onnx.ModelProto())
    (Y,) = enclose_by_any_text(scope, proto, {"X": X})
    np.testing.assert_array_equal(Y.unspecified, [[True, True], [False, False]])
    (given,) = enclose_by_any_text(scope, proto, {"X": X + 1})
    assert given.unspecified is None


def test_flex_attention_applies_its_graphs_to_scores_and_probabilities(random: np.random.Generator) -> None:
    Q = random.standard_normal((1, 4, 3, 8)).astype(np.float32)
    K, V = (random.standard_normal((1, 2, 5, 8)).astype(np.float32) for _ in range(2))
    sizes = [1, 4, 3, 5]
    double, halve = (
        onnx.parser.parse_graph(f"g (float{sizes} s) => (float{sizes} t) <float two = {{2}}> {{ t = {name}(s, two) }}")
        for name in ("Mul", "Div")
    )
    given: dict[str, Any] = {"domain": "ai.onnx.preview", "score_mod": double, "prob_mod": halve}
    (Y,) = enclose_operator("FlexAttention", Q, K, V, opset=26, **given)
    assert_close(Y, attend(Q, K, V, lambda *_: True, 2 * 8**-0.5) / 2)


def test_swiglu_multiplies_swish_of_the_gate(random: np.random.Generator) -> None:
    A, B = random.standard_normal((2, 50)).astype(np.float32)
    (Y,) = enclose_operator("SwiGLU", A, B, opset=28, alpha=0.5)
    assert_close(Y, A.astype(float) / (1 + np.exp(-0.5 * A.astype(float))) * B)


@pytest.mark.parametrize("length", [1, 6])
def test_causal_convolution_reads_the_state_before_the_input(length: int, random: np.random.Generator) -> None:
    shapes = (2, 3, length), (3, 1, 4), (3,), (2, 3, 3)
    X, W, B, past = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    Y, state = enclose_operator("CausalConvWithState", X, W, B, past, opset=27, outputs=2, activation="silu")
    whole = np.concatenate([past, X], 2)
    sums = np.stack([(whole[:, :, t : t + 4].astype(float) * W[:, 0]).sum(2) + B for t in range(length)], 2)
    assert_close(Y, sums / (1 + np.exp(-sums)))
    np.testing.assert_array_equal(getattr(state, "value", state), whole[:, :, -3:])


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding_rotates_pairs(interleaved: int, random: np.random.Generator) -> None:
    X, angles = random.standard_normal((1, 2, 4, 6)).astype(np.float32), random.standard_normal((9, 3))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    positions = np.array([[8, 0, 3, 3]])
    wanted = np.zeros(X.shape)
    for head, token, pair in np.ndindex(2, 4, 3):
        first, second = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + 3)
        c, s = (float(part[positions[0, token], pair]) for part in (cos, sin))
        a, b = (float(X[0, head, token, place]) for place in (first, second))
        wanted[0, head, token, [first, second]] = a * c - b * s, a * s + b * c
    (Y,) = enclose_operator("RotaryEmbedding", X, cos, sin, positions, interleaved=interleaved)
    assert admissible_mask(wanted.astype(np.float32), Y.should).all()
    assert not admissible_mask(np.roll(wanted, 1, axis=2).astype(np.float32), Y).any()


@pytest.mark.parametrize(
    ("name", "parts"),
    [("HannWindow", (0.5, 0.5, 0)), ("HammingWindow", (25 / 46, 21 / 46, 0)), ("BlackmanWindow", (0.42, 0.5, 0.08))],
)
def test_windows_are_sums_of_cosines(name: str, parts: tuple[float, float, float]) -> None:
    a, b, c = map(mpmath.mpf, parts)
    angles = [2 * mpmath.pi * n / 16 for n in range(16)]
    wanted = np.array([float(a - b * mpmath.cos(x) + c * mpmath.cos(2 * x)) for x in angles])
    (tensor,) = enclose_operator(name, np.array(16), periodic=1)
    assert tensor.dtype == np.float32
    assert admissible_mask(wanted.astype(np.float32), tensor).all()
    assert not admissible_mask((wanted * 1.01).astype(np.float32), tensor)[1:].any()


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_losses_are_weighted_logarithms(reduction: str, random: np.random.Generator) -> None:
    scores, labels = random.standard_normal((6, 4)), random.integers(0, 4, 6)
    weight = random.random(4) + 0.5
    logarithms = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    losses = -weight[labels] * logarithms[np.arange(6), labels] * (labels != 1)
    total = (weight[labels] * (labels != 1)).sum()
    wanted = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / total}[reduction]
    given: dict[str, Any] = {"reduction": reduction, "ignore_index": 1}
    (softmax_loss,) = enclose_operator("SoftmaxCrossEntropyLoss", scores, labels, weight, **given)
    (loss,) = enclose_operator("NegativeLogLikelihoodLoss", logarithms, labels, weight, **given)
    for tensor in (softmax_loss, loss):
        difference = np.abs(tensor.value - wanted)
        assert (difference <= tensor.error + 2.0**-50 * np.abs(wanted)).all()
        assert not admissible_mask(np.asarray(wanted * 1.01), tensor)[np.asarray(wanted != 0)].any()


@pytest.mark.parametrize(
    ("op_type", "shapes", "attributes"),
    [
        ("Attention", [(1, 1, 2, 4)] * 3, {"scale": -0.5}),
        ("SwiGLU", [(2, 3), (3,)], {}),
        ("RotaryEmbedding", [(1, 2, 3, 8), (1, 3, 2), (1, 3, 2)], {}),
        ("RotaryEmbedding", [(1, 3, 8), (1, 3, 4), (1, 3, 4)], {"num_heads": 2}),
    ],
)
def test_function_that_its_page_forbids_or_contradicts_is_not_judged(
    op_type: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any]
) -> None:
    with pytest.raises(Unsupported):
        enclose_operator(op_type, *(np.ones(shape, np.float32) for shape in shapes), opset=28, **attributes)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention_updates_its_state_by_the_rule_of_the_page(rule: str, random: np.random.Generator) -> None:
    q, k, v, g, b = (random.standard_normal((1, 3, size)).astype(np.float32) for size in (16, 8, 6, 8, 1))
    S = random.standard_normal((1, 2, 4, 3)).astype(np.float32)
    given = [q, k, v, S, g if "gated" in rule else None, b if "delta" in rule else None]
    counts = {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": rule}
    Y, present = enclose_operator("LinearAttention", *given, opset=27, outputs=2, **counts)
    wanted, states = np.zeros((1, 3, 4, 3)), S.astype(float)
    for t, h in np.ndindex(3, 2):
        key, value = k[0, t, 4 * h : 4 * h + 4].astype(float), v[0, t, 3 * h : 3 * h + 3].astype(float)
        kept = (np.exp(g[0, t, 4 * h : 4 * h + 4].astype(float))[:, None] if "gated" in rule else 1) * states[0, h]
        states[0, h] = kept + np.outer(key, b[0, t] * (value - key @ kept) if "delta" in rule else value)
        for head in (2 * h, 2 * h + 1):
            wanted[0, t, head] = 0.5 * q[0, t, 4 * head : 4 * head + 4].astype(float) @ states[0, h]
    assert_close(Y, wanted.reshape(1, 3, 12))
    assert_close(present, states)


def test_affine_grid_of_one_pixel_between_corners_is_open() -> None:
    theta, sizes = np.zeros((1, 2, 3), np.float32), np.array([1, 1, 1, 3])
    (tensor,) = enclose_operator("AffineGrid", theta, sizes, align_corners=1)
    assert tensor.unspecified.all()
    (closed,) = enclose_operator("AffineGrid", theta + 1, np.array([1, 1, 2, 3]), align_corners=1)
    assert closed.unspecified is None
    assert closed.value[0, :, :, 0].tolist() == [[-1, 0, 1], [1, 2, 3]]


def test_reductions_of_no_elements_return_the_limits() -> None:
    X, axes = np.zeros((2, 0), np.float32), np.array([1])
    for op_type, expected in (("ReduceMax", -np.inf), ("ReduceMin", np.inf), ("ReduceLogSumExp", -np.inf)):
        (tensor,) = enclose_operator(op_type, X, axes, keepdims=0, opset=20)
        assert getattr(tensor, "value", tensor).tolist() == [expected, expected]
    (lowest,) = enclose_operator("ReduceMax", X.astype(np.int8), axes, keepdims=0, opset=20)
    assert lowest.tolist() == [-128, -128]


def test_cast_of_an_interval_to_integers_is_an_interval_of_integers() -> None:
    X = Enclosure(np.array([2.95, 2.5]), np.array([0.1, 0.1]), np.dtype(np.float32))
    (tensor,) = enclose_operator("Cast", X, to=onnx.TensorProto.INT32)
    masks = [admissible_mask(np.array([y, y], np.int32), tensor).tolist() for y in (2, 3)]
    assert masks == [[True, True], [True, False]]


def test_rotary_embedding_whose_products_overflow_admits_fused_products() -> None:
    X, angles = np.full((1, 1, 1, 2), 2, np.float32), np.full((1, 1), 3e38, np.float32)
    (tensor,) = enclose_operator("RotaryEmbedding", X, angles, angles, np.zeros((1, 1), np.int64))
    for value in (np.nan, 0, np.inf):
        assert admissible_mask(np.full(X.shape, value, np.float32), tensor)[..., 0].all()
        assert admissible_mask(np.full(X.shape, value, np.float32), tensor.should)[..., 0].all()


@pytest.mark.parametrize("size", [1.0, 1e20])
def test_linear_attention_whose_term_overflows_in_another_order_is_open(size: float) -> None:
    # beta * k * (v - S k) is 1e-30 * -1e20 * 1e20, and k * S k alone overflows if S and k are 1e20
    ones = np.ones((1, 1, 1), np.float32)
    operands = (ones, np.float32(size) * ones, ones, np.full((1, 1, 1, 1), size, np.float32), 0 * ones, 1e-30 * ones)
    _, state = enclose_operator(
        "LinearAttention", *operands, opset=27, outputs=2, q_num_heads=1, kv_num_heads=1, update_rule="delta"
    )
    assert admissible_mask(np.full((1, 1, 1, 1), -np.inf, np.float32), state).all() == (size > 1)
