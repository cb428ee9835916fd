"""Operators with random results: their shape, type and range are determined, and the elements are left open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import dtype_of, format_of
from conformance.exact.reference.numbers.enclosure import Enclosure, between
from conformance.exact.reference.tolerances import NORMAL_RANGE, ROUNDINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from conformance.exact.reference.nodes import Node, NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor


def _like(node: Node, inputs: Sequence[Tensor]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type of the result of a random operator."""
    if node.op_type.endswith("Like"):
        like = inputs[0]
        assert like is not None
        return like.shape, dtype_of(node.attributes["dtype"]) if "dtype" in node.attributes else like.dtype
    return tuple(node.attributes["shape"]), dtype_of(node.attributes.get("dtype", 1))


def _uniform(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return numbers from low to high; rounding can give high itself."""
    shape, dtype = _like(node, inputs)
    low, high = (float(node.attributes.get(name, default)) for name, default in (("low", 0.0), ("high", 1.0)))
    slack = ROUNDINGS["limit of a random number"] * max(abs(low), abs(high)) * float(format_of(dtype).unit_roundoff)
    return [between(np.full(shape, low - slack), np.full(shape, high + slack), dtype)]


def _normal(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    shape, dtype = _like(node, inputs)
    mean, scale = (float(node.attributes.get(name, default)) for name, default in (("mean", 0.0), ("scale", 1.0)))
    reach = NORMAL_RANGE * abs(scale) + abs(mean) * float(format_of(dtype).unit_roundoff)
    return [between(np.full(shape, mean - reach), np.full(shape, mean + reach), dtype)]


def _bernoulli(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Return 0 or 1; a probability of 0 or 1 determines the element."""
    p = inputs[0]
    if not isinstance(p, Enclosure) or not p.is_exact:
        raise Unsupported("rounding of an input decides the probabilities of Bernoulli")
    dtype = dtype_of(node.attributes["dtype"]) if "dtype" in node.attributes else p.dtype
    is_probability = (p.value >= 0) & (p.value <= 1)
    return [between((p.value >= 1) * 1.0, (p.value > 0) * 1.0, dtype).leave_open(~is_probability, "no probability")]


def _multinomial(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = inputs[0]
    count = node.attributes.get("sample_size", 1)
    assert X is not None
    shape = (X.shape[0], count)
    dtype = dtype_of(node.attributes.get("dtype", 6))
    return [between(np.zeros(shape), np.full(shape, X.shape[1] - 1.0), dtype)]


def _dropout(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Dropout; in training, an element is 0 or scaled, and a ratio of 0 keeps all elements.

    Below version 12 the page states no mask for inference, and below version 7 it states that the mask is not filled.
    """
    X, ratio, training = [*inputs, None, None][:3]
    assert X is not None
    if node.opset < 7:
        is_training = not node.attributes.get("is_test", 0)
    else:
        is_training = isinstance(training, np.ndarray) and bool(training.item())
    if node.opset >= 12:
        p = 0.5 if ratio is None else float(ratio.value.item()) if isinstance(ratio, Enclosure) else np.nan
    else:
        p = float(node.attributes.get("ratio", 0.5))
    mask_type = np.dtype(bool) if node.opset >= 10 else X.dtype
    any_mask = between(np.zeros(X.shape), np.ones(X.shape), mask_type)
    if not is_training and node.opset < 12:
        return [X, any_mask if node.opset >= 7 else None]
    if not is_training or p == 0:
        return [X, np.ones(X.shape, mask_type)]
    if not isinstance(X, Enclosure):
        raise Unsupported("Dropout in training of a type in which nothing is computed")
    scaled = X * (1.0 / (1.0 - X.constant(p)))
    ends = scaled.value - scaled.error, scaled.value + scaled.error
    low = np.minimum(0.0, ends[0])
    high = np.maximum(0.0, ends[1])
    return [between(low, high, X.dtype), any_mask]


RANDOM_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    **dict.fromkeys(("RandomUniform", "RandomUniformLike"), _uniform),
    **dict.fromkeys(("RandomNormal", "RandomNormalLike"), _normal),
    "Bernoulli": _bernoulli,
    "Multinomial": _multinomial,
    "Dropout": _dropout,
}
"""Operators whose pages call their results random."""
