"""A corpus is refused unless it is whole, and its cases are found by their ids."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from corpora import ADAM, EXACT, SMALL, rehash
from outputs import tree
from spoilt_corpora import INPUT, MODEL, edit_manifest, loaded_from, refusal

from conformance.corpus.corpus import MANIFEST, find_case, open_corpus
from conformance.errors import CorpusError, UnknownName


class TestSpoiltCorpus:
    def test_a_missing_file_is_named(self, corpus_copy):
        (corpus_copy / INPUT).unlink()
        refused = refusal(corpus_copy)
        assert f"{INPUT} is missing" in refused.problem
        assert str(corpus_copy) in refused.problem
        assert "generate" in refused.mend

    def test_further_missing_files_are_counted(self, corpus_copy):
        shutil.rmtree(corpus_copy / "node" / ADAM / "test_data_set_0")
        assert "test_data_set_0/bound_0.pb is missing, and " in refusal(corpus_copy).problem

    def test_a_missing_case_is_noticed(self, corpus_copy):
        shutil.rmtree(corpus_copy / "node" / ADAM)
        assert f"node/{ADAM}/case.json is missing" in refusal(corpus_copy).problem

    @pytest.mark.parametrize("extra", ["notes.txt", f"node/{ADAM}/notes.txt", "node/test_more/model.onnx", ".hidden"])
    def test_an_extra_file_is_named(self, corpus_copy, extra):
        (corpus_copy / extra).parent.mkdir(exist_ok=True)
        (corpus_copy / extra).write_bytes(b"")
        assert f"{extra} is not in {MANIFEST}" in refusal(corpus_copy).problem

    @pytest.mark.parametrize("path", [MODEL, INPUT, f"node/{ADAM}/case.json"])
    def test_a_truncated_file_is_named(self, corpus_copy, path):
        file = corpus_copy / path
        file.write_bytes(file.read_bytes()[:-1])
        assert f"{path} is altered or truncated" in refusal(corpus_copy, read=True).problem

    @pytest.mark.parametrize("path", [MODEL, INPUT, f"node/{ADAM}/case.json"])
    def test_one_altered_byte_is_noticed(self, corpus_copy, path):
        file = corpus_copy / path
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        assert f"{path} is altered or truncated" in refusal(corpus_copy, read=True).problem

    def test_an_emptied_file_is_noticed(self, corpus_copy):
        (corpus_copy / INPUT).write_bytes(b"")
        assert f"{INPUT} is altered or truncated" in refusal(corpus_copy, read=True).problem

    def test_two_files_that_changed_places_are_noticed(self, corpus_copy):
        first, second = corpus_copy / INPUT, corpus_copy / INPUT.replace("input_0", "input_1")
        first.rename(corpus_copy / "aside")
        second.rename(first)
        (corpus_copy / "aside").rename(second)
        assert "is altered" in refusal(corpus_copy, read=True).problem

    def test_an_altered_file_is_noticed_when_its_case_is_loaded(self, corpus_copy):
        (corpus_copy / MODEL).write_bytes(b"\x08\x08")
        with pytest.raises(CorpusError, match="is altered"):
            loaded_from(corpus_copy)

    def test_a_file_that_vanishes_after_opening_is_noticed(self, corpus_copy):
        corpus = open_corpus(corpus_copy)
        (corpus_copy / INPUT).unlink()
        with pytest.raises(CorpusError, match=r"input_0\.pb cannot be read"):
            corpus.verify()

    def test_a_file_too_large_to_be_one_of_ours_is_refused_unread(self, corpus_copy):
        with (corpus_copy / INPUT).open("r+b") as stream:
            stream.truncate(2**28 + 1)
        assert f"{INPUT} cannot be read (it is larger than" in refusal(corpus_copy, read=True).problem

    def test_a_link_to_a_directory_is_extra(self, corpus_copy, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (corpus_copy / "node" / "test_link").symlink_to(tmp_path / "elsewhere")
        assert "node/test_link is not in" in refusal(corpus_copy).problem

    def test_a_case_behind_a_link_is_missing(self, corpus_copy, tmp_path):
        case = corpus_copy / "node" / ADAM
        case.rename(tmp_path / "elsewhere")
        case.symlink_to(tmp_path / "elsewhere")
        assert f"node/{ADAM}/case.json is missing" in refusal(corpus_copy).problem

    def test_a_data_set_behind_a_link_is_missing(self, corpus_copy, tmp_path):
        data_set = (corpus_copy / INPUT).parent
        data_set.rename(tmp_path / "elsewhere")
        data_set.symlink_to(tmp_path / "elsewhere")
        assert f"node/{ADAM}/test_data_set_0/bound_0.pb is missing" in refusal(corpus_copy).problem

    def test_a_file_in_the_place_of_a_case_is_no_case(self, corpus_copy):
        case = corpus_copy / "node" / ADAM
        shutil.rmtree(case)
        case.write_bytes(b"")
        assert f"node/{ADAM}/case.json is missing" in refusal(corpus_copy).problem

    @pytest.mark.parametrize("target", ["/dev/zero", "elsewhere.pb"])
    def test_a_link_is_read_nowhere_else(self, corpus_copy, tmp_path, target):
        (tmp_path / "elsewhere.pb").write_bytes((corpus_copy / INPUT).read_bytes())
        (corpus_copy / INPUT).unlink()
        (corpus_copy / INPUT).symlink_to(tmp_path / target)
        assert f"{INPUT} cannot be read" in refusal(corpus_copy, read=True).problem

    def test_a_pipe_is_not_waited_for(self, corpus_copy):
        (corpus_copy / INPUT).unlink()
        os.mkfifo(corpus_copy / INPUT)
        assert f"{INPUT} cannot be read (it is no regular file)" in refusal(corpus_copy, read=True).problem

    def test_a_manifest_that_is_too_large_is_not_read(self, corpus_copy, monkeypatch):
        monkeypatch.setattr("conformance.corpus.corpus.LARGEST_MANIFEST", 100)
        assert f"{MANIFEST} cannot be read (it is larger than 100 bytes)" in refusal(corpus_copy).problem

    def test_a_broken_link_is_extra(self, corpus_copy):
        (corpus_copy / "dangling").symlink_to("nowhere")
        assert "dangling is not in" in refusal(corpus_copy).problem


class TestManifest:
    @pytest.mark.parametrize(
        "content",
        [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"1" * 5000],
        ids=["empty", "cut", "binary", "nested", "digits"],
    )
    def test_one_that_is_not_json_is_refused(self, corpus_copy, content):
        (corpus_copy / MANIFEST).write_bytes(content)
        assert f"{MANIFEST} " in refusal(corpus_copy).problem

    @pytest.mark.parametrize("document", [[], {}, None, 1, {"cases": {}}], ids=repr)
    def test_one_of_another_form_is_refused(self, corpus_copy, document):
        (corpus_copy / MANIFEST).write_text(json.dumps(document))
        assert f"{MANIFEST} is malformed: " in refusal(corpus_copy).problem

    @pytest.mark.parametrize(
        "path", ["../test_x", "/etc", "node/../../x", "node/test_X", "other/test_x", "node/test_x/y"]
    )
    def test_a_case_outside_of_the_corpus_is_refused(self, corpus_copy, path):
        edit_manifest(corpus_copy, lambda document: document["cases"].update({path: document["cases"][f"node/{ADAM}"]}))
        assert f"{MANIFEST} is malformed: " in refusal(corpus_copy).problem

    @pytest.mark.parametrize(
        "file", ["../../x", "test_data_set_0/../x.pb", "notes.txt", "test_data_set_0/input_0.pb\n"]
    )
    def test_a_file_that_is_none_of_a_case_is_refused(self, corpus_copy, file):
        edit_manifest(corpus_copy, lambda document: document["cases"][f"node/{ADAM}"].update({file: "0" * 64}))
        assert f"{MANIFEST} is malformed: " in refusal(corpus_copy).problem

    def test_a_dropped_case_is_noticed(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: [document[of].pop(f"node/{ADAM}") for of in ("cases", "levels")])
        shutil.rmtree(corpus_copy / "node" / ADAM)
        assert f"{MANIFEST} is altered" in refusal(corpus_copy).problem

    def test_an_altered_version_is_noticed(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document.update(version="9.9.9"))
        assert f"{MANIFEST} is altered" in refusal(corpus_copy).problem

    def test_an_altered_hash_is_noticed(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document["cases"][f"node/{ADAM}"].update({"case.json": "0" * 64}))
        assert f"{MANIFEST} is altered" in refusal(corpus_copy).problem

    def test_an_altered_level_is_noticed(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document["levels"].update({f"node/{ADAM}": "silent"}))
        assert f"{MANIFEST} is altered" in refusal(corpus_copy).problem

    def test_a_missing_level_is_noticed(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document["levels"].pop(f"node/{ADAM}"))
        assert f"{MANIFEST} is " in refusal(corpus_copy).problem

    def test_two_cases_of_one_name_are_refused(self, corpus_copy, opened):
        files = {case.path: case.files for case in opened.cases.values()}
        rehash(corpus_copy, {**files, f"pass/{ADAM}": opened.cases[ADAM].files}, {f"pass/{ADAM}": "must"})
        assert f"pass/{ADAM} are two cases of one name" in refusal(corpus_copy).problem

    def test_another_format_is_refused(self, corpus_copy):
        edit_manifest(corpus_copy, lambda document: document.update(format=2))
        assert f"{MANIFEST} is malformed: format" in refusal(corpus_copy).problem

    def test_the_order_of_its_lines_does_not_count(self, corpus_copy, opened):
        edit_manifest(
            corpus_copy, lambda document: document.update(cases=dict(reversed(list(document["cases"].items()))))
        )
        assert open_corpus(corpus_copy).digest == opened.digest


class TestWhatIsNoCorpus:
    @pytest.mark.parametrize("name", ["empty", "missing", "file"])
    def test_it_is_refused_by_name(self, tmp_path, name):
        (tmp_path / "empty").mkdir()
        (tmp_path / "file").write_bytes(b"")
        refused = refusal(tmp_path / name)
        assert refused.problem == f"{tmp_path / name} is not a corpus: it has no {MANIFEST}."

    def test_a_manifest_that_is_a_directory_makes_none(self, tmp_path):
        (tmp_path / MANIFEST).mkdir()
        assert "is not a corpus" in refusal(tmp_path).problem


class TestWholeCorpus:
    def test_verifying_counts_its_files(self, small_corpus, opened):
        assert opened.verify() == len(tree(small_corpus)) - 1

    def test_a_case_is_found_by_its_id(self, opened):
        assert [find_case(opened, id).path for id in (ADAM, EXACT)] == [f"node/{ADAM}", f"node/{EXACT}"]

    def test_an_unknown_case_is_told_the_nearest(self, opened):
        with pytest.raises(UnknownName) as refused:
            find_case(opened, "test_adan")
        assert refused.value.mend == "Did you mean test_adam?"

    def test_a_case_like_no_other_is_told_where_to_look(self, opened):
        with pytest.raises(UnknownName) as refused:
            find_case(opened, "zzz")
        assert "onnx-conformance list" in refused.value.mend

    def test_every_load_has_arrays_of_its_own(self, case_of):
        for data_set in case_of(ADAM).data_sets():
            data_set.inputs[2][...] = 7
        assert not any((data_set.inputs[2] == 7).any() for data_set in case_of(ADAM).data_sets())

    def test_paths_have_an_entry_for_each_case(self, opened):
        assert sorted(opened.cases) == sorted(SMALL)
