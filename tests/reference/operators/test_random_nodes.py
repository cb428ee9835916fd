"""Random nodes on ONNX Runtime and on onnx's reference evaluator are within the enclosures."""

from __future__ import annotations

import pytest
from operator_draws import DRAWS, FAULTS_OF_EVALUATOR, compare


@pytest.mark.parametrize("op_type", DRAWS)
def test_random_nodes_are_within_the_enclosures(op_type: str) -> None:
    lines, judged, compared = compare(op_type, 15, 7)
    unsettled = [line for line in lines if op_type not in FAULTS_OF_EVALUATOR or not line.startswith("onnx reference")]
    assert unsettled == []
    assert judged >= 10
    assert compared >= judged
