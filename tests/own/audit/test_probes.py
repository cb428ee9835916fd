"""Each distinct small node runs alone on hard values, apart from the judgement on the user's data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from conformance.corpus.cases.corpus import read_manifest
from conformance.exact.declarations.hard_values import (
    PROBE_MODES,
    free_operands,
    hard_elements,
    hard_numbers_of,
    probe_indices,
    probe_values,
)
from conformance.own.audit.audit_session import AuditOptions, SubjectAudit, audit_subject
from conformance.own.audit.node_verdicts import NodeVerdict
from conformance.own.graphs.model_inputs import make_inputs, parse_shapes
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.calling.subject_names import Subject

if TYPE_CHECKING:
    from pathlib import Path


class AwayFromZero:
    """A backend that rounds ties away from zero, which random inputs do not show."""

    refuses_infinities = False

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
        evaluator, names = ReferenceEvaluator(model), [node.op_type for node in model.graph.node]

        class Prepared:
            def run(self, inputs: list[Any]) -> list[Any]:
                if cls.refuses_infinities and any(np.isinf(each).any() for each in inputs if each.dtype.kind == "f"):
                    raise RuntimeError("no infinities")
                with np.errstate(all="ignore"):
                    results = evaluator.run(None, dict(zip(evaluator.input_names, inputs, strict=True)))
                    if names == ["Round"]:
                        X = inputs[0]
                        results = [np.where(np.abs(X) < 100, np.trunc(X + np.copysign(np.float32(0.5), X)), X)]
                return [np.asarray(each) for each in results]

        return Prepared()


class RefusesInfinities(AwayFromZero):
    """The same backend, which raises an exception for an infinity."""

    refuses_infinities = True


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with two equal nodes, a weight, and indices."""
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["a"]),
        helper.make_node("Round", ["a"], ["b"]),
        helper.make_node("Round", ["x"], ["c"]),
        helper.make_node("Gather", ["b", "i"], ["d"], axis=1),
        helper.make_node("ArgMax", ["c"], ["e"], axis=1),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 40]),
        helper.make_tensor_value_info("i", TensorProto.INT64, [3]),
    ]
    outputs = [
        helper.make_tensor_value_info("d", TensorProto.FLOAT, [2, 3]),
        helper.make_tensor_value_info("e", TensorProto.INT64, [2, 1]),
    ]
    weights = [numpy_helper.from_array(np.linspace(1, 2, 40, dtype=np.float32), "w")]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    file = tmp_path_factory.mktemp("probes") / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), file)
    return file


def audit(path: Path, backend: Any, probes: int = 5, **options: Any) -> SubjectAudit:
    model = LoadedModel.read(path)
    data = make_inputs(model.original.graph, parse_shapes(()), 0)
    return audit_subject(model, Subject("test", "1", backend), data, options=AuditOptions(probes=probes, **options))


def test_probes_find_a_fault_that_the_users_data_do_not_show(path: Path) -> None:
    found = audit(path, AwayFromZero)
    assert found.wrong_nodes == []
    (wrong,) = found.wrong_probes
    assert (wrong.node.op_type, wrong.node.number, wrong.nodes, wrong.probes) == ("Round", 1, 2, 5)
    assert wrong.node.worst is not None
    assert abs(wrong.node.worst.value - wrong.node.worst.expected) == 1
    assert found.has_faults


def test_probes_judge_each_distinct_node_once_and_leave_open_what_the_page_leaves_open(path: Path) -> None:
    found = audit(path, AwayFromZero)
    verdicts = {each.node.op_type: each.node.verdict for each in found.probes}
    assert len(verdicts) == len(found.probes)
    assert {*verdicts} == {"Mul", "Round", "Gather", "ArgMax"}
    assert verdicts["ArgMax"] is NodeVerdict.UNSPECIFIED
    assert verdicts["Mul"] is verdicts["Gather"] is NodeVerdict.CORRECT


def test_node_is_judged_on_the_hard_values_that_the_subject_does_not_refuse(path: Path) -> None:
    found = audit(path, RefusesInfinities)
    assert 0 < {each.node.op_type: each.probes for each in found.probes}["Mul"] < 5
    assert [each.node.op_type for each in found.wrong_probes] == ["Round"]


def test_node_too_large_for_hard_values_without_exact_sums_is_not_probed(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[160, 2] X) => (float[160, 2] Y) { Y = MatMul(W, X) }'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(numpy_helper.from_array(np.ones((160, 160), np.float32), "W"))
    onnx.save(model, tmp_path / "model.onnx")
    found = audit(tmp_path / "model.onnx", AwayFromZero)
    assert (found.probes, found.failure) == ([], None)


