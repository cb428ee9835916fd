"""Built-in adapters of graph optimizers, with the real packages: optimized models, versions and passes."""

from __future__ import annotations

import onnx
import pytest
from argmax_models import IN_BRANCH, argmax_after, argmax_model, op_types

from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.plugins import registered_entry_points
from conformance.subjects.harness import is_unsupported
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
APPLIES_PASS = {"onnxoptimizer", "onnxoptimizer-defaults", "onnxsim", "reference-pass"}


@pytest.fixture
def subject():
    """Return a function that loads a built-in graph optimizer; the test is skipped if its package is missing."""

    def load(name):
        package = PACKAGES[name.partition("[")[0]]
        pytest.importorskip(package, reason=f"{package} is not installed: it is an extra of onnx-conformance")
        return load_subject(SubjectName.parse(name, SubjectKind.OPTIMIZER))

    return load


def test_registered_optimizers_are_all_tested():
    assert set(registered_entry_points("optimizers")) == set(PACKAGES)


@pytest.mark.parametrize("name", SUBJECTS)
def test_optimizer_applies_pass_or_keeps_graph(subject, name):
    after = subject(name).target(argmax_after("Softmax<axis=1>"))
    assert op_types(after) == (["ArgMax"] if name in APPLIES_PASS else ["Softmax", "ArgMax"])
    onnx.checker.check_model(after, full_check=True)


@pytest.mark.parametrize("name", SUBJECTS)
def test_optimizer_keeps_input_model(subject, name):
    proto = argmax_model(IN_BRANCH)
    before = proto.SerializeToString(deterministic=True)
    subject(name).target(proto)
    assert proto.SerializeToString(deterministic=True) == before


@pytest.mark.parametrize("name", SUBJECTS)
def test_optimizer_has_version_of_package(subject, name):
    version = subject(name).version
    assert version == __import__(PACKAGES[name.partition("[")[0]]).__version__.removeprefix("v")


@pytest.mark.parametrize("name", PACKAGES)
def test_optimizer_declares_passes(subject, name):
    passes = subject(name).passes
    assert passes == (("eliminate_nop_monotone_argmax",) if name in {"onnxoptimizer", "reference-pass"} else ())


@pytest.mark.parametrize("name", ["onnxoptimizer", "reference-pass"])
def test_optimizer_distinguishes_fixed_point(subject, name):
    optimize = subject(name).target
    chain = argmax_model("A = Exp(X) B = Log(A) index = ArgMax<axis=1, keepdims=0>(B)")
    assert op_types(optimize(chain)) == ["Exp", "ArgMax"]
    assert op_types(optimize(chain, fixed_point=True)) == ["ArgMax"]


def test_onnxruntime_unknown_level_is_unsupported(subject):
    with pytest.raises(Exception, match="highest") as raised:
        subject("onnxruntime[level=highest]").target(argmax_after("Exp"))
    assert is_unsupported(raised.value)


def test_onnxruntime_missing_kernel_is_unsupported(subject):
    proto = argmax_after("Exp")
    proto.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.BFLOAT16
    with pytest.raises(Exception, match="NOT_IMPLEMENTED") as raised:
        subject("onnxruntime").target(proto)
    assert is_unsupported(raised.value)


@pytest.mark.parametrize("level", LEVELS)
def test_onnxruntime_returns_saved_model(subject, level):
    after = subject(f"onnxruntime[level={level}]").target(argmax_after("Exp"))
    assert "com.microsoft" in {entry.domain for entry in after.opset_import}


def test_onnxsim_failed_check_is_error(subject, monkeypatch):
    onnxsim = pytest.importorskip("onnxsim", reason="onnxsim is not installed: it is an extra of onnx-conformance")
    monkeypatch.setattr(onnxsim, "simplify", lambda proto: (proto, False))
    with pytest.raises(ValueError, match="check"):
        subject("onnxsim").target(argmax_after("Exp"))


def test_onnxoptimizer_pass_name_equals_that_of_suite(subject):
    assert subject("onnxoptimizer").passes == (PASS_NAME,)
