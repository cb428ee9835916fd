"""Effective levels of results."""

from __future__ import annotations

import pytest
from runs_in_memory import make_result

from conformance.results.levels import effective_level, level_if_weaker
from conformance.results.records import Result
from conformance.verdicts import Level

MUST, SHOULD, SILENT = Level


def result(*violations: Level, verdict: str = "fail", phase: str = "compare", satisfied: Level = MUST) -> Result:
    """Return a result with violated checks at these levels, and a satisfied check."""
    checks = [{"name": "x", "run": "once", "level": str(level), "violation": "it is wrong"} for level in violations]
    return make_result(verdict=verdict, phase=phase, checks=[{"name": "y", "level": str(satisfied)}, *checks])


@pytest.mark.parametrize(
    ("violations", "level"), [((MUST,), MUST), ((SHOULD,), SHOULD), ((SHOULD, MUST), MUST), ((SHOULD, SILENT), SHOULD)]
)
def test_effective_level_is_the_strongest_violated_level(violations, level):
    assert effective_level(result(*violations), MUST) is level


@pytest.mark.parametrize(("verdict", "phase"), [("pass", None), ("error", "optimize"), ("fail", "optimize")])
def test_effective_level_without_failed_comparison_is_the_case_level(verdict, phase):
    assert effective_level(result(SHOULD, verdict=verdict, phase=phase), MUST) is MUST


def test_effective_level_without_checks_is_the_case_level():
    assert effective_level(make_result(verdict="fail", phase="compare"), SHOULD) is SHOULD


@pytest.mark.parametrize(("level", "case", "weaker"), [("should", MUST, SHOULD), ("should", SHOULD, None)])
def test_level_if_weaker_is_none_for_an_equal_level(level, case, weaker):
    assert level_if_weaker(make_result(level=level), case) is weaker
