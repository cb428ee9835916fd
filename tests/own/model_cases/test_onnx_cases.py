"""onnx's own node cases become a corpus with expected values and bounds of the reference."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tarfile
from collections import Counter
from copy import deepcopy
from fractions import Fraction
from math import erf

import numpy as np
import onnx
import pytest
from command_outputs import read_tree
from onnx import TensorProto, helper
from onnx.backend.test.loader import load_model_tests
from refusals import assert_bad_input
from script_modules import script_module
from session_cache import compute_once

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import VALUE_TAG
from conformance.corpus.cases.case_loading import load_case_in_memory, read_case_json
from conformance.corpus.cases.corpus import open_corpus
from conformance.corpus.generation.write_corpus import generate
from conformance.exact.declarations.declaration_tables import declarations_of
from conformance.exact.declarations.drawing import draw_node
from conformance.exact.reference.oracle import Answer
from conformance.own.model_cases.drawn_cases import (
    COVER,
    drawn_case_seeds,
    drawn_cases,
    opset_versions,
    sized_cases,
    typed_cases,
)
from conformance.own.model_cases.model_cases import data_types
from conformance.own.model_cases.onnx_cases import (
    DIFFERS_TAG,
    DRAWN_TAG,
    HARD_TAG,
    TENSORS_TAG,
    WIDER_TAG,
    array_of_value,
    define_onnx_cases,
)
from conformance.run.judging.compare import is_acceptable

release = script_module("release")

CHOSEN = (
    r"test_(adam|argmax_.*_example|cast_(e8m0_)?FLOAT_to_\w+|cast_e8m0_FLOAT16_\w+|clip|conv_with_strides_no_padding|convinteger_\w+|dequantizelinear_\w+"
    r"|dropout_default|quantizelinear(_\w+)?|sequence_insert_at_front|string_concat|bernoulli|relu|softmax_axis_1(_expanded\w*)?"
    r"|averagepool_2d_ceil_last_window_starts_on_pad|einsum_inner_prod)"
)


@pytest.fixture(scope="module")
def given_cases(onnx_node_cases):
    return {case.name: case for case in onnx_node_cases if re.fullmatch(CHOSEN, case.name)}


@pytest.fixture(scope="module")
def onnx_cases(given_cases, tmp_path_factory):
    return compute_once(tmp_path_factory, "onnx-cases", lambda: define_onnx_cases(given_cases.values()))


@pytest.fixture(scope="module")
def onnx_corpus(onnx_cases, tmp_path_factory):
    folder = tmp_path_factory.mktemp("onnx") / "corpus"
    generate(
        folder, onnx_cases.cases, onnx_cases.version, lambda _: None, is_versioned=False, added=onnx_cases.added_files()
    )
    return open_corpus(folder)


def by_id(onnx_cases):
    return {case.id: case for _, case in onnx_cases.cases}


def test_generate_of_chosen_operators_writes_their_cases_alone(command, here, given_cases, monkeypatch):
    monkeypatch.setattr("conformance.own.model_cases.onnx_cases.node_cases", lambda *_: list(given_cases.values()))
    ended = command("generate", "--onnx", "--operator", "Relu", "--output", "relu")
    assert ended.status == 0, ended
    corpus = open_corpus(here / "relu")
    found = {id: read_case_json(corpus, case) for id, case in corpus.cases.items()}
    assert {document.tags[0] for document in found.values()} == {"Relu"}
    assert {"test_relu", "test_relu_hard"} <= found.keys()
    assert_bad_input(
        command("generate", "--onnx", "--operator", "Relo", "--output", "other"), "name.not-in-onnx", "Relu"
    )


def test_generate_again_reuses_the_answers_that_have_not_changed(command, here, monkeypatch):
    first = ("generate", "--onnx", "--operator", "Not", "--output", "cases")
    more = (*first, "--operator", "And", "--replace")
    assert command(*first).status == 0
    before = read_tree(here / "cases")
    damaged = here / "cases/node/test_not_2d_hard/test_data_set_0/output_0.pb"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    with monkeypatch.context() as patch:
        patch.setattr("conformance.own.model_cases.corpus_request.code_digest", lambda: "0" * 64)
        ended = command(*first, "--replace")
        assert "data sets" not in ended.out
    assert command(*first, "--replace").status == 0
    assert read_tree(here / "cases") == before
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    assert command(*more).status == 0
    after = read_tree(here / "cases")
    assert {path: after[path] for path in before if path.startswith("node/")} == {
        path: content for path, content in before.items() if path.startswith("node/")
    }
    monkeypatch.setattr("conformance.own.model_cases.onnx_cases.enclose_outputs", None)  # nothing is computed
    ended = command(*more)
    assert ended.status == 0, ended
    assert f"{sum(path.endswith('/output_0.pb') for path in after)} data sets" in ended.out
    assert read_tree(here / "cases") == after


@pytest.mark.long
def test_module_of_onnx_names_the_operators_of_its_cases():
    script = """
