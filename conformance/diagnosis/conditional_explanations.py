"""Explain failures by mutants that the subject has only under a condition, such as a type or T ≤ 0."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.diagnosis.explanations import MAX_EXPLANATIONS, MIN_SUPPORT_RATIO, Explanation
from conformance.diagnosis.failure_evidence import shuffle_key
from conformance.diagnosis.properties import separating_condition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from conformance.diagnosis.failure_evidence import Evidence
    from conformance.diagnosis.mutant_runner import MutantRunner
    from conformance.diagnosis.properties import Properties
    from conformance.mutants import Mutant


CONDITIONAL_SUPPORT_RATIO = 3
"""Number of cases that a mutant under a condition must explain for each case that it fails differently."""

MIN_CONDITIONAL_SUPPORT = 5
"""Number of cases that a mutant under a condition must explain."""

CONDITIONAL_SAMPLE_SIZE = 8
"""Number of unexplained cases on which all mutants are tried before a condition is searched."""

MAX_CONDITIONAL_MUTANTS = 4
"""Number of mutants for which a condition is searched at a time: those that explain the most unexplained cases."""


def explain_under_conditions(
    evidence: Evidence, found: Sequence[Explanation], properties: Callable[[str], Properties]
) -> list[Explanation]:
    """Explain unexplained cases by mutants that the subject has only under a condition, such as a type or T ≤ 0.

    A mutant is named if one property, or two, separate the failing cases that the mutant explains from the passing
    cases that the mutant would fail.

    Args:
        found: the explanations without a condition.
        properties: returns the properties of a case by its id.
    """
    more: list[Explanation] = []
    passed = (*evidence.passed, *evidence.passed_at_lower_level)
    left = evidence.failing.difference(*(one.cases for one in found))
    while len(left) >= MIN_CONDITIONAL_SUPPORT and len(found) + len(more) < MAX_EXPLANATIONS:
        known = {mutant for one in (*found, *more) for mutant in (one.mutant, *one.indistinguishable)}
        sample = sorted(left, key=shuffle_key)[:CONDITIONAL_SAMPLE_SIZE]
        runner = evidence.runner
        pool = [one for one in evidence.catalogue if one not in known]
        pool = [one for one in pool if any(runner.explains_parts((*known, one), id) for id in sample)]
        gains = {one: frozenset(id for id in left if runner.explains_parts((one,), id)) for one in pool}
        ranked = [one for one in pool if len(gains[one]) >= MIN_CONDITIONAL_SUPPORT]
        ranked = sorted(ranked, key=lambda one: -len(gains[one]))[:MAX_CONDITIONAL_MUTANTS]
        refuting = {one: frozenset(id for id in passed if runner.fails((one,), id)) for one in ranked}
        specific = [one for one in ranked if not any(_is_likelier(gains, refuting, other, one) for other in ranked)]
        options = {
            one: _condition(
                evidence, one, gains[one], refuting[one], left - _shared(runner, known, one, left), properties
            )
            for one in specific
        }
        conditions = {one: condition for one, condition in options.items() if condition is not None}
        if not conditions:
            break
        mutant = max(conditions, key=lambda one: len(gains[one]))
        equal = tuple(one for one in ranked if one is not mutant and gains[one] == gains[mutant])
        more.append(Explanation(mutant, equal, gains[mutant], condition=conditions[mutant]))
        left = frozenset(id for id in left if not runner.explains_parts((*known, mutant), id))
    more = [one for one in more if not _is_contradicted(evidence, one.mutant, len(one.cases), left)]
    return [_with_shared_cases(evidence, one, (*found, *more)) for one in more]


def with_explanations_under_conditions(
    evidence: Evidence, found: Sequence[Explanation], properties: Callable[[str], Properties]
) -> list[Explanation]:
    """Return the explanations without a condition and those under one.

    An explanation without a condition is left out if others, each of more cases, explain its cases under conditions.
    """
    more = explain_under_conditions(evidence, found, properties)
    kept = []
    for one in found:
        shares = _shares(evidence, one, more, properties)
        if shares is None:
            kept.append(one)
        else:
            more = [replace(other, cases=other.cases | share) for other, share in zip(more, shares, strict=True)]
    return [*kept, *more]


def _shares(
    evidence: Evidence, one: Explanation, more: Sequence[Explanation], properties: Callable[[str], Properties]
) -> list[frozenset[str]] | None:
    """Return which cases of an explanation each explanation under a condition explains; None if they leave a case."""
    larger = [other for other in more if len(other.cases) > len(one.cases)]
    shares = [
        frozenset(
            id for id in one.cases if other in larger and _explains_under_condition(evidence, other, id, properties)
        )
        for other in more
    ]
    return shares if one.cases and one.cases == frozenset().union(*shares) else None


def _explains_under_condition(
    evidence: Evidence, one: Explanation, id: str, properties: Callable[[str], Properties]
) -> bool:
    """Return whether a mutant explains one more case, and keeps its condition with it."""
    runner = evidence.runner
    if not runner.explains_parts((one.mutant,), id):
        return False
    passed = (*evidence.passed, *evidence.passed_at_lower_level)
    refuting = frozenset(other for other in passed if runner.fails((one.mutant,), other))
    gain = (one.cases - one.jointly_explained) | {id}
    return _condition(evidence, one.mutant, gain, refuting, gain, properties) == one.condition


def _with_shared_cases(evidence: Evidence, one: Explanation, every: Sequence[Explanation]) -> Explanation:
    """Return an explanation with the cases in which it explains some parts and other explanations all other parts."""
    mutants = [explanation.mutant for explanation in every]
    others = [mutant for mutant in mutants if mutant is not one.mutant]
    runner = evidence.runner
    shared = frozenset(
        id
        for id in evidence.failing.difference(*(explanation.cases for explanation in every))
        if runner.explains_parts(mutants, id) and not runner.explains_parts(others, id)
    )
    return replace(one, cases=one.cases | shared, jointly_explained=one.jointly_explained | shared)


def _shared(runner: MutantRunner, known: Collection[Mutant], one: Mutant, ids: Iterable[str]) -> frozenset[str]:
    """Return the cases in which each wrong part is explained by `one` or by a known mutant."""
    return frozenset(id for id in ids if runner.explains_parts((*known, one), id)) if known else frozenset()


def _is_likelier(
    gains: Mapping[Mutant, frozenset[str]], refuting: Mapping[Mutant, frozenset[str]], one: Mutant, other: Mutant
) -> bool:
    """Return whether a mutant explains more than another one, or explains the same and needs no condition."""
    return gains[one] > gains[other] or (gains[one] == gains[other] and not refuting[one] and bool(refuting[other]))


def _is_contradicted(evidence: Evidence, mutant: Mutant, support: int, left: Iterable[str]) -> bool:
    """Return whether a mutant under a condition fails too many of these cases differently from the subject."""
    return CONDITIONAL_SUPPORT_RATIO * len(evidence.contradicting_cases(mutant, left)) > support


def _condition(
    evidence: Evidence,
    mutant: Mutant,
    gain: frozenset[str],
    refuting: frozenset[str],
    left: frozenset[str],
    properties: Callable[[str], Properties],
) -> str | None:
    """Return the condition under which the subject has a mutant; empty if always, None if no condition is found.

    Args:
        gain: the ids of the unexplained cases that the mutant explains.
        refuting: the ids of the passing cases that the mutant fails.
        left: the ids of all unexplained cases.
    """
    contradicting = evidence.contradicting_cases(mutant, left - gain)
    if not refuting:
        return "" if MIN_SUPPORT_RATIO * len(contradicting) <= len(gain) else None
    described = ({id: properties(id) for id in ids} for ids in (gain, refuting, contradicting))
    condition = separating_condition(*described)
    if condition is None:
        return None
    return None if _is_contradicted(evidence, mutant, len(gain), condition.others & left) else condition.text
