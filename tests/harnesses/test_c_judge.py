"""The judge in C gives the same results as the judge of this suite."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16
from repository import ROOT

from conformance.corpus.loading import ExpectedTensor
from conformance.judging.compare import is_acceptable
from conformance.models.arrays import tensor_of

pytestmark = pytest.mark.programs

NAN, INF = np.nan, np.inf
FLOATS = ([1.0, 2.0], [1.0, 2.5], [1.0, NAN], [1.0, INF], [1.0, -INF], [1.0, -0.0], [1.0, 0.0], [1.0, 2.0**-14])
BOUNDS = (None, [0.0, 0.0], [0.0, 0.5], [0.0, INF])
"""Bounds; every pair of `FLOATS` is judged in every type with every bound."""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """Return the path of the judge in C, compiled with sanitizers."""
    if shutil.which("gcc") is None:
        pytest.skip("needs a C compiler: apt-get install gcc")
    program = tmp_path_factory.mktemp("judge") / "judge"
    warnings = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    source = str(ROOT / "harnesses" / "c" / "judge.c")
    subprocess.run(["gcc", *warnings, *checks, source, "-o", str(program), "-lm"], check=True, capture_output=True)
    return program


@pytest.fixture
def judge(program, tmp_path):
    """Return a function that runs the judge in C, and returns whether it accepts an output."""

    def judge(expected, actual):
        command = [str(program), _file(tmp_path / "expected.pb", expected.expected), _file(tmp_path / "a.pb", actual)]
        for option, array in (("--bound", expected.bound), ("--accept", expected.choices)):
            if array is not None:
                command += [option, _file(tmp_path / f"{option[2:]}.pb", array)]
        status = subprocess.run(command, check=False, capture_output=True).returncode
        assert status in (0, 1)
        return status == 0

    return judge


def _file(path: Path, array) -> str:
    path.write_bytes(tensor_of(np.asarray(array), "").SerializeToString())
    return str(path)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, bfloat16], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_c_judge_agrees_on_floats(judge, dtype, bound):
    for expected_values in FLOATS[2:]:
        for actual in FLOATS:
            bounds = None if bound is None else np.array(bound)
            expected = ExpectedTensor("Y", np.array(expected_values, dtype), bound=bounds)
            given = np.array(actual, dtype)
            assert judge(expected, given) == is_acceptable(expected, given), (expected_values, actual)


@pytest.mark.parametrize(
    "actual",
    [np.array([1, 2]), np.array([1, 0]), np.array([-1, 2]), np.array([3, 2]), np.array([1, 2], np.int32), [[1, 2]]],
    ids=str,
)
def test_c_judge_agrees_on_indices(judge, actual):
    choices = np.array([[False, True, False], [False, False, True]])
    expected = ExpectedTensor("index", np.array([1, 2]), choices=choices)
    assert judge(expected, np.asarray(actual)) == is_acceptable(expected, np.asarray(actual))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.bool_], ids=lambda dtype: dtype.__name__)
def test_c_judge_agrees_on_other_types(judge, dtype):
    expected = ExpectedTensor("Y", np.array([0, 1], dtype))
    for actual in (np.array([0, 1], dtype), np.array([1, 1], dtype)):
        assert judge(expected, actual) == is_acceptable(expected, actual)


def test_c_judge_damaged_output_fails(program, tmp_path):
    expected = _file(tmp_path / "expected.pb", np.arange(5, dtype=np.float32))
    content = Path(expected).read_bytes()
    actual = tmp_path / "actual.pb"
    for size in range(len(content)):
        actual.write_bytes(content[:size])
        assert subprocess.run([program, expected, actual], check=False, capture_output=True).returncode == 1, size


def test_c_judge_damaged_bound_is_refused(program, tmp_path):
    expected = _file(tmp_path / "expected.pb", np.arange(5, dtype=np.float32))
    bound = _file(tmp_path / "bound.pb", np.zeros(4))
    assert (
        subprocess.run([program, expected, expected, "--bound", bound], check=False, capture_output=True).returncode
        == 2
    )
