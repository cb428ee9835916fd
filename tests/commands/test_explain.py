"""`explain` prints all details of a case."""

from __future__ import annotations

import json
import re

import onnx
import pytest
from corpora import ADAM, INDEX, REPEATED
from corrupted_corpora import replace_file
from refusals import assert_bad_input


def change(corpus, case, edit):
    """Change the case.json of a case, and update the manifest."""
    path = next(corpus.glob(f"*/{case}/case.json")).relative_to(corpus).as_posix()
    document = json.loads((corpus / path).read_text(encoding="utf-8"))
    edit(document)
    replace_file(corpus, path, json.dumps(document).encode())


class TestExplain:
    def test_explain_shows_values_of_initializers(self, command):
        ended = command("explain", "test_argmax_pass_types_and_shapes_initializer_string")
        assert "initializer W: string[2] = one, größer" in ended.out, ended

    def test_explain_of_case_with_unknown_clause_is_refused(self, command, corpus_copy):
        change(corpus_copy, ADAM, lambda document: document.update(clauses=["adam.future"]))
        assert_bad_input(command("explain", ADAM, "--data", corpus_copy), "name.no-such-clause", "adam.future")

    @pytest.mark.parametrize(("case", "missing"), [(ADAM, "bounds"), (INDEX, "accept")])
    def test_explain_of_check_without_tolerance_is_refused(self, command, corpus_copy, case, missing):
        change(corpus_copy, case, lambda document: document["data_sets"][0]["outputs"][0].pop(missing))
        assert_bad_input(command("explain", case, "--data", corpus_copy), "corpus.malformed", "case.json", missing)

    def test_explain_escapes_control_characters(self, command, corpus_copy):
        change(corpus_copy, ADAM, lambda document: document.update(title="\x1b[2Jgone"))
        assert "\\x1b[2Jgone" in command("explain", ADAM, "--data", corpus_copy).out

    def test_explain_names_digest_of_passage_outside_packages(self, command, small_corpus):
        told = command("explain", REPEATED, "--data", small_corpus).out
        assert re.search(r"docs/IR.md, Model Semantics, characters \d+ to \d+, sha256 [0-9a-f]{64} \(no package", told)

    def test_explain_reports_different_text_in_installed_onnx(self, command, small_corpus, monkeypatch):
        monkeypatch.setattr("conformance.models.spec_text.specification_text", lambda document, part: "other words")
        told = command("explain", ADAM, "--data", small_corpus).out
        assert re.search(
            rf"^ +onnx {re.escape(onnx.__version__)} .*Adam-1, summary, sha256 [0-9a-f]{{64}}\)", told, re.MULTILINE
        )
        assert "    > " not in told

    def test_explain_of_unknown_case_is_refused(self, command, small_corpus):
        assert_bad_input(command("explain", "test_adan", "--data", small_corpus), "name.case-not-found", "test_adan")
