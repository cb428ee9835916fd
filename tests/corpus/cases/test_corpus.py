"""Opening a corpus: damaged corpora are rejected, and cases are found by id."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from command_outputs import read_tree
from corpora import ADAM, EXACT, SMALL, rehash
from corrupted_corpora import INPUT, MODEL, edit_manifest, load_adam, opening_error
from refusals import assert_raises

from conformance.corpus.cases.corpus import MANIFEST, find_case, open_corpus


def assert_refused(error, code: str, *data: object) -> None:
    """Assert that the error has this code, and that its message has the data."""
    assert error.code == f"corpus.{code}", error
    for each in data:
        assert str(each) in error.problem


class TestDamagedCorpus:
    def test_missing_file_is_named(self, corpus_copy):
        (corpus_copy / INPUT).unlink()
        error = opening_error(corpus_copy)
        assert_refused(error, "file-missing", INPUT, corpus_copy)
        assert "generate" in error.hint

    def test_error_names_one_of_several_missing_files(self, corpus_copy):
        shutil.rmtree(corpus_copy / "node" / ADAM / "test_data_set_0")
        assert_refused(opening_error(corpus_copy), "file-missing", "test_data_set_0/bound_0.pb")

    def test_missing_case_is_rejected(self, corpus_copy):
        shutil.rmtree(corpus_copy / "node" / ADAM)
        assert_refused(opening_error(corpus_copy), "file-missing", f"node/{ADAM}/case.json")

    @pytest.mark.parametrize("extra", ["notes.txt", f"node/{ADAM}/notes.txt", "node/test_more/model.onnx", ".hidden"])
    def test_unexpected_file_is_named(self, corpus_copy, extra):
        (corpus_copy / extra).parent.mkdir(exist_ok=True)
        (corpus_copy / extra).write_bytes(b"")
        assert_refused(opening_error(corpus_copy), "unexpected-file", extra)

    @pytest.mark.parametrize("path", [MODEL, INPUT, f"node/{ADAM}/case.json"])
    def test_truncated_file_is_named(self, corpus_copy, path):
        file = corpus_copy / path
        file.write_bytes(file.read_bytes()[:-1])
        assert_refused(opening_error(corpus_copy, read=True), "file-altered", path)

    @pytest.mark.parametrize("path", [MODEL, INPUT, f"node/{ADAM}/case.json"])
    def test_altered_byte_is_detected(self, corpus_copy, path):
        file = corpus_copy / path
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        assert_refused(opening_error(corpus_copy, read=True), "file-altered", path)

    def test_emptied_file_is_detected(self, corpus_copy):
        (corpus_copy / INPUT).write_bytes(b"")
        assert_refused(opening_error(corpus_copy, read=True), "file-altered", INPUT)

    def test_swapped_files_are_detected(self, corpus_copy):
        first, second = corpus_copy / INPUT, corpus_copy / INPUT.replace("input_0", "input_1")
        first.rename(corpus_copy / "aside")
        second.rename(first)
        (corpus_copy / "aside").rename(second)
        assert_refused(opening_error(corpus_copy, read=True), "file-altered", "is altered")

    def test_altered_file_is_detected_on_loading(self, corpus_copy):
        (corpus_copy / MODEL).write_bytes(b"\x08\x08")
        with assert_raises("corpus.file-altered", MODEL):
            load_adam(corpus_copy)

    def test_file_removed_after_opening_is_detected(self, corpus_copy):
        corpus = open_corpus(corpus_copy)
        (corpus_copy / INPUT).unlink()
        with assert_raises("corpus.file-unreadable", "input_0.pb"):
            corpus.verify()

    def test_large_file_is_rejected_without_reading(self, corpus_copy):
        with (corpus_copy / INPUT).open("r+b") as stream:
            stream.truncate(2**28 + 1)
        assert_refused(opening_error(corpus_copy, read=True), "file-unreadable", INPUT)

    def test_link_to_a_directory_is_unexpected(self, corpus_copy, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (corpus_copy / "node" / "test_link").symlink_to(tmp_path / "elsewhere")
        assert_refused(opening_error(corpus_copy), "unexpected-file", "node/test_link")

    @pytest.mark.parametrize(("folder", "first"), [("", "case.json"), ("/test_data_set_0", "bound_0.pb")])
    def test_case_or_data_set_behind_a_link_is_missing(self, corpus_copy, tmp_path, folder, first):
        path = corpus_copy / f"node/{ADAM}{folder}"
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
        assert_refused(opening_error(corpus_copy), "file-missing", f"node/{ADAM}{folder}/{first}")

    def test_file_in_place_of_a_case_is_rejected(self, corpus_copy):
        case = corpus_copy / "node" / ADAM
        shutil.rmtree(case)
        case.write_bytes(b"")
        assert_refused(opening_error(corpus_copy), "file-missing", f"node/{ADAM}/case.json")

    @pytest.mark.parametrize("target", ["/dev/zero", "elsewhere.pb"])
    def test_link_in_place_of_a_file_is_not_followed(self, corpus_copy, tmp_path, target):
        (tmp_path / "elsewhere.pb").write_bytes((corpus_copy / INPUT).read_bytes())
        (corpus_copy / INPUT).unlink()
        (corpus_copy / INPUT).symlink_to(tmp_path / target)
        assert_refused(opening_error(corpus_copy, read=True), "file-unreadable", INPUT)

    def test_fifo_in_place_of_a_file_is_rejected_without_blocking(self, corpus_copy):
        (corpus_copy / INPUT).unlink()
        os.mkfifo(corpus_copy / INPUT)
        assert_refused(opening_error(corpus_copy, read=True), "file-unreadable", INPUT)

    def test_large_manifest_is_rejected(self, corpus_copy, monkeypatch):
        monkeypatch.setattr("conformance.corpus.cases.corpus.MAX_MANIFEST_BYTES", 100)
        assert_refused(opening_error(corpus_copy), "file-unreadable", MANIFEST)

    def test_broken_link_is_unexpected(self, corpus_copy):
        (corpus_copy / "dangling").symlink_to("nowhere")
        assert_refused(opening_error(corpus_copy), "unexpected-file", "dangling")


class TestManifest:
    @pytest.mark.parametrize(
        "content",
        [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 5000],
        ids=["empty", "cut", "binary", "nested", "digits"],
    )
    def test_manifest_that_is_not_json_is_rejected(self, corpus_copy, content):
        (corpus_copy / MANIFEST).write_bytes(content)
        assert_refused(opening_error(corpus_copy), "file-unreadable", MANIFEST)

    @pytest.mark.parametrize("document", [[], {}, None, 1, {"cases": {}}], ids=repr)
    def test_manifest_of_another_form_is_rejected(self, corpus_copy, document):
        (corpus_copy / MANIFEST).write_text(json.dumps(document))
        assert_refused(opening_error(corpus_copy), "malformed", MANIFEST)

    @pytest.mark.parametrize(
        "path", ["../test_x", "/etc", "node/../../x", "node/test_X", "other/test_x", "node/test_x/y"]
    )
    def test_case_path_outside_the_corpus_is_rejected(self, corpus_copy, path):
        edit_manifest(corpus_copy, lambda document: document["cases"].update({path: document["cases"][f"node/{ADAM}"]}))
        assert_refused(opening_error(corpus_copy), "malformed", MANIFEST)

    @pytest.mark.parametrize(
        "file", ["../../x", "test_data_set_0/../x.pb", "notes.txt", "test_data_set_0/input_0.pb\n"]
    )
    def test_unknown_file_name_is_rejected(self, corpus_copy, file):
        edit_manifest(corpus_copy, lambda document: document["cases"][f"node/{ADAM}"].update({file: "0" * 64}))
        assert_refused(opening_error(corpus_copy), "malformed", MANIFEST)

    def test_removed_case_is_detected(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: [document[of].pop(f"node/{ADAM}") for of in ("cases", "levels")])
        shutil.rmtree(corpus_copy / "node" / ADAM)
        assert_refused(opening_error(corpus_copy), "file-altered", MANIFEST)

    def test_altered_version_is_detected(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document.update(version="9.9.9"))
        assert_refused(opening_error(corpus_copy), "file-altered", MANIFEST)

    def test_altered_hash_is_detected(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document["cases"][f"node/{ADAM}"].update({"case.json": "0" * 64}))
        assert_refused(opening_error(corpus_copy), "file-altered", MANIFEST)

    def test_altered_level_is_detected(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document["levels"].update({f"node/{ADAM}": "silent"}))
        assert_refused(opening_error(corpus_copy), "file-altered", MANIFEST)

    @pytest.mark.parametrize("cut", [lambda d: d["levels"].popitem(), lambda d: d["cases"][f"node/{ADAM}"].clear()])
    def test_missing_level_or_files_are_rejected(self, corpus_copy, cut):
        edit_manifest(corpus_copy, cut)
        assert_refused(opening_error(corpus_copy), "malformed", MANIFEST)

    def test_duplicate_case_id_is_rejected(self, corpus_copy, opened):
        files = {case.path: case.files for case in opened.cases.values()}
        rehash(corpus_copy, {**files, f"pass/{ADAM}": opened.cases[ADAM].files}, {f"pass/{ADAM}": "must"})
        assert_refused(opening_error(corpus_copy), "duplicate-case", f"pass/{ADAM}")

    @pytest.mark.parametrize("news", [{"format": 2}, {"version": "1.0.\u0660"}, {"version": "1.0.0\n"}])
    def test_unknown_format_or_version_of_the_manifest_is_rejected(self, corpus_copy, news):
        edit_manifest(corpus_copy, lambda document: document.update(news))
        assert_refused(opening_error(corpus_copy), "malformed", MANIFEST)

    def test_digest_does_not_depend_on_the_order_of_cases(self, corpus_copy, opened):
        edit_manifest(
            corpus_copy, lambda document: document.update(cases=dict(reversed(list(document["cases"].items()))))
        )
        assert open_corpus(corpus_copy).digest == opened.digest


class TestNoCorpus:
    def test_path_without_manifest_is_rejected(self, tmp_path):
        assert_refused(opening_error(tmp_path), "manifest-missing", tmp_path, MANIFEST)
        assert_refused(opening_error(tmp_path / "none"), "folder-missing", tmp_path / "none")

    def test_directory_as_manifest_is_rejected(self, tmp_path):
        (tmp_path / MANIFEST).mkdir()
        assert_refused(opening_error(tmp_path), "manifest-missing", tmp_path)


class TestCompleteCorpus:
    def test_verify_returns_the_number_of_files(self, small_corpus, opened):
        assert opened.verify() == len(read_tree(small_corpus)) - 1

    def test_find_case_returns_the_case_with_the_id(self, opened):
        assert [find_case(opened, id).path for id in (ADAM, EXACT)] == [f"node/{ADAM}", f"node/{EXACT}"]

    @pytest.mark.parametrize(("id", "hint"), [("test_adan", "test_adam?"), ("zzz", "onnx-conformance list")])
    def test_find_case_suggests_a_similar_id_or_the_list_command(self, opened, id, hint):
        with assert_raises("name.case-not-found", id, hint):
            find_case(opened, id)

    def test_data_sets_loaded_twice_share_no_arrays(self, case_of):
        for data_set in case_of(ADAM).data_sets():
            data_set.inputs[2][...] = 7
        assert not any((data_set.inputs[2] == 7).any() for data_set in case_of(ADAM).data_sets())

    def test_corpus_has_an_entry_for_each_case(self, opened):
        assert sorted(opened.cases) == sorted(SMALL)
