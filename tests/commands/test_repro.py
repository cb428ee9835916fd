"""`repro` writes a folder that reproduces a failing case, and printed commands reproduce the printed verdict."""

from __future__ import annotations

import html
import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from command_outputs import read_tree, results_by_key
from corpora import ADAM, EXACT, SEVERAL, write_part
from refusals import assert_bad_input
from repository import DATA, exec_subject

from conformance.run.report.formats.html import (
    CASE_PLACEHOLDER,
    OPTIONS_PLACEHOLDER,
    RERUN_SCRIPTS,
    SUBJECT_PLACEHOLDER,
)
from conformance.run.report.html.subjects import columns
from conformance.run.results.results_file import read_results

PASS = "eliminate_nop_monotone_argmax"
NEVER = "fake_subject:never_fires"
RIGHT, WRONG = "fake_subject:always_right", "fake_subject:always_wrong"
OF_TYPE = "test_adam_huge_float"
"""A case in which onnx's own evaluator answers in another type."""
OVERLOAD = "test_argmax_pass_fields_node_function"
"""A case in which onnxruntime calls another function."""
OWN_BACKEND = """\
import numpy as np


class Backend:
    @classmethod
    def prepare(cls, model, device="CPU", **options):
        return cls()

    def run(self, inputs, **options):
        {body}
"""


@pytest.fixture(scope="module")
def part(tmp_path_factory):
    """Write the part of the committed corpus with the cases that this module names."""
    named = {ADAM, EXACT, SEVERAL, *re.findall(r"test_\w+", Path(__file__).read_text(encoding="utf-8"))}
    return write_part(tmp_path_factory.mktemp("part"), lambda _, name: name in named)


@pytest.fixture
def repro(command, part):
    """Return a function that writes a reproduction of a case of the part."""
    return lambda *arguments: command("repro", *arguments, "--data", part, "--output", "out")


@pytest.fixture
def reproduced(repro, process, here):
    """Return a function that writes a reproduction and runs its script. With `alone`, the suite cannot be imported."""

    def run(*arguments, alone: bool = False):
        ended = repro(*arguments)
        assert ended.status == 0, ended.err
        if alone:
            (here / "blocked").mkdir()
            (here / "blocked" / "conformance.py").write_text("raise ModuleNotFoundError(name='conformance')\n")
        return process("python", "out/reproduce.py", PYTHONPATH=str(here / "blocked"))

    return run


