"""Blocks from which chains are built: each adds some nodes to a model.

A block reads a value and returns a value of the same family: `rows` are matrices with a batch, `image` has the axes
N, C, H, W, and `sequence` has the axes time, batch, features.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from checks.truth.evaluate import declare_outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
    Block: TypeAlias = Callable[["Builder", str], str]

DTYPES = {
    "float": np.dtype("f4"),
    "double": np.dtype("f8"),
    "float16": np.dtype("f2"),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}


@dataclass
class Builder:
    """A model under construction, with its data and the shape of each value."""

    dtype: np.dtype[Any]
    seed: int
    opset: int = 21
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    stored: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    data: dict[str, Array] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    @property
    def type(self) -> int:
        """The element type of the model's floats."""
        return int(helper.np_dtype_to_tensor_dtype(self.dtype))

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add an initializer."""
        array = np.asarray(values).astype(self.dtype if dtype is None else dtype)
        name = f"w{len(self.stored)}"
        self.stored.append(numpy_helper.from_array(array, name))
        self.shapes[name] = array.shape
        return name

    def weight(self, *shape: int, scale: float | None = None) -> str:
        """Add an initializer of normally distributed numbers."""
        default = (
            1 / np.sqrt(max(1, int(np.prod(shape[1:] if len(shape) > 2 else shape[:1])))) if len(shape) > 1 else 0.5
        )
        return self.constant(self.random.normal(size=shape) * (default if scale is None else scale))

    def positive(self, *shape: int) -> str:
        """Add an initializer of positive numbers."""
        return self.constant(self.random.random(shape) + 0.2)

    def input(self, *shape: int, scale: float = 1.0, kind: str = "normal") -> str:
        """Add an input of normally distributed numbers, of multiples of 0.5, or of numbers with outliers and zeros."""
        name = f"x{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, self.type, shape))
        values = self.random.normal(size=shape) * scale
        if kind == "halves":
            values = np.rint(values * 2) / 2
        if kind == "outliers":
            values *= self.random.choice([-0.0, 1, 1, 1e-3, 40], shape)
        self.data[name] = values.astype(self.dtype)
        self.shapes[name] = shape
        return name

    def op(
        self, operator: str, *inputs: str, shape: Sequence[int] | None = None, outputs: int = 1, **attributes: Any
    ) -> Any:
        """Add a node, and return the name of its output; by default with the shape of the first input."""
        index = len(self.nodes)
        names = [f"{operator.lower()}{index}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, name=f"n{index}", **attributes))
        self.shapes[names[0]] = tuple(self.shapes[inputs[0]] if shape is None else shape)
        return names[0] if outputs == 1 else names

    def model(self, *outputs: str) -> onnx.ModelProto:
        """Return the model; its outputs have inferred types and shapes."""
        made = [onnx.ValueInfoProto(name=name) for name in [*outputs, *self.outputs]]
        graph = helper.make_graph(self.nodes, "chain", self.inputs, made, self.stored)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)
        return declare_outputs(model, self.data)


ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "relu": ("Relu", {}),
    "gelu": ("Gelu", {}),
    "gelu_tanh": ("Gelu", {"approximate": "tanh"}),
    "sigmoid": ("Sigmoid", {}),
    "tanh": ("Tanh", {}),
    "softplus": ("Softplus", {}),
    "softsign": ("Softsign", {}),
    "hardswish": ("HardSwish", {}),
    "hardsigmoid": ("HardSigmoid", {}),
    "elu": ("Elu", {"alpha": 0.7}),
    "leakyrelu": ("LeakyRelu", {"alpha": 0.2}),
    "celu": ("Celu", {"alpha": 2.0}),
    "selu": ("Selu", {}),
    "mish": ("Mish", {}),
    "erf": ("Erf", {}),
    "neg": ("Neg", {}),
    "abs": ("Abs", {}),
    "identity": ("Identity", {}),
}


def activation(operator: str, attributes: dict[str, Any]) -> Block:
    """Return a block of one elementwise node."""
    return lambda b, x: str(b.op(operator, x, **attributes))


def scalar_block(operator: str, low: float, high: float) -> Block:
    """Return a block of one node with a constant scalar."""
    return lambda b, x: str(b.op(operator, x, b.constant(low + (high - low) * b.random.random())))


def vector_block(operator: str) -> Block:
    """Return a block of one node with a constant vector."""

    def block(b: Builder, x: str) -> str:
        return str(b.op(operator, x, b.positive(b.shapes[x][-1]) if operator == "Div" else b.weight(b.shapes[x][-1])))

    return block


def dense(b: Builder, x: str) -> str:
    """Add MatMul and Add."""
    n, m = b.shapes[x][-1], int(b.random.choice([5, 8, 12, 24]))
    return str(b.op("Add", product(b, x, m, n), b.weight(m)))


def product(b: Builder, x: str, columns: int, rows: int) -> str:
    """Add MatMul with a constant matrix."""
    return str(b.op("MatMul", x, b.weight(rows, columns), shape=(*b.shapes[x][:-1], columns)))


def matmul(b: Builder, x: str) -> str:
    """Add MatMul."""
    return product(b, x, int(b.random.choice([5, 8, 12])), b.shapes[x][-1])


def square_matmul(b: Builder, x: str) -> str:
    """Add MatMul with a square matrix."""
    return product(b, x, b.shapes[x][-1], b.shapes[x][-1])


def long_matmul(b: Builder, x: str) -> str:
    """Add a product that widens the rows to 256, Relu, and a product with 256 terms."""
    wide = b.op("Abs", product(b, x, 256, b.shapes[x][-1]))
    return str(b.op("MatMul", wide, b.constant(b.random.random((256, 8)) * 0.02), shape=(*b.shapes[x][:-1], 8)))


def gemm(b: Builder, x: str) -> str:
    """Add Gemm with random attributes."""
    n, m = b.shapes[x][-1], int(b.random.choice([5, 8, 12]))
    if len(b.shapes[x]) != 2:
        return dense(b, x)
    attributes: dict[str, Any] = {"alpha": 0.5, "beta": 0.25} if b.random.random() < 0.4 else {}
    if b.random.random() < 0.5:
        return str(
            b.op("Gemm", x, b.weight(m, n, scale=0.3), b.weight(m), shape=(b.shapes[x][0], m), transB=1, **attributes)
        )
    return str(b.op("Gemm", x, b.weight(n, m), b.weight(m), shape=(b.shapes[x][0], m), **attributes))


def gemm_scaled(b: Builder, x: str) -> str:
    """Add Gemm with alpha and beta."""
    return str(
        b.op("Gemm", x, b.weight(b.shapes[x][-1], 8), b.weight(8), shape=(b.shapes[x][0], 8), alpha=0.5, beta=0.25)
    )


def gemm_plain(b: Builder, x: str) -> str:
    """Add Gemm with a bias of eight columns."""
    return str(b.op("Gemm", x, b.weight(b.shapes[x][-1], 8), b.weight(8), shape=(b.shapes[x][0], 8)))


def gemm_square(b: Builder, x: str) -> str:
    """Add Gemm with a square transposed matrix."""
    n = b.shapes[x][-1]
    return str(b.op("Gemm", x, b.weight(n, n), b.weight(n), transB=1))


def layer_norm(b: Builder, x: str) -> str:
    """Add LayerNormalization."""
    n = b.shapes[x][-1]
    epsilon = float(b.random.choice([1e-5, 1e-2, 1e-3]))
    return str(b.op("LayerNormalization", x, b.weight(n), b.weight(n), epsilon=epsilon))


def layer_norm_of_sum(b: Builder, x: str) -> str:
    """Add a skip connection and LayerNormalization with a large epsilon."""
    n = b.shapes[x][-1]
    y = b.op("Add", x, b.op("Tanh", x))
    return str(b.op("LayerNormalization", y, b.weight(n), b.weight(n), epsilon=1e-2))


def primitive_layer_norm(b: Builder, x: str) -> str:
    """Add a layer normalization of primitive operators."""
    n, axis = b.shapes[x][-1], b.constant([-1], "i8")
    mean = b.op("ReduceMean", x, axis, shape=(*b.shapes[x][:-1], 1))
    d = b.op("Sub", x, mean)
    v = b.op("ReduceMean", b.op("Pow", d, b.constant(2)), axis, shape=(*b.shapes[x][:-1], 1))
    y = b.op("Div", d, b.op("Sqrt", b.op("Add", v, b.constant(1e-3))))
    return str(b.op("Add", b.op("Mul", y, b.weight(n)), b.weight(n)))


def rms_norm(b: Builder, x: str) -> str:
    """Add a root-mean-square normalization of primitive operators."""
    square = b.op("Mul", x, x) if b.random.random() < 0.5 else b.op("Pow", x, b.constant(2))
    v = b.op("ReduceMean", square, b.constant([-1], "i8"), shape=(*b.shapes[x][:-1], 1))
    root = b.op("Sqrt", b.op("Add", v, b.constant(1e-3)))
    y = b.op("Div", x, root) if b.random.random() < 0.5 else b.op("Mul", x, b.op("Reciprocal", root))
    return str(b.op("Mul", y, b.weight(b.shapes[x][-1])))


def softmax(b: Builder, x: str) -> str:
    """Add Softmax over the last axis."""
    return str(b.op("Softmax", x, axis=-1))


def scaled_softmax(b: Builder, x: str) -> str:
    """Add a product with a constant, and Softmax."""
    return str(b.op("Softmax", b.op("Mul", x, b.constant(0.35)), axis=-1))


def log_softmax(b: Builder, x: str) -> str:
    """Add LogSoftmax over the last axis."""
    return str(b.op("LogSoftmax", x, axis=-1))


def primitive_softmax(b: Builder, x: str) -> str:
    """Add a softmax of primitive operators."""
    axis, one = b.constant([-1], "i8"), (*b.shapes[x][:-1], 1)
    e = b.op("Exp", b.op("Sub", x, b.op("ReduceMax", x, axis, shape=one)))
    return str(b.op("Div", e, b.op("ReduceSum", e, axis, shape=one)))


def silu(b: Builder, x: str) -> str:
    """Add x * sigmoid(x)."""
    return str(b.op("Mul", x, b.op("Sigmoid", x)))


def erf_gelu(b: Builder, x: str) -> str:
    """Add a Gelu of primitive operators."""
    y = b.op(
        "Erf",
        b.op("Mul", x, b.constant(0.70710678)) if b.random.random() < 0.5 else b.op("Div", x, b.constant(1.41421356)),
    )
    return str(b.op("Mul", b.op("Mul", x, b.op("Add", y, b.constant(1))), b.constant(0.5)))


def tanh_gelu(b: Builder, x: str) -> str:
    """Add a Gelu by tanh of primitive operators."""
    cube = b.op("Mul", b.op("Pow", x, b.constant(3)), b.constant(0.044715))
    y = b.op("Tanh", b.op("Mul", b.op("Add", x, cube), b.constant(0.7978845608)))
    return str(b.op("Mul", b.op("Mul", x, b.op("Add", y, b.constant(1))), b.constant(0.5)))


def residual(b: Builder, x: str) -> str:
    """Add a skip connection around MatMul and Tanh."""
    return str(b.op("Add", b.op("Tanh", square_matmul(b, x)), x))


def clip(b: Builder, x: str) -> str:
    """Add Clip."""
    return str(b.op("Clip", x, b.constant(-0.6), b.constant(0.8)))


def centered(b: Builder, x: str) -> str:
    """Subtract the mean."""
    return str(b.op("Sub", x, b.op("ReduceMean", x, b.constant([-1], "i8"), shape=(*b.shapes[x][:-1], 1))))


def l2_normalized(b: Builder, x: str) -> str:
    """Divide by the Euclidean norm."""
    norm = b.op("ReduceL2", x, b.constant([-1], "i8"), shape=(*b.shapes[x][:-1], 1))
    return str(b.op("Div", x, b.op("Add", norm, b.constant(0.1))))


def concatenated(b: Builder, x: str) -> str:
    """Concatenate with the negated value."""
    shape = (*b.shapes[x][:-1], 2 * b.shapes[x][-1])
    return str(b.op("Concat", x, b.op("Neg", x), axis=-1, shape=shape))


def gated(b: Builder, x: str) -> str:
    """Add a gated linear unit."""
    n = b.shapes[x][-1]
    return str(b.op("Mul", b.op("Sigmoid", product(b, x, n, n)), product(b, x, n, n)))


def selected(b: Builder, x: str) -> str:
    """Add Greater and Where."""
    return str(
        b.op(
            "Where",
            b.op("Greater", x, b.constant(0.1)),
            b.op("Exp", b.op("Tanh", x)),
            b.op("Mul", x, b.constant(0.3)),
            shape=b.shapes[x],
        )
    )


def rooted(b: Builder, x: str) -> str:
    """Add Abs, Sqrt and Reciprocal."""
    return str(b.op("Reciprocal", b.op("Sqrt", b.op("Add", b.op("Abs", x), b.constant(0.3)))))


def cast_back(b: Builder, x: str) -> str:
    """Cast to float and back."""
    return str(b.op("Cast", b.op("Tanh", b.op("Cast", x, to=TensorProto.FLOAT)), to=b.type))


def quantized(b: Builder, x: str) -> str:
    """Quantize and dequantize."""
    if b.dtype not in {DTYPES["float"], DTYPES["float16"]}:
        return clip(b, x)
    s, z = b.constant(0.05), b.constant(120, "u1")
    return str(b.op("DequantizeLinear", b.op("QuantizeLinear", x, s, z), s, z))


def gathered(b: Builder, x: str) -> str:
    """Select columns, with negative indices."""
    n = b.shapes[x][-1]
    indices = b.random.integers(-n, n, n)
    return str(b.op("Gather", x, b.constant(indices, "i8"), axis=len(b.shapes[x]) - 1))


def cumulated(b: Builder, x: str) -> str:
    """Add CumSum with exclusive."""
    return str(b.op("CumSum", b.op("Mul", x, b.constant(0.25)), b.constant(len(b.shapes[x]) - 1, "i8"), exclusive=1))


def top(b: Builder, x: str) -> str:
    """Add TopK, whose indices are an output of the model."""
    values, indices = b.op("TopK", x, b.constant([min(5, b.shapes[x][-1])], "i8"), outputs=2, axis=-1)
    b.shapes[values] = (*b.shapes[x][:-1], min(5, b.shapes[x][-1]))
    b.outputs.append(indices)
    return str(values)


def largest_index(b: Builder, x: str) -> str:
    """Add ArgMax as an output of the model."""
    b.outputs.append(b.op("ArgMax", x, axis=-1, keepdims=0))
    return x


def self_attention(b: Builder, x: str) -> str:
    """Add attention with heads, projections and a skip connection."""
    batch, time, width = b.shapes[x]
    heads = 2 if width % 2 == 0 else 1
    size = width // heads

    def project(perm: list[int]) -> str:
        y = b.op("Add", square_matmul(b, x), b.weight(width))
        y = b.op("Reshape", y, b.constant([batch, time, heads, size], "i8"), shape=(batch, time, heads, size))
        return str(b.op("Transpose", y, perm=perm, shape=[(batch, time, heads, size)[i] for i in perm]))

    q, k, v = project([0, 2, 1, 3]), project([0, 2, 3, 1]), project([0, 2, 1, 3])
    s = b.op("MatMul", q, k, shape=(batch, heads, time, time))
    s = (
        b.op("Div", s, b.constant(np.sqrt(size)))
        if b.random.random() < 0.5
        else b.op("Mul", s, b.constant(1 / np.sqrt(size)))
    )
    if b.random.random() < 0.5:
        s = b.op("Add", s, b.constant(np.triu(np.full((time, time), -1e4), 1)))
    y = b.op("MatMul", b.op("Softmax", s, axis=-1), v, shape=(batch, heads, time, size))
    y = b.op("Transpose", y, perm=[0, 2, 1, 3], shape=(batch, time, heads, size))
    y = b.op("Reshape", y, b.constant([batch, time, width], "i8"), shape=(batch, time, width))
    return str(b.op("Add", square_matmul(b, y), x))


def conv(b: Builder, x: str) -> str:
    """Add Conv with random attributes."""
    _, c, h, w = b.shapes[x]
    m = int(b.random.choice([3, 4, 6]))
    kind = b.random.integers(4)
    attributes: dict[str, Any] = {"pads": [1, 1, 1, 1]}
    if kind == 1 and min(h, w) > 4:
        attributes = {"pads": [2, 2, 2, 2], "dilations": [2, 2]}
    if kind == 2:
        return str(b.op("Conv", x, b.weight(c, 1, 3, 3), b.weight(c), group=c, **attributes))
    inputs = [b.weight(m, c, 3, 3), *([b.weight(m)] if b.random.random() < 0.6 else [])]
    return str(b.op("Conv", x, *inputs, shape=(b.shapes[x][0], m, h, w), **attributes))


def conv_biased(b: Builder, x: str) -> str:
    """Add Conv with a bias."""
    n, c, h, w = b.shapes[x]
    return str(b.op("Conv", x, b.weight(4, c, 3, 3), b.weight(4), shape=(n, 4, h, w), pads=[1, 1, 1, 1]))


def conv_shifted(b: Builder, x: str) -> str:
    """Add Conv with asymmetric pads."""
    n, c, h, w = b.shapes[x]
    return str(b.op("Conv", x, b.weight(4, c, 3, 3), b.weight(4), shape=(n, 4, h, w), pads=[0, 0, 2, 2]))


def conv_dilated(b: Builder, x: str) -> str:
    """Add Conv with dilations."""
    n, c, h, w = b.shapes[x]
    return str(
        b.op("Conv", x, b.weight(4, c, 3, 3), b.weight(4), shape=(n, 4, h, w), pads=[2, 2, 2, 2], dilations=[2, 2])
    )


def conv_transposed(b: Builder, x: str) -> str:
    """Add ConvTranspose that keeps the size."""
    n, c, h, w = b.shapes[x]
    return str(b.op("ConvTranspose", x, b.weight(c, 3, 3, 3), b.weight(3), shape=(n, 3, h, w), pads=[1, 1, 1, 1]))


def batch_norm(b: Builder, x: str) -> str:
    """Add BatchNormalization."""
    c = b.shapes[x][1]
    return str(
        b.op(
            "BatchNormalization",
            x,
            b.weight(c),
            b.weight(c),
            b.weight(c),
            b.positive(c),
            epsilon=float(b.random.choice([1e-5, 1e-2])),
        )
    )


def instance_norm(b: Builder, x: str) -> str:
    """Add InstanceNormalization."""
    c = b.shapes[x][1]
    return str(b.op("InstanceNormalization", x, b.weight(c), b.weight(c)))


def group_norm(b: Builder, x: str) -> str:
    """Add GroupNormalization."""
    c = b.shapes[x][1]
    return str(b.op("GroupNormalization", x, b.weight(c), b.weight(c), num_groups=2 if c % 2 == 0 else 1))


def max_pool(b: Builder, x: str) -> str:
    """Add MaxPool with pads."""
    return str(b.op("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1]))


def average_pool(b: Builder, x: str) -> str:
    """Add AveragePool with pads."""
    return str(b.op("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1]))


def channel_scale(b: Builder, x: str) -> str:
    """Multiply each channel, and add to it."""
    c = b.shapes[x][1]
    return str(b.op("Add", b.op("Mul", x, b.weight(1, c, 1, 1, scale=0.5)), b.weight(1, c, 1, 1, scale=0.5)))


def squeeze_excite(b: Builder, x: str) -> str:
    """Add a squeeze-and-excitation block."""
    n, c = b.shapes[x][:2]
    y = b.op("GlobalAveragePool", x, shape=(n, c, 1, 1))
    y = b.op("Sigmoid", b.op("Conv", y, b.weight(c, c, 1, 1), b.weight(c), shape=(n, c, 1, 1)))
    return str(b.op("Mul", x, y))


def resized(b: Builder, x: str) -> str:
    """Add Resize by two, and AveragePool back to the size."""
    n, c, h, w = b.shapes[x]
    mode = str(b.random.choice(["nearest", "linear"]))
    up = (n, c, 2 * h, 2 * w)
    y = b.op(
        "Resize",
        x,
        "",
        b.constant([1, 1, 2, 2], "f4"),
        shape=up,
        mode=mode,
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    return str(b.op("AveragePool", y, shape=(n, c, h, w), kernel_shape=[2, 2], strides=[2, 2]))


def resized_half_pixel(b: Builder, x: str) -> str:
    """Add a linear Resize by two with half pixels."""
    n, c, h, w = b.shapes[x]
    return str(b.op("Resize", x, "", b.constant([1, 1, 2, 2], "f4"), shape=(n, c, 2 * h, 2 * w), mode="linear"))


def padded(b: Builder, x: str) -> str:
    """Add Pad with reflection, and Slice back."""
    n, c, h, w = b.shapes[x]
    y = b.op("Pad", x, b.constant([0, 0, 1, 0, 0, 0, 0, 2], "i8"), shape=(n, c, h + 1, w + 2), mode="reflect")
    return str(
        b.op(
            "Slice",
            y,
            b.constant([1, 1], "i8"),
            b.constant([h + 1, w + 1], "i8"),
            b.constant([2, 3], "i8"),
            shape=(n, c, h, w),
        )
    )


def image_residual(b: Builder, x: str) -> str:
    """Add a skip connection around a convolution."""
    c = b.shapes[x][1]
    y = b.op("Conv", x, b.weight(c, c, 3, 3), b.weight(c), pads=[1, 1, 1, 1])
    return str(b.op("Relu", b.op("Add", y, x)))


def recurrent(operator: str, gates: int) -> Block:
    """Return a block of a recurrent node whose final state is an output of the model."""

    def block(b: Builder, x: str) -> str:
        time, batch, width = b.shapes[x]
        direction = str(b.random.choice(["forward", "reverse", "bidirectional"]))
        d, hidden = 2 if direction == "bidirectional" else 1, 4
        inputs = [
            b.weight(d, gates * hidden, width),
            b.weight(d, gates * hidden, hidden),
            b.weight(d, 2 * gates * hidden, scale=0.3),
        ]
        if b.random.random() < 0.4:
            inputs.append(b.constant(np.linspace(time, max(1, time - 2), batch).astype("i4"), "i4"))
        attributes: dict[str, Any] = {"linear_before_reset": int(b.random.integers(2))} if operator == "GRU" else {}
        y, final = b.op(operator, x, *inputs, outputs=2, hidden_size=hidden, direction=direction, **attributes)
        b.outputs.append(final)
        y = b.op("Transpose", y, perm=[0, 2, 1, 3], shape=(time, batch, d, hidden))
        return str(b.op("Reshape", y, b.constant([time, batch, d * hidden], "i8"), shape=(time, batch, d * hidden)))

    return block


def value(b: Builder, name: str, shape: Sequence[int]) -> onnx.ValueInfoProto:
    """Describe a value of the model's float type."""
    return helper.make_tensor_value_info(name, b.type, shape)


