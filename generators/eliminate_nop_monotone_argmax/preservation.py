"""What a model says besides what it computes is there after the pass as before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper

from conformance.dimensions.blocks import function
from conformance.generation.models import declared_as
from conformance.generation.values import ranked
from conformance.verdicts import Level
from generators.eliminate_nop_monotone_argmax.scenario import (
    FIRES,
    SHAPE,
    ScenarioGraph,
    argmax,
    index_of,
    pair,
    producer,
    scenario,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conformance.corpus.case import Case

    Touch = Callable[[onnx.ModelProto], None]

FAMILY = "preservation"
TEXT = 'Sentence with a quote ", a line\nbreak and an umlaut: größer.'
IR_VERSIONS = (3, 4, 6, 7, 9, 10, 11)


def cases() -> Iterator[Case]:
    """Documentation, metadata, annotations, training information, functions, versions and names."""
    for name, (text, touch) in TOUCHES.items():
        yield _case(name, f"{text} after the pass as before", touch=touch)
    for name, (text, touch) in NEWER.items():
        yield _case(name, f"{text} after the pass as before", ScenarioGraph(pair(), ir_version=10), touch)
    for version in IR_VERSIONS:
        yield _case(f"ir_version_{version}", f"A model of IR version {version} stays one", _of_version(version))
    yield from _elsewhere()
    yield from _of_the_removed()


def _of_version(version: int) -> ScenarioGraph:
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
    model.producer_name, model.producer_version = "a converter", "1.2.3+local"


def _domain(model: onnx.ModelProto) -> None:
    model.domain, model.model_version = "org.example.models", 2**40 + 1


def _graph_name(model: onnx.ModelProto) -> None:
    model.graph.name = "a name/with: signs"


def _node_names(model: onnx.ModelProto) -> None:
    model.graph.node[0].name, model.graph.node[1].name = "the exponential", "the/index:0"


def _quantization_of(name: str) -> Touch:
    def touch(model: onnx.ModelProto) -> None:
        for kind, value in (("scale", 0.125), ("zero_point", 0.0)):
            dtype = np.float32 if kind == "scale" else np.uint8
            model.graph.initializer.append(numpy_helper.from_array(np.array(value, dtype=dtype), f"{name}_{kind}"))
        entry = model.graph.quantization_annotation.add(tensor_name=name)
        for kind in ("scale", "zero_point"):
            entry.quant_parameter_tensor_names.add(
                key=f"{'SCALE' if kind == 'scale' else 'ZERO_POINT'}_TENSOR", value=f"{name}_{kind}"
            )

    return touch


def _training(model: onnx.ModelProto) -> None:
    """A step that multiplies an initializer by itself; what it computes does not matter here."""
    model.graph.initializer.append(numpy_helper.from_array(np.array([0.5, 2.0], dtype=np.float32), "W"))
    info = model.training_info.add()
    step = helper.make_graph(
        [helper.make_node("Mul", ["W", "W"], ["W_new"])], "step", [], [declared_as("W_new", "float", (2,))]
    )
    info.algorithm.CopyFrom(step)
    info.update_binding.add(key="W", value="W_new")


def _initialization(model: onnx.ModelProto) -> None:
    _training(model)
    start = helper.make_node("Constant", [], ["W_start"], value_floats=[1.0, 1.0])
    info = model.training_info[0]
    info.initialization.CopyFrom(helper.make_graph([start], "start", [], [declared_as("W_start", "float", (2,))]))
    info.initialization_binding.add(key="W", value="W_start")


def _two_imports(model: onnx.ModelProto) -> None:
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    model.opset_import.append(helper.make_opsetid("org.example", 7))


def _unused_function(model: onnx.ModelProto) -> None:
    model.opset_import.append(helper.make_opsetid("acme", 1))
    body = function("Negated", [helper.make_node("Neg", ["A"], ["B"])])
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


TOUCHES: Mapping[str, tuple[str, Touch]] = {
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
    "opset_imports": ("Imports of opsets that no node is of are", _two_imports),
    "function_unused": ("A function that nobody calls is", _unused_function),
    "denotations": ("Denotations of the input's type and dimension are", _denotation),
}
"""What a model has besides its nodes, with what puts it there."""

NEWER: Mapping[str, tuple[str, Touch]] = {
    "graph_metadata": ("The graph's metadata are", _graph_metadata),
    "node_metadata": ("ArgMax's metadata are", _node_metadata),
    "value_metadata": ("The input's metadata are", _value_metadata),
}
"""The same, of models of IR version 10 and above."""


OTHER_CHECKS: Mapping[str, str] = {
    "opset_imports": "interface",
    "node_without_consumer": "structure",
}
"""What is there after the pass as before, and is another check's than that of this name."""


def _elsewhere() -> Iterator[Case]:
    """Nodes, values and constants that have nothing to do with ArgMax."""
    far = [helper.make_node("Neg", ["X"], ["N"], name="far", doc_string=TEXT), argmax("N", "index2")]
    outputs = [index_of(SHAPE), index_of(SHAPE, name="index2")]
    yield _case(
        "other_nodes",
        "Nodes elsewhere keep their order, names and doc strings",
        ScenarioGraph([far[0], producer("Exp"), far[1], argmax()], outputs=outputs),
    )
    yield _case(
        "value_info",
        "What is declared of other intermediate tensors is there after the pass as before",
        ScenarioGraph([*far, *pair()], outputs=outputs, value_info=[declared_as("N", "float", SHAPE)]),
    )
    W = ranked("preservation/W", (2, 2, 2), np.float32)
    yield _case(
        "initializers_unused",
        "Initializers that nobody uses are there after the pass as before",
        ScenarioGraph(pair(), initializers={"W": W, "empty": W[:0], "count": np.array(7, dtype=np.int64)}),
    )
    yield _case(
        "node_without_consumer",
        "A node whose result nobody wants is there after the pass as before",
        ScenarioGraph([*pair(), helper.make_node("Neg", ["X"], ["nobody"])]),
    )


def _of_the_removed() -> Iterator[Case]:
    """What is said of the tensor that goes: no passage forbids to leave it, so these are of level `should`."""
    declared = ScenarioGraph(pair(), value_info=[declared_as("Y", "float", SHAPE)])
    annotated = _quantization_of("Y")
    rows: Mapping[str, tuple[str, ScenarioGraph, Touch | None]] = {
        "value_info_of_removed": ("What is declared of the tensor that is removed", declared, None),
        "quantization_of_removed": ("The annotation of the tensor that is removed", ScenarioGraph(pair()), annotated),
    }
    for name, (text, graph, touch) in rows.items():
        yield scenario(
            FAMILY,
            name,
            f"{text} goes with it",
            ("leftovers", "exp"),
            FIRES,
            graph,
            touch=touch,
            level=Level.SHOULD,
            check="leftovers",
        )


def _case(name: str, title: str, graph: ScenarioGraph | None = None, touch: Touch | None = None) -> Case:
    clauses, held = ("preservation", "exp"), graph or ScenarioGraph(pair())
    return scenario(FAMILY, name, title, clauses, FIRES, held, touch=touch, check=OTHER_CHECKS.get(name, FAMILY))
