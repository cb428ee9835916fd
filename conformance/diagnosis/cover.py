"""The fewest deviations that explain what can be explained, each of them cases that the others do not."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from conformance.deviations import Deviation
    from conformance.diagnosis.evidence import Evidence
    from conformance.diagnosis.laboratory import Deviations

Named: TypeAlias = "tuple[Deviations, ...]"
"""Deviations that are named, each before those that no case tells apart from it."""

MOST = 5
"""How many deviations are named of one subject and family at most."""

TRUST = 9
"""How many cases a deviation must explain for each that it fails otherwise than the subject does."""

LEAST = 3
"""How many cases a deviation must explain where some are left that nothing explains: fewer may be chance."""

CHIEF = 3
"""With how many of the deviations that explain most all others are tried."""


@dataclass(frozen=True)
class Explanation:
    """A deviation that explains why a subject fails.

    Attributes:
        alike: further deviations that no case tells apart from it.
        cases: what it explains, alone or together with others that are named.
        together: those of them that it does not explain alone.
    """

    deviation: Deviation
    alike: tuple[Deviation, ...]
    cases: frozenset[str]
    together: frozenset[str] = frozenset()


def cover(evidence: Evidence) -> list[Explanation]:
    """What explains a subject's failures; nothing, rather than a deviation that may be another fault.

    One deviation that explains everything comes before two that one implementation can have, and these before as many
    as it takes to explain a part.
    """
    return _one(evidence) or _two(evidence) or _several(evidence)


def _one(evidence: Evidence) -> list[Explanation]:
    whole = [(one,) for one in evidence.suspects if evidence.explains_all((one,), evidence.failing)]
    whole = [alone for alone in whole if not evidence.is_refuted(alone)]
    if not whole:
        return []
    (first,), *others = evidence.holding_below(whole)
    return [Explanation(first, tuple(other for (other,) in others), evidence.failing)]


def _two(evidence: Evidence) -> list[Explanation]:
    """Two deviations that one implementation has, and that explain everything."""
    whole = _whole(evidence, combinations(evidence.suspects, 2))
    if not whole:
        chief = sorted(evidence.suspects, key=lambda one: -len(evidence.alone(one)))[:CHIEF]
        pairs = ((one, other) for one in chief for other in evidence.partners((one,), _left(evidence, (one,))))
        whole = _whole(evidence, pairs)
    if not whole:
        return []
    whole.sort(key=lambda pair: -len(evidence.alone(pair[0]) | evidence.alone(pair[1])))
    (one, other), *others = evidence.holding_below([*whole, *_beside(evidence, whole[0], whole)])
    return [_half(evidence, *halves, others) for halves in ((one, other), (other, one))]


def _whole(evidence: Evidence, pairs: Iterable[Deviations]) -> list[Deviations]:
    """Of these pairs, in either order, those that explain everything; each of a pair alone what the other does not."""
    apart = (pair for pair in pairs if all(evidence.alone(a) - evidence.alone(b) for a, b in permutations(pair)))
    return [order for pair in apart for order in permutations(pair) if _explains_whole(evidence, order)]


def _explains_whole(evidence: Evidence, pair: Deviations) -> bool:
    """Whether a pair explains everything; what none of the two explains alone is the first to tell."""
    alone = evidence.alone(pair[0]) | evidence.alone(pair[1])
    order = [*sorted(evidence.failing - alone), *sorted(alone)]
    return evidence.explains_all(pair, order) and not evidence.is_refuted(pair)


def _beside(evidence: Evidence, pair: Deviations, known: Sequence[Deviations]) -> list[Deviations]:
    """Further pairs that explain everything with one of a pair: one of theirs may explain next to nothing alone."""
    alone = evidence.alone(pair[0]) | evidence.alone(pair[1])
    telling = [*sorted(evidence.failing - alone), *sorted(alone)]
    others = ((kept, one) for kept in pair for one in evidence.catalogue if one not in pair)
    orders = (order for two in others for order in permutations(two) if order not in known)
    return [order for order in orders if evidence.explains_all(order, telling) and not evidence.is_refuted(order)]


def _half(evidence: Evidence, deviation: Deviation, beside: Deviation, others: Sequence[Deviations]) -> Explanation:
    """One of a pair that explains everything; like it is what explains everything with the same other one."""
    alike = dict.fromkeys(one for pair in others if beside in pair for one in pair if one not in (deviation, beside))
    alone, without = evidence.alone(deviation), evidence.alone(beside)
    cases, together = evidence.failing - (without - alone), evidence.failing - without - alone
    return Explanation(deviation, tuple(alike), cases, together)


def _several(evidence: Evidence) -> list[Explanation]:
    """As many deviations as it takes to explain what can be explained; a part may be left."""
    pool = [one for one in evidence.suspects if _outweighs(evidence, one) and not evidence.is_refuted((one,))]
    named = _grown(evidence, pool)
    while (doubtful := _doubtful(evidence, named)) is not None:
        pool.remove(doubtful)
        named = _grown(evidence, pool)
    if named:
        chosen = _chosen(named)
        partners = evidence.partners(chosen, _left(evidence, chosen))
        beside = [one for one in partners if not evidence.is_refuted((one,))]
        more = _grown(evidence, beside, named)
        named = named if _doubtful(evidence, more) else more
    reasons = _reasons(evidence, _chosen(named))
    return [_explanation(alternatives, reasons) for alternatives in named]


def _outweighs(evidence: Evidence, deviation: Deviation) -> bool:
    """Whether a deviation explains at least as many cases alone as it fails otherwise."""
    return len(evidence.alone(deviation)) >= len(evidence.contradicting(deviation, evidence.failing))


def _grown(evidence: Evidence, pool: Sequence[Deviation], named: Named = ()) -> Named:
    """Deviations that are named already, and those of a pool that explain most of what is left, one after the other."""
    while len(named) < MOST:
        left = _left(evidence, _chosen(named))
        gains = {one: frozenset(_reasons(evidence, (*_chosen(named), one), left)) for one in pool}
        most = max(gains.values(), key=len, default=frozenset())
        if not most:
            break
        alternatives = evidence.holding_below([(one,) for one, gain in gains.items() if gain == most])
        named = (*named, tuple(one for (one,) in alternatives))
        pool = [one for one in pool if one not in named[-1]]
    return named


def _chosen(named: Named) -> Deviations:
    """Of each of the named deviations and those like it the one that stands for all."""
    return tuple(alternatives[0] for alternatives in named)


def _reasons(evidence: Evidence, deviations: Deviations, among: Collection[str] | None = None) -> dict[str, Deviations]:
    """The fewest of some deviations that explain a case, by the case's id, where there are any."""
    found: dict[str, Deviations] = {}
    for some in _subsets(deviations):
        ids = [id for id in (evidence.failing if among is None else among) if id not in found]
        explained = evidence.explained(some, ids)
        if explained and (len(some) == 1 or not evidence.is_refuted(some)):
            found |= dict.fromkeys(explained, some)
    return found


