"""Samples of large tensors agree with the judgement of all elements, and include special values."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from conformance.base.jobs import job
from conformance.exact.judgement import samples
from conformance.exact.judgement.node_comparison import enclose_part
from conformance.exact.judgement.samples import special_places
from conformance.exact.reference.node_enclosures import NodeScope, enclose
from conformance.exact.reference.numbers.enclosure import Enclosure
from conformance.own.audit import node_verdicts
from conformance.own.audit.node_verdicts import JudgementOptions, NodeVerdict, judge_nodes
from conformance.own.graphs.intermediate_values import ExposedValues, Exposure


@pytest.fixture(autouse=True)
def _small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "SAMPLED_ABOVE", 400)
    monkeypatch.setattr(samples, "SAMPLE_SHARE", 2)
    monkeypatch.setattr(samples, "CLIPS_SAMPLED_ABOVE", 400)
    monkeypatch.setattr(node_verdicts, "WHOLE_ELEMENTS", 0)


def make_case(
    op_type: str, shapes: list[tuple[int, ...]], integers: dict[int, Any], opset: int, **attributes: Any
) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """Return a model of one node, and the values of its operands and of its outputs, which are correct."""
    random = np.random.default_rng(0)
    names = [f"i{k}" for k in range(len(shapes) + len(integers))]
    floats = iter(shapes)
    values: dict[str, Any] = {
        name: integers[k] if k in integers else np.abs(random.standard_normal(next(floats))).astype(np.float32)
        for k, name in enumerate(names)
    }
    node = onnx.helper.make_node(op_type, names, ["Y"], **attributes)
    model = onnx.helper.make_model(
        onnx.helper.make_graph([node], "g", [], []), opset_imports=[onnx.helper.make_opsetid("", opset)]
    )
    with np.errstate(all="ignore"):
        (result,) = enclose(NodeScope.of(model), node, values)
    assert result is not None
    exact = result if isinstance(result, np.ndarray) else result.value.astype(result.dtype)
    return model, {**values, "Y": exact}


AXES = np.array([2], np.int64)
WEIGHTS = np.random.default_rng(1).integers(-100, 100, (40, 30)).astype(np.int8)
CASES: list[Any] = [
    ("Softmax", [(2, 50, 20)], {}, 17, {"axis": 2}),
    ("Softmax", [(2, 50, 20)], {}, 17, {"axis": 1}),
    ("Softmax", [(50, 4, 10)], {}, 11, {"axis": 1}),
    ("LogSoftmax", [(50, 30)], {}, 17, {}),
    ("LayerNormalization", [(2, 40, 20), (20,), (20,)], {}, 17, {"axis": -1}),
    ("LayerNormalization", [(40, 10, 5), (10, 5)], {}, 17, {"axis": 1}),
    ("MatMul", [(60, 30), (30, 50)], {}, 17, {}),
    ("MatMul", [(3, 40, 10), (10, 60)], {}, 17, {}),
    ("MatMul", [(4, 10, 20), (4, 20, 30)], {}, 17, {}),
    ("MatMul", [(1, 10), (10, 700)], {}, 17, {}),
    ("Gemm", [(30, 20), (40, 30), (40,)], {}, 17, {"transA": 1, "transB": 1, "alpha": 0.5}),
    ("Gemm", [(20, 30), (30, 40), (20, 1)], {}, 17, {"beta": 2.0}),
    ("Conv", [(2, 3, 12, 12), (30, 3, 3, 3), (30,)], {}, 17, {"pads": [1, 1, 1, 1]}),
    ("Conv", [(1, 60, 9, 9), (60, 1, 3, 3), (60,)], {}, 17, {"group": 60}),
    ("ConvTranspose", [(1, 4, 9, 9), (4, 30, 2, 2), (30,)], {}, 17, {"strides": [2, 2]}),
    ("BatchNormalization", [(2, 30, 5, 5), (30,), (30,), (30,), (30,)], {}, 17, {}),
    ("InstanceNormalization", [(2, 30, 12), (30,), (30,)], {}, 17, {}),
    ("GroupNormalization", [(30, 4, 12), (4,), (4,)], {}, 21, {"num_groups": 2}),
    ("ReduceSum", [(5, 20, 10)], {1: AXES}, 17, {"keepdims": 0}),
    ("ReduceMean", [(5, 20, 10)], {}, 17, {"axes": [0], "keepdims": 0}),
    ("ArgMax", [(50, 20)], {}, 17, {"axis": 1, "keepdims": 0}),
    ("GlobalAveragePool", [(2, 40, 6, 6)], {}, 17, {}),
    ("MaxPool", [(1, 40, 8, 8)], {}, 17, {"kernel_shape": [2, 2]}),
    ("Add", [(2, 30, 20), (30, 1)], {}, 17, {}),
    ("Mul", [(1, 30, 40), (5, 1, 40)], {}, 17, {}),
    ("Clip", [(40, 30)], {1: np.array(0.5, np.float32)}, 17, {}),
    ("PRelu", [(2, 30, 20), (30, 1)], {}, 17, {}),
    ("Cast", [(2, 30, 20)], {}, 17, {"to": onnx.TensorProto.FLOAT16}),
    ("DequantizeLinear", [()], {0: WEIGHTS}, 21, {}),
    ("DequantizeLinear", [(40,)], {0: WEIGHTS, 2: WEIGHTS[:, 0]}, 21, {"axis": 0}),
    ("DequantizeLinear", [(30,)], {0: WEIGHTS}, 21, {"axis": -1}),
    ("DequantizeLinear", [(5, 30)], {0: WEIGHTS, 2: WEIGHTS[:5]}, 21, {"axis": 0, "block_size": 8}),
]


@pytest.mark.parametrize(("op_type", "shapes", "integers", "opset", "attributes"), CASES)
def test_sampled_rows_find_a_wrong_extreme_and_accept_correct_elements(
    op_type: str, shapes: Any, integers: Any, opset: int, attributes: Any
) -> None:
    model, values = make_case(op_type, shapes, integers, opset, **attributes)
    (correct,) = judge_nodes(model, ExposedValues(dict(values), {}, []))
    assert (correct.verdict, correct.reason) == (NodeVerdict.CORRECT, None)
    assert 0 < correct.elements < correct.all_elements
    for place in (0, int(np.argmax(values["Y"])), values["Y"].size - 1):
        wrong = values["Y"].copy()
        wrong.flat[place] += wrong.dtype.type(1000)  # now an extreme of the output
        (found,) = judge_nodes(model, ExposedValues({**values, "Y": wrong}, {}, []))
        assert found.verdict is NodeVerdict.WRONG
        if op_type != "ArgMax" or place == 0:
            assert found.worst is not None
            assert found.worst.index == np.unravel_index(place, wrong.shape)
    (whole,) = judge_nodes(model, ExposedValues(dict(values), {}, []), options=JudgementOptions(all_elements=True))
    assert whole.elements == whole.all_elements


def test_output_of_a_wrong_shape_is_wrong_in_a_sample() -> None:
    model, values = make_case("Softmax", [(60, 20)], {}, 17)
    values["Y"] = values["Y"][:50]
    (node,) = judge_nodes(model, ExposedValues(values, {}, []))
    assert node.verdict is NodeVerdict.WRONG


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, 1e-40, 1e30, -1e30])
def test_sample_of_rows_has_each_special_value(special: float) -> None:
    model, values = make_case("Softmax", [(997, 10)], {}, 17)
    values["i0"][613, 4] = special
    node = model.graph.node[0]
    known = {"i0": values["i0"]}
    sample = samples.take_sample(node, NodeScope.of(model), known, {"Y": values["Y"]}, samples.SAMPLED_ABOVE)
    assert sample is not None
    assert 613 in sample.indices[0, 0]
    assert len(sample.indices[0, 0]) < 200


def test_special_places_have_ties() -> None:
    array = np.random.default_rng(3).permutation(2000).astype(np.float32)
    array[[20, 70]] = 5000
    array[[21, 71]] = -5000
    assert {20, 70, 21, 71} <= set(np.concatenate(list(special_places(array, 8))).tolist())
    array[30] = array[31]
    dense = np.concatenate([*special_places(np.repeat(array, 50), 8)])
    assert len(dense) > 12


def test_equal_small_nodes_are_judged_once_and_a_different_one_again(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = "a = Unsqueeze (X, i) b = Unsqueeze (X, i) c = Unsqueeze (X, i) d = Unsqueeze (X, j)"
    text = f"m (float[2] X, int64[1] i, int64[1] j) => (float[N, M] d) {{ {nodes} }}"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 13]> {text}')
    X = np.array([1, 2], np.float32)
    values = {"X": X, "i": np.array([0]), "j": np.array([1]), **dict.fromkeys("abc", X[None]), "d": X[:, None]}
    values["c"] = np.array([[1, 3]], np.float32)
    judged = []

    def count(*arguments: Any) -> Any:
        judged.append(arguments[1].output[0])
        return enclose_part(*arguments)

    monkeypatch.setattr("conformance.own.audit.node_verdicts.enclose_part", count)
    found = judge_nodes(model, ExposedValues(values, {}, []))
    assert judged == ["a", "c", "d"]
    assert [(node.number, node.name, str(node.verdict)) for node in found] == [
        (0, "a", "correct"),
        (1, "b", "correct"),
        (2, "c", "wrong"),
        (3, "d", "correct"),
    ]


def test_enclosures_of_hidden_constants_are_kept_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = onnx.parser.parse_graph("""
        g (float[1, 2] x, int8[2, 3] q, int8[2, 3] p, float s) => (float[1, 3] Y) {
            w = DequantizeLinear (q, s)
            v = DequantizeLinear (p, s)
            u = MatMul (x, w)
            t = MatMul (x, v)
            Y = Add (u, t)
        }""")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    x, q, p = np.ones((1, 2), np.float32), np.full((2, 3), 3, np.int8), np.full((2, 3), 4, np.int8)
    values: dict[str, Any] = {"x": x, "q": q, "p": p, "s": np.float32(0.5), "Y": np.full((1, 3), 7, np.float32)}
    ways = dict.fromkeys(["q", "p", "s"], Exposure.CONSTANT)
    judged = []
    for limit, kept in ((100, ["w", "v"]), (6, ["v"])):
        monkeypatch.setattr(node_verdicts, "MAX_KEPT_ELEMENTS", limit)
        exposed = ExposedValues(values, ways, [], enclosed={})
        judged += [judge_nodes(model, exposed) for _ in range(2)]
        assert list(exposed.enclosed or ()) == kept
    assert all(each == judge_nodes(model, ExposedValues(values, ways, [])) for each in judged)
    assert judged[0][-1].verdict is NodeVerdict.CORRECT


@pytest.mark.parametrize(("op_type", "shapes", "integers", "opset", "attributes"), CASES[-5:])
def test_large_constant_that_a_hidden_node_converts_is_computed_where_a_sample_takes_it(
    op_type: str, shapes: Any, integers: Any, opset: int, attributes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, values = make_case(op_type, shapes, integers, opset, **attributes)
    weights = values.pop("Y").astype(np.float64)
    model.graph.node[0].output[0] = "W"
    operator = "MatMul" if op_type == "DequantizeLinear" else "Mul"
    model.graph.node.append(helper.make_node(operator, ["x", "W"], ["Y"]))
    x = np.ones((3, 40) if operator == "MatMul" else (1,), weights.dtype)
    exact = x @ weights if operator == "MatMul" else weights
    dtype = np.float32 if operator == "MatMul" else np.float16
    ways = dict.fromkeys(values, Exposure.CONSTANT)
    sizes: list[int] = []

    def measured(scope: Any, node: Any, known: Any) -> Any:
        results = enclose(scope, node, known)
        sizes.append(results[0].value.size if isinstance(results[0], Enclosure) else 0)
        return results

    monkeypatch.setattr(node_verdicts, "enclose", measured)
    for factor, verdict in ((1, NodeVerdict.CORRECT), (1.1, NodeVerdict.WRONG)):
        known = {**values, "x": x.astype(dtype), "Y": (exact * factor).astype(dtype)}
        for keeps_float in (False, True):
            options = JudgementOptions(keeps_float=keeps_float)
            *_, judged = judge_nodes(model, ExposedValues(known, ways, []), options=options)
            assert judged.verdict is verdict
            assert judged.segment == (0,)
    assert len(sizes) == 4
    assert 0 < max(sizes[::2]) < weights.size
    assert op_type == "Cast" or 0 < max(sizes) < weights.size
    whole = judge_nodes(model, ExposedValues(known, ways, []), options=JudgementOptions(all_elements=True))
    assert whole[-1].verdict is NodeVerdict.WRONG
    assert len(sizes) == 4


def test_hidden_product_with_hidden_weights_is_computed_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    model, values = make_case("DequantizeLinear", [(30,)], {0: WEIGHTS}, 21, axis=-1)
    weights = values.pop("Y").astype(np.float64)
    model.graph.node[0].output[0] = "W"
    model.graph.node.extend([helper.make_node("MatMul", ["x", "W"], ["h"]), helper.make_node("Neg", ["h"], ["Y"])])
    x = np.random.default_rng(5).standard_normal((3, 40)).astype(np.float32)
    ways = dict.fromkeys(values, Exposure.CONSTANT)
    known = {**values, "x": x, "Y": -(x.astype(np.float64) @ weights).astype(np.float32)}
    whole = judge_nodes(model, ExposedValues(known, ways, []), options=JudgementOptions(all_elements=True))[-1]
    sizes: list[int] = []

    def measured(scope: Any, node: Any, given: Any, **options: Any) -> Any:
        results = enclose(scope, node, given, **options)
        sizes.append(results[0].value.size)
        return results

    monkeypatch.setattr(node_verdicts, "enclose", measured)
    for factor, verdict in ((1, NodeVerdict.CORRECT), (1.01, NodeVerdict.WRONG)):
        given = {**known, "Y": known["Y"] * np.float32(factor)}
        judged = judge_nodes(model, ExposedValues(given, ways, []))[-1]
        assert (judged.verdict, judged.segment) == (verdict, (0, 1))
        if factor == 1:
            assert judged.noticed == pytest.approx(whole.noticed)
            assert judged.should_noticed == pytest.approx(whole.should_noticed)
    assert 0 < max(sizes) <= samples.SAMPLED_ABOVE


def test_node_with_too_large_values_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    model, values = make_case("Hardmax", [(40, 30)], {}, 17)
    [judged] = judge_nodes(model, ExposedValues(values, {}, []))
    assert judged.verdict is NodeVerdict.CORRECT
    monkeypatch.setattr("conformance.own.audit.node_verdicts.MAX_VALUE_BYTES", 2 * values["Y"].nbytes - 1)
    [judged] = judge_nodes(model, ExposedValues(values, {}, []))
    assert judged.verdict is NodeVerdict.NOT_JUDGED


@pytest.mark.parametrize(("axis", "has_sample"), [(1, True), (0, False)])
def test_option_of_samples_is_advised_only_where_it_helps(
    monkeypatch: pytest.MonkeyPatch, axis: int, has_sample: bool
) -> None:
    model, values = make_case("ReduceSum", [(4000, 2) if axis else (8000,)], {1: np.array([axis])}, 17)
    monkeypatch.setattr("conformance.exact.judgement.samples.SAMPLED_ABOVE", 1000)
    monkeypatch.setattr("conformance.own.audit.node_verdicts.MAX_VALUE_BYTES", 8000 * 4 - 1)
    [judged] = judge_nodes(model, ExposedValues(values, {}, []), options=JudgementOptions(all_elements=True))
    assert judged.verdict is NodeVerdict.NOT_JUDGED
    assert ("--all-elements" in str(judged.reason)) is has_sample


@pytest.mark.parametrize(
    ("operator", "shapes", "integers"), [("Expand", [(40, 1)], {1: np.array([40, 30])}), ("Relu", [(40, 30)], {})]
)
def test_large_values_are_judged_whole_where_the_reference_only_copies(
    monkeypatch: pytest.MonkeyPatch, operator: str, shapes: Any, integers: Any
) -> None:
    model, values = make_case(operator, shapes, integers, 17)
    monkeypatch.setattr("conformance.own.audit.node_verdicts.MAX_VALUE_BYTES", values["Y"].nbytes)
    monkeypatch.setattr("conformance.exact.reference.node_enclosures.MAX_OUTPUT_ELEMENTS", 2)
    other = {**values, "Y": values["Y"].copy()}
    other["Y"][-1, -1] += 1
    verdicts = [judge_nodes(model, ExposedValues(each, {}, []))[0] for each in (values, other)]
    assert [each.verdict for each in verdicts] == [NodeVerdict.CORRECT, NodeVerdict.WRONG]
    assert [each.elements for each in verdicts] == [1200, 1200]
    monkeypatch.setattr("conformance.own.audit.node_verdicts.MAX_COPYING_BYTES", values["Y"].nbytes)
    [judged] = judge_nodes(model, ExposedValues(values, {}, []))
    assert judged.verdict is NodeVerdict.NOT_JUDGED


def test_node_whose_judgement_takes_too_many_operations_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    model, values = make_case("MatMul", [(4, 30), (30, 5)], {}, 17)
    for limit, verdict in ((4 * 30 * 5 * 2, NodeVerdict.CORRECT), (4 * 30 * 5 - 1, NodeVerdict.NOT_JUDGED)):
        monkeypatch.setattr("conformance.own.audit.node_verdicts.MAX_JUDGED_OPERATIONS", limit)
        [judged] = judge_nodes(model, ExposedValues(values, {}, []))
        assert judged.verdict is verdict
    assert judged.reason is not None
    assert "--shape" in judged.reason


def test_node_whose_expected_values_take_too_long_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = onnx.parser.parse_graph("""
        g (float[2] X, int64 M, bool c) => (float[2] Y) {
            Y = Loop (M, c, X) <body = body (int64 i, bool go, float[2] a) => (bool next, float[2] b) {
                next = Identity (go)
                b = Neg (a)
            }>
        }""")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    zeros = np.zeros(2, np.float32)
    values: dict[str, Any] = {"X": zeros, "M": np.array(600), "c": np.array(True), "Y": zeros}
    monkeypatch.setattr("conformance.base.jobs.job._ended", Counter())
    verdicts = []
    for seconds in (60.0, 0.01, 1e9):
        monkeypatch.setattr("conformance.base.jobs.job.MAX_EVALUATION_SECONDS", seconds)
        [judged] = judge_nodes(model, ExposedValues(values, {}, []))
        verdicts.append(judged.verdict)
    assert verdicts == [NodeVerdict.CORRECT, NodeVerdict.NOT_JUDGED, NodeVerdict.CORRECT]
    assert job._ended.total() == 1