import importlib, pkgutil, re
from onnx.backend.test.case import node
from conformance.own.model_cases.onnx_cases import _source_of, operators_by_case
cases = {}
for module in pkgutil.walk_packages(node.__path__, node.__name__ + "."):
    count = len(node._NodeTestCases)
    importlib.import_module(module.name)
    cases[module.name] = node._NodeTestCases[count:]
operators = operators_by_case(case for every in cases.values() for case in every)
pairs = {(module, operators[case.name]) for module, every in cases.items() for case in every}
assert len(pairs) > 150
assert all(re.search(rf"\\b{name}\\b", _source_of(module)) for module, name in pairs)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=300)


def test_define_onnx_cases_leaves_out_random_outputs(onnx_cases):
    reasons = onnx_cases.left_out
    assert reasons.keys() == {"test_bernoulli"}
    assert not reasons.keys() & by_id(onnx_cases).keys()


def test_case_of_a_sequence_has_the_tensors_that_onnx_inserts(onnx_corpus, given_cases):
    id = "test_sequence_insert_at_front"
    case = load_case_in_memory(onnx_corpus, onnx_corpus.cases[id])
    (data_set,) = case.data_sets()
    (_, outputs) = given_cases[id].data_sets[0]
    length, *items = [each.expected for each in data_set.outputs]
    assert length == len(outputs[0]) == len(items)
    assert all(map(np.array_equal, items, map(array_of_value, outputs[0])))
    assert [node.op_type for node in case.model.graph.node][:2] == ["SequenceConstruct", "SequenceInsert"]


def test_case_of_strings_has_the_texts_of_the_reference(onnx_corpus):
    (data_set,) = load_case_in_memory(onnx_corpus, onnx_corpus.cases["test_string_concat"]).data_sets()
    (expected,) = data_set.outputs
    assert expected.expected.tolist() == ["abc.com", "def.net"]


def test_define_onnx_cases_without_answer_keeps_onnx_value_at_should(given_cases):
    relu = deepcopy(given_cases["test_relu"])
    relu.model.graph.node[0].op_type = "Unknown"
    found = define_onnx_cases([relu])
    ((_, case),) = found.cases
    assert case.level is Level.SHOULD
    assert VALUE_TAG in case.tags
    assert found.own_values.keys() == {"test_relu"}
    (answer,) = case.answers[0]
    np.testing.assert_array_equal(answer.expected, relu.data_sets[0][1][0])
    np.testing.assert_allclose(answer.bound, relu.atol + relu.rtol * np.abs(answer.expected))


def test_expanded_case_has_operator_of_its_case(onnx_cases):
    expanded = [case for id, case in by_id(onnx_cases).items() if id.startswith("test_softmax_axis_1_expanded")]
    assert {case.tags[0] for case in expanded} == {"Softmax"}


@pytest.mark.parametrize(
    ("operator", "inputs", "expected"),
    [
        ("ArgMax", {"x": "FLOAT16"}, ["float16"]),
        ("Where", {"condition": "BOOL", "x": "DOUBLE", "y": "DOUBLE"}, ["double"]),
        ("QuantizeLinear", {"x": "FLOAT", "scale": "FLOAT", "zero": "UINT8"}, ["float"]),
        ("ConstantOfShape", {"shape": "INT64"}, ["bool"]),
        ("Unknown", {"x": "STRING"}, ["string"]),
    ],
)
def test_case_has_the_type_of_the_data_of_its_operator(operator, inputs, expected):
    values = [helper.make_tensor_value_info(name, getattr(TensorProto, type), [1]) for name, type in inputs.items()]
    node = helper.make_node(operator, list(inputs), ["z"])
    model = helper.make_model(helper.make_graph([node], "g", values, []))
    assert data_types(model, operator, [Answer(np.zeros(1, np.bool_))]) == expected


