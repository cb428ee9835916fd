"""Exact values of nodes: an interpreter whose numbers are those of mpmath with 60 digits.

It shares no code with the reference of the suite and rounds nothing between nodes. `settle` compares the results of
runtimes with it. An operator that has no row in `FORMULAS` has no exact value here.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
from onnx import helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx

mpmath.mp.dps = 60

LIMITS = {2: (0, 255), 3: (-128, 127), 4: (0, 65535), 5: (-32768, 32767), 21: (0, 15), 22: (-8, 7)}
"""The smallest and the largest integer by the number of the element type."""


class NoFormula(Exception):
    """An operator, or a form of it, has no exact value here."""


class Node:
    """One node with exact operands."""

    def __init__(self, node: onnx.NodeProto, inputs: Sequence[Any], scope: Mapping[str, Any]) -> None:
        self.operator, self.scope = node.op_type, scope
        self.attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        self.inputs = list(inputs)

    def get(self, name: str, default: Any) -> Any:
        """Return an attribute."""
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def number(self, name: str, default: float) -> Any:
        """Return an attribute that is a number in float."""
        return mpmath.mpf(float(np.float32(self.get(name, default))))

    def input(self, place: int) -> Any:
        """Return an operand; None if it is left out."""
        return self.inputs[place] if place < len(self.inputs) else None

    def axes(self, rank: int) -> tuple[int, ...]:
        """Return the axes of a reduction."""
        given = self.input(1) if self.input(1) is not None else self.get("axes", None)
        return tuple(range(rank)) if given is None else tuple(int(axis) % rank for axis in given)


def exact_array(array: Any) -> Any:
    """Return an array of exact numbers; integers and booleans stay as they are."""
    if array.dtype.kind in "iub":
        return array
    numbers = [mpmath.mpf(float(each)) for each in array.reshape(-1)]
    return _objects(numbers, array.shape)


def _objects(numbers: Sequence[Any], shape: Sequence[int]) -> Any:
    result = np.empty(len(numbers), object)
    result[:] = numbers
    return result.reshape(shape)


def evaluate_exactly(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """Return the exact outputs of a model.

    Raises:
        NoFormula: an operator has no exact value here.
    """
    main = min((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=13)
    if main < 13 and (flattened := {"Softmax", "LogSoftmax"} & {node.op_type for node in model.graph.node}):
        raise NoFormula(f"{min(flattened)} that flattens the tensor")
    return _graph(model.graph, {name: exact_array(array) for name, array in feeds.items()})


def _graph(graph: onnx.GraphProto, given: Mapping[str, Any]) -> list[Any]:
    scope = dict(given)
    scope.update({each.name: exact_array(numpy_helper.to_array(each)) for each in graph.initializer})
    for each in graph.node:
        if each.op_type not in FORMULAS:
            raise NoFormula(each.op_type)
        node = Node(each, [scope[name] if name else None for name in each.input], scope)
        results = FORMULAS[each.op_type](node)
        results = results if isinstance(results, list) else [results]
        scope.update(zip(each.output, results, strict=False))
    return [scope[each.name] for each in graph.output]


def _each(function: Callable[..., Any]) -> Callable[[Node], Any]:
    """Return the formula of an operator that computes each element from those at the same place."""

    def formula(node: Node) -> Any:
        arrays = np.broadcast_arrays(*(np.asarray(each, dtype=object) for each in node.inputs if each is not None))
        rows = zip(*(each.reshape(-1) for each in arrays), strict=True)
        return _objects([function(*row) for row in rows], arrays[0].shape)

    return formula


def _with(function: Callable[..., Any], **defaults: float) -> Callable[[Node], Any]:
    """Return an elementwise formula whose function takes attributes, with their defaults."""

    def formula(node: Node) -> Any:
        given = [node.number(name, value) for name, value in defaults.items()]
        return _each(lambda x: function(x, *given))(node)

    return formula


def _normal_share(x: Any) -> Any:
    """Return the normal distribution function; `erfc` keeps the digits of its tail."""
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _gelu(node: Node) -> Any:
    if node.get("approximate", "none") == "tanh":
        factor = mpmath.sqrt(2 / mpmath.pi)
        return _each(lambda x: x / 2 * (1 + mpmath.tanh(factor * (x + mpmath.mpf("0.044715") * x**3))))(node)
    return _each(lambda x: x * _normal_share(x))(node)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def _matmul(node: Node) -> Any:
    return np.matmul(np.asarray(node.inputs[0], object), np.asarray(node.inputs[1], object))


def _gemm(node: Node) -> Any:
    A, B = (
        each.T if node.get(name, 0) else each for each, name in zip(node.inputs, ("transA", "transB"), strict=False)
    )
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    total = alpha * np.dot(A, B)
    return total if node.input(2) is None else total + beta * node.input(2)


def _softmax(node: Node) -> Any:
    x = node.inputs[0]
    powers = _map(mpmath.exp, x - np.max(x, axis=node.get("axis", -1), keepdims=True))
    shares = powers / powers.sum(axis=node.get("axis", -1), keepdims=True)
    return _map(mpmath.log, shares) if node.operator == "LogSoftmax" else shares


def _map(function: Callable[[Any], Any], x: Any) -> Any:
    return _objects([function(each) for each in np.asarray(x, object).reshape(-1)], np.shape(x))


def _reduced(function: Callable[[Any], Any]) -> Callable[[Node], Any]:
    """Return the formula of a reduction, from a function of the elements as a list."""

    def formula(node: Node) -> Any:
        x = node.inputs[0]
        axes = node.axes(x.ndim)
        left = [axis for axis in range(x.ndim) if axis not in axes]
        shape = [x.shape[axis] for axis in left]
        rows = np.transpose(x, [*left, *axes]).reshape(int(np.prod(shape)), -1)
        kept = [1 if axis in axes else x.shape[axis] for axis in range(x.ndim)]
        return _objects([function(list(row)) for row in rows], kept if node.get("keepdims", 1) else shape)

    return formula


def _mean(terms: Sequence[Any]) -> Any:
    return mpmath.fsum(terms) / len(terms)


def _normalized(x: Any, axes: tuple[int, ...], epsilon: Any) -> list[Any]:
    size = int(np.prod([x.shape[axis] for axis in axes]))
    mean = x.sum(axis=axes, keepdims=True) / size
    variance = ((x - mean) ** 2).sum(axis=axes, keepdims=True) / size
    inverse = _map(lambda v: 1 / mpmath.sqrt(v + epsilon), variance)
    return [(x - mean) * inverse, mean, inverse]


def _layer_normalization(node: Node) -> Any:
    x = node.inputs[0]
    axes = tuple(range(node.get("axis", -1) % x.ndim, x.ndim))
    y, mean, inverse = _normalized(x, axes, node.number("epsilon", 1e-5))
    y = y * node.inputs[1]
    return [y if node.input(2) is None else y + node.input(2), mean, inverse]


def _lrn(node: Node) -> Any:
    x, size = node.inputs[0], node.get("size", 1)
    alpha, beta, bias = node.number("alpha", 1e-4), node.number("beta", 0.75), node.number("bias", 1.0)
    channels = x.shape[1]
    rows = []
    for c in range(channels):
        part = x[:, max(0, c - (size - 1) // 2) : min(channels, c + size // 2 + 1)]
        rows.append(x[:, c] / _map(lambda s: (bias + alpha / size * s) ** beta, (part**2).sum(axis=1)))
    return np.stack(rows, axis=1)


def _quantized(node: Node) -> Any:
    x, scale, zero = node.inputs
    if scale.size != 1:
        raise NoFormula("QuantizeLinear with several scales")
    low, high = LIMITS[helper.np_dtype_to_tensor_dtype(zero.dtype)]
    start = int(zero.reshape(-1)[0])

    def quantize(number: Any) -> Any:
        steps = number / scale.reshape(-1)[0]
        if not mpmath.isfinite(steps):
            return None if mpmath.isnan(steps) else high if steps > 0 else low
        return min(max(int(mpmath.nint(steps)) + start, low), high)  # nint rounds ties to even

    return _map(quantize, x)


ACTIVATIONS: Mapping[str, Callable[[Any], Any]] = {
    "Sigmoid": _sigmoid,
    "Tanh": mpmath.tanh,
    "Relu": lambda x: max(x, mpmath.mpf(0)),
}


def _recurrent(node: Node) -> Any:
    """Return the outputs of LSTM, GRU or RNN with the default activations, step by step as on the page."""
    if {"activations", "clip", "layout", "input_forget"} & set(node.attributes) or node.input(7) is not None:
        raise NoFormula(f"{node.operator} with other attributes")
    X, W, R = node.inputs[:3]
    steps, batch, _ = X.shape
    hidden, directions = R.shape[-1], {"bidirectional": (1, -1), "reverse": (-1,)}.get(node.get("direction", ""), (1,))
    lengths = [steps] * batch if node.input(4) is None else [int(each) for each in node.input(4)]
    zero = mpmath.mpf(0)
    Y = np.full((steps, len(directions), batch, hidden), zero, object)
    finals = [np.full((len(directions), batch, hidden), zero, object) for _ in range(2)]
    for d, b in product(range(len(directions)), range(batch)):
        gates = W.shape[1]
        bias = np.full(2 * gates, zero, object) if node.input(3) is None else node.input(3)[d]
        state = [
            np.full(hidden, zero, object) if node.input(5 + k) is None else node.input(5 + k)[d, b] for k in range(2)
        ]
        for t in range(lengths[b])[:: directions[d]]:
            state = _step(node, np.dot(W[d], X[t, b]) + bias[:gates], R[d], bias[gates:], state)
            Y[t, d, b] = state[0]
        for k in range(2):
            finals[k][d, b] = state[k]
    return [Y, *finals]


def _step(node: Node, x: Any, R: Any, bias: Any, state: Sequence[Any]) -> list[Any]:
    H, C = state
    if node.operator == "RNN":
        return [_map(mpmath.tanh, x + np.dot(R, H) + bias), C]
    h = len(H)
    if node.operator == "LSTM":
        i, o, f, c = np.split(x + np.dot(R, H) + bias, 4)
        C = _map(_sigmoid, f) * C + _map(_sigmoid, i) * _map(mpmath.tanh, c)
        return [_map(_sigmoid, o) * _map(mpmath.tanh, C), C]
    z, r = (_map(_sigmoid, x[k : k + h] + np.dot(R[k : k + h], H) + bias[k : k + h]) for k in (0, h))
    last, own = R[2 * h :], bias[2 * h :]
    inner = r * (np.dot(last, H) + own) if node.get("linear_before_reset", 0) else np.dot(last, r * H) + own
    return [(1 - z) * _map(mpmath.tanh, x[2 * h :] + inner) + z * H, C]


def _if(node: Node) -> Any:
    return _graph(node.attributes["then_branch" if bool(node.inputs[0]) else "else_branch"], node.scope)


def _loop(node: Node) -> Any:
    body, (trips, going, *state) = node.attributes["body"], node.inputs
    rows: list[list[Any]] = [[] for _ in body.output[1 + len(state) :]]
    turn = 0
    while (trips is None or turn < int(trips)) and (going is None or bool(going)):
        names = [each.name for each in body.input]
        given = dict(zip(names, [np.array(turn), np.array(True) if going is None else going, *state], strict=True))
        going, *results = _graph(body, {**node.scope, **given})
        state = results[: len(state)]
        for row, result in zip(rows, results[len(state) :], strict=True):
            row.append(result)
        turn += 1
    return [*state, *(np.stack(row) for row in rows)]


def _scan(node: Node) -> Any:
    if {"scan_input_axes", "scan_output_axes", "scan_output_directions"} & set(node.attributes):
        raise NoFormula("Scan with axes")
    body, count = node.attributes["body"], node.attributes["num_scan_inputs"]
    state, scanned = node.inputs[:-count], node.inputs[-count:]
    directions = node.get("scan_input_directions", [0] * count)
    rows: list[list[Any]] = [[] for _ in body.output[len(state) :]]
    names = [each.name for each in body.input]
    for turn in range(len(scanned[0])):
        slices = [x[len(x) - 1 - turn if back else turn] for x, back in zip(scanned, directions, strict=True)]
        results = _graph(body, {**node.scope, **dict(zip(names, [*state, *slices], strict=True))})
        state = results[: len(state)]
        for row, result in zip(rows, results[len(state) :], strict=True):
            row.append(result)
    return [*state, *(np.stack(row) for row in rows)]


def _clipped(x: Any, low: Any, high: Any) -> Any:
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _elu(x: Any, alpha: Any) -> Any:
    return x if x > 0 else alpha * mpmath.expm1(x)


FORMULAS: Mapping[str, Callable[[Node], Any]] = {
    "Add": _each(lambda a, b: a + b),
    "Sub": _each(lambda a, b: a - b),
    "Mul": _each(lambda a, b: a * b),
    "Div": _each(lambda a, b: a / b),
    "Pow": _each(lambda a, b: a**b),
    "Greater": _each(lambda a, b: a > b),
    "Less": _each(lambda a, b: a < b),
    "Where": _each(lambda c, a, b: a if c else b),
    "Identity": lambda node: node.inputs[0],
    "Cast": lambda node: node.inputs[0],
    "Transpose": lambda node: np.transpose(node.inputs[0], node.get("perm", None)),
    "Neg": _each(lambda x: -x),
    "Abs": _each(abs),
    "Sqrt": _each(lambda x: mpmath.nan if x < 0 else mpmath.sqrt(x)),
    "Reciprocal": _each(lambda x: 1 / x),
    "Exp": _each(mpmath.exp),
    "Log": _each(lambda x: mpmath.nan if x < 0 else mpmath.log(x)),
    "Erf": _each(mpmath.erf),
    "Sin": _each(mpmath.sin),
    "Cos": _each(mpmath.cos),
    "Sinh": _each(mpmath.sinh),
    "Cosh": _each(mpmath.cosh),
    "Tanh": _each(mpmath.tanh),
    "Atan": _each(mpmath.atan),
    "Asinh": _each(mpmath.asinh),
    "Sigmoid": _each(_sigmoid),
    "Relu": _each(lambda x: max(x, mpmath.mpf(0))),
    "Softplus": _each(lambda x: mpmath.log1p(mpmath.exp(x))),
    "Softsign": _each(lambda x: x / (1 + abs(x))),
    "Mish": _each(lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x)))),
    "HardSwish": _each(lambda x: x * max(0, min(1, x / 6 + mpmath.mpf("0.5")))),
    "Clip": lambda node: _clipped(node.inputs[0], node.input(1), node.input(2)),
    "Elu": _with(_elu, alpha=1.0),
    "Celu": _with(lambda x, alpha: x if x > 0 else alpha * mpmath.expm1(x / alpha), alpha=1.0),
    "Selu": _with(lambda x, a, g: g * _elu(x, a), alpha=1.6732632423543772, gamma=1.0507009873554805),
    "HardSigmoid": _with(lambda x, a, b: max(0, min(1, a * x + b)), alpha=0.2, beta=0.5),
    "LeakyRelu": _with(lambda x, alpha: x if x > 0 else alpha * x, alpha=0.01),
    "Gelu": _gelu,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "ReduceSum": _reduced(mpmath.fsum),
    "ReduceMean": _reduced(_mean),
    "ReduceL1": _reduced(lambda terms: mpmath.fsum(map(abs, terms))),
    "ReduceL2": _reduced(lambda terms: mpmath.sqrt(mpmath.fsum(each * each for each in terms))),
    "ReduceSumSquare": _reduced(lambda terms: mpmath.fsum(each * each for each in terms)),
    "ReduceLogSumExp": _reduced(lambda terms: mpmath.log(mpmath.fsum(map(mpmath.exp, terms)))),
    "LayerNormalization": _layer_normalization,
    "InstanceNormalization": lambda node: (
        _normalized(node.inputs[0], tuple(range(2, node.inputs[0].ndim)), node.number("epsilon", 1e-5))[0]
        * _by_channel(node.inputs[1], node.inputs[0])
        + _by_channel(node.inputs[2], node.inputs[0])
    ),
    "GlobalAveragePool": lambda node: (
        node.inputs[0].sum(axis=tuple(range(2, node.inputs[0].ndim)), keepdims=True)
        / int(np.prod(node.inputs[0].shape[2:]))
    ),
    "LRN": _lrn,
    "QuantizeLinear": _quantized,
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": _recurrent,
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
}
"""The formula of each operator, as on its page."""


def _by_channel(v: Any, X: Any) -> Any:
    return v.reshape(1, -1, *[1] * (X.ndim - 2))
