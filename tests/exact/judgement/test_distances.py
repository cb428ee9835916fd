"""Distances of outputs from expected values, as shares of the bound."""

import numpy as np
import pytest

from conformance.exact.judgement.distances import find_distances
from conformance.exact.reference.numbers.enclosure import Enclosure

TWO, NAN, ZERO = (np.float32([value]) for value in (2, np.nan, 0))
NEAR_TWO = Enclosure(TWO.astype(np.float64), np.float64([0.5]), TWO.dtype)
EQUAL_VALUES = [(2, TWO, 0), (np.nan, NAN, 0), (2, NEAR_TWO, 0), (2, Enclosure.exact(TWO), 0)]
OTHER_VALUES = [(2.5, TWO, np.inf), (-0.0, ZERO, np.inf), (2.5, NEAR_TWO, 1), (1, NEAR_TWO, 2)]


@pytest.mark.parametrize(("actual", "expected", "share"), [*EQUAL_VALUES, *OTHER_VALUES])
def test_distance_is_a_share_of_the_bound_and_infinite_without_a_bound(actual, expected, share):
    assert find_distances(np.float32([actual]), expected, has_signed_zeros=True).shares.tolist() == [share]
