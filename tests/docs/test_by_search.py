"""docs/findings/by-search.md: its models are valid, and the reference gives what the page expects of their shapes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

from conformance.backends.reference import ReferenceBackend
from conformance.models.arrays import dtype_of
from conformance.models.feeds import fed_names

PAGE = (Path(__file__).parents[2] / "docs" / "findings" / "by-search.md").read_text(encoding="utf-8")
MODELS = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)


def test_every_fault_has_a_model():
    assert len(MODELS) == PAGE.count("\n## ") == PAGE.count("- Expected:")


@pytest.mark.parametrize("text", MODELS, ids=re.findall(r"^## (.*)$", PAGE, re.MULTILINE))
def test_the_model_is_valid_and_its_outputs_have_the_declared_shapes(text):
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    types = {value.name: value.type.tensor_type for value in model.graph.input}
    fed = [
        np.ones([dim.dim_value for dim in types[name].shape.dim], dtype_of(types[name].elem_type))
        for name in fed_names(model.graph)
    ]
    outputs = ReferenceBackend.prepare(model).run(fed)
    declared = [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.graph.output]
    assert [list(output.shape) for output in outputs] == declared
