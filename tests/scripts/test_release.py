"""scripts/release.py: the archive of the corpus."""

from __future__ import annotations

import hashlib
import os
import tarfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from corpora import write_part
from repository import ROOT

from conformance.corpus.corpus import open_corpus
from conformance.errors import CorpusError

SPEC = spec_from_file_location("release", ROOT / "scripts" / "release.py")
release = module_from_spec(SPEC)
SPEC.loader.exec_module(release)


@pytest.fixture
def corpus(tmp_path) -> Path:
    """Return a small part of the committed corpus."""
    return write_part(tmp_path / "corpus", lambda place, _: place % 300 == 0)


def test_archive_unpacks_to_corpus_readme_and_licence(corpus, tmp_path):
    sums = release.write_corpus_archive(corpus, tmp_path)
    name = f"onnx-conformance-corpus-{open_corpus(corpus).version}"
    with tarfile.open(tmp_path / f"{name}.tar.gz") as archive:
        assert {member.name.partition("/")[0] for member in archive.getmembers()} == {name}
        archive.extractall(tmp_path / "unpacked", filter="data")
    unpacked = tmp_path / "unpacked" / name
    for page in ("README.md", "LICENSE"):
        assert (unpacked / page).read_bytes()
        (unpacked / page).unlink()
    assert open_corpus(unpacked).digest == open_corpus(corpus).digest
    assert sums[f"{name}.tar.gz"] == hashlib.sha256((tmp_path / f"{name}.tar.gz").read_bytes()).hexdigest()


def test_archive_does_not_depend_on_times_and_modes(corpus):
    before = release.corpus_archive(corpus, "corpus")
    for place, file in enumerate(sorted(corpus.rglob("*"))):
        os.utime(file, (place, place))
        file.chmod(0o755)
    assert release.corpus_archive(corpus, "corpus") == before


def test_archive_of_altered_corpus_is_refused(corpus):
    next(corpus.rglob("model.onnx")).write_bytes(b"")
    with pytest.raises(CorpusError):
        release.corpus_archive(corpus, "corpus")
