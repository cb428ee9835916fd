"""The protobuf messages of models, and parts of models that use every field of them.

Cases of the pass and the random search add these parts to a model. They check that a graph optimizer keeps all fields.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from conformance.exact.models.graphs import copy_of
from conformance.exact.models.model_building import DimensionSize, make_value_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from conformance.exact.models.arrays import Array


FULL_VERSIONS = {"ir_version": 11, "": 21}
"""The oldest IR version and opset that define every protobuf field."""


class MessageScope(StrEnum):
    """The part of a model that contains a protobuf message."""

    MODEL = "model"
    """Outside graphs: the model itself, its functions as wholes, its training information."""
    MAIN = "main"
    """The main graph."""
    SUBGRAPH = "subgraph"
    """A graph in an attribute of a node, at any depth."""
    FUNCTION = "function"
    """The body of a function."""
    TRAINING = "training"
    """A graph of training information."""


CASE_MESSAGES: Mapping[str, str] = {
    "OperatorSetIdProto": "ModelProto",
    "TrainingInfoProto": "ModelProto",
    "SparseTensorProto": "GraphProto",
    "TensorAnnotation": "GraphProto",
}
"""Messages without a case of their own, and the message whose case sets their fields."""

IN_GRAPHS = (MessageScope.MAIN, MessageScope.SUBGRAPH, MessageScope.FUNCTION)


def snake_case(name: str) -> str:
    """Return the name of a message in snake case, without `Proto`: `value_info` for `ValueInfoProto`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("Proto")).lower()


def iter_messages(model: onnx.ModelProto) -> Iterator[tuple[MessageScope, Any]]:
    """Yield every protobuf message of a model, with the part of the model that contains the message."""
    yield from _iter_messages(model, MessageScope.MODEL)


def _iter_messages(message: Any, scope: MessageScope) -> Iterator[tuple[MessageScope, Any]]:
    yield scope, message
    inside = _CONTENT_SCOPES.get(type(message).__name__, scope)
    for descriptor, content in message.ListFields():
        if descriptor.message_type is not None:
            for entry in content if hasattr(content, "extend") else [content]:
                yield from _iter_messages(entry, _scope_inside(inside, entry))


def _scope_inside(scope: MessageScope, message: Any) -> MessageScope:
    """Return the scope of the messages inside `message`, which has the scope `scope`."""
    if not isinstance(message, onnx.GraphProto):
        return scope
    return {MessageScope.MODEL: MessageScope.MAIN, MessageScope.MAIN: MessageScope.SUBGRAPH}.get(scope, scope)


_CONTENT_SCOPES = {"FunctionProto": MessageScope.FUNCTION, "TrainingInfoProto": MessageScope.TRAINING}
"""Messages whose contents have another scope than the message itself."""


def constant_node(name: str, array: Array) -> onnx.NodeProto:
    """Return a Constant node."""
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))


def make_branch(
    name: str,
    nodes: Sequence[onnx.NodeProto],
    outputs: Sequence[str],
    shape: Sequence[DimensionSize],
    type: str = "bool",
) -> onnx.GraphProto:
    """Return a branch of If: a graph without inputs, whose outputs all have the same type and shape."""
    return helper.make_graph(nodes, name, [], [make_value_info(output, type, shape) for output in outputs])


def if_node(condition: str, result: str, then: onnx.GraphProto, otherwise: onnx.GraphProto) -> onnx.NodeProto:
    """Return an If node with one output."""
    return helper.make_node("If", [condition], [result], then_branch=then, else_branch=otherwise)


def make_function(
    name: str,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[str] = ("A",),
    outputs: Sequence[str] = ("B",),
    domain: str = "acme",
    attributes: Sequence[str] = (),
    opset: int = 13,
    **rest: Any,
) -> onnx.FunctionProto:
    """Return a model-local function."""
    return helper.make_function(
        domain, name, inputs, outputs, nodes, [helper.make_opsetid("", opset)], attributes, **rest
    )


SAMPLE_TEXT = 'Sentence with a quote ", a line\nbreak and an umlaut: größer.'
DEVICE_CONFIGURATION = "two devices"
"""Name of the device configuration that nodes refer to."""

NEG, IDENTITY = (helper.make_node(op_type, ["A"], ["B"]) for op_type in ("Neg", "Identity"))
OVERLOADED_FUNCTIONS = (
    make_function("Same", [NEG], opset=FULL_VERSIONS[""]),
    make_function("Same", [IDENTITY], overload="fast", opset=FULL_VERSIONS[""]),
)
"""Two functions that differ only in the overload."""

