"""The judged share of a model: open elements, loose bounds, levels, and the share that is required."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from computing_backend import Computes, evaluate
from msgspec import structs
from onnx import NodeProto, TensorProto, helper, numpy_helper

from conformance.base.serialization.decoding import decode_json, encode_json
from conformance.base.verdicts import Level
from conformance.own.audit.audit_page import colour_class, render_page
from conformance.own.audit.audit_report import AuditOutcome, JudgedShare, audit_document, summary_text
from conformance.own.audit.audit_results import audit_results
from conformance.own.audit.audit_session import AuditOptions, SubjectAudit, audit_subject
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.own.graphs.arithmetic import operation_count
from conformance.own.graphs.model_inputs import InputSet
from conformance.own.graphs.reading import LoadedModel
from conformance.run.results.records import OpenElements, Result
from conformance.subjects.calling.subject_names import Subject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

NAN = np.float32("nan")


def changed(change: Callable[[list[Any]], list[Any]]) -> Computes:
    """Return onnx's evaluator, with the outputs of a run changed by a function."""
    return Computes(lambda model, inputs: change(evaluate(model, inputs)))


def write(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, int],
    weights: Mapping[str, Any] | None = None,
    opset: int = 18,
) -> LoadedModel:
    """Write a model, whose inputs have the types of some arrays, and read it for an audit."""
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    made = [onnx.ValueInfoProto(name=name) for name in outputs]
    for value, (name, type) in zip(made, outputs.items(), strict=True):
        value.CopyFrom(helper.make_tensor_value_info(name, type, None))
    tensors = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "g", given, made, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return LoadedModel.read(path)


def without_reference(name: str) -> onnx.NodeProto:
    """Return a node that the reference cannot judge: an inverse transform of half of a spectrum."""
    return helper.make_node("DFT", [name], ["Y"], inverse=1, onesided=1)


def audit(model: LoadedModel, inputs: Mapping[str, Any], backend: Any = None, probes: int = 0) -> SubjectAudit:
    subject = Subject("changed", "1", backend or Computes())
    return audit_subject(model, subject, InputSet("given", tuple(inputs.values())), options=AuditOptions(probes=probes))


def zeros(outputs: list[Any]) -> list[Any]:
    return [np.zeros_like(output) for output in outputs]


def test_operator_without_reference_alone_is_not_enough(tmp_path: Path) -> None:
    inputs = {"X": np.ones((2, 3, 2), np.float32)}
    model = write(tmp_path / "m.onnx", [without_reference("X")], inputs, {"Y": TensorProto.FLOAT})
    found = JudgedShare.of([audit(model, inputs)])
    assert (found.nodes, found.all_nodes, found.unjudged) == (0, 1, {"DFT": 1})
    assert not found.is_enough(0.0)


def test_share_is_that_of_the_arithmetic_if_it_is_smaller(tmp_path: Path) -> None:
    inputs = {"X": np.ones((1, 2, 2), np.float32)}
    nodes = [
        helper.make_node("Identity", ["X"], ["A"]),
        helper.make_node("MatMul", ["A", "A"], ["B"]),
        without_reference("B"),
    ]
    found = JudgedShare.of([audit(write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT}), inputs)])
    assert (found.operations, found.all_operations) == (4 + 8, 4 + 8 + 4)
    assert (found.elements, found.all_elements) == (8, 10)
    assert found.share == 2 / 3
    assert found.is_enough(0.66)
    assert not found.is_enough(0.67)


def test_share_is_that_of_the_elements_if_it_is_the_smallest(tmp_path: Path) -> None:
    inputs = {"X": np.array([NAN, 1, NAN, 2], np.float32)}
    nodes = [helper.make_node("Relu", ["X"], ["Y"])]
    found = JudgedShare.of([audit(write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT}), inputs)])
    assert (found.nodes, found.elements, found.open_elements, found.share) == (1, 2, 2, 1.0)


