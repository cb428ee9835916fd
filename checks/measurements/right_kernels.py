"""Right kernels of many operators, which `kernel_cheats.py --right` gives to `judge_kernel`.

Each computes its operator as NumPy does, in double, in blocks, by fused steps, by one pass, or by another algorithm
that kernels use. A kernel raises NotImplementedError for what it does not compute, such as a rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Kernel = Callable[..., Any]

F = np.float32


@dataclass(frozen=True)
class RightKernel:
    """A right kernel.

    Attributes:
        operator: its operator.
        name: how it computes.
        kernel: the function.
        attributes: the attributes of the operator.
        options: further options of `judge_kernel`.
    """

    operator: str
    name: str
    kernel: Kernel
    attributes: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)


def requires(condition: Any) -> None:
    """Raise NotImplementedError, by which a kernel refuses inputs, unless a condition is true."""
    if not condition:
        raise NotImplementedError


def in_double(kernel: Kernel) -> Kernel:
    """Return a kernel that computes in double and rounds once."""

    def compute(*inputs: Any) -> Any:
        wide = [each.astype(np.float64) if getattr(each, "dtype", None) == F else each for each in inputs]
        result = np.asarray(kernel(*wide))
        return result.astype(F) if result.dtype == np.float64 else result

    return compute


# Elementwise


def erf(x: Any) -> Any:
    """Return the error function, in double."""
    return np.vectorize(math.erf, otypes=[float])(x.astype(np.float64))


def softplus(x: Any) -> Any:
    """Return Softplus without overflow."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


ALPHA = 1.6732632
GAMMA = 1.050701

UNARY: dict[str, Kernel] = {
    "Abs": np.abs,
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Ceil": np.ceil,
    "Celu": lambda x: np.maximum(x, 0) + np.minimum(np.expm1(np.minimum(x, 0)), 0),
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Elu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "Erf": lambda x: erf(x).astype(x.dtype),
    "Exp": np.exp,
    "Floor": np.floor,
    "Gelu": lambda x: (0.5 * x.astype(np.float64) * (1 + erf(x / math.sqrt(2)))).astype(x.dtype),
    "HardSigmoid": lambda x: np.clip(x * x.dtype.type(0.2) + x.dtype.type(0.5), 0, 1),
    "HardSwish": lambda x: x * np.clip(x / x.dtype.type(6) + x.dtype.type(0.5), 0, 1),
    "Identity": np.array,
    "LeakyRelu": lambda x: np.where(x < 0, x * x.dtype.type(F(0.01)), x),
    "Log": np.log,
    "Mish": lambda x: x * np.tanh(softplus(x)),
    "Neg": np.negative,
    "Reciprocal": np.reciprocal,
    "Relu": lambda x: np.where(x < 0, x.dtype.type(0), x),
    "Round": np.rint,
    "Selu": lambda x: np.where(
        x > 0, x.dtype.type(F(GAMMA)) * x, x.dtype.type(F(GAMMA) * F(ALPHA)) * np.expm1(np.minimum(x, 0))
    ),
    "Shrink": lambda x: np.where((x < -0.5) | (x > 0.5), x, x.dtype.type(0)),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Sign": np.sign,
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Softplus": softplus,
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Sqrt": np.sqrt,
    "Tan": np.tan,
    "Tanh": np.tanh,
    "ThresholdedRelu": lambda x: np.where(x > 1, x, x.dtype.type(0)),
}
"""Operators of one operand: computed in float, and in double."""

BINARY: dict[str, Kernel] = {
    "Add": np.add,
    "Div": np.divide,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Mul": np.multiply,
    "PRelu": lambda x, slope: np.where(x < 0, slope * x, x),
    "Sub": np.subtract,
}
"""Operators of two operands: computed in float, and in double."""


def power(x: Any, y: Any) -> Any:
    """Return a power of the type of the base."""
    return np.power(x.astype(np.float64), y.astype(np.float64)).astype(F)


def fold(function: Kernel) -> Kernel:
    """Return a kernel of any number of operands."""

    def compute(*inputs: Any) -> Any:
        total = np.array(inputs[0])
        for each in inputs[1:]:
            total = function(total, each)
        return total

    return compute


def mean_of(*inputs: Any) -> Any:
    """Return the mean of several operands."""
    return np.asarray(fold(np.add)(*inputs) / F(len(inputs)))


