"""The options of onnx_runner.py."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which corpus, and which backend."""
    parser.addoption("--conformance-data")
    parser.addoption("--conformance-backend")
