"""Lines of results files, releases of subjects, and known faults."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest
from refusals import assert_raises
from runs_in_memory import make_result, make_run, plain_case, plain_result

from conformance.base.verdicts import Level, Verdict
from conformance.run.results import results_file as module
from conformance.run.results.known_faults import known_faults, known_faults_in
from conformance.run.results.records import EntryRecord, SubjectRecord
from conformance.run.results.result_releases import match_subjects, rename_subjects, separate_releases
from conformance.run.results.results_file import IndexedLines
from conformance.subjects.calling.subject_names import SubjectKind

# Lines of results files: bounded memory, regular files and standard input, and access by number.


LINE = b"x" * 999 + b"\n"


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file."""

    def write(content: bytes, name: str = "results.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def standard_input(tmp_path):
    """Return a function that redirects standard input to a file, until the test ends."""
    before = os.dup(0)

    def put(content: bytes) -> None:
        (tmp_path / "input").write_bytes(content)
        descriptor = os.open(tmp_path / "input", os.O_RDONLY)
        os.dup2(descriptor, 0)
        os.close(descriptor)

    yield put
    os.dup2(before, 0)
    os.close(before)


def peak(path: Path) -> int:
    """Return the peak memory in bytes while a file is read."""
    tracemalloc.start()
    for _ in IndexedLines(path):
        pass
    _, held = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held


@pytest.mark.parametrize("name", ["results.jsonl", "results.jsonl.gz"])
def test_lines_are_iterated_in_order_and_read_by_number(file, name):
    content = b"".join(b"%d\n" % number for number in range(1000))
    lines = IndexedLines(file(gzip.compress(content) if name.endswith("gz") else content, name))
    assert b"".join(lines) == content
    assert len(lines) == 1000
    assert [lines[number] for number in (999, 0, 500)] == [b"999\n", b"0\n", b"500\n"]


def test_standard_input_lines_are_read_by_number(standard_input):
    standard_input(b"one\ntwo")
    lines = IndexedLines(Path("-"))
    assert list(lines) == [b"one\n", b"two"]
    assert lines[1] == b"two"


@pytest.mark.parametrize("name", ["results.jsonl", "results.jsonl.gz"])
def test_memory_does_not_grow_with_the_number_of_lines(file, name):
    few, many = (gzip.compress(LINE * count) if name.endswith("gz") else LINE * count for count in (500, 2000))
    peak(file(few, name))
    assert peak(file(many, f"many_{name}")) - peak(file(few, name)) < 50 * len(LINE)


def test_long_line_is_rejected_before_it_is_read(file, monkeypatch):
    monkeypatch.setattr(module, "MAX_LINE_BYTES", 10**4)
    path = file(gzip.compress(LINE + bytes(10**7)), "results.jsonl.gz")
    tracemalloc.start()
    with assert_raises("results.too-large", "Line 2", 10000):
        list(IndexedLines(path))
    _, held = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 10**6


def test_large_file_is_rejected(file, monkeypatch):
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 10**4)
    with assert_raises("results.too-large", 10000):
        list(IndexedLines(file(gzip.compress(LINE * 1000), "results.jsonl.gz")))


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def a_device(folder: Path) -> Path:
    return Path("/dev/zero")


def a_link_to_a_device(folder: Path) -> Path:
    (folder / "link").symlink_to("/dev/zero")
    return folder / "link"


def a_folder(folder: Path) -> Path:
    return folder


def nothing(folder: Path) -> Path:
    return folder / "nothing"


@pytest.mark.parametrize("what", [a_pipe, a_device, a_link_to_a_device, a_folder, nothing])
def test_special_file_is_rejected_without_blocking(tmp_path, what):
    with assert_raises("results.unreadable", path := what(tmp_path)):
        list(IndexedLines(path))


def test_link_to_a_regular_file_is_followed(file, tmp_path):
    (tmp_path / "link.jsonl").symlink_to(file(b"one\n"))
    assert list(IndexedLines(tmp_path / "link.jsonl")) == [b"one\n"]