def branch(b: Builder, x: str) -> str:
    """Add an If on the mean, whose branches differ."""
    shape, c = b.shapes[x], f"c{len(b.nodes)}"
    mean = b.op("ReduceMean", x, shape=(), keepdims=0)
    condition = b.op("Greater", mean, b.constant(0), shape=())
    w = b.weight(shape[-1], shape[-1])

    def graph(name: str, operator: str) -> onnx.GraphProto:
        nodes = [
            helper.make_node("MatMul", [x, w], [f"{c}{name}m"], name=f"{c}{name}0"),
            helper.make_node(operator, [f"{c}{name}m"], [f"{c}{name}"], name=f"{c}{name}1"),
        ]
        return helper.make_graph(nodes, name, [], [value(b, f"{c}{name}", shape)])

    return str(b.op("If", condition, then_branch=graph("t", "Sigmoid"), else_branch=graph("e", "Tanh"), shape=shape))


def loop(b: Builder, x: str) -> str:
    """Add a Loop of three iterations over MatMul, Add and Tanh."""
    shape, c = b.shapes[x], f"l{len(b.nodes)}"
    w, bias = b.weight(shape[-1], shape[-1]), b.weight(shape[-1])
    nodes = [
        helper.make_node("MatMul", [f"{c}s", w], [f"{c}m"], name=f"{c}0"),
        helper.make_node("Add", [f"{c}m", bias], [f"{c}a"], name=f"{c}1"),
        helper.make_node("Tanh", [f"{c}a"], [f"{c}t"], name=f"{c}2"),
        helper.make_node("Identity", [f"{c}g"], [f"{c}h"], name=f"{c}3"),
        helper.make_node("Mul", [f"{c}t", f"{c}t"], [f"{c}o"], name=f"{c}4"),
    ]
    truth = [helper.make_tensor_value_info(f"{c}{n}", TensorProto.BOOL, []) for n in "gh"]
    counter = helper.make_tensor_value_info(f"{c}i", TensorProto.INT64, [])
    body = helper.make_graph(
        nodes,
        "body",
        [counter, truth[0], value(b, f"{c}s", shape)],
        [truth[1], value(b, f"{c}t", shape), value(b, f"{c}o", shape)],
    )
    state, rows = b.op("Loop", b.constant(3, "i8"), b.constant(True, "?"), x, outputs=2, body=body)
    b.shapes[state] = shape
    total = b.op("ReduceSum", rows, b.constant([0], "i8"), shape=shape, keepdims=0)
    return str(b.op("Add", state, total, shape=shape))


