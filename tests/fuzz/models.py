"""Hypothesis strategies for models with the structure of a model: graphs, functions, subgraphs, external data, shapes.

Most of the models are invalid. Unlike a file with changed bytes, each one can be parsed, so that it reaches the code
behind the parser.
"""

from __future__ import annotations

import onnx
from hypothesis import strategies as st
from onnx import AttributeProto, TensorProto, helper

NAMES = st.sampled_from([*"XYZWabc", "", "X\nPASSED", "\x1b[2J", "é", "a/b", "n" * 300])
"""Few names, so that values are defined twice, used before their definition, and captured."""

SIZES = st.one_of(
    st.integers(0, 4), st.sampled_from([-1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63)]), st.sampled_from(["n", "", None])
)
SHAPES = st.one_of(
    st.none(),
    st.lists(SIZES, max_size=4),
    st.sampled_from([[1] * 64, [1] * 65, [0, 2**62, 2**62], [2**20] * 3, [0] * 65]),
)
TYPES = st.one_of(st.sampled_from([1, 7, 9, 10, 11, 16, 8, 22]), st.integers(0, 30), st.just(999))
OPERATORS = st.sampled_from(
    [
        *("Abs", "Exp", "Log", "Sqrt", "Softmax", "LogSoftmax", "ArgMax", "Add", "Identity", "Constant"),
        *("ConstantOfShape", "Expand", "Reshape", "Concat", "Cast", "Loop", "If", "Scan", "SequenceAt", "Shape"),
        *("MatMul", "Conv", "Gather", "Slice", "Pad", "Tile", "Range", "OneHot", "Resize", "Einsum"),
        *("Adam", "Momentum", "Adagrad", "F0", "F1", "F2", "F3"),
    ]
)
DOMAINS = st.sampled_from(["", "", "", "ai.onnx", "acme", "ai.onnx.preview.training", "\x1b"])
ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(["location", "location", "offset", "length", "checksum", "basepath"]),
        st.sampled_from(["m.onnx", "../m.onnx", "/etc/passwd", ".", "", "0", "24", "-1", str(2**40), "9" * 30, "x\0y"]),
    ),
    max_size=4,
)


@st.composite
def tensors(draw: st.DrawFn) -> TensorProto:
    """A tensor with elements that may not fit its type and shape, or are in external data."""
    sizes = draw(SHAPES) or []
    dims = [size if isinstance(size, int) else 2 for size in sizes]
    tensor = TensorProto(name=draw(NAMES), data_type=draw(TYPES), dims=dims)
    match draw(st.sampled_from(["raw", "numbers", "external", "strings", "nothing"])):
        case "raw":
            tensor.raw_data = draw(st.binary(max_size=32)) or bytes(24)
        case "numbers":
            tensor.float_data.extend(draw(st.lists(st.floats(width=32), max_size=8)))
            tensor.int64_data.extend(draw(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8)))
        case "external":
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in draw(ENTRIES):
                tensor.external_data.add(key=key, value=value)
        case "strings":
            tensor.string_data.extend(draw(st.lists(st.binary(max_size=4), max_size=4)))
    return tensor


@st.composite
def values(draw: st.DrawFn, name: str) -> onnx.ValueInfoProto:
    """A value with a declared type that may be missing, strange or nested."""
    value = helper.make_tensor_value_info(name, draw(TYPES), draw(SHAPES))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 3]))):
        make = draw(st.sampled_from([helper.make_sequence_type_proto, helper.make_optional_type_proto]))
        value.type.CopyFrom(make(value.type))
    if draw(st.integers(0, 9)) == 0:
        value.ClearField("type")
    return value


