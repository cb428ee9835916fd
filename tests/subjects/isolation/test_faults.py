"""Subjects that crash, hang or break the protocol: each fault has its verdict, and the next case passes."""

from __future__ import annotations

import ast
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import fake_subject as fakes
import numpy as np
import onnx
import pytest
from corpora import ADAM, SEVERAL
from isolation_support import HANG, faulty_harness, isolated_subject, processes_in, wait_until
from onnx import TensorProto, helper
from repository import ROOT
from typer.testing import CliRunner

from conformance.base.errors import SubjectError, SuiteFault
from conformance.base.verdicts import Verdict
from conformance.commands.cli import create_app
from conformance.corpus.cases.case_loading import load_case_in_memory
from conformance.own.blame.model_comparison import Comparison
from conformance.own.graphs.intermediate_values import run_each
from conformance.run.diagnosis.failure_evidence import observe
from conformance.run.judging.backend import CompanionModel, judge_backend
from conformance.run.judging.optimizer import OptimizerTask, judge_rewrite
from conformance.studies.census.query import NodeQuery, QueryClient
from conformance.subjects.calling.harness import FAULT_CODE, Harness, run_prepared
from conformance.subjects.calling.request import CaseEnded, call_subject
from conformance.subjects.calling.subject_loading import load_backend
from conformance.subjects.calling.subject_names import Subject
from conformance.subjects.isolation.protocol import (
    Limits,
    ProtocolViolation,
    SubjectInfo,
    UnsupportedAnswer,
    parse_answer,
)
from conformance.subjects.isolation.proxies import BackendProxy, OptimizerProxy, PreparedProxy
from conformance.subjects.isolation.start_subjects import client_of
from conformance.subjects.isolation.subject_client import STDERR_LIMIT_BYTES, SubjectClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PASS, FAIL, ERROR, UNSUPPORTED = Verdict.PASS, Verdict.FAIL, Verdict.ERROR, Verdict.UNSUPPORTED
CRASH, TIMEOUT = Verdict.CRASH, Verdict.TIMEOUT

pytestmark = [
    pytest.mark.programs,
    pytest.mark.skipif(sys.platform != "linux", reason="finds leftover processes in /proc"),
]

SHORT = Limits(timeout=HANG)
LITTLE = Limits(timeout=30, memory=2**36)
PATIENT = Limits(timeout=120)
NARROW = Limits(timeout=30, line=2**20)

# the fault, its limits, the verdict, the phase and a part of the message
LONG = {
    *("writes_gigabytes", "removes_its_directory", "changes_its_directory", "lies_about_types", "exits_3_on_load"),
    *(
        "starts_endless_threads",
        "returns_masked_arrays",
        "opens_many_files",
        "reads_stdin",
        "leaves_a_child_in_another_session",
    ),
}
"""Faults whose test computes for long, or that are like another one."""

FAULTS = [
    (fakes.segfaults_on_load, None, CRASH, "load", "was killed by SIGSEGV before it answered `load`"),
    (fakes.segfaults_on_run, None, CRASH, "run", "was killed by SIGSEGV before it answered `run`"),
    (
        fakes.aborts_on_run,
        None,
        CRASH,
        "run",
        "SIGABRT before it answered `run`; last line of standard error: thread panicked at",
    ),
    (fakes.is_killed_on_run, None, CRASH, "run", "SIGKILL"),
    (fakes.hangs_on_load, SHORT, TIMEOUT, "load", "did not answer `load` within 4 s"),
    (fakes.hangs_on_run, SHORT, TIMEOUT, "run", "did not answer `run` within 4 s"),
    (fakes.ignores_sigterm, SHORT, TIMEOUT, "run", "did not answer `run` within 4 s"),
    (fakes.floods_stderr, None, FAIL, "compare", "wrong of"),
    (fakes.prints_to_stdout, None, PASS, None, ""),
    (fakes.prints_to_stdout_from_c, None, PASS, None, ""),
    (fakes.floods_stdout, None, PASS, None, ""),
    (fakes.reads_stdin, None, PASS, None, ""),
    (fakes.eats_memory, None, PASS, None, ""),
    (fakes.eats_memory, LITTLE, ERROR, "run", "MemoryError: Unable to allocate"),
    (fakes.forks_and_leaves_a_child, None, CRASH, "run", "SIGSEGV"),
    (fakes.leaves_a_child_in_another_session, None, PASS, None, ""),
    (fakes.kills_its_guard, None, CRASH, "run", "was killed with its supervisor before it answered `run`"),
    (fakes.exits_0_midway, None, CRASH, "run", "exited with status 0 before it answered `run`"),
    (fakes.exits_3_on_load, None, CRASH, "load", "exited with status 3 before it answered `load`"),
    (fakes.raises_systemexit, None, ERROR, "run", "SystemExit: no licence"),
    (fakes.closes_all_descriptors, None, ERROR, "run", "closed its standard input or output"),
    (fakes.removes_its_directory, None, PASS, None, ""),
    (fakes.changes_its_directory, None, PASS, None, ""),
    (fakes.lies_about_shapes, None, FAIL, "compare", "has shape [1, "),
    (fakes.lies_about_types, None, FAIL, "compare", "has type double instead of float"),
    (fakes.recurses_without_end, None, ERROR, "run", "RecursionError: "),
    (fakes.starts_endless_threads, None, PASS, None, ""),
    (fakes.answers_twice_by_a_fork, None, PASS, None, ""),
    (fakes.returns_overlapping_arrays, None, FAIL, "compare", "wrong"),
    (fakes.returns_lying_arrays, None, FAIL, "compare", "wrong"),
    (fakes.returns_masked_arrays, None, FAIL, "compare", "wrong"),
    (fakes.returns_much, None, ERROR, "run", ""),
    (fakes.hangs_when_freed, SHORT, TIMEOUT, "run", "within 4 s"),
    (fakes.writes_gigabytes, PATIENT, PASS, None, ""),
    (fakes.opens_many_files, None, PASS, None, ""),
]


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """Folder for scratch folders; after the test it is empty, and no process was started with it."""
    directory = tmp_path / "scratch"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    yield directory
    assert (processes_in(directory), list(directory.iterdir())) == ([], [])


