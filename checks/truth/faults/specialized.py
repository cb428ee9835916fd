"""Faults of quantization, attention, scatters, images, recurrent operators, losses, signals and of other domains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .fault import Fault, Node, array, const, node, normal, positive, scalar, weight, whole
from .networks import F4, recurrent

if TYPE_CHECKING:
    from checks.truth.evaluate import Call

MICROSOFT, LEARNING = "com.microsoft", "ai.onnx.ml"
STATES = normal(2, 4, 16)
BYTES = whole(0, 256, 3, 5, dtype="u1")
FOUR_BIT_WEIGHTS = node(
    "MatMulNBits",
    normal(2, 32),
    const(*whole(0, 256, 4, 2, 8, dtype="u1"), dtype="u1"),
    const(*positive(8), dtype="f4"),
    domain=MICROSOFT,
    K=32,
    N=4,
    bits=4,
    block_size=16,
)


def steps(value: float) -> Any:
    """Return a scale, as a constant."""
    return scalar(value)


def byte(value: int) -> Any:
    """Return a zero point of type uint8, as a constant."""
    return scalar(value, "u1")


def changed(c: Call, index: int, value: Any) -> Any:
    """Return the outputs with another input."""
    return c(*(value if place == index else each for place, each in enumerate(c.inputs)))


def half_away(c: Call) -> Any:
    """Return QLinearMul that rounds half away from zero."""
    a, scale_a, zero_a, b, scale_b, zero_b, scale, zero = (each.astype("f8") for each in c.inputs)
    quotient = (a - zero_a) * scale_a * (b - zero_b) * scale_b / scale
    return np.clip(np.trunc(quotient + np.copysign(0.5, quotient)) + zero, 0, 255).astype("u1")


def nibbles_swapped(packed: Any) -> Any:
    """Return bytes with their halves exchanged."""
    return (packed << 4 | packed >> 4).astype("u1")


def average_truncated(c: Call) -> Any:
    """Return QLinearAveragePool of windows of 2 x 2 that drops the fraction."""
    x, scale_x, zero_x, scale, zero = (each.astype("f8") for each in c.inputs)
    n, channels, rows, columns = x.shape
    mean = x.reshape(n, channels, rows // 2, 2, columns // 2, 2).mean((3, 5))
    return np.clip(np.trunc((mean - zero_x) * scale_x / scale + zero), 0, 255).astype("u1")


def scattered_last(c: Call) -> Any:
    """Return ScatterND with `mul` whose repeated indices keep the last product."""
    data, indices, updates = c.inputs
    result = data.copy()
    result[tuple(np.moveaxis(indices, -1, 0))] = data[tuple(np.moveaxis(indices, -1, 0))] * updates
    return result


def maximum_of_updates(c: Call) -> Any:
    """Return ScatterElements along the first axis with `max` that ignores the data below an update."""
    data, indices, updates = c.inputs
    result, columns = data.copy(), np.broadcast_to(np.arange(data.shape[1]), indices.shape)
    result[indices, columns] = -np.inf
    np.maximum.at(result, (indices, columns), updates)
    return result


def mask_added(c: Call) -> Any:
    """Return Attention that adds a mask of truth values to the scores."""
    q, k, v, mask = c.inputs
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + mask
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True) @ v).astype(q.dtype)


def without_wrap(c: Call) -> Any:
    """Return TensorScatter that moves an update, which would leave the cache, to the end of the cache."""
    past, update, places = c.inputs
    return changed(c, 2, np.minimum(places, past.shape[-2] - update.shape[-2]))


def overwritten_blocks(c: Call) -> Any:
    """Return Col2Im of blocks of 2 x 2 with stride 1 in which a later block overwrites an earlier one."""
    blocks, shape, _ = c.inputs
    rows, columns = (int(each) for each in shape)
    result = np.zeros((blocks.shape[0], 1, rows, columns), blocks.dtype)
    for place in range(blocks.shape[2]):
        row, column = divmod(place, columns - 1)
        result[:, 0, row : row + 2, column : column + 2] = blocks[:, :, place].reshape(-1, 2, 2)
    return result


def last_of_time(c: Call) -> Any:
    """Return the last states of a bidirectional LSTM as those of the last step in time."""
    y, _, cell = c()
    return [y, y[-1], cell]


def reversed_whole(c: Call) -> Any:
    """Return a reverse GRU that reverses each sequence with its padding."""
    y, last = c(np.flip(c.inputs[0], 0), *c.inputs[1:], direction="forward")
    return [np.flip(y, 0), last]


def clipped_after(c: Call) -> Any:
    """Return an RNN that clips the result of the activation and not its operand."""
    x, w, r, b = c.inputs
    bias = np.split(b[0], 2)
    state, states = np.zeros((x.shape[1], r.shape[2]), x.dtype), []
    for step in x:
        state = np.clip(np.tanh(step @ w[0].T + state @ r[0].T + bias[0] + bias[1]), -0.3, 0.3)
        states.append(state)
    return [np.stack(states)[:, np.newaxis], state[np.newaxis]]


def mel_rounded(c: Call) -> Any:
    """Return MelWeightMatrix whose frequency bins are rounded to the nearest one."""
    count, length, rate, low, high = (each.item() for each in c.inputs)
    mels = np.linspace(2595 * np.log10(1 + low / 700), 2595 * np.log10(1 + high / 700), count + 2)
    bins = np.rint((length + 1) * 700 * (10 ** (mels / 2595) - 1) / rate).astype(int)
    result = np.zeros((length // 2 + 1, count), F4)
    for number, (left, center, right) in enumerate(zip(bins, bins[1:], bins[2:], strict=False)):
        result[left:center, number] = (np.arange(left, center) - left) / max(center - left, 1)
        result[center:right, number] = (right - np.arange(center, right)) / max(right - center, 1)
        result[center, number] = 1
    return result


def padded_front(c: Call) -> Any:
    """Return DFT whose signal is padded at its begin."""
    x, length, *rest = c.inputs
    more = int(length) - x.shape[1]
    return c.one(np.pad(x, [(0, 0), (more, 0), (0, 0)]), length, *rest)


def normalized_then_biased(c: Call) -> Any:
    """Return SkipLayerNormalization that adds the bias after the normalization."""
    first, *rest = c(*c.inputs[:4])
    return [first + c.inputs[4], *rest]


def activated_first(c: Call) -> Any:
    """Return FusedConv whose activation comes before the sum."""
    x, w, b, z = c.inputs
    return c.one(x, w, b) + z


def tree(operator: str, values: Any, **attributes: Any) -> Node:
    """Describe a tree of two levels over two features."""
    return node(
        operator,
        values,
        opset=21,
        domain=LEARNING,
        n_targets=1,
        nodes_treeids=[0] * 5,
        nodes_nodeids=[0, 1, 2, 3, 4],
        nodes_featureids=[0, 0, 1, 0, 0],
        nodes_values=[0.5, 0.0, -1.0, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 3, 0, 0],
        nodes_falsenodeids=[2, 0, 4, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"],
        target_treeids=[0, 0, 0],
        target_nodeids=[1, 3, 4],
        target_ids=[0, 0, 0],
        target_weights=[1.0, 2.0, -4.0],
        **attributes,
    )


ADDED = (BYTES, steps(0.5), byte(3), whole(0, 256, 3, 5, dtype="u1")[::-1].copy(), steps(0.25), byte(7))
HEADS = (normal(1, 4, 3, 8), normal(1, 2, 3, 8, scale=2), normal(1, 2, 3, 8))
SAME_HEADS = (normal(1, 2, 4, 8), normal(1, 2, 4, 8, scale=2), normal(1, 2, 4, 8))
WINDOW_ROI = const(0, 0, 0, 0, 1, 1, 1.5, 1.5, dtype="f4")
SIZES_3 = const(1, 1, 3, 3)

FAULTS = [
    Fault(
        "qlinearadd-zero-point",
        "QLinearAdd",
        "The zero point of the result is not added.",
        lambda c: changed(c, 7, np.zeros_like(c.inputs[7])),
        node("QLinearAdd", *ADDED, steps(0.5), byte(10), domain=MICROSOFT),
    ),
    Fault(
        "qlinearmul-half-away",
        "QLinearMul",
        "Halves are rounded away from zero.",
        half_away,
        node(
            "QLinearMul",
            *(whole(0, 12, 3, 5, dtype="u1"), steps(0.5), byte(3)),
            *(whole(0, 15, 3, 5, dtype="u1"), steps(0.25), byte(7)),
            *(steps(0.25), byte(100)),
            domain=MICROSOFT,
        ),
    ),
    Fault(
        "dequantizelinear-first-block",
        "DequantizeLinear",
        "All blocks have the scale of the first block.",
        lambda c: changed(c, 1, np.repeat(c.inputs[1][:, :1], c.inputs[1].shape[1], 1)),
        node("DequantizeLinear", whole(-128, 128, 3, 8, dtype="i1"), weight(3, 4), axis=1, block_size=2),
    ),
    Fault(
        "quantizelinear-int16-range",
        "QuantizeLinear",
        "A result of uint16 saturates at the largest int16.",
        lambda c: np.minimum(c.one(), 32767),
        node("QuantizeLinear", positive(4, 5, scale=40000), steps(1.5), scalar(0, "u2")),
    ),
    Fault(
        "dynamicquantizematmul-first-column",
        "DynamicQuantizeMatMul",
        "All columns have the scale of the first column.",
        lambda c: changed(c, 2, np.full_like(c.inputs[2], c.inputs[2][0])),
        node(
            "DynamicQuantizeMatMul",
            normal(3, 8),
            const(*whole(-128, 128, 8, 4, dtype="i1"), dtype="i1"),
            const(0.01, 0.05, 0.02, 0.1, dtype="f4"),
            domain=MICROSOFT,
        ),
    ),
    Fault(
        "matmulnbits-zero-point",
        "MatMulNBits",
        "The zero point is 0 if it is not given.",
        lambda c: c(*c.inputs, np.zeros((c.attributes["N"] * c.inputs[1].shape[1] + 1) // 2, np.uint8)),
        FOUR_BIT_WEIGHTS,
    ),
    Fault(
        "matmulnbits-nibbles",
        "MatMulNBits",
        "The upper half of a byte is the first weight.",
        lambda c: changed(c, 1, nibbles_swapped(c.inputs[1])),
        FOUR_BIT_WEIGHTS,
    ),
    Fault(
        "qgemm-square-transposed",
        "QGemm",
        "transB is ignored for a square matrix.",
        lambda c: c(transB=0),
        node(
            "QGemm",
            whole(0, 256, 3, 4, dtype="u1"),
            steps(0.5),
            byte(100),
            const(*whole(-128, 128, 4, 4, dtype="i1"), dtype="i1"),
            steps(0.25),
            scalar(0, "i1"),
            domain=MICROSOFT,
            transB=1,
        ),
    ),
    Fault(
        "qlinearaveragepool-truncates",
        "QLinearAveragePool",
        "The fraction of the result is dropped.",
        average_truncated,
        node(
            "QLinearAveragePool",
            whole(0, 256, 1, 2, 4, 4, dtype="u1"),
            steps(0.5),
            byte(3),
            steps(0.5),
            byte(3),
            domain=MICROSOFT,
            kernel_shape=[2, 2],
            strides=[2, 2],
        ),
    ),
    Fault(
        "matmulintegertofloat-second-zero-point",
        "MatMulIntegerToFloat",
        "The zero point of the weights is ignored.",
        lambda c: changed(c, 5, np.zeros_like(c.inputs[5])),
        node(
            "MatMulIntegerToFloat",
            BYTES,
            const(*whole(0, 256, 5, 4, dtype="u1"), dtype="u1"),
            steps(0.5),
            steps(0.25),
            byte(120),
            byte(130),
            domain=MICROSOFT,
        ),
    ),
    Fault(
        "attention-groups-of-heads",
        "Attention",
        "Queries share heads of keys in turn and not in groups.",
        lambda c: c(c.inputs[0], *(np.tile(each, (1, 2, 1, 1)) for each in c.inputs[1:])),
        node("Attention", *HEADS, opset=23),
    ),
    Fault(
        "attention-past-appended",
        "Attention",
        "Past keys come after the new keys in the present keys.",
        lambda c: (lambda r: [r[0], np.roll(r[1], 4, 2), r[2]])(c()),
        node(
            "Attention",
            *SAME_HEADS,
            None,
            normal(1, 2, 2, 8),
            normal(1, 2, 2, 8, scale=3),
            outputs=3,
            opset=23,
        ),
    ),
    Fault(
        "attention-mask-added",
        "Attention",
        "A mask of truth values is added as numbers.",
        mask_added,
        node("Attention", *SAME_HEADS, np.tril(np.ones((4, 4), bool)), opset=23),
    ),
    Fault(
        "attention-output-mode",
        "Attention",
        "qk_matmul_output_mode is ignored.",
        lambda c: c(qk_matmul_output_mode=0),
        node("Attention", *SAME_HEADS, outputs=4, opset=23, qk_matmul_output_mode=3),
    ),
    Fault(
        "multiheadattention-padding",
        "MultiHeadAttention",
        "The mask of padded keys is ignored.",
        lambda c: c(*c.inputs[:4]),
        node(
            "MultiHeadAttention",
            STATES,
            normal(2, 4, 16, scale=2),
            normal(2, 4, 16, shift=0.5),
            weight(48),
            array(4, 2, dtype="i4"),
            domain=MICROSOFT,
            num_heads=2,
        ),
    ),
    Fault(
        "multiheadattention-scale",
        "MultiHeadAttention",
        "The attribute scale is ignored.",
        lambda c: c(scale=None),
        node(
            "MultiHeadAttention",
            STATES,
            normal(2, 4, 16, scale=2),
            normal(2, 4, 16, shift=0.5),
            domain=MICROSOFT,
            num_heads=2,
            scale=1.0,
        ),
    ),
    Fault(
        "groupqueryattention-window",
        "GroupQueryAttention",
        "The local window has one key too many.",
        lambda c: c(local_window_size=c.attributes["local_window_size"] + 1),
        node(
            "GroupQueryAttention",
            normal(1, 6, 32),
            normal(1, 6, 16, scale=2),
            normal(1, 6, 16),
            None,
            None,
            const(5, dtype="i4"),
            const(6, dtype="i4"),
            outputs=3,
            domain=MICROSOFT,
            num_heads=4,
            kv_num_heads=2,
            local_window_size=2,
        ),
    ),
    Fault(
        "skiplayernormalization-late-bias",
        "SkipLayerNormalization",
        "The bias is added after the normalization.",
        normalized_then_biased,
        node(
            "SkipLayerNormalization",
            STATES,
            normal(2, 4, 16, scale=2),
            weight(16),
            weight(16, scale=0.25),
            weight(16, scale=2),
            domain=MICROSOFT,
        ),
    ),
    Fault(
        "embedlayernormalization-segments",
        "EmbedLayerNormalization",
        "The embedding of segments is not added.",
        lambda c: (lambda x: [changed(c, 4, np.zeros_like(x))[0], *c()[1:]])(c.inputs[4]),
        node(
            "EmbedLayerNormalization",
            whole(0, 6, 2, 3, dtype="i4"),
            whole(0, 2, 2, 3, dtype="i4"),
            weight(6, 8),
            weight(4, 8),
            weight(2, 8),
            weight(8, scale=2),
            weight(8, scale=0.25),
            outputs=2,
            domain=MICROSOFT,
        ),
    ),
    Fault(
        "rotaryembedding-positions",
        "RotaryEmbedding",
        "The positions are 0, 1, 2 whatever is given.",
        lambda c: changed(c, 3, np.broadcast_to(np.arange(c.inputs[3].shape[1]), c.inputs[3].shape)),
        node(
            "RotaryEmbedding",
            normal(1, 2, 3, 8),
            normal(10, 4),
            normal(10, 4, scale=0.5),
            array([4, 5, 6], dtype="i8"),
            opset=23,
        ),
    ),
    Fault(
        "scatternd-mul-last",
        "ScatterND",
        "Of repeated indices only the last one multiplies.",
        scattered_last,
        node("ScatterND", normal(5), array([1], [3], [1], dtype="i8"), normal(3, scale=2), reduction="mul"),
    ),
    Fault(
        "scatterelements-max-of-updates",
        "ScatterElements",
        "The maximum does not include the data.",
        maximum_of_updates,
        node("ScatterElements", normal(4, 3), whole(0, 4, 2, 3), normal(2, 3, scale=0.5), reduction="max"),
    ),
    Fault(
        "tensorscatter-circular",
        "TensorScatter",
        "The mode circular does not wrap.",
        without_wrap,
        node(
            "TensorScatter",
            normal(2, 1, 5, 3),
            normal(2, 1, 2, 3, scale=2),
            array(4, 1, dtype="i8"),
            opset=24,
            mode="circular",
        ),
    ),
    Fault(
        "unique-counts-sorted",
        "Unique",
        "The counts have the order of the sorted elements.",
        lambda c: [*c()[:3], c(sorted=1)[3]],
        node("Unique", array(5, 1, 1, 3, 5, 5), outputs=4, sorted=0),
    ),
    Fault(
        "resize-antialias",
        "Resize",
        "antialias is ignored.",
        lambda c: c(antialias=0),
        node("Resize", normal(1, 1, 7, 7), None, None, SIZES_3, mode="linear", antialias=1),
    ),
    Fault(
        "resize-pytorch-half-pixel",
        "Resize",
        "pytorch_half_pixel is half_pixel for a size of 1.",
        lambda c: c(coordinate_transformation_mode="half_pixel"),
        node(
            "Resize",
            normal(1, 1, 4, 4),
            None,
            None,
            const(1, 1, 1, 3),
            mode="linear",
            coordinate_transformation_mode="pytorch_half_pixel",
        ),
    ),
    Fault(
        "resize-extrapolation",
        "Resize",
        "extrapolation_value is ignored.",
        lambda c: c(extrapolation_value=0.0),
        node(
            "Resize",
            normal(1, 1, 4, 4),
            WINDOW_ROI,
            None,
            const(1, 1, 5, 5),
            mode="linear",
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=9.0,
        ),
    ),
    Fault(
        "gridsample-swapped",
        "GridSample",
        "The first coordinate is the row.",
        lambda c: c(c.inputs[0], c.inputs[1][..., ::-1]),
        node("GridSample", normal(1, 2, 4, 4), normal(1, 3, 3, 2, scale=0.5), mode="linear"),
    ),
    Fault(
        "roialign-sampling-ratio",
        "RoiAlign",
        "A sampling ratio of 0 takes one sample.",
        lambda c: c(sampling_ratio=1),
        node(
            "RoiAlign",
            normal(1, 1, 8, 8),
            array([1, 1, 7, 6.5], [0, 0, 5, 7]),
            array(0, 0, dtype="i8"),
            output_height=2,
            output_width=2,
        ),
    ),
    Fault(
        "deformconv-mask",
        "DeformConv",
        "The mask is ignored.",
        lambda c: changed(c, 4, np.ones_like(c.inputs[4])),
        node(
            "DeformConv",
            normal(1, 2, 4, 4),
            weight(3, 2, 2, 2),
            normal(1, 8, 3, 3, scale=0.5),
            weight(3),
            positive(1, 4, 3, 3),
            opset=19,
        ),
    ),
    Fault(
        "col2im-overwrites",
        "Col2Im",
        "A later block overwrites an earlier one.",
        overwritten_blocks,
        node("Col2Im", normal(1, 4, 9), const(4, 4), const(2, 2)),
    ),
    Fault(
        "convtranspose-groups",
        "ConvTranspose",
        "The groups have each other's weights.",
        lambda c: changed(c, 1, c.inputs[1][::-1]),
        node("ConvTranspose", normal(1, 2, 4, 4), weight(2, 3, 2, 2), group=2),
    ),
    Fault(
        "nonmaxsuppression-limit",
        "NonMaxSuppression",
        "The limit of boxes counts the boxes of all classes.",
        lambda c: c.one()[: int(c.inputs[2].reshape(-1)[0])],
        node(
            "NonMaxSuppression",
            array([[0, 0, 1, 1], [0, 2, 1, 3], [4, 4, 5, 5]]),
            array([[0.9, 0.8, 0.7], [0.3, 0.6, 0.5]]),
            const(2),
            const(0.5, dtype="f4"),
        ),
    ),
    Fault(
        "lstm-last-of-time",
        "LSTM",
        "The last state of the reverse direction is that of the last step in time.",
        last_of_time,
        recurrent("LSTM", 4, "bidirectional"),
    ),
    Fault(
        "gru-reversed-padding",
        "GRU",
        "The reverse direction begins in the padding.",
        reversed_whole,
        recurrent("GRU", 3, "reverse", extra=(const(5, 3, dtype="i4"),)),
    ),
    Fault(
        "rnn-clip-after",
        "RNN",
        "clip limits the result of the activation.",
        clipped_after,
        recurrent("RNN", 1, clip=0.3),
    ),
    Fault(
        "lstm-activation-alpha",
        "LSTM",
        "activation_alpha is ignored.",
        lambda c: c(activation_alpha=None),
        recurrent("LSTM", 4, activations=["Sigmoid", "LeakyRelu", "Tanh"], activation_alpha=[0.3]),
    ),
    Fault(
        "softmaxcrossentropy-weighted-mean",
        "SoftmaxCrossEntropyLoss",
        "The mean is not divided by the sum of weights.",
        lambda c: c.one(reduction="sum") / F4(c.inputs[1].size),
        node(
            "SoftmaxCrossEntropyLoss",
            normal(6, 4),
            array(0, 1, 2, 3, 1, 1, dtype="i8"),
            const(0.5, 2, 1, 3, dtype="f4"),
        ),
    ),
    Fault(
        "softmaxcrossentropy-log-prob",
        "SoftmaxCrossEntropyLoss",
        "The second output is the softmax without its logarithm.",
        lambda c: (lambda r: [r[0], np.exp(r[1])])(c()),
        node("SoftmaxCrossEntropyLoss", normal(6, 4), array(0, 1, 2, 3, 1, 1, dtype="i8"), outputs=2),
    ),
    Fault(
        "negativeloglikelihood-ignored-weight",
        "NegativeLogLikelihoodLoss",
        "The weights of ignored targets count in the mean.",
        lambda c: c.one(reduction="sum") / c.inputs[2][c.inputs[1]].sum(),
        node(
            "NegativeLogLikelihoodLoss",
            normal(6, 4),
            array(0, 1, 2, 3, 1, 1, dtype="i8"),
            const(0.5, 2, 1, 3, dtype="f4"),
            ignore_index=1,
        ),
    ),
    Fault(
        "stft-window",
        "STFT",
        "The window is ignored.",
        lambda c: changed(c, 2, np.ones_like(c.inputs[2])),
        node("STFT", normal(1, 16, 1), scalar(4, "i8"), const(*positive(8), dtype="f4"), scalar(8, "i8")),
    ),
    Fault(
        "dft-padded-front",
        "DFT",
        "A longer transform is padded at its begin.",
        padded_front,
        node("DFT", normal(1, 6, 1), scalar(8, "i8"), scalar(1, "i8")),
    ),
    Fault(
        "melweightmatrix-rounds",
        "MelWeightMatrix",
        "The bins of frequency are rounded to the nearest one.",
        mel_rounded,
        node(
            "MelWeightMatrix",
            scalar(5, "i8"),
            scalar(32, "i8"),
            scalar(8000, "i8"),
            scalar(100.0),
            scalar(3500.0),
        ),
    ),
    Fault(
        "blackmanwindow-exact",
        "BlackmanWindow",
        "The coefficients are those of the exact Blackman window.",
        lambda c: (
            lambda angle: (7938 / 18608 - 9240 / 18608 * np.cos(angle) + 1430 / 18608 * np.cos(2 * angle)).astype(F4)
        )(2 * np.pi * np.arange(c.inputs[0].item()) / c.inputs[0].item()),
        node("BlackmanWindow", scalar(10, "i8")),
    ),
    Fault(
        "treeensembleregressor-less",
        "TreeEnsembleRegressor",
        "BRANCH_LEQ takes the false branch at the threshold.",
        lambda c: c(nodes_modes=["BRANCH_LT", "LEAF", "BRANCH_LT", "LEAF", "LEAF"]),
        tree("TreeEnsembleRegressor", array([0.5, 0], [1, -1], [2, 3], [0, 0])),
    ),
    Fault(
        "treeensembleregressor-missing",
        "TreeEnsembleRegressor",
        "A missing value always takes the false branch.",
        lambda c: c(nodes_missing_value_tracks_true=None),
        tree(
            "TreeEnsembleRegressor",
            array([np.nan, 0], [1, np.nan], [2, 3]),
            nodes_missing_value_tracks_true=[1, 0, 1, 0, 0],
        ),
    ),
    Fault(
        "treeensembleregressor-base",
        "TreeEnsembleRegressor",
        "base_values is not added.",
        lambda c: c(base_values=None),
        tree("TreeEnsembleRegressor", normal(5, 2), base_values=[0.5]),
    ),
    Fault(
        "scaler-order",
        "Scaler",
        "The tensor is scaled before the offset is subtracted.",
        lambda c: c.inputs[0] * np.array(c.attributes["scale"], F4) - np.array(c.attributes["offset"], F4),
        node("Scaler", normal(3, 2), domain=LEARNING, offset=[0.5, -1.0], scale=[2.0, 0.25]),
    ),
    Fault(
        "normalizer-square",
        "Normalizer",
        "The L2 norm has no root.",
        lambda c: c.inputs[0] / (c.inputs[0] ** 2).sum(1, keepdims=True),
        node("Normalizer", normal(3, 4), domain=LEARNING, norm="L2"),
    ),
    Fault(
        "imputer-nan",
        "Imputer",
        "A replaced value of NaN equals no element.",
        lambda c: c.inputs[0],
        node(
            "Imputer",
            array([1, np.nan], [np.nan, 2]),
            domain=LEARNING,
            imputed_value_floats=[7.0, 8.0],
            replaced_value_float=float("nan"),
        ),
    ),
    Fault(
        "svmregressor-rho",
        "SVMRegressor",
        "rho is subtracted.",
        lambda c: c(rho=[-c.attributes["rho"][0]]),
        node(
            "SVMRegressor",
            normal(3, 2),
            domain=LEARNING,
            kernel_type="RBF",
            kernel_params=[0.5, 0.0, 3.0],
            coefficients=[0.5, -1.0, 2.0],
            support_vectors=[0.0, 1.0, -1.0, 0.5, 2.0, 0.25],
            n_supports=3,
            rho=[0.75],
        ),
    ),
    Fault(
        "onehotencoder-unknown",
        "OneHotEncoder",
        "An unknown category is the last one.",
        lambda c: (lambda y: np.where(y.any(-1, keepdims=True), y, np.eye(y.shape[-1], dtype=y.dtype)[-1]))(c.one()),
        node("OneHotEncoder", array(1, 9, 3, dtype="i8"), domain=LEARNING, cats_int64s=[1, 2, 3], zeros=1),
    ),
    Fault(
        "fusedmatmul-alpha",
        "FusedMatMul",
        "alpha is ignored.",
        lambda c: c(alpha=1.0),
        node("FusedMatMul", normal(3, 4), weight(4, 5), domain=MICROSOFT, alpha=0.125),
    ),
    Fault(
        "fusedconv-sum-late",
        "FusedConv",
        "The activation comes before the sum.",
        activated_first,
        node(
            "FusedConv",
            normal(1, 3, 5, 5),
            weight(2, 3, 3, 3),
            weight(2),
            normal(1, 2, 3, 3),
            domain=MICROSOFT,
            activation="Relu",
        ),
    ),
    Fault(
        "biasgelu-tanh",
        "BiasGelu",
        "The approximation by tanh is used.",
        lambda c: c.one(operator="FastGelu"),
        node("BiasGelu", normal(3, 8), weight(8), domain=MICROSOFT),
    ),
    Fault(
        "quickgelu-alpha",
        "QuickGelu",
        "alpha is 1.702.",
        lambda c: c(alpha=1.702),
        node("QuickGelu", normal(3, 8), domain=MICROSOFT, alpha=1.0),
    ),
    Fault(
        "fusedgemm-activation-alpha",
        "FusedGemm",
        "The slope of LeakyRelu is 0.01.",
        lambda c: c(activation_alpha=0.01),
        node(
            "FusedGemm",
            normal(3, 4),
            weight(4, 4),
            weight(4),
            domain=MICROSOFT,
            activation="LeakyRelu",
            activation_alpha=0.2,
        ),
    ),
    Fault(
        "skipsimplified-sum-without-bias",
        "SkipSimplifiedLayerNormalization",
        "The sum in the fourth output lacks the bias.",
        lambda c: (lambda y, rest: [y[0], *rest, y[3] - c.inputs[3]])(c(), c()[1:3]),
        node(
            "SkipSimplifiedLayerNormalization",
            STATES,
            normal(2, 4, 16, scale=2),
            weight(16),
            weight(16, scale=2),
            outputs=4,
            domain=MICROSOFT,
        ),
    ),
]
