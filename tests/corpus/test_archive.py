"""A corpus in one archive has the digest, the cases and the errors of the corpus in a folder."""

from __future__ import annotations

import json
import zipfile

import pytest
from corpora import ADAM

from conformance.corpus.archive import write_archive
from conformance.corpus.corpus import MANIFEST, open_corpus
from conformance.errors import CorpusError


@pytest.fixture
def archive(small_corpus, tmp_path):
    """Return the small corpus as an archive."""
    write_archive(small_corpus, tmp_path / "corpus.zip")
    return tmp_path / "corpus.zip"


def _rewrite(archive, target, change):
    """Write a copy of an archive; `change` maps name and content to a new content, or to None to leave a member out."""
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return target


def test_archive_and_folder_have_equal_digests_and_files(archive, small_corpus):
    packed, folder = open_corpus(archive), open_corpus(small_corpus)
    assert packed.digest == folder.digest
    assert packed.verify() == folder.verify() > 0
    for case in folder.cases.values():
        assert all(packed.read(case, file) == folder.read(case, file) for file in case.files)


def test_write_archive_of_equal_corpora_gives_equal_bytes(archive, small_corpus, tmp_path):
    write_archive(small_corpus, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_run_on_archive_gives_the_results_of_the_folder(command, archive, small_corpus, tmp_path):
    found = {}
    for data in (archive, small_corpus):
        file = tmp_path / f"{data.name}.jsonl"
        ended = command("run", "-b", "reference", "--data", data, "--results", file, "--no-isolation")
        assert ended.status == 0
        results = [json.loads(line) for line in file.read_text().splitlines()]
        found[data] = {each["case"]: each["verdict"] for each in results if each["record"] == "result"}
    assert found[archive] == found[small_corpus] != {}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("file-missing", lambda name, content: None if ADAM in name else content),
        ("manifest-missing", lambda name, content: None if name == MANIFEST else content),
        ("file-unreadable", lambda name, content: content[:-1] if ADAM in name else content),
        ("file-unreadable", lambda name, content: b"[]" + content if ADAM in name else content),
        ("file-unreadable", lambda name, content: b"{}" if ADAM in name else content),
        ("file-altered", lambda name, content: content[:-1] + b"?" if ADAM in name else content),
    ],
)
def test_open_and_verify_of_damaged_archive_raises(archive, tmp_path, name, change):
    damaged = _rewrite(archive, tmp_path / "damaged.zip", change)
    with pytest.raises(CorpusError) as caught:
        open_corpus(damaged).verify()
    assert caught.value.code == f"corpus.{name}"


def test_open_of_archive_with_another_member_raises(archive, tmp_path):
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr("../outside", "text")
    with pytest.raises(CorpusError) as caught:
        open_corpus(archive)
    assert caught.value.code == "corpus.unexpected-file"
    assert not (tmp_path.parent / "outside").exists()


def test_open_of_file_that_is_no_archive_raises(tmp_path):
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(CorpusError) as caught:
        open_corpus(tmp_path / "text")
    assert caught.value.code == "corpus.archive-unreadable"
