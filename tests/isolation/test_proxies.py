"""Proxies stand for subjects: what is told of a subject in a process of its own is what is told of it in this one."""

from __future__ import annotations

import inspect
import re
import sys
from types import SimpleNamespace

import fake_backends as fakes
import numpy as np
import pytest
import raising_backends as raising
from corpora import ADAM, EXACT, REPEATED, SEVERAL
from file_backends import double_identity
from isolation_support import HANG, apart
from outputs import results_of
from repository import DATA

from conformance.corpus.corpus import open_corpus
from conformance.corpus.loading import LoadedCase, case_in_memory, load_case
from conformance.diagnosis.observation import observe
from conformance.isolation import failures as errors
from conformance.isolation.backend_proxy import BackendProxy
from conformance.isolation.introduction import Introduction
from conformance.isolation.limits import Limits
from conformance.isolation.protocol import decoded, encoded
from conformance.isolation.starting import host_of
from conformance.isolation.tensor_files import taken
from conformance.judging.backend import judge_backend
from conformance.schemas import complaint
from conformance.subjects.naming import SubjectKind
from conformance.verdicts import Verdict

OTHERWISE = {fakes.Interrupted, fakes.KillsItsProcess}
"""Fakes that do to the process they are in what must not be done to this one."""

IN_OTHER_WORDS = {fakes.ReturnsObjects, fakes.ReturnsRecords, fakes.ReturnsSwappedBytes}
"""Fakes whose outputs have types that ONNX has not, and the protocol neither: the verdict is the same."""

FAKES = [fake for fake in raising.every_fake() if fake not in OTHERWISE]


@pytest.fixture
def start():
    """Starts subjects that are stopped when the test ends."""
    started = []

    def start(text, limits=None, kind=SubjectKind.BACKEND):
        started.append(apart(text, limits, kind))
        return started[-1].target

    yield start
    for subject in started:
        host_of(subject).stop()


def told(outcome):
    """An outcome but for its time."""
    return outcome.verdict, outcome.phase, outcome.message, outcome.outputs


@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.__name__)
def test_a_backend_is_told_as_in_this_process(start, case_of, fake):
    subject = start(f"{fake.__module__}:{fake.__name__}")
    cases = (ADAM, EXACT, REPEATED, SEVERAL)
    here, there = ([judge_backend(target, case_of(case)) for case in cases] for target in (fake, subject))
    if fake in IN_OTHER_WORDS:
        assert [outcome.verdict for outcome in here] == [outcome.verdict for outcome in there]
    else:
        assert [told(outcome) for outcome in here] == [told(outcome) for outcome in there]


class TellsWhatIsAsked:
    """In the place of a host: keeps what the subject is asked, and answers that it has no outputs."""

    def __init__(self, tmp_path):
        self.child = SimpleNamespace(given=lambda name, content: str(tmp_path / name))
        self.asked = []

    def begin_case(self):
        pass

    def is_running(self, child):
        return True

    def introduced(self):
        return Introduction()

    def ask(self, command, **fields):
        self.asked.append((command, fields))
        return {"outputs": []}


def test_an_input_that_an_initializer_gives_a_value_to_is_not_named(tmp_path):
    host = TellsWhatIsAsked(tmp_path)
    corpus = open_corpus(DATA)
    case = load_case(corpus, corpus.cases["test_argmax_pass_interface_initializer_is_first_input"])
    BackendProxy(host).prepare(case.model).run(next(case.data_sets()).inputs)
    assert [value.name for value in case.model.graph.input] == ["W", "X"]
    assert [(command, [one["name"] for one in fields.get("inputs", [])]) for command, fields in host.asked] == [
        ("load", []),
        ("run", ["X"]),
    ]


