"""`list`: cases, clauses, backends and generators, a line each."""

from __future__ import annotations

from corpora import ADAM, EXACT, INDEX, SMALL
from refusals import assert_bad_input


class TestList:
    def test_every_case_has_a_line_with_level_and_title(self, command, small_corpus):
        ended = command("list", "--data", small_corpus)
        assert ended.status == 0
        assert f"{ADAM}  must  Adam computes the example of its page" in ended.out
        assert len(ended.out.splitlines()) == len(SMALL)

    def test_a_tag_selects(self, command, small_corpus):
        ended = command("list", "--data", small_corpus, "--tag", "argmax")
        assert {line.split()[0] for line in ended.out.splitlines()} == {EXACT, INDEX}

    def test_a_tag_that_no_case_has_is_refused_with_the_nearest(self, command, small_corpus):
        ended = command("list", "--tag", "argmaxx", "--data", small_corpus)
        assert (ended.status, "Did you mean argmax?" in ended.err) == (2, True)

    def test_every_clause_of_the_bundled_corpus_has_a_case(self, command):
        ended = command("list", "--clauses")
        assert ended.status == 0
        assert ended.out.splitlines()[-1].endswith(" clauses, 0 without a case")

    def test_clauses_without_a_case_are_named(self, command, small_corpus):
        last = command("list", "--clauses", "--data", small_corpus).out.splitlines()[-1]
        assert "adam.beta_default" in last

    def test_coverage_says_of_each_family_what_is_covered(self, command, small_corpus):
        ended = command("list", "--coverage", "--data", small_corpus)
        assert ended.status == 0
        assert "momentum placed: 0 cases\n  place: main, if_then, " in ended.out
        assert "  0 of 324 triples of place x origin x use are covered\n" in ended.out

    def test_backends_have_a_line_each(self, command):
        assert {"reference", "onnx-reference", "onnxruntime"} <= {
            line.split()[0] for line in command("list", "--backends").out.splitlines()
        }

    def test_generators_have_a_line_each(self, command):
        assert {"adam", "momentum", "adagrad", "argmax"} <= {
            line.split()[0] for line in command("list", "--generators").out.splitlines()
        }

    def test_what_is_no_corpus_is_refused(self, command):
        assert_bad_input(command("list", "--data", "missing"), "missing is not a corpus")

    def test_an_altered_description_is_refused(self, command, corpus_copy):
        path = corpus_copy / "node" / ADAM / "case.json"
        path.write_text(path.read_text().replace("Adam", "Eve"))
        assert_bad_input(command("list", "--data", corpus_copy), f"node/{ADAM}/case.json is altered")