@pytest.fixture
def start(scratch):
    """Return a function that starts subjects; they are stopped after the test."""
    started = []

    def start(text, limits=None):
        started.append(isolated_subject(text, limits))
        return started[-1].target

    yield start
    for subject in started:
        client_of(subject).stop()


@pytest.mark.variants(26)
@pytest.mark.parametrize(
    ("fault", "limits", "verdict", "phase", "message"),
    [
        pytest.param(*row, id=f"{row[0].__name__}-{row[2]}", marks=[pytest.mark.long] * (row[0].__name__ in LONG))
        for row in FAULTS
    ],
)
def test_isolated_fault_has_its_verdict_and_next_case_passes(start, case_of, fault, limits, verdict, phase, message):
    subject = start(f"fake_subject:{fault.__name__}", limits)
    outcomes = [judge_backend(subject, case_of(case)) for case in (ADAM, SEVERAL, ADAM)]
    assert [outcome.verdict for outcome in outcomes] == [PASS, verdict, PASS]
    assert outcomes[1].phase == phase
    assert message in outcomes[1].message


# the harness, its limits, the verdict of its second load and a part of the message
BROKEN = [
    ("half_a_line_then_dies", None, CRASH, "exited with status 1 before it answered `load`, after '{\"seq\":'"),
    ("answers_the_wrong_case", None, ERROR, "with another number than "),
    ("answers_twice", None, ERROR, "wrote more than one answer: "),
    ("speaks_plain_text", None, ERROR, "with invalid JSON (JSONDecodeError): 'Loaded <b>model</b>.'"),
    ("writes_no_utf8", None, ERROR, "with invalid JSON (UnicodeDecodeError): "),
    ("endless_line", NARROW, ERROR, "wrote more than 1048576 bytes in one line: 'xxxx"),
    ("floods_lines", NARROW, ERROR, "'progress'"),
    ("deep_json", None, ERROR, "100 levels"),
    ("huge_number", None, ERROR, "with invalid JSON (ValueError)"),
    ("not_a_number", None, ERROR, "with invalid JSON (ValueError)"),
    ("answers_a_list", None, ERROR, "violates the protocol: '[1]'"),
    ("answers_another_command", None, ERROR, "violates the protocol: "),
    ("invents_members", None, ERROR, "violates the protocol: "),
    ("closes_stdout", None, ERROR, "closed its standard input or output before it answered `load`"),
    ("closes_stdin", None, UNSUPPORTED, "this time"),
    ("sends_bad_base64", None, ERROR, "output 0 that has data that is not base64"),
    ("sends_too_few_bytes", None, ERROR, "has 4 bytes of data, which does not match float of shape [2, 3]"),
    ("names_an_unknown_type", None, ERROR, "violates the protocol: "),
    ("has_a_negative_shape", None, ERROR, "violates the protocol: "),
    ("has_an_enormous_shape", None, ERROR, "violates the protocol: "),
    ("has_an_enormous_product", None, ERROR, "has 4 bytes of data"),
    ("says_it_changed_input_99", None, ERROR, "reports that it changed input 99"),
]


