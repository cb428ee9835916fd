"""What a corpus's version follows from where the directory says what was released last."""

from __future__ import annotations

import dataclasses

import pytest
from argmax_cases import argmax_case
from corpora import ADAM, EXACT, quiet, write_corpus

from conformance.corpus.corpus import MANIFEST, RELEASED, open_corpus
from conformance.errors import CorpusError, UsageError
from conformance.generation.generation import differences, release
from conformance.verdicts import Level


@pytest.fixture
def released(old):
    """A corpus of two cases, released as 1.0.0."""
    release(old)
    return old


@pytest.fixture
def stricter(few):
    """Other inputs for the first case: a change of what it judges."""
    R, T, *rest = few[0].data_sets[0]
    return [dataclasses.replace(few[0], data_sets=((R + 1, T, *rest),)), few[1]]


def test_the_version_follows_from_what_changed(released, stricter):
    assert write_corpus(released, stricter).version == "2.0.0"


def test_further_changes_need_no_further_version(released, stricter, few):
    write_corpus(released, stricter)
    assert write_corpus(released, [*stricter, few[2]]).version == "2.0.0"
    assert write_corpus(released, [few[2]]).version == "2.0.0"


def test_a_weightier_change_raises_a_version_in_the_making(released, stricter, few):
    assert write_corpus(released, few).version == "1.1.0"
    assert write_corpus(released, [*stricter, few[2]]).version == "2.0.0"


def test_what_is_as_released_keeps_its_version(released, few):
    assert write_corpus(released, few[:2]).version == "1.0.0"


def test_a_version_that_was_asked_for_stays(released, few):
    write_corpus(released, few, "3.0.0")
    assert write_corpus(released, few).version == "3.0.0"


def test_a_version_below_what_changed_is_refused(released, stricter):
    with pytest.raises(UsageError, match=r"a major change to 1\.0\.0"):
        write_corpus(released, stricter, "1.9.0")


def test_a_level_that_rises_is_a_change_to_the_released_one(tmp_path, defined):
    corpus, case = tmp_path / "corpus", defined[EXACT][1]
    write_corpus(corpus, [dataclasses.replace(case, level=Level.SILENT)])
    release(corpus)
    assert write_corpus(corpus, [case]).version == "2.0.0"


def test_after_the_next_release_that_one_counts(released, stricter, few):
    write_corpus(released, stricter)
    release(released)
    assert write_corpus(released, [*stricter, few[2]]).version == "2.1.0"


class TestTheFile:
    def test_writing_a_corpus_keeps_it(self, released, few):
        before = (released / RELEASED).read_bytes()
        write_corpus(released, few)
        assert (released / RELEASED).read_bytes() == before

    def test_it_is_no_part_of_the_corpus(self, old):
        before = open_corpus(old).digest
        release(old)
        assert (open_corpus(old).digest, RELEASED in (old / MANIFEST).read_text()) == (before, False)

    def test_it_is_the_same_for_the_same_corpus(self, released):
        before = (released / RELEASED).read_bytes()
        release(released)
        assert (released / RELEASED).read_bytes() == before

    def test_it_has_a_line_for_each_case(self, released):
        lines = (released / RELEASED).read_text().splitlines()
        assert len([line for line in lines if "/test_" in line]) == 2

    @pytest.mark.parametrize(
        ("spoil", "told"),
        [
            (lambda text: text.replace("must", "should", 1), "released.json is altered"),
            (lambda text: text.replace("1.0.0", "0.9.0"), "released.json is altered"),
            (lambda text: text.replace("1.0.0", "one"), "released.json is malformed"),
            (lambda text: text[:-10], "released.json cannot be read"),
            (lambda text: "[]", "released.json is malformed"),
        ],
    )
    def test_what_is_not_as_it_was_written_is_refused(self, released, few, spoil, told):
        file = released / RELEASED
        file.write_text(spoil(file.read_text()))
        with pytest.raises(CorpusError, match=told):
            write_corpus(released, few)

    def test_a_corpus_that_is_not_whole_cannot_be_released(self, old):
        (old / "node" / ADAM / "model.onnx").write_bytes(b"")
        with pytest.raises(CorpusError, match="altered or truncated"):
            release(old)
        assert not (old / RELEASED).exists()


class TestCheck:
    def given(self, few):
        return [("small", case) for case in few[:2]]

    def test_a_released_corpus_is_what_its_generators_give(self, released, few):
        assert differences(released, self.given(few), quiet) == []

    def test_a_version_below_what_changed_is_told(self, old, few):
        write_corpus(old.with_name("other"), [argmax_case()])
        release(old.with_name("other"))
        (old / RELEASED).write_bytes((old.with_name("other") / RELEASED).read_bytes())
        (told,) = differences(old, self.given(few), quiet)
        assert told.startswith(f"{MANIFEST} has version 1.0.0, and needs 1.1.0: ")
