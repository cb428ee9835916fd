"""Enclosures of normalizations: Softmax, LogSoftmax, and normalizations by mean and variance.

A variance may be computed from the deviations from the mean, or as the mean of squares minus the square of the mean.
Both forms are admissible; the second has a larger error where the mean is large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from conformance.models.arrays import dtype_of
from conformance.models.types import softmax_default_axis
from conformance.reference.enclosures.elementwise import exp, log, sqrt
from conformance.reference.enclosures.linear import mean, optional_tensor, tensor
from conformance.reference.numbers.enclosure import Enclosure, add, admit, hull, is_strict, multiply, subtract
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.reference.nodes import Node, NodeEnclosure
    from conformance.reference.numbers.enclosure import Tensor


def softmax(X: Enclosure, axes: Sequence[int]) -> Enclosure:
    """Return Exp(X) / ReduceSum(Exp(X)) along some axes, with the largest element subtracted first."""
    E = exp(X - _shift(X, axes))
    return _beside_infinity(X, E / E.sum(axes, keepdims=True), axes)


def _shift(X: Enclosure, axes: Sequence[int]) -> Enclosure:
    """Return the largest elements along some axes. They cancel in Softmax, and so do their errors."""
    largest = X.extreme(axes, largest=True, keepdims=True)
    is_finite = np.isfinite(largest.value) & np.isfinite(largest.error)
    return replace(largest, error=np.where(is_finite, 0.0, largest.error))


def _beside_infinity(X: Enclosure, Y: Enclosure, axes: Sequence[int]) -> Enclosure:
    """Return the result of Softmax or LogSoftmax. Beside an infinity, it is NaN, or the limit without a subtraction."""
    if is_strict() or not np.isposinf(X.value).any():
        return Y
    beside = np.isposinf(X.value).any(axis=tuple(axes), keepdims=True) & ~np.isposinf(X.value)
    return replace(Y, error=np.where(beside, np.inf, Y.error))


def log_softmax(X: Enclosure, axes: Sequence[int]) -> Enclosure:
    """Return Log(Softmax(X)): the shifted operand minus the logarithm of the sum, or the operand minus both.

    The logarithm of Softmax is the form of the page. It has no accurate result where Softmax underflows, so it is
    admissible only at level `must`.
    """
    largest = X.extreme(axes, largest=True, keepdims=True)
    shifted = X - largest
    logarithm = log(exp(shifted).sum(axes, keepdims=True))
    written = log(softmax(X, axes))
    result = admit("LogSoftmax", shifted=lambda: shifted - logarithm, collected=lambda: X - (largest + logarithm))
    if is_strict():
        return result
    return _beside_infinity(X, hull(result, written), axes)


def _softmax(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, axis = tensor(inputs[0]), node.attributes.get("axis", softmax_default_axis(node.opset))
    if not X.value.size:
        return [X]
    rank = len(X.shape)
    if node.opset < 11 and axis == rank:
        raise Unsupported(f"{node.op_type} below opset 11 with an axis that has two meanings")
    axes = [axis % rank] if node.opset >= 13 else list(range(axis % rank, rank))
    return [(softmax if node.op_type == "Softmax" else log_softmax)(X, axes)]


@dataclass(frozen=True)
class Statistics:
    """The mean of a tensor along some axes, and what follows from it.

    Attributes:
        X: the tensor.
        mean: the mean.
        deviation: the tensor minus the mean.
        variance: the mean of the squares of the deviation.
        root: the square root of the variance plus epsilon.
    """

    X: Enclosure
    mean: Enclosure
    deviation: Enclosure
    variance: Enclosure
    root: Enclosure

    @classmethod
    def of(cls, X: Enclosure, axes: Sequence[int], epsilon: float) -> Statistics:
        """Return the statistics of a tensor along some axes."""
        average = mean(X, axes)
        deviation = X - average
        variance = admit(
            "variance",
            centred=lambda: _centred_variance(X, deviation, average, axes),
            moments=lambda: mean(X * X, axes) - average * average,
        )
        root = sqrt(variance.apply(lambda v: np.maximum(v, 0)) + epsilon)
        return cls(X, average, deviation, variance, root)

    def normalized(self) -> Enclosure:
        """Return the deviation divided by the root."""
        return admit(
            "normalized",
            written=lambda: self.deviation / self.root,
            reciprocal=lambda: self.deviation * (1.0 / self.root),
        )

    def scaled(self, scale: Enclosure, bias: Enclosure) -> Enclosure:
        """Return the normalized tensor times a scale plus a bias, which may be folded into a factor and a summand."""
        factor = hull(scale / self.root, scale * (1.0 / self.root))
        return admit(
            "scaled",
            written=lambda: self.normalized() * scale + bias,
            folded=lambda: _folded(self.X, self.mean, factor, bias),
            centred=lambda: self.deviation * factor + bias,
        )


def _folded(X: Enclosure, average: Enclosure, factor: Enclosure, bias: Enclosure) -> Enclosure:
    """Return X * factor + (bias - average * factor), in which both products have the same factor."""
    with np.errstate(all="ignore"):
        value = (X.value - average.value) * factor.value + bias.value
        magnitudes = (X.magnitude + average.magnitude) * factor.magnitude + bias.magnitude
        distance = np.abs(X.value - average.value) + X.error + average.error
        error = distance * factor.error + factor.magnitude * (X.error + average.error) + bias.error
    return X.from_terms(value, magnitudes, error, 3)


def _centred_variance(X: Enclosure, deviation: Enclosure, average: Enclosure, axes: Sequence[int]) -> Enclosure:
    """Return the mean of the squares of the deviation.

    The deviations from the exact mean have the sum 0. So an error e of the mean adds only e squared to the variance.
    """
    rounded = Enclosure(X.value - average.value, X.error, X.dtype)
    rounded = rounded.with_roundings(np.ones(rounded.shape), rounded.error == 0)
    squares = rounded * rounded
    variance = mean(squares, axes)
    with np.errstate(all="ignore"):
        shifted = variance.error + average.error**2 + 2 * average.error * mean(rounded, axes).magnitude
        # an element that overflows makes the variance undetermined
        exceeds = ~np.isfinite(deviation.error).all(axis=tuple(axes), keepdims=True)
    return replace(variance, error=np.where(exceeds, np.inf, shifted))


def _per_channel(X: Enclosure, rank: int) -> Enclosure:
    return X.moved(lambda x: x.reshape(1, -1, *[1] * (rank - 2)))


def _epsilon(node: Node) -> float:
    return float(node.attributes.get("epsilon", np.float32(1e-5)))


def _stash_type(node: Node) -> np.dtype[Any]:
    """Return the type of the statistics: the attribute `stash_type`, by default float."""
    return dtype_of(node.attributes.get("stash_type", 1))


def _layer_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose LayerNormalization: the statistics have the type `stash_type`; scale and bias have that of the tensor."""
    given, scale, bias = tensor(inputs[0]), tensor(inputs[1]), optional_tensor(inputs, 2)
    rank = len(given.shape)
    _require_broadcast(scale, given)
    axes = list(range(node.attributes.get("axis", -1) % rank, rank))
    statistics = Statistics.of(given.as_type(_stash_type(node)), axes, _epsilon(node))
    Y = statistics.normalized().as_type(given.dtype) * scale
    results: list[Tensor] = [Y if bias is None else Y + bias, statistics.mean, 1.0 / statistics.root]
    return results[: max(1, len(node.outputs))]