@pytest.mark.variants(16)
@pytest.mark.parametrize(("name", "limits", "verdict", "message"), BROKEN, ids=[row[0] for row in BROKEN])
def test_isolated_protocol_violation_is_error_and_next_case_is_judged(start, case_of, name, limits, verdict, message):
    subject = start(faulty_harness(name), limits)
    outcomes = [judge_backend(subject, case_of(ADAM)) for _ in range(3)]
    assert [outcome.verdict for outcome in outcomes] == [UNSUPPORTED, verdict, UNSUPPORTED]
    assert message in outcomes[1].message
    assert len(outcomes[1].message) < 1000


def test_integer_that_is_written_as_a_float_is_read(start):
    subject = start(faulty_harness("CountsItsModelsInFloats"))
    assert subject.client.info().models == 1


def test_removed_models_folder_is_error_of_the_next_case(start, case_of):
    subject = start("fake_subject:removes_its_models")
    outcomes = [judge_backend(subject, case_of(case)) for case in (SEVERAL, ADAM, ADAM)]
    assert [outcome.verdict for outcome in outcomes] == [PASS, ERROR, PASS]


def test_isolated_process_dying_between_cases_is_replaced(start, case_of):
    subject = start(faulty_harness("dies_after_its_answer"))
    outcomes = [judge_backend(subject, case_of(ADAM)) for _ in range(2)]
    assert wait_until(lambda: not subject.client.process.is_idle())
    outcomes.append(judge_backend(subject, case_of(ADAM)))
    assert [outcome.verdict for outcome in outcomes] == [UNSUPPORTED] * 3


@pytest.mark.parametrize(("fake", "is_kept"), [("raises_on_run", True), ("panics_on_run", False)])
def test_process_is_used_again_only_after_an_ordinary_error(start, case_of, fake, is_kept):
    subject = start(f"fake_subject:{fake}")
    assert judge_backend(subject, case_of(ADAM)).verdict is Verdict.ERROR
    assert subject.client.has_process is is_kept


class TestStandardError:
    def test_stderr_tail_has_limited_length(self, start, case_of):
        subject = start("fake_subject:floods_stderr")
        judge_backend(subject, case_of(SEVERAL))
        tail = subject.client.stderr_tail()
        assert tail.endswith("warning 49999: nothing to worry about\n")
        assert len(tail) <= STDERR_LIMIT_BYTES

    def test_stderr_tail_of_next_case_is_empty(self, start, case_of):
        subject = start("fake_subject:floods_stderr")
        judge_backend(subject, case_of(SEVERAL))
        judge_backend(subject, case_of(ADAM))
        assert subject.client.stderr_tail() == ""

    def test_stderr_tail_of_ended_process_is_kept(self, start, case_of):
        subject = start("fake_subject:aborts_on_run")
        judge_backend(subject, case_of(SEVERAL))
        assert "panicked" in subject.client.stderr_tail()


class TestEnvironment:
    @pytest.fixture
    def found(self, start, case_of):
        message = judge_backend(start("fake_subject:looks_around"), case_of(ADAM)).message
        return ast.literal_eval(message.removeprefix("ValueError: "))

    def test_home_and_working_folder_are_scratch_folders(self, found, scratch):
        assert found["home"].startswith(str(scratch))
        assert found["here"].startswith(str(scratch))
        assert found["files"] == []

    def test_subject_leads_session_and_process_group(self, found):
        assert found["leader"]

    def test_telemetry_is_disabled(self, found):
        assert found["telemetry"] == "1"

    def test_installers_have_no_index_and_no_network(self, found):
        assert found["installers"] == ["1", "", "1"]

    def test_subject_inherits_no_descriptors(self, found):
        # three streams, the protocol's two under other numbers, and the listing's own
        assert len(found["open"]) <= 6, found["open"]

    def test_options_and_device_reach_adapter(self, start, case_of):
        outcome = judge_backend(start("fake_subject:has_options[device=CUDA,provider=X]"), case_of(ADAM))
        assert outcome.message == "ValueError: CUDA {'provider': 'X'}"


