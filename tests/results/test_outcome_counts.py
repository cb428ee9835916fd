"""The counts that stand beside the outcome of a run."""

from __future__ import annotations

import re
from typing import Any

import pytest
from runs_in_memory import make_run, plain_case, plain_result

from conformance.results.outcome_counts import (
    WEAKER_OPTION,
    OutcomeCounts,
    is_known_failure,
    known_failures_by_level,
)
from conformance.verdicts import Level

VERDICTS = {
    "acme": {
        "must": {"pass": 3, "fail": 2, "unsupported": 1000, "skipped": 1},
        "should": {"crash": 4, "pass": 1, "unsupported": 2},
        "silent": {"fail": 9},
    }
}
KNOWN = {"verdict": "fail", "reason": "known"}


def run_of(*results: Any, level: str = "must", verdicts: Any = None) -> Any:
    header = {"criterion": {"level": level}, "subjects": [{"id": "acme", "kind": "backend", "version": "1.0"}]}
    footer = {"verdicts": verdicts or VERDICTS}
    return make_run("r.jsonl", header, [plain_case(result.case) for result in results], results, footer)


@pytest.mark.parametrize(
    ("level", "counts"),
    [
        ("must", OutcomeCounts(1006, 5, 1000, 1, 7, 4)),
        ("should", OutcomeCounts(1013, 10, 1002, 1, 7, 0)),
    ],
)
def test_count_separates_judged_levels_and_verdicts(level, counts):
    assert OutcomeCounts.count(VERDICTS.values(), 7, Level(level)) == counts


def test_sentence_has_every_count_that_is_not_zero():
    def numbers(counts):
        return [int(found.replace(",", "")) for found in re.findall(r"[\d,]*\d", counts.sentence)]

    assert numbers(OutcomeCounts(2506, 190, 2316, 0, 289, 0)) == [190, 2506, 2316, 289]
    assert numbers(OutcomeCounts(3, 3, 0, 0, 0, 0)) == [3, 3]


def test_weaker_sentence_names_the_option():
    assert OutcomeCounts(0, 0, 0, 0, 0, 13).weaker_sentence.endswith(WEAKER_OPTION)
    assert OutcomeCounts(3, 3, 0, 0, 0, 0).weaker_sentence == ""


@pytest.mark.parametrize(
    ("result", "known"),
    [
        (plain_result("acme", "a", "fail", expected=KNOWN, unexpected=False), True),
        (plain_result("acme", "a", "fail", baseline="fail", unexpected=False), True),
        (plain_result("acme", "a", "fail", expected=KNOWN, unexpected=True), False),
        (plain_result("acme", "a", "fail", unexpected=False), False),
        (plain_result("acme", "a", "pass", expected=KNOWN, unexpected=False), False),
        (plain_result("acme", "a", "unsupported", expected=KNOWN, unexpected=False), False),
    ],
)
def test_known_failure_is_an_expected_defect(result, known):
    assert is_known_failure(result) is known


def test_known_failures_are_counted_by_level_without_silent_cases():
    levels = {"a": "must", "b": "must", "c": "should", "d": "silent"}
    results = [
        plain_result("acme", case, "fail", level=level, expected=KNOWN, unexpected=False)
        for case, level in levels.items()
    ]
    run = run_of(*results)
    assert known_failures_by_level(run) == {("acme", "must"): 2, ("acme", "should"): 1}
    assert OutcomeCounts.of_run(run).known_failures == 2
    assert OutcomeCounts.of_runs([run, run]).known_failures == 4