def test_wrong_probe_becomes_a_case(path: Path) -> None:
    found = audit(path, AwayFromZero, makes_cases=True)
    assert [case.id for case in found.cases] == ["test_audit_model_1_round_hard_data"]


def test_free_operands_are_those_of_which_each_kind_of_elements_is_valid() -> None:
    values = {name: np.ones(2, np.float32) for name in "ab"}
    found = {"Add": {"a": "number", "b": "number"}, "Div": {"a": "number", "b": "divisor"}, "Pow": {"a": "number"}}
    for op_type, kinds in found.items():
        assert free_operands(helper.make_node(op_type, ["a", "b"], ["c"]), 18, values, ()) == kinds


def test_probe_values_keep_most_elements_of_a_sparse_probe_and_types_and_shapes() -> None:
    X = np.linspace(-1, 1, 2000, dtype=np.float32).reshape(2, 1000)
    for number in range(len(PROBE_MODES)):
        drawn = probe_values("Exp", "X", X, "number", number, [88.7])
        assert (drawn.dtype, drawn.shape) == (X.dtype, X.shape)
    sparse = probe_values("Exp", "X", X, "number", 0, [88.7])
    assert 0.9 < (sparse == X).mean() < 1
    assert not np.isnan(sparse).any()
    bits = probe_values("Not", "X", np.zeros(50, bool), "number", 0, [])
    assert {*bits.tolist()} == {True, False}


def test_probe_values_put_each_kind_of_rows_into_the_first_probes() -> None:
    X = np.linspace(-1, 1, 96, dtype=np.float32).reshape(6, 16)
    rows = probe_values("ReduceMax", "X", X, "number", 1, [])
    signs = {(bool((row < 0).all()), bool((row > 0).all())) for row in rows}
    assert signs == {(True, False), (False, True), (False, False)}
    sizes = np.abs(rows)
    assert ((sizes > 3) & (sizes < 9)).any()
    assert np.isfinite(rows).all()
    assert (sizes.max(axis=1) > 88.8).sum() >= len(rows) // 2
    assert any(len({*row.tolist()}) < row.size for row in rows)


def test_probe_values_give_operands_equal_elements_with_nan() -> None:
    X = np.zeros((8, 32), np.float32)
    A, B = (probe_values("Equal", name, X, "number", 3, []) for name in ("A", "B"))
    assert 0.4 < ((A == B) | (np.isnan(A) & np.isnan(B))).mean() < 1
    assert (np.isnan(A) & np.isnan(B)).any()


def test_probe_values_of_integers_have_near_pairs_large_numbers_and_no_refused_divisor() -> None:
    X = np.zeros((8, 32), np.int64)
    A, B = (probe_values("Less", name, X, "number", 3, []) for name in ("A", "B"))
    is_near = (np.abs(A.astype(object) - B.astype(object)) == 1) & (np.abs(A.astype(object)) > 2**53)
    assert is_near.any()
    for dtype in (np.int8, np.uint8, np.int32, np.int64, np.uint64):
        for number in range(5):
            divisors = probe_values("Div", "B", X.astype(dtype), "divisor", number, [])
            assert divisors.dtype == dtype
            assert not np.isin(divisors, (0, -1) if np.issubdtype(dtype, np.signedinteger) else (0,)).any()


def test_probe_values_use_all_numbers_of_a_small_operand_in_turn() -> None:
    hard = [89.0, 89.3, -89.2]
    drawn = [probe_values("Cosh", "X", np.zeros(8, np.float32), "number", number, hard) for number in range(5)]
    assert {*np.float32(hard).tolist()} <= {*np.concatenate(drawn).tolist()}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (3,)])
def test_probe_values_of_scalars_and_empty_tensors_keep_type_and_shape(shape: tuple[int, ...], dtype: str) -> None:
    for number in range(len(PROBE_MODES)):
        drawn = probe_values("Add", "X0", np.ones(shape, dtype), "number", number, (1.0,))
        assert (drawn.shape, drawn.dtype) == (shape, np.dtype(dtype))


@pytest.mark.parametrize(("sizes", "has_negative"), [(7, True), (7, False), ([3, 5], True)])
def test_probe_indices_are_valid(sizes: Any, has_negative: bool) -> None:
    indices = probe_indices(
        "X", np.ones((40, 2), np.int64), np.array(sizes), has_negative=has_negative, keeps_order=False
    )
    assert (indices < sizes).all()
    assert (indices >= np.negative(sizes)).all()
    assert (indices < 0).any() == has_negative


