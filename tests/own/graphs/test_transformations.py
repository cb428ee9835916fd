"""Renaming, inlining, unrolling and cutting keep what a model computes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_models import nested_model, sparse, value
from onnx import TensorProto, helper, numpy_helper, parser

from conformance.exact.models.graphs import copy_of, is_operator, iter_nodes, with_inferred_types
from conformance.exact.models.model_validity import check_model
from conformance.exact.models.renaming import FreshNames, Renamer
from conformance.own.graphs import inlining
from conformance.own.graphs.cutting import (
    GraphParts,
    bypass_inner,
    inner_nodes,
    live_nodes,
    with_outputs,
    without_unused,
)
from conformance.own.graphs.fed_model import FedModel
from conformance.own.graphs.inlining import inline_functions, inline_taken_branches, unroll
from conformance.subjects.adapters.reference import ReferenceBackend

X = np.array([0.75, -1.25], np.float32)
MODELS = st.builds(nested_model, st.randoms(use_true_random=False))


def run(model: onnx.ModelProto, **inputs: np.ndarray) -> list[np.ndarray]:
    """Check a model, and compute its outputs with the suite's reference."""
    check_model(model)
    return [np.asarray(each) for each in ReferenceBackend.prepare(model, "CPU").run([*(inputs or {"X": X}).values()])]


def assert_computes_the_same(model: onnx.ModelProto, changed: onnx.ModelProto) -> None:
    np.testing.assert_equal(run(changed), run(model))


