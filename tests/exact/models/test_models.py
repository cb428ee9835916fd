"""Models: checks, custom domains, function calls, inputs, summaries, and texts of the specification."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from batches import for_each
from instruction_count import count_instructions
from large_models import doubling, recursive
from onnx import TensorProto, helper, numpy_helper, parser

from conformance.base.verdicts import Unsupported
from conformance.corpus.cases.case_loading import load_case, read_case_json
from conformance.exact.clauses import Passage, clauses, text_digest
from conformance.exact.models import graphs
from conformance.exact.models.arrays import type_text
from conformance.exact.models.comparison import copy_with_raw_tensors, tensor_digest
from conformance.exact.models.graphs import TRAINING_DOMAIN, call_expansion_problem, infer_shapes, onnx_op_type
from conformance.exact.models.input_files import GraphInputs, fed_input_names, required_input_names
from conformance.exact.models.model_validity import (
    check_model,
    find_new_faults,
    find_unchecked_faults,
    has_schemas,
)
from conformance.exact.models.spec_text import installed_version, quote_passage, specification_text, text_package
from conformance.exact.reference.graph import Graph
from conformance.run.judging.optimizer_run import checker_error
from conformance.run.mutants.wrappers import MODEL_REWRITES

# `check_model` does not depend on how a version of onnx treats the name of the main domain.


TEXT = """<ir_version: 8, opset_import: [{imports}]> agraph (float[2] X) => (float[2] Y) {{ Y = own.twice (X) }}
<domain: "own", opset_import: [{inner}]> twice (X) => (Y) {{ Y = Add (X, X) }}"""


def model_of(imports: str, inner: str) -> onnx.ModelProto:
    return parser.parse_model(TEXT.format(imports=f'{imports}, "own": 1', inner=inner))


@pytest.fixture
def checked_models(monkeypatch):
    """Models that are passed to onnx's checker."""
    models = []
    monkeypatch.setattr(onnx.checker, "check_model", lambda model, **_: models.append(model))
    return models


def imported_domains(model: onnx.ModelProto) -> list[list[str]]:
    return [[entry.domain for entry in holder.opset_import] for holder in (model, *model.functions)]


def test_named_main_domain_is_checked_as_empty_name(checked_models):
    model = model_of('"ai.onnx": 13', '"ai.onnx": 13')
    check_model(model)
    assert imported_domains(checked_models[0]) == [["", "own"], [""]]
    assert imported_domains(model) == [["ai.onnx", "own"], ["ai.onnx"]]


@pytest.mark.parametrize("imports", ['"": 13', '"": 13, "ai.onnx": 13'])
def test_model_with_empty_name_is_checked_unchanged(checked_models, imports):
    model = model_of(imports, '"": 13')
    check_model(model)
    assert checked_models[0] is model


def test_invalid_model_is_rejected():
    model = model_of('"ai.onnx": 13', '"": 13')
    model.functions[0].node[0].op_type = "Thrice"
    with pytest.raises(onnx.checker.ValidationError, match="Thrice"):
        check_model(model)


@pytest.mark.parametrize(("domain", "operator", "expected"), [("", "Relu", True), ("acme.training", "Descent", False)])
def test_model_of_an_operator_without_schema_has_no_schemas(domain, operator, expected):
    graph = helper.make_graph([helper.make_node(operator, ["X"], ["Y"], domain=domain)], "g", [], [])
    assert has_schemas(helper.make_model(graph)) == expected


# Equal tensors are equal messages after conversion to raw data.


@pytest.mark.parametrize(
    ("kind", "elements"),
    [
        (TensorProto.FLOAT, [0.5, -0.0]),
        (TensorProto.INT8, [-1, 2]),
        (TensorProto.INT64, [2**62, -1]),
        (TensorProto.DOUBLE, [0.1, 2.0]),
        (TensorProto.UINT64, [2**63, 1]),
    ],
)
def test_typed_data_becomes_raw_data(kind, elements):
    typed, raw = (helper.make_tensor("W", kind, [2], elements), helper.make_tensor("W", kind, [2], elements))
    raw = numpy_helper.from_array(numpy_helper.to_array(raw), "W")
    assert typed != raw
    assert copy_with_raw_tensors(typed) == raw


def test_tensor_in_attribute_is_converted():
    tensor = helper.make_tensor("W", TensorProto.FLOAT, [1], [0.5])
    node = copy_with_raw_tensors(helper.make_node("Constant", [], ["Y"], value=tensor))
    assert node.attribute[0].t.raw_data == np.float32(0.5).tobytes()


