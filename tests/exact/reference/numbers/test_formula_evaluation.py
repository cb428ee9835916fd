"""Equal elements and common subexpressions are computed once. The results are those of separate computations."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from conformance.exact.models.arrays import FLOAT, object_array
from conformance.exact.reference.numbers.bounded import BoundedNumber
from conformance.exact.reference.numbers.decimals import exact_context, from_array
from conformance.exact.reference.numbers.formula_evaluation import (
    CachedExpression,
    UniqueElements,
    evaluate_formula,
)
from conformance.exact.reference.numbers.precision import Precision, Role

TENSOR = Precision(Role.TENSOR, FLOAT, FLOAT)


class MultiplicationCounter:
    """A number that counts its multiplications."""

    def __init__(self):
        self.count = 0

    def __mul__(self, other):
        del other
        self.count += 1
        return self


def thirds(X):
    """Return a third of X: a formula whose result is rounded."""
    return [X / 3]


def results(numbers, *, independent=True):
    with exact_context():
        (result,) = evaluate_formula(
            thirds,
            [],
            [from_array(np.array(numbers, dtype=np.float32))],
            {},
            TENSOR,
            has_independent_results=independent,
        )
    return result


def ends(number: BoundedNumber) -> tuple[Decimal, Decimal, Decimal]:
    return number.low, number.value, number.high


def test_unique_elements_merge_equal_operands():
    X, G = from_array(np.array([1.0, 2.0, 1.0, 1.0])), from_array(np.array([5.0, 5.0, 5.0, 6.0]))
    unique = UniqueElements.find([X, G])
    assert unique.indices.tolist() == [0, 1, 3]
    assert unique.inverse.tolist() == [0, 1, 0, 2]


def test_unique_elements_of_a_long_vector_are_distinguished():
    X = np.arange(2**15 + 2).astype(object)
    assert UniqueElements.find([X]).indices.tolist() == X.tolist()


def test_unique_elements_distinguish_signed_zeros():
    assert UniqueElements.find([from_array(np.array([0.0, -0.0]))]).indices.tolist() == [0, 1]


def test_unique_elements_of_different_shapes_are_none():
    assert UniqueElements.find([from_array(np.zeros((2, 1))), from_array(np.zeros(2))]) is None


def test_cached_expression_computes_common_operation_once():
    counting, known = MultiplicationCounter(), {}
    X, Y = CachedExpression(counting, known), CachedExpression(counting, known)
    assert X * Y is X * Y
    assert counting.count == 1


def test_equal_elements_have_own_noise_symbols():
    first, second = results([1.0, 1.0])
    assert ends(first) == ends(second)
    assert not set(first.affine_form.coefficients) & set(second.affine_form.coefficients)


def test_second_node_gives_equal_elements_equal_results():
    with exact_context():
        (once,) = evaluate_formula(thirds, [], [results([1.0, 1.0, 2.0])], {}, TENSOR, has_independent_results=True)
        (alone,) = evaluate_formula(thirds, [], [results([1.0])], {}, TENSOR, has_independent_results=True)
    assert [*map(ends, once[:2])] == [ends(alone[0])] * 2
    assert once[0].affine_form.range == alone[0].affine_form.range
    assert not set(once[0].affine_form.coefficients) & set(once[1].affine_form.coefficients)


def test_shared_noise_symbol_is_not_merged():
    with exact_context():
        X = results([1.0, 1.0])
        (difference,) = evaluate_formula(
            lambda A, B: [A - B], [], [X, object_array([X[0], X[0]], (2,))], {}, TENSOR, has_independent_results=False
        )
    assert ends(difference[0]) == (0, 0, 0)
    assert difference[1].low < 0 < difference[1].high


def test_many_equal_elements_keep_intervals_only():
    few, most, many = (results([1.0] * count) for count in (2, 4096, 4097))
    assert ends(many[-1]) == ends(most[-1]) == ends(few[0])
    assert most[-1].affine_form.range == few[0].affine_form.range
    assert many[-1].affine_form is None


@pytest.mark.parametrize("independent", [False, True])
def test_evaluate_formula_keeps_shape(independent):
    assert results([[1.0, 2.0], [2.0, 1.0]], independent=independent).shape == (2, 2)


def test_evaluate_formula_of_empty_tensor_is_empty():
    np.testing.assert_array_equal(results([]), object_array([], (0,)))
