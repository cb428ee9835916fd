"""Comparison of one output: type, then shape, then values; the largest error is told either way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict

from conformance.corpus.cases.case_loading import ExpectedTensor
from conformance.run.judging import compare as comparison
from conformance.run.judging.compare import compare_output, ulp_of

INF, NAN = math.inf, math.nan
ULP_OF_ONE = 2.0**-23


def float32(*values: float) -> Any:
    return np.array(values, dtype=np.float32)


def exact(*values: float) -> ExpectedTensor:
    return ExpectedTensor("Y", float32(*values))


def bounded(values: Any, bounds: Any) -> ExpectedTensor:
    return ExpectedTensor("Y", np.asarray(values, dtype=np.float32), np.asarray(bounds, dtype=np.float64))


def index(expected: Any, choices: Any) -> ExpectedTensor:
    return ExpectedTensor("Y", np.asarray(expected, dtype=np.int64), choices=np.asarray(choices, dtype=np.bool_))


def accepts(output: ExpectedTensor, actual: Any) -> bool:
    """Whether an output is accepted, which is told with evidence and without."""
    accepted = comparison.is_acceptable(output, actual)
    assert accepted == (compare_output(output, actual, 0).violation is None)
    return accepted


def violation(output: ExpectedTensor, actual: Any) -> str:
    return str(compare_output(output, actual, 0).violation)


def test_check_name_depends_on_bound_and_choices():
    assert [output.check for output in (exact(1.0), bounded([1.0], [0.1]), index([0], [[True]]))] == [
        "exact",
        "bound",
        "index",
    ]


def test_evidence_has_output_check_and_data_set():
    evidence = compare_output(bounded([1.0], [0.1]), float32(1.0), 3)
    assert (evidence.name, evidence.check, evidence.data_set) == ("Y", "bound", 3)


@pytest.mark.parametrize(
    ("output", "actual", "kinds"),
    [
        (exact(1.0, 2.0), float32(NAN, 2.0), ["nan"]),
        (exact(1.0, 2.0), float32(INF, -INF), ["every", "infinity"]),
        (exact(NAN, INF), float32(7.0, 7.0), ["every", "number"]),
        (exact(1.0, 2.0, 3.0), float32(0.0, 0.0, 3.0), ["zero"]),
        (exact(1.0, 2.0), float32(-1.0, -2.0), ["every", "sign"]),
        (exact(1.0, 2.0, 3.0), float32(-1.0, 0.0, 3.0), ["far"]),
        (exact(8.0, 2.0), float32(8.5, 7.0), ["every", "far", "rough"]),
        (bounded([0.0], [1.0]), np.float32([16.0]), ["near"]),
        (bounded([0.0], [1.0]), np.float32([17.0]), ["far"]),
        (bounded([256.0, 0.0], [1.0, 1.0]), np.float32([280.0, 0.0]), ["rough"]),
        (ExpectedTensor("Y", np.uint8([3, 9])), np.uint8([4, 0]), ["near", "zero"]),
        (index([1, 0], [[False, True], [True, False]]), np.int64([0, 0]), ["value"]),
    ],
)
def test_kinds_of_wrong_elements(output, actual, kinds):
    assert compare_output(output, actual, 0).wrong_kinds == kinds


OTHER_NAN = np.array([0xFFC12345], dtype=np.uint32).view(np.float32)
INTEGER = ExpectedTensor("Y", np.array([2**53 + 1], dtype=np.int64))
EMPTY = ExpectedTensor("Y", np.zeros((2, 0), dtype=np.float32))
SCALAR = ExpectedTensor("Y", np.array(1.0, dtype=np.float32))
INFINITE = (exact(INF), bounded([INF], [0.0]), bounded([INF], [1e300]))
CHOICES = index([1], [[False, True, True]])
BEYOND = np.nextafter(np.float32(1.5), 2)


@pytest.mark.parametrize(
    ("output", "accepted", "rejected"),
    [
        (exact(1.0, -0.0, INF, -INF, NAN), [float32(1.0, -0.0, INF, -INF, NAN)], []),
        (exact(1.0), [], [float32(1.0 + ULP_OF_ONE)]),
        (exact(0.0), [], [float32(-0.0)]),
        (exact(-0.0), [], [float32(0.0)]),
        (bounded([0.0], [0.0]), [float32(-0.0)], []),
        (bounded([-0.0], [0.0]), [float32(0.0)], []),
        (exact(NAN), [OTHER_NAN], [float32(0.0)]),
        (bounded([NAN], [0.0]), [OTHER_NAN], [float32(0.0)]),
        (bounded([NAN], [1e300]), [OTHER_NAN], [float32(0.0)]),
        (exact(1.0), [], [float32(NAN)]),
        (bounded([1.0], [1e300]), [], [float32(NAN)]),
        *((each, [float32(INF)], [float32(value) for value in (-INF, 3e38, NAN)]) for each in INFINITE),
        (bounded([1.0], [INF]), [float32(value) for value in (0.0, -3e38, INF, -INF, NAN)], []),
        (bounded([1.0, 1.0], [INF, 0.5]), [float32(NAN, 1.5)], [float32(NAN, 2.0)]),
        (bounded([1.0], [0.5]), [float32(1.5), float32(0.5)], [float32(BEYOND)]),
        (INTEGER, [INTEGER.expected], [np.array([2**53])]),
        (CHOICES, [np.array([1]), np.array([2])], [np.array([0]), np.array([-1]), np.array([7])]),
        (index([0, 1], [[True, False], [False, True]]), [np.array([0, 1])], [np.array([1, 0])]),
        (EMPTY, [EMPTY.expected], [np.zeros((0, 2), np.float32), np.zeros(0, np.float32)]),
        (SCALAR, [np.float32(1.0)], [np.float32(2.0)]),
    ],
)
def test_output_accepts_and_rejects_values(output, accepted, rejected):
    assert all(accepts(output, actual) for actual in accepted)
    assert not any(accepts(output, actual) for actual in rejected)


def test_evidence_of_several_choices_has_the_actual_index():
    output = index([1], [[False, True, True]])
    assert compare_output(output, np.array([2], dtype=np.int64), 0).actual.values == ["2"]


@pytest.mark.parametrize(
    ("actual", "word"),
    [(None, "NoneType"), ([1.0], "list"), (1.0, "float"), ("1.0", "str"), ({}, "dict")],
    ids=["None", "list", "float", "str", "dict"],
)
def test_output_that_is_not_an_array_is_named_by_type(actual, word):
    assert violation(exact(1.0), actual) == f"is a {word}, not an array"


def test_type_is_compared_first():
    assert violation(exact(1.0), np.array([[2.0]])) == "has type double instead of float"


def test_shape_is_compared_before_values():
    assert violation(exact(1.0), np.array([[2.0]], dtype=np.float32)) == "has shape [1, 1] instead of [1]"


@pytest.mark.parametrize("dtype", [object, "U3", [("a", "f4")], "complex64", "datetime64[s]"])
def test_unknown_type_is_a_violation(dtype):
    assert "has type" in violation(exact(0.0), np.zeros(1, dtype=dtype))


def test_type_of_other_byte_order_is_named_differently():
    found = violation(exact(1.0), float32(1.0).astype(">f4"))
    assert found != "has type float instead of float"


def test_accepted_output_has_its_largest_error():
    evidence = compare_output(bounded([1.0, 2.0], [1e-6, 1e-6]), float32(1.0 + 4 * ULP_OF_ONE, 2.0), 0)
    assert evidence.max_ulp == 4
    assert evidence.error_over_bound == pytest.approx(4 * ULP_OF_ONE / 1e-6, rel=1e-3)
    assert evidence.worst_index == [0]


def test_bit_identical_output_has_error_zero():
    evidence = compare_output(bounded([1.0], [1e-6]), float32(1.0), 0)
    assert (evidence.max_ulp, evidence.error_over_bound) == (0.0, 0.0)


def test_largest_error_ignores_accepted_elements_that_are_not_finite():
    evidence = compare_output(bounded([1.0, NAN, INF, 1.0], [1.0, 0.0, 0.0, INF]), float32(1.5, NAN, INF, -7.0), 0)
    assert evidence.error_over_bound == 0.5


@pytest.mark.parametrize("actual", [float32(1.0, NAN), float32(1.0, INF)])
def test_output_with_a_wrong_element_that_is_not_finite_has_no_largest_error(actual):
    evidence = compare_output(bounded([1.0, 2.0], [1.0, 1.0]), actual, 0)
    assert evidence.wrong == 1
    assert (evidence.max_ulp, evidence.error_over_bound, evidence.worst_index) == (None, None, None)


def test_rejected_output_has_its_largest_error():
    evidence = compare_output(bounded([1.0, 1.0], [0.5, 0.5]), float32(1.75, 3.0), 0)
    assert (evidence.error_over_bound, evidence.worst_index) == (4.0, [1])


def test_first_bad_element_has_decimal_hex_and_bound():
    bad = compare_output(bounded([[1.0, 0.1]], [[1.0, 1e-9]]), np.array([[1.5, 0.5]], dtype=np.float32), 0).first_bad
    assert asdict(bad) == {
        "index": [0, 1],
        "expected": "0.1",
        "actual": "0.5",
        "expected_hex": "0x3dcccccd",
        "actual_hex": "0x3f000000",
        "bound": "1e-09",
        "ulp": pytest.approx(0.4 / 2.0**-27, rel=1e-3),
        "error_over_bound": pytest.approx(4e8),
    }


def test_error_over_bound_comes_from_the_bits_and_not_from_the_printed_values():
    """The shortest decimals of the two float16 numbers differ by 0.0002, and the numbers by 2^-12."""
    output = ExpectedTensor("Y", np.array([0.1002], np.float16), np.array([0.00022]))
    bad = compare_output(output, np.array([0.1], np.float16), 0).first_bad
    assert (float(bad.expected) - float(bad.actual)) / float(bad.bound) < 1
    assert bad.error_over_bound == 2.0**-12 / 0.00022


def test_bad_scalar_has_an_empty_index():
    output = ExpectedTensor("Y", np.array(1.0, dtype=np.float32))
    assert compare_output(output, np.float32(2.0), 0).first_bad.index == []


def test_bad_nan_has_no_distance():
    assert compare_output(exact(1.0), float32(NAN), 0).first_bad.ulp is None


def test_bad_index_lists_the_choices():
    bad = compare_output(index([1], [[False, True, True]]), np.array([0], dtype=np.int64), 0).first_bad
    assert (bad.expected, bad.actual) == ("1 or 2", "0")


def test_violation_counts_wrong_elements():
    evidence = compare_output(exact(1.0, 2.0, 3.0), float32(1.0, 0.0, 0.0), 0)
    assert (evidence.wrong, evidence.violation.count, evidence.violation.of) == (2, 2, 3)


def test_wrong_output_has_a_preview():
    actual = compare_output(ExpectedTensor("Y", np.zeros(100, np.float32)), np.ones(100, np.float32), 0).actual
    assert len(actual.values) + actual.elided == 100
    assert actual.elided


@pytest.mark.parametrize(
    ("value", "ulp"),
    [(1.0, 2.0**-23), (np.nextafter(np.float32(1), np.float32(0)), 2.0**-24), (0.0, 2.0**-149), (2.0**-126, 2.0**-149)],
)
def test_ulp_is_the_spacing_at_the_value(value, ulp):
    assert ulp_of(float32(value))[0] == ulp


def test_ulp_of_double_is_its_spacing():
    assert ulp_of(np.array([1.0]))[0] == 2.0**-52


LARGE = float(np.float32(1e38))
numbers = st.floats(-LARGE, LARGE, width=32)
elements = st.lists(st.tuples(numbers, numbers, st.floats(0, 1e38)), min_size=1, max_size=8)


@given(elements)
def test_bound_accepts_errors_within_it(rows):
    expected, actual, bounds = (np.array(column) for column in zip(*rows, strict=True))
    within = bool((np.abs(actual - expected) <= bounds).all())
    assert accepts(bounded(expected, bounds), actual.astype(np.float32)) is within


@given(st.lists(numbers, min_size=1, max_size=8), st.floats(0, 1e30), st.integers(0, 7))
def test_bound_rejects_one_element_outside_it(values, bound, place):
    expected = np.array(values, dtype=np.float32)
    actual, at = expected.copy(), place % len(values)
    actual[at] = np.float32(expected[at] + 2 * bound + 1e32)
    evidence = compare_output(bounded(expected, np.full(expected.shape, bound)), actual, 0)
    assert evidence.first_bad.index == [at]
