"""Search for the release that introduced a fault: the algorithm, the question, and the command, on fake releases."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from fake_subject import correct, wrong_abs, wrong_transform
from msgspec import to_builtins
from onnx import TensorProto, helper
from refusals import assert_raises

from conformance.base.errors import SubjectError
from conformance.base.verdicts import Unsupported
from conformance.own.blame.blame_session import Request
from conformance.own.blame.model_comparison import Comparison
from conformance.own.graphs.model_inputs import InputSet
from conformance.own.graphs.reading import LoadedModel
from conformance.studies.history.first_bad_release import (
    NO_FAULT,
    CaseQuestion,
    Change,
    Fault,
    FaultPresence,
    ModelQuestion,
    Question,
    ReleaseAnswer,
    ReleaseSearch,
    compare_releases,
    comparison_lines,
    releases_in_range,
    report_lines,
    search_document,
)
from conformance.subjects.calling.subject_names import Subject, SubjectKind, SubjectName

ANSWERS = {"F": FaultPresence.HAS, ".": FaultPresence.LACKS, "?": FaultPresence.UNKNOWN}
NAMED = SubjectName.parse("fake", SubjectKind.BACKEND)


def search_in(history, hints=()):
    """Return a search, and its changes, among releases 1.0, 1.1, … with the answers of a text such as `..?FF`."""
    releases = [f"1.{number}" for number in range(len(history))]
    answers = dict(zip(releases, history, strict=True))
    packages = {release: (f"fake=={release}", f"numpy=={1 + (answers[release] == 'F')}.0") for release in releases}
    search = ReleaseSearch(
        releases, lambda release: ReleaseAnswer(ANSWERS[answers[release]], "text", packages[release]), hints
    )
    return search, search.run()


@pytest.mark.parametrize(
    ("history", "changes"),
    [
        (".F", [("1.0", "1.1", (), True)]),
        ("F.", [("1.0", "1.1", (), False)]),
        ("....FFFF", [("1.3", "1.4", (), True)]),
        (".FFFFFFF", [("1.0", "1.1", (), True)]),
        (".......F", [("1.6", "1.7", (), True)]),
        (".?F", [("1.0", "1.2", ("1.1",), True)]),
        ("..???FF", [("1.1", "1.5", ("1.2", "1.3", "1.4"), True)]),
        ("??..FF??", [("1.3", "1.4", (), True)]),
        ("..FF..", [("1.1", "1.2", (), True), ("1.3", "1.4", (), False)]),
        ("FF..FF", [("1.1", "1.2", (), False), ("1.3", "1.4", (), True)]),
        ("....", []),
        ("FFFF", []),
        ("????", []),
        ("??F?", []),
        ("F", []),
    ],
)
def test_search_finds_neighbours_with_different_answers(history, changes):
    assert [(one.before, one.after, one.unknown, one.kind == "introduced") for one in search_in(history)[1]] == changes


def test_search_finds_a_true_change_in_every_short_history():
    for history in map("".join, itertools.product("F.?", repeat=6)):
        search, changes = search_in(history)
        known = set(history) - {"?"}
        assert bool(changes) is (len(known) == 2), history
        for change in changes:
            low, high = search.releases.index(change.before), search.releases.index(change.after)
            assert history[low] + history[high] == (".F" if change.kind == "introduced" else "F."), history
            assert set(history[low + 1 : high]) <= {"?"}, history


def test_search_tests_few_releases():
    search, changes = search_in("." * 500 + "F" * 500)
    assert changes[0].after == "1.500"
    assert len(search.observations) <= 12
    search, _ = search_in("?" * 500 + "F" * 500)
    assert (search.oldest_fault, len(search.observations) <= 40) == ("1.500", True)


def test_search_with_equal_ends_tests_the_hints_first():
    history = "." * 100 + "F" + "." * 400
    assert search_in(history)[1] == []
    search, changes = search_in(history, ["9.9", "1.100", "1.99"])
    assert [(change.before, change.after) for change in changes] == [("1.99", "1.100"), ("1.100", "1.101")]
    assert len(search.observations) < 25


def test_report_names_first_bad_release_and_environment():
    lines = report_lines(NAMED, *search_in("..?FF"))
    wanted = {"1.3", "numpy 1.0 before, 2.0 now", "between them: 1.2"}
    assert {word for word in wanted if word not in "\n".join(lines)} == set()
    lines = report_lines(NAMED, *search_in("??FF"))
    assert "before it: 1.0, 1.1" in "\n".join(lines)


def test_search_document_has_answers_and_changes():
    document = to_builtins(search_document(NAMED, *search_in(".?F")))
    assert [each["answer"] for each in document["releases"]] == ["lacks", "unknown", "has"]
    assert document["changes"] == [{"kind": "introduced", "release": "1.2", "before": "1.0", "unknown": ("1.1",)}]


class ScriptedQuestion(Question):
    """Has a fault, no fault, another fault, or an error, by the release."""

    def _test(self, named):
        faults = {
            "1.0": Fault("", frozenset()),
            "1.1": Fault("fail: X has wrong elements", frozenset({"X"})),
            "1.2": Fault("fail: X has wrong elements", frozenset({"X", "Y"})),
            "1.3": None,
        }
        if named.release not in faults:
            raise SubjectError("does-not-start", f"{named.text} does not start.", "Name another release.")
        return faults[named.release], "told", (f"fake=={named.release}",)


def test_question_fault_is_cause_and_outputs():
    question = ScriptedQuestion(NAMED, None)
    answers = [question.observe(f"1.{number}").answer for number in (4, 1, 0, 2, 3, 1)]
    assert answers == [
        FaultPresence.UNKNOWN,
        FaultPresence.HAS,
        FaultPresence.LACKS,
        FaultPresence.UNKNOWN,
        FaultPresence.UNKNOWN,
        FaultPresence.HAS,
    ]


def test_at_release_keeps_options():
    named = SubjectName.parse("onnxruntime@1.0[optimization=disabled,with=numpy<2]", SubjectKind.BACKEND)
    assert named.at_release("1.2").text == "onnxruntime@1.2[optimization=disabled,with=numpy<2]"


def test_releases_in_range_are_sorted_by_version():
    releases = ["1.9.0", "1.20.1", "1.32.1", "1.33.0"]
    assert releases_in_range(NAMED, "1.9..1.32", [*releases, *releases]) == ["1.9.0", "1.20.1", "1.32.1"]
    with assert_raises("usage.no-release-in-range", "2.0.."):
        releases_in_range(NAMED, "2.0..", releases)
    with assert_raises("name.malformed-release", "x..y"):
        releases_in_range(NAMED, "x..y", releases)


class FakeReleases:
    """Starts releases of a fake backend for `X → Abs → Y`, in the place of `OpenSubjects`.

    1.0 is right, 1.1 refuses the operator, and from 1.2 on the sign is wrong.
    """

    def __init__(self, backends=None):
        self._backends = backends

    @contextmanager
    def open(self, *names):
        yield [
            Subject(named.text, "1", SimpleNamespace(prepare=self._backend(named.release).prepare), packages=("a==1",))
            for named in names
        ]

    @contextmanager
    def compare(self, first, second, optimizer=None):
        with self.open(first, second) as (one, other):
            yield Comparison(one, other)

    def _backend(self, release):
        if self._backends is not None:
            return self._backends.get(release, correct)
        return {"1.0": correct, "1.1": Refuses}.get(release, wrong_abs if release else correct)


class Refuses(correct):
    """Supports no operator."""

    @classmethod
    def change(cls, model):
        raise Unsupported("no Abs")


class Crashes(correct):
    """Fails for every model."""

    @classmethod
    def change(cls, model):
        raise ValueError("bad kernel")


@pytest.mark.parametrize(
    ("backends", "changes"),
    [
        ([Crashes, Crashes, correct, correct], [Change("fixed", "1.2", "1.1", ())]),
        ([correct, correct, correct, Crashes], [Change("introduced", "1.3", "1.2", ())]),
        ([correct, correct, wrong_transform, wrong_transform], []),
    ],
)
@pytest.mark.parametrize("is_alone", [True, False])
def test_crash_is_dated_although_the_reference_cannot_judge(tmp_path, backends, changes, is_alone):
    graph = helper.make_graph(
        [helper.make_node("DFT", ["X"], ["Y"], inverse=1, onesided=1)],
        "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 3, 2])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [1, 4, 1])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    data_set = InputSet("given", (np.ones((1, 3, 2), np.float32),))
    request = Request(LoadedModel.read(tmp_path / "m.onnx"), [data_set], NAMED, NAMED)
    releases = ["1.0", "1.1", "1.2", "1.3"]
    fake = FakeReleases(dict(zip(releases, backends, strict=True)))
    question = ModelQuestion(NAMED, fake, request=request, is_alone=is_alone)
    search = ReleaseSearch(releases, question.observe, settle=question.settle)
    assert search.run() == changes
    if not changes:
        known = {found.answer for found in search.observations.values()}
        assert FaultPresence.HAS not in known


@pytest.mark.parametrize("is_alone", [True, False])
def test_model_question_finds_output_outside_of_its_bound(tmp_path, is_alone):
    graph = helper.make_graph(
        [helper.make_node("Abs", ["X"], ["Y"])],
        "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [3])],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    data_set = InputSet("given", (np.array([1, -2, 3], np.float32),))
    request = Request(LoadedModel.read(tmp_path / "m.onnx"), [data_set], NAMED, NAMED)
    question = ModelQuestion(NAMED, FakeReleases(), request=request, is_alone=is_alone)
    search = ReleaseSearch(["1.0", "1.1", "1.2", "1.3"], question.observe)
    assert search.run() == [Change("introduced", "1.2", "1.0", ("1.1",))]
    assert question.fault.outputs == {"Y"}


def test_case_question_reads_the_history_without_an_environment():
    def refuse(named):
        raise SubjectError("does-not-start", f"{named.text} does not start.", "Name another release.")

    stored = SimpleNamespace(
        verdicts={"1.0": "pass", "1.1": "fail"},
        result=lambda release: (Fault("fail: Y", frozenset({"Y"})) if release == "1.1" else NO_FAULT, "", ()),
    )
    question = CaseQuestion(NAMED, None, refuse, case=SimpleNamespace(), stored=stored)
    answers = [question.observe(release).answer for release in ("1.1", "1.0", "1.2")]
    assert answers == [FaultPresence.HAS, FaultPresence.LACKS, FaultPresence.UNKNOWN]


class ReturnsTwice(correct):
    """Returns twice the right outputs."""

    @classmethod
    def finish(cls, results):
        return [2 * output for output in results]


def compared(tmp_path, text, shape, backends, x):
    """Search among releases 1.0, 1.1, …, and return the search and its comparison."""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    data_set = InputSet("given", (np.full(shape, x, np.float32),))
    request = Request(LoadedModel.read(tmp_path / "m.onnx"), [data_set], NAMED, NAMED)
    releases = [f"1.{number}" for number in range(len(backends))]
    fake = FakeReleases(dict(zip(releases, backends, strict=True)))
    question = ModelQuestion(NAMED, fake, request=request, is_alone=True)
    search = ReleaseSearch(releases, question.observe, settle=question.settle, stops_unjudged=True)
    search.run()
    return search, compare_releases(search, question)


UNJUDGED = """<ir_version: 8, opset_import: ["": 17]>
g (float[1, 3, 2] X) => (float[1, 4, 1] Y) { Y = DFT <inverse = 1, onesided = 1> (X) }"""
"""A model whose result the page does not state."""


def test_outputs_without_a_reference_are_compared_among_releases(tmp_path):
    backends = [ReturnsTwice] * 3 + [correct] * 5
    search, found = compared(tmp_path, UNJUDGED, (1, 3, 2), backends, 1)
    assert (found.newest, found.changes, found.is_judged) == ("1.7", [Change("introduced", "1.3", "1.2", ())], False)
    assert FaultPresence.HAS not in {each.answer for each in search.observations.values()}
    assert any("fake 1.3; 1.2" in line for line in comparison_lines(NAMED, found))
    assert len(search.observations) < len(backends)


def test_equal_outputs_without_a_reference_have_no_change(tmp_path):
    _, found = compared(tmp_path, UNJUDGED, (1, 3, 2), [correct] * 3, 1)
    assert (found.changes, found.is_judged) == ((), True)


class NextNumber(correct):
    """Returns the next larger numbers."""

    @classmethod
    def finish(cls, results):
        return [np.nextafter(output, np.float32(9)) for output in results]


def test_outputs_within_their_bounds_that_change_are_no_fault(tmp_path):
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[2] X) => (float[2] Y) { Y = Tanh (X) }'
    search, found = compared(tmp_path, text, (2,), [NextNumber, correct], 0.5)
    assert {each.answer for each in search.observations.values()} == {FaultPresence.LACKS}
    assert (found.is_judged, len(found.changes)) == (True, 1)


@pytest.mark.parametrize(("other", "node"), [("", ""), (", float[2, 2] Z", "Z = Neg (X)")])
def test_nodes_are_judged_if_an_output_of_a_release_is_not(tmp_path, other, node):
    text = f"""<ir_version: 8, opset_import: ["": 17]> g (float[2, 2] X) => (float[2, 2] Y{other})
    <float big = {{1e30}}> {{ a = Abs (X) b = Exp (a) c = Mul (b, big) d = Exp (c) Y = Mul (d, big) {node} }}"""
    search, _ = compared(tmp_path, text, (2, 2), [wrong_abs, correct], 1)
    answers = {release: each.answer for release, each in search.observations.items()}
    assert answers == {"1.0": FaultPresence.HAS, "1.1": FaultPresence.LACKS}
