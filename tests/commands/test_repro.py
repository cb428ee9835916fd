"""`repro`: a folder that shows a failing case without this suite; and printed commands give the printed verdict."""

from __future__ import annotations

import re
import shlex
import sys

import pytest
from corpora import ADAM, EXACT
from outputs import results_of, tree
from refusals import assert_bad_input
from repository import DATA

from conformance.report.html.columns import columns
from conformance.report.html.script import CASE, OF_KIND, OPTIONS, SUBJECT
from conformance.results.file import read

PASS = "eliminate_nop_monotone_argmax"
NEVER = "fake_optimizers:never_fires"
RIGHT, WRONG = "fake_backends:AlwaysRight", "fake_backends:AlwaysWrong"
OF_TYPE = "test_adam_huge_float"
"""A case in which onnx's own evaluator answers in another type."""
EMPTY = "test_argmax_empty_0_2_3_removed"
"""A case in which onnxruntime answers in another shape."""


@pytest.fixture
def reproduced(command, process, here):
    """Writes a reproduction, and runs its script with a suite that cannot be imported where it must do without it."""

    def run(*arguments, alone: bool = False):
        ended = command("repro", *arguments, "-o", "out")
        assert ended.status == 0, ended.err
        if alone:
            (here / "blocked").mkdir()
            (here / "blocked" / "conformance.py").write_text("raise ModuleNotFoundError(name='conformance')\n")
        return process("python", "out/reproduce.py", PYTHONPATH=str(here / "blocked"))

    return run


class TestOfBackends:
    def test_its_script_prints_got_and_expected(self, reproduced, small_corpus, here):
        ended = reproduced(ADAM, "-b", WRONG, "--data", small_corpus)
        assert re.search(r"X_new\[0\]: got 2\.02\d+, expected 1\.025\d+ within 4\.29e-07", ended.out), ended
        assert ended.status == 1

    def test_its_issue_has_the_clause_the_passage_s_locator_and_versions(self, reproduced, small_corpus, here):
        reproduced(ADAM, "-b", WRONG, "--data", small_corpus)
        text = (here / "out" / "ISSUE.md").read_text()
        assert "`adam.x_new`" in text
        assert re.search(
            r"onnx\.defs ai\.onnx\.preview\.training Adam-1, summary, characters \d+ to \d+ \(sha256", text
        )
        assert f"- {WRONG} 0.0.7" in text
        assert "- numpy: " in text

    def test_a_runtime_of_an_interface_in_a_line_is_called_by_that_line(self, reproduced, here):
        ended = reproduced(OF_TYPE, "-b", "onnx-reference", alone=True)
        assert "X_new: got float64[4], expected float32[4]" in ended.out, ended
        assert ended.status == 1
        assert "prepared = ReferenceEvaluator(model)" in (here / "out" / "subject.py").read_text()

    def test_an_adapter_of_the_suite_is_called_without_the_suite(self, reproduced):
        ended = reproduced(EMPTY, "-b", "onnxruntime[optimization=disabled]", alone=True)
        assert "index: got int64[0, 2, 3], expected int64[0, 2]" in ended.out, ended
        assert ended.status == 1

    def test_the_issue_of_a_fault_that_is_written_up_says_what_is_known_of_it(self, reproduced, here):
        reproduced(EMPTY, "-b", "onnxruntime")
        title, *text = (here / "out" / "ISSUE.md").read_text().splitlines()
        assert re.fullmatch(
            r"# onnxruntime \S+: ArgMax of an empty tensor along a negative axis has the shape .*", title
        )
        assert "- Input: X of float[0, 2, 3], axis = -1, keepdims = 0." in text
        assert "   index = ArgMax <axis: int = -1, keepdims: int = 0> (X)" in text

    def test_a_harness_is_called_without_the_suite(self, reproduced):
        host = DATA.parent / "conformance" / "backends" / "host.py"
        ended = reproduced(OF_TYPE, "-b", f"exec:{sys.executable} {host} onnx-reference", alone=True)
        assert "X_new: got float64[4], expected float32[4]" in ended.out, ended

    def test_an_invalid_model_that_is_accepted_is_shown(self, reproduced, here):
        (here / "given_eager.py").write_text(
            "class Backend:\n    @staticmethod\n    def prepare(model, device):\n        return Backend()\n"
            "    def run(self, inputs):\n        return []\n"
        )
        ended = reproduced("test_invalid_adam_only_r", "-b", "given_eager:Backend")
        assert "expected an error: the model is invalid" in ended.out


