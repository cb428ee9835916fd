"""Models of public reports and float16 exports, on backends whose results are admissible, or wrong on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from computing_backend import Computes, evaluate
from onnx import TensorProto, helper, numpy_helper

from conformance.base.verdicts import Level
from conformance.own.audit.audit_report import JudgedShare
from conformance.own.audit.audit_session import AuditOptions, SubjectAudit, audit_subject
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.own.blame.difference import find_difference
from conformance.own.blame.model_comparison import Comparison, Computation
from conformance.own.blame.verdict import BlameOutcome, judge
from conformance.own.graphs.fed_model import FedModel
from conformance.own.graphs.model_inputs import InputSet
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.calling.subject_names import Subject, SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits
from conformance.subjects.isolation.start_subjects import started_subjects

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

H = np.float16


def replacing(values: Mapping[str, Any]) -> Computes:
    """Return onnx's evaluator, with the value of some names replaced."""

    def compute(model: onnx.ModelProto, inputs: Sequence[Any]) -> list[Any]:
        outputs = zip(model.graph.output, evaluate(model, inputs), strict=True)
        return [np.asarray(values.get(value.name, array)) for value, array in outputs]

    return Computes(compute)


def make(
    nodes: list[onnx.NodeProto],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, int],
    weights: Mapping[str, Any] | None = None,
) -> onnx.ModelProto:
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    made = [helper.make_tensor_value_info(name, type, None) for name, type in outputs.items()]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "g", given, made, tensors)
    return onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    )


def audit(model: onnx.ModelProto, inputs: Mapping[str, Any], values: Mapping[str, Any], folder: Path) -> SubjectAudit:
    onnx.save(model, folder / "m.onnx")
    subject = Subject("replaces", "1", replacing(values))
    return audit_subject(LoadedModel.read(folder / "m.onnx"), subject, InputSet("given", tuple(inputs.values())))


@pytest.mark.parametrize("indices", [[0, 3, 2], [1, 3, 0], [2, 3, 3]])
def test_index_of_the_largest_of_logarithms_with_nan_is_unspecified(tmp_path: Path, indices: list[int]) -> None:
    inputs = {"x": np.array([[1, 2, -1, 0.5], [0.1, 0.2, 0.3, 0.4], [np.e, 1, 2, -3]], np.float32)}
    nodes = [helper.make_node("Log", ["x"], ["l"]), helper.make_node("ArgMax", ["l"], ["i"], axis=1, keepdims=0)]
    model = make(nodes, inputs, {"l": TensorProto.FLOAT, "i": TensorProto.INT64})
    result = audit(model, inputs, {"i": np.array(indices)}, tmp_path)
    assert [node.verdict for node in result.nodes] == [NodeVerdict.CORRECT, NodeVerdict.UNSPECIFIED]
    assert (result.has_faults, JudgedShare.of([result]).is_enough(0.8)) == (False, True)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([3, 10, 11, 4, 6, 10, 6, 2], NodeVerdict.CORRECT), ([3, 10, 11, 4, 6, 10, -7, 2], NodeVerdict.WRONG)],
)
def test_remainder_of_integers_is_judged(tmp_path: Path, values: list[int], verdict: NodeVerdict) -> None:
    ids = [3, 1234567890, 999999999, 1999999993, 1500000001, 2147483647, -7, 16777217]
    inputs = {"ids": np.array(ids, np.int64), "n": np.full(8, 13, np.int64)}
    model = make([helper.make_node("Mod", ["ids", "n"], ["y"])], inputs, {"y": TensorProto.INT64})
    (node,) = audit(model, inputs, {"y": np.array(values)}, tmp_path).nodes
    assert (node.verdict, node.judged_elements(Level.MUST)) == (verdict, 8)


def residual_sum_above_the_largest_number() -> tuple[onnx.ModelProto, dict[str, Any]]:
    random = np.random.default_rng(10)
    weights = {"w": random.standard_normal((16, 16)).astype(H), "scale": np.ones(16, H)}
    residual = (random.standard_normal((2, 16)) * 20).astype(H)
    residual[0, 3] = 40000
    inputs = {"x": random.standard_normal((2, 16)).astype(H), "res": residual}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Add", ["m", "res"], ["s"]),
        helper.make_node("Add", ["s", "res"], ["t"]),
        helper.make_node("LayerNormalization", ["t", "scale"], ["y"]),
    ]
    return make(nodes, inputs, {"y": TensorProto.FLOAT16}, weights), inputs


def multilayer_perceptron() -> tuple[onnx.ModelProto, dict[str, Any]]:
    random, width, x = np.random.default_rng(17), 32, "x"
    nodes, weights = [], {}
    for i in range(4):
        weights[f"w{i}"] = (random.standard_normal((width, width)) / width**0.5).astype(H)
        weights[f"b{i}"] = (random.standard_normal(width) * 0.1).astype(H)
        weights[f"g{i}"] = np.ones(width, H)
        nodes += [
            helper.make_node("LayerNormalization", [x, f"g{i}"], [f"n{i}"]),
            helper.make_node("MatMul", [f"n{i}", f"w{i}"], [f"m{i}"]),
            helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]),
            helper.make_node("Sigmoid", [f"a{i}"], [f"s{i}"]),
            helper.make_node("Mul", [f"a{i}", f"s{i}"], [f"u{i}"]),
            helper.make_node("Add", [x, f"u{i}"], [f"x{i}"]),
        ]
        x = f"x{i}"
    nodes.append(helper.make_node("Softmax", [x], ["y"]))
    inputs = {"x": random.standard_normal((4, width)).astype(H)}
    return make(nodes, inputs, {"y": TensorProto.FLOAT16}, weights), inputs


