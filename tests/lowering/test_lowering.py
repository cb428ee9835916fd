"""Lowering: what comes out computes what the optimizers compute, is valid, and is otherwise the model that went in."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from conformance.errors import ModelError
from conformance.lowering.lowering import lower
from conformance.lowering.optimizers import has_training_optimizers
from conformance.models.graphs import all_nodes, names_in
from conformance.reference.graph import Graph
from conformance.reference.numbers.native import Native
from conformance.reference.oracle import answers
from conformance.verdicts import Level

law = settings(max_examples=40, deadline=None, derandomize=True)

TRAINING = "ai.onnx.preview.training"
OPERANDS = {"Adam": "XGVH", "Momentum": "XGV", "Adagrad": "XGH"}
RESULTS = {"Adam": "XVH", "Momentum": "XV", "Adagrad": "XH"}
ATTRIBUTES = {
    "Adam": ["alpha", "beta", "epsilon", "norm_coefficient", "norm_coefficient_post"],
    "Momentum": ["alpha", "beta", "norm_coefficient"],
    "Adagrad": ["decay_factor", "epsilon", "norm_coefficient"],
}
NEUTRAL = {"alpha": 0.5, "beta": 0.75, "mode": "standard", "norm_coefficient": 0.25}
OPSETS = {"": 13, TRAINING: 1}


def declared(name, dtype, shape=None):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


def model_of(nodes, inputs, outputs, opsets=OPSETS, *, ir_version=8, functions=(), initializers=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(graph, ir_version=ir_version, opset_imports=imports, functions=functions)


def optimizer(op_type, inputs, outputs, **attributes):
    if op_type == "Momentum":
        attributes = {**NEUTRAL, **attributes}
    return helper.make_node(op_type, inputs, outputs, domain=TRAINING, **attributes)


def one_node(op_type, shapes=((2,),), dtype=np.float32, R_dtype=None, opsets=OPSETS, **attributes):
    """A model of one optimizer."""
    operands = {f"{kind}{i}": shape for kind in OPERANDS[op_type] for i, shape in enumerate(shapes)}
    results = {f"{kind}{i}_new": shape for kind in RESULTS[op_type] for i, shape in enumerate(shapes)}
    return model_of(
        [optimizer(op_type, ["R", "T", *operands], [*results], **attributes)],
        [
            declared("R", R_dtype or dtype, ()),
            declared("T", np.int64, ()),
            *(declared(name, dtype, shape) for name, shape in operands.items()),
        ],
        [declared(name, dtype, shape) for name, shape in results.items()],
        opsets,
    )


def inputs_of(op_type, shapes=((2,),), dtype=np.float32, R_dtype=None, R=0.125, T=3, seed=0):
    random = np.random.default_rng(seed)
    tensors = [random.uniform(0.25, 2, shape).astype(dtype) for _ in OPERANDS[op_type] for shape in shapes]
    return [np.array(R, R_dtype or dtype), np.array(T, np.int64), *tensors]


def native(model, inputs):
    return [value.elements for value in Graph.of(model).run(inputs, Native())]


def in_onnxruntime(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, dict(zip([value.name for value in session.get_inputs()], inputs, strict=True)))


def within(answer, output):
    agrees = (output == answer.expected) | (np.isnan(output) & np.isnan(answer.expected))
    return output.dtype == answer.expected.dtype and bool(
        (agrees | (abs(output - answer.expected) <= answer.bound)).all()
    )


def op_types(model):
    return {(node.domain, node.op_type) for node in all_nodes(model)}


every_optimizer = pytest.mark.parametrize("op_type", OPERANDS)
fractions = st.sampled_from([0.0, 0.25, 0.5, 0.75, 0.9, 0.999])
counts = st.sampled_from([-(2**63), -3, 0, 1, 2, 7, 100, 2**24 + 1, 2**40, 2**63 - 1])
SHAPES = [((),), ((3,),), ((2, 2), (3,)), ((0,), (1, 2), ())]


@st.composite
def optimizer_models(draw):
    op_type = draw(st.sampled_from([*OPERANDS]))
    dtype, R_dtype = draw(st.sampled_from([np.float32, np.float64])), draw(st.sampled_from([np.float32, np.float64]))
    attributes = {name: draw(fractions) for name in ATTRIBUTES[op_type] if op_type == "Momentum" or draw(st.booleans())}
    if op_type == "Momentum":
        attributes["mode"] = draw(st.sampled_from(["standard", "nesterov"]))
    shapes = draw(st.sampled_from(SHAPES))
    T = draw(counts)
    R = draw(st.sampled_from([0.1, 0.125, 1.0]))
    model = one_node(op_type, shapes, dtype, R_dtype, **attributes)
    return model, inputs_of(op_type, shapes, dtype, R_dtype, R, T, draw(st.integers(0, 2**32)))


@law
@given(optimizer_models())
def test_a_lowered_optimizer_computes_what_the_optimizer_may(drawn):
    model, inputs = drawn
    admitted = answers(model.SerializeToString(), inputs, Level.MUST)
    for answer, output in zip(admitted, native(lower(model), inputs), strict=True):
        assert answer.unsettled or within(answer, output)


@law
@given(optimizer_models())
def test_a_lowered_optimizer_has_the_optimizers_exact_values(drawn):
    model, inputs = drawn
    for level in (Level.MUST, Level.SHOULD):
        pairs = zip(
            answers(model.SerializeToString(), inputs, level),
            answers(lower(model).SerializeToString(), inputs, level),
            strict=True,
        )
        for fused, primitive in pairs:
            assert fused.unsettled or np.array_equal(fused.expected, primitive.expected)


@law
@given(optimizer_models())
def test_onnxruntime_computes_a_lowered_optimizer_as_the_optimizer_may(drawn):
    model, inputs = drawn
    admitted = answers(model.SerializeToString(), inputs, Level.MUST)
    for answer, output in zip(admitted, in_onnxruntime(lower(model), inputs), strict=True):
        assert answer.unsettled or within(answer, output)


@law
@given(optimizer_models())
def test_a_lowered_model_is_valid_and_has_no_optimizer(drawn):
    lowered = lower(drawn[0])
    onnx.checker.check_model(lowered, full_check=True)
    assert not has_training_optimizers(lowered)
    assert [entry.domain for entry in lowered.opset_import] == [""]


@law
@given(optimizer_models())
def test_names_of_a_lowered_model_are_unique(drawn):
    graph = lower(drawn[0]).graph
    names = [node.name for node in graph.node]
    values = [name for node in graph.node for name in node.output] + [tensor.name for tensor in graph.initializer]
    assert len({*names}) == len(names)
    assert len({*values}) == len(values)
    assert not {*values} & {value.name for value in graph.input}


@pytest.mark.parametrize("T", [0, -1, -(2**63)])
@every_optimizer
def test_the_branch_that_is_not_taken_leaves_no_trace(op_type, T):
    inputs = inputs_of(op_type, T=T)
    assert all(np.isfinite(output).all() for output in in_onnxruntime(lower(one_node(op_type)), inputs))


def test_no_power_of_a_count_below_1_is_computed():
    model = lower(one_node("Adam"))
    powers = [name for node in model.graph.node if node.op_type == "Pow" for name in node.output]
    del model.graph.output[:]
    model.graph.output.extend(declared(name, np.float32) for name in powers)
    values = in_onnxruntime(model, inputs_of("Adam", T=-(2**63)))
    assert [value.item() for value in values] == [np.float32(0.999), np.float32(0.9)]


def plain_model():
    inputs = [declared("X", np.float32, (2,))]
    model = model_of([helper.make_node("Relu", ["X"], ["Y"])], inputs, [declared("Y", np.float32, (2,))], {"": 7})
    model.producer_name, model.doc_string = "someone", "a model"
    model.metadata_props.add(key="license", value="none")
    return model


def test_a_model_without_optimizers_keeps_its_bytes():
    model = plain_model()
    assert lower(model).SerializeToString() == model.SerializeToString()


def test_lowering_twice_changes_nothing_more():
    once = lower(one_node("Adam"))
    assert lower(once).SerializeToString() == once.SerializeToString()


@every_optimizer
def test_the_model_itself_is_left_as_it_is(op_type):
    model = one_node(op_type)
    before = model.SerializeToString()
    lower(model)
    assert model.SerializeToString() == before


def test_everything_around_an_optimizer_is_left_as_it_is():
    model = one_node("Adagrad")
    model.producer_name, model.doc_string = "someone", "a model"
    model.metadata_props.add(key="license", value="none")
    model.graph.doc_string = "a graph"
    model.graph.value_info.append(declared("hidden", np.float32, (2,)))
    model.graph.node.append(helper.make_node("Relu", ["X0_new"], ["hidden"], name="relu", doc_string="a node"))
    lowered = lower(model)
    assert lowered.graph.node[-1] == model.graph.node[-1]
    assert [*lowered.graph.value_info] == [*model.graph.value_info]
    assert ([*lowered.graph.input], [*lowered.graph.output]) == ([*model.graph.input], [*model.graph.output])
    kept = ("producer_name", "doc_string", "ir_version")
    assert [getattr(lowered, name) for name in kept] == [getattr(model, name) for name in kept]
    assert (lowered.graph.doc_string, [*lowered.metadata_props]) == ("a graph", [*model.metadata_props])


def test_names_that_the_model_has_are_not_given_again():
    taken = {node.name for node in lower(one_node("Momentum")).graph.node}
    model = one_node("Momentum")
    for name in sorted(taken):
        model.graph.node.append(helper.make_node("Relu", ["X0"], [name], name=f"{name}_node"))
    lowered = lower(model)
    onnx.checker.check_model(lowered, full_check=True)
    assert names_in(model) - {""} <= names_in(lowered)


@pytest.mark.parametrize("opsets", [{TRAINING: 1}, {"": 17, TRAINING: 1}, {"ai.onnx": 15, TRAINING: 1}])
def test_the_models_own_opset_is_kept(opsets):
    lowered = lower(one_node("Adagrad", opsets=opsets))
    onnx.checker.check_model(lowered, full_check=True)
    kept = {domain: version for domain, version in opsets.items() if domain != TRAINING}
    assert {entry.domain: entry.version for entry in lowered.opset_import} == (kept or {"": 13})


def test_the_training_domain_stays_imported_while_it_is_used():
    model = one_node("Adagrad")
    model.graph.node.append(helper.make_node("Gradient", ["X0"], ["dX"], domain=TRAINING, xs=["X0"], y="X0_new"))
    assert TRAINING in {entry.domain for entry in lower(model).opset_import}


def chained(name, result):
    """A body of two optimizers, of which the second knows its types by inference only."""
    nodes = [
        optimizer("Momentum", ["R", "T", "X", "G", "V"], ["X_1", "V_1"]),
        optimizer("Adagrad", ["R", "T", "X_1", "G", "V"], [result, f"H_{result}"]),
    ]
    return helper.make_graph(nodes, name, [], [declared(result, np.float32, (2,))])


STATE = [declared("R", np.float32, ()), declared("T", np.int64, ()), *(declared(n, np.float32, (2,)) for n in "XGV")]


def state_inputs(T=3):
    return [np.array(0.125, np.float32), np.array(T), *np.array([[1, 2], [0.5, -1], [0.25, 3]], np.float32)]


def test_optimizers_in_the_bodies_of_if_are_lowered():
    branches = {f"{name}_branch": chained(name, f"Y_{name}") for name in ("then", "else")}
    model = model_of(
        [
            helper.make_node("Identity", ["given"], ["condition"]),
            helper.make_node("If", ["condition"], ["Y"], **branches),
        ],
        [declared("given", bool, ()), *STATE],
        [declared("Y", np.float32, (2,))],
    )
    lowered = lower(model)
    onnx.checker.check_model(lowered, full_check=True)
    assert not has_training_optimizers(lowered)
    straight = model_of(chained("body", "Y").node, STATE, [declared("Y", np.float32, (2,))])
    answer = answers(straight.SerializeToString(), state_inputs(), Level.MUST)[0]
    for condition in (True, False):
        assert within(answer, in_onnxruntime(lowered, [np.array(condition), *state_inputs()])[0])


def test_optimizers_in_a_loop_are_lowered():
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["more"], ["more_out"]),
            optimizer("Momentum", ["R", "T", "X_in", "G", "V_in"], ["X_out", "V_out"]),
        ],
        "body",
        [
            declared("i", np.int64, ()),
            declared("more", bool, ()),
            *(declared(n, np.float32, (2,)) for n in ("X_in", "V_in")),
        ],
        [declared("more_out", bool, ()), *(declared(n, np.float32, (2,)) for n in ("X_out", "V_out"))],
    )
    results = [declared(name, np.float32, (2,)) for name in ("X_last", "V_last")]
    loop = helper.make_node("Loop", ["steps", "", "X", "V"], ["X_last", "V_last"], body=body)
    steps = numpy_helper.from_array(np.array(2), "steps")
    lowered = lower(model_of([loop], STATE, results, initializers=[steps]))
    onnx.checker.check_model(lowered, full_check=True)
    nodes = [
        optimizer("Momentum", ["R", "T", "X", "G", "V"], ["X_1", "V_1"]),
        optimizer("Momentum", ["R", "T", "X_1", "G", "V_1"], ["X_last", "V_last"]),
    ]
    straight = model_of(nodes, STATE, results).SerializeToString()
    outputs = in_onnxruntime(lowered, state_inputs())
    assert all(map(within, answers(straight, state_inputs(), Level.MUST), outputs))


def function_model(alpha=0.25):
    """An optimizer in a function that another function calls, and a function that has nothing to do with it."""
    inner = helper.make_function(
        "own", "Step", ["R", "T", "X", "G", "V"], ["Y", "Z"],
        [helper.make_node("Momentum", ["R", "T", "X", "G", "V"], ["Y", "Z"], domain=TRAINING, beta=1.0, mode="standard",
                          norm_coefficient=0.0)],
        [helper.make_opsetid(TRAINING, 1)], [], [helper.make_attribute("alpha", 0.75)],
    )  # fmt: skip
    inner.node[0].attribute.add(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
    given = {"alpha": alpha} if alpha is not None else {}
    outer = helper.make_function(
        "own", "Outer", ["R", "T", "X", "G", "V"], ["Y", "Z"],
        [helper.make_node("Step", ["R", "T", "X", "G", "V"], ["Y", "Z"], domain="own", **given)],
        [helper.make_opsetid("own", 1)],
    )  # fmt: skip
    other = helper.make_function(
        "own", "Other", ["X"], ["Y"], [helper.make_node("Relu", ["X"], ["Y"])], [helper.make_opsetid("", 13)]
    )
    nodes = [
        helper.make_node("Outer", ["R", "T", "X", "G", "V"], ["Y", "Z"], domain="own"),
        helper.make_node("Other", ["Y"], ["W"], domain="own"),
    ]
    outputs = [declared("Z", np.float32, (2,)), declared("W", np.float32, (2,))]
    return model_of(nodes, STATE, outputs, {"": 13, "own": 1}, ir_version=9, functions=[inner, outer, other])


@pytest.mark.parametrize(("alpha", "Z"), [(0.25, [0.5625, -0.25]), (None, [0.6875, 1.25])])
def test_optimizers_in_functions_are_lowered_with_the_attributes_of_the_call(alpha, Z):
    lowered = lower(function_model(alpha))
    onnx.checker.check_model(lowered, full_check=True)
    assert [function.name for function in lowered.functions] == ["Other"]
    assert in_onnxruntime(lowered, state_inputs())[0].tolist() == Z


def test_optimizers_in_training_information_are_lowered():
    model = model_of([helper.make_node("Identity", ["X"], ["Y"])], STATE, [declared("Y", np.float32, (2,))])
    model.training_info.add().algorithm.CopyFrom(chained("algorithm", "Z"))
    lowered = lower(model)
    assert not has_training_optimizers(lowered)
    assert lowered.graph == model.graph
    assert "Sqrt" in {node.op_type for node in lowered.training_info[0].algorithm.node}


@pytest.mark.parametrize("opset", [12, 9])
def test_a_model_below_opset_13_is_refused(opset):
    with pytest.raises(ModelError, match=f"opset {opset}"):
        lower(one_node("Adam", opsets={"": opset, TRAINING: 1}))


def broken(**changes):
    node = {"op_type": "Adagrad", "inputs": ["R", "T", "X", "G", "V"], "outputs": ["Y", "Z"], **changes}
    attributes = {name: value for name, value in node.items() if name not in {"op_type", "inputs", "outputs"}}
    made = helper.make_node(node["op_type"], node["inputs"], node["outputs"], domain=TRAINING, **attributes)
    return model_of([made], STATE, [helper.make_empty_tensor_value_info("Y")])


REFUSED = {
    "an operand is missing": (broken(inputs=["R", "T", "X", "G"]), "4 inputs"),
    "an operand is empty": (broken(inputs=["R", "T", "X", "", "V"]), "inputs"),
    "no tensor": (broken(inputs=["R", "T"], outputs=["Y"]), "2 inputs"),
    "too few results": (broken(outputs=["Y"]), "Output 1"),
    "an unknown attribute": (broken(gamma=1.0), "gamma"),
    "a missing attribute": (broken(op_type="Momentum", alpha=0.5), "beta"),
    "an unknown mode": (broken(op_type="Momentum", **{**NEUTRAL, "mode": "fast"}), "fast"),
    "tensors without a known type": (broken(inputs=["R", "T", "A", "B", "C"]), "A"),
}


@pytest.mark.parametrize(("model", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_a_node_that_is_not_as_its_schema_says_is_refused(model, said):
    with pytest.raises(ModelError, match=said):
        lower(model)


def test_a_model_whose_constants_must_be_inputs_is_refused():
    model = one_node("Adam")
    model.ir_version = 3
    with pytest.raises(ModelError, match="IR version 3"):
        lower(model)


def test_the_command_writes_the_lowered_model(command, here):
    onnx.save(one_node("Adam"), here / "model.onnx")
    ended = command("lower", "model.onnx", "-o", "new/lowered.onnx")
    assert (ended.status, ended.err) == (0, "")
    assert onnx.load(here / "new/lowered.onnx") == lower(one_node("Adam"))


def test_the_command_copies_a_model_without_optimizers_byte_for_byte(command, here):
    content = plain_model().SerializeToString() + b"\xfa\x7f\x01x"  # and a field that this onnx does not know
    (here / "model.onnx").write_bytes(content)
    ended = command("lower", "model.onnx", "-o", "out.onnx")
    assert "a copy" in ended.out
    assert (here / "out.onnx").read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x00" * 64], ids=["empty", "text", "zeros"])
def test_the_command_refuses_what_is_no_model(command, here, content):
    (here / "model.onnx").write_bytes(content)
    ended = command("lower", "model.onnx", "-o", "out.onnx")
    assert (ended.status, "model.onnx" in ended.err) == (2, True)
    assert not (here / "out.onnx").exists()


def test_the_command_refuses_a_model_that_is_not_there(command):
    ended = command("lower", "nowhere.onnx", "-o", "out.onnx")
    assert (ended.status, "nowhere.onnx" in ended.err) == (2, True)


def test_the_command_leaves_an_old_file_where_lowering_fails(command, here):
    onnx.save(broken(gamma=1.0), here / "model.onnx")
    (here / "out.onnx").write_bytes(b"old")
    assert command("lower", "model.onnx", "-o", "out.onnx").status == 2
    assert (here / "out.onnx").read_bytes() == b"old"


def test_the_command_says_where_it_cannot_write(command, here):
    onnx.save(one_node("Adam"), here / "model.onnx")
    (here / "file").write_bytes(b"")
    ended = command("lower", "model.onnx", "-o", "file/out.onnx")
    assert (ended.status, "out.onnx" in ended.err) == (2, True)


def external_model():
    tensor = TensorProto(name="X0", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="../secrets.bin")
    model = one_node("Adagrad")
    model.graph.initializer.append(tensor)
    return model


def test_the_command_keeps_external_data_as_it_is_in_the_same_folder(command, here):
    (here / "model.onnx").write_bytes(external_model().SerializeToString())
    assert command("lower", "model.onnx", "-o", "out.onnx").status == 0
    kept = onnx.load(here / "out.onnx", load_external_data=False).graph.initializer[0]
    assert kept == external_model().graph.initializer[0]


def test_the_command_refuses_to_part_a_model_from_its_external_data(command, here):
    (here / "model.onnx").write_bytes(external_model().SerializeToString())
    ended = command("lower", "model.onnx", "-o", "elsewhere/out.onnx")
    assert (ended.status, "other files" in ended.err) == (2, True)
    assert not (here / "elsewhere").exists()
