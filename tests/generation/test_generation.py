"""Writing a corpus: the committed one is what the generators give, and whatever goes wrong leaves the old one whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from argmax_cases import argmax_case
from corpora import ADAM, EXACT, INDEX, SEVERAL, SMALL, quiet, write_corpus
from outputs import only_the_old, tree
from repository import DATA

from conformance.corpus.corpus import MANIFEST, open_corpus
from conformance.errors import CaseError, CorpusError
from conformance.generation import generation
from conformance.generation.defined import defined_cases
from conformance.generation.generation import differences, generate

THEIRS = ("adam", "argmax", "eliminate_nop_monotone_argmax")
"""The generators of the few cases."""


class TestCommitted:
    @pytest.mark.whole
    def test_regeneration_changes_no_byte(self, defined):
        assert differences(DATA, list(defined.values()), quiet) == []


class TestDifferences:
    def given(self, defined, ids=SMALL):
        return [("small", defined[id][1]) for id in ids]

    def test_a_corpus_just_written_has_none(self, corpus_copy, defined):
        assert differences(corpus_copy, self.given(defined), quiet) == []

    def test_a_changed_file_is_named(self, corpus_copy, defined):
        path = f"node/{ADAM}/test_data_set_0/output_0.pb"
        (corpus_copy / path).write_bytes(b"")
        assert differences(corpus_copy, self.given(defined), quiet) == [f"{path} differs"]

    def test_a_missing_file_is_named(self, corpus_copy, defined):
        path = f"node/{ADAM}/case.json"
        (corpus_copy / path).unlink()
        assert differences(corpus_copy, self.given(defined), quiet) == [f"{path} is missing"]

    def test_an_extra_file_is_named(self, corpus_copy, defined):
        (corpus_copy / "notes.txt").write_bytes(b"")
        assert differences(corpus_copy, self.given(defined), quiet) == ["notes.txt is extra"]

    def test_a_case_that_no_generator_gives_is_extra_and_changes_the_manifest(self, corpus_copy, defined):
        found = differences(corpus_copy, self.given(defined, SMALL[1:]), quiet)
        assert f"{MANIFEST} differs" in found
        assert f"node/{ADAM}/model.onnx is extra" in found

    def test_a_new_case_is_missing(self, corpus_copy, defined):
        assert "node/test_adagrad/model.onnx is missing" in differences(
            corpus_copy, self.given(defined, [*SMALL, "test_adagrad"]), quiet
        )

    def test_looking_for_them_writes_nothing(self, corpus_copy, defined):
        before = tree(corpus_copy.parent)
        differences(corpus_copy, self.given(defined, [*SMALL[2:], "test_adagrad"]), quiet)
        assert tree(corpus_copy.parent) == before

    def test_what_is_no_corpus_is_refused(self, tmp_path, defined):
        with pytest.raises(CorpusError, match="is not a corpus"):
            differences(tmp_path, self.given(defined), quiet)


class TestWriting:
    def test_a_new_corpus_begins_at_its_first_version(self, old):
        assert open_corpus(old).version == "1.0.0"

    def test_what_was_written_is_counted(self, tmp_path, few):
        written = write_corpus(tmp_path / "new", few)
        files = tree(tmp_path / "new")
        assert (written.cases, written.files) == (3, len(files))
        assert written.bytes == sum(map(len, files.values()))

    def test_parent_directories_are_made(self, tmp_path, few):
        write_corpus(tmp_path / "some" / "where" / "else", few)
        assert open_corpus(tmp_path / "some" / "where" / "else").verify()

    def test_an_empty_directory_is_filled(self, tmp_path, few):
        (tmp_path / "empty").mkdir()
        write_corpus(tmp_path / "empty", few)
        assert open_corpus(tmp_path / "empty").verify()

    def test_the_current_directory_is_filled(self, here, few):
        write_corpus(Path(), few)
        assert open_corpus(here).verify()

    def test_the_old_corpus_is_replaced(self, old, few):
        write_corpus(old, few[1:], "1.1.0")
        assert set(open_corpus(old).cases) == {EXACT, INDEX}
        assert [path.name for path in old.parent.iterdir()] == [old.name]

    def test_a_corpus_behind_a_link_is_replaced_where_it_lies(self, old, few, tmp_path):
        link = tmp_path / "link"
        link.symlink_to(old)
        write_corpus(link, few, "1.1.0")
        assert link.is_symlink()
        assert len(open_corpus(old).cases) == 3

    def test_the_order_of_the_cases_does_not_show(self, tmp_path, few):
        write_corpus(tmp_path / "a", few)
        write_corpus(tmp_path / "b", few[::-1])
        assert tree(tmp_path / "a") == tree(tmp_path / "b")

    def test_every_case_is_told_to_whoever_watches(self, tmp_path, few):
        seen = []
        generate(tmp_path / "new", [("small", case) for case in few], None, seen.append)
        assert seen == [ADAM, EXACT, INDEX]

    @pytest.mark.parametrize("what", ["file", "directory", "other manifest"])
    def test_something_else_is_not_written_over(self, tmp_path, few, what):
        target = tmp_path / "target"
        if what == "file":
            target.write_bytes(b"mine")
        else:
            target.mkdir()
            (target / ("mine.txt" if what == "directory" else MANIFEST)).write_bytes(b"mine")
        before = tree(tmp_path)
        with pytest.raises(CorpusError) as refused:
            write_corpus(target, few)
        assert str(target) in refused.value.problem
        assert tree(tmp_path) == before

    def test_a_file_beside_the_corpus_is_not_lost(self, old, few):
        (old / "mine.txt").write_bytes(b"mine")
        before = tree(old)
        with pytest.raises(CorpusError, match=r"mine\.txt, which is not of its corpus"):
            write_corpus(old, few)
        assert tree(old) == before


class TestInterruption:
    """At every stage: the old corpus is byte for byte what it was, and no scratch directory stays."""

    def test_a_case_that_cannot_be_filled_half_way(self, old, few):
        before = tree(old)
        broken = argmax_case(clauses=("argmax.nothing",))
        with pytest.raises(CaseError):
            write_corpus(old, [*few, broken], "2.0.0")
        assert only_the_old(old, before)

    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_control_c_after_any_case(self, old, few, number):
        before, done = tree(old), []

        def interrupt(id: str) -> None:
            done.append(id)
            if len(done) == number:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            generate(old, [("small", case) for case in few], "2.0.0", interrupt)
        assert only_the_old(old, before)

    @pytest.mark.parametrize("interruption", [OSError("disk full"), KeyboardInterrupt()], ids=["error", "control c"])
    @pytest.mark.parametrize("function", ["manifest_bytes", "_measure", "_version"])
    def test_between_the_last_case_and_the_replacement(self, old, few, monkeypatch, function, interruption):
        before = tree(old)
        monkeypatch.setattr(generation, function, lambda *_: (_ for _ in ()).throw(interruption))
        with pytest.raises(type(interruption)):
            write_corpus(old, few, "2.0.0")
        assert only_the_old(old, before)

    @pytest.mark.parametrize("interruption", [OSError("busy"), KeyboardInterrupt()], ids=["error", "control c"])
    @pytest.mark.parametrize("number", [1, 2])
    def test_when_either_directory_is_renamed(self, old, few, monkeypatch, number, interruption):
        before, rename, renamed = tree(old), Path.rename, []

        def fails_once(path: Path, target: Path) -> Path:
            renamed.append(path)
            if len(renamed) == number:
                raise interruption
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", fails_once)
        with pytest.raises(type(interruption)):
            write_corpus(old, few, "2.0.0")
        assert only_the_old(old, before)

    def test_where_nothing_was_before(self, tmp_path, few):
        with pytest.raises(CaseError):
            write_corpus(tmp_path / "new", [*few, argmax_case(clauses=("argmax.nothing",))])
        assert list(tmp_path.iterdir()) == []


class TestDeterminism:
    def test_the_hash_seed_does_not_show(self, process, here):
        for seed in ("0", "4242"):
            ended = process("onnx-conformance", "generate", "-g", "functions", "-o", here / seed, PYTHONHASHSEED=seed)
            assert ended.status == 0, ended.err
        assert tree(here / "0") == tree(here / "4242")

    def test_the_rounding_of_the_caller_s_decimals_does_not_show(self, tmp_path, few):
        import decimal

        write_corpus(tmp_path / "a", few)
        with decimal.localcontext() as context:
            context.prec, context.rounding = 5, decimal.ROUND_UP
            write_corpus(tmp_path / "b", few)
        assert tree(tmp_path / "a") == tree(tmp_path / "b")

    def test_the_caller_s_random_state_does_not_show(self, tmp_path, few):
        write_corpus(tmp_path / "a", few)
        np.random.seed(1)  # noqa: NPY002 - the global state is the point
        write_corpus(tmp_path / "b", [case for _, case in defined_cases(THEIRS) if case.id in {ADAM, EXACT, INDEX}])
        assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_a_corpus_of_several_outputs_has_a_file_for_each(tmp_path, defined):
    write_corpus(tmp_path / "new", [defined[SEVERAL][1]])
    outputs = [path for path in tree(tmp_path / "new") if "/output_" in path]
    assert len(outputs) == 4
