"""Expansion keeps the rest of the model, gives a valid model, and rejects models that cannot be expanded."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from expandable_models import (
    NEUTRAL,
    STATE,
    TRAINING,
    broken,
    build_model,
    declared,
    every_optimizer,
    is_within,
    one_node,
    onnxruntime_outputs,
    optimizer,
    plain_model,
)
from onnx import helper, numpy_helper
from refusals import assert_raises

from conformance.base.verdicts import Level
from conformance.exact.models.graphs import names_in_model
from conformance.exact.reference.oracle import answers
from conformance.own.expansion import expand, has_training_optimizers


def test_model_without_optimizers_keeps_its_bytes():
    model = plain_model()
    assert expand(model).SerializeToString() == model.SerializeToString()


def test_second_expansion_changes_nothing():
    once = expand(one_node("Adam"))
    assert expand(once).SerializeToString() == once.SerializeToString()


@every_optimizer
def test_argument_is_not_changed(op_type):
    model = one_node(op_type)
    before = model.SerializeToString()
    expand(model)
    assert model.SerializeToString() == before


def test_rest_of_the_model_is_kept():
    model = one_node("Adagrad")
    model.producer_name, model.doc_string = "someone", "a model"
    model.metadata_props.add(key="license", value="none")
    model.graph.doc_string = "a graph"
    model.graph.value_info.append(declared("hidden", np.float32, (2,)))
    model.graph.node.append(helper.make_node("Relu", ["X0_new"], ["hidden"], name="relu", doc_string="a node"))
    expanded = expand(model)
    assert expanded.graph.node[-1] == model.graph.node[-1]
    assert [*expanded.graph.value_info] == [*model.graph.value_info]
    assert ([*expanded.graph.input], [*expanded.graph.output]) == ([*model.graph.input], [*model.graph.output])
    kept = ("producer_name", "doc_string", "ir_version")
    assert [getattr(expanded, name) for name in kept] == [getattr(model, name) for name in kept]
    assert (expanded.graph.doc_string, [*expanded.metadata_props]) == ("a graph", [*model.metadata_props])


def test_new_names_do_not_collide():
    taken = {node.name for node in expand(one_node("Momentum")).graph.node}
    model = one_node("Momentum")
    for name in sorted(taken):
        model.graph.node.append(helper.make_node("Relu", ["X0"], [name], name=f"{name}_node"))
    expanded = expand(model)
    onnx.checker.check_model(expanded, full_check=True)
    assert names_in_model(model) - {""} <= names_in_model(expanded)


@pytest.mark.parametrize("opsets", [{TRAINING: 1}, {"": 17, TRAINING: 1}, {"ai.onnx": 15, TRAINING: 1}])
def test_opset_of_the_model_is_kept(opsets):
    expanded = expand(one_node("Adagrad", opsets=opsets))
    onnx.checker.check_model(expanded, full_check=True)
    kept = {domain: version for domain, version in opsets.items() if domain != TRAINING}
    assert {entry.domain: entry.version for entry in expanded.opset_import} == (kept or {"": 13})


def test_training_domain_stays_imported_while_used():
    model = one_node("Adagrad")
    model.graph.node.append(helper.make_node("Gradient", ["X0"], ["dX"], domain=TRAINING, xs=["X0"], y="X0_new"))
    assert TRAINING in {entry.domain for entry in expand(model).opset_import}


def chained(name, result):
    """Return a graph with two optimizers. The types of the second one are known only by inference."""
    nodes = [
        optimizer("Momentum", ["R", "T", "X", "G", "V"], ["X_1", "V_1"]),
        optimizer("Adagrad", ["R", "T", "X_1", "G", "V"], [result, f"H_{result}"]),
    ]
    return helper.make_graph(nodes, name, [], [declared(result, np.float32, (2,))])


def state_inputs(T=3):
    return [np.array(0.125, np.float32), np.array(T), *np.array([[1, 2], [0.5, -1], [0.25, 3]], np.float32)]


def test_optimizers_in_if_branches_are_expanded():
    branches = {f"{name}_branch": chained(name, f"Y_{name}") for name in ("then", "else")}
    model = build_model(
        [
            helper.make_node("Identity", ["given"], ["condition"]),
            helper.make_node("If", ["condition"], ["Y"], **branches),
        ],
        [declared("given", bool, ()), *STATE],
        [declared("Y", np.float32, (2,))],
    )
    expanded = expand(model)
    onnx.checker.check_model(expanded, full_check=True)
    assert not has_training_optimizers(expanded)
    straight = build_model(chained("body", "Y").node, STATE, [declared("Y", np.float32, (2,))])
    answer = answers(straight.SerializeToString(), state_inputs(), Level.MUST)[0]
    for condition in (True, False):
        assert is_within(answer, onnxruntime_outputs(expanded, [np.array(condition), *state_inputs()])[0])


def test_optimizers_in_a_loop_are_expanded():
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
    expanded = expand(build_model([loop], STATE, results, initializers=[steps]))
    onnx.checker.check_model(expanded, full_check=True)
    nodes = [
        optimizer("Momentum", ["R", "T", "X", "G", "V"], ["X_1", "V_1"]),
        optimizer("Momentum", ["R", "T", "X_1", "G", "V_1"], ["X_last", "V_last"]),
    ]
    straight = build_model(nodes, STATE, results).SerializeToString()
    outputs = onnxruntime_outputs(expanded, state_inputs())
    assert all(map(is_within, answers(straight, state_inputs(), Level.MUST), outputs))


def function_model(alpha=0.25):
    """Return a model with an optimizer in a function that another function calls, and an unrelated function."""
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
    return build_model(nodes, STATE, outputs, {"": 13, "own": 1}, ir_version=9, functions=[inner, outer, other])


@pytest.mark.parametrize(("alpha", "Z"), [(0.25, [0.5625, -0.25]), (None, [0.6875, 1.25])])
def test_function_is_expanded_with_attributes_of_the_call(alpha, Z):
    expanded = expand(function_model(alpha))
    onnx.checker.check_model(expanded, full_check=True)
    assert [function.name for function in expanded.functions] == ["Other"]
    assert onnxruntime_outputs(expanded, state_inputs())[0].tolist() == Z


def test_optimizers_in_training_information_are_expanded():
    model = build_model([helper.make_node("Identity", ["X"], ["Y"])], STATE, [declared("Y", np.float32, (2,))])
    model.training_info.add().algorithm.CopyFrom(chained("algorithm", "Z"))
    expanded = expand(model)
    assert not has_training_optimizers(expanded)
    assert expanded.graph == model.graph
    assert "Sqrt" in {node.op_type for node in expanded.training_info[0].algorithm.node}


@pytest.mark.parametrize("opset", [12, 9])
def test_opset_below_13_is_rejected(opset):
    with assert_raises("model.opset-too-old", opset):
        expand(one_node("Adam", opsets={"": opset, TRAINING: 1}))


REFUSED = {
    "an operand is missing": (broken(inputs=["R", "T", "X", "G"]), "model.invalid-node", ("4",)),
    "an operand is empty": (broken(inputs=["R", "T", "X", "", "V"]), "model.invalid-node", ("inputs",)),
    "no tensor": (broken(inputs=["R", "T"], outputs=["Y"]), "model.invalid-node", ("2",)),
    "too few results": (broken(outputs=["Y"]), "model.type-inference-failed", ("Output 1",)),
    "an unknown attribute": (broken(gamma=1.0), "model.invalid-node", ("gamma",)),
    "a missing attribute": (broken(op_type="Momentum", alpha=0.5), "model.invalid-node", ("beta",)),
    "an unknown mode": (broken(op_type="Momentum", **{**NEUTRAL, "mode": "fast"}), "model.invalid-node", ("fast",)),
    "tensors without a known type": (broken(inputs=["R", "T", "A", "B", "C"]), "model.invalid-node", ("A",)),
}


@pytest.mark.parametrize(("model", "code", "data"), REFUSED.values(), ids=REFUSED.keys())
def test_node_that_violates_the_schema_is_rejected(model, code, data):
    with assert_raises(code, *data):
        expand(model)


def test_old_ir_version_is_rejected():
    model = one_node("Adam")
    model.ir_version = 3
    with assert_raises("model.ir-version-too-old", 3):
        expand(model)
