"""Proxies of isolated subjects behave like the subjects in this process."""

from __future__ import annotations

import inspect
import json
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import fake_subject as fakes
import numpy as np
import pytest
from command_outputs import results_by_key
from corpora import ADAM, EXACT, REPEATED, SEVERAL
from isolation_support import HANG, isolated_subject
from large_models import double_identity
from repository import DATA, exec_subject

from conformance.base.serialization.decoding import schema_violation
from conformance.base.verdicts import Verdict
from conformance.corpus.cases.case_loading import LoadedCase, load_case, load_case_in_memory
from conformance.corpus.cases.corpus import open_corpus
from conformance.run.diagnosis.failure_evidence import observe
from conformance.run.judging.backend import judge_backend
from conformance.subjects.calling.subject_names import SubjectKind
from conformance.subjects.isolation import protocol as errors
from conformance.subjects.isolation.protocol import Limits, SubjectInfo, max_model_bytes
from conformance.subjects.isolation.proxies import BackendProxy, decode_value, encode_value, take_tensor
from conformance.subjects.isolation.start_subjects import client_of

OTHER_MESSAGE = {fakes.returns_objects, fakes.returns_records, fakes.returns_swapped_bytes}
"""Fakes whose outputs have types that ONNX does not define: only the verdict is the same."""

FAKES = fakes.harmless_backends()


@pytest.fixture
def start():
    """Return a function that starts subjects; they are stopped after the test."""
    started = []

    def start(text, limits=None, kind=SubjectKind.BACKEND):
        started.append(isolated_subject(text, limits, kind))
        return started[-1].target

    yield start
    for subject in started:
        client_of(subject).stop()


def without_time(outcome):
    """Return the parts of an outcome except its time."""
    return outcome.verdict, outcome.phase, outcome.message, outcome.outputs


@pytest.fixture(scope="module")
def chosen_by_model():
    """The subject in another process whose behaviour each model names."""
    subject = isolated_subject("fake_subject:chosen_by_model")
    yield subject.target
    client_of(subject).stop()


@pytest.mark.variants(18)
@pytest.mark.parametrize("fake", FAKES, ids=lambda fake: fake.__name__)
def test_backend_proxy_gives_same_outcome_as_backend(chosen_by_model, case_of, fake):
    def case_for(id):
        case = case_of(id)
        case.model.producer_name = fake.__name__
        return case

    cases = (ADAM, EXACT, REPEATED, SEVERAL)
    here, there = ([judge_backend(target, case_for(id)) for id in cases] for target in (fake, chosen_by_model))
    if fake in OTHER_MESSAGE:
        assert [outcome.verdict for outcome in here] == [outcome.verdict for outcome in there]
    else:
        assert [without_time(outcome) for outcome in here] == [without_time(outcome) for outcome in there]


class RecordingClient:
    """Replaces a client: records the commands, and answers without outputs."""

    def __init__(self, tmp_path):
        self.limits = Limits()
        self.process = SimpleNamespace(write_input_file=lambda name, content: str(tmp_path / name))
        self.commands = []

    def begin_case(self):
        pass

    def is_running(self, process):
        return True

    def info(self):
        return SubjectInfo()

    def ask(self, command, **fields):
        self.commands.append((command, fields))
        return {"outputs": []}


def test_backend_proxy_skips_inputs_with_initializers(tmp_path):
    client = RecordingClient(tmp_path)
    corpus = open_corpus(DATA)
    case = load_case(corpus, corpus.cases["test_argmax_pass_interface_initializer_is_first_input"])
    BackendProxy(client).prepare(case.model).run(next(case.data_sets()).inputs)
    assert [value.name for value in case.model.graph.input] == ["W", "X"]
    assert [(command, [one["name"] for one in fields.get("inputs", [])]) for command, fields in client.commands] == [
        ("load", []),
        ("run", ["X"]),
    ]


@pytest.mark.parametrize(
    "fake", [fakes.always_wrong, fakes.raises_on_run, fakes.changes_its_inputs, fakes.says_unsupported]
)
def test_backend_proxy_gives_same_observation_as_backend(chosen_by_model, opened, fake):
    case = load_case_in_memory(opened, opened.cases[ADAM])
    case.model.producer_name = fake.__name__
    here, there = observe(fake, case), observe(chosen_by_model, case)
    if here is None or there is None:
        assert here is there
    else:
        assert (here.error, here.changed_inputs) == (there.error, there.changed_inputs)
        assert [[a.tobytes() for a in run] for run in here.outputs] == [[a.tobytes() for a in r] for r in there.outputs]