class TestModel:
    def test_replaced_model_is_loaded_again(self, start, case_of):
        subject = start("fake_subject:always_right")
        case = case_of(ADAM)
        first = subject.prepare(case.model)
        subject.prepare(case_of(SEVERAL).model)
        (data_set,) = case.data_sets()
        assert (
            first.run(list(data_set.inputs))[0].tobytes()
            == subject.prepare(case.model).run(list(data_set.inputs))[0].tobytes()
        )

    def test_model_file_is_read_only(self, start, case_of):
        subject = start("fake_subject:always_right")
        subject.prepare(case_of(ADAM).model)
        (path,) = Path(subject.client.process.scratch.models).iterdir()
        assert path.stat().st_mode & 0o777 == 0o444


CALLS = {"call_subject", "call_running_subject"}
"""The functions that take an exception for an answer of the subject."""

PLACES = {
    "run/diagnosis/case_explanation.py _runner.answers": "the exception ends the command, and SuiteFault passes",
    "own/blame/model_comparison.py Comparison.rewrite": "rewrite",
    "own/graphs/intermediate_values.py run_each": "run",
    "own/kernel_referee.py _caller.call": "only the calls of the kernel are in the block, and `run` shows it for them",
    "run/diagnosis/failure_evidence.py observe": "observe",
    "run/judging/backend.py CompanionModel.__init__": "companion",
    "run/judging/backend.py CompanionModel.run": "companion",
    "run/judging/backend.py _CaseRun._call": "judge",
    "run/judging/backend.py _CaseRun._place": "judge",
    "run/judging/optimizer.py judge_rewrite": "optimize",
    "studies/census/query.py QueryClient._query": "query",
    "subjects/calling/request.py call_running_subject": "run",
    "subjects/calling/request.py call_subject": "every test below",
}
"""Each function in which an exception can become a verdict, and the test below that shows that SuiteFault passes."""


def places_in(node: ast.AST, names: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the functions that call the functions of `CALLS`, or that make an error of a subject of any exception."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        names = (*names, node.name)
    makes_verdict = isinstance(node, ast.ExceptHandler) and ast.unparse(node.type or node) in {
        "Exception",
        "BaseException",
    }
    text = ast.unparse(node) if makes_verdict else ""
    if any(each in text for each in ("CaseEnded(", "SubjectRefused(", "backend-failed", "Verdict.")):
        yield ".".join(names)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        yield ".".join(names)
    for child in ast.iter_child_nodes(node):
        yield from places_in(child, names)


def test_every_place_where_an_exception_becomes_a_verdict_is_known() -> None:
    package = ROOT / "conformance"
    found = {
        f"{path.relative_to(package).as_posix()} {name}"
        for path in package.rglob("*.py")
        for name in places_in(ast.parse(path.read_text("utf-8")))
    }
    assert found == PLACES.keys()


def identity() -> onnx.ModelProto:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    return helper.make_model(helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [value], [result]))


def broken_when_loading() -> BackendProxy:
    """Return a proxy whose own code fails when it loads a model: it has no client."""
    return BackendProxy(SimpleNamespace(named=SimpleNamespace(text="broken")))  # type: ignore[arg-type]


def broken_when_running() -> Any:
    """Return a backend that loads a model, and whose proxy fails in its own code when it runs the model."""
    proxy = broken_when_loading()
    prepared = PreparedProxy(proxy, b"", {1: ["x"]}, 0)
    return SimpleNamespace(prepare=lambda *_: prepared, prepare_companion=lambda *_: prepared)


ONE = np.ones(1, np.float32)


def drivers(case: Any, backend: Any) -> dict[str, Callable[[], Any]]:
    """Return a function for each test name of `PLACES`."""
    optimizer = OptimizerProxy(SimpleNamespace(), (), fixed_point=False)  # type: ignore[arg-type]
    named = Subject("broken", "1", optimizer)
    task = OptimizerTask.__new__(OptimizerTask)
    object.__setattr__(task, "model", identity())
    return {
        "judge": lambda: judge_backend(backend, case),
        "companion": lambda: CompanionModel(backend.prepare, case).run(),
        "observe": lambda: observe(backend, case),
        "run": lambda: run_each(backend, identity(), [[ONE]]),
        "rewrite": lambda: Comparison(named, named, named).rewrite(identity()),
        "optimize": lambda: judge_rewrite(optimizer, (), task),
        "query": lambda: QueryClient(Subject("broken", "1", backend))._query(NodeQuery("Exp", "float", (1,), 0), ONE),
    }


@pytest.mark.parametrize("make", [broken_when_loading, broken_when_running])
@pytest.mark.parametrize("name", ["judge", "companion", "observe", "run", "rewrite", "optimize", "query"])
def test_failure_of_the_suite_is_no_verdict(opened: Any, make: Any, name: str) -> None:
    call = drivers(load_case_in_memory(opened, opened.cases[ADAM]), make())[name]
    with pytest.raises(SuiteFault):
        call()


