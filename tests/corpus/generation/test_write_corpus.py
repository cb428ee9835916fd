"""Writing a corpus: the committed corpus matches the generators, and failures leave the old corpus complete."""

from __future__ import annotations

import dataclasses
import zlib
from pathlib import Path

import numpy as np
import pytest
from argmax_cases import argmax_case
from command_outputs import has_only_old_corpus, read_tree
from corpora import ADAM, EXACT, INDEX, SEVERAL, SMALL, no_progress, write_corpus
from refusals import assert_raises
from repository import DATA

from conformance.base.errors import CaseError, CorpusError
from conformance.corpus.cases.case_loading import load_case
from conformance.corpus.cases.corpus import MANIFEST, open_corpus
from conformance.corpus.generation.generators import define_cases
from conformance.corpus.generation.write_corpus import corpus_differences, generate
from conformance.exact.reference.oracle import Answer

FEW_GENERATORS = ("adam", "argmax", "eliminate_nop_monotone_argmax")
"""Generators that define the cases of the fixture `few`."""


LARGE = 3_000
"""Cases of as many bytes: a fifth of the cases, which need nine tenths of the time to compute the corpus."""

LONG_TRAINING = "test_adagrad_training_100_steps_float"
"""A large case whose answers are computed: its errors depend on more earlier errors than those of any small case."""


def with_stored_answers(case, corpus, step):
    """Return the case with the stored answers; `LONG_TRAINING` and one in `step` small cases have none."""
    size = sum(file.stat().st_size for file in (DATA / case.path).rglob("*.pb")) + len(case.model)
    if (size < LARGE and zlib.crc32(case.id.encode()) % step == 0) or case.id == LONG_TRAINING:
        return case
    data_sets = load_case(corpus, corpus.cases[case.id]).data_sets()
    return dataclasses.replace(
        case, answers=tuple(tuple(Answer(o.expected, o.bound, o.choices) for o in one.outputs) for one in data_sets)
    )


class TestCommitted:
    @pytest.mark.whole
    @pytest.mark.parametrize("step", [80, pytest.param(1, marks=pytest.mark.long)])
    def test_committed_corpus_equals_the_generated_one_but_for_some_answers(self, defined, step):
        """`nox -s generate -- --check` computes all answers, also those of large cases."""
        corpus = open_corpus(DATA)
        cases = [(generator, with_stored_answers(case, corpus, step)) for generator, case in defined.values()]
        assert sum(not case.answers for _, case in cases) > 0.75 * len(cases) / step
        assert corpus_differences(DATA, cases, no_progress) == []


class TestDifferences:
    def named_cases(self, defined, ids=SMALL):
        return [("small", defined[id][1]) for id in ids]

    def test_new_corpus_has_no_differences(self, corpus_copy, defined):
        assert corpus_differences(corpus_copy, self.named_cases(defined), no_progress) == []

    def test_changed_and_missing_files_are_reported(self, corpus_copy, defined):
        changed, missing = f"node/{ADAM}/test_data_set_0/output_0.pb", f"node/{ADAM}/case.json"
        (corpus_copy / changed).write_bytes(b"")
        (corpus_copy / missing).unlink()
        found = corpus_differences(corpus_copy, self.named_cases(defined), no_progress)
        assert sorted(found) == [f"{missing} is missing", f"{changed} differs"]

    def test_extra_file_is_reported(self, corpus_copy, defined):
        (corpus_copy / "notes.txt").write_bytes(b"")
        assert corpus_differences(corpus_copy, self.named_cases(defined), no_progress) == ["notes.txt is extra"]

    def test_removed_case_is_reported_as_extra(self, corpus_copy, defined):
        found = corpus_differences(corpus_copy, self.named_cases(defined, SMALL[1:]), no_progress)
        assert f"{MANIFEST} differs" in found
        assert f"node/{ADAM}/model.onnx is extra" in found

    def test_new_case_is_reported_as_missing(self, corpus_copy, defined):
        assert "node/test_adagrad/model.onnx is missing" in corpus_differences(
            corpus_copy, self.named_cases(defined, [*SMALL, "test_adagrad"]), no_progress
        )

    def test_comparison_writes_nothing(self, corpus_copy, defined):
        before = read_tree(corpus_copy.parent)
        corpus_differences(corpus_copy, self.named_cases(defined, [*SMALL[2:], "test_adagrad"]), no_progress)
        assert read_tree(corpus_copy.parent) == before

    def test_directory_without_corpus_is_rejected(self, tmp_path, defined):
        with assert_raises("corpus.manifest-missing", tmp_path):
            corpus_differences(tmp_path, self.named_cases(defined), no_progress)


