"""Exact formulas of classifiers, encoders, quantized products, integers, windows and other operators of tables."""

from __future__ import annotations

import operator
from collections import Counter
from functools import partial
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
from onnx import helper, numpy_helper

from .exact_node import NoFormula, mapped, objects, rounded, saturated, sum_of_products

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .exact_node import Node

ZERO, ONE = mpmath.mpf(0), mpmath.mpf(1)


def _rows(x: Any, axis: int) -> tuple[Any, list[Any]]:
    """Return the tensor with an axis as the last, and its rows along it."""
    moved = np.moveaxis(np.asarray(x, object), axis, -1)
    return moved, [moved[index] for index in np.ndindex(moved.shape[:-1])]


def along(function: Callable[[Node, Any], Any], default: int = -1) -> Callable[[Node], Any]:
    """Return the formula of an operator that maps each row along the attribute `axis`."""

    def formula(node: Node) -> Any:
        axis = node.get("axis", default)
        moved, rows = _rows(node.inputs[0], axis)
        results = np.stack([np.asarray(function(node, row), object) for row in rows])
        return np.moveaxis(results.reshape(*moved.shape[:-1], results.shape[-1]), -1, axis)

    return formula


def flattened(function: Callable[[Node, Any], Any]) -> Callable[[Node], Any]:
    """Return the formula of an operator that maps rows, and flattens the tensor to a matrix below opset 13."""

    def formula(node: Node) -> Any:
        x = node.inputs[0]
        if node.opset >= 13:
            return along(function)(node)
        rows = np.asarray(x, object).reshape(int(np.prod(x.shape[: node.get("axis", 1) % max(x.ndim, 1)])), -1)
        return np.stack([np.asarray(function(node, row), object) for row in rows]).reshape(x.shape)

    return formula


def softmax_row(operator: str, row: Any) -> list[Any]:
    """Return the shares of the exponentials of a row, or their logarithms."""
    if any(map(mpmath.isnan, row)) or mpmath.inf in row:
        return [mpmath.nan] * len(row)
    largest = max(row)
    if largest == -mpmath.inf:
        return [mpmath.nan] * len(row)
    total = mpmath.fsum(mpmath.exp(each - largest) for each in row)
    if operator == "Softmax":
        return [mpmath.exp(each - largest) / total for each in row]
    return [each - largest - mpmath.log(total) for each in row]


def _hardmax_row(_: Node, row: Any) -> Any:
    if any(map(mpmath.isnan, row)):
        return [None] * len(row)
    at = list(row).index(max(row))
    return [ONE if place == at else ZERO for place in range(len(row))]


def _lp_normalized(node: Node, row: Any) -> Any:
    norm = mpmath.fsum(abs(each) ** node.get("p", 2) for each in row) ** (ONE / node.get("p", 2))
    return [each / norm if norm else None for each in row]


NORMS: Mapping[str, Callable[[Any], Any]] = {
    "MAX": max,
    "L1": lambda row: mpmath.fsum(map(abs, row)),
    "L2": lambda row: mpmath.sqrt(mpmath.fsum(x * x for x in row)),
}
"""The divisor of each `norm` of Normalizer."""


def _normalizer_row(node: Node, row: Any) -> Any:
    if not all(map(mpmath.isfinite, map(mpmath.mpf, row))):
        return [None] * len(row)
    row = [mpmath.mpf(float(np.float32(float(x)))) for x in row]  # the result is float, and the page computes in it
    norm = NORMS[node.get("norm", "MAX")](row)
    return [x / norm if norm else None for x in row]


def _softmax_cross_entropy(node: Node) -> Any:
    x, target = node.inputs[:2]
    ignored = node.get("ignore_index", None)
    moved, rows = _rows(x, 1)
    logs = np.array([softmax_row("LogSoftmax", row) for row in rows], object)
    losses, weights = [], []
    for row, label in zip(logs, target.reshape(-1), strict=True):
        weight = ONE if node.input(2) is None else node.input(2)[int(label)] if int(label) != ignored else ZERO
        weight = ZERO if int(label) == ignored else weight
        losses.append(-row[int(label)] * weight if int(label) != ignored else ZERO)
        weights.append(weight)
    total, log_prob = mpmath.fsum(losses), np.moveaxis(logs.reshape(moved.shape), -1, 1)
    if node.get("reduction", "mean") == "none":
        return [objects(losses, target.shape), log_prob]
    whole = mpmath.fsum(weights)
    loss = total if node.get("reduction", "mean") == "sum" else total / whole if whole else None
    return [objects([loss], ()), log_prob]


