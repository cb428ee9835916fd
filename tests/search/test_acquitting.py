"""Right implementations are run on draw after draw, and whoever is accused is told with the draw."""

from __future__ import annotations

from fake_backends import AlwaysRight, AlwaysWrong

from conformance.deviations.rewrites import faulty_rewrites
from conformance.deviations.rewrites.admissible import ADMISSIBLE
from conformance.passes.eliminate_nop_monotone_argmax import PASS_NAME
from conformance.search.acquitting import acquit


def acquitted(variants=(), rewrites=(), draws=12):
    return acquit(variants, [(one, (PASS_NAME,)) for one in rewrites], 0, draws, lambda _: None)


def test_a_variant_that_is_accused_is_told_with_the_draw():
    found = acquitted([("odd", {"ArgMax"}, AlwaysWrong), ("even", {"ArgMax"}, AlwaysRight)])
    assert list(found.accused) == ["odd"]
    assert found.accused["odd"][0].startswith("test_search_argmax_")
    assert not found.holds


def test_a_rewrite_that_is_accused_is_told():
    faults = [fault for fault in faulty_rewrites()["predicate"] if fault.id == "removes_relu"]
    assert set(acquitted(rewrites=faults, draws=150).accused) == {"removes_relu"}


def test_who_is_right_is_not_accused_and_every_draw_is_counted():
    found = acquitted([("even", {"ArgMax", "Adam"}, AlwaysRight)], ADMISSIBLE[:2])
    assert found.holds
    assert found.draws == 12
    assert next(found.lines()).endswith("0 accusations of right implementations")
