"""Expectations files: what is read, and what is refused with which words."""

from __future__ import annotations

import pytest

from conformance.errors import ExpectationsError
from conformance.expectations.conditions import Situation
from conformance.expectations.file import by_subject, read_expectations
from conformance.verdicts import Verdict

HEAD = 'subject = "acme"\n'
WHOLE = HEAD + '[[expect]]\ncases = ["test_adam_*", "test_x"]\nverdict = "fail"\nreason = " known "\n'


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name: str = "acme.toml"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_an_entry_has_cases_a_verdict_and_a_reason(file):
    (entry,) = read_expectations(file(WHOLE)).entries
    assert (entry.cases, entry.verdict, entry.reason) == (("test_adam_*", "test_x"), Verdict.FAIL, "known")


def test_an_entry_knows_where_it_stands(file):
    path = file(WHOLE)
    assert read_expectations(path).entries[0].place == f"{path}:2"


def test_one_pattern_needs_no_list(file):
    (entry,) = read_expectations(file(WHOLE.replace('["test_adam_*", "test_x"]', '"test_x"'))).entries
    assert entry.cases == ("test_x",)


def test_an_issue_may_be_named(file):
    assert read_expectations(file(WHOLE + 'issue = "https://example.org/1"\n')).entries


def test_a_file_may_expect_nothing(file):
    assert read_expectations(file(HEAD)).of("test_x") is None


@pytest.mark.parametrize(
    ("case", "matches"), [("test_adam_t0", True), ("test_x", True), ("test_xy", False), ("test_adam", False)]
)
def test_a_pattern_matches_whole_ids(file, case, matches):
    assert (read_expectations(file(WHOLE)).of(case) is not None) is matches


def test_the_first_entry_that_matches_counts(file):
    second = '[[expect]]\ncases = ["*"]\nverdict = "error"\nreason = "all others"\n'
    expectations = read_expectations(file(WHOLE + second))
    assert [expectations.of(case).verdict for case in ("test_x", "test_y")] == [Verdict.FAIL, Verdict.ERROR]


ENTRY = HEAD + "[[expect]]\n"

MALFORMED = {
    "not TOML": ("subject = ", "is not TOML"),
    "not text": (b"\xff\xfe\x00", "is not TOML"),
    "deeply nested": ("a = " + "[" * 5000, "is not TOML"),
    "empty": ("", "is not an expectations file"),
    "without a subject": ("[[expect]]\n", "is not an expectations file"),
    "with a subject that is no text": ("subject = 1\n", "is not an expectations file"),
    "with another key": (HEAD + "expects = []\n", "is not an expectations file"),
    "with one table of expectations": (HEAD + "[expect]\n", "is not an expectations file"),
    "with an entry that is no table": (HEAD + "expect = [1]\n", "entry 1 is malformed"),
    "with an empty entry": (ENTRY, ":2 is malformed"),
    "with an entry that has another key": (WHOLE + "level = 1\n", ":2 is malformed"),
    "with an entry without cases": (ENTRY + 'cases = []\nverdict = "fail"\nreason = "x"\n', ":2 has no cases"),
    "with a case that is no text": (ENTRY + 'cases = [1]\nverdict = "fail"\nreason = "x"\n', "entry 1 has no cases"),
    "with an empty pattern": (ENTRY + 'cases = [""]\nverdict = "fail"\nreason = "x"\n', ":2 has no cases"),
    "with an unknown verdict": (WHOLE.replace('"fail"', '"flop"'), ":2 has the verdict 'flop'"),
    "with an expected pass": (WHOLE.replace('"fail"', '"pass"'), ":2 has the verdict 'pass'"),
    "with a list of verdicts": (WHOLE.replace('"fail"', '["fail"]'), ":2 has the verdict ['fail']"),
    "with a number for a verdict": (WHOLE.replace('"fail"', "1"), "entry 1 has the verdict 1"),
    "with a blank reason": (WHOLE.replace('" known "', '"  "'), ":2 has no reason"),
    "with a number for a reason": (WHOLE.replace('" known "', "1"), ":2 has no reason"),
    "with a number for an issue": (WHOLE + "issue = 1\n", ":2 has an issue"),
    "with an unknown condition": (WHOLE + "when = {os = 1}\n", ":2 has a malformed `when`"),
}


