"""Distances of outputs from expected values, as shares of the bound."""

import numpy as np
import onnx
import pytest

from conformance.exact.judgement.distances import find_distances
from conformance.exact.judgement.rewrite_effects import judge_rewrite_of
from conformance.exact.reference.numbers.enclosure import Enclosure

TWO, NAN, ZERO = (np.float32([value]) for value in (2, np.nan, 0))
NEAR_TWO = Enclosure(TWO.astype(np.float64), np.float64([0.5]), TWO.dtype)
EQUAL_VALUES = [(2, TWO, 0), (np.nan, NAN, 0), (2, NEAR_TWO, 0), (2, Enclosure.exact(TWO), 0)]
OTHER_VALUES = [(2.5, TWO, np.inf), (-0.0, ZERO, np.inf), (2.5, NEAR_TWO, 1), (1, NEAR_TWO, 2)]


@pytest.mark.parametrize(("actual", "expected", "share"), [*EQUAL_VALUES, *OTHER_VALUES])
def test_distance_is_a_share_of_the_bound_and_infinite_without_a_bound(actual, expected, share):
    assert find_distances(np.float32([actual]), expected, has_signed_zeros=True).shares.tolist() == [share]


@pytest.mark.parametrize(("sizes", "is_wrong"), [("1, 2", False), ("n, m", True)])
def test_sizes_that_a_caller_replaces_keep_the_declared_shapes(sizes, is_wrong):
    first, second = (f"float[{size}, 2]" for size in sizes.split(", "))
    head = f"""<ir_version: 8, opset_import: ["": 17]> g (float[3, 2] X, int64[2] parts) => ({first} A, {second} B)"""
    before = onnx.parser.parse_model(f"{head} <int64[2] parts = {{1, 2}}> {{ A, B = Split (X, parts) }}")
    fixed = "int64[1] zero = {0}, int64[1] one = {1}, int64[1] three = {3}"
    slices = "A = Slice (X, zero, one) B = Slice (X, one, three)"
    after = onnx.parser.parse_model(f"{head} <int64[2] parts = {{1, 2}}, {fixed}> {{ {slices} }}")
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    assert judge_rewrite_of(before, after, {"X": X}).is_wrong == is_wrong