def _require_broadcast(scale: Enclosure, X: Enclosure) -> None:
    """Raise `Unsupported` for a model that the page forbids: a scale with more elements than the tensor."""
    if np.broadcast_shapes(scale.shape, X.shape) != X.shape:
        raise Unsupported("the scale is not unidirectionally broadcastable to the tensor: the model is invalid")


def rms_normalized(X: Enclosure, axes: Sequence[int], epsilon: float) -> tuple[Enclosure, Enclosure]:
    """Return X / Sqrt(Mean(X * X) + epsilon), and the reciprocal of the root."""
    root = sqrt(mean(X * X, axes) + epsilon)
    inverse = 1.0 / root
    return admit("normalized", written=lambda: X / root, reciprocal=lambda: X * inverse), inverse


def _rms_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose RMSNormalization, and the operator SimplifiedLayerNormalization of ONNX Runtime."""
    given, scale = tensor(inputs[0]), tensor(inputs[1])
    rank = len(given.shape)
    _require_broadcast(scale, given)
    axes = list(range(node.attributes.get("axis", -1) % rank, rank))
    normalized, inverse = rms_normalized(given.as_type(_stash_type(node)), axes, _epsilon(node))
    results: list[Tensor] = [normalized.as_type(given.dtype) * scale, inverse]
    return results[: max(1, len(node.outputs))]


def _instance_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, scale, bias = (tensor(given) for given in inputs[:3])
    rank = len(X.shape)
    statistics = Statistics.of(X, range(2, rank), _epsilon(node))
    return [statistics.scaled(_per_channel(scale, rank), _per_channel(bias, rank))]


def _group_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose GroupNormalization. Below opset 21, scale and bias are for each group, later for each channel."""
    given, scale, bias = (tensor(each) for each in inputs[:3])
    groups, shape = node.attributes["num_groups"], given.shape
    per_group = shape[1] // groups
    X = given.moved(lambda x: x.reshape(x.shape[0], groups, per_group, -1))
    parts = [part.moved(lambda x: x.reshape(1, groups, -1 if node.opset >= 21 else 1, 1)) for part in (scale, bias)]
    stash = _stash_type(node) if node.opset >= 21 else given.dtype
    statistics = Statistics.of(X.as_type(stash), [2, 3], _epsilon(node))
    if stash == given.dtype:
        Y = statistics.scaled(*parts)
    else:
        Y = hull(
            statistics.normalized().as_type(given.dtype) * parts[0] + parts[1],
            statistics.scaled(*(part.with_dtype(stash) for part in parts)).as_type(given.dtype),
        )
    return [Y.moved(lambda y: y.reshape(shape))]


