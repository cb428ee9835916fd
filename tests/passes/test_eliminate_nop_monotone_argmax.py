"""The suite's own pass: it fires where it promises to, stays elsewhere, and changes nothing else."""

from __future__ import annotations

import onnx
import pytest
from argmax_models import CAPTURED, CAPTURED_TWICE_INSIDE, IN_BRANCH, NAME_REUSED, fed_by, model, op_types
from onnx import TensorProto, helper, parser

from conformance.passes.eliminate_nop_monotone_argmax import eliminate

OPERATORS = ("Log", "Exp", "Sqrt", "Softmax<axis=1>", "LogSoftmax<axis=1>")


def removed(proto, *, fixed_point=False):
    return eliminate.rewritten(proto, fixed_point=fixed_point)[1]


@pytest.mark.parametrize("operator", OPERATORS)
def test_it_removes_each_of_the_five_operators(operator):
    after = eliminate(fed_by(operator))
    assert op_types(after) == ["ArgMax"]
    assert list(after.graph.node[0].input) == ["X"]


@pytest.mark.parametrize("operator", ["Relu", "Neg", "Abs", "Reciprocal", "Hardmax<axis=1>", "Identity", "Tanh"])
def test_it_leaves_other_operators(operator):
    assert removed(fed_by(operator)) == []


@pytest.mark.parametrize("operator", OPERATORS)
def test_it_stays_where_argmax_has_no_axis(operator):
    assert removed(fed_by(operator, "")) == []


@pytest.mark.parametrize(
    "operator", ["Softmax<axis=0>", "Softmax<axis=-1>", "Softmax", "LogSoftmax", "LogSoftmax<axis=0>"]
)
def test_it_stays_where_the_axes_are_not_the_same_integer(operator):
    assert removed(fed_by(operator)) == []


@pytest.mark.parametrize("consumer", ["ArgMin<axis=1, keepdims=0>", "ReduceMax<axes=[1], keepdims=0>"])
def test_it_leaves_what_is_before_another_consumer(consumer):
    assert removed(model(f"Y = Exp(X)\nZ = {consumer}(Y)\nindex = Cast<to=7>(Z)")) == []


@pytest.mark.parametrize(
    "body",
    [
        "Y = Exp(X) Z = Neg(Y) index = ArgMax<axis=1, keepdims=0>(Y)",
        "Y = Exp(X) index = ArgMax<axis=1, keepdims=0>(Y) dead = Neg(Y)",
        "Y = Exp(X) index = ArgMax<axis=1, keepdims=0>(Y) again = ArgMax<axis=0>(Y)",
        CAPTURED,
        CAPTURED_TWICE_INSIDE,
    ],
    ids=["consumer_before", "dead_consumer_after", "two_argmax", "captured", "captured_two_levels_deep"],
)
def test_it_stays_where_the_result_has_another_use(body):
    assert removed(model(body)) == []


def test_it_stays_where_the_result_is_a_graph_output():
    proto = model("Y = Exp(X) index = ArgMax<axis=1, keepdims=0>(Y)")
    proto.graph.output.append(helper.make_tensor_value_info("Y", TensorProto.FLOAT, [2, 3]))
    assert removed(proto) == []


def test_it_stays_where_a_branch_gives_the_result_out():
    body = CAPTURED.replace("inside () => (float[2,3] a) { a = Identity(Y) }", "inside () => (float[2,3] Y) { }")
    assert removed(model(body)) == []


def test_it_stays_where_training_information_uses_the_result():
    proto = fed_by("Exp")
    info = proto.training_info.add()
    info.algorithm.CopyFrom(parser.parse_graph("step (float[2,3] G) => (float[2,3] W) { W = Add(Y, G) }"))
    assert removed(proto) == []


def test_another_value_of_that_name_in_a_branch_is_no_use():
    assert removed(model(NAME_REUSED)) == ["Y"]


def test_it_fires_inside_of_a_branch_and_names_the_value_by_its_path():
    after, gone = eliminate.rewritten(model(IN_BRANCH))
    assert gone == ["index/then_branch/T"]
    onnx.checker.check_model(after, full_check=True)


