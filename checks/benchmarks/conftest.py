"""The options of onnx_runner.py."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for the corpus and the backend."""
    parser.addoption("--conformance-data")
    parser.addoption("--conformance-backend")
