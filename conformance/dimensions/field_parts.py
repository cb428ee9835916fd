"""What has the fields that the cases of fields set: nodes, tensors and attributes beside the pair, and their texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from conformance.dimensions.blocks import branch, constant, function, if_node
from conformance.generation.models import declared_as

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TEXT = 'Sentence with a quote ", a line\nbreak and an umlaut: größer.'
DEVICES = "two devices"
"""The name of the configuration that nodes refer to."""

NEG, COPY = (helper.make_node(op_type, ["A"], ["B"]) for op_type in ("Neg", "Identity"))
OVERLOADS = (function("Same", [NEG], opset=21), function("Same", [COPY], overload="fast", opset=21))
"""Two functions that nothing but the overload tells apart."""

LISTS: Mapping[str, Sequence[Any]] = {
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
"""What attributes of lists hold that no standard operator has."""


@dataclass(frozen=True)
class Parts:
    """What stands beside the pair.

    Attributes:
        nodes: of the value X.
        output: what they give.
    """

    nodes: Sequence[onnx.NodeProto]
    output: onnx.ValueInfoProto
    initializers: Sequence[onnx.TensorProto] = ()
    sparse: Sequence[onnx.SparseTensorProto] = ()
    value_info: Sequence[onnx.ValueInfoProto] = ()
    functions: Sequence[onnx.FunctionProto] = ()


def graph_parts(shape: Sequence[int]) -> Parts:
    """An initializer, a sparse one, which no operator takes, and what is declared of a value on the way."""
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
    return Parts(
        nodes,
        declared_as("Z", "bool", shape),
        [numpy_helper.from_array(np.full(shape, 0.625, dtype=np.float32), "W")],
        [sparse],
        [declared_as("above_W", "bool", shape)],
    )


def node_parts(shape: Sequence[int]) -> Parts:
    """A call of one of two functions of a name, and a node that cannot do without its attribute."""
    nodes = [
        helper.make_node("Same", ["X"], ["same"], domain="acme", overload="fast"),
        helper.make_node("Concat", ["same", "X"], ["Z"], axis=0),
    ]
    return Parts(nodes, declared_as("Z", "float", [2 * shape[0], *shape[1:]]), functions=OVERLOADS)


def value_parts(shape: Sequence[int]) -> Parts:
    """Two values on the way, and what is declared of each."""
    nodes = [
        helper.make_node("Neg", ["X"], ["minus"]),
        helper.make_node("Abs", ["minus"], ["size"]),
        helper.make_node("Less", ["minus", "size"], ["Z"]),
    ]
    said = [declared_as(name, "float", shape) for name in ("minus", "size")]
    return Parts(nodes, declared_as("Z", "bool", shape), value_info=said)


def tensor_parts(shape: Sequence[int]) -> Parts:
    """A tensor for each field that elements can be stored in, of which one is used."""
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
    return Parts([helper.make_node("Less", ["W", "X"], ["Z"])], declared_as("Z", "bool", shape), tensors)


def attribute_parts(shape: Sequence[int]) -> Parts:
    """An attribute of each kind that standard operators have, and a call with those that they have not."""
    sparse = LISTS["sparse_tensors"][0]
    body = function("Tagged", [NEG], attributes=["text", "texts", *LISTS], opset=21)
    then = branch("then", [helper.make_node("Neg", ["scaled"], ["then_Z"])], ["then_Z"], shape, "float")
    otherwise = branch("else", [helper.make_node("Abs", ["scaled"], ["else_Z"])], ["else_Z"], shape, "float")
    call = helper.make_node("Tagged", ["X"], ["tagged"], domain="acme", text="größer", texts=["one", "größer"])
    for name, content in LISTS.items():
        attribute = call.attribute.add(name=name, type=getattr(onnx.AttributeProto, name.upper()))
        getattr(attribute, name).extend(content)
    nodes = [
        call,
        constant("yes", np.array(True)),
        helper.make_node("LeakyRelu", ["tagged"], ["leaky"], alpha=0.123456789),
        helper.make_node("Constant", [], ["number"], value_int=2**62 + 1),
        helper.make_node("Constant", [], ["numbers"], value_floats=[0.123456789, -0.0]),
        helper.make_node("Constant", [], ["counts"], value_ints=[3, 4]),
        helper.make_node("Cast", ["counts"], ["count_numbers"], to=TensorProto.FLOAT),
        constant("small", np.array([0.0625], dtype=np.float32)),
        helper.make_node("Concat", ["numbers", "small"], ["most_of"], axis=0),
        helper.make_node("Concat", ["count_numbers", "small"], ["most_counted_of"], axis=0),
        helper.make_node("ReduceMax", ["most_of"], ["most"], keepdims=0),
        helper.make_node("ReduceMax", ["most_counted_of"], ["most_counted"], keepdims=0),
        helper.make_node("Mul", ["most", "most_counted"], ["factor"]),
        helper.make_node("Softmax", ["leaky"], ["soft"], axis=0),
        helper.make_node("Mul", ["soft", "factor"], ["scaled"]),
        helper.make_node("Constant", [], ["sparse"], sparse_value=sparse),
        helper.make_node("Optional", [], ["none"], type=LISTS["type_protos"][0]),
        if_node("yes", "Z", then, otherwise),
    ]
    return Parts(nodes, declared_as("Z", "float", shape), functions=[body])


def say_all(message: Any) -> None:
    """Fill in what a message says of itself: names, texts, metadata, the devices that it runs on."""
    fields = message.DESCRIPTOR.fields_by_name
    if "doc_string" in fields:
        message.doc_string = TEXT
    if "metadata_props" in fields:
        message.metadata_props.add(key="source/größe", value="a converter")
        message.metadata_props.add(key="empty", value="")
    if "device_configurations" in fields:
        message.name = f"model/{message.op_type}:0"
        shards = message.device_configurations.add(configuration_id=DEVICES, pipeline_stage=1).sharding_spec
        shards.add(tensor_name=message.output[0], device=[0, 1]).sharded_dim.add(axis=0)
    if "quantization_annotation" in fields:
        annotate(message, *(value.name for value in (*message.input, *message.value_info)))
    if "data_location" in fields:
        message.data_location = TensorProto.DEFAULT


def annotate(graph: onnx.GraphProto, *names: str) -> None:
    """Say of values of a graph by which scalars they are quantized."""
    for name in names:
        note = graph.quantization_annotation.add(tensor_name=name)
        for kind, array in (("SCALE", np.array(0.125, np.float32)), ("ZERO_POINT", np.array(0, np.uint8))):
            graph.initializer.append(numpy_helper.from_array(array, f"{name}_{kind.lower()}"))
            note.quant_parameter_tensor_names.add(key=f"{kind}_TENSOR", value=f"{name}_{kind.lower()}")


def train(model: onnx.ModelProto) -> None:
    """Give a model training information with all of its fields: one initializer, and a step that squares it."""
    model.graph.initializer.append(numpy_helper.from_array(np.array([0.5, 2.0], dtype=np.float32), "trained"))
    shown = {name: [declared_as(name, "float", (2,))] for name in ("start", "next")}
    start = helper.make_node("Constant", [], ["start"], value_floats=[1.0, 1.0])
    step = helper.make_node("Mul", ["trained", "trained"], ["next"])
    info = model.training_info.add()
    info.initialization.CopyFrom(helper.make_graph([start], "initialization", [], shown["start"]))
    info.algorithm.CopyFrom(helper.make_graph([step], "algorithm", [], shown["next"]))
    info.initialization_binding.add(key="trained", value="start")
    info.update_binding.add(key="trained", value="next")
