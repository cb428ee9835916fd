"""The lines of a results file: in bounded memory, from regular files or standard input, and again when asked for."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from pathlib import Path

import pytest

from conformance.errors import ResultsError
from conformance.results import lines as module
from conformance.results.lines import Lines

LINE = b"x" * 999 + b"\n"


@pytest.fixture
def file(tmp_path):
    """Writes a file of some content."""

    def write(content: bytes, name: str = "results.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def standard_input(tmp_path):
    """Has a file be standard input for a while."""
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
    """Bytes that are held at most while a file is read."""
    tracemalloc.start()
    for _ in Lines(path):
        pass
    _, held = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held


@pytest.mark.parametrize("name", ["results.jsonl", "results.jsonl.gz"])
def test_lines_come_in_order_and_again_by_their_numbers(file, name):
    content = b"".join(b"%d\n" % number for number in range(1000))
    lines = Lines(file(gzip.compress(content) if name.endswith("gz") else content, name))
    assert b"".join(lines) == content
    assert len(lines) == 1000
    assert [lines[number] for number in (999, 0, 500)] == [b"999\n", b"0\n", b"500\n"]


def test_standard_input_is_read_and_read_again(standard_input):
    standard_input(b"one\ntwo")
    lines = Lines(Path("-"))
    assert list(lines) == [b"one\n", b"two"]
    assert lines[1] == b"two"


@pytest.mark.parametrize("name", ["results.jsonl", "results.jsonl.gz"])
def test_a_file_of_four_times_the_lines_takes_no_more_memory_to_read(file, name):
    few, many = (gzip.compress(LINE * count) if name.endswith("gz") else LINE * count for count in (500, 2000))
    peak(file(few, name))
    assert peak(file(many, f"many_{name}")) - peak(file(few, name)) < 50 * len(LINE)


def test_a_line_without_end_is_refused_before_it_is_held(file, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_LINE", 10**4)
    path = file(gzip.compress(LINE + bytes(10**7)), "results.jsonl.gz")
    tracemalloc.start()
    with pytest.raises(ResultsError, match=r"^Line 2 of .* is larger than 10000 bytes"):
        list(Lines(path))
    _, held = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 10**6


def test_a_file_without_end_is_refused(file, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FILE", 10**4)
    with pytest.raises(ResultsError, match="is larger than 10000 bytes"):
        list(Lines(file(gzip.compress(LINE * 1000), "results.jsonl.gz")))


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
def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path, what):
    with pytest.raises(ResultsError, match="is not a file that can be read"):
        list(Lines(what(tmp_path)))


def test_a_link_to_a_regular_file_is_followed(file, tmp_path):
    (tmp_path / "link.jsonl").symlink_to(file(b"one\n"))
    assert list(Lines(tmp_path / "link.jsonl")) == [b"one\n"]