def _softmax(node: Node) -> Any:
    return flattened(lambda _, row: softmax_row(node.operator, row))(node)


def _batch_normalization(node: Node) -> Any:
    x, scale, bias, mean, variance = node.inputs
    is_training = node.get("training_mode", 0) or (node.opset < 7 and not node.get("is_test", 0))
    if is_training or not node.get("spatial", 1):
        raise NoFormula("BatchNormalization in training")
    epsilon, shape = node.number("epsilon", 1e-5), (1, -1, *[1] * (x.ndim - 2))
    factor = scale / mapped(lambda v: mpmath.sqrt(v + epsilon) if v + epsilon >= 0 else mpmath.nan, variance)
    return (x - mean.reshape(shape)) * factor.reshape(shape) + bias.reshape(shape)


def _rms_normalization(node: Node) -> Any:
    x, epsilon = node.inputs[0], node.number("epsilon", 1e-5)
    axes = tuple(range(node.get("axis", -1) % x.ndim, x.ndim))
    mean = (x**2).sum(axis=axes, keepdims=True) / int(np.prod([x.shape[axis] for axis in axes]))
    return x / mapped(lambda m: mpmath.sqrt(m + epsilon), mean) * node.inputs[1]


def _window(*weights: Any) -> Callable[[Node], Any]:
    """Return the formula of a window of cosines with some weights."""

    def formula(node: Node) -> Any:
        size = int(node.inputs[0])
        period = size if node.get("periodic", 1) else size - 1
        if not period:
            raise NoFormula("a window of one element")
        signs = [(-1) ** k * w for k, w in enumerate(weights)]
        return objects(
            [
                mpmath.fsum(s * mpmath.cos(2 * mpmath.pi * n * k / period) for k, s in enumerate(signs))
                for n in range(size)
            ],
            (size,),
        )

    return formula


