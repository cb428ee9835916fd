"""Exact values of nodes: an interpreter whose numbers are those of mpmath with 60 digits.

It shares no code with the reference of the suite and rounds nothing between nodes. `settle` compares the results of
runtimes with it. An operator that has no row in `FORMULAS` has no exact value here.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import ml_dtypes
import mpmath
import numpy as np
from onnx import helper, numpy_helper

from .exact_images import IMAGE_FORMULAS
from .exact_node import Node, NoFormula, Surroundings, exact_array, mapped, objects, saturated
from .exact_tables import TABLE_FORMULAS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx

LIMITS = {2: (0, 255), 3: (-128, 127), 4: (0, 65535), 5: (-32768, 32767), 21: (0, 15), 22: (-8, 7)}
"""The smallest and the largest integer by the number of the element type."""


def evaluate_exactly(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """Return the exact outputs of a model.

    Raises:
        NoFormula: an operator has no exact value here.
    """
    opsets = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in model.opset_import}
    constants = {each.name: helper.tensor_dtype_to_np_dtype(each.data_type) for each in model.graph.initializer}
    surroundings = Surroundings(opsets, {**constants, **{name: array.dtype for name, array in feeds.items()}})
    return _graph(model.graph, {name: exact_array(array) for name, array in feeds.items()}, surroundings)


def _graph(graph: onnx.GraphProto, given: Mapping[str, Any], surroundings: Surroundings) -> list[Any]:
    scope = dict(given)
    scope.update({each.name: exact_array(numpy_helper.to_array(each)) for each in graph.initializer})
    for each in graph.node:
        if each.op_type not in FORMULAS:
            raise NoFormula(each.op_type)
        inputs = [scope[name] if name else None for name in each.input]
        node = Node(each, inputs, scope, surroundings)
        node.is_alone = len(graph.node) == 1
        results = FORMULAS[each.op_type](node)
        results = results if isinstance(results, list) else [results]
        scope.update(zip(each.output, results, strict=False))
    return [scope[each.name] for each in graph.output]


def _each(function: Callable[..., Any]) -> Callable[[Node], Any]:
    """Return the formula of an operator that computes each element from those at the same place."""

    def formula(node: Node) -> Any:
        given = [np.asarray(each, dtype=object) for each in node.inputs if each is not None]
        if node.opset < 7 and (node.get("broadcast", 0) or (node.operator == "PRelu" and given[1].size > 1)):
            axis = 1 if node.operator == "PRelu" else node.get("axis", given[0].ndim - given[1].ndim)
            behind = given[0].ndim - axis - given[1].ndim
            given[1] = given[1].reshape((*given[1].shape, *[1] * behind))
        arrays = np.broadcast_arrays(*given)
        rows = zip(*(each.reshape(-1) for each in arrays), strict=True)
        return objects([function(*row) for row in rows], arrays[0].shape)

    return formula


def _with(function: Callable[..., Any], **defaults: float) -> Callable[[Node], Any]:
    """Return an elementwise formula whose function takes attributes, with their defaults."""

    def formula(node: Node) -> Any:
        given = [node.number(name, value) for name, value in defaults.items()]
        return _each(lambda x: function(x, *given))(node)

    return formula


def _real(function: Callable[[Any], Any]) -> Callable[[Node], Any]:
    """Return an elementwise formula of a function that has no real value for some numbers, for which it is NaN."""

    def compute(x: Any) -> Any:
        value = function(x)
        return mpmath.nan if isinstance(value, mpmath.mpc) else value

    return _each(compute)


def _normal_share(x: Any) -> Any:
    """Return the normal distribution function; `erfc` keeps the digits of its tail."""
    if mpmath.isfinite(x) and abs(x) > 10_000:  # mpmath has no exponential of the square
        return mpmath.mpf(1 if x > 0 else 0)
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
    if A.dtype != object and not alpha == beta == 1:
        raise NoFormula("Gemm of integers with factors")
    total = alpha * np.dot(A.astype(object), B.astype(object))
    return total if node.input(2) is None else total + beta * node.input(2)


def _reduced(function: Callable[[Any], Any]) -> Callable[[Node], Any]:
    """Return the formula of a reduction, from a function of the elements as a list."""

    def formula(node: Node) -> Any:
        x = node.inputs[0]
        axes = node.axes(x.ndim)
        left = [axis for axis in range(x.ndim) if axis not in axes]
        shape = [x.shape[axis] for axis in left]
        rows = np.transpose(x, [*left, *axes]).reshape(int(np.prod(shape)), -1)
        kept = [1 if axis in axes else x.shape[axis] for axis in range(x.ndim)]
        return objects([function(list(row)) for row in rows], kept if node.get("keepdims", 1) else shape)

    return formula


def _mean(terms: Sequence[Any]) -> Any:
    return mpmath.fsum(terms) / len(terms)


def _normalized(x: Any, axes: tuple[int, ...], epsilon: Any) -> list[Any]:
    size = int(np.prod([x.shape[axis] for axis in axes]))
    mean = x.sum(axis=axes, keepdims=True) / size
    variance = ((x - mean) ** 2).sum(axis=axes, keepdims=True) / size
    inverse = mapped(lambda v: 1 / mpmath.sqrt(v + epsilon), variance)
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
        rows.append(x[:, c] / mapped(lambda s: (bias + alpha / size * s) ** beta, (part**2).sum(axis=1)))
    return np.stack(rows, axis=1)


def _quantized(node: Node) -> Any:
    x, scale, zero = node.inputs
    if size := node.get("block_size", 0):
        axis = node.get("axis", 1) % x.ndim
        cut = [slice(None)] * axis + [slice(x.shape[axis])]
        scale, zero = (np.repeat(each, size, axis)[tuple(cut)] for each in (scale, zero))
    low, high = LIMITS[helper.np_dtype_to_tensor_dtype(zero.dtype)]
    shape = [-1 if axis == node.get("axis", 1) % x.ndim else 1 for axis in range(x.ndim)]
    scales, starts = (
        np.broadcast_to(each.reshape(shape) if each.ndim == 1 and each.size > 1 else each, x.shape)
        for each in (scale, zero)
    )

    rows = zip(x.reshape(-1), scales.reshape(-1), starts.reshape(-1), strict=True)
    return objects([saturated(number / unit, start, low, high) for number, unit, start in rows], x.shape)


ACTIVATIONS: Mapping[str, tuple[Callable[..., Any], Sequence[float]]] = {
    "Sigmoid": (_sigmoid, ()),
    "Tanh": (mpmath.tanh, ()),
    "Relu": (lambda x: max(x, mpmath.mpf(0)), ()),
    "Softsign": (lambda x: x / (1 + abs(x)), ()),
    "Softplus": (lambda x: mpmath.log1p(mpmath.exp(x)), ()),
    "Affine": (lambda x, a, b: a * x + b, (1.0, 0.0)),
    "ScaledTanh": (lambda x, a, b: a * mpmath.tanh(b * x), (1.0, 1.0)),
    "HardSigmoid": (lambda x, a, b: max(mpmath.mpf(0), min(mpmath.mpf(1), a * x + b)), (0.2, 0.5)),
    "LeakyRelu": (lambda x, a: x if x >= 0 else a * x, (0.01,)),
    "ThresholdedRelu": (lambda x, a: x if x > a else mpmath.mpf(0), (1.0,)),
    "Elu": (lambda x, a: x if x >= 0 else a * mpmath.expm1(x), (1.0,)),
}
"""The activations of recurrent operators, with the defaults of `activation_alpha` and `activation_beta`."""

DEFAULT_ACTIVATIONS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}


def _activated(function: Callable[..., Any], numbers: Sequence[Any], limit: Any, X: Any) -> Any:
    """Return an activation of each element, which is clipped first."""

    def compute(x: Any) -> Any:
        return mpmath.nan if mpmath.isnan(x) else function(max(-limit, min(limit, x)) if limit else x, *numbers)

    return mapped(compute, X)


def _activations(node: Node, directions: int) -> list[Callable[[Any], Any]]:
    """Return the activations of all directions."""
    names = [each.decode() for each in node.attributes.get("activations", [])]
    names, limit = names or DEFAULT_ACTIVATIONS[node.operator] * directions, node.number("clip", 0.0)
    alphas, betas = (list(node.attributes.get(f"activation_{name}", [])) for name in ("alpha", "beta"))
    if (alphas or betas) and not all(len(ACTIVATIONS[name][1]) == 2 for name in names):
        raise NoFormula(f"{node.operator} with parameters of some activations")
    chosen: list[Callable[[Any], Any]] = []
    for place, name in enumerate(names):
        function, defaults = ACTIVATIONS[name]
        given = [alphas[place] if alphas else 0, betas[place] if betas else 0] if alphas or betas else defaults
        numbers = [mpmath.mpf(float(np.float32(each))) for each in given]

        chosen.append(partial(_activated, function, numbers, limit))
    return chosen


def _recurrent(node: Node) -> Any:
    """Return the outputs of LSTM, GRU or RNN, step by step as on the page."""
    first = 1 if node.get("layout", 0) else 0  # the axis of time, or of the direction

    def swap(x: Any) -> Any:
        return np.moveaxis(x, first, 0)

    X, (W, R) = swap(node.inputs[0]), node.inputs[1:3]
    steps, batch, _ = X.shape
    hidden, directions = R.shape[-1], {"bidirectional": (1, -1), "reverse": (-1,)}.get(node.get("direction", ""), (1,))
    lengths = [steps] * batch if node.input(4) is None else [int(each) for each in node.input(4)]
    activations, zero = _activations(node, len(directions)), mpmath.mpf(0)
    own = len(activations) // len(directions)
    Y = np.full((steps, len(directions), batch, hidden), zero, object)
    finals = [np.full((len(directions), batch, hidden), zero, object) for _ in range(2)]
    for d, b in product(range(len(directions)), range(batch)):
        gates = W.shape[1]
        bias = np.full(2 * gates, zero, object) if node.input(3) is None else node.input(3)[d]
        state = [
            np.full(hidden, zero, object) if node.input(5 + k) is None else swap(node.input(5 + k))[d, b]
            for k in range(2)
        ]
        peepholes = np.full(3 * hidden, zero, object) if node.input(7) is None else node.input(7)[d]
        chosen = activations[own * d : own * (d + 1)]
        for t in range(lengths[b])[:: directions[d]]:
            given = np.dot(W[d], X[t, b]) + bias[:gates]
            state = _step(node, given, R[d], bias[gates:], state, np.split(peepholes, 3), chosen)
            Y[t, d, b] = state[0]
        for k in range(2):
            finals[k][d, b] = state[k]
    return [Y.transpose(2, 0, 1, 3) if node.get("layout", 0) else Y, *(np.moveaxis(each, 0, first) for each in finals)]


def _step(
    node: Node,
    x: Any,
    R: Any,
    bias: Any,
    state: Sequence[Any],
    peepholes: Sequence[Any],
    activations: Sequence[Callable[[Any], Any]],
) -> list[Any]:
    (H, C), (f, g, *h) = state, (*activations, activations[0])
    if node.operator == "RNN":
        return [f(x + np.dot(R, H) + bias), C]
    n = len(H)
    if node.operator == "LSTM":
        i, o, forget, c = np.split(x + np.dot(R, H) + bias, 4)
        i = f(i + peepholes[0] * C)
        forget = 1 - i if node.get("input_forget", 0) else f(forget + peepholes[2] * C)
        C = forget * C + i * g(c)
        return [f(o + peepholes[1] * C) * h[0](C), C]
    z, r = (f(x[k : k + n] + np.dot(R[k : k + n], H) + bias[k : k + n]) for k in (0, n))
    last, own = R[2 * n :], bias[2 * n :]
    inner = r * (np.dot(last, H) + own) if node.get("linear_before_reset", 0) else np.dot(last, r * H) + own
    return [(1 - z) * g(x[2 * n :] + inner) + z * H, C]


def _if(node: Node) -> Any:
    return _graph(
        node.attributes["then_branch" if bool(node.inputs[0]) else "else_branch"], node.scope, node.surroundings
    )


def _loop(node: Node) -> Any:
    body, (trips, going, *state) = node.attributes["body"], node.inputs
    rows: list[list[Any]] = [[] for _ in body.output[1 + len(state) :]]
    turn = 0
    while (trips is None or turn < int(trips)) and (going is None or bool(going)):
        names = [each.name for each in body.input]
        given = dict(zip(names, [np.array(turn), np.array(True) if going is None else going, *state], strict=True))
        going, *results = _graph(body, {**node.scope, **given}, node.surroundings)
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
        results = _graph(body, {**node.scope, **dict(zip(names, [*state, *slices], strict=True))}, node.surroundings)
        state = results[: len(state)]
        for row, result in zip(rows, results[len(state) :], strict=True):
            row.append(result)
    return [*state, *(np.stack(row) for row in rows)]


def _norms_of_channels(node: Node) -> Any:
    x, p = node.inputs[0], mpmath.mpf(node.get("p", 2))
    sums = mapped(lambda each: abs(each) ** p, x).sum(axis=tuple(range(2, x.ndim)), keepdims=True)
    return mapped(lambda each: each ** (1 / p), np.asarray(sums, object))


def _of_all(function: Callable[[Any], Any]) -> Callable[[Node], Any]:
    """Return the formula of an operator that computes each element from those of all operands at the same place."""

    def formula(node: Node) -> Any:
        operands = np.broadcast_arrays(*node.inputs)
        rows = zip(*(each.reshape(-1) for each in operands), strict=True)
        return objects([function(list(row)) for row in rows], operands[0].shape)

    return formula


def _dequantized(node: Node) -> Any:
    x, scale, zero = node.inputs[0], node.inputs[1], node.input(2)
    if x.dtype == object or scale.size > 1 or (zero is not None and zero.size > 1) or node.get("output_dtype", 0):
        raise NoFormula("DequantizeLinear along an axis, or to another type")
    start = 0 if zero is None else int(zero.reshape(-1)[0])
    return mapped(lambda each: (int(each) - start) * scale.reshape(-1)[0], x)


def _clip(node: Node) -> Any:
    x, low, high = node.inputs[0], node.input(1), node.input(2)
    largest = float(np.finfo(np.float32).max)
    if node.opset < 11:
        low, high = (node.number(name, sign * largest) for name, sign in (("min", -1), ("max", 1)))
    elif (low is None or high is None) and not all(map(mpmath.isfinite, x.reshape(-1))):
        if node.dtype is None or node.opset > 12:
            raise NoFormula("Clip of an infinity without a limit")
        limit = mpmath.mpf(float(ml_dtypes.finfo(node.dtype).max))  # type: ignore[no-untyped-call]
        low, high = -limit if low is None else low, limit if high is None else high
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _quotient(a: Any, b: Any) -> Any:
    """Return a quotient, without its fraction for integers; None for a division by 0."""
    if not b:
        return None if not a or not isinstance(a, mpmath.mpf) else mpmath.nan if mpmath.isnan(a) else None
    return a / b if isinstance(a, mpmath.mpf) else abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1)


def _elu(x: Any, alpha: Any) -> Any:
    return x if x > 0 else alpha * mpmath.expm1(x)


FORMULAS: Mapping[str, Callable[[Node], Any]] = {
    **IMAGE_FORMULAS,
    **TABLE_FORMULAS,
    "Add": _each(lambda a, b: a + b),
    "Sum": _of_all(lambda terms: sum(terms[1:], start=terms[0])),
    "Mean": _of_all(lambda terms: mpmath.fsum(terms) / len(terms)),
    "DequantizeLinear": _dequantized,
    "Sub": _each(lambda a, b: a - b),
    "Mul": _each(lambda a, b: a * b),
    "Div": _each(_quotient),
    "Pow": _each(lambda a, b: a**b),
    "Greater": _each(lambda a, b: a > b),
    "Less": _each(lambda a, b: a < b),
    "Equal": _each(lambda a, b: a == b),
    "And": _each(lambda a, b: a and b),
    "Or": _each(lambda a, b: a or b),
    "Xor": _each(lambda a, b: a != b),
    "Where": _each(lambda c, a, b: a if c else b),
    "Identity": lambda node: node.inputs[0],
    "Transpose": lambda node: np.transpose(node.inputs[0], node.get("perm", None)),
    "Neg": _each(lambda x: -x),
    "Abs": _each(abs),
    "Sqrt": _real(mpmath.sqrt),
    "Reciprocal": _each(lambda x: 1 / x if x else None),
    "Exp": _each(mpmath.exp),
    "Log": _real(mpmath.log),
    "Tan": _each(mpmath.tan),
    "Asin": _real(mpmath.asin),
    "Acos": _real(mpmath.acos),
    "Acosh": _real(mpmath.acosh),
    "Atanh": _real(mpmath.atanh),
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
    "Clip": _clip,
    "Elu": _with(_elu, alpha=1.0),
    "Celu": _with(lambda x, alpha: x if x > 0 else alpha * mpmath.expm1(x / alpha), alpha=1.0),
    "Selu": lambda node: _with(
        lambda x, a, g: g * _elu(x, a),
        alpha=1.6732 if node.opset < 6 else 1.6732632423543772,
        gamma=1.0507 if node.opset < 6 else 1.0507009873554805,
    )(node),
    "HardSigmoid": _with(lambda x, a, b: max(0, min(1, a * x + b)), alpha=0.2, beta=0.5),
    "PRelu": _each(lambda x, slope: slope * x if x < 0 else x),
    "LeakyRelu": _with(lambda x, alpha: x if x > 0 else alpha * x, alpha=0.01),
    "Gelu": _gelu,
    "MatMul": _matmul,
    "Gemm": _gemm,
    "ReduceSum": _reduced(mpmath.fsum),
    "ReduceMean": _reduced(_mean),
    "ReduceProd": _reduced(lambda terms: prod(terms, start=1)),
    "ReduceLogSum": _reduced(lambda terms: mpmath.log(mpmath.fsum(terms)) if mpmath.fsum(terms) >= 0 else mpmath.nan),
    "ReduceL1": _reduced(lambda terms: mpmath.fsum(map(abs, terms))),
    "ReduceL2": _reduced(
        lambda terms: (
            None if isinstance(terms[0], np.integer) else mpmath.sqrt(mpmath.fsum(each * each for each in terms))
        )
    ),
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
    "GlobalLpPool": _norms_of_channels,
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
