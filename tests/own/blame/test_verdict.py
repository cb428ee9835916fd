"""Verdicts on enclosures, and the passes of real graph optimizers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from conformance.base.verdicts import Level
from conformance.exact.judgement.distances import output_share
from conformance.exact.reference.model_enclosures import AcceptableIndices
from conformance.own.blame import model_reduction
from conformance.own.blame.difference import find_difference
from conformance.own.blame.model_comparison import Comparison, Computation, OpenSubjects
from conformance.own.blame.passes import list_passes
from conformance.own.blame.verdict import (
    BlameOutcome,
    BlameVerdict,
    TextEnclosures,
    enclose_fed_model,
    judge,
)
from conformance.own.graphs.fed_model import FedModel
from conformance.subjects.calling.subject_names import Subject, SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits


def fed(nodes: list[onnx.NodeProto], X: Any, output: int = TensorProto.FLOAT) -> FedModel:
    inputs = [helper.make_tensor_value_info("X", TensorProto.FLOAT, X.shape)]
    outputs = [helper.make_tensor_value_info("Y", output, [None] * X.ndim)]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return FedModel(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), {"X": X})


def argmax_after(op_type: str, X: Any) -> Any:
    nodes = [helper.make_node(op_type, ["X"], ["A"]), helper.make_node("ArgMax", ["A"], ["Y"], axis=1)]
    return enclose_fed_model(fed(nodes, np.asarray(X, np.float32), TensorProto.INT64))["Y"]


def test_tie_after_softmax_accepts_both_indices_and_no_third() -> None:
    found = argmax_after("Softmax", [[0, 1e-8, -3]])
    assert isinstance(found, AcceptableIndices)
    shares = [output_share(np.array([[index]], np.int64), found) for index in (0, 1, 2, 3, -1)]
    assert shares == [0, 0, np.inf, np.inf, np.inf]


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("value_float", 2.5), ("value_floats", [1, 2.5, 4]), ("value_int", 3), ("value_ints", [3, 4, 5])],
)
def test_constant_attribute_is_enclosed_by_its_numbers(attribute: str, value: Any) -> None:
    nodes = [
        helper.make_node("Constant", [], ["C"], **{attribute: value}),
        helper.make_node("Cast", ["C"], ["D"], to=1),
    ]
    found = enclose_fed_model(fed([*nodes, helper.make_node("Mul", ["X", "D"], ["Y"])], np.ones((1, 3), np.float32)))
    assert output_share((np.ones((1, 3)) * value).astype(np.float32), found["Y"]) == 0


@pytest.mark.parametrize("shape", [(), (1,), (1, 3), (3, 1), (1, 1, 1)])
def test_index_of_another_shape_is_not_accepted(shape: tuple[int, ...]) -> None:
    found = argmax_after("Softmax", [[0, 1e-8, -3]])
    assert output_share(np.zeros(shape, np.int64), found) == np.inf


def test_clear_maximum_accepts_one_index() -> None:
    found = argmax_after("Softmax", [[0, 1, -3]])
    assert [output_share(np.array([[index]], np.int64), found) for index in (0, 1)] == [np.inf, 0]


@pytest.mark.parametrize(("op_type", "row"), [("Log", [-1, 2]), ("Identity", [np.nan, 2])])
def test_nan_accepts_every_index(op_type: str, row: list[float]) -> None:
    with np.errstate(all="ignore"):
        found = argmax_after(op_type, [row])
    assert [output_share(np.array([[index]], np.int64), found) for index in (0, 1)] == [0, 0]
    assert found.hazard == "nan"


def test_nan_of_an_exact_infinity_accepts_every_index() -> None:
    nodes = [helper.make_node("Log", [a], [b]) for a, b in ("XA", "AB")]
    nodes.append(helper.make_node("ArgMax", ["B"], ["Y"], axis=1, select_last_index=1))
    with np.errstate(all="ignore"):
        found = enclose_fed_model(fed(nodes, np.zeros((1, 2), np.float32), TensorProto.INT64))["Y"]
    assert [output_share(np.array([[index]], np.int64), found) for index in (0, 1)] == [0, 0]


def test_exact_tie_of_infinities_accepts_the_first_index_only() -> None:
    found = argmax_after("Log", [[0, 0]])
    assert [output_share(np.array([[index]], np.int64), found) for index in (0, 1)] == [0, np.inf]


def test_exact_tie_accepts_the_first_index_only() -> None:
    found = argmax_after("Relu", [[-1, -2, -3]])
    assert [output_share(np.array([[index]], np.int64), found) for index in (0, 1)] == [0, np.inf]


@pytest.mark.parametrize(("row", "share"), [((np.nan, np.nan), 0), ((0, 0), 0), ((1, 0), np.inf)])
def test_output_by_an_earlier_text_of_a_page_is_admissible(row: tuple[float, float], share: float) -> None:
    """Up to onnx 1.20 the page has no case for a norm of 0, which gives NaN."""
    case = fed([helper.make_node("LpNormalization", ["X"], ["Y"], axis=1)], np.zeros((1, 2), np.float32))
    output = np.array([row], np.float32)
    assert output_share(output, TextEnclosures(case).of([output])["Y"]) == share


def test_operator_without_reference_has_a_reason() -> None:
    nodes = [helper.make_node("MaxRoiPool", ["X", "X"], ["Y"], pooled_shape=[1, 1])]
    assert "MaxRoiPool" in enclose_fed_model(fed(nodes, np.ones((2, 2), np.float32)))["Y"]


def difference_of(first: Any, second: Any) -> Any:
    return find_difference(["Y"], Computation([first]), Computation([second]))


def test_difference_has_its_elements_and_its_size() -> None:
    one = np.ones((2, 3), np.float32)
    other = one.copy()
    other[1, 2] = np.nextafter(np.float32(1), np.float32(2))
    (found,) = difference_of(one, other).outputs
    assert (found.elements, found.differing, found.ulps) == (6, 1, 1)
    assert found.worst[0].index == (1, 2)
    assert found.mean == pytest.approx(found.largest / 6)


def test_indices_differ_without_ulp() -> None:
    (found,) = difference_of(np.array([3, 1]), np.array([3, 2])).outputs
    assert found.ulps is None
    assert found.worst[0].values == (1, 2)


@pytest.mark.parametrize(
    ("other", "kind"),
    [(np.ones(3, np.float64), "type"), (np.ones((3, 1), np.float32), "shape"), (np.full(3, np.nan, "f4"), "values")],
)
def test_difference_has_its_kind(other: Any, kind: str) -> None:
    (found,) = difference_of(np.ones(3, np.float32), other).outputs
    assert found.kind == kind


def test_equal_outputs_have_no_difference() -> None:
    assert not difference_of(np.array([np.nan, 1]), np.array([np.nan, 1]))


def test_difference_of_zeros_is_not_alike_a_difference_of_rounding() -> None:
    one = np.ones(3, np.float32)
    rounding = difference_of(one, np.nextafter(one, one * 2))
    zeros = difference_of(one * 0, -one * 0)
    assert rounding.is_alike(difference_of(one, one * 2))
    assert not rounding.is_alike(zeros)
    assert zeros.is_alike(zeros)


@pytest.mark.parametrize("value", [1.5, np.nan])
def test_part_with_nan_is_no_fault_of_a_finite_difference(value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    one = np.ones(3, np.float32)
    wanted, found = (difference_of(one, one * np.float32(other)) for other in (1.25, value))
    monkeypatch.setattr(model_reduction, "observe", lambda *_: (found, ()))
    monkeypatch.setattr(model_reduction, "judge", lambda *_: BlameVerdict(BlameOutcome.SECOND_WRONG))
    unused: Any = None
    assert model_reduction.is_wrong(unused, unused, wanted) == (value == 1.5)


@pytest.mark.parametrize("outcome", [BlameOutcome.BOTH_ADMISSIBLE, BlameOutcome.NOT_JUDGED])
def test_part_that_is_not_judged_takes_no_place_of_an_admissible_one(
    outcome: BlameOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = np.ones(3, np.float32)
    rounding = difference_of(one, np.nextafter(one, one * 2))
    monkeypatch.setattr(model_reduction, "observe", lambda *_: (rounding, ()))
    monkeypatch.setattr(model_reduction, "judge", lambda *_: BlameVerdict(outcome))
    unused: Any = None
    assert model_reduction.is_alike_and_admissible(unused, unused, rounding) == (
        outcome is BlameOutcome.BOTH_ADMISSIBLE
    )


def test_smaller_difference_of_the_same_kind_is_not_the_same() -> None:
    one = np.ones(3, np.float32)
    large, small = difference_of(one, one * 2), difference_of(one, np.nextafter(one, one * 2))
    assert large.is_same(difference_of(one, one * np.float32(1.5)))
    assert not large.is_same(small)
    assert small.is_same(large)
    infinite = difference_of(one, one * np.float32(np.nan))
    assert not large.is_same(infinite)
    assert infinite.is_same(infinite)


@pytest.mark.variants(2)
@pytest.mark.parametrize(
    ("name", "module", "expected"),
    [
        ("onnxoptimizer-defaults", "onnxoptimizer", "eliminate_nop_monotone_argmax"),
        ("onnxscript", "onnxscript", "fold_constants"),
        ("onnxsim", "onnxsim", "constant_folding"),
        ("onnxruntime", "onnxruntime", "ConstantFolding"),
    ],
)
def test_passes_of_a_graph_optimizer_are_listed_and_can_be_chosen(name: str, module: str, expected: str) -> None:
    pytest.importorskip(module)
    subjects = OpenSubjects(Limits(30), in_process=module != "onnxoptimizer")
    found = list_passes(SubjectName.parse(name, SubjectKind.OPTIMIZER), subjects)
    assert found is not None
    assert expected in found.names
    model = fed([helper.make_node("Neg", ["X"], ["Y"])], np.ones(2, np.float32)).model
    for chosen in ([], [expected], found.names):
        with subjects.open(found.choose(chosen)) as (subject,):
            assert [node.op_type for node in subject.target(model).graph.node] == ["Neg"]


@pytest.mark.long
@pytest.mark.programs
def test_passes_of_onnxsim_are_the_same_before_and_after_its_first_run() -> None:
    pytest.importorskip("onnxsim")
    program = """
