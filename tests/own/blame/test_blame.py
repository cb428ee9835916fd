"""`blame` on subjects with planted faults: the pass, the nodes and the verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from fake_subject import INJECTED_PASS
from msgspec import UNSET, to_builtins
from onnx import TensorProto, helper, numpy_helper
from refusals import assert_bad_input, assert_raises
from repository import exec_subject

from conformance.base.serialization.decoding import decode_json, encode_json
from conformance.own.blame import blame_report
from conformance.own.blame.blame_report import draw_graph, folder_files, issue_text, render_page, step_lines
from conformance.own.blame.blame_session import Request, Session, quantization_steps, with_steps
from conformance.own.blame.difference import Difference, OutputDifference, find_difference
from conformance.own.blame.document import BlameDocument, decode_document
from conformance.own.blame.model_blame import BlameObserver, BlameRequest, blame_models
from conformance.own.blame.model_comparison import Computation, Failure, OpenSubjects
from conformance.own.blame.passes import Passes, PassSearch, likely_passes, minimize
from conformance.own.blame.verdict import BlameOutcome
from conformance.own.graphs.model_inputs import InputSet
from conformance.own.graphs.reading import LoadedModel
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.isolation.protocol import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

SUPPORT = Path(__file__).parents[2] / "support"


def tensor(name: str, shape: Sequence[Any] | None, type: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, type, shape)


def write(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    shape: Sequence[int] = (3, 4),
    output: onnx.ValueInfoProto | None = None,
    weights: Sequence[onnx.TensorProto] = (),
) -> LoadedModel:
    """Write a model from X to Y, and read it."""
    graph = helper.make_graph(list(nodes), "g", [tensor("X", shape)], [output or tensor("Y", shape)], list(weights))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return LoadedModel.read(path)


def numbers(shape: Sequence[int] = (3, 4)) -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).standard_normal(tuple(shape)).astype(np.float32)


def session_for(
    model: LoadedModel,
    *backends: str,
    optimizer: str = "",
    X: Any = None,
    document: BlameDocument | None = None,
    timeout: float = 20,
) -> Session:
    """Return a session with subjects of `fake_subject` in this process, or with harnesses."""
    named = [subject_named(name, SubjectKind.BACKEND) for name in backends]
    rewriter = subject_named(optimizer, SubjectKind.OPTIMIZER) if optimizer else None
    data_set = InputSet("given", (numbers() if X is None else X,))
    request = Request(model, [data_set], named[0], named[-1], rewriter)
    subjects = OpenSubjects(Limits(timeout), in_process=True)
    return Session(request, subjects, known=document)


def subject_named(name: str, kind: SubjectKind) -> SubjectName:
    return SubjectName.parse(name if name.startswith("exec:") else f"fake_subject:{name}", kind)


def harness(name: str) -> str:
    """Return the name of a subject of `fake_harness`, which fails on an Abs in a process of its own."""
    return exec_subject(sys.executable, SUPPORT / "fake_harness.py", name)


def steps_of(session: Session) -> dict[str, Any]:
    steps: dict[str, Any] = decode_json(encode_json(session.document))["steps"]
    return steps


def operators(session: Session) -> list[str]:
    return [node["operator"] for node in steps_of(session)["reduction"]["nodes"]]


@pytest.fixture
def long_model(tmp_path: Path) -> LoadedModel:
    """A model of 31 nodes with one Abs, and with weights."""
    names = ["X", *(f"v{number}" for number in range(30)), "Y"]
    nodes = [helper.make_node(["Tanh", "Sin"][n % 2], [names[n]], [names[n + 1]]) for n in range(31)]
    nodes[15] = helper.make_node("Abs", [names[15]], [names[16]])
    nodes[8] = helper.make_node("Add", [names[8], "W"], [names[9]])
    weights = [numpy_helper.from_array(numbers(), "W")]
    return write(tmp_path / "long.onnx", nodes, weights=weights)


def test_rewrite_wrong_in_one_pass_of_ten_names_pass_and_node(long_model: LoadedModel) -> None:
    session = session_for(long_model, "correct", optimizer="wrong_in_one_pass")
    assert session.run().outcome is BlameOutcome.OPTIMIZER_WRONG
    assert steps_of(session)["controls"]["round_trip"] == "same"
    assert steps_of(session)["passes"]["names"] == ["pass_6"]
    assert operators(session) == ["Abs"]
    assert session.reduced is not None
    assert session.reduced.arrays[0].size == 1
    assert not session.reduced.model.graph.initializer


class Recorded(BlameObserver):
    """The lines of each step."""

    def __init__(self) -> None:
        self.steps: list[list[str]] = []

    def step_ended(self, lines: Sequence[str]) -> None:
        self.steps.append([*lines])


def test_comparison_as_a_function_writes_the_reports_and_prints_nothing(
    long_model: LoadedModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ways = (
        subject_named("correct", SubjectKind.BACKEND),
        subject_named("correct", SubjectKind.BACKEND),
        subject_named("wrong_in_one_pass", SubjectKind.OPTIMIZER),
    )
    asked = BlameRequest(
        long_model.path,
        ways,
        OpenSubjects(Limits(20), in_process=True),
        json=tmp_path / "blame.json",
        output=tmp_path / "reproduction",
    )
    recorded = Recorded()
    result = blame_models(asked, recorded)
    assert result.fails
    assert result.verdict is not None
    assert result.verdict.outcome is BlameOutcome.OPTIMIZER_WRONG
    assert result.reproduction == asked.output
    assert len(recorded.steps) > 3
    assert decode_json((tmp_path / "blame.json").read_bytes())["steps"]["passes"]["names"] == ["pass_6"]
    assert [*(tmp_path / "reproduction").iterdir()]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("changes", [False, True])
def test_releases_whose_outputs_changed_fail_although_the_page_admits_both(
    long_model: LoadedModel, changes: bool
) -> None:
    ways = (subject_named("correct", SubjectKind.BACKEND), subject_named("correct", SubjectKind.BACKEND), None)
    asked = BlameRequest(
        long_model.path,
        ways,
        OpenSubjects(Limits(20), in_process=True),
        at_release=lambda request: (changes, request),
    )
    result = blame_models(asked, Recorded())
    assert result.verdict is not None
    assert result.verdict.outcome is BlameOutcome.NO_DIFFERENCE
    assert result.fails is changes


def test_two_passes_wrong_together_are_both_named(long_model: LoadedModel) -> None:
    session = session_for(long_model, "correct", optimizer="wrong_in_two_passes_together")
    assert session.run().outcome is BlameOutcome.OPTIMIZER_WRONG
    assert steps_of(session)["passes"]["names"] == ["pass_2", "pass_7"]
    assert operators(session) == ["Abs"]


def test_round_trip_that_changes_the_model_is_reported_without_a_pass(long_model: LoadedModel) -> None:
    session = session_for(long_model, "correct", optimizer="wrong_round_trip")
    assert session.run().outcome is BlameOutcome.OPTIMIZER_WRONG
    assert steps_of(session)["controls"]["round_trip"] == "differs"
    assert steps_of(session)["passes"]["names"] == []
    assert operators(session) == ["Abs"]


def test_rounding_tie_of_softmax_and_argmax_is_nobodys_fault(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Tanh", ["X"], ["a"]),
        helper.make_node("Softmax", ["a"], ["b"], axis=1),
        helper.make_node("ArgMax", ["b"], ["Y"], axis=1, keepdims=0),
    ]
    model = write(tmp_path / "tie.onnx", nodes, (2, 3), tensor("Y", [2], TensorProto.INT64))
    X = np.array([[0, 1e-8, 0], [1, 2, 3]], np.float32)
    session = session_for(model, "correct", optimizer="removes_softmax", X=X)
    verdict = session.run()
    assert (verdict.outcome, verdict.hazard) == (BlameOutcome.BOTH_ADMISSIBLE, "rounding_tie")
    assert steps_of(session)["passes"]["names"] == ["pass_3"]
    assert operators(session) == ["Softmax", "ArgMax"]


@pytest.mark.parametrize(
    ("row", "hazard"),
    [([0, 1e-8, 0], "rounding_tie"), ([0, np.inf, 0], "softmax_infinity"), ([0, 1, np.nan], "softmax_nan")],
)
def test_hazard_of_the_removed_softmax_is_named(tmp_path: Path, row: list[float], hazard: str) -> None:
    nodes = [
        helper.make_node("Softmax", ["X"], ["b"], axis=1),
        helper.make_node("ArgMax", ["b"], ["Y"], axis=1, keepdims=0),
    ]
    model = write(tmp_path / "tie.onnx", nodes, (1, 3), tensor("Y", [1], TensorProto.INT64))
    session = session_for(model, "correct", optimizer="removes_softmax", X=np.array([row], np.float32))
    verdict = session.run()
    assert (verdict.outcome, verdict.hazard) == (BlameOutcome.BOTH_ADMISSIBLE, hazard)


def test_subject_that_is_not_deterministic_ends_with_the_controls(long_model: LoadedModel) -> None:
    session = session_for(long_model, "not_deterministic", "correct")
    assert session.run().outcome is BlameOutcome.NOT_DETERMINISTIC
    assert set(steps_of(session)) == {"controls", "verdict"}


@pytest.mark.parametrize(("run", "text"), [(1, "in the first run only"), (2, "in the second run only")])
def test_subject_that_fails_once_is_reported_with_its_message(long_model: LoadedModel, run: int, text: str) -> None:
    session = session_for(long_model, "correct", f"fails_in_run_{run}")
    assert session.run().outcome is BlameOutcome.NOT_DETERMINISTIC
    reason = steps_of(session)["verdict"]["reason"]
    assert text in reason
    assert "out of luck" in reason


def loop_model(path: Path) -> LoadedModel:
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["condition"], ["next"]),
            helper.make_node("Tanh", ["state"], ["t"]),
            helper.make_node("Sub", ["t", "X"], ["d"]),
            helper.make_node("Abs", ["d"], ["e"]),
            helper.make_node("Sin", ["e"], ["new"]),
        ],
        "body",
        [tensor("step", [], TensorProto.INT64), tensor("condition", [], TensorProto.BOOL), tensor("state", [3, 4])],
        [tensor("next", [], TensorProto.BOOL), tensor("new", [3, 4])],
    )
    weights = [numpy_helper.from_array(np.array(3, np.int64), "count"), numpy_helper.from_array(np.array(True), "true")]
    nodes = [
        helper.make_node("Tanh", ["X"], ["a"]),
        helper.make_node("Loop", ["count", "true", "a"], ["b"], body=body),
        helper.make_node("Sin", ["b"], ["Y"]),
    ]
    return write(path, nodes, weights=weights)


def test_difference_inside_a_loop_names_the_node_of_the_body(tmp_path: Path) -> None:
    session = session_for(loop_model(tmp_path / "loop.onnx"), "correct", "wrong_abs")
    assert session.run().outcome is BlameOutcome.SECOND_WRONG
    assert operators(session) == ["Abs"]


def test_difference_that_needs_the_loop_keeps_the_loop_and_the_node(tmp_path: Path) -> None:
    session = session_for(loop_model(tmp_path / "loop.onnx"), "correct", "wrong_abs_in_loops")
    assert session.run().outcome is BlameOutcome.SECOND_WRONG
    assert operators(session)[0] == "Loop"
    assert "Abs" in operators(session)
    assert len(operators(session)) <= 5


@pytest.mark.parametrize(("backend", "node"), [("wrong_abs_anywhere", "Abs"), ("wrong_abs_in_functions", "Outer")])
def test_difference_in_a_function_called_in_subgraphs_names_the_node(tmp_path: Path, backend: str, node: str) -> None:
    text = """<ir_version: 8, opset_import: ["": 17, "own": 1]>
    calls (float[3, 4] X) => (float[3, 4] Y) <bool yes = {1}, int64 count = {3}> {
      a = Tanh (X)
      b = If (yes) <
        then_branch = one () => (float[3, 4] c) { c = own.Outer (a) },
        else_branch = other () => (float[3, 4] d) { d = Sin (a) }
      >
      Y = Loop (count, yes, b) <
        body = body (int64 step, bool before, float[3, 4] e) => (bool after, float[3, 4] f) {
          after = Identity (before)
          g = own.Outer (e)
          f = Sin (g)
        }
      >
    }
    <domain: "own", opset_import: ["": 17]> Inner (x) => (y) { y = Abs (x) }
    <domain: "own", opset_import: ["": 17, "own": 1]> Outer (x) => (y) { t = Sin (x) y = own.Inner (t) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "calls.onnx")
    session = session_for(LoadedModel.read(tmp_path / "calls.onnx"), "correct", backend)
    assert session.run().outcome is BlameOutcome.SECOND_WRONG
    assert operators(session) == [node]


