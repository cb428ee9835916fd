"""A formula on equal elements, and what its forms have in common, is computed once; results are the same as apart."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from conformance.models.arrays import objects
from conformance.models.formats import FLOAT
from conformance.reference.numbers.bounded import Bounded
from conformance.reference.numbers.columns import MOST_ERRORS_OF_THEIR_OWN, Columns
from conformance.reference.numbers.exact import exactly, from_array
from conformance.reference.numbers.formulas import Remembered, enclosed
from conformance.reference.numbers.precision import Precision, Role

TENSOR = Precision(Role.TENSOR, FLOAT, FLOAT)


class Counting:
    """A formula that counts its multiplications."""

    def __init__(self):
        self.count = 0

    def __mul__(self, other):
        del other
        self.count += 1
        return self


def thirds(X):
    """A formula whose result rounds."""
    return [X / 3]


def results(numbers, *, handed_on=True):
    with exactly():
        (result,) = enclosed(
            [thirds], [], [from_array(np.array(numbers, dtype=np.float32))], {}, TENSOR, handed_on=handed_on
        )
    return result


def ends(number: Bounded) -> tuple[Decimal, Decimal, Decimal]:
    return number.low, number.value, number.high


def test_elements_with_the_same_operands_are_one_column():
    X, G = from_array(np.array([1.0, 2.0, 1.0, 1.0])), from_array(np.array([5.0, 5.0, 5.0, 6.0]))
    columns = Columns.of([X, G])
    assert columns.distinct.tolist() == [0, 1, 3]
    assert columns.number.tolist() == [0, 1, 0, 2]


def test_zeros_of_both_signs_are_two_columns():
    assert Columns.of([from_array(np.array([0.0, -0.0]))]).distinct.tolist() == [0, 1]


def test_operands_of_several_shapes_have_no_columns():
    assert Columns.of([from_array(np.zeros((2, 1))), from_array(np.zeros(2))]) is None


def test_what_two_forms_have_in_common_is_computed_once():
    counting, known = Counting(), {}
    X, Y = Remembered(counting, known), Remembered(counting, known)
    assert X * Y is X * Y
    assert counting.count == 1


def test_equal_elements_have_equal_intervals_and_errors_of_their_own():
    first, second = results([1.0, 1.0])
    assert ends(first) == ends(second)
    assert not set(first.form.parts) & set(second.form.parts)


def test_what_a_second_node_makes_of_equal_elements_is_computed_once_and_is_as_if_computed_apart():
    with exactly():
        (once,) = enclosed([thirds], [], [results([1.0, 1.0, 2.0])], {}, TENSOR, handed_on=True)
        (alone,) = enclosed([thirds], [], [results([1.0])], {}, TENSOR, handed_on=True)
    assert [*map(ends, once[:2])] == [ends(alone[0])] * 2
    assert once[0].form.range == alone[0].form.range
    assert not set(once[0].form.parts) & set(once[1].form.parts)


def test_equal_numbers_of_which_one_has_an_error_twice_are_not_computed_as_one():
    with exactly():
        X = results([1.0, 1.0])
        (difference,) = enclosed(
            [lambda A, B: [A - B]], [], [X, objects([X[0], X[0]], (2,))], {}, TENSOR, handed_on=False
        )
    assert ends(difference[0]) == (0, 0, 0)
    assert difference[1].low < 0 < difference[1].high


def test_of_very_many_equal_elements_intervals_alone_are_handed_on():
    few, many = results([1.0, 1.0]), results([1.0] * (MOST_ERRORS_OF_THEIR_OWN + 1))
    assert ends(many[-1]) == ends(few[0])
    assert many[-1].form is None


@pytest.mark.parametrize("handed_on", [False, True])
def test_results_have_the_operands_shape(handed_on):
    assert results([[1.0, 2.0], [2.0, 1.0]], handed_on=handed_on).shape == (2, 2)


def test_an_empty_tensor_gives_an_empty_result():
    assert np.array_equal(results([]), objects([], (0,)))
