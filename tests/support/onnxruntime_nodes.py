"""Single nodes on ONNX Runtime: a second opinion about the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from conformance.exact.models.arrays import type_name
from conformance.exact.reference.enclosures import enclose_node
from conformance.exact.reference.nodes import Node
from conformance.exact.reference.numbers.enclosure import Enclosure, admissible_mask

OPSETS = {"": 21, "com.microsoft": 1, "ai.onnx.ml": 4}
"""The version of each domain."""


def make_model(op_type: str, inputs: list[Any], outputs: int, domain: str, **attributes: Any) -> onnx.ModelProto:
    names = ["" if each is None else f"i{k}" for k, each in enumerate(inputs)]
    node = helper.make_node(op_type, names, [f"o{k}" for k in range(outputs)], domain=domain, **attributes)
    given = [
        helper.make_tensor_value_info(name, onnx.TensorProto.DataType.Value(type_name(each.dtype).upper()), each.shape)
        for name, each in zip(names, inputs, strict=True)
        if name
    ]
    results = [onnx.ValueInfoProto(name=name) for name in node.output]
    imports = [helper.make_opsetid(*each) for each in OPSETS.items()]
    return helper.make_model(helper.make_graph([node], "g", given, results), opset_imports=imports, ir_version=10)


def run(domain: str, op_type: str, inputs: list[Any], outputs: int = 1, **attributes: Any) -> list[Any]:
    """Return what ONNX Runtime computes."""
    model = make_model(op_type, inputs, outputs, domain, **attributes)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = {f"i{k}": each for k, each in enumerate(inputs) if each is not None}
    return list(session.run(None, given))


def enclose(domain: str, op_type: str, inputs: list[Any], outputs: int = 1, **attributes: Any) -> list[Any]:
    names = (tuple(f"{kind}{k}" for k in range(count)) for kind, count in (("i", len(inputs)), ("o", outputs)))
    return enclose_node(Node(op_type, *names, attributes, OPSETS[domain], domain), inputs)


def is_noticed(array: Any, tensor: Any) -> bool:
    """Return whether numbers times 1.01, elements three steps away or other strings are not admissible."""
    if array.dtype.kind == "O":
        return True
    if array.dtype.kind == "f":
        return not admissible_mask((array * 1.01).astype(array.dtype), tensor).all()
    limits = np.iinfo(array.dtype)
    moved = np.where(array.astype(int) + 3 > limits.max, array.astype(int) - 3, array.astype(int) + 3)
    return not admissible_mask(moved.astype(array.dtype), tensor).any()


def assert_agrees(domain: str, op_type: str, inputs: list[Any], outputs: int = 1, **attributes: Any) -> None:
    """Assert that the outputs of ONNX Runtime are admissible at both levels, and changed ones are not."""
    inputs = [None if each is None else np.asarray(each) for each in inputs]
    actual = run(domain, op_type, inputs, outputs, **attributes)
    expected = enclose(domain, op_type, inputs, outputs, **attributes)
    judged = [(array, tensor) for array, tensor in zip(actual, expected, strict=False) if tensor is not None]
    assert judged
    for array, tensor in judged:
        if array.size:
            assert (array.dtype, array.shape) == (tensor.dtype, tensor.shape)
            for level in (tensor, tensor.should or tensor) if isinstance(tensor, Enclosure) else (tensor,):
                assert admissible_mask(array, level).all()
            assert is_noticed(array, tensor)
