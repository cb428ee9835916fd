"""Fixtures of the tests of commands."""

from __future__ import annotations

import pytest


@pytest.fixture
def run(command, small_corpus):
    """Runs `onnx-conformance run` on the small corpus."""
    return lambda *arguments: command("run", "--data", small_corpus, *arguments)


@pytest.fixture
def run_apart(process, small_corpus):
    """The same in a process of its own, as several processes need it."""
    return lambda *told, **variables: process("onnx-conformance", "run", "--data", small_corpus, *told, **variables)
