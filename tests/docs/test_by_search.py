"""reports/findings/by-search.md: the models are valid, and the reference computes outputs of the declared shapes."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from repository import ROOT

from conformance.exact.models.arrays import dtype_of
from conformance.exact.models.input_files import required_input_names
from conformance.subjects.adapters.reference import ReferenceBackend

PAGE = (ROOT / "reports" / "findings" / "by-search.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("title", "section"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_section_has_one_model_and_one_expectation(title, section):
    assert len(re.findall(r"^```text$", section, re.MULTILINE)) == 1
    assert section.count("- Expected:") == 1


@pytest.mark.parametrize("text", re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL))
def test_textual_model_is_valid_and_computable(text):
    assert_computed(onnx.parser.parse_model(text))


def assert_computed(model):
    """Assert that a model is valid, and that the reference computes outputs of the declared shapes."""
    onnx.checker.check_model(model, full_check=True)
    types = {value.name: value.type.tensor_type for value in model.graph.input}
    fed = [
        np.ones([dim.dim_value for dim in types[name].shape.dim], dtype_of(types[name].elem_type))
        for name in required_input_names(model.graph)
    ]
    outputs = ReferenceBackend.prepare(model).run(fed)
    declared = [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.graph.output]
    assert [list(output.shape) for output in outputs] == declared
