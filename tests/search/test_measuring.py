"""What draws notice of known deviations is counted, and what they cannot has a reason."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from fake_backends import AlwaysRight, AlwaysWrong

from conformance.search.measuring import measure_search, search_lines
from conformance.verdicts import Level


def after(draws):
    """Enough after so many draws."""
    return lambda strength: strength.draws >= draws


def deviation(id, backend, level=Level.MUST):
    return SimpleNamespace(id=id, operator="ArgMax", level=level, backend=backend)


WRONG = deviation("argmax.wrong", AlwaysWrong)
RIGHT = deviation("argmax.right", AlwaysRight)
ADMITTED = deviation("argmax.admitted", AlwaysRight, Level.SHOULD)
LARGE = deviation("argmax.65536_elements_at_most", AlwaysRight)


@pytest.fixture(scope="module")
def measured():
    """Two that can be noticed, one of which is not, and two that need not be."""
    return measure_search([WRONG, RIGHT, ADMITTED, LARGE], 0, after(12), lambda _: None)


def test_a_deviation_is_noticed_once(measured):
    assert list(measured.noticed) == ["argmax.wrong"]


def test_one_that_no_draw_notices_is_missed(measured):
    assert measured.missed == ["argmax.right"]
    assert not measured.holds


def test_one_that_needs_what_is_larger_than_any_draw_is_told_with_a_reason(measured):
    assert list(measured.beyond) == ["argmax.65536_elements_at_most"]
    assert "    argmax.65536_elements_at_most" in search_lines(measured)


def test_it_ends_where_nothing_is_left():
    assert measure_search([WRONG], 0, after(1000), lambda _: None).draws < 10