def scan(b: Builder, x: str) -> str:
    """Add a Scan over the first axis with Add, Sigmoid and Mul."""
    rows, *shape = b.shapes[x]
    c = f"s{len(b.nodes)}"
    nodes = [
        helper.make_node("Add", [f"{c}c", f"{c}e"], [f"{c}a"], name=f"{c}0"),
        helper.make_node("Sigmoid", [f"{c}a"], [f"{c}d"], name=f"{c}1"),
        helper.make_node("Mul", [f"{c}d", f"{c}e"], [f"{c}o"], name=f"{c}2"),
    ]
    body = helper.make_graph(
        nodes,
        "body",
        [value(b, f"{c}c", shape), value(b, f"{c}e", shape)],
        [value(b, f"{c}d", shape), value(b, f"{c}o", shape)],
    )
    attributes = {"scan_input_directions": [1]} if b.random.random() < 0.4 else {}
    state, y = b.op("Scan", b.weight(*shape, scale=0.5), x, outputs=2, num_scan_inputs=1, body=body, **attributes)
    b.outputs.append(state)
    b.shapes[y] = (rows, *shape)
    return str(y)


def reduced(operator: str) -> Block:
    """Return a block that adds a reduction over the last axis."""

    def block(b: Builder, x: str) -> str:
        y = b.op(operator, x, b.constant([-1], "i8"), shape=(*b.shapes[x][:-1], 1))
        return str(b.op("Add", x, b.op("Tanh", y)))

    return block