def test_difference_of_two_outputs_names_the_node_of_the_first(tmp_path: Path) -> None:
    nodes = [helper.make_node("Abs", ["X"], ["Y"]), helper.make_node("ArgMax", ["Y"], ["index"], axis=1)]
    outputs = [tensor("index", (3, 1), TensorProto.INT64), tensor("Y", (3, 4))]
    graph = helper.make_graph(nodes, "g", [tensor("X", (3, 4))], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "two.onnx")
    X = np.asarray([[1, 2, 3, -2]] * 3, np.float32)
    session = session_for(LoadedModel.read(tmp_path / "two.onnx"), "wrong_abs", "correct", X=X)
    verdict = session.run()
    assert {each.name for each in session.document.steps.difference.outputs} == {"index", "Y"}
    assert verdict.outcome is BlameOutcome.FIRST_WRONG
    assert operators(session) == ["Abs"]
    element, other = verdict.elements
    assert other is None
    assert (element.output, element.bound) == ("Y", 0)
    assert element.expected == abs(session.reduced.arrays[0][element.index])
    assert element.value != element.expected


def test_other_counts_are_reduced_to_the_values_from_which_they_follow(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Abs", ["X"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("NonZero", ["b"], ["Y"]),
    ]
    output = tensor("Y", (2, None), TensorProto.INT64)
    session = session_for(write(tmp_path / "counts.onnx", nodes, output=output), "wrong_abs", "correct")
    assert session.run().outcome is BlameOutcome.FIRST_WRONG
    assert operators(session) == ["Abs"]


