"""Lines of text with the evidence for a verdict."""

from __future__ import annotations

import numpy as np
import pytest
from runs_in_memory import make_result

from conformance.corpus.loading import ExpectedTensor
from conformance.judging.compare import compare_output
from conformance.results.evidence import MAX_SHORT_OUTPUTS, short_evidence


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


@pytest.mark.parametrize(("further", "line"), [(1, "and 1 more output is wrong"), (2, "and 2 more outputs are wrong")])
def test_short_evidence_counts_further_wrong_outputs(further, line):
    output = compare_output(ExpectedTensor("Y", np.float32([1.0])), np.float32([2.0]), 0)
    result = make_result(phase="compare", message="wrong", outputs=[output] * (MAX_SHORT_OUTPUTS + further))
    assert list(short_evidence(result, None, {}))[-1] == line
