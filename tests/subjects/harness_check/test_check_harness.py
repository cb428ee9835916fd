"""`check-harness`: each misbehaving harness violates the right rule, and a correct harness violates none."""

from __future__ import annotations

import errno
import os
import re
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import fake_harness
import pytest
from repository import SUPPORT

from conformance.subjects.harness_check.backend_rules import decode_output
from conformance.subjects.harness_check.check import check_harness
from conformance.subjects.harness_check.harness_session import RuleState, RuleViolation

pytestmark = pytest.mark.programs

PROGRAM = str(SUPPORT / "fake_harness.py")
CLASSES = {name: thing for name, thing in vars(fake_harness).items() if isinstance(thing, type)}
FAKES = {name for name, thing in CLASSES.items() if issubclass(thing, fake_harness.WellBehaved)} - {
    *fake_harness.ON_ABS
}
"""Names of the harnesses that have one fault of the protocol, and of the correct ones."""

CORRECT = ("WellBehaved", "TakesFiles", "Copies", "CountsItsModelsInFloats")
HANG = {"SaysNothing", "IgnoresUnknownCommands", "IgnoresStop", "OutlivesItsInput"}
SHORT_TIMEOUT, LONG_TIMEOUT = 3.0, 300.0
"""Time limits in seconds for harnesses that hang, and for others."""

VIOLATIONS = {
    "ExitsAtOnce": ("start", "exited with status 3; standard error: libfoo.so: cannot open"),
    "SaysNothing": ("start", "within 3 s"),
    "SpeaksVersion2": ("start", "is 2 instead of 1"),
    "ForgetsItsVersion": ("schema", "runtime_version"),
    "LeavesOutItsLanguage": ("start", "the answer has no language"),
    "IsOfAnotherKind": ("start", "oracle"),
    "CannotStart": ("start", "cannot start"),
    "DiesOfUnknownCommands": ("unknown-command", "exited with status 1"),
    "IgnoresUnknownCommands": ("unknown-command", "within 3 s"),
    "RunsWithoutAModel": ("run-before-load", "the answer has no `error`"),
    "CrashesOnBadModels": ("invalid-model", "SIGSEGV"),
    "LoadsAnything": ("invalid-model", "the answer has no `error`"),
    "CallsUnsupportedAnError": ("unsupported", "the answer has no `unsupported`"),
    "KnowsFloatAlone": ("unsupported-type", "a tensor of type double is answered with an error"),
    "KnowsArgMaxOfFloatAlone": ("unsupported-type", "a tensor of type double is answered with an error"),
    "MistakesTypes": ("types-and-shapes", "int32 of shape [2, 3] instead of float"),
    "SaysFloat32": ("types-and-shapes", "float32 of shape [2, 3] instead of float"),
    "FlattensShapes": ("types-and-shapes", "float of shape [6] instead of float of shape [2, 3]"),
    "RunsTheGraphsOutputsTwice": ("types-and-shapes", "has 2 outputs"),
    "CutsData": ("data-length", "23 bytes"),
    "LeavesOutPadding": ("data-length", "base64"),
    "WritesBigEndian": ("byte-order", "instead of [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]"),
    "RemembersItsFirstInputs": ("second-run", "output Y is [1.0, 2.0"),
    "KeepsItsFirstModel": ("second-load", "the answer has no `outputs`"),
    "KeepsTheModelAfterABadOne": ("failed-load", "the answer has no `error`"),
    "TakesTooFewInputs": ("missing-input", "the answer has no `error`"),
    "MakesScalarsVectors": ("scalar", "float32 of shape [1] instead of float32 of shape []"),
    "ReadsShortLines": ("long-lines", "SIGABRT"),
    "PutsFilesElsewhere": ("tensor-files", "output 0 is in a file that was not requested"),
    "ReadsFilesInPart": ("tensor-files", "799996 bytes"),
    "PrintsAsItWorks": ("stray-output", "loading the model ..."),
    "AnswersTwice": ("stray-output", '"seq"'),
    "NumbersItsAnswersItself": ("sequence-numbers", "wrong number"),
    "AddsAField": ("schema", "milliseconds"),
    "IgnoresStop": ("stop", "3 s"),
    "OutlivesItsInput": ("end-of-input", "3 s"),
    "StopsWithStatus1": ("stop", "status 1"),
    "SaysGoodbye": ("stray-output", "goodbye"),
    "LeavesAProcess": ("stop", "still run"),
    "WritesNoFile": ("optimize", "`output` does not exist"),
    "WritesNonsense": ("optimize", "not a valid model"),
    "RemovesEveryNode": ("optimize", "not a valid model"),
    "SpoilsItsInput": ("input-file-unchanged", "changed"),
    "RewritesItsFirstModelAgain": ("several-models", "other inputs or outputs"),
}
"""For each harness, the first rule that it violates, and a part of the problem."""

SKIPS = {
    "SupportsNothing": ("unsupported-type", "neither Identity nor ArgMax"),
    "StumblesOverEmptyData": ("empty-tensor", "no data"),
    "KnowsOneKindOfRun": ("fixed-point", "does not distinguish"),
}


