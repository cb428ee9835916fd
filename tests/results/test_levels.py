"""The level at which a verdict stands."""

from __future__ import annotations

import pytest

from conformance.results.levels import standing_level, weaker_level
from conformance.verdicts import Level

MUST, SHOULD, SILENT = Level


def result(*complaints: Level, verdict: str = "fail", phase: str = "compare", held: Level = MUST) -> dict:
    """A result with complaints at some levels, and a check that held."""
    checks = [{"name": "x", "run": "once", "level": str(level), "complaint": "it is wrong"} for level in complaints]
    return {
        "verdict": verdict,
        "phase": phase,
        "checks": [{"name": "y", "run": "once", "level": str(held)}, *checks],
    }


@pytest.mark.parametrize(
    ("complaints", "level"), [((MUST,), MUST), ((SHOULD,), SHOULD), ((SHOULD, MUST), MUST), ((SHOULD, SILENT), SHOULD)]
)
def test_a_failure_by_complaints_stands_at_the_strongest_of_their_levels(complaints, level):
    assert standing_level(result(*complaints), MUST) is level


@pytest.mark.parametrize(("verdict", "phase"), [("pass", None), ("error", "optimize"), ("fail", "optimize")])
def test_any_other_verdict_stands_at_its_case_s_level(verdict, phase):
    assert standing_level(result(SHOULD, verdict=verdict, phase=phase), MUST) is MUST


def test_a_backend_s_failure_stands_at_its_case_s_level():
    assert standing_level({"verdict": "fail", "phase": "compare"}, SHOULD) is SHOULD


def test_a_complaint_of_format_1_stands_at_its_case_s_level():
    told = {"verdict": "fail", "phase": "compare", "checks": [{"name": "x", "run": "once", "complaint": "no"}]}
    assert standing_level(told, MUST) is MUST


@pytest.mark.parametrize(("level", "case", "weaker"), [("should", MUST, SHOULD), ("should", SHOULD, None)])
def test_a_level_is_weaker_only_than_a_stronger_one(level, case, weaker):
    assert weaker_level({"level": level}, case) is weaker