class TestWriting:
    def test_new_corpus_has_the_first_version(self, old):
        assert open_corpus(old).version == "1.0.0"

    def test_result_has_the_size_of_the_corpus(self, tmp_path, few):
        written = write_corpus(tmp_path / "new", few)
        files = read_tree(tmp_path / "new")
        assert (written.cases, written.files) == (3, len(files))
        assert written.bytes == sum(map(len, files.values()))

    def test_parent_directories_are_created(self, tmp_path, few):
        write_corpus(tmp_path / "some" / "where" / "else", few)
        assert open_corpus(tmp_path / "some" / "where" / "else").verify()

    def test_empty_directory_is_accepted(self, tmp_path, few):
        (tmp_path / "empty").mkdir()
        write_corpus(tmp_path / "empty", few)
        assert open_corpus(tmp_path / "empty").verify()

    def test_current_directory_is_accepted(self, here, few):
        write_corpus(Path(), few)
        assert open_corpus(here).verify()

    def test_old_corpus_is_replaced(self, old, few):
        write_corpus(old, few[1:], "1.1.0")
        assert set(open_corpus(old).cases) == {EXACT, INDEX}
        assert [path.name for path in old.parent.iterdir()] == [old.name]

    def test_symbolic_link_to_a_corpus_is_kept(self, old, few, tmp_path):
        link = tmp_path / "link"
        link.symlink_to(old)
        write_corpus(link, few, "1.1.0")
        assert link.is_symlink()
        assert len(open_corpus(old).cases) == 3

    def test_order_of_cases_has_no_effect(self, tmp_path, few):
        write_corpus(tmp_path / "a", few)
        write_corpus(tmp_path / "b", few[::-1])
        assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")

    def test_progress_receives_every_case(self, tmp_path, few):
        seen = []
        generate(tmp_path / "new", [("small", case) for case in few], None, seen.append)
        assert seen == [ADAM, EXACT, INDEX]

    @pytest.mark.parametrize("what", ["file", "directory", "other manifest"])
    def test_unrelated_file_is_not_overwritten(self, tmp_path, few, what):
        target = tmp_path / "target"
        if what == "file":
            target.write_bytes(b"mine")
        else:
            target.mkdir()
            (target / ("mine.txt" if what == "directory" else MANIFEST)).write_bytes(b"mine")
        before = read_tree(tmp_path)
        with pytest.raises(CorpusError) as caught:
            write_corpus(target, few)
        assert str(target) in caught.value.problem
        assert read_tree(tmp_path) == before

    def test_extra_file_in_the_corpus_is_not_lost(self, old, few):
        (old / "mine.txt").write_bytes(b"mine")
        before = read_tree(old)
        with assert_raises("corpus.extra-file", old, "mine.txt"):
            write_corpus(old, few)
        assert read_tree(old) == before


class TestInterruption:
    """An interruption at any stage leaves the old corpus unchanged and no temporary directory."""

    def test_failing_case_leaves_the_old_corpus(self, old, few):
        before = read_tree(old)
        broken = argmax_case(clauses=("argmax.nothing",))
        with pytest.raises(CaseError):
            write_corpus(old, [*few, broken], "2.0.0")
        assert has_only_old_corpus(old, before)

    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_interrupt_after_a_case_leaves_the_old_corpus(self, old, few, number):
        before, done = read_tree(old), []

        def interrupt(id: str) -> None:
            done.append(id)
            if len(done) == number:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            generate(old, [("small", case) for case in few], "2.0.0", interrupt)
        assert has_only_old_corpus(old, before)

    @pytest.mark.parametrize("interruption", [OSError("disk full"), KeyboardInterrupt()], ids=["error", "control c"])
    @pytest.mark.parametrize("function", ["manifest_bytes", "_measure", "_version"])
    def test_failure_before_replacement_leaves_the_old_corpus(self, old, few, monkeypatch, function, interruption):
        before = read_tree(old)
        monkeypatch.setattr(
            f"conformance.corpus.generation.write_corpus.{function}", lambda *_: (_ for _ in ()).throw(interruption)
        )
        with pytest.raises(type(interruption)):
            write_corpus(old, few, "2.0.0")
        assert has_only_old_corpus(old, before)

    @pytest.mark.parametrize("interruption", [OSError("busy"), KeyboardInterrupt()], ids=["error", "control c"])
    @pytest.mark.parametrize("number", [1, 2])
    def test_failing_rename_leaves_the_old_corpus(self, old, few, monkeypatch, number, interruption):
        before, rename, renamed = read_tree(old), Path.rename, []

        def fails_once(path: Path, target: Path) -> Path:
            renamed.append(path)
            if len(renamed) == number:
                raise interruption
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", fails_once)
        with pytest.raises(type(interruption)):
            write_corpus(old, few, "2.0.0")
        assert has_only_old_corpus(old, before)

    def test_failure_leaves_no_new_directory(self, tmp_path, few):
        with pytest.raises(CaseError):
            write_corpus(tmp_path / "new", [*few, argmax_case(clauses=("argmax.nothing",))])
        assert list(tmp_path.iterdir()) == []


class TestDeterminism:
    @pytest.mark.long
    def test_hash_seed_has_no_effect(self, process, here):
        for seed in ("0", "4242"):
            ended = process(
                "onnx-conformance", "generate", "-g", "functions", "--output", here / seed, PYTHONHASHSEED=seed
            )
            assert ended.status == 0, ended.err
        assert read_tree(here / "0") == read_tree(here / "4242")

    def test_decimal_context_of_the_caller_has_no_effect(self, tmp_path, few):
        import decimal

        write_corpus(tmp_path / "a", few)
        with decimal.localcontext() as context:
            context.prec, context.rounding = 5, decimal.ROUND_UP
            write_corpus(tmp_path / "b", few)
        assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")

    @pytest.mark.long
    def test_random_state_of_the_caller_has_no_effect(self, tmp_path, few):
        write_corpus(tmp_path / "a", few)
        np.random.seed(1)  # noqa: NPY002 - the global state is the point
        write_corpus(
            tmp_path / "b", [case for _, case in define_cases(FEW_GENERATORS) if case.id in {ADAM, EXACT, INDEX}]
        )
        assert read_tree(tmp_path / "a") == read_tree(tmp_path / "b")


def test_case_with_several_outputs_has_several_files(tmp_path, defined):
    write_corpus(tmp_path / "new", [defined[SEVERAL][1]])
    outputs = [path for path in read_tree(tmp_path / "new") if "/output_" in path]
    assert len(outputs) == 4
