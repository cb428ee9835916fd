"""Lines of results files: bounded memory, regular files and standard input, and access by number."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from pathlib import Path

import pytest
from refusals import assert_raises

from conformance.results import file as module
from conformance.results.file import IndexedLines

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
