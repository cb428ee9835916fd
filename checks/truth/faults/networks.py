"""Faults of products, convolutions, pools, normalizations, recurrent operators, images and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .fault import Fault, Node, array, const, node, normal, scalar, weight, whole

if TYPE_CHECKING:
    from checks.truth.evaluate import Call


F4 = np.float32
IMAGE = normal(1, 3, 7, 8)
KERNEL = weight(4, 3, 3, 3)
BIAS = weight(4)
SEQUENCE = normal(5, 2, 3)


def without_bias(c: Call) -> Any:
    """Return the output without the third input."""
    return c.one(*c.inputs[:2], *([np.zeros_like(c.inputs[2])] if c.input(2) is not None else []))


def swapped_pads(c: Call) -> Any:
    """Return the output with the pads of begin and end swapped."""
    pads = c.attributes.get("pads")
    return c() if pads is None else c(pads=[*pads[len(pads) // 2 :], *pads[: len(pads) // 2]])


def half_sum(c: Call, a: Any, b: Any) -> Any:
    """Return a product of matrices whose sum is rounded to the type of the node after each term."""
    y = np.zeros((a[..., :1] * b[..., :1, :]).shape, a.dtype)
    for k in range(a.shape[-1]):
        y = c.round(y + c.round(a[..., k : k + 1] * b[..., k : k + 1, :]))
    return y


def blocks_of_four(c: Call) -> Any:
    """Return a product of matrices without the terms that do not fill a vector of four."""
    a, b = c.inputs
    n = a.shape[-1] // 4 * 4
    return a[..., :n] @ b[..., :n, :]


def average_with_pads(c: Call) -> Any:
    """Return AveragePool that counts the pads."""
    return c(count_include_pad=1)


def normalized(c: Call, axes: Any, root: Any, shape: Any = None) -> Any:
    """Return a normalization over some axes with another denominator."""
    x = c.inputs[0].astype("f8")
    m = x.mean(axes, keepdims=True)
    y = (x - m) / root(x.var(axes, keepdims=True), x, axes)
    w, b = (
        v if shape is None else v.reshape(shape)
        for v in (c.inputs[1], c.input(2) if c.input(2) is not None else np.zeros_like(c.inputs[1]))
    )
    return (y * w + b).astype(c.inputs[0].dtype)


def layer_norm(c: Call, root: Any) -> Any:
    """Return the first output of LayerNormalization with another denominator, and its other outputs unchanged."""
    axis = c.attributes.get("axis", -1) % c.inputs[0].ndim
    return [normalized(c, tuple(range(axis, c.inputs[0].ndim)), root), *c()[1:]]


def epsilon(c: Call) -> Any:
    """Return the attribute epsilon."""
    return c.attributes.get("epsilon", float(F4(1e-5)))


def unbiased(c: Call) -> Any:
    """Return a denominator with the unbiased variance."""
    return lambda v, x, axes: np.sqrt(v * (n := np.prod([x.shape[a] for a in axes])) / (n - 1) + epsilon(c))


def outside(c: Call) -> Any:
    """Return a denominator with epsilon outside of the root."""
    return lambda v, _, __: np.sqrt(v) + epsilon(c)


def batch_norm(c: Call, denominator: Any) -> Any:
    """Return BatchNormalization with another denominator."""
    x, *rest = c.inputs
    w, b, m, v = (r.reshape(1, -1, *[1] * (x.ndim - 2)) for r in rest)
    return w * (x - m) / denominator(v) + b


def instance_axes(c: Call) -> Any:
    """Return the spatial axes, and the shape of a vector of channels."""
    rank = c.inputs[0].ndim
    return tuple(range(2, rank)), (1, -1, *[1] * (rank - 2))


def softmax_axis(c: Call, axis: int) -> Any:
    """Return a softmax over another axis."""
    return c(axis=axis)


def naive_softmax(c: Call) -> Any:
    """Return a softmax that does not subtract the maximum."""
    e = c.round(np.exp(c.inputs[0]))
    return e / e.sum(c.attributes.get("axis", -1), keepdims=True)


def reordered_gates(c: Call, order: Any) -> Any:
    """Return a recurrent operator that reads its gates in another order."""
    x, w, r, *rest = c.inputs
    n = len(order)

    def pick(t: Any, axis: int, parts: int) -> Any:
        chosen = order if parts == n else [*order, *(n + i for i in order)]
        return np.concatenate([np.split(t, parts, axis)[i] for i in chosen], axis)

    b = rest[:1] and [None if rest[0] is None else pick(rest[0], 1, 2 * n)]
    return c(x, pick(w, 1, n), pick(r, 1, n), *b, *rest[1:])


def dropped(c: Call, index: int) -> Any:
    """Return the outputs as if an optional input were absent."""
    return c(*(np.zeros_like(v) if i == index and v is not None else v for i, v in enumerate(c.inputs)))


def full_lengths(c: Call) -> Any:
    """Return the outputs of a recurrent operator that ignores the lengths of sequences."""
    return c(
        *(np.full_like(v, c.inputs[0].shape[0]) if i == 4 and v is not None else v for i, v in enumerate(c.inputs))
    )


def saturating_pairs(c: Call) -> Any:
    """Return an integer product in which the sum of two products saturates at int16."""
    a, b = (v.astype("i4") for v in c.inputs[:2])
    total = 0
    for k in range(0, a.shape[-1], 2):
        total = total + np.clip(a[..., k : k + 2] @ b[..., k : k + 2, :], -32768, 32767)
    return total


def quantized_product(c: Call) -> Any:
    """Return QLinearMatMul of uint8 that rounds halves up."""
    a, sa, za, b, sb, zb, sy, zy = c.inputs
    total = (a.astype("i4") - za) @ (b.astype("i4") - zb)
    return np.clip(np.floor(total * (sa * sb / sy) + 0.5) + zy, 0, 255).astype("u1")


def pool_from_zero(c: Call) -> Any:
    """Return MaxPool whose pads are zeros."""
    return np.maximum(c.one(), 0) if c.attributes.get("pads") else c.one()


def last_tie_pool(c: Call) -> Any:
    """Return MaxPool of two by two whose indices are those of the last of equal elements."""
    values, _ = c()
    x = c.inputs[0]
    flipped = c(np.flip(x, (2, 3)))[1]
    return [values, x.size - 1 - np.flip(flipped, (0, 1, 2, 3)) if x.shape[0] == x.shape[1] == 1 else c()[1]]


def recurrent(operator: str, gates: int, direction: str = "forward", extra: Any = (), **attributes: Any) -> Node:
    """Describe a recurrent node."""
    d = 2 if direction == "bidirectional" else 1
    weights = (weight(d, gates * 4, 3), weight(d, gates * 4, 4), weight(d, 2 * gates * 4))
    return node(
        operator,
        SEQUENCE,
        *weights,
        *extra,
        outputs=3 if operator == "LSTM" else 2,
        hidden_size=4,
        direction=direction,
        **attributes,
    )


def window_sum(c: Call, shift: int) -> Any:
    """Return LRN whose window is shifted."""
    x, a = c.inputs[0].astype("f8"), c.attributes
    size, n = a["size"], x.shape[1]
    low, high = (size - 1) // 2 + shift, size // 2 - shift + size % 2 * 0
    square = np.stack([(x[:, max(0, i - low) : min(n, i + high + 1)] ** 2).sum(1) for i in range(n)], 1)
    return x / (a.get("bias", 1.0) + a.get("alpha", 1e-4) / size * square) ** a.get("beta", 0.75)


FAULTS = [
    Fault(
        "matmul-transposed",
        "MatMul",
        "A square second operand is read transposed.",
        lambda c: (
            c.inputs[0] @ np.swapaxes(c.inputs[1], -1, -2)
            if c.inputs[1].ndim > 1 and c.inputs[1].shape[-1] == c.inputs[1].shape[-2]
            else c()
        ),
        node("MatMul", normal(4, 6), weight(6, 6)),
    ),
    Fault(
        "matmul-tail",
        "MatMul",
        "Terms that do not fill a vector of four are lost.",
        blocks_of_four,
        node("MatMul", normal(4, 11), weight(11, 5)),
    ),
    Fault(
        "matmul-half-accumulator",
        "MatMul",
        "The sum is rounded to the type after each term.",
        lambda c: half_sum(c, *c.inputs),
        node("MatMul", normal(3, 200, dtype="f2"), weight(200, 6, dtype="f2")),
    ),
    Fault(
        "matmul-batch",
        "MatMul",
        "The first matrix of the second operand serves all.",
        lambda c: c.inputs[0] @ c.inputs[1][:1] if c.inputs[1].ndim > 2 else c(),
        node("MatMul", normal(3, 4, 5), normal(3, 5, 4)),
    ),
    Fault(
        "matmul-half-operands",
        "MatMul",
        "The operands are rounded to bfloat16.",
        lambda c: c.one(*(c.round(v, 16) for v in c.inputs)),
        node("MatMul", normal(4, 11), weight(11, 5)),
    ),
    Fault(
        "gemm-beta",
        "Gemm",
        "beta is ignored.",
        lambda c: c(beta=1.0),
        node("Gemm", normal(4, 6), weight(6, 5), weight(5), beta=0.25),
    ),
    Fault(
        "gemm-alpha-on-c",
        "Gemm",
        "alpha is applied to C too.",
        lambda c: c.attributes.get("alpha", 1.0) * c.one(alpha=1.0),
        node("Gemm", normal(4, 6), weight(6, 5), weight(5), alpha=0.5),
    ),
    Fault(
        "gemm-transb-square",
        "Gemm",
        "transB is ignored for a square matrix.",
        lambda c: c(transB=0) if c.inputs[1].shape[0] == c.inputs[1].shape[1] else c(),
        node("Gemm", normal(4, 6), weight(6, 6), weight(6), transB=1),
    ),
    Fault(
        "gemm-column-bias",
        "Gemm",
        "A column C is read as a row.",
        lambda c: c.one(*c.inputs[:2]) + c.inputs[2].reshape(1, -1),
        node("Gemm", normal(5, 6), weight(6, 5), weight(5, 1)),
    ),
    Fault("gemm-bias-lost", "Gemm", "C is lost.", without_bias, node("Gemm", normal(4, 6), weight(6, 5), weight(5))),
    Fault(
        "gemm-bias-lost-wide",
        "Gemm",
        "C is lost if there are eight columns.",
        lambda c: without_bias(c) if c.inputs[2].shape[-1] == 8 else c(),
        node("Gemm", normal(4, 6), weight(6, 8), weight(8)),
    ),
    Fault(
        "einsum-transposed",
        "Einsum",
        "The order of the output is that of the operands.",
        lambda c: np.ascontiguousarray(c.one().T).reshape(c.one().shape),
        node("Einsum", normal(4, 5), normal(5, 4), equation="ij,jk->ki"),
    ),
    Fault(
        "matmulinteger-zero-point",
        "MatMulInteger",
        "The zero point of A is ignored.",
        lambda c: c.one(c.inputs[0], c.inputs[1], np.zeros_like(c.inputs[2]), *c.inputs[3:]),
        node("MatMulInteger", whole(0, 255, 4, 6, dtype="u1"), whole(0, 255, 6, 5, dtype="u1"), scalar(100, "u1")),
    ),
    Fault(
        "matmulinteger-saturates",
        "MatMulInteger",
        "Sums of two products saturate at int16.",
        saturating_pairs,
        node("MatMulInteger", whole(200, 255, 4, 6, dtype="u1"), whole(100, 127, 6, 5, dtype="i1")),
    ),
    Fault(
        "convinteger-pad",
        "ConvInteger",
        "The pads are 0 and not the zero point.",
        lambda c: c.one(np.pad(c.inputs[0], ((0, 0), (0, 0), (1, 1), (1, 1))), *c.inputs[1:], pads=[0, 0, 0, 0]),
        node(
            "ConvInteger",
            whole(0, 255, 1, 2, 5, 5, dtype="u1"),
            whole(0, 255, 3, 2, 3, 3, dtype="u1"),
            scalar(128, "u1"),
            pads=[1, 1, 1, 1],
        ),
    ),
    Fault(
        "qlinearmatmul-half-up",
        "QLinearMatMul",
        "Halves are rounded up.",
        quantized_product,
        node(
            "QLinearMatMul",
            whole(0, 9, 4, 6, dtype="u1"),
            scalar(0.5),
            scalar(4, "u1"),
            whole(0, 9, 6, 5, dtype="u1"),
            scalar(0.5),
            scalar(4, "u1"),
            scalar(0.5),
            scalar(128, "u1"),
        ),
    ),
    Fault(
        "qlinearconv-scale",
        "QLinearConv",
        "The first scale of the weights serves all channels.",
        lambda c: c.one(*(np.full_like(v, v[0]) if i == 4 else v for i, v in enumerate(c.inputs))),
        node(
            "QLinearConv",
            whole(0, 255, 1, 2, 5, 5, dtype="u1"),
            scalar(0.1),
            scalar(120, "u1"),
            whole(-9, 9, 3, 2, 3, 3, dtype="i1"),
            const(0.1, 0.2, 0.3, dtype="f4"),
            const(0, 0, 0, dtype="i1"),
            scalar(0.5),
            scalar(128, "u1"),
        ),
    ),
    Fault(
        "conv-dilations",
        "Conv",
        "The dilations are ignored.",
        lambda c: c() if "dilations" not in c.attributes else c(dilations=None, pads=[1, 1, 1, 1]),
        node("Conv", IMAGE, KERNEL, BIAS, dilations=[2, 2], pads=[2, 2, 2, 2]),
    ),
    Fault(
        "conv-pads-swapped",
        "Conv",
        "The pads of begin and end are swapped.",
        swapped_pads,
        node("Conv", IMAGE, KERNEL, BIAS, pads=[0, 0, 2, 2]),
    ),
    Fault(
        "conv-same-lower",
        "Conv",
        "SAME_LOWER is SAME_UPPER.",
        lambda c: c(auto_pad="SAME_UPPER") if c.attributes.get("auto_pad") == b"SAME_LOWER" else c(),
        node("Conv", IMAGE, weight(4, 3, 2, 2), BIAS, auto_pad="SAME_LOWER"),
    ),
    Fault(
        "conv-kernel-flipped",
        "Conv",
        "The kernel is flipped.",
        lambda c: c.one(c.inputs[0], np.flip(c.inputs[1], tuple(range(2, c.inputs[1].ndim))), *c.inputs[2:]),
        node("Conv", IMAGE, KERNEL, BIAS),
    ),
    Fault("conv-bias-lost", "Conv", "The bias is lost.", without_bias, node("Conv", IMAGE, KERNEL, BIAS)),
    Fault(
        "conv-last-column",
        "Conv",
        "The last column of the output is that of the column before it.",
        lambda c: (lambda y: np.concatenate([y[..., :-1], y[..., -2:-1]], -1))(c.one()),
        node("Conv", IMAGE, KERNEL, BIAS, pads=[1, 1, 1, 1]),
    ),
    Fault(
        "convtranspose-not-flipped",
        "ConvTranspose",
        "The kernel is flipped.",
        lambda c: c.one(c.inputs[0], np.flip(c.inputs[1], (2, 3)), *c.inputs[2:]),
        node("ConvTranspose", normal(1, 3, 4, 4), weight(3, 2, 3, 3), strides=[2, 2]),
    ),
    Fault(
        "convtranspose-pads",
        "ConvTranspose",
        "The pads of begin and end are swapped.",
        swapped_pads,
        node("ConvTranspose", normal(1, 3, 4, 4), weight(3, 2, 3, 3), pads=[0, 0, 1, 1]),
    ),
    Fault(
        "averagepool-counts-pads",
        "AveragePool",
        "Pads are counted.",
        average_with_pads,
        node("AveragePool", IMAGE, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    ),
    Fault(
        "averagepool-include-ignored",
        "AveragePool",
        "count_include_pad is ignored.",
        lambda c: c(count_include_pad=0),
        node("AveragePool", IMAGE, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    ),
    Fault(
        "maxpool-zero-pads",
        "MaxPool",
        "Pads are zeros.",
        pool_from_zero,
        node("MaxPool", normal(1, 2, 5, 5, shift=-2), kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    ),
    Fault(
        "maxpool-dilations",
        "MaxPool",
        "The dilations are ignored.",
        lambda c: (lambda y: c.one(dilations=None)[..., : y.shape[2], : y.shape[3]])(c.one()),
        node("MaxPool", IMAGE, kernel_shape=[2, 2], dilations=[2, 2]),
    ),
    Fault(
        "maxpool-storage-order",
        "MaxPool",
        "storage_order is ignored.",
        lambda c: c(storage_order=0),
        node("MaxPool", normal(1, 1, 4, 6), outputs=2, kernel_shape=[2, 2], strides=[2, 2], storage_order=1),
    ),
    Fault(
        "maxpool-last-tie",
        "MaxPool",
        "The index is that of the last of equal elements.",
        last_tie_pool,
        node("MaxPool", whole(0, 2, 1, 1, 4, 4).astype(F4), outputs=2, kernel_shape=[2, 2], strides=[2, 2]),
    ),
    Fault("lppool-p", "LpPool", "p is ignored.", lambda c: c(p=2), node("LpPool", IMAGE, kernel_shape=[2, 2], p=3)),
    Fault(
        "globalaveragepool-one-axis",
        "GlobalAveragePool",
        "The sum is divided by the height alone.",
        lambda c: c.one() * c.inputs[0].shape[-1],
        node("GlobalAveragePool", IMAGE),
    ),
    Fault(
        "globalmaxpool-from-zero",
        "GlobalMaxPool",
        "The maximum begins with 0.",
        lambda c: np.maximum(c.one(), 0),
        node("GlobalMaxPool", normal(1, 3, 4, 4, shift=-4)),
    ),
    Fault("globallppool-p", "GlobalLpPool", "p is ignored.", lambda c: c(p=2), node("GlobalLpPool", IMAGE, p=1)),
    Fault(
        "batchnormalization-no-root",
        "BatchNormalization",
        "The root is missing.",
        lambda c: batch_norm(c, lambda v: v + epsilon(c)),
        node("BatchNormalization", IMAGE, weight(3), weight(3), weight(3), const(0.3, 2, 0.7, dtype="f4")),
    ),
    Fault(
        "batchnormalization-epsilon-outside",
        "BatchNormalization",
        "epsilon is added to the root.",
        lambda c: batch_norm(c, lambda v: np.sqrt(v) + epsilon(c)),
        node(
            "BatchNormalization", IMAGE, weight(3), weight(3), weight(3), const(0.3, 2, 0.7, dtype="f4"), epsilon=1e-2
        ),
    ),
    Fault(
        "batchnormalization-epsilon-default",
        "BatchNormalization",
        "epsilon is 1e-3.",
        lambda c: c(epsilon=1e-3),
        node("BatchNormalization", IMAGE, weight(3), weight(3), weight(3), const(0.3, 2, 0.7, dtype="f4")),
    ),
    Fault(
        "instancenormalization-unbiased",
        "InstanceNormalization",
        "The variance is divided by n - 1.",
        lambda c: normalized(c, instance_axes(c)[0], unbiased(c), instance_axes(c)[1]),
        node("InstanceNormalization", IMAGE, weight(3), weight(3)),
    ),
    Fault(
        "layernormalization-epsilon-missing",
        "LayerNormalization",
        "epsilon is missing.",
        lambda c: layer_norm(c, lambda v, *_: np.sqrt(v)),
        node("LayerNormalization", normal(4, 16), weight(16), weight(16), epsilon=1e-2),
    ),
    Fault(
        "layernormalization-epsilon-outside",
        "LayerNormalization",
        "epsilon is added to the root.",
        lambda c: layer_norm(c, outside(c)),
        node("LayerNormalization", normal(4, 16), weight(16), weight(16), epsilon=1e-2),
    ),
    Fault(
        "layernormalization-unbiased",
        "LayerNormalization",
        "The variance is divided by n - 1.",
        lambda c: layer_norm(c, unbiased(c)),
        node("LayerNormalization", normal(4, 16), weight(16), weight(16)),
    ),
    Fault(
        "layernormalization-axis",
        "LayerNormalization",
        "Only the last axis is normalized.",
        lambda c: [normalized(c, (c.inputs[0].ndim - 1,), lambda v, *_: np.sqrt(v + epsilon(c))), *c()[1:]],
        node("LayerNormalization", normal(3, 4, 5), weight(4, 5), weight(4, 5), axis=1),
    ),
    Fault(
        "layernormalization-bias-lost",
        "LayerNormalization",
        "The bias is lost.",
        lambda c: c(*c.inputs[:2]),
        node("LayerNormalization", normal(4, 16), weight(16), weight(16)),
    ),
    Fault(
        "groupnormalization-unbiased",
        "GroupNormalization",
        "The variance is divided by n - 1.",
        lambda c: (
            lambda x, g: (
                (
                    lambda y: (
                        (y - y.mean((2, 3, 4), keepdims=True))
                        / np.sqrt(y.var((2, 3, 4), keepdims=True, ddof=1) + epsilon(c))
                    ).reshape(x.shape)
                )(x.reshape(x.shape[0], g, -1, *x.shape[2:]))
                * c.inputs[1].reshape(1, -1, 1, 1)
                + c.inputs[2].reshape(1, -1, 1, 1)
            )
        )(c.inputs[0], c.attributes["num_groups"]),
        node("GroupNormalization", normal(2, 4, 3, 3), weight(4), weight(4), num_groups=2),
    ),
    Fault(
        "rmsnormalization-mean",
        "RMSNormalization",
        "The mean is subtracted.",
        lambda c: c.one(c.inputs[0] - c.inputs[0].mean(-1, keepdims=True), *c.inputs[1:]),
        node("RMSNormalization", normal(4, 16), weight(16), opset=23),
    ),
    Fault(
        "rmsnormalization-epsilon",
        "RMSNormalization",
        "epsilon is added to the root.",
        lambda c: c.inputs[0] / (np.sqrt((c.inputs[0] ** 2).mean(-1, keepdims=True)) + F4(epsilon(c))) * c.inputs[1],
        node("RMSNormalization", normal(4, 16), weight(16), opset=23, epsilon=1e-2),
    ),
    Fault(
        "meanvariancenormalization-axes",
        "MeanVarianceNormalization",
        "The batch is not an axis by default.",
        lambda c: c(axes=[2, 3]) if "axes" not in c.attributes else c(),
        node("MeanVarianceNormalization", normal(2, 3, 4, 4)),
    ),
    Fault(
        "lpnormalization-p",
        "LpNormalization",
        "p is ignored.",
        lambda c: c(p=2),
        node("LpNormalization", normal(4, 6), p=1),
    ),
    Fault(
        "lrn-window",
        "LRN",
        "An even window is shifted to the other side.",
        lambda c: np.flip(c.one(np.flip(c.inputs[0], 1)), 1),
        node("LRN", normal(1, 6, 3, 3, scale=3), size=4, alpha=0.1),
    ),
    Fault(
        "lrn-size",
        "LRN",
        "alpha is not divided by the size.",
        lambda c: c(alpha=c.attributes.get("alpha", 1e-4) * c.attributes["size"]),
        node("LRN", normal(1, 6, 3, 3, scale=3), size=3, alpha=0.1),
    ),
    Fault(
        "softmax-axis",
        "Softmax",
        "The axis before the last is used.",
        lambda c: softmax_axis(c, -2),
        node("Softmax", normal(3, 4, 5)),
    ),
    Fault(
        "softmax-overflow",
        "Softmax",
        "The maximum is not subtracted.",
        naive_softmax,
        node("Softmax", normal(4, 6, scale=40, shift=60)),
    ),
    Fault(
        "softmax-fast-exp",
        "Softmax",
        "The exponential has errors of some percent.",
        lambda c: (lambda e: e / e.sum(c.attributes.get("axis", -1), keepdims=True))(
            (
                12102203.0 * (c.inputs[0] - c.inputs[0].max(c.attributes.get("axis", -1), keepdims=True)).astype(F4)
                + 1064866805.0
            )
            .clip(0)
            .astype("i4")
            .view(F4)
        ),
        node("Softmax", normal(4, 6)),
    ),
    Fault(
        "softmax-one-percent",
        "Softmax",
        "The sum has an error of one percent.",
        lambda c: c.one() * F4(1.01),
        node("Softmax", normal(4, 6)),
    ),
    Fault(
        "softmax-half-sum",
        "Softmax",
        "The sum of exponentials is accumulated in the type of the node.",
        lambda c: (
            lambda e: e / (np.add.accumulate(e.astype(np.float16), -1, dtype=np.float16)[..., -1:]).astype(e.dtype)
        )(np.exp(c.inputs[0] - c.inputs[0].max(-1, keepdims=True))),
        node("Softmax", normal(4, 600, dtype="f2", scale=0.1)),
    ),
    Fault(
        "logsoftmax-axis",
        "LogSoftmax",
        "The last axis is always used.",
        lambda c: softmax_axis(c, -1),
        node("LogSoftmax", normal(5, 6), axis=0),
    ),
    Fault(
        "logsoftmax-of-softmax",
        "LogSoftmax",
        "The logarithm of the rounded softmax is -inf for small probabilities.",
        lambda c: np.log(c.one(operator="Softmax")),
        node("LogSoftmax", normal(4, 6, scale=90)),
    ),
    Fault(
        "lstm-gates",
        "LSTM",
        "The gates have the order i, f, o, c.",
        lambda c: reordered_gates(c, [0, 2, 1, 3]),
        recurrent("LSTM", 4),
    ),
    Fault(
        "lstm-peephole",
        "LSTM",
        "The peephole weights are ignored.",
        lambda c: dropped(c, 7),
        recurrent("LSTM", 4, extra=(None, None, None, weight(1, 12))),
    ),
    Fault(
        "lstm-initial-cell",
        "LSTM",
        "The initial cell is ignored.",
        lambda c: dropped(c, 6),
        recurrent("LSTM", 4, extra=(None, None, normal(1, 2, 4))),
    ),
    Fault(
        "lstm-lengths",
        "LSTM",
        "The lengths of sequences are ignored.",
        full_lengths,
        recurrent("LSTM", 4, extra=(const(5, 3, dtype="i4"),)),
    ),
    Fault(
        "lstm-input-forget",
        "LSTM",
        "input_forget is ignored.",
        lambda c: c(input_forget=0),
        recurrent("LSTM", 4, input_forget=1),
    ),
    Fault("lstm-clip", "LSTM", "clip is ignored.", lambda c: c(clip=None), recurrent("LSTM", 4, clip=0.2)),
    Fault(
        "lstm-reverse",
        "LSTM",
        "The outputs of the reverse direction are in the order of time of the computation.",
        lambda c: (lambda y: [np.flip(y[0], 0), *y[1:]])(c()) if c.attributes.get("direction") == b"reverse" else c(),
        recurrent("LSTM", 4, "reverse"),
    ),
    Fault(
        "gru-linear-before-reset",
        "GRU",
        "linear_before_reset is ignored.",
        lambda c: c(linear_before_reset=0),
        recurrent("GRU", 3, linear_before_reset=1),
    ),
    Fault(
        "gru-gates",
        "GRU",
        "The gates have the order r, z, h.",
        lambda c: reordered_gates(c, [1, 0, 2]),
        recurrent("GRU", 3),
    ),
    Fault(
        "gru-recurrent-bias",
        "GRU",
        "The recurrent bias is ignored.",
        lambda c: c(
            *c.inputs[:3],
            np.concatenate(
                [
                    c.inputs[3][:, : c.inputs[3].shape[1] // 2],
                    np.zeros_like(c.inputs[3][:, c.inputs[3].shape[1] // 2 :]),
                ],
                1,
            ),
            *c.inputs[4:],
        ),
        recurrent("GRU", 3),
    ),
    Fault(
        "rnn-activation",
        "RNN",
        "The activation is always Tanh.",
        lambda c: c(activations=None),
        recurrent("RNN", 1, activations=["Relu"]),
    ),
    Fault(
        "rnn-reverse",
        "RNN",
        "The direction reverse is ignored.",
        lambda c: c(direction="forward"),
        recurrent("RNN", 1, "reverse"),
    ),
    Fault(
        "rnn-initial-state",
        "RNN",
        "The initial state is ignored.",
        lambda c: dropped(c, 5),
        recurrent("RNN", 1, extra=(None, normal(1, 2, 4))),
    ),
    Fault(
        "resize-nearest-ceil",
        "Resize",
        "The nearest mode is ceil.",
        lambda c: c(nearest_mode="ceil"),
        node(
            "Resize",
            normal(1, 2, 4, 4),
            None,
            const(1, 1, 2, 2, dtype="f4"),
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        ),
    ),
    Fault(
        "resize-half-pixel",
        "Resize",
        "The coordinates are asymmetric.",
        lambda c: c(coordinate_transformation_mode="asymmetric"),
        node("Resize", normal(1, 2, 4, 4), None, const(1, 1, 2, 2, dtype="f4"), mode="linear"),
    ),
    Fault(
        "resize-align-corners",
        "Resize",
        "align_corners is ignored.",
        lambda c: c(coordinate_transformation_mode="half_pixel"),
        node(
            "Resize",
            normal(1, 2, 4, 4),
            None,
            const(1, 1, 2, 2, dtype="f4"),
            mode="linear",
            coordinate_transformation_mode="align_corners",
        ),
    ),
    Fault(
        "resize-cubic-coefficient",
        "Resize",
        "The coefficient is -0.5.",
        lambda c: c(cubic_coeff_a=-0.5),
        node("Resize", normal(1, 1, 5, 5), None, const(1, 1, 2, 2, dtype="f4"), mode="cubic"),
    ),
    Fault(
        "resize-exclude-outside",
        "Resize",
        "exclude_outside is ignored.",
        lambda c: c(exclude_outside=0),
        node("Resize", normal(1, 1, 5, 5), None, const(1, 1, 2, 2, dtype="f4"), mode="cubic", exclude_outside=1),
    ),
    Fault(
        "gridsample-align",
        "GridSample",
        "align_corners is ignored.",
        lambda c: c(align_corners=0),
        node("GridSample", normal(1, 2, 4, 4), normal(1, 3, 3, 2, scale=0.5), align_corners=1, mode="linear"),
    ),
    Fault(
        "gridsample-padding",
        "GridSample",
        "padding_mode is zeros.",
        lambda c: c(padding_mode="zeros"),
        node("GridSample", normal(1, 2, 4, 4), normal(1, 3, 3, 2, scale=1), padding_mode="border", mode="linear"),
    ),
    Fault(
        "affinegrid-align",
        "AffineGrid",
        "align_corners is ignored.",
        lambda c: c(align_corners=0),
        node("AffineGrid", normal(1, 2, 3), const(1, 1, 3, 4), align_corners=1),
    ),
    Fault(
        "roialign-mode",
        "RoiAlign",
        "The coordinates are not shifted by half a pixel.",
        lambda c: c(coordinate_transformation_mode="output_half_pixel"),
        node(
            "RoiAlign",
            normal(1, 1, 6, 6),
            array([1, 1, 4, 4], [0, 0, 5, 3]),
            array(0, 0, dtype="i8"),
            output_height=2,
            output_width=2,
            sampling_ratio=2,
        ),
    ),
    Fault(
        "dft-inverse-scale",
        "DFT",
        "The inverse is not divided by n.",
        lambda c: c.one() * c.inputs[0].shape[1] if c.attributes.get("inverse") else c(),
        node("DFT", normal(1, 8, 2), None, scalar(1, "i8"), inverse=1),
    ),
    Fault(
        "negativeloglikelihood-ignored-mean",
        "NegativeLogLikelihoodLoss",
        "Ignored targets are counted in the mean.",
        lambda c: c.one(reduction="sum") / F4(c.inputs[1].size),
        node("NegativeLogLikelihoodLoss", normal(6, 4), array(0, 1, 2, 3, 1, 1, dtype="i8"), ignore_index=1),
    ),
    Fault(
        "negativeloglikelihood-weighted-mean",
        "NegativeLogLikelihoodLoss",
        "The mean is not divided by the sum of weights.",
        lambda c: c.one(reduction="sum") / F4(c.inputs[1].size),
        node(
            "NegativeLogLikelihoodLoss",
            normal(6, 4),
            array(0, 1, 2, 3, 1, 1, dtype="i8"),
            const(0.5, 2, 1, 3, dtype="f4"),
        ),
    ),
    Fault(
        "softmaxcrossentropy-ignore",
        "SoftmaxCrossEntropyLoss",
        "ignore_index is ignored.",
        lambda c: c(ignore_index=None),
        node("SoftmaxCrossEntropyLoss", normal(6, 4), array(0, 1, 2, 3, 1, 1, dtype="i8"), ignore_index=1),
    ),
    Fault(
        "attention-scale",
        "Attention",
        "The scale is 1 over the size of a head.",
        lambda c: c(scale=1 / c.inputs[0].shape[-1]),
        node("Attention", normal(1, 2, 4, 8), normal(1, 2, 4, 8, scale=2), normal(1, 2, 4, 8), opset=23),
    ),
    Fault(
        "attention-causal",
        "Attention",
        "is_causal is ignored.",
        lambda c: c(is_causal=0),
        node("Attention", normal(1, 2, 4, 8), normal(1, 2, 4, 8, scale=2), normal(1, 2, 4, 8), opset=23, is_causal=1),
    ),
    Fault(
        "attention-softcap",
        "Attention",
        "softcap is ignored.",
        lambda c: c(softcap=0.0),
        node("Attention", normal(1, 2, 4, 8), normal(1, 2, 4, 8, scale=2), normal(1, 2, 4, 8), opset=23, softcap=0.5),
    ),
    Fault(
        "rotaryembedding-interleaved",
        "RotaryEmbedding",
        "interleaved is ignored.",
        lambda c: c(interleaved=0),
        node(
            "RotaryEmbedding", normal(1, 2, 3, 8), normal(1, 3, 4), normal(1, 3, 4, scale=0.5), opset=23, interleaved=1
        ),
    ),
]
