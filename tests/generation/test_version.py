"""The version of a corpus follows from the severity of the changes."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from command_outputs import has_only_old_corpus, read_tree
from corpora import EXACT, INDEX, write_corpus
from refusals import assert_raises

from conformance.corpus.case import Case
from conformance.corpus.released import fingerprints
from conformance.generation.write_corpus import VersionChange, classify_change, minimum_version, parse_version
from conformance.verdicts import Level


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