def _left(evidence: Evidence, deviations: Deviations) -> frozenset[str]:
    """The failing cases that none of some deviations explains, nor several of them together."""
    return evidence.failing - _reasons(evidence, deviations).keys()


def _subsets(deviations: Deviations) -> Iterator[Deviations]:
    """Each alone, two in either order, and all in theirs."""
    yield from permutations(deviations, 1)
    yield from permutations(deviations, 2)
    if len(deviations) > 2:
        yield deviations


def _doubtful(evidence: Evidence, named: Named) -> Deviation | None:
    """The deviation that explains least for what speaks against it, where one explains too little; None of a whole."""
    reasons = _reasons(evidence, _chosen(named))
    left = evidence.failing - reasons.keys()
    if not left:
        return None
    margins = {
        one: sum(one in some for some in reasons.values()) - max(LEAST, TRUST * len(evidence.contradicting(one, left)))
        for one in _chosen(named)
    }
    worst = min(margins, key=margins.__getitem__, default=None)
    return worst if worst is not None and margins[worst] < 0 else None


def _explanation(alternatives: Deviations, reasons: Mapping[str, Deviations]) -> Explanation:
    own = {id: some for id, some in reasons.items() if alternatives[0] in some}
    together = frozenset(id for id, some in own.items() if len(some) > 1)
    return Explanation(alternatives[0], alternatives[1:], frozenset(own), together)
