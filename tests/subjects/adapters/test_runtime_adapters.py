"""Adapters of runtimes and of optimizers."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from itertools import chain
from types import SimpleNamespace

import onnx
import pytest
from argmax_models import IN_BRANCH, argmax_after, argmax_model, op_types
from packaging.requirements import Requirement
from repository import ROOT

from conformance.base.plugins import registered_entry_points
from conformance.corpus.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.subjects.calling.harness import is_unsupported
from conformance.subjects.calling.subject_loading import load_subject
from conformance.subjects.calling.subject_names import SubjectKind, SubjectName

# Built-in adapters of graph optimizers, with the real packages: optimized models, versions and passes.


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


# Table of released runtimes, runtimes.toml: pins, and agreement with pyproject.toml and the expectations.


WITHOUT_EXTRA = {"onnx-reference", "onnxruntime-openvino"}
"""The first is a part of onnx, a dependency of the suite; the package of the extra would overwrite the second."""

COMMAND_EXTRAS = {"census", "dask", "hypothesis"}
"""Extras for commands and for the Python interface, without a runtime."""


def toml(path):
    return tomllib.loads((ROOT / path).read_text(encoding="utf-8"))


PROJECT = toml("pyproject.toml")["project"]
EXTRAS = PROJECT["optional-dependencies"]
PINNED = toml("conformance/subjects/adapters/runtimes.toml")
OPTIMIZERS = PINNED["optimizers"]
HARNESSES, RUNTIMES = (
    {
        name: runtime
        for name, runtime in PINNED["runtimes"].items()
        if runtime["subject"].startswith("exec:") is is_harness
    }
    for is_harness in (True, False)
)


def entry(subject):
    """Return the entry point of a subject."""
    return subject.partition("[")[0]


def pins(runtime):
    """Return the pinned version of each package of a runtime."""
    named = [Requirement(text) for text in (*runtime.get("requirements", ()), *runtime.get("bare", ()))]
    assert all([one.operator for one in requirement.specifier] == ["=="] for requirement in named)
    return {requirement.name: next(iter(requirement.specifier)).version for requirement in named}


def unsatisfied(requirements, versions):
    """Return the requirements that the pinned versions do not satisfy."""
    return [text for text in requirements if not is_satisfied(Requirement(text), versions)]


def is_satisfied(requirement, versions):
    return requirement.name in versions and requirement.specifier.contains(versions[requirement.name])


@pytest.mark.parametrize("name", sorted(set(RUNTIMES) - WITHOUT_EXTRA))
def test_pins_of_runtime_satisfy_its_extra(name):
    assert not unsatisfied(EXTRAS[entry(RUNTIMES[name]["subject"])], pins(RUNTIMES[name]))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_pins_of_optimizer_satisfy_its_extra(name):
    assert not unsatisfied(EXTRAS[name], pins(OPTIMIZERS[name]))


def test_extras_belong_to_subjects_or_commands():
    runtimes = {entry(runtime["subject"]) for runtime in RUNTIMES.values()}
    assert set(EXTRAS) - COMMAND_EXTRAS == runtimes - WITHOUT_EXTRA | set(OPTIMIZERS)


def test_subjects_all_have_an_entry_point():
    backends, optimizers = (
        set(PROJECT["entry-points"][f"onnx_conformance.{kind}"]) for kind in ("backends", "optimizers")
    )
    assert {entry(runtime["subject"]) for runtime in RUNTIMES.values()} <= backends
    assert {entry(subject) for runtime in OPTIMIZERS.values() for subject in runtime["subjects"]} <= optimizers


def test_runtimes_all_have_an_expectations_file():
    subjects = {name: runtime["subject"] for name, runtime in (RUNTIMES | HARNESSES).items()}
    assert {name: toml(f"expectations/{name}.toml")["subject"] for name in subjects} == subjects


def test_packages_are_pinned_to_one_version():
    found = {pin for runtime in chain(RUNTIMES.values(), OPTIMIZERS.values()) for pin in pins(runtime).items()}
    assert len(found) == len(dict(found))


def test_tested_versions_satisfy_dependencies():
    required = [text for text in PROJECT["dependencies"] if Requirement(text).name in {"onnx", "numpy"}]
    assert not [pair for pair in PINNED["versions"] if unsatisfied(required, pair)]


def test_runtimes_of_tests_are_pinned():
    assert set(PINNED["tests"]) <= set(RUNTIMES)


def test_recorded_dependencies_name_compilers():
    assert {entry(runtime["subject"]) for runtime in RUNTIMES.values()} >= set(PINNED["dependencies"])
    assert all(runtime["tried_with"] for runtime in PINNED["dependencies"].values())


def test_recorded_libraries_are_pinned():
    installed = {entry(runtime["subject"]): set(pins(runtime)) | {"jaxlib"} for runtime in RUNTIMES.values()}
    assert not [
        name for name, runtime in PINNED["dependencies"].items() if {*runtime.get("libraries", ())} - installed[name]
    ]


# Which messages of OpenVINO mean that an operator is missing; OpenVINO itself is replaced by a fake.


BEGINNING = "Check 'false' failed at unconverted_ops_report.cpp:151:\nModel wasn't fully converted.\n-- Loop-13:\n"
PLACEHOLDER = "While validating node 'util::NotSupportedONNXNode H_new (opset1::Constant R[0]:f32[]) -> (dynamic[...])'"
TOP_K = "While validating node 'opset11::TopK TopK_1 (util::NotSupportedONNXNode Y[0]:dynamic[...]) -> (i64[...])'"
FAILED = "\n\nSummary:\n-- Conversion is failed for: "


class FakeCore:
    """Refuses every model with the message that the model consists of."""

    def read_model(self, model):
        raise RuntimeError(model.decode())


NAME = "conformance.subjects.adapters.openvino"


@pytest.fixture
def load_adapter(monkeypatch):
    """Return a function that loads the adapter with fake modules by name."""

    def load(**modules):
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name.replace("_", "."), module)
        monkeypatch.delitem(sys.modules, NAME, raising=False)
        return import_module(NAME)

    yield load
    sys.modules.pop(NAME)


@pytest.fixture
def adapter(load_adapter):
    """The adapter, loaded with a fake OpenVINO."""
    return load_adapter(openvino=SimpleNamespace(__version__="2026.4.1-1", Core=FakeCore))


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("No conversion rule found for operations: ai.onnx.preview.training.Adam-1", "Unsupported"),
        ("OpenVINO does not support the following ONNX operations: ai.onnx.preview.training.Adagrad", "Unsupported"),
        ("Check 'false' failed at src/inference/src/core.cpp:104:\nunsupported data type\n", "Unsupported"),
        (f"{BEGINNING}{PLACEHOLDER}{FAILED}Loop-13\n", "Unsupported"),
        (f"{BEGINNING}{PLACEHOLDER}{FAILED}If-13, Loop-13\n", "Unsupported"),
        (f"{BEGINNING}{PLACEHOLDER}{FAILED}ArgMax-13, Loop-13\n", "RuntimeError"),
        (f"{BEGINNING}{PLACEHOLDER}", "RuntimeError"),
        (f"{BEGINNING}{TOP_K}{FAILED}Scan-13\n", "RuntimeError"),
        (f"{BEGINNING}too few inputs{FAILED}Scan-13\n", "RuntimeError"),
    ],
)
def test_only_missing_operator_is_unsupported(adapter, message, error):
    with pytest.raises((RuntimeError, adapter.Unsupported)) as caught:
        adapter.OpenVinoBackend.prepare(message.encode())
    assert (type(caught.value).__name__, str(caught.value)) == (error, message)


def test_release_without_version_and_without_core_in_its_package_is_accepted(load_adapter, monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", {"openvino": "2023.0.0"}.__getitem__)
    adapter = load_adapter(openvino=SimpleNamespace(), openvino_runtime=SimpleNamespace(Core=FakeCore))
    assert adapter.OpenVinoBackend.__version__ == "2023.0.0"
    with pytest.raises(RuntimeError, match=r"^told$"):
        adapter.OpenVinoBackend.prepare(b"told")
