"""Lines of text with the evidence for a verdict."""

from __future__ import annotations

import pytest
from runs_in_memory import make_result

from conformance.results.evidence import short_evidence


@pytest.mark.parametrize(
    ("check", "line"),
    [
        ({"name": "kept_outputs"}, "kept_outputs: it is wrong"),
        ({"name": "answers", "run": "once"}, "answers (run once): it is wrong"),
        ({"name": "answers", "run": "fixed_point"}, "answers (to a fixed point): it is wrong"),
    ],
)
def test_short_evidence_has_the_violated_check_and_its_run(check, line):
    violated = {**check, "level": "should", "violation": "it is wrong"}
    result = make_result(phase="compare", message="it is wrong", checks=[violated])
    assert list(short_evidence(result, None, {})) == [line]