def test_strings_and_unreadable_tensors_are_unchanged():
    text = helper.make_tensor("W", TensorProto.STRING, [1], [b"one"])
    short = onnx.TensorProto(data_type=TensorProto.FLOAT, dims=[3], float_data=[0.5])
    assert (copy_with_raw_tensors(text), copy_with_raw_tensors(short)) == (text, short)


def test_tensors_of_a_type_that_onnx_does_not_know_are_compared_by_their_bytes():
    first, same, other = (onnx.TensorProto(data_type=999, dims=[1], raw_data=raw) for raw in (b"a", b"a", b"b"))
    assert tensor_digest(first) == tensor_digest(same) != tensor_digest(other)


# Operators of custom domains, which share only the name with an operator of ONNX.


@pytest.mark.parametrize(
    ("op_type", "domain", "expected"),
    [
        ("Adam", TRAINING_DOMAIN, "Adam"),
        ("Adam", "", ""),
        ("Adam", "custom", ""),
        ("Conv", "ai.onnx", "Conv"),
        ("Conv", "custom", ""),
        ("ArgMax", TRAINING_DOMAIN, ""),
    ],
)
def test_onnx_op_type_depends_on_the_domain(op_type: str, domain: str, expected: str) -> None:
    assert onnx_op_type(helper.make_node(op_type, ["x"], ["y"], domain=domain)) == expected


def test_rewrite_of_sparse_constants_keeps_a_constant_of_a_custom_domain() -> None:
    values = helper.make_tensor("v", onnx.TensorProto.FLOAT, [1], np.ones(1, np.float32))
    sparse = helper.make_sparse_tensor(values, helper.make_tensor("i", onnx.TensorProto.INT64, [1], [0]), [3])
    nodes = [helper.make_node("Constant", [], [name], domain=name, sparse_value=sparse) for name in ("", "custom")]
    model = helper.make_model(helper.make_graph(nodes, "g", [], []))
    MODEL_REWRITES["forget_sparse_elements"](model, "")
    assert [node.attribute[0].name for node in model.graph.node] == ["value", "sparse_value"]


# Calls of model-local functions: recursion, and limits of expansion.


def test_calls_without_recursion_can_be_expanded():
    assert call_expansion_problem(doubling(10)) is None


def test_mutual_recursion_is_detected():
    assert "recursion" in call_expansion_problem(recursive())


def test_direct_recursion_is_detected():
    model = doubling(1)
    model.functions[0].node[0].domain, model.functions[0].node[0].op_type = "acme", "f0"
    assert {"acme.f0", "recursion."} <= {*call_expansion_problem(model).split()}


def test_overloads_are_different_functions():
    model = doubling(2)
    model.functions[0].name, model.functions[0].overload = "f1", "inner"
    for node in model.functions[1].node:
        node.op_type, node.overload = "f1", "inner"
    assert call_expansion_problem(model) is None


@pytest.mark.parametrize(("limit", "fits"), [(14, True), (13, False)])
def test_expanded_nodes_are_limited(monkeypatch, limit, fits):
    """Count three nodes of the graph, two calls in f2, four calls in the callees, and eight Sqrt."""
    monkeypatch.setattr(graphs, "MAX_EXPANDED_NODES", limit + 3)
    assert (call_expansion_problem(doubling(3)) is None) is fits


def test_call_depth_is_limited(monkeypatch):
    monkeypatch.setattr(graphs, "MAX_CALL_DEPTH", 3)
    assert call_expansion_problem(doubling(3)) is None
    assert "levels" in call_expansion_problem(doubling(4))


def test_time_to_refuse_calls_that_multiply_is_limited():
    few, many = (count_instructions(lambda count=count: call_expansion_problem(doubling(count))) for count in (30, 60))
    assert many < 2.2 * few  # each function is counted once


# Required inputs of a graph: all parts of the suite agree on every model of the corpus.


