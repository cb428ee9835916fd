"""Random nodes of single operators, with inputs that belong together, for comparison with runtimes.

Run `python tests/support/operator_draws.py COUNT SEED [OPERATOR ...]` to print the nodes whose outputs are outside of
the bounds on ONNX Runtime, with and without optimizations, or on onnx's reference evaluator.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator
from reference_sweep import Drawn, run

from conformance.reference.node_enclosures import NodeScope, enclose
from conformance.reference.numbers.enclosure import Enclosure, admissible_mask
from conformance.verdicts import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Array = np.ndarray[Any, Any]
    Draw = Callable[[np.random.Generator], Drawn]

FLOATS = (np.float32, np.float32, np.float64, np.float16)
INTEGERS = (np.int8, np.uint8, np.int32, np.int64)
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e-30, 0.5, 2.5, 300.0)


def make(op_type: str, *arrays: Array | None, opset: int = 21, outputs: int = 1, **attributes: Any) -> Drawn:
    """Return a node with its inputs; None is an input that the node leaves out."""
    inputs = ["" if array is None else f"i{number}" for number, array in enumerate(arrays)]
    node = helper.make_node(op_type, inputs, [f"o{number}" for number in range(outputs)], **attributes)
    return Drawn(node, tuple(np.asarray(each) for each in arrays if each is not None), opset)


def numbers(random: np.random.Generator, dtype: Any, *shape: int, special: float = 0.05) -> Array:
    """Return random numbers of a type, some of them special."""
    if np.dtype(dtype).kind in "iu":
        return random.integers(0 if np.dtype(dtype).kind == "u" else -9, 10, shape).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return random.random(shape) < 0.5
    X = random.standard_normal(shape) * random.choice([0.1, 1, 1, 30])
    with np.errstate(all="ignore"):
        return np.where(random.random(shape) < special, random.choice(SPECIAL, shape), X).astype(dtype)


def a_type(random: np.random.Generator, *more: Any) -> Any:
    """Return a type of numbers."""
    choices = (*FLOATS, *more)
    return choices[random.integers(len(choices))]


def a_shape(random: np.random.Generator, low: int = 1, high: int = 4) -> tuple[int, ...]:
    """Return a shape with a rank between two limits."""
    return tuple(int(size) for size in random.integers(1, 5, random.integers(low, high + 1)))


def _cast(random: np.random.Generator) -> Drawn:
    to = int(random.choice([1, 2, 3, 6, 7, 9, 10, 11, 12, 16, 17, 18, 19, 20]))
    X = numbers(random, a_type(random, *INTEGERS, np.bool_), *a_shape(random))
    return make("Cast", X, to=to, **({"saturate": int(random.integers(2))} if 17 <= to <= 20 else {}))


def _cast_like(random: np.random.Generator) -> Drawn:
    X = numbers(random, a_type(random, *INTEGERS, np.bool_), *a_shape(random))
    return make("CastLike", X, np.zeros(1, a_type(random, *INTEGERS, np.bool_)))


def _trilu(random: np.random.Generator) -> Drawn:
    X = numbers(random, a_type(random, np.int64, np.bool_), *a_shape(random, 2))
    return make("Trilu", X, np.array(random.integers(-4, 5)), upper=int(random.integers(2)))


def _bitwise(op_type: str, count: int) -> Draw:
    def draw(random: np.random.Generator) -> Drawn:
        dtype, shape = INTEGERS[random.integers(len(INTEGERS))], a_shape(random)
        return make(op_type, *(numbers(random, dtype, *shape) for _ in range(count)))

    return draw


def _bit_shift(random: np.random.Generator) -> Drawn:
    dtype, shape = [np.uint8, np.uint32, np.uint64][random.integers(3)], a_shape(random)
    X, Y = (random.integers(0, high, shape).astype(dtype) for high in (250, 8))
    return make("BitShift", X, Y, direction=str(random.choice(["LEFT", "RIGHT"])))


def _scatter(op_type: str) -> Draw:
    def draw(random: np.random.Generator) -> Drawn:
        dtype, shape = a_type(random, np.int32, np.int64), a_shape(random, 1, 3)
        data = numbers(random, dtype, *shape)
        reduction = str(random.choice(["none", "add", "mul", "max", "min"]))
        attributes: dict[str, Any] = {"reduction": reduction}
        if op_type == "ScatterND":
            depth = int(random.integers(1, len(shape) + 1))
            places = [random.integers(-size, size, 3) for size in shape[:depth]]
            indices = np.stack(places, -1)
            updates = numbers(random, dtype, 3, *shape[depth:])
        else:
            axis = int(random.integers(len(shape)))
            part = tuple(int(random.integers(1, size + 1)) for size in shape)
            indices, updates = random.integers(-shape[axis], shape[axis], part), numbers(random, dtype, *part)
            attributes["axis"] = axis
        return make(op_type, data, indices, updates, **attributes)

    return draw


def _compress(random: np.random.Generator) -> Drawn:
    X = numbers(random, a_type(random, np.int64, np.bool_), *a_shape(random, 2))
    return make("Compress", X, random.random(X.shape[1]) < 0.5, axis=1)


def _unique(random: np.random.Generator) -> Drawn:
    X = np.round(numbers(random, a_type(random, np.int64), *a_shape(random, 1, 3), special=0.0))
    attributes = {"axis": int(random.integers(X.ndim))} if random.random() < 0.5 else {}
    return make("Unique", X, outputs=4, sorted=int(random.integers(2)), **attributes)


def _reverse_sequence(random: np.random.Generator) -> Drawn:
    X = numbers(random, a_type(random, np.int64), *a_shape(random, 2))
    time = int(random.integers(2))
    lengths = random.integers(1, X.shape[time] + 1, X.shape[1 - time])
    return make("ReverseSequence", X, lengths, time_axis=time, batch_axis=1 - time)


def _range(random: np.random.Generator) -> Drawn:
    dtype = [np.float32, np.float64][random.integers(2)]
    start, delta = random.standard_normal(2)
    return make("Range", *(np.array(x, dtype) for x in (start, start + delta * random.uniform(0, 50), delta)))


def _eye_like(random: np.random.Generator) -> Drawn:
    X = numbers(random, a_type(random, np.int64), *a_shape(random, 2, 2))
    attributes = {"dtype": int(random.choice([1, 7, 11]))} if random.random() < 0.5 else {}
    return make("EyeLike", X, k=int(random.integers(-2, 3)), **attributes)


def _einsum(random: np.random.Generator) -> Drawn:
    sizes = {letter: int(random.integers(1, 6)) for letter in "abcijk"}
    equation = str(
        random.choice(
            ["ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij->i", "ij", "i,j->ij", "ij,jk,k->i", "abc,cb->a", "ij,ij->"]
        )
    )
    dtype = a_type(random, np.int32)
    terms = equation.partition("->")[0].split(",")
    return make("Einsum", *(numbers(random, dtype, *(sizes[n] for n in term)) for term in terms), equation=equation)


def _max_pool(random: np.random.Generator) -> Drawn:
    dtype = [np.float32, np.float64, np.float16, np.int8, np.uint8][random.integers(5)]
    X = numbers(random, dtype, 1, 2, *(int(size) for size in random.integers(4, 8, 2)), special=0.02)
    attributes: dict[str, Any] = {"storage_order": int(random.integers(2))} if random.random() < 0.5 else {}
    pads = [int(pad) for pad in random.integers(0, 2, 4)]
    return make(
        "MaxPool", X, outputs=2, kernel_shape=[3, 2], pads=pads, strides=[2, 1], ceil_mode=int(random.integers(2)),
        **attributes,
    )  # fmt: skip


def _product(op_type: str) -> Draw:
    def draw(random: np.random.Generator) -> Drawn:
        X = numbers(random, a_type(random, np.int32, np.int64), int(random.integers(1, 4)), int(random.integers(1, 30)))
        if op_type == "ReduceProd":
            return make(op_type, X, np.array([1]), keepdims=int(random.integers(2)))
        return make(
            op_type, X, np.array(1), opset=26, exclusive=int(random.integers(2)), reverse=int(random.integers(2))
        )

    return draw


def _mod(random: np.random.Generator) -> Drawn:
    dtype, shape = a_type(random), a_shape(random)
    A, B = (numbers(random, dtype, *shape) for _ in range(2))
    return make("Mod", A, B, opset=28, fmod=int(random.integers(2)))


def _zero(random: np.random.Generator, dtype: Any, *shape: int) -> Array:
    low, high = (0, 255) if dtype == np.uint8 else (-128, 127) if dtype == np.int8 else (-100, 100)
    return random.integers(low, high + 1, shape).astype(dtype)


def _scales(random: np.random.Generator, dtype: Any, *shape: int) -> Array:
    X = (
        random.choice([0.5, 0.25, 1.0, 0.1, 0.03], shape)
        if random.random() < 0.5
        else random.random(shape) * 0.2 + 0.01
    )
    return np.asarray(X, dtype)


def _quantize_linear(random: np.random.Generator) -> Drawn:
    dtype, shape = [np.float32, np.float32, np.float16][random.integers(3)], a_shape(random, 2)
    to = [np.uint8, np.int8, np.int16, np.uint16][random.integers(4)]
    X = numbers(random, dtype, *shape, special=0.02)
    if random.random() < 0.3:
        X = np.round(X * 2) / 2  # ties
    kind, axis = random.integers(3), int(random.integers(len(shape)))
    parts = [(), (shape[axis],), tuple(-(-size // 2) if each == axis else size for each, size in enumerate(shape))]
    part, attributes = parts[kind], [{}, {"axis": axis}, {"axis": axis, "block_size": 2}][kind]
    zero = (random.integers(0, 100, part)).astype(to)
    return make("QuantizeLinear", X.astype(dtype), _scales(random, dtype, *part), zero, **attributes)


def _dequantize_linear(random: np.random.Generator) -> Drawn:
    dtype, shape = [np.float32, np.float16][random.integers(2)], a_shape(random, 2)
    of = [np.uint8, np.int8, np.int16, np.int32][random.integers(4)]
    kind, axis = random.integers(3), int(random.integers(len(shape)))
    parts = [(), (shape[axis],), tuple(-(-size // 2) if each == axis else size for each, size in enumerate(shape))]
    part, attributes = parts[kind], [{}, {"axis": axis}, {"axis": axis, "block_size": 2}][kind]
    zero = np.zeros(part, of) if of == np.int32 else _zero(random, of, *part)
    return make("DequantizeLinear", _zero(random, of, *shape), _scales(random, dtype, *part), zero, **attributes)


def _dynamic_quantize_linear(random: np.random.Generator) -> Drawn:
    return make("DynamicQuantizeLinear", numbers(random, np.float32, *a_shape(random), special=0.0), outputs=3)


def _two_bytes(random: np.random.Generator) -> tuple[Any, Any]:
    first, second = ([np.uint8, np.int8][number] for number in random.integers(0, 2, 2))
    return first, second


def _matmul_integer(random: np.random.Generator) -> Drawn:
    first, second = _two_bytes(random)
    m, k, n = (int(size) for size in random.integers(1, 8, 3))
    A, B = _zero(random, first, m, k), _zero(random, second, k, n)
    columns = [(), (n,)][random.integers(2)]
    return make("MatMulInteger", A, B, _zero(random, first), _zero(random, second, *columns))


def _conv_integer(random: np.random.Generator) -> Drawn:
    second = np.uint8
    X, W = _zero(random, np.uint8, 1, 4, 5, 6), _zero(random, second, 4, 2, 3, 2)
    return make("ConvInteger", X, W, _zero(random, np.uint8), _zero(random, second), group=2, pads=[1, 0, 1, 1])


def _qlinear_matmul(random: np.random.Generator) -> Drawn:
    first, second = _two_bytes(random)
    m, k, n = (int(size) for size in random.integers(1, 8, 3))
    columns = [(), (n,)][random.integers(2)]
    A = _zero(random, first, m, k), _scales(random, np.float32), _zero(random, first)
    B = _zero(random, second, k, n), _scales(random, np.float32, *columns), _zero(random, second, *columns)
    scale = np.array(random.choice([4.0, 8.0, 13.7]), np.float32)
    return make("QLinearMatMul", *A, *B, scale, _zero(random, first))


def _qlinear_conv(random: np.random.Generator) -> Drawn:
    channels = [(), (4,)][random.integers(2)]
    first, second = _two_bytes(random)
    X = _zero(random, first, 1, 4, 5, 6), _scales(random, np.float32), _zero(random, first)
    W = _zero(random, second, 4, 2, 3, 2), _scales(random, np.float32, *channels), np.zeros(channels, second)
    scale = np.array(random.choice([4.0, 8.0, 13.7]), np.float32)
    bias = random.integers(-1000, 1000, 4).astype(np.int32)
    return make("QLinearConv", *X, *W, scale, _zero(random, first), bias, group=2, pads=[1, 0, 1, 1])


def _attention(random: np.random.Generator) -> Drawn:
    dtype = [np.float32, np.float32, np.float16][random.integers(3)]
    batch, heads, size, queries, keys = (
        int(random.choice([1, 2])),
        int(random.choice([2, 4])),
        4,
        *(int(n) for n in random.integers(1, 6, 2)),
    )
    groups = int(random.choice([heads, 2]))
    attributes: dict[str, Any] = {"is_causal": int(random.integers(2))}
    if random.random() < 0.3:
        attributes["scale"] = 0.5
    if random.random() < 0.3:
        attributes["softcap"] = 2.0
    past = 3 if random.random() < 0.4 else 0
    if past and attributes["is_causal"]:
        queries += 1  # ONNX Runtime 1.32 ignores `is_causal` for one query after past keys
    mask: Array | None = None
    if random.random() < 0.5:
        shape = (queries, keys + past)
        is_boolean = random.random() < 0.5
        mask = np.tri(*shape, past + 1, dtype=bool) if is_boolean else numbers(random, dtype, *shape, special=0.0)
    Q = numbers(random, dtype, batch, heads, queries, size, special=0.0) / dtype(8)
    K, V = (numbers(random, dtype, batch, groups, keys, size, special=0.0) / dtype(8) for _ in range(2))
    if random.random() < 0.5 and not past:
        Q, K, V = (X.transpose(0, 2, 1, 3).reshape(batch, X.shape[2], -1) for X in (Q, K, V))
        attributes |= {"q_num_heads": heads, "kv_num_heads": groups}
    caches = [numbers(random, dtype, batch, groups, past, size, special=0.0) for _ in range(2)] if past else []
    return make("Attention", Q, K, V, mask, *caches, opset=23, outputs=3 if past else 1, **attributes)


def _rotary_embedding(random: np.random.Generator) -> Drawn:
    dtype, heads, size, length = [np.float32, np.float16][random.integers(2)], 3, 8, int(random.integers(1, 6))
    part = int(random.choice([0, 4]))
    X = numbers(random, dtype, 2, heads, length, size, special=0.0)
    attributes: dict[str, Any] = {"interleaved": int(random.integers(2)), "rotary_embedding_dim": part}
    if random.random() < 0.5:
        X = X.transpose(0, 2, 1, 3).reshape(2, length, -1)
        attributes["num_heads"] = heads
    if part:
        attributes["num_heads"] = heads
    angles = random.standard_normal((10, (part or size) // 2))
    caches = np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)
    return make("RotaryEmbedding", X, *caches, random.integers(0, 10, (2, length)), opset=23, **attributes)


def _window(op_type: str) -> Draw:
    def draw(random: np.random.Generator) -> Drawn:
        size = np.array(random.integers(1, 40))
        return make(op_type, size, periodic=int(random.integers(2)), output_datatype=int(random.choice([1, 11])))

    return draw


def _affine_grid(random: np.random.Generator) -> Drawn:
    rank, dtype = int(random.choice([2, 3])), [np.float32, np.float64][random.integers(2)]
    batch = int(random.choice([1, 2]))
    theta = numbers(random, dtype, batch, rank, rank + 1, special=0.0)
    sizes = np.array([batch, 3, *random.integers(1, 6, rank)])
    return make("AffineGrid", theta, sizes, align_corners=int(random.integers(2)))


def _loss(op_type: str) -> Draw:
    def draw(random: np.random.Generator) -> Drawn:
        dtype, classes, more = FLOATS[random.integers(4)], 4, a_shape(random, 0, 2)
        batch = int(random.choice([1, 3]))
        scores = numbers(random, dtype, batch, classes, *more, special=0.0)
        labels = random.integers(0, classes, (batch, *more))
        weight = [np.abs(numbers(random, dtype, classes, special=0.0)) + dtype(0.5)] if random.random() < 0.5 else []
        attributes: dict[str, Any] = {"reduction": str(random.choice(["none", "sum", "mean"]))}
        if random.random() < 0.3:
            attributes["ignore_index"] = 1
        outputs = 1 if op_type.startswith("N") else int(random.integers(1, 3))
        return make(op_type, scores, labels, *weight, outputs=outputs, **attributes)

    return draw


def _reduce_extreme(random: np.random.Generator) -> Drawn:
    X = numbers(random, a_type(random, np.int8, np.int64), *a_shape(random, 2, 3))
    return make(str(random.choice(["ReduceMax", "ReduceMin"])), X, np.array([1]), keepdims=int(random.integers(2)))


def _resize(random: np.random.Generator) -> Drawn:
    X = numbers(random, [np.float32, np.float64][random.integers(2)], 1, 2, *random.integers(3, 8, 2), special=0.0)
    mode = str(random.choice(["nearest", "linear", "linear", "cubic", "cubic"]))
    coordinates = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"]
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": str(random.choice(coordinates))}
    if mode != "nearest" and random.random() < 0.3:
        attributes |= {"antialias": 1, "coordinate_transformation_mode": "half_pixel"}
    elif mode == "cubic":
        attributes["exclude_outside"] = int(random.integers(2))
    if mode == "nearest":
        attributes["nearest_mode"] = str(random.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    if random.random() < 0.5:
        scales = np.array([1, 1, *random.choice([0.6, 0.5, 2.0, 1.7], 2)], np.float32)
        return make("Resize", X, None, scales, **attributes)
    sizes = np.array([*X.shape[:2], *random.integers(2, 12, 2)])
    if random.random() < 0.3:
        attributes |= {"axes": [2, 3], "keep_aspect_ratio_policy": str(random.choice(["not_larger", "not_smaller"]))}
        sizes = sizes[2:]
    return make("Resize", X, None, None, sizes, **attributes)


def _lp_pool(random: np.random.Generator) -> Drawn:
    X = numbers(random, [np.float32, np.float64][random.integers(2)], 1, 2, *random.integers(4, 8, 2), special=0.0)
    p = int(random.integers(1, 4))
    if random.random() < 0.3:
        return make("GlobalLpPool", X, p=p)
    return make("LpPool", X, p=p, kernel_shape=[3, 2], strides=[2, 1], pads=[int(n) for n in random.integers(0, 2, 4)])


def _lrn(random: np.random.Generator) -> Drawn:
    X = numbers(random, np.float32, 1, int(random.integers(1, 8)), 3, 2, special=0.0)
    return make("LRN", X, size=int(random.choice([1, 3, 5])), alpha=float(random.choice([1e-4, 0.5])), bias=2.0)


def _max_unpool(random: np.random.Generator) -> Drawn:
    places = random.permutation(64)[:16].reshape(1, 1, 4, 4)
    X = numbers(random, np.float32, 1, 1, 4, 4, special=0.0)
    return make("MaxUnpool", X, places, kernel_shape=[2, 2], strides=[2, 2])


def _conv_transpose(random: np.random.Generator) -> Drawn:
    X = numbers(random, np.float32, 1, 2, *random.integers(2, 5, 2), special=0.0)
    W = numbers(random, np.float32, 2, 3, 3, 3, special=0.0)
    if random.random() < 0.5:
        return make("ConvTranspose", X, W, strides=[2, 1], auto_pad=str(random.choice(["SAME_UPPER", "SAME_LOWER"])))
    sizes = [2 * X.shape[2], X.shape[3] + 1]
    return make("ConvTranspose", X, W, strides=[2, 1], output_shape=sizes)


def _recurrent(op_type: str, gates: int, activations: int) -> Draw:
    def draw(random: np.random.Generator) -> Drawn:
        direction = str(random.choice(["forward", "reverse", "bidirectional"]))
        ways, steps, batch, width, hidden = 1 + (direction == "bidirectional"), 4, 3, 2, 3
        X, W, R, B = (
            (random.standard_normal(shape) * 0.7).astype(np.float32)
            for shape in (
                (steps, batch, width), (ways, gates * hidden, width), (ways, gates * hidden, hidden),
                (ways, 2 * gates * hidden),
            )
        )  # fmt: skip
        lengths = random.integers(1, steps + 1, batch).astype(np.int32) if random.random() < 0.6 else None
        attributes: dict[str, Any] = {"direction": direction, "hidden_size": hidden}
        if random.random() < 0.3 and op_type != "RNN":  # ONNX Runtime 1.32 clips RNN with a Tanh of 30 ULP
            attributes["clip"] = 0.8
        if op_type == "LSTM" and random.random() < 0.3:
            attributes["input_forget"] = 1
        if op_type == "GRU":
            attributes["linear_before_reset"] = int(random.integers(2))
        if random.random() < 0.4:
            names = ["Sigmoid", "Tanh", "Relu", "Softsign", "HardSigmoid", "Elu", "LeakyRelu"]
            attributes["activations"] = [str(name) for name in random.choice(names, activations * ways)]
        return make(op_type, X, W, R, B, lengths, outputs=3 if op_type == "LSTM" else 2, **attributes)

    return draw


DRAWS: Mapping[str, Draw] = {
    "Cast": _cast,
    "CastLike": _cast_like,
    "Trilu": _trilu,
    "BitwiseAnd": _bitwise("BitwiseAnd", 2),
    "BitwiseOr": _bitwise("BitwiseOr", 2),
    "BitwiseXor": _bitwise("BitwiseXor", 2),
    "BitwiseNot": _bitwise("BitwiseNot", 1),
    "BitShift": _bit_shift,
    "ScatterND": _scatter("ScatterND"),
    "ScatterElements": _scatter("ScatterElements"),
    "Compress": _compress,
    "Unique": _unique,
    "ReverseSequence": _reverse_sequence,
    "Range": _range,
    "EyeLike": _eye_like,
    "Einsum": _einsum,
    "MaxPool": _max_pool,
    "ReduceProd": _product("ReduceProd"),
    "CumProd": _product("CumProd"),
    "Mod": _mod,
    "QuantizeLinear": _quantize_linear,
    "DequantizeLinear": _dequantize_linear,
    "DynamicQuantizeLinear": _dynamic_quantize_linear,
    "MatMulInteger": _matmul_integer,
    "ConvInteger": _conv_integer,
    "QLinearMatMul": _qlinear_matmul,
    "QLinearConv": _qlinear_conv,
    "Attention": _attention,
    "RotaryEmbedding": _rotary_embedding,
    **{name: _window(name) for name in ("HannWindow", "HammingWindow", "BlackmanWindow")},
    "AffineGrid": _affine_grid,
    **{name: _loss(name) for name in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")},
    "ReduceMax": _reduce_extreme,
    "Resize": _resize,
    "LSTM": _recurrent("LSTM", 4, 3),
    "GRU": _recurrent("GRU", 3, 2),
    "RNN": _recurrent("RNN", 1, 1),
    "LpPool": _lp_pool,
    "LRN": _lrn,
    "MaxUnpool": _max_unpool,
    "ConvTranspose": _conv_transpose,
}
"""The function that draws a node of each operator."""


FAULTS_OF_EVALUATOR = frozenset({"Unique", "QuantizeLinear", "AffineGrid", "LRN", "Resize", "LSTM", "GRU", "RNN"})
"""Operators that onnx's reference evaluator computes wrongly. Unique with `axis` and without `sorted` takes slices of
another axis. QuantizeLinear of a quotient above 2^31 gives the smallest integer. AffineGrid of double returns float.
LRN sums in as many channels as the batch has. Resize with pytorch_half_pixel to one element takes -0.5 instead of 0.
Recurrent operators ignore the direction, `clip`, `input_forget`, the activations and the lengths of sequences."""


def evaluate(drawn: Drawn) -> list[Array] | None:
    """Return the outputs of onnx's reference evaluator; None if it does not run the node."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            evaluator = ReferenceEvaluator(drawn.model())
            results: list[Array] = evaluator.run(None, drawn.feeds())
    except Exception:  # noqa: BLE001 - the evaluator lacks the operator for the type
        return None
    return [np.asarray(result) for result in results]