@pytest.mark.parametrize(("content", "problem"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_file_is_refused_by_name(file, content, problem):
    path = file(content)
    with pytest.raises(ExpectationsError) as refusal:
        read_expectations(path)
    assert problem in refusal.value.problem
    assert str(path) in refusal.value.problem


SLIPS = {
    "a key": (WHOLE.replace("reason", "raeson"), "it has the key raeson", "Did you mean reason?"),
    "a verdict": (WHOLE.replace('"fail"', '"fial"'), "the verdict 'fial'", "Did you mean fail?"),
    "a condition": (WHOLE + "when = {versoin = '>1'}\n", "a malformed `when`: versoin", "Did you mean version?"),
    "a key that is missing": (ENTRY + 'cases = ["a"]\nverdict = "fail"\n', "it has no reason", "Give it cases, reason"),
    "a verdict like none": (WHOLE.replace('"fail"', '"pass"'), "the verdict 'pass'", "Use one of fail, error, crash"),
}


@pytest.mark.parametrize(("content", "problem", "mend"), SLIPS.values(), ids=SLIPS.keys())
def test_a_slip_is_named_with_what_was_meant(file, content, problem, mend):
    with pytest.raises(ExpectationsError) as refusal:
        read_expectations(file(content))
    assert problem in refusal.value.problem
    assert refusal.value.mend.startswith(mend)


def test_a_subject_that_is_nearly_one_that_is_run_is_taken_for_a_slip(file):
    with pytest.raises(ExpectationsError) as refusal:
        by_subject([file(WHOLE)], ["amce", "other"])
    assert refusal.value.mend == "Did you mean amce?"


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_what_cannot_be_read_is_refused_by_name(tmp_path, name):
    with pytest.raises(ExpectationsError, match="cannot be read"):
        read_expectations(tmp_path / name)


def test_a_file_about_a_subject_that_is_not_run_is_refused(file):
    with pytest.raises(ExpectationsError, match="is about acme, which is not run"):
        by_subject([file(WHOLE)], ["other"])


def test_a_second_file_about_one_subject_is_refused(file):
    with pytest.raises(ExpectationsError, match="is a second file about acme"):
        by_subject([file(WHOLE), file(WHOLE, "more.toml")], ["acme"])


def test_files_are_found_by_subject(file):
    found = by_subject([file(WHOLE), file(WHOLE.replace("acme", "other"), "other.toml")], ["other", "acme"])
    assert {name: expectations.subject for name, expectations in found.items()} == {"acme": "acme", "other": "other"}


def test_every_pattern_knows_its_line(file):
    text = (
        HEAD
        + '\n# about "this"\n[[expect]]\ncases = [\n  "test_a", # "x"\n  "test_b", \'test_c\',\n]\nverdict = "fail"\n'
    )
    path = file(text + 'reason = """\n[[expect]]\ncases = "none"\n"""\n')
    (entry,) = read_expectations(path).entries
    assert entry.place == f"{path}:4"
    assert [entry.place_of(case) for case in ("test_a", "test_b", "test_c")] == [f"{path}:{n}" for n in (6, 7, 7)]


def test_a_file_in_another_form_has_entries_by_number(file):
    path = file('subject = "acme"\nexpect = [{cases = "test_x", verdict = "fail", reason = "known"}]\n')
    (entry,) = read_expectations(path).entries
    assert (entry.place, entry.place_of("test_x")) == (f"{path}, entry 1", f"{path}, entry 1")


@pytest.mark.parametrize(
    "when", ['when = {version = ">=2"}\n', 'when.version = ">=2"\n', '[expect.when]\nversion = ">=2"\n'], ids=str
)
def test_an_entry_applies_only_where_its_condition_holds(file, when):
    expectations = read_expectations(file(WHOLE + when))
    found = [
        expectations.applying(Situation(version, "linux x86_64", "3.12")).of("test_x") is not None
        for version in ("1.9", "2.0")
    ]
    assert found == [False, True]


def test_an_issue_comes_with_the_entry(file):
    (entry,) = read_expectations(file(WHOLE + 'issue = "https://example.org/1"\n')).entries
    assert entry.issue == "https://example.org/1"


def test_an_entry_may_name_the_checks_that_complain(file):
    (entry,) = read_expectations(file(WHOLE + 'checks = ["mutation"]\n')).entries
    assert entry.checks == ("mutation",)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (WHOLE + "checks = []\n", "has no checks"),
        (WHOLE + "checks = 3\n", "has no checks"),
        (WHOLE.replace('"fail"', '"error"') + 'checks = "mutation"\n', "names checks of an error"),
    ],
)
def test_checks_that_cannot_complain_are_refused(file, content, problem):
    with pytest.raises(ExpectationsError) as refused:
        read_expectations(file(content))
    assert problem in refused.value.problem
