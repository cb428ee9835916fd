"""The second oracle agrees with a fixed tenth of the corpus. `nox -s oracle` compares all of it."""

from __future__ import annotations

import zlib

import pytest
from repository import DATA

from oracle.comparison import OTHER_ACCEPTABLE_INDEX, compare_case
from oracle.corpus import cases


def is_of_the_tenth(place: str) -> bool:
    """Return a selection of cases that does not change if other cases are added."""
    return zlib.crc32(place.encode()) % 10 == 0


@pytest.mark.whole
def test_oracles_agree_on_a_tenth_of_the_corpus():
    """Ignore which of several acceptable indices is expected; `nox -s oracle` compares it."""
    comparisons = [compare_case(case) for case in cases(DATA) if is_of_the_tenth(case.id)]
    told = [
        str(each)
        for comparison in comparisons
        for each in comparison.differences
        if each.what != OTHER_ACCEPTABLE_INDEX
    ]
    assert told == []
    assert sum(comparison.counts["elements"] for comparison in comparisons) > 1000
