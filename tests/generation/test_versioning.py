"""A corpus's version: what changes it, and by how much."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from corpora import EXACT, INDEX, write_corpus
from outputs import only_the_old, tree

from conformance.corpus.case import Case
from conformance.corpus.released import fingerprints
from conformance.errors import UsageError
from conformance.generation.versioning import VersionChange, change, least_version, parsed
from conformance.verdicts import Level


class TestVersion:
    @pytest.fixture
    def retitled(self, few):
        return [dataclasses.replace(few[0], title="Adam computes an example"), few[1]]

    @pytest.fixture
    def judged_otherwise(self, few):
        R, T, *rest = few[0].data_sets[0]
        return [dataclasses.replace(few[0], data_sets=((R + 1, T, *rest),)), few[1]]

    def test_nothing_changes_at_the_same_version(self, old, few):
        before = tree(old)
        write_corpus(old, few[:2])
        assert tree(old) == before

    def test_another_title_is_a_patch(self, old, retitled):
        assert self.least(old, retitled) == "1.0.1"

    def test_a_new_case_is_minor(self, old, few):
        assert self.least(old, few) == "1.1.0"

    def test_a_case_less_is_minor(self, old, few):
        assert self.least(old, few[:1]) == "1.1.0"

    def test_another_input_is_major(self, old, judged_otherwise):
        assert self.least(old, judged_otherwise) == "2.0.0"

    def test_another_model_is_major(self, old, few, defined):
        assert self.least(old, [few[0], dataclasses.replace(few[1], model=self.negated(few[1]))]) == "2.0.0"

    @staticmethod
    def negated(case: Case) -> bytes:
        return case.model.replace(b"keepdims\x18\x00", b"keepdims\x18\x01") + b"\x2a\x00"

    def test_a_level_that_rises_is_major(self, tmp_path, defined):
        corpus, case = tmp_path / "corpus", defined[EXACT][1]
        write_corpus(corpus, [dataclasses.replace(case, level=Level.SILENT)])
        assert self.least(corpus, [case]) == "2.0.0"

    def test_the_weightiest_change_counts(self, old, judged_otherwise, few):
        assert self.least(old, [*judged_otherwise, few[2]]) == "2.0.0"

    def test_a_version_may_be_higher_than_the_least(self, old, few):
        assert write_corpus(old, few, "3.2.1").version == "3.2.1"

    @pytest.mark.parametrize("version", ["0.9.0", "0.99.99"])
    def test_a_version_never_goes_back(self, old, few, version):
        with pytest.raises(UsageError, match="cannot be version"):
            write_corpus(old, few[:2], version)

    def test_a_refusal_names_the_first_case_that_is_the_reason(self, old, few):
        with pytest.raises(UsageError) as refused:
            write_corpus(old, few, "1.0.1")
        assert (
            refused.value.problem
            == f"This corpus cannot be version 1.0.1: pass/{INDEX} is new, a minor change to 1.0.0."
        )

    @pytest.mark.parametrize(
        "version",
        ["", "1", "1.2", "1.2.3.4", "1.2.x", "v1.2.3", "-1.0.0", "+2.0.0", "2_0.0.0", " 2.0.0", "2.0.0\n", "२.0.0"],
    )
    def test_what_is_no_version_is_refused(self, old, few, version):
        before = tree(old)
        with pytest.raises(UsageError, match="is not a version"):
            write_corpus(old, few[:2], version)
        assert only_the_old(old, before)

    @staticmethod
    def least(directory: Path, cases: list[Case]) -> str:
        """The least version that a corpus of these cases may have, as the refusal of the old one says."""
        before = tree(directory)
        with pytest.raises(UsageError) as refused:
            write_corpus(directory, cases)
        assert only_the_old(directory, before)
        version = refused.value.mend.removeprefix("Add --corpus-version ").removesuffix(".")
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
    def test_the_least_version_after_a_change(self, old, change, least):
        assert least_version(old, change) == least

    def test_versions_are_compared_by_number(self):
        assert parsed("1.10.0") > parsed("1.9.9")

    def test_a_change_names_its_reason(self):
        old, new = (
            fingerprints({"node/x": {"model.onnx": hash, "case.json": "b"}}, {"node/x": "must"}) for hash in "ac"
        )
        assert change(old, new) == (
            VersionChange.MAJOR,
            "node/x judges otherwise than before",
        )
