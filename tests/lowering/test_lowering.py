"""Lowering: what comes out is valid, and is otherwise the model that went in; what cannot be lowered is refused."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from lowerable_models import (
    NEUTRAL,
    STATE,
    TRAINING,
    broken,
    declared,
    every_optimizer,
    in_onnxruntime,
    model_of,
    one_node,
    optimizer,
    plain_model,
    within,
)
from onnx import helper, numpy_helper

from conformance.errors import ModelError
from conformance.lowering.lowering import lower
from conformance.lowering.optimizers import has_training_optimizers
from conformance.models.graphs import names_in
from conformance.reference.oracle import answers
from conformance.verdicts import Level


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