def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    """Return Clip: first the maximum, then the minimum."""
    result = np.array(x)
    result = result if low is None else np.maximum(result, low)
    return result if high is None else np.minimum(result, high)


def elementwise() -> Iterator[RightKernel]:
    """Yield kernels of elementwise operators."""
    for operator, kernel in UNARY.items():
        yield RightKernel(operator, "float", lambda x, kernel=kernel: np.asarray(kernel(x)).astype(x.dtype))
        yield RightKernel(operator, "double", in_double(kernel))
    for operator, kernel in BINARY.items():
        yield RightKernel(operator, "float", kernel)
        yield RightKernel(operator, "double", in_double(kernel))
    yield RightKernel("Pow", "double", power)
    yield RightKernel("Mod", "fmod", np.fmod, {"fmod": 1})
    for operator, function in {"Max": np.maximum, "Min": np.minimum, "Sum": np.add}.items():
        yield RightKernel(operator, "pairs", fold(function))
    yield RightKernel("Mean", "pairs", mean_of)
    yield RightKernel("Clip", "maximum first", clip)
    yield RightKernel("Where", "NumPy", np.where)
    yield RightKernel("IsNaN", "NumPy", np.isnan)
    yield RightKernel("IsInf", "NumPy", np.isinf)
    for operator, function in {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}.items():
        yield RightKernel(operator, "NumPy", function, options={"types": ()})
    yield RightKernel("Not", "NumPy", np.logical_not, options={"types": ()})


# Products


def product_by_steps(a: Any, b: Any, *, is_fused: bool = False, reverse: bool = False) -> Any:
    """Return a product of matrices, one term of each sum after the other."""
    requires(a.ndim > 1 and b.ndim > 1)
    total = np.zeros(np.matmul(a, b).shape, F)
    places = range(a.shape[-1])
    for place in reversed(places) if reverse else places:
        column = a[..., :, place, None]
        row = b[..., None, place, :]
        if is_fused:  # a product of floats is exact in double
            total = (column.astype(np.float64) * row.astype(np.float64) + total).astype(F)
        else:
            total = total + column * row
    return total


def product_in_blocks(a: Any, b: Any, block: int) -> Any:
    """Return a product of matrices whose inner axis is split into blocks."""
    requires(a.ndim > 1 and b.ndim > 1)
    total = np.zeros(np.matmul(a, b).shape, F)
    for start in range(0, a.shape[-1], block):
        total = total + np.matmul(a[..., start : start + block], b[..., start : start + block, :])
    return total


def gemm(a: Any, b: Any, c: Any, alpha: float, beta: float, *, turned: bool) -> Any:
    """Return Gemm."""
    y = F(alpha) * np.matmul(a, b.T if turned else b)
    return y if c is None else y + F(beta) * c


def windows(x: Any, kernel: Any, stride: int, dilation: int) -> Any:
    """Return the windows of an input, with the axes of the kernel last."""
    rank = len(kernel)
    extent = [(size - 1) * dilation + 1 for size in kernel]
    requires(all(size >= each for size, each in zip(x.shape[2:], extent, strict=True)))
    found = sliding_window_view(x, extent, axis=tuple(range(2, 2 + rank)))
    steps = (slice(None, None, stride),) * rank
    return found[(slice(None), slice(None), *steps, *(slice(None, None, dilation),) * rank)]


def with_bias(y: Any, b: Any) -> Any:
    """Return the sum of channels and their bias."""
    return y if b is None else y + b.reshape(1, -1, *[1] * (y.ndim - 2))


def convolution(x: Any, w: Any, b: Any = None, *, stride: int = 1, dilation: int = 1, pad: int = 0) -> Any:
    """Return a convolution as one product of tensors."""
    requires(w.shape[1] == x.shape[1])
    rank = x.ndim - 2
    padded = np.pad(x, [(0, 0), (0, 0), *[(pad, pad)] * rank])
    found = windows(padded, w.shape[2:], stride, dilation)
    axes = [1, *range(2 + rank, 2 + 2 * rank)], list(range(1, 2 + rank))
    return with_bias(np.ascontiguousarray(np.moveaxis(np.tensordot(found, w, axes=axes), -1, 1)), b)


