"""`generate`: a corpus is written, compared, and never written over something else."""

from __future__ import annotations

import re

from outputs import tree
from refusals import assert_bad_input

QUICK = "functions"
"""A generator of few cases that are soon filled."""

CASE = "test_momentum_function_standard_float"
"""One of them."""


class TestGenerate:
    def test_a_corpus_is_written_and_counted(self, command, here):
        ended = command("generate", "-g", QUICK, "-o", "out")
        assert ended.status == 0
        assert re.fullmatch(r"Wrote corpus 1\.0\.0 to out: \d+ cases, \d+ files, \d+ bytes\.\n", ended.out)

    def test_what_was_written_is_found_unchanged(self, command):
        command("generate", "-g", QUICK, "-o", "out")
        ended = command("generate", "-g", QUICK, "-o", "out", "--check")
        assert ended.status == 0
        assert "out is what the generators give" in ended.out

    def test_a_difference_is_told_file_by_file(self, command, here):
        command("generate", "-g", QUICK, "-o", "out")
        changed = here / "out" / "node" / CASE / "model.onnx"
        changed.write_bytes(b"")
        ended = command("generate", "-g", QUICK, "-o", "out", "--check")
        assert ended.status == 1
        assert ended.out == f"node/{CASE}/model.onnx differs\n1 files differ.\n"

    def test_a_check_of_no_corpus_is_refused(self, command, here):
        assert_bad_input(command("generate", "-g", QUICK, "-o", "out", "--check"), "out is not a corpus")
        assert not tree(here)

    def test_an_unknown_generator_is_refused(self, command, here):
        assert_bad_input(
            command("generate", "-g", "adan", "-o", "out"), "There is no generator adan", "Did you mean adam?"
        )
        assert not list(here.iterdir())

    def test_something_else_is_not_written_over(self, command, here):
        (here / "mine.txt").write_text("mine")
        assert_bad_input(command("generate", "-g", QUICK, "-o", "."), "holds something that is not a corpus")
        assert tree(here) == {"mine.txt": b"mine"}

    def test_too_low_a_version_is_refused_with_the_least(self, command, here, corpus_copy):
        before = tree(corpus_copy)
        ended = command("generate", "-g", QUICK, "-o", corpus_copy, "--corpus-version", "1.0.9")
        assert_bad_input(ended, "cannot be version 1.0.9", "Add --corpus-version 1.1.0")
        assert tree(corpus_copy) == before

    def test_what_is_no_version_is_refused(self, command, here):
        assert_bad_input(
            command("generate", "-g", QUICK, "-o", "out", "--corpus-version", "one"), "'one' is not a version"
        )
        assert not list(here.iterdir())

    def test_a_directory_that_cannot_be_made_is_refused(self, command, here):
        (here / "file").write_text("")
        assert_bad_input(command("generate", "-g", QUICK, "-o", "file/out"), "file")

    def test_a_corpus_is_released_and_whole_afterwards(self, command, here):
        command("generate", "-g", QUICK, "-o", "out")
        ended = command("generate", "-o", "out", "--release")
        assert (ended.status, "out/released.json says that corpus 1.0.0 is released" in ended.out) == (0, True)
        assert command("verify", "--data", "out").status == 0
        assert command("generate", "-g", QUICK, "-o", "out", "--check").status == 0

    def test_to_release_is_all_that_is_done(self, command, here):
        ended = command("generate", "--release", "--check")
        assert_bad_input(ended, "--release is about the corpus that is there", "Generate it first")
