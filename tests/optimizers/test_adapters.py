"""The built-in adapters, each with the real package: what it rewrites, what it leaves, and what it claims."""

from __future__ import annotations

import onnx
import pytest
from argmax_models import IN_BRANCH, fed_by, model, op_types

from conformance.plugins import registered
from conformance.subjects.failures import is_unsupported
from conformance.subjects.loading import load_subject
from conformance.subjects.naming import SubjectKind, SubjectName

PACKAGES = {
    "identity": "conformance",
    "onnxoptimizer": "onnxoptimizer",
    "onnxoptimizer-defaults": "onnxoptimizer",
    "onnxruntime": "onnxruntime",
    "onnxscript": "onnxscript",
    "onnxsim": "onnxsim",
    "reference-pass": "conformance",
}
LEVELS = ("basic", "extended", "layout", "all")
SUBJECTS = (*PACKAGES, *(f"onnxruntime[level={level}]" for level in LEVELS))
FIRE = {"onnxoptimizer", "onnxoptimizer-defaults", "onnxsim", "reference-pass"}


@pytest.fixture
def subject():
    """A built-in graph optimizer by its name, where its package is installed."""

    def load(name):
        package = PACKAGES[name.partition("[")[0]]
        pytest.importorskip(package, reason=f"{package} is not installed: it is an extra of onnx-conformance")
        return load_subject(SubjectName.of(name, SubjectKind.OPTIMIZER))

    return load


def test_every_registered_adapter_is_tested_here():
    assert set(registered("optimizers")) == set(PACKAGES)


@pytest.mark.parametrize("name", SUBJECTS)
def test_it_applies_the_pass_or_leaves_the_graph(subject, name):
    after = subject(name).target(fed_by("Softmax<axis=1>"))
    assert op_types(after) == (["ArgMax"] if name in FIRE else ["Softmax", "ArgMax"])
    onnx.checker.check_model(after, full_check=True)


@pytest.mark.parametrize("name", SUBJECTS)
def test_it_leaves_the_caller_s_model_as_it_is(subject, name):
    proto = model(IN_BRANCH)
    before = proto.SerializeToString(deterministic=True)
    subject(name).target(proto)
    assert proto.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("name", SUBJECTS)
def test_it_tells_the_version_of_its_package(subject, name):
    version = subject(name).version
    assert version == __import__(PACKAGES[name.partition("[")[0]]).__version__.removeprefix("v")


@pytest.mark.parametrize("name", PACKAGES)
def test_two_of_them_claim_the_pass(subject, name):
    claims = subject(name).passes
    assert claims == (("eliminate_nop_monotone_argmax",) if name in {"onnxoptimizer", "reference-pass"} else ())


@pytest.mark.parametrize("name", ["onnxoptimizer", "reference-pass"])
def test_those_that_claim_it_know_a_single_run_and_a_fixed_point_apart(subject, name):
    optimize = subject(name).target
    chain = model("A = Exp(X) B = Log(A) index = ArgMax<axis=1, keepdims=0>(B)")
    assert op_types(optimize(chain)) == ["Exp", "ArgMax"]
    assert op_types(optimize(chain, fixed_point=True)) == ["ArgMax"]


def test_onnxruntime_says_that_it_has_no_such_level(subject):
    with pytest.raises(Exception, match="no level highest") as raised:
        subject("onnxruntime[level=highest]").target(fed_by("Exp"))
    assert is_unsupported(raised.value)


def test_onnxruntime_says_that_it_has_no_such_kernel(subject):
    proto = fed_by("Exp")
    proto.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.BFLOAT16
    with pytest.raises(Exception, match="Could not find an implementation") as raised:
        subject("onnxruntime").target(proto)
    assert is_unsupported(raised.value)


@pytest.mark.parametrize("level", LEVELS)
def test_onnxruntime_s_model_is_the_one_that_it_saves(subject, level):
    after = subject(f"onnxruntime[level={level}]").target(fed_by("Exp"))
    assert "com.microsoft" in {entry.domain for entry in after.opset_import}


def test_onnxsim_that_says_its_result_is_wrong_is_an_error(subject, monkeypatch):
    onnxsim = pytest.importorskip("onnxsim", reason="onnxsim is not installed: it is an extra of onnx-conformance")
    monkeypatch.setattr(onnxsim, "simplify", lambda proto: (proto, False))
    with pytest.raises(ValueError, match="onnxsim's own check fails"):
        subject("onnxsim").target(fed_by("Exp"))