# Known faults, parsed from the pages in reports/findings and looked up by subject and case.


CASE = "test_argmax_pass_fields_node_function"
TITLE = "A call in a function takes another overload than it names"


def titles(*arguments: str) -> list[str]:
    return [fault.title for fault in known_faults_in(*arguments)]


def test_known_fault_has_the_content_of_its_section():
    (fault,) = (fault for fault in known_faults() if fault.title == TITLE)
    assert fault.location == f"reports/findings/onnxruntime.md#{TITLE.lower().replace(' ', '-')}"
    assert (fault.runtime, fault.subject, fault.kind) == (f"onnxruntime {fault.version}", "onnxruntime", "backend")
    assert (fault.case, fault.verdict, fault.level) == (CASE, Verdict.FAIL, Level.MUST)
    assert fault.lead == (
        "`monotone.preservation`: a function is identified by its domain, name and overload (ONNX IR, functions)."
    )
    assert fault.points[0].startswith("Input: X of float[2, 3]; acme.Same without an overload")
    assert fault.upstream == "not found."
    assert fault.reproduction == f"onnx-conformance repro {CASE} -b onnxruntime --output reproduction"


@pytest.mark.parametrize("subject", ["onnxruntime", "onnxruntime@1.20.1", "onnxruntime[optimization=disabled]"])
def test_known_faults_ignore_release_and_options(subject):
    assert titles(subject, "backend", CASE) == [TITLE]


@pytest.mark.parametrize(
    "unknown",
    [
        ("onnxruntime", "optimizer", CASE),
        ("tract", "backend", CASE),
        ("onnxruntime", "backend", "test_adam"),
        ("exec:onnxruntime", "backend", CASE),
        ("acme.onnxruntime:Backend", "backend", CASE),
    ],
)
def test_known_faults_of_another_subject_are_empty(unknown):
    assert titles(*unknown) == []


def test_known_faults_of_a_provider_are_separate():
    case, provider = "test_nesterov_momentum_expanded", "onnxruntime[provider=OpenVINOExecutionProvider]"
    assert titles("onnxruntime[fallback=allow,provider=OpenVINOExecutionProvider]", "backend", case)
    assert (titles("onnxruntime", "backend", case), titles(provider, "backend", CASE)) == ([], [])


def error(case, message, verdict="error"):
    return make_result(case=case, verdict=verdict, message=message)


@pytest.fixture
def fault():
    """A fault that quotes a message, in two cases."""
    points = ("Input: X.", "Expected: an answer. Got: \"RuntimeError: Domain '' (type: 'Exp') … 7 opsets\".")
    found = next(one for one in known_faults() if one.verdict is Verdict.ERROR)
    return replace(found, runtime="acme 1.2.0", points=points, case="test_a", cases=frozenset({"test_a", "test_b"}))


@pytest.mark.parametrize(
    ("version", "result", "fits"),
    [
        ("1.2.0", error("test_b", "RuntimeError: Domain 'ai' (type: 'Log') has not 12 opsets, sorry"), True),
        ("1.2.0 (acme-base 3)", error("test_a", "RuntimeError: something else"), True),
        ("1.2.1", error("test_a", "RuntimeError: Domain '' (type: 'Exp') has 7 opsets"), False),
        ("1.2.0", error("test_c", "RuntimeError: Domain '' (type: 'Exp') has 7 opsets"), False),
        ("1.2.0", error("test_b", "KeyError: 'Exp'"), False),
        ("1.2.0", error("test_a", "RuntimeError: Domain", "fail"), False),
    ],
)
def test_fits_compares_version_case_verdict_and_message(fault, version, result, fits):
    assert fault.fits(version, result) is fits


def test_known_faults_begin_with_the_smallest_case():
    case = "test_softmax_argmax_opset_11_axis_1"
    assert known_faults_in("onnx-reference", "backend", case)[0].case == case


# Matching of the subjects of two runs, and distinct ids for the releases of one subject.


DIAGNOSIS = {
    "operator": "Adam",
    "mutant": "adam.x",
    "text": "forgets x",
    "explained": 1,
    "failing": 1,
    "cases": ["test_x"],
}


