"""What is installed for a release are the pins of runtimes.toml, with the release in its place."""

from __future__ import annotations

import pytest

from conformance.environments.requirements import has_adapter, requirements_of
from conformance.subjects.naming import SubjectKind, SubjectName


def requirements(text):
    return requirements_of(SubjectName.of(text, SubjectKind.BACKEND))


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
def test_a_release_takes_the_place_of_the_pin(text, packages, bare):
    assert (requirements(text).packages, requirements(text).bare) == (packages, bare)


def test_without_a_release_it_is_the_pinned_one():
    assert requirements("onnxruntime").subject == "onnxruntime@1.31.1"
    assert requirements("onnxruntime") == requirements("onnxruntime@1.31.1[optimization=disabled]")


def test_what_differs_in_a_requirement_has_another_key():
    assert len({requirements(f"onnxruntime@{release}").key for release in ("1.18.0", "1.19.0", "1.19.1")}) == 3


def test_the_suite_s_own_backend_is_no_adapter():
    assert (has_adapter("onnxruntime"), has_adapter("reference")) == (True, False)
