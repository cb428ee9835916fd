"""Formulas of normalizations: Softmax, LogSoftmax, and normalizations by mean and variance.

A variance may be computed from the deviations from the mean, or as the mean of squares minus the square of the mean.
Both forms are admissible; the second has a larger error where the mean is large.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Generic

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import dtype_of, type_name
from conformance.exact.models.graphs import softmax_default_axis
from conformance.exact.reference.formulas.elementwise import absolute, exp, log, sqrt, tensor
from conformance.exact.reference.formulas.linear import mean, optional_tensor, sum_of_squares
from conformance.exact.reference.numbers.enclosure import admit, is_strict
from conformance.exact.reference.numbers.formula_tensor import T
from conformance.exact.reference.tolerances import NARROW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure, NodeFormula
    from conformance.exact.reference.numbers.enclosure import Tensor


def softmax(X: T, axes: Sequence[int]) -> T:
    """Return Exp(X) / ReduceSum(Exp(X)) along some axes, with the largest element subtracted first."""
    shifted = X.below_largest(axes)
    numerators = admit(
        "Numerators of Softmax", written=lambda: exp(shifted), **{"base 2": lambda: _exp_in_base_2(shifted)}
    )
    return _beside_infinity(X, numerators.divided_by_sum(axes), axes)


def _exp_in_base_2(X: T) -> T:
    """Return Exp2(Log2(e) X) in float or double, with the roundings of Log2(e) and of the product."""
    if type_name(X.dtype) in NARROW:
        return exp(X)
    return exp(1.0 * (1.0 * X))


def _exponential_of_logarithm(X: T, axes: Sequence[int]) -> T:
    """Return Exp(LogSoftmax(X))."""
    shifted = X.below_largest(axes)
    return exp(shifted - log(exp(shifted).sum(axes, keepdims=True)))


def _beside_infinity(X: T, Y: T, axes: Sequence[int]) -> T:
    """Return the result of Softmax or LogSoftmax. Beside an infinity, it is NaN, or the limit without a subtraction."""
    if is_strict() or not np.isposinf(X.value).any():
        return Y
    beside = np.isposinf(X.value).any(axis=tuple(axes), keepdims=True) & ~np.isposinf(X.value)
    return Y.undetermined(beside)


def log_softmax(X: T, axes: Sequence[int]) -> T:
    """Return Log(Softmax(X)): the shifted operand minus the logarithm of the sum, or the operand minus both.

    The logarithm of Softmax is the form of the page. It has no accurate result where Softmax underflows, so it is
    admissible only at level `must`.
    """
    largest = X.extreme(axes, largest=True, keepdims=True)
    shifted = X - largest
    logarithm = log(exp(shifted).sum(axes, keepdims=True))
    result = admit(
        "LogSoftmax",
        shifted=lambda: shifted - logarithm,
        collected=lambda: X - (largest + logarithm),
        logarithm=lambda: log(softmax(X, axes)),
    )
    return _beside_infinity(X, result, axes)


def _softmax(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    X = tensor(inputs[0])
    axis = node.attributes.get("axis", softmax_default_axis(node.opset))
    if not X.value.size:
        return [X]
    rank = len(X.shape)
    if node.opset < 11 and axis == rank:
        raise Unsupported(f"{node.op_type} below opset 11 with an axis that has two meanings")
    axes = [axis % rank] if node.opset >= 13 else list(range(axis % rank, rank))
    if node.op_type == "LogSoftmax":
        return [log_softmax(X, axes)]
    quotient = softmax(X, axes)
    if type_name(X.dtype) in NARROW:
        return [quotient]
    both = admit("Softmax", written=lambda: quotient, logarithm=lambda: _exponential_of_logarithm(X, axes))
    return [both.with_shares_of(quotient)]


@dataclass(frozen=True)
class Statistics(Generic[T]):
    """The mean of a tensor along some axes, and what follows from it.

    Attributes:
        X: the tensor.
        mean: the mean.
        deviation: the tensor minus the mean.
        variance: the mean of the squares of the deviation.
        root: the square root of the variance plus epsilon.
    """

    X: T
    mean: T
    deviation: T
    variance: T
    root: T

    @classmethod
    def of(cls, X: T, axes: Sequence[int], epsilon: float) -> Statistics[T]:
        """Return the statistics of a tensor along some axes."""
        average = mean(X, axes)
        deviation = X - average
        variance = admit(
            "variance",
            centred=lambda: X.centred_variance(average, deviation, axes),
            moments=lambda: mean(X * X, axes) - average * average,
        )
        root = sqrt(variance.apply(lambda v: np.maximum(v, 0)) + epsilon)
        return cls(X, average, deviation, variance, root)

    def normalized(self) -> T:
        """Return the deviation divided by the root."""
        return admit(
            "normalized",
            written=lambda: self.deviation / self.root,
            reciprocal=lambda: self.deviation * (1.0 / self.root),
        )

    def scaled(self, scale: T, bias: T) -> T:
        """Return the normalized tensor times a scale plus a bias, which may be folded into a factor and a summand."""
        factor = _factor(scale, self.root)
        return admit(
            "scaled",
            written=lambda: self.normalized() * scale + bias,
            folded=lambda: self.X.folded(self.mean, factor, bias),
            centred=lambda: self.deviation * factor + bias,
            multiplied=lambda: self.deviation * scale / self.root + bias,
        )


def _factor(scale: T, root: T) -> T:
    return admit("factor", written=lambda: scale / root, reciprocal=lambda: scale * (1.0 / root))


def _per_channel(X: T, rank: int) -> T:
    return X.moved(lambda x: x.reshape(1, -1, *[1] * (rank - 2)))


def _epsilon(node: Node) -> float:
    return float(node.attributes.get("epsilon", np.float32(1e-5)))


def _stash_type(node: Node) -> np.dtype[Any]:
    """Return the type of the statistics: the attribute `stash_type`, by default float."""
    return dtype_of(node.attributes.get("stash_type", 1))


def _layer_normalization(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    """Enclose LayerNormalization: the statistics have the type `stash_type`; scale and bias have that of the tensor."""
    given = tensor(inputs[0])
    scale = tensor(inputs[1])
    bias = optional_tensor(inputs, 2)
    rank = len(given.shape)
    _require_broadcast(scale, given)
    axes = list(range(node.attributes.get("axis", -1) % rank, rank))
    statistics = Statistics.of(given.as_type(_stash_type(node)), axes, _epsilon(node))
    stash = statistics.X.dtype

    def written() -> T:
        product = statistics.normalized().as_type(given.dtype) * scale
        return product if bias is None else product + bias

    def stashed() -> T:
        summand = scale.zeros(scale.shape) if bias is None else bias
        return statistics.scaled(scale.with_dtype(stash), summand.with_dtype(stash)).as_type(given.dtype)

    Y = admit("LayerNormalization", written=written, stashed=stashed)
    average = statistics.mean
    if not is_strict() and np.isinf(given.value).any():  # a mean that is updated for each element subtracts infinities
        average = average.undetermined(np.asarray(np.isinf(given.value).any(axis=tuple(axes), keepdims=True)))
    results: list[T] = [Y, average, 1.0 / statistics.root]
    return results[: max(1, len(node.outputs))]


def _require_broadcast(scale: T, X: T) -> None:
    """Raise `Unsupported` for a model that the page forbids: a scale with more elements than the tensor."""
    if np.broadcast_shapes(scale.shape, X.shape) != X.shape:
        raise Unsupported("the scale is not unidirectionally broadcastable to the tensor: the model is invalid")


def rms_normalized(X: T, axes: Sequence[int], epsilon: float) -> tuple[T, T]:
    """Return X / Sqrt(Mean(X * X) + epsilon), and the reciprocal of the root."""
    count = prod(X.shape[axis] for axis in axes)
    root = sqrt(sum_of_squares(X, axes).over(X.constant(count)) + epsilon)
    inverse = 1.0 / root
    return admit("normalized", written=lambda: X / root, reciprocal=lambda: X * inverse), inverse


def _rms_normalization(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    """Enclose RMSNormalization, and the operator SimplifiedLayerNormalization of ONNX Runtime."""
    given = tensor(inputs[0])
    scale = tensor(inputs[1])
    rank = len(given.shape)
    _require_broadcast(scale, given)
    axes = list(range(node.attributes.get("axis", -1) % rank, rank))
    normalized, inverse = rms_normalized(given.as_type(_stash_type(node)), axes, _epsilon(node))
    results: list[T] = [normalized.as_type(given.dtype) * scale, inverse]
    return results[: max(1, len(node.outputs))]


def _instance_normalization(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    X, scale, bias = (tensor(given) for given in inputs[:3])
    rank = len(X.shape)
    statistics = Statistics.of(X, range(2, rank), _epsilon(node))
    return [statistics.scaled(_per_channel(scale, rank), _per_channel(bias, rank))]


def _group_normalization(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    """Enclose GroupNormalization. Below opset 21, scale and bias are for each group, later for each channel."""
    given, scale, bias = (tensor(each) for each in inputs[:3])
    groups = node.attributes["num_groups"]
    shape = given.shape
    if {scale.value.size, bias.value.size} != {shape[1] if node.opset >= 21 else groups}:
        raise Unsupported("scale and bias have another number of elements than the page requires: the model is invalid")
    per_group = shape[1] // groups
    X = given.moved(lambda x: x.reshape(x.shape[0], groups, per_group, -1))
    parts = [part.moved(lambda x: x.reshape(1, groups, -1 if node.opset >= 21 else 1, 1)) for part in (scale, bias)]
    stash = _stash_type(node) if node.opset >= 21 else given.dtype
    statistics = Statistics.of(X.as_type(stash), [2, 3], _epsilon(node))
    if stash == given.dtype:
        Y = statistics.scaled(*parts)
    else:
        Y = admit(
            "GroupNormalization",
            written=lambda: statistics.normalized().as_type(given.dtype) * parts[0] + parts[1],
            stashed=lambda: statistics.scaled(*(part.with_dtype(stash) for part in parts)).as_type(given.dtype),
        )
    return [Y.moved(lambda y: y.reshape(shape))]


def _batch_normalization(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    """Enclose BatchNormalization in inference: scale (X - mean) / Sqrt(var + epsilon) + bias.

    A runtime may fold the four parameters of a channel into a factor and a summand.
    """
    is_training = bool(node.attributes.get("training_mode", 0))
    if not is_training and len([name for name in node.outputs if name]) > 1:
        raise Unsupported("BatchNormalization in training mode below opset 14")
    X = tensor(inputs[0])
    rank = len(X.shape)
    parameters = [tensor(given) for given in inputs[1:5]]
    if node.attributes.get("spatial", 1):  # below version 9 they may belong to all axes but the first
        parameters = [_per_channel(each, rank) for each in parameters]
    scale, bias, average, variance = parameters
    if is_training:
        return _train_batch_normalization(node, X, scale, bias, (average, variance))
    root = sqrt(variance + float(node.attributes.get("epsilon", np.float32(1e-5))))
    factor = _factor(scale, root)
    deviation = X.minus(average)
    written = deviation.times(factor).plus(bias)
    result = admit(
        "scaled",
        written=lambda: (X - average) / root * scale + bias,
        folded=lambda: X.folded(average, factor, bias),
        centred=lambda: written,
        multiplied=lambda: (X - average) * scale / root + bias,
    )
    return [result.with_terms(written)]


def _train_batch_normalization(node: Node, X: T, scale: T, bias: T, running: Sequence[T]) -> list[T]:
    """Enclose BatchNormalization with the statistics of the batch, and the statistics that run on."""
    statistics = Statistics.of(X, [axis for axis in range(len(X.shape)) if axis != 1], _epsilon(node))
    momentum = float(node.attributes.get("momentum", np.float32(0.9)))
    results: list[T] = [statistics.scaled(scale, bias)]
    for old, new in zip(running, (statistics.mean, statistics.variance), strict=True):
        mixed = old.times(old.constant(momentum)).plus(new.with_dtype(old.dtype).times(1.0 - old.constant(momentum)))
        results.append(mixed.moved(lambda x: x.reshape(-1)))
    return results[: max(1, len(node.outputs))]


def _lp_normalization(node: Node, inputs: Sequence[T | Array | None]) -> list[T]:
    """Enclose LpNormalization. The result is 0 where all elements along the axis are 0."""
    X = tensor(inputs[0])
    axis = node.attributes.get("axis", -1)
    if node.attributes.get("p", 2) not in (1, 2):
        raise Unsupported("LpNormalization of an order other than 1 and 2")
    if node.attributes.get("p", 2) == 1:
        norm = absolute(X).sum([axis], keepdims=True)
    else:
        norm = sqrt((X * X).sum([axis], keepdims=True))
    with np.errstate(all="ignore"):
        Y = X / norm
    is_zero = (X.value == 0).all(axis=axis, keepdims=True) & X.zero_mask()
    return [X.zeros(X.shape).where(is_zero, Y)]


def _mean_variance_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    axes = [axis % len(X.shape) for axis in node.attributes.get("axes", [0, 2, 3])]
    average = mean(X, axes)
    deviation = X - average
    centred = sqrt(X.centred_variance(average, deviation, axes))
    moments = sqrt((mean(X * X, axes) - average * average).apply(lambda v: np.maximum(v, 0)))
    return [
        admit(
            "MeanVarianceNormalization",
            page=lambda: deviation / centred,
            function=lambda: deviation / (centred + 1e-9),
            **{"root of moments": lambda: deviation / (moments + 1e-9)},
        )
    ]


FORMULAS: Mapping[str, NodeFormula] = {
    "LayerNormalization": _layer_normalization,
    "RMSNormalization": _rms_normalization,
    "InstanceNormalization": _instance_normalization,
    "GroupNormalization": _group_normalization,
    "BatchNormalization": _batch_normalization,
    "LpNormalization": _lp_normalization,
}
"""Formulas of every kind of tensor."""

NORMALIZATION_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    **FORMULAS,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "SimplifiedLayerNormalization": _rms_normalization,
    "MeanVarianceNormalization": _mean_variance_normalization,
}
