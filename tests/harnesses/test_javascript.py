"""The harness in JavaScript, with the installed packages and with a fake package."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from isolation_support import isolated_subject
from large_models import double_identity
from repository import ROOT, exec_subject

from conformance.subjects.harness_check.check import check_harness
from conformance.subjects.harness_check.harness_session import RuleState
from conformance.subjects.isolation.start_subjects import client_of

pytestmark = pytest.mark.programs

FOLDER = ROOT / "harnesses" / "javascript"


@pytest.fixture
def fake_runtime(tmp_path):
    """The started harness with the fake package."""
    if not shutil.which("node"):
        pytest.skip("needs Node: apt-get install nodejs")
    package = tmp_path / "onnxruntime-node" / "node_modules" / "onnxruntime-node"
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"version": "1.0.0", "main": "index.mjs"}))
    shutil.copy(Path(__file__).with_name("fake_package.mjs"), package / "index.mjs")
    harness = shutil.copy(FOLDER / "harness.mjs", tmp_path)
    subject = isolated_subject(exec_subject("node", harness, "onnxruntime-node"))
    yield subject.target
    client_of(subject).stop()


@pytest.mark.parametrize("runtime", ["onnxruntime-node", "onnxruntime-web"])
def test_javascript_harness_satisfies_every_rule(runtime):
    if not (FOLDER / runtime / "node_modules").exists():
        pytest.skip(f"needs {runtime}: npm --prefix harnesses/javascript/{runtime} ci --ignore-scripts")
    outcomes = check_harness(["node", str(FOLDER / "harness.mjs"), runtime], 60)
    assert [outcome for outcome in outcomes if outcome.state is not RuleState.HOLDS] == []


def test_javascript_harness_large_outputs_are_read(fake_runtime):
    prepared = fake_runtime.prepare(double_identity(["N"]))
    for size in (200_000, 150_000, 300_000):
        X = np.arange(size, dtype=np.float64)
        np.testing.assert_array_equal(prepared.run([X])[0], X, strict=True)
    assert fake_runtime.client.info().files


@pytest.mark.parametrize("size", [3, 200_000])
def test_javascript_harness_reports_changed_inputs(fake_runtime, size):
    prepared = fake_runtime.prepare(double_identity([size]))
    for first in (1.0, 7.0):
        X = np.full(size, first)
        (Y,) = prepared.run([X])
        assert (X[0] != first, Y[0], Y[-1]) == (first == 7, first, first)
