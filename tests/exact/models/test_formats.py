"""Correct rounding to floating-point formats, compared with other libraries and exact integers."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from operator import attrgetter

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.exact.models.arrays import BFLOAT16, DOUBLE, FLOAT, FLOAT16, FLOAT_FORMATS, FloatFormat

ALL = [FLOAT16, BFLOAT16, FLOAT, DOUBLE]
TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float": np.float32, "double": np.float64}
EXACT = Context(prec=2200)
SPECK = Decimal("1e-1100")

every_format = pytest.mark.parametrize("format", ALL, ids=attrgetter("name"))
doubles = st.one_of(st.floats(-1e300, 1e300), st.sampled_from([math.inf, -math.inf, math.nan]))
decimals = st.one_of(
    st.floats(-1e300, 1e300).map(Decimal),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(Decimal),
    st.floats(-70000, 70000).map(Decimal),
    st.decimals(-4, 4, places=30),
)


def same(a: float, b: float) -> bool:
    """Return whether two floats are equal, including the sign of zero. NaN equals NaN."""
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def cast(value: float, dtype: type) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float64(value).astype(dtype))


def exactly(significand: int, exponent: int) -> Decimal:
    """Return significand * 2**exponent exactly."""
    with localcontext(EXACT):
        return Decimal(significand) * Decimal(2) ** exponent


@st.composite
def values_of(draw: st.DrawFn, format: FloatFormat) -> tuple[int, int]:
    """Draw significand and exponent of a positive finite value below the largest value of a format."""
    lowest = 2 - format.largest_exponent - format.precision
    exponent = draw(st.integers(lowest, format.largest_exponent + 1 - format.precision))
    first = 1 if exponent == lowest else 2 ** (format.precision - 1)
    return draw(st.integers(first, 2**format.precision - 2)), exponent


@given(value=st.one_of(doubles, st.floats(-70000, 70000), st.floats(-1e-4, 1e-4)))
def test_rounding_to_float_and_float16_matches_numpy(value):
    assert same(FLOAT.round_to_nearest(Decimal(value)), cast(value, np.float32))
    assert same(FLOAT16.round_to_nearest(Decimal(value)), cast(value, np.float16))


@given(value=st.floats(width=32))
def test_rounding_to_bfloat16_matches_ml_dtypes(value):
    with np.errstate(all="ignore"):
        expected = float(np.float32(value).astype(ml_dtypes.bfloat16))
    assert same(BFLOAT16.round_to_nearest(Decimal(value)), expected)


@given(value=decimals)
def test_rounding_to_double_matches_python(value):
    assert same(DOUBLE.round_to_nearest(value), float(str(value)))


@every_format
@given(data=st.data())
def test_value_beside_the_midpoint_rounds_to_the_nearer_neighbour(format, data):
    significand, exponent = data.draw(values_of(format))
    middle = exactly(2 * significand + 1, exponent - 1)
    with localcontext(EXACT):
        assert Decimal(format.round_to_nearest(middle + SPECK)) == exactly(significand + 1, exponent)
        assert Decimal(format.round_to_nearest(middle - SPECK)) == exactly(significand, exponent)


@every_format
@given(data=st.data())
def test_midpoint_rounds_to_even(format, data):
    significand, exponent = data.draw(values_of(format))
    middle = exactly(2 * significand + 1, exponent - 1)
    assert Decimal(format.round_to_nearest(middle)) == exactly(significand + significand % 2, exponent)


@pytest.mark.parametrize(
    ("digits", "expected"),
    [
        # 1 + 2**-24 is the middle of 1 and 1 + 2**-23; a double cannot represent the difference.
        ("1.000000059604644775390625000000000001", 1 + 2.0**-23),
        ("1.000000059604644775390624999999999999", 1.0),
        # 1 + 3 * 2**-24 is the middle of 1 + 2**-23 and 1 + 2**-22.
        ("1.000000178813934326171875000000000001", 1 + 2.0**-22),
        ("1.000000178813934326171874999999999999", 1 + 2.0**-23),
    ],
)
def test_float_has_no_double_rounding(digits, expected):
    assert FLOAT.round_to_nearest(Decimal(digits)) == expected


@every_format
def test_half_of_smallest_subnormal_rounds_to_zero(format):
    assert format.round_to_nearest(exactly(1, 1 - format.largest_exponent - format.precision)) == 0


@every_format
def test_above_half_of_smallest_subnormal_rounds_up(format):
    with localcontext(EXACT):
        above = exactly(1, 1 - format.largest_exponent - format.precision) + SPECK
    assert Decimal(format.round_to_nearest(above)) == format.smallest_subnormal


@every_format
@pytest.mark.parametrize("sign", [1, -1])
def test_overflow_threshold_rounds_to_infinity(format, sign):
    assert format.round_to_nearest(format.overflow_threshold.copy_sign(Decimal(sign))) == sign * math.inf


@every_format
@pytest.mark.parametrize("sign", [1, -1])
def test_below_overflow_threshold_rounds_to_largest(format, sign):
    with localcontext(EXACT):
        below = (format.overflow_threshold - SPECK) * sign
    assert Decimal(format.round_to_nearest(below)) == format.largest.copy_sign(below)


@every_format
@pytest.mark.parametrize("digits", ["1.7976931348623159e308", "1e309", "-1e400", "1e1000000"])
def test_value_beyond_double_rounds_to_infinity(format, digits):
    assert format.round_to_nearest(Decimal(digits)) == math.copysign(math.inf, Decimal(digits))


@pytest.mark.parametrize("format", [FLOAT16, BFLOAT16, FLOAT], ids=attrgetter("name"))
def test_largest_double_overflows_narrower_formats(format):
    assert format.round_to_nearest(DOUBLE.largest) == math.inf


@every_format
@pytest.mark.parametrize("digits", ["0", "-0", "1e-5000", "-1e-5000", "-0e-7", "Infinity", "-Infinity", "NaN"])
def test_zeros_keep_the_sign_and_infinities_and_nan_are_unchanged(format, digits):
    assert same(format.round_to_nearest(Decimal(digits)), float(digits))


@every_format
@given(value=decimals)
def test_rounding_is_idempotent(format, value):
    rounded = format.round_to_nearest(value)
    assert same(format.round_to_nearest(Decimal(rounded)), rounded)


@every_format
@given(value=decimals)
def test_rounding_is_monotone(format, value):
    with localcontext(EXACT):
        beyond = value + abs(value) * Decimal("1e-4")
    assert format.round_to_nearest(value) <= format.round_to_nearest(beyond)


@every_format
@given(data=st.data())
def test_can_represent_every_value_of_the_format(format, data):
    assert format.can_represent(exactly(*data.draw(values_of(format))))


@every_format
@given(data=st.data())
def test_cannot_represent_values_between_neighbours(format, data):
    significand, exponent = data.draw(values_of(format))
    assert not format.can_represent(exactly(4 * significand + data.draw(st.integers(1, 3)), exponent - 2))


@every_format
def test_limits_match_ml_dtypes(format):
    info = ml_dtypes.finfo(TYPES[format.name])
    assert [Decimal(float(limit)) for limit in (info.max, info.tiny, info.smallest_subnormal)] == [
        format.largest,
        format.smallest_normal,
        format.smallest_subnormal,
    ]


@every_format
def test_unit_roundoff_is_half_the_spacing_at_one(format):
    assert Fraction(format.unit_roundoff) == Fraction(float(ml_dtypes.finfo(TYPES[format.name]).eps)) / 2


def test_formats_have_their_onnx_names():
    assert {name: format.name for name, format in FLOAT_FORMATS.items()} == {name: name for name in TYPES}