def convolution_by_columns(x: Any, w: Any, b: Any = None) -> Any:
    """Return a convolution as a product of matrices (im2col)."""
    requires(x.ndim == 4)
    found = windows(x, w.shape[2:], 1, 1)
    count, _, height, width = found.shape[:4]
    columns = found.transpose(0, 1, 4, 5, 2, 3).reshape(count, -1, height * width)
    return with_bias((w.reshape(len(w), -1) @ columns).reshape(count, -1, height, width), b)


def convolution_by_taps(x: Any, w: Any, b: Any = None) -> Any:
    """Return a convolution as the sum over the places of the kernel."""
    requires(x.ndim == 4)
    height, width = (x.shape[axis] - w.shape[axis] + 1 for axis in (2, 3))
    requires(height > 0 and width > 0)
    total = np.zeros((len(x), len(w), height, width), F)
    for row in range(w.shape[2]):
        for column in range(w.shape[3]):
            part = x[:, :, row : row + height, column : column + width]
            total = total + np.einsum("nchw,mc->nmhw", part, w[:, :, row, column])
    return with_bias(total, b)


OF_INPUTS = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], F)
OF_WEIGHTS = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], F)
OF_OUTPUTS = np.array([[1, 1, 1, 0], [0, 1, -1, -1]], F)


def convolution_by_tiles(x: Any, w: Any, b: Any = None) -> Any:
    """Return a convolution by Winograd's transforms of tiles of 2 x 2 outputs."""
    requires(x.ndim == 4 and w.shape[2:] == (3, 3) and not (x.shape[2] % 2 or x.shape[3] % 2))
    requires(min(x.shape[2:]) >= 4)
    tiles = sliding_window_view(x, (4, 4), axis=(2, 3))[:, :, ::2, ::2]
    products = np.einsum("mcij,nchwij->nmhwij", OF_WEIGHTS @ w @ OF_WEIGHTS.T, OF_INPUTS @ tiles @ OF_INPUTS.T)
    y = OF_OUTPUTS @ products @ OF_OUTPUTS.T
    count, channels, height, width = y.shape[:4]
    return with_bias(y.transpose(0, 1, 2, 4, 3, 5).reshape(count, channels, 2 * height, 2 * width), b)


def convolution_by_fourier_transforms(x: Any, w: Any, b: Any = None) -> Any:
    """Return a convolution by Fourier transforms of the image, in the type of the input."""
    requires(x.ndim == 4)
    size = [image + kernel - 1 for image, kernel in zip(x.shape[2:], w.shape[2:], strict=True)]
    height, width = (image - kernel + 1 for image, kernel in zip(x.shape[2:], w.shape[2:], strict=True))
    products = np.fft.rfft2(x, size)[:, np.newaxis] * np.conj(np.fft.rfft2(w, size))
    y = np.fft.irfft2(products.sum(axis=2), size)[..., :height, :width]
    return with_bias(y.astype(x.dtype), b)


def pooled(function: Kernel) -> Kernel:
    """Return a pooling of windows of two elements along each axis."""

    def compute(x: Any) -> Any:
        found = windows(x, (2,) * (x.ndim - 2), 1, 1)
        return function(found, axis=tuple(range(x.ndim, found.ndim)))

    return compute