def graph_with(*, dense: str = "", sparse: str = "") -> onnx.GraphProto:
    """Return a graph with the inputs X and Y, one of which can have an initializer."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "XYZ"]
    graph = helper.make_graph([helper.make_node("Add", ["X", "Y"], ["Z"])], "sum", values[:2], values[2:])
    if dense:
        graph.initializer.append(helper.make_tensor(dense, TensorProto.FLOAT, [2], [1.0, 2.0]))
    if sparse:
        elements = helper.make_tensor(sparse, TensorProto.FLOAT, [1], [1.0])
        places = helper.make_tensor("", TensorProto.INT64, [1], [0])
        graph.sparse_initializer.append(helper.make_sparse_tensor(elements, places, [2]))
    return graph


@pytest.mark.parametrize(
    ("initializer", "required"), [({}, ["X", "Y"]), ({"dense": "Y"}, ["X"]), ({"sparse": "X"}, ["Y"])]
)
def test_input_with_initializer_is_not_required(initializer, required):
    assert required_input_names(graph_with(**initializer)) == required


def test_type_without_a_value_is_named() -> None:
    assert type_text(onnx.TypeProto()) == "nothing"


def test_inputs_by_name_keep_the_graph_order():
    X, Y = np.zeros(2, np.float32), np.ones(2, np.float32)
    feeds = GraphInputs.of(helper.make_model(graph_with())).by_name([X, Y])
    assert list(feeds.items()) == [("X", X), ("Y", Y)]


@pytest.mark.whole
@pytest.mark.long
def test_case_json_and_data_sets_agree_on_required_inputs(whole_corpus):
    for case in whole_corpus.cases.values():
        loaded, document = load_case(whole_corpus, case), read_case_json(whole_corpus, case)
        required = required_input_names(loaded.model.graph)
        assert [value.name for value in document.model.inputs] == required, case.id
        for preview, data_set in zip(document.data_sets, loaded.data_sets(), strict=True):
            fed = fed_input_names(loaded.model.graph, len(preview.inputs))
            assert [tensor.name for tensor in preview.inputs] == fed, case.id
            assert len(data_set.inputs) == len(preview.inputs), case.id


@pytest.mark.whole
def test_reference_graph_has_the_required_inputs(whole_corpus):
    unsupported = 0
    for case in (case for case in whole_corpus.cases.values() if not case.is_invalid):
        model = load_case(whole_corpus, case).model
        try:
            graph = Graph.from_model(model)
        except Unsupported:
            unsupported += 1
        else:
            assert list(graph.required_inputs) == required_input_names(model.graph), case.id
    assert unsupported < 20


@pytest.mark.long
@pytest.mark.whole
def test_data_sets_match_the_required_inputs(whole_corpus):
    for case in (case for case in whole_corpus.cases.values() if not case.is_invalid and not case.is_structural):
        loaded = load_case(whole_corpus, case)
        feeds = GraphInputs.of(loaded.model)
        for data_set in loaded.data_sets():
            names = [value.name for value in loaded.model.graph.input]
            if len(data_set.inputs) != len(names):  # a data set may feed inputs with an initializer too
                names = required_input_names(loaded.model.graph)
            assert list(feeds.by_name(data_set.inputs)) == names, case.id


# Texts of the specification in installed packages, and the passages that clauses cite.


ADAM = "onnx.defs ai.onnx.preview.training Adam-1"
INSTALLED_PASSAGES = {
    f"{id}-{number}": passage
    for id, clause in clauses().items()
    for number, passage in enumerate(clause.passages)
    if installed_version(text_package(passage.document) or "")
}


@for_each("name", INSTALLED_PASSAGES)
def test_passage_exists_in_the_installed_package(name):
    passage = INSTALLED_PASSAGES[name]
    words = quote_passage(passage)
    assert words is not None
    assert text_digest(words) == passage.sha256


class TestTexts:
    @pytest.mark.parametrize(
        ("part", "words"),
        [
            ("summary", "X_new = X - R_adjusted * V_new / H_sqrt"),
            ("attribute alpha", "Default to 0.9."),
            ("input T", "scalar"),
            ("output outputs", "New values"),
            ("type constraint T2", "64-bit"),
            ("signature", "attribute alpha: FLOAT, default 0.8999999761581421"),
            ("signature", "input inputs: T3, Variadic"),
            ("signature", "1 to any number outputs"),
        ],
    )
    def test_schema_part_contains_words(self, part, words):
        assert words in specification_text(ADAM, part)

    def test_package_file_is_read(self):
        assert "message ModelProto {" in specification_text("onnx onnx.proto", "ModelProto")

    @pytest.mark.parametrize(
        "document",
        [
            "onnx.defs ai.onnx Log-14",
            "onnx.defs ai.onnx Nothing-1",
            "onnx nothing.proto",
            "onnx/onnx v1.22.0 docs/IR.md",
        ],
    )
    def test_missing_document_has_no_text(self, document):
        assert specification_text(document, "summary") is None
        assert quote_passage(Passage(document, "summary", 0, 1, text_digest("x"))) is None

    def test_missing_package_has_no_version(self):
        assert installed_version("no-such-package-of-onnx") is None


# Faults that onnx's checker does not detect are found.


def calling_model():
    """Return a model X → acme.Largest → Y with an unused initializer of two elements."""
    body = [helper.make_node("Neg", ["A"], ["B"])]
    function = helper.make_function("acme", "Largest", ["A"], ["B"], body, [helper.make_opsetid("", 21)])
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "XY"]
    graph = helper.make_graph(
        [helper.make_node("Largest", ["X"], ["Y"], domain="acme")],
        "graph",
        values[:1],
        values[1:],
        [helper.make_tensor("W", TensorProto.FLOAT, [2], [1.0, 2.0])],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("acme", 1)]
    return helper.make_model(graph, functions=[function], ir_version=10, opset_imports=imports)


def remove_function_output(model):
    del model.functions[0].output[:]


def remove_function_body(model):
    del model.functions[0].node[:]


def change_tensor_shape(model):
    model.graph.initializer[0].dims[:] = [3]


UNCHECKED = [(remove_function_output, ("acme.Largest", "outputs")), (remove_function_body, ("acme.Largest", "B"))]


def test_valid_model_has_no_unchecked_faults():
    assert list(find_unchecked_faults(calling_model())) == []


@pytest.mark.parametrize(("damage", "named"), UNCHECKED)
def test_fault_accepted_by_the_checker_is_found(damage, named):
    model = calling_model()
    damage(model)
    assert checker_error(model) is None
    (fault,) = find_unchecked_faults(model)
    assert all(name in fault for name in named)


def test_wrong_number_of_elements_is_found():
    model = calling_model()
    change_tensor_shape(model)
    (fault,) = find_unchecked_faults(model)
    assert "tensor W" in fault


def test_removed_function_with_call_is_found():
    after = calling_model()
    del after.functions[:]
    (fault,) = find_new_faults(calling_model(), after)
    assert "acme.Largest" in fault


def test_inlined_function_is_not_reported():
    after = calling_model()
    after.graph.node[0].CopyFrom(helper.make_node("Neg", ["X"], ["Y"]))
    del after.functions[:]
    assert list(find_new_faults(calling_model(), after)) == []


def test_external_tensor_is_not_checked():
    model = calling_model()
    tensor = model.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    assert list(find_unchecked_faults(model)) == []


@pytest.mark.parametrize("is_given_by_a_call", [False, True])
def test_infer_shapes_with_a_split_into_more_outputs_than_stated_does_not_run_onnx(is_given_by_a_call):
    """onnx ends the process."""
    node = helper.make_node("Split", ["x"], ["a", "b", "c"], num_outputs=2)
    model = helper.make_model(helper.make_graph([node], "g", [], []))
    if is_given_by_a_call:
        node.attribute[0].CopyFrom(onnx.AttributeProto(name="num_outputs", ref_attr_name="n", type="INT"))
        imports = [helper.make_opsetid("", 18)]
        model.functions.append(helper.make_function("own", "F", ["x"], ["a"], [node], imports, ["n"]))
        model.graph.node[0].CopyFrom(helper.make_node("F", ["x"], ["a"], domain="own", n=2))
    with pytest.raises(onnx.shape_inference.InferenceError, match="Split"):
        infer_shapes(model)


@pytest.mark.parametrize("equation", ["a..b", "ab....", "....", "ab-", "1...", "ab\n", "ij," * 30 + "!"])
@pytest.mark.parametrize("is_given_by_a_call", [False, True])
def test_infer_shapes_with_malformed_equation_does_not_run_onnx(equation, is_given_by_a_call):
    node = helper.make_node("Einsum", ["x"], ["y"], equation=equation)
    model = helper.make_model(helper.make_graph([node], "g", [], []))
    if is_given_by_a_call:
        node.attribute[0].CopyFrom(onnx.AttributeProto(name="equation", ref_attr_name="e", type="STRING"))
        imports = [helper.make_opsetid("", 17)]
        model.functions.append(helper.make_function("own", "F", ["x"], ["y"], [node], imports, ["e"]))
        model.graph.node[0].CopyFrom(helper.make_node("F", ["x"], ["y"], domain="own", e=equation))
    with pytest.raises(onnx.shape_inference.InferenceError, match="Einsum"):
        infer_shapes(model)


@pytest.mark.parametrize(
    "equation", ["", "ij,jk->ik", "i j , j k -> i k", "...ij,...jk->...ik", "bhwc,hkc", "i->", "->"]
)
def test_infer_shapes_with_equation_of_the_specification_runs_onnx(equation):
    node = helper.make_node("Einsum", ["x"] * (equation.count(",") + 1), ["y"], equation=equation)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)], [])
    assert infer_shapes(helper.make_model(graph)).graph.node == [node]
