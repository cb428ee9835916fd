"""The planted mistakes of `planted_mistakes`: changes of a node, of its operands or of its outputs.

The mistakes were written from the pages of the operators, without the rules of the mutants. The expected name of each
is that of the mutant with the same meaning; it is empty if there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from conformance.exact.models.arrays import format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array


@dataclass(frozen=True)
class Mistake:
    """A planted mistake.

    Attributes:
        operator: the operator.
        text: the mistake.
        name: the expected name; empty if no mutant has the meaning.
        attributes: new values of attributes, each from the old value; None removes the attribute.
        operands: returns other operands.
        outputs: returns other outputs from the operands and the right outputs.
        left_out: the number of an input that is left out.
    """

    operator: str
    text: str
    name: str
    attributes: Mapping[str, Callable[[Any], Any]] | None = None
    operands: Callable[[list[Any]], list[Any]] | None = None
    outputs: Callable[[list[Any], list[Any]], list[Any]] | None = None
    left_out: int | None = None


def ignored(operator: str, *names: str) -> list[Mistake]:
    """Return the mistakes of ignoring attributes."""
    return [
        Mistake(operator, f"does not read {name}", f"ignores {name}", attributes={name: lambda _: None})
        for name in names
    ]


def without(operator: str, number: int, name: str) -> Mistake:
    """Return the mistake of ignoring an optional input."""
    return Mistake(operator, f"does not read the input {name}", f"ignores the input {name}", left_out=number)


def changed(operator: str, text: str, name: str, **attributes: Callable[[Any], Any]) -> Mistake:
    """Return a mistake with attributes."""
    return Mistake(operator, text, name, attributes=attributes)


def reading(operator: str, text: str, name: str, operands: Callable[[list[Any]], list[Any]]) -> Mistake:
    """Return a mistake with operands."""
    return Mistake(operator, text, name, operands=operands)


def returning(operator: str, text: str, name: str, outputs: Callable[[list[Any], list[Any]], list[Any]]) -> Mistake:
    """Return a mistake with outputs."""
    return Mistake(operator, text, name, outputs=outputs)


def swapped(operands: list[Any]) -> list[Any]:
    """Swap the first two operands."""
    return [operands[1], operands[0], *operands[2:]]


def through(source: Any, lower: Any) -> Callable[[list[Any]], list[Any]]:
    """Read the tensors of a type in another one."""

    def change(arrays: list[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            return [a.astype(lower).astype(source) if a is not None and a.dtype == source else a for a in arrays]

    return change


def elementwise(compute: Callable[..., Any]) -> Callable[[list[Any], list[Any]], list[Any]]:
    """Compute the first output from the operands in double."""

    def change(operands: list[Any], outputs: list[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            return [np.asarray(compute(*operands)).astype(outputs[0].dtype), *outputs[1:]]

    return change


def each_output(compute: Callable[[Array], Any]) -> Callable[[list[Any], list[Any]], list[Any]]:
    """Change every output."""

    def change(_: list[Any], outputs: list[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            return [np.asarray(compute(a)).astype(a.dtype) for a in outputs]

    return change


def tail_lost(size: int) -> Callable[[Array], Array]:
    """Return zeros after the last whole vector."""

    def change(a: Array) -> Array:
        flat = a.copy().reshape(-1)
        flat[flat.size - flat.size % size :] = 0
        return flat.reshape(a.shape)

    return change


def last_lost(axis: int) -> Callable[[Array], Array]:
    """Return zeros in the last place of an axis."""

    def change(a: Array) -> Array:
        if a.ndim < 2 or not a.size:
            return a
        changed = np.moveaxis(a.copy(), axis, 0)
        changed[-1] = 0
        return np.moveaxis(changed, 0, axis)

    return change


def wide(a: Array) -> Array:
    """Return doubles."""
    return a.astype(np.float64)


def half_again(a: Array) -> Array:
    """Repeat the first half of the elements in the second half."""
    flat = a.copy().reshape(-1)
    half = flat.size // 2
    flat[half : 2 * half] = flat[:half]
    return flat.reshape(a.shape)


def as_half(a: Array) -> Array:
    """Round floats to half precision."""
    return a.astype(np.float16) if a.dtype == np.float32 else a


def nan_as_zero(arrays: list[Any]) -> list[Any]:
    """Read NaN as 0."""
    return [np.where(a == a, a, np.zeros((), a.dtype)) if a.dtype.kind in "fV" else a for a in arrays]  # noqa: PLR0124


def least_of(arrays: Sequence[Array]) -> Array:
    """Return the least element of several tensors at each place."""
    result = arrays[0]
    for array in arrays[1:]:
        result = np.where(array < result, array, result)
    return result


MISTAKES = (
    *ignored("Conv", "dilations", "group"),
    without("Conv", 2, "B"),
    changed("Conv", "swaps the strides", "reverses strides", strides=lambda s: s[::-1]),
    changed(
        "Conv",
        "takes the first stride for all",
        "takes the first element for all of strides",
        strides=lambda s: [s[0]] * len(s),
    ),
    returning("Conv", "leaves out the last channel", "leaves out the last channel", each_output(last_lost(1))),
    returning("Conv", "adds 0.01", "", each_output(lambda a: wide(a) + 0.01)),
    *ignored("ConvTranspose", "output_padding", "dilations"),
    without("ConvTranspose", 2, "B"),
    *ignored("MaxPool", "ceil_mode", "dilations", "pads", "strides"),
    *ignored("AveragePool", "count_include_pad", "ceil_mode"),
    changed("AveragePool", "always counts the padding", "takes count_include_pad as 1", count_include_pad=lambda _: 1),
    *ignored("LpPool", "p"),
    returning(
        "GlobalAveragePool",
        "returns half precision",
        "returns float32 rounded to float16",
        each_output(lambda a: a.astype(np.float16) if a.dtype == np.float32 else a),
    ),
    *ignored("Gemm", "alpha", "beta", "transB"),
    without("Gemm", 2, "C"),
    reading("MatMul", "multiplies in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    reading("MatMul", "multiplies in bfloat16", "reads float32 in bfloat16", through(np.float32, ml_dtypes.bfloat16)),
    *ignored("Softmax", "axis"),
    returning("Softmax", "returns 1 % more", "", each_output(lambda a: wide(a) * 1.01)),
    *ignored("LogSoftmax", "axis"),
    *ignored("LayerNormalization", "epsilon", "axis"),
    without("LayerNormalization", 2, "B"),
    reading("LayerNormalization", "ignores the scale", "", lambda x: [x[0], np.ones_like(x[1]), *x[2:]]),
    *ignored("BatchNormalization", "epsilon"),
    *ignored("InstanceNormalization", "epsilon"),
    *ignored("LRN", "alpha", "bias", "beta"),
    *ignored("LpNormalization", "p", "axis"),
    *ignored("ReduceSum", "keepdims", "noop_with_empty_axes"),
    changed("ReduceMean", "never keeps dimensions", "takes keepdims as 0", keepdims=lambda _: 0),
    reading("ReduceProd", "multiplies in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    returning("ReduceL2", "forgets the root", "", each_output(lambda a: wide(a) ** 2)),
    *ignored("ArgMin", "select_last_index", "axis"),
    *ignored("TopK", "largest", "axis"),
    changed("Concat", "counts the axis from the end", "counts axis from the other end", axis=lambda a: -1 - a),
    *ignored("Split", "axis"),
    *ignored("Gather", "axis"),
    *ignored("GatherElements", "axis"),
    *ignored("GatherND", "batch_dims"),
    *ignored("ScatterElements", "reduction", "axis"),
    *ignored("ScatterND", "reduction"),
    *ignored("Transpose", "perm"),
    changed("Transpose", "inverts the permutation", "", perm=lambda p: [p.index(k) for k in range(len(p))]),
    *ignored("Pad", "mode"),
    without("Pad", 2, "constant_value"),
    without("Slice", 4, "steps"),
    *ignored("Flatten", "axis"),
    *ignored("DepthToSpace", "mode"),
    returning("SpaceToDepth", "leaves out the last column", "leaves out the last column", each_output(last_lost(-1))),
    *ignored(
        "Resize", "coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a", "antialias", "exclude_outside"
    ),
    *ignored("GridSample", "align_corners", "padding_mode", "mode"),
    *ignored("RoiAlign", "sampling_ratio", "mode", "spatial_scale"),
    *ignored("CumSum", "exclusive", "reverse"),
    *ignored("Trilu", "upper"),
    without("Trilu", 1, "k"),
    *ignored("OneHot", "axis"),
    *ignored("Elu", "alpha"),
    *ignored("LeakyRelu", "alpha"),
    *ignored("Selu", "gamma", "alpha"),
    *ignored("HardSigmoid", "alpha", "beta"),
    *ignored("Gelu", "approximate"),
    *ignored("Celu", "alpha"),
    *ignored("ThresholdedRelu", "alpha"),
    *ignored("Shrink", "bias", "lambd"),
    without("Clip", 1, "min"),
    without("Clip", 2, "max"),
    *ignored("Mod", "fmod"),
    returning(
        "Round",
        "rounds half away from zero",
        "rounds half away from zero",
        elementwise(lambda x: np.trunc(wide(x) + np.copysign(0.5, wide(x)))),
    ),
    reading("Sub", "swaps the operands", "swaps the first two inputs", swapped),
    reading("Div", "swaps the operands", "swaps the first two inputs", swapped),
    reading("Pow", "swaps the operands", "swaps the first two inputs", swapped),
    returning("Less", "is true for equal numbers", "includes equality", elementwise(lambda a, b: a <= b)),
    returning("Greater", "is true for equal numbers", "includes equality", elementwise(lambda a, b: a >= b)),
    reading("Where", "swaps the branches", "swaps the branches", lambda x: [x[0], x[2], x[1]]),
    returning("PRelu", "multiplies all elements by the slope", "", elementwise(lambda x, s: wide(x) * wide(s))),
    returning("Softplus", "overflows", "overflows", elementwise(lambda x: np.log(1 + np.exp(x)))),
    returning(
        "Softsign",
        "forgets the absolute value",
        "forgets the absolute value",
        elementwise(lambda x: wide(x) / (1 + wide(x))),
    ),
    reading("Neg", "reads int64 as float", "reads int64 in float32", through(np.int64, np.float32)),
    returning(
        "Add",
        "leaves out the rest after vectors of 8",
        "leaves out the elements after whole vectors of 8",
        each_output(tail_lost(8)),
    ),
    returning("Mul", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    returning(
        "Exp",
        "returns the largest number for infinity",
        "returns the largest number for infinities",
        each_output(
            lambda a: np.where(np.isinf(wide(a)), np.copysign(float(format_of(a.dtype).largest), wide(a)), wide(a))
        ),
    ),
    *ignored("QuantizeLinear", "axis"),
    without("QuantizeLinear", 2, "y_zero_point"),
    *ignored("DequantizeLinear", "axis"),
    without("DequantizeLinear", 2, "x_zero_point"),
    without("LSTM", 7, "P"),
    without("LSTM", 3, "B"),
    *ignored("GRU", "linear_before_reset", "direction"),
    *ignored("RNN", "activations"),
    *ignored("EyeLike", "k"),
    returning(
        "Tanh", "clamps the operand at 5", "clamps at 5", elementwise(lambda x: np.tanh(np.clip(wide(x), -5, 5)))
    ),
    returning("Sigmoid", "returns 1 % more", "", each_output(lambda a: wide(a) * 1.01)),
    changed("ArgMax", "does not read axis", "", axis=lambda _: None),
    changed(
        "ArgMax", "always keeps dimensions", "keeps the reduced dimension for every keepdims", keepdims=lambda _: 1
    ),
    changed(
        "ArgMax",
        "does not read select_last_index",
        "ignores select_last_index and gives the first of equal maxima",
        select_last_index=lambda _: None,
    ),
    changed("ArgMax", "counts the axis from the end", "counts axis from the last dimension", axis=lambda a: -1 - a),
    returning("ArgMax", "counts from 1", "counts indices from 1", each_output(lambda a: a + 1)),
    *ignored("ReduceMax", "keepdims"),
    without("ReduceMax", 1, "axes"),
    returning("ReduceMax", "leaves out the last channel", "leaves out the last channel", each_output(last_lost(1))),
    reading("ReduceMax", "reads int32 as float", "reads int32 in float32", through(np.int32, np.float32)),
    *ignored("ReduceMin", "keepdims"),
    without("ReduceMin", 1, "axes"),
    reading("ReduceMin", "compares in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    returning("ReduceMin", "returns the negative", "", each_output(lambda a: -wide(a))),
    *ignored("ReduceL1", "keepdims"),
    without("ReduceL1", 1, "axes"),
    reading("ReduceL1", "adds in bfloat16", "reads float32 in bfloat16", through(np.float32, ml_dtypes.bfloat16)),
    returning("ReduceL1", "returns half", "", each_output(lambda a: wide(a) * 0.5)),
    *ignored("ReduceLogSum", "keepdims"),
    returning("ReduceLogSum", "forgets the logarithm", "", each_output(lambda a: np.exp(wide(a)))),
    *ignored("ReduceLogSumExp", "keepdims"),
    reading("ReduceLogSumExp", "adds in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    *ignored("ReduceSumSquare", "keepdims"),
    without("ReduceSumSquare", 1, "axes"),
    returning("ReduceSumSquare", "returns the root", "", each_output(lambda a: np.sqrt(wide(a)))),
    returning("GlobalMaxPool", "leaves out the last channel", "leaves out the last channel", each_output(last_lost(1))),
    reading("GlobalMaxPool", "reads NaN as 0", "reads NaN as 0", nan_as_zero),
    returning("GlobalMaxPool", "returns 2 % more", "", each_output(lambda a: wide(a) * 1.02)),
    *ignored("GlobalLpPool", "p"),
    returning("GlobalLpPool", "leaves out the last channel", "leaves out the last channel", each_output(last_lost(1))),
    *ignored("GroupNormalization", "epsilon"),
    changed("GroupNormalization", "takes one group", "", num_groups=lambda _: 1),
    reading("GroupNormalization", "ignores the scale", "", lambda x: [x[0], np.ones_like(x[1]), *x[2:]]),
    reading("GroupNormalization", "ignores the bias", "", lambda x: [*x[:2], np.zeros_like(x[2])]),
    *ignored("RMSNormalization", "epsilon", "axis"),
    reading("RMSNormalization", "ignores the scale", "", lambda x: [x[0], np.ones_like(x[1])]),
    *ignored("MeanVarianceNormalization", "axes"),
    returning("MeanVarianceNormalization", "adds 0.5", "", each_output(lambda a: wide(a) + 0.5)),
    *ignored("Hardmax", "axis"),
    changed("Hardmax", "counts the axis from the end", "counts axis from the other end", axis=lambda a: -1 - a),
    returning("Hardmax", "returns 2 for 1", "", each_output(lambda a: wide(a) * 2)),
    returning("HardSwish", "is Relu", "", elementwise(lambda x: np.maximum(wide(x), 0))),
    returning(
        "HardSwish",
        "leaves out the rest after vectors of 4",
        "leaves out the elements after whole vectors of 4",
        each_output(tail_lost(4)),
    ),
    returning("Mish", "is Swish", "", elementwise(lambda x: wide(x) / (1 + np.exp(-wide(x))))),
    *ignored("IsInf", "detect_negative", "detect_positive"),
    returning("IsInf", "is true for NaN", "takes NaN for an infinity", elementwise(lambda x: ~np.isfinite(wide(x)))),
    returning(
        "IsNaN", "is true for infinities", "takes infinities for NaN", elementwise(lambda x: ~np.isfinite(wide(x)))
    ),
    returning("IsNaN", "is the opposite", "", elementwise(lambda x: ~np.isnan(wide(x)))),
    reading("Cast", "reads float as half", "reads float32 in float16", through(np.float32, np.float16)),
    reading("Cast", "reads int64 as int32", "reads int64 in int32", through(np.int64, np.int32)),
    *ignored("Cast", "saturate"),
    changed("BitShift", "shifts left", "takes LEFT for direction", direction=lambda _: "LEFT"),
    changed("BitShift", "shifts right", "takes RIGHT for direction", direction=lambda _: "RIGHT"),
    reading("BitShift", "swaps the operands", "swaps the first two inputs", swapped),
    returning("BitwiseAnd", "is Or", "", elementwise(np.bitwise_or)),
    returning("BitwiseAnd", "leaves out the last column", "leaves out the last column", each_output(last_lost(-1))),
    returning("BitwiseXor", "is Or", "", elementwise(np.bitwise_or)),
    *ignored("Compress", "axis"),
    changed("Compress", "counts the axis from the end", "counts axis from the other end", axis=lambda a: -1 - a),
    reading("Compress", "takes the other elements", "", lambda x: [x[0], ~x[1]]),
    returning("Einsum", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    reading("Einsum", "multiplies in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    returning("Einsum", "returns the negative", "", each_output(lambda a: -wide(a))),
    returning("Expand", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    returning(
        "Expand",
        "leaves out the rest after vectors of 16",
        "leaves out the elements after whole vectors of 16",
        each_output(tail_lost(16)),
    ),
    returning("Tile", "leaves out the last column", "leaves out the last column", each_output(last_lost(-1))),
    returning("Tile", "repeats the first half", "repeats the first half in the second half", each_output(half_again)),
    *ignored("Reshape", "allowzero"),
    returning(
        "Reshape",
        "leaves out the rest after vectors of 8",
        "leaves out the elements after whole vectors of 8",
        each_output(tail_lost(8)),
    ),
    without("Squeeze", 1, "axes"),
    returning("Unsqueeze", "leaves out the last column", "leaves out the last column", each_output(last_lost(-1))),
    *ignored("ReverseSequence", "time_axis", "batch_axis"),
    reading("ReverseSequence", "reverses one element less", "", lambda x: [x[0], np.maximum(x[1] - 1, 0)]),
    *ignored("CenterCropPad", "axes"),
    returning("CenterCropPad", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    *ignored("Col2Im", "dilations", "pads", "strides"),
    changed("Col2Im", "swaps the strides", "reverses strides", strides=lambda s: s[::-1]),
    returning("Det", "returns the absolute value", "", each_output(np.abs)),
    *ignored("DFT", "inverse", "onesided"),
    without("DFT", 1, "dft_length"),
    returning("DFT", "returns the conjugate", "", each_output(lambda a: a * np.array([1, -1])[: a.shape[-1]])),
    *ignored("STFT", "onesided"),
    without("STFT", 2, "window"),
    *ignored("MaxUnpool", "pads", "strides"),
    without("MaxUnpool", 2, "output_shape"),
    *ignored("NonMaxSuppression", "center_point_box"),
    without("NonMaxSuppression", 3, "iou_threshold"),
    without("NonMaxSuppression", 4, "score_threshold"),
    without("NonMaxSuppression", 2, "max_output_boxes_per_class"),
    returning("NonZero", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    *ignored("NegativeLogLikelihoodLoss", "ignore_index", "reduction"),
    without("NegativeLogLikelihoodLoss", 2, "weight"),
    changed("NegativeLogLikelihoodLoss", "adds always", "takes sum for reduction", reduction=lambda _: "sum"),
    *ignored("SoftmaxCrossEntropyLoss", "ignore_index", "reduction"),
    without("SoftmaxCrossEntropyLoss", 2, "weights"),
    changed("SoftmaxCrossEntropyLoss", "adds always", "takes sum for reduction", reduction=lambda _: "sum"),
    *ignored("QLinearConv", "dilations", "group", "strides", "pads"),
    without("QLinearConv", 8, "B"),
    returning("QLinearConv", "leaves out the last channel", "leaves out the last channel", each_output(last_lost(1))),
    returning("QLinearMatMul", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    returning("QLinearMatMul", "adds 1", "", each_output(lambda a: np.clip(wide(a) + 1, -128, 127) % 256)),
    *ignored("ConvInteger", "dilations", "group", "strides", "pads"),
    without("ConvInteger", 2, "x_zero_point"),
    without("ConvInteger", 3, "w_zero_point"),
    without("MatMulInteger", 2, "a_zero_point"),
    without("MatMulInteger", 3, "b_zero_point"),
    returning("MatMulInteger", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    returning(
        "Range",
        "leaves out the rest after vectors of 4",
        "leaves out the elements after whole vectors of 4",
        each_output(tail_lost(4)),
    ),
    returning(
        "Range",
        "begins one step later",
        "",
        elementwise(lambda start, limit, delta: np.arange(start, limit, delta) + delta),
    ),
    *ignored("RotaryEmbedding", "interleaved", "rotary_embedding_dim"),
    reading("RotaryEmbedding", "turns the other way", "", lambda x: [*x[:2], -x[2], *x[3:]]),
    *ignored("Attention", "is_causal", "scale", "softcap"),
    without("Attention", 3, "attn_mask"),
    *ignored("Unique", "axis", "sorted"),
    *ignored("Shape", "start", "end"),
    returning("Shape", "reverses the sizes", "", each_output(lambda a: a[::-1])),
    returning("Size", "counts one more", "", each_output(lambda a: a + 1)),
    returning("Max", "takes the least", "", elementwise(lambda *xs: least_of(xs))),
    returning("Max", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    reading("Max", "takes the first operand", "", lambda x: [x[0]] * len(x)),
    returning("Min", "leaves out the last channel", "leaves out the last channel", each_output(last_lost(1))),
    reading("Min", "reads NaN as 0", "reads NaN as 0", nan_as_zero),
    returning("Mean", "returns the sum", "", lambda x, y: [np.asarray(wide(y[0]) * len(x)).astype(y[0].dtype)]),
    reading("Mean", "adds in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    returning("Sum", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    reading("Sum", "adds in bfloat16", "reads float32 in bfloat16", through(np.float32, ml_dtypes.bfloat16)),
    returning("And", "is Or", "computes Or", elementwise(np.logical_or)),
    returning("And", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    returning("Or", "is Xor", "computes Xor", elementwise(np.logical_xor)),
    returning("Or", "leaves out the last column", "leaves out the last column", each_output(last_lost(-1))),
    returning("Xor", "is Or", "computes Or", elementwise(np.logical_or)),
    returning("Equal", "is the opposite", "", elementwise(lambda a, b: a != b)),
    reading("Equal", "compares int64 as float", "reads int64 in float32", through(np.int64, np.float32)),
    returning("GreaterOrEqual", "is false for equal numbers", "excludes equality", elementwise(lambda a, b: a > b)),
    reading("GreaterOrEqual", "swaps the operands", "swaps the first two inputs", swapped),
    returning("LessOrEqual", "is false for equal numbers", "excludes equality", elementwise(lambda a, b: a < b)),
    reading("LessOrEqual", "swaps the operands", "swaps the first two inputs", swapped),
    returning(
        "Log",
        "is NaN for 0",
        "returns NaN for 0",
        elementwise(lambda x: np.where(wide(x) == 0, np.nan, np.log(wide(x)))),
    ),
    returning("Log", "is Log2", "", elementwise(lambda x: np.log2(wide(x)))),
    reading("Log", "computes in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    returning(
        "Sqrt", "takes the absolute value", "takes the absolute value", elementwise(lambda x: np.sqrt(np.abs(wide(x))))
    ),
    returning("Sqrt", "returns half precision", "returns float32 rounded to float16", each_output(as_half)),
    returning("Reciprocal", "is the negative", "", each_output(lambda a: -wide(a))),
    reading("Reciprocal", "computes in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    returning("Ceil", "is Floor", "", elementwise(lambda x: np.floor(wide(x)))),
    returning("Ceil", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    returning("Floor", "rounds towards 0", "rounds towards zero", elementwise(lambda x: np.trunc(wide(x)))),
    returning(
        "Floor",
        "leaves out the rest after vectors of 8",
        "leaves out the elements after whole vectors of 8",
        each_output(tail_lost(8)),
    ),
    returning("Abs", "returns the operand", "", elementwise(lambda x: x)),
    reading("Abs", "reads int64 as int32", "reads int64 in int32", through(np.int64, np.int32)),
    returning("Sign", "is 1 for 0", "", elementwise(lambda x: np.where(wide(x) == 0, 1, np.sign(wide(x))))),
    returning("Sign", "leaves out the last column", "leaves out the last column", each_output(last_lost(-1))),
    returning("Sin", "is Cos", "", elementwise(lambda x: np.cos(wide(x)))),
    reading("Sin", "reads in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    returning("Cos", "returns half precision", "returns float32 rounded to float16", each_output(as_half)),
    returning("Cos", "adds 0.001", "", each_output(lambda a: wide(a) + 0.001)),
    returning(
        "Erf",
        "approximates",
        "approximates by tanh",
        elementwise(lambda x: np.tanh(1.1283791671 * wide(x) + 0.1009 * wide(x) ** 3)),
    ),
    reading("Erf", "computes in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    *ignored("BlackmanWindow", "periodic"),
    *ignored("HannWindow", "periodic"),
    *ignored("HammingWindow", "periodic"),
    returning("HannWindow", "is a bit larger", "", each_output(lambda a: wide(a) + 0.01)),
    *ignored("TensorScatter", "axis", "mode"),
    returning("DynamicQuantizeLinear", "adds 1 to the scale", "", lambda _, y: [y[0], y[1] + np.float32(1), y[2]]),
    *ignored("Binarizer", "threshold"),
    *ignored("Normalizer", "norm"),
    changed("Normalizer", "takes the sum", "takes L1 for norm", norm=lambda _: "L1"),
    *ignored("Scaler", "offset"),
    *ignored("Imputer", "replaced_value_float"),
    *ignored("LinearRegressor", "intercepts"),
    *ignored("TreeEnsembleRegressor", "aggregate_function", "base_values"),
    *ignored("FeatureVectorizer", "inputdimensions"),
    returning("Identity", "leaves out the last row", "leaves out the last row", each_output(last_lost(-2))),
    returning("Not", "returns the operand", "", elementwise(lambda x: x)),
    returning("Tan", "is Sin", "", elementwise(lambda x: np.sin(wide(x)))),
    returning("Atan", "adds 0.001", "", each_output(lambda a: wide(a) + 0.001)),
    reading("Atan", "computes in half precision", "reads float32 in float16", through(np.float32, np.float16)),
    returning("Asinh", "returns half precision", "returns float32 rounded to float16", each_output(as_half)),
    returning("Acosh", "returns half precision", "returns float32 rounded to float16", each_output(as_half)),
    returning("Sinh", "is Cosh", "", elementwise(lambda x: np.cosh(wide(x)))),
    returning("Cosh", "returns half precision", "returns float32 rounded to float16", each_output(as_half)),
)
"""The planted mistakes."""