@pytest.mark.parametrize(
    ("values", "verdict", "counted"),
    [
        ([1, 3, 5, 2], "pass", None),
        ([NAN, 1, NAN, 2], "pass", OpenElements(4, 2)),
        ([NAN] * 4, "skipped", None),
    ],
)
def test_result_of_an_audit_counts_open_elements_and_passes_only_what_was_judged(
    tmp_path: Path, values: list[float], verdict: str, counted: OpenElements | None
) -> None:
    inputs = {"X": np.array(values, np.float32)}
    nodes = [helper.make_node("Relu", ["X"], ["Y"])]
    model = write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT})
    document = audit_document(model, [audit(model, inputs)], ["X float 4"], 0)
    records = audit_results(document, {}).records
    (result,) = (each for each in records if isinstance(each, Result) and "relu" in each.case)
    assert (str(result.verdict), result.open_elements) == (verdict, counted)


class TestWeakNodes:
    """A product of matrices in float16, whose bound on the user's data is wide, and on exact sums narrow."""

    @pytest.fixture
    def model(self, tmp_path: Path) -> LoadedModel:
        weights = {"W": np.random.default_rng(1).random((96, 2)).astype(np.float16)}
        nodes = [helper.make_node("MatMul", ["X", "W"], ["Y"])]
        return write(tmp_path / "m.onnx", nodes, self.inputs, {"Y": TensorProto.FLOAT16}, weights)

    inputs: Mapping[str, Any] = {"X": np.random.default_rng(0).random((3, 96)).astype(np.float16)}

    def test_node_on_which_one_percent_passes_is_weak_and_does_not_count(self, model: LoadedModel) -> None:
        result = audit(model, self.inputs)
        assert [node.terms for node in result.weak_nodes(Level.MUST)] == [96]
        found = JudgedShare.of([result])
        assert (found.nodes, found.weak_nodes, found.share) == (1, 1, 0)

    def test_change_of_the_smallest_noticed_error_is_wrong_and_a_smaller_one_is_not(self, model: LoadedModel) -> None:
        (node,) = audit(model, self.inputs).nodes
        for change, verdict in ((1.3, NodeVerdict.WRONG), (0.5, NodeVerdict.CORRECT)):
            factor = np.float16(1 + change * node.noticed)
            backend = changed(lambda outputs, factor=factor: [output * factor for output in outputs])
            assert [each.verdict for each in audit(model, self.inputs, backend).nodes] == [verdict]

    def test_exact_sums_notice_a_small_error(self, model: LoadedModel) -> None:
        result = audit(model, self.inputs, probes=1)
        assert result.weak_nodes(Level.MUST) == []
        assert result.noticed(result.nodes[0]) * 96 < 1  # a lost term is wrong
        assert (JudgedShare.of([result]).weak_nodes, result.probes[0].node.noticed < 0.01) == (0, True)

    def test_hard_values_that_are_judged_at_should_only_do_not_make_the_node_strong(self, model: LoadedModel) -> None:
        result = audit(model, self.inputs, probes=1)
        (probe,) = result.probes
        at_should = structs.replace(probe.node, level=Level.SHOULD, noticed=math.inf, should_noticed=1e-3)
        changed = replace(result, probes=[replace(probe, node=at_should)])
        assert [len(changed.weak_nodes(level)) for level in (Level.MUST, Level.SHOULD)] == [1, 0]

    def test_command_does_not_count_a_weak_node_as_judged(
        self, model: LoadedModel, command: Any, tmp_path: Path
    ) -> None:
        np.savez(tmp_path / "x.npz", **self.inputs)
        words = ["audit", tmp_path / "m.onnx", "-b", "onnx-reference", "--no-isolation", "--inputs", tmp_path / "x.npz"]
        statuses = [
            command(
                *words, "--probes", probes, "--require-judged", "0.01", "--json", tmp_path / f"{probes}.json"
            ).status
            for probes in ("0", "1")
        ]
        assert statuses == [1, 0]
        weak, strong = (decode_json((tmp_path / f"{probes}.json").read_bytes())["audits"][0] for probes in ("0", "1"))
        assert [each["judged"]["weak_nodes"] for each in (weak, strong)] == [1, 0]
        assert (weak["nodes"][0]["noticed"] > 0.01, weak["nodes"][0]["terms"]) == (True, 96)
        assert strong["probes"][0]["noticed"] < 0.01


def test_results_of_hard_values_without_a_relative_error_do_not_make_a_weak_node_strong(tmp_path: Path) -> None:
    inputs = {"X": np.linspace(0.9, 1.1, 64).astype(np.float16)}
    model = write(
        tmp_path / "m.onnx", [helper.make_node("ReduceProd", ["X"], ["Y"])], inputs, {"Y": TensorProto.FLOAT16}
    )
    result = audit(model, inputs, probes=12)
    assert len(result.weak_nodes(Level.MUST)) == 1
    assert result.noticed(result.nodes[0]) > 0.01


