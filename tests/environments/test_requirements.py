"""Packages of a release: the pins of runtimes.toml with the release in place of the pin."""

from __future__ import annotations

import pytest

from conformance.environments.requirements import find_requirements, has_adapter
from conformance.subjects.naming import SubjectKind, SubjectName


def requirements(text):
    return find_requirements(SubjectName.parse(text, SubjectKind.BACKEND))


@pytest.mark.parametrize(
    ("text", "packages", "bare"),
    [
        ("onnxruntime@1.20.1", ("onnxruntime==1.20.1", "numpy", "ml_dtypes"), ()),
        ("onnxruntime@1.15.0", ("onnxruntime==1.15.0", "numpy<2", "ml_dtypes"), ()),
        (
            "iree@3.12.0",
            ("iree-base-compiler==3.12.0", "iree-base-runtime==3.12.0", "onnx==1.23.2", "numpy", "ml_dtypes"),
            (),
        ),
        (
            "onnx2torch@1.5.14",
            ("torch==2.13.0", "onnx==1.23.2", "numpy", "ml_dtypes"),
            ("onnx2torch==1.5.14",),
        ),
    ],
)
def test_find_requirements_release_replaces_pin(text, packages, bare):
    assert (requirements(text).packages, requirements(text).bare) == (packages, bare)


def test_find_requirements_default_is_pinned_release():
    assert requirements("onnxruntime").subject == "onnxruntime@1.32.0"
    assert requirements("onnxruntime") == requirements("onnxruntime@1.32.0[optimization=disabled]")


def test_requirements_key_depends_on_requirements():
    assert len({requirements(f"onnxruntime@{release}").key for release in ("1.18.0", "1.19.0", "1.19.1")}) == 3


def test_has_adapter_reference_is_not_an_adapter():
    assert (has_adapter("onnxruntime"), has_adapter("reference")) == (True, False)