def test_sizes_are_chosen_with_which_the_first_subject_runs(tmp_path: Path, command: Any) -> None:
    text = "g (float[L] X) => (float Y, float[L] Z) <int64 I = {20}> { Z = Abs (X) Y = Gather (Z, I) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}'), tmp_path / "m.onnx")
    told = ("-b", "fake_subject:correct", "-b", "fake_subject:wrong_abs", "--no-isolation")
    ended = command("blame", tmp_path / "m.onnx", *told)
    assert "--shape L=64" in ended.out
    assert ended.status == 1


def test_second_of_two_runtimes_is_wrong(long_model: LoadedModel) -> None:
    session = session_for(long_model, "correct", "wrong_abs")
    assert session.run().outcome is BlameOutcome.SECOND_WRONG
    assert operators(session) == ["Abs"]
    swapped = session_for(long_model, "wrong_abs", "correct")
    assert swapped.run().outcome is BlameOutcome.FIRST_WRONG


def test_fused_kernel_whose_fault_disappears_when_exposed_keeps_both_nodes(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Tanh", ["X"], ["a"]),
        helper.make_node("Mul", ["a", "X"], ["b"]),
        helper.make_node("Add", ["b", "a"], ["c"]),
        helper.make_node("Sin", ["c"], ["Y"]),
    ]
    session = session_for(write(tmp_path / "fused.onnx", nodes), "correct", "wrong_fused_mul_add")
    assert session.run().outcome is BlameOutcome.SECOND_WRONG
    assert operators(session) == ["Mul", "Add"]