@st.composite
def attributes(draw: st.DrawFn, depth: int) -> AttributeProto:
    """An attribute of a usual name with a value of any type."""
    names = [
        *("axis", "keepdims", "value", "body", "then_branch", "else_branch", "to", "axes", "num_scan_inputs", "alpha")
    ]
    attribute = AttributeProto(name=draw(st.sampled_from(names)))
    choices = ["i", "f", "s", "ints", "t", "ref", "none", *(["g", "g", "g"] if depth else [])]
    match draw(st.sampled_from(choices)):
        case "i":
            attribute.type, attribute.i = AttributeProto.INT, draw(st.sampled_from([0, 1, -1, 7, 2**62, -(2**63)]))
        case "f":
            attribute.type, attribute.f = AttributeProto.FLOAT, draw(st.floats(width=32))
        case "s":
            attribute.type, attribute.s = AttributeProto.STRING, draw(st.binary(max_size=4))
        case "ints":
            attribute.type = AttributeProto.INTS
            attribute.ints.extend(draw(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4)))
        case "t":
            attribute.type = AttributeProto.TENSOR
            attribute.t.CopyFrom(draw(tensors()))
        case "g":
            attribute.type = AttributeProto.GRAPH
            attribute.g.CopyFrom(draw(graphs(depth - 1)))
        case "ref":
            attribute.type, attribute.ref_attr_name = AttributeProto.INT, "axis"
    return attribute


@st.composite
def nodes(draw: st.DrawFn, depth: int) -> onnx.NodeProto:
    """A node with any inputs and outputs."""
    node = onnx.NodeProto(op_type=draw(OPERATORS), domain=draw(DOMAINS), name=draw(NAMES))
    node.input.extend(draw(st.lists(NAMES, max_size=4)))
    node.output.extend(draw(st.lists(NAMES, max_size=2)))
    node.attribute.extend(draw(st.lists(attributes(depth), max_size=2)))
    return node


@st.composite
def graphs(draw: st.DrawFn, depth: int = 2) -> onnx.GraphProto:
    """A graph with nodes in any order; at the top, a usual path from X to Y is often among them."""
    graph = onnx.GraphProto(name="g")
    graph.node.extend(draw(st.lists(nodes(depth), max_size=4)))
    if draw(st.booleans()):
        graph.node.append(helper.make_node(draw(st.sampled_from(["Exp", "Softmax", "Identity"])), ["X"], ["Z"]))
        graph.node.append(helper.make_node("ArgMax", ["Z"], ["Y"], axis=draw(st.sampled_from([0, 1, -1, 70]))))
    for field in (graph.input, graph.output, graph.value_info):
        field.extend([draw(values(name)) for name in draw(st.lists(NAMES, max_size=2))])
    if draw(st.booleans()):
        graph.input.append(helper.make_tensor_value_info("X", 1, draw(SHAPES) or [2, 3]))
        graph.output.append(helper.make_tensor_value_info("Y", draw(st.sampled_from([1, 7])), draw(SHAPES)))
    graph.initializer.extend(draw(st.lists(tensors(), max_size=2)))
    for dense in draw(st.lists(tensors(), max_size=1)):
        graph.sparse_initializer.append(onnx.SparseTensorProto(values=dense, indices=draw(tensors()), dims=dense.dims))
    return graph


@st.composite
def functions(draw: st.DrawFn, number: int) -> onnx.FunctionProto:
    """A function whose body often calls other functions, also itself."""
    function = onnx.FunctionProto(name=f"F{number}", domain="acme", input=["X"], output=["Y"])
    called = draw(st.sampled_from([f"F{number + 1}", "F0", "F3"]))
    for source, target in (("X", "Z"), ("Z", "Y")):
        function.node.append(helper.make_node(called, [source], [target], domain="acme"))
    function.node.extend(draw(st.lists(nodes(1), max_size=2)))
    function.opset_import.append(helper.make_opsetid("acme", 1))
    function.opset_import.append(helper.make_opsetid("", draw(st.sampled_from([13, 17, 21]))))
    return function


@st.composite
def drawn_model(draw: st.DrawFn) -> bytes:
    """A model that can be parsed."""
    imports = [helper.make_opsetid("", draw(st.sampled_from([1, 7, 11, 13, 17, 21, 10**9])))]
    imports += [helper.make_opsetid(domain, 1) for domain in ("acme", "ai.onnx.preview.training")]
    model = onnx.ModelProto(ir_version=draw(st.sampled_from([3, 8, 10, 99])), opset_import=imports)
    model.graph.CopyFrom(draw(graphs()))
    model.functions.extend([draw(functions(number)) for number in range(draw(st.integers(0, 3)))])
    content: bytes = model.SerializeToString()
    return content
