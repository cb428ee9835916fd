"""Fixtures of the tests of commands."""

from __future__ import annotations

from hashlib import sha256

import pytest
from session_cache import compute_once

from conformance.corpus.generation import expected_outputs

FILES_BY_ID = {}


@pytest.fixture
def files_computed_once(monkeypatch):
    """Computes the files of each case once for all tests, which takes most of the time of `generate`."""
    compute = expected_outputs.case_files

    def computed(case, generator):
        return FILES_BY_ID.get(case.id) or FILES_BY_ID.setdefault(case.id, compute(case, generator))

    monkeypatch.setattr(expected_outputs, "case_files", computed)


@pytest.fixture
def run(command, small_corpus):
    """Runs `onnx-conformance run` on the small corpus, with subjects in this process, which is soon done."""
    return lambda *arguments: command("run", "--data", small_corpus, "--no-isolation", *arguments)


@pytest.fixture
def run_isolated(command, small_corpus):
    """The same with subjects in processes of their own."""
    return lambda *arguments, diagnose=False: command(
        "run", "--data", small_corpus, *arguments, diagnose=diagnose, isolate=True
    )


@pytest.fixture
def run_apart(process, small_corpus):
    """The same in a fork of this process, as several processes need it."""
    return lambda *told, **variables: process("fork", "run", "--data", small_corpus, *told, **variables)


@pytest.fixture
def ran(run_with_faults, here, tmp_path_factory):
    """Puts the results of a run on the small corpus here; what several tests ask for is run once."""

    def put(name, *arguments, faults=""):
        def make():
            run_with_faults(*arguments, "--results", name, faults=faults)
            return (here / name).read_bytes()

        told = sha256(repr((arguments, faults)).encode()).hexdigest()
        (here / name).write_bytes(compute_once(tmp_path_factory, f"run-{told}", make))

    return put
