"""Definitions of further operators."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_node_models import X, assert_close, enclose_operator, f32, oracle_answers, reference_output
from onnx import helper, numpy_helper
from reference_models import (
    both_levels,
    declared,
    error_in_bounds,
    optimizer_inputs,
    optimizer_model,
    oracle_answer,
    reference_outputs,
)

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.reference import node_enclosures
from conformance.exact.reference.enclosures import enclose_node
from conformance.exact.reference.nodes import Node
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask
from conformance.exact.reference.operators.training_optimizers import TRAINING_OPTIMIZERS
from conformance.exact.reference.oracle import answers

# Operators that move elements give exact results.


MOVED = {
    "Identity": ((), {}, X),
    "Transpose": ((), {"perm": [2, 0, 1]}, X.transpose(2, 0, 1)),
    "Reshape": ((np.array([0, -1]),), {}, X.reshape(2, 12)),
    "Expand": ((np.array([2, 1, 1, 1]),), {}, np.broadcast_to(X, (2, 2, 3, 4))),
}


@both_levels
@pytest.mark.parametrize("op_type", MOVED)
def test_data_movement_is_exact(op_type, level):
    others, attributes, expected = MOVED[op_type]
    answer = oracle_answers(op_type, X, *others, level=level, **attributes)
    assert (answer.expected.tolist(), answer.bound) == (expected.tolist(), None)
    assert reference_output(op_type, X, *others, **attributes).tolist() == expected.tolist()


# The admissible forms of the training optimizers: the code has those that the page lists, and bounds enclose them.


PAGE = Path(__file__).parents[4] / "docs" / "explanation" / "bounds.md"

ATTRIBUTES = {
    "Adam": {"alpha": 0.4, "beta": 0.3, "epsilon": 0.1, "norm_coefficient": 0.2, "norm_coefficient_post": 0.7},
    "Adagrad": {"decay_factor": 0.3, "epsilon": 0.1, "norm_coefficient": 0.2},
    "standard": {"alpha": 0.4, "beta": 0.3, "norm_coefficient": 0.2, "mode": "standard"},
    "nesterov": {"alpha": 0.4, "beta": 0.3, "norm_coefficient": 0.2, "mode": "nesterov"},
}


class FormRecorder:
    """Computes the page's form of each statement, and records the rules and values of the other forms."""

    def __init__(self):
        self.rules = set()
        self.differences = []

    def any_of(self, written, *, complement=None, **rewrites):
        del complement
        for rule, forms in rewrites.items():
            self.rules.add(rule)
            self.differences += [float(np.max(np.abs(form - written) / np.abs(written))) for form in forms]
        return written

    def with_common_error(self, scalar):
        return scalar

    def in_tensor_precision(self, scalar):
        return scalar


def recorded(name):
    optimizer = TRAINING_OPTIMIZERS[name if name in TRAINING_OPTIMIZERS else "Momentum"]
    forms, attributes = FormRecorder(), dict(ATTRIBUTES[name])
    operands = [np.linspace(0.3, 1.9, 5) + place for place, _ in enumerate(optimizer.operands)]
    numbers = {key: np.float64(value) if key != "mode" else value for key, value in attributes.items()}
    results = optimizer.formula_in_all_forms(forms, np.float64(0.1), 3, *operands, **numbers)
    return forms, results, optimizer.formula(np.float64(0.1), 3, *operands, **numbers)


def listed():
    """Return pairs of an operator and a rule from the table of the page."""
    section = PAGE.read_text("utf-8").split("## Admissible forms")[1].split("These rewrites are not admissible")[0]
    rows = re.findall(r"^\| (\w+) \| ([^|]+) \|", section, re.MULTILINE)
    return {(name, rule) for rule, statements in rows for name in TRAINING_OPTIMIZERS if name in statements}


def test_page_lists_the_rules_of_each_operator():
    found = {
        (name if name in TRAINING_OPTIMIZERS else "Momentum", rule)
        for name in ATTRIBUTES
        for rule in recorded(name)[0].rules
    }
    assert found == listed()


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_forms_are_equal_in_algebra(name):
    forms, results, page = recorded(name)
    assert forms.differences
    assert max(forms.differences) < 1e-13
    for result, expected in zip(results, page, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-14)


