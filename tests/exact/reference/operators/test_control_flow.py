"""If, Loop and Scan: captured and hidden values, loop-carried values and scan outputs."""

from __future__ import annotations

from functools import partial

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from reference_models import build_model, reference_outputs

from conformance.base.verdicts import Level, Unsupported
from conformance.exact.reference.oracle import answers

f32 = partial(np.array, dtype=np.float32)
i64 = partial(np.array, dtype=np.int64)
node = helper.make_node


def value(name, elem_type=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, elem_type, None)


def body(nodes, outputs, inputs=(), initializers=()):
    outputs = [value(name, TensorProto.BOOL if name == "again" else TensorProto.FLOAT) for name in outputs]
    return helper.make_graph(nodes, "body", list(inputs), outputs, list(initializers))


def chosen(then_nodes, else_nodes, *, name="Y"):
    return node("If", ["condition"], [name], then_branch=body(then_nodes, ["T"]), else_branch=body(else_nodes, ["E"]))


def outputs_of(nodes, inputs, outputs=("Y",)):
    """Return the outputs, after an assertion that the native and the interval system agree."""
    serialised = build_model(nodes, inputs, dict.fromkeys(outputs, TensorProto.FLOAT), opset=16)
    expected = [answer.expected.tolist() for answer in answers(serialised, [*inputs.values()], Level.MUST)]
    assert [output.tolist() for output in reference_outputs(serialised, [*inputs.values()])] == expected
    return expected


@pytest.mark.parametrize(("condition", "Y"), [(True, -2), (False, 4)])
def test_if_runs_branch_of_condition(condition, Y):
    nodes = [chosen([node("Neg", ["X"], ["T"])], [node("Add", ["X", "X"], ["E"])])]
    assert outputs_of(nodes, {"condition": np.array(condition), "X": f32(2)}) == [Y]


def test_nested_body_captures_outermost_value():
    inner = chosen([node("Neg", ["X"], ["T"])], [node("Abs", ["X"], ["E"])], name="T")
    nodes = [chosen([inner], [node("Identity", ["X"], ["E"])])]
    assert outputs_of(nodes, {"condition": np.array(True), "X": f32(2)}) == [-2]


def test_redefined_name_in_body_hides_outer_value():
    then = [node("Neg", ["X"], ["inner"]), node("Identity", ["inner"], ["X"]), node("Abs", ["X"], ["T"])]
    nodes = [
        chosen([node("Add", ["X", "X"], ["Z"]), *then], [node("Abs", ["X"], ["E"])]),
        node("Identity", ["X"], ["after"]),
    ]
    assert outputs_of(nodes, {"condition": np.array(True), "X": f32(2)}, ("Y", "after")) == [2, 2]


def test_body_initializer_hides_outer_value():
    three = numpy_helper.from_array(f32(3), "X")
    branch = body([node("Neg", ["X"], ["T"])], ["T"], initializers=[three])
    nodes = [node("If", ["condition"], ["Y"], then_branch=branch, else_branch=branch)]
    assert outputs_of(nodes, {"condition": np.array(True), "X": f32(2)}) == [-3]


def test_branches_can_use_the_same_name():
    nodes = [
        chosen(
            [node("Neg", ["X"], ["Z"]), node("Abs", ["Z"], ["T"])],
            [node("Add", ["X", "X"], ["Z"]), node("Neg", ["Z"], ["E"])],
        )
    ]
    assert outputs_of(nodes, {"condition": np.array(False), "X": f32(2)}) == [-4]


def loop_body(nodes, outputs):
    return body(
        [node("Identity", ["goes_on"], ["again"]), *nodes],
        ["again", *outputs],
        [value("number", TensorProto.INT64), value("goes_on", TensorProto.BOOL), value("sum_in")],
    )


def test_loop_carries_values_and_stacks_scan_outputs():
    steps = [node("Add", ["sum_in", "step"], ["sum_out"]), node("Identity", ["sum_out"], ["row"])]
    nodes = [node("Loop", ["M", "", "X"], ["Y", "rows"], body=loop_body(steps, ["sum_out", "row"]))]
    given = {"M": i64(3), "X": f32([1, 2]), "step": f32(1)}
    assert outputs_of(nodes, given, ("Y", "rows")) == [[4, 5], [[2, 3], [3, 4], [4, 5]]]


def test_loop_ends_when_condition_is_false():
    nodes = [node("Add", ["sum_in", "step"], ["sum_out"]), node("Less", ["sum_out", "limit"], ["again"])]
    inputs = [value("number", TensorProto.INT64), value("goes_on", TensorProto.BOOL), value("sum_in")]
    loop = node("Loop", ["", "condition", "X"], ["Y"], body=body(nodes, ["again", "sum_out"], inputs))
    given = {"condition": np.array(True), "X": f32(0), "step": f32(1), "limit": f32(3)}
    assert outputs_of([loop], given) == [3]


