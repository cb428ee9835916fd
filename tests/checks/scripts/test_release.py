"""scripts/release.py: the archives of corpora, and the recipe."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import onnx
import pytest
import yaml
import zstandard
from corpora import write_part
from onnx.backend.test.loader import load_model_tests
from repository import DATA, ROOT
from script_modules import script_module

from conformance.base.errors import CorpusError
from conformance.corpus.cases.case_loading import load_case, read_case_json
from conformance.corpus.cases.corpus import open_corpus

release = script_module("release")


ONE_COMPUTATION = "test_adam_constants_001_r_initializer_double"
"""A case of which one computation must explain several outputs."""


@pytest.fixture
def corpus(tmp_path) -> Path:
    """Return a small part of the committed corpus."""
    return write_part(tmp_path / "corpus", lambda place, name: place % 300 == 0 or name == ONE_COMPUTATION)


@pytest.fixture
def unpacked(corpus, tmp_path) -> Path:
    """Return the folder that the archive of the corpus unpacks to."""
    sums = release.write_corpus_archive(corpus, tmp_path)
    name = f"corpus-{open_corpus(corpus).version}"
    assert sums.keys() == {f"{name}.tar.zst", f"{name}.tar"}
    packed = (tmp_path / f"{name}.tar.zst").read_bytes()
    tar = zstandard.ZstdDecompressor().decompress(packed)
    assert list(sums.values()) == [hashlib.sha256(content).hexdigest() for content in (packed, tar)]
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        assert {member.name.partition("/")[0] for member in archive.getmembers()} == {name}
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # since Python 3.11.4
        archive.extractall(tmp_path / "unpacked")
    return tmp_path / "unpacked" / name


def test_archive_unpacks_to_corpus_and_what_a_runner_needs(corpus, unpacked):
    sums = dict(reversed(line.split("  ")) for line in (unpacked / "SHA256SUMS").read_text().splitlines())
    added = {"README.md", "LICENSE", "index.csv", "judge/judge.c", "judge/CMakeLists.txt"}
    assert sums.keys() == added | {"manifest.json"}
    assert sums == {file: hashlib.sha256((unpacked / file).read_bytes()).hexdigest() for file in sums}
    for file in (*added, "SHA256SUMS"):
        (unpacked / file).unlink()
    assert open_corpus(unpacked).digest == open_corpus(corpus).digest


def test_index_describes_every_case(corpus, unpacked):
    with (unpacked / "index.csv").open(newline="") as stream:
        rows = {row["case"]: row for row in csv.DictReader(stream)}
    opened = open_corpus(corpus)
    assert rows.keys() == opened.cases.keys()
    for id, row in rows.items():
        entry = opened.cases[id]
        assert (row["kind"], row["level"], row["cases"]) == (entry.kind, entry.level, str(len(rows)))
        case = load_case(opened, entry)
        checks = [" ".join(output.check for output in data_set.outputs) for data_set in case.data_sets()]
        assert int(row["data_sets"]) == len(checks)
        assert row["checks"] in {" | ".join(checks), "".join(checks[:1])}
        assert row["title"] == read_case_json(opened, entry).title
    assert {row["one_computation"] for row in rows.values()} > {""}


def test_archive_does_not_depend_on_times_modes_and_hash_seed(corpus, tmp_path):
    before = release.write_corpus_archive(corpus, tmp_path)
    for place, file in enumerate(sorted(corpus.rglob("*"), reverse=True)):
        os.utime(file, (place, place))
        file.chmod(0o755)
    copy = tmp_path / "copy"
    for file in sorted(corpus.rglob("*"), reverse=True):  # written in another order
        if file.is_file():
            (copy / file.relative_to(corpus)).parent.mkdir(parents=True, exist_ok=True)
            (copy / file.relative_to(corpus)).write_bytes(file.read_bytes())
    write = (
        "import os, release, sys, pathlib; os.umask(0o077);"
        "print(release.write_corpus_archive(*map(pathlib.Path, sys.argv[1:])))"
    )
    for seed in ("0", "42"):
        settings = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "scripts")}
        command = [sys.executable, "-c", write, str(copy), str(tmp_path)]
        after = subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout
        assert after.strip() == str(before)


@pytest.mark.whole
@pytest.mark.long
def test_archive_of_whole_corpus_has_at_most_10_megabytes(tmp_path):
    release.write_corpus_archive(DATA, tmp_path)
    (archive,) = tmp_path.iterdir()
    assert archive.stat().st_size <= 10_000_000


def test_loader_of_onnx_reads_the_archive(corpus, unpacked):
    (unpacked / "cases").symlink_to("node", target_is_directory=True)
    for kind, folder in (("cases", "node"), ("pass", "pass")):
        loaded = load_model_tests(data_dir=str(unpacked), kind=kind)
        entries = {case.id: case for case in open_corpus(corpus).cases.values() if case.kind == folder}
        assert {case.name for case in loaded} == entries.keys() != set()
        for case in loaded:
            data_sets = sorted(Path(case.model_dir).glob("test_data_set_*"))
            assert (len(data_sets) == 0) == entries[case.name].is_structural
            onnx.load(Path(case.model_dir) / "model.onnx")


def test_tensors_have_the_names_of_their_inputs_and_outputs(corpus):
    """onnx_test_runner uses the name of a TensorProto, if it has one, instead of the order of the graph's inputs."""
    for model in corpus.glob("node/*/model.onnx"):
        graph = onnx.load(model).graph
        for part, values in (("input", graph.input), ("output", graph.output)):
            protos = [onnx.TensorProto.FromString(file.read_bytes()) for file in model.parent.glob(f"*/{part}_*.pb")]
            assert {proto.name for proto in protos} <= {value.name for value in values}


def test_archive_of_altered_corpus_is_refused(corpus):
    next(corpus.rglob("model.onnx")).write_bytes(b"")
    with pytest.raises(CorpusError):
        release.corpus_archive(corpus, "corpus")


def test_recipe_of_release_has_the_hash_of_the_sdist(tmp_path):
    hash = "ab" * 32
    sums = release.write_recipe(tmp_path, hash)
    written = yaml.safe_load((tmp_path / "recipe.yaml").read_text())
    assert written["source"]["sha256"] == hash
    assert sums == {"recipe.yaml": hashlib.sha256((tmp_path / "recipe.yaml").read_bytes()).hexdigest()}


@pytest.mark.parametrize("other", ["notes.txt", "folder", "link"])
def test_clear_of_folder_with_other_files_is_refused(tmp_path, other):
    folder = tmp_path / "dist"
    folder.mkdir()
    (folder / "SHA256SUMS").write_text("")
    if other == "folder":
        (folder / other).mkdir()
    elif other == "link":
        (folder / "onnx_conformance-1.whl").symlink_to(tmp_path)
    else:
        (folder / other).write_text("kept")
    with pytest.raises(SystemExit):
        release.clear(folder)
    assert len(list(folder.iterdir())) == 2


def test_clear_removes_files_of_an_earlier_release(tmp_path):
    folder = tmp_path / "dist"
    folder.mkdir()
    for name in ("SHA256SUMS", "onnx_conformance-1.0-py3-none-any.whl", "corpus-2.0.0.tar.zst", "recipe.yaml"):
        (folder / name).write_text("")
    release.clear(folder)
    assert list(folder.iterdir()) == []


def test_help_of_release_script_writes_nothing(tmp_path):
    command = [sys.executable, str(ROOT / "scripts" / "release.py"), "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []
