"""The suite's own pass: it fires where it promises to, stays elsewhere, and changes nothing else."""

from __future__ import annotations

import onnx
import pytest
from argmax_models import CAPTURED, CAPTURED_TWICE_INSIDE, IN_BRANCH, NAME_REUSED, argmax_after, argmax_model, op_types
from onnx import TensorProto, helper, parser

from conformance.corpus.passes.eliminate_nop_monotone_argmax import eliminate

OPERATORS = ("Log", "Exp", "Sqrt", "Softmax<axis=1>", "LogSoftmax<axis=1>")


def removed(proto, *, fixed_point=False):
    return eliminate.rewritten(proto, fixed_point=fixed_point)[1]


@pytest.mark.parametrize("operator", OPERATORS)
def test_pass_removes_each_monotone_operator(operator):
    after = eliminate(argmax_after(operator))
    assert op_types(after) == ["ArgMax"]
    assert list(after.graph.node[0].input) == ["X"]


OTHER_OPERATORS = ("Relu", "Neg", "Abs", "Reciprocal", "Hardmax<axis=1>", "Identity", "Tanh")
OTHER_AXES = ("Softmax<axis=0>", "Softmax<axis=-1>", "Softmax", "LogSoftmax", "LogSoftmax<axis=0>")


@pytest.mark.parametrize("operator", [*OTHER_OPERATORS, *OTHER_AXES])
def test_pass_keeps_other_operators_and_operators_along_other_axes(operator):
    assert removed(argmax_after(operator)) == []


@pytest.mark.parametrize("operator", OPERATORS)
def test_pass_does_not_apply_without_axis(operator):
    assert removed(argmax_after(operator, "")) == []


@pytest.mark.parametrize("consumer", ["ArgMin<axis=1, keepdims=0>", "ReduceMax<axes=[1], keepdims=0>"])
def test_pass_keeps_producers_of_other_consumers(consumer):
    assert removed(argmax_model(f"Y = Exp(X)\nZ = {consumer}(Y)\nindex = Cast<to=7>(Z)")) == []


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
def test_pass_does_not_apply_to_results_with_other_uses(body):
    assert removed(argmax_model(body)) == []


def test_pass_does_not_apply_to_graph_outputs():
    proto = argmax_model("Y = Exp(X) index = ArgMax<axis=1, keepdims=0>(Y)")
    proto.graph.output.append(helper.make_tensor_value_info("Y", TensorProto.FLOAT, [2, 3]))
    assert removed(proto) == []


def test_pass_does_not_apply_to_outputs_of_branches():
    body = CAPTURED.replace("inside () => (float[2,3] a) { a = Identity(Y) }", "inside () => (float[2,3] Y) { }")
    assert removed(argmax_model(body)) == []


def test_pass_does_not_apply_to_results_used_in_training():
    proto = argmax_after("Exp")
    info = proto.training_info.add()
    info.algorithm.CopyFrom(parser.parse_graph("step (float[2,3] G) => (float[2,3] W) { W = Add(Y, G) }"))
    assert removed(proto) == []


def test_equal_name_in_a_branch_is_not_a_use():
    assert removed(argmax_model(NAME_REUSED)) == ["Y"]


def test_pass_applies_in_branches_and_returns_paths():
    after, gone = eliminate.rewritten(argmax_model(IN_BRANCH))
    assert gone == ["index/then_branch/T"]
    onnx.checker.check_model(after, full_check=True)


def test_pass_keeps_operators_outside_the_branch():
    body = IN_BRANCH.replace("T = Exp(X)", "").replace("ArgMax<axis=1, keepdims=0>(T)", "ArgMax<axis=1, keepdims=0>(O)")
    assert removed(argmax_model(f"O = Exp(X)\n{body}")) == []


def test_pass_does_not_apply_to_a_redefined_input():
    proto = argmax_model(IN_BRANCH.replace("T = Exp(X)", "T = Exp(X) X = Neg(taken)"))
    assert removed(proto) == []


def test_fixed_point_removes_a_chain():
    proto = argmax_model("A = Exp(X) B = Log(A) C = Softmax<axis=1>(B) index = ArgMax<axis=1, keepdims=0>(C)")
    assert removed(proto) == ["C"]
    assert removed(proto, fixed_point=True) == ["C", "B", "A"]


def test_chain_ends_at_an_operator_that_stays():
    proto = argmax_model("A = Exp(X) B = Relu(A) C = Log(B) index = ArgMax<axis=1, keepdims=0>(C)")
    assert removed(proto, fixed_point=True) == ["C"]


@pytest.mark.parametrize("name", ["Exp", "ArgMax"])
def test_pass_keeps_operators_of_other_domains(name):
    proto = argmax_after("Exp")
    node = next(node for node in proto.graph.node if node.op_type == name)
    node.domain = "acme"
    assert removed(proto) == []


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_pass_keeps_operators_overridden_by_functions(domain):
    proto = argmax_after("Exp")
    body = [helper.make_node("Neg", ["x"], ["y"])]
    proto.functions.append(helper.make_function(domain, "Exp", ["x"], ["y"], body, [helper.make_opsetid("", 13)]))
    assert removed(proto) == []


def test_pass_accepts_the_explicit_main_domain():
    proto = argmax_after("Exp")
    for node in proto.graph.node:
        node.domain = "ai.onnx"
    assert removed(proto) == ["Y"]


def test_pass_keeps_function_bodies():
    proto = argmax_after("Exp")
    body = [helper.make_node("Exp", ["x"], ["y"]), helper.make_node("ArgMax", ["y"], ["i"], axis=1)]
    proto.functions.append(helper.make_function("acme", "Best", ["x"], ["i"], body, [helper.make_opsetid("", 13)]))
    assert eliminate(proto).functions == proto.functions


@pytest.mark.parametrize(("inputs", "outputs"), [([], ["Y"]), (["X", "X"], ["Y"]), ([""], ["Y"])])
def test_pass_keeps_operators_without_exactly_one_input(inputs, outputs):
    proto = argmax_after("Exp")
    proto.graph.node[0].CopyFrom(helper.make_node("Exp", inputs, outputs))
    assert removed(proto) == []


def test_pass_does_not_change_the_caller_s_model():
    proto = argmax_after("Exp")
    before = proto.SerializeToString()
    eliminate(proto, fixed_point=True)
    assert proto.SerializeToString() == before


def test_pass_changes_nothing_else():
    proto = argmax_model("K = Neg(X) Y = Exp(K) index = ArgMax<axis=1, keepdims=0>(Y)", "float[2,3] K, float[2,3] Y")
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


def test_pass_declares_its_name():
    assert eliminate.passes == ("eliminate_nop_monotone_argmax",)
