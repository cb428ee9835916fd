"""What authors of cases and adapters import from the package itself."""

from __future__ import annotations

import pytest

import conformance


@pytest.mark.parametrize("name", conformance.__all__)
def test_a_public_name_is_there(name):
    assert getattr(conformance, name)


def test_a_name_that_is_not_public_is_told(process):
    with pytest.raises(AttributeError, match="has no attribute 'Cases'"):
        conformance.Cases  # noqa: B018


def test_importing_the_names_imports_neither_onnx_nor_numpy(process):
    names = ", ".join(conformance.__all__)
    program = f"import sys; from conformance import {names}; print(sorted({{'onnx', 'numpy'}} & set(sys.modules)))"
    assert process("python", "-c", program).out == "[]\n"
