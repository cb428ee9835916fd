"""Operators of custom domains, which share only the name with an operator of ONNX."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper

from conformance.models.graphs import onnx_op_type
from conformance.models.types import TRAINING_DOMAIN
from conformance.mutants.wrappers import MODEL_REWRITES


@pytest.mark.parametrize(
    ("op_type", "domain", "expected"),
    [
        ("Adam", TRAINING_DOMAIN, "Adam"),
        ("Adam", "", ""),
        ("Adam", "custom", ""),
        ("Conv", "ai.onnx", "Conv"),
        ("Conv", "custom", ""),
        ("ArgMax", TRAINING_DOMAIN, ""),
    ],
)
def test_onnx_op_type_depends_on_the_domain(op_type: str, domain: str, expected: str) -> None:
    assert onnx_op_type(helper.make_node(op_type, ["x"], ["y"], domain=domain)) == expected


def test_rewrite_of_sparse_constants_keeps_a_constant_of_a_custom_domain() -> None:
    values = helper.make_tensor("v", onnx.TensorProto.FLOAT, [1], np.ones(1, np.float32))
    sparse = helper.make_sparse_tensor(values, helper.make_tensor("i", onnx.TensorProto.INT64, [1], [0]), [3])
    nodes = [helper.make_node("Constant", [], [name], domain=name, sparse_value=sparse) for name in ("", "custom")]
    model = helper.make_model(helper.make_graph(nodes, "g", [], []))
    MODEL_REWRITES["forget_sparse_elements"](model, "")
    assert [node.attribute[0].name for node in model.graph.node] == ["value", "sparse_value"]
