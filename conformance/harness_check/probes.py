"""Models that are easy to run, with exact results, so that what is wrong with an answer is the harness's doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from conformance.models.arrays import Array, type_name, type_number
from conformance.models.signatures import TRAINING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

IR_VERSION = 8
OPSET = 13


@dataclass(frozen=True)
class Probe:
    """A model, inputs for it in the graph's order, and the outputs that it then has.

    Attributes:
        model: one node.
        inputs: arrays by the names of the graph's inputs.
        outputs: likewise of its outputs.
    """

    model: onnx.ModelProto
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]

    @classmethod
    def of(cls, node: onnx.NodeProto, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> Probe:
        """The probe of a node."""
        graph = helper.make_graph([node], "probe", _infos(inputs), _infos(outputs))
        opsets = [helper.make_opsetid("", OPSET)]
        if node.domain:
            opsets.append(helper.make_opsetid(node.domain, 1))
        return cls(helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION), inputs, outputs)


def identity(shape: Sequence[int], start: int) -> Probe:
    """Identity of consecutive float numbers."""
    X = _counted(shape, start)
    return Probe.of(helper.make_node("Identity", ["X"], ["Y"]), {"X": X}, {"Y": X})


def argmax(shape: Sequence[int], start: int) -> Probe:
    """ArgMax over the first of two rows of floats: its indices have the shape asked for."""
    first = _counted(shape, start) % 3
    X = np.stack([first, np.ones_like(first)])
    node = helper.make_node("ArgMax", ["X"], ["Y"], axis=0, keepdims=0)
    return Probe.of(node, {"X": X}, {"Y": (X[1] > X[0]).astype(np.int64)})


def adam(shape: Sequence[int], start: int) -> Probe:
    """Adam with a learning rate of 0 and weights of one half, whose results are not rounded."""
    X = _counted(shape, start)
    G, V, H = (np.full_like(X, value + 2 * start) for value in (2, 4, 8))
    node = helper.make_node(
        "Adam",
        list("RTXGVH"),
        ["X_new", "V_new", "H_new"],
        domain=TRAINING,
        alpha=0.5,
        beta=0.5,
        epsilon=1.0,
    )
    inputs: dict[str, Array] = {
        "R": np.array(0, np.float32),
        "T": np.array(0, np.int64),
        "X": X,
        "G": G,
        "V": V,
        "H": H,
    }
    return Probe.of(node, inputs, {"X_new": X, "V_new": (V + G) / 2, "H_new": (H + G * G) / 2})


def unheard_of() -> Probe:
    """A node of an operator that no runtime has."""
    X = _counted((2,), 0)
    node = helper.make_node("Unheard", ["X"], ["Y"], domain="onnx_conformance.unheard_of")
    return Probe.of(node, {"X": X}, {"Y": X})


FAMILIES: Mapping[str, Callable[[Sequence[int], int], Probe]] = {"ArgMax": argmax, "Identity": identity, "Adam": adam}
"""What a harness may be able to run, tried in this order; by the shape of the outputs and a number to begin with."""


def _counted(shape: Sequence[int], start: int) -> Array:
    return np.arange(start, start + np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


def _infos(arrays: Mapping[str, Array]) -> list[onnx.ValueInfoProto]:
    return [
        helper.make_tensor_value_info(name, type_number(type_name(array.dtype)), array.shape)
        for name, array in arrays.items()
    ]