def all_values(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    names = [name for node in model.graph.node for name in node.output if name]
    exposed = copy_of(model)
    del exposed.graph.output[:]
    exposed = with_outputs(exposed, names)
    system_values = [np.asarray(each) for each in ReferenceBackend.prepare(exposed, "CPU").run([X])]
    return {**dict(zip(names, system_values, strict=True)), "X": X}


@given(MODELS)
def test_inline_functions_of_nested_model_computes_the_same(model):
    inlined = inline_functions(model)
    assert not inlined.functions
    assert_computes_the_same(model, inlined)


@given(MODELS)
def test_inline_functions_with_one_wanted_keeps_the_other(model):
    inlined = inline_functions(model, lambda name: name[1] == "F")
    assert {function.name for function in inlined.functions} == {"G"}
    assert_computes_the_same(model, inlined)


@given(MODELS)
def test_inline_taken_branches_of_nested_model_computes_the_same(model):
    known = {"yes": np.asarray(True), "no": np.asarray(False)}
    for _ in range(4):
        inlined = inline_taken_branches(model, known)
        if inlined is None:
            break
        assert_computes_the_same(model, inlined)
        model = inlined
    assert not any(is_operator(node, "If") for node in model.graph.node)


@given(MODELS)
def test_unroll_of_all_loops_computes_the_same(model):
    unrolled = inline_functions(model)
    while loops := [number for number, node in enumerate(unrolled.graph.node) if is_operator(node, "Loop")]:
        unrolled = unroll(unrolled, loops[0], 2)
    assert_computes_the_same(model, unrolled)


@given(MODELS)
def test_rename_of_every_value_computes_the_same(model):
    renamed = copy_of(model)
    names = {name: f"new {name}" for node in model.graph.node for name in node.output}
    Renamer(FreshNames.of(model)).rename_nodes(renamed.graph.node, names, names.__getitem__)
    for each in renamed.graph.output:
        each.name = names[each.name]
    assert_computes_the_same(model, renamed)


@given(MODELS)
def test_rename_to_names_of_inner_values_captures_no_use(model):
    inner = sorted({name for graph, place in inner_nodes(model) for name in graph.node[place].output})
    own = [name for node in model.graph.node for name in node.output]
    names = dict(zip(own, [name for name in inner if name not in own], strict=False))
    renamed = copy_of(model)
    Renamer(FreshNames.of(model)).rename_nodes(renamed.graph.node, names, lambda name: names.get(name, name))
    for each in renamed.graph.output:
        each.name = names.get(each.name, each.name)
    assert_computes_the_same(model, renamed)


@given(MODELS, st.data())
def test_cut_part_computes_the_values_of_the_whole_model(model, data):
    values, nodes = all_values(model), live_nodes(model)
    start = data.draw(st.integers(0, len(nodes) - 1))
    part = GraphParts(model).cut(nodes[start : data.draw(st.integers(start + 1, len(nodes)))], values)
    assert part is not None
    for declared, result in zip(part.model.graph.output, run(part.model, **part.inputs), strict=True):
        np.testing.assert_equal(result, values[declared.name])


@given(MODELS)
def test_without_unused_keeps_the_first_output(model):
    shorter = copy_of(model)
    del shorter.graph.output[1:]
    reduced = without_unused(FedModel(shorter, {"X": X}))
    assert {*reduced.model.graph.node[-1].output} & {shorter.graph.output[0].name}
    np.testing.assert_equal(run(reduced.model, **reduced.inputs), run(model)[:1])


def test_bypass_inner_in_nested_subgraph_removes_the_node_at_its_place():
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[2] X) => (float[2] Y) <bool yes = {1}> {
        Y = If(yes) <then_branch = t () => (float[2] T) {
            i = If(yes) <then_branch = v () => (float[2] V) { V = Neg(X) },
                         else_branch = w () => (float[2] W) { W = Abs(X) }>
            T = Tanh(i) }, else_branch = e () => (float[2] E) { E = Exp(X) }> }"""
    model = parser.parse_model(text)
    operators = [graph.node[position].op_type for graph, position in inner_nodes(model)]
    place = operators.index("Tanh")
    shorter = bypass_inner(FedModel(model, {"X": X}), place, "i")
    assert sorted(node.op_type for node in iter_nodes(shorter.model.graph)) == ["Abs", "Exp", "If", "If", "Neg"]
    np.testing.assert_equal(run(shorter.model), [-X])


def loop_with_sparse_constant() -> onnx.ModelProto:
    body = parser.parse_graph(
        "b (int64 i, bool k, float[2] s) => (bool l, float[2] S) { l = Identity(k) S = Add(s, w) }"
    )
    body.sparse_initializer.append(sparse("w"))
    loop = helper.make_node("Loop", ["n", "", "X"], ["Y"], body=body)
    constants = [numpy_helper.from_array(np.array(3), "n")]
    graph = helper.make_graph([loop], "g", [value("X")], [value("Y")], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_unroll_of_a_loop_with_sparse_initializer_keeps_it():
    model = loop_with_sparse_constant()
    unrolled = unroll(model, 0, 3)
    assert len(unrolled.graph.sparse_initializer) == 3
    assert_computes_the_same(model, unrolled)


def if_model(*, domain: str) -> onnx.ModelProto:
    model = parser.parse_model("""<ir_version: 9, opset_import: ["" : 17]> g (float[2] X) => (float[2] Y)
        <bool yes = {1}> { Y = If(yes) <then_branch = t () => (float[2] T) { u = Neg(X) T = Abs(u) },
        else_branch = e () => (float[2] E) { E = Exp(X) }> }""")
    model.graph.node[0].domain = domain
    return model


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_inline_taken_branches_of_either_name_of_the_main_domain_replaces_the_if(domain):
    inlined = inline_taken_branches(if_model(domain=domain), {"yes": np.asarray(True)})
    assert [node.op_type for node in inlined.graph.node] == ["Neg", "Abs", "Identity"]


def test_inline_taken_branches_of_another_domain_returns_none():
    assert inline_taken_branches(if_model(domain="acme"), {"yes": np.asarray(True)}) is None


def test_inline_taken_branches_that_keeps_borders_passes_their_floats_through_an_if():
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[2] X) => (float[2] Y, int64[1] Z) <bool yes = {1}> {
        A = Abs(X) Y, Z = If(yes) <then_branch = t () => (float[2] T, int64[1] S) { T = Neg(A) S = Shape(A) },
        else_branch = e () => (float[2] E, int64[1] R) { E = Exp(A) R = Shape(X) }> }"""
    model, known = with_inferred_types(parser.parse_model(text)), {"yes": np.asarray(True)}
    inlined = inline_taken_branches(model, known, keeps_borders=True)
    assert [node.op_type for node in inlined.graph.node] == ["Abs", "If", "Neg", "Shape", "If", "Identity"]
    assert inline_taken_branches(inlined, known) is None
    assert_computes_the_same(model, inlined)


def test_inline_taken_branches_twice_at_one_place_makes_no_name_twice():
    text = """<ir_version: 9, opset_import: ["" : 17]> g (float[2] X) => (float[2] Y) <bool yes = {1}> {
        Y = If(yes) <then_branch = t () => (float[2] T) {
            T = If(yes) <then_branch = v () => (float[2] V) { u = Neg(X) V = Abs(u) },
                         else_branch = w () => (float[2] W) { u = Abs(X) W = Exp(u) }>
        }, else_branch = e () => (float[2] E) { E = Exp(X) }> }"""
    model, known = parser.parse_model(text), {"yes": np.asarray(True)}
    once = inline_taken_branches(model, known)
    twice = inline_taken_branches(once, known)
    assert_computes_the_same(model, twice)


