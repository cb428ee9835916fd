"""Passages of clauses: every clause cites the specification, and no text of it is copied."""

from __future__ import annotations

import re

import pytest
from repository import ROOT

from conformance.exact.clauses import Conclusion, Passage, clauses, text_digest

CLAUSES_WITHOUT_PASSAGE = {"adam.ieee", "adagrad.ieee", "momentum.ieee", "monotone.unfused"}
"""Clauses about IEEE 754, which no document of ONNX contains. No `must` case depends on them."""

TEXT = "ink and paper"
PASSAGE = Passage("a page", "its only line", 4, 7, text_digest("and"))


class TestPassage:
    def test_passage_is_found_at_its_offsets(self):
        assert PASSAGE.found_in(TEXT) == "and"

    def test_passage_is_found_in_a_longer_text(self):
        assert PASSAGE.found_in(f"more {TEXT}") == "and"

    @pytest.mark.parametrize("text", ["ink or paper", "", "an"])
    def test_passage_is_not_found_in_a_changed_text(self, text):
        assert PASSAGE.found_in(text) is None


class TestClausePassages:
    def test_clauses_without_passage_are_those_of_ieee_754(self):
        assert {id for id, clause in clauses().items() if not clause.passages} == CLAUSES_WITHOUT_PASSAGE

    def test_clauses_without_passage_are_not_in_onnx(self):
        concluded = {id for id, clause in clauses().items() if clause.conclusion is Conclusion.NOT_IN_ONNX}
        assert concluded == CLAUSES_WITHOUT_PASSAGE

    def test_every_clause_has_a_reason(self):
        assert not [id for id, clause in clauses().items() if not clause.reason]

    def test_passage_has_a_range_and_a_digest(self):
        for clause in clauses().values():
            for passage in clause.passages:
                assert passage.document, clause.id
                assert passage.part, clause.id
                assert 0 <= passage.start < passage.end, clause.id
                assert re.fullmatch(r"[0-9a-f]{64}", passage.sha256), clause.id

    def test_passages_of_a_clause_are_distinct(self):
        for clause in clauses().values():
            assert len(set(clause.passages)) == len(clause.passages), clause.id

    def test_external_document_has_a_version_or_date(self):
        external = {
            passage.document
            for clause in clauses().values()
            for passage in clause.passages
            if passage.document.startswith(("onnx/", "Qiita"))
        }
        assert all(re.search(r" v\d+\.\d+\.\d+ \S+$|, \d{4}-\d\d-\d\d$", document) for document in external)

    def test_clauses_do_not_copy_sentences_of_the_specification(self):
        from conformance.exact.models.spec_text import quote_passage

        texts = (ROOT / "conformance" / "exact" / "clauses").glob("*.toml")
        ours = " ".join(text.read_text(encoding="utf-8") for text in texts)
        sentences = {
            " ".join(words.split())
            for clause in clauses().values()
            for passage in clause.passages
            if (words := quote_passage(passage)) and len(words.split()) > 9 and "=" not in words
        }
        assert len(sentences) > 20
        assert not [sentence for sentence in sentences if sentence in ours]
