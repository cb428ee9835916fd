"""The judge in C++ gives the same results as the judge of this suite."""

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

PROGRAM = """
#include <iostream>
#include "judge.hpp"
int main(int count, char **files) {
    const auto read = [&](int i) { return *files[i] ? std::optional(read_tensor(files[i])) : std::nullopt; };
    std::cout << (violation({*read(2), read(3), read(4)}, *read(1)) ? "refused" : "accepted") << count;
}
"""

NAN, INF = np.nan, np.inf
FLOATS = ([1.0, 2.0], [1.0, 2.5], [1.0, NAN], [1.0, INF], [1.0, -INF], [1.0, -0.0], [1.0, 0.0], [1.0, 2.0**-14])
BOUNDS = (None, [0.0, 0.0], [0.0, 0.5], [0.0, INF])
"""Bounds; every pair of `FLOATS` is judged in every type with every bound."""


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """Return a function that runs the judge in C++, and returns whether it accepts an output."""
    if shutil.which("g++") is None:
        pytest.skip("needs a C++ compiler: apt-get install g++")
    folder = tmp_path_factory.mktemp("judge")
    (folder / "judged.cpp").write_text(PROGRAM)
    include, program = str(ROOT / "harnesses" / "cpp"), folder / "judged"
    command = ["g++", "-std=c++17", "-O0", "-I", include, str(folder / "judged.cpp"), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True)

    def judge(expected, actual):
        given = (actual, expected.expected, expected.bound, expected.choices)
        files = [_file(folder / f"{number}.pb", array) for number, array in enumerate(given)]
        printed = subprocess.run([program, *files], capture_output=True, text=True, check=True).stdout
        return printed == f"accepted{1 + len(files)}"

    return judge


def _file(path: Path, array) -> str:
    if array is None:
        return ""
    path.write_bytes(tensor_of(np.asarray(array), "").SerializeToString())
    return str(path)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, bfloat16], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_cpp_judge_agrees_on_floats(judge, dtype, bound):
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
def test_cpp_judge_agrees_on_indices(judge, actual):
    choices = np.array([[False, True, False], [False, False, True]])
    expected = ExpectedTensor("index", np.array([1, 2]), choices=choices)
    assert judge(expected, np.asarray(actual)) == is_acceptable(expected, np.asarray(actual))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.bool_], ids=lambda dtype: dtype.__name__)
def test_cpp_judge_agrees_on_other_types(judge, dtype):
    expected = ExpectedTensor("Y", np.array([0, 1], dtype))
    for actual in (np.array([0, 1], dtype), np.array([1, 1], dtype)):
        assert judge(expected, actual) == is_acceptable(expected, actual)