def test_onnx_corpus_accepts_outputs_of_onnx_but_of_marked_cases(onnx_corpus, onnx_cases, given_cases):
    whole = {id for id, case in by_id(onnx_cases).items() if TENSORS_TAG not in case.tags}
    own = {id: entry for id, entry in onnx_corpus.cases.items() if id in given_cases and id in whole}
    accepted = dict.fromkeys(own, True)
    for id, entry in own.items():
        data_sets = load_case_in_memory(onnx_corpus, entry).data_sets()
        for data_set, (_, outputs) in zip(data_sets, given_cases[id].data_sets, strict=True):
            for expected, output in zip(data_set.outputs, outputs, strict=True):
                accepted[id] &= is_acceptable(expected, array_of_value(output))
    marked = {id for id, case in by_id(onnx_cases).items() if DIFFERS_TAG in case.tags}
    assert {id for id, is_right in accepted.items() if not is_right} == marked
    assert marked == {"test_averagepool_2d_ceil_last_window_starts_on_pad"}


def test_onnx_corpus_has_licence_and_lists_other_cases(onnx_corpus, onnx_cases):
    notice = (onnx_corpus.path / "NOTICE").read_text(encoding="utf-8")
    assert "Apache License" in (onnx_corpus.path / "LICENSE").read_text(encoding="utf-8")
    assert all(name in notice for name in onnx_cases.left_out)
    wider = [id for id, case in by_id(onnx_cases).items() if WIDER_TAG in case.tags]
    assert wider
    assert all(f"  {id}\n" in notice for id in wider)


def test_onnx_loader_reads_onnx_corpus(onnx_corpus, tmp_path):
    (tmp_path / "simple").symlink_to(onnx_corpus.path / "node")  # onnx takes the kind "node" from its memory
    loaded = {case.name: case for case in load_model_tests(data_dir=str(tmp_path), kind="simple")}
    assert loaded.keys() == onnx_corpus.cases.keys()
    assert all(case.model_dir for case in loaded.values())


EXPECTED = "not (ceil_last or e8m0_FLOAT16_to_FLOAT8E8M0_hard or e8m0_FLOAT_to_FLOAT8E8M0_hard)"
"""Cases without a constant of four digits, and without a float that onnx's reference casts wrongly to FLOAT8E8M0."""


def test_run_of_onnx_corpus_passes_on_onnx_reference(command, onnx_corpus):
    ended = command("run", "--data", onnx_corpus.path, "-b", "onnx-reference", "--no-diagnosis", "-k", EXPECTED)
    assert ended.status == 0, ended.out
    assert f"of {len(onnx_corpus.cases)} cases" in ended.out


def test_export_of_onnx_corpus_keeps_its_licence_and_notice(command, onnx_corpus, tmp_path):
    assert command("export", tmp_path / "out", "--data", onnx_corpus.path).status == 0
    for name in ("LICENSE", "NOTICE"):
        assert (tmp_path / "out" / name).read_bytes() == (onnx_corpus.path / name).read_bytes()


def test_release_archive_of_onnx_cases_holds_the_corpus(onnx_corpus, tmp_path):
    tar = release.corpus_archive(onnx_corpus.path, "onnx-cases-28")
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # since Python 3.11.4
        archive.extractall(tmp_path)
    assert open_corpus(tmp_path / "onnx-cases-28").digest == onnx_corpus.digest
    assert (tmp_path / "onnx-cases-28" / "NOTICE").is_file()


def test_expected_doubles_of_products_are_exact_and_rounded_once(given_cases, onnx_cases):
    first, second = (array_of_value(each) for each in given_cases["test_einsum_inner_prod"].data_sets[0][0])
    exact = sum(Fraction(a) * Fraction(b) for a, b in zip(first.tolist(), second.tolist(), strict=True))
    assert by_id(onnx_cases)["test_einsum_inner_prod"].answers[0][0].expected == float(exact)


@pytest.mark.parametrize("name", ["test_flexattention_double", "test_reduce_log_sum_exp_keepdims_random"])
def test_expected_doubles_do_not_depend_on_matrix_products_of_the_machine(name, monkeypatch, onnx_node_cases):
    (given,) = (case for case in onnx_node_cases if case.name == name)
    cases = [case for _, case in define_onnx_cases([given]).cases]
    for function in (np.matmul, np.exp):

        def inexact(*arrays, own=function, **options):
            result = own(*arrays, **options)
            return result * (1 + 2.0**-52) if result.dtype == np.float64 else result

        monkeypatch.setattr(np, function.__name__, inexact)
    others = [case for _, case in define_onnx_cases([given]).cases]
    assert any(HARD_TAG in case.tags for case in cases) == (name != "test_flexattention_double")
    for case, other in zip(cases, others, strict=True):
        for answers, found in zip(case.answers, other.answers, strict=True):
            assert answers[0].expected.tobytes() == found[0].expected.tobytes()
            assert answers[0].bound.tobytes() == found[0].bound.tobytes()