def test_no_difference_ends_after_the_second_step(long_model: LoadedModel) -> None:
    session = session_for(long_model, "correct", "correct")
    verdict = session.run()
    assert verdict.outcome is BlameOutcome.NO_DIFFERENCE
    assert not verdict.outcome.fails
    assert set(steps_of(session)) == {"controls", "difference", "verdict"}


def test_no_difference_of_a_constant_output_has_a_warning(tmp_path: Path) -> None:
    session = session_for(
        write(tmp_path / "zero.onnx", [helper.make_node("Sub", ["X", "X"], ["Y"])]), "correct", "correct"
    )
    session.run()
    _, *lines = step_lines("difference", session.document)
    assert [line.strip().partition(":")[0] for line in lines][1:] == ["Warning"]


ONE = np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("first", "second", "kind", "counts", "worst"),
    [
        ([ONE, ONE], [ONE, ONE * 3], "values", (4, 2, 2.0), [("[1, 1]", (1, 3)), ("[1, 0]", (1, 3))]),
        ([ONE], [ONE, ONE], "length", (1, 1, 1.0), [("[]", (1, 2))]),
        ({"a": 1.0, "b": 2.0}, {"b": 2.5, "a": 1.0}, "values", (2, 1, 0.5), [("[]['b']", (2.0, 2.5))]),
        ({1: 1.0}, {2: 1.0}, "values", (2, 2, np.inf), [("[][1]", (1.0, "")), ("[][2]", ("", 1.0))]),
        ([{"a": "x"}], [{"a": "y"}], "values", (1, 1, np.inf), [("[0]['a']", ("x", "y"))]),
        ([[ONE], [ONE]], [[ONE], [ONE * 2]], "values", (4, 2, 1.0), [("[1, 0, 1]", (1, 2)), ("[1, 0, 0]", (1, 2))]),
        ([ONE], [None], "type", (2, 0, 0.0), []),
    ],
)
def test_difference_of_sequences_and_maps_has_the_elements(
    first: Any, second: Any, kind: str, counts: tuple[float, ...], worst: list[Any]
) -> None:
    found = find_difference(["Y"], Computation([first]), Computation([second]))
    (output,) = found.outputs
    assert (output.kind, [(each.place, each.values) for each in output.worst]) == (kind, worst)
    if kind != "type":
        assert (output.elements, output.differing, output.largest) == counts


MADE_SEQUENCES = """
from computing_backend import Computes, evaluate

def add(always):
    def run(model, inputs):
        is_made = any(node.op_type == "SequenceConstruct" for node in model.graph.node)
        return [output + (always or is_made) for output in evaluate(model, inputs)]
    return Computes(run)

Always, IfMade = add(True), add(False)
"""


@pytest.mark.parametrize(("second", "outcome"), [("correct", "no difference"), ("Always", "not judged")])
def test_sequences_that_a_subject_takes_otherwise_show_the_difference_of_the_given_model(
    here: Path, command: Any, second: str, outcome: str
) -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (seq(float[2]) s) => (float[2] y) <int64 n = {0}>'
    onnx.save(onnx.parser.parse_model(f"{text} {{ y = SequenceAt(s, n) }}"), here / "m.onnx")
    (here / "made_sequences.py").write_text(MADE_SEQUENCES)
    module = "fake_subject" if second == "correct" else "made_sequences"
    words = ("-b", "made_sequences:IfMade", "-b", f"{module}:{second}", "--no-isolation", "--json", "b.json")
    assert command("blame", "m.onnx", *words).status == int(outcome == "not judged")
    steps = json.loads((here / "b.json").read_text())["steps"]
    assert steps["verdict"]["outcome"] == outcome
    assert [each["differing"] for each in steps["difference"]["outputs"]] == ([2] if second == "Always" else [])


def test_model_that_neither_computes_is_not_judged(long_model: LoadedModel) -> None:
    session = session_for(long_model, "raises_for_abs", "raises_for_abs")
    verdict = session.run()
    assert verdict.outcome is BlameOutcome.NOT_JUDGED
    assert "no kernel for Abs" in verdict.reason
    assert set(steps_of(session)) == {"controls", "difference", "verdict"}


@pytest.mark.parametrize("optimizer", ["cannot_rewrite_abs", "returns_invalid_model"])
def test_optimizer_that_fails_or_returns_an_invalid_model_is_wrong(long_model: LoadedModel, optimizer: str) -> None:
    session = session_for(long_model, "correct", optimizer=optimizer)
    assert session.run().outcome is BlameOutcome.OPTIMIZER_WRONG
    assert "Abs" in operators(session)
    assert len(operators(session)) <= 5


def test_subject_that_does_not_run_the_model_is_wrong(long_model: LoadedModel) -> None:
    session = session_for(long_model, "correct", "raises_for_abs")
    assert session.run().outcome is BlameOutcome.SECOND_WRONG
    assert operators(session) == ["Abs"]


@pytest.fixture
def short_model(tmp_path: Path) -> LoadedModel:
    """A model of two nodes, of which the second is Abs."""
    nodes = [helper.make_node(op_type, [a], [b]) for op_type, a, b in (("Tanh", *"Xa"), ("Abs", *"aY"))]
    return write(tmp_path / "short.onnx", nodes, (1,))


