"""`verify`: a whole corpus is counted, and any other refused."""

from __future__ import annotations

from corpora import ADAM, SMALL
from outputs import tree
from refusals import assert_bad_input

from conformance.corpus.corpus import MANIFEST, RELEASED, manifest_bytes


class TestVerify:
    def test_a_whole_corpus_is_counted(self, command, small_corpus, opened):
        ended = command("verify", "--data", small_corpus)
        assert ended.status == 0
        assert f"{len(SMALL)} cases, {len(tree(small_corpus)) - 1} files, digest {opened.digest}" in ended.out

    def test_an_altered_one_is_refused(self, command, corpus_copy):
        path = corpus_copy / "node" / ADAM / "test_data_set_0" / "output_0.pb"
        path.write_bytes(path.read_bytes()[:-1])
        assert_bad_input(command("verify", "--data", corpus_copy), "output_0.pb is altered or truncated")

    def test_an_extra_file_is_refused(self, command, corpus_copy):
        (corpus_copy / "notes.txt").write_text("")
        assert_bad_input(command("verify", "--data", corpus_copy), "notes.txt is not in manifest.json")

    def test_an_altered_manifest_is_refused(self, command, corpus_copy):
        path = corpus_copy / MANIFEST
        path.write_text(path.read_text().replace("1.0.0", "1.0.1", 1))
        assert_bad_input(command("verify", "--data", corpus_copy), "manifest.json is altered")

    def test_an_empty_manifest_is_refused(self, command, here):
        (here / MANIFEST).write_bytes(manifest_bytes("1.0.0", {}, {}))
        assert_bad_input(command("verify", "--data", here), "manifest.json is malformed")

    def test_an_altered_released_json_is_refused(self, command, corpus_copy):
        command("generate", "-o", corpus_copy, "--release")
        path = corpus_copy / RELEASED
        path.write_text(path.read_text().replace("1.0.0", "1.0.1", 1))
        assert_bad_input(command("verify", "--data", corpus_copy), "released.json is altered")