def faults(drawn: Drawn, expected: list[Any], actual: list[Array], *, has_levels: bool = True) -> list[str]:
    """Return a line for each output that is outside of its bounds, of both levels or of `must` alone."""
    lines = []
    for tensor, given in zip(expected, actual, strict=True):
        # ONNX Runtime returns the bytes of types that NumPy lacks
        output = given.view(tensor.dtype) if given.dtype == np.uint8 and tensor.dtype.kind in "fV" else given
        if output.dtype != tensor.dtype or output.shape != tuple(tensor.shape):
            lines.append(f"{output.dtype}{list(output.shape)}, expected {tensor.dtype}{list(tensor.shape)}")
            continue
        strict = tensor.should if isinstance(tensor, Enclosure) and has_levels else None
        for level, bound in (("must", tensor), ("should", tensor if strict is None else strict)):
            outside = ~admissible_mask(output, bound)
            if outside.any():
                place = tuple(np.argwhere(outside)[0])
                wanted = bound.value[place] if isinstance(bound, Enclosure) else bound[place]
                error = bound.error[place] if isinstance(bound, Enclosure) else 0.0
                lines.append(f"{level}: {place} is {output[place]!r}, expected {wanted!r} ± {error:.3g}")
                break
    shapes = " ".join(f"{array.dtype}{list(array.shape)}" for array in drawn.arrays)
    attributes = {each.name: helper.get_attribute_value(each) for each in drawn.proto.attribute}
    return [f"{drawn.proto.op_type} {shapes} {attributes} opset {drawn.opset}: {line}" for line in lines]