def test_probe_indices_of_scatter_stay_different() -> None:
    indices = probe_indices("X", np.arange(7), np.array(7), has_negative=True, keeps_order=True)
    assert {*(indices % 7).tolist()} == {*range(7)}
    empty = np.zeros(3, np.int64)
    assert probe_indices("X", empty, np.array(0), has_negative=True, keeps_order=False) is empty


def test_audit_command_keeps_hard_data_apart_from_the_users_data(command: Any, path: Path, tmp_path: Path) -> None:
    backend = f"{__name__}:AwayFromZero"
    options = (
        "--no-isolation",
        "--json",
        tmp_path / "a.json",
        "--html",
        tmp_path / "a.html",
        "--output",
        tmp_path / "o",
    )
    ended = command("audit", path, "-b", backend, *options)
    assert ended.status == 1
    document = json.loads((tmp_path / "a.json").read_text())["audits"][0]
    assert {node["verdict"] for node in document["nodes"]} == {"correct"}
    assert [each["nodes"] for each in document["probes"] if each["verdict"] == "wrong"] == [2]
    page = (tmp_path / "a.html").read_text()
    assert "On hard data" in page
    assert page.count('<rect class="wrong"') == 4  # two nodes in the graph and in the chart of errors
    assert [*read_manifest(tmp_path / "o").cases] == ["test_audit_model_1_round_hard_data"]
    ended = command("audit", path, "-b", backend, "--no-isolation", "--probes", 0, "--json", tmp_path / "b.json")
    assert ended.status == 0
    assert json.loads((tmp_path / "b.json").read_text())["audits"][0]["probes"] == []


def drops_ten_terms(X: Any, Y: Any) -> Any:
    return Y - X[..., :10].sum(-1, keepdims=True)


def divides_by_one_less(X: Any, Y: Any) -> Any:
    count = X.size // Y.size
    return (Y.astype(np.float64) * count / max(1, count - 1)).astype(Y.dtype)


def returns_zeros(_: Any, Y: Any) -> Any:
    return np.zeros_like(Y)


def probes_of(node: onnx.NodeProto, place: int, **values: Any) -> list[Any]:
    """Return the elements of an operand of a node in six probes."""
    kind = free_operands(node, 22, values, ())[node.input[place]]
    hard = hard_numbers_of(node, 22, values)
    return [hard_elements(node, values, place, kind, probe, hard) for probe in range(6)]


def test_hard_shifts_reach_the_bits_of_the_type_and_lengths_differ() -> None:
    X = np.zeros((5, 8), np.uint32)
    shift = helper.make_node("BitShift", ["X", "Y"], ["Z"], direction="LEFT")
    assert max(each.max() for each in probes_of(shift, 1, X=X, Y=X)) in range(16, 32)
    reverse = helper.make_node("ReverseSequence", ["X", "N"], ["Y"], time_axis=0, batch_axis=1)
    lengths = probes_of(reverse, 1, X=X, N=np.ones(8, np.int64))
    assert min(len({*each.tolist()}) for each in lengths) > 1
    assert (min(map(np.min, lengths)), max(map(np.max, lengths))) == (1, 5)


def test_hard_classes_need_no_values_of_the_first_operand() -> None:
    loss = helper.make_node("NegativeLogLikelihoodLoss", ["X", "T", "W"], ["Y"])
    values: dict[str, Any] = {"T": np.zeros(40, np.int64), "W": np.ones(3, np.float32)}
    kind = free_operands(loss, 22, values, ("X", "W"))["T"]
    assert {*hard_elements(loss, values, 1, kind, 0, []).tolist()} == {0, 1, 2}


def test_hard_numbers_have_data_of_one_sign_and_rows_of_one_number() -> None:
    quantize = helper.make_node("DynamicQuantizeLinear", ["X"], ["Y", "s", "z"])
    probes = probes_of(quantize, 0, X=np.zeros((4, 6), np.float32))
    assert any(each.min() > 0 for each in probes)
    assert any(each.max() < 0 for each in probes)
    reduce = helper.make_node("ReduceLogSumExp", ["X"], ["Y"])
    probes = probes_of(reduce, 0, X=np.zeros((4, 6), np.float32))
    assert any(np.isneginf(each).all(axis=1).any() for each in probes)


def test_hard_numbers_of_a_decision_tree_are_its_thresholds_and_nan() -> None:
    tree = helper.make_node("TreeEnsembleRegressor", ["X"], ["Y"], domain="ai.onnx.ml", nodes_values=[7.5, -3.25])
    numbers = np.concatenate(probes_of(tree, 0, X=np.zeros((6, 3), np.float32)))
    assert {7.5, -3.25} <= {*numbers.ravel().tolist()}
    assert np.isnan(numbers).sum() > 2


