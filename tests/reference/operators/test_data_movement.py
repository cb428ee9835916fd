"""Operators that move elements give exact results."""

from __future__ import annotations

import numpy as np
import pytest
from one_node_models import X, oracle_answers, reference_output
from reference_models import both_levels

MOVED = {
    "Identity": ((), {}, X),
    "Transpose": ((), {"perm": [2, 0, 1]}, X.transpose(2, 0, 1)),
    "Reshape": ((np.array([0, -1]),), {}, X.reshape(2, 12)),
    "Expand": ((np.array([2, 1, 1, 1]),), {}, np.broadcast_to(X, (2, 2, 3, 4))),
}


@both_levels
@pytest.mark.parametrize("op_type", MOVED)
def test_data_movement_is_exact(op_type, level):
    others, attributes, expected = MOVED[op_type]
    answer = oracle_answers(op_type, X, *others, level=level, **attributes)
    assert (answer.expected.tolist(), answer.bound) == (expected.tolist(), None)
    assert reference_output(op_type, X, *others, **attributes).tolist() == expected.tolist()