@pytest.mark.parametrize("name", ["test_conv_ours_t_double", "test_lppool_ours_t_double", "test_einsum_ours_t_double"])
def test_doubles_of_drawn_nodes_do_not_depend_on_functions_of_the_machine(name, monkeypatch):
    operator = {"conv": "Conv", "lppool": "LpPool", "einsum": "Einsum"}[name.split("_")[1]]

    def expected():
        ((_, case),) = [each for each in typed_cases([], {operator}) if each[1].id == name]
        return [(answer.expected.tobytes(), answer.bound.tobytes()) for answers in case.answers for answer in answers]

    before = expected()
    for function in (np.matmul, np.einsum, np.power):

        def inexact(*arrays, own=function, **options):
            result = own(*arrays, **options)
            is_sum = not isinstance(arrays[0], str) or "," in arrays[0]
            return result * (1 + 2.0**-52) if result.dtype == np.float64 and is_sum else result

        monkeypatch.setattr(np, function.__name__, inexact)
    assert expected() == before


def test_inexact_doubles_of_drawn_nodes_exclude_results_in_float():
    ((_, case),) = [each for each in typed_cases([], {"Erf"}) if each[1].id == "test_erf_ours_t_double"]
    (answer,) = case.answers[0]
    assert answer.bound.any()
    is_large = np.isfinite(answer.expected) & (np.abs(answer.expected) > 0.1)
    assert is_large.any()
    assert (answer.bound[is_large] < 1e-13).all()
    right = np.vectorize(erf)(case.data_sets[0][0])
    assert is_acceptable(answer, right)
    assert not is_acceptable(answer, right.astype(np.float32).astype(np.float64))


def test_hard_cases_have_ties_of_quantization_and_numbers_that_need_float(onnx_cases):
    quantize, conv = (
        by_id(onnx_cases)[f"test_{name}_hard"] for name in ("quantizelinear", "conv_with_strides_no_padding")
    )
    for inputs in quantize.data_sets:
        assert (inputs[0] / inputs[1] % 1 == 0.5).any()
    X, _ = conv.data_sets[0]
    assert (X.astype(np.float16) != X).any()


def test_hard_case_has_model_of_onnx_and_keeps_inputs_that_are_not_free(onnx_cases, given_cases):
    hard = by_id(onnx_cases)["test_clip_hard"]
    assert hard.model == by_id(onnx_cases)["test_clip"].model
    assert HARD_TAG in hard.tags
    assert "test_dropout_default_hard" in by_id(onnx_cases)
    assert not any(id.startswith("test_adam") and HARD_TAG in case.tags for id, case in by_id(onnx_cases).items())


def test_hard_case_of_level_should_determines_what_level_must_leaves_open(onnx_node_cases):
    (given,) = (case for case in onnx_node_cases if case.name == "test_softplus")
    found = by_id(define_onnx_cases([given]))
    strict = found["test_softplus_hard_should"]
    assert (found["test_softplus_hard"].level, strict.level) == (Level.MUST, Level.SHOULD)
    answer = strict.answers[0][0]
    is_large = strict.data_sets[0][0] > 100
    assert is_large.any()
    np.testing.assert_allclose(answer.expected[is_large], strict.data_sets[0][0][is_large])
    assert np.isfinite(answer.bound[is_large]).all()


def test_expanded_case_admits_the_kernel_of_its_operator(onnx_node_cases):
    given = [case for case in onnx_node_cases if case.name in ("test_mish", "test_mish_expanded")]
    kernel, beside, alone = (
        by_id(define_onnx_cases(cases))[id].answers[0][0].bound
        for cases, id in ((given, "test_mish"), (given, "test_mish_expanded"), (given[1:], "test_mish_expanded"))
    )
    assert (beside >= kernel).all()
    assert (alone < kernel).any()


