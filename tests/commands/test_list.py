"""`list` prints one line per case, clause, backend or generator."""

from __future__ import annotations

import re

from corpora import ADAM, EXACT, INDEX, SMALL, case_title
from refusals import assert_bad_input


class TestList:
    def test_list_prints_level_and_title_per_case(self, command, small_corpus):
        ended = command("list", "--data", small_corpus)
        assert ended.status == 0
        assert f"{ADAM}  must  {case_title(small_corpus, ADAM)}" in ended.out
        assert len(ended.out.splitlines()) == len(SMALL)

    def test_list_with_tag_selects_cases(self, command, small_corpus):
        ended = command("list", "--data", small_corpus, "--tag", "argmax")
        assert {line.split()[0] for line in ended.out.splitlines()} == {EXACT, INDEX}

    def test_list_with_unknown_tag_names_nearest_tag(self, command, small_corpus):
        ended = command("list", "--tag", "argmaxx", "--data", small_corpus)
        assert_bad_input(ended, "name.not-in-corpus", "argmaxx", "argmax?")

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

    def test_backends_have_a_line_each(self, command):
        assert {"reference", "onnx-reference", "onnxruntime"} <= {
            line.split()[0] for line in command("list", "--backends").out.splitlines()
        }

    def test_generators_have_a_line_each(self, command):
        assert {"adam", "momentum", "adagrad", "argmax"} <= {
            line.split()[0] for line in command("list", "--generators").out.splitlines()
        }

    def test_list_of_missing_corpus_is_refused(self, command):
        assert_bad_input(command("list", "--data", "missing"), "corpus.manifest-missing", "missing")

    def test_list_of_altered_case_json_is_refused(self, command, corpus_copy):
        path = corpus_copy / "node" / ADAM / "case.json"
        path.write_text(path.read_text().replace("Adam", "Eve"))
        assert_bad_input(command("list", "--data", corpus_copy), "corpus.file-altered", f"node/{ADAM}/case.json")