def test_node_outside_of_should_counts_as_judged_if_other_hard_values_are_judged_at_must(tmp_path: Path) -> None:
    def add_in_float16(model: onnx.ModelProto, inputs: list[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            _, *others = evaluate(model, inputs)
            total = np.zeros((2, 1), np.float16)
            for column in inputs[0].T:
                total = total + column[:, np.newaxis]
        return [total, *others]

    inputs = {"X": np.ones((2, 4096), np.float16)}
    nodes = [helper.make_node("ReduceSum", ["X", "A"], ["Y"])]
    model = write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT16}, {"A": np.array([1])})
    (probe,) = audit(model, inputs, Computes(add_in_float16), probes=2).probes
    assert (probe.node.verdict, probe.node.level) == (NodeVerdict.CORRECT, Level.MUST)
    assert probe.node.should_worst is not None


@pytest.mark.parametrize(
    ("selected", "verdict"),
    [
        ([5, 4, 3], NodeVerdict.UNSPECIFIED),
        ([NAN, 5, 4], NodeVerdict.UNSPECIFIED),
        ([5, 1, NAN], NodeVerdict.WRONG),
        ([5, 4, 1], NodeVerdict.WRONG),
    ],
)
def test_topk_with_nan_keeps_the_order_of_the_numbers(
    tmp_path: Path, selected: list[float], verdict: NodeVerdict
) -> None:
    inputs = {"X": np.array([3, 5, NAN, 1, 4], np.float32)}
    nodes = [helper.make_node("TopK", ["X", "K"], ["V", "I"], axis=0)]
    outputs = {"V": TensorProto.FLOAT, "I": TensorProto.INT64}
    model = write(tmp_path / "m.onnx", nodes, inputs, outputs, {"K": np.array([3])})
    backend = changed(lambda found: [np.array(selected, np.float32), found[1]])
    assert [node.verdict for node in audit(model, inputs, backend).nodes] == [verdict]


@pytest.mark.parametrize(
    ("op_type", "shapes", "attributes", "count"),
    [
        ("MatMul", [(4, 5), (5, 6), (4, 6)], {}, 120),
        ("Gemm", [(5, 4), (5, 6), (4, 6)], {"transA": 1}, 120),
        ("Conv", [(1, 2, 8, 8), (3, 2, 3, 3), (1, 3, 6, 6)], {}, 3 * 36 * 18),
        ("ConvTranspose", [(1, 2, 4, 4), (2, 3, 3, 3), (1, 3, 6, 6)], {}, 32 * 27),
        ("Add", [(4, 1), (1, 5), (4, 5)], {}, 20),
        ("MaxPool", [(1, 1, 4, 4), (1, 1, 3, 3)], {"kernel_shape": [2, 2]}, 36),
    ],
)
def test_operation_count_has_the_terms_of_all_sums(
    op_type: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any], count: int
) -> None:
    names = [f"v{number}" for number in range(len(shapes))]
    node = helper.make_node(op_type, names[:-1], names[-1:], **attributes)
    assert operation_count(node, dict(zip(names, shapes, strict=True))) == count


def test_zeros_of_a_long_float16_product_are_judged_at_should_only(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    inputs = {"X": random.standard_normal((2, 4096)).astype(np.float16)}
    weights = {"W": random.standard_normal((4096, 4)).astype(np.float16)}
    nodes = [helper.make_node("MatMul", ["X", "W"], ["Y"])]
    model = write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT16}, weights)
    result = audit(model, inputs, changed(zeros))
    (node,) = result.nodes
    assert (node.verdict, node.level, node.level_share) == (NodeVerdict.CORRECT, Level.SHOULD, node.should_share)
    assert node.verdict_text in render_page(model, [result], [])
    assert [node.judged_elements(level) for level in (Level.MUST, Level.SHOULD)] == [0, 8]
    outcomes = [AuditOutcome.of([result], level) for level in (Level.MUST, Level.SHOULD)]
    assert outcomes == [AuditOutcome.NO_VERDICT, AuditOutcome.FAILED]
    assert (JudgedShare.of([result]).wrong, JudgedShare.of([result]).wrong_at_should) == (0, 1)
    assert "0 of 1 nodes judged, 1 more at level should" in JudgedShare.of([result]).text
    assert (result.has_faults_at(Level.MUST), result.has_faults_at(Level.SHOULD)) == (False, True)