def test_drawn_cases_have_one_node_of_their_operator_and_finite_bounds():
    cases = [case for _, case in drawn_cases({"Abs", "ArgMax", "Gemm", "TopK"})]
    assert {case.tags[0] for case in cases} >= {"ArgMax", "Gemm"}
    assert len({case.id for case in cases}) == len(cases)
    for case in cases:
        model = onnx.ModelProto.FromString(case.model)
        assert [node.op_type for node in model.graph.node] == [case.tags[0]]
        assert DRAWN_TAG in case.tags
        assert all(answer.bound is None or np.isfinite(answer.bound).any() for answer in case.answers[0])


def test_sized_cases_have_more_axes_and_long_axes():
    found = {case.id: case for _, case in sized_cases({"LRN", "Softmax"})}
    shapes = {id: max((each.shape for each in case.data_sets[0]), key=len) for id, case in found.items()}
    assert {id: len(shape) for id, shape in shapes.items() if "rank" in id} == {
        "test_softmax_ours_rank_4": 4,
        "test_softmax_ours_rank_5": 5,
        "test_softmax_ours_rank_6": 6,
    }
    for id, case in found.items():
        initializers = onnx.ModelProto.FromString(case.model).graph.initializer
        sizes = sum([each.shape for each in case.data_sets[0]] + [tuple(each.dims) for each in initializers], ())
        length = 331 if "long" in id else 4099 if "far" in id else 0
        assert not length or any(size and size % length == 0 for size in sizes)
    assert {"test_softmax_ours_long_s1", "test_lrn_ours_long_d1", "test_softmax_ours_far_s2"} <= found.keys()
    assert all(len(case.answers) == 1 for case in found.values())


