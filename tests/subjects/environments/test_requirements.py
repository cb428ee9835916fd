"""Packages of a release: the pins of runtimes.toml with the release in place of the pin."""

from __future__ import annotations

import pytest
from refusals import assert_raises

from conformance.subjects.calling.subject_names import SubjectKind, SubjectName
from conformance.subjects.environments.requirements import find_requirements, has_adapter, smoke_test_subject

ONNX = "onnx==1.23.2"
ADAPTER = ("numpy", "ml_dtypes")


def requirements(text, kind=SubjectKind.BACKEND):
    return find_requirements(SubjectName.parse(text, kind))


@pytest.mark.parametrize(
    ("text", "packages", "bare"),
    [
        ("onnxruntime@1.20.1", ("onnxruntime==1.20.1", ONNX, *ADAPTER), ()),
        ("onnxruntime@1.15.0", ("onnxruntime==1.15.0", ONNX, "numpy<2", "ml_dtypes"), ()),
        ("openvino@2024.1.0", ("openvino==2024.1.0", "numpy<2", "ml_dtypes"), ()),
        ("openvino@2024.2.0", ("openvino==2024.2.0", *ADAPTER), ()),
        ("onnx-reference@1.14.1", ("onnx==1.14.1", "numpy<2", "ml_dtypes"), ()),
        ("onnx-reference@1.14.1[with=numpy>=2+rich]", ("numpy>=2", "rich", "onnx==1.14.1", "ml_dtypes"), ()),
        ("onnxsim@0.4.36", ("onnxsim==0.4.36", ONNX, "onnxruntime==1.32.0", *ADAPTER), ()),
        ("onnxoptimizer-defaults@0.3.13", ("onnxoptimizer==0.3.13", ONNX, *ADAPTER), ()),
        (
            "iree@3.12.0",
            ("iree-base-compiler==3.12.0", "iree-base-runtime==3.12.0", "onnx==1.23.2", "numpy", "ml_dtypes"),
            (),
        ),
        ("onnx2torch@1.5.14", ("torch==2.13.0", "onnx==1.23.2", "numpy", "ml_dtypes"), ("onnx2torch==1.5.14",)),
    ],
)
def test_find_requirements_release_replaces_pin(text, packages, bare):
    assert (requirements(text).packages, requirements(text).bare) == (packages, bare)


def test_find_requirements_default_is_pinned_release():
    assert requirements("onnxruntime").subject == "onnxruntime@1.32.0"
    assert requirements("onnxruntime") == requirements("onnxruntime@1.32.0[optimization=disabled]")


def test_find_requirements_backend_and_optimizer_of_one_package_share_an_environment():
    optimizer = requirements("onnxruntime@1.20.1[level=basic]", SubjectKind.OPTIMIZER)
    assert optimizer == requirements("onnxruntime@1.20.1")
    assert requirements("onnxoptimizer-defaults@0.3.13").subject == "onnxoptimizer@0.3.13"


def test_smoke_test_subject_is_backend_or_first_optimizer():
    found = [smoke_test_subject(requirements(name)) for name in ("onnxruntime", "onnxoptimizer")]
    assert [(each.text, each.kind) for each in found] == [
        ("onnxruntime", SubjectKind.BACKEND),
        ("onnxoptimizer", SubjectKind.OPTIMIZER),
    ]


@pytest.mark.parametrize("package", ["numpy>>2", "numpy@file:///etc", "numpy;python_version>'3'"])
def test_find_requirements_malformed_package_is_refused(package):
    with assert_raises("name.malformed-requirement", package):
        requirements(f"onnx-reference@1.14.1[with={package}]")


def test_requirements_key_depends_on_requirements():
    texts = ["1.18.0", "1.19.0", "1.19.1", "1.19.1[with=numpy>=2]"]
    assert len({requirements(f"onnxruntime@{text}").key for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("onnxruntime", SubjectKind.BACKEND, True),
        ("onnxruntime", SubjectKind.OPTIMIZER, True),
        ("onnxoptimizer-defaults", SubjectKind.OPTIMIZER, True),
        ("reference", SubjectKind.BACKEND, False),
        ("reference-pass", SubjectKind.OPTIMIZER, False),
    ],
)
def test_has_adapter_is_true_for_released_packages(name, kind, expected):
    assert has_adapter(SubjectName.parse(name, kind)) is expected
