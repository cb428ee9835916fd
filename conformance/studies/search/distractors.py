"""Distractors: unrelated nodes and metadata that are added to a random model and must not change its results.

A faulty graph optimizer often damages parts of the model that it should not touch. A distractor is either a second
graph, which is appended to the main graph with new names (`GRAPH_TEXTS`), or a change of the model (`MODEL_CHANGES`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from conformance.base.serialization.decoding import read_own_toml
from conformance.corpus.factors.message_fields import (
    FULL_VERSIONS,
    OVERLOADED_FUNCTIONS,
    PARTS_BY_MESSAGE,
    ExtraNodes,
    MessageScope,
    add_quantization_annotations,
    add_training_info,
    fill_messages,
    fill_model,
    filled_function,
    snake_case,
)
from conformance.corpus.factors.wrapping import BuiltModel
from conformance.exact.models.graphs import normal_domain
from conformance.exact.models.input_files import required_input_names
from conformance.exact.models.model_building import make_value_info
from conformance.exact.models.renaming import Renamer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


DISTRACTOR_SHAPE = (2, 3)
"""Shape of the inputs of distractor graphs."""


def join(model: onnx.ModelProto, other: onnx.ModelProto, word: str) -> None:
    """Append the graph of `other` to the graph of `model`; its names get a prefix made of `word`."""

    def prefix(name: str) -> str:
        return f"{word}_{name}"

    Renamer(prefix).rename_graph(other.graph, {}, prefix)
    for field in ("node", "input", "output", "initializer", "sparse_initializer", "value_info"):
        getattr(model.graph, field).extend(getattr(other.graph, field))
    model.functions.extend(other.functions)
    imported = {"", *(normal_domain(entry.domain) for entry in model.opset_import)}
    model.opset_import.extend(entry for entry in other.opset_import if entry.domain not in imported)


GRAPH_TEXTS: Mapping[str, str] = read_own_toml("conformance.studies.search", "distractors.toml")
"""Distractor graphs in ONNX's textual form, with the functions that they call, by name."""


def _fill_fields(model: onnx.ModelProto, *, message: str, place: MessageScope) -> None:
    """Add protobuf messages of one type to a scope, and set all fields of this type there.

    Args:
        model: the model.
        message: the type of the messages, a key of `PARTS_BY_MESSAGE`.
        place: the scope.
    """
    _raise_versions(model)
    build, _ = PARTS_BY_MESSAGE[message]
    parts = build(DISTRACTOR_SHAPE[1:] if place is MessageScope.SUBGRAPH else DISTRACTOR_SHAPE)
    made = {
        MessageScope.MAIN: _main_graph_model,
        MessageScope.SUBGRAPH: _scan_model,
        MessageScope.FUNCTION: _function_model,
    }[place](parts)
    join(model, made, f"fields_{snake_case(message)}")
    fill_messages(model, message, place)


def _raise_versions(model: onnx.ModelProto) -> None:
    """Set the IR and opset versions to the oldest that define every protobuf field."""
    model.ir_version = FULL_VERSIONS["ir_version"]
    _set_opsets(model, versions=FULL_VERSIONS)


def _set_opsets(model: onnx.ModelProto, *, versions: Mapping[str, int]) -> None:
    """Set the versions of some domains in the model and its functions."""
    for holder in (model, *model.functions):
        for entry in holder.opset_import:
            entry.version = versions.get(entry.domain, entry.version)


def _model_of(
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[onnx.ValueInfoProto],
    functions: Sequence[onnx.FunctionProto],
    given: str = "X",
) -> onnx.ModelProto:
    """Return a model with one input, which has the name `given`."""
    graph = helper.make_graph(list(nodes), "g", [_float_info(given)], outputs)
    opsets = [helper.make_opsetid("", FULL_VERSIONS[""]), helper.make_opsetid("acme", 1)]
    return helper.make_model(graph, functions=list(functions), opset_imports=opsets)


def _float_info(name: str, shape: Sequence[int] = DISTRACTOR_SHAPE) -> onnx.ValueInfoProto:
    """Return the declaration of a tensor of float."""
    return make_value_info(name, "float", shape)


def _main_graph_model(parts: ExtraNodes) -> onnx.ModelProto:
    model = _model_of(parts.nodes, [parts.output], parts.functions)
    parts.add_tensors_to(model.graph)
    return model