SUM = "s (float[1,100000] x) => (float[1,1] y) { y = ReduceSum<axes: ints = [1]>(x) }"
MEAN = "s (float[1,100000] x) => (float[1,1] y) { y = ReduceMean<axes: ints = [1]>(x) }"
MEAN_OF_HALF = "s (float16[3000,2] x) => (float16[1,2] y) { y = ReduceMean<axes: ints = [0]>(x) }"
POOL_OF_HALF = "s (float16[1,2,60,60] x) => (float16[1,2,1,1] y) { y = GlobalAveragePool(x) }"
PRODUCT = "s (float16[4,768] x) => (float16[4,4] y) { y = MatMul(x, w) }"


@pytest.mark.parametrize(
    ("graph", "fault"),
    [
        (SUM, drops_ten_terms),
        (MEAN, divides_by_one_less),
        (MEAN_OF_HALF, divides_by_one_less),
        (POOL_OF_HALF, divides_by_one_less),
        (PRODUCT, returns_zeros),
    ],
)
def test_exact_sums_show_a_fault_that_the_bound_of_many_terms_hides(tmp_path: Path, graph: str, fault: Any) -> None:
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 12]> {graph}')
    weights = np.random.default_rng(0).standard_normal((768, 4)).astype(np.float16)
    model.graph.initializer.extend([numpy_helper.from_array(weights, "w")] if graph == PRODUCT else [])
    onnx.save(model, tmp_path / "m.onnx")
    verdicts = []
    for compute in (lambda X, Y: Y, fault):
        audited = audit(tmp_path / "m.onnx", backend_with(compute), probes=1)
        verdicts.append([each.node.verdict for each in audited.probes])
    assert verdicts == [[NodeVerdict.CORRECT], [NodeVerdict.WRONG]]


SOFTMAX = "s (float[1,3000] x) => (float[1,3000] y) { y = Softmax(x) }"
SUM_OF_INTEGERS = "s (int32[1,1000] x) => (int32[1,1] y) { y = ReduceSum<axes: ints = [1]>(x) }"
LEAST = "s (float[2,1000] x) => (float[2,1] y) { y = ReduceMin<axes: ints = [1]>(x) }"
SQUARES = "s (float[2,50000] x) => (float[2,1] y) { y = ReduceSumSquare<axes: ints = [1]>(x) }"
PRODUCTS = 's (float[2,9000] x, float[2,9000] v) => (float[2] y) { y = Einsum<equation = "ij,ij->i">(x, v) }'
STATISTICS = "s (float[2,768] x, float[768] v) => (float[2,768] y) { y = LayerNormalization(x, v) }"
TRANSPOSED = "s (float[1,512,3,3] x, float[512,2,3,3] w) => (float[1,2,5,5] y) { y = ConvTranspose(x, w) }"


@pytest.mark.parametrize(
    ("graph", "fault"),
    [
        (SOFTMAX, lambda X, Y: Y / (1 + np.float32(1e-3) * Y.max())),
        (SUM_OF_INTEGERS, lambda X, Y: Y.astype(np.int16).astype(np.int32)),
        (LEAST, lambda X, Y: np.minimum(Y, np.float32(1e4))),
        (SQUARES, lambda X, Y: Y - X[:, :4].astype(np.float64).__pow__(2).sum(1, keepdims=True).astype(Y.dtype)),
        (PRODUCTS, lambda X, Y: Y * np.float32(1 + 2e-5)),
        (TRANSPOSED, lambda X, Y: Y * np.float32(1 + 1e-5)),
        (STATISTICS, lambda X, Y: Y * np.float32(1 + 64 * 2**-23)),
    ],
)
def test_operands_of_exact_sums_show_a_fault_that_other_values_hide(tmp_path: Path, graph: str, fault: Any) -> None:
    opset = 17 if graph == STATISTICS else 12
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {graph}')
    onnx.save(model, tmp_path / "m.onnx")
    verdicts = []
    for compute in (lambda X, Y: Y, fault):
        (probed,) = audit(tmp_path / "m.onnx", backend_with(compute), probes=1).probes
        verdicts.append(probed.node.verdict is NodeVerdict.WRONG)
    assert verdicts == [False, True]


def backend_with(change: Any) -> Any:
    """Return a backend that changes the outputs of onnx's evaluator by its first input."""

    class Changed(AwayFromZero):
        @classmethod
        def prepare(cls, model: onnx.ModelProto, device: str = "CPU") -> Any:
            evaluated = super().prepare(model, device)

            class Prepared:
                def run(self, inputs: list[Any]) -> list[Any]:
                    with np.errstate(all="ignore"):
                        return [np.asarray(change(inputs[0], Y)) for Y in evaluated.run(inputs)]

            return Prepared()

    return Changed