def test_inline_functions_with_overloads_takes_the_defaults_of_the_called_one():
    text = """<ir_version: 10, opset_import: ["" : 17, "acme" : 1]> g (float[2] X) => (float[2] Y, float[2] Z) {
        Y = acme.F:one(X) Z = acme.F:two(X) }"""
    model = parser.parse_model(text.replace(":one", "").replace(":two", ""))
    model.graph.node[0].overload, model.graph.node[1].overload = "one", "two"
    for overload, slope in (("one", 0.25), ("two", 4.0)):
        node = helper.make_node("LeakyRelu", ["x"], ["y"])
        node.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
        imports = [helper.make_opsetid("", 17)]
        function = helper.make_function("acme", "F", ["x"], ["y"], [node], imports, overload=overload)
        function.attribute_proto.append(helper.make_attribute("slope", slope))
        model.functions.append(function)
    inlined = inline_functions(model)
    assert [node.attribute[0].f for node in inlined.graph.node] == [0.25, 4.0]


def test_inline_functions_of_another_opset_keeps_the_call():
    model = parser.parse_model("""<ir_version: 9, opset_import: ["" : 17, "acme" : 1]> g (float[2] X) => (float[2] Y)
        { Y = acme.F(X) } <domain: "acme", opset_import: ["" : 12]> F (x) => (y) { y = Softmax(x) }""")
    inlined = inline_functions(model)
    assert [node.op_type for node in inlined.graph.node] == ["F"]
    assert [function.name for function in inlined.functions] == ["F"]


def annotated_model() -> onnx.ModelProto:
    """Return a model with every field that belongs to a value of it."""
    model = parser.parse_model("""<ir_version: 11, opset_import: ["" : 17]> g (float[2] X) => (float[2] Y)
        <float scale = {0.5}, int8 zero = {0}, float[2] t, float[2] u> { t = Neg(X) u = Abs(t) Y = Tanh(u) }""")
    annotation = model.graph.quantization_annotation.add(tensor_name="t")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    annotation.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="zero")
    model.metadata_props.add(key="k", value="v")
    model.graph.metadata_props.add(key="k", value="v")
    model.graph.node[0].metadata_props.add(key="k", value="v")
    model.graph.node[0].doc_string = "said of a Neg"
    return model


def test_cut_keeps_annotations_declarations_and_metadata():
    model = annotated_model()
    part = GraphParts(model).cut([0, 1], {"X": X}).model
    assert part.graph.quantization_annotation == model.graph.quantization_annotation
    assert {tensor.name for tensor in part.graph.initializer} == {"scale", "zero"}
    assert [each.name for each in part.graph.value_info] == ["t"]
    assert part.graph.node[0] == model.graph.node[0]
    assert (part.metadata_props, part.graph.metadata_props) == (model.metadata_props, model.graph.metadata_props)


def test_inline_taken_branch_keeps_annotations_under_new_names():
    body = annotated_model().graph
    del body.input[:]
    branch = helper.make_node("If", ["yes"], ["Z"], then_branch=body, else_branch=body)
    constants = [numpy_helper.from_array(np.asarray(True), "yes")]
    graph = helper.make_graph([branch], "g", [value("X")], [value("Z")], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=11)
    inlined = inline_taken_branches(model, {"yes": np.asarray(True)}).graph
    annotation = inlined.quantization_annotation[0]
    assert annotation.tensor_name == inlined.node[0].output[0]
    named = {entry.value for entry in annotation.quant_parameter_tensor_names}
    assert named == {tensor.name for tensor in inlined.initializer} - {"yes"}
    assert inlined.node[0].output[0] in {each.name for each in inlined.value_info}


def test_inline_functions_beyond_the_limit_is_refused_before_work(monkeypatch):
    from large_models import doubling

    from conformance.base.errors import ModelError

    monkeypatch.setattr(inlining, "copy_of", None)  # any work fails with another error
    with pytest.raises(ModelError) as error:
        inline_functions(doubling(30))
    assert error.value.code == "model.too-many-calls"


def test_unroll_of_old_opset_gives_axes_as_attribute():
    model = loop_with_scan_output(opset=11)
    unrolled = unroll(model, 0, 2)
    assert all(node.attribute for node in unrolled.graph.node if node.op_type == "Unsqueeze")
    check_model(unrolled)


def loop_with_scan_output(opset: int) -> onnx.ModelProto:
    body = parser.parse_graph("b (int64 i, bool k) => (bool l, float[2] S) { l = Identity(k) S = Neg(X) }")
    loop = helper.make_node("Loop", ["n"], ["Y"], body=body)
    loop.input.append("")
    trips = numpy_helper.from_array(np.array(2), "n")
    graph = helper.make_graph([loop], "g", [value("X")], [value("Y", (2, 2))], [trips])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def test_cut_of_a_node_that_captures_an_unknown_value_returns_none():
    model = if_model(domain="")
    assert GraphParts(model).cut([0], {}) is None
    assert GraphParts(model).cut([0], {"X": X}).model.graph.input[0].type.tensor_type.elem_type == TensorProto.FLOAT