def _attention(node: Node) -> Any:
    """Return the outputs of Attention of tensors with heads: the result, present keys and values, and scores."""
    Q, K, V, mask, past_key, past_value, lengths = [*node.inputs, *[None] * 7][:7]
    if Q.ndim != 4 or lengths is not None or {"left_window_size", "right_window_size"} & set(node.attributes):
        raise NoFormula("Attention of three axes, with lengths or with a window")
    past = 0 if past_key is None else past_key.shape[2]
    if past:
        K, V = np.concatenate([past_key, K], 2), np.concatenate([past_value, V], 2)
    total, cap, mode = K.shape[2], node.number("softcap", 0.0), node.get("qk_matmul_output_mode", 0)
    scale = node.number("scale", 0.0) if "scale" in node.attributes else 1 / mpmath.sqrt(Q.shape[-1])
    Y = np.empty((*Q.shape[:3], V.shape[-1]), object)
    shown = np.empty((*Q.shape[:3], total), object)
    for b, h, i in np.ndindex(Q.shape[:3]):
        keys, values = K[b, h * K.shape[1] // Q.shape[1]], V[b, h * K.shape[1] // Q.shape[1]]
        stages = [[scale * sum_of_products(zip(Q[b, h, i], keys[j], strict=True)) for j in range(total)]]
        stages.append([cap * mpmath.tanh(score / cap) if cap else score for score in stages[0]])
        added = [ZERO] * total if mask is None else list(np.broadcast_to(mask, (*Q.shape[:3], mask.shape[-1]))[b, h, i])
        added = [(ZERO if each else -mpmath.inf) if isinstance(each, np.bool_) else each for each in added]
        added += [-mpmath.inf] * (total - len(added))
        if node.get("is_causal", 0):
            added = [each if j <= i + past else -mpmath.inf for j, each in enumerate(added)]
        stages.append([score + each for score, each in zip(stages[1], added, strict=True)])
        is_masked = all(each == -mpmath.inf for each in added)
        stages.append([ZERO] * total if is_masked else softmax_row("Softmax", stages[2]))
        shown[b, h, i] = stages[mode]
        Y[b, h, i] = [sum_of_products(zip(stages[3], values[:, k], strict=True)) for k in range(V.shape[-1])]
    return [Y, K, V, shown]


def _mel_weights(node: Node) -> Any:
    """Return the triangles of MelWeightMatrix. A triangle has its peak at a place, and ends at its neighbours."""
    bins, length, rate = (int(each) for each in node.inputs[:3])
    low, high = (2595 * mpmath.log10(1 + each.reshape(-1)[0] / 700) for each in node.inputs[3:])
    mels = [low + k * (high - low) / (bins + 2) for k in range(bins + 2)]
    places = [(length + 1) * 700 * (10 ** (mel / 2595) - 1) / rate for mel in mels]
    if any(place and abs(place - mpmath.nint(place)) < 1e-6 for place in places):
        raise NoFormula("MelWeightMatrix where rounding decides a place")
    Y = np.full((length // 2 + 1, bins), ZERO, object)
    for k, (left, peak, right) in enumerate(zip(*(map(int, places[start:]) for start in range(3)), strict=False)):
        for j in range(left, peak):
            Y[j, k] = mpmath.mpf(j - left) / (peak - left)
        for j in range(peak, max(peak + 1, right)):
            Y[j, k] = mpmath.mpf(right - j) / (right - peak) if right > peak else ONE
    return Y


def _one_hot(node: Node) -> Any:
    indices, depth, (off, on) = node.inputs
    size = int(np.asarray(depth).reshape(-1)[0])
    axis = node.get("axis", -1) % (indices.ndim + 1)
    result = np.full((*indices.shape, size), off, object)
    for place in np.ndindex(indices.shape):
        at = int(indices[place])
        if -size <= at < size:
            result[(*place, at)] = on
    return np.moveaxis(result, -1, axis)


def _one_hot_encoder(node: Node) -> Any:
    cats = node.get("cats_int64s", None)
    if cats is None:
        raise NoFormula("OneHotEncoder of strings")
    x = node.inputs[0]
    rows = [[ONE if int(each) == cat else ZERO for cat in cats] for each in x.reshape(-1)]
    return np.array(rows, object).reshape(*x.shape, len(cats))


def _scores(node: Node) -> Any:
    """Return the scores of a linear model, one row for each row of the input."""
    x, weights = np.atleast_2d(node.inputs[0]), node.get("coefficients", [])
    table = np.array([mpmath.mpf(float(each)) for each in weights], object).reshape(-1, x.shape[-1])
    shifts = node.get("intercepts", []) or [0.0] * len(table)
    return np.array(
        [
            [sum_of_products(zip(row, own, strict=True)) + float(b) for own, b in zip(table, shifts, strict=True)]
            for row in x
        ],
        object,
    )


def _linear_classifier(node: Node) -> Any:
    scores, labels = _scores(node), node.get("classlabels_ints", None)
    if labels is None or len(labels) != scores.shape[1] or len(labels) < 2:
        raise NoFormula("LinearClassifier with strings, or with one score")
    is_clear = [sum(each == max(row) for each in row) == 1 for row in scores]
    chosen = [labels[list(row).index(max(row))] if clear else None for row, clear in zip(scores, is_clear, strict=True)]
    transform = node.get("post_transform", "NONE")
    if transform == "LOGISTIC":
        scores = mapped(lambda s: 1 / (1 + mpmath.exp(-s)), scores)
    elif transform == "SOFTMAX":
        scores = np.array([softmax_row("Softmax", row) for row in scores], object)
    elif transform != "NONE":
        scores = np.full(scores.shape, None, object)
    return [objects(chosen, (len(chosen),)), scores]


def _linear_regressor(node: Node) -> Any:
    if node.get("post_transform", "NONE") != "NONE":
        raise NoFormula("LinearRegressor with a transform")
    return _scores(node)


def _quantized_product(node: Node) -> Any:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = node.inputs
    if any(each.size != 1 for each in node.inputs[1:3] + node.inputs[4:]):
        raise NoFormula("QLinearMatMul with several scales")
    one = [each.reshape(-1)[0] for each in (a_scale, b_scale, y_scale)]
    zeros = [int(each.reshape(-1)[0]) for each in (a_zero, b_zero, y_zero)]
    products = np.matmul(a.astype(object) - zeros[0], b.astype(object) - zeros[1])
    limits = np.iinfo(y_zero.dtype)
    factor = one[0] * one[1] / one[2]
    return mapped(lambda p: saturated(p * factor, zeros[2], int(limits.min), int(limits.max)), products)


def _shrink(node: Node) -> Any:
    limit, bias = node.number("lambd", 0.5), node.number("bias", 0.0)
    return mapped(
        lambda x: mpmath.mpf(x) + bias if x < -limit else mpmath.mpf(x) - bias if x > limit else ZERO, node.inputs[0]
    )


def _unique(node: Node) -> Any:
    x = node.inputs[0]
    axis = node.get("axis", None)
    rows = x.reshape(-1, 1) if axis is None else np.moveaxis(x, axis, 0)
    elements = [tuple(np.asarray(row, object).reshape(-1)) for row in rows]
    if any(each != each for row in elements for each in row):  # noqa: PLR0124 - NaN differs from itself
        raise NoFormula("Unique of NaN")
    found = sorted({*elements}) if node.get("sorted", 1) else list(dict.fromkeys(elements))
    columns = (
        [elements.index(each) for each in found],
        [found.index(each) for each in elements],
        [elements.count(each) for each in found],
    )
    chosen = rows[columns[0]]
    values = np.asarray(chosen, object).reshape(-1) if axis is None else np.moveaxis(chosen, 0, axis)
    return [values, *(np.array(column, object) for column in columns)]


def _tree_ensemble(node: Node) -> Any:
    """Return the sums of the leaves that each row reaches, or their logistic function (2)."""
    transform = node.get("post_transform", 0)
    if node.get("aggregate_function", 1) != 1 or transform not in (0, 2):
        raise NoFormula("TreeEnsemble that does not add its leaves alone")
    modes, splits, weights = (numpy_helper.to_array(node.get(f"{name}", None)) for name in TREE_TENSORS)
    follows = node.get("nodes_missing_value_tracks_true", None) or [0] * len(modes)
    comparisons = (operator.le, operator.lt, operator.ge, operator.gt, operator.eq, operator.ne)
    result = np.full((len(node.inputs[0]), node.get("n_targets", 1)), ZERO, object)
    for row, root in product(range(len(result)), node.get("tree_roots", [])):
        at, is_leaf = root, False
        while not is_leaf:
            x, mode = node.inputs[0][row, node.get("nodes_featureids", [])[at]], int(modes[at])
            if mode >= len(comparisons):
                raise NoFormula("TreeEnsemble with sets")
            # the page sends NaN to the branch that `nodes_missing_value_tracks_true` names
            is_true = bool(follows[at]) if mpmath.isnan(x) else comparisons[mode](x, mpmath.mpf(float(splits[at])))
            way = "true" if is_true else "false"
            at, is_leaf = node.get(f"nodes_{way}nodeids", [])[at], node.get(f"nodes_{way}leafs", [])[at]
        result[row, node.get("leaf_targetids", [])[at]] += mpmath.mpf(float(weights[at]))
    return mapped(lambda x: 1 / (1 + mpmath.exp(-x)), result) if transform else result


TREE_TENSORS = ("nodes_modes", "nodes_splits", "leaf_weights")
"""The attributes of TreeEnsemble that are tensors."""


def _dft(node: Node) -> Any:
    x = node.inputs[0]
    if node.get("onesided", 0) or x.ndim < 2:
        raise NoFormula("DFT of one side")
    axis = int(node.inputs[2]) if node.input(2) is not None else node.get("axis", 1 if node.opset < 20 else -2)
    size = x.shape[axis] if node.input(1) is None else int(node.inputs[1])
    moved = np.moveaxis(x, axis, -2)
    is_inverse, shape = bool(node.get("inverse", 0)), moved.shape[:-2]
    y = np.empty((*shape, size, 2), object)
    for place in np.ndindex(shape):
        row = [mpmath.mpc(*each) if len(each) == 2 else mpmath.mpc(each[0]) for each in moved[place]][:size]
        for k in range(size):
            turn = 2j * mpmath.pi * k / size * (1 if is_inverse else -1)
            total = mpmath.fsum(each * mpmath.exp(turn * n) for n, each in enumerate(row))
            total = total / size if is_inverse else total
            y[(*place, k, 0)], y[(*place, k, 1)] = total.real, total.imag
    return np.moveaxis(y, -2, axis)


def _einsum(node: Node) -> Any:
    numbers = [
        mapped(lambda each: mpmath.mpf(each if isinstance(each, mpmath.mpf) else int(each)), x) for x in node.inputs
    ]
    return np.asarray(np.einsum(node.get("equation", ""), *numbers), object)


def _det(node: Node) -> Any:
    x = node.inputs[0]
    matrices = x.reshape(-1, *x.shape[-2:])
    return objects([mpmath.det(mpmath.matrix(each.tolist())) for each in matrices], x.shape[:-2])


def _top(node: Node) -> Any:
    axis, x = node.get("axis", -1), node.inputs[0]
    count = node.get("k", 0) if node.input(1) is None else int(node.inputs[1].reshape(-1)[0])
    moved, rows = _rows(x, axis)
    if not node.get("sorted", 1):
        raise NoFormula("TopK without an order")
    sign = -1 if node.get("largest", 1) else 1
    values, places = [], []
    for row in rows:
        order = sorted((sign * each, place) for place, each in enumerate(row) if not mpmath.isnan(mpmath.mpf(each)))
        missing = len(row) - len(order)  # NaN, which may come before all numbers or after them
        first, last = [None] * missing + order, order + [None] * missing
        same = [a if a and b and a[0] == b[0] else None for a, b in zip(first, last, strict=True)][:count]
        values.append([None if each is None else sign * each[0] for each in same])
        places.append([None if each is None or missing else each[1] for each in same])
    shape = (*moved.shape[:-1], count)
    return [np.moveaxis(np.array(each, object).reshape(shape), -1, axis) for each in (values, places)]


def _cumulated(start: int, combine: Callable[[Any, Any], Any]) -> Callable[[Node], Any]:
    def formula(node: Node) -> Any:
        axis = int(np.asarray(node.inputs[1]).reshape(-1)[0])
        moved, rows = _rows(node.inputs[0], axis)
        results = []
        for row in rows:
            total, found = start, []
            for each in row[::-1] if node.get("reverse", 0) else row:
                after = combine(total, each)
                found.append(total if node.get("exclusive", 0) else after)
                total = after
            results.append(found[::-1] if node.get("reverse", 0) else found)
        return np.moveaxis(np.array(results, object).reshape(moved.shape), -1, axis)

    return formula


NARROW = (17, 18, 19, 20, 23)
"""The types with less than 16 bits, for which `saturate` chooses the result of a number out of range."""


def _power_of_two(mode: str, number: Any) -> Any:
    """Return the power of two of FLOAT8E8M0 that `round_mode` takes for a number; None if the page has no result."""
    if not number > 0:
        return None
    fraction, exponent = (ONE, 127) if number == mpmath.inf else mpmath.frexp(number)
    is_down = fraction == 0.5 or mode == "down" or (mode == "nearest" and fraction < 0.75)
    return mpmath.mpf(2) ** min(max(exponent - is_down, -127), 127)


def _cast(node: Node) -> Any:
    """Cast to another type. A number that the page gives no result for is None.

    A float is rounded if no node follows, which may read it in a wider type.
    """
    x, like = node.inputs[0], node.types[1] if node.operator == "CastLike" else None
    if node.operator == "CastLike" and like is None:
        raise NoFormula("CastLike to the type of an inner value")
    to = node.get("to", 1) if like is None else helper.np_dtype_to_tensor_dtype(like)
    dtype = helper.tensor_dtype_to_np_dtype(to)
    if to == 24 and node.get("saturate", 1):
        return mapped(partial(_power_of_two, node.get("round_mode", "up")), x)
    if x.dtype.kind not in "Oiub" or to in (8, 9, 14, 15, 21, 22, 24, 25, 26):
        raise NoFormula("Cast of other types than floats and integers")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return mapped(lambda n: int(n) if mpmath.isfinite(n) and limits.min <= int(n) <= limits.max else None, x)

    def cast(number: Any) -> Any:
        if not node.is_alone:
            return number
        near = rounded(mpmath.mpf(number if isinstance(number, mpmath.mpf) else int(number)), dtype)
        if to not in NARROW or mpmath.isfinite(near):
            return near
        return None if node.get("saturate", 1) else near if to == 19 else mpmath.nan

    return mapped(cast, x)


def _tf_idf(node: Node) -> Any:
    """Return the counts of the n-grams of each row, times their weights: those of the n-gram's place in the pool."""
    x = np.asarray(node.inputs[0])
    pool = list(node.get("pool_int64s", None) or [each.decode() for each in node.attributes["pool_strings"]])
    starts = [*node.attributes["ngram_counts"], len(pool)]
    grams = [
        tuple(pool[place : place + size])
        for size, (start, end) in enumerate(pairwise(starts), 1)
        for place in range(start, end, size)
    ]
    indexes = list(node.attributes["ngram_indexes"])
    weights = node.get("weights", None) or [1] * len(grams)
    mode = node.get("mode", "")

    def row_of(given: Any) -> list[Any]:
        row = [each if isinstance(each, str) else int(each) for each in given]
        found: Counter[Any] = Counter()
        for size in range(node.attributes["min_gram_length"], node.attributes["max_gram_length"] + 1):
            for step in range(1, 2 if size == 1 else node.attributes["max_skip_count"] + 2):
                ends = range(len(row) - (size - 1) * step)
                found.update(tuple(row[place : place + size * step : step]) for place in ends)
        result = [ZERO] * (max(indexes) + 1)
        for gram, index, weight in zip(grams, indexes, weights, strict=True):
            count = min(found[gram], 1) if mode == "IDF" else found[gram]
            result[index] = mpmath.mpf(count) * (1 if mode == "TF" else mpmath.mpf(weight))
        return result

    rows = [row_of(each) for each in x.reshape(-1, x.shape[-1])]
    return np.asarray(rows, object).reshape(*x.shape[:-1], -1)


def dequantized(node: Node, place: int) -> Any:
    """Return the numbers of a quantized operand, which its scale and its zero point follow."""
    x, scale, zero = (node.input(each) for each in (place, place + 1, place + 2))
    start = 0 if zero is None else int(zero.reshape(-1)[0])
    return mapped(lambda each: (int(each) - start) * scale.reshape(-1)[0], x)


def quantized_by(node: Node, place: int, numbers: Any) -> Any:
    """Return numbers by the scale and the zero point at a place, of the type of the first quantized operand."""
    scale, zero = node.input(place), node.input(place + 1)
    first = next(each for each in node.inputs if each is not None and each.dtype in (np.int8, np.uint8))
    low, high = (int(limit) for limit in (np.iinfo(first.dtype).min, np.iinfo(first.dtype).max))
    start = 0 if zero is None else int(zero.reshape(-1)[0])
    return mapped(lambda each: saturated(each / scale.reshape(-1)[0], start, low, high), numbers)


def _quantized_pair(function: Callable[[Any, Any], Any]) -> Callable[[Node], Any]:
    """Return the formula of an operator of two quantized tensors, in ONNX Runtime's domain."""

    def formula(node: Node) -> Any:
        return quantized_by(node, 6, np.asarray(function(dequantized(node, 0), dequantized(node, 3)), object))

    return formula


def _quantized_each(function: Callable[[Node, Any], Any]) -> Callable[[Node], Any]:
    """Return the formula of an operator of the elements of a quantized tensor, in ONNX Runtime's domain."""
    return lambda node: quantized_by(node, 3, mapped(lambda x: function(node, x), dequantized(node, 0)))


def _quantized_mean(node: Node) -> Any:
    x = dequantized(node, 0)
    axes = tuple(axis % x.ndim for axis in node.get("axes", range(x.ndim)))
    keep = bool(node.get("keepdims", 1))
    size = int(np.prod([x.shape[axis] for axis in axes]))
    return quantized_by(node, 3, np.asarray(x.sum(axis=axes, keepdims=keep) / size, object))


def _dequantized_product(node: Node) -> Any:
    a, b, a_scale, b_scale, a_zero, b_zero, bias = (node.input(place) for place in range(7))
    if any(each is not None and each.size > 1 for each in (a_scale, b_scale, a_zero, b_zero)):
        raise NoFormula("a scale or a zero point for each column")
    A, B = (
        x.astype(object) - (0 if zero is None else int(zero.reshape(-1)[0])) for x, zero in ((a, a_zero), (b, b_zero))
    )
    y = np.dot(A, B) * a_scale.reshape(-1)[0] * b_scale.reshape(-1)[0]
    return y if bias is None else y + bias


def _integer_product(node: Node) -> Any:
    """Return the product of integers less their zero points: one of each row of A, and of each column of B."""
    (A, B), zeros = (each.astype(object) for each in node.inputs[:2]), [node.input(2), node.input(3)]
    for place, zero in enumerate(zeros):
        if zero is not None:
            start = zero.astype(object)
            start = start.reshape(-1, 1) if place == 0 and zero.ndim == 1 and zero.size > 1 else start
            A, B = (A - start, B) if place == 0 else (A, B - start)
    return np.matmul(A, B)


def _normalized_strings(node: Node) -> Any:
    """Return the elements that are no stop words, in another case; an empty string if none is left."""
    x, is_sensitive = node.inputs[0], bool(node.get("is_case_sensitive", 0))
    stops = [each.decode() for each in node.attributes.get("stopwords", [])]
    if not all(each.isascii() for each in (*x.reshape(-1), *stops)):
        raise NoFormula("StringNormalizer of characters whose case depends on the locale")
    change = {"LOWER": str.lower, "UPPER": str.upper}.get(node.get("case_change_action", "NONE"), str)
    compared: Callable[[str], str] = str if is_sensitive else str.lower
    words = {compared(each) for each in stops}
    kept = [change(each) for each in x.reshape(-1) if compared(each) not in words] or [""]
    return objects(kept, (*x.shape[:-1], len(kept)))


TABLE_FORMULAS: Mapping[str, Callable[[Node], Any]] = {
    "Attention": _attention,
    "BatchNormalization": _batch_normalization,
    "Cast": _cast,
    "CastLike": _cast,
    "CumProd": _cumulated(1, lambda a, b: a * b),
    "CumSum": _cumulated(0, lambda a, b: a + b),
    "DFT": _dft,
    "Det": _det,
    "Einsum": _einsum,
    "HammingWindow": _window(mpmath.mpf(25) / 46, mpmath.mpf(21) / 46),
    "HannWindow": _window(ONE / 2, ONE / 2),
    "Hardmax": flattened(_hardmax_row),
    "LinearClassifier": _linear_classifier,
    "LinearRegressor": _linear_regressor,
    "LogSoftmax": _softmax,
    "LpNormalization": along(_lp_normalized),
    "MatMulInteger": _integer_product,
    "MatMulIntegerToFloat": _dequantized_product,
    "MelWeightMatrix": _mel_weights,
    "Normalizer": along(_normalizer_row),
    "OneHot": _one_hot,
    "OneHotEncoder": _one_hot_encoder,
    "QLinearAdd": _quantized_pair(lambda a, b: a + b),
    "QLinearLeakyRelu": _quantized_each(lambda node, x: x if x >= 0 else node.number("alpha", 0.01) * x),
    "QLinearMatMul": _quantized_product,
    "QLinearMul": _quantized_pair(lambda a, b: a * b),
    "QLinearReduceMean": _quantized_mean,
    "QLinearSigmoid": _quantized_each(lambda _, x: 1 / (1 + mpmath.exp(-x))),
    "RMSNormalization": _rms_normalization,
    "Shrink": _shrink,
    "Softmax": _softmax,
    "SoftmaxCrossEntropyLoss": _softmax_cross_entropy,
    "StringNormalizer": _normalized_strings,
    "TfIdfVectorizer": _tf_idf,
    "TopK": _top,
    "TreeEnsemble": _tree_ensemble,
    "Unique": _unique,
}
"""The formula of each operator, as on its page."""