@pytest.mark.variants(1)
@pytest.mark.programs
@pytest.mark.parametrize(
    ("optimizer", "timeout", "failure", "message", "reduced"),
    [
        ("AbortingOptimizer", 20, "the graph optimizer fails", "SIGABRT", ["Abs"]),
        ("EndlessOptimizer", 2, "the graph optimizer fails", "did not answer `optimize` within 2 s", ["Abs"]),
        ("TruncatingOptimizer", 20, "the graph optimizer fails", "", None),
    ],
)
def test_optimizer_that_crashes_hangs_or_writes_half_a_model_is_an_answer(
    short_model: LoadedModel, optimizer: str, timeout: float, failure: str, message: str, reduced: list[str] | None
) -> None:
    session = session_for(short_model, "correct", optimizer=harness(optimizer), X=numbers((1,)), timeout=timeout)
    assert session.run().outcome is BlameOutcome.OPTIMIZER_WRONG
    difference = steps_of(session)["difference"]
    assert difference["failures"] == ["", failure]
    assert message in difference["messages"][1]
    assert len(operators(session)) == 1
    assert reduced in (None, operators(session))


@pytest.mark.variants(1)
@pytest.mark.programs
@pytest.mark.parametrize(
    ("backends", "timeout", "place", "message", "outcome"),
    [
        (("correct", "CrashingBackend"), 20, 1, "SIGSEGV", BlameOutcome.SECOND_WRONG),
        (("CrashingBackend", "correct"), 20, 0, "SIGSEGV", BlameOutcome.FIRST_WRONG),
        (("correct", "EndlessBackend"), 2, 1, "did not answer `load` within 2 s", BlameOutcome.SECOND_WRONG),
    ],
)
def test_subject_that_crashes_or_hangs_is_an_answer(
    short_model: LoadedModel, backends: tuple[str, str], timeout: float, place: int, message: str, outcome: BlameOutcome
) -> None:
    named = [harness(name) if name.endswith("Backend") else name for name in backends]
    session = session_for(short_model, *named, X=numbers((1,)), timeout=timeout)
    assert session.run().outcome is outcome
    difference = steps_of(session)["difference"]
    assert difference["failures"][place] == "the subject does not run the model"
    assert message in difference["messages"][place]
    assert operators(session) == ["Abs"]


@pytest.mark.long
@pytest.mark.programs
def test_subject_that_does_not_start_again_is_an_error(short_model: LoadedModel, tmp_path: Path, command: Any) -> None:
    words = ["-b", "fake_subject:correct", "-b", f"{harness('StartsOnce')} {tmp_path / 'started'}"]
    assert_bad_input(command("blame", short_model.path, *words), "subject.not-started")


@pytest.mark.variants(1)
@pytest.mark.programs
@pytest.mark.parametrize(
    "words",
    [
        ("blame", "-b", "fake_subject:correct", "-b", "fake_subject:correct"),
        ("blame", "-b", "fake_subject:correct", "-o", "fake_subject:leaves_it"),
        ("audit", "-b", "fake_subject:correct"),
    ],
)
def test_full_disk_is_an_error_and_no_answer_of_the_subject(
    short_model: LoadedModel, words: tuple[str, ...], command: Any, full_temporary_folder: Any
) -> None:
    with full_temporary_folder(1):
        assert_bad_input(command(words[0], short_model.path, *words[1:]), "storage.temporary-file")


def test_interrupted_session_continues_with_its_steps(long_model: LoadedModel) -> None:
    first = session_for(long_model, "correct", optimizer="wrong_in_one_pass")

    def interrupt(name: str) -> None:
        if name == "passes":
            raise KeyboardInterrupt

    first.on_step = interrupt
    with pytest.raises(KeyboardInterrupt):
        first.run()
    document = decode_document(encode_json(first.document))
    assert set(to_builtins(document.steps)) == {"controls", "difference", "passes"}
    assert document.steps.passes is not None
    document.steps.passes.tested = -1  # is kept if the step does not run again
    second = session_for(long_model, "correct", optimizer="wrong_in_one_pass", document=document)
    assert second.run().outcome is BlameOutcome.OPTIMIZER_WRONG
    assert steps_of(second)["passes"]["tested"] == -1
    assert operators(second) == ["Abs"]


def test_interrupted_search_of_passes_continues_with_the_tried_sets(long_model: LoadedModel) -> None:
    def interrupt(text: str) -> None:
        if text.startswith("5 sets of passes"):
            raise KeyboardInterrupt

    first = session_for(long_model, "correct", optimizer="wrong_in_one_pass")
    first.progress = interrupt
    with pytest.raises(KeyboardInterrupt):
        first.run()
    document = decode_document(encode_json(first.document))
    tried = document.tried
    assert len(tried) == 4
    document.tried = dict.fromkeys(tried, False)  # the tried sets are not tried again
    second = session_for(long_model, "correct", optimizer="wrong_in_one_pass", document=document)
    second.run()
    assert steps_of(second)["passes"]["names"] is None
    assert second.document.tried is UNSET


