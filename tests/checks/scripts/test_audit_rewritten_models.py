"""The transformer of the rewritten models is judged as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
from script_modules import script_module

from conformance.exact.reference.numbers.enclosure import admissible_mask

if TYPE_CHECKING:
    from pathlib import Path

REWRITTEN, CASES = script_module("audit_rewritten_models"), script_module("onnx_cases")


def test_transformer_has_bounds_that_contain_onnxruntime_and_no_zeros(tmp_path: Path) -> None:
    path = REWRITTEN.transformer(tmp_path)
    model, given = onnx.load(path), REWRITTEN.inputs_of(REWRITTEN.DECODER)
    actual = onnxruntime.InferenceSession(str(path)).run(None, given)
    expected = CASES.enclose_outputs(model, [given[value.name] for value in model.graph.input])
    for array, tensor in zip(actual, expected, strict=True):
        assert admissible_mask(array, tensor).all()
        assert not admissible_mask(np.zeros_like(array), tensor).all()


def test_row_counts_judged_and_wrong_nodes() -> None:
    node = {"operator": "Add", "reason": "why", "level": "must"}
    nodes = [{**node, "verdict": verdict} for verdict in ("correct", "wrong", "not judged")]
    total = CASES.Counter()
    assert REWRITTEN.row("m", "optimized", nodes, total) == "| m | optimized | 3 | 2 | 66.7% | 1 | 1: Add: why |"
    assert total == {("optimized", "nodes"): 3, ("optimized", "judged"): 2, ("optimized", "wrong"): 1}