def powered(b: Builder, x: str) -> str:
    """Add Pow with a random exponent."""
    return str(
        b.op("Pow", b.op("Add", b.op("Abs", x), b.constant(0.1)), b.constant(b.random.choice([0.5, 1.5, 2, 3, -1])))
    )


def contracted(b: Builder, x: str) -> str:
    """Add Einsum with a constant matrix."""
    n, letters = b.shapes[x][-1], "abcd"[: len(b.shapes[x])]
    equation = f"{letters},{letters[-1]}z->{letters[:-1]}z"
    return str(b.op("Einsum", x, b.weight(n, 9), equation=equation, shape=(*b.shapes[x][:-1], 9)))


def split_and_swapped(b: Builder, x: str) -> str:
    """Add Split into two parts, and Concat in the other order."""
    n = b.shapes[x][-1]
    if n < 2:
        return x
    first, second = b.op("Split", x, b.constant([n // 2, n - n // 2], "i8"), outputs=2, axis=-1)
    return str(b.op("Concat", second, b.op("Exp", b.op("Tanh", first)), axis=-1, shape=b.shapes[x]))


def long_tail(b: Builder, x: str) -> str:
    """Add a product with 768 terms and a layer normalization, as in a transformer."""
    wide = b.op("Gelu", b.op("Add", product(b, x, 768, b.shapes[x][-1]), b.weight(768)))
    y = b.op("Add", product(b, wide, 24, 768), b.weight(24))
    return str(b.op("LayerNormalization", y, b.weight(24), b.weight(24)))


def depthwise(b: Builder, x: str) -> str:
    """Add a depthwise convolution, a pointwise convolution, and HardSwish."""
    n, c, h, w = b.shapes[x]
    y = b.op("Conv", x, b.weight(c, 1, 5, 5), group=c, pads=[2, 2, 2, 2])
    y = b.op("BatchNormalization", y, b.weight(c), b.weight(c), b.weight(c), b.positive(c))
    y = b.op("Conv", b.op("HardSwish", y), b.weight(7, c, 1, 1), shape=(n, 7, h, w))
    return str(b.op("BatchNormalization", y, b.weight(7), b.weight(7), b.weight(7), b.positive(7)))


def local_response(b: Builder, x: str) -> str:
    """Add LRN."""
    return str(b.op("LRN", x, size=int(b.random.choice([2, 3, 5])), alpha=0.05))


def cubic(b: Builder, x: str) -> str:
    """Add a cubic Resize, and MaxPool back to the size."""
    n, c, h, w = b.shapes[x]
    y = b.op("Resize", x, "", b.constant([1, 1, 2, 2], "f4"), shape=(n, c, 2 * h, 2 * w), mode="cubic")
    return str(b.op("MaxPool", y, shape=(n, c, h, w), kernel_shape=[2, 2], strides=[2, 2]))


def lp_pool(b: Builder, x: str) -> str:
    """Add LpPool and a global pool."""
    y = b.op("LpPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], p=2)
    return str(b.op("Sub", y, b.op("GlobalMaxPool", x, shape=(*b.shapes[x][:2], 1, 1))))


ANY: dict[str, Block] = {
    **{name: activation(*made) for name, made in ACTIVATIONS.items()},
    "scaled": scalar_block("Mul", 0.3, 1.7),
    "divided": scalar_block("Div", 0.5, 4),
    "shifted": scalar_block("Add", -1, 1),
    "subtracted": scalar_block("Sub", -1, 1),
    "clip": clip,
    "silu": silu,
    "erf_gelu": erf_gelu,
    "tanh_gelu": tanh_gelu,
    "selected": selected,
    "rooted": rooted,
    "cast_back": cast_back,
    "quantized": quantized,
    "softmax": softmax,
    "log_softmax": log_softmax,
}
ROWS: dict[str, Block] = {
    **ANY,
    "scaled_columns": vector_block("Mul"),
    "divided_columns": vector_block("Div"),
    "biased": vector_block("Add"),
    "dense": dense,
    "matmul": matmul,
    "square_matmul": square_matmul,
    "long_matmul": long_matmul,
    "gemm": gemm,
    "layer_norm": layer_norm,
    "layer_norm_of_sum": layer_norm_of_sum,
    "primitive_layer_norm": primitive_layer_norm,
    "rms_norm": rms_norm,
    "scaled_softmax": scaled_softmax,
    "primitive_softmax": primitive_softmax,
    "residual": residual,
    "centered": centered,
    "l2_normalized": l2_normalized,
    "concatenated": concatenated,
    "gated": gated,
    "gathered": gathered,
    "cumulated": cumulated,
    "top": top,
    "largest_index": largest_index,
    "branch": branch,
    "loop": loop,
    "scan": scan,
}
SEQUENCE: dict[str, Block] = {
    **ROWS,
    "attention": self_attention,
    "lstm": recurrent("LSTM", 4),
    "gru": recurrent("GRU", 3),
    "rnn": recurrent("RNN", 1),
}
IMAGE: dict[str, Block] = {
    **ANY,
    "conv": conv,
    "conv_transposed": conv_transposed,
    "batch_norm": batch_norm,
    "instance_norm": instance_norm,
    "group_norm": group_norm,
    "max_pool": max_pool,
    "average_pool": average_pool,
    "channel_scale": channel_scale,
    "squeeze_excite": squeeze_excite,
    "resized": resized,
    "padded": padded,
    "image_residual": image_residual,
}
MORE_ANY: dict[str, Block] = {
    **{o.lower(): activation(o, {}) for o in ("Atan", "Asinh", "Sinh", "Cos", "Exp", "Floor", "Round", "Sign", "Relu")},
    "powered": powered,
}
MORE_ROWS: dict[str, Block] = {
    **MORE_ANY,
    **{o.lower(): reduced(o) for o in ("ReduceL1", "ReduceLogSumExp", "ReduceMax", "ReduceSumSquare", "ReduceMin")},
    "contracted": contracted,
    "split_and_swapped": split_and_swapped,
    "long_tail": long_tail,
}
MORE_IMAGE: dict[str, Block] = {
    **MORE_ANY,
    "depthwise": depthwise,
    "local_response": local_response,
    "cubic": cubic,
    "lp_pool": lp_pool,
}
SPECIAL: dict[str, Block] = {
    "gemm_scaled": gemm_scaled,
    "gemm_plain": gemm_plain,
    "gemm_square": gemm_square,
    "conv_biased": conv_biased,
    "conv_shifted": conv_shifted,
    "conv_dilated": conv_dilated,
    "resized_half_pixel": resized_half_pixel,
}
"""Blocks that only planted faults use."""

INPUTS = {"rows": (4, 16), "sequence": (2, 6, 8), "time": (5, 2, 6), "image": (1, 3, 7, 8)}
LARGE_INPUTS = {"rows": (9, 96), "sequence": (2, 11, 32), "time": (9, 3, 20), "image": (2, 8, 13, 11)}


def build(
    family: str,
    names: Sequence[str],
    dtype: str,
    seed: int,
    scale: float = 1.0,
    *,
    is_large: bool = False,
    kind: str = "normal",
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Return a chain of blocks, and data for its inputs."""
    b = Builder(DTYPES[dtype], seed)
    x = b.input(*(LARGE_INPUTS if is_large else INPUTS)[family], scale=scale, kind=kind)
    more = MORE_IMAGE if family == "image" else MORE_ROWS
    blocks = {**SPECIAL, **more, **IMAGE, **SEQUENCE}
    for name in names:
        x = blocks[name](b, x)
    return b.model(x), b.data