def product_and_bias() -> tuple[onnx.ModelProto, dict[str, Any]]:
    random = np.random.default_rng(0)
    weights = {"W": random.normal(0, 0.2, (16, 16)).astype(H), "b": random.normal(0, 1, 16).astype(H)}
    nodes = [helper.make_node("MatMul", ["x", "W"], ["t"]), helper.make_node("Add", ["t", "b"], ["y"])]
    inputs = {"x": random.normal(0, 1, (2, 16)).astype(H)}
    return make(nodes, inputs, {"y": TensorProto.FLOAT16}, weights), inputs


@pytest.mark.variants(4)
@pytest.mark.programs
@pytest.mark.parametrize("runtime", ["onnxruntime", "onnxruntime[optimization=disabled]", "openvino"])
@pytest.mark.parametrize("build", [product_and_bias, multilayer_perceptron, residual_sum_above_the_largest_number])
def test_float16_model_on_a_runtime_that_keeps_float_has_no_wrong_node(
    tmp_path: Path, runtime: str, build: Callable[[], tuple[onnx.ModelProto, dict[str, Any]]]
) -> None:
    pytest.importorskip(runtime.partition("[")[0])
    model, inputs = build()
    onnx.save(model, tmp_path / "m.onnx")
    with started_subjects([SubjectName.parse(runtime, SubjectKind.BACKEND)], Limits(60), no_isolation=False) as (
        subject,
    ):
        result = audit_subject(
            LoadedModel.read(tmp_path / "m.onnx"),
            subject,
            InputSet("given", tuple(inputs.values())),
            options=AuditOptions(probes=2),
        )
    assert (result.failure, [node.name for node in result.wrong_nodes]) == (None, [])
    assert JudgedShare.of([result]).share > 0.7


@pytest.mark.parametrize("value", [20000, np.inf])
def test_sum_in_a_loop_that_overflows_only_in_float16_is_not_wrong(tmp_path: Path, value: float) -> None:
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float16[2] x) => (float16[2] y) <int64 one = {1}, bool yes = {1}, float four = {4.}> {
      d = Cast<to: int = 10>(four)
      y = Loop(one, yes, x) <body = b (int64 i, bool c, float16[2] before) => (bool co, float16[2] after) {
        co = Identity(c)
        s = Add(before, before)
        after = Div(s, d)
      }>
    }""")
    inputs = {"x": np.array([40000, 3], H)}
    _, node = audit(model, inputs, {"y": np.array([value, 1.5], H)}, tmp_path).nodes
    assert (node.verdict, node.undetermined) == (NodeVerdict.CORRECT, 1)
    _, node = audit(model, inputs, {"y": np.array([value, 1.75], H)}, tmp_path).nodes
    assert node.verdict is NodeVerdict.WRONG


def test_sum_that_overflows_only_in_float16_blames_nobody() -> None:
    model, inputs = residual_sum_above_the_largest_number()
    x, w, res = inputs["x"].astype("f4"), numpy_helper.to_array(model.graph.initializer[0]), inputs["res"].astype("f4")
    t = x @ w.astype("f4") + 2 * res
    kept = (t - t.mean(-1, keepdims=True)) / np.sqrt(t.var(-1, keepdims=True) + np.float32(1e-5))
    (rounded,) = evaluate(model, list(inputs.values()))
    answers = Computation([rounded]), Computation([kept.astype(H)])
    comparison = Comparison(Subject("a", "1", None), Subject("b", "1", None))
    verdict = judge(comparison, FedModel(model, inputs), find_difference(["y"], *answers), answers)
    assert verdict.outcome in (BlameOutcome.NOT_JUDGED, BlameOutcome.BOTH_ADMISSIBLE)


@pytest.mark.parametrize(
    ("windows", "verdict"), [(3, NodeVerdict.CORRECT), (4, NodeVerdict.NOT_JUDGED), (2, NodeVerdict.WRONG)]
)
def test_a_size_that_shape_inference_states_otherwise_than_the_page_is_not_wrong(
    tmp_path: Path, windows: int, verdict: NodeVerdict
) -> None:
    # the page states 3 windows with auto_pad VALID; onnx's shape inference adds one for ceil_mode
    X = np.arange(10, dtype=np.float32).reshape(1, 1, 10)
    node = helper.make_node("MaxPool", ["X"], ["Y"], kernel_shape=[3], strides=[3], auto_pad="VALID", ceil_mode=1)
    model = make([node], {"X": X}, {"Y": TensorProto.FLOAT})
    Y = np.array([[[2.0, 5.0, 8.0, 9.0]]], np.float32)[..., :windows]
    (judged,) = audit(model, {"X": X}, {"Y": Y}, tmp_path).nodes
    assert judged.verdict is verdict