@pytest.mark.parametrize(
    "fake", [fakes.AlwaysWrong, raising.RaisesOnRun, fakes.ChangesItsInputs, raising.SaysUnsupported]
)
def test_diagnosis_observes_the_same(start, opened, fake):
    case = case_in_memory(opened, opened.cases[ADAM])
    here, there = observe(fake, case), observe(start(f"{fake.__module__}:{fake.__name__}"), case)
    if here is None or there is None:
        assert here is there
    else:
        assert (here.ended, here.spoiled) == (there.ended, there.spoiled)
        assert [[a.tobytes() for a in run] for run in here.outputs] == [[a.tobytes() for a in r] for r in there.outputs]


@pytest.mark.parametrize(
    ("fake", "verdict"),
    [
        ("raising_backends:RaisesOnPrepare", Verdict.PASS),
        ("raising_backends:RaisesOnRun", Verdict.PASS),
        ("raising_backends:ExitsOnPrepare", Verdict.ERROR),
        ("raising_backends:PanicsOnRun", Verdict.ERROR),
        ("raising_backends:SaysUnsupported", Verdict.UNSUPPORTED),
        ("fake_backends:AlwaysRight", Verdict.FAIL),
        ("isolation_faults:exits_0_midway", Verdict.CRASH),
    ],
)
def test_only_an_ordinary_error_rejects_an_invalid_model(start, opened, fake, verdict):
    case = LoadedCase(opened, opened.cases[SEVERAL], case_in_memory(opened, opened.cases[SEVERAL]).model)
    invalid = type("Invalid", (LoadedCase,), {"is_invalid": True})(case.corpus, case.entry, case.model)
    assert judge_backend(start(fake), invalid).verdict is verdict


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "i8", "u2", "?", "c8"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1, 0, 2)])
def test_a_tensor_comes_back_as_it_went(dtype, shape):
    array = np.arange(int(np.prod(shape)), dtype="i8").reshape(shape).astype(dtype)
    message = encoded("X", array)
    back = decoded(message)
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert back.flags.writeable
    assert complaint("protocol", {**message, "shape": list(shape)}, "tensor") is None


LARGE_SHAPE = (600, 500)
"""Of doubles, more than a mebibyte."""


@pytest.mark.parametrize("name", ["AlwaysRight", "WritesIntoItsInputs"])
def test_large_tensors_go_and_come_in_files(start, monkeypatch, name):
    model = double_identity(LARGE_SHAPE)
    target = start(f"file_backends:{name}")
    sent = []
    monkeypatch.setattr(target.host, "ask", recording(target.host.ask, sent))
    X = np.arange(300_000, dtype=np.float64).reshape(LARGE_SHAPE)
    (Y,) = target.prepare(model).run([X])
    run = next(members for what, members, _ in sent if what == "run")
    answer = next(answer for what, _, answer in sent if what == "run")
    assert "file" in run["inputs"][0]
    assert "data" not in answer["outputs"][0]
    assert Y.dtype == X.dtype
    assert Y.flags.writeable
    assert (Y.reshape(-1)[1:] == np.arange(1, 300_000)).all()
    assert (X[0, 0] == 0) == (name == "AlwaysRight")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"shape": [3], "file": "other"}, "is in a file that was not asked for"),
        ({"shape": [3], "file": "here"}, "has a file of 8 bytes, which is not what float of shape [3] has"),
        ({"shape": [1], "file": "here"}, "has a file of 8 bytes, which is not what float of shape [1] has"),
        ({"shape": [2**40], "file": "here"}, "has more than 1024 bytes"),
        ({"shape": [2], "file": "link"}, "has a file that cannot be read"),
        ({"shape": [2], "file": "gone"}, "has a file that cannot be read"),
    ],
)
def test_a_file_that_is_not_as_it_should_be_is_no_tensor(tmp_path, message, reason):
    (tmp_path / "here").write_bytes(bytes(8))
    (tmp_path / "link").symlink_to(tmp_path / "here")
    path = tmp_path / message["file"]
    asked = tmp_path / "here" if message["file"] == "other" else path
    with pytest.raises(ValueError, match=re.escape(reason)):
        taken({"dtype": "float", **message, "file": str(path)}, str(asked), 1024)


def recording(ask, sent):
    def asked(what, **members):
        answer = ask(what, **members)
        sent.append((what, members, answer))
        return answer

    return asked


