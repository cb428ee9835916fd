"""Sums, products of matrices and reductions: every order of summation is enclosed."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from one_node_models import X, computed, f32, judged, numbers
from reference_models import both_levels, excess, law, nearest

from conformance.verdicts import Level, Unsupported


def sums(values, add=np.add):
    """A sum in every order, pairwise, and in double."""
    for order in permutations(values):
        total = order[0]
        for value in order[1:]:
            total = add(total, value)
        yield total
    yield add(add(*values[:2]), add(*values[2:4])) if len(values) == 4 else total
    yield np.float32(sum(map(float, values)))


@both_levels
@law
@given(st.lists(numbers, min_size=1, max_size=5))
def test_a_sum_encloses_every_order(level, values):
    values = f32(*values)
    answer = judged("ReduceSum", values, level=level, keepdims=0)
    assert answer.expected == nearest(sum(map(Fraction, map(float, values))), np.float32)
    assert max(excess(answer, total) for total in sums(values)) <= 1


def test_a_sum_of_cancelling_terms_has_the_bound_of_their_magnitudes():
    values = f32(2**24, 1, -(2**24), 1)
    answer = judged("ReduceSum", values, keepdims=0)
    assert answer.expected == 2
    assert {float(total) for total in sums(values)} >= {0.0, 1.0, 2.0}
    assert answer.bound <= 4 * 2**-24 * float(np.abs(values).sum())


def test_a_sum_that_overflows_in_some_order_is_in_doubt():
    assert judged("ReduceSum", f32(3e38, -3e38, 3e38)).unsettled


@pytest.mark.parametrize("values", [[np.inf, 1, 2], [-np.inf, 1, 2], [np.inf, -np.inf, 1], [np.nan, 1, 2]])
def test_a_sum_with_infinities_or_nan_is_the_same_in_every_order(values):
    answer = judged("ReduceSum", f32(*values), level=Level.MUST, keepdims=0)
    assert not answer.unsettled
    with np.errstate(invalid="ignore"):
        assert all(np.array_equal(answer.expected, total, equal_nan=True) for total in sums(f32(*values)))


@both_levels
@law
@given(st.integers(0, 2**32))
def test_a_matrix_product_encloses_every_order_of_summation_and_fused_steps(level, seed):
    random = np.random.default_rng(seed)
    A, B = (random.standard_normal(shape).astype(np.float32) for shape in ((2, 5), (5, 3)))
    answer = judged("MatMul", A, B, level=level)
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
        assert max(excess(answer, total), excess(answer, fused), excess(answer, A @ B)) <= 1
    assert excess(answer, computed("MatMul", A, B)) <= 1


def test_a_matrix_product_broadcasts_over_batches():
    A, B = np.arange(12, dtype=np.float32).reshape(2, 2, 3), np.arange(6, dtype=np.float32).reshape(3, 2)
    assert judged("MatMul", A, B).expected.tolist() == (A @ B).tolist()


def test_a_matrix_product_over_nothing_is_zero():
    answer = judged("MatMul", np.ones((2, 0), np.float32), np.ones((0, 3), np.float32))
    assert answer.expected.tolist() == np.zeros((2, 3)).tolist()


def test_a_matrix_product_of_a_vector_is_unsupported():
    with pytest.raises(Unsupported, match="vector"):
        judged("MatMul", f32(1, 2), np.ones((2, 2), np.float32))


@pytest.mark.parametrize("axes", [[0], [1], [-1], [0, 2], [2, 0], None])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes_are_reduced(axes, keepdims):
    expected = X.mean(axis=tuple(axes) if axes else None, keepdims=bool(keepdims))
    options = {"axes": axes} if axes else {}
    for result in (judged("ReduceMean", X, keepdims=keepdims, **options).expected,
                   computed("ReduceMean", X, keepdims=keepdims, **options)):  # fmt: skip
        np.testing.assert_array_equal(result, expected)
    given = [np.array(axes)] if axes else []
    totals = X.sum(axis=tuple(axes) if axes else None, keepdims=bool(keepdims))
    np.testing.assert_array_equal(judged("ReduceSum", X, *given, keepdims=keepdims).expected, totals)


def test_a_sum_over_an_empty_axis_is_zero():
    assert judged("ReduceSum", np.ones((0, 2), np.float32), np.array([0]), keepdims=0).expected.tolist() == [0, 0]