class TestBackends:
    def test_repro_into_empty_folder_writes_script_and_issue(self, reproduced, here):
        (here / "out").mkdir()
        ended = reproduced(ADAM, "-b", WRONG)
        assert re.search(r"X_new\[0\]: got 2\.02\d+, expected 1\.025\d+ within 7\.81e-07", ended.out), ended
        assert ended.status == 1
        text = (here / "out" / "ISSUE.md").read_text()
        assert "calls this `adam.v_new`" in text
        assert re.search(r"onnx \S+: onnx\.defs ai\.onnx\.preview\.training Adam-1, summary\n  > \S", text)
        assert f"- {WRONG} 0.0.7" in html.unescape(text)  # texts of others are escaped
        assert "- numpy: " in text

    def test_repro_calls_runtime_by_its_one_line_interface(self, reproduced, here):
        ended = reproduced(OF_TYPE, "-b", "onnx-reference", alone=True)
        assert "X_new: got float64[4], expected float32[4]" in ended.out, ended
        assert ended.status == 1
        assert "prepared = ReferenceEvaluator(model)" in (here / "out" / "subject.py").read_text()

    def test_repro_of_built_in_adapter_needs_no_suite(self, reproduced):
        ended = reproduced(OVERLOAD, "-b", "onnxruntime[optimization=disabled]", alone=True)
        assert "Z[1, 2]: got -0.25, expected 0.25" in ended.out, ended
        assert ended.status == 1

    def test_repro_issue_of_known_finding_has_its_text(self, reproduced, here):
        reproduced(OVERLOAD, "-b", "onnxruntime")
        title, *text = (here / "out" / "ISSUE.md").read_text().splitlines()
        assert re.fullmatch(r"# onnxruntime \S+: A call in a function takes another overload than it names", title)
        assert any("acme.Body that calls acme.Same with overload" in line for line in text)

    @pytest.mark.variants(2)
    @pytest.mark.parametrize(
        ("case", "subject", "title"),
        [
            (ADAM, WRONG, "Adam: wrong X_new"),
            ("test_momentum_main_domain_by_name_float", "onnx-reference", "Transpose: RuntimeError: Domain"),
            ("test_softmax_argmax_opset_11_axis_0", WRONG, "ArgMax of Softmax: wrong index"),
            ("test_adagrad_placed_026_loop_0d_float", WRONG, "Adagrad in a Loop: wrong X_new"),
            (OF_TYPE, "onnx-reference", "Adam: X_new has type double instead of float"),
        ],
    )
    def test_title_names_the_operator_at_fault(self, repro, here, case, subject, title):
        assert repro(case, "-b", subject).status == 0
        first = (here / "out" / "ISSUE.md").read_text().splitlines()[0]
        assert re.match(rf"# \S+(?: \S+)? \d\S+: {re.escape(title)}", first), first

    def test_title_is_the_finding_that_names_the_case(self, repro, here):
        repro("test_adam_training_10_steps_float", "-b", "onnx-reference")
        lines = (here / "out" / "ISSUE.md").read_text().splitlines()
        assert lines[0].endswith(": Adam with T above 0 gives double for one float tensor")
        assert lines.index("The smallest model that shows this fault:") < lines.index("With the model of this folder:")

    @pytest.mark.parametrize("case", ["test_argmax_pass_domains_function_exp", "test_argmax_pass_uses_exp_captured"])
    def test_issue_for_a_runtime_demands_nothing_of_a_pass(self, repro, here, case):
        repro(case, "-b", WRONG)
        text = (here / "out" / "ISSUE.md").read_text()
        prose = re.sub(r"~~~~.*?~~~~|`.*?`", "", text, flags=re.DOTALL)
        assert re.search(r"\b(?:pass|optimizer|stays|removed)\b", prose) is None

    def test_issue_has_what_diagnosis_found(self, command, repro, here, part):
        subject = ("-b", "fake_subject:only_first_tensor")
        command("run", *subject, "--data", part, "--results", "r.jsonl", diagnose=True)
        (found,) = read_results(here / "r.jsonl").footer.diagnoses
        ended = repro(found.cases[0], *subject, "-r", "r.jsonl")
        assert ended.status == 0
        text = (here / "out" / "ISSUE.md").read_text()
        assert f"Probable cause: Momentum {found.text}" in text
        assert f"Of the {found.failing} models with a wrong Momentum, {found.explained} have" in text
        assert "\nR: float[] = " in text

    def test_issue_names_no_path_of_this_machine(self, repro, here, part, monkeypatch):
        monkeypatch.setenv("CC", f"{here}/compilers/clang-99")
        subject = ("-b", "fake_subject:only_first_tensor", "--python", sys.executable)
        assert repro(SEVERAL, *subject).status == 0
        text = (here / "out" / "ISSUE.md").read_text()
        assert "- CC: clang-99\n" in text
        assert f"--data {part.name} " in text
        assert str(part) not in text
        assert not [path for path in (sys.executable, str(here)) if path in text]

    def test_repro_of_harness_needs_no_suite(self, reproduced):
        suite = DATA.parent / "conformance" / "subjects"
        adapter = suite / "adapters" / "onnx_reference.py:OnnxReferenceBackend"
        harness = exec_subject(sys.executable, suite / "calling" / "harness.py", adapter)
        ended = reproduced(OF_TYPE, "-b", harness, alone=True)
        assert "X_new: got float64[4], expected float32[4]" in ended.out, ended

    def test_repro_script_of_exiting_backend_reports_the_exit(self, reproduced, here):
        (here / "quits.py").write_text(OWN_BACKEND.format(body="raise SystemExit(0)"))
        ended = reproduced(ADAM, "-b", "quits:Backend")
        assert "got SystemExit: 0, expected outputs" in ended.out, ended
        assert ended.status == 1

    def test_repro_script_imports_a_package_of_the_name_of_the_suite(self, reproduced, here):
        (here / "conformance").mkdir()
        (here / "conformance" / "__init__.py").write_text("")
        (here / "conformance" / "own.py").write_text(OWN_BACKEND.format(body="return [np.zeros(3, np.int8)] * 3"))
        (here / "acme.py").write_text("from conformance.own import Backend\n")
        ended = reproduced(ADAM, "-b", "acme:Backend")
        assert "got int8[3], expected" in ended.out, ended

    def test_repro_of_accepted_invalid_model_prints_outputs(self, reproduced, here):
        (here / "given_eager.py").write_text(OWN_BACKEND.format(body="return []"))
        ended = reproduced("test_invalid_adam_only_r", "-b", "given_eager:Backend")
        assert (ended.status, "got 0 outputs" in ended.out) == (1, True)