LIST_ATTRIBUTES: Mapping[str, Sequence[Any]] = {
    "tensors": [numpy_helper.from_array(np.array([1, 2], dtype=np.int64), "listed")],
    "graphs": [helper.make_graph([], "listed", [], [])],
    "sparse_tensors": [
        helper.make_sparse_tensor(
            numpy_helper.from_array(np.array([1], dtype=np.float32), "listed_values"),
            numpy_helper.from_array(np.array([1], dtype=np.int64), "listed_places"),
            [3],
        )
    ],
    "type_protos": [helper.make_tensor_type_proto(TensorProto.FLOAT, [3])],
}
"""Values of list attributes whose types no standard operator uses, by protobuf field."""


@dataclass(frozen=True)
class ExtraNodes:
    """Nodes that are added to a model next to the nodes that the pass removes, with everything that they need.

    Attributes:
        nodes: nodes that compute `output` from the value X.
        output: declaration of an additional graph output.
        initializers: dense initializers to add.
        sparse: sparse initializers to add.
        value_info: declarations of intermediate values.
        functions: model-local functions that the nodes call.
    """

    nodes: Sequence[onnx.NodeProto]
    output: onnx.ValueInfoProto
    initializers: Sequence[onnx.TensorProto] = ()
    sparse: Sequence[onnx.SparseTensorProto] = ()
    value_info: Sequence[onnx.ValueInfoProto] = ()
    functions: Sequence[onnx.FunctionProto] = ()

    def add_tensors_to(self, graph: onnx.GraphProto) -> None:
        """Add the initializers, and the declarations of intermediate values, to a graph."""
        graph.initializer.extend(self.initializers)
        graph.sparse_initializer.extend(self.sparse)
        graph.value_info.extend(self.value_info)

    def stacked_output(self, count: int) -> onnx.ValueInfoProto:
        """Return the declaration of the output of a Scan that has the nodes in its body, for `count` rows."""
        every = copy_of(self.output)
        every.name = "all"
        every.type.tensor_type.shape.dim.insert(0, onnx.TensorShapeProto.Dimension(dim_value=count))
        return every

    def as_function(self) -> tuple[onnx.NodeProto, onnx.FunctionProto]:
        """Return a function with the nodes in its body, and a call of it with a second output, `shares`.

        A node of the body refers to an attribute of the function.
        """
        constants = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in self.initializers]
        handed_on = helper.make_node("Softmax", ["X"], ["handed_on"])
        handed_on.attribute.add(name="axis", ref_attr_name="along", type=onnx.AttributeProto.INT)
        nodes = [*constants, handed_on, *self.nodes]
        results = [self.output.name, "handed_on"]
        body = make_function("Body", nodes, ["X"], results, attributes=["along"], opset=FULL_VERSIONS[""])
        body.opset_import.append(helper.make_opsetid("acme", 1))
        body.value_info.extend(self.value_info)
        return helper.make_node("Body", ["X"], [self.output.name, "shares"], domain="acme", along=1), body


def graph_parts(shape: Sequence[int]) -> ExtraNodes:
    """Return nodes that use an initializer, with an unused sparse initializer and a declared intermediate value."""
    places = np.arange(int(np.prod(shape)), dtype=np.int64)[1::2]
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.full(places.shape, 0.5, dtype=np.float32), "S"),
        numpy_helper.from_array(places, "S_places"),
        list(shape),
    )
    nodes = [
        helper.make_node("Less", ["W", "X"], ["above_W"]),
        helper.make_node("Identity", ["above_W"], ["Z"]),
    ]
    return ExtraNodes(
        nodes,
        make_value_info("Z", "bool", shape),
        [numpy_helper.from_array(np.full(shape, 0.625, dtype=np.float32), "W")],
        [sparse],
        [make_value_info("above_W", "bool", shape)],
    )


def node_parts(shape: Sequence[int]) -> ExtraNodes:
    """Return a call of an overloaded function, and a node with a required attribute."""
    nodes = [
        helper.make_node("Same", ["X"], ["same"], domain="acme", overload="fast"),
        helper.make_node("Concat", ["same", "X"], ["Z"], axis=0),
    ]
    return ExtraNodes(nodes, make_value_info("Z", "float", [2 * shape[0], *shape[1:]]), functions=OVERLOADED_FUNCTIONS)


