"""Finding of releases with a fake uv, and ranges of releases."""

from __future__ import annotations

import re
import subprocess

import pytest
from packaging.version import Version
from refusals import assert_raises

from conformance.history import releases
from conformance.history.releases import ReleaseRange, find_releases, is_disk_error

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

    monkeypatch.setattr(releases.shutil, "which", lambda _: "uv")
    monkeypatch.setattr(releases, "_run", run)
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
    "error",
    [
        b"error: Failed to fetch: `index`\n  cause: dns error",
        b"error: packages: the network was disabled",
        b"cause: HTTP status server error (503 Service Unavailable) for url (index)",
    ],
)
def test_find_releases_without_network_is_refused(uv, error):
    uv.append(error)
    with assert_raises("history.no-network", "acme"):
        find_releases("acme", ReleaseRange())


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (b"error: No interpreter found at path `/nowhere`", "history.not-listed"),
        (b"error: failed to write to file: No space left on device (os error 28)", "history.disk-full"),
    ],
)
def test_find_releases_with_other_error_does_not_mean_that_no_release_exists(uv, error, code):
    uv.append(error)
    with assert_raises(code, "acme"):
        find_releases("acme", ReleaseRange())


@pytest.mark.parametrize("text", ["x", "1..y", "1.0...2"])
def test_malformed_range_is_refused(text):
    with assert_raises("name.malformed-release", text):
        ReleaseRange.parse(text)


def test_range_that_ends_before_it_begins_is_refused():
    with assert_raises("name.empty-range"):
        ReleaseRange.parse("1.3..1.2")


def test_full_disk_is_recognized_in_messages_of_uv():
    assert is_disk_error("failed to write: No space left on device (os error 28)")
    assert not is_disk_error("No solution found")
