"""The judge in C++: an output passes it where the suite's own judge says so."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from ml_dtypes import bfloat16
from repository import ROOT

from conformance.corpus.loading import ExpectedTensor
from conformance.judging.compare import accepts
from conformance.models.arrays import tensor_of

pytestmark = pytest.mark.programs

JUDGED = """
#include <iostream>
#include "judge.hpp"
int main(int count, char **files) {
    const auto beside = [&](int i) { return *files[i] ? std::optional(read_tensor(files[i])) : std::nullopt; };
    std::cout << (complaint({*beside(2), beside(3), beside(4)}, *beside(1)) ? "refused" : "accepted") << count;
}
"""

NAN, INF = np.nan, np.inf
FLOATS = ([1.0, 2.0], [1.0, 2.5], [1.0, NAN], [1.0, INF], [1.0, -INF], [1.0, -0.0], [1.0, 0.0], [1.0, 2.0**-14])
BOUNDS = (None, [0.0, 0.0], [0.0, 0.5], [0.0, INF])
"""What is judged is every pair of these numbers, in every type and with every bound."""


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """Asks the judge in C++ whether an output is accepted."""
    if shutil.which("g++") is None:
        pytest.skip("needs a C++ compiler: apt-get install g++")
    folder = tmp_path_factory.mktemp("judge")
    (folder / "judged.cpp").write_text(JUDGED)
    include, program = str(ROOT / "harnesses" / "cpp"), folder / "judged"
    command = ["g++", "-std=c++17", "-O0", "-I", include, str(folder / "judged.cpp"), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True)

    def judge(expected, actual):
        given = (actual, expected.expected, expected.bound, expected.choices)
        files = [_file(folder / f"{place}.pb", array) for place, array in enumerate(given)]
        said = subprocess.run([program, *files], capture_output=True, text=True, check=True).stdout
        return said == f"accepted{1 + len(files)}"

    return judge


def _file(path: Path, array) -> str:
    if array is None:
        return ""
    path.write_bytes(tensor_of(np.asarray(array), "").SerializeToString())
    return str(path)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, bfloat16], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_floats_pass_as_they_do_in_a_run(judge, dtype, bound):
    for wanted in FLOATS[2:]:
        for actual in FLOATS:
            held = None if bound is None else np.array(bound)
            expected = ExpectedTensor("Y", np.array(wanted, dtype), bound=held)
            given = np.array(actual, dtype)
            assert judge(expected, given) == accepts(expected, given), (wanted, actual)


@pytest.mark.parametrize(
    "actual",
    [np.array([1, 2]), np.array([1, 0]), np.array([-1, 2]), np.array([3, 2]), np.array([1, 2], np.int32), [[1, 2]]],
    ids=str,
)
def test_indices_pass_as_they_do_in_a_run(judge, actual):
    choices = np.array([[False, True, False], [False, False, True]])
    expected = ExpectedTensor("index", np.array([1, 2]), choices=choices)
    assert judge(expected, np.asarray(actual)) == accepts(expected, np.asarray(actual))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.bool_], ids=lambda dtype: dtype.__name__)
def test_other_elements_pass_as_they_do_in_a_run(judge, dtype):
    expected = ExpectedTensor("Y", np.array([0, 1], dtype))
    for actual in (np.array([0, 1], dtype), np.array([1, 1], dtype)):
        assert judge(expected, actual) == accepts(expected, actual)