def products() -> Iterator[RightKernel]:
    """Yield kernels of products of matrices, convolutions and poolings."""
    yield RightKernel("MatMul", "NumPy", np.matmul)
    yield RightKernel("MatMul", "double", in_double(np.matmul))
    yield RightKernel("MatMul", "one term after the other", product_by_steps)
    yield RightKernel("MatMul", "last term first", lambda a, b: product_by_steps(a, b, reverse=True))
    yield RightKernel("MatMul", "fused multiply-add", lambda a, b: product_by_steps(a, b, is_fused=True))
    for block in (2, 4, 16):
        kernel = lambda a, b, block=block: product_in_blocks(a, b, block)  # noqa: E731
        yield RightKernel("MatMul", f"blocks of {block}", kernel)
    for alpha, beta, turned in ((1.0, 1.0, False), (0.5, 2.0, True), (-1.5, 0.25, False)):
        attributes = {"alpha": alpha, "beta": beta, "transB": int(turned)}
        kernel = lambda a, b, c=None, alpha=alpha, beta=beta, turned=turned: gemm(  # noqa: E731
            a, b, c, alpha, beta, turned=turned
        )
        yield RightKernel("Gemm", f"alpha {alpha}", kernel, attributes)
    for equation in ("ij,jk->ik", "bij,bjk->bik", "ij,ij->i"):
        kernel = lambda a, b, equation=equation: np.einsum(equation, a, b)  # noqa: E731
        yield RightKernel("Einsum", equation, kernel, {"equation": equation})
    yield RightKernel("Conv", "one product", convolution)
    yield RightKernel("Conv", "double", in_double(convolution))
    yield RightKernel("Conv", "columns", convolution_by_columns)
    yield RightKernel("Conv", "places of the kernel", convolution_by_taps)
    like = {"like": [np.ones((1, 3, 6, 8), F), np.ones((2, 3, 3, 3), F), np.ones(2, F)]}  # few drawn shapes have tiles
    yield RightKernel("Conv", "Winograd", convolution_by_tiles, options=like)
    yield RightKernel("Conv", "Fourier transforms", convolution_by_fourier_transforms)
    two = {"strides": [2, 2]}
    yield RightKernel("Conv", "strides", lambda x, w, b=None: convolution(x, w, b, stride=2), two)
    one = {"pads": [1, 1, 1, 1]}
    yield RightKernel("Conv", "pads", lambda x, w, b=None: convolution(x, w, b, pad=1), one)
    gaps = {"dilations": [2, 2]}
    yield RightKernel("Conv", "dilations", lambda x, w, b=None: convolution(x, w, b, dilation=2), gaps)
    shape = {"kernel_shape": [2, 2]}
    yield RightKernel("MaxPool", "NumPy", pooled(np.max), shape)
    yield RightKernel("AveragePool", "NumPy", pooled(np.mean), shape)
    yield RightKernel("AveragePool", "double", in_double(pooled(np.mean)), shape)
    for operator, function in {"GlobalAveragePool": np.mean, "GlobalMaxPool": np.max}.items():
        kernel = lambda x, function=function: function(x, axis=tuple(range(2, x.ndim)), keepdims=True)  # noqa: E731
        yield RightKernel(operator, "NumPy", kernel)


# Reductions and normalizations


def reduced(function: Kernel) -> Kernel:
    """Return a reduction over the given axes, or over all axes."""

    def compute(x: Any, axes: Any = None) -> Any:
        chosen = range(x.ndim) if axes is None or not axes.size else axes.tolist()
        return np.asarray(function(x, tuple(chosen))).astype(x.dtype)

    return compute


def one_after_the_other(x: Any, axes: Any) -> Any:
    """Return sums that add one element after the other, in the order of memory."""
    requires(axes == (x.ndim - 1,) and x.shape[-1])
    total = x[..., :1].copy()
    for place in range(1, x.shape[-1]):
        total = total + x[..., place : place + 1]
    return total


def log_sum_exp(x: Any, axes: Any) -> Any:
    """Return the logarithm of the sum of exponentials, without overflow."""
    largest = x.max(axes, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(largest), largest, x.dtype.type(0))
    return np.log(np.exp(x - shift).sum(axes, keepdims=True)) + shift


REDUCTIONS: dict[str, Kernel] = {
    "ReduceSum": lambda x, axes: x.sum(axes, keepdims=True),
    "ReduceMean": lambda x, axes: x.mean(axes, keepdims=True),
    "ReduceMax": lambda x, axes: x.max(axes, keepdims=True, initial=-np.inf),
    "ReduceMin": lambda x, axes: x.min(axes, keepdims=True, initial=np.inf),
    "ReduceProd": lambda x, axes: x.prod(axes, keepdims=True),
    "ReduceL1": lambda x, axes: np.abs(x).sum(axes, keepdims=True),
    "ReduceL2": lambda x, axes: np.sqrt((x * x).sum(axes, keepdims=True)),
    "ReduceSumSquare": lambda x, axes: (x * x).sum(axes, keepdims=True),
    "ReduceLogSum": lambda x, axes: np.log(x.sum(axes, keepdims=True)),
    "ReduceLogSumExp": log_sum_exp,
}


def softmax(x: Any, axis: int = -1) -> Any:
    """Return the softmax of an axis by three passes."""
    exponential = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return exponential / exponential.sum(axis, keepdims=True)


def softmax_by_reciprocal(x: Any) -> Any:
    """Return the softmax of the last axis with one division for each sum."""
    exponential = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return exponential * (F(1) / exponential.sum(-1, keepdims=True))