@pytest.mark.parametrize("message", [{"dtype": "nonsense", "shape": []}, {"dtype": "float", "shape": [3], "data": "!"}])
def test_failure_of_the_harness_in_python_is_no_verdict(monkeypatch: pytest.MonkeyPatch, message: Any) -> None:
    harness = Harness({"kind": "backend", "text": "x", "name": "x", "options": {}})
    answer = harness.answer({"cmd": "run", "inputs": [{"name": "x", **message}]})
    assert answer["code"] == FAULT_CODE
    client = SubjectClient.__new__(SubjectClient)
    client.named = SimpleNamespace(is_command=False)  # type: ignore[assignment]
    client._process = SimpleNamespace()  # type: ignore[assignment]
    client._seconds_left = 1.0
    monkeypatch.setattr(client, "_exchange", lambda *_: answer)
    with pytest.raises(SuiteFault):
        call_subject("run", lambda: client.ask("run", inputs=[{"name": "x", **message}]))
    monkeypatch.setattr(client, "end", lambda: None)
    with pytest.raises(CaseEnded):  # this process reads the inputs: the subject has damaged its own
        call_subject("run", lambda: client.ask("run", inputs=[]))


@pytest.mark.parametrize(
    ("value", "kind"),
    [(np.array(["a"], object), "string"), ([ONE], "sequence"), ({1: 2.0}, "map"), (None, "optional")],
)
def test_input_that_an_old_harness_does_not_take_is_unsupported(value: Any, kind: str) -> None:
    client = SimpleNamespace(info=SubjectInfo, begin_case=lambda: None)
    prepared = PreparedProxy(BackendProxy(client), b"", {1: ["x"]}, 0)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedAnswer, match=kind):
        prepared._run_fields([value])


def leave(*_: object) -> Any:
    raise SystemExit(0)


class Lies:
    """An object that says that it is an array."""

    __class__ = property(lambda _: np.ndarray)  # type: ignore[assignment]


class LiesInMetaclass(type):
    """A metaclass whose classes have no readable attributes."""

    __getattribute__ = leave  # type: ignore[assignment]


class Unreadable(np.ndarray):
    """An array without readable attributes."""

    __getattribute__ = leave  # type: ignore[assignment]


EXITS_AS_TEXT = type("ExitsAsText", (Exception,), {"__str__": leave})


@pytest.mark.parametrize(
    ("make", "is_right"),
    [(Lies, False), (LiesInMetaclass("X", (), {}), False), (lambda: np.ones(1).view(Unreadable), True)],
    ids=["class", "metaclass", "array"],
)
def test_hostile_output_in_this_process_runs_no_more_code(opened: Any, make: Any, is_right: bool) -> None:
    [returned] = run_prepared(object(), SimpleNamespace(run=lambda _: [make()]), {})
    assert (type(returned) is np.ndarray) is is_right
    backend = SimpleNamespace(prepare=lambda *_: SimpleNamespace(run=lambda _: [returned]))
    case = load_case_in_memory(opened, opened.cases[ADAM])
    assert judge_backend(backend, case).verdict is FAIL


def test_endless_outputs_in_this_process_are_not_read() -> None:
    returned = run_prepared(object(), SimpleNamespace(run=lambda _: iter(int, 1)), {})
    assert not hasattr(returned, "__iter__")


def test_exception_whose_text_exits_is_an_answer() -> None:
    def fail() -> None:
        raise EXITS_AS_TEXT

    with pytest.raises(CaseEnded):
        call_subject("run", fail)


def test_exit_of_a_subject_at_the_start_in_this_process_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    backend = "def prepare(model, device): ...\ndef supports_device(device): raise SystemExit(0)\n"
    (tmp_path / "exits_at_start.py").write_text(backend)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SubjectError) as caught:
        load_backend("exits_at_start")
    assert caught.value.code == "subject.start-refused"


def test_exit_that_no_call_catches_fails_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.corpus.cases.corpus.open_corpus", leave)
    assert CliRunner().invoke(create_app(["list"]), ["list"]).exit_code == 1


def test_answer_with_equal_keys_is_refused() -> None:
    with pytest.raises(ProtocolViolation):
        parse_answer(b'{"seq":2,"seq":1,"loaded":true}', "load", 1)


def test_exception_of_a_subject_in_this_process_is_an_answer() -> None:
    with pytest.raises(CaseEnded):
        call_subject("run", lambda: {}["output"])
