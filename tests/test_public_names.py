"""Names that authors of cases and adapters import from the package."""

from __future__ import annotations

import pytest

import conformance


@pytest.mark.parametrize("name", conformance.__all__)
def test_public_name_is_importable(name):
    assert getattr(conformance, name)


def test_unknown_public_name_raises_attribute_error(process):
    with pytest.raises(AttributeError, match="'Cases'"):
        conformance.Cases  # noqa: B018


def test_importing_the_names_imports_neither_onnx_nor_numpy(process):
    names = ", ".join(conformance.__all__)
    program = f"import sys; from conformance import {names}; print(sorted({{'onnx', 'numpy'}} & set(sys.modules)))"
    assert process("python", "-c", program).out == "[]\n"