def _scan_model(parts: ExtraNodes) -> onnx.ModelProto:
    """Return a model with a Scan over the rows of X; the body of the Scan contains the nodes in `parts`."""
    body = helper.make_graph(list(parts.nodes), "body", [_float_info("X", DISTRACTOR_SHAPE[1:])], [parts.output])
    parts.add_tensors_to(body)
    scan = helper.make_node("Scan", ["X_rows"], ["all"], num_scan_inputs=1, body=body)
    return _model_of([scan], [parts.stacked_output(DISTRACTOR_SHAPE[0])], parts.functions, "X_rows")


def _function_model(parts: ExtraNodes) -> onnx.ModelProto:
    """Return a model that calls a model-local function; the body of the function contains the nodes in `parts`."""
    call, body = parts.as_function()
    return _model_of([call], [parts.output, _float_info("shares")], [*parts.functions, body])


def _set_model_fields(model: onnx.ModelProto) -> None:
    _raise_versions(model)
    fill_model(model)
    add_training_info(model)


def _set_function_fields(model: onnx.ModelProto) -> None:
    _raise_versions(model)
    body = filled_function([helper.make_node("Neg", ["B0"], ["B1"])], DISTRACTOR_SHAPE)
    call = helper.make_node("Largest", ["X"], ["Z"], domain="acme", overload="sloping", kept=0)
    join(model, _model_of([call], [_float_info("Z", ())], [*OVERLOADED_FUNCTIONS, body]), "function")


FIELD_CHANGES: Mapping[str, Callable[[onnx.ModelProto], None]] = {
    **{
        f"fields_{snake_case(message)}_{place}": partial(_fill_fields, message=message, place=place)
        for message, (_, places) in PARTS_BY_MESSAGE.items()
        for place in places
    },
    "fields_model": _set_model_fields,
    "fields_function": _set_function_fields,
}
"""Changes that set every protobuf field of a message type, by name."""


DISTRACTOR_INPUT = np.array([[0.5, 2.0, -1.0], [1.5, 0.25, 3.0]], dtype=np.float32)
"""Input of distractor graphs. The largest element of each column is in another row."""

HEADER = '<ir_version: 9, opset_import: ["" : 13, "acme" : 1]> g '
LONG_TENSOR_SIZE = 17_000
"""Number of floats in a tensor of more than 64 KiB."""


def add_distractor(built: BuiltModel, word: str) -> BuiltModel:
    """Return the model with a distractor added.

    Args:
        word: one of `NAMES`.
    """
    model = onnx.load_model_from_string(built.model)
    before = required_input_names(model.graph)
    if word in GRAPH_TEXTS:
        join(model, parser.parse_model(HEADER + GRAPH_TEXTS[word]), word)
    else:
        MODEL_CHANGES[word](model)
    fed = (DISTRACTOR_INPUT,) * (len(required_input_names(model.graph)) - len(before))
    data_sets = tuple((*inputs, *fed) for inputs in built.data_sets)
    return BuiltModel(model.SerializeToString(deterministic=True), data_sets)


def _add_pair(model: onnx.ModelProto, word: str) -> tuple[onnx.NodeProto, onnx.NodeProto]:
    """Append an Exp followed by an ArgMax to the main graph, and return both nodes.

    Args:
        word: prefix of the names of the new values.
    """
    join(model, parser.parse_model(HEADER + GRAPH_TEXTS["another_pair"]), word)
    return model.graph.node[-2], model.graph.node[-1]


def _name_nodes_like_values(model: onnx.ModelProto) -> None:
    """Append an Exp and an ArgMax, each with the name of the value that the other one produces as its node name."""
    exp, argmax = _add_pair(model, "named")
    exp.name = argmax.output[0]
    argmax.name = exp.output[0]
    argmax.doc_string = "said of an ArgMax"


def _name_nodes(model: onnx.ModelProto) -> None:
    exp, argmax = _add_pair(model, "said")
    exp.name = "operator"
    argmax.name = "index"
    argmax.doc_string = "said of an ArgMax"


def _add_output(model: onnx.ModelProto, op_type: str, taken: str, given: str) -> None:
    """Append a node whose result is a graph output."""
    model.graph.node.append(helper.make_node(op_type, [taken], [given]))
    model.graph.output.append(_float_info(given))