def test_sized_cases_of_far_axes_have_elements_with_a_trend():
    found = {case.id: case for _, case in sized_cases({"Hardmax", "ReduceMax", "Softmax"}) if "far_s2" in case.id}
    rows = [row for case in found.values() for row in case.data_sets[0][0]]
    finite = [row for row in rows if not np.isnan(row).any()]
    assert {int(place) // 2048 for row in finite for place in (row.argmax(), row.argmin())} == {0, 1}
    assert any(np.isnan(row[2048:]).any() and not np.isnan(row[:2048]).any() for row in rows)


def test_sized_cases_of_tables_have_the_number_of_cases_of_the_declarations():
    found = [case.id for _, case in sized_cases({"RegexFullMatch"}) if "table" in case.id]
    assert len(found) == sum(each.cases for each in declarations_of("RegexFullMatch"))


def test_seeds_draw_no_declaration_with_cases_of_its_own():
    places = {draw_node("Conv", f"x/{number}").choices["declaration"].index for number in range(40)}
    assert all(not declarations_of("Conv")[place].cases for place in places)


def test_sized_cases_of_equal_axes_have_square_operands():
    found = {case.id: case for _, case in sized_cases({"PRelu"})}
    assert any(case.data_sets[0][0].shape.count(3) >= 3 for id, case in found.items() if "equal" in id)


@pytest.mark.parametrize("operator", ["LogSoftmax", "Softmax", "TopK"])
def test_sized_cases_of_long_axes_have_the_axis_of_the_attribute(operator):
    found = {case.id: case for _, case in sized_cases({operator})}
    for name in ("long_s1", "long_s2"):
        case = found[f"test_{operator.lower()}_ours_{name}"]
        node = onnx.ModelProto.FromString(case.model).graph.node[0]
        axis = next((each.i for each in node.attribute if each.name == "axis"), -1)
        assert case.data_sets[0][0].shape[axis] == 331


def test_sized_cases_of_long_axes_have_outputs_that_vary():
    found = {case.id: case for _, case in sized_cases({"IsNaN"})}
    for name in ("long_s1", "long_s2"):
        (answer,) = found[f"test_isnan_ours_{name}"].answers[0]
        assert {*answer.expected.flat} == {True, False}


def test_drawn_cases_that_cover_dimensions_have_hard_elements_too():
    seeds = drawn_case_seeds({"Equal"})["Equal"]
    cases = {case.id: case for _, case in drawn_cases({"Equal"})}
    names = {seed: f"test_equal_ours_{number:02}" for number, seed in enumerate(seeds)}
    counts = {seed: len(cases[name].data_sets) for seed, name in names.items() if name in cases}
    assert {count for seed, count in counts.items() if not seed.startswith(COVER)} == {1}
    assert max(counts.values()) > 3
    wide = [each for case in cases.values() for each in case.data_sets if each[0].dtype.kind == "f"]
    assert any(np.isnan(first).any() for first, *_ in wide)


def test_drawn_cases_have_each_value_of_an_attribute():
    equations = {
        node.attribute[0].s.decode()
        for _, case in drawn_cases({"Einsum"})
        for node in onnx.ModelProto.FromString(case.model).graph.node
    }
    declared = {each for one in declarations_of("Einsum") for each in one.attributes["equation"]}
    assert equations == declared


@pytest.mark.long
def test_sized_cases_of_sizes_that_differ_in_capitals_have_different_names():
    names = [case.id for _, case in sized_cases({"Gemm", "MatMulInteger"})]
    assert len({name.lower() for name in names}) == len(names) > 8


def test_typed_cases_have_every_type_that_no_other_case_has():
    first = [case for _, case in typed_cases([], {"Add", "Gather"})]
    types = {onnx.ModelProto.FromString(case.model).graph.input[0].type.tensor_type.elem_type for case in first}
    assert types >= {TensorProto.FLOAT, TensorProto.BFLOAT16, TensorProto.INT32, TensorProto.UINT8, TensorProto.BOOL}
    left = [case for case in first if case.id != "test_add_ours_t_int32"]
    assert [case.id for _, case in typed_cases([("", case) for case in left], {"Add"})] == ["test_add_ours_t_int32"]


def test_typed_cases_have_types_of_variables_and_not_the_variable_of_an_operand():
    names = [case.id for _, case in typed_cases([], {"Attention"})]
    assert names == [f"test_attention_ours_t1_{name}" for name in ("float", "double", "float16", "bfloat16")]


@pytest.mark.long
def test_generate_writes_cases_of_all_operators(command, here):
    ended = command("generate", "--onnx", "--output", "all")
    assert ended.status == 0, ended.err
    assert len(open_corpus(here / "all").cases) > 5000


def test_generate_of_an_opset_writes_models_that_onnx_reads_as_its_versions(command, here):
    arguments = ("generate", "--onnx", "--operator", "Softmax", "--operator", "Squeeze", "--operator", "Scatter")
    assert command(*arguments, "--opset", "11", "--output", "old").status == 0
    corpus = open_corpus(here / "old")
    models = {id: load_case_in_memory(corpus, entry) for id, entry in corpus.cases.items()}
    assert {case.model.opset_import[0].version for case in models.values()} == {11}
    assert {case.model.graph.node[0].op_type for case in models.values()} == {
        "Softmax",
        "Squeeze",
    }  # Scatter is deprecated
    assert all(len(case.model.graph.node[0].input) == 1 for case in models.values())
    rows = next(each for each in models.values() if each.model.graph.node[0].op_type == "Softmax").held[0].outputs
    assert np.isfinite(rows[0].bound).any()


def test_generate_of_an_operator_without_a_case_of_onnx_writes_drawn_ones(command, here):
    assert command("generate", "--onnx", "--operator", "SVMClassifier", "--output", "drawn").status == 0
    corpus = open_corpus(here / "drawn")
    assert corpus.cases
    assert all(id.startswith("test_svmclassifier_ours_") for id in corpus.cases)


@pytest.mark.parametrize("operator", ["GRU", "Softmax"])
def test_generate_of_all_opsets_has_cases_of_each_version(operator, command, here):
    assert command("generate", "--onnx", "--operator", operator, "--opset", "all", "--output", "old").status == 0
    made = Counter(case.rsplit("_", 1)[0] for case in open_corpus(here / "old").cases)
    versions = opset_versions("all", {operator})[operator]
    assert made == {f"test_{operator.lower()}_opset_{opset}": 6 for _, opset in versions}


def test_all_versions_have_a_model_from_opset_7_on():
    versions = opset_versions("all", {"Softmax", "TopK", "Upsample", "Normalizer"})
    assert versions == {
        "Softmax": [(1, 7), (11, 11), (13, 13)],
        "TopK": [(1, 7), (10, 10), (11, 11), (24, 24)],
        "Upsample": [(7, 7), (9, 9)],
        "Normalizer": [(1, 1)],
    }


@pytest.mark.long
def test_each_seed_draws_a_node():
    for operator, seeds in drawn_case_seeds(None).items():
        for seed in seeds:
            assert draw_node(operator, seed).model.graph.node


def test_cases_of_a_table_have_each_value_of_an_attribute():
    tables = [case for _, case in sized_cases({"Softmax"}) if "table" in case.id]
    nodes = [onnx.ModelProto.FromString(case.model).graph.node[0] for case in tables]
    assert {axis for node in nodes for axis in [each.i for each in node.attribute] or [None]} == {None, 1, -3}
