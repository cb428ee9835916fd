"""`generate` writes and compares corpora, and never overwrites other files."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path

import pytest
from command_outputs import read_tree
from pattern_digests import DIGESTS, family_digests
from refusals import assert_bad_input

from checks.measurements.pattern_passes import corpus_tasks
from checks.measurements.pattern_passes import main as judge_passes

QUICK = "functions"
"""A generator of few cases that are soon filled."""

CASE = "test_momentum_function_standard_float"
"""One of them."""


pytestmark = pytest.mark.usefixtures("files_computed_once")


@pytest.fixture
def written(command):
    """The corpus of the generator in `out`."""
    command("generate", "-g", QUICK, "--output", "out")


class TestGenerate:
    def test_generate_writes_corpus_and_prints_counts(self, command, here):
        ended = command("generate", "-g", QUICK, "--output", "out")
        assert ended.status == 0
        assert re.fullmatch(r"Wrote corpus 1\.0\.0 to out: \d+ cases, \d+ files, \d+ bytes\.\n", ended.out)

    def test_generate_check_of_unchanged_corpus_passes(self, command, here, written):
        ended = command("generate", "-g", QUICK, "--output", "out", "--check")
        assert ended.status == 0
        assert f"{len(list((here / 'out' / 'node').iterdir()))} cases" in ended.out

    def test_generate_check_names_files_that_differ(self, command, here, written):
        changed = here / "out" / "node" / CASE / "model.onnx"
        changed.write_bytes(b"")
        ended = command("generate", "-g", QUICK, "--output", "out", "--check")
        assert ended.status == 1
        assert ended.out == f"node/{CASE}/model.onnx differs\n1 files differ.\n"

    @pytest.mark.parametrize(
        ("options", "code", "words"),
        [
            (("-g", QUICK, "--check"), "corpus.folder-missing", ("out",)),
            (("-g", "adan"), "name.generator-not-found", ("adan", "adam")),
            (("--onnx", "-g", QUICK), "usage.options-conflict", ("--onnx",)),
            (("--operator", "Relu"), "usage.onnx-missing", ("--operator", "--onnx")),
            (("--opset", "13"), "usage.onnx-missing", ("--opset", "--onnx")),
            (("--onnx", "--opset", "6"), "usage.invalid-opset", ("6", "7")),
            (("--onnx", "--opset", "newest"), "usage.invalid-opset", ("newest",)),
            (("--onnx", "--opset", "13", "--operator", "Relo"), "usage.operator-not-declared", ("Relu",)),
            (("--passes", "-g", QUICK), "usage.options-conflict", ("--passes",)),
            (("--passes", "--onnx"), "usage.options-conflict", ("--passes",)),
            (("--onnx", "--release"), "usage.options-conflict", ("--onnx",)),
            (("--onnx", "--corpus-version", "2.0.0"), "usage.options-conflict", ("--onnx",)),
        ],
    )
    def test_generate_of_what_is_missing_or_conflicts_is_refused(self, command, here, options, code, words):
        assert_bad_input(command("generate", "--output", "out", *options), code, *words)
        assert not list(here.iterdir())

    @pytest.mark.parametrize("failing", ["model.onnx", "manifest.json"])
    @pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
    def test_full_disk_leaves_no_half_corpus(self, command, here, monkeypatch, failing, number):
        write_bytes = Path.write_bytes

        def write_or_fail(path, content):
            if path.name == failing:
                raise OSError(number, os.strerror(number))
            return write_bytes(path, content)

        monkeypatch.setattr(Path, "write_bytes", write_or_fail)
        ended = command("generate", "-g", QUICK, "--output", "out")
        assert_bad_input(ended, "storage.disk-full", str(here / "out"))
        assert not list(here.iterdir())

    @pytest.mark.parametrize("words", [("generate", "-g", QUICK, "--output", "out"), ("export", "out")])
    def test_read_only_folder_is_refused_before_the_work(self, command, here, monkeypatch, words):
        open_file = os.open

        def open_or_fail(path, flags, *more, **named):
            if flags & os.O_CREAT and Path(path).parent == here:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            return open_file(path, flags, *more, **named)

        monkeypatch.setattr(os, "open", open_or_fail)
        assert_bad_input(command(*words), "usage.target-not-writable", "out")

    def test_something_else_is_not_written_over(self, command, here):
        (here / "mine.txt").write_text("mine")
        assert_bad_input(command("generate", "-g", QUICK, "--output", "."), "corpus.not-a-corpus")
        assert read_tree(here) == {"mine.txt": b"mine"}

    @pytest.mark.parametrize("more", [(), ("--corpus-version", "9.0.0"), ("-g", "argmax")])
    def test_corpus_without_replace_is_refused(self, command, here, corpus_copy, more):
        before = read_tree(corpus_copy)
        assert_bad_input(command("generate", "-g", QUICK, "--output", corpus_copy, *more), "corpus.exists", "--replace")
        assert read_tree(corpus_copy) == before

    def test_missing_model_is_named_before_an_existing_folder(self, command, here, corpus_copy):
        ended = command("generate", "--model", "nosuch.onnx", "--output", corpus_copy)
        assert_bad_input(ended, "model.file-unreadable", "nosuch.onnx")

    def test_default_folder_without_replace_is_refused(self, command, here, corpus_copy):
        corpus_copy.rename(here / "data")
        before = read_tree(here)
        assert_bad_input(command("generate", "-g", QUICK), "corpus.exists", "data")
        assert read_tree(here) == before

    @pytest.mark.parametrize("words", [("--replace",), ("--check",)])
    def test_folder_that_is_no_corpus_is_refused_before_the_work(self, command, here, monkeypatch, words):
        monkeypatch.setattr("conformance.own.model_cases.corpus_request.define_cases", pytest.fail)
        (here / "mine.txt").write_text("mine")
        ended = command("generate", "-g", QUICK, "--output", ".", *words)
        assert_bad_input(ended, "corpus.not-a-corpus" if words == ("--replace",) else "corpus.manifest-missing")

    def test_corpus_with_replace_is_replaced(self, command, here, written):
        first = read_tree(here)
        assert command("generate", "-g", QUICK, "--output", "out", "--replace").status == 0
        assert read_tree(here) == first

    @pytest.mark.parametrize("name", ["mine.txt", ".git/config", "node/mine.txt"])
    def test_folder_that_is_no_corpus_is_never_replaced(self, command, here, name):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text("mine")
        ended = command("generate", "-g", QUICK, "--output", ".", "--replace")
        assert_bad_input(ended, "corpus.not-a-corpus")
        assert read_tree(here) == {name: b"mine"}

    def test_too_low_a_version_is_refused_with_the_least(self, command, here, corpus_copy):
        before = read_tree(corpus_copy)
        ended = command("generate", "-g", QUICK, "--output", corpus_copy, "--replace", "--corpus-version", "1.0.9")
        assert_bad_input(ended, "usage.version-too-low", "1.0.9", "--corpus-version 1.1.0")
        assert read_tree(corpus_copy) == before

    def test_generate_with_invalid_version_is_refused(self, command, here):
        assert_bad_input(
            command("generate", "-g", QUICK, "--output", "out", "--corpus-version", "one"), "usage.bad-version", "one"
        )
        assert not list(here.iterdir())

    def test_generate_into_uncreatable_directory_is_refused(self, command, here):
        (here / "file").write_text("")
        assert_bad_input(command("generate", "-g", QUICK, "--output", "file/out"), "file")

    def test_generate_release_leaves_corpus_valid(self, command, here, written):
        ended = command("generate", "--output", "out", "--release")
        assert ended.status == 0
        assert re.search(r"\b1\.0\.0 .*out/released\.json: \d+ cases", ended.out)
        assert command("verify", "--data", "out").status == 0
        assert command("generate", "-g", QUICK, "--output", "out", "--check").status == 0

    def test_to_release_is_all_that_is_done(self, command, here):
        ended = command("generate", "--release", "--check")
        assert_bad_input(ended, "usage.options-conflict", "--release")


FORGETFUL = """
def optimize(model):
    for node in model.graph.node:
        if node.op_type in ("Transpose", "Cast"):
            node.op_type = "Identity"
            del node.attribute[:]
    return model
