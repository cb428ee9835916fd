"""Cases about preservation: the pass keeps all information in a model that does not belong to the removed operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper

from conformance.base.verdicts import Level
from conformance.corpus.factors.message_fields import make_function
from conformance.exact.models.model_building import make_value_info
from generators.eliminate_nop_monotone_argmax.pass_scenario import (
    APPLIES,
    SHAPE,
    ScenarioGraph,
    argmax,
    index_info,
    pair,
    producer,
    scenario,
)
from generators.generated_values import permuted_quarters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.corpus.cases.case import Case

    ModelChange = Callable[[onnx.ModelProto], None]

FAMILY = "preservation"
TEXT = 'Sentence with a quote ", a line\nbreak and an umlaut: größer.'
IR_VERSIONS = (3, 4, 6, 7, 9, 10, 11)


def cases() -> Iterator[Case]:
    """Yield cases about documentation, metadata, annotations, training information, functions, versions and names."""
    for name, (text, modify) in MODEL_CHANGES.items():
        yield _case(name, f"{text} the same after the pass", modify=modify)
    for name, (text, modify) in IR_10_MODEL_CHANGES.items():
        yield _case(name, f"{text} the same after the pass", ScenarioGraph(pair(), ir_version=10), modify)
    for version in IR_VERSIONS:
        yield _case(f"ir_version_{version}", f"IR version {version} of a model is kept", _graph_of_ir_version(version))
    yield from _unconnected()
    yield from _annotations_of_removed()


def _graph_of_ir_version(version: int) -> ScenarioGraph:
    return ScenarioGraph(pair(), ir_version=version)


def _doc_strings(model: onnx.ModelProto) -> None:
    graph = model.graph
    for described in (model, graph, graph.node[1], graph.input[0], graph.output[0]):
        described.doc_string = TEXT


def _model_doc_string(model: onnx.ModelProto) -> None:
    model.doc_string = TEXT


def _graph_doc_string(model: onnx.ModelProto) -> None:
    model.graph.doc_string = TEXT


def _argmax_doc_string(model: onnx.ModelProto) -> None:
    model.graph.node[1].doc_string = TEXT


def _input_doc_string(model: onnx.ModelProto) -> None:
    model.graph.input[0].doc_string = TEXT


def _output_doc_string(model: onnx.ModelProto) -> None:
    model.graph.output[0].doc_string = TEXT


def _attribute_doc_string(model: onnx.ModelProto) -> None:
    model.graph.node[1].attribute[0].doc_string = TEXT


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


def _quantization_of(name: str) -> ModelChange:
    def modify(model: onnx.ModelProto) -> None:
        for kind, value in (("scale", 0.125), ("zero_point", 0.0)):
            dtype = np.float32 if kind == "scale" else np.uint8
            model.graph.initializer.append(numpy_helper.from_array(np.array(value, dtype=dtype), f"{name}_{kind}"))
        entry = model.graph.quantization_annotation.add(tensor_name=name)
        for kind in ("scale", "zero_point"):
            entry.quant_parameter_tensor_names.add(
                key=f"{'SCALE' if kind == 'scale' else 'ZERO_POINT'}_TENSOR", value=f"{name}_{kind}"
            )

    return modify


def _training(model: onnx.ModelProto) -> None:
    """Add training information whose algorithm squares an initializer."""
    model.graph.initializer.append(numpy_helper.from_array(np.array([0.5, 2.0], dtype=np.float32), "W"))
    info = model.training_info.add()
    step = helper.make_graph(
        [helper.make_node("Mul", ["W", "W"], ["W_new"])], "step", [], [make_value_info("W_new", "float", (2,))]
    )
    info.algorithm.CopyFrom(step)
    info.update_binding.add(key="W", value="W_new")


def _initialization(model: onnx.ModelProto) -> None:
    _training(model)
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
    body.doc_string = TEXT
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


MODEL_CHANGES: Mapping[str, tuple[str, ModelChange]] = {
    "doc_strings": ("Doc strings of model, graph, ArgMax, inputs and outputs are", _doc_strings),
    "model_doc_string": ("The model's doc string is", _model_doc_string),
    "graph_doc_string": ("The graph's doc string is", _graph_doc_string),
    "argmax_doc_string": ("ArgMax's doc string is", _argmax_doc_string),
    "input_doc_string": ("The input's doc string is", _input_doc_string),
    "output_doc_string": ("The output's doc string is", _output_doc_string),
    "attribute_doc_string": ("The doc string of ArgMax's attribute is", _attribute_doc_string),
    "metadata": ("The model's metadata are", _metadata),
    "producer": ("Name and version of the model's producer are", _producer),
    "domain": ("The model's domain and version are", _domain),
    "graph_name": ("The graph's name is", _graph_name),
    "node_names": ("ArgMax's node name is", _node_names),
    "quantization_of_input": ("The quantization annotation of the input is", _quantization_of("X")),
    "quantization_of_index": ("The quantization annotation of the index is", _quantization_of("index")),
    "training_info": ("Training information is", _training),
    "training_initialization": ("Training information with an initialization is", _initialization),
    "opset_imports": ("Imports of unused opsets are", _two_imports),
    "opset_imports_high": ("Imports of a domain with a higher version than that of ai.onnx, twice, are", _high_imports),
    "function_unused": ("A function that is never called is", _unused_function),
    "denotations": ("Denotations of the input's type and dimension are", _denotation),
}
"""Descriptions and functions that add something to a model, by name of the case."""

IR_10_MODEL_CHANGES: Mapping[str, tuple[str, ModelChange]] = {
    "graph_metadata": ("The graph's metadata are", _graph_metadata),
    "node_metadata": ("ArgMax's metadata are", _node_metadata),
    "value_metadata": ("The input's metadata are", _value_metadata),
}
"""The same for models of IR version 10 and above."""


OTHER_CHECKS: Mapping[str, str] = {
    "opset_imports": "interface",
    "opset_imports_high": "interface",
    "node_without_consumer": "structure",
}
"""Checks of cases that do not test the check `preservation`, by name of the case."""


def _unconnected() -> Iterator[Case]:
    """Yield cases with nodes, values and constants that are not connected to the operator and its ArgMax."""
    far = [helper.make_node("Neg", ["X"], ["N"], name="far", doc_string=TEXT), argmax("N", "index2")]
    outputs = [index_info(SHAPE), index_info(SHAPE, name="index2")]
    yield _case(
        "other_nodes",
        "Nodes elsewhere keep their order, names and doc strings",
        ScenarioGraph([far[0], producer("Exp"), far[1], argmax()], outputs=outputs),
    )
    yield _case(
        "value_info",
        "Declarations of other intermediate values are the same after the pass",
        ScenarioGraph([*far, *pair()], outputs=outputs, value_info=[make_value_info("N", "float", SHAPE)]),
    )
    W = permuted_quarters("preservation/W", (2, 2, 2), np.float32)
    yield _case(
        "initializers_unused",
        "Unused initializers are the same after the pass",
        ScenarioGraph(pair(), initializers={"W": W, "empty": W[:0], "count": np.array(7, dtype=np.int64)}),
    )
    yield _case(
        "node_without_consumer",
        "A node with an unused result is the same after the pass",
        ScenarioGraph([*pair(), helper.make_node("Neg", ["X"], ["nobody"])]),
    )


def _annotations_of_removed() -> Iterator[Case]:
    """Yield cases about declarations and annotations of the removed value.

    The level is `should`, because the specification does not forbid that they remain.
    """
    declared = ScenarioGraph(pair(), value_info=[make_value_info("Y", "float", SHAPE)])
    annotated = _quantization_of("Y")
    rows: Mapping[str, tuple[str, ScenarioGraph, ModelChange | None]] = {
        "value_info_of_removed": ("The declaration of the removed value", declared, None),
        "quantization_of_removed": (
            "The quantization annotation of the removed value",
            ScenarioGraph(pair()),
            annotated,
        ),
    }
    for name, (text, graph, modify) in rows.items():
        yield scenario(
            FAMILY,
            name,
            f"{text} is removed too",
            ("leftovers", "exp"),
            APPLIES,
            graph,
            modify=modify,
            level=Level.SHOULD,
            check="leftovers",
        )


def _case(name: str, title: str, graph: ScenarioGraph | None = None, modify: ModelChange | None = None) -> Case:
    clauses = ("preservation", "exp")
    held = graph or ScenarioGraph(pair())
    return scenario(FAMILY, name, title, clauses, APPLIES, held, modify=modify, check=OTHER_CHECKS.get(name, FAMILY))