def test_graph_of_the_page_marks_the_nodes_of_the_reduced_model(
    long_model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_for(long_model, "correct", "wrong_abs")
    session.run()
    assert session.reduced is not None
    drawing = draw_graph(long_model.prepared, session.reduced.model)
    assert [node.label for node in drawing.nodes if node.is_reduced] == ["Abs"]
    assert (len(drawing.nodes), drawing.left_out) == (31, 0)
    monkeypatch.setattr(blame_report, "MAX_DRAWN_NODES", 3)
    drawing = draw_graph(long_model.prepared, session.reduced.model)
    assert ([node.label for node in drawing.nodes], drawing.left_out) == (["Tanh", "Abs", "Tanh"], 28)


def test_interrupted_reduction_continues_with_the_smallest_model(long_model: LoadedModel) -> None:
    first = session_for(long_model, "correct", "wrong_abs")

    def interrupt(_: str) -> None:
        if first.document.steps.reduction is not None:
            raise KeyboardInterrupt

    first.progress = interrupt
    with pytest.raises(KeyboardInterrupt):
        first.run()
    reduction = first.document.steps.reduction
    assert reduction is not None
    assert not reduction.is_complete
    assert 1 <= len(reduction.nodes) < 31
    assert reduction.read().model.graph.node
    second = session_for(long_model, "correct", "wrong_abs", document=first.document)
    assert second.run().outcome is BlameOutcome.SECOND_WRONG
    assert operators(second) == ["Abs"]


@pytest.mark.parametrize("optimizer", ["", "wrong_in_one_pass"])
def test_session_without_time_judges_the_whole_model(long_model: LoadedModel, optimizer: str) -> None:
    session = session_for(long_model, "correct", *([] if optimizer else ["wrong_abs"]), optimizer=optimizer)
    session.request = replace(session.request, seconds=1e-9)
    assert session.run().outcome.fails
    found = steps_of(session)
    assert (found["passes"]["names"], found["reduction"]["ended_early"]) == (None, True)
    assert len(operators(session)) == 31


def test_document_of_another_request_is_refused(long_model: LoadedModel) -> None:
    first = session_for(long_model, "correct", "wrong_abs")
    first.run()
    with assert_raises("job.other-job", "subjects", "wrong_abs"):
        session_for(long_model, "wrong_abs", "correct", document=first.document).run()


@pytest.mark.parametrize(
    "broken",
    [
        [],
        {"format": 1},
        {"format": 1, "inputs": [], "versions": [], "steps": {"controls": {}}},
        {"format": 1, "inputs": [], "versions": [], "steps": {"other": {}}},
        {"format": 1, "inputs": [], "versions": [], "steps": {"passes": {"names": [], "reason": "", "tested": 1}}},
        {"format": 2, "inputs": [], "versions": [], "steps": {}},
        {"format": 1, "inputs": [], "versions": [], "steps": {}, "tried": {"a": 1}},
    ],
)
def test_malformed_document_is_refused(long_model: LoadedModel, tmp_path: Path, command: Any, broken: Any) -> None:
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    words = ["-b", "fake_subject:correct", "-b", "fake_subject:wrong_abs", "--no-isolation"]
    ended = command("blame", long_model.path, *words, "--resume", tmp_path / "broken.json")
    assert_bad_input(ended, "job.malformed-state")


@pytest.mark.parametrize("wanted", [{3}, {0, 9}, {2, 3, 8}, set(range(10))])
def test_minimize_returns_exactly_the_needed_items(wanted: set[int]) -> None:
    assert minimize(range(10), lambda part: wanted <= set(part)) == sorted(wanted)


PASSES = ("fuse_pad_into_conv", "eliminate_identity", "fuse_bn_into_conv", "fuse_add_bias_into_conv", "other")


@pytest.mark.parametrize(
    ("needed", "tested"), [(("fuse_bn_into_conv",), 3), (("fuse_bn_into_conv", "other"), 14), (("other",), 5)]
)
def test_single_passes_named_as_removed_operators_are_tried_first(needed: tuple[str, ...], tested: int) -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[1] X) => (float[1] Y)'
    before = onnx.parser.parse_model(f"{text} {{ A = Conv(X, X) B = BatchNormalization(A, X, X, X, X) Y = Add(B, X) }}")
    after = onnx.parser.parse_model(f"{text} {{ B = Conv(X, X) Y = Add(B, X) }}")
    passes = Passes(subject_named("identity", SubjectKind.OPTIMIZER), PASSES)

    def keeps(subject: SubjectName) -> bool:
        return {*needed} <= {*subject.options["passes"].split("+")}

    search = PassSearch(passes, keeps, lambda _: None, {}, model=before, find_rewrite=lambda _: after)
    found = search.find()
    assert (found.names, found.reason) == ([*needed], "")
    assert (found.tested, likely_passes(PASSES, before, after)) == (tested, ["fuse_bn_into_conv"])


