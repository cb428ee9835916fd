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


@pytest.fixture
def adapter(monkeypatch):
    """The adapter, loaded with a fake OpenVINO."""
    name = "conformance.adapters.openvino"
    monkeypatch.setitem(sys.modules, "openvino", SimpleNamespace(__version__="2026.4.1-1", Core=FakeCore))
    monkeypatch.delitem(sys.modules, name, raising=False)
    module = import_module(name)
    yield module
    sys.modules.pop(name)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("No conversion rule found for operations: ai.onnx.preview.training.Adam-1", "Unsupported"),
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
