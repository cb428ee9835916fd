"""Cases: archives and loading."""

from __future__ import annotations

import json
import shutil
import zipfile

import numpy as np
import pytest
from corpora import ADAM, INDEX, rehash
from corrupted_corpora import INPUT, MODEL, load_adam, replace_file
from refusals import assert_raises

from conformance.corpus.cases.archive import write_archive
from conformance.corpus.cases.case_loading import load_case, read_case_json
from conformance.corpus.cases.corpus import MANIFEST, open_corpus
from conformance.exact.models.arrays import tensor_of

# A corpus in one archive has the digest, the cases and the errors of the corpus in a folder.


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
    with assert_raises(f"corpus.{name}"):
        open_corpus(damaged).verify()


def test_open_of_archive_with_another_member_raises(archive, tmp_path):
    with zipfile.ZipFile(archive, "a") as opened:
        opened.writestr("../outside", "text")
    with assert_raises("corpus.unexpected-file"):
        open_corpus(archive)
    assert not (tmp_path.parent / "outside").exists()


def test_open_of_file_that_is_no_archive_raises(tmp_path):
    (tmp_path / "text").write_text("no archive")
    with assert_raises("corpus.archive-unreadable"):
        open_corpus(tmp_path / "text")


# Loading of cases whose files have the right hashes but the wrong content.


@pytest.mark.parametrize(("file", "limit"), [("model.onnx", "MAX_FIELDS"), ("test_data_set_0/input_0.pb", "MAX_TEXTS")])
def test_files_with_more_parts_than_are_decoded_are_refused(small_corpus, monkeypatch, file, limit):
    corpus = open_corpus(small_corpus)
    assert corpus.read(corpus.cases[ADAM], file)
    monkeypatch.setattr("conformance.corpus.cases.corpus.UNEXAMINED_BYTES", 0)
    monkeypatch.setattr(f"conformance.exact.models.encoded_messages.{limit}", 0)
    with assert_raises("corpus.file-unreadable", "memory"):
        corpus.read(corpus.cases[ADAM], file)