def softmax_by_powers_of_two(x: Any) -> Any:
    """Return the softmax of the last axis by powers of two, as GPUs compute exponentials."""
    power_of_two = np.exp2((x - x.max(-1, keepdims=True, initial=-np.inf)) * F(math.log2(math.e)))
    return power_of_two / power_of_two.sum(-1, keepdims=True)


def online_softmax(x: Any) -> Any:
    """Return the softmax of the last axis by one pass with a running maximum and a running sum."""
    largest = np.full(x.shape[:-1], -np.inf, F)
    total = np.zeros(x.shape[:-1], F)
    for place in range(x.shape[-1]):
        new = np.maximum(largest, x[..., place])
        share = np.where(x[..., place] == -np.inf, F(0), np.exp(x[..., place] - new))
        total = total * np.where(new == largest, F(1), np.exp(largest - new)) + share
        largest = new
    return np.exp(x - largest[..., None]) / total[..., None]


def log_softmax(x: Any) -> Any:
    """Return the logarithm of the softmax of the last axis."""
    shifted = x - x.max(-1, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def normalized(x: Any, axes: Any) -> Any:
    """Return elements without their mean, divided by their deviation."""
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axes, keepdims=True) + x.dtype.type(1e-5))


def layer_normalization(x: Any, scale: Any, bias: Any = None) -> Any:
    """Return the normalization of the last axis by two passes."""
    y = normalized(x, -1) * scale
    return y if bias is None else y + bias


def normalization_by_welford(x: Any, scale: Any, bias: Any = None) -> Any:
    """Return the normalization of the last axis by one pass with running means."""
    mean = np.zeros(x.shape[:-1], F)
    squares = np.zeros(x.shape[:-1], F)
    for place in range(x.shape[-1]):
        distance = x[..., place] - mean
        mean = mean + distance / F(place + 1)
        squares = squares + distance * (x[..., place] - mean)
    deviation = np.sqrt(squares / F(x.shape[-1]) + F(1e-5))
    y = (x - mean[..., None]) / deviation[..., None] * scale
    return y if bias is None else y + bias


def rms_normalization(x: Any, scale: Any) -> Any:
    """Return the normalization by the root of the mean square."""
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + x.dtype.type(1e-5)) * scale


def channels(values: Any, x: Any) -> Any:
    """Return one value for each channel, in the rank of a tensor."""
    return values.reshape(1, -1, *[1] * (x.ndim - 2))


def batch_normalization(x: Any, scale: Any, bias: Any, mean: Any, variance: Any) -> Any:
    """Return the normalization of channels."""
    deviation = np.sqrt(channels(variance, x) + x.dtype.type(1e-5))
    return (x - channels(mean, x)) / deviation * channels(scale, x) + channels(bias, x)


def instance_normalization(x: Any, scale: Any, bias: Any) -> Any:
    """Return the normalization of each channel of each instance."""
    return normalized(x, tuple(range(2, x.ndim))) * channels(scale, x) + channels(bias, x)


def group_normalization(x: Any, scale: Any, bias: Any) -> Any:
    """Return the normalization of two groups of channels."""
    requires(x.shape[1] % 2 == 0)
    groups = x.reshape(x.shape[0], 2, -1)
    return normalized(groups, -1).reshape(x.shape) * channels(scale, x) + channels(bias, x)