@pytest.mark.parametrize(
    ("fake", "verdict"),
    [
        ("raises_on_prepare", Verdict.PASS),
        ("raises_on_run", Verdict.PASS),
        ("exits_on_prepare", Verdict.ERROR),
        ("panics_on_run", Verdict.ERROR),
        ("says_unsupported", Verdict.UNSUPPORTED),
        ("always_right", Verdict.FAIL),
        ("exits_0_midway", Verdict.CRASH),
    ],
)
def test_invalid_model_is_rejected_only_by_ordinary_error(chosen_by_model, opened, fake, verdict):
    case = LoadedCase(opened, opened.cases[SEVERAL], load_case_in_memory(opened, opened.cases[SEVERAL]).model)
    case.model.producer_name = fake
    data_sets = [replace(each, outputs=()) for each in case.data_sets()]
    members = {"is_invalid": True, "data_sets": lambda _: iter(data_sets)}
    invalid = type("Invalid", (LoadedCase,), members)(case.corpus, case.entry, case.model)
    assert judge_backend(chosen_by_model, invalid).verdict is verdict


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "i8", "u2", "?", "c8"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1, 0, 2)])
def test_encode_and_decode_tensor_round_trip(dtype, shape):
    array = np.arange(int(np.prod(shape)), dtype="i8").reshape(shape).astype(dtype)
    message = encode_value("X", array)
    back = decode_value(message)
    assert (back.dtype, back.shape, back.tobytes()) == (array.dtype, array.shape, array.tobytes())
    assert back.flags.writeable
    assert schema_violation("protocol", {**message, "shape": list(shape)}, "tensor") is None


LARGE_SHAPE = (600, 500)
"""Shape of a tensor of double with more than 1 MiB."""


@pytest.mark.parametrize("name", ["always_right", "sets_an_element_of_its_input"])
def test_backend_proxy_transfers_large_tensors_in_files(start, monkeypatch, name):
    model = double_identity(LARGE_SHAPE)
    target = start(f"fake_subject:{name}")
    sent = []
    monkeypatch.setattr(target.client, "ask", recording(target.client.ask, sent))
    X = np.arange(300_000, dtype=np.float64).reshape(LARGE_SHAPE)
    (Y,) = target.prepare(model).run([X])
    run = next(fields for command, fields, _ in sent if command == "run")
    answer = next(answer for command, _, answer in sent if command == "run")
    assert "file" in run["inputs"][0]
    assert "data" not in answer["outputs"][0]
    assert Y.dtype == X.dtype
    assert Y.flags.writeable
    np.testing.assert_array_equal(Y.reshape(-1)[1:], np.arange(1, 300_000))
    assert (X[0, 0] == 0) == (name == "always_right")


@pytest.mark.parametrize("name", ["always_right", "sets_an_element_of_its_input"])
def test_backend_proxy_transfers_several_tensors_in_a_file(start, monkeypatch, name):
    target = start(f"fake_subject:{name}")
    sent = []
    monkeypatch.setattr(target.client, "ask", recording(target.client.ask, sent))
    prepared = target.prepare(double_identity((2, 4096)))
    for _ in range(2):  # the second run writes to the file of the first
        X = np.arange(8192, dtype=np.float64).reshape(2, 4096)
        (Y,) = prepared.run([X])
        np.testing.assert_array_equal(Y.reshape(-1)[1:], np.arange(1, 8192))
        assert (X[0, 0] == 0) == (name == "always_right")
    for command, fields, answer in sent:
        if command == "run":
            assert fields["inputs"][0]["offset"] == answer["outputs"][0]["offset"] == 0
            assert schema_violation("protocol", {"cmd": command, "seq": 0, **as_json(fields)}) is None


def as_json(fields):
    return json.loads(json.dumps(fields))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"shape": [3], "file": "other"}, "is in a file that was not requested"),
        ({"shape": [3], "file": "here"}, "has a file of 8 bytes, which does not match float of shape [3]"),
        ({"shape": [1], "file": "here"}, "has a file of 8 bytes, which does not match float of shape [1]"),
        ({"shape": [2**40], "file": "here"}, "has more than 1024 bytes"),
        ({"shape": [2], "file": "link"}, "has a file that cannot be read"),
        ({"shape": [2], "file": "gone"}, "has a file that cannot be read"),
    ],
)
def test_take_tensor_unexpected_file_is_refused(tmp_path, message, reason):
    (tmp_path / "here").write_bytes(bytes(8))
    (tmp_path / "link").symlink_to(tmp_path / "here")
    path = tmp_path / message["file"]
    requested = tmp_path / "here" if message["file"] == "other" else path
    with pytest.raises(ValueError, match=re.escape(reason)):
        take_tensor({"dtype": "float", **message, "file": str(path)}, str(requested), 1024)