def compare(op_type: str, count: int, seed: int) -> tuple[list[str], int, int]:
    """Return a line for each output outside of its bounds, and how many nodes are drawn and outputs are compared."""
    random, lines, judged, compared = np.random.default_rng(seed), [], 0, 0
    for _ in range(count):
        drawn = DRAWS[op_type](random)
        try:
            with np.errstate(all="ignore"):
                expected = enclose(NodeScope.of(drawn.model()), drawn.proto, drawn.feeds())
        except Unsupported:
            continue
        judged += 1
        subjects = {
            "onnxruntime": run(drawn, is_optimized=True),
            "onnxruntime without optimizations": run(drawn, is_optimized=False),
            "onnx reference": evaluate(drawn),
        }
        for name, actual in subjects.items():
            if actual is not None:
                compared += 1
                # NumPy accumulates float16 in float16, which level `should` does not admit
                found = faults(drawn, expected, actual, has_levels=name != "onnx reference")
                lines += [f"{name}: {line}" for line in found]
    return lines, judged, compared


def main() -> int:
    """Compare, and return 1 if an output is outside of its bounds."""
    count, seed, *chosen = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
    found = 0
    for op_type in chosen or DRAWS:
        lines, judged, compared = compare(op_type, count, seed)
        found += len(lines)
        summary = f"{op_type}: {judged} of {count} judged, {compared} compared, {len(lines)} outside"
        sys.stdout.write("\n".join([*lines[:60], summary]) + "\n")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
