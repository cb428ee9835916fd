"""Versions of a corpus: releases, and the severity of changes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from argmax_cases import argmax_case
from command_outputs import has_only_old_corpus, read_tree
from corpora import ADAM, EXACT, INDEX, no_progress, write_corpus
from refusals import assert_raises

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.corpus.cases.corpus import MANIFEST, RELEASED, open_corpus
from conformance.corpus.cases.released import fingerprints
from conformance.corpus.generation.write_corpus import (
    VersionChange,
    classify_change,
    corpus_differences,
    mark_released,
    minimum_version,
    parse_version,
)

# The version of a corpus with a released.json follows from the changes since the release.


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
    @pytest.mark.parametrize("is_released_again", [False, True])
    def test_writing_a_corpus_or_released_json_again_keeps_released_json(self, released, few, is_released_again):
        before = (released / RELEASED).read_bytes()
        if is_released_again:
            mark_released(released)
        else:
            write_corpus(released, few)
        assert (released / RELEASED).read_bytes() == before

    def test_released_json_is_not_in_the_manifest(self, old):
        before = open_corpus(old).digest
        mark_released(old)
        assert (open_corpus(old).digest, RELEASED in (old / MANIFEST).read_text()) == (before, False)

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


# The version of a corpus follows from the severity of the changes.


class TestVersion:
    @pytest.fixture
    def retitled(self, few):
        return [dataclasses.replace(few[0], title="Adam computes an example"), few[1]]

    @pytest.fixture
    def changed_input(self, few):
        R, T, *rest = few[0].data_sets[0]
        return [dataclasses.replace(few[0], data_sets=((R + 1, T, *rest),)), few[1]]

    def test_same_cases_change_nothing(self, old, few):
        before = read_tree(old)
        write_corpus(old, few[:2])
        assert read_tree(old) == before

    def test_changed_title_is_a_patch(self, old, retitled):
        assert self.minimum(old, retitled) == "1.0.1"

    def test_new_case_is_minor(self, old, few):
        assert self.minimum(old, few) == "1.1.0"

    def test_removed_case_is_minor(self, old, few):
        assert self.minimum(old, few[:1]) == "1.1.0"

    def test_changed_input_is_major(self, old, changed_input):
        assert self.minimum(old, changed_input) == "2.0.0"

    def test_changed_model_is_major(self, old, few, defined):
        assert self.minimum(old, [few[0], dataclasses.replace(few[1], model=self.documented(few[1]))]) == "2.0.0"

    @staticmethod
    def documented(case: Case) -> bytes:
        return case.model + b"\x32\x01x"  # a doc_string

    def test_raised_level_is_major(self, tmp_path, defined):
        corpus, case = tmp_path / "corpus", defined[EXACT][1]
        write_corpus(corpus, [dataclasses.replace(case, level=Level.SILENT)])
        assert self.minimum(corpus, [case]) == "2.0.0"

    def test_most_severe_change_decides(self, old, changed_input, few):
        assert self.minimum(old, [*changed_input, few[2]]) == "2.0.0"

    def test_higher_version_is_accepted(self, old, few):
        assert write_corpus(old, few, "3.2.1").version == "3.2.1"

    @pytest.mark.parametrize("version", ["0.9.0", "0.99.99"])
    def test_lower_version_is_rejected(self, old, few, version):
        with assert_raises("usage.version-too-low", version):
            write_corpus(old, few[:2], version)

    def test_error_names_the_first_changed_case(self, old, few):
        with assert_raises("usage.version-too-low", "1.0.1", f"pass/{INDEX}", "minor", "1.0.0"):
            write_corpus(old, few, "1.0.1")

    @pytest.mark.parametrize(
        "version",
        ["", "1", "1.2", "1.2.3.4", "1.2.x", "v1.2.3", "-1.0.0", "+2.0.0", "2_0.0.0", " 2.0.0", "2.0.0\n", "२.0.0"],
    )
    def test_malformed_version_is_rejected(self, old, few, version):
        before = read_tree(old)
        with assert_raises("usage.bad-version", repr(version)):
            write_corpus(old, few[:2], version)
        assert has_only_old_corpus(old, before)

    @staticmethod
    def minimum(directory: Path, cases: list[Case]) -> str:
        """Return the minimum version for these cases, as the hint of the error states it."""
        before = read_tree(directory)
        with assert_raises("usage.version-too-low") as caught:
            write_corpus(directory, cases)
        assert has_only_old_corpus(directory, before)
        version = caught.value.hint.removeprefix("Add --corpus-version ").removesuffix(".")
        assert write_corpus(directory, cases, version).version == version
        return version

    @pytest.mark.parametrize(
        ("old", "change", "least"),
        [
            ("1.2.3", VersionChange.NONE, "1.2.3"),
            ("1.2.3", VersionChange.PATCH, "1.2.4"),
            ("1.2.3", VersionChange.MINOR, "1.3.0"),
            ("1.2.3", VersionChange.MAJOR, "2.0.0"),
            ("0.2.3", VersionChange.PATCH, "0.2.4"),
            ("0.2.3", VersionChange.MINOR, "0.3.0"),
            ("0.2.3", VersionChange.MAJOR, "0.3.0"),
        ],
    )
    def test_minimum_version_after_a_change(self, old, change, least):
        assert minimum_version(old, change) == least

    def test_versions_compare_numerically(self):
        assert parse_version("1.10.0") > parse_version("1.9.9")

    def test_change_has_severity_and_reason(self):
        old, new = (
            fingerprints({"node/x": {"model.onnx": hash, "case.json": "b"}}, {"node/x": "must"}) for hash in "ac"
        )
        change, reason = classify_change(old, new)
        assert (change, "node/x" in reason) == (VersionChange.MAJOR, True)
