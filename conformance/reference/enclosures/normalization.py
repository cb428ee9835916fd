"""Enclosures of normalizations: Softmax, LogSoftmax, and normalizations by mean and variance.

A variance may be computed from the deviations from the mean, or as the mean of squares minus the square of the mean.
Both forms are admissible; the second has a larger error where the mean is large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.models.types import softmax_default_axis
from conformance.reference.enclosures.elementwise import exp, log, sqrt
from conformance.reference.enclosures.linear import mean, optional_tensor, tensor
from conformance.reference.numbers.enclosure import Enclosure, add, hull, multiply, subtract
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.reference.enclosures.exact import NodeEnclosure
    from conformance.reference.nodes import Node
    from conformance.reference.numbers.enclosure import Tensor


def softmax(X: Enclosure, axes: Sequence[int]) -> Enclosure:
    """Return Exp(X) / ReduceSum(Exp(X)) along some axes, with the largest element subtracted first."""
    E = exp(X - X.extreme(axes, largest=True, keepdims=True))
    return E / E.sum(axes, keepdims=True)


def log_softmax(X: Enclosure, axes: Sequence[int]) -> Enclosure:
    """Return Log(Softmax(X)): the shifted operand minus the logarithm of the sum, or the operand minus both.

    The logarithm of Softmax is a third form. It is admissible, but has an infinite result where Softmax is 0.
    """
    largest = X.extreme(axes, largest=True, keepdims=True)
    shifted = X - largest
    logarithm = log(exp(shifted).sum(axes, keepdims=True))
    written = log(softmax(X, axes))
    result = hull(shifted - logarithm, X - (largest + logarithm))
    return Enclosure(
        result.value,
        np.where(np.isfinite(written.error), hull(result, written).error, result.error),
        X.dtype,
    )


def _softmax(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, axis = tensor(inputs[0]), node.attributes.get("axis", softmax_default_axis(node.opset))
    if not X.value.size:
        return [X]
    rank = len(X.shape)
    if node.opset < 11 and axis == rank:
        raise Unsupported(f"{node.op_type} below opset 11 with an axis that has two meanings")
    axes = [axis % rank] if node.opset >= 13 else list(range(axis % rank, rank))
    return [(softmax if node.op_type == "Softmax" else log_softmax)(X, axes)]


def normalize(X: Enclosure, axes: Sequence[int], epsilon: float) -> tuple[Enclosure, Enclosure, Enclosure]:
    """Return (X - mean) / Sqrt(variance + epsilon) along some axes, the mean, and the reciprocal of the deviation."""
    average = mean(X, axes)
    deviation = X - average
    centred = mean(deviation * deviation, axes)
    moments = mean(X * X, axes) - average * average
    variance = hull(centred, moments)
    root = sqrt(variance.apply(lambda v: np.maximum(v, 0)) + epsilon)
    return hull(deviation / root, deviation * (1.0 / root)), average, 1.0 / root


def _affine(Y: Enclosure, scale: Enclosure, bias: Enclosure | None) -> Enclosure:
    Y = Y * scale
    return Y if bias is None else Y + bias


def _per_channel(X: Enclosure, rank: int) -> Enclosure:
    return X.moved(lambda x: x.reshape(1, -1, *[1] * (rank - 2)))


def _layer_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, scale, bias = tensor(inputs[0]), tensor(inputs[1]), optional_tensor(inputs, 2)
    if node.attributes.get("stash_type", 1) != 1:
        raise Unsupported("LayerNormalization with a stash_type that is not float")
    rank = len(X.shape)
    axes = list(range(node.attributes.get("axis", -1) % rank, rank))
    epsilon = float(node.attributes.get("epsilon", np.float32(1e-5)))
    Y, average, reciprocal = normalize(X, axes, epsilon)
    results: list[Tensor] = [_affine(Y, scale, bias), average, reciprocal]
    return results[: max(1, len(node.outputs))]


def _rms_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, scale = tensor(inputs[0]), tensor(inputs[1])
    rank = len(X.shape)
    axes = list(range(node.attributes.get("axis", -1) % rank, rank))
    root = sqrt(mean(X * X, axes) + float(node.attributes.get("epsilon", np.float32(1e-5))))
    return [hull(X / root, X * (1.0 / root)) * scale]


def _instance_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, scale, bias = (tensor(given) for given in inputs[:3])
    rank = len(X.shape)
    Y, _, _ = normalize(X, range(2, rank), float(node.attributes.get("epsilon", np.float32(1e-5))))
    return [Y * _per_channel(scale, rank) + _per_channel(bias, rank)]


def _group_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, scale, bias = (tensor(given) for given in inputs[:3])
    groups, rank = node.attributes["num_groups"], len(X.shape)
    if node.opset < 21:
        raise Unsupported("GroupNormalization below opset 21, whose scale is per group")
    grouped = X.moved(lambda x: x.reshape(x.shape[0], groups, -1))
    Y, _, _ = normalize(grouped, [2], float(node.attributes.get("epsilon", np.float32(1e-5))))
    Y = Y.moved(lambda y: y.reshape(X.shape))
    return [Y * _per_channel(scale, rank) + _per_channel(bias, rank)]


def _batch_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose BatchNormalization in inference: scale (X - mean) / Sqrt(var + epsilon) + bias.

    A runtime may fold the four parameters of a channel into a factor and a summand.
    """
    if node.attributes.get("training_mode", 0) or len([name for name in node.outputs if name]) > 1:
        raise Unsupported("BatchNormalization in training mode")
    if not node.attributes.get("spatial", 1):
        raise Unsupported("BatchNormalization with spatial = 0")
    X = tensor(inputs[0])
    rank = len(X.shape)
    scale, bias, average, variance = (_per_channel(tensor(given), rank) for given in inputs[1:5])
    root = sqrt(variance + float(node.attributes.get("epsilon", np.float32(1e-5))))
    factor = hull(scale / root, scale * (1.0 / root))
    written = add(multiply(subtract(X, average), factor), bias)
    folded = X * factor + (bias - average * factor)
    result = hull(written, folded)
    return [Enclosure(result.value, result.error, result.dtype, written.terms)]


def _lp_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X, axis = tensor(inputs[0]), node.attributes.get("axis", -1)
    if node.attributes.get("p", 2) == 1:
        norm = abs(X).sum([axis], keepdims=True)
    else:
        norm = sqrt((X * X).sum([axis], keepdims=True))
    if (norm.value == 0).any():
        raise Unsupported("LpNormalization of zeros")
    return [X / norm]


def _mean_variance_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    axes = [axis % len(X.shape) for axis in node.attributes.get("axes", [0, 2, 3])]
    return [normalize(X, axes, 1e-9)[0]]


NORMALIZATION_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "LayerNormalization": _layer_normalization,
    "RMSNormalization": _rms_normalization,
    "InstanceNormalization": _instance_normalization,
    "GroupNormalization": _group_normalization,
    "BatchNormalization": _batch_normalization,
    "LpNormalization": _lp_normalization,
    "MeanVarianceNormalization": _mean_variance_normalization,
}