def value_parts(shape: Sequence[int]) -> ExtraNodes:
    """Return nodes with two declared intermediate values."""
    nodes = [
        helper.make_node("Neg", ["X"], ["minus"]),
        helper.make_node("Abs", ["minus"], ["size"]),
        helper.make_node("Less", ["minus", "size"], ["Z"]),
    ]
    said = [make_value_info(name, "float", shape) for name in ("minus", "size")]
    return ExtraNodes(nodes, make_value_info("Z", "bool", shape), value_info=said)


def tensor_parts(shape: Sequence[int]) -> ExtraNodes:
    """Return initializers that store elements in every data field of `TensorProto`. One of them is used."""
    size = int(np.prod(shape))
    rows: Mapping[str, tuple[int, Sequence[Any]]] = {
        "int32_data": (TensorProto.INT8, [1, -2]),
        "string_data": (TensorProto.STRING, [b"one", "größer".encode()]),
        "int64_data": (TensorProto.INT64, [2**62, -3]),
        "double_data": (TensorProto.DOUBLE, [0.1, -4.0]),
        "uint64_data": (TensorProto.UINT64, [2**63, 5]),
    }
    tensors = [
        onnx.TensorProto(name="W", dims=shape, data_type=TensorProto.FLOAT, float_data=[0.625] * size),
        numpy_helper.from_array(np.array([-0.0, np.nan, -np.inf, 2.0**-149], dtype=np.float32), "raw_data"),
    ]
    for name, (kind, elements) in rows.items():
        tensors.append(onnx.TensorProto(name=name, dims=[2], data_type=kind))
        getattr(tensors[-1], name).extend(elements)
    return ExtraNodes([helper.make_node("Less", ["W", "X"], ["Z"])], make_value_info("Z", "bool", shape), tensors)


def attribute_parts(shape: Sequence[int]) -> ExtraNodes:
    """Return nodes that together have attributes of every type.

    No operator has attributes of some types; a call of a model-local function has these.
    """
    sparse = LIST_ATTRIBUTES["sparse_tensors"][0]
    body = make_function("Tagged", [NEG], attributes=["text", "texts", *LIST_ATTRIBUTES], opset=FULL_VERSIONS[""])
    then = make_branch("then", [helper.make_node("Neg", ["scaled"], ["then_Z"])], ["then_Z"], shape, "float")
    otherwise = make_branch("else", [helper.make_node("Abs", ["scaled"], ["else_Z"])], ["else_Z"], shape, "float")
    call = helper.make_node("Tagged", ["X"], ["tagged"], domain="acme", text="größer", texts=["one", "größer"])
    for name, content in LIST_ATTRIBUTES.items():
        attribute = call.attribute.add(name=name, type=getattr(onnx.AttributeProto, name.upper()))
        getattr(attribute, name).extend(content)
    nodes = [
        call,
        constant_node("yes", np.array(True)),
        helper.make_node("LeakyRelu", ["tagged"], ["leaky"], alpha=0.123456789),
        helper.make_node("Constant", [], ["number"], value_int=2**62 + 1),
        helper.make_node("Constant", [], ["numbers"], value_floats=[0.123456789, -0.0]),
        helper.make_node("Constant", [], ["counts"], value_ints=[3, 4]),
        helper.make_node("Cast", ["counts"], ["count_numbers"], to=TensorProto.FLOAT),
        constant_node("small", np.array([0.0625], dtype=np.float32)),
        helper.make_node("Concat", ["numbers", "small"], ["most_of"], axis=0),
        helper.make_node("Concat", ["count_numbers", "small"], ["most_counted_of"], axis=0),
        helper.make_node("ReduceMax", ["most_of"], ["most"], keepdims=0),
        helper.make_node("ReduceMax", ["most_counted_of"], ["most_counted"], keepdims=0),
        helper.make_node("Mul", ["most", "most_counted"], ["factor"]),
        helper.make_node("Softmax", ["leaky"], ["soft"], axis=0),
        helper.make_node("Mul", ["soft", "factor"], ["scaled"]),
        helper.make_node("Constant", [], ["sparse"], sparse_value=sparse),
        helper.make_node("Optional", [], ["none"], type=LIST_ATTRIBUTES["type_protos"][0]),
        if_node("yes", "Z", then, otherwise),
    ]
    return ExtraNodes(nodes, make_value_info("Z", "float", shape), functions=[body])


PARTS_BY_MESSAGE: Mapping[str, tuple[Callable[[Sequence[int]], ExtraNodes], Sequence[MessageScope]]] = {
    "GraphProto": (graph_parts, IN_GRAPHS[:2]),
    "NodeProto": (node_parts, IN_GRAPHS),
    "ValueInfoProto": (value_parts, IN_GRAPHS),
    "TensorProto": (tensor_parts, IN_GRAPHS),
    "AttributeProto": (attribute_parts, IN_GRAPHS),
}
"""For each message type, the function that builds parts with all of its fields, and the scopes of the parts."""


