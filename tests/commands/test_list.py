"""`list` prints one line per case, clause, backend or generator."""

from __future__ import annotations

import re

import pytest
from corpora import ADAM, name_corpus
from refusals import assert_bad_input


class TestList:
    @pytest.mark.long
    def test_list_clauses_counts_none_without_case(self, command):
        ended = command("list", "--clauses")
        assert ended.status == 0
        assert ended.out.splitlines()[-1].endswith(" clauses, 0 without a case")

    def test_clauses_without_a_case_are_named(self, command, small_corpus):
        last = command("list", "--clauses", "--data", small_corpus).out.splitlines()[-1]
        assert "adam.beta_default" in last

    def test_coverage_says_of_each_family_what_is_covered(self, command, small_corpus):
        ended = command("list", "--coverage", "--data", small_corpus)
        assert ended.status == 0
        *_, placed = ended.out.split("momentum placed: ")
        assert placed.startswith("0 cases\n  scope: main, if_then, ")
        assert re.search(r"\n  0 of \d+ triples", placed)

    def test_coverage_of_another_corpus_is_refused(self, command, corpus_copy):
        name_corpus(corpus_copy, "onnx")
        refused = command("list", "--coverage", "--data", corpus_copy)
        assert_bad_input(refused, "usage.coverage-of-another-corpus", "onnx")

    @pytest.mark.parametrize("is_checkout", [True, False])
    def test_coverage_is_offered_only_in_a_checkout(self, command, monkeypatch, is_checkout):
        monkeypatch.setattr("conformance.commands.command_options.has_generators", lambda: is_checkout)
        assert ("--coverage" in command("list", "--help").out) == is_checkout

    def test_generators_have_a_line_each(self, command):
        assert {"adam", "momentum", "adagrad", "argmax"} <= {
            line.split()[0] for line in command("list", "--generators").out.splitlines()
        }

    def test_list_of_altered_case_json_is_refused(self, command, corpus_copy):
        path = corpus_copy / "node" / ADAM / "case.json"
        path.write_text(path.read_text().replace("Adam", "Eve"))
        assert_bad_input(command("list", "--data", corpus_copy), "corpus.file-altered", f"node/{ADAM}/case.json")