def reductions() -> Iterator[RightKernel]:
    """Yield kernels of reductions, of Softmax and of normalizations."""
    for operator, function in REDUCTIONS.items():
        yield RightKernel(operator, "float", reduced(function))
        yield RightKernel(operator, "double", in_double(reduced(function)))
    yield RightKernel("ReduceSum", "one element after the other", reduced(one_after_the_other))
    yield RightKernel("Softmax", "three passes", softmax)
    yield RightKernel("Softmax", "double", in_double(softmax))
    yield RightKernel("Softmax", "first axis", lambda x: softmax(x, 0), {"axis": 0})
    yield RightKernel("Softmax", "reciprocal", softmax_by_reciprocal)
    yield RightKernel("Softmax", "powers of two", softmax_by_powers_of_two)
    yield RightKernel("Softmax", "online", online_softmax)
    yield RightKernel("LogSoftmax", "float", log_softmax)
    yield RightKernel("LogSoftmax", "double", in_double(log_softmax))
    yield RightKernel("LayerNormalization", "two passes", layer_normalization)
    yield RightKernel("LayerNormalization", "double", in_double(layer_normalization))
    yield RightKernel("LayerNormalization", "Welford", normalization_by_welford)
    yield RightKernel("RMSNormalization", "float", rms_normalization)
    yield RightKernel("RMSNormalization", "double", in_double(rms_normalization))
    yield RightKernel("BatchNormalization", "float", batch_normalization)
    yield RightKernel("BatchNormalization", "double", in_double(batch_normalization))
    yield RightKernel("InstanceNormalization", "float", instance_normalization)
    yield RightKernel("InstanceNormalization", "double", in_double(instance_normalization))
    yield RightKernel("GroupNormalization", "float", group_normalization, {"num_groups": 2})
    yield RightKernel("GroupNormalization", "double", in_double(group_normalization), {"num_groups": 2})


# Movements, indices and types


def wrapped(indices: Any, size: int) -> Any:
    """Return indices that count from the begin."""
    return np.where(indices < 0, indices + size, indices)


def gather_elements(x: Any, indices: Any) -> Any:
    """Return the elements at indices along the first axis."""
    places = list(np.indices(indices.shape))
    places[0] = wrapped(indices, x.shape[0])
    return x[tuple(places)]


def scatter_elements(x: Any, indices: Any, updates: Any) -> Any:
    """Return a tensor with other elements at indices along the first axis."""
    y = np.array(x)
    places = list(np.indices(indices.shape))
    places[0] = wrapped(indices, x.shape[0])
    y[tuple(places)] = updates
    return y


def top_k(x: Any, count: Any) -> Any:
    """Return the largest elements of the last axis, and the smallest index of equal ones."""
    requires(not np.isnan(x).any())
    order = np.argsort(-x, axis=-1, kind="stable")[..., : int(count.reshape(()))]
    return np.take_along_axis(x, order, -1), order.astype(np.int64)


def index_of(function: Kernel) -> Kernel:
    """Return the index of an extreme of the first axis."""

    def compute(x: Any) -> Any:
        requires(not np.isnan(x).any())
        return np.asarray(function(x, axis=0, keepdims=True)).astype(np.int64)

    return compute


def cumulative_sum(x: Any, axis: Any) -> Any:
    """Return the sums of the elements up to each one."""
    return np.cumsum(x, axis=int(axis.reshape(())), dtype=x.dtype)


def triangle(x: Any, diagonal: Any = None) -> Any:
    """Return the upper triangle."""
    return np.triu(x, 0 if diagonal is None else int(diagonal.reshape(())))


def pad(x: Any, amounts: Any, value: Any = None, axes: Any = None) -> Any:
    """Return a tensor with a constant around it."""
    requires(axes is None and (amounts >= 0).all())
    sides = list(zip(amounts[: x.ndim].tolist(), amounts[x.ndim :].tolist(), strict=True))
    return np.pad(x, sides, constant_values=0 if value is None else value)