class TestGraphOptimizers:
    @pytest.fixture
    def model(self, case_of):
        return case_of(ADAM).model

    @pytest.fixture
    def optimizer(self, start):
        return lambda name, limits=None: start(f"isolation_optimizers:{name}", limits, SubjectKind.OPTIMIZER)

    def test_the_rewritten_model_comes_back(self, optimizer, model):
        assert optimizer("leaves_it")(model).SerializeToString() == model.SerializeToString()

    @pytest.mark.parametrize("fixed_point", [False, True])
    def test_a_fixed_point_is_asked_for(self, optimizer, model, fixed_point):
        assert optimizer("says_how")(model, fixed_point=fixed_point).doc_string == f"fixed_point={fixed_point}"

    @pytest.mark.parametrize(("name", "takes"), [("says_how", True), ("leaves_it", False)])
    def test_whether_it_knows_a_fixed_point_is_seen_as_in_this_process(self, optimizer, name, takes):
        assert ("fixed_point" in inspect.signature(optimizer(name)).parameters) is takes

    def test_the_passes_that_it_claims_are_told(self, optimizer):
        assert optimizer("says_how").passes == ("a_pass", "another")

    def test_options_reach_it(self, optimizer, model):
        assert optimizer("takes_options[level=all]")(model).doc_string == "all"

    def test_a_changed_input_is_changed_here_too(self, optimizer, model):
        before = model.SerializeToString()
        optimizer("changes_its_input")(model)
        assert model.SerializeToString() != before

    def test_an_input_that_is_left_is_left_here_too(self, optimizer, model):
        before = model.SerializeToString()
        optimizer("leaves_it")(model)
        assert model.SerializeToString() == before

    def test_what_is_no_model_is_told_by_its_type(self, optimizer, model):
        assert type(optimizer("returns_none")(model)).__name__ == "NoneType"

    @pytest.mark.parametrize(
        ("name", "error", "message"),
        [
            ("raises", errors.Raised, "ValueError: cannot rewrite this"),
            ("says_unsupported", errors.SaidUnsupported, "NotImplementedError: no such opset"),
            ("aborts", errors.Crashed, "was ended by SIGABRT before it answered `optimize`"),
            ("hangs", errors.TimedOut, "did not answer `optimize` within 10 s"),
        ],
    )
    def test_a_failure_is_raised_here(self, optimizer, model, name, error, message):
        subject = optimizer(name, Limits(timeout=HANG))
        for _ in range(2):
            with pytest.raises(error, match=message.split("`", maxsplit=1)[0]):
                subject(model)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "n2"])
def test_a_run_on_subjects_that_crash_and_hang_has_every_verdict(process, here, small_corpus, workers):
    names = ("segfaults_on_load", "hangs_on_run", "exits_0_midway")
    subjects = [part for name in names for part in ("-b", f"isolation_faults:{name}")]
    cases = (ADAM, EXACT, SEVERAL)
    selected = [part for case in cases for part in ("--case", case)]
    options = ("--timeout", HANG, "--data", small_corpus, *selected, "--results", "out.jsonl", *workers)
    ended = process("onnx-conformance", "run", *subjects, "-b", "fake_backends:AlwaysRight", *options)
    verdicts = {key: result["verdict"] for key, result in results_of(here / "out.jsonl").items()}
    wrong = dict(zip(names, ("crash", "timeout", "crash"), strict=True))
    assert ended.status == 1, ended.err
    assert verdicts == {
        (f"isolation_faults:{name}", case): wrong[name] if "momentum" in case else "pass"
        for name in names
        for case in cases
    } | {("fake_backends:AlwaysRight", case): "pass" for case in cases}


def test_in_process_a_command_still_has_a_process_of_its_own(process, small_corpus):
    harness = f"exec:{sys.executable} -m conformance.isolation.harness fake_backends:AlwaysRight"
    arguments = ("--in-process", "-b", harness, "-b", "fake_backends:AlwaysRight", "--data", small_corpus)
    assert process("onnx-conformance", "run", *arguments).status == 0
