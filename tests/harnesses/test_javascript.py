"""The harness in JavaScript: around the packages that it hosts, where they are installed, and around a stand-in."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from file_backends import double_identity
from isolation_support import apart
from repository import ROOT

from conformance.harness_check.check import check_harness
from conformance.harness_check.fact import State
from conformance.isolation.starting import host_of

pytestmark = pytest.mark.programs

FOLDER = ROOT / "harnesses" / "javascript"

STAND_IN = """
export const env = { wasm: {} };
export class Tensor {
  constructor(type, data, dims) {
    Object.assign(this, { type, data, dims });
  }
}
export class InferenceSession {
  static create = async () => new InferenceSession();
  outputNames = ["Y"];
  async release() {}
  async run({ X }) {
    const Y = new Tensor(X.type, X.data.slice(), X.dims);
    if (Y.data[0] === 7) X.data[0] = 0;
    return { Y };
  }
}
"""
"""A package that gives its input back, and writes into one that begins with 7."""


@pytest.fixture
def stand_in(tmp_path):
    """The harness around the stand-in, started."""
    if not shutil.which("node"):
        pytest.skip("needs Node: apt-get install nodejs")
    package = tmp_path / "onnxruntime-node" / "node_modules" / "onnxruntime-node"
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"version": "1.0.0", "main": "index.mjs"}))
    (package / "index.mjs").write_text(STAND_IN)
    harness = shutil.copy(FOLDER / "harness.mjs", tmp_path)
    subject = apart(f"exec:node {harness} onnxruntime-node")
    yield subject.target
    host_of(subject).stop()


@pytest.mark.parametrize("runtime", ["onnxruntime-node", "onnxruntime-web"])
def test_the_harness_in_javascript_keeps_to_the_protocol(runtime):
    if not (FOLDER / runtime / "node_modules").exists():
        pytest.skip(f"needs {runtime}: npm --prefix harnesses/javascript/{runtime} ci --ignore-scripts")
    outcomes = check_harness(["node", str(FOLDER / "harness.mjs"), runtime], 60)
    assert [outcome for outcome in outcomes if outcome.state is not State.HOLDS] == []


def test_large_outputs_written_one_over_the_other_are_read_as_they_were(stand_in):
    prepared = stand_in.prepare(double_identity(["N"]))
    for size in (200_000, 150_000, 300_000):
        X = np.arange(size, dtype=np.float64)
        np.testing.assert_array_equal(prepared.run([X])[0], X, strict=True)
    assert stand_in.host.introduced().files


@pytest.mark.parametrize("size", [3, 200_000])
def test_inputs_that_the_runtime_writes_into_are_told(stand_in, size):
    prepared = stand_in.prepare(double_identity([size]))
    for first in (1.0, 7.0):
        X = np.full(size, first)
        (Y,) = prepared.run([X])
        assert (X[0] != first, Y[0], Y[-1]) == (first == 7, first, first)