def test_loop_without_iterations_returns_initial_values():
    loop = node(
        "Loop", ["M", "condition", "X"], ["Y"], body=loop_body([node("Neg", ["sum_in"], ["sum_out"])], ["sum_out"])
    )
    assert outputs_of([loop], {"M": i64(3), "condition": np.array(False), "X": f32(2)}) == [2]


def test_endless_loop_is_unsupported():
    loop = node("Loop", ["", "", "X"], ["Y"], body=loop_body([node("Neg", ["sum_in"], ["sum_out"])], ["sum_out"]))
    with pytest.raises(Unsupported, match="steps"):
        outputs_of([loop], {"X": f32(2)})


def scan(**attributes):
    nodes = [node("Add", ["sum_in", "element"], ["sum_out"]), node("Mul", ["sum_out", "factor"], ["row"])]
    inner = body(nodes, ["sum_out", "row"], [value("sum_in"), value("element")])
    return node("Scan", ["start", "X"], ["Y", "rows"], body=inner, num_scan_inputs=1, **attributes)


@pytest.mark.parametrize(
    ("attributes", "rows"),
    [
        ({}, [[2, 4], [8, 12]]),
        ({"scan_input_directions": [1]}, [[6, 8], [8, 12]]),
        ({"scan_output_directions": [1]}, [[8, 12], [2, 4]]),
        ({"scan_input_axes": [1]}, [[2, 6], [6, 14]]),
        ({"scan_output_axes": [1]}, [[2, 8], [4, 12]]),
    ],
)
def test_scan_iterates_slices_and_stacks_outputs(attributes, rows):
    given = {"start": f32([0, 0]), "X": f32([[1, 2], [3, 4]]), "factor": f32(2)}
    assert outputs_of([scan(**attributes)], given, ("rows",)) == [rows]


def test_argmax_in_branch_keeps_choices():
    then = [node("Exp", ["X"], ["Z"]), node("ArgMax", ["Z"], ["T"])]
    nodes = [chosen(then, [node("ArgMax", ["X"], ["E"])])]
    given = {"condition": np.array(True), "X": f32([0, 1e-8, -5])}
    serialised = build_model(nodes, given, {"Y": TensorProto.INT64})
    answer = answers(serialised, [*given.values()], Level.MUST)[0]
    assert answer.choices.tolist() == [[True, True, False]]


def test_argmax_in_loop_keeps_choices_per_iteration():
    inner = helper.make_graph(
        [
            node("Identity", ["goes_on"], ["again"]),
            node("Mul", ["X", "scale"], ["S"]),
            node("Exp", ["S"], ["Z"]),
            node("ArgMax", ["Z"], ["I"], keepdims=0),
            node("Add", ["scale", "large"], ["grown"]),
        ],
        "body",
        [value("number", TensorProto.INT64), value("goes_on", TensorProto.BOOL), value("scale")],
        [value("again", TensorProto.BOOL), value("grown"), value("I", TensorProto.INT64)],
    )
    loop = node("Loop", ["M", "", "one"], ["last", "Y"], body=inner)
    given = {"M": i64(2), "one": f32(1), "large": f32(2.0**20), "X": f32([0, 2.0**-27, -5])}
    serialised = build_model([loop], given, {"Y": TensorProto.INT64})
    choices = answers(serialised, [*given.values()], Level.MUST)[0].choices
    assert choices.tolist() == [[True, True, False], [False, True, False]]


def test_condition_can_be_an_initializer():
    condition = numpy_helper.from_array(np.array(True), "condition")
    nodes = [chosen([node("Neg", ["X"], ["T"])], [node("Abs", ["X"], ["E"])])]
    serialised = build_model(nodes, {"X": f32(2)}, {"Y": onnx.TensorProto.FLOAT}, initializers=[condition])
    assert reference_outputs(serialised, [f32(2)])[0] == -2


def test_loop_without_a_condition_ignores_that_of_its_body():
    nodes = [node("Less", ["S", "S"], ["again"]), node("Add", ["S", "X"], ["N"])]
    inputs = [value("i", TensorProto.INT64), value("c", TensorProto.BOOL), value("S")]
    loop = node("Loop", ["trips", "", "X"], ["Y"], body=body(nodes, ["again", "N"], inputs))
    assert outputs_of([loop], {"trips": i64(3), "X": f32(2)}) == [8]
