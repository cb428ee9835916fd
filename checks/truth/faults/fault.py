"""A planted fault, the node that shows it, and the data of that node."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import onnx
from onnx import helper, numpy_helper

from checks.truth.evaluate import declare_outputs, opset_imports

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from checks.truth.evaluate import Call, Replacement, Result

    Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Constant:
    """An input of a node that is an initializer of the model."""

    array: Array


@dataclass(frozen=True)
class Node:
    """A model of one node, with data that a user could have.

    An input of the node is an array, a constant, or None if it is left out.
    """

    operator: str
    inputs: Sequence[Array | Constant | None]
    outputs: int = 1
    opset: int = 21
    attributes: dict[str, Any] = field(default_factory=dict)
    domain: str = ""

    def model(self) -> onnx.ModelProto:
        """Return the model."""
        names = ["" if value is None else f"x{i}" for i, value in enumerate(self.inputs)]
        outputs = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(self.operator, names, outputs, name="node", domain=self.domain, **self.attributes)
        types = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for n, v in zip(names, self.inputs, strict=True)
            if isinstance(v, np.ndarray)
        ]
        stored = [
            numpy_helper.from_array(np.ascontiguousarray(v.array).reshape(v.array.shape), n)
            for n, v in zip(names, self.inputs, strict=True)
            if isinstance(v, Constant)
        ]
        graph = helper.make_graph([node], "node", types, [onnx.ValueInfoProto(name=o) for o in outputs], stored)
        imports = opset_imports(self.domain, self.opset)
        model = helper.make_model(graph, opset_imports=imports, ir_version=10)
        return declare_outputs(model, self.feeds())

    def feeds(self) -> dict[str, Array]:
        """Return the arrays of the inputs of the model by name."""
        return {f"x{i}": value for i, value in enumerate(self.inputs) if isinstance(value, np.ndarray)}


@dataclass(frozen=True)
class Fault:
    """A mistake of a runtime in one operator, or in two nodes that it fuses.

    Attributes:
        mistake: one sentence that states the mistake.
        result: returns the wrong outputs for a call of the operator.
        node: a node that shows the mistake.
        level: `should` if only the sign of zero, or quality, shows the mistake.
        pair: the two operators of a wrong fusion.
        pair_result: the wrong outputs of the fused nodes.
    """

    name: str
    operator: str
    mistake: str
    result: Replacement
    node: Node | None = None
    level: str = "must"
    pair: tuple[str, str] | None = None
    pair_result: Callable[[Call, Call, int], Result] | None = None


def node(
    operator: str,
    *inputs: Array | Constant | None,
    outputs: int = 1,
    opset: int = 21,
    domain: str = "",
    **attributes: Any,
) -> Node:
    """Describe a model of one node."""
    return Node(operator, inputs, outputs, opset, attributes, domain)


def normal(*shape: int, dtype: str = "f4", scale: float = 1.0, shift: float = 0.0) -> Array:
    """Return normally distributed numbers that depend on the arguments alone."""
    generator = np.random.default_rng(zlib.crc32(f"{shape} {dtype} {scale} {shift}".encode()))
    return np.asarray(generator.normal(size=shape) * scale + shift).astype(dtype)


def positive(*shape: int, dtype: str = "f4", scale: float = 1.0) -> Array:
    """Return positive numbers: magnitudes of normally distributed numbers."""
    return np.asarray(np.abs(normal(*shape, dtype=dtype, scale=scale)) + np.asarray(0.01, dtype))


def whole(low: int, high: int, *shape: int, dtype: str = "i8") -> Array:
    """Return whole numbers of [low, high), which depend on the arguments alone."""
    generator = np.random.default_rng(zlib.crc32(f"{low} {high} {shape} {dtype}".encode()))
    return generator.integers(low, high, shape).astype(dtype)


def halves(low: int, high: int, *shape: int, dtype: str = "f4") -> Array:
    """Return multiples of 0.5 between low and high, among them many ties."""
    return (whole(2 * low, 2 * high, *shape) * 0.5).astype(dtype)


def flags(*shape: int) -> Array:
    """Return truth values."""
    return whole(0, 2, *shape).astype(bool)


def array(*values: Any, dtype: str = "f4") -> Array:
    """Return an array of the given values."""
    return np.array(values, dtype)


def const(*values: Any, dtype: str = "i8") -> Constant:
    """Return a constant vector, or a scalar if one value is given as a keyword type without a list."""
    return Constant(np.array(values, dtype))


def scalar(value: float, dtype: str = "f4") -> Constant:
    """Return a constant without axes."""
    return Constant(np.array(value, dtype))


def weight(*shape: int, dtype: str = "f4", scale: float = 0.5) -> Constant:
    """Return a constant of normally distributed numbers."""
    return Constant(normal(*shape, dtype=dtype, scale=scale))
