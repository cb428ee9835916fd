"""Identities of subjects: digests, differences, and several runs of one subject."""

from __future__ import annotations

import pytest

from conformance.results.environment import processor
from conformance.results.identity import identity_changes, join_identities, subject_identity
from conformance.subjects.harness import installed_packages
from conformance.subjects.naming import SubjectKind, SubjectName
from conformance.subjects.request import adapter_digest

OLD = subject_identity("x86_64: avx2", "3.11.7", ["numpy==1.26.4", "onnx==1.14.1"], "0123456789ab")


def test_subject_identity_digest_depends_on_everything():
    others = [
        subject_identity("aarch64", "3.11.7", ["numpy==1.26.4", "onnx==1.14.1"], "0123456789ab"),
        subject_identity("x86_64: avx2", "3.12.1", ["numpy==1.26.4", "onnx==1.14.1"], "0123456789ab"),
        subject_identity("x86_64: avx2", "3.11.7", ["numpy==2.4.6", "onnx==1.14.1"], "0123456789ab"),
        subject_identity("x86_64: avx2", "3.11.7", ["numpy==1.26.4", "onnx==1.14.1"], "0123456789ac"),
        subject_identity("x86_64: avx2"),
    ]
    assert len({each.digest for each in [OLD, *others]}) == 6
    assert subject_identity("x86_64: avx2", "3.11.7", ["onnx==1.14.1", "numpy==1.26.4"], "0123456789ab") == OLD


def test_identity_changes_name_what_differs():
    new = subject_identity("x86_64: avx2", "3.12.1", ["numpy==2.4.6", "rich==15"], "0123456789ab")
    assert list(identity_changes(OLD, OLD)) == []
    changes = [change.split(" ")[0] for change in identity_changes(OLD, new)]
    assert changes == ["numpy", "onnx", "rich", "Python"]


def test_join_identities_keeps_all_values():
    joined = join_identities([OLD, subject_identity("aarch64", "3.11.7", ["numpy==2.4.6"], "0123456789ab")])
    assert (joined.processor, joined.python) == ("aarch64 | x86_64: avx2", "3.11.7")
    assert joined.packages == ["numpy==1.26.4", "numpy==2.4.6", "onnx==1.14.1"]
    assert joined.digest != OLD.digest
    assert join_identities([OLD, OLD]) == OLD


def test_installed_packages_have_numpy_and_onnx():
    names = {each.partition("==")[0] for each in installed_packages()}
    assert {"numpy", "onnx", "ml-dtypes"} <= names


def test_installed_packages_first_on_the_path_wins(tmp_path, monkeypatch):
    for folder, version in (("first", "1.0"), ("second", "2.0")):
        (tmp_path / folder / f"some_package-{version}.dist-info").mkdir(parents=True)
    (tmp_path / "second" / "other-3-py3.11.egg-info").mkdir()
    monkeypatch.setattr("sys.path", [str(tmp_path / "first"), str(tmp_path / "second")])
    assert installed_packages() == ["other==3", "some-package==1.0"]


@pytest.mark.parametrize(
    ("name", "kind", "has_digest"),
    [
        ("onnxruntime", SubjectKind.BACKEND, True),
        ("onnxruntime@1.20.1[optimization=disabled]", SubjectKind.BACKEND, True),
        ("onnxoptimizer-defaults", SubjectKind.OPTIMIZER, True),
        ("reference", SubjectKind.BACKEND, False),
        ("reference-pass", SubjectKind.OPTIMIZER, False),
        ("my.module", SubjectKind.BACKEND, False),
        ("exec:harness", SubjectKind.BACKEND, False),
    ],
)
def test_adapter_digest_exists_for_adapters_of_releases(name, kind, has_digest):
    assert (adapter_digest(SubjectName.parse(name, kind)) is not None) is has_digest


def test_processor_begins_with_machine():
    assert processor().partition(":")[0].isidentifier()
