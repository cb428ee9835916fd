"""Recurrent operators agree with a loop over the steps of each sequence in double."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.reference.enclosures import enclose_node
from conformance.reference.nodes import Node
from conformance.reference.numbers.enclosure import admissible_mask
from conformance.verdicts import Unsupported

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
    for given in ({"activation_alpha": [0.3, 0.2]}, {"activations": ["Affine", "Tanh", "Tanh"]}):
        with pytest.raises(Unsupported):
            enclose_lstm(arrays, **{"activations": names} | given)


@pytest.mark.parametrize("op_type", ["RNN", "GRU", "LSTM"])
def test_recurrent_operator_leaves_open_what_follows_nan(op_type):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op_type]
    X = np.array([[[1.0], [np.nan]]], np.float32)
    W, R = np.ones((1, gates, 1), np.float32), np.ones((1, gates, 1), np.float32)
    node = Node(op_type, ("X", "W", "R"), ("Y",), {"hidden_size": 1}, 14)
    (Y, *_) = enclose_node(node, [X, W, R])
    np.testing.assert_array_equal(np.isinf(Y.error).ravel(), [False, True])
