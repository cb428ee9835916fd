"""`onnx-conformance search`, as it is typed."""

from __future__ import annotations

import json

import pytest
from corpora import case_title

from conformance.corpus.cases.corpus import open_corpus
from conformance.exact.declarations.declaration_tables import declarations
from conformance.studies.search import search_job

SEARCH = ("search", "--no-isolation", "--operator", "ArgMax", "--examples", "20")


@pytest.mark.long
def test_failing_examples_are_written_and_reported(command, tmp_path):
    keep, page = tmp_path / "finds", tmp_path / "finds.html"
    ended = command(*SEARCH, "-b", "fake_subject:always_wrong", "--output", keep, "--html", page)
    assert ended.status == 1, ended.out
    corpus = open_corpus(keep)
    assert corpus.verify()
    assert all(f"{case_title(keep, id)} ({id})" in ended.out for id in corpus.cases)
    assert "test_search_argmax_" in page.read_text()
    next_command = next(line for line in ended.out.splitlines() if line.startswith("Next: onnx-conformance "))
    explained = next_command.partition(";")[0].split()[2:]
    assert command(*explained).status == 0
    again = command("run", "--no-isolation", "-b", "fake_subject:always_wrong", "--data", keep)
    assert again.status == 1
    assert "0  " not in again.out.splitlines()[0]


def test_search_that_keeps_no_case_names_no_next_command(command, tmp_path):
    ended = command(*SEARCH, "-b", "fake_subject:always_wrong", "--html", tmp_path / "finds.html")
    assert (ended.status, "Next: " in ended.out) == (1, False)


def test_search_without_failures_passes(command):
    ended = command(*SEARCH, "-b", "reference")
    assert ended.status == 0, ended.out
    assert " of 40 examples judged, 0 distinct failures" in ended.out


@pytest.mark.parametrize(
    ("subject", "tested"), [("supports_only_adam", {"Adam"}), ("always_right", {"Adam", "Momentum", "Relu", "Exp"})]
)
def test_search_without_operator_tests_the_supported_ones(command, here, monkeypatch, subject, tested):
    chosen = {name: each for name, each in declarations().items() if name in {"Relu", "Exp", "ImageDecoder", "Det"}}
    monkeypatch.setattr(search_job, "declarations", lambda: chosen)
    monkeypatch.setattr(search_job, "OPERATORS", ("Adam", "Momentum"))
    arguments = ("--no-isolation", "-b", f"fake_subject:{subject}", "--examples", "1", "--coverage", "coverage.json")
    assert command("search", *arguments).status == 0
    document = json.loads((here / "coverage.json").read_text(encoding="utf-8"))
    assert {each["operator"].split()[-1] for each in document["combinations"]} == tested


def test_message_with_lines_is_printed_in_one_line(command):
    subject = "fake_subject:raises_strange_text"
    lines = command(*SEARCH, "-b", subject).out.splitlines()
    assert [line.endswith("seven<script>") for line in lines if line.startswith(f"{subject}: error: ")] == [True]


def test_subject_without_support_fails(command):
    ended = command(*SEARCH, "-b", "fake_subject:says_unsupported")
    assert ended.status == 1
    assert ended.out.splitlines()[-1].startswith("fake_subject:says_unsupported ")


@pytest.mark.parametrize(
    ("arguments", "data"),
    [
        ([], "usage.subject-missing"),
        (["-b", "reference", "--operator", "relu"], "usage.operator-not-declared"),
        (["-b", "reference", "-n", "0"], "--workers"),
        (["-b", "reference", "--seconds", "1", "--examples", "1"], "usage.options-conflict"),
        (["-b", "reference", "--output", "full"], "usage.output-not-empty"),
        (["-b", "reference", "--output", "full/file/finds"], "usage.target-not-writable"),
        (["-b", "reference", "--seconds", "nan"], "--seconds"),
        (["-b", "reference", "--results", "/dev/null"], "usage.results-target-not-regular"),
        (["-b", "nosuch"], "name.unknown-subject"),
        (["-b", "reference", "-n", "2", "--dask", "tcp://127.0.0.1:1"], "usage.workers-and-dask"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_command_line_is_rejected(command, here, arguments, data):
    (here / "full").mkdir()
    (here / "full" / "file").write_text("")
    ended = command("search", *arguments)
    assert ended.status == 2
    assert data in (ended.code or ended.err)
    assert "Traceback" not in ended.err
