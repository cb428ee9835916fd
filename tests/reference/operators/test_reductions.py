"""Sums, matrix products and reductions: the bounds contain every order of summation."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_node_models import X, f32, numbers, oracle_answers, reference_output
from onnx import TensorProto, helper
from reference_models import both_levels, build_model, error_in_bounds, nearest

from conformance.reference.oracle import answers
from conformance.verdicts import Level


def sums(values, add=np.add):
    """Return a sum computed in every order, pairwise, and in double."""
    for order in permutations(values):
        total = order[0]
        for value in order[1:]:
            total = add(total, value)
        yield total
    yield add(add(*values[:2]), add(*values[2:4])) if len(values) == 4 else total
    yield np.float32(sum(map(float, values)))


@both_levels
@given(st.lists(numbers, min_size=1, max_size=5))
def test_sum_bound_contains_every_order(level, values):
    values = f32(*values)
    answer = oracle_answers("ReduceSum", values, level=level, keepdims=0)
    assert answer.expected == nearest(sum(map(Fraction, map(float, values))), np.float32)
    assert max(error_in_bounds(answer, total) for total in sums(values)) <= 1


def test_cancelling_sum_bound_depends_on_magnitudes():
    values = f32(2**24, 1, -(2**24), 1)
    answer = oracle_answers("ReduceSum", values, keepdims=0)
    assert answer.expected == 2
    assert {float(total) for total in sums(values)} >= {0.0, 1.0, 2.0}
    assert answer.bound <= 4 * 2**-24 * float(np.abs(values).sum())


def test_sum_overflowing_in_some_order_is_indeterminate():
    assert oracle_answers("ReduceSum", f32(3e38, -3e38, 3e38)).indeterminacy


@pytest.mark.parametrize("values", [[np.inf, 1, 2], [-np.inf, 1, 2], [np.inf, -np.inf, 1], [np.nan, 1, 2]])
def test_sum_with_infinity_or_nan_is_determinate(values):
    answer = oracle_answers("ReduceSum", f32(*values), level=Level.MUST, keepdims=0)
    assert not answer.indeterminacy
    with np.errstate(invalid="ignore"):
        assert all(np.array_equal(answer.expected, total, equal_nan=True) for total in sums(f32(*values)))


@both_levels
@given(st.integers(0, 2**32))
def test_matmul_bound_contains_every_order_and_fma(level, seed):
    random = np.random.default_rng(seed)
    A, B = (random.standard_normal(shape).astype(np.float32) for shape in ((2, 5), (5, 3)))
    answer = oracle_answers("MatMul", A, B, level=level)
    exact = [
        [sum(Fraction(float(A[i, k])) * Fraction(float(B[k, j])) for k in range(5)) for j in range(3)] for i in range(2)
    ]
    assert answer.expected.tolist() == [[nearest(value, np.float32) for value in row] for row in exact]
    for order in permutations(range(5)):
        total = np.zeros((2, 3), np.float32)
        fused = np.zeros((2, 3), np.float32)
        for k in order:
            product = np.outer(A[:, k], B[k])
            total = total + product
            fused = (fused + np.outer(A[:, k].astype(float), B[k].astype(float))).astype(np.float32)
        assert max(error_in_bounds(answer, total), error_in_bounds(answer, fused), error_in_bounds(answer, A @ B)) <= 1
    assert error_in_bounds(answer, reference_output("MatMul", A, B)) <= 1


def test_matmul_broadcasts_batches():
    A, B = np.arange(12, dtype=np.float32).reshape(2, 2, 3), np.arange(6, dtype=np.float32).reshape(3, 2)
    assert oracle_answers("MatMul", A, B).expected.tolist() == (A @ B).tolist()


def test_matmul_over_empty_axis_is_zero():
    answer = oracle_answers("MatMul", np.ones((2, 0), np.float32), np.ones((0, 3), np.float32))
    assert answer.expected.tolist() == np.zeros((2, 3)).tolist()


def test_matmul_of_vector_has_no_axis_of_vector():
    answer = oracle_answers("MatMul", f32(1, 2), np.array([[1, 3], [5, 7]], np.float32))
    assert answer.expected.tolist() == [11, 17]


@pytest.mark.parametrize("axes", [[0], [1], [-1], [0, 2], [2, 0], None])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reduce_sum_reduces_axes(axes, keepdims):
    expected = X.mean(axis=tuple(axes) if axes else None, keepdims=bool(keepdims))
    options = {"axes": axes} if axes else {}
    for result in (oracle_answers("ReduceMean", X, keepdims=keepdims, **options).expected,
                   reference_output("ReduceMean", X, keepdims=keepdims, **options)):  # fmt: skip
        np.testing.assert_array_equal(result, expected)
    given = [np.array(axes)] if axes else []
    totals = X.sum(axis=tuple(axes) if axes else None, keepdims=bool(keepdims))
    np.testing.assert_array_equal(oracle_answers("ReduceSum", X, *given, keepdims=keepdims).expected, totals)


def test_sum_over_empty_axis_is_zero():
    assert oracle_answers("ReduceSum", np.ones((0, 2), np.float32), np.array([0]), keepdims=0).expected.tolist() == [
        0,
        0,
    ]


class TestNormalizations:
    X = np.array([[1, -2, 4], [0.5, 3, -1]], np.float32)

    @staticmethod
    def expected(op_type, *inputs, opset, **attributes):
        """Return the expected output of a node with these inputs."""
        names = [f"X{number}" for number in range(len(inputs))]
        node = helper.make_node(op_type, names, ["Y"], **attributes)
        model = build_model([node], dict(zip(names, inputs, strict=True)), {"Y": TensorProto.FLOAT}, opset=opset)
        return answers(model, list(inputs), Level.SHOULD)[0].expected

    @pytest.mark.parametrize("axis", [0, -1])
    @pytest.mark.parametrize("p", [1, 2])
    def test_lp_normalization_divides_by_norm(self, axis, p):
        answer = self.expected("LpNormalization", self.X, opset=13, axis=axis, p=p)
        expected = self.X / np.linalg.norm(self.X.astype(np.float64), p, axis, keepdims=True)
        np.testing.assert_allclose(answer, expected, rtol=1e-6)

    def test_lp_normalization_of_zeros_is_zero(self):
        answer = self.expected("LpNormalization", np.zeros((1, 3), np.float32), opset=13)
        assert answer.tolist() == [[0, 0, 0]]

    def test_layer_normalization_standardizes_rows(self):
        scale = np.array([2, 1, 0.5], np.float32)
        answer = self.expected("LayerNormalization", self.X, scale, opset=17)
        wide = self.X.astype(np.float64)
        expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * scale
        np.testing.assert_allclose(answer, expected, rtol=1e-5)

    def test_batch_normalization_uses_given_statistics(self):
        scale, bias, mean, variance = (
            np.array(row, np.float32) for row in ([2, 1, 3], [0, 1, 2], [1, 0, 2], [4, 1, 9])
        )
        answer = self.expected("BatchNormalization", self.X, scale, bias, mean, variance, opset=15)
        expected = (self.X - mean) / np.sqrt(variance + 1e-5) * scale + bias
        np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-6)
