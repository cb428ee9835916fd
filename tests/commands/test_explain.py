"""`explain`: a case in full."""

from __future__ import annotations

import json
import re

import onnx
import pytest
from corpora import ADAM, EXACT, INDEX, REPEATED
from refusals import assert_bad_input
from spoilt_corpora import replace_file


def change(corpus, case, edit):
    """Change a case's case.json, and the manifest with it."""
    path = next(corpus.glob(f"*/{case}/case.json")).relative_to(corpus).as_posix()
    document = json.loads((corpus / path).read_text(encoding="utf-8"))
    edit(document)
    replace_file(corpus, path, json.dumps(document).encode())


class TestExplain:
    def test_it_tells_the_clauses_the_model_and_the_data(self, command, small_corpus):
        ended = command("explain", REPEATED, "--data", small_corpus)
        assert ended.status == 0
        for part in ("level must", "clause adagrad.pure", "Adagrad(R, T, X, G, H)", "decay_factor = 0.5", "data set 2"):
            assert part in ended.out

    @pytest.mark.parametrize(
        ("case", "check"), [(ADAM, "each within"), (EXACT, "bit for bit"), (INDEX, "acceptable: 1 or 3")]
    )
    def test_it_tells_how_an_output_is_checked(self, command, small_corpus, case, check):
        assert check in command("explain", case, "--data", small_corpus).out

    def test_a_clause_that_this_version_does_not_have_is_refused(self, command, corpus_copy):
        change(corpus_copy, ADAM, lambda document: document.update(clauses=["adam.future"]))
        assert_bad_input(command("explain", ADAM, "--data", corpus_copy), "the clause adam.future")

    @pytest.mark.parametrize(("case", "missing"), [(ADAM, "bounds"), (INDEX, "accept")])
    def test_a_check_without_its_tolerance_is_refused(self, command, corpus_copy, case, missing):
        change(corpus_copy, case, lambda document: document["data_sets"][0]["outputs"][0].pop(missing))
        assert_bad_input(command("explain", case, "--data", corpus_copy), "case.json is malformed", missing)

    def test_what_would_steer_a_terminal_is_shown_as_escapes(self, command, corpus_copy):
        change(corpus_copy, ADAM, lambda document: document.update(title="\x1b[2Jgone"))
        assert "\\x1b[2Jgone" in command("explain", ADAM, "--data", corpus_copy).out

    def test_a_clause_is_quoted_from_the_installed_onnx(self, command, small_corpus):
        told = command("explain", ADAM, "--data", small_corpus).out
        assert "(onnx.defs ai.onnx.preview.training Adam-1, summary):" in told
        assert "    > V_new = alpha * V" in told

    def test_what_no_package_carries_is_named_with_its_digest(self, command, small_corpus):
        told = command("explain", REPEATED, "--data", small_corpus).out
        assert re.search(r"docs/IR.md, Model Semantics, characters \d+ to \d+, sha256 [0-9a-f]{64} \(no package", told)

    def test_an_onnx_of_other_words_is_said_to_be_one(self, command, small_corpus, monkeypatch):
        monkeypatch.setattr("conformance.models.passages.text_of", lambda document, part: "other words")
        told = command("explain", ADAM, "--data", small_corpus).out
        assert f"onnx {onnx.__version__} words it differently (onnx.defs" in told
        assert "    > " not in told

    def test_an_unknown_case_is_refused(self, command, small_corpus):
        assert_bad_input(command("explain", "test_adan", "--data", small_corpus), "There is no case test_adan")