import onnx
from conformance.subjects.adapters.optimizers.onnxsim import optimize
model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[1] X) => (float[1] Y) { Y = Neg(X) }')
first = optimize(model, passes="list")
optimize(model)
assert first == optimize(model, passes="list")
assert "eliminate_loop_with_const_trip_count" in first.metadata_props[0].value
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.programs
@pytest.mark.long
def test_wrong_pass_of_an_isolated_onnxsim_is_found(command: Any, tmp_path: Path) -> None:
    pytest.importorskip("onnxsim")
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    nested (float[1] X, bool c) => (float[1] Y) <bool yes = {1}> {
      Y = If (yes) <
        then_branch = outer () => (float[1] y) {
          a = Neg (X)
          y = If (c) <
            then_branch = one () => (float[1] b) { b = Abs (a) },
            else_branch = other () => (float[1] d) { d = Sin (a) }
          >
        },
        else_branch = copy () => (float[1] e) { e = Identity (X) }
      >
    }""")
    onnx.save(model, tmp_path / "nested.onnx")
    optimizer = "onnxsim[passes=constant_folding+eliminate_if_with_const_cond]"  # each set of passes starts a process
    words = ["-o", optimizer, "-b", "onnxruntime", "--json", tmp_path / "b.json"]
    ended = command("blame", tmp_path / "nested.onnx", *words)
    steps = json.loads((tmp_path / "b.json").read_bytes())["steps"]
    assert ended.status == 1
    assert steps["passes"]["names"] == ["eliminate_if_with_const_cond"]
    assert steps["verdict"]["outcome"] == BlameOutcome.OPTIMIZER_WRONG


def test_graph_optimizer_without_the_option_has_no_passes() -> None:
    subjects = OpenSubjects(Limits(30), in_process=True)
    assert list_passes(SubjectName.parse("identity", SubjectKind.OPTIMIZER), subjects) is None


def test_option_keeps_release_interpreter_and_other_options() -> None:
    name = SubjectName.parse("onnxsim@0.4.36[a=b,python=/opt/python,with=numpy<2]", SubjectKind.OPTIMIZER)
    changed = name.with_option("passes", "x+y")
    assert (changed.release, changed.python, changed.packages) == ("0.4.36", "/opt/python", ("numpy<2",))
    assert changed.options == {"a": "b", "passes": "x+y"}


def float16_dot(length: int) -> tuple[FedModel, Any]:
    """Return a dot product of float16 numbers, and its exact value."""
    X = np.random.default_rng(0).standard_normal((length,)).astype(np.float16)
    nodes = [helper.make_node("MatMul", ["X", "X"], ["Y"])]
    value = helper.make_tensor_value_info("X", TensorProto.FLOAT16, X.shape)
    graph = helper.make_graph(nodes, "g", [value], [helper.make_tensor_value_info("Y", TensorProto.FLOAT16, [])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return FedModel(model, {"X": X}), np.asarray(np.dot(X.astype(np.float64), X.astype(np.float64)), np.float16)


@pytest.mark.parametrize(("length", "outcome"), [(64, BlameOutcome.SECOND_WRONG), (4096, BlameOutcome.NOT_JUDGED)])
def test_difference_within_a_bound_above_the_magnitude_is_not_judged(length: int, outcome: BlameOutcome) -> None:
    case, exact = float16_dot(length)
    answers = Computation([exact]), Computation([np.zeros_like(exact)])
    backend = Comparison(Subject("a", "1", None), Subject("b", "1", None))
    verdict = judge(backend, case, find_difference(["Y"], *answers), answers)
    assert verdict.outcome is outcome
    assert verdict.differing == 1
    assert verdict.loose + verdict.undetermined == (outcome is BlameOutcome.NOT_JUDGED)


def test_difference_of_unspecified_indices_is_admissible() -> None:
    case = fed([helper.make_node("Max", ["X"], ["Y"])], np.array([np.nan, 1], np.float32))
    answers = Computation([np.array([np.nan, 1], "f4")]), Computation([np.array([-np.inf, 1], "f4")])
    backend = Comparison(Subject("a", "1", None), Subject("b", "1", None))
    verdict = judge(backend, case, find_difference(["Y"], *answers), answers)
    assert (verdict.outcome, verdict.hazard, verdict.unspecified) == (BlameOutcome.BOTH_ADMISSIBLE, "unspecified", 1)


def judge_answers(nodes: list[onnx.NodeProto], X: Any, first: Any, second: Any) -> Any:
    answers = Computation([np.asarray(first, "f4")]), Computation([np.asarray(second, "f4")])
    backend = Comparison(Subject("a", "1", None), Subject("b", "1", None))
    case = fed(nodes, np.asarray(X, np.float32))
    return judge(backend, case, find_difference(["Y"], *answers), answers)


@pytest.mark.parametrize("given", [{"value_float": 3.0}, {"value_floats": [3.0, 3.0]}])
def test_operand_of_a_constant_with_floats_is_judged(given: dict[str, Any]) -> None:
    nodes = [helper.make_node("Constant", [], ["C"], **given), helper.make_node("Mul", ["X", "C"], ["Y"])]
    assert judge_answers(nodes, [1, 2], [3, 6], [3, 7]).outcome is BlameOutcome.SECOND_WRONG


@pytest.mark.parametrize("given", [{"value_int": 1}, {"value_ints": [1]}])
def test_operand_of_a_constant_with_integers_is_judged(given: dict[str, Any]) -> None:
    nodes = [helper.make_node("Constant", [], ["C"], **given), helper.make_node("Gather", ["X", "C"], ["Y"])]
    right = np.take([1, 2], next(iter(given.values())))
    assert judge_answers(nodes, [1, 2], right, right + 1).outcome is BlameOutcome.SECOND_WRONG


def test_wrong_sign_of_zero_fails_at_level_should_only() -> None:
    verdict = judge_answers([helper.make_node("Neg", ["X"], ["Y"])], [0, 1], [-0.0, -1], [0.0, -1])
    assert (verdict.outcome, verdict.shares) == (BlameOutcome.BOTH_ADMISSIBLE, (0.0, 0.0))
    assert verdict.should_shares == (0.0, np.inf)
    assert (verdict.fails(Level.MUST), verdict.fails(Level.SHOULD)) == (False, True)


def test_sign_of_zero_after_a_node_that_leaves_it_open_has_no_level() -> None:
    nodes = [helper.make_node("Relu", ["X"], ["A"]), helper.make_node("Neg", ["A"], ["Y"])]
    verdict = judge_answers(nodes, [-1, 1], [-0.0, -1], [0.0, -1])
    assert not verdict.fails(Level.SHOULD)


def test_known_values_of_an_endless_loop_are_missing() -> None:
    body = "b (i, d, v) => (d, w) { w = Identity (v) }"
    nodes = f"yes = Constant <value_int = 1> () go = Cast <to = 9> (yes) L = Loop <body = {body}> (, go, X) Y = Abs (L)"
    text = f'<ir_version: 8, opset_import: ["": 17]> m (float[2] X) => (float[2] Y) {{ {nodes} }}'
    case = FedModel(onnx.parser.parse_model(text), {"X": np.ones(2, np.float32)})
    assert model_reduction.known_values([None], case).keys() == {"X", "yes", "go"}