"""
"""A graph optimizer that takes nodes for copies that move or convert elements."""


@pytest.mark.long
def test_generate_passes_writes_patterns_that_judge_graph_optimizers(command, here):
    ended = command("generate", "--passes")
    assert ended.status == 0
    assert re.match(r"Wrote corpus patterns 1\.0\.0 to pass-cases: \d+ cases", ended.out)
    assert family_digests(here / "pass-cases") == json.loads(DIGESTS.read_bytes())
    assert judge_passes(corpus_tasks(here / "pass-cases")) == 0
    assert command("run", "-o", "identity", "--data", "pass-cases").status == 0
    (here / "forgetful.py").write_text(FORGETFUL)
    forgetful = ("run", "-o", "forgetful:optimize", "--data", "pass-cases")
    assert command(*forgetful, "-k", "conv_add").status == 0
    for family in ("transposes", "casts", "nops", "casts_of_integers", "transpose_gemm"):
        assert command(*forgetful, "-k", f"test_pattern_{family}").status == 1


def test_operators_are_added_to_cases_of_onnx_that_the_same_code_wrote(command, here):
    def added_by(operator):
        before = read_tree(here)
        assert command("generate", "--onnx", "--operator", operator).status == 0
        after = read_tree(here)
        assert all(after[name] == content for name, content in before.items() if "/node/" in name)
        return {name.split("/")[2].split("_")[1] for name in after.keys() - before.keys() if "/node/" in name}

    assert [added_by(operator) for operator in ("Not", "Size", "Not")] == [{"not"}, {"size"}, set()]
    manifest = here / "onnx-cases" / "manifest.json"
    document = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**document, "code": "0" * 64}))
    assert_bad_input(command("generate", "--onnx", "--operator", "Xor"), "corpus.exists", "onnx-cases")


def test_operators_are_not_added_to_cases_that_would_be_lost(command, here):
    assert command("generate", "--onnx", "--opset", "13", "--operator", "Not").status == 0
    before = sorted((here / "onnx-cases" / "node").iterdir())
    assert_bad_input(command("generate", "--onnx", "--operator", "Xor"), "corpus.exists", "onnx-cases")
    assert sorted((here / "onnx-cases" / "node").iterdir()) == before