def test_masked_softmax_is_judged_although_half_of_its_elements_are_zero(tmp_path: Path) -> None:
    inputs = {"X": np.where(np.arange(64).reshape(4, 16) % 4 < 3, -1e4, 0).astype(np.float32)}
    nodes = [helper.make_node("Softmax", ["X"], ["Y"])]
    (node,) = audit(write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT}), inputs).nodes
    assert (node.verdict, node.loose) == (NodeVerdict.CORRECT, 0)


def test_sign_of_zero_is_a_requirement_of_level_should(tmp_path: Path) -> None:
    inputs = {"X": np.array([0, -0.0, 1], np.float32)}
    model = write(tmp_path / "m.onnx", [helper.make_node("Neg", ["X"], ["Y"])], inputs, {"Y": TensorProto.FLOAT})
    correct, wrong = audit(model, inputs), audit(model, inputs, changed(lambda outputs: [np.abs(outputs[0]) * -1 + 0]))
    assert not correct.has_faults_at(Level.SHOULD)
    assert [node.verdict for node in wrong.nodes] == [NodeVerdict.CORRECT]
    (node,) = wrong.nodes_below_should
    assert node.should_worst is not None
    assert (node.should_worst.output, node.should_worst.index) == ("Y", (0,))


NAN_LOGITS = np.array([[1, 2, NAN, 0.5], [0.1, 0.2, 0.3, 0.4], [1, 2, 3, NAN]], np.float32)


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("indices", [(0, 3, 3), (2, 3, 0)])
def test_index_of_a_row_with_nan_is_unspecified(tmp_path: Path, op_type: str, indices: tuple[int, ...]) -> None:
    inputs = {"X": NAN_LOGITS if op_type == "ArgMax" else -NAN_LOGITS}
    nodes = [helper.make_node(op_type, ["X"], ["Y"], axis=1, keepdims=0)]
    model = write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.INT64})
    result = audit(model, inputs, changed(lambda _: [np.array(indices)]))
    (node,) = result.nodes
    assert (node.verdict, node.unspecified, node.judged_elements(Level.MUST)) == (NodeVerdict.UNSPECIFIED, 2, 1)
    assert node.open_element is not None
    assert (node.open_element.index, node.open_element.value) == ((0,), indices[0])
    assert not result.has_faults
    wrong = audit(model, inputs, changed(lambda _: [np.array([0, 2, 0])]))
    assert [each.verdict for each in wrong.nodes] == [NodeVerdict.WRONG]


@pytest.mark.parametrize(
    ("op_type", "attributes"), [("Hardmax", {"axis": 1}), ("ReduceMax", {}), ("Max", {}), ("Sign", {})]
)
def test_result_of_nan_is_unspecified(tmp_path: Path, op_type: str, attributes: dict[str, Any]) -> None:
    inputs = {"X": NAN_LOGITS}
    nodes = [helper.make_node(op_type, ["X"], ["Y"], **attributes)]
    result = audit(write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT}), inputs)
    assert [node.verdict for node in result.nodes] == [NodeVerdict.UNSPECIFIED]
    assert not result.has_faults


def test_selection_among_numbers_and_nan_is_unspecified(tmp_path: Path) -> None:
    inputs = {"X": np.array([1, 5, 2, 4, 3, NAN], np.float32)}
    nodes = [helper.make_node("TopK", ["X", "K"], ["V", "I"], axis=0)]
    outputs = {"V": TensorProto.FLOAT, "I": TensorProto.INT64}
    model = write(tmp_path / "m.onnx", nodes, inputs, outputs, {"K": np.array([3], np.int64)})
    smallest_nan = changed(lambda _: [np.array([5, 4, 3], np.float32), np.array([1, 3, 4])])
    assert [node.verdict for node in audit(model, inputs, smallest_nan).nodes] == [NodeVerdict.UNSPECIFIED]