def _batch_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose BatchNormalization in inference: scale (X - mean) / Sqrt(var + epsilon) + bias.

    A runtime may fold the four parameters of a channel into a factor and a summand.
    """
    is_training = bool(node.attributes.get("training_mode", 0))
    if not is_training and len([name for name in node.outputs if name]) > 1:
        raise Unsupported("BatchNormalization in training mode below opset 14")
    if not node.attributes.get("spatial", 1):
        raise Unsupported("BatchNormalization with spatial = 0")
    X = tensor(inputs[0])
    rank = len(X.shape)
    scale, bias, average, variance = (_per_channel(tensor(given), rank) for given in inputs[1:5])
    if is_training:
        return _train_batch_normalization(node, X, scale, bias, (average, variance))
    root = sqrt(variance + float(node.attributes.get("epsilon", np.float32(1e-5))))
    factor = hull(scale / root, scale * (1.0 / root))
    deviation = subtract(X, average)
    written = add(multiply(deviation, factor), bias)
    result = admit(
        "scaled",
        written=lambda: (X - average) / root * scale + bias,
        folded=lambda: _folded(X, average, factor, bias),
        centred=lambda: written,
    )
    return [replace(result, terms=written.terms)]


def _train_batch_normalization(
    node: Node, X: Enclosure, scale: Enclosure, bias: Enclosure, running: Sequence[Enclosure]
) -> list[Tensor]:
    """Enclose BatchNormalization with the statistics of the batch, and the statistics that run on."""
    statistics = Statistics.of(X, [axis for axis in range(len(X.shape)) if axis != 1], _epsilon(node))
    momentum = float(node.attributes.get("momentum", np.float32(0.9)))
    results: list[Tensor] = [statistics.scaled(scale, bias)]
    for old, new in zip(running, (statistics.mean, statistics.variance), strict=True):
        mixed = add(
            multiply(old, old.constant(momentum)), multiply(new.with_dtype(old.dtype), 1.0 - old.constant(momentum))
        )
        results.append(mixed.moved(lambda x: x.reshape(-1)))
    return results[: max(1, len(node.outputs))]


def _lp_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose LpNormalization. The result is 0 where all elements along the axis are 0."""
    X, axis = tensor(inputs[0]), node.attributes.get("axis", -1)
    if node.attributes.get("p", 2) == 1:
        norm = abs(X).sum([axis], keepdims=True)
    else:
        norm = sqrt((X * X).sum([axis], keepdims=True))
    with np.errstate(all="ignore"):
        Y = X / norm
        is_zero = np.broadcast_to((X.value == 0).all(axis=axis, keepdims=True), Y.shape) & (X.error == 0)
    return [replace(Y, value=np.where(is_zero, 0.0, Y.value), error=np.where(is_zero, 0.0, Y.error))]


def _mean_variance_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    axes = [axis % len(X.shape) for axis in node.attributes.get("axes", [0, 2, 3])]
    average = mean(X, axes)
    deviation = X - average
    centred = sqrt(_centred_variance(X, deviation, average, axes))
    moments = sqrt((mean(X * X, axes) - average * average).apply(lambda v: np.maximum(v, 0)))
    return [
        admit(
            "MeanVarianceNormalization",
            page=lambda: deviation / centred,
            function=lambda: deviation / (centred + 1e-9),
            **{"root of moments": lambda: deviation / (moments + 1e-9)},
        )
    ]


NORMALIZATION_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "LayerNormalization": _layer_normalization,
    "RMSNormalization": _rms_normalization,
    "SimplifiedLayerNormalization": _rms_normalization,
    "InstanceNormalization": _instance_normalization,
    "GroupNormalization": _group_normalization,
    "BatchNormalization": _batch_normalization,
    "LpNormalization": _lp_normalization,
    "MeanVarianceNormalization": _mean_variance_normalization,
}
