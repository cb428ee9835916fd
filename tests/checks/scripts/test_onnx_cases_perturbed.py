"""onnx_cases.py: changed outputs that the bounds admit, and audits that notice them."""

from __future__ import annotations

import numpy as np
import pytest

from checks.measurements.onnx_cases import PERTURBATIONS, Tally, is_noticed_by_audit, node_cases

NAME = "test_layer_normalization_4d_axis1"


@pytest.mark.long
def test_audit_notices_a_change_that_the_bound_of_a_case_admits():
    cases = [case for case in node_cases({"LayerNormalization"}) if case.name == NAME]
    tally = Tally()
    tally.judge(cases[0], perturb=True)
    assert [number for name, number in tally.unnoticed["64 ULP", "must"] if name == NAME] == [1]
    tally.audit(cases)
    assert tally.audited == {"64 ULP": 1}
    assert not is_noticed_by_audit(cases[0], 1, np.copy)
    assert is_noticed_by_audit(cases[0], 0, PERTURBATIONS["all zeros"])
