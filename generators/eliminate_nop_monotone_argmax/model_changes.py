"""Changes of models that have no text form in ONNX, by the text and the name or a tag of the case."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper

from conformance.corpus.factors.message_fields import SAMPLE_TEXT, add_quantization_annotations, make_function
from conformance.exact.models.arrays import array_of, tensor_of
from conformance.exact.models.graphs import all_graphs, all_nodes
from conformance.exact.models.model_building import make_value_info

if TYPE_CHECKING:
    from collections.abc import Mapping

    from generators.eliminate_nop_monotone_argmax.case_texts import ModelChange


def _sparse_constants(values_name: str, places_name: str) -> ModelChange:
    """Return a function that makes the values of all Constants sparse whose output begins with S.

    Args:
        values_name: name of the tensor of the elements that are not zero.
        places_name: name of the tensor of their places.
    """

    def modify(model: onnx.ModelProto) -> None:
        for node in all_nodes(model):
            if node.op_type == "Constant" and node.output[0].startswith("S"):
                array = array_of(node.attribute[0].t)
                places = np.flatnonzero(array)
                sparse = helper.make_sparse_tensor(
                    tensor_of(array.ravel()[places], values_name),
                    tensor_of(places.astype(np.int64), places_name),
                    array.shape,
                )
                node.attribute[0].CopyFrom(helper.make_attribute("sparse_value", sparse))

    return modify


def _training(updated: str, taken: str) -> ModelChange:
    """Return a function that adds training information.

    Args:
        updated: name of the initializer that the training updates.
        taken: name of the value of the graph that the update uses.
    """

    def modify(model: onnx.ModelProto) -> None:
        number = helper.make_node("Cast", [taken], ["number"], to=onnx.TensorProto.FLOAT)
        total = helper.make_node("ReduceMax", ["number"], ["total"], keepdims=0)
        step = helper.make_node("Mul", [updated, "total"], ["W_new"])
        shape = [dim for tensor in model.graph.initializer if tensor.name == updated for dim in tensor.dims]
        info = model.training_info.add()
        info.algorithm.CopyFrom(
            helper.make_graph([number, total, step], "step", [], [make_value_info("W_new", "float", shape)])
        )
        info.update_binding.add(key=updated, value="W_new")

    return modify


def _doc_strings(model: onnx.ModelProto) -> None:
    graph = model.graph
    for described in (model, graph, graph.node[1], graph.input[0], graph.output[0]):
        described.doc_string = SAMPLE_TEXT


def _model_doc_string(model: onnx.ModelProto) -> None:
    model.doc_string = SAMPLE_TEXT


def _graph_doc_string(model: onnx.ModelProto) -> None:
    model.graph.doc_string = SAMPLE_TEXT


def _argmax_doc_string(model: onnx.ModelProto) -> None:
    model.graph.node[1].doc_string = SAMPLE_TEXT


def _input_doc_string(model: onnx.ModelProto) -> None:
    model.graph.input[0].doc_string = SAMPLE_TEXT


def _output_doc_string(model: onnx.ModelProto) -> None:
    model.graph.output[0].doc_string = SAMPLE_TEXT


def _attribute_doc_string(model: onnx.ModelProto) -> None:
    model.graph.node[1].attribute[0].doc_string = SAMPLE_TEXT


def _metadata(model: onnx.ModelProto) -> None:
    helper.set_model_props(model, {"author": "a person", "labels": '["cat", "dog"]', "empty": "", "größe": "1 m"})


def _producer(model: onnx.ModelProto) -> None:
    model.producer_name = "a converter"
    model.producer_version = "1.2.3+local"


def _domain(model: onnx.ModelProto) -> None:
    model.domain = "org.example.models"
    model.model_version = 2**40 + 1


def _graph_name(model: onnx.ModelProto) -> None:
    model.graph.name = "a name/with: signs"


def _node_names(model: onnx.ModelProto) -> None:
    model.graph.node[0].name = "the exponential"
    model.graph.node[1].name = "the/index:0"


def _training_info(model: onnx.ModelProto) -> None:
    """Add training information whose algorithm squares an initializer."""
    model.graph.initializer.append(tensor_of(np.array([0.5, 2.0], dtype=np.float32), "W"))
    info = model.training_info.add()
    step = helper.make_graph(
        [helper.make_node("Mul", ["W", "W"], ["W_new"])], "step", [], [make_value_info("W_new", "float", (2,))]
    )
    info.algorithm.CopyFrom(step)
    info.update_binding.add(key="W", value="W_new")


def _initialization(model: onnx.ModelProto) -> None:
    _training_info(model)
    start = helper.make_node("Constant", [], ["W_start"], value_floats=[1.0, 1.0])
    info = model.training_info[0]
    info.initialization.CopyFrom(helper.make_graph([start], "start", [], [make_value_info("W_start", "float", (2,))]))
    info.initialization_binding.add(key="W", value="W_start")


def _two_imports(model: onnx.ModelProto) -> None:
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    model.opset_import.append(helper.make_opsetid("org.example", 7))


def _high_imports(model: onnx.ModelProto) -> None:
    for domain in ("org.example", "org.example", "ai.onnx.ml"):
        model.opset_import.append(helper.make_opsetid(domain, 3 if domain == "ai.onnx.ml" else 99))


def _unused_function(model: onnx.ModelProto) -> None:
    model.opset_import.append(helper.make_opsetid("acme", 1))
    body = make_function("Negated", [helper.make_node("Neg", ["A"], ["B"])])
    body.doc_string = SAMPLE_TEXT
    model.functions.append(body)


def _denotation(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.denotation = "TENSOR"
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"


def _graph_metadata(model: onnx.ModelProto) -> None:
    model.graph.metadata_props.add(key="source", value="a converter")


def _node_metadata(model: onnx.ModelProto) -> None:
    model.graph.node[1].metadata_props.add(key="namespace", value="model/head")


def _value_metadata(model: onnx.ModelProto) -> None:
    model.graph.input[0].metadata_props.add(key="layout", value="NC")


def _far_doc_string(model: onnx.ModelProto) -> None:
    model.graph.node[0].doc_string = SAMPLE_TEXT


def _large_initializer(model: onnx.ModelProto) -> None:
    elements = np.zeros(2**20 + 1, dtype=np.uint8)
    elements[:: elements.size // 4] = np.arange(1, 6)
    model.graph.initializer[0].CopyFrom(tensor_of(elements, "W"))


def _sparse_initializer(model: onnx.ModelProto) -> None:
    values = tensor_of(np.array([1.0, 0.5], dtype=np.float32), "S")
    places = tensor_of(np.array([1, 5], dtype=np.int64), "S_places")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [2, 3]))


def _list_of_graphs(model: onnx.ModelProto) -> None:
    node = model.graph.node[-1]
    graphs = helper.make_attribute("graphs", [attribute.g for attribute in node.attribute])
    del node.attribute[:]
    node.attribute.append(graphs)


SMALL_TYPES: Mapping[str, tuple[int, bytes]] = {
    "float8_e4m3fn": (17, b"\x38\x40"),
    "float8_e4m3fnuz": (18, b"\x40\x48"),
    "float8_e5m2": (19, b"\x3c\x40"),
    "float8_e5m2fnuz": (20, b"\x40\x44"),
    "uint4": (21, b"\x21"),
    "int4": (22, b"\x21"),
    "float4_e2m1": (23, b"\x42"),
    "float8_e8m0": (24, b"\x7f\x80"),
}
"""Recent element types: number, and bytes of the elements 1 and 2."""


def _small_initializer(type: str) -> ModelChange:
    """Return a function that adds an initializer of a recent element type."""
    number, elements = SMALL_TYPES[type]
    tensor = onnx.TensorProto(name="W", data_type=number, dims=[2], raw_data=elements)
    return lambda model: model.graph.initializer.append(tensor)


def _declaration_doc_strings(model: onnx.ModelProto) -> None:
    for declaration in (declaration for graph in all_graphs(model) for declaration in graph.value_info):
        declaration.doc_string = f"what is said of {declaration.name}"


def _equal_names(model: onnx.ModelProto) -> None:
    model.graph.name = "model"
    model.producer_name = ""


def _equal_graph_names(model: onnx.ModelProto) -> None:
    model.graph.name = "graph"


def _least_float(model: onnx.ModelProto) -> None:
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.floats:
                attribute.floats[0] = 2.0**-149


def _operand(model: onnx.ModelProto) -> str:
    """Return the name of the operand in a model of the text `combined`."""
    return "W" if any(tensor.name == "W" for tensor in model.graph.initializer) else "X"


def _shared_parameters(model: onnx.ModelProto) -> None:
    """Add two quantization annotations with the same parameters."""
    add_quantization_annotations(model.graph, "Y", "X")
    first, second = model.graph.quantization_annotation
    del second.quant_parameter_tensor_names[:]
    second.quant_parameter_tensor_names.extend(first.quant_parameter_tensor_names)


def _second_training(model: onnx.ModelProto) -> None:
    _add_training(model, _operand(model))
    _add_training(model, _operand(model), "second_")


def _add_training(model: onnx.ModelProto, taken: str, prefix: str = "", *, has_pair: bool = False) -> None:
    """Add training information with two bindings.

    Args:
        taken: name of a value of the main graph that the algorithm reads.
        prefix: prefix of all new names.
        has_pair: whether the algorithm has an Exp before an ArgMax.
    """
    weights = [f"{prefix}weight", f"{prefix}bias"]
    for name in weights:
        model.graph.initializer.append(tensor_of(np.array([0.5, 2.0], dtype=np.float32), name))
    nodes = []
    if has_pair:
        nodes = [
            helper.make_node("Exp", [taken], ["raised"]),
            helper.make_node("ArgMax", ["raised"], ["places"], axis=1, keepdims=0),
        ]
        taken = "places"
    nodes.append(helper.make_node("Cast", [taken], [f"{prefix}number"], to=onnx.TensorProto.FLOAT))
    nodes.append(helper.make_node("ReduceMax", [f"{prefix}number"], [f"{prefix}total"], keepdims=0))
    nodes += [helper.make_node("Mul", [name, f"{prefix}total"], [f"{name}_next"]) for name in weights]
    info = model.training_info.add()
    outputs = [make_value_info(f"{name}_next", "float", (2,)) for name in weights]
    info.algorithm.CopyFrom(helper.make_graph(nodes, f"{prefix}step", [], outputs))
    for name in weights:
        info.update_binding.add(key=name, value=f"{name}_next")


SPARSE_COUNT = 9
"""Number of sparse initializers beside the pair."""


def _several_sparse(level: str) -> ModelChange:
    """Return a function that adds sparse initializers to the graph with an initializer."""

    def modify(model: onnx.ModelProto) -> None:
        graph = next(graph for graph in all_graphs(model) if graph.initializer)
        graph.sparse_initializer.extend(_sparse_tensor(number, level) for number in range(SPARSE_COUNT))

    return modify


def _sparse_tensor(number: int, level: str) -> onnx.SparseTensorProto:
    """Return a sparse tensor with two elements; the level `equal` gives it the elements of all others."""
    values = np.array([0.5, 1.5], dtype=np.float32) + (0 if level == "equal" else number)
    places = np.array([1, 4] if level == "equal" else [number % 5, 5], dtype=np.int64)
    if level == "coordinates":
        places = np.stack(np.unravel_index(places, (2, 3)), axis=1).astype(np.int64)
    return helper.make_sparse_tensor(tensor_of(values, f"S{number}"), tensor_of(places, f"S{number}_places"), (2, 3))


CHANGES: Mapping[str, Mapping[str, ModelChange]] = {
    "long_chains": {
        "of_sparse_constant": _sparse_constants("S", "S_places"),
        "beside_training": _training("W", "W"),
        "result_in_training": _training("W", "Y1"),
        "input_in_training": _training("W", "X"),
        "index_in_training": _training("W", "index"),
    },
    "constants": {"above_1_mib": _large_initializer},
    "types_and_shapes": {
        "sparse_constant": _sparse_constants("S", "S_places"),
        "captured_by_list_of_graphs": _list_of_graphs,
        "sparse_initializer": _sparse_initializer,
        **{f"initializer_{type}": _small_initializer(type) for type in SMALL_TYPES},
    },
    "elsewhere": {"values_beside": _least_float},
    "surroundings": {
        **dict.fromkeys(("said_of_others", "said_of_removed", "said_in_a_branch"), _declaration_doc_strings),
        "one_name_first": _equal_names,
        "one_name_second": _equal_names,
        "graphs_of_one_name": _equal_graph_names,
    },
    "preservation": {
        "doc_strings": _doc_strings,
        "model_doc_string": _model_doc_string,
        "graph_doc_string": _graph_doc_string,
        "argmax_doc_string": _argmax_doc_string,
        "input_doc_string": _input_doc_string,
        "output_doc_string": _output_doc_string,
        "attribute_doc_string": _attribute_doc_string,
        "metadata": _metadata,
        "producer": _producer,
        "domain": _domain,
        "graph_name": _graph_name,
        "node_names": _node_names,
        "training_info": _training_info,
        "training_initialization": _initialization,
        "opset_imports": _two_imports,
        "opset_imports_high": _high_imports,
        "function_unused": _unused_function,
        "denotations": _denotation,
        "graph_metadata": _graph_metadata,
        "node_metadata": _node_metadata,
        "value_metadata": _value_metadata,
        "other_nodes": _far_doc_string,
        "value_info": _far_doc_string,
    },
    "neighbours": {f"sparse={level}": _several_sparse(level) for level in ("several", "equal", "coordinates")},
    "combined": {
        "annotated=shared_parameters": _shared_parameters,
        "training=reads_operand": lambda model: _add_training(model, _operand(model)),
        "training=reads_result": lambda model: _add_training(model, "Y"),
        "training=has_pair": lambda model: _add_training(model, _operand(model), has_pair=True),
        "training=several": _second_training,
    },
    "function_bodies": dict.fromkeys(("sparse_constant", "sparse_constants"), _sparse_constants("values", "places")),
}
