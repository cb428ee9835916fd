"""Which messages of OpenVINO mean that an operator is missing; OpenVINO itself is replaced by a fake."""

from __future__ import annotations

import sys
from importlib import import_module
from types import SimpleNamespace

import pytest

BEGINNING = "Check 'false' failed at unconverted_ops_report.cpp:151:\nModel wasn't fully converted.\n-- Loop-13:\n"
PLACEHOLDER = "While validating node 'util::NotSupportedONNXNode H_new (opset1::Constant R[0]:f32[]) -> (dynamic[...])'"
TOP_K = "While validating node 'opset11::TopK TopK_1 (util::NotSupportedONNXNode Y[0]:dynamic[...]) -> (i64[...])'"
FAILED = "\n\nSummary:\n-- Conversion is failed for: "


class FakeCore:
    """Refuses every model with the message that the model consists of."""

    def read_model(self, model):
        raise RuntimeError(model.decode())


NAME = "conformance.adapters.openvino"


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