@cache
def check(name: str) -> list:
    return list(check_harness([sys.executable, PROGRAM, name], SHORT_TIMEOUT if name in HANG else LONG_TIMEOUT))


@pytest.mark.parametrize("name", CORRECT)
def test_check_harness_correct_harness_satisfies_every_rule(name):
    assert [outcome.name for outcome in check(name) if outcome.state is not RuleState.HOLDS] == []


@pytest.fixture(scope="module")
def hanging():
    """Outcomes of the harnesses that hang; they are checked at the same time."""
    with ThreadPoolExecutor(len(HANG)) as pool:
        return dict(zip(HANG, pool.map(check, HANG), strict=True))


LIKE_OTHERS = {"SaysFloat32", "LeavesOutPadding", "AnswersTwice", "AddsAField", "StopsWithStatus1", "WritesNonsense"}
"""Harnesses that violate the rule of another one in another way."""


@pytest.mark.variants(18)
@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.long) if each in LIKE_OTHERS else each for each in VIOLATIONS]
)
def test_check_harness_misbehaving_harness_violates_rule(name, request):
    rule, why = VIOLATIONS[name]
    outcomes = request.getfixturevalue("hanging")[name] if name in HANG else check(name)
    failed = [outcome for outcome in outcomes if outcome.state is RuleState.FAILS]
    assert failed
    assert failed[0].name == rule
    assert why in failed[0].why
    assert failed[0].hint


@pytest.mark.parametrize("name", SKIPS)
def test_check_harness_rule_that_cannot_be_checked_is_skipped(name):
    rule, why = SKIPS[name]
    outcomes = check(name)
    skipped = [outcome for outcome in outcomes if outcome.state is RuleState.SKIPPED]
    assert skipped[0].name == rule
    assert why in skipped[0].why
    assert not [outcome for outcome in outcomes if outcome.state is RuleState.FAILS]


def test_check_harness_violation_does_not_affect_other_rules():
    outcomes = check("CrashesOnBadModels")
    failed = [outcome.name for outcome in outcomes if outcome.state is not RuleState.HOLDS]
    assert failed == ["invalid-model", "missing-file", "failed-load"]


@pytest.mark.parametrize("words", ["yes", "cat /dev/zero", "sh -c 'yes >&2'"])
def test_check_harness_endless_output_ends_with_the_time_limit(words):
    outcomes = list(check_harness(shlex.split(words), 0.2))
    assert outcomes[0].state is RuleState.FAILS
    assert "within 0.2 s" in outcomes[0].why


def test_fake_harnesses_all_have_expected_outcomes():
    assert {*CORRECT, *VIOLATIONS, *SKIPS} == FAKES


class TestCommand:
    def test_command_prints_one_line_per_rule(self, command):
        ended = command("check-harness", _exec("WellBehaved"))
        assert ended.status == 0, ended.out
        lines = ended.out.splitlines()
        assert re.findall(r"\d+", lines[-1])[:2] == ["23", "0"]
        assert all(line.startswith("✓ ") for line in lines[:-1])

    def test_command_prints_messages_and_hint_of_violation(self, command):
        ended = command("check-harness", _exec("CallsUnsupportedAnError"))
        assert ended.status == 1
        lines = ended.out.splitlines()
        place = next(i for i, line in enumerate(lines) if line.startswith("✗"))
        assert "`unsupported`" in lines[place]
        assert [line.split()[0] for line in lines[place + 1 : place + 5]] == ["problem", "sent", "received", "hint"]
        assert '"cmd":"load"' in lines[place + 2]
        assert "Identity" in lines[place + 3]

    def test_command_with_backend_checks_harness_of_suite(self, command):
        ended = command("check-harness", "-b", "reference")
        assert ended.status == 0, ended.out

    def test_command_program_that_cannot_start_violates_rule(self, command, tmp_path):
        program = tmp_path / "program"
        program.write_bytes(b"no program")
        program.chmod(0o755)
        ended = command("check-harness", f"exec:{shlex.quote(str(program))}")
        assert ended.status == 1
        assert os.strerror(errno.ENOEXEC) in ended.out

    @pytest.mark.parametrize(
        "arguments",
        [
            (),
            ("./nosuch",),
            ("exec:",),
            ("exec:'a",),
            ("exec:there-is-no-such-program",),
            ("exec:python3", "-b", "reference"),
        ],
    )
    def test_command_without_one_harness_is_refused(self, command, arguments):
        ended = command("check-harness", *arguments)
        assert ended.status == 2
        assert ended.err.startswith("error: ")


def _exec(name: str) -> str:
    return f"exec:{shlex.join([sys.executable, PROGRAM, name])}"


def test_decode_output_with_file_that_was_not_requested_leaves_the_file(tmp_path):
    path = tmp_path / "foreign"
    path.write_bytes(bytes(4))
    with pytest.raises(RuleViolation, match="not requested"):
        decode_output(0, {"dtype": "float", "shape": [1], "file": str(path)})
    assert path.read_bytes() == bytes(4)
