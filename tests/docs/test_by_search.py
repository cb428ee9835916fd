"""docs/findings/by-search.md: its models are valid, and the reference gives what the page expects of their shapes."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
from repository import ROOT

from conformance.backends.reference import ReferenceBackend
from conformance.models.arrays import dtype_of
from conformance.models.feeds import fed_names

PAGE = (ROOT / "docs" / "findings" / "by-search.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"^```python sparse\.py\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def sparse(tmp_path):
    """The file that the page's program writes."""
    subprocess.run([sys.executable, "-c", PROGRAM.search(PAGE)[1]], cwd=tmp_path, check=True)
    return tmp_path / "sparse.onnx"


@pytest.mark.parametrize(("title", "section"), SECTIONS, ids=[title for title, _ in SECTIONS])
def test_every_fault_has_a_model_and_what_is_expected_of_it(title, section):
    assert len(re.findall(r"^```text$", section, re.MULTILINE)) + len(PROGRAM.findall(section)) == 1
    assert section.count("- Expected:") == 1


@pytest.mark.parametrize("text", re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL))
def test_the_model_is_valid_and_its_outputs_have_the_declared_shapes(text):
    assert_computed(onnx.parser.parse_model(text))


def test_the_model_that_the_program_writes_is_valid_and_its_outputs_have_the_declared_shapes(sparse):
    assert_computed(onnx.load(sparse))


@pytest.mark.skipif(onnxruntime.__version__ != "1.31.1", reason="the page is about onnxruntime 1.31.1")
def test_the_model_that_the_program_writes_ends_onnxruntime(sparse):
    load = "import onnxruntime; onnxruntime.InferenceSession('sparse.onnx')"
    ended = subprocess.run([sys.executable, "-c", load], cwd=sparse.parent, stderr=subprocess.DEVNULL, check=False)
    assert ended.returncode == -signal.SIGSEGV


def assert_computed(model):
    """A model is valid, and the reference gives outputs of the declared shapes."""
    onnx.checker.check_model(model, full_check=True)
    types = {value.name: value.type.tensor_type for value in model.graph.input}
    fed = [
        np.ones([dim.dim_value for dim in types[name].shape.dim], dtype_of(types[name].elem_type))
        for name in fed_names(model.graph)
    ]
    outputs = ReferenceBackend.prepare(model).run(fed)
    declared = [[dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in model.graph.output]
    assert [list(output.shape) for output in outputs] == declared
