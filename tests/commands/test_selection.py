"""Which cases `run` and `list` are about: by expression, id, tag, clause, level and operator, alike in both."""

from __future__ import annotations

import pytest
from corpora import ADAM, EXACT, INDEX, REPEATED, SEVERAL, SHOULD, SILENT, SMALL, write_part
from outputs import results_of
from refusals import assert_bad_input

from conformance.results.file import read

RIGHT = "fake_backends:AlwaysRight"

SELECTIONS = [
    (("-k", "adam"), {ADAM, SHOULD}),
    (("-k", "ADAM and not zeros"), {ADAM}),
    (("-k", "fake_backends or right"), set()),
    (("--case", ADAM, "--case", EXACT), {ADAM, EXACT}),
    (("--tag", "argmax"), {EXACT, INDEX}),
    (("--clause", "adam.v_new"), {ADAM}),
    (("--case-level", "should", "--case-level", "silent"), {SHOULD, SILENT}),
    (("--operator", "Momentum", "--operator", "Adagrad"), {SILENT, SEVERAL, REPEATED}),
    (("--operator", "Adam", "--case-level", "must"), {ADAM}),
]
"""Options, and the cases of the small corpus that they select."""


@pytest.mark.parametrize(("options", "selected"), SELECTIONS)
class TestAlike:
    def test_list_shows_them(self, command, small_corpus, options, selected):
        told = command("list", "--data", small_corpus, *options).out
        assert {line.split()[0] for line in told.splitlines()} == selected

    def test_run_runs_them(self, run, here, options, selected):
        ended = run("-b", RIGHT, *options, "--results", "out.jsonl")
        ran = {case for _, case in results_of(here / "out.jsonl")} if selected else set()
        assert (ran, ended.status == 2) == (selected, not selected)


class TestRun:
    def test_the_results_and_the_terminal_say_what_selected(self, run, here):
        ended = run("-b", RIGHT, "--tag", "adam", "--case-level", "must", "--results", "out.jsonl")
        assert read(here / "out.jsonl").header["selection"] == {
            "--tag": "adam",
            "--case-level": "must",
            "--level": "must",
        }
        assert f"1 of {len(SMALL)} cases (selected by --tag adam --case-level must)" in ended.out

    def test_several_processes_select_the_same(self, run_apart, here):
        run_apart("-b", RIGHT, "-k", "adam", "--operator", "Adam", "-n", "2", "--results", "out.jsonl")
        assert {case for _, case in results_of(here / "out.jsonl")} == {ADAM, SHOULD}

    @pytest.mark.parametrize(
        ("option", "subject", "other"), [("-b", RIGHT, "graph optimizer"), ("-o", "identity", "backend")]
    )
    def test_it_says_which_cases_nobody_is_asked(self, command, tmp_path, option, subject, other):
        corpus = write_part(
            tmp_path / "part", lambda _, name: name in {ADAM, "test_argmax_pass_types_and_shapes_sequence_input"}
        )
        told = command("run", option, subject, "--data", corpus).out
        assert f"1 of 2 cases (the other 1 asks something of a {other}, and none is named)" in told

    def test_plain_pytest_s_k_is_about_cases_too(self, process, small_corpus):
        told = ("--onnx-backend", RIGHT, "--onnx-data", str(small_corpus), "-p", "no:cacheprovider", "-q")
        assert "2 passed" in process("pytest", *told, "-k", "adam").out
        assert "7 deselected" in process("pytest", *told, "-k", "AlwaysRight").out


@pytest.mark.parametrize(
    ("option", "name", "meant"),
    [("--tag", "argmaxx", "argmax"), ("--clause", "adam.v_mew", "adam.v_new"), ("--operator", "Adan", "Adam")],
)
@pytest.mark.parametrize("verb", [("list",), ("run", "-b", RIGHT)])
def test_a_name_that_there_is_not_is_refused_with_the_nearest(command, small_corpus, verb, option, name, meant):
    ended = command(*verb, "--data", small_corpus, option, name)
    assert_bad_input(ended, f"No case has the {option[2:]} {name}.", f"Did you mean {meant}?")