def _add_odd_names(model: onnx.ModelProto) -> None:
    for place, odd in enumerate(("a/b:0 größe", "long" * 100, "Exp")):
        exp, argmax = _add_pair(model, f"odd{place}")
        exp.output[0] = argmax.input[0] = odd
        _add_output(model, "Neg", exp.input[0], f"{odd}_shown")
    _add_output(model, "Neg", model.graph.input[-1].name, "Softmax")


def _add_annotation(model: onnx.ModelProto) -> None:
    exp, _ = _add_pair(model, "annotated")
    names = (exp.output[0], exp.input[0], model.graph.input[0].name)
    add_quantization_annotations(model.graph, *dict.fromkeys(names))  # the last two can be equal


def _declare_values(model: onnx.ModelProto) -> None:
    """Append an Exp and an ArgMax, and declare the types of two new intermediate values."""
    exp, _ = _add_pair(model, "declared")
    for name in ("on_the_way", "further_on"):
        model.graph.node.append(helper.make_node("Neg", [exp.input[0]], [name]))
        model.graph.value_info.append(_float_info(name))
        _add_output(model, "Abs", name, f"{name}_shown")


def _add_denotations(model: onnx.ModelProto) -> None:
    for value in (*model.graph.input, *model.graph.output):
        value.type.denotation = "TENSOR"
        for dim in value.type.tensor_type.shape.dim:
            dim.denotation = "DATA_FEATURE"


def _add_training(model: onnx.ModelProto) -> None:
    """Append an Exp and an ArgMax, and add a TrainingInfoProto whose algorithm reads the output of the Exp."""
    exp, _ = _add_pair(model, "read")
    shown = [_float_info("trained_on")]
    step = helper.make_node("Neg", [exp.output[0]], ["trained_on"])
    info = model.training_info.add()
    info.algorithm.CopyFrom(helper.make_graph([step], "algorithm", [], shown))


def _add_long_tensor(model: onnx.ModelProto) -> None:
    values = np.arange(LONG_TENSOR_SIZE, dtype=np.float32)
    model.graph.initializer.append(numpy_helper.from_array(values, "long"))
    model.graph.node.append(helper.make_node("ReduceMax", ["long"], ["longest"], keepdims=0))
    model.graph.output.append(_float_info("longest", ()))


def _name_default_domain(model: onnx.ModelProto) -> None:
    for entry in model.opset_import:
        entry.domain = entry.domain or "ai.onnx"


def _set_graph_name(model: onnx.ModelProto) -> None:
    model.graph.name = "a graph: größe/0"


def _set_ir_version(model: onnx.ModelProto, *, version: int) -> None:
    """Set an older IR version. Before version 4, every initializer is also a graph input."""
    model.ir_version = version
    known = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer if version < 4 else ():
        if tensor.name not in known:
            model.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))


MODEL_CHANGES: Mapping[str, Callable[[onnx.ModelProto], None]] = {
    **FIELD_CHANGES,
    "nodes_named_like_values": _name_nodes_like_values,
    "nodes_with_names": _name_nodes,
    "odd_names": _add_odd_names,
    "declared_without_a_node": lambda model: model.graph.value_info.append(_float_info("nobody's")),
    "annotated": _add_annotation,
    "declared_twice": _declare_values,
    "denoted": _add_denotations,
    "read_in_training": _add_training,
    "a_long_tensor": _add_long_tensor,
    "opset_14": partial(_set_opsets, versions={"": 14}),
    "opset_22": partial(_set_opsets, versions={"": 22}),
    "opset_6": partial(_set_opsets, versions={"": 6}),
    "main_by_name": _name_default_domain,
    "graph_name": _set_graph_name,
    "ir_3": partial(_set_ir_version, version=3),
    "ir_7": partial(_set_ir_version, version=7),
}
"""Distractors that change the model in place, by name."""

NAMES = (*GRAPH_TEXTS, *MODEL_CHANGES)
"""All distractors."""

SHOULD_NAMES = ("read_in_training",)
"""Distractors that are judged at level should alone, as in the corpus."""

NAMES_WITHOUT_FUNCTIONS = ("ir_3", "ir_7")
"""Distractors whose IR version does not allow functions."""
