"""`explain` prints all details of a case."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import onnx
import pytest
from corpora import ADAM, INDEX, REPEATED
from corrupted_corpora import replace_file
from onnx import TensorProto, helper
from refusals import assert_bad_input

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.exact.reference.oracle import Answer
from conformance.own.audit.audit_cases import write_cases


def change(corpus, case, edit):
    """Change the case.json of a case, and update the manifest."""
    path = next(corpus.glob(f"*/{case}/case.json")).relative_to(corpus).as_posix()
    document = json.loads((corpus / path).read_text(encoding="utf-8"))
    edit(document)
    replace_file(corpus, path, json.dumps(document).encode())


def write_case_without_oracle(directory):
    """Write a corpus with a case of an operator that only the enclosures compute, and return the id of the case."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "XY"]
    graph = helper.make_graph([helper.make_node("Gelu", ["X"], ["Y"])], "g", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)
    case = Case(
        id="test_audit_g_0_gelu",
        title="Gelu gives what its specification states",
        level=Level.MUST,
        clauses=(),
        tags=("audit",),
        model=model.SerializeToString(deterministic=True),
        data_sets=((np.float32([1]),),),
        answers=((Answer(np.float32([0.8413448]), np.float64([7.8e-7])),),),
    )
    write_cases(directory, [case])
    return case.id


class TestExplain:
    @pytest.mark.parametrize("backend", [(), ("-b", "onnx-reference")])
    def test_explain_of_case_that_the_oracle_cannot_compute_shows_stored_values(self, command, tmp_path, backend):
        case = write_case_without_oracle(tmp_path / "cases")
        ended = command("explain", case, "--data", tmp_path / "cases", *backend)
        assert ended.status == 0, ended
        assert "out Y: float[1] = 0.8413448" in ended.out
        assert "each within 7.8e-07" in ended.out
        assert "accuracy grades of" not in ended.out

    def test_explain_shows_values_of_initializers(self, command):
        ended = command("explain", "test_argmax_pass_types_and_shapes_initializer_string")
        assert "initializer W: string[2] = 'one', 'größer'" in ended.out, ended

    def test_explain_with_results_on_standard_input_prints_them(self, command, small_corpus, here):
        command("run", "-b", "onnx-reference", "--case", INDEX, "--data", small_corpus, "--results", "r.jsonl")
        before = os.dup(0)
        with (here / "r.jsonl").open() as results:
            os.dup2(results.fileno(), 0)
            ended = command("explain", INDEX, "--data", small_corpus, "-r", "-")
        os.dup2(before, 0)
        os.close(before)
        assert (ended.status, ended.out.count("onnx-reference")) == (0, 2), ended

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
        monkeypatch.setattr(
            "conformance.exact.models.spec_text.specification_text", lambda document, part: "other words"
        )
        told = command("explain", ADAM, "--data", small_corpus).out
        assert re.search(
            rf"^ +onnx {re.escape(onnx.__version__)} .*Adam-1, summary, sha256 [0-9a-f]{{64}}\)", told, re.MULTILINE
        )
        assert "    > " not in told

    def test_explain_of_unknown_case_is_refused(self, command, small_corpus):
        assert_bad_input(command("explain", "test_adan", "--data", small_corpus), "name.case-not-found", "test_adan")
