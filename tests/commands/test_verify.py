"""`verify` counts an intact corpus and refuses a damaged one."""

from __future__ import annotations

from command_outputs import read_tree
from corpora import ADAM, SMALL
from refusals import assert_bad_input

from conformance.corpus.cases.corpus import MANIFEST, RELEASED, manifest_bytes


class TestVerify:
    def test_verify_of_intact_corpus_prints_counts(self, command, small_corpus, opened):
        ended = command("verify", "--data", small_corpus)
        assert ended.status == 0
        assert f"{len(SMALL)} cases, {len(read_tree(small_corpus)) - 1} files, " in ended.out
        assert opened.digest in ended.out

    def test_verify_of_altered_file_fails(self, command, corpus_copy):
        path = corpus_copy / "node" / ADAM / "test_data_set_0" / "output_0.pb"
        path.write_bytes(path.read_bytes()[:-1])
        assert_bad_input(command("verify", "--data", corpus_copy), "corpus.file-altered", "output_0.pb")

    def test_verify_of_extra_file_fails(self, command, corpus_copy):
        (corpus_copy / "notes.txt").write_text("")
        assert_bad_input(command("verify", "--data", corpus_copy), "corpus.unexpected-file", "notes.txt")

    def test_verify_of_altered_manifest_fails(self, command, corpus_copy):
        path = corpus_copy / MANIFEST
        path.write_text(path.read_text().replace("1.0.0", "1.0.1", 1))
        assert_bad_input(command("verify", "--data", corpus_copy), "corpus.file-altered", MANIFEST)

    def test_verify_of_empty_manifest_fails(self, command, here):
        (here / MANIFEST).write_bytes(manifest_bytes("1.0.0", {}, {}))
        assert_bad_input(command("verify", "--data", here), "corpus.malformed", MANIFEST)

    def test_verify_of_altered_released_json_fails(self, command, corpus_copy):
        command("generate", "--output", corpus_copy, "--release")
        path = corpus_copy / RELEASED
        path.write_text(path.read_text().replace("1.0.0", "1.0.1", 1))
        assert_bad_input(command("verify", "--data", corpus_copy), "corpus.file-altered", RELEASED)
