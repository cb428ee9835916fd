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
from refusals import assert_bad_input

from conformance.base.verdicts import Level
from conformance.corpus.cases.case import Case
from conformance.exact.reference.oracle import Answer
from conformance.exact.reference.tolerances import SILENCES
from conformance.own.audit.audit_cases import write_cases
from conformance.run.results.outcome_counts import OutcomeCounts


def change(corpus, case, edit):
    """Change the case.json of a case, and update the manifest."""
    path = next(corpus.glob(f"*/{case}/case.json")).relative_to(corpus).as_posix()
    document = json.loads((corpus / path).read_text(encoding="utf-8"))
    edit(document)
    replace_file(corpus, path, json.dumps(document).encode())


def write_case(directory, text, inputs, answer):
    """Write a corpus with a case of a model in ONNX's text syntax, and return the id of the case."""
    case = Case(
        id="test_audit_g_0",
        title="A node gives what its specification states",
        level=Level.MUST,
        clauses=(),
        tags=("audit",),
        model=onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 20]> {text}').SerializeToString(),
        data_sets=((inputs,),),
        answers=((answer,),),
    )
    write_cases(directory, [case])
    return case.id


class TestExplain:
    @pytest.mark.parametrize("backend", [(), ("-b", "onnx-reference")])
    def test_explain_of_case_that_the_oracle_cannot_compute_shows_stored_values(self, command, tmp_path, backend):
        answer = Answer(np.float32([0.8413448]), np.float64([7.8e-7]))
        case = write_case(
            tmp_path / "cases", "g (float[1] X) => (float[1] Y) { Y = Gelu (X) }", np.float32([1]), answer
        )
        ended = command("explain", case, "--data", tmp_path / "cases", *backend)
        assert ended.status == 0, ended
        assert "out Y: float[1] = 0.8413448" in ended.out
        assert "each within 7.8e-07" in ended.out
        assert "accuracy grades of" not in ended.out

    def test_explain_names_the_passage_that_leaves_an_element_open(self, command, tmp_path):
        answer = Answer(np.int8([3, 0]), np.float64([0, np.inf]))
        text = "g (float[2] X) => (int8[2] Y) { Y = Cast <to = 3> (X) }"
        ended = command(
            "explain", write_case(tmp_path / "cases", text, np.float32([3, 300]), answer), "--data", tmp_path / "cases"
        )
        assert re.search(rf"1 of 2\b.*{SILENCES['number beyond the type']}", ended.out), ended

    @pytest.mark.parametrize(("bound", "counted"), [(np.inf, {"elements": 2, "open": 1}), (0, None)])
    def test_run_counts_elements_that_the_specification_leaves_open(self, command, tmp_path, here, bound, counted):
        answer = Answer(np.int8([3, 44]), np.float64([0, bound]))
        text = "g (float[2] X) => (int8[2] Y) { Y = Cast <to = 3> (X) }"
        write_case(tmp_path / "cases", text, np.float32([3, 300]), answer)
        report = ("--json", "r.json", "--markdown", "r.md", "--html", "r.html", "--results", "r.jsonl")
        ended = command("run", "-b", "onnx-reference", "--data", tmp_path / "cases", *report)
        assert ended.status == 0, ended
        counts = json.loads((here / "r.json").read_text())["counts"]
        numbers = [1, 1, 2] if counted else [0, 0, 0]
        assert [counts[name] for name in ("open_results", "open_elements", "elements")] == numbers
        records = [json.loads(line) for line in (here / "r.jsonl").read_text().splitlines()]
        assert [each.get("open_elements") for each in records if each["record"] == "result"] == [counted]
        sentence = OutcomeCounts(1, 1, 0, 0, 0, 0, open_results=1, open_elements=1, elements=2).open_sentence
        for printed in (ended.out, (here / "r.md").read_text(), (here / "r.html").read_text()):
            assert (sentence in printed) == bool(counted)

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