def recording(ask, sent):
    def record(command, **fields):
        answer = ask(command, **fields)
        sent.append((command, fields, answer))
        return answer

    return record


class TestGraphOptimizers:
    @pytest.fixture
    def model(self, case_of):
        return case_of(ADAM).model

    @pytest.fixture
    def optimizer(self, start):
        return lambda name, limits=None: start(f"fake_subject:{name}", limits, SubjectKind.OPTIMIZER)

    def test_optimizer_proxy_passes_fixed_point_and_has_passes(self, optimizer, model):
        subject = optimizer("says_how")
        for fixed_point in (False, True):
            assert subject(model, fixed_point=fixed_point).doc_string == f"fixed_point={fixed_point}"
        assert "fixed_point" in inspect.signature(subject).parameters
        assert subject.passes == ("a_pass", "another")

    def test_optimizer_proxy_without_fixed_point_returns_model(self, optimizer, model):
        subject, before = optimizer("leaves_it"), model.SerializeToString()
        assert "fixed_point" not in inspect.signature(subject).parameters
        assert subject(model).SerializeToString() == model.SerializeToString() == before

    def test_optimizer_proxy_passes_options(self, optimizer, model):
        assert optimizer("takes_options[level=all]")(model).doc_string == "all"

    def test_optimizer_proxy_shows_changed_input(self, optimizer, model):
        before = model.SerializeToString()
        optimizer("removes_nodes_of_the_caller")(model)
        assert model.SerializeToString() != before

    def test_optimizer_proxy_invalid_return_keeps_type_name(self, optimizer, model):
        assert type(optimizer("optimizes_to_none")(model)).__name__ == "NoneType"

    @pytest.mark.parametrize(
        ("name", "error", "message"),
        [
            ("raises", errors.Raised, "ValueError: cannot rewrite this"),
            ("raises_not_implemented", errors.UnsupportedAnswer, "NotImplementedError: no such opset"),
            ("aborts", errors.Crashed, "was killed by SIGABRT before it answered `optimize`"),
            ("hangs", errors.TimedOut, "did not answer `optimize` within 4 s"),
        ],
    )
    def test_optimizer_proxy_raises_failure(self, optimizer, model, name, error, message):
        subject = optimizer(name, Limits(timeout=HANG))
        for _ in range(1 if name == "hangs" else 2):
            with pytest.raises(error, match=message.split("`", maxsplit=1)[0]):
                subject(model)


@pytest.mark.parametrize("workers", [(), pytest.param(("-n", "2"), marks=pytest.mark.long)], ids=["serial", "n2"])
def test_run_on_crashing_and_hanging_subjects_has_every_verdict(process, here, small_corpus, workers):
    names = ("segfaults_on_load", "hangs_on_run", "exits_0_midway")
    subjects = [part for name in names for part in ("-b", f"fake_subject:{name}")]
    cases = (ADAM, EXACT, SEVERAL)
    selected = [part for case in cases for part in ("--case", case)]
    options = ("--timeout", HANG, "--data", small_corpus, *selected, "--results", "out.jsonl", *workers)
    ended = process("fork", "run", *subjects, "-b", "fake_subject:always_right", *options)
    verdicts = {key: result["verdict"] for key, result in results_by_key(here / "out.jsonl").items()}
    wrong = dict(zip(names, ("crash", "timeout", "crash"), strict=True))
    assert ended.status == 1, ended.err
    assert verdicts == {
        (f"fake_subject:{name}", case): wrong[name] if "momentum" in case else "pass"
        for name in names
        for case in cases
    } | {("fake_subject:always_right", case): "pass" for case in cases}


def test_run_without_isolation_still_isolates_commands(process, small_corpus):
    harness = exec_subject(sys.executable, "-m", "conformance.subjects.calling.harness", "fake_subject:always_right")
    arguments = ("--no-isolation", "-b", harness, "-b", "fake_subject:always_right", "--data", small_corpus)
    assert process("fork", "run", *arguments).status == 0


def test_rewritten_model_may_have_the_size_of_any_model():
    for size in (0, 2**20, 2**29, 2**31):
        assert max_model_bytes(Limits(), size) >= 2 * size
    assert max_model_bytes(Limits(), 2**20) <= 2**25