def test_reports_have_every_step_and_escape_names(long_model: LoadedModel, tmp_path: Path) -> None:
    session = session_for(long_model, "correct", optimizer="wrong_in_one_pass")
    session.run()
    document = session.document
    document.model.file = "<script>alert(1)</script>"
    page = render_page(document, passes=False)
    assert "<script>" not in page
    assert page.count("<section>") == 6
    assert 'href="https://onnx.ai/onnx/operators/onnx__Abs.html"' in page
    assert 'href="../a%20b"' in render_page(document, passes=False, folder="../a%20b")
    assert "Abs" in page.partition("<pre>")[2]
    assert "pass_6" in issue_text(document, "model")
    assert all(len(list(step_lines(name, document))) > 1 for name in steps_of(session))
    assert session.reduced is not None
    assert session.answers is not None
    first, second, rewriter = session.chosen_subjects()
    files = folder_files(document, session.reduced, session.answers, (first, second), rewriter)
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    environment = {"PYTHONPATH": f"{SUPPORT}:{SUPPORT.parents[1]}"}
    done = subprocess.run(
        [sys.executable, tmp_path / "reproduce.py"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "outputs differ" in done.stdout


class PageParser(HTMLParser):
    """Collects the elements, the attributes and the texts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_page_shows_injected_names_as_text(tmp_path: Path) -> None:
    node_name, output = """<script>'node"</script>""", """</title><a href="javascript:output">"""
    nodes = [helper.make_node("Tanh", ["X"], ["a"]), helper.make_node("Abs", ["a"], [output], name=node_name)]
    model = write(tmp_path / '<img src="javascript:file" onerror=x>.onnx', nodes, output=tensor(output, (3, 4)))
    session = session_for(model, "correct", optimizer="wrong_in_injected_pass")
    session.run()
    page = render_page(session.document, passes=False)
    graph = PageParser()
    graph.feed(render_page(session.document, passes=False, whole=model.prepared))
    assert graph.tags.count("rect") == len(nodes)
    assert set(graph.tags).isdisjoint({"script", "img"})
    parser = PageParser()
    parser.feed(page)
    assert set(parser.tags).isdisjoint({"script", "img"})
    assert parser.tags.count("a") == page.count('<a href="https://onnx.ai/') == 1
    text = issue_text(session.document, "agraph\n~~~~\n# <script>")
    prose, fence, model_text = text.partition("~~~~~")
    assert fence
    assert not {"<", "[", "`"} & set(prose)
    assert model_text.count("~~~~~") == 1
    assert parser.tags.count("title") == 1
    own = {
        "lang",
        "charset",
        "name",
        "http-equiv",
        "content",
        "class",
        "id",
        "rel",
        "href",
        "aria-hidden",
        "aria-label",
    }
    assert parser.attributes <= own
    text = "".join(parser.texts)
    for name in (node_name, output, INJECTED_PASS, model.path.name):
        assert name in text


# Command line


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["-b", "fake_subject:correct"], "usage.subject-count"),
        (["-o", "identity"], "usage.subject-count"),
        (["-b", "fake_subject:correct", "-b", "no_such_backend"], "name.unknown-subject"),
        (["-b", "fake_subject:correct", "-b", "fake_subject:wrong_abs", "--shape", "Z=1"], "usage.unknown-shape"),
        (["-b", "a", "-b", "b", "--resume", "gone"], "job.state-unusable"),
    ],
)
def test_bad_arguments_are_refused_and_leave_nothing(
    long_model: LoadedModel, tmp_path: Path, command: Any, words: list[str], code: str
) -> None:
    target = tmp_path / "out"
    ended = command("blame", long_model.path, *words, "--no-isolation", "--output", target)
    assert_bad_input(ended, code)
    assert not target.exists()


def test_command_writes_every_report_and_returns_1_for_a_fault(
    long_model: LoadedModel, tmp_path: Path, command: Any
) -> None:
    page, document, folder = tmp_path / "b.html", tmp_path / "b.json", tmp_path / "out"
    words = ["-b", "fake_subject:correct", "-b", "fake_subject:wrong_abs", "--no-isolation"]
    ended = command("blame", long_model.path, *words, "--html", page, "--json", document, "--output", folder)
    assert ended.status == 1
    assert ended.out.splitlines()[-1].startswith("FAILED: ")
    assert json.loads(document.read_text())["steps"]["verdict"]["outcome"] == "the second is wrong"
    assert "</html>" in page.read_text()
    onnx.checker.check_model(onnx.load(folder / "model.onnx"))
    for kept in (document, tmp_path / "new.json"):  # the second one is begun, and then continued
        again = command("blame", long_model.path, *words, "--resume", kept, "--json", kept)
        assert again.status == 1
        assert json.loads(kept.read_text())["steps"] == json.loads(document.read_text())["steps"]


def test_command_searches_no_pass_and_judges_nothing_if_a_subject_lacks_an_operator(
    long_model: LoadedModel, tmp_path: Path, command: Any
) -> None:
    words = ("-b", "onnxruntime", "-b", "fake_subject:supports_only_adam", "--no-isolation")
    ended = command("blame", long_model.path, *words, "--json", tmp_path / "b.json")
    assert ended.status == 1
    steps = json.loads((tmp_path / "b.json").read_text())["steps"]
    assert "fake_subject:supports_only_adam" in steps["passes"]["reason"]
    assert steps["verdict"]["outcome"] == "not judged"
    assert ended.out.splitlines()[-1] == "FAILED: not judged"


def test_error_is_not_written_to_the_file_that_the_next_run_continues(tmp_path: Path, command: Any) -> None:
    kept = tmp_path / "kept.json"
    words = ("-b", "fake_subject:correct", "--json", kept, "--no-isolation")
    assert command("blame", "gone.onnx", *words, "--resume", kept).status == 2
    assert not kept.exists()


def test_command_returns_0_without_a_difference(long_model: LoadedModel, command: Any) -> None:
    ended = command("blame", long_model.path, "-b", "fake_subject:correct", "-o", "identity", "--no-isolation")
    assert ended.status == 0
    assert ended.out.splitlines()[-1] == "PASSED"


