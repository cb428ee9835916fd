"""Names of the Python interface."""

from __future__ import annotations

import pytest
from repository import ROOT

import conformance


@pytest.mark.parametrize("name", conformance.__all__)
def test_public_name_is_importable(name):
    assert getattr(conformance, name)


def test_unknown_public_name_raises_attribute_error(process):
    with pytest.raises(AttributeError, match="'Cases'"):
        conformance.Cases  # noqa: B018


def test_public_names_are_at_most_ten_and_documented():
    assert len(conformance.__all__) <= 10
    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert not [name for name in conformance.__all__ if f"`{name}" not in page]


def test_importing_the_package_imports_neither_onnx_nor_numpy(process):
    program = "import sys, conformance; print(sorted({'onnx', 'numpy'} & set(sys.modules)))"
    assert process("python", "-c", program).out == "[]\n"


def test_importing_the_names_imports_no_other_wing_than_base_and_exact(process):
    program = "import sys; from conformance import judge, evaluate; print(*sorted({name.split('.')[1] for name in "
    program += "sys.modules if name.startswith('conformance.')}))"
    assert process("python", "-c", program).out == "base exact\n"
