"""`run` and `list` select the same cases by expression, id, tag, clause, level and operator."""

from __future__ import annotations

import re

import pytest
from command_outputs import results_by_key
from corpora import ADAM, EXACT, INDEX, REPEATED, SEVERAL, SHOULD, SILENT, SMALL, write_part
from refusals import assert_bad_input

from conformance.run.results.records import Selection
from conformance.run.results.results_file import read_results

RIGHT = "fake_subject:always_right"

SELECTIONS = [
    (("-k", "adam"), {ADAM, SHOULD}),
    (("-k", "ADAM and not zeros"), {ADAM}),
    (("-k", "fake_subject or right"), set()),
    (("--case", ADAM, "--case", EXACT), {ADAM, EXACT}),
    (("--tag", "argmax"), {EXACT, INDEX}),
    (("--clause", "adam.v_new"), {ADAM}),
    (("--select-level", "should", "--select-level", "silent"), {SHOULD, SILENT}),
    (("--operator", "Momentum", "--operator", "Adagrad"), {SILENT, SEVERAL, REPEATED}),
    (("--operator", "Adam", "--select-level", "must"), {ADAM}),
]
"""Options, and the cases of the small corpus that they select."""


def test_line_on_many_selected_cases_is_short(run):
    ended = run("-b", RIGHT, *(word for case in SMALL[:-1] for word in ("--case", case)))
    (line,) = (line for line in ended.out.splitlines() if line.startswith("corpus ") and SMALL[0] in line)
    assert len(" ".join(SMALL)) > 160 > len(line)


@pytest.mark.parametrize(("options", "selected"), SELECTIONS)
class TestRunAndList:
    def test_list_shows_them(self, command, small_corpus, options, selected):
        told = command("list", "--data", small_corpus, *options).out
        assert {line.split()[0] for line in told.splitlines()} == selected

    def test_run_runs_them(self, run, here, options, selected):
        ended = run("-b", RIGHT, *options, "--results", "out.jsonl")
        ran = {case for _, case in results_by_key(here / "out.jsonl")} if selected else set()
        assert (ran, ended.status == 2) == (selected, not selected)


def test_list_by_operator_selects_subgraphs_and_functions(command, tmp_path):
    nested = {
        "test_adam_placed_009_loop_0d_float_r_double",
        "test_adam_placed_025_function_in_function_one_twice_double",
    }
    corpus = write_part(tmp_path / "part", lambda _, name: name in {*nested, INDEX})
    told = command("list", "--data", corpus, "--operator", "Adam").out
    assert {line.split()[0] for line in told.splitlines()} == nested


class TestRun:
    def test_selection_is_in_results_and_terminal(self, run, here):
        ended = run("-b", RIGHT, "--tag", "adam", "--select-level", "must", "--results", "out.jsonl")
        assert read_results(here / "out.jsonl").header.selections == [Selection(tag=("adam",), select_level=("must",))]
        assert re.search(rf"\b1 of {len(SMALL)} cases .*--tag adam --select-level must", ended.out)

    @pytest.mark.long
    def test_selection_with_two_workers_is_the_same(self, run_apart, here):
        run_apart("-b", RIGHT, "-k", "adam", "--operator", "Adam", "-n", "2", "--results", "out.jsonl")
        assert {case for _, case in results_by_key(here / "out.jsonl")} == {ADAM, SHOULD}

    @pytest.mark.parametrize(
        ("option", "subject", "other"), [("-b", RIGHT, "graph optimizer"), ("-o", "identity", "backend")]
    )
    def test_run_names_cases_without_applicable_subject(self, command, tmp_path, option, subject, other):
        corpus = write_part(
            tmp_path / "part", lambda _, name: name in {ADAM, "test_argmax_pass_types_and_shapes_sequence_input"}
        )
        told = command("run", option, subject, "--data", corpus).out
        assert re.search(rf"\b1 of 2 cases .*\b1 .*{other}", told)

    @pytest.mark.long
    def test_plain_pytest_s_k_is_about_cases_too(self, process, small_corpus):
        told = ("--onnx-backend", RIGHT, "--onnx-data", str(small_corpus), "-p", "no:cacheprovider", "-q")
        assert "2 passed" in process("pytest", *told, "-k", "adam").out
        assert "7 deselected" in process("pytest", *told, "-k", "always_right").out


@pytest.mark.parametrize(
    ("option", "name", "meant"),
    [
        ("--tag", "argmaxx", "argmax"),
        ("--clause", "adam.v_mew", "adam.v_new"),
        ("--operator", "Adan", "Adam"),
        ("--operator", "Selu", "generate --onnx --operator Selu"),
    ],
)
@pytest.mark.parametrize("verb", [("list",), ("run", "-b", RIGHT)])
def test_unknown_name_is_refused_with_nearest_name(command, small_corpus, verb, option, name, meant):
    ended = command(*verb, "--data", small_corpus, option, name)
    assert_bad_input(ended, "name.not-in-corpus", option[2:], name, meant)
