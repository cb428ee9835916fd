"""When an expectation applies, and which conditions are refused."""

from __future__ import annotations

import pytest

from conformance.errors import ExpectationsError
from conformance.expectations.conditions import Situation, read_condition

HERE = Situation.of("1.31.1", {"platform": "Linux x86_64", "python": "3.12.1"})


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ({"version": ">=1.31,<1.33"}, True),
        ({"version": "==1.31.*"}, True),
        ({"version": "<1.31"}, False),
        ({"python": ">=3.12"}, True),
        ({"python": "<3.12"}, False),
        ({"platform": "linux"}, True),
        ({"platform": "linux x86_64"}, True),
        ({"platform": "linux aarch64"}, False),
        ({"platform": ["darwin", "linux"]}, True),
        ({"platform": "windows"}, False),
        ({"version": ">=1.31", "platform": "linux", "python": ">=3.12"}, True),
        ({"version": ">=1.31", "platform": "darwin"}, False),
    ],
)
def test_all_that_it_names_must_hold(when, holds):
    assert read_condition("acme.toml:2", when).holds(HERE) is holds


@pytest.mark.parametrize(("version", "holds"), [("1.32.0rc1", True), ("1.31.0+cpu", True), ("1.33.0.dev0", False)])
def test_versions_are_ordered_as_python_packages_order_them(version, holds):
    condition = read_condition("acme.toml:2", {"version": ">=1.31,<1.33.0.dev0"})
    assert condition.holds(Situation(version, "linux x86_64", "3.12")) is holds


@pytest.mark.parametrize(
    "when",
    [
        {},
        "linux",
        {"os": "linux"},
        {"version": "1.31"},
        {"version": ""},
        {"version": 1},
        {"python": ">=three"},
        {"platform": "ubuntu"},
        {"platform": "Linux"},
        {"platform": []},
        {"platform": [1]},
    ],
    ids=str,
)
def test_what_could_never_hold_is_refused(when):
    with pytest.raises(ExpectationsError, match=r"^acme\.toml:2 "):
        read_condition("acme.toml:2", when)


def test_a_condition_on_a_version_that_cannot_be_compared_is_refused():
    condition = read_condition("acme.toml:2", {"version": ">=1"})
    with pytest.raises(ExpectationsError, match=r"acme\.toml:2 applies where the subject's version is >=1"):
        condition.holds(Situation("unknown", "linux x86_64", "3.12"))
