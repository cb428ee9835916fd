"""State files: how they are opened, locked and read."""

from __future__ import annotations

import os
from contextlib import closing

import pytest
from hostile_states import HOSTILE_KINDS
from refusals import assert_raises

from conformance.base.files.journal import (
    MAX_LINE_BYTES,
    Journal,
    UnsafeState,
    open_blob,
    open_state,
    read_state,
    require_identity,
    require_state_folder,
    require_version,
    state_errors,
    write_blob,
)


@pytest.mark.parametrize("kind", [kind for kind in HOSTILE_KINDS if kind != "512 MB line"])
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR | os.O_CREAT])
def test_open_state_hostile_file_is_refused(tmp_path, kind, flags):
    HOSTILE_KINDS[kind](tmp_path / "state")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UnsafeState):
        open_state(tmp_path / "state", flags)
    assert sorted(tmp_path.iterdir()) == before


def test_read_state_larger_than_limit_is_refused(tmp_path):
    (tmp_path / "state").write_bytes(b"12345")
    assert read_state(tmp_path / "state", 5) == b"12345"
    with assert_raises("job.state-too-large", tmp_path / "state"), state_errors(tmp_path / "state"):
        read_state(tmp_path / "state", 4)


def test_open_state_missing_file_is_reported(tmp_path):
    with assert_raises("job.state-unusable", tmp_path / "state"), state_errors(tmp_path / "state"):
        open_state(tmp_path / "state")


def test_journal_lines_end_with_incomplete_line(tmp_path):
    (tmp_path / "state").write_bytes(b"1\n" + b"2" * 2**21 + b"\n\n3")
    with closing(Journal(tmp_path / "state")) as journal:
        assert [len(line) for line in journal.lines()] == [2, 2**21 + 1, 1, 1]
        journal.cut(2)
        journal.append(b"4\n")
        assert list(journal.lines()) == [b"1\n", b"4\n"]


def test_journal_large_line_is_refused(tmp_path):
    (tmp_path / "state").touch()
    os.truncate(tmp_path / "state", MAX_LINE_BYTES + 2**21)
    with closing(Journal(tmp_path / "state")) as journal, pytest.raises(UnsafeState):
        list(journal.lines())


def test_journal_in_use_is_refused(tmp_path):
    with closing(Journal(tmp_path / "state")), pytest.raises(UnsafeState) as caught:
        Journal(tmp_path / "state")
    assert caught.value.name == "in-use"


@pytest.mark.parametrize("parts", [(), ("inner",), ("inner", "deeper")])
def test_require_state_folder_link_at_any_depth_is_refused(tmp_path, parts):
    root = tmp_path / "root"
    assert require_state_folder(root, "inner", "deeper") == root / "inner/deeper"
    link = root.joinpath(*parts)
    link.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "outside").mkdir()
    link.symlink_to(tmp_path / "outside")
    with pytest.raises(UnsafeState) as caught:
        require_state_folder(root, "inner", "deeper")
    assert caught.value.name == "linked"


def test_require_state_folder_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UnsafeState) as caught:
        require_state_folder(tmp_path, "file")
    assert caught.value.name == "not-a-folder"


def test_require_identity_names_first_difference(tmp_path):
    require_identity(tmp_path, {"seed": 1}, {"seed": 1})
    with assert_raises("job.other-job", "seed", "7", "8"):
        require_identity(tmp_path, {"model": "a", "seed": 7}, {"model": "a", "seed": 8})


def test_require_identity_long_value_is_shortened(tmp_path):
    with assert_raises("job.other-job") as caught:
        require_identity(tmp_path, {"cells": "a" * 10000}, {"cells": "b" * 10000})
    assert len(caught.value.problem) < 1000


@pytest.mark.parametrize(("found", "named"), [((1, "0.2.0"), "0.2.0"), ((2, "0.3.0"), "format 2")])
def test_require_version_names_what_differs(tmp_path, found, named):
    require_version(tmp_path, (1, "0.3.0"), (1, "0.3.0"))
    with assert_raises("job.other-version", named):
        require_version(tmp_path, found, (1, "0.3.0"))


def test_blob_is_named_by_digest(tmp_path):
    digest = write_blob(tmp_path / "blobs", b"one two")
    assert bytes(open_blob(tmp_path / "blobs", digest, 7)) == b"one two"
    assert [path.name for path in (tmp_path / "blobs").iterdir()] == [digest]
    large = write_blob(tmp_path / "large", bytes(2**20))
    assert open_blob(tmp_path / "large", large, 2**20) == bytes(2**20)
    assert bytes(open_blob(tmp_path / "blobs", write_blob(tmp_path / "blobs", b""), 0)) == b""


@pytest.mark.parametrize("content", [b"one twO", b"one", b"one two three"])
def test_blob_with_other_content_is_refused(tmp_path, content):
    digest = write_blob(tmp_path, b"one two")
    (tmp_path / digest).write_bytes(content)
    with pytest.raises((ValueError, UnsafeState)):
        open_blob(tmp_path, digest, 7)


def test_blob_name_is_no_path(tmp_path):
    (tmp_path / "blobs").mkdir()
    (tmp_path / "other").write_bytes(b"secret")
    with pytest.raises(ValueError, match="digest"):
        open_blob(tmp_path / "blobs", "../other", 6)
