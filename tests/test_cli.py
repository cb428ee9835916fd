"""The command line as a whole: its help, and how it ends in a process of its own."""

from __future__ import annotations

import pytest
from refusals import assert_bad_input, assert_usage_error

from conformance import __version__
from conformance.results.file import read

RIGHT, WRONG = "fake_backends:AlwaysRight", "fake_backends:AlwaysWrong"

VERBS = (
    "run",
    "report",
    "list",
    "explain",
    "verify",
    "generate",
    "lower",
    "strength",
    "diff",
    "merge",
    "expect",
    "hazards",
    "harness",
)


class TestHelp:
    @pytest.mark.parametrize("verb", VERBS)
    def test_every_verb_has_it(self, command, verb):
        ended = command(verb, "--help")
        assert ended.status == 0
        assert "Usage: " in ended.out

    def test_the_command_itself_names_every_verb(self, command):
        ended = command("--help")
        assert ended.status == 0
        assert all(verb in ended.out for verb in VERBS)

    @pytest.mark.parametrize("verb", [(), *((verb,) for verb in VERBS), ("expect", "update"), ("harness", "check")])
    def test_a_flag_has_no_type(self, command, verb):
        told = command(*verb, "--help").out
        assert "--help" in told
        assert "bool" not in told.lower()

    def test_a_run_s_options_are_in_panels(self, command):
        told = command("run", "--help").out
        assert [
            name for name in ("Subjects", "Selection", "Gate", "Running", "Output") if f"─ {name} ─" not in told
        ] == []

    def test_the_version_is_told(self, command):
        assert command("--version").out == f"onnx-conformance {__version__}\n"

    def test_an_unknown_verb_is_refused_with_the_nearest(self, command):
        assert_usage_error(command("rum"), "rum", "Did you mean 'run'")

    def test_an_unknown_option_is_refused_with_the_nearest(self, command):
        assert_usage_error(command("run", "--tagg", "x"), "--tagg", "--tag")

    def test_heavy_modules_are_not_imported_for_it(self, process):
        program = (
            "import sys; sys.argv = ['x', '--help']\n"
            "from conformance.cli import main\n"
            "try: main()\n"
            "except SystemExit: print(sorted({'numpy', 'onnx', 'pytest', 'jinja2'} & set(sys.modules)))"
        )
        assert process("python", "-c", program).out.splitlines()[-1] == "[]"


class TestAsAProgram:
    """In a process of its own, with its real exit status and streams."""

    def test_it_is_a_module_too(self, process):
        assert process("python", "-m", "conformance", "--version").out == f"onnx-conformance {__version__}\n"

    def test_a_shell_completes_names(self, process):
        told = {
            "_ONNX_CONFORMANCE_COMPLETE": "complete_bash",
            "COMP_WORDS": "onnx-conformance run -b onnxr",
            "COMP_CWORD": "3",
        }
        assert process("onnx-conformance", **told).out.split() == ["onnxruntime"]

    def test_a_run_that_holds(self, process, small_corpus):
        ended = process("onnx-conformance", "run", "-b", RIGHT, "--data", small_corpus)
        assert (ended.status, ended.err) == (0, "")

    def test_a_run_that_does_not(self, process, small_corpus):
        assert process("onnx-conformance", "run", "-b", WRONG, "--data", small_corpus).status == 1

    def test_bad_input(self, process):
        assert_bad_input(process("onnx-conformance", "run", "-b", "acme"), "There is no backend acme")

    def test_the_noise_of_a_backend(self, process, small_corpus, here):
        ended = process(
            "onnx-conformance",
            "run",
            "-b",
            "fake_backends:PrintsMuch",
            "--data",
            small_corpus,
            "--results",
            "out.jsonl",
        )
        assert ended.status == 0
        assert read(here / "out.jsonl").footer["gate"] == "pass"

    def test_output_cut_short_by_its_reader(self, process, here):
        program = (
            "import subprocess as s, sys, sysconfig\n"
            "command = [sysconfig.get_path('scripts') + '/onnx-conformance', 'list']\n"
            "listing = s.Popen(command, stdout=s.PIPE, stderr=s.PIPE)\n"
            "listing.stdout.readline()\n"
            "listing.stdout.close()\n"
            "print(repr(listing.stderr.read()))"
        )
        assert process("python", "-c", program).out == "b''\n"