class TestMalformedCase:
    """Files whose hashes are right, but whose content is malformed."""

    @pytest.mark.parametrize("content", [b"", b"\xff\xff\xff", b"no protobuf at all"], ids=["empty", "binary", "text"])
    @pytest.mark.parametrize("what", ["input", "output", "bound"])
    def test_malformed_tensor_is_a_corpus_error(self, corpus_copy, what, content):
        replace_file(corpus_copy, INPUT.replace("input", what), content)
        with assert_raises("corpus.malformed", f"node/{ADAM}"):
            list(load_adam(corpus_copy).data_sets())

    @pytest.mark.parametrize("outputs", [0, 1])
    def test_model_with_fewer_outputs_than_files_is_rejected(self, corpus_copy, outputs):
        model = load_adam(corpus_copy).model
        del model.graph.output[outputs:]
        replace_file(corpus_copy, MODEL, model.SerializeToString())
        with assert_raises("corpus.malformed", f"node/{ADAM}"):
            list(load_adam(corpus_copy).data_sets())

    @pytest.mark.parametrize("bound", [np.inf, np.nan, -1.0, np.float32(0)], ids=repr)
    def test_bounds_that_admit_every_value_or_are_none_are_rejected(self, corpus_copy, bound):
        (data_set, *_) = load_adam(corpus_copy).data_sets()
        for number, output in enumerate(data_set.outputs):
            bounds = tensor_of(np.full_like(bound, bound, shape=output.expected.shape)).SerializeToString()
            replace_file(corpus_copy, f"node/{ADAM}/test_data_set_0/bound_{number}.pb", bounds)
        with assert_raises("corpus.malformed", f"node/{ADAM}"):
            list(load_adam(corpus_copy).data_sets())

    def test_acceptable_indices_of_a_float_output_are_rejected(self, corpus_copy):
        (data_set, *_) = load_adam(corpus_copy).data_sets()
        choices = np.ones((*data_set.outputs[0].expected.shape, 2), bool)
        file = f"node/{ADAM}/test_data_set_0/bound_0.pb"
        cases = json.loads((corpus_copy / MANIFEST).read_text())["cases"]
        (corpus_copy / file).rename(corpus_copy / file.replace("bound", "accept"))
        files = cases[f"node/{ADAM}"]
        files["test_data_set_0/accept_0.pb"] = files.pop("test_data_set_0/bound_0.pb")
        rehash(corpus_copy, cases)
        replace_file(corpus_copy, file.replace("bound", "accept"), tensor_of(choices).SerializeToString())
        with assert_raises("corpus.malformed", f"node/{ADAM}"):
            list(load_adam(corpus_copy).data_sets())

    def test_malformed_model_is_a_corpus_error(self, corpus_copy):
        replace_file(corpus_copy, MODEL, b"no protobuf at all")
        with assert_raises("corpus.malformed", f"node/{ADAM}"):
            load_adam(corpus_copy)

    def test_output_missing_in_files_and_manifest_is_detected(self, corpus_copy):
        gone = "test_data_set_0/output_1.pb"
        (corpus_copy / "node" / ADAM / gone).unlink()
        cases = json.loads((corpus_copy / MANIFEST).read_text())["cases"]
        del cases[f"node/{ADAM}"][gone]
        rehash(corpus_copy, cases)
        with assert_raises("corpus.malformed", f"node/{ADAM}"):
            list(load_adam(corpus_copy).data_sets())

    def test_case_without_data_sets_is_rejected(self, corpus_copy):
        shutil.rmtree(corpus_copy / "node" / ADAM / "test_data_set_0")
        cases = json.loads((corpus_copy / MANIFEST).read_text())["cases"]
        cases[f"node/{ADAM}"] = {
            file: hash for file, hash in cases[f"node/{ADAM}"].items() if not file.startswith("test_data_set")
        }
        rehash(corpus_copy, cases)
        with assert_raises("corpus.malformed", ADAM):
            list(load_adam(corpus_copy).data_sets())

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff"], ids=repr)
    def test_malformed_case_json_is_rejected(self, corpus_copy, content):
        replace_file(corpus_copy, f"node/{ADAM}/case.json", content)
        with assert_raises("corpus.malformed", f"node/{ADAM}/case.json"):
            read_case_json(corpus := open_corpus(corpus_copy), corpus.cases[ADAM])

    @pytest.mark.parametrize("shape", [(), (1,), (1, 1)], ids=str)
    def test_bound_of_another_shape_is_not_broadcast(self, corpus_copy, shape):
        bound = tensor_of(np.full(shape, 1e9), "X_new").SerializeToString()
        replace_file(corpus_copy, f"node/{ADAM}/test_data_set_0/bound_0.pb", bound)
        with assert_raises("corpus.malformed", "bound", "X_new", shape):
            list(load_adam(corpus_copy).data_sets())

    @pytest.mark.parametrize("choices", [np.ones((4,), bool), np.ones((1, 1, 9), bool), np.ones((2, 4))], ids=str)
    def test_choices_of_another_shape_are_rejected(self, corpus_copy, choices):
        (path,) = (corpus_copy / "pass" / INDEX).glob("test_data_set_0/accept_0.pb")
        replace_file(corpus_copy, path.relative_to(corpus_copy).as_posix(), tensor_of(choices).SerializeToString())
        corpus = open_corpus(corpus_copy)
        with assert_raises("corpus.malformed", INDEX):
            list(load_case(corpus, corpus.cases[INDEX]).data_sets())


@pytest.mark.parametrize(("answer", "effect"), [("fires", "applies"), ("stays", "does_not_apply"), ("may", "optional")])
def test_case_json_of_a_corpus_before_2_0_0_is_read(corpus_copy, answer, effect):
    entry = open_corpus(corpus_copy).cases[INDEX]
    file = corpus_copy / entry.path / "case.json"
    document = json.loads(file.read_bytes())
    document["rewrite"] = {"answer": answer, "once": [], "fixed_point": []}
    replace_file(corpus_copy, f"{entry.path}/case.json", json.dumps(document, indent=1).encode())
    opened = open_corpus(corpus_copy)
    assert read_case_json(opened, opened.cases[INDEX]).rewrite.effect == effect
