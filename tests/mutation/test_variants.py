"""A patched kernel applies to nodes of its operator in ONNX's own domain only."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from mutation.variants import VARIANTS

REMOVED = next(variant for variant in VARIANTS if variant.id == "monotone_removed")
X = np.array([0, 1e-8], np.float32)
NEG = helper.make_function(
    "acme", "Exp", ["A"], ["B"], [helper.make_node("Neg", ["A"], ["B"])], [helper.make_opsetid("", 13)]
)


def indices(nodes, outputs=("I",), functions=()):
    """Return the outputs of the variant that removes Exp before ArgMax."""
    graph = helper.make_graph(
        [*nodes, helper.make_node("ArgMax", ["E"], ["I"], keepdims=0)],
        "graph",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [2])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
    )
    imports = [helper.make_opsetid("", 13), helper.make_opsetid("acme", 1)]
    model = helper.make_model(graph, functions=functions, opset_imports=imports)
    return [output.tolist() for output in REMOVED.backend.prepare(model).run([X])]


def test_operator_read_only_by_argmax_is_removed():
    assert indices([helper.make_node("Exp", ["X"], ["E"])]) == [1]


@pytest.mark.parametrize("taker", ["Neg", "Exp"])
def test_operator_read_by_another_node_is_kept(taker):
    nodes = [helper.make_node("Exp", ["X"], ["E"]), helper.make_node(taker, ["E"], ["other"])]
    assert indices(nodes) == [0]


def test_operator_whose_result_is_an_output_is_kept():
    assert indices([helper.make_node("Exp", ["X"], ["E"])], ["E", "I"]) == [[1, 1], 0]


def test_function_of_another_domain_is_kept():
    assert indices([helper.make_node("Exp", ["X"], ["E"], domain="acme")], functions=[NEG]) == [0]