def optimizer(id: str, version: str = "1.0"):
    return SubjectRecord(id, SubjectKind.OPTIMIZER, version)


def backend(id: str, version: str = "1.0"):
    return SubjectRecord(id, SubjectKind.BACKEND, version)


def run_of(subject):
    """Return a run of one failing case on one subject."""
    id = subject.id
    header = {
        "subjects": [subject],
        "options": {id: ["--timeout", "9"]},
        "criterion": {"expectations": [EntryRecord(id, "e.toml:1", Verdict.FAIL, [], [], [])]},
    }
    footer = {"verdicts": {id: {"must": {"fail": 1}}}, "diagnoses": [{**DIAGNOSIS, "subject": id}]}
    return make_run("r.jsonl", header, [plain_case("test_x")], [plain_result(id, "test_x", "fail")], footer)


@pytest.mark.parametrize(
    ("before", "after", "matches"),
    [
        ([backend("acme")], [backend("acme", "2.0")], {"acme": "acme"}),
        ([backend("acme@1")], [backend("acme@2")], {"acme@1": "acme@2"}),
        ([backend("acme@1")], [backend("acme[python=/opt/python]")], {"acme@1": "acme[python=/opt/python]"}),
        ([backend("acme@1[level=all]")], [backend("acme@2[level=all]")], {"acme@1[level=all]": "acme@2[level=all]"}),
        ([backend("acme@1[level=all]")], [backend("acme@2")], {}),
        ([backend("acme@1")], [backend("acme@2"), backend("acme@3")], {}),
        ([backend("acme@1")], [optimizer("acme@2")], {}),
        ([backend("acme")], [backend("other")], {}),
        ([backend("exec:acme one")], [backend("exec:acme two")], {}),
        ([backend("][")], [backend("[]]")], {}),
        ([optimizer("acme")], [optimizer("other")], {"acme": "other"}),
        ([optimizer("acme")], [optimizer("other"), optimizer("third")], {}),
        ([optimizer("acme"), optimizer("x@1")], [optimizer("acme"), optimizer("x@2")], {"acme": "acme", "x@1": "x@2"}),
    ],
)
def test_subjects_match_by_id_then_by_name_then_as_only_optimizers(before, after, matches):
    assert match_subjects(before, after) == matches


def test_rename_changes_the_id_in_header_results_and_footer():
    run = rename_subjects(run_of(backend("acme")), {"acme": "acme@1"})
    assert [subject.id for subject in run.header.subjects] == list(run.header.options) == ["acme@1"]
    assert [entry.subject for entry in run.header.criterion.expectations] == ["acme@1"]
    assert list(run.rows) == list(run.results) == [("acme@1", "test_x")]
    assert {row.subject for row in (*run.rows.values(), *run.results.values())} == {"acme@1"}
    assert list(run.footer.verdicts) == [one.subject for one in run.footer.diagnoses] == ["acme@1"]
    assert run.footer.undiagnosed == []


@pytest.mark.parametrize(
    ("subjects", "ids"),
    [
        ([optimizer("acme", "1"), optimizer("acme", "2")], ["acme@1", "acme@2"]),
        ([optimizer("acme", "1"), optimizer("acme", "1")], ["acme", "acme"]),
        ([backend("acme[a=b]", "1 (jax 2)"), backend("acme[a=b]", "2")], ["acme@1[a=b]", "acme@2[a=b]"]),
        ([backend("exec:acme", "1"), backend("exec:acme", "2")], ["exec:acme", "exec:acme"]),
        ([backend("acme@1", "1"), backend("acme@1", "2")], ["acme@1", "acme@1"]),
        ([backend("acme", "1"), backend("acme", "[2]")], ["acme@1", "acme"]),
    ],
)
def test_only_subjects_in_several_versions_get_an_id_with_release(subjects, ids):
    runs = separate_releases([run_of(subject) for subject in subjects])
    assert [run.header.subjects[0].id for run in runs] == ids