@pytest.mark.parametrize("post", [0.75, 0.9, 0.99, 1.5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_expanded_post_decay_is_within_bounds(post, dtype):
    X = np.linspace(0.1, 3, 50).astype(dtype)
    zero = np.zeros_like(X)
    inputs = optimizer_inputs(0.1, 0, X, zero, zero, zero, dtype=dtype)
    model = optimizer_model("Adam", inputs, norm_coefficient_post=post)
    answer = answers(model, inputs, Level.MUST)[0]
    assert error_in_bounds(answer, X - dtype(np.float32(post)) * X) <= 1


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("level", [Level.MUST, Level.SHOULD])
def test_interpolation_is_within_bounds(alpha, level):
    V, G = np.linspace(-2, 3, 50), np.linspace(5, -1, 50)
    inputs = optimizer_inputs(0.1, 0, G, G, V, abs(G), dtype=np.float64)
    answer = answers(optimizer_model("Adam", inputs, alpha=alpha), inputs, level)[1]
    share = 1 - np.float64(np.float32(alpha))
    assert error_in_bounds(answer, V + share * (G - V)) <= 1


# Model-local functions: their attributes, and functions that have the name of an operator.


def function_model(body, attributes=(), defaults=(), domain="own", name="F", **given):
    """Return a model with one call of a function of X."""
    function = helper.make_function(
        domain, name, ["X"], ["Y"], body, [helper.make_opsetid("", 13)], list(attributes), list(defaults)
    )
    graph = helper.make_graph(
        [helper.make_node(name, ["X"], ["Z"], domain=domain, **given)],
        "graph",
        [declared("X", f32(0))],
        [declared("Z", f32(0))],
    )
    imports = [helper.make_opsetid("", 13), helper.make_opsetid(domain, 1)]
    return helper.make_model(graph, functions=[function], opset_imports=imports, ir_version=9).SerializeToString()


def constant(name, attribute):
    node = helper.make_node("Constant", [], [name])
    node.attribute.add(name="value_float", ref_attr_name=attribute, type=onnx.AttributeProto.FLOAT)
    return node


SCALED = [constant("c", "scale"), helper.make_node("Mul", ["X", "c"], ["Y"])]


def test_function_uses_attributes_of_call():
    model = function_model(SCALED, attributes=["scale"], scale=0.25)
    assert answers(model, [f32(2)], Level.MUST)[0].expected.tolist() == [0.5]


def test_function_uses_default_attributes():
    model = function_model(SCALED, defaults=[helper.make_attribute("scale", 4.0)])
    assert answers(model, [f32(2)], Level.MUST)[0].expected.tolist() == [8]
    assert reference_outputs(model, [f32(2)])[0].tolist() == [8]


def test_call_without_required_attribute_is_unsupported():
    with pytest.raises(Unsupported, match="scale"):
        answers(function_model(SCALED, attributes=["scale"]), [f32(2)], Level.MUST)


def test_recursive_function_is_unsupported():
    body = [helper.make_node("F", ["X"], ["Y"], domain="own")]
    with pytest.raises(Unsupported, match=r"own\.F"):
        answers(function_model(body), [f32(2)], Level.MUST)


def test_function_constant_equals_tensor_of_model():
    tensor = numpy_helper.from_array(f32(3))
    body = [helper.make_node("Constant", [], ["c"], value=tensor), helper.make_node("Add", ["X", "c"], ["Y"])]
    assert answers(function_model(body), [f32(2)], Level.MUST)[0].expected.tolist() == [5]


def overriding(body, results, **attributes):
    """Return a model with a function that has the name of Momentum."""
    names = ["R", "T", "X", "G", "V"]
    training = "ai.onnx.preview.training"
    arrays = [np.array(0.5, np.float32), np.array(2), f32(1), f32(0.1), f32(0.7)]
    function = helper.make_function(
        training, "Momentum", names, results, body, [helper.make_opsetid("", 13)], [*attributes]
    )
    graph = helper.make_graph(
        [helper.make_node("Momentum", names, results, domain=training, **attributes)],
        "graph",
        [declared(name, array) for name, array in zip(names, arrays, strict=True)],
        [declared(name, f32(0)) for name in results],
    )
    imports = [helper.make_opsetid("", 13), helper.make_opsetid(training, 1)]
    model = helper.make_model(graph, functions=[function], opset_imports=imports, ir_version=8)
    return model.SerializeToString(), arrays


PLAIN = {"alpha": 1.0, "beta": 1.0, "mode": "standard", "norm_coefficient": 0.0}


RIGHT = [
    helper.make_node("Add", ["V", "G"], ["V_new"]),
    helper.make_node("Mul", ["R", "V_new"], ["step"]),
    helper.make_node("Sub", ["X", "step"], ["X_new"]),
]


def test_overridden_operator_accepts_body_and_operator():
    model, arrays = overriding(RIGHT, ["X_new", "V_new"], **PLAIN)
    for answer in answers(model, arrays, Level.MUST):
        assert answer.indeterminacy is None
    assert [value.tolist() for value in reference_outputs(model, arrays)] == [f32(0.6).tolist(), f32(0.8).tolist()]


def test_function_contradicting_its_operator_is_indeterminate():
    wrong = [helper.make_node("Sub", ["V", "G"], ["V_new"]), *RIGHT[1:]]
    model, arrays = overriding(wrong, ["X_new", "V_new"], **PLAIN)
    assert all(answer.indeterminacy for answer in answers(model, arrays, Level.MUST))


# Recurrent operators agree with a loop over the steps of each sequence in double.


HIDDEN = 3


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def run_lstm(X: Any, W: Any, R: Any, B: Any, *, order: int, is_coupled: bool, limit: float) -> Any:
    """Return the outputs of one sequence (steps, input_size) in double, in the order of the steps."""
    H = C = np.zeros(HIDDEN)
    Y = np.zeros((len(X), HIDDEN))

    def clip(x: Any) -> Any:
        return np.clip(x, -limit, limit)

    for step in range(len(X))[::order]:
        sums = W @ X[step] + R @ H + B[: 4 * HIDDEN] + B[4 * HIDDEN :]
        i, o, f, c = (clip(part) for part in np.split(sums, 4))
        forget = 1 - sigmoid(i) if is_coupled else sigmoid(f)
        C = forget * C + sigmoid(i) * np.tanh(c)
        H = sigmoid(o) * np.tanh(clip(C))
        Y[step] = H
    return Y


@pytest.fixture
def arrays() -> list[Any]:
    random = np.random.default_rng(6)
    shapes = (5, 2, 2), (1, 4 * HIDDEN, 2), (1, 4 * HIDDEN, HIDDEN), (1, 8 * HIDDEN)
    return [(random.standard_normal(shape) * 0.6).astype(np.float32) for shape in shapes]


def enclose_lstm(arrays: list[Any], lengths: Any = None, **attributes: Any) -> list[Any]:
    node = Node("LSTM", tuple("XWRBL"), ("Y", "H", "C"), attributes, 22)
    return enclose_node(node, [*arrays, lengths])


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("attributes", [{}, {"input_forget": 1}, {"clip": 0.5}])
def test_lstm_takes_the_steps_of_each_sequence(arrays: list[Any], direction: str, attributes: dict[str, Any]) -> None:
    lengths = np.array([5, 3], np.int32)
    Y, H, _ = enclose_lstm(arrays, lengths, direction=direction, **attributes)
    X, W, R, B = (array.astype(float) for array in arrays)
    order = 1 if direction == "forward" else -1
    options = {"is_coupled": "input_forget" in attributes, "limit": attributes.get("clip", np.inf)}
    for number, length in enumerate(lengths):
        wanted = np.zeros((5, HIDDEN))
        wanted[:length] = run_lstm(X[:length, number], W[0], R[0], B[0], order=order, **options)
        part = Y.moved(lambda y, n=number: y[:, 0, n])
        assert admissible_mask(wanted.astype(np.float32), part).all()
        assert not admissible_mask((wanted * 1.01).astype(np.float32), part)[wanted != 0].any() or "clip" in attributes
        last = wanted[length - 1 if order == 1 else 0]
        assert admissible_mask(last.astype(np.float32), H.moved(lambda h, n=number: h[0, n])).all()


def test_lstm_that_ignores_the_clip_is_outside(arrays: list[Any]) -> None:
    Y, *_ = enclose_lstm([array * 4 for array in arrays], clip=0.1)
    X, W, R, B = (array.astype(float) * 4 for array in arrays)
    ignored = run_lstm(X[:, 0], W[0], R[0], B[0], order=1, is_coupled=False, limit=np.inf)
    assert not admissible_mask(ignored.astype(np.float32), Y.moved(lambda y: y[:, 0, 0])).all()


@pytest.mark.parametrize("alphas", [[0.3], [0.3, 9.0, 9.0]])
def test_activations_take_their_numbers_in_order(arrays: list[Any], alphas: list[float]) -> None:
    X, W, R, B = (
        array.astype(float)[..., 0, :] if k == 0 else array[0].astype(float) for k, array in enumerate(arrays)
    )
    H = C = np.zeros(HIDDEN)
    Y = enclose_lstm(arrays, activations=["HardSigmoid", "Tanh", "Tanh"], activation_alpha=alphas)[0]
    for step, x in enumerate(X):
        sums = W @ x + R @ H + B[: 4 * HIDDEN] + B[4 * HIDDEN :]
        i, o, f, c = np.split(sums, 4)
        gate_i, gate_o, gate_f = (np.clip(float(np.float32(0.3)) * part + 0.5, 0, 1) for part in (i, o, f))
        C = gate_f * C + gate_i * np.tanh(c)
        H = gate_o * np.tanh(C)
        assert admissible_mask(H.astype(np.float32), Y.moved(lambda y, t=step: y[t, 0, 0])).all()


def test_activations_with_too_few_numbers_are_not_judged(arrays: list[Any]) -> None:
    names = ["HardSigmoid", "LeakyRelu", "Elu"]
    for changed in ({"activation_alpha": [0.3, 0.2]}, {"activations": ["Affine", "Tanh", "Tanh"]}):
        with pytest.raises(Unsupported):
            enclose_lstm(arrays, **{"activations": names} | changed)


@pytest.mark.parametrize("op_type", ["RNN", "GRU", "LSTM"])
def test_recurrent_operator_leaves_open_what_follows_nan(op_type):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op_type]
    X = np.array([[[1.0], [np.nan]]], np.float32)
    W, R = np.ones((1, gates, 1), np.float32), np.ones((1, gates, 1), np.float32)
    node = Node(op_type, ("X", "W", "R"), ("Y",), {"hidden_size": 1}, 14)
    (Y, *_) = enclose_node(node, [X, W, R])
    np.testing.assert_array_equal(np.isinf(Y.error).ravel(), [False, True])


def test_recurrent_operator_admits_the_form_of_tanh_on_its_page_at_must_only() -> None:
    X = np.float32([[[1e-4], [-0.003]]])
    form = ((1 - np.exp(-2 * X)) / (1 + np.exp(-2 * X)))[None]
    Y = enclose("RNN", X, np.float32([[[1]]]), np.float32([[[0]]]), hidden_size=1)
    assert [admissible_mask(form, each).all() for each in (Y, Y.should)] == [True, False]
    assert not admissible_mask(form + np.float32(1e-6), Y).any()


@pytest.mark.parametrize(("direction", "first"), [("forward", 0), ("reverse", 1)])
def test_first_overflow_in_a_cell_makes_nan_or_the_result_of_the_function(direction: str, first: int) -> None:
    X, W, R = np.float32([[[-1000]], [[-1000]]]), np.float32([[[1]]]), np.float32([[[0.5]]])
    node = Node("RNN", ("X", "W", "R"), ("Y", "Y_h"), {"hidden_size": 1, "direction": direction}, 22)
    Y, Y_h = enclose_node(node, [X, W, R])
    found = [admissible_mask(np.full(Y.shape, each, np.float32), Y).ravel().tolist() for each in (-1, np.nan, 777)]
    assert found == [[True, True], [True, True], [first == 1, first == 0]]
    assert admissible_mask(np.full(Y_h.shape, 777, np.float32), Y_h).all()
    single = enclose("RNN", X[:1], W, R, hidden_size=1)
    assert not admissible_mask(np.full(single.shape, 777, np.float32), single).any()


def test_limit_of_a_recurrent_operator_may_be_rounded_to_the_type() -> None:
    X, W, R = np.float16([[[4]]]), np.float16([[[1]]]), np.float16([[[0]]])
    Y = enclose("RNN", X, W, R, hidden_size=1, activations=["Elu"], clip=float(np.float32(0.8)))
    assert admissible_mask(np.float16([[[[0.8]]]]), Y).all()
    assert not admissible_mask(np.float16([[[[0.801]]]]), Y).any()


def test_overflow_beside_an_infinity_leaves_a_gate_open() -> None:
    X, W, R = np.float32([[[2, 2]]]), np.float32([[[3e38, -np.inf]]]), np.float32([[[0]]])
    attributes = {"hidden_size": 1, "clip": 0.5}
    assert admissible_mask(np.float32([[[[np.nan]]]]), enclose("RNN", X, W, R, **attributes)).all()
    Y = enclose("RNN", X, np.float32([[[3, -np.inf]]]), R, **attributes)
    assert not admissible_mask(np.float32([[[[np.nan]]]]), Y).any()


# Transforms agree with NumPy's fast transforms, and weights of the mel scale with their triangles.


def enclose(op_type: str, *inputs: Any, opset: int = 20, **attributes: Any) -> Any:
    return enclose_operator(op_type, *inputs, opset=opset, **attributes)[0]


def parts(numbers: Any) -> Any:
    return np.stack([numbers.real, numbers.imag], -1)


@pytest.mark.parametrize(("op_type", "gates", "layout"), [("GRU", 3, 0), ("RNN", 1, 1)])
def test_steps_from_returned_states_have_narrow_bounds_and_show_one_wrong_step(
    op_type: str, gates: int, layout: int
) -> None:
    random = np.random.default_rng(0)
    steps, batch, size, hidden = 60, 1, 3, 3
    X = random.standard_normal((batch, steps, size) if layout else (steps, batch, size)).astype(np.float32)
    W, R = (random.standard_normal((2, gates * hidden, k)).astype(np.float32) * 2 for k in (size, hidden))
    attributes = {"hidden_size": hidden, "direction": "bidirectional", "layout": layout}
    node = helper.make_node(op_type, ["x", "w", "r"], ["y", "y_h"], **attributes)
    scope, values = node_enclosures.NodeScope({"": 22}, onnx.ModelProto()), {"x": X, "w": W, "r": R}
    middle = np.asarray(node_enclosures.enclose(scope, node, values)[0].value).astype(np.float32)
    Y, last = node_enclosures.enclose_steps(scope, node, values, middle)
    assert isinstance(Y, Enclosure)
    assert isinstance(last, Enclosure)
    assert admissible_mask(middle, Y).all()
    assert Y.error.max() < 1e-4 < np.max(node_enclosures.enclose(scope, node, values)[0].error)
    wrong = middle.copy()
    wrong[(0, 30) if layout else (30, 0)] += np.float32(0.01)
    assert not admissible_mask(wrong, node_enclosures.enclose_steps(scope, node, values, wrong)[0]).all()
    final = middle[:, -1, 0] if layout else middle[-1, 0]
    assert admissible_mask(final, last.moved(lambda y: y[:, 0] if layout else y[0])).all()


@pytest.mark.parametrize("length", [5, 8, 11])
def test_dft_along_an_axis_is_the_fast_transform(length: int) -> None:
    X = np.random.default_rng(0).standard_normal((2, 8, 3, 2)).astype(np.float32)
    numbers = X[..., 0].astype(float) + 1j * X[..., 1]
    given = np.array(length), np.array(1)
    assert_close(enclose("DFT", X, *given), parts(np.fft.fft(numbers, length, axis=1)))
    assert_close(enclose("DFT", X, *given, inverse=1), parts(np.fft.ifft(numbers, length, axis=1)))
    assert_close(enclose("DFT", X, np.array(length), opset=17, axis=1), parts(np.fft.fft(numbers, length, axis=1)))


def test_dft_of_real_numbers_has_one_side() -> None:
    X = np.random.default_rng(1).standard_normal((2, 9, 1)).astype(np.float32)
    half = np.fft.rfft(X[..., 0].astype(float), axis=1)
    assert_close(enclose("DFT", X, onesided=1), parts(half))
    spectrum = parts(half).astype(np.float32)
    whole = np.fft.irfft(spectrum[..., 0].astype(float) + 1j * spectrum[..., 1], 9, axis=1)
    assert_close(enclose("DFT", spectrum, np.array(9), inverse=1, onesided=1), whole[..., np.newaxis])


def test_stft_transforms_weighted_frames() -> None:
    random = np.random.default_rng(2)
    X, window = random.standard_normal((2, 21, 1)).astype(np.float32), np.hanning(8).astype(np.float32)
    frames = np.stack([X[:, start : start + 8, 0].astype(float) * window for start in range(0, 14, 3)], axis=1)
    assert_close(enclose("STFT", X, np.array(3), window), parts(np.fft.rfft(frames, axis=-1)))
    assert_close(enclose("STFT", X, np.array(3), window, onesided=0), parts(np.fft.fft(frames, axis=-1)))


def test_mel_weights_are_triangles_over_bins() -> None:
    given = [np.array(each) for each in (4, 64, 8000)]
    weights = enclose("MelWeightMatrix", *given, np.float32(0), np.float32(4000))
    assert weights.shape == (33, 4)
    assert weights.value.max(axis=0).tolist() == [1.0] * 4
    rises = np.diff(np.sign(np.diff(weights.value, axis=0)), axis=0)
    assert (np.abs(rises).sum(axis=0) <= 8).all()


def test_dft_of_another_length_than_a_power_of_two_admits_the_chirp_transform() -> None:
    X = np.random.default_rng(3).standard_normal((1, 17, 1)).astype(np.float32)
    n = np.arange(17)
    chirp = np.exp(-1j * np.pi * n**2 / 17).astype(np.complex64)
    filter_ = np.zeros(64, np.complex64)
    filter_[:17], filter_[-16:] = chirp.conj(), chirp.conj()[:0:-1]
    padded = np.zeros(64, np.complex64)
    padded[:17] = X[0, :, 0] * chirp
    convolved = np.fft.ifft(np.fft.fft(padded) * np.fft.fft(filter_)).astype(np.complex64)
    assert admissible_mask(parts(convolved[:17] * chirp)[np.newaxis].astype(np.float32), enclose("DFT", X)).all()


# Softmax, LogSoftmax and other functions before ArgMax: their axes, and bounds that contain native results.


CUBE = np.log(np.arange(1, 9, dtype=np.float64)).reshape(2, 2, 2)


def softmax_over(X, axes):
    powers = np.exp(X)
    return powers / powers.sum(axis=axes, keepdims=True)


@pytest.mark.parametrize(
    ("opset", "attributes", "axes"),
    [
        (13, {}, (2,)),
        (13, {"axis": 1}, (1,)),
        (13, {"axis": 0}, (0,)),
        (13, {"axis": -3}, (0,)),
        (12, {}, (1, 2)),
        (12, {"axis": 0}, (0, 1, 2)),
        (12, {"axis": 1}, (1, 2)),
        (12, {"axis": 2}, (2,)),
        (11, {"axis": -1}, (2,)),
        (11, {"axis": -2}, (1, 2)),
        (1, {}, (1, 2)),
    ],
)
@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
def test_softmax_reduces_axes_of_its_opset(op_type, opset, attributes, axes):
    expected = softmax_over(CUBE, axes)
    answer = oracle_answer(op_type, CUBE, opset=opset, **attributes)
    np.testing.assert_allclose(answer.expected, expected if op_type == "Softmax" else np.log(expected), rtol=1e-14)


def test_coerced_softmax_keeps_shape():
    assert oracle_answer("Softmax", CUBE, opset=12).expected.shape == CUBE.shape


def test_softmax_of_large_elements_is_not_nan():
    answer = oracle_answer("Softmax", np.array([1000.0, 1000.0], np.float32))
    assert answer.expected.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@given(data=st.data())
def test_softmax_bound_contains_native_result(op_type, dtype, data):
    width = np.dtype(dtype).itemsize * 8
    X = np.array(data.draw(st.lists(st.floats(-8, 8, width=width), min_size=1, max_size=20)), dtype)
    shifted = X - X.max()
    powers = np.exp(shifted)
    total = np.add.accumulate(powers)[-1]
    Y = powers / total if op_type == "Softmax" else shifted - np.log(total)
    assert error_in_bounds(oracle_answer(op_type, X, level=Level.MUST), Y) <= 1


@pytest.mark.parametrize("op_type", ["Exp", "Log", "Sqrt"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@given(data=st.data())
def test_function_bound_contains_native_result(op_type, dtype, data):
    width = np.dtype(dtype).itemsize * 8
    first, last = (-8, 8) if op_type == "Exp" else (2.0**-10, 2.0**10)
    X = np.array(data.draw(st.lists(st.floats(first, last, width=width), min_size=1, max_size=20)), dtype)
    Y = {"Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt}[op_type](X)
    assert error_in_bounds(oracle_answer(op_type, X, level=Level.MUST), Y) <= 1
