"""Enclosures of the operators of com.microsoft that the optimizer and the quantizer of ONNX Runtime write.

The source is the documentation of each operator in its schema. An element that it does not determine, such as one of a
query without a key, is open. A node is not judged if its documentation does not determine an attribute or a shape.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from conformance.base.verdicts import Unsupported
from conformance.exact.models.arrays import format_of
from conformance.exact.reference.enclosures.exact import evaluate_exactly
from conformance.exact.reference.enclosures.images import IMAGE_ENCLOSURES
from conformance.exact.reference.enclosures.quantization import (
    QUANTIZATION_ENCLOSURES,
    as_scalar,
    centred,
    enclose_values,
    optional,
    quantize,
    quotient_by_scale,
)
from conformance.exact.reference.enclosures.regions import REGION_ENCLOSURES
from conformance.exact.reference.enclosures.sequences import stack
from conformance.exact.reference.enclosures.text import tokenizer
from conformance.exact.reference.formulas.elementwise import (
    add_operands,
    elu,
    gelu,
    gelu_by_tanh,
    hard_sigmoid,
    leaky_relu,
    relu,
    sigmoid,
    softplus,
    sqrt,
    tanh,
    tensor,
)
from conformance.exact.reference.formulas.linear import (
    FLOAT,
    LINEAR_ENCLOSURES,
    integers,
    matmul,
    mean,
    optional_tensor,
    reduced_axes,
    sections,
    squared_distances,
)
from conformance.exact.reference.formulas.normalization import Statistics, rms_normalized, softmax
from conformance.exact.reference.formulas.recurrent import FORMULAS as RECURRENT_FORMULAS
from conformance.exact.reference.formulas.recurrent import in_eight_bits
from conformance.exact.reference.numbers import portable
from conformance.exact.reference.numbers.enclosure import Enclosure, admit, move
from conformance.exact.reference.tolerances import UNSPECIFIED_NAN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conformance.exact.models.arrays import Array
    from conformance.exact.reference.nodes import Node, NodeEnclosure
    from conformance.exact.reference.numbers.enclosure import Tensor

# Fused operators


def _activate(X: Enclosure, name: str, numbers: Sequence[float]) -> Enclosure:
    """Return the activation that a fused operator names, with its numbers in the order of the attributes.

    Raises:
        Unsupported: the activation is another one.
    """
    if name in ("", "NONE"):
        return X
    functions: Mapping[str, Callable[[Enclosure], Enclosure]] = {
        "Relu": relu,
        "Tanh": tanh,
        "Sigmoid": sigmoid,
        "Softplus": softplus,
        "Gelu": gelu,
    }
    if name == "Clip":
        low, high = numbers
        Y = X.apply(lambda x: np.clip(x, low, high))
    elif name == "Elu":
        Y = elu(X, *(numbers[:1] or [1.0]))
    elif name == "LeakyRelu":
        Y = leaky_relu(X, *(numbers[:1] or [float(np.float32(0.01))]))
    elif name == "HardSigmoid":
        Y = hard_sigmoid(X, *(numbers[:2] or [float(np.float32(0.2)), 0.5]))
    elif name in functions:
        Y = functions[name](X)
    else:
        raise Unsupported(f"a fused activation {name}")
    Y = replace(Y, error=np.where(np.isfinite(X.error), Y.error, np.inf))  # an operand without bound may be NaN
    return Y.leave_open(np.isnan(X.value), "NaN") if name in UNSPECIFIED_NAN else Y


def _as_operand(X: Enclosure) -> Enclosure:
    """Return an intermediate result as an operand: an element that overflows may be a number or an infinity."""
    if X.overflows is None:
        return X
    return replace(X, error=np.where(X.overflows, np.inf, X.error), overflows=None)


def _fused_conv(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose FusedConv: the activation of Conv(X, W, B) + Z."""
    Y = tensor(LINEAR_ENCLOSURES["Conv"](node, inputs[:3])[0])
    Z = optional_tensor(inputs, 3)
    if Z is not None:  # a kernel that begins its sum with Z may overflow before it adds an infinity
        Y = Y.plus(Z, is_fused=True).undetermined(np.isinf(Y.value) & (Z.value != 0))
    return [_activate(Y, node.attributes.get("activation", ""), node.attributes.get("activation_params", []))]


