"""`onnx-conformance search`, as it is typed."""

from __future__ import annotations

import pytest

from conformance.corpus.corpus import open_corpus

SEARCH = ("search", "--in-process", "--operator", "adagrad", "--examples", "20")


def test_what_is_found_is_kept_as_a_corpus_and_reported(command, tmp_path):
    keep, page = tmp_path / "finds", tmp_path / "finds.html"
    ended = command(*SEARCH, "-b", "fake_backends:AlwaysWrong", "--keep", keep, "--html", page)
    assert ended.status == 1, ended.out
    assert "Adagrad computes with" in ended.out
    assert open_corpus(keep).verify()
    assert "test_search_adagrad_" in page.read_text()
    again = command("run", "--in-process", "-b", "fake_backends:AlwaysWrong", "--data", keep)
    assert again.status == 1
    assert "0  " not in again.out.splitlines()[0]


def test_nothing_that_is_found_is_status_0(command):
    ended = command(*SEARCH, "-b", "reference")
    assert ended.status == 0, ended.out
    assert "0 finds" in ended.out


def test_a_find_whose_message_has_lines_is_told_in_one(command):
    subject = "raising_backends:RaisesStrangeText"
    lines = command(*SEARCH, "-b", subject).out.splitlines()
    assert [line.endswith("seven<script>") for line in lines if line.startswith(f"{subject}: error: ")] == [True]


def test_a_subject_that_supports_nothing_is_status_1(command):
    ended = command(*SEARCH, "-b", "raising_backends:SaysUnsupported")
    assert ended.status == 1
    assert "supported nothing of what was drawn" in ended.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Nothing to search is named."),
        (["-b", "reference", "--operator", "relu"], "relu"),
        (["-b", "reference", "-n", "0"], "worker"),
        (["-b", "reference", "--seconds", "1", "--examples", "1"], "--seconds and --examples exclude each other."),
        (["-b", "reference", "--keep", "full"], "full is not an empty directory."),
        (["-b", "reference", "--keep", "full/file/finds"], "full/file/finds cannot be written: File exists."),
        (["-b", "reference", "--seconds", "nan"], "--seconds nan is no time to search for."),
        (["-b", "reference", "--results", "/dev/null"], "/dev/null is no regular file."),
        (["-b", "nosuch"], "There is no backend nosuch."),
        (["-b", "reference", "-n", "2", "--dask", "tcp://127.0.0.1:1"], "-n and --dask exclude each other."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_line_is_status_2_and_a_sentence(command, here, arguments, sentence):
    (here / "full").mkdir()
    (here / "full" / "file").write_text("")
    ended = command("search", *arguments)
    assert ended.status == 2
    assert sentence in ended.err
    assert "Traceback" not in ended.err
