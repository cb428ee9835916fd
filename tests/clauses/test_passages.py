"""Locators: where each clause says that the specification says so, in texts that are not copied here."""

from __future__ import annotations

import re

import pytest
from repository import ROOT

from conformance.clauses import Passage, clauses, digest

WITHOUT = {"adam.ieee", "adagrad.ieee", "momentum.ieee", "monotone.unfused"}
"""Clauses about what IEEE 754 says and nothing that ONNX publishes: no `must` case rests on them."""

WORDS = "ink and paper"
HERE = Passage("a page", "its only line", 4, 7, digest("and"))


class TestPassage:
    def test_it_is_found_at_its_offsets(self):
        assert HERE.found_in(WORDS) == "and"

    def test_it_is_found_elsewhere_in_a_text_that_has_grown(self):
        assert HERE.found_in(f"more {WORDS}") == "and"

    @pytest.mark.parametrize("text", ["ink or paper", "", "an"])
    def test_it_is_not_found_in_other_words(self, text):
        assert HERE.found_in(text) is None


class TestLocators:
    def test_every_clause_has_one_but_those_about_ieee_754(self):
        assert {id for id, clause in clauses().items() if not clause.passages} == WITHOUT

    def test_each_names_a_stretch_and_its_digest(self):
        for clause in clauses().values():
            for passage in clause.passages:
                assert passage.document, clause.id
                assert passage.part, clause.id
                assert 0 <= passage.start < passage.end, clause.id
                assert re.fullmatch(r"[0-9a-f]{64}", passage.sha256), clause.id

    def test_none_is_named_twice_in_a_clause(self):
        for clause in clauses().values():
            assert len(set(clause.passages)) == len(clause.passages), clause.id

    def test_what_no_package_carries_is_of_a_version_or_a_day(self):
        outside = {
            passage.document
            for clause in clauses().values()
            for passage in clause.passages
            if passage.document.startswith(("onnx/", "Qiita"))
        }
        assert all(re.search(r" v\d+\.\d+\.\d+ \S+$|, \d{4}-\d\d-\d\d$", document) for document in outside)

    def test_no_summary_is_copied_into_the_clauses(self):
        from conformance.models.passages import quoted

        texts = (ROOT / "conformance" / "clauses").glob("*.toml")
        ours = " ".join(text.read_text(encoding="utf-8") for text in texts)
        sentences = {
            " ".join(words.split())
            for clause in clauses().values()
            for passage in clause.passages
            if (words := quoted(passage)) and len(words.split()) > 9 and "=" not in words
        }
        assert len(sentences) > 20
        assert not [sentence for sentence in sentences if sentence in ours]
