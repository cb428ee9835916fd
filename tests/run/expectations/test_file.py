"""Reading of expectations files."""

from __future__ import annotations

import pytest
from refusals import assert_raises

from conformance.base.errors import ExpectationsError
from conformance.base.serialization.decoding import decode_toml
from conformance.base.verdicts import Verdict
from conformance.run.expectations.conditions import ConditionContext
from conformance.run.expectations.expectations_file import (
    parse_expectations,
    read_expectations,
    read_expectations_by_subject,
)

HEAD = 'subject = "acme"\n'
WHOLE = HEAD + '[[expect]]\ncases = ["test_adam_*", "test_x"]\nverdict = "fail"\nreason = " known "\n'


@pytest.fixture
def file(tmp_path):
    def write(content: str | bytes, name: str = "acme.toml"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_entry_has_cases_verdict_and_reason(file):
    (entry,) = read_expectations(file(WHOLE)).entries
    assert (entry.cases, entry.verdict, entry.reason) == (("test_adam_*", "test_x"), Verdict.FAIL, "known")


def test_entry_has_its_line(file):
    path = file(WHOLE)
    assert read_expectations(path).entries[0].location == f"{path}:2"


def test_single_pattern_needs_no_list(file):
    (entry,) = read_expectations(file(WHOLE.replace('["test_adam_*", "test_x"]', '"test_x"'))).entries
    assert entry.cases == ("test_x",)


def test_entry_may_name_an_issue(file):
    assert read_expectations(file(WHOLE + 'issue = "https://example.org/1"\n')).entries


def test_file_without_entries_is_valid(file):
    assert read_expectations(file(HEAD)).entry_for("test_x") is None


@pytest.mark.parametrize(
    ("case", "matches"), [("test_adam_t0", True), ("test_x", True), ("test_xy", False), ("test_adam", False)]
)
def test_pattern_matches_complete_ids(file, case, matches):
    assert (read_expectations(file(WHOLE)).entry_for(case) is not None) is matches


def test_first_matching_entry_applies(file):
    second = '[[expect]]\ncases = ["*"]\nverdict = "error"\nreason = "all others"\n'
    expectations = read_expectations(file(WHOLE + second))
    assert [expectations.entry_for(case).verdict for case in ("test_x", "test_y")] == [Verdict.FAIL, Verdict.ERROR]


ENTRY = HEAD + "[[expect]]\n"

MALFORMED = {
    "not TOML": ("subject = ", "malformed", ()),
    "not text": (b"\xff\xfe\x00", "malformed", ()),
    "deeply nested": ("a = " + "[" * 5000, "malformed", ()),
    "empty": ("", "malformed", ()),
    "without a subject": ("[[expect]]\n", "malformed", ()),
    "with a subject that is a number": ("subject = 1\n", "malformed", ()),
    "with another key": (HEAD + "expects = []\n", "malformed", ()),
    "with one table of expectations": (HEAD + "[expect]\n", "malformed", ()),
    "with an entry that is a number": (HEAD + "expect = [1]\n", "malformed-entry", ("entry 1", "cases")),
    "with an empty entry": (ENTRY, "malformed-entry", (":2", "cases")),
    "with an entry with an unknown kind": (WHOLE + "wrong = 'nans'\n", "malformed-entry", (":2", "nans", "nan?")),
    "with an entry that is intermittent to a degree": (WHOLE + "intermittent = 1\n", "malformed-entry", (":2", "1")),
    "with an entry that has another key": (WHOLE + "level = 1\n", "malformed-entry", (":2", "level")),
    "without cases": (ENTRY + 'cases = []\nverdict = "fail"\nreason = "x"\n', "malformed-entry", (":2", "cases")),
    "with a number as case": (
        ENTRY + 'cases = [1]\nverdict = "fail"\nreason = "x"\n',
        "malformed-entry",
        (":2", "[1]"),
    ),
    "with an empty pattern": (
        ENTRY + 'cases = [""]\nverdict = "fail"\nreason = "x"\n',
        "malformed-entry",
        (":2", "['']"),
    ),
    "with an unknown verdict": (WHOLE.replace('"fail"', '"flop"'), "malformed-entry", (":2", "'flop'")),
    "with an expected pass": (WHOLE.replace('"fail"', '"pass"'), "malformed-entry", (":2", "'pass'")),
    "with a list of verdicts": (WHOLE.replace('"fail"', '["fail"]'), "malformed-entry", (":2", "['fail']")),
    "with a number as verdict": (WHOLE.replace('"fail"', "1"), "malformed-entry", (":2", "1")),
    "with a blank reason": (WHOLE.replace('" known "', '"  "'), "malformed-entry", (":2", "reason")),
    "with a number as reason": (WHOLE.replace('" known "', "1"), "malformed-entry", (":2", "reason")),
    "with a number as issue": (WHOLE + "issue = 1\n", "malformed-entry", (":2", "issue = 1")),
    "with an unknown condition": (WHOLE + "when = {os = 1}\n", "malformed-condition", (":2", "when", "os")),
    "with an empty list of checks": (WHOLE + "checks = []\n", "malformed-entry", (":2", "checks")),
    "with a number as checks": (WHOLE + "checks = 3\n", "malformed-entry", (":2", "checks", "3")),
    "with checks of an error": (
        WHOLE.replace('"fail"', '"error"') + 'checks = "mutation"\n',
        "malformed-entry",
        (":2", "checks", "error"),
    ),
}


@pytest.mark.parametrize(("content", "code", "data"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_file_is_rejected(file, content, code, data):
    path = file(content)
    with assert_raises(f"expectations.{code}", path, *data):
        read_expectations(path)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (HEAD + f"# {' ' * 2**20}", "cannot-read"),
        (HEAD + WHOLE.removeprefix(HEAD) * 4097, "too-large"),
        (WHOLE.replace('"test_x"', '"test_x*", ' * 2048), "too-large"),
    ],
    ids=["bytes", "entries", "patterns with wildcards"],
)
def test_file_that_would_take_long_is_rejected(file, content, code):
    with assert_raises(f"expectations.{code}"):
        read_expectations(file(content))


def test_many_names_of_cases_are_read_and_found(file):
    path = file(WHOLE.replace('"test_x"', ", ".join(f'"test_{n}"' for n in range(10**4))))
    (entry,) = read_expectations(path).entries
    assert [entry.matching(case) for case in ("test_9999", "test_adam_t0", "test_x")] == [[10**4], [0], []]
    assert entry.cases_of_each(["test_0", "test_adam_t0"])[:3] == [{"test_adam_t0"}, {"test_0"}, set()]


def test_file_that_is_no_text_or_json_is_no_expectations_file(file):
    with assert_raises("expectations.malformed", file(b"\x08\x84")):
        read_expectations(file(b"\x08\x84"))
    with assert_raises("expectations.is-results", file('{"format": 1}'), "update-expectations"):
        read_expectations(file('{"format": 1}'))


def test_byte_order_mark_is_ignored(file):
    assert read_expectations(file(b"\xef\xbb\xbf" + WHOLE.encode())).subject == "acme"


MISSPELT = {
    "a key": (WHOLE.replace("reason", "raeson"), "raeson", "Did you mean reason?"),
    "a verdict": (WHOLE.replace('"fail"', '"fial"'), "'fial'", "Did you mean fail?"),
    "a condition": (WHOLE + "when = {versoin = '>1'}\n", "versoin", "Did you mean version?"),
}


@pytest.mark.parametrize(("content", "word", "hint"), MISSPELT.values(), ids=MISSPELT.keys())
def test_misspelt_word_is_rejected_with_the_nearest(file, content, word, hint):
    with pytest.raises(ExpectationsError) as caught:
        read_expectations(file(content))
    assert word in caught.value.problem
    assert caught.value.hint == hint


def test_unknown_verdict_is_rejected_with_the_verdicts(file):
    verdicts = [verdict for verdict in Verdict if verdict is not Verdict.PASS]
    with assert_raises("expectations.malformed-entry", "'pass'", *verdicts):
        read_expectations(file(WHOLE.replace('"fail"', '"pass"')))


def test_misspelt_subject_is_rejected_with_the_nearest(file):
    with pytest.raises(ExpectationsError) as refusal:
        read_expectations_by_subject([file(WHOLE)], ["amce", "other"])
    assert refusal.value.hint == "Did you mean amce?"


@pytest.mark.parametrize("name", ["missing.toml", "."])
def test_unreadable_file_is_rejected(tmp_path, name):
    with pytest.raises(ExpectationsError) as refusal:
        read_expectations(tmp_path / name)
    assert refusal.value.code == "expectations.cannot-read"
    assert str(tmp_path / name) in refusal.value.problem
    assert "update-expectations" in refusal.value.hint


def test_file_about_another_subject_is_rejected(file):
    with assert_raises("expectations.subject-not-run", "acme", "other"):
        read_expectations_by_subject([file(WHOLE)], ["other"])


def test_second_file_about_one_subject_is_rejected(file):
    with assert_raises("expectations.subject-twice", "acme", "more.toml"):
        read_expectations_by_subject([file(WHOLE), file(WHOLE, "more.toml")], ["acme"])


def test_files_are_returned_by_subject(file):
    found = read_expectations_by_subject(
        [file(WHOLE), file(WHOLE.replace("acme", "other"), "other.toml")], ["other", "acme"]
    )
    assert {name: expectations.subject for name, expectations in found.items()} == {"acme": "acme", "other": "other"}


def test_pattern_has_its_line(file):
    text = (
        HEAD
        + '\n# about "this"\n[[expect]]\ncases = [\n  "test_a", # "x"\n  "test_b", \'test_c\',\n]\nverdict = "fail"\n'
    )
    path = file(text + 'reason = """\n[[expect]]\ncases = "none"\n"""\n')
    (entry,) = read_expectations(path).entries
    assert entry.location == f"{path}:4"
    assert [entry.location_of(case) for case in ("test_a", "test_b", "test_c")] == [f"{path}:{n}" for n in (6, 7, 7)]


def test_inline_entries_are_located_by_number(file):
    path = file('subject = "acme"\nexpect = [{cases = "test_x", verdict = "fail", reason = "known"}]\n')
    (entry,) = read_expectations(path).entries
    assert (entry.location, entry.location_of("test_x")) == (f"{path}, entry 1", f"{path}, entry 1")


@pytest.mark.parametrize(
    "when", ['when = {version = ">=2"}\n', 'when.version = ">=2"\n', '[expect.when]\nversion = ">=2"\n'], ids=str
)
def test_entry_applies_if_its_condition_holds(file, when):
    expectations = read_expectations(file(WHOLE + when))
    found = [
        expectations.applying(ConditionContext(version, "linux x86_64", "3.12")).entry_for("test_x") is not None
        for version in ("1.9", "2.0")
    ]
    assert found == [False, True]


def test_entry_has_its_issue(file):
    (entry,) = read_expectations(file(WHOLE + 'issue = "https://example.org/1"\n')).entries
    assert entry.issue == "https://example.org/1"


def test_entry_may_name_violated_checks(file):
    (entry,) = read_expectations(file(WHOLE + 'checks = ["mutation"]\n')).entries
    assert entry.checks == ("mutation",)


@pytest.mark.parametrize(
    "text",
    [
        "KEY = 1",
        "[KEY]\nx = 1",
        "x = {KEY = 1}",
        'subject = "x"\n[[expect]]\ncases = "*"\nverdict = "fail"\nreason = "r"\nKEY = 1',
    ],
)
def test_key_of_many_parts_is_refused_without_parsing_it(text):
    with assert_raises("expectations.malformed", "parts"):
        parse_expectations(text.replace("KEY", "a" + ".a" * 20_000), "e.toml")


@pytest.mark.parametrize("key", ['"a.b"', "a." * 60 + "a", "'" + "a." * 200 + "'"])
def test_key_of_few_parts_is_read(key):
    assert decode_toml(f"{key} = 1")
