"""Probes: small models with exact expected outputs, so that a wrong output is the harness's fault."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from conformance.exact.models.arrays import Array, dtype_of, type_name, type_number
from conformance.exact.models.graphs import TRAINING_DOMAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PROBE_IR_VERSION = 8
PROBE_OPSET = 13

INTEGER_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

PROBED_TYPES = ("double", "float16", "bfloat16", "bool", *INTEGER_TYPES)
"""Element types of Identity in the opset of the probes, which not every harness supports."""


@dataclass(frozen=True)
class Probe:
    """A model of one node, with inputs and the expected outputs.

    Attributes:
        model: the model.
        inputs: arrays by the names of the graph's inputs, in the graph's order.
        outputs: expected arrays by the names of the graph's outputs, in the graph's order.
    """

    model: onnx.ModelProto
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]

    @classmethod
    def of_node(cls, node: onnx.NodeProto, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> Probe:
        """Return a probe whose model consists of the node."""
        graph = helper.make_graph([node], "probe", _value_infos(inputs), _value_infos(outputs))
        opsets = [helper.make_opsetid("", PROBE_OPSET)]
        if node.domain:
            opsets.append(helper.make_opsetid(node.domain, 1))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=PROBE_IR_VERSION)
        return cls(model, inputs, outputs)


def identity_probe(shape: Sequence[int], start: int, dtype: str = "float") -> Probe:
    """Return a probe with an Identity node; the input has consecutive numbers of one type, from `start`."""
    X = _consecutive_floats(shape, start).astype(dtype_of(type_number(dtype)))
    return Probe.of_node(helper.make_node("Identity", ["X"], ["Y"]), {"X": X}, {"Y": X})


def argmax_probe(shape: Sequence[int], start: int, dtype: str = "float") -> Probe:
    """Return a probe with an ArgMax over an axis of two elements of one type; its output has the given shape."""
    first = (_consecutive_floats(shape, start) % 3).astype(dtype_of(type_number(dtype)))
    X = np.stack([first, np.ones_like(first)])
    node = helper.make_node("ArgMax", ["X"], ["Y"], axis=0, keepdims=0)
    return Probe.of_node(node, {"X": X}, {"Y": (X[1] > X[0]).astype(np.int64)})


def adam_probe(shape: Sequence[int], start: int) -> Probe:
    """Return a probe with an Adam node. Its results are exact: the learning rate is 0 and the coefficients are 1/2."""
    X = _consecutive_floats(shape, start)
    G, V, H = (np.full_like(X, value + 2 * start) for value in (2, 4, 8))
    node = helper.make_node(
        "Adam",
        list("RTXGVH"),
        ["X_new", "V_new", "H_new"],
        domain=TRAINING_DOMAIN,
        alpha=0.5,
        beta=0.5,
        epsilon=1.0,
    )
    R = np.array(0, np.float32)
    T = np.array(0, np.int64)
    inputs: dict[str, Array] = {"R": R, "T": T, "X": X, "G": G, "V": V, "H": H}
    return Probe.of_node(node, inputs, {"X_new": X, "V_new": (V + G) / 2, "H_new": (H + G * G) / 2})


def unknown_operator_probe() -> Probe:
    """Return a probe with an operator that no runtime supports."""
    X = _consecutive_floats((2,), 0)
    node = helper.make_node("Unheard", ["X"], ["Y"], domain="onnx_conformance.unheard_of")
    return Probe.of_node(node, {"X": X}, {"Y": X})


PROBES_BY_OPERATOR: Mapping[str, Callable[[Sequence[int], int], Probe]] = {
    "ArgMax": argmax_probe,
    "Identity": identity_probe,
    "Adam": adam_probe,
}
"""By operator: a function that returns a probe for a shape and a first value. The first supported operator is used."""


def _consecutive_floats(shape: Sequence[int], start: int) -> Array:
    return np.arange(start, start + np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def _value_infos(arrays: Mapping[str, Array]) -> list[onnx.ValueInfoProto]:
    return [
        helper.make_tensor_value_info(name, type_number(type_name(array.dtype)), array.shape)
        for name, array in arrays.items()
    ]
