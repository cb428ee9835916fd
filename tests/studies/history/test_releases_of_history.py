"""Releases of a history: their environments, new judgements, and the timeline."""

from __future__ import annotations

import re
import subprocess

import pytest
from corpora import ADAM, EXACT, INDEX
from fake_subject import always_right
from history_stores import OneStepOff, add_release, change_tensor
from packaging.version import Version
from refusals import assert_raises

from conformance.studies.history import release_ranges
from conformance.studies.history.rejudge import judge_again
from conformance.studies.history.release_ranges import ReleaseRange, find_releases, is_disk_error

# Judging of stored results with other corpora: bounds, expected outputs and inputs that changed.


BOUND = "test_data_set_0/bound_0.pb"


def verdicts(judged):
    return {case: result.verdict for case, result in judged.results.items()}


def test_stored_outputs_fail_with_smaller_bound_and_pass_again_with_old_bound(store, corpus, tmp_path):
    stored = add_release(store, corpus, "1.0", OneStepOff)
    assert verdicts(judge_again(store, stored, corpus)) == dict.fromkeys([ADAM, EXACT, INDEX], "pass")
    narrow = change_tensor(corpus, ADAM, BOUND, 0.0, tmp_path / "narrow")
    judged = judge_again(store, stored, narrow)
    assert verdicts(judged) == {ADAM: "fail", EXACT: "pass", INDEX: "pass"}
    assert (judged.judged, judged.missing) == (1, [])
    assert judged.results[ADAM].outputs[0].wrong > 0
    assert judged.results[ADAM].unexpected


def test_expected_flag_stands_only_for_expected_outputs_of_its_corpus(store, corpus, tmp_path):
    stored = add_release(store, corpus, "1.0", always_right)
    off = add_release(store, corpus, "1.1", OneStepOff)
    other = change_tensor(corpus, EXACT, "test_data_set_0/output_0.pb", 2, tmp_path / "other")
    assert judge_again(store, stored, other).missing == [EXACT]
    wide = change_tensor(corpus, ADAM, "test_data_set_0/output_0.pb", 2.0, tmp_path / "wide")
    judged = judge_again(store, off, wide)
    assert verdicts(judged)[ADAM] == "fail"
    assert judged.missing == []


def test_case_with_other_inputs_must_run(store, corpus, tmp_path):
    stored = add_release(store, corpus, "1.0", OneStepOff)
    other = change_tensor(corpus, ADAM, "test_data_set_0/input_2.pb", 2.0, tmp_path / "other")
    judged = judge_again(store, stored, other)
    assert judged.missing == [ADAM]
    assert verdicts(judged) == {EXACT: "pass", INDEX: "pass"}


# Finding of releases with a fake uv, and ranges of releases.


AVAILABLE = ["1.0", "1.1.0", "1.1.1", "1.2.0rc1", "1.2.0", "1.10.0"]


@pytest.fixture
def uv(monkeypatch):
    """Replace uv by a function that has some releases of the package `acme`, or that fails with an error."""
    errors = []

    def run(command, text=""):
        assert command[0] == "uv"
        if errors:
            return subprocess.CompletedProcess(command, 1, b"", errors[0])
        name, bounds = re.fullmatch(r"(\w+)(.*)", text).groups()
        if name != "acme":
            unknown = f"error: Because {name} was not found in the package registry and you require {name}"
            return subprocess.CompletedProcess(command, 1, b"", unknown.encode())
        from packaging.specifiers import SpecifierSet

        fitting = [Version(each) for each in AVAILABLE if SpecifierSet(bounds).contains(each, prereleases=False)]
        if not fitting:
            return subprocess.CompletedProcess(command, 1, b"", b"error: No solution found when resolving")
        return subprocess.CompletedProcess(command, 0, f"acme=={max(fitting)}\n".encode(), b"")

    monkeypatch.setattr(release_ranges.shutil, "which", lambda _: "uv")
    monkeypatch.setattr(release_ranges, "_run", run)
    return errors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["1.0", "1.1.0", "1.1.1", "1.2.0", "1.10.0"]),
        ("1.1..", ["1.1.0", "1.1.1", "1.2.0", "1.10.0"]),
        ("1.1..1.2", ["1.1.0", "1.1.1", "1.2.0"]),
        ("..1.1", ["1.0", "1.1.0", "1.1.1"]),
        ("1.1.1", ["1.1.1"]),
    ],
)
def test_find_releases_in_range_returns_them_from_oldest_to_newest(uv, text, expected):
    assert find_releases("acme", ReleaseRange.parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "missing"), [("1.1..1.10", []), ("1.1.2..1.10", ["1.1.2"]), ("1.3", ["1.3"]), ("", [])]
)
def test_missing_ends_are_ends_that_begin_no_release(text, missing):
    assert list(map(str, ReleaseRange.parse(text).missing_ends(AVAILABLE))) == missing


def test_find_releases_without_release_in_range_is_refused(uv):
    with assert_raises("history.no-release", "acme"):
        find_releases("acme", ReleaseRange.parse("3..4"))


def test_find_releases_of_unknown_package_is_refused(uv):
    with assert_raises("history.no-such-package", "acne"):
        find_releases("acne", ReleaseRange())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (b"error: Failed to fetch: `index`\n  cause: dns error", "history.no-network"),
        (b"error: packages: the network was disabled", "history.no-network"),
        (b"cause: HTTP status server error (503 Service Unavailable) for url (index)", "history.no-network"),
        (b"error: No interpreter found at path `/nowhere`", "history.not-listed"),
        (b"error: failed to write to file: No space left on device (os error 28)", "history.disk-full"),
    ],
)
def test_find_releases_with_other_error_does_not_mean_that_no_release_exists(uv, error, code):
    uv.append(error)
    with assert_raises(code, "acme"):
        find_releases("acme", ReleaseRange())


@pytest.mark.parametrize("text", ["x", "1..y", "1.0...2", "9" * 5000])
def test_malformed_range_is_refused(text):
    with assert_raises("name.malformed-release", text[:100]):
        ReleaseRange.parse(text)


def test_range_that_ends_before_it_begins_is_refused():
    with assert_raises("name.empty-range"):
        ReleaseRange.parse("1.3..1.2")


def test_full_disk_is_recognized_in_messages_of_uv():
    assert is_disk_error("failed to write: No space left on device (os error 28)")
    assert not is_disk_error("No solution found")