def test_it_does_not_remove_an_operator_outside_of_the_branch_that_argmax_is_in():
    body = IN_BRANCH.replace("T = Exp(X)", "").replace("ArgMax<axis=1, keepdims=0>(T)", "ArgMax<axis=1, keepdims=0>(O)")
    assert removed(model(f"O = Exp(X)\n{body}")) == []


def test_it_stays_where_another_value_takes_the_input_s_name_in_between():
    proto = model(IN_BRANCH.replace("T = Exp(X)", "T = Exp(X) X = Neg(taken)"))
    assert removed(proto) == []


def test_one_run_removes_one_operator_and_a_fixed_point_the_chain():
    proto = model("A = Exp(X) B = Log(A) C = Softmax<axis=1>(B) index = ArgMax<axis=1, keepdims=0>(C)")
    assert removed(proto) == ["C"]
    assert removed(proto, fixed_point=True) == ["C", "B", "A"]


def test_a_chain_ends_at_what_cannot_be_removed():
    proto = model("A = Exp(X) B = Relu(A) C = Log(B) index = ArgMax<axis=1, keepdims=0>(C)")
    assert removed(proto, fixed_point=True) == ["C"]


@pytest.mark.parametrize("name", ["Exp", "ArgMax"])
def test_it_leaves_operators_of_other_domains(name):
    proto = fed_by("Exp")
    node = next(node for node in proto.graph.node if node.op_type == name)
    node.domain = "acme"
    assert removed(proto) == []


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_it_leaves_an_operator_that_a_function_of_the_model_stands_for(domain):
    proto = fed_by("Exp")
    body = [helper.make_node("Neg", ["x"], ["y"])]
    proto.functions.append(helper.make_function(domain, "Exp", ["x"], ["y"], body, [helper.make_opsetid("", 13)]))
    assert removed(proto) == []


def test_the_domain_may_be_written_out():
    proto = fed_by("Exp")
    for node in proto.graph.node:
        node.domain = "ai.onnx"
    assert removed(proto) == ["Y"]


def test_the_bodies_of_functions_are_left():
    proto = fed_by("Exp")
    body = [helper.make_node("Exp", ["x"], ["y"]), helper.make_node("ArgMax", ["y"], ["i"], axis=1)]
    proto.functions.append(helper.make_function("acme", "Best", ["x"], ["i"], body, [helper.make_opsetid("", 13)]))
    assert eliminate(proto).functions == proto.functions


@pytest.mark.parametrize(("inputs", "outputs"), [([], ["Y"]), (["X", "X"], ["Y"]), ([""], ["Y"])])
def test_it_leaves_what_has_not_exactly_one_input(inputs, outputs):
    proto = fed_by("Exp")
    proto.graph.node[0].CopyFrom(helper.make_node("Exp", inputs, outputs))
    assert removed(proto) == []


def test_the_caller_s_model_stays_as_it_is():
    proto = fed_by("Exp")
    before = proto.SerializeToString()
    eliminate(proto, fixed_point=True)
    assert proto.SerializeToString() == before


def test_nothing_else_changes():
    proto = model("K = Neg(X) Y = Exp(K) index = ArgMax<axis=1, keepdims=0>(Y)", "float[2,3] K, float[2,3] Y")
    proto.doc_string, proto.producer_name, proto.graph.doc_string = "a", "b", "c"
    helper.set_model_props(proto, {"author": "d"})
    for name in ("X", "Y"):
        note = proto.graph.quantization_annotation.add(tensor_name=name)
        note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    proto.training_info.add().algorithm.name = "t"
    proto.graph.initializer.append(helper.make_tensor("unused", TensorProto.FLOAT, [1], [1.0]))
    expected = onnx.ModelProto()
    expected.CopyFrom(proto)
    del expected.graph.node[1], expected.graph.value_info[1], expected.graph.quantization_annotation[1]
    expected.graph.node[1].input[0] = "K"
    assert eliminate(proto) == expected


def test_it_says_which_pass_it_is():
    assert eliminate.passes == ("eliminate_nop_monotone_argmax",)
