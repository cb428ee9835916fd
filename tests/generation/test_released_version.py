"""The version of a corpus with a released.json follows from the changes since the release."""

from __future__ import annotations

import dataclasses

import pytest
from argmax_cases import argmax_case
from corpora import ADAM, EXACT, no_progress, write_corpus
from refusals import assert_raises

from conformance.corpus.corpus import MANIFEST, RELEASED, open_corpus
from conformance.generation.write_corpus import corpus_differences, mark_released
from conformance.verdicts import Level


@pytest.fixture
def released(old):
    """A corpus of two cases, released as 1.0.0."""
    mark_released(old)
    return old


@pytest.fixture
def stricter(few):
    """Cases with different inputs of the first case, a major change."""
    R, T, *rest = few[0].data_sets[0]
    return [dataclasses.replace(few[0], data_sets=((R + 1, T, *rest),)), few[1]]


def test_version_follows_from_the_changes(released, stricter):
    assert write_corpus(released, stricter).version == "2.0.0"


def test_further_changes_keep_the_new_version(released, stricter, few):
    write_corpus(released, stricter)
    assert write_corpus(released, [*stricter, few[2]]).version == "2.0.0"
    assert write_corpus(released, [few[2]]).version == "2.0.0"


def test_major_change_raises_an_unreleased_minor_version(released, stricter, few):
    assert write_corpus(released, few).version == "1.1.0"
    assert write_corpus(released, [*stricter, few[2]]).version == "2.0.0"


def test_unchanged_corpus_keeps_the_version(released, few):
    assert write_corpus(released, few[:2]).version == "1.0.0"


def test_requested_version_is_kept(released, few):
    write_corpus(released, few, "3.0.0")
    assert write_corpus(released, few).version == "3.0.0"


def test_too_low_version_is_rejected(released, stricter):
    with assert_raises("usage.version-too-low", "1.9.0", "1.0.0"):
        write_corpus(released, stricter, "1.9.0")


def test_raised_level_is_a_major_change(tmp_path, defined):
    corpus, case = tmp_path / "corpus", defined[EXACT][1]
    write_corpus(corpus, [dataclasses.replace(case, level=Level.SILENT)])
    mark_released(corpus)
    assert write_corpus(corpus, [case]).version == "2.0.0"


def test_version_follows_from_the_latest_release(released, stricter, few):
    write_corpus(released, stricter)
    mark_released(released)
    assert write_corpus(released, [*stricter, few[2]]).version == "2.1.0"


class TestReleasedFile:
    def test_writing_a_corpus_keeps_released_json(self, released, few):
        before = (released / RELEASED).read_bytes()
        write_corpus(released, few)
        assert (released / RELEASED).read_bytes() == before

    def test_released_json_is_not_in_the_manifest(self, old):
        before = open_corpus(old).digest
        mark_released(old)
        assert (open_corpus(old).digest, RELEASED in (old / MANIFEST).read_text()) == (before, False)

    def test_released_json_is_deterministic(self, released):
        before = (released / RELEASED).read_bytes()
        mark_released(released)
        assert (released / RELEASED).read_bytes() == before

    def test_released_json_has_a_line_per_case(self, released):
        lines = (released / RELEASED).read_text().splitlines()
        assert len([line for line in lines if "/test_" in line]) == 2

    @pytest.mark.parametrize(
        ("damage", "code"),
        [
            (lambda text: text.replace("must", "should", 1), "corpus.file-altered"),
            (lambda text: text.replace("1.0.0", "0.9.0"), "corpus.file-altered"),
            (lambda text: text.replace("1.0.0", "one"), "corpus.malformed"),
            (lambda text: text[:-10], "corpus.file-unreadable"),
            (lambda text: "[]", "corpus.malformed"),
        ],
    )
    def test_damaged_released_json_is_rejected(self, released, few, damage, code):
        file = released / RELEASED
        file.write_text(damage(file.read_text()))
        with assert_raises(code, RELEASED):
            write_corpus(released, few)

    def test_damaged_corpus_cannot_be_released(self, old):
        (old / "node" / ADAM / "model.onnx").write_bytes(b"")
        with assert_raises("corpus.file-altered", ADAM):
            mark_released(old)
        assert not (old / RELEASED).exists()


class TestCheck:
    def named_cases(self, few):
        return [("small", case) for case in few[:2]]

    def test_released_corpus_has_no_differences(self, released, few):
        assert corpus_differences(released, self.named_cases(few), no_progress) == []

    def test_too_low_version_is_reported(self, old, few):
        write_corpus(old.with_name("other"), [argmax_case()])
        mark_released(old.with_name("other"))
        (old / RELEASED).write_bytes((old.with_name("other") / RELEASED).read_bytes())
        (difference,) = corpus_differences(old, self.named_cases(few), no_progress)
        assert all(text in difference for text in (MANIFEST, "1.0.0", "1.1.0"))