class TestOfGraphOptimizers:
    def test_its_script_prints_what_changed(self, reproduced):
        case = "test_argmax_pass_domains_inside_a_function"
        ended = reproduced(case, "--optimizer", "fake_optimizers:renames_the_input_of_the_caller")
        assert "--- the caller's model before" in ended.out
        assert '+    name: "renamed"' in ended.out
        assert ended.status == 1

    def test_its_script_prints_which_nodes_are_gone_and_which_must_be(self, reproduced):
        ended = reproduced("test_argmax_pass_domains_elsewhere", "--optimizer", NEVER, "--claims", PASS)
        assert "nodes that are gone, by what they give: got [], expected ['Y']" in ended.out
        assert ended.status == 1

    def test_its_script_prints_what_the_rewritten_model_computes(self, reproduced):
        ended = reproduced("test_argmax_pass_domains_function_exp", "--optimizer", "onnxoptimizer", alone=True)
        assert "index: got [2, 2], expected [1, 1]" in ended.out


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            ((ADAM, "-b", RIGHT), f"{ADAM} on {RIGHT} is pass: there is nothing to reproduce"),
            ((ADAM, "-b", "gone.backend"), "There is no backend gone.backend"),
            (("test_adan", "-b", WRONG), "There is no case test_adan"),
            ((ADAM,), "One subject is to be named"),
            ((ADAM, "-b", WRONG, "--optimizer", "identity"), "One subject is to be named"),
        ],
    )
    def test_nothing_is_written(self, command, small_corpus, here, arguments, told):
        assert_bad_input(command("repro", *arguments, "--data", small_corpus, "-o", "out"), told)
        assert tree(here) == {}

    def test_a_folder_that_is_not_empty_is_left_as_it_is(self, command, small_corpus, here):
        (here / "out").mkdir()
        (here / "out" / "mine.txt").write_text("mine")
        before = tree(here)
        assert_bad_input(command("repro", ADAM, "-b", WRONG, "--data", small_corpus, "-o", "out"), "out is not empty")
        assert tree(here) == before

    def test_a_file_is_left_as_it_is(self, command, small_corpus, here):
        (here / "out").write_text("mine")
        assert_bad_input(
            command("repro", ADAM, "-b", WRONG, "--data", small_corpus, "-o", "out"), "out is no directory"
        )
        assert (here / "out").read_text() == "mine"

    def test_an_empty_folder_is_filled(self, command, small_corpus, here):
        (here / "out").mkdir()
        assert command("repro", ADAM, "-b", WRONG, "--data", small_corpus, "-o", "out").status == 0
        assert (here / "out" / "model.onnx").is_file()


class TestPrintedCommands:
    """The command that a verdict is told with gives that verdict again."""

    @pytest.mark.parametrize(
        ("arguments", "case"),
        [
            (("-o", NEVER, "--claims", PASS), "test_argmax_pass_domains_elsewhere"),
            (("-b", WRONG, "--profile", "sonnx"), "test_argmax_nan_first_first"),
            (("-b", "onnx-reference", "--timeout", "30", "--memory", "64G", "--repeat", "2"), OF_TYPE),
            (("-b", WRONG, "--in-process", "--level", "should"), ADAM),
        ],
    )
    def test_it_gives_the_verdict_again(self, command, here, arguments, case):
        command("run", *arguments, "--case", case, "--results", "first.jsonl", "--html", "page.html")
        told = command("explain", case, "-r", "first.jsonl").out
        again = shlex.split(re.search(r"run it again: onnx-conformance (.*)", told)[1])
        assert [word for word in arguments if word not in again and word != "64G"] == []
        assert shlex.join(again[:-2]) in (here / "page.html").read_text()
        command(*again, "--results", "second.jsonl")
        runs = (results_of(here / name).values() for name in ("first.jsonl", "second.jsonl"))
        verdicts = [[result["verdict"] for result in run] for run in runs]
        assert verdicts[0] == verdicts[1] == ["fail"]

    def test_the_page_s_script_gives_the_verdict_with_the_claim(self, command, process, here):
        case, subject = "test_argmax_pass_domains_elsewhere", NEVER
        command("run", "-o", subject, "--claims", PASS, "--case", case, "--results", "first.jsonl")
        (column,) = columns([read(here / "first.jsonl")])
        text = OF_KIND["optimizer"].replace(CASE, repr(case)).replace(SUBJECT, repr(subject))
        assert process("python", "-c", text.replace(OPTIONS, column.options)).out.startswith("fail compare structure")

    def test_what_to_do_next_shows_the_case_that_failed(self, command):
        told = command("run", "-b", WRONG, "--case", EXACT, "--case", ADAM, "--results", "my results.jsonl").out
        following = shlex.split(re.search(r"Next: onnx-conformance (.*)", told)[1])
        assert "fail: ran, and an output is wrong" in command(*following).out