def test_overflow_of_integers_is_unspecified(tmp_path: Path) -> None:
    inputs = {"X": np.array([2**31 - 1, 5], np.int32)}
    model = write(tmp_path / "m.onnx", [helper.make_node("Add", ["X", "X"], ["Y"])], inputs, {"Y": TensorProto.INT32})
    saturates = changed(lambda _: [np.array([2**31 - 1, 10], np.int32)])
    (node,) = audit(model, inputs, saturates).nodes
    assert (node.verdict, node.unspecified) == (NodeVerdict.UNSPECIFIED, 1)


def test_json_has_the_judged_share_and_both_levels(tmp_path: Path) -> None:
    inputs = {"X": np.array([0, -0.0, 1], np.float32)}
    model = write(tmp_path / "m.onnx", [helper.make_node("Neg", ["X"], ["Y"])], inputs, {"Y": TensorProto.FLOAT})
    result = audit(model, inputs, changed(lambda outputs: [np.abs(outputs[0]) * -1 + 0]))
    (document,) = decode_json(encode_json(audit_document(model, [result], ["X"], None)))["audits"]
    assert (document["judged"]["nodes"], document["judged"]["elements"], document["judged"]["share"]) == (1, 3, 1)
    assert document["nodes"][0]["worst"] is None
    assert document["nodes"][0]["should_worst"]["index"] == [0]


def test_page_begins_with_the_outcome_and_the_judged_share(tmp_path: Path) -> None:
    inputs = {"X": np.ones((1, 3, 2), np.float32)}
    nodes = [helper.make_node("Neg", ["X"], ["A"]), without_reference("A")]
    model = write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT})
    result = audit(model, inputs)
    for outcome, word in ((None, "PASSED"), *((each, str(each)) for each in AuditOutcome)):
        page = render_page(model, [result], ["X"], outcome)
        assert 0 < page.index(word) < page.index(JudgedShare.of([result]).text) < page.index("<h2")


@pytest.mark.parametrize(
    ("node", "inputs", "type", "unspecified"),
    [
        (
            helper.make_node("Clip", ["X", "L"], ["Y"]),
            {"X": np.ones(2, np.float32), "L": np.array(np.nan, np.float32)},
            TensorProto.FLOAT,
            2,
        ),
        (
            helper.make_node("Div", ["X", "B"], ["Y"]),
            {"X": np.array([5, 3, -7], np.int32), "B": np.array([0, 1, 0], np.int32)},
            TensorProto.INT32,
            2,
        ),
        (
            helper.make_node("Cast", ["X"], ["Y"], to=TensorProto.INT8),
            {"X": np.array([300.0, 3.0], np.float32)},
            TensorProto.INT8,
            1,
        ),
    ],
)
def test_result_that_no_page_states_is_unspecified(
    tmp_path: Path, node: onnx.NodeProto, inputs: dict[str, Any], type: int, unspecified: int
) -> None:
    model = write(tmp_path / "m.onnx", [node], inputs, {"Y": type}, opset=17)
    for change in (
        lambda outputs: outputs,
        lambda outputs: [np.where(outputs[0] == 3, outputs[0], 1).astype(outputs[0].dtype)],
    ):
        (judged,) = audit(model, inputs, changed(change)).nodes
        assert (judged.verdict, judged.unspecified) == (NodeVerdict.UNSPECIFIED, unspecified)


def test_command_fails_below_the_required_share(command: Any, tmp_path: Path) -> None:
    inputs = {"X": np.ones((1, 3, 2), np.float32)}
    nodes = [helper.make_node("Neg", ["X"], ["A"]), without_reference("A")]
    write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT})
    words = ["audit", tmp_path / "m.onnx", "-b", "onnx-reference", "--no-isolation"]
    enough, too_little = command(*words), command(*words, "--require-judged", "0.6")
    assert (enough.status, too_little.status) == (0, 1)
    assert too_little.out.splitlines()[-1].startswith("FAILED: 1 of 2 nodes judged (6 of 10 elements; 50 %")


WHILE_BELOW = """<ir_version: 8, opset_import: ["" : 16]>
g (float[k] x) => (float[k] x_out, int64 n_out)
<int64 zero = {0}, int64 big = {100000}, float limit = {LIMIT}, int64 one = {1}, float step = {1.}> {
  s0 = ReduceSum<keepdims: int = 0>(x)
  c0 = Less(s0, limit)
  x_out, n_out = Loop(big, c0, x, zero) <body = b (int64 i, bool c, float[k] xi, int64 ni)
    => (bool co, float[k] xo, int64 no) {
    xo = Add(xi, step)
    no = Add(ni, one)
    s = ReduceSum<keepdims: int = 0>(xo)
    co = Less(s, limit)
  }>
}"""


