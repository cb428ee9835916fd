"""Puts bystanders beside what a draw about the pass is about, and says of a model what models may say of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from conformance.dimensions.contexts import Built
from conformance.dimensions.field_parts import annotate
from conformance.generation.models import declared_as
from conformance.models.feeds import fed_names
from conformance.search.bystanders import GRAPHS
from conformance.search.fields import FIELDS_SAID
from conformance.search.joining import SHAPE, join

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FED = np.array([[0.5, 2.0, -1.0], [1.5, 0.25, 3.0]], dtype=np.float32)
"""What bystanders are given: numbers of which none is the largest in two columns."""

HEADER = '<ir_version: 9, opset_import: ["" : 13, "acme" : 1]> g '
LONGER_THAN_64_KIB = 17_000
"""So many floats."""


def with_bystander(built: Built, word: str) -> Built:
    """A model with what a word stands for.

    Args:
        word: of `WORDS`.
    """
    model = onnx.load_model_from_string(built.model)
    before = fed_names(model.graph)
    if word in GRAPHS:
        join(model, parser.parse_model(HEADER + GRAPHS[word]), word)
    else:
        TOUCHES[word](model)
    fed = (FED,) * (len(fed_names(model.graph)) - len(before))
    data_sets = tuple((*inputs, *fed) for inputs in built.data_sets)
    return Built(model.SerializeToString(deterministic=True), data_sets)


def _pair(model: onnx.ModelProto, word: str) -> tuple[onnx.NodeProto, onnx.NodeProto]:
    """Another pair in the main graph: its operator and its ArgMax."""
    join(model, parser.parse_model(HEADER + GRAPHS["another_pair"]), word)
    return model.graph.node[-2], model.graph.node[-1]


def _named_nodes(model: onnx.ModelProto) -> None:
    """Nodes that bear the names of values that other nodes give."""
    exp, argmax = _pair(model, "named")
    exp.name, argmax.name = argmax.output[0], exp.output[0]
    argmax.doc_string = "said of an ArgMax"


def _named_operators(model: onnx.ModelProto) -> None:
    exp, argmax = _pair(model, "said")
    exp.name, argmax.name = "operator", "index"
    argmax.doc_string = "said of an ArgMax"


def _odd_names(model: onnx.ModelProto) -> None:
    for place, odd in enumerate(("a/b:0 größe", "long" * 100, "Exp")):
        exp, argmax = _pair(model, f"odd{place}")
        exp.output[0] = argmax.input[0] = odd
        node = helper.make_node("Neg", [exp.input[0]], [f"{odd}_shown"])
        model.graph.node.append(node)
        model.graph.output.append(declared_as(f"{odd}_shown", "float", SHAPE))
    neg = helper.make_node("Neg", [model.graph.input[-1].name], ["Softmax"])
    model.graph.node.append(neg)
    model.graph.output.append(declared_as("Softmax", "float", SHAPE))


def _declared_without_a_node(model: onnx.ModelProto) -> None:
    model.graph.value_info.append(declared_as("nobody's", "float", SHAPE))


def _annotated(model: onnx.ModelProto) -> None:
    exp, _ = _pair(model, "annotated")
    annotate(model.graph, exp.output[0], exp.input[0], model.graph.input[0].name)


def _declared_twice(model: onnx.ModelProto) -> None:
    """Two values on the way that are declared, and the operand of an operator that goes."""
    exp, _ = _pair(model, "declared")
    for name in ("on_the_way", "further_on"):
        model.graph.node.append(helper.make_node("Neg", [exp.input[0]], [name]))
        model.graph.value_info.append(declared_as(name, "float", SHAPE))
        model.graph.node.append(helper.make_node("Abs", [name], [f"{name}_shown"]))
        model.graph.output.append(declared_as(f"{name}_shown", "float", SHAPE))


def _denoted(model: onnx.ModelProto) -> None:
    for value in (*model.graph.input, *model.graph.output):
        value.type.denotation = "TENSOR"
        for dim in value.type.tensor_type.shape.dim:
            dim.denotation = "DATA_FEATURE"


def _trained_by(model: onnx.ModelProto) -> None:
    """Training information whose algorithm reads what a pair hands on."""
    exp, _ = _pair(model, "read")
    shown = [declared_as("trained_on", "float", SHAPE)]
    step = helper.make_node("Neg", [exp.output[0]], ["trained_on"])
    info = model.training_info.add()
    info.algorithm.CopyFrom(helper.make_graph([step], "algorithm", [], shown))


def _long_tensor(model: onnx.ModelProto) -> None:
    values = np.arange(LONGER_THAN_64_KIB, dtype=np.float32)
    model.graph.initializer.append(numpy_helper.from_array(values, "long"))
    model.graph.node.append(helper.make_node("ReduceMax", ["long"], ["longest"], keepdims=0))
    model.graph.output.append(declared_as("longest", "float", []))


def _opset(version: int) -> Callable[[onnx.ModelProto], None]:
    def touch(model: onnx.ModelProto) -> None:
        for holder in (model, *model.functions):
            for entry in holder.opset_import:
                entry.version = entry.version if entry.domain else version

    return touch


def _by_name(model: onnx.ModelProto) -> None:
    for entry in model.opset_import:
        entry.domain = entry.domain or "ai.onnx"


def _graph_name(model: onnx.ModelProto) -> None:
    model.graph.name = "a graph: größe/0"


def _ir_version(version: int) -> Callable[[onnx.ModelProto], None]:
    """An older version; in those before 4 every initializer is an input as well."""

    def touch(model: onnx.ModelProto) -> None:
        model.ir_version = version
        known = {value.name for value in model.graph.input}
        for tensor in model.graph.initializer if version < 4 else ():
            if tensor.name not in known:
                kind = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
                model.graph.input.append(declared_as(tensor.name, kind, tensor.dims))

    return touch


TOUCHES: Mapping[str, Callable[[onnx.ModelProto], None]] = {
    **FIELDS_SAID,
    "nodes_named_like_values": _named_nodes,
    "nodes_with_names": _named_operators,
    "odd_names": _odd_names,
    "declared_without_a_node": _declared_without_a_node,
    "annotated": _annotated,
    "declared_twice": _declared_twice,
    "denoted": _denoted,
    "read_in_training": _trained_by,
    "a_long_tensor": _long_tensor,
    "opset_14": _opset(14),
    "opset_22": _opset(22),
    "opset_6": _opset(6),
    "main_by_name": _by_name,
    "graph_name": _graph_name,
    "ir_3": _ir_version(3),
    "ir_7": _ir_version(7),
}
"""What is done to a model, by word."""

WORDS = (*GRAPHS, *TOUCHES)

WITHOUT_FUNCTIONS = ("ir_3", "ir_7")
"""Words for models that cannot have functions."""