def fill_messages(model: onnx.ModelProto, message: str, scope: MessageScope) -> None:
    """Fill the fields that do not affect results in all messages of one type in a part of a model.

    Args:
        message: the type of the messages, a key of `PARTS_BY_MESSAGE`.
    """
    if message == "NodeProto":
        model.configuration.add(name=DEVICE_CONFIGURATION, num_devices=2)
    for place, entry in list(iter_messages(model)):
        if place is scope and CASE_MESSAGES.get(name := type(entry).__name__, name) == message:
            fill_annotations(entry)


def fill_model(model: onnx.ModelProto) -> None:
    """Fill the fields of a model outside of its graph, except for its training information."""
    fill_annotations(model)
    model.producer_name = "a converter"
    model.producer_version = "1.2.3+local"
    model.domain = "org.example.models"
    model.model_version = 2**40 + 1
    model.configuration.add(name=DEVICE_CONFIGURATION, num_devices=2, device=["a", "b"])


def filled_function(between: Iterable[onnx.NodeProto], shape: Sequence[int]) -> onnx.FunctionProto:
    """Return a function that sets every field of its message, with an attribute that has a default and one without.

    Args:
        between: nodes that compute B1 from B0.
        shape: the shape of the input.
    """
    nodes = [
        helper.make_node("LeakyRelu", ["A"], ["B0"]),
        *between,
        helper.make_node("ReduceMax", ["B1"], ["B"]),
    ]
    nodes[0].attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    nodes[-1].attribute.add(name="keepdims", ref_attr_name="kept", type=onnx.AttributeProto.INT)
    body = make_function("Largest", nodes, attributes=["kept"], overload="sloping", opset=FULL_VERSIONS[""])
    body.attribute_proto.append(helper.make_attribute("slope", 0.5))
    body.value_info.append(make_value_info("B1", "float", shape))
    fill_annotations(body)
    return body


def fill_annotations(message: Any) -> None:
    """Fill the fields of a message that do not affect results: name, doc_string, metadata and devices."""
    fields = message.DESCRIPTOR.fields_by_name
    if "doc_string" in fields:
        message.doc_string = SAMPLE_TEXT
    if "metadata_props" in fields:
        message.metadata_props.add(key="source/größe", value="a converter")
        message.metadata_props.add(key="empty", value="")
    if "device_configurations" in fields:
        message.name = f"model/{message.op_type}:0"
        shards = message.device_configurations.add(
            configuration_id=DEVICE_CONFIGURATION, pipeline_stage=1
        ).sharding_spec
        shards.add(tensor_name=message.output[0], device=[0, 1]).sharded_dim.add(axis=0)
    if "quantization_annotation" in fields:
        add_quantization_annotations(message, *(value.name for value in (*message.input, *message.value_info)))
    if "data_location" in fields:
        message.data_location = TensorProto.DEFAULT


def add_quantization_annotations(graph: onnx.GraphProto, *names: str) -> None:
    """Add quantization annotations for values of a graph, with scalar scale and zero point."""
    for name in names:
        note = graph.quantization_annotation.add(tensor_name=name)
        for kind, array in (("SCALE", np.array(0.125, np.float32)), ("ZERO_POINT", np.array(0, np.uint8))):
            graph.initializer.append(numpy_helper.from_array(array, f"{name}_{kind.lower()}"))
            note.quant_parameter_tensor_names.add(key=f"{kind}_TENSOR", value=f"{name}_{kind.lower()}")


def add_training_info(model: onnx.ModelProto) -> None:
    """Add training information that sets all fields of the message. Its algorithm squares a new initializer."""
    model.graph.initializer.append(numpy_helper.from_array(np.array([0.5, 2.0], dtype=np.float32), "trained"))
    shown = {name: [make_value_info(name, "float", (2,))] for name in ("start", "next")}
    start = helper.make_node("Constant", [], ["start"], value_floats=[1.0, 1.0])
    step = helper.make_node("Mul", ["trained", "trained"], ["next"])
    info = model.training_info.add()
    info.initialization.CopyFrom(helper.make_graph([start], "initialization", [], shown["start"]))
    info.algorithm.CopyFrom(helper.make_graph([step], "algorithm", [], shown["next"]))
    info.initialization_binding.add(key="trained", value="start")
    info.update_binding.add(key="trained", value="next")