@pytest.mark.parametrize(("limit", "verdict"), [("10.", NodeVerdict.CORRECT), ("9.5", NodeVerdict.NOT_JUDGED)])
def test_loop_while_a_sum_is_below_a_limit_is_judged_unless_rounding_decides(
    tmp_path: Path, limit: str, verdict: NodeVerdict
) -> None:
    onnx.save(onnx.parser.parse_model(WHILE_BELOW.replace("LIMIT", limit)), tmp_path / "m.onnx")
    model = LoadedModel.read(tmp_path / "m.onnx")
    inputs = {"x": np.array([2.2, 3.3], np.float32)}
    assert [node.verdict for node in audit(model, inputs).nodes if node.op_type == "Loop"] == [verdict]

    def once_more(outputs: list[Any]) -> list[Any]:
        return [outputs[0] + np.float32(1), np.asarray(outputs[1] + 1), *outputs[2:]]

    wrong = [node.op_type for node in audit(model, inputs, changed(once_more)).wrong_nodes]
    assert wrong == (["Loop"] if verdict is NodeVerdict.CORRECT else [])


@pytest.mark.parametrize("declared", [[3], [2, 2], [None, 2, 1]])
def test_output_of_another_shape_than_declared_is_judged_with_a_warning(
    tmp_path: Path, declared: list[int | None]
) -> None:
    inputs = {"X": np.arange(6, dtype=np.float32).reshape(2, 3)}
    model = write(
        tmp_path / "m.onnx",
        [helper.make_node("Reshape", ["X", "S"], ["Y"])],
        {**inputs, "S": np.zeros(2, np.int64)},
        {"Y": TensorProto.FLOAT},
    )
    value = model.prepared.graph.output[0]
    value.CopyFrom(helper.make_tensor_value_info("Y", TensorProto.FLOAT, declared))
    result = audit(model, {**inputs, "S": np.array([3, 2])})
    (node,) = result.nodes
    assert (node.verdict, node.reason) == (NodeVerdict.CORRECT, None)
    assert JudgedShare.of([result]).is_enough(1.0)
    assert [each.endswith("but makes 3x2") for each in result.warnings] == [True]
    more = changed(lambda outputs: [outputs[0] + 1])
    assert [node.verdict for node in audit(model, {**inputs, "S": np.array([3, 2])}, more).nodes] == [NodeVerdict.WRONG]


@pytest.mark.parametrize(("operator", "count"), [("Sub", 1), ("Add", 0)])
def test_output_whose_elements_are_all_equal_has_a_warning(tmp_path: Path, operator: str, count: int) -> None:
    inputs = {"X": np.array([2.2, 3.3], np.float32)}
    nodes = [helper.make_node(operator, ["X", "X"], ["Y"])]
    model = write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT})
    assert len(audit(model, inputs).warnings) == count


def test_scale_that_is_wider_than_its_tensor_is_an_invalid_model(tmp_path: Path) -> None:
    inputs = {"X": np.array([1.1, 0.9, -1.5], np.float32).reshape(1, 3, 1, 1)}
    nodes = [helper.make_node("LayerNormalization", ["X", "S"], ["Y"], axis=1)]
    weights = {"S": np.ones((3, 1, 3), np.float32)}
    model = write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT}, weights)
    wide = changed(lambda _: [np.broadcast_to(inputs["X"], (1, 3, 1, 3)).copy()])
    (node,) = audit(model, inputs, wide).nodes
    assert (node.verdict, node.reason.endswith("the model is invalid")) == (NodeVerdict.NOT_JUDGED, True)


def shift_by_64() -> tuple[list[NodeProto], dict[str, Any], int]:
    operands = {"X": np.array([1, 2], np.uint64), "N": np.array([64, 65], np.uint64)}
    return [helper.make_node("BitShift", ["X", "N"], ["Y"], direction="LEFT")], operands, TensorProto.UINT64


def mean_that_overflows() -> tuple[list[NodeProto], dict[str, Any], int]:
    X = np.array([[60000, 60000, -60000, -60000]], np.float16)
    return [helper.make_node("ReduceMean", ["X"], ["Y"])], {"X": X}, TensorProto.FLOAT16


