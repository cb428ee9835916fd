"""Random nodes on ONNX Runtime are within the bounds, or are proven faults of the runtime."""

from __future__ import annotations

import mpmath
import pytest
from reference_sweep import is_fault_of_runtime, sweep


def test_sweep_of_random_nodes_has_no_unsettled_element() -> None:
    findings = sweep(300, 11)
    assert findings.counts["judged"] > 450
    assert findings.unsettled == 0, findings.lines


@pytest.mark.parametrize(
    ("actual", "value", "error", "exact", "expected"),
    [
        (2.0, 1.0, 0.5, mpmath.mpf(1), True),
        (2.0, 1.0, 0.5, mpmath.mpf(2), False),
        (2.0, 1.0, 0.5, None, False),
        (2.0, float("nan"), 0.0, mpmath.nan, True),
        (2.0, 1.0, 0.0, mpmath.nan, False),
    ],
)
def test_is_fault_of_runtime_needs_an_exact_value_within_the_bound(
    actual: float, value: float, error: float, exact: object, expected: bool
) -> None:
    assert is_fault_of_runtime(actual, value, error, exact) is expected
