"""The sum of several bounded numbers, added in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.reference.numbers.bounded import ONE, ZERO, Bounded

if TYPE_CHECKING:
    from collections.abc import Iterable


def total(numbers: Iterable[Bounded]) -> Bounded:
    """The sum of one number or more, enclosing every order and grouping of the additions.

    Any way to add n numbers is a binary tree in which a number passes through at most n - 1 additions: the last one,
    and at most n - 2 before it. What the last one rounds is therefore
    sum(x_i * (1 + d_i)) with |d_i| <= (1 + u)**(n - 2) - 1: off by at most that many times sum(|x_i|). Terms of
    different signs need the sum of magnitudes here, since some order adds all of one sign first; adding from the
    largest magnitude down, which bounds all orders for terms of one sign, does not bound them then.

    Of two numbers, the sum is that of `+`. A sum of flushed subnormals loses at most the smallest normal value for
    every addition. Where some partial sum can overflow and the total need not, admissible evaluations disagree.
    """
    terms = list(numbers)
    chosen = terms[0].precision.adversary is not None
    if len(terms) < 3 or chosen or not all(term.low.is_finite() and term.high.is_finite() for term in terms):
        return _one_by_one(terms)
    precision = terms[0].precision
    magnitude = sum((max(abs(term.low), abs(term.high)) for term in terms), ZERO)
    if not magnitude:
        return _one_by_one(terms)
    spread = magnitude * ((ONE + precision.format.unit_roundoff) ** (len(terms) - 2) - ONE)
    if not precision.strict:
        spread += (len(terms) - 2) * precision.format.smallest_normal
    before_the_last = Bounded(
        sum((term.value for term in terms), ZERO),
        precision,
        (sum((term.low for term in terms), ZERO) - spread, sum((term.high for term in terms), ZERO) + spread),
        doubt=any(term.doubt for term in terms) or magnitude >= precision.format.overflow_threshold,
    )
    return before_the_last + 0


def _one_by_one(terms: list[Bounded]) -> Bounded:
    """Infinities and NaN come out the same in every order; so do two terms."""
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result