def blocks_to_depth(x: Any) -> Any:
    """Return blocks of 2 x 2 as channels."""
    count, depth, height, width = x.shape
    parts = x.reshape(count, depth, height // 2, 2, width // 2, 2)
    return np.array(parts.transpose(0, 3, 5, 1, 2, 4)).reshape(count, 4 * depth, height // 2, width // 2)


def depth_to_blocks(x: Any) -> Any:
    """Return channels as blocks of 2 x 2."""
    count, depth, height, width = x.shape
    parts = x.reshape(count, 2, 2, depth // 4, height, width).transpose(0, 3, 4, 1, 5, 2)
    return np.array(parts).reshape(count, depth // 4, 2 * height, 2 * width)


def quantize(x: Any, scale: Any, zero: Any = None) -> Any:
    """Return integers of 8 bits, with one scale."""
    requires(scale.size == 1 and (zero is None or zero.dtype in (np.uint8, np.int8)))
    kind = np.iinfo(np.uint8 if zero is None else zero.dtype)
    rounded = np.rint(x / scale.reshape(())) + (0 if zero is None else zero.reshape(()).astype(F))
    return np.clip(rounded, kind.min, kind.max).astype(kind.dtype)


def dequantize(x: Any, scale: Any, zero: Any = None) -> Any:
    """Return the numbers of integers of 8 bits, with one scale."""
    requires(scale.size == 1 and scale.dtype == F and x.dtype in (np.uint8, np.int8))
    shifted = x.astype(np.int32) - (0 if zero is None else zero.reshape(()).astype(np.int32))
    return shifted.astype(F) * scale.reshape(())


def attention(q: Any, k: Any, v: Any, *others: Any) -> Any:
    """Return the attention of heads by three steps."""
    requires(q.ndim == 4 and q.shape[1] == k.shape[1] and all(each is None for each in others))
    scale = F(1 / math.sqrt(q.shape[-1]))
    return softmax((q @ np.swapaxes(k, -1, -2)) * scale) @ v


def sigmoid(x: Any) -> Any:
    """Return Sigmoid."""
    return 1 / (1 + np.exp(-x))


def lstm(x: Any, w: Any, r: Any, *others: Any) -> Any:
    """Return an LSTM of one direction without peepholes, of full lengths."""
    bias, lengths, hidden, cell, peepholes = [*others, *[None] * (5 - len(others))]
    requires(w.shape[0] == 1 and lengths is None and peepholes is None)
    size = r.shape[-1]
    h = np.zeros((x.shape[1], size), F) if hidden is None else hidden[0]
    c = np.zeros((x.shape[1], size), F) if cell is None else cell[0]
    b = np.zeros(8 * size, F) if bias is None else bias[0]
    found = []
    for step in x:
        gates = step @ w[0].T + h @ r[0].T + b[: 4 * size] + b[4 * size :]
        i, o, f, new = (gates[:, number * size : (number + 1) * size] for number in range(4))
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(new)
        h = sigmoid(o) * np.tanh(c)
        found.append(h)
    return np.stack(found)[:, None], h[None].copy(), c[None].copy()


def movements() -> Iterator[RightKernel]:
    """Yield kernels that move or choose elements, or change their type."""
    yield RightKernel("Transpose", "copy", lambda x: np.array(x.T, order="C"))
    yield RightKernel("Concat", "NumPy", lambda *each: np.concatenate(each, 0), {"axis": 0})
    yield RightKernel("Gather", "NumPy", lambda x, i: np.take(x, wrapped(i, x.shape[0]), axis=0))
    yield RightKernel("GatherElements", "places", gather_elements)
    yield RightKernel("ScatterElements", "places", scatter_elements)
    yield RightKernel("Expand", "NumPy", lambda x, shape: np.array(x * np.ones(shape, x.dtype)))
    yield RightKernel("Tile", "NumPy", np.tile)
    yield RightKernel("Trilu", "NumPy", triangle)
    yield RightKernel("Pad", "NumPy", pad)
    yield RightKernel("CumSum", "NumPy", cumulative_sum)
    yield RightKernel("CumSum", "double", in_double(cumulative_sum))
    yield RightKernel("TopK", "stable order", top_k)
    yield RightKernel("ArgMax", "NumPy", index_of(np.argmax))
    yield RightKernel("ArgMin", "NumPy", index_of(np.argmin))
    yield RightKernel("SpaceToDepth", "axes", blocks_to_depth, {"blocksize": 2})
    yield RightKernel("DepthToSpace", "axes", depth_to_blocks, {"blocksize": 2})
    yield RightKernel("QuantizeLinear", "one scale", quantize)
    yield RightKernel("DequantizeLinear", "one scale", dequantize, options={"types": ("uint8", "float")})
    yield RightKernel("Shape", "NumPy", lambda x: np.array(x.shape, np.int64))
    yield RightKernel("Size", "NumPy", lambda x: np.array(x.size, np.int64))
    yield RightKernel("NonZero", "NumPy", lambda x: np.array(np.nonzero(x)).astype(np.int64))
    yield RightKernel("Flatten", "copy", lambda x: np.array(x.reshape(math.prod(x.shape[:1]), -1)))
    yield RightKernel("Cast", "float16", lambda x: x.astype(np.float16), {"to": 10})
    yield RightKernel("Attention", "three steps", attention)
    yield RightKernel("LSTM", "steps", lstm, {"hidden_size": 3}, {"output_count": 3})


def right_kernels() -> list[RightKernel]:
    """Return all kernels of this module."""
    return [*elementwise(), *products(), *reductions(), *movements()]