@pytest.mark.parametrize(("made", "required"), [(shift_by_64, 0.0), (shift_by_64, 0.9), (mean_that_overflows, 0.0)])
def test_elements_that_cannot_be_wrong_are_no_verdict_and_no_failure(
    tmp_path: Path, made: Callable[[], Any], required: float
) -> None:
    nodes, inputs, type = made()
    model = write(tmp_path / "m.onnx", nodes, inputs, {"Y": type})
    result = audit(model, inputs)
    assert AuditOutcome.of([result], Level.MUST, required) is AuditOutcome.NO_VERDICT


def test_open_node_beside_a_node_without_reference_is_not_enough(tmp_path: Path) -> None:
    inputs = {"X": np.full((1, 3, 2), np.nan, np.float32)}
    nodes = [helper.make_node("Relu", ["X"], ["A"]), without_reference("A")]
    model = write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT})
    assert AuditOutcome.of([audit(model, inputs)]) is AuditOutcome.FAILED


def test_undetermined_elements_are_not_enough_if_a_share_is_required(tmp_path: Path) -> None:
    nodes, inputs, type = mean_that_overflows()
    model = write(tmp_path / "m.onnx", nodes, inputs, {"Y": type})
    assert AuditOutcome.of([audit(model, inputs)], Level.MUST, 0.1) is AuditOutcome.FAILED


def test_summary_names_the_subject_that_does_not_run_the_model() -> None:
    audits = [SubjectAudit("a", "1", "d", failure="refused"), SubjectAudit("b", "1", "d")]
    assert "0" not in summary_text(audits[:1])
    assert summary_text(audits).partition(";")[0] == summary_text(audits[:1])


@pytest.mark.parametrize(
    ("coverage", "is_enough"),
    [
        (JudgedShare(nodes=1, all_nodes=2, elements=0, all_elements=5, undetermined=5, open_nodes=1), False),
        (JudgedShare(nodes=1, all_nodes=1, elements=0, all_elements=0), True),
    ],
)
def test_audit_without_judged_element_is_not_enough(coverage, is_enough):
    assert coverage.is_enough(0.0) == is_enough


def test_sum_that_is_rounded_once_is_the_best_possible(tmp_path: Path) -> None:
    inputs = {"X": np.array([1 + 2**-23], np.float32), "W": np.array([1.0], np.float32)}
    model = write(tmp_path / "m.onnx", [helper.make_node("Add", ["X", "W"], ["Y"])], inputs, {"Y": TensorProto.FLOAT})
    result = audit(model, inputs)
    (node,) = result.nodes
    assert node.share > 0.9
    assert (node.is_correctly_rounded, colour_class(result, node)) == (True, "s0")
    (other,) = audit(model, inputs, changed(lambda outputs: [np.nextafter(outputs[0], np.float32(3))])).nodes
    assert not other.is_correctly_rounded


def test_output_of_another_type_has_the_reason_in_json(tmp_path: Path) -> None:
    inputs = {"X": np.ones((2, 3), np.float32)}
    nodes = [helper.make_node("Neg", ["X"], ["A"]), helper.make_node("Abs", ["A"], ["Y"])]
    model = write(tmp_path / "m.onnx", nodes, inputs, {"Y": TensorProto.FLOAT})
    result = audit(model, inputs, changed(lambda outputs: [each.astype(np.float64) for each in outputs]))
    wrong = [node for node in audit_document(model, [result], [], 0).audits[0].nodes if node.verdict == "wrong"]
    assert wrong
    assert all("float64" in (node.reason or "") for node in wrong)


def test_topk_with_nan_may_return_either_of_two_subnormal_neighbours(tmp_path: Path) -> None:
    inputs = {"X": np.array([1, 0, NAN, -5e-324], np.float64)}
    nodes = [helper.make_node("TopK", ["X", "K"], ["V", "I"], axis=0)]
    outputs = {"V": TensorProto.DOUBLE, "I": TensorProto.INT64}
    model = write(tmp_path / "m.onnx", nodes, inputs, outputs, {"K": np.array([3])})
    for selected in ([np.nan, 1, 0], [1, 0, -5e-324]):
        backend = changed(lambda found, values=selected: [np.array(values), found[1]])
        assert [node.verdict for node in audit(model, inputs, backend).nodes] == [NodeVerdict.UNSPECIFIED]
