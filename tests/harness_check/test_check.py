"""`harness check`: a harness that keeps to the protocol is told so, and each that does not gets the right complaint."""

from __future__ import annotations

import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fake_harnesses
import fake_optimizer_harnesses
import fake_output_harnesses
import pytest

from conformance.harness_check.check import check_harness
from conformance.harness_check.fact import State

pytestmark = pytest.mark.programs

FAKES = {
    name: Path(module.__file__)
    for module in (fake_harnesses, fake_output_harnesses, fake_optimizer_harnesses)
    for name, thing in vars(module).items()
    if isinstance(thing, type) and thing.__module__ == module.__name__
}
"""The program of each harness."""

KEEP_TO_IT = ("WellBehaved", "TakesFiles", "RunsWithTheLoad", "Copies")
HANG = {"SaysNothing", "IgnoresUnknownCommands", "IgnoresStop", "OutlivesItsInput", "ForgetsTheRun"}
QUICK, PATIENT = 10.0, 300.0
"""Seconds within which a harness that hangs is given up, and others, which answer sooner."""

COMPLAINTS = {
    "ExitsAtOnce": ("`start` is answered", "exited with status 3; standard error: libfoo.so: cannot open"),
    "SaysNothing": ("`start` is answered", "no answer came within 10 s"),
    "SpeaksVersion2": ("`start` is answered", "the harness speaks version 2, and this suite version 1"),
    "ForgetsItsVersion": ("every answer is as its schema says", "runtime_version"),
    "LeavesOutItsLanguage": ("`start` is answered", "the answer has no language"),
    "IsOfAnotherKind": ("`start` is answered", "the kind is oracle, and neither"),
    "CannotStart": ("`start` is answered", "the harness says that it cannot start"),
    "DiesOfUnknownCommands": ("an unknown command", "no answer came: it exited with status 1"),
    "IgnoresUnknownCommands": ("an unknown command", "no answer came within 10 s"),
    "RunsWithoutAModel": ("`run` before any `load`", "the answer has no `error`"),
    "CrashesOnBadModels": ("a file that is no model", "no answer came: it died of SIGSEGV"),
    "LoadsAnything": ("a file that is no model", "the answer has no `error`"),
    "CallsUnsupportedAnError": ("an operator that the runtime does not have", "the answer has no `unsupported`"),
    "MistakesTypes": ("outputs are as many", "output Y is said to be int32 of shape [2, 3], and is float of"),
    "SaysFloat32": ("outputs are as many", "output Y is said to be float32 of shape [2, 3], and is float of"),
    "FlattensShapes": (
        "outputs are as many",
        "output Y is said to be float of shape [6], and is float of shape [2, 3]",
    ),
    "RunsTheGraphsOutputsTwice": ("outputs are as many", "2 outputs came of a graph that has 1"),
    "CutsData": ("the data of every output", "output 0 has 23 bytes of data"),
    "LeavesOutPadding": ("the data of every output", "output 0 has data that is not base64"),
    "WritesBigEndian": ("the elements are little-endian", "and should be [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]"),
    "RemembersItsFirstInputs": ("a second run on one load", "output Y is [1.0, 2.0"),
    "KeepsItsFirstModel": ("a second load takes the place", "the answer has no `outputs`"),
    "KeepsTheModelAfterABadOne": ("after a load that fails", "the answer has no `error`"),
    "TakesTooFewInputs": ("an input too few", "the answer has no `error`"),
    "MakesScalarsVectors": (
        "a tensor of rank 0",
        "output Y is float32 of shape [1], and should be float32 of shape []",
    ),
    "ReadsShortLines": ("lines of a megabyte", "no answer came: it died of SIGABRT"),
    "PutsFilesElsewhere": ("inputs in files are read", "output 0 is in another file"),
    "ReadsFilesInPart": ("inputs in files are read", "output 0 has a file of 799996 bytes"),
    "ForgetsTheRun": ("a `run` that comes with a `load` is done at once", "no answer came within 10 s"),
    "RunsAfterALoadThatFailed": ("a `run` that comes with a `load` which fails", "the `run` is answered all the same"),
    "PrintsAsItWorks": ("standard output has one answer", "loading the model ..."),
    "AnswersTwice": ("standard output has one answer", '"seq"'),
    "NumbersItsAnswersItself": ("every answer repeats the number", "has another number"),
    "AddsAField": ("every answer is as its schema says", "milliseconds"),
    "IgnoresStop": ("`stop` ends the harness", "the harness goes on for 10 s"),
    "OutlivesItsInput": ("the end of the input", "the harness goes on for 10 s"),
    "StopsWithStatus1": ("`stop` ends the harness", "it exited with status 1"),
    "SaysGoodbye": ("standard output has one answer", "goodbye"),
    "LeavesAProcess": ("`stop` ends the harness", "processes that the harness started live on"),
    "WritesNoFile": ("a model is rewritten", "there is no file `output`"),
    "WritesNonsense": ("a model is rewritten", "the file `output` is no valid model"),
    "RemovesEveryNode": ("a model is rewritten", "the file `output` is no valid model"),
    "SpoilsItsInput": ("the file of the model that is given", "has changed"),
    "RewritesItsFirstModelAgain": ("one model after another", "has not the inputs and outputs"),
}
"""Of each harness, the first fact that does not hold, and what is said instead."""

