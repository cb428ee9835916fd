"""Correct variants: other orders, formulas and precisions that a correct runtime may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .evaluate import Behavior

if TYPE_CHECKING:
    from .evaluate import Call


F4 = np.float32
EPSILON = float(np.float32(1e-5))
"""The default of the attribute epsilon, which is a float."""


def flipped_product(c: Call) -> Any:
    """Sum the terms of a product of matrices from last to first."""
    a, b = c.inputs
    return c.one(a[..., ::-1], b[::-1] if b.ndim == 1 else b[..., ::-1, :])


def flipped_gemm(c: Call) -> Any:
    """Sum the terms of Gemm from last to first."""
    a, b, *rest = c.inputs
    a = a[::-1] if c.attributes.get("transA") else a[:, ::-1]
    return c.one(a, b[:, ::-1] if c.attributes.get("transB") else b[::-1], *rest)


def flipped_conv(c: Call) -> Any:
    """Sum the channels of a convolution from last to first."""
    x, w, *rest = c.inputs
    return c.one(x[:, ::-1], w[:, ::-1], *rest) if c.attributes.get("group", 1) == 1 else c.one()


def flipped_axis(c: Call) -> Any:
    """Sum along the axis from last to first."""
    axis = c.attributes.get("axis", -1)
    return np.flip(c.one(np.flip(c.inputs[0], axis)), axis)


def flipped_reduction(c: Call) -> Any:
    """Sum over all reduced axes from last to first."""
    axes = c.input(1)
    reduced = tuple(range(c.inputs[0].ndim)) if axes is None else tuple(int(a) for a in axes)
    return c.one(np.flip(c.inputs[0], reduced), *c.inputs[1:]) if axes is None or axes.size else c.one()


def flipped_layer(c: Call) -> Any:
    """Sum over the normalized axes from last to first."""
    x = c.inputs[0]
    axes = tuple(range(c.attributes.get("axis", -1) % x.ndim, x.ndim))
    if any(v is not None and v.ndim != len(axes) for v in c.inputs[1:]):
        return c()
    first, *rest = c(np.flip(x, axes), *(None if v is None else np.flip(v) for v in c.inputs[1:]))
    return [np.flip(first, axes), *rest]


def flipped_image(c: Call) -> Any:
    """Sum over the spatial axes from last to first."""
    axes = tuple(range(2, c.inputs[0].ndim))
    y = c.one(np.flip(c.inputs[0], axes), *c.inputs[1:])
    return np.flip(y, axes)


def one_by_one(a: Any, b: Any, step: Any) -> Any:
    """Sum the terms of a product of matrices one after another."""
    y = np.zeros((a[..., :1] @ b[..., :1, :]).shape, a.dtype)
    for k in range(a.shape[-1]):
        y = step(y, a[..., k : k + 1], b[..., k : k + 1, :])
    return y


def sequential_product(c: Call) -> Any:
    """Sum the terms of a product of matrices in one accumulator."""
    a, b = c.inputs
    return c.one() if min(a.ndim, b.ndim) < 2 else one_by_one(a, b, lambda y, p, q: y + p * q)


def fma_product(c: Call) -> Any:
    """Sum the terms of a float product of matrices with fused multiply-add."""
    a, b = c.inputs
    if min(a.ndim, b.ndim) < 2 or a.dtype != F4:
        return c.one()
    return one_by_one(a, b, lambda y, p, q: (p.astype("f8") * q.astype("f8") + y).astype(F4))


def blocked_product(c: Call) -> Any:
    """Sum the terms of a product of matrices in eight accumulators."""
    a, b = c.inputs
    if min(a.ndim, b.ndim) < 2:
        return c.one()
    return sum(one_by_one(a[..., i::8], b[..., i::8, :], lambda y, p, q: y + p * q) for i in range(min(8, a.shape[-1])))


def scaled_and_shifted_batch(c: Call) -> Any:
    """Compute BatchNormalization as x*a + b."""
    x, *rest = c.inputs
    w, b, m, v = (r.reshape(1, -1, *[1] * (x.ndim - 2)) for r in rest)
    a = w / np.sqrt(v + x.dtype.type(c.attributes.get("epsilon", EPSILON)))
    return x * a + (b - m * a)


def scaled_and_shifted_layer(c: Call) -> Any:
    """Compute LayerNormalization as x*a + b."""
    x = c.inputs[0]
    axes = tuple(range(c.attributes.get("axis", -1) % x.ndim, x.ndim))
    m = x.mean(axes, keepdims=True)
    s = 1 / np.sqrt(((x - m) ** 2).mean(axes, keepdims=True) + x.dtype.type(c.attributes.get("epsilon", EPSILON)))
    bias = c.input(2)
    y = (x * s - m * s) * c.inputs[1] + (0 if bias is None else bias)
    return [y, *c()[1:]]


def scaled_and_shifted_instance(c: Call) -> Any:
    """Compute InstanceNormalization as x*a + b."""
    x = c.inputs[0]
    axes = tuple(range(2, x.ndim))
    w, b = (v.reshape(1, -1, *[1] * len(axes)) for v in c.inputs[1:])
    m = x.mean(axes, keepdims=True)
    a = w / np.sqrt(((x - m) ** 2).mean(axes, keepdims=True) + x.dtype.type(c.attributes.get("epsilon", EPSILON)))
    return x * a + (b - m * a)


def softmax_by_reciprocal(c: Call) -> Any:
    """Multiply by the reciprocal of the sum."""
    axis = c.attributes.get("axis", -1)
    e = np.exp(c.inputs[0] - c.inputs[0].max(axis, keepdims=True))
    return e * (1 / e.sum(axis, keepdims=True))


def mean_by_reciprocal(c: Call) -> Any:
    """Multiply the sum by the reciprocal of the number of elements."""
    total = c.one(operator="ReduceSum")
    return total * c.inputs[0].dtype.type(total.size / max(1, c.inputs[0].size))


def hard_swish(c: Call) -> Any:
    """Compute HardSwish through Relu6."""
    x = c.inputs[0]
    return x * np.clip(x + x.dtype.type(3), 0, 6) / x.dtype.type(6)


def silu(first: Call, second: Call, index: int) -> Any:
    """Compute x * sigmoid(x) as x / (1 + exp(-x))."""
    x = second.inputs[1 - index]
    if x.shape != first.inputs[0].shape or not np.array_equal(x, first.inputs[0], equal_nan=True):
        return second.one()
    return x / (1 + np.exp(-x))


def folded_batch(first: Call, second: Call, _: int) -> Any:
    """Fold the normalization into the weights of a float convolution, rounded to float."""
    x, w, *bias = first.inputs
    scale, shift, mean, variance = (v.astype(w.dtype) for v in second.inputs[1:])
    a = scale / np.sqrt(variance + w.dtype.type(second.attributes.get("epsilon", EPSILON)))
    b = bias[0] if bias and bias[0] is not None else np.zeros_like(mean)
    return first.one(x, w * a.reshape(-1, *[1] * (w.ndim - 1)), (b - mean) * a + shift)


def folded_scale(first: Call, second: Call, index: int) -> Any:
    """Fold a factor for each column, or one factor, into the second matrix of a product."""
    a, b = first.inputs
    factor = second.inputs[1 - index].astype(b.dtype)
    if factor.size not in {1, b.shape[-1]} or (factor.size > 1 and factor.shape[-1] != b.shape[-1]) or b.ndim != 2:
        return second.one()
    return first.one(a, b * factor.reshape(-1))


def folded_factors(first: Call, second: Call, index: int) -> Any:
    """Multiply two constant factors first."""
    x, a = first.inputs
    b = second.inputs[1 - index].astype(x.dtype)
    return x * (a * b) if a.size == 1 and b.size == 1 else second.one()


FLIPPED = {
    "MatMul": flipped_product,
    "Gemm": flipped_gemm,
    "Conv": flipped_conv,
    "Softmax": flipped_axis,
    "LogSoftmax": flipped_axis,
    "ReduceSum": flipped_reduction,
    "ReduceMean": flipped_reduction,
    "ReduceL2": flipped_reduction,
    "ReduceSumSquare": flipped_reduction,
    "ReduceLogSumExp": flipped_reduction,
    "LayerNormalization": flipped_layer,
    "InstanceNormalization": flipped_image,
    "GroupNormalization": flipped_image,
    "GlobalAveragePool": flipped_image,
}
FORMS = {
    "BatchNormalization": scaled_and_shifted_batch,
    "LayerNormalization": scaled_and_shifted_layer,
    "InstanceNormalization": scaled_and_shifted_instance,
    "Softmax": softmax_by_reciprocal,
    "ReduceMean": mean_by_reciprocal,
    "HardSwish": hard_swish,
    "MatMul": blocked_product,
}
FUSED = (
    ("Mul", "Add"),
    ("MatMul", "Add"),
    ("Add", "Relu"),
    ("Add", "Gelu"),
    ("Add", "Tanh"),
    ("Add", "Sigmoid"),
    ("Conv", "Relu"),
    ("Conv", "Add"),
    ("Conv", "BatchNormalization"),
    ("BatchNormalization", "Relu"),
    ("Add", "LayerNormalization"),
    ("Mul", "Softmax"),
    ("Div", "Softmax"),
    ("Add", "Softmax"),
    ("Gemm", "Relu"),
    ("Gemm", "Tanh"),
    ("Sigmoid", "Mul"),
    ("Mul", "ReduceMean"),
    ("Sub", "Div"),
)

VARIANTS = {
    "plain": Behavior(),
    "region": Behavior(is_region=True),
    "double": Behavior(is_double=True),
    "flipped": Behavior(FLIPPED),
    "sequential": Behavior({"MatMul": sequential_product}),
    "fma": Behavior({"MatMul": fma_product}, fused=(("Mul", "Add"),)),
    "forms": Behavior(FORMS),
    "fused": Behavior(fused=FUSED),
    "folded": Behavior(
        replaced_pairs={
            ("Conv", "BatchNormalization"): folded_batch,
            ("MatMul", "Mul"): folded_scale,
            ("Mul", "Mul"): folded_factors,
            ("Sigmoid", "Mul"): silu,
        }
    ),
    "expanded": Behavior(is_expanded=True),
    "region-flipped": Behavior(FLIPPED, is_region=True),
    "region-fused": Behavior(is_region=True, fused=FUSED),
}