def _with_channels_last(function: NodeEnclosure, places: Sequence[int]) -> NodeEnclosure:
    """Return an operator whose tensors at some places, and whose output, have the channels as the last axis."""

    def enclose(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
        moved = [
            move(each, lambda x: np.moveaxis(x, -1, 1)) if place in places else each
            for place, each in enumerate(inputs)
        ]
        return [move(function(node, moved)[0], lambda y: np.moveaxis(y, 1, -1))]

    return enclose


def _by_channels_last(function: NodeEnclosure) -> NodeEnclosure:
    """Return an operator whose first tensor and output have the channels as the last axis with `channels_last`."""
    with_channels_last = _with_channels_last(function, (0,))

    def enclose(node: Node, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        return (with_channels_last if node.attributes.get("channels_last", 0) else function)(node, inputs)

    return enclose


def _bias_softmax(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose BiasSoftmax: the softmax of a sum, whose bias lacks axes before `axis` or the first axes."""
    X = tensor(inputs[0])
    bias = tensor(inputs[1])
    axis = node.attributes.get("axis", 1)
    rank = len(X.shape)
    axis %= rank
    if node.attributes["is_inner_broadcast"]:
        inner = len(bias.shape) - (rank - axis)
        bias = bias.moved(lambda b: b.reshape(*b.shape[:inner], *[1] * (axis - inner), *b.shape[inner:]))
    return [softmax(X + bias, list(range(axis, rank)))]


def _fused_gemm(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    given = node.attributes
    numbers = [given[name] for name in ("activation_alpha", "activation_beta") if name in given]
    Y = tensor(LINEAR_ENCLOSURES["Gemm"](node, inputs)[0])
    return [_activate(Y, given.get("activation", ""), numbers)]


def _fused_matmul(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose FusedMatMul: alpha A B, with transposed matrices and batches."""
    given = node.attributes
    operands = []
    for X, name in zip(map(tensor, inputs[:2]), "AB", strict=True):
        if given.get(f"transBatch{name}", 0):
            X = X.moved(lambda x: np.moveaxis(x, 0, -2))  # noqa: PLW2901
        is_transposed = given.get(f"trans{name}", 0) and len(X.shape) > 1
        operands.append(X.moved(lambda x: np.swapaxes(x, -1, -2)) if is_transposed else X)
    Y = matmul(*operands)
    alpha = float(given.get("alpha", 1.0))
    Y = Y if alpha == 1 else Y.times(Y.constant(alpha), is_fused=True)
    numbers = [given[name] for name in ("activation_alpha", "activation_beta") if name in given]
    return [_activate(Y, given.get("activation", ""), numbers)]


def _fast_gelu(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    bias = optional_tensor(inputs, 1)
    X = X if bias is None else X + bias

    def documented() -> Enclosure:
        return gelu_by_tanh(X, 0.797885 * X + 0.035677 * (X * X * X))

    return [admit("FastGelu", documented=documented, exact=lambda: gelu(X, approximate="tanh"))]


def _quick_gelu(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    alpha = float(node.attributes.get("alpha", np.float32(1.702)))
    return [X * sigmoid(alpha * X)]


def _skip_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose SkipLayerNormalization and SkipSimplifiedLayerNormalization: normalizations of a sum."""
    is_simplified = node.op_type == "SkipSimplifiedLayerNormalization"
    gamma = tensor(inputs[2])
    beta = None if is_simplified else optional_tensor(inputs, 3)
    bias = optional_tensor(inputs, 3 if is_simplified else 4)
    X = _as_operand(add_operands([tensor(inputs[0]), tensor(inputs[1]), *([] if bias is None else [bias])]))
    epsilon = float(node.attributes.get("epsilon", np.float32(1e-12)))
    axes = [len(X.shape) - 1]
    if is_simplified:
        normalized, inverse = rms_normalized(X, axes, epsilon)
        return [normalized * gamma, None, inverse, X]
    statistics = Statistics.of(X, axes, epsilon)
    zero = gamma.moved(np.zeros_like)
    Y = statistics.scaled(gamma, zero if beta is None else beta)
    return [Y, statistics.mean, 1.0 / statistics.root, X]


def _embed_layer_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose EmbedLayerNormalization; the documentation leaves the index of the mask open."""
    words, segments, *tables = inputs[:7]
    positions = inputs[8] if len(inputs) > 8 else None
    if not isinstance(words, np.ndarray):
        raise Unsupported("EmbedLayerNormalization of words that are not known")
    places = np.arange(words.shape[1])[np.newaxis] if positions is None else np.asarray(positions)
    parts = [tensor(tables[0]).moved(lambda x: x[words]), tensor(tables[1]).moved(lambda x: x[places])]
    if segments is not None and tables[2] is not None:
        parts.append(tensor(tables[2]).moved(lambda x: x[np.asarray(segments)]))
    X = _as_operand(add_operands(parts))
    statistics = Statistics.of(X, [2], float(node.attributes.get("epsilon", np.float32(1e-12))))
    return [statistics.scaled(tensor(tables[3]), tensor(tables[4])), None, X]


def _qembed_layer_normalization(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose QEmbedLayerNormalization: EmbedLayerNormalization of dequantized tables."""
    words, segments, *tables = inputs[:7]
    numbers = [
        None if table is None else _dequantized(table, scale, zero)
        for table, scale, zero in zip(tables, inputs[8:13], inputs[13:18], strict=True)
    ]
    return _embed_layer_normalization(node, [words, segments, *numbers])[:1]


# Attention


@dataclass(frozen=True)
class _Heads:
    """The operands of an attention, each (batch, heads, length, size of a head).

    Attributes:
        Q: the queries.
        K: the keys.
        V: the values.
        scale: the factor of the products.
        is_admitted: which keys each query attends to, in a shape that broadcasts to the products.
        softcap: the limit of the products; 0 for none.
        sink: a further element of each softmax, (heads,); None for none.
    """

    Q: Enclosure
    K: Enclosure
    V: Enclosure
    scale: float
    is_admitted: Array
    softcap: float = 0.0
    sink: Enclosure | None = None

    def attend(self, bias: Enclosure | None) -> tuple[Enclosure, Enclosure]:
        """Return Softmax(scale Q K' + bias) V, and the softmax. A query without a key, or whose mask fails, is open."""
        scores = _as_operand(matmul(self.Q, self.K.moved(lambda k: np.swapaxes(k, -1, -2))))
        scores = scores.times(scores.constant(self.scale), is_fused=True)
        if self.softcap:
            scores = self.softcap * tanh(scores / self.softcap)
        scores = scores if bias is None else scores.plus(bias, is_fused=True)
        is_admitted = np.broadcast_to(self.is_admitted, scores.shape)
        masked = Enclosure(
            np.where(is_admitted, scores.value, -np.inf), np.where(is_admitted, scores.error, 0.0), scores.dtype
        )
        has_key = np.asarray((masked.value > MASKED).any(axis=-1, keepdims=True))
        # a masked product may still matter: one that is not finite, or that is above all others by more than the mask
        largest = np.max(masked.value, axis=-1, keepdims=True, initial=-np.inf)
        is_hidden = np.isfinite(scores.error) & (scores.value < largest - MASKED)
        has_key &= (is_admitted | is_hidden).all(axis=-1, keepdims=True)
        if self.sink is not None:
            shape = (*scores.shape[:-1], 1)
            sink = self.sink.moved(lambda s: np.broadcast_to(s.reshape(1, -1, 1, 1), shape))
            joined = stack([masked, sink], -1, joins=True)
            weights = softmax(tensor(joined), [3]).moved(lambda p: p[..., :-1])
        else:
            weights = softmax(masked, [3])
        weights = replace(weights, error=np.where(is_admitted, weights.error, 0.0))
        Y = matmul(weights, self.V)
        # a masked value may be left out or multiplied by 0, and the documentation does not mention NaN
        # a kernel may divide by the sum of the exponentials last, so that a sum of all values must not overflow
        reached = self.V.magnitude.sum(axis=-2, keepdims=True)
        largest_number = float(format_of(Y.dtype).largest)
        is_bounded = np.isfinite(self.V.error).all(axis=-2, keepdims=True) & ~(reached > largest_number)
        Y = replace(Y, error=np.where(is_bounded, Y.error, np.inf))
        names = ("row without keys", "NaN")
        is_open = ~has_key | np.isnan(Y.value)
        return Y.leave_open(is_open, *names), weights.leave_open(~has_key | np.isnan(weights.value), *names)


MASKED = -9000.0
"""A product below which a query may attend to a masked key: kernels add about -10,000 to products that are masked."""


def _split_heads(X: Enclosure, heads: int) -> Enclosure:
    """Return (batch, length, heads times size) as (batch, heads, length, size)."""
    batch, length, width = X.shape
    return X.moved(lambda x: x.reshape(batch, length, heads, width // heads).transpose(0, 2, 1, 3))


def _join_past(X: Enclosure, past: Tensor) -> Enclosure:
    """Return keys or values (batch, heads, length, size) behind those of a cache."""
    return X if past is None else tensor(stack([tensor(past), X], 2, joins=True))


def _join_heads(X: Enclosure) -> Enclosure:
    return X.moved(lambda x: x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1))


def _admitted(mask: Tensor, batch: int, queries: int, keys: int, *, is_causal: bool) -> Array:
    """Return which keys each query attends to, for a mask of any documented shape.

    Raises:
        Unsupported: the mask has another shape.
    """
    positions = np.arange(keys)
    result = np.ones((batch, 1, queries, keys), dtype=bool)
    if is_causal:
        result &= positions <= np.arange(keys - queries, keys)[:, np.newaxis]
    if mask is None:
        return result
    given = np.asarray(mask)
    if given.shape == (batch,):
        return np.asarray(result & (positions < given.reshape(-1, 1, 1, 1)))
    if given.shape == (2 * batch,):
        ends, starts = (part.reshape(-1, 1, 1, 1) for part in (given[:batch], given[batch:]))
        return np.asarray(result & (positions >= starts) & (positions < ends))
    if given.shape in ((batch, keys), (batch, queries, keys)):
        return np.asarray(result & (given.reshape(batch, 1, -1, keys) != 0))
    raise Unsupported(f"a mask of the shape {list(given.shape)}")


def _scale_of(node: Node, size: int) -> float:
    return float(node.attributes.get("scale", 0.0)) or 1 / np.sqrt(size)


def _attention(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Attention: the projections of the input by merged weights, then an attention."""
    weights = tensor(inputs[1])
    bias = optional_tensor(inputs, 2)
    projected = matmul(tensor(inputs[0]), weights)
    projected = projected if bias is None else projected.plus(bias, is_fused=True)
    return _attend_projected(node, projected, optional(inputs, 3), optional(inputs, 4), optional_tensor(inputs, 5))


def _check_filter(node: Node) -> None:
    """Raise `Unsupported` for a value of masked keys that is not far below the others."""
    if node.attributes.get("mask_filter_value", MASKED) > MASKED:
        raise Unsupported(f"{node.op_type} with a mask_filter_value above {MASKED:.0f}")


def _attend_projected(
    node: Node, projected: Enclosure, mask: Tensor, past: Tensor, attention_bias: Enclosure | None
) -> list[Tensor]:
    given = node.attributes
    heads = node.attributes["num_heads"]
    if given.get("do_rotary", 0) or given.get("past_present_share_buffer", 0):
        raise Unsupported(f"{node.op_type} with a rotary embedding or a shared buffer")
    _check_filter(node)
    sizes = given.get("qkv_hidden_sizes") or [projected.shape[-1] // 3] * 3
    Q, K, V = (_split_heads(each, heads) for each in sections(_as_operand(projected), sizes))
    K, V = (_join_past(each, move(past, lambda x, k=k: x[k])) for k, each in enumerate((K, V)))  # type: ignore[misc]
    is_causal = bool(given.get("unidirectional", 0))
    is_admitted = _admitted(mask, Q.shape[0], Q.shape[2], K.shape[2], is_causal=is_causal)
    Y, _ = _Heads(Q, K, V, _scale_of(node, Q.shape[3]), is_admitted).attend(attention_bias)
    present = stack([K, V], 0) if K.shape == V.shape else None
    return [_join_heads(Y), present]


def _multi_head_attention(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose MultiHeadAttention, with separate or packed queries, keys and values, a mask, a bias and a cache."""
    query, key, value, bias, mask, attention_bias, past_key, past_value, length, beams = [*inputs, *[None] * 10][:10]
    if length is not None or beams is not None:
        raise Unsupported("MultiHeadAttention with a shared buffer or beams")
    _check_filter(node)
    heads = node.attributes["num_heads"]
    Q = tensor(query)
    parts: list[Enclosure]
    if len(Q.shape) == 5:
        parts = [Q.moved(lambda x, k=k: x[:, :, :, k].transpose(0, 2, 1, 3)) for k in range(3)]  # type: ignore[misc]
    else:
        packed = tensor(key)
        if len(packed.shape) == 5:
            pair = [packed.moved(lambda x, k=k: x[:, :, :, k].transpose(0, 2, 1, 3)) for k in range(2)]  # type: ignore[misc]
        else:
            pair = [each if len(each.shape) == 4 else _split_heads(each, heads) for each in map(tensor, (key, value))]
        parts = [_split_heads(Q, heads), *pair]
    if bias is not None:
        biases = sections(tensor(bias), [heads * part.shape[3] for part in parts])
        pieces = (each.moved(lambda b: b.reshape(heads, 1, -1)) for each in biases)
        is_cache = query is not None and len(Q.shape) == 3 and len(tensor(key).shape) == 4
        parts = [
            part if is_cache and number else _as_operand(part + piece)
            for number, (part, piece) in enumerate(zip(parts, pieces, strict=True))
        ]
    Q = parts[0]
    K = _join_past(parts[1], past_key)
    V = _join_past(parts[2], past_value)
    is_causal = bool(node.attributes.get("unidirectional", 0))
    is_admitted = _admitted(mask, Q.shape[0], Q.shape[2], K.shape[2], is_causal=is_causal)
    given_bias = None if attention_bias is None else tensor(attention_bias)
    Y, weights = _Heads(Q, K, V, _scale_of(node, Q.shape[3]), is_admitted).attend(given_bias)
    return [_join_heads(Y), K, V, weights]


def _rotate(X: Enclosure, cosines: Enclosure, sines: Enclosure, *, is_interleaved: bool) -> Enclosure:
    """Return pairs of elements of heads (batch, heads, length, size) rotated by angles (batch, length, pairs)."""
    pairs = cosines.shape[-1]
    c, s = (each.moved(lambda a: a[:, np.newaxis]) for each in (cosines, sines))
    first, second = (
        X.moved(lambda x, k=k: x[..., k : 2 * pairs : 2] if is_interleaved else x[..., k * pairs : (k + 1) * pairs])  # type: ignore[misc]
        for k in range(2)
    )
    rotated = first * c - second * s, second * c + first * s
    parts = [stack(rotated, -1)] if is_interleaved else list(rotated)
    if is_interleaved:
        parts = [tensor(parts[0]).moved(lambda x: x.reshape(*x.shape[:-2], -1))]
    return tensor(stack([*parts, X.moved(lambda x: x[..., 2 * pairs :])], -1, joins=True))


def _angles(positions: Array, caches: Sequence[Tensor]) -> list[Enclosure]:
    return [tensor(each).moved(lambda c: c[positions]) for each in caches]


def _rotary_embedding(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    X = tensor(inputs[0])
    given = np.asarray(inputs[1])
    caches = inputs[2:4]
    attributes = node.attributes
    if attributes.get("is_packed_batching", 0) or attributes.get("scale", 1.0) != 1.0:
        raise Unsupported("RotaryEmbedding of packed batches, or with a scale")
    pairs = tensor(caches[0]).shape[1]
    is_flat = len(X.shape) == 3
    heads = attributes.get("num_heads", 0) or X.shape[-1] // (2 * pairs)
    H = _split_heads(X, heads) if is_flat else X
    positions = given if given.ndim == 2 else given.reshape(-1, 1) + np.arange(H.shape[2])
    positions = np.broadcast_to(positions, (H.shape[0], H.shape[2]))
    Y = _rotate(H, *_angles(positions, caches), is_interleaved=bool(attributes.get("interleaved", 0)))
    return [_join_heads(Y) if is_flat else Y]


def _group_query_attention(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose GroupQueryAttention with a cache that grows, or a buffer in which all sequences have the same length."""
    names = ("query", "key", "value", "past_key", "past_value", "lengths", "total", "cos", "sin", "positions", "bias")
    given = dict(zip((*names, "sink", "k_scale", "v_scale", "q_norm", "k_norm", "chunks"), inputs, strict=False))
    attributes = node.attributes
    Q = tensor(given["query"])
    heads = attributes["num_heads"]
    groups = attributes["kv_num_heads"]
    if any(given.get(name) is not None for name in ("k_scale", "v_scale", "q_norm", "k_norm", "chunks")):
        raise Unsupported("GroupQueryAttention with a quantized cache, normalized heads or padded chunks")
    total = integers(given["total"])[0]
    if attributes.get("sliding_window_cache", 0):
        raise Unsupported("GroupQueryAttention with a cache of the size of a window")
    if given.get("key") is None:
        size = Q.shape[-1] // (heads + 2 * groups)
        Q, K, V = sections(Q, [heads * size, groups * size, groups * size])
    else:
        K = tensor(given["key"])
        V = tensor(given["value"])
    Q, K, V = _split_heads(Q, heads), _split_heads(K, groups), _split_heads(V, groups)
    length = Q.shape[2]
    start = total - Q.shape[2]
    if any(each + 1 != total for each in integers(given["lengths"])) or start < 0:
        raise Unsupported("GroupQueryAttention of sequences of different lengths")
    if attributes.get("do_rotary", 0):
        positions = given.get("positions")
        places = np.arange(start, total) if positions is None else np.asarray(positions)
        angles = _angles(np.broadcast_to(places, (Q.shape[0], length)), (given["cos"], given["sin"]))
        is_interleaved = bool(attributes.get("rotary_interleaved", 0))
        Q, K = (_rotate(each, *angles, is_interleaved=is_interleaved) for each in (Q, K))
    caches = [given.get("past_key"), given.get("past_value")]
    pairs = zip((K, V), caches, strict=True)
    presents = [_join_past(each, move(past, lambda p: p[:, :, :start])) for each, past in pairs]
    sink = given.get("sink")
    smooth = attributes.get("smooth_softmax", -1) > 0
    bias = given.get("bias")
    window = attributes.get("local_window_size", -1)
    is_admitted = _admitted(None, Q.shape[0], length, total, is_causal=bool(attributes.get("causal", 1)))
    if window > 0:
        is_admitted &= np.arange(total) > np.arange(start, total)[:, np.newaxis] - window
    keys, values = (each.moved(lambda x: np.repeat(x, heads // groups, axis=1)) for each in presents)
    scale = _scale_of(node, Q.shape[3])
    softcap = float(attributes.get("softcap", 0.0))
    sinks = tensor(sink) if sink is not None else Q.zeros((heads,)) if smooth else None
    attention = _Heads(Q, keys, values, scale, is_admitted, softcap, sinks)
    Y, _ = attention.attend(None if bias is None else tensor(bias))
    return [_join_heads(Y), *(_in_buffer(each, past) for each, past in zip(presents, caches, strict=True))]


def _in_buffer(present: Enclosure, past: Tensor) -> Enclosure:
    """Return a cache in a buffer that is longer; its further rows are open."""
    more = 0 if past is None else past.shape[2] - present.shape[2]
    if more <= 0:
        return present
    is_open = np.arange(present.shape[2] + more).reshape(1, 1, -1, 1) >= present.shape[2]
    return present.moved(lambda x: np.pad(x, [(0, 0), (0, 0), (0, more), (0, 0)])).leave_open(
        is_open, "rest of a buffer"
    )


# Quantized operators


def _dequantized(x: Tensor, scale: Tensor, zero: Tensor, place: Callable[[Array], Array] = as_scalar) -> Enclosure:
    """Return the numbers of quantized elements: the exact difference to the zero point times the scale."""
    return Enclosure.exact(centred(x, zero, place), FLOAT) * enclose_values(scale, FLOAT).moved(place)


def _requantized(Y: Enclosure, scale: Tensor, zero: Tensor, to: np.dtype[np.generic], node: Node) -> Tensor:
    """Return numbers as elements of a quantized type. The documentation states no rounding of a tie."""
    offset = enclose_values(np.zeros((), to) if zero is None else zero, FLOAT).moved(as_scalar)
    quotient = quotient_by_scale(Y, enclose_values(scale, FLOAT).moved(as_scalar))
    return quantize(quotient, offset, to, node, are_ties_open=True)


def _qlinear_binary(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose QLinearAdd and QLinearMul; kernels also combine the scales and the zero points first."""
    a, a_scale, a_zero, b, b_scale, b_zero, c_scale, c_zero = [*inputs, None][:8]
    assert a is not None
    A = _dequantized(a, a_scale, a_zero)
    B = _dequantized(b, b_scale, b_zero)
    zero = 0.0 if c_zero is None else np.abs(np.asarray(c_zero).astype(np.float64))
    scale = np.abs(enclose_values(c_scale).value)
    if node.op_type == "QLinearAdd":
        whole = [
            enclose_values(s).value
            * (np.abs(np.asarray(x).astype(float)) + (0.0 if z is None else np.abs(np.asarray(z).astype(float))))
            for x, s, z in ((a, a_scale, a_zero), (b, b_scale, b_zero))
        ]
        total = A + B
        magnitudes = whole[0] + whole[1] + zero * scale
    else:
        total = A * B
        magnitudes = total.magnitude + zero * scale
    combined = total.from_terms(total.value, np.broadcast_to(magnitudes, total.shape), 0 * total.value, 6)
    result = admit("QLinear", written=lambda: total, combined=lambda: combined)
    return [_requantized(result, c_scale, c_zero, a.dtype, node)]


def _qlinear(function: Callable[[Node, Enclosure], Enclosure]) -> NodeEnclosure:
    """Return the enclosure of a function of one quantized tensor: dequantized, computed, and quantized."""

    def enclose(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
        x, x_scale, x_zero, y_scale, y_zero = [*inputs, None][:5]
        assert x is not None
        Y = function(node, _dequantized(x, x_scale, x_zero))
        return [_requantized(Y, y_scale, y_zero, x.dtype, node)]

    return _by_channels_last(enclose)


def _softmax_of(node: Node, X: Enclosure) -> Enclosure:
    rank = len(X.shape)
    axis = node.attributes.get("axis", -1) % rank
    return softmax(X, [axis] if node.attributes.get("opset", 13) >= 13 else list(range(axis, rank)))


def _mean_of(node: Node, X: Enclosure) -> Enclosure:
    axes = reduced_axes(node, [], len(X.shape)) or []
    return mean(X, axes, keepdims=bool(node.attributes.get("keepdims", 1)))


def _pooled(name: str) -> Callable[[Node, Enclosure], Enclosure]:
    return lambda node, X: tensor(IMAGE_ENCLOSURES[name](replace(node, opset=22), [X])[0])


def _qlinear_concat(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    scale, zero, *parts = inputs
    assert zero is not None
    numbers = [_dequantized(*each) for each in zip(parts[::3], parts[1::3], parts[2::3], strict=True)]
    joined = tensor(stack(numbers, node.attributes["axis"], joins=True))
    return [_requantized(joined, scale, zero, zero.dtype, node)]


def _qlinear_where(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    condition, x, x_scale, x_zero, y, y_scale, y_zero, z_scale, z_zero = inputs
    assert x is not None
    A = _dequantized(x, x_scale, x_zero)
    B = _dequantized(y, y_scale, y_zero)
    return [_requantized(A.where(np.asarray(condition), B), z_scale, z_zero, x.dtype, node)]


def _scaled_product(
    A: Enclosure, B: Array, scales: Sequence[Enclosure], bias: Enclosure | None, dtype: np.dtype[np.generic]
) -> Enclosure:
    """Return a product of integers times two scales, in either order, plus a bias."""
    sums = matmul(A.with_dtype(np.dtype(np.float64)), Enclosure.exact(B))
    if A.is_exact:
        sums = replace(sums, error=np.zeros_like(sums.error))
    first, second = scales
    product = sums.as_type(dtype)
    Y = admit("Rescaled", written=lambda: product * first * second, multiplier=lambda: product * (first * second))
    return Y if bias is None else Y + bias


def _matmul_integer_to_float(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    a, b, a_scale, b_scale, a_zero, b_zero, bias = [*inputs, None, None, None][:7]
    A = Enclosure.exact(centred(a, a_zero, as_scalar), FLOAT)
    B = centred(b, b_zero, as_scalar)
    scales = [tensor(each).moved(as_scalar) for each in (a_scale, b_scale)]
    summand = None if bias is None else tensor(bias)

    def dequantized() -> Enclosure:
        first = A * scales[0]
        second = Enclosure.exact(B, FLOAT) * scales[1]
        product = first.dot(second, portable.matmul, A.shape[-1])
        return product if summand is None else product.plus(summand)

    return [
        admit(
            "MatMulIntegerToFloat",
            written=lambda: _scaled_product(A, B, scales, summand, scales[0].dtype),
            dequantized=dequantized,
        )
    ]


def _dynamic_quantize_matmul(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose DynamicQuantizeMatMul: DynamicQuantizeLinear of A, a product of integers, and both scales."""
    X, b, b_scale, b_zero, bias = [*inputs, None, None][:5]
    quantized, scale, zero = QUANTIZATION_ENCLOSURES["DynamicQuantizeLinear"](node, [X])
    double = np.dtype(np.float64)
    A = enclose_values(quantized, double) - enclose_values(zero, double)
    scales = [tensor(scale), tensor(b_scale).moved(as_scalar)]
    if enclose_values(quantized).is_exact and enclose_values(zero).is_exact:
        A = replace(A, error=np.zeros_like(A.error))
    B = centred(b, b_zero, as_scalar)
    return [_scaled_product(A, B, scales, None if bias is None else tensor(bias), FLOAT)]


def _qgemm(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose QGemm: alpha a_scale b_scale (A B + C), as a number or quantized."""
    a, a_scale, a_zero, b, b_scale, b_zero, c, y_scale, y_zero = [*inputs, *[None] * 3][:9]
    given = node.attributes
    A = centred(a, a_zero, as_scalar)
    B = centred(b, b_zero, _per_row if given.get("transB", 0) else as_scalar)
    A, B = A.T if given.get("transA", 0) else A, B.T if given.get("transB", 0) else B
    sums = A @ B + (0.0 if c is None else np.asarray(c).astype(np.float64))
    exact = Enclosure.exact(sums).as_type(FLOAT)
    first, second = (enclose_values(each, FLOAT).moved(as_scalar) for each in (a_scale, b_scale))
    factor = float(given.get("alpha", 1.0)) * first
    Y = admit("Rescaled", written=lambda: exact * factor * second, multiplier=lambda: exact * (factor * second))
    if y_scale is None:
        return [Y]
    assert y_zero is not None
    return [_requantized(Y, y_scale, y_zero, y_zero.dtype, node)]


def _per_row(x: Array) -> Array:
    return x.reshape(-1, 1) if x.size > 1 else x.reshape(())


def _qattention(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    x, w, bias, x_scale, w_scale, mask, x_zero, w_zero, past = [*inputs, *[None] * 4][:9]
    A = Enclosure.exact(centred(x, x_zero, as_scalar), FLOAT)
    scales = [tensor(each).moved(as_scalar) for each in (x_scale, w_scale)]
    projected = _scaled_product(A, centred(w, w_zero, as_scalar), scales, tensor(bias), FLOAT)
    return _attend_projected(node, projected, mask, past, None)


def _matmul_nbits(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose MatMulNBits: a product with weights of a few bits that have a scale for each block.

    With the accuracy level 4 a kernel may quantize A to eight bits in blocks.
    """
    A, b, scales, zeros, groups, bias = [*inputs, *[None] * 4][:6]
    given = node.attributes
    bits, block, rows, columns = (given.get(name, 4) for name in ("bits", "block_size", "N", "K"))
    X = tensor(A)
    S = tensor(scales)
    packed = np.asarray(b)
    if bits not in (2, 4, 8) or given.get("weight_prepacked", 0):
        raise Unsupported("MatMulNBits with prepacked weights, or with odd bits")
    if not packed.size:  # an omitted projection
        none = X.zeros((*X.shape[:-1], rows))
        return [none if bias is None else none + tensor(bias)]
    if groups is not None and np.any(np.asarray(groups) != np.arange(columns) // block):
        raise Unsupported("MatMulNBits with an order of groups")
    count = -(-columns // block)
    quantized = enclose_values(_unpacked(packed.reshape(rows, count, -1), bits)[..., :block], S.dtype)
    if zeros is None:
        zero = Enclosure.exact(np.full((rows, count, 1), 2.0 ** (bits - 1)), S.dtype)
    elif isinstance(zeros, np.ndarray):
        zero = enclose_values(_unpacked(zeros.reshape(rows, -1), bits)[:, :count, np.newaxis], S.dtype)
    else:
        zero = tensor(zeros).moved(lambda z: z.reshape(rows, count, 1))
    W = (quantized - zero) * S.moved(lambda s: s.reshape(rows, count, 1))
    W = W.moved(lambda w: w.reshape(rows, -1)[:, :columns].T)
    if given.get("accuracy_level", 0) == 4:
        X = _in_eight_bits(X, block)
    Y = matmul(X, W)
    return [Y if bias is None else Y.plus(tensor(bias), is_fused=True)]


def _unpacked(packed: Array, bits: int) -> Array:
    """Return the elements that bytes contain along the last axis, low bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = (packed.astype(np.uint8)[..., np.newaxis] >> shifts) & (2**bits - 1)
    return np.asarray(parts.reshape(*packed.shape[:-1], -1))


def _in_eight_bits(X: Enclosure, block: int) -> Enclosure:
    """Return a tensor that may be quantized to integers from -127 to 127 in blocks along its last axis."""
    starts = np.arange(0, X.shape[-1], block)
    largest = np.repeat(np.maximum.reduceat(X.magnitude, starts, axis=-1), block, axis=-1)[..., : X.shape[-1]]
    return replace(X, error=X.error + largest * (1 / 254 + 2.0**-16))


_NORMAL_FLOAT4 = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)
"""The numbers of NF4, in float (Dettmers et al. 2023, appendix E)."""


def _matmul_bnb4(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose MatMulBnb4 with weights in NF4, of which a byte has two, the first in its high half."""
    given = node.attributes
    X = tensor(inputs[0])
    largest = tensor(inputs[2])
    rows = given["N"]
    columns = given["K"]
    block = given["block_size"]
    if given["quant_type"] != 1:
        raise Unsupported("MatMulBnb4 with FP4, whose numbers the documentation does not state")
    halves = np.stack(np.divmod(np.asarray(inputs[1]).astype(np.int64), 16), -1).reshape(-1)[: rows * columns]
    scales = largest.moved(lambda s: np.repeat(s.reshape(-1), block)[: rows * columns])
    numbers = enclose_values(np.array(_NORMAL_FLOAT4)[halves], X.dtype)
    W = (numbers * scales).moved(lambda w: w.reshape(rows, columns))
    return [matmul(X, W.moved(np.transpose) if given.get("transB", 1) else W)]


def _gather_block_quantized(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose GatherBlockQuantized: rows of integers, minus zero points and times scales of blocks."""
    given = node.attributes
    (data, indices, scales, zeros) = [*inputs, None][:4]
    if not isinstance(data, np.ndarray) or not isinstance(indices, np.ndarray):
        raise Unsupported("GatherBlockQuantized of numbers, or of indices that are not known")
    S = tensor(scales)
    is_packed = data.dtype == np.uint8
    bits = given.get("bits", 4) if is_packed else 4

    def elements(packed: Array) -> Array:
        return (_unpacked(packed, bits) if is_packed and bits < 8 else packed).astype(np.float64)

    numbers = elements(data)
    axis = given.get("quantize_axis", 1) % numbers.ndim
    block = given.get("block_size", 128)
    middle = np.full(S.shape, 2.0 ** (bits - 1) if is_packed else 0.0)
    points = middle if zeros is None else elements(np.asarray(zeros))

    def spread(x: Array) -> Array:
        return np.asarray(np.take(x, np.arange(numbers.shape[axis]) // block, axis))

    difference = numbers - spread(np.take(points, np.arange(S.shape[axis]), axis))
    W = enclose_values(difference, S.dtype) * S.moved(spread)
    place = given.get("gather_axis", 0) % numbers.ndim
    is_inside = (indices >= -numbers.shape[place]) & (indices < numbers.shape[place])
    kept = is_inside.reshape(*indices.shape, *[1] * (numbers.ndim - 1 - place))
    return [W.moved(lambda w: np.where(kept, np.take(w, np.where(is_inside, indices, 0), place), 0.0))]


def _cdist(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose CDist: the distance of each row of A and each row of B. The metrics have the names of SciPy."""
    metric = node.attributes.get("metric", "sqeuclidean")
    if metric not in ("euclidean", "sqeuclidean"):
        raise Unsupported(f"CDist with the metric {metric}")
    distances = relu(squared_distances(tensor(inputs[0]), tensor(inputs[1])))
    return [sqrt(distances) if metric == "euclidean" else distances]


def _dynamic_quantize_lstm(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose DynamicQuantizeLSTM: LSTM with quantized weights, of an input and a state that kernels quantize too."""
    x, w, r, *others, w_scale, w_zero, r_scale, r_zero = [*inputs, None][:12]
    W, R = (
        _dequantized(*each, _by_direction).moved(lambda v: np.swapaxes(v, 1, 2))
        for each in ((w, w_scale, w_zero), (r, r_scale, r_zero))
    )
    return list(RECURRENT_FORMULAS["LSTM"](node, [in_eight_bits(tensor(x)), W, R, *others]))


def _by_direction(s: Array) -> Array:
    """Return scales of each direction, or of each gate of it, for weights (directions, inputs, gates)."""
    return s.reshape(len(s), 1, -1)


# Operators that move elements


def _as_in_onnx(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose an operator of which ONNX has one with the same documentation and the same name."""
    return evaluate_exactly(replace(node, domain="", opset=17), inputs)


def _pad(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Pad, whose pads may have a leading axis of size 1."""
    data, pads, *value = inputs
    return _as_in_onnx(node, [data, move(pads, np.ravel), *value])


def _unique(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose Unique: the elements in the order in which they occur, the place of each among them, and counts."""
    Y, _, places, counts = _as_in_onnx(replace(node, attributes={"sorted": 0}), inputs)
    return [Y, places, counts]


def _expand_dims(_: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    axis = integers(inputs[1])[0]
    if axis < 0:
        raise Unsupported("ExpandDims with a negative axis")
    return [move(inputs[0], lambda x: np.expand_dims(x, axis))]


def _unfold_tensor(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose UnfoldTensor: the slices of one axis, along a new last axis."""
    size, step, axis = (node.attributes.get(name, default) for name, default in (("size", 0), ("step", 1), ("dim", -1)))

    def slices(x: Array) -> Array:
        windows = np.lib.stride_tricks.sliding_window_view(x, size, axis)
        return np.take(windows, np.arange(0, windows.shape[axis % x.ndim], step), axis % x.ndim)

    return [move(inputs[0], slices)]


def _ngram_repeat_block(node: Node, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Enclose NGramRepeatBlock: scores, and -inf for each token that would repeat an n-gram of its sequence."""
    ids = np.asarray(inputs[0])
    scores = tensor(inputs[1])
    size = node.attributes["ngram_size"]
    is_allowed = np.ones(scores.shape, dtype=bool)
    if ids.shape[1] >= size:
        grams = np.lib.stride_tricks.sliding_window_view(ids, size, 1)
        sequences, places = np.nonzero((grams[..., :-1] == grams[:, -1:, 1:]).all(axis=-1))
        tokens = grams[sequences, places, -1]
        if ((tokens < 0) | (tokens >= scores.shape[1])).any():
            raise Unsupported("NGramRepeatBlock with a token outside of the vocabulary")
        is_allowed[sequences, tokens] = False
    return [scores.where(is_allowed, Enclosure.exact(np.full(scores.shape, -np.inf, scores.dtype)))]


MICROSOFT_ENCLOSURES: Mapping[str, NodeEnclosure] = {
    "FusedConv": _fused_conv,
    "FusedGemm": _fused_gemm,
    "FusedMatMul": _fused_matmul,
    "FusedMatMulActivation": _fused_matmul,
    "TransposeMatMul": _fused_matmul,
    "Gelu": lambda _, inputs: [gelu(tensor(inputs[0]))],
    "BiasGelu": lambda _, inputs: [gelu(tensor(inputs[0]) + tensor(inputs[1]))],
    "BiasAdd": lambda _, inputs: [add_operands([tensor(each) for each in inputs])],
    "FastGelu": _fast_gelu,
    "QuickGelu": _quick_gelu,
    "Tokenizer": tokenizer,
    "SkipLayerNormalization": _skip_normalization,
    "SkipSimplifiedLayerNormalization": _skip_normalization,
    "EmbedLayerNormalization": _embed_layer_normalization,
    "Attention": _attention,
    "MultiHeadAttention": _multi_head_attention,
    "GroupQueryAttention": _group_query_attention,
    "RotaryEmbedding": _rotary_embedding,
    "QuantizeLinear": QUANTIZATION_ENCLOSURES["QuantizeLinear"],
    "DequantizeLinear": QUANTIZATION_ENCLOSURES["DequantizeLinear"],
    "QLinearAdd": _qlinear_binary,
    "QLinearMul": _qlinear_binary,
    "QLinearLeakyRelu": _qlinear(lambda node, X: leaky_relu(X, float(node.attributes.get("alpha", np.float32(0.01))))),
    "QLinearSigmoid": _qlinear(lambda _, X: sigmoid(X)),
    "QLinearSoftmax": _qlinear(_softmax_of),
    "QLinearAveragePool": _qlinear(_pooled("AveragePool")),
    "QLinearGlobalAveragePool": _qlinear(_pooled("GlobalAveragePool")),
    "QLinearConcat": _qlinear_concat,
    "QLinearWhere": _qlinear_where,
    "MatMulIntegerToFloat": _matmul_integer_to_float,
    "DynamicQuantizeMatMul": _dynamic_quantize_matmul,
    "QGemm": _qgemm,
    "QAttention": _qattention,
    "MatMulNBits": _matmul_nbits,
    "QLinearConv": _by_channels_last(QUANTIZATION_ENCLOSURES["QLinearConv"]),
    "QLinearReduceMean": _qlinear(_mean_of),
    "QEmbedLayerNormalization": _qembed_layer_normalization,
    "DynamicQuantizeLSTM": _dynamic_quantize_lstm,
    "CDist": _cdist,
    "ExpandDims": _expand_dims,
    "GatherND": _as_in_onnx,
    "GridSample": REGION_ENCLOSURES["GridSample"],
    "NGramRepeatBlock": _ngram_repeat_block,
    "Pad": _pad,
    "Trilu": _as_in_onnx,
    "UnfoldTensor": _unfold_tensor,
    "Unique": _unique,
    "GatherBlockQuantized": _gather_block_quantized,
    "MatMulBnb4": _matmul_bnb4,
    "BiasSoftmax": _bias_softmax,
    "NhwcFusedConv": _with_channels_last(_fused_conv, (0, 3)),
    "NhwcMaxPool": _with_channels_last(IMAGE_ENCLOSURES["MaxPool"], (0,)),
}
"""The function that encloses the outputs of each operator of com.microsoft, by op_type."""