SKIPS = {
    "SupportsNothing": ("a model is loaded and run", "the harness supports none of ArgMax, Identity, Adam"),
    "StumblesOverEmptyData": ("a tensor without elements", "if that is the runtime's own, there is nothing to mend"),
    "KnowsOneKindOfRun": ("a single run and a run to a fixed point", "does not know single runs"),
}


def checked(name: str) -> list:
    return list(check_harness([sys.executable, str(FAKES[name]), name], QUICK if name in HANG else PATIENT))


@pytest.mark.parametrize("name", KEEP_TO_IT)
def test_every_fact_holds_of_a_harness_that_keeps_to_the_protocol(name):
    assert [outcome.text for outcome in checked(name) if outcome.state is not State.HOLDS] == []


@pytest.fixture(scope="module")
def hanging():
    """What is said of the harnesses that hang, which are waited for at the same time."""
    with ThreadPoolExecutor(len(HANG)) as pool:
        return dict(zip(HANG, pool.map(checked, HANG), strict=True))


@pytest.mark.parametrize("name", COMPLAINTS)
def test_a_harness_that_misbehaves_gets_the_right_complaint(name, request):
    fact, why = COMPLAINTS[name]
    outcomes = request.getfixturevalue("hanging")[name] if name in HANG else checked(name)
    failed = [outcome for outcome in outcomes if outcome.state is State.FAILS]
    assert failed
    assert failed[0].text.startswith(fact)
    assert why in failed[0].why
    assert failed[0].mend


@pytest.mark.parametrize("name", SKIPS)
def test_what_cannot_be_looked_at_is_skipped_with_the_reason(name):
    fact, why = SKIPS[name]
    outcomes = checked(name)
    skipped = [outcome for outcome in outcomes if outcome.state is State.SKIPPED]
    assert skipped[0].text.startswith(fact)
    assert why in skipped[0].why
    assert not [outcome for outcome in outcomes if outcome.state is State.FAILS]


def test_one_fault_hides_no_other_fact():
    outcomes = checked("CrashesOnBadModels")
    assert [outcome.text[:40] for outcome in outcomes if outcome.state is not State.HOLDS] == [
        "a file that is no model is answered with",
        "a file that does not exist is answered w",
        "after a load that fails, no model is loa",
    ]


def test_every_fake_is_looked_at():
    assert set(FAKES) == {*KEEP_TO_IT, *COMPLAINTS, *SKIPS}


class TestCommand:
    def test_it_prints_a_line_for_each_fact_and_exits_with_0(self, command):
        ended = command("harness", "check", _exec("WellBehaved"))
        assert ended.status == 0, ended.out
        lines = ended.out.splitlines()
        assert lines[-1] == "The harness keeps to the protocol: 22 facts hold, 0 do not."
        assert all(line.startswith("✓ ") for line in lines[:-1])

    def test_a_complaint_has_what_was_sent_and_came_and_is_to_do(self, command):
        ended = command("harness", "check", _exec("CallsUnsupportedAnError"))
        assert ended.status == 1
        lines = ended.out.splitlines()
        place = next(i for i, line in enumerate(lines) if line.startswith("✗"))
        assert lines[place] == "✗ an operator that the runtime does not have is answered with `unsupported`"
        assert [line[:10] for line in lines[place + 1 : place + 5]] == [
            "    but   ",
            "    sent  ",
            "    came  ",
            "    do    ",
        ]
        assert '"cmd":"load"' in lines[place + 2]
        assert "it is no Identity" in lines[place + 3]

    def test_our_own_harness_is_checked_by_a_backends_name(self, command):
        ended = command("harness", "check", "-b", "reference")
        assert ended.status == 0, ended.out

    def test_a_program_that_cannot_be_started_is_a_fact_that_does_not_hold(self, command, tmp_path):
        program = tmp_path / "program"
        program.write_bytes(b"no program")
        program.chmod(0o755)
        ended = command("harness", "check", f"exec:{shlex.quote(str(program))}")
        assert ended.status == 1
        assert "the command cannot be started: Exec format error" in ended.out

    @pytest.mark.parametrize(
        "arguments",
        [(), ("exec:",), ("exec:'a",), ("exec:there-is-no-such-program",), ("exec:python3", "-b", "reference")],
    )
    def test_what_names_no_harness_is_refused(self, command, arguments):
        ended = command("harness", "check", *arguments)
        assert ended.status == 2
        assert ended.err.startswith("error: ")


def _exec(name: str) -> str:
    return f"exec:{shlex.join([sys.executable, str(FAKES[name]), name])}"