class TestOptimizers:
    def test_repro_script_of_optimizer_prints_changes(self, reproduced):
        case = "test_argmax_pass_domains_inside_a_function"
        ended = reproduced(case, "--optimizer", "fake_subject:renames_the_input_of_the_caller")
        assert ended.out.splitlines()[0].startswith("--- ")
        assert '+    name: "renamed"' in ended.out
        assert ended.status == 1

    def test_issue_of_changed_argument_expects_it_unchanged(self, repro, here):
        repro("test_argmax_pass_uses_exp_captured", "-o", "onnxscript")
        title, *lines = (here / "out" / "ISSUE.md").read_text().splitlines()
        assert ": the caller's model is changed" in title
        assert not any("monotone." in line for line in lines)

    def test_repro_script_prints_removed_and_expected_nodes(self, reproduced):
        ended = reproduced("test_argmax_pass_domains_elsewhere", "--optimizer", NEVER, "--implements", PASS)
        assert (ended.status, "got [], expected ['Y']" in ended.out) == (1, True)

    def test_repro_script_prints_outputs_of_optimized_model(self, reproduced):
        ended = reproduced("test_argmax_pass_domains_function_exp", "--optimizer", "onnxoptimizer", alone=True)
        assert "got [2, 2], expected [1, 1]" in ended.out


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            ((ADAM, "-b", RIGHT), "usage.nothing-to-reproduce"),
            ((ADAM, "-b", "gone.backend"), "name.unknown-subject"),
            (("test_adan", "-b", WRONG), "name.case-not-found"),
            ((ADAM,), "usage.subject-count"),
            ((ADAM, "-b", WRONG, "--optimizer", "identity"), "usage.subject-count"),
        ],
    )
    def test_repro_with_bad_input_writes_no_file(self, repro, here, arguments, code):
        assert_bad_input(repro(*arguments), code)
        assert read_tree(here) == {}

    @pytest.mark.parametrize("verb", [("repro", "-b", WRONG, "--output", "out"), ("explain",)])
    def test_results_of_another_corpus_name_it(self, command, part, here, verb):
        command("run", "-b", WRONG, "--case", ADAM, "--data", part, "--results", "r.jsonl")
        text = (here / "r.jsonl").read_text().replace(ADAM, "test_of_a_model")
        header, rest = text.split("\n", 1)
        document = json.loads(header)
        document["corpus"] |= {"digest": "0" * 64, "name": "models"}
        (here / "r.jsonl").write_text(json.dumps(document, separators=(",", ":")) + "\n" + rest)
        ended = command(verb[0], "test_of_a_model", "-r", "r.jsonl", "--data", part, *verb[1:])
        assert_bad_input(ended, "results.other-corpus", "models", "--data")

    @pytest.mark.parametrize("name", ["out", "out/mine.txt"])
    def test_repro_onto_file_or_into_nonempty_folder_is_refused(self, repro, here, name):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text("mine")
        before = read_tree(here)
        assert_bad_input(repro(ADAM, "-b", WRONG), "usage.directory-not-empty", "out")
        assert read_tree(here) == before

    def test_results_name_the_subject(self, command, repro, part, here):
        command("run", "-b", RIGHT, "-b", "onnx-reference", "--case", OF_TYPE, "--data", part, "--results", "r.jsonl")
        ended = repro(OF_TYPE, "-r", "r.jsonl")
        assert (ended.status, "onnx-reference" in ended.out) == (0, True)
        ended = command("repro", EXACT, "-r", "r.jsonl", "--data", part, "--output", "again")
        assert (ended.status, ended.code) == (2, "results.case-missing")


class TestPrintedCommands:
    """A printed command reproduces the verdict that it is printed with."""

    @pytest.mark.variants(2)
    @pytest.mark.parametrize(
        ("arguments", "case"),
        [
            (("-o", NEVER, "--implements", PASS), "test_argmax_pass_domains_elsewhere"),
            (("-b", WRONG, "--profile", "sonnx"), "test_argmax_nan_first_first"),
            (("-b", "onnx-reference", "--timeout", "30", "--memory", "64G", "--repeat", "2"), OF_TYPE),
            (("-b", WRONG, "--no-isolation", "--fail-level", "should"), ADAM),
        ],
    )
    def test_printed_command_reproduces_verdict(self, command, part, here, arguments, case):
        command("run", *arguments, "--case", case, "--data", part, "--results", "first.jsonl", "--html", "page.html")
        told = command("explain", case, "-r", "first.jsonl", "--data", part).out
        again = shlex.split(re.search(r"run it again: onnx-conformance (.*)", told)[1])
        assert [word for word in arguments if word not in again and word != "64G"] == []
        assert shlex.join(again[:-2]) in (here / "page.html").read_text()
        command(*again, "--results", "second.jsonl")
        runs = (results_by_key(here / name).values() for name in ("first.jsonl", "second.jsonl"))
        verdicts = [[result["verdict"] for result in run] for run in runs]
        assert verdicts[0] == verdicts[1] == ["fail"]

    def test_script_in_page_reproduces_verdict_with_implements(self, command, process, part, here):
        case, subject = "test_argmax_pass_domains_elsewhere", NEVER
        command("run", "-o", subject, "--implements", PASS, "--case", case, "--data", part, "--results", "first.jsonl")
        (column,) = columns([read_results(here / "first.jsonl")])
        text = RERUN_SCRIPTS["optimizer"].replace(CASE_PLACEHOLDER, repr(case))
        text = text.replace(SUBJECT_PLACEHOLDER, repr(subject)).replace(OPTIONS_PLACEHOLDER, column.options)
        assert process("python", "-c", text).out.startswith("fail compare structure")

    def test_printed_next_command_shows_failed_case(self, command, part):
        cases = ("--case", EXACT, "--case", ADAM)
        told = command("run", "-b", WRONG, "--data", part, *cases, "--results", "my results.jsonl").out
        following = shlex.split(re.search(r"Next: onnx-conformance (.*)", told)[1])
        assert re.search(r"^ +fail: .*phase: compare\b", command(*following).out, re.MULTILINE)
