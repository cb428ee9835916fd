"""Results and expectations name the corpus, because two corpora can have cases of one id."""

from __future__ import annotations

import json
import shutil

import pytest
from corpora import EXACT
from refusals import assert_bad_input

from conformance.corpus.cases.case import MODELS_CORPUS
from conformance.corpus.cases.corpus import MANIFEST, manifest_bytes, read_manifest

RIGHT = "fake_subject:always_right"


@pytest.fixture
def renamed(small_corpus, here):
    """A copy of the small corpus with the name `onnx`."""
    folder = shutil.copytree(small_corpus, here / "renamed")
    document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    content = manifest_bytes(document["version"], document["cases"], document["levels"], "onnx")
    (folder / MANIFEST).write_bytes(content)
    return folder


def test_results_of_corpus_with_name_have_the_name(command, here, renamed):
    ended = command("run", "--data", renamed, "-b", RIGHT, "--results", "out.jsonl", "--markdown", "out.md")
    header = json.loads((here / "out.jsonl").read_text(encoding="utf-8").splitlines()[0])
    label = f"onnx {header['corpus']['version']}"
    assert header["corpus"]["name"] == "onnx"
    assert label in ended.out
    assert label in (here / "out.md").read_text(encoding="utf-8")


def test_changed_name_of_corpus_is_refused(command, renamed):
    file = renamed / MANIFEST
    file.write_text(file.read_text(encoding="utf-8").replace('"onnx"', f'"{MODELS_CORPUS}"'), encoding="utf-8")
    assert_bad_input(command("verify", "--data", renamed), "corpus.file-altered", MANIFEST)


def test_expectations_for_another_corpus_are_refused(command, here, renamed, small_corpus):
    (here / "known.toml").write_text(f'subject = "{RIGHT}"\ncorpus = "onnx"\n', encoding="utf-8")
    assert command("run", "--data", renamed, "-b", RIGHT, "--expect", "known.toml").status == 0
    ended = command("run", "--data", small_corpus, "-b", RIGHT, "--expect", "known.toml")
    assert_bad_input(ended, "expectations.other-corpus", "known.toml", "onnx")


def test_file_without_a_matching_entry_is_named_once_as_of_another_corpus(command, here, small_corpus):
    entry = '[[expect]]\ncases = ["test_{}"]\nverdict = "fail"\nreason = "no kernel"\n'
    names = ["abs_ours_01", "celu_ours_07", "tile_ours_12"]
    text = f'subject = "{RIGHT}"\n' + "".join(map(entry.format, names))
    (here / "known.toml").write_text(text, encoding="utf-8")
    ended = command("run", "--data", small_corpus, "-b", RIGHT, "--expect", "known.toml")
    assert (ended.status, ended.out.count("known.toml"), "another corpus" in ended.out) == (1, 1, True), ended.out


def test_new_expectations_file_names_the_corpus(command, here, renamed):
    wrong = "fake_subject:always_wrong"
    command("run", "--data", renamed, "-b", wrong, "--results", "out.jsonl")
    ended = command("update-expectations", "out.jsonl", "--expect", "known.toml", "--by-cause")
    assert ended.status == 0, ended.err
    assert 'corpus = "onnx"' in (here / "known.toml").read_text(encoding="utf-8")
    text = f'subject = "{wrong}"\n[[expect]]\nreason = "no kernel"\nfail = ["test_abs_of_the_suite"]\n'
    (here / "other.toml").write_text(text, encoding="utf-8")
    ended = command("update-expectations", "out.jsonl", "--expect", "other.toml", "--by-cause")
    assert_bad_input(ended, "expectations.no-entry-matches", "other.toml")
    assert (here / "other.toml").read_text(encoding="utf-8") == text
    ended = command("run", "--data", renamed, "-b", wrong, "--expect", "other.toml", "--case", EXACT)
    assert_bad_input(ended, "expectations.no-entry-matches", "other.toml")


def test_archive_of_case_keeps_the_name_of_its_corpus(command, here, renamed):
    assert command("export", "exported", "--data", renamed).status == 0
    assert read_manifest(here / "exported").name == "onnx"
