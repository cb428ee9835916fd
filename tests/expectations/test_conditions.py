"""Conditions of expectations."""

from __future__ import annotations

import pytest
from refusals import assert_raises

from conformance.expectations.conditions import ConditionContext, parse_condition

HERE = ConditionContext.from_environment(
    "1.31.1", {"platform": "Linux x86_64", "python": "3.12.1", "cpu features": "avx2 avx512f"}
)


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
        ({"processor": "avx512f"}, True),
        ({"processor": "avx512_fp16"}, False),
        ({"processor": ["avx512f", "-avx512_fp16"]}, True),
        ({"processor": ["avx2", "-avx512f"]}, False),
    ],
)
def test_condition_holds_if_all_keys_are_satisfied(when, holds):
    assert parse_condition("acme.toml:2", when).holds(HERE) is holds


@pytest.mark.parametrize(("version", "holds"), [("1.32.0rc1", True), ("1.31.0+cpu", True), ("1.33.0.dev0", False)])
def test_versions_are_compared_like_python_packages(version, holds):
    condition = parse_condition("acme.toml:2", {"version": ">=1.31,<1.33.0.dev0"})
    assert condition.holds(ConditionContext(version, "linux x86_64", "3.12")) is holds


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
        {"processor": "avx1024"},
        {"processor": []},
        {"processor": ["avx2", 1]},
    ],
    ids=str,
)
def test_malformed_condition_is_rejected(when):
    with assert_raises("expectations.malformed-condition", "acme.toml:2"):
        parse_condition("acme.toml:2", when)


def test_incomparable_version_is_rejected():
    condition = parse_condition("acme.toml:2", {"version": ">=1"})
    with assert_raises("expectations.incomparable-version", "acme.toml:2", ">=1", "unknown"):
        condition.holds(ConditionContext("unknown", "linux x86_64", "3.12"))