def test_requests_with_equal_string_inputs_have_equal_heads(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Identity", ["X"], ["Y"])],
        "g",
        [tensor("X", [1], TensorProto.STRING)],
        [tensor("Y", [1], TensorProto.STRING)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    model = LoadedModel.read(tmp_path / "m.onnx")
    inputs = [np.array(["".join(["a", "b" * 50])], dtype=object) for _ in range(2)]
    assert inputs[0][0] is not inputs[1][0]
    heads = [session_for(model, "correct", X=each).request.head() for each in inputs]
    assert heads[0] == heads[1]


def test_operator_without_reference_is_compared_with_the_result_without_optimizations(tmp_path: Path) -> None:
    nodes = [helper.make_node("Tanh", ["X"], ["a"]), helper.make_node("DFT", ["a"], ["Y"], inverse=1, onesided=1)]
    model = write(tmp_path / "m.onnx", nodes, (3, 4, 2), tensor("Y", (3, 6, 1)))
    session = session_for(model, "correct", "wrong_transform", X=numbers((3, 4, 2)))
    assert session.run().outcome is BlameOutcome.NOT_JUDGED
    step = steps_of(session)["verdict"]
    first, second = step["unoptimized"]["ways"]
    assert (step["unoptimized"]["subject"], first) == ("onnx-reference", [])
    assert [output["ulps"] > 1000 for output in second] == [True]
    assert operators(session) == ["DFT"]
    assert len(list(step_lines("verdict", session.document))) == 4
    decoded = decode_document(encode_json(session.document)).steps.verdict
    assert decoded.unoptimized.ways[0] == ()


def test_message_of_a_subject_is_not_cut(tmp_path: Path, short_model: LoadedModel) -> None:
    session = session_for(short_model, "correct", "correct")
    session.run()
    session.document.steps.difference = Difference(True, messages=("", "long " * 500 + "end"), failures=("", "fails"))
    assert any(line.endswith("long end") for line in step_lines("difference", session.document))


def test_way_without_optimizations_is_not_compared_with_itself(tmp_path: Path, command: Any) -> None:
    nodes = [helper.make_node("DFT", ["X"], ["Y"], inverse=1, onesided=1)]
    model = write(tmp_path / "m.onnx", nodes, (3, 4, 2), tensor("Y", (3, 6, 1)))
    words = ("-b", "onnx-reference", "-b", "fake_subject:wrong_transform", "--no-isolation")
    assert command("blame", model.path, *words, "--json", tmp_path / "b.json").status == 1
    verdict = json.loads((tmp_path / "b.json").read_text())["steps"]["verdict"]
    assert verdict["outcome"] == "not judged"
    assert "unoptimized" not in verdict


def test_reduction_keeps_to_the_rounding_of_a_model_on_which_nobody_is_wrong(tmp_path: Path) -> None:
    weights = [numpy_helper.from_array(np.array([2], np.float32), "two")]
    model = write(tmp_path / "m.onnx", [helper.make_node("Pow", ["X", "two"], ["Y"])], weights=weights)
    assert session_for(model, "correct", "wrong_power_of_zero").run().outcome is BlameOutcome.BOTH_ADMISSIBLE


@pytest.mark.parametrize(("type", "steps"), [(TensorProto.UINT8, 1.0), (TensorProto.FLOAT, 0.25), (None, 0.0)])
def test_quantization_step_is_that_of_the_type_or_of_the_scale(tmp_path: Path, type: int | None, steps: float) -> None:
    quantize = helper.make_node("QuantizeLinear", ["X", "s", "z"], ["q" if type == TensorProto.FLOAT else "Y"])
    nodes = [quantize] if type else [helper.make_node("Neg", ["X"], ["Y"])]
    nodes += [helper.make_node("DequantizeLinear", ["q", "s", "z"], ["Y"])] if type == TensorProto.FLOAT else []
    weights = [numpy_helper.from_array(np.float32(0.25), "s"), numpy_helper.from_array(np.uint8(3), "z")]
    model = write(tmp_path / "m.onnx", nodes, output=tensor("Y", (3, 4), type or TensorProto.FLOAT), weights=weights)
    assert quantization_steps(model.prepared).get("Y", 0) == steps
    found = with_steps(model.prepared, Difference(True, outputs=(OutputDifference("Y", "values", 12, 1, 0.5),)))
    assert found.outputs[0].steps == (0.5 / steps if steps else UNSET)


@pytest.mark.parametrize(("level", "status"), [("must", 0), ("should", 1)])
def test_page_has_the_outcome_at_the_chosen_level(command: Any, tmp_path: Path, level: str, status: int) -> None:
    write(tmp_path / "m.onnx", [helper.make_node("Neg", ["X"], ["Y"])])
    np.savez(tmp_path / "x.npz", X=np.zeros((3, 4), np.float32))
    words = ["blame", tmp_path / "m.onnx", "-b", "fake_subject:correct", "-b", "fake_subject:positive_zeros"]
    words += ["--inputs", tmp_path / "x.npz", "--no-isolation", "--html", tmp_path / "b.html"]
    assert command(*words, "--fail-level", level).status == status
    assert ('class="outcome failed"' in (tmp_path / "b.html").read_text()) == bool(status)


@pytest.mark.parametrize(
    ("message", "is_same"),
    [
        ("ValueError: node lf_7: the truth value of an array with 3 elements is ambiguous", True),
        ("ValueError: need at least one array to concatenate", False),
    ],
)
def test_failure_of_a_smaller_model_is_the_same_by_its_words(message: str, is_same: bool) -> None:
    def failing(text: str) -> Difference:
        return Difference(True, (Failure.NONE, Failure.RUN), ("", text))

    wanted = failing("ValueError: node lf: the truth value of an array with 12 elements is ambiguous")
    assert wanted.is_same(failing(message)) == is_same
